"""``tallybayes mail train``, ``learn``, ``unlearn``, ``move`` and ``expire``: commands that change a filter."""

from __future__ import annotations

import argparse
import os
import re
import time
from collections.abc import Callable
from typing import Any

from tallybayes.cli.mail_common import config_of, database_of, documents_of, messages_of, note, print_record
from tallybayes.errors import DataError
from tallybayes.mail import database, ledger
from tallybayes.mail.boxes import Loose, Place, file_name
from tallybayes.mail.cutoffs import SHARE, checked_share
from tallybayes.mail.evaluation import MailEvaluation
from tallybayes.mail.filter import HAM_BELOW, SPAM_FROM
from tallybayes.mail.ledger import HAM, SPAM, Item, Ledger
from tallybayes.mail.memory import memory_path

UNITS = {"d": 1, "w": 7, "m": 30.44, "y": 365.25}
DAY = 86_400.0


def train(options: argparse.Namespace) -> None:
    """Learn the messages that are new, and fit calibration and cut-offs to all."""
    config = config_of(options)
    path = options.output or database_of(options, config)
    remember = config.memory and not options.no_memory
    exists = os.path.exists(path)
    if exists and not options.replace and not (remember and os.path.exists(memory_path(path))):
        raise DataError(
            f"{path} exists, and has no memory of its messages to tell which are new; mail learn adds messages to it, "
            "--replace overwrites it"
        )
    share = checked_share(_first(options.max_false_positives, config.max_false_positives, SHARE))
    found = {label: messages_of(paths, options) for label, paths in ((HAM, options.ham), (SPAM, options.spam))}
    known = _known_files(path, options) if exists and not options.replace else {}
    new = [(message, label) for label in found for message in found[label] if not _is_known(message, label, known)]
    documents = documents_of([message for message, _ in new], options)
    items = [Item(*each, label) for each, (_, label) in zip(documents, new, strict=True)]
    with ledger.opened(path, options.wait, remember, fresh=options.replace) as book:
        batch = book.learn(items, again=False)
        evaluation = book.fit(share, batch)
    if remember:
        with ledger.opened(path, options.wait) as again:
            assert again.memory is not None
            again.memory.note_files((name, label) for message, label in new if (name := file_name(message)))
    _print_training(book, evaluation, {label: len(found[label]) for label in found}, str(path), options)


def _known_files(path: str, options: argparse.Namespace) -> dict[int, set[str]]:
    """The files that were learned as each class."""
    with ledger.opened(path, options.wait) as book:
        assert book.memory is not None
        return {label: book.memory.known_files(label) for label in (HAM, SPAM)}


def _is_known(message: Place | Loose, label: int, known: dict[int, set[str]]) -> bool:
    name = file_name(message) if known else None
    return name is not None and name in known[label] and name not in known[1 - label]


def _print_training(
    book: Ledger, evaluation: MailEvaluation | None, found: dict[int, int], path: str, options: argparse.Namespace
) -> None:
    model = book.model
    ham, spam = (int(weight) for weight in model.tally.class_weight)
    words = len(model.schema.columns[0].levels or ())
    chosen = model.provenance.chosen
    record: dict[str, Any] = {
        "messages": {"ham": ham, "spam": spam},
        "new": book.learned,
        "moved": book.moved,
        "tokens": words,
        "cut_offs": dict(chosen),
        "held_out": None if evaluation is None else evaluation.as_dict(),
        "database": path,
    }
    lines = [f"{words:,} tokens of {spam:,} spam and {ham:,} ham; {_learned(book, sum(found.values()))}"]
    if evaluation is not None:
        lines += ["held-out performance (leave-one-out; each half read as the other half suggests):", str(evaluation)]
    if chosen:
        lines.append(f"spam from {chosen[SPAM_FROM]:.4f}, ham below {chosen[HAM_BELOW]:.4f}")
    print_record(record, "\n".join([*lines, f"written to {path}"]), options)


def change(options: argparse.Namespace) -> None:
    """Learn, unlearn or move messages."""
    config, label = config_of(options), (HAM, SPAM)[options.label == "spam"]
    path = database_of(options, config)
    if options.mail_command != "learn":
        database.read(path)  # there must be one
    items = [Item(*known, label) for known in documents_of(messages_of(options.files, options), options)]
    changes: dict[str, Callable[[Ledger], object]] = {
        "learn": lambda book: book.learn(items),
        "unlearn": lambda book: book.unlearn(items),
        "move": lambda book: book.move(items),
    }
    remember = config.memory and not options.no_memory
    book = ledger.change(path, changes[options.mail_command], options.wait, remember)
    ham, spam = book.model.tally.class_weight.tolist()
    number = book.taken_back if options.mail_command == "unlearn" else book.learned
    record = {
        "messages": len(items),
        "changed": number,
        "moved": book.moved,
        "label": options.label,
        "learned": {"ham": ham, "spam": spam},
        "database": str(path),
    }
    did = {"learn": "learned as", "unlearn": "unlearned as", "move": "moved to"}[options.mail_command]
    text = f"{_counted(number)} {did} {options.label}"
    if number < len(items):
        text += f" ({len(items) - number:,} known already)"
    if book.moved and options.mail_command == "learn":
        text += f", {book.moved:,} of them taken back from the other class"
    print_record(record, f"{text}; {path} holds {spam:,.0f} spam and {ham:,.0f} ham", options)


def expire(options: argparse.Namespace) -> None:
    """Take back messages that are older than a time."""
    path = database_of(options, config_of(options))
    database.read(path)  # there must be one
    before = time.time() - age(options.older_than)
    book = ledger.expire(path, before, options.wait)
    ham, spam = book.model.tally.class_weight.tolist()
    record = {"taken_back": book.taken_back, "learned": {"ham": ham, "spam": spam}, "database": str(path)}
    day = time.strftime("%Y-%m-%d", time.localtime(before))
    text = f"{_counted(book.taken_back)} from before {day} taken back; {path} holds {spam:,.0f} spam and {ham:,.0f} ham"
    print_record(record, text, options)
    if book.taken_back:
        note("mail train fits the cut-offs to what is left", options)


def age(text: str) -> float:
    """Seconds of an age: 90d, 8w, 6m or 1y."""
    match = re.fullmatch(r"(\d{1,6}(?:\.\d{1,6})?)([dwmy])", text.strip())
    if match is None:
        raise DataError(f"an age is a number of days, weeks, months or years, such as 90d, 8w, 6m or 1y; got {text!r}")
    return float(match[1]) * UNITS[match[2]] * DAY


def _first(*values: float | None) -> float:
    return next(value for value in values if value is not None)


def _learned(book: Ledger, found: int) -> str:
    moved = f", {book.moved:,} of them moved" if book.moved else ""
    return f"{book.learned:,} of {found:,} messages were new{moved}" if book.learned < found else "all are new"


def _counted(number: int) -> str:
    return f"{number:,} message{'' if number == 1 else 's'}"


COMMANDS = {**dict.fromkeys(("learn", "unlearn", "move"), change), "train": train, "expire": expire}
