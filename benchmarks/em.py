"""Rows without labels: what they are worth on 20 Newsgroups, and what a step of expectation-maximisation costs.

    python -m benchmarks em                 everything; the text is read from the folder TALLYBAYES_DATA
    python -m benchmarks em speed
    python -m benchmarks.em picture.svg     the table of 20 Newsgroups as a picture (needs matplotlib)

StepMix is compared where it is installed.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.mixture import GaussianMixture

import tallybayes
from benchmarks._data import codes, numbers, words
from benchmarks._real import folder
from benchmarks._timing import Bench, Row, cost, faster
from tallybayes import EM, MultinomialNB
from tallybayes.core.batch import Labels
from tallybayes.learning import em

# ---------------------------------------------------------------------------------------------- 20 Newsgroups

# Labelled documents → accuracy on the test part: what a rough trial reached, and Nigam et al. (2000) published.
TRIAL = {20: (0.18, 0.36), 100: (0.36, 0.62), 500: (0.59, 0.73), 2000: (0.73, 0.774)}
PUBLISHED = "Nigam et al. (2000), another split: 300 labels, 52 % → 66 %"
DRAWS = 5

# All that is chosen is chosen on the labelled rows alone, by leaving each of them out.
SETTINGS = {"alpha": "auto", "document_length": "auto"}


def newsgroups_text() -> tuple[Any, Any, Any, Any]:
    """Word counts and labels of both parts: bodies only, no stop words, words of two training documents or more."""
    import pandas as pd

    place = folder()
    assert place is not None
    table = pd.read_parquet(place / "text_20newsgroups.parquet")
    body, train = table["text"].str.partition("\n\n")[2], (table["split"] == "train").to_numpy()
    y = table["newsgroup"].astype(str).to_numpy()
    counter = CountVectorizer(stop_words="english", min_df=2)  # words of at least two letters
    return counter.fit_transform(body[train]), y[train], counter.transform(body[~train]), y[~train]


def partly(y: Any, n_labels: int, seed: int) -> Any:
    """The labels, of which only so many are kept, as many of each class."""
    rng, kept = np.random.default_rng(seed), np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        own = np.flatnonzero(y == label)
        kept[rng.choice(own, n_labels // len(np.unique(y)), replace=False)] = True
    return np.where(kept, y, None)


def newsgroup_scores(draws: int = DRAWS) -> dict[int, tuple[list[float], list[float]]]:
    """Test accuracy of each draw, from labelled documents alone and with the others."""
    X, y, X_test, y_test = newsgroups_text()
    found: dict[int, tuple[list[float], list[float]]] = {}
    for n_labels in TRIAL:
        few, all_ = [], []
        for seed in range(draws):
            partial = partly(y, n_labels, seed)
            with warnings.catch_warnings(action="ignore", category=UserWarning):  # 20 classes in 20 rows
                few.append(MultinomialNB(unlabelled="ignore", **SETTINGS).fit(X, partial).score(X_test, y_test))
            model = MultinomialNB(unlabelled="em", em=EM(weight="auto"), **SETTINGS).fit(X, partial)
            all_.append(model.score(X_test, y_test))
        found[n_labels] = few, all_
    return found


def newsgroups(bench: Bench) -> Iterator[Row]:
    """Accuracy with 20 to 2,000 labels, the other training documents unlabelled."""
    if folder() is None:
        print("# 20 Newsgroups is skipped: TALLYBAYES_DATA names no folder")
        return
    print(f"# accuracy from labelled documents alone (left) and with the others (right); {PUBLISHED}")
    draws = 1 if bench.quick else DRAWS
    for n_labels, (few, all_) in newsgroup_scores(draws).items():
        supervised, reached = float(np.mean(few)), float(np.mean(all_))
        least = TRIAL[n_labels][1]
        worst = min(b - a for a, b in zip(few, all_, strict=True))
        yield Row(
            f"20 Newsgroups, {n_labels:,} labels, mean of {draws}",
            supervised,
            reached,
            target=f"≥ {least:g}",
            ok=reached >= least and worst >= -0.005,
            unit="share",
            note=f"from {min(all_):.3f} to {max(all_):.3f}; least gain of a draw {worst:+.3f}",
        )


def plot(scores: dict[int, tuple[list[float], list[float]]], path: str) -> None:
    """Draw the table."""
    from matplotlib import pyplot as plt

    sizes = np.array(list(scores))
    figure, axes = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    for position, (name, colour) in enumerate(
        (("labelled documents alone", "#777777"), ("and unlabelled ones", "#b2182b"))
    ):
        runs = np.array([scores[n][position] for n in scores])
        axes.fill_between(sizes, runs.min(axis=1), runs.max(axis=1), color=colour, alpha=0.15, linewidth=0)
        axes.plot(sizes, runs.mean(axis=1), "o-", color=colour)
        offset, side = ((-10, 18), "right") if position else ((14, -12), "left")
        place = sizes[1], runs[1].mean()
        axes.annotate(name, place, offset, textcoords="offset points", color=colour, ha=side)
    axes.set_xscale("log")
    axes.set_xticks(sizes, [f"{n:,}" for n in sizes])
    axes.minorticks_off()
    axes.set(xlabel="labelled documents of 11,314", ylabel="test accuracy", ylim=(0, 1))
    axes.set_title("20 Newsgroups: what unlabelled documents add", loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None} if path.endswith(".svg") else None)


# ---------------------------------------------------------------------------------------------- speed


def one_step(model: Any, X: Any) -> Callable[[], Any]:
    """A step of expectation-maximisation from a fitted model: score, share, count and estimate."""
    rows = model._rows(X).rows(0, X.shape[0])
    rows = replace(rows, labels=Labels.hard(np.full(rows.n_rows, em.UNKNOWN)))
    step = em._Step(rows, rows.labels.codes, rows.labels.weight, None)

    def run() -> Any:
        return step(replace(model.model_))[1]  # a new model, so that the parameters are estimated again

    return run


def speed(bench: Bench) -> Iterator[Row]:
    """A step held against predict_proba of the same rows."""
    cases = {
        "GaussianNB": numbers(bench.size(1_000_000), 20, 10),
        "CategoricalNB": codes(bench.size(500_000), 20, 5, levels=8),
        "MultinomialNB": words(bench.size(100_000), 50_000, 20),
    }
    for name, (X, y) in cases.items():
        model = getattr(tallybayes, name)().fit(X, y)
        seconds, _ = bench.best(lambda m=model, X=X: m.predict_proba(X), one_step(model, X))
        shape = " × ".join(f"{size:,}" for size in X.shape)
        yield cost(f"{name}, a step, held against predict_proba, {shape}", *seconds, at_most=2.5)


def mixture(bench: Bench) -> Iterator[Row]:
    """A step of ours and one of scikit-learn's GaussianMixture, diagonal covariances, from the same parameters."""
    X, y = numbers(bench.size(1_000_000), 20, 10)
    model = tallybayes.GaussianNB(var_smoothing=0.0).fit(X, y)
    begun = {"weights_init": model.class_prior_, "means_init": model.theta_, "precisions_init": 1.0 / model.var_}
    peer = GaussianMixture(10, covariance_type="diag", max_iter=1, tol=0.0, reg_covar=0.0, **begun)
    with warnings.catch_warnings(action="ignore"):
        peer.fit(X[:1000])
    peer._set_parameters((model.class_prior_, model.theta_, model.var_, 1.0 / np.sqrt(model.var_)))

    def theirs() -> float:
        mean, log_share = peer._e_step(X)
        peer._m_step(X, log_share)
        peer._set_parameters((model.class_prior_, model.theta_, model.var_, 1.0 / np.sqrt(model.var_)))
        return mean * len(X)

    seconds, values = bench.best(theirs, one_step(model, X))
    apart = abs(values[0] - values[1]) / len(X)
    assert apart < 1e-6, f"the mean log likelihoods differ by {apart:g}"
    yield faster(f"a step of GaussianMixture (diag), {len(X):,} × 20, K = 10", *seconds, 5, f"differ by {apart:.0e}")


