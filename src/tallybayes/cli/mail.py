"""``tallybayes mail``: the spam filter. Parse, call, print; few imports, as deliveries wait for it."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from tallybayes.cli.mail_parser import COMMANDS
from tallybayes.errors import DataError
from tallybayes.mail.boxes import Loose, Place, places, split
from tallybayes.mail.html import check_installed

AT_ONCE = 500  # messages that are classified at a time
CODES = {"spam": 0, "ham": 1, "unsure": 2}


def run(options: argparse.Namespace) -> int:
    """Run one of the commands of the filter and return its exit code."""
    check_installed()
    commands: dict[str, Callable[[argparse.Namespace], int | None]] = {
        "train": train,
        "classify": mark if options.mail_command == "classify" and options.header else classify,
        "learn": change,
        "unlearn": change,
        "move": change,
        "explain": explain,
        "evaluate": evaluate,
        "top": top,
    }
    assert set(commands) == set(COMMANDS)
    return commands[options.mail_command](options) or 0


# ---------------------------------------------------------------------------------------------- commands


def train(options: argparse.Namespace) -> None:
    """Learn messages and write a new filter."""
    path = options.output or _database(options)
    if os.path.exists(path) and not options.replace:
        raise DataError(f"{path} exists; mail learn adds messages to it, --replace overwrites it")
    ham, spam = (_messages(paths, options) for paths in (options.ham, options.spam))
    from tallybayes.mail.reading import documents

    with documents([*ham, *spam], options.jobs, lambda text: _note(text, options)) as found:
        from tallybayes.mail import database, filter

        batch = filter.rows(found, ["ham"] * len(ham) + ["spam"] * len(spam))
    model, probabilities = filter.trained(batch)
    database.create(model, path, options.wait)
    from tallybayes.mail.evaluation import MailEvaluation

    evaluation = MailEvaluation.of_probabilities(probabilities[len(ham) :].tolist(), probabilities[: len(ham)].tolist())
    record = {
        "messages": {"ham": len(ham), "spam": len(spam)},
        "tokens": len(model.schema.columns[0].levels or ()),
        "leave_one_out": evaluation.as_dict(),
        "database": str(path),
    }
    learned = f"{record['tokens']:,} tokens of {len(spam):,} spam and {len(ham):,} ham; performance by leave-one-out:"
    _print(record, f"{learned}\n{evaluation}\nwritten to {path}", options)


def classify(options: argparse.Namespace) -> int:
    """Classify messages; the exit code is the verdict."""
    messages = _messages(options.files, options)
    found = _verdicts(messages, options)
    for message, verdict in zip(messages, found, strict=True):
        if options.json:
            print(json.dumps({"message": str(message)} | verdict.as_dict(), ensure_ascii=False))
        else:
            print(verdict if len(messages) == 1 else f"{message}: {verdict}")
    labels = {verdict.label for verdict in found}
    # Of several messages: whether there is spam, failing that whether one is unsure.
    return 0 if options.exit_zero else min((CODES[label] for label in labels), key=(0, 2, 1).index)


def mark(options: argparse.Namespace) -> int:
    """Pass a message on with the verdict in its header."""
    from tallybayes.mail.marking import marked

    if len(options.files) > 1 or os.path.isdir(options.files[0]):
        raise DataError("--header passes on one message; give a single file, or the standard input")
    given = options.files[0]
    raw = sys.stdin.buffer.read() if given == "-" else Place(given).read()
    passed = raw
    try:
        verdict = _verdicts([Loose(given, raw)], options)[0]
        passed = marked(raw, str(verdict))
    finally:  # whatever happened, no mail is lost
        sys.stdout.buffer.write(passed)
        sys.stdout.buffer.flush()
    return 0 if options.exit_zero else CODES[verdict.label]


def change(options: argparse.Namespace) -> None:
    """Learn, unlearn or move messages."""
    found = _documents(_messages(options.files, options), options)
    from tallybayes.mail import database, filter

    label, other = options.label, "ham" if options.label == "spam" else "spam"
    changes: dict[str, Callable[[Any], Any]] = {
        "learn": lambda model: filter.learn(model, found, label),
        "unlearn": lambda model: filter.unlearn(model, found, label),
        "move": lambda model: filter.learn(filter.unlearn(model, found, other), found, label),
    }
    path = _database(options)
    if options.mail_command != "learn":
        database.read(path)  # there must be one
    model = database.update(path, changes[options.mail_command], options.wait)
    ham, spam = model.tally.class_weight.tolist()
    record = {"messages": len(found), "label": label, "learned": {"ham": ham, "spam": spam}, "database": str(path)}
    did = {"learn": f"learned as {label}", "unlearn": f"unlearned as {label}", "move": f"moved to {label}"}
    count = f"{len(found):,} message{'' if len(found) == 1 else 's'}"
    _print(record, f"{count} {did[options.mail_command]}; {path} holds {spam:,.0f} spam and {ham:,.0f} ham", options)


def explain(options: argparse.Namespace) -> None:
    """Show the clues for a verdict."""
    (message, *more) = _messages([options.file], options)
    if more:
        raise DataError(f"{options.file} holds {len(more) + 1:,} messages; explain takes one")
    from tallybayes.mail import database, filter
    from tallybayes.mail.message import document

    case = filter.explain(database.read(_database(options)), document(message.read()), _thresholds(options))
    lines = [f"{case.verdict}: {len(case.clues)} clues of {case.verdict.known} known tokens", *_table(case.clues)]
    lines.append(
        f"total {case.total:+.2f} nats for spam, divided by {case.temperature:.2f} (temperature: clues are correlated)"
    )
    _print(case.as_dict(), "\n".join(lines), options)


def evaluate(options: argparse.Namespace) -> None:
    """Evaluate the filter on messages whose class is known."""
    ham, spam = _both(options)
    from tallybayes.mail import database, filter
    from tallybayes.mail.evaluation import MailEvaluation

    model, thresholds = database.read(_database(options)), _thresholds(options)
    found = MailEvaluation.of(filter.classify(model, spam, thresholds), filter.classify(model, ham, thresholds))
    _print(found.as_dict(), str(found), options)


def top(options: argparse.Namespace) -> None:
    """Show the strongest tokens."""
    from dataclasses import asdict

    from tallybayes.mail import database, filter

    found = filter.top(database.read(_database(options)), options.n)
    lines = [line for label, clues in found.items() for line in (label, *_table(clues))]
    _print({label: [asdict(clue) for clue in clues] for label, clues in found.items()}, "\n".join(lines), options)


# ---------------------------------------------------------------------------------------------- what they share


def _messages(paths: Sequence[str], options: argparse.Namespace) -> list[Place | Loose]:
    """The messages of the given paths."""
    found: list[Place | Loose] = []
    for path in paths:
        if path == "-":
            given = split(sys.stdin.buffer.read())
            found += [Loose("-" if len(given) == 1 else f"-#{n}", raw) for n, raw in enumerate(given, start=1)]
        else:
            found += places([path], lambda text: _note(text, options))
    if not found:
        raise DataError(f"there is no message in {', '.join(paths)}")
    return found


def _documents(messages: Sequence[Place | Loose], options: argparse.Namespace) -> list[str]:
    from tallybayes.mail.reading import documents

    with documents(messages, options.jobs, lambda text: _note(text, options)) as found:
        import tallybayes.mail.database  # noqa: F401  imported while other processes read

        return list(found)


def _both(options: argparse.Namespace) -> tuple[list[str], list[str]]:
    """The documents of ham and of spam."""
    ham, spam = (_messages(paths, options) for paths in (options.ham, options.spam))
    found = _documents([*ham, *spam], options)
    return found[: len(ham)], found[len(ham) :]


def _verdicts(messages: Sequence[Place | Loose], options: argparse.Namespace) -> list[Any]:
    from tallybayes.mail.reading import documents

    with documents(messages, options.jobs, lambda text: _note(text, options)) as found:
        from tallybayes.mail import database, filter

        model, thresholds = database.read(_database(options)), _thresholds(options)
        verdicts: list[Any] = []
        while some := list(islice(found, AT_ONCE)):  # classified while other processes read on
            verdicts += filter.classify(model, some, thresholds)
        return verdicts


def _thresholds(options: argparse.Namespace) -> Any:
    from tallybayes.mail.filter import Thresholds

    return Thresholds(options.spam_from, options.ham_below)


def _database(options: argparse.Namespace) -> str:
    from tallybayes.mail.database import default_path

    return getattr(options, "database", None) or str(default_path())


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


def _print(record: dict[str, Any], text: str, options: argparse.Namespace) -> None:
    print(json.dumps(record, indent=2, ensure_ascii=False) if options.json else text)


def _note(text: str, options: argparse.Namespace) -> None:
    if not options.quiet:
        print(f"note: {text}", file=sys.stderr)
