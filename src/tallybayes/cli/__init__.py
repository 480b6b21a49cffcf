"""The command line: parse, call one library function, print its record."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

from tallybayes.cli.parser import MODULES, parser
from tallybayes.errors import TallybayesError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 fine, 1 the data is at fault, 2 usage, 130 interrupted."""
    options = parser().parse_args(arguments)
    try:
        import_module(f"tallybayes.cli.{MODULES[options.command]}").run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader (head, less) has seen enough; nothing is left to be written at exit either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        print("tallybayes: interrupted; nothing was written", file=sys.stderr)
        return 130
    except (TallybayesError, OSError) as error:
        if options.debug:
            raise
        print(f"tallybayes: {said(error)}", file=sys.stderr)
        return 1
    return 0


def said(error: Exception) -> str:
    """What an error says, in one paragraph."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return " ".join(str(error).split())
