"""The SpamAssassin corpus, and how it is split by chance and by date."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator

import numpy as np

from benchmarks._real import folder
from benchmarks._timing import Bench
from tallybayes.mail.identity import identify

ARCHIVE = "mail_spamassassin.tar.gz"


def arrival(raw: bytes) -> float:
    """When a message arrived, in seconds since 1970."""
    return identify(raw).when(0.0)


def body_alone(raw: bytes) -> bytes:
    """A message with no header but its type and encoding."""
    head, _, rest = raw.partition(b"\n\n")
    kept = re.findall(rb"(?im)^(?:content-type|content-transfer-encoding):[^\n]*(?:\n[ \t][^\n]*)*", head)
    return b"".join(line + b"\n" for line in kept) + b"\n" + rest


def splits(is_spam: np.ndarray, times: np.ndarray) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Names, training and test messages of the trials."""
    n = len(is_spam)
    order = np.random.RandomState(0).permutation(n)
    yield "random 70/30", order[: int(0.7 * n)], order[int(0.7 * n) :]
    yield "random halves", order[: n // 2], order[n // 2 :]
    yield "the other way round", order[n // 2 :], order[: n // 2]
    order = np.argsort(times, kind="stable")
    yield "halves by date", order[: n // 2], order[n // 2 :]
    early = np.concatenate([own[: len(own) // 2] for k in (False, True) if len(own := order[is_spam[order] == k])])
    yield "halves of each class by date", early, np.setdiff1d(order, early)


def read_corpus(bench: Bench) -> list[tuple[str, bytes]]:
    """The names and the bytes of all messages, in the order of their names."""
    place = folder()
    if place is None or not (place / ARCHIVE).exists():
        print(f"# skipped: TALLYBAYES_DATA names no folder with {ARCHIVE}")
        return []
    with tarfile.open(place / ARCHIVE) as archive:
        members = sorted((m for m in archive.getmembers() if m.isfile()), key=lambda m: m.name)
        return [(m.name, archive.extractfile(m).read()) for m in members[:: 15 if bench.quick else 1]]  # type: ignore[union-attr]
