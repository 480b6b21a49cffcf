"""The spam filter on mail that is newer than what it learned: what it finds, and what any cut-off could find."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks._mail_corpus import arrival, read_corpus, splits
from benchmarks._timing import Bench, Row
from tallybayes.mail import filter as spam_filter
from tallybayes.mail import training
from tallybayes.mail.message import read


def by_date(bench: Bench) -> Iterator[Row]:
    """Recall of ours beside the most that any cut-off gives at one false positive in 1,000, chosen on the test part.

    The trials by date, and the same within their training halves: what is to be chosen may be judged on those.
    """
    found = read_corpus(bench)
    if not found:
        return
    is_spam = np.array(["/spam-" in name for name, _ in found])
    times = np.array([arrival(raw) for _, raw in found])
    outer = {name: (train, test) for name, train, test in splits(is_spam, times) if "by date" in name}
    documents = [read(raw).document for _, raw in found]
    for name, (older, newer) in outer.items():
        yield _with_ceiling(name, documents, is_spam, times, older, newer)
        for share in (0.4, 0.5, 0.6, 0.7):
            train, test = _older(older, is_spam, times, share, by_class="each class" in name)
            yield _with_ceiling(f"{name}: {share:.0%} of its training part", documents, is_spam, times, train, test)


def _older(
    rows: np.ndarray, is_spam: np.ndarray, times: np.ndarray, share: float, by_class: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The older share of some messages, or of each class of them, and the newer rest."""
    parts = [rows[is_spam[rows] == k] for k in (False, True)] if by_class else [rows]
    ordered = [part[np.argsort(times[part], kind="stable")] for part in parts]
    older, newer = (
        [f(part, int(len(part) * share)) for part in ordered] for f in (lambda p, k: p[:k], lambda p, k: p[k:])
    )
    return np.concatenate(older), np.concatenate(newer)


def _with_ceiling(
    name: str, documents: list[str], is_spam: np.ndarray, times: np.ndarray, train: np.ndarray, test: np.ndarray
) -> Row:
    batch = spam_filter.rows([documents[i] for i in train], [spam_filter.CLASSES[int(is_spam[i])] for i in train])
    model, _ = training.fitted(spam_filter.empty().learn(batch), batch, times=times[train].tolist())
    verdicts = spam_filter.classify(model, [documents[i] for i in test])
    called = np.array([verdict.label == "spam" for verdict in verdicts])
    odds = np.array([verdict.probability for verdict in verdicts])
    ham = np.sort(odds[~is_spam[test]])[::-1]
    most = int(0.001 * len(ham))
    wrong = int(called[~is_spam[test]].sum())
    note = f"false positives: {wrong} of {len(ham)} by its own cut-off, at most {most} by the best"
    best = float((odds[is_spam[test]] > ham[most]).mean())
    return Row(f"{name}: recall, ceiling", best, float(called[is_spam[test]].mean()), None, "", None, "share", note)
