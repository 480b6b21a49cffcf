"""The spam filter beside bogofilter and SpamAssassin's Bayes, on the same messages in one run.

    TALLYBAYES_DATA=… python -m benchmarks mail

``trials`` are ten: random 70/30, both ways of random halves, halves by date, and halves of each class by date; of full
messages, and of bodies with no header but their type and encoding; those by date once more with filters that learn by
their own verdicts as mail arrives (``bogofilter -u``, ``--autolearn``). Nothing of a trial's test messages has a part
in its cut-offs. ``by_date`` shows what recall no cut-off could exceed. ``delivery`` is the CPU time of one message by
a command, and of a server.

The SpamAssassin corpus: files sorted by path, ``RandomState(0).permutation``, the first 70 % to train with. Both
filters are run as commands on the same four directories, with their default thresholds. The settings of ours were
chosen within those 70 % alone: the tokens and what the clues are (``Clues(alpha=0.05, most=15)`` among pseudocounts of
0.01 to 0.3 and 10 to 60 clues) by the log loss of ten-fold cross-validation, the thresholds by what they let through.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import _spamassassin
from benchmarks._mail_corpus import ARCHIVE, arrival, body_alone, read_corpus, splits
from benchmarks._mail_dates import by_date
from benchmarks._real import folder
from benchmarks._timing import Bench, Row
from tallybayes.mail.client import ask
from tallybayes.mail.config import Config
from tallybayes.mail.identity import identify
from tallybayes.mail.ledger import Item, change
from tallybayes.mail.message import read
from tallybayes.mail.scoring import read_judge
from tallybayes.mail.serve import sure

OURS = [sys.executable, "-m", "tallybayes.cli", "mail"]
DIRECTORY = tempfile.TemporaryDirectory(prefix="tallybayes-benchmark-")
KINDS = "ham", "spam"
Found = dict[str, tuple[str, float]]  # verdict and probability of spam of each file


def messages(quick: bool) -> tuple[Path, dict[tuple[str, str], int]]:
    """A directory with train/spam, train/ham, test/spam and test/ham, and how many messages are in each."""
    place = folder()
    assert place is not None
    root = Path(DIRECTORY.name)
    with tarfile.open(place / ARCHIVE) as archive:
        archive.extractall(root / "all", filter="data")
    files = sorted(str(path) for path in (root / "all").rglob("*") if path.is_file())
    order = np.random.RandomState(0).permutation(len(files))
    if quick:
        order = order[:400]
    count: dict[tuple[str, str], int] = {}
    for rank, i in enumerate(order):
        part = "train" if rank < int(0.7 * len(order)) else "test"
        kind = "spam" if "/spam-" in files[i] else "ham"
        (root / part / kind).mkdir(parents=True, exist_ok=True)
        shutil.copy(files[i], root / part / kind / f"{Path(files[i]).parent.name}-{Path(files[i]).name}")
        count[part, kind] = count.get((part, kind), 0) + 1
    return root, count


def run(command: list[str], given: str = "") -> str:
    """Run a command that tells by its exit code what it found."""
    found = subprocess.run(command, capture_output=True, text=True, input=given, check=False)
    assert found.returncode < 3, found.stderr
    return found.stdout


def listed(*directories: Path) -> str:
    """The files of directories, one a line: bogofilter passes over those of a directory that are not numbered."""
    return "\n".join(str(path) for directory in directories for path in sorted(directory.iterdir()))


def bogofilter_train(root: Path) -> None:
    place = root / "bogofilter"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    for flag, kind in (("-s", "spam"), ("-n", "ham")):
        run(["bogofilter", "-C", "-d", str(place), flag, "-b"], listed(root / "train" / kind))


def bogofilter_classify(root: Path) -> Found:
    label = {"S": "spam", "H": "ham", "U": "unsure"}
    printed = run(["bogofilter", "-C", "-d", str(root / "bogofilter"), "-T", "-b"], listed(*test(root)))
    lines = (line.rsplit(maxsplit=2) for line in printed.splitlines())
    return {Path(name).name: (label[verdict], float(p)) for name, verdict, p in lines}


def our_train(root: Path) -> None:
    (spam, ham), database = ((str(root / "train" / kind) for kind in ("spam", "ham")), str(root / "mail.tally"))
    run([*OURS, "train", "--spam", spam, "--ham", ham, "-o", database, "--replace", "--quiet"])


def our_classify(root: Path) -> Found:
    printed = run([*OURS, "classify", "-d", str(root / "mail.tally"), "--json", *map(str, test(root))])
    records = map(json.loads, printed.splitlines())
    return {Path(r["message"]).name: (r["label"], r["probability"]) for r in records}


def test(root: Path) -> list[Path]:
    return [root / "test" / kind for kind in ("spam", "ham")]


def figures(found: Found) -> dict[str, float]:
    """What became of the messages; the name of a file tells which it was."""
    spam = {name: v for name, v in found.items() if name.startswith("spam-")}
    ham = {name: v for name, v in found.items() if not name.startswith("spam-")}
    right = sum(p >= 0.5 for _, p in spam.values()) + sum(p < 0.5 for _, p in ham.values())
    return {
        "recall": sum(label == "spam" for label, _ in spam.values()) / len(spam),
        "false positives": sum(label == "spam" for label, _ in ham.values()),
        "missed": sum(label == "ham" for label, _ in spam.values()),
        "unsure": sum(label == "unsure" for label, _ in found.values()),
        "accuracy": right / len(found),
    }


def spamassassin(bench: Bench) -> Iterator[Row]:
    """Both filters on the SpamAssassin corpus."""
    place = folder()
    if place is None or not (place / ARCHIVE).exists():
        print(f"# skipped: TALLYBAYES_DATA names no folder with {ARCHIVE}")
        return
    if shutil.which("bogofilter") is None:
        print("# skipped: bogofilter is not installed (Debian: apt install bogofilter)")
        return
    root, count = messages(bench.quick)
    n_train, n_test = (sum(n for (part, _), n in count.items() if part == which) for which in ("train", "test"))
    seconds, _ = bench.best(lambda: bogofilter_train(root), lambda: our_train(root))
    yield rate(f"train with {n_train:,} messages, messages/s", n_train, seconds)
    seconds, found = bench.best(lambda: bogofilter_classify(root), lambda: our_classify(root))
    assert all(len(each) == n_test for each in found)
    yield rate(f"classify {n_test:,} messages, messages/s", n_test, seconds)
    theirs, ours = map(figures, found)
    yield better("spam recall, default thresholds", theirs, ours, "recall", 0.95)
    yield count_of("false positives, default thresholds", theirs, ours, "false positives", 1)
    yield count_of("spam called ham", theirs, ours, "missed")
    yield count_of("unsure", theirs, ours, "unsure")
    yield better("accuracy at one half", theirs, ours, "accuracy", 0.993)
    if not _spamassassin.is_there():
        print("# skipped: SpamAssassin is not installed (Debian: apt install spamassassin)")
        return
    yield from beside_spamassassin(root, (n_train, n_test), seconds[1], ours)


def beside_spamassassin(root: Path, n: tuple[int, int], classified: float, ours: dict[str, float]) -> Iterator[Row]:
    """The same of SpamAssassin's Bayes, whose spam is what BAYES_99 hits; in one run each, for it takes its time."""
    spam, ham = (listed(root / "train" / kind) for kind in ("spam", "ham"))
    started = time.perf_counter()
    _spamassassin.train(root, spam, ham)
    learned = time.perf_counter()
    theirs = figures(_spamassassin.classify(root, listed(*test(root))))
    spent = time.perf_counter() - learned
    started, learned = learned - started, time.perf_counter()
    our_train(root)
    yield rate("SpamAssassin's Bayes: train, messages/s", n[0], [started, time.perf_counter() - learned])
    yield rate("SpamAssassin's Bayes: classify, messages/s", n[1], [spent, classified])
    for name in ("recall", "false positives", "missed", "unsure", "accuracy"):
        unit = "share" if name in ("recall", "accuracy") else "messages"
        yield Row(f"SpamAssassin's Bayes: {name}", theirs[name], ours[name], None, "", None, unit)
    per = 1e3 / n[0]
    database = (root / "mail.tally").stat().st_size
    sizes = _spamassassin.size(root) * per / 1e6, database * per / 1e6
    yield Row("SpamAssassin's Bayes: megabytes for 1,000 messages", *sizes, None, "", None, "MB")