def stepmix(bench: Bench) -> Iterator[Row]:
    """A step of ours and one of StepMix, categorical columns."""
    try:
        from stepmix.stepmix import StepMix
    except ImportError:
        print("# StepMix is not installed, so it is not compared")
        return
    X, y = codes(bench.size(200_000), 20, 5, levels=6)
    model = tallybayes.CategoricalNB(alpha=0.0).fit(X, y)
    peer = StepMix(5, measurement="categorical", max_iter=1, progress_bar=0, random_state=0)
    with warnings.catch_warnings(action="ignore"):
        peer.fit(X)
    peer._m_step(X, np.eye(5)[y])

    def theirs() -> float:
        mean, log_share = peer._e_step(X)
        kept = peer.get_parameters()
        peer._m_step(X, np.exp(log_share))
        peer.set_parameters(kept)
        return mean * len(X)

    seconds, values = bench.best(theirs, one_step(model, X))
    apart = abs(values[0] - values[1]) / len(X)
    assert apart < 1e-6, f"the mean log likelihoods differ by {apart:g}"
    yield faster(f"a step of StepMix (categorical), {len(X):,} × 20, K = 5", *seconds, 5, f"differ by {apart:.0e}")


SECTIONS = {section.__name__: section for section in (newsgroups, speed, mixture, stepmix)}

if __name__ == "__main__":
    plot(newsgroup_scores(), sys.argv[1])
