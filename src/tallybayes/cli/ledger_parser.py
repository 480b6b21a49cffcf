"""The commands and options of ``tallybayes ledger``."""

from __future__ import annotations

import argparse
from collections.abc import Callable

UNITS = ("day", "hour", "week", "month", "step")


def fill(parser: argparse.ArgumentParser) -> None:
    """Add the commands of ledgers."""
    commands = parser.add_subparsers(dest="ledger_command", metavar="COMMAND", required=True)
    for name, (summary, example, options) in COMMANDS.items():
        one = commands.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            epilog=f"example: {example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        one.add_argument("ledger", metavar="LEDGER", help="the file of the ledger")
        options(one)
        one.add_argument("--quiet", "-q", action="store_true", help="print no notes")
        one.add_argument("--json", action="store_true", help="print the record as JSON")
        one.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)


def _create(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="the model file whose columns and settings are the plan")
    parser.add_argument("--unit", choices=UNITS, default="day", help="what one period is (day)")
    parser.add_argument(
        "--half-lives", metavar="LIST or auto", help="half-lives on trial, in periods: auto, or such as 4,16,64"
    )
    parser.add_argument("--windows", metavar="LIST or auto", help="windows on trial, in periods")


def _add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", nargs="+", metavar="DATA", help="CSV, TSV, Parquet, JSON lines or Arrow files")
    when = parser.add_mutually_exclusive_group(required=True)
    when.add_argument("--period", metavar="PERIOD", help="the period of all rows, such as 2026-03-03")
    when.add_argument("--period-column", metavar="COLUMN", help="the column of periods or dates")
    whose = parser.add_mutually_exclusive_group()
    whose.add_argument("--key", default="all", help="the key of all rows (all)")
    whose.add_argument("--key-column", metavar="COLUMN", help="the column of keys; with --period-column")
    parser.add_argument("--batch-id", metavar="ID", help="a batch counts once (default: by what it holds)")
    parser.add_argument("--target", metavar="COLUMN", help="the column of class labels (as in the plan)")
    parser.add_argument("--weight", metavar="COLUMN", help="the column of row weights")
    parser.add_argument("--unlabelled", choices=["error", "ignore"], default="error", help="rows without label (error)")
    _wait(parser)


def _model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", required=True, metavar="MODEL", help="the model file to write")
    parser.add_argument("--since", metavar="PERIOD", help="the first period; a month or a year is all of it")
    parser.add_argument("--until", metavar="PERIOD", help="the last period, included")
    parser.add_argument(
        "--keys", action="append", metavar="KEY", help="only this key; repeatable, * for any characters"
    )
    parser.add_argument("--without", action="append", metavar="KEY", help="all but this key; repeatable")
    parser.add_argument("--window", metavar="N", help="only the last N periods, or auto")
    parser.add_argument("--half-life", metavar="N", help="rows count half after N periods, or auto")
    parser.add_argument("--as-of", metavar="TIME", help="as the ledger was on that date, or at that entry")


def _forget(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("key", metavar="KEY", help="whose rows are to be taken out")
    _wait(parser)


def _verify(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--receipt", metavar="FILE or HASH", help="a receipt (JSON) or the hash of one: it has to be in the chain"
    )


def _show(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--keys", action="store_true", help="also list the keys")
    parser.add_argument("--entries", type=int, default=0, metavar="N", help="also the last N receipts")


def _wait(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--wait", type=float, default=60.0, metavar="S", help="seconds to wait for another process (60)"
    )


COMMANDS: dict[str, tuple[str, str, Callable[[argparse.ArgumentParser], None]]] = {
    "create": (
        "create a ledger for rows like those of a model",
        "tallybayes ledger create shop.ledger shop.tally --unit day",
        _create,
    ),
    "add": (
        "count the rows of files and add them; a batch counts once",
        "tallybayes ledger add shop.ledger may-3.csv --period 2026-05-03 --key north\n"
        "         tallybayes ledger add shop.ledger may.parquet --period-column day --key-column site",
        _add,
    ),
    "model": (
        "write the model of a slice",
        "tallybayes ledger model shop.ledger --since 2026-01 --without north --half-life 30 -o shop.tally",
        _model,
    ),
    "forget": ("take all rows of a key out, with a receipt", "tallybayes ledger forget shop.ledger north", _forget),
    "verify": (
        "recompute the chain of receipts, the digests and the sums; exit code 1 if anything was changed",
        "tallybayes ledger verify shop.ledger --receipt receipt.json",
        _verify,
    ),
    "show": ("print what a ledger holds", "tallybayes ledger show shop.ledger --keys", _show),
}