def rate(work: str, n: int, seconds: list[float]) -> Row:
    """Messages a second; the target is what bogofilter does in the same run."""
    theirs, ours = (n / each for each in seconds)
    return Row(work, theirs, ours, ours / theirs, "≥ 1×", ours >= theirs, "messages")


def better(work: str, theirs: dict[str, float], ours: dict[str, float], name: str, least: float) -> Row:
    note = f"bogofilter {theirs[name]:.4f}, ours {ours[name]:.4f}"
    return Row(work, theirs[name], ours[name], None, f"≥ {least:g}", ours[name] >= least, "share", note)


def count_of(work: str, theirs: dict[str, float], ours: dict[str, float], name: str, most: float | None = None) -> Row:
    target, ok = ("", None) if most is None else (f"≤ {most:g}", ours[name] <= most)
    return Row(work, theirs[name], ours[name], None, target, ok, "messages")


# ---------------------------------------------------------------------------------------------- trials


def trials(bench: Bench) -> Iterator[Row]:
    """Recall and false positives of both filters at their default cut-offs."""
    found = read_corpus(bench)
    if not found or shutil.which("bogofilter") is None:
        print("# skipped: bogofilter is not installed")
        return
    is_spam = np.array(["/spam-" in name for name, _ in found])
    times = np.array([arrival(raw) for _, raw in found])
    for what, of in (("full messages", bytes), ("bodies", body_alone)):
        for name, train, test in splits(is_spam, times):
            with tempfile.TemporaryDirectory() as directory:
                root = Path(directory)
                for part, rows in (("train", train), ("test", test)):
                    for i in rows:
                        kind = "spam" if is_spam[i] else "ham"
                        (root / part / kind).mkdir(parents=True, exist_ok=True)
                        (root / part / kind / f"{kind}-{i}").write_bytes(of(found[i][1]))
                bogofilter_train(root)
                our_train(root)
                n_ham = int((~is_spam[test]).sum())
                theirs, ours = figures(bogofilter_classify(root)), figures(our_classify(root))
                yield trial(f"{what}, {name}", theirs, ours, n_ham)
                if "by date" in name:
                    order = test[np.argsort(times[test], kind="stable")]
                    files = [root / "test" / kind / f"{kind}-{i}" for i in order for kind in [KINDS[int(is_spam[i])]]]
                    theirs, ours = figures(bogofilter_updating(root, files)), figures(our_updating(root, files))
                    yield trial(f"{what}, {name}, learning by its own verdicts", theirs, ours, n_ham)


