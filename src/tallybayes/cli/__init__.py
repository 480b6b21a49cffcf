"""The command line: parse, call one library function, print its record."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from tallybayes.cli.parser import MODULES, parser
from tallybayes.cli.wording import in_options, shown
from tallybayes.errors import SettingError, TallybayesError

READ = ("data", "model", "ledger", "what", "old", "new")  # arguments that name files to read


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 success, 1 error, 2 wrong usage, 130 interrupted.

    The commands of the spam filter have the codes of filters: 0 spam (or success), 1 ham, 2 unsure, 3 any error.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    is_mail = next((word for word in arguments if not word.startswith("-")), "") == "mail"
    try:
        options = parser("mail" if is_mail else None).parse_args(arguments)
    except SystemExit as usage:
        if is_mail and usage.code == 2:
            return 3
        raise
    code = None
    try:
        refuse_overwriting(options)
        code = import_module(f"tallybayes.cli.{MODULES[options.command]}").run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader (head, less) has stopped; nothing may be written at exit either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        print("tallybayes: interrupted; nothing was written", file=sys.stderr)
        return 130
    except Exception as error:
        expected = isinstance(error, (TallybayesError, OSError))
        if options.debug or not (expected or is_mail):  # a delivery would read the exit code of a traceback as ham
            raise
        message = shown(in_options(message_of(error), options))
        print(f"tallybayes: {'' if expected else f'{type(error).__name__}: '}{message}", file=sys.stderr)
        return 3 if is_mail else 1
    return code or 0


def refuse_overwriting(options: argparse.Namespace) -> None:
    """Refuse to write over a file that is read; only a model is changed in place."""
    out = getattr(options, "output", None)
    if out in (None, "-") or not os.path.isfile(out):
        return
    changed = ["model"] if options.command in ("update", "unlearn") else []
    for path in (path for name in READ if name not in changed for path in _paths(getattr(options, name, None))):
        if os.path.isfile(path) and os.path.samefile(path, out):
            raise SettingError(f"{out} is read by this command and would be overwritten; give another file with -o")


def _paths(given: Any) -> Sequence[str]:
    """The paths of an argument, also of a slice of a ledger."""
    paths = [given] if isinstance(given, str) else given if isinstance(given, list) else []
    return [*paths, *(path.rpartition("@")[0] for path in paths if "@" in path)]


def message_of(error: Exception) -> str:
    """The message of an error, in one paragraph."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return " ".join(str(error).split())
