"""Every command with its options and an example. Nothing else is imported before it is needed."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

import tallybayes.cli.ledger_parser as ledger_parser
import tallybayes.cli.mail_parser as mail_parser
import tallybayes.cli.review_parser as review
from tallybayes import __version__
from tallybayes.cli.usage import Parser

COMMANDS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]] = {}
MODULES: dict[str, str] = {}  # the module that runs a command


def command(name: str, module: str, summary: str, example: str) -> Callable[..., Callable[..., None]]:
    """Add a command; the decorated function adds its options."""

    def add(options: Callable[[argparse.ArgumentParser], None]) -> Callable[[argparse.ArgumentParser], None]:
        def filled(parser: argparse.ArgumentParser) -> None:
            parser.description, parser.epilog = f"{summary[0].upper()}{summary[1:]}.", f"example: {example}"
            options(parser)

        COMMANDS[name], MODULES[name] = (summary, filled), module
        return options

    return add


def parser(only: str | None = None) -> argparse.ArgumentParser:
    """Build the parser: of all commands, or of one where only that is needed and somebody waits for it."""
    top = Parser(
        prog="tallybayes",
        description="Naive Bayes you can audit.",
        epilog="example: tallybayes demo --alpha 1; each command has a --help with an example of its own",
    )
    top.add_argument("--version", action="version", version=f"tallybayes {__version__}")
    top.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (summary, fill) in COMMANDS.items():
        if only not in (None, name):
            continue
        one = commands.add_parser(name, help=summary, formatter_class=argparse.RawDescriptionHelpFormatter)
        fill(one)
        one.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    return top


def pair(text: str) -> tuple[str, str]:
    """COLUMN=VALUE."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, got {text!r}")
    return name.strip(), value.strip()


def number_or_auto(text: str) -> float | str:
    """A number, or the word auto."""
    try:
        return text if text == "auto" else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a number or auto, got {text!r}") from None


def port(text: str) -> int:
    """A port of this machine."""
    if not text.isdecimal() or not 0 < int(text) < 65_536:
        raise argparse.ArgumentTypeError(f"expected a number from 1 to 65535, got {text!r}")
    return int(text)


def _model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="a model file")


def _data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "data",
        metavar="DATA",
        help="CSV, TSV, Parquet, JSON lines, Arrow or a spreadsheet; a file, a 'pattern*', or - for stdin",
    )
    review.reading(parser)


def _labels(parser: argparse.ArgumentParser, required: bool = False) -> None:
    remembered = "" if required else " (default: as in training)"
    parser.add_argument("--target", required=required, metavar="COLUMN", help=f"the column of class labels{remembered}")
    parser.add_argument("--weight", metavar="COLUMN", help="the column of row weights")
    unlabelled = ["error", "ignore", *(["em"] if required else [])]  # what is learned from nothing may estimate them
    parser.add_argument("--unlabelled", choices=unlabelled, default="error", help="rows without a label (error)")


def _printing(parser: argparse.ArgumentParser, json: bool = True) -> None:
    parser.add_argument("--quiet", "-q", action="store_true", help="print no progress and no notes")
    if json:
        parser.add_argument("--json", action="store_true", help="print the record as JSON")


