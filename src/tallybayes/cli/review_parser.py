"""Options that commands share, and those for who reviews a model: reason codes, scorecards and drift."""

from __future__ import annotations

import argparse
from collections.abc import Callable

DIALECTS = ["duckdb", "postgres", "sqlite", "spark", "bigquery", "snowflake"]


def reading(parser: argparse.ArgumentParser) -> None:
    """How the text of a file is read."""
    parser.add_argument(
        "--missing-value", action="append", default=[], metavar="WORD", help="a word for a missing value in a CSV"
    )
    parser.add_argument(
        "--missing-values",
        action="append",
        default=[],
        metavar="LIST",
        help="several, separated by commas: '?,n/a,999'",
    )
    parser.add_argument("--encoding", metavar="NAME", help="of a CSV: utf-8, windows-1252, utf-16, … (recognised)")
    parser.add_argument("--delimiter", metavar="CHARACTER", help="between the fields of a CSV (that of its header)")


def coverage(parser: argparse.ArgumentParser, how: str) -> None:
    """The option of prediction sets."""
    parser.add_argument(
        "--coverage", type=float, metavar="SHARE",
        help=f"{how}: the classes that cannot be ruled out; this share of the sets (such as 0.9) holds the right one",
    )  # fmt: skip


def costs(parser: argparse.ArgumentParser, how: str) -> None:
    """The option of the costs of wrong predictions."""
    parser.add_argument(
        "--costs", metavar="TRUE:PREDICTED=COST,…",
        help=f"{how}: no:yes=5,yes:no=1, or a JSON file of {{true: {{predicted: cost}}}}",
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


def by(parser: argparse.ArgumentParser) -> None:
    """The options of figures by subgroup."""
    parser.add_argument("--by", metavar="COLUMN", help="figures by subgroup; columns with commas between are crossed")
    parser.add_argument(
        "--label", metavar="LABEL", help="with --by: the class whose rates they are (the second of two)"
    )


def sections(parser: argparse.ArgumentParser) -> None:
    """The options of sections of the report."""
    parser.add_argument("--title", help="title of the page")
    parser.add_argument("--by", metavar="COLUMN", help="figures by subgroup of the data")
    parser.add_argument("--against", metavar="NEW", help="a section on drift: another model, or data")


def tables(parser: argparse.ArgumentParser) -> None:
    """The options of models that can be read."""
    parser.add_argument(
        "--readable", action="store_true", help="a model that fits on a page, and what that costs (see scorecard)"
    )
    parser.add_argument("--max-bins", type=int, metavar="N", help="at most so many bins or groups of levels a column")
    parser.add_argument(
        "--monotone", action="append", default=[], metavar="COLUMN=+1",
        help="evidence for the second class must not fall (+1) or not rise (-1) with a number, or auto",
    )  # fmt: skip


def _scorecard(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="a model file, such as train --readable writes")
    parser.add_argument("--points-to-double-odds", type=float, default=20.0, metavar="N", help="(20)")
    parser.add_argument("--base", type=float, default=600.0, metavar="N", help="the score at the given odds (600)")
    parser.add_argument("--odds", type=float, default=50.0, metavar="N", help="odds to one of the base score (50)")
    parser.add_argument("--no-rounding", action="store_true", help="points that are no whole numbers")
    parser.add_argument("--label", metavar="LABEL", help="the class whose odds they are (of two, the second)")
    parser.add_argument("--table", default="rows", metavar="NAME", help="of SQL: the table to be scored (rows)")
    parser.add_argument("--dialect", choices=DIALECTS, default="duckdb", help="of SQL (duckdb)")
    parser.add_argument("--keep", action="append", default=[], metavar="COLUMN", help="of SQL: a column to keep")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help=".html, .csv, .md, .json or .sql (default: a table is printed)"
    )
    parser.add_argument("--quiet", "-q", action="store_true", help="print no notes")
    parser.add_argument("--json", action="store_true", help="print the record as JSON")


def _drift(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("old", metavar="OLD", help="a model file, a ledger or a slice of one, or data with --target")
    parser.add_argument(
        "new", metavar="NEW",
        help="the same, or data that is counted as OLD is: a file, a 'pattern*', or - for stdin; a slice of a ledger "
        "is FILE@PERIOD or FILE@FIRST..LAST, such as shop.ledger@2026-03",
    )  # fmt: skip
    parser.add_argument("--target", metavar="COLUMN", help="the labels, where OLD is data")
    parser.add_argument("--unlabelled", action="store_true", help="leave labels in the data aside")
    parser.add_argument(
        "--fail-above", type=float, metavar="PSI", help="exit with 1 where a stability index is larger, such as 0.2"
    )
    reading(parser)
    parser.add_argument("-o", "--output", metavar="HTML", help="also write a page with small pictures")
    parser.add_argument("--quiet", "-q", action="store_true", help="print no notes")
    parser.add_argument("--json", action="store_true", help="print the record as JSON")


Fill = Callable[[argparse.ArgumentParser], None]
COMMANDS: dict[str, tuple[str, str, str, Fill]] = {  # name → module, summary, example, and what adds the options
    "scorecard": (
        "scorecard",
        "show a model as a scorecard: points for each value of each column",
        "tallybayes scorecard loans.tally -o card.html",
        _scorecard,
    ),
    "drift": (
        "drift",
        "show how rows differ from those that a model learned",
        "tallybayes drift loans.tally may.csv --fail-above 0.2",
        _drift,
    ),
}
