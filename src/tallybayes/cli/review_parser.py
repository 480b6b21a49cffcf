"""Options for those who review a model: prediction sets, reason codes, scorecards and drift."""

from __future__ import annotations

import argparse
from collections.abc import Callable

DIALECTS = ["duckdb", "postgres", "sqlite", "spark", "bigquery", "snowflake"]


def coverage(parser: argparse.ArgumentParser, how: str) -> None:
    """The option of prediction sets."""
    parser.add_argument(
        "--coverage", type=float, metavar="SHARE",
        help=f"{how}: the classes that cannot be ruled out; this share of the sets (such as 0.9) holds the right one",
    )  # fmt: skip


def reasons(parser: argparse.ArgumentParser, contributions: bool = False) -> None:
    """The options of reason codes."""
    parser.add_argument(
        "--reasons", type=int, metavar="N", help="reason codes: the N columns that took most from the score"
    )
    parser.add_argument(
        "--reference", default="population", metavar="WHICH", help="compare rows with population or best (population)"
    )
    parser.add_argument(
        "--group", action="append", default=[], metavar="LABEL=COLUMN,…", help="columns that are one reason"
    )
    parser.add_argument("--label", metavar="LABEL", help="the class whose score it is (of two, the second)")
    if contributions:
        parser.add_argument("--contributions", action="store_true", help="also what each column adds to the score")


Fill = Callable[[argparse.ArgumentParser], None]
COMMANDS: dict[str, tuple[str, str, str, Fill]] = {}  # name → module, summary, example, and what adds the options