@command(
    "train", "train", "learn a file, show the model and its performance, and write it",
    "tallybayes train loans.csv --target paid --drop id --kind zip=category -o loans.tally",
)  # fmt: skip
def _train(parser: argparse.ArgumentParser) -> None:
    _data(parser)
    _labels(parser, required=True)
    parser.add_argument("-o", "--output", metavar="MODEL", help="write the model to this file")
    parser.add_argument("--drop", action="append", default=[], metavar="COLUMN", help="a column to ignore")
    parser.add_argument("--decimal", choices=[".", ","], help="the decimal mark, where the numbers leave a doubt")
    parser.add_argument("--dates", choices=["dmy", "mdy"], help="day or month first, where no date decides")
    kinds = "numeric, category, boolean, count, text, tags, date, epoch, ignored, or levels in order: low<medium<high"
    parser.add_argument("--kind", action="append", type=pair, default=[], metavar="COLUMN=KIND", help=kinds)
    parser.add_argument(
        "--family", action="append", type=pair, default=[], metavar="COLUMN=FAMILY", help="the distribution of a column"
    )
    parser.add_argument(
        "--missing",
        choices=["ignore", "level"],
        default="ignore",
        help="a missing category is ignored, or a level of its own (ignore)",
    )
    parser.add_argument("--alpha", type=number_or_auto, help="pseudocount, or auto (default: hierarchical smoothing)")
    parser.add_argument(
        "--classical", action="store_true", help="the textbook model: Gaussian, pseudocount 1, no weights, no pairs"
    )
    parser.add_argument("--max-pairs", type=int, metavar="N", help="at most so many pairs of columns; 0 for none")
    review.tables(parser)
    parser.add_argument(
        "--class-weight", metavar="balanced or label=w,…", help="how many times the rows of a class count (once)"
    )
    parser.add_argument("--prior", default="empirical", help="empirical, uniform, or label=p,label=p,… (empirical)")
    parser.add_argument(
        "--calibration", choices=["temperature", "isotonic"], help="calibrate the probabilities on held-out scores"
    )
    parser.add_argument("--no-evaluation", action="store_true", help="print no evaluation")
    parser.add_argument(
        "--verbose", "-v", action="store_true", help="also all columns with their reasons, all figures and the evidence"
    )
    _printing(parser)


@command(
    "predict", "predict", "predict the rows of a file",
    "tallybayes predict loans.tally new.parquet -o predictions.parquet --explain 3",
)  # fmt: skip
def _predict(parser: argparse.ArgumentParser) -> None:
    _model(parser)
    _data(parser)
    _rows_out(parser)
    parser.add_argument(
        "--format", choices=["csv", "json", "parquet"], help="of the output, if its suffix does not imply it"
    )
    parser.add_argument("--only", action="store_true", help="write the predictions without the rows")
    parser.add_argument(
        "--threshold", action="append", default=[], metavar="P or LABEL=P",
        help="no prediction below probability P; or predict LABEL from probability P on",
    )  # fmt: skip
    parser.add_argument(
        "--top", type=int, metavar="N", help="the N likeliest classes instead of the probability of each"
    )
    parser.add_argument("--explain", type=int, default=0, metavar="N", help="the N strongest reasons of each row")
    review.costs(parser, "predict what is expected to cost least")
    review.coverage(parser, "add a column 'set'")
    review.reasons(parser)
    _printing(parser, json=False)


@command(
    "evaluate", "evaluate", "evaluate a model on labelled rows",
    "tallybayes evaluate loans.tally test.csv\n"
    "         tallybayes evaluate loans.tally loans.csv --folds 10",
)  # fmt: skip
def _evaluate(parser: argparse.ArgumentParser) -> None:
    _model(parser)
    _data(parser)
    _labels(parser)
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--method", choices=["auto", "leave-one-out", "test"], default="auto",
        help="test: the rows as they are; auto: unless they are those that were learned, all of them (auto)",
    )  # fmt: skip
    how.add_argument("--folds", type=int, metavar="N", help="learn each of N folds of the training data anew")
    review.costs(parser, "also the mean cost of a row")
    review.by(parser)
    _printing(parser)


@command(
    "explain", "explain", "show the evidence for one prediction",
    "tallybayes explain loans.tally new.csv --row 7\n"
    "         tallybayes explain loans.tally income=1200 job=clerk --work",
)  # fmt: skip
def _explain(parser: argparse.ArgumentParser) -> None:
    _model(parser)
    parser.add_argument("what", nargs="+", metavar="DATA or COLUMN=VALUE", help="a file, or the values of the row")
    parser.add_argument("--row", type=int, metavar="N", help="the row of the file, counted from 1")
    parser.add_argument("--against", metavar="LABEL", help="the class to compare with (default: the next likeliest)")
    parser.add_argument("--interval", type=float, metavar="LEVEL", help="show intervals, such as 0.9 for 90 per cent")
    parser.add_argument("--work", action="store_true", help="show the calculation step by step")
    parser.add_argument("--plot", action="store_true", help="draw the evidence as a waterfall chart")
    _printing(parser)


