"""What the commands of the spam filter share: where things are, which messages, how they are printed."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tallybayes.cli.wording import shown
from tallybayes.errors import DataError
from tallybayes.mail.boxes import Loose, Place, places, split
from tallybayes.mail.paths import default_path

if TYPE_CHECKING:
    from tallybayes.mail.config import Config
    from tallybayes.mail.reading import Known
    from tallybayes.mail.verdicts import Thresholds


def database_of(options: argparse.Namespace, config: Config) -> str:
    """The model file: -d, the configuration file, $TALLYBAYES_MAIL, or the user's."""
    given = getattr(options, "database", None)
    if given is None and "TALLYBAYES_MAIL" not in os.environ:
        given = config.database
    return given or default_path()


def config_of(options: argparse.Namespace) -> Config:
    """The configuration file: --config, or the user's."""
    from tallybayes.mail.config import Config

    return Config.read(getattr(options, "config", None))


def given_thresholds(options: argparse.Namespace, config: Config) -> tuple[float | None, float | None]:
    """The thresholds that were given, by an option or else by the configuration file."""
    spam = config.spam_from if options.spam_from is None else options.spam_from
    return spam, config.ham_below if options.ham_below is None else options.ham_below


def thresholds_for(model: Any, options: argparse.Namespace, config: Config) -> Thresholds:
    """The thresholds of a model, with those that were given."""
    from tallybayes.mail import filter

    return filter.thresholds_of(model).changed(*given_thresholds(options, config))


def messages_of(paths: Sequence[str], options: argparse.Namespace) -> list[Place | Loose]:
    """The messages of the given paths."""
    found: list[Place | Loose] = []
    for path in paths:
        if path == "-":
            given = split(sys.stdin.buffer.read())
            found += [Loose("-" if len(given) == 1 else f"-#{n}", raw) for n, raw in enumerate(given, start=1)]
        else:
            found += places([path], lambda text: note(text, options))
    if not found:
        raise DataError(f"there is no message in {', '.join(paths)}")
    return found


def documents_of(messages: Sequence[Place | Loose], options: argparse.Namespace) -> list[Known]:
    """The messages as they are counted, and which they are."""
    from tallybayes.mail.reading import documents

    with documents(messages, getattr(options, "jobs", None), lambda text: note(text, options)) as found:
        import tallybayes.mail.ledger  # noqa: F401  imported while other processes read

        return list(found)


def print_record(record: dict[str, Any], text: str, options: argparse.Namespace) -> None:
    """Print a record as JSON, or as text."""
    print(json.dumps(record, indent=2, ensure_ascii=False) if options.json else shown(text))


def note(text: str, options: argparse.Namespace) -> None:
    """Print a note, unless the user wants none."""
    if not options.quiet:
        print(f"note: {shown(text)}", file=sys.stderr)