def trial(name: str, theirs: dict[str, float], ours: dict[str, float], n_ham: int) -> Row:
    """Recall of both; the target is for the false positives of ours."""
    most = np.ceil(0.001 * n_ham)
    fine = ours["false positives"] <= most
    return Row(
        f"{name}: recall", theirs["recall"], ours["recall"], None, f"≤ {most:g} false positives", fine, "share",
        f"false positives: bogofilter {theirs['false positives']:g}, ours {ours['false positives']:g} of {n_ham}; "
        f"unsure {theirs['unsure']:g} and {ours['unsure']:g}",
    )  # fmt: skip


# ---------------------------------------------------------------------------------------------- learning on

AT_ONCE = 100  # messages that the server of ours learns together


def bogofilter_updating(root: Path, files: list[Path]) -> Found:
    """The verdicts of ``bogofilter -u``, which learns by them, on messages as they arrive."""
    label = {"S": "spam", "H": "ham", "U": "unsure"}
    printed = run(["bogofilter", "-C", "-d", str(root / "bogofilter"), "-T", "-u", "-b"], "\n".join(map(str, files)))
    lines = (line.rsplit(maxsplit=2) for line in printed.splitlines())
    return {Path(name).name: (label[verdict], float(p)) for name, verdict, p in lines}


