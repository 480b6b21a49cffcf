"""The command line: parse, call one library function, print its record."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from tallybayes import __version__
from tallybayes.errors import TallybayesError


def parser() -> argparse.ArgumentParser:
    """Build the parser; the commands themselves are imported only when they run."""
    top = argparse.ArgumentParser(
        prog="tallybayes",
        description="Naive Bayes you can audit.",
        epilog="example: tallybayes demo --alpha 1",
    )
    top.add_argument("--version", action="version", version=f"tallybayes {__version__}")
    top.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    demo = commands.add_parser(
        "demo",
        help="the tennis example of every lecture, with its tables and one prediction worked out",
        description="Learn 14 days of tennis, show the tables as fractions and work out the prediction of one day.",
        epilog="example: tallybayes demo --alpha 1 outlook=overcast wind=strong",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    demo.add_argument(
        "values",
        nargs="*",
        metavar="COLUMN=VALUE",
        help="the day to predict (default: outlook=sunny temperature=cool humidity=high wind=strong)",
    )
    demo.add_argument("--alpha", type=float, default=0.0, help="pseudocount: 0 is maximum likelihood, 1 is Laplace")
    demo.add_argument("--json", action="store_true", help="print the worked prediction as JSON")
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 fine, 1 the data is at fault, 2 usage."""
    options = parser().parse_args(arguments)
    try:
        from tallybayes.cli import demo  # the only command so far

        demo.run(options)
        sys.stdout.flush()
    except TallybayesError as error:
        if options.debug:
            raise
        print(f"tallybayes: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader (head, less) has seen enough; nothing is left to be written at exit either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
