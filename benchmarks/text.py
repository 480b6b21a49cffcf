"""Texts: how fast they are tokenised, learned and predicted, how well, and in how much memory.

    python -m benchmarks text               everything; the texts are read from the folder TALLYBAYES_DATA
    python -m benchmarks text speed

Speed is held against CountVectorizer and MultinomialNB on 20 Newsgroups, 11,314 posts to learn and 7,532 to predict.
Accuracy is that of one default for all; nothing is chosen on the test parts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from benchmarks._real import folder
from benchmarks._timing import Bench, Row, agreement, faster, fresh, limit
from tallybayes import CountTokens, TextNB

Labelled = tuple[list[str], Any]

# The same words, counts and formula as the peer's.
PLAIN: dict[str, Any] = {
    "family": "multinomial",
    "alpha": 1.0,
    "words": "sklearn",
    "ngrams": (1, 1),
    "damped": False,
    "scaled": False,
    "weights": None,
}


def newsgroups() -> tuple[Labelled, Labelled]:
    """The posts of 20 Newsgroups as they are, by date."""
    import pandas as pd

    place = folder()
    assert place is not None
    table = pd.read_parquet(place / "text_20newsgroups.parquet")
    train = (table["split"] == "train").to_numpy()
    texts, y = table["text"].to_numpy(dtype=object), table["newsgroup"].astype(str).to_numpy()
    return (texts[train].tolist(), y[train]), (texts[~train].tolist(), y[~train])


def speed(bench: Bench) -> Iterator[Row]:
    """Text to model, text to predictions, text to counts."""
    if not _is_there():
        return
    (texts, y), (asked, _) = newsgroups()
    n = bench.size(len(texts))
    texts, y, asked = texts[:n], y[:n], asked[: bench.size(len(asked))]

    def learned(model: Any) -> Callable[[], Any]:
        return lambda: model().fit(texts, y)

    peers: dict[str, Callable[[], Any]] = {
        "words": lambda: make_pipeline(CountVectorizer(), MultinomialNB()),
        "pairs": lambda: make_pipeline(CountVectorizer(ngram_range=(1, 2)), MultinomialNB()),
    }
    (peer, ours), (theirs, mine) = bench.best(learned(peers["words"]), learned(lambda: TextNB(**PLAIN)))
    yield faster("20 Newsgroups, texts to model, the same model", peer, ours, 10)
    (peer, ours), found = bench.best(lambda: theirs.predict(asked), lambda: mine.predict(asked))
    yield faster("20 Newsgroups, texts to predictions, the same model", peer, ours, 8, agreement(*found))
    column = _arrow(texts)
    (peer, ours), _ = bench.best(learned(peers["words"]), lambda: TextNB(**PLAIN).fit(column, y))
    yield faster("the same, texts in an Arrow column, to model", peer, ours, 10)

    (peer, ours), found = bench.best(
        lambda: CountVectorizer().fit_transform(texts), lambda: CountTokens(words="sklearn").fit_transform(texts)
    )
    assert (found[0] != found[1]).nnz == 0
    yield faster("20 Newsgroups, texts to counts (CountTokens)", peer, ours, 8, "the same counts")
    (peer, ours), _ = bench.best(
        lambda: CountVectorizer(ngram_range=(1, 2)).fit_transform(texts),
        lambda: CountTokens(words="sklearn", ngrams=(1, 2)).fit_transform(texts),
    )
    yield faster("the same, words and pairs of words", peer, ours, None)
    (peer, ours), (theirs, mine) = bench.best(learned(peers["pairs"]), learned(TextNB))
    yield faster("texts to model, words and pairs; ours the default", peer, ours, 8, "alpha and weights chosen")
    (plain,), _ = bench.best(learned(lambda: TextNB(weights="learn")))
    yield limit("the default's fit, against one weight for all words", None, ours / plain, 1.3, "times as long")
    (peer, ours), _ = bench.best(lambda: theirs.predict(asked), lambda: mine.predict(asked))
    yield faster("texts to predictions, words and pairs; ours the default", peer, ours, None)
    (one,), _ = bench.best(lambda: mine.predict(asked[:1]), loops=20)
    yield Row("one text to its class", None, one)


# ---------------------------------------------------------------------------------------------- memory

# Run in a process of its own: peak memory beyond what was in use before, the texts included.
PEAK = """
from benchmarks._timing import megabytes
from benchmarks.text import newsgroups
from {module} import {name} as Counter

