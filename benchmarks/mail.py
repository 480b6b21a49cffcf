"""The spam filter beside bogofilter, on the same messages in one run: what is caught, and how fast.

    TALLYBAYES_DATA=… python -m benchmarks mail

The SpamAssassin corpus: files sorted by path, ``RandomState(0).permutation``, the first 70 % to train with. Both
filters are run as commands on the same four directories, with their default thresholds. The settings of ours were
chosen within those 70 % alone: the tokens and what the clues are (``Clues(alpha=0.05, most=15)`` among pseudocounts of
0.01 to 0.3 and 10 to 60 clues) by the log loss of ten-fold cross-validation, the thresholds by what they let through.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks._real import folder
from benchmarks._timing import Bench, Row

ARCHIVE = "mail_spamassassin.tar.gz"
OURS = [sys.executable, "-m", "tallybayes.cli", "mail"]
DIRECTORY = tempfile.TemporaryDirectory(prefix="tallybayes-benchmark-")
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


SECTIONS = {"spamassassin": spamassassin}
