"""``tallybayes mail``: the spam filter. Parse, call, print; few imports, as deliveries wait for it."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import islice
from typing import Any

from tallybayes.cli.mail_common import config_of, database_of, given_thresholds, messages_of, note, thresholds_for
from tallybayes.cli.mail_parser import COMMANDS
from tallybayes.cli.wording import shown
from tallybayes.errors import DataError, TallybayesError
from tallybayes.mail.boxes import Loose, Place
from tallybayes.mail.client import ask, is_trusted
from tallybayes.mail.config import Config
from tallybayes.mail.paths import socket_path
from tallybayes.mail.verdicts import Verdict

AT_ONCE = 500  # messages that are classified at a time
FEW = 20  # messages that are classified one by one, or by the server
CODES = {"spam": 0, "ham": 1, "unsure": 2}
ELSEWHERE = {
    **dict.fromkeys(("train", "learn", "unlearn", "move", "expire"), "mail_change"),
    **dict.fromkeys(("explain", "evaluate", "top"), "mail_show"),
    "serve": "mail_serve",
}


def run(options: argparse.Namespace) -> int:
    """Run one of the commands of the filter and return its exit code."""
    assert {"classify", *ELSEWHERE} == set(COMMANDS)
    if options.mail_command == "classify":
        return mark(options) if options.header else classify(options)
    from tallybayes.mail.html import check_installed

    check_installed()
    module = import_module(f"tallybayes.cli.{ELSEWHERE[options.mail_command]}")
    command: Callable[[argparse.Namespace], int | None] = module.COMMANDS[options.mail_command]
    return command(options) or 0


def classify(options: argparse.Namespace) -> int:
    """Classify messages; the exit code is the verdict."""
    config = config_of(options)
    messages = messages_of(options.files, options)
    found = _verdicts(messages, options, config)
    for message, verdict in zip(messages, found, strict=True):
        if options.json:
            print(json.dumps({"message": str(message)} | verdict.as_dict(), ensure_ascii=False))
        else:
            print(shown(str(verdict) if len(messages) == 1 else f"{message}: {verdict}"))
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
        config = config_of(options)
        verdict = _verdicts([Loose(given, raw)], options, config)[0]
        passed = marked(raw, str(verdict), config.header)
    finally:  # whatever happened, no mail is lost
        sys.stdout.buffer.write(passed)
        sys.stdout.buffer.flush()
    return 0 if options.exit_zero else CODES[verdict.label]


# ---------------------------------------------------------------------------------------------- verdicts


def _verdicts(messages: Sequence[Place | Loose], options: argparse.Namespace, config: Config) -> list[Verdict]:
    if len(messages) > FEW:
        if autolearns(options, config):
            raise DataError(f"--autolearn is for deliveries; {len(messages):,} messages are learned by mail learn")
        return _many(messages, options, config)
    return [_verdict(message, options, config) for message in messages]


def _verdict(message: Place | Loose, options: argparse.Namespace, config: Config) -> Verdict:
    """The verdict of the server, or where there is none, of this process."""
    raw, database = message.read(), os.path.realpath(database_of(options, config))
    spam, ham = given_thresholds(options, config)
    path = getattr(options, "socket", None) or config.socket or socket_path(database)
    if not options.no_server and is_trusted(path, database):
        request: dict[str, Any] = {"database": database, "spam_from": spam, "ham_below": ham}
        if autolearns(options, config):
            request |= {"autolearn_spam": config.autolearn_spam, "autolearn_ham": config.autolearn_ham}
        answer = ask(path, request, raw)
        if answer is not None:
            return Verdict(answer["label"], answer["probability"], answer["known"])
    return _own_verdict(raw, database, options, config)


def _own_verdict(raw: bytes, database: str, options: argparse.Namespace, config: Config) -> Verdict:
    from tallybayes.mail.html import check_installed
    from tallybayes.mail.message import read
    from tallybayes.mail.scoring import read_judge

    check_installed()
    judge = read_judge(database)
    thresholds = judge.thresholds.changed(*given_thresholds(options, config))
    reading = read(raw)
    if reading.trouble:
        note(f"the message was {reading.trouble}", options)
    verdict = judge.classify(reading.document, thresholds)
    if autolearns(options, config):
        _learn(raw, reading.document, verdict, database, config, options)
    return verdict


def _many(messages: Sequence[Place | Loose], options: argparse.Namespace, config: Config) -> list[Verdict]:
    from tallybayes.mail.html import check_installed
    from tallybayes.mail.reading import documents

    check_installed()
    with documents(messages, options.jobs, lambda text: note(text, options)) as found:
        from tallybayes.mail import database, filter

        model = database.read(database_of(options, config))
        thresholds = thresholds_for(model, options, config)
        verdicts: list[Verdict] = []
        while some := [known.document for known in islice(found, AT_ONCE)]:  # classified while other processes read on
            verdicts += filter.classify(model, some, thresholds)
        return verdicts


# ---------------------------------------------------------------------------------------------- learning by itself


def autolearns(options: argparse.Namespace, config: Config) -> bool:
    """Whether messages are learned by their own verdict."""
    return config.autolearn if options.autolearn is None else bool(options.autolearn)


def _learn(
    raw: bytes, document: str, verdict: Verdict, database: str, config: Config, options: argparse.Namespace
) -> None:
    """Learn a message that the filter is sure of; a failure does not touch the verdict."""
    from tallybayes.mail.serve import sure

    label = sure(verdict, config.autolearn_spam, config.autolearn_ham)
    if label is None:
        return
    from tallybayes.mail import ledger
    from tallybayes.mail.identity import identify

    item = ledger.Item(identify(raw), document, label)
    try:
        ledger.change(database, lambda book: book.learn([item], automatic=True), remember=config.memory)
    except (TallybayesError, OSError) as error:
        note(f"the message was not learned: {error}", options)