(texts, _), _ = newsgroups()
texts = texts[:{n}]
Counter({options}).fit_transform(texts[:50])
before = megabytes("VmRSS")
found = Counter({options}).fit_transform(texts)
print(megabytes("VmHWM") - before)
"""

STREAM = """
import sys
from benchmarks._timing import megabytes
from benchmarks.text import made_up
from tallybayes import TextNB

model = TextNB(hashed=18, ngrams=(1, 1))
for number in range({batches}):
    model.partial_fit(*made_up({size}, number))
    if number in ({batches} // 10, {batches} - 1):
        print(megabytes("VmHWM"))
"""


def made_up(n: int, seed: int) -> Labelled:
    """Short texts of words that keep coming: some common, most of them new."""
    rng = np.random.default_rng(seed)
    words = rng.zipf(1.3, size=(n, 12)) % 5_000_000
    y = rng.integers(0, 2, n)
    return [
        " ".join(f"w{w}" for w in row) + (" yes" if k else " no") for row, k in zip(words.tolist(), y, strict=True)
    ], y


def memory(bench: Bench) -> Iterator[Row]:
    """What counting takes beside the texts, and a stream without end."""
    if _is_there():
        n = bench.size(11_314)
        peer = float(fresh("-c", _peak("sklearn.feature_extraction.text", "CountVectorizer", "", n)))
        ours = float(fresh("-c", _peak("tallybayes", "CountTokens", "words='sklearn'", n)))
        yield limit("20 Newsgroups, texts to counts, peak memory beyond them", peer, ours, round(peer), "MB")
    size = 10_000
    batches = max(20, bench.size(1_000_000) // size)
    early, late = map(float, fresh("-c", STREAM.format(batches=batches, size=size)).split())
    work = f"{batches * size:,} short texts streamed, hashed: peak at a tenth, at the end"
    yield limit(work, early, late, round(early * 1.05), "MB")


def _peak(module: str, name: str, options: str, n: int) -> str:
    return PEAK.format(module=module, name=name, options=options, n=n)


# ---------------------------------------------------------------------------------------------- accuracy

# What others reach, and what is asked for.
KNOWN = {
    "20 Newsgroups, by date": (0.857, 0.868, "LinearSVC on tf-idf 0.857, ComplementNB on tf-idf 0.842"),
    "rt-polarity, 10-fold": (0.794, 0.803, "Wang & Manning 2012: NBSVM, pairs of words 0.794"),
    "SMS spam, 10-fold": (0.988, 0.992, "MultinomialNB, pairs of words 0.988"),
}
MOST_LOSS = 0.36  # mean of the three
FILES = {"rt-polarity, 10-fold": "text_rt_polarity.csv.gz", "SMS spam, 10-fold": "text_sms_spam.csv"}


def accuracy(bench: Bench) -> Iterator[Row]:
    """One default for long texts and short ones; the peer's figures are published ones, or measured with its best."""
    if not _is_there():
        return
    (texts, y), (asked, truth) = newsgroups()
    n = bench.size(len(texts))
    lost = []
    for name in KNOWN:
        if name in FILES:
            share, loss = _ten_fold(*_csv(FILES[name]), 2 if bench.quick else 10)
        else:
            share, loss = _judged(TextNB().fit(texts[:n], y[:n]), asked, truth)
        lost.append(loss)
        peer, least, note = KNOWN[name]
        reached = round(share, 4) >= least
        yield Row(f"accuracy, {name}", peer, share, None, f"≥ {least:g}", reached, "share", note)
    yield limit("log loss, mean of the three", None, float(np.mean(lost)), MOST_LOSS, "share")


def _csv(file: str) -> tuple[Any, Any]:
    import pandas as pd

    place = folder()
    assert place is not None
    table = pd.read_csv(place / file, keep_default_na=False)
    return table["text"].to_numpy(dtype=object), table["label"].to_numpy(dtype=str)


def _ten_fold(texts: Any, y: Any, folds: int) -> tuple[float, float]:
    found = []
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=0).split(texts, y):
        model = TextNB().fit(texts[train].tolist(), y[train])
        found.append(_judged(model, texts[test].tolist(), y[test]))
    share, loss = np.mean(found, axis=0).tolist()
    return share, loss


