"""``tallybayes mail explain``, ``evaluate`` and ``top``: what a filter shows."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tallybayes.cli.mail_common import (
    config_of,
    database_of,
    documents_of,
    messages_of,
    print_record,
    thresholds_for,
)
from tallybayes.errors import DataError
from tallybayes.mail import database, filter
from tallybayes.mail.evaluation import MailEvaluation
from tallybayes.mail.message import document


def explain(options: argparse.Namespace) -> None:
    """Show the clues for a verdict."""
    (message, *more) = messages_of([options.file], options)
    if more:
        raise DataError(f"{options.file} holds {len(more) + 1:,} messages; explain takes one")
    config = config_of(options)
    model = database.read(database_of(options, config))
    case = filter.explain(model, document(message.read()), thresholds_for(model, options, config))
    lines = [f"{case.verdict}: {len(case.clues)} clues of {case.verdict.known} known tokens", *_table(case.clues)]
    lines.append(
        f"total {case.total:+.2f} nats for spam, divided by {case.temperature:.2f} (temperature: clues are correlated)"
        + (f", {case.intercept:+.2f} (intercept)" if case.intercept else "")
    )
    print_record(case.as_dict(), "\n".join(lines), options)


def evaluate(options: argparse.Namespace) -> None:
    """Evaluate the filter on messages whose class is known."""
    ham, spam = (messages_of(paths, options) for paths in (options.ham, options.spam))
    known = [each.document for each in documents_of([*ham, *spam], options)]
    config = config_of(options)
    model = database.read(database_of(options, config))
    thresholds = thresholds_for(model, options, config)
    found = MailEvaluation.of(
        filter.classify(model, known[len(ham) :], thresholds), filter.classify(model, known[: len(ham)], thresholds)
    )
    print_record(found.as_dict(), str(found), options)


def top(options: argparse.Namespace) -> None:
    """Show the strongest tokens."""
    found = filter.top(database.read(database_of(options, config_of(options))), options.n)
    lines = [line for label, clues in found.items() for line in (label, *_table(clues))]
    print_record({label: [asdict(clue) for clue in clues] for label, clues in found.items()}, "\n".join(lines), options)


def _table(clues: Sequence[Any]) -> list[str]:
    """Clues as lines: the evidence for spam of each, and the number of messages of each class with it."""
    if not clues:
        return ["  none"]
    wide = min(max(len(clue.token) for clue in clues), 48)
    lines = [f"  {'token':{wide}}  {'nats':>6}  {'spam':>7}  {'ham':>7}"]
    for clue in clues:
        token = clue.token if len(clue.token) <= wide else f"{clue.token[: wide - 1]}…"
        bar = ("█" if clue.log_odds > 0 else "░") * round(abs(clue.log_odds))
        lines.append(f"  {token:{wide}}  {clue.log_odds:+6.2f}  {clue.spam:7,.0f}  {clue.ham:7,.0f}  {bar}".rstrip())
    return lines


COMMANDS = {"explain": explain, "evaluate": evaluate, "top": top}