def our_updating(root: Path, files: list[Path]) -> Found:
    """The same of ours with ``--autolearn``."""
    config, path, found = Config(), str(root / "mail.tally"), Found()
    for first in range(0, len(files), AT_ONCE):
        judge, items = read_judge(path), []
        for file in files[first : first + AT_ONCE]:
            raw = file.read_bytes()
            document = read(raw).document
            verdict = judge.classify(document)
            found[file.name] = (verdict.label, verdict.probability)
            if (label := sure(verdict, config.autolearn_spam, config.autolearn_ham)) is not None:
                items.append(Item(identify(raw), document, label))
        change(path, lambda book, items=items: book.learn(items, automatic=True))  # type: ignore[misc]
    return found


# ---------------------------------------------------------------------------------------------- one message


def cpu_seconds(command: list[str], given: bytes = b"", times: int = 9) -> float:
    """The least CPU time of a command, over some runs; modules are compiled already, as those of a package are."""
    found = []
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = f"{DIRECTORY.name}/compiled"
    for _ in range(times):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, input=given, capture_output=True, check=False, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found)


def delivery(bench: Bench) -> Iterator[Row]:
    """CPU time of one delivery, and the size of the database."""
    place = folder()
    if place is None or not (place / ARCHIVE).exists() or shutil.which("bogofilter") is None:
        print(f"# skipped: TALLYBAYES_DATA names no folder with {ARCHIVE}, or bogofilter is not installed")
        return
    root, count = messages(bench.quick)
    bogofilter_train(root)
    our_train(root)
    database = root / "mail.tally"
    some = [path.read_bytes() for path in sorted((root / "test" / "ham").iterdir())[:100]]
    theirs = cpu_seconds(["bogofilter", "-C", "-d", str(root / "bogofilter"), "-T"], some[0])
    plain = cpu_seconds([*OURS, "classify", "--no-server", "-d", str(database)], some[0])
    yield Row("one delivery, command alone, CPU seconds", theirs, plain, None, "≤ 0.12", plain <= 0.12, "seconds")
    server = subprocess.Popen([*OURS, "serve", "-q", "-d", str(database)])
    try:
        while ask(f"{database}.sock", {}, some[0]) is None:
            time.sleep(0.1)
        seconds = []
        for raw in some:
            start = time.perf_counter()
            assert ask(f"{database}.sock", {}, raw) is not None
            seconds.append(time.perf_counter() - start)
        asked = cpu_seconds([*OURS, "classify", "-d", str(database)], some[0])
    finally:
        server.terminate()
        server.wait()
    middle = float(np.median(seconds))
    yield Row("one message by the server, wall seconds", theirs, middle, None, "≤ 0.01", middle <= 0.01, "seconds")
    yield Row("one delivery that asks the server, CPU seconds", theirs, asked, None, "", None, "seconds")
    thousands = sum(n for (part, _), n in count.items() if part == "train") / 1000
    size = sum(path.stat().st_size for path in (root / "bogofilter").iterdir()) / 1e6 / thousands
    for what, files in (("", [database]), (" with the memory", [database, Path(f"{database}.memory")])):
        ours = sum(path.stat().st_size for path in files) / 1e6 / thousands
        yield Row(f"megabytes for 1,000 messages{what}", size, ours, None, "", None, "MB")


SECTIONS = {"spamassassin": spamassassin, "trials": trials, "by_date": by_date, "delivery": delivery}