def _judged(model: Any, texts: list[str], y: Any) -> tuple[float, float]:
    """Accuracy and log loss."""
    logs = model.predict_log_proba(texts)
    own = np.searchsorted(model.classes_, y)
    return float((logs.argmax(axis=1) == own).mean()), float(-logs[np.arange(len(own)), own].mean())


# ---------------------------------------------------------------------------------------------- tokens="auto"

ALPHABETS = {"Chinese": range(0x4E00, 0x4E00 + 400), "Thai": range(0x0E01, 0x0E2F)}


def written(script: str, n: int = 1500, seed: int = 0) -> Labelled:
    """Made-up texts of four topics: words of a script without blanks, of inflected Latin stems, or three words each."""
    rng = np.random.default_rng(seed)
    letters = [chr(c) for c in ALPHABETS.get(script, range(ord("a"), ord("z") + 1))]
    words = ["".join(rng.choice(letters, rng.integers(2, 5) if script != "inflected" else 7)) for _ in range(600)]
    endings = ["ssa", "sta", "lla", "lle", "ksi", "tta", "den", "ista"] if script == "inflected" else [""]
    chances = rng.dirichlet(np.full(len(words), 0.2), 4) * 0.5 + rng.dirichlet(np.full(len(words), 1.0)) * 0.5
    y, glue = rng.integers(0, 4, n), "" if script in ALPHABETS else " "
    length = 3 if script == "short" else 12
    drawn = [rng.choice(len(words), length, p=chances[k]) for k in y]
    return [glue.join(words[w] + str(rng.choice(endings)) for w in row) for row in drawn], y


def auto(bench: Bench) -> Iterator[Row]:
    """The default beside ``tokens="auto"``: accuracy, log loss and CPU time of the fits."""
    tables: dict[str, tuple[Any, Any]] = {}
    for script in ("Chinese", "Thai", "inflected", "short"):
        texts, y = written(script)
        tables[f"{script}, made up, 3-fold"] = np.array(texts, dtype=object), y
    if _is_there():
        tables |= {name: _csv(file) for name, file in FILES.items()}
    for name, (texts, y) in tables.items():
        splits = StratifiedKFold(10 if "10" in name else 3, shuffle=True, random_state=0).split(texts, y)
        parts = [((texts[a].tolist(), y[a]), (texts[b].tolist(), y[b])) for a, b in splits]
        yield from _beside(name, parts[: 2 if bench.quick else None])
    if _is_there() and not bench.quick:
        yield from _beside("20 Newsgroups, by date", [newsgroups()])


def _beside(name: str, parts: list[tuple[Labelled, Labelled]]) -> Iterator[Row]:
    found: dict[str | None, list[float]] = {}
    for tokens in (None, "auto"):
        figures = []
        for train, test in parts:
            start = time.process_time()
            model = TextNB(tokens=tokens, n_jobs=1).fit(*train)  # type: ignore[arg-type]
            figures.append((*_judged(model, *test), time.process_time() - start))
        found[tokens] = np.mean(figures, axis=0).tolist()
        chosen = next(iter(model.model_.provenance.notes[::-1]), "")
    for place, (what, unit) in enumerate((("accuracy", "share"), ("log loss", "share"), ("fit", "seconds"))):
        note = "" if place else chosen
        yield Row(f"{name}: {what}", found[None][place], found["auto"][place], None, "", None, unit, note)


def _arrow(texts: list[str]) -> Any:
    import polars as pl

    return pl.Series("text", texts)


def _is_there() -> bool:
    there = folder() is not None
    if not there:
        print("# real texts are skipped: TALLYBAYES_DATA names no folder")
    return there


SECTIONS = {section.__name__: section for section in (speed, memory, accuracy, auto)}