for _name, (*_about, _fill) in review.COMMANDS.items():
    command(_name, *_about)(_fill)


@command(
    "update", "change", "learn more rows", "tallybayes update loans.tally may.csv",
)  # fmt: skip
def _update(parser: argparse.ArgumentParser) -> None:
    _changes(parser)
    parser.add_argument("--strict", action="store_true", help="refuse labels that are none of the model's classes")


@command(
    "unlearn", "change", "unlearn rows exactly, with a receipt", "tallybayes unlearn loans.tally withdrawn.csv",
)  # fmt: skip
def _unlearn(parser: argparse.ArgumentParser) -> None:
    _changes(parser)


def _changes(parser: argparse.ArgumentParser) -> None:
    _model(parser)
    _data(parser)
    _labels(parser)
    parser.add_argument("-o", "--output", metavar="MODEL", help="write to this file (default: MODEL)")
    mail_parser.wait(parser)
    _printing(parser)


@command(
    "merge", "change", "merge models of different rows",
    "tallybayes merge north.tally south.tally -o both.tally",
)  # fmt: skip
def _merge(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("models", nargs="+", metavar="MODEL", help="model files of the same columns")
    parser.add_argument("--base", metavar="MODEL", help="what the models were copies of before they learned on")
    parser.add_argument("-o", "--output", required=True, metavar="MODEL", help="the file to write")
    mail_parser.wait(parser)
    _printing(parser)


@command(
    "blank", "change", "write a copy of a model that has learned no rows, to count others elsewhere",
    "tallybayes blank loans.tally -o north.tally",
)  # fmt: skip
def _blank(parser: argparse.ArgumentParser) -> None:
    _model(parser)
    parser.add_argument("-o", "--output", required=True, metavar="MODEL", help="the file to write")
    _printing(parser, json=False)


@command(
    "show", "show", "print the content of a model file", "tallybayes show loans.tally",
)  # fmt: skip
def _show(parser: argparse.ArgumentParser) -> None:
    _model(parser)
    parser.add_argument("--verbose", "-v", action="store_true", help="also all figures, and the options of learning")
    _printing(parser)


@command(
    "report", "report", "write a page on a model: performance, columns and a what-if form",
    "tallybayes report loans.tally --data loans.csv -o report.html",
)  # fmt: skip
def _report(parser: argparse.ArgumentParser) -> None:
    _model(parser)
    parser.add_argument("--data", metavar="DATA", help="labelled rows, to evaluate the model and to draw histograms")
    parser.add_argument("--test", action="store_true", help="the data are test rows, not the training data")
    review.reading(parser)
    _labels(parser)
    review.sections(parser)
    parser.add_argument("-o", "--output", default="report.html", metavar="HTML", help="the file to write (report.html)")
    _printing(parser)


@command(
    "serve", "serve", "serve models: a what-if page and a JSON API",
    "tallybayes serve loans.tally --port 8000",
)  # fmt: skip
def _serve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("models", nargs="+", metavar="MODEL", help="model files; they are read again when they change")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on; others need a token (127.0.0.1)")
    parser.add_argument("--port", type=port, default=8000, help="port to listen on (8000)")
    parser.add_argument("--learn", action="store_true", help="allow update and unlearn; needs a token")
    parser.add_argument("--drift", action="store_true", help="count rows of predictions for GET /models/…/drift")
    parser.add_argument(
        "--token-file", metavar="FILE", help="a file with the token (or the environment's TALLYBAYES_TOKEN)"
    )
    parser.add_argument("--max-rows", type=int, default=100_000, metavar="N", help="rows of one request (100000)")
    parser.add_argument(
        "--max-bytes", type=int, default=50_000_000, metavar="N", help="bytes of a CSV, a tenth for JSON (50000000)"
    )
    _safe_csv(parser)
    parser.add_argument("--quiet", "-q", action="store_true", help="print only errors")


@command(
    "sample", "sample", "sample new rows from a model", "tallybayes sample loans.tally -n 1000 -o sampled.csv",
)  # fmt: skip
def _sample(parser: argparse.ArgumentParser) -> None:
    _model(parser)
    parser.add_argument("-n", type=int, default=10, metavar="N", help="number of rows (10)")
    parser.add_argument("--seed", type=int, help="seed of the random numbers")
    parser.add_argument("--missing", action="store_true", help="make values missing as often as in training")
    _rows_out(parser)
    _printing(parser, json=False)


@command(
    "sql", "export", "print the query that scores a table in its database",
    "tallybayes sql loans.tally --table applications --keep id --dialect postgres",
)  # fmt: skip
def _sql(parser: argparse.ArgumentParser) -> None:
    _model(parser)
    parser.add_argument("--table", default="rows", metavar="NAME", help="the table to be scored (rows)")
    parser.add_argument("--dialect", choices=review.DIALECTS, default="duckdb", help="dialect of the database (duckdb)")
    parser.add_argument(
        "--keep", action="append", default=[], metavar="COLUMN", help="a column to keep in the result, such as a key"
    )
    parser.add_argument("--no-proba", action="store_true", help="the prediction without the probabilities")
    review.coverage(parser, "add a column 'set_LABEL' for each class, 1 where it is in the prediction set")
    review.reasons(parser, contributions=True)
    _written(parser)


@command(
    "export", "export", "write a model as JSON, as a Python function or as an ONNX graph",
    "tallybayes export loans.tally --to python -o loans.py",
)  # fmt: skip
def _export(parser: argparse.ArgumentParser) -> None:
    _model(parser)
    parser.add_argument("--to", choices=["json", "python", "onnx"], default="json", help="the format (json)")
    parser.add_argument(
        "--missing-text", default="", metavar="TEXT", help="the text that stands for a missing value in ONNX ('')"
    )
    review.reasons(parser)
    _written(parser)


def _rows_out(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", default="-", metavar="OUT", help=".csv, .tsv, .parquet or .jsonl (-)")
    _safe_csv(parser)


def _safe_csv(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--safe-csv", action="store_true", help="an apostrophe before texts of a CSV that a spreadsheet would calculate"
    )


def _written(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="the file to write (-)")
    _printing(parser, json=False)


@command(
    "ledger", "ledger", "a store of tallies by period and key, and the model of any slice of it",
    "tallybayes ledger add shop.ledger may.csv --period 2026-05 --key north; each command has a --help of its own",
)  # fmt: skip
def _ledger(parser: argparse.ArgumentParser) -> None:
    ledger_parser.fill(parser)


@command(
    "mail", "mail", "a spam filter for mailboxes and deliveries",
    "tallybayes mail train --spam ~/Maildir/.Junk --ham ~/Maildir; each command has a --help of its own",
)  # fmt: skip
def _mail(parser: argparse.ArgumentParser) -> None:
    mail_parser.fill(parser)


@command(
    "demo", "demo", "the tennis example, with its tables and one prediction worked out",
    "tallybayes demo --alpha 1 outlook=overcast wind=strong",
)  # fmt: skip
def _demo(parser: argparse.ArgumentParser) -> None:
    day = "outlook=sunny temperature=cool humidity=high wind=strong"
    parser.add_argument("values", nargs="*", metavar="COLUMN=VALUE", help=f"the day to predict (default: {day})")
    parser.add_argument("--alpha", type=float, default=0.0, help="pseudocount: 0 is maximum likelihood, 1 is Laplace")
    parser.add_argument("--plot", action="store_true", help="draw the evidence as a waterfall chart")
    parser.add_argument("--json", action="store_true", help="print the worked prediction as JSON")


@command(
    "completion", "completion", "print a script that completes commands and options in your shell",
    'source <(tallybayes completion bash)',
)  # fmt: skip
def _completion(parser: argparse.ArgumentParser) -> None:
    shell = os.path.basename(os.environ.get("SHELL", "bash"))
    known = shell if shell in ("bash", "zsh", "fish") else "bash"
    parser.add_argument(
        "shell", nargs="?", choices=["bash", "zsh", "fish"], default=known, help=f"your shell ({known})"
    )
