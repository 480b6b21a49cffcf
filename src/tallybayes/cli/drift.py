"""``tallybayes drift``: how rows differ from those that a model learned."""

from __future__ import annotations

import argparse
import os
from contextlib import ExitStack, suppress

from tallybayes.cli.screen import console, note, notes, opened, print_json, read_model
from tallybayes.core.model import Model
from tallybayes.data.atomic import replacing
from tallybayes.data.streams import is_stream
from tallybayes.errors import ModelFileError, SettingError
from tallybayes.inspection.drift import PLAIN, Drift, drift
from tallybayes.inspection.drift_counts import counted
from tallybayes.learning.learn import learn
from tallybayes.report.drift_section import drift_page
from tallybayes.storage.ledger import Ledger
from tallybayes.storage.ledger.postgres import is_address

SQLITE = b"SQLite format 3\0"


def run(options: argparse.Namespace) -> int:
    """Compare, print and return 1 where a stability index is larger than allowed."""
    found = compared(options.old, options.new, options, options.unlabelled)
    if options.json:
        print_json(found.as_dict())
    else:
        console().print(str(found))
    if options.output is not None:
        with replacing(options.output) as temporary:
            temporary.write_text(drift_page(found), encoding="utf-8")
        note(f"written to {options.output}", options)
    if options.fail_above is None or found.largest <= options.fail_above:
        return 0
    note(f"the largest stability index, {found.largest:.3f}, is above {options.fail_above:g}", options)
    return 1


def compared(old: str, new: str, options: argparse.Namespace, unlabelled: bool = False) -> Drift:
    """Two sides, each a model file, a slice of a ledger or data."""
    before, after = _counted(old), _counted(new)
    if before is None and getattr(options, "target", None) is None:
        if os.path.exists(old):
            raise SettingError(f"{old} is neither a model nor a ledger; of data, name the labels with --target COLUMN")
        before, _ = read_model(old)  # which says what is wrong with the name
    with notes(options), ExitStack() as files:
        if before is None:
            before = learn(files.enter_context(opened(old, options)), options.target, PLAIN)
        if after is not None:
            return drift(before, after)
        return drift(before, counted(before, files.enter_context(opened(new, options)), False if unlabelled else None))


def _counted(name: str) -> Model | None:
    """The model of a model file or of a slice of a ledger; None where it is data."""
    path, _, slice_ = name.rpartition("@") if not os.path.isfile(name) else (name, "", "")
    if is_address(name):  # which may have a user before its own @
        address, _, schema = name.partition("#")
        schema, _, slice_ = schema.partition("@")
        path = f"{address}#{schema}"
    elif is_stream(name) or not os.path.isfile(path):
        return None
    elif not _is_ledger(path):
        with suppress(ModelFileError):  # otherwise it holds rows
            return read_model(name)[0]
        return None
    since, dots, until = slice_.partition("..")
    with Ledger.open(path) as ledger:
        return ledger.model(since=since or None, until=(until if dots else since) or None)


def _is_ledger(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(len(SQLITE)) == SQLITE
