"""Mixed tables: NaiveBayes on frames as they are against the encoders and models of scikit-learn.

The peak memory of a fit is measured in a process of its own, which makes the frame first.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks._peer import Combined
from benchmarks._real import available, read
from benchmarks._timing import Bench, Row, faster, fresh, limit, megabytes
from tallybayes import NaiveBayes

NUMERIC = [f"number_{j}" for j in range(10)]
TEXT = [f"text_{j}" for j in range(10)]
CLASSICAL = {"classical": True}  # under which NaiveBayes is the peer's model: Gaussian numbers, no weights, no pairs


def columns(n: int, seed: int = 0) -> tuple[dict[str, Any], Any]:
    """Ten columns of numbers and ten of text with 30 levels, three classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    levels = np.array([f"level_{i:02d}" for i in range(30)], dtype=object)
    made: dict[str, Any] = {name: rng.normal(0.3 * y) for name in NUMERIC}
    made |= {name: levels[(rng.integers(30, size=n) + 2 * y * (rng.random(n) < 0.3)) % 30] for name in TEXT}
    return made, np.array(["low", "middle", "high"], dtype=object)[y]


def frame(kind: str, n: int) -> tuple[Any, Any]:
    """The table as a pandas or a Polars frame."""
    made, y = columns(n)
    if kind == "pandas":
        import pandas as pd

        return pd.DataFrame(made), y
    import polars as pl

    return pl.DataFrame(
        {name: values.tolist() if values.dtype == object else values for name, values in made.items()}
    ), y


def frames(bench: Bench) -> Iterator[Row]:
    """Fit and predict_proba on 2 M rows of either kind of frame."""
    n = bench.size(2_000_000)
    for kind in ("pandas", "polars"):
        X, y = frame(kind, n)
        sample = f"{kind} {n / 1e6:g} M × 10 + 10"

        def ours(X: Any = X, y: Any = y) -> NaiveBayes:
            model = NaiveBayes(**CLASSICAL).fit(X, y)
            model.model_.parameters  # noqa: B018  estimated on first use; scikit-learn's fit estimates them
            return model

        (theirs_fit, ours_fit), (peer, model) = bench.best(lambda X=X, y=y: Combined(NUMERIC, TEXT).fit(X, y), ours)
        yield faster(f"fit, {sample}", theirs_fit, ours_fit, 25)
        (theirs, mine), (p, q) = bench.best(
            lambda X=X, m=peer: m.predict_proba(X), lambda X=X, m=model: m.predict_proba(X)
        )
        apart = float(np.abs(p - q).max())
        assert apart < 1e-3, f"probabilities differ by {apart:g}"  # the peer keeps a code for unseen levels
        yield faster(f"predict_proba, {sample}", theirs, mine, 5, f"differ by {apart:.0e}")
        del X, y, peer, model, p, q


def memory(bench: Bench) -> Iterator[Row]:
    """Peak memory of a fit beyond the frame."""
    for kind in ("pandas", "polars"):
        peer, ours = (
            float(fresh("-m", "benchmarks.tables", kind, who, str(bench.size(2_000_000)))) for who in ("peer", "ours")
        )
        yield limit(f"peak memory of fit beyond the {kind} frame", peer, ours, 300, "MB")


def real(bench: Bench) -> Iterator[Row]:
    """Every real table at hand: fit and predict_proba together, never slower than the peer."""
    for name in available():
        X, y, numeric, categorical = read(name)

        def peer(X: Any = X, y: Any = y, n: Any = numeric, c: Any = categorical) -> None:
            Combined(n, c).fit(X, y).predict_proba(X)

        def ours(X: Any = X, y: Any = y, c: Any = categorical) -> None:
            NaiveBayes(kind=dict.fromkeys(c, "category"), **CLASSICAL).fit(X, y).predict_proba(X)

        (theirs, mine), _ = bench.best(peer, ours)
        yield faster(f"fit + predict_proba, {name} {len(X):,} × {X.shape[1]}", theirs, mine, 1)


SECTIONS = {section.__name__: section for section in (frames, memory, real)}


def peak(kind: str, who: str, n: int) -> float:
    """Megabytes that a fit adds to what the process with the frame holds, at its peak."""
    fitted(who, *frame(kind, 1000))  # what is loaded on first use does not count
    X, y = frame(kind, n)
    before = megabytes("VmRSS")
    fitted(who, X, y)
    return megabytes("VmHWM") - before


def fitted(who: str, X: Any, y: Any) -> Any:
    """A fit with its parameters: ours estimates them on first use, scikit-learn's in fit."""
    return Combined(NUMERIC, TEXT).fit(X, y) if who == "peer" else NaiveBayes(**CLASSICAL).fit(X, y).model_.parameters


if __name__ == "__main__":
    print(peak(sys.argv[1], sys.argv[2], int(sys.argv[3])))
