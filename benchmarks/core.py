"""The drop-in estimators against scikit-learn's, at the sizes where it matters.

scikit-learn estimates its parameters in ``fit``; tallybayes does so on first use, so its fits are timed with the
parameters read.
"""

from __future__ import annotations

import sysconfig
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from subprocess import DEVNULL, run
from typing import Any

import sklearn.naive_bayes as peers
from sklearn.datasets import load_iris

import tallybayes
from benchmarks._data import Labelled, codes, numbers, words
from benchmarks._timing import Bench, Row, agreement, cost, exponent, faster, fresh, limit


def fitted(estimator: Any, X: Any, y: Any) -> Any:
    """Fit, and estimate the parameters where that is put off."""
    estimator.fit(X, y)
    if hasattr(estimator, "model_"):
        estimator.model_.parameters  # noqa: B018
    return estimator


def versus(bench: Bench, name: str, X: Any, y: Any, targets: Mapping[str, float], loops: int = 1) -> Iterator[Row]:
    """Each verb on the same data, by scikit-learn's estimator of that name and by ours."""
    pair = getattr(peers, name)(), getattr(tallybayes, name)()
    shape = " × ".join(f"{size:,}" for size in X.shape)
    for verb, at_least in targets.items():
        if verb == "fit":
            seconds, _ = bench.best(*(lambda e=e: fitted(e, X, y) for e in pair), loops=loops)
            note = f"{X.nnz:,} non-zeros" if hasattr(X, "nnz") else ""
        else:
            verbs = (getattr(e, verb) for e in pair)
            seconds, answers = bench.best(*(lambda v=v: v(X) for v in verbs), loops=loops)
            note = agreement(*answers)
        yield faster(f"{name} {verb}, {shape}, K = {len(pair[1].classes_)}", *seconds, at_least, note)


def left_out(bench: Bench, name: str, X: Any, y: Any, at_most: float = 3) -> Row:
    """The price of leaving each row out, in predictions. Both answer log P(y | x) of every row and class."""
    ours = getattr(tallybayes, name)().fit(X, y)
    seconds, _ = bench.best(lambda: ours.predict_log_proba(X), lambda: ours.leave_one_out(X, y))
    return cost(f"{name} leave_one_out, held against predict_log_proba", *seconds, at_most)


def gaussian(bench: Bench) -> Iterator[Row]:
    X, y = numbers(bench.size(1_000_000), 100, n_classes=10)
    yield from versus(bench, "GaussianNB", X, y, {"fit": 20, "predict": 20, "predict_proba": 20})
    seconds, _ = bench.best(X.sum, lambda: fitted(tallybayes.GaussianNB(), X, y))
    yield cost("GaussianNB fit, held against X.sum()", *seconds, at_most=2.5)
    yield left_out(bench, "GaussianNB", X, y)


def categorical(bench: Bench) -> Iterator[Row]:
    X, y = codes(bench.size(1_000_000), 50, n_classes=10)
    yield from versus(bench, "CategoricalNB", X, y, {"fit": 30, "predict": 8})
    yield left_out(bench, "CategoricalNB", X, y)


def text(bench: Bench) -> Iterator[Row]:
    X, y = words(bench.size(200_000), 100_000, n_classes=20)
    # Every class but the row's own has the row among its others, so more changes in the complement without it.
    for name, at_most in (("MultinomialNB", 3), ("BernoulliNB", 3), ("ComplementNB", 5)):
        yield from versus(bench, name, X, y, {"fit": 4, "predict": 2})
        yield left_out(bench, name, X, y, at_most)


def small(bench: Bench) -> Iterator[Row]:
    X, y = load_iris(return_X_y=True)
    yield from versus(bench, "GaussianNB", X, y, {"fit": 2}, loops=300)
    pair = [estimator.fit(X, y) for estimator in (peers.GaussianNB(), tallybayes.GaussianNB())]
    seconds, answers = bench.best(*(lambda e=e: e.predict(X[:1]) for e in pair), loops=1000)
    yield faster("GaussianNB predict, one row of iris", *seconds, 3, agreement(*answers))


# Run in a process of its own: peak memory of a fit beyond what was in use before it, the data included.
PEAK = """
from {module} import GaussianNB
from benchmarks._data import numbers
from benchmarks._timing import megabytes
from benchmarks.core import fitted

fitted(GaussianNB(), *numbers(1000, 100, 10))  # what is loaded on first use does not count
X, y = numbers({rows}, 100, 10)
before = megabytes("VmRSS")
fitted(GaussianNB(), X, y)
print(megabytes("VmHWM") - before)
"""


def memory(bench: Bench) -> Iterator[Row]:
    rows = bench.size(1_000_000)
    peer, ours = (
        float(fresh("-c", PEAK.format(module=module, rows=rows))) for module in ("sklearn.naive_bayes", "tallybayes")
    )
    yield limit(f"GaussianNB fit, peak memory beyond X, {rows:,} × 100", peer, ours, 50, "MB")


def startup(bench: Bench) -> Iterator[Row]:
    statements = "import sklearn.naive_bayes", "import tallybayes"
    (peer, ours), _ = bench.best(*(lambda s=s: fresh("-c", s) for s in statements), repeat=5)
    yield limit("import in a fresh process, interpreter included", peer, ours, 0.2)
    (core,), _ = bench.best(lambda: fresh("-c", "from tallybayes import Model, Tally, families"), repeat=5)
    yield Row("the same with Model, Tally and families loaded", None, core)
    command = [str(Path(sysconfig.get_path("scripts")) / "tallybayes"), "demo"]
    (demo,), _ = bench.best(lambda: run(command, check=True, stdout=DEVNULL, stdin=DEVNULL), repeat=5)
    yield limit("tallybayes demo", None, demo, 0.6)


# Data, rows, columns and classes to start from; each in turn is doubled three times.
GROWING: dict[str, tuple[Callable[[int, int, int], Labelled], int, int, int]] = {
    "GaussianNB": (numbers, 125_000, 32, 8),
    "CategoricalNB": (codes, 125_000, 16, 8),
    "MultinomialNB": (words, 50_000, 25_000, 8),
}
LINEAR = 1.2  # the largest exponent that counts as linear: caches and timers are not quite


def growth(bench: Bench) -> Iterator[Row]:
    """Seconds for each size, and the exponent p of seconds ~ size^p."""
    for name, (make, n, d, k) in GROWING.items():
        n = bench.size(n)
        for axis, letter in enumerate("NDK"):
            sizes = [tuple(s << step if i == axis else s for i, s in enumerate((n, d, k))) for step in range(4)]
            taken = [_fit_and_predict(bench, name, make(*size)) for size in sizes]
            for verb, seconds in zip(("fit", "predict"), zip(*taken, strict=True), strict=True):
                grown = [size[axis] for size in sizes]
                note = ", ".join(f"{letter} = {g:,}: {s:.4f} s" for g, s in zip(grown, seconds, strict=True))
                yield limit(
                    f"{name} {verb}, growth with {letter}", None, exponent(grown, seconds), LINEAR, "exponent", note
                )


def _fit_and_predict(bench: Bench, name: str, data: Labelled) -> list[float]:
    X, y = data
    ours = getattr(tallybayes, name)()
    return bench.best(lambda: fitted(ours, X, y), lambda: ours.predict(X))[0]


SECTIONS: dict[str, Callable[[Bench], Iterator[Row]]] = {
    section.__name__: section for section in (gaussian, categorical, text, small, memory, startup, growth)
}
