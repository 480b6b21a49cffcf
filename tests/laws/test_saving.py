"""Saving and loading is the identity, for every estimator and for labels of every type."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, is_classifier, is_clusterer

import tallybayes
from tallybayes import EM, storage
from tallybayes.core.equality import same_value
from tallybayes.errors import SettingError

RNG = np.random.default_rng(0)
N = 90
CODES = RNG.integers(0, 3, N)
COUNTS = RNG.poisson(1.0 + CODES[:, None], size=(N, 4))
TABLE = {
    "size": (RNG.normal(size=N) + CODES).tolist(),
    "town": RNG.choice(["rom", "bern", None], N).tolist(),
    "flag": (RNG.random(N) < 0.5).tolist(),
    "note": [" ".join(RNG.choice(["tea", "sun", "car", "fox"], 6)) + f" {k}{k}" for k in CODES],
}
TEXTS = TABLE["note"]
READ = {  # dates, numbers as text, ordered levels
    "when": [f"{1 + i % 28}/{1 + i % 12}/20{10 + i % 9} {i % 24}:05" for i in range(N)],
    "price": [f"{i + k},{i % 10} €" for i, k in enumerate(CODES)],
    "grade": [("low", "medium", "high")[(k + i % 2) % 3] for i, k in enumerate(CODES)],
    "town": TABLE["town"],
}

FITTED: dict[str, tuple[Any, Any]] = {
    "GaussianNB": (tallybayes.GaussianNB(priors=[0.2, 0.3, 0.5]), COUNTS * 1.5),
    "BernoulliNB": (tallybayes.BernoulliNB(binarize=1.0), COUNTS),
    "CategoricalNB": (tallybayes.CategoricalNB(min_categories=[9, 9, 9, 12]), COUNTS),
    "MultinomialNB": (tallybayes.MultinomialNB(alpha=np.array([1.0, 0.5, 2.0, 1.0])), COUNTS),
    "ComplementNB": (tallybayes.ComplementNB(norm=True, alpha="auto"), COUNTS),
    "PoissonNB": (tallybayes.PoissonNB(), COUNTS),
    "GaussianDiscriminant": (tallybayes.GaussianDiscriminant(covariance="full", shrinkage="auto"), COUNTS * 1.5),
    "TextNB": (tallybayes.TextNB(), TEXTS),
    "TextNB, words": (tallybayes.TextNB(weights="words"), TEXTS),
    "NaiveBayes": (tallybayes.NaiveBayes(kind={"note": "text"}, drop=["flag"]), TABLE),
    "NaiveBayes, tags": (
        tallybayes.NaiveBayes(kind={"note": "tags"}),
        {**TABLE, "note": [text.replace(" ", ";") for text in TEXTS]},
    ),
    "NaiveBayes, dates": (tallybayes.NaiveBayes(kind={"grade": ["low", "medium", "high"]}, missing_values=["?"]), READ),
    "NaiveBayes, readable": (tallybayes.NaiveBayes(readable=True, kind={"note": "text"}), TABLE),
    "NaiveBayes, grouped": (tallybayes.NaiveBayes(family={"town": "grouped"}, drop=["note"]), TABLE),
    "NaiveBayes, classical": (tallybayes.NaiveBayes(classical=True, alpha={"town": 2}, missing="level"), TABLE),
    "NaiveBayes, calibrated": (
        tallybayes.NaiveBayes(calibration="isotonic", numeric="kernel", pairs=[("size", "town")]),
        TABLE,
    ),
    "NaiveBayes, unlabelled": (tallybayes.NaiveBayes(unlabelled="em", verbose=1), TABLE),
    "TextNB, steps": (tallybayes.TextNB(unlabelled="em", em=EM(weight=0.5, max_iter=9, verbose=1)), TEXTS),
    "NaiveBayesMixture": (
        tallybayes.NaiveBayesMixture(3, max_iter=50, tol=1e-3, verbose=1, random_state=0),
        {**TABLE, "note": [None] * N},
    ),
    "NaiveBayesMixture, of counts": (
        tallybayes.NaiveBayesMixture(2, estimator=tallybayes.PoissonNB(alpha=0.5), random_state=1),
        COUNTS,
    ),
}

LABELS: dict[str, np.ndarray] = {
    "str": np.array(["x", "yy", "zzz"]),
    "wide str": np.array(["x", "yy", "zzz"], dtype="<U20"),
    "object of str": np.array(["x", "yy", "zzz"], dtype=object),
    "bool": np.array([False, True]),
    **{np.dtype(t).name: np.array([0, 1, 7], dtype=t) for t in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")},
    "negative": np.array([-128, 0, 127], dtype=np.int8),
    "large uint64": np.array([0, 1, 2**64 - 1], dtype=np.uint64),
    "big-endian": np.array([0, 1, 7], dtype=">i4"),
    **{np.dtype(t).name: np.array([0.0, 1.0, 7.0], dtype=t) for t in ("f2", "f4", "f8")},
    "mixed": np.array([1, "a", 2.5], dtype=object),
    "numbers as objects": np.array([1, 2, 10**20], dtype=object),
    "NUL": np.array(["a", "a\0", "a\0\0"], dtype=object),
}


def round_trip(model: Any, rows: Any, tmp_path: Path) -> Any:
    path, second = tmp_path / "model.tally", tmp_path / "again.tally"
    model.save(path)
    again = tallybayes.load(path)
    again.save(second)
    assert second.read_bytes() == path.read_bytes()
    assert type(again) is type(model)
    assert again.model_ == model.model_
    assert same_params(again.get_params(), model.get_params())
    np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))
    mine, other = again.predict(rows), model.predict(rows)
    assert mine.dtype == other.dtype
    assert mine.tolist() == other.tolist()
    fitted = {name for name in vars(model) if name.endswith("_")}
    assert fitted == {name for name in vars(again) if name.endswith("_")}
    return again


def same_params(mine: dict[str, Any], other: dict[str, Any]) -> bool:
    assert mine.keys() == other.keys()
    return all(
        same_params(mine[name].get_params(), value.get_params())
        if isinstance(value, BaseEstimator)
        else type(mine[name]) is type(value) and same_value(mine[name], value)
        for name, value in other.items()
    )


def test_every_estimator_is_tried() -> None:
    public = (getattr(tallybayes, name) for name in tallybayes.__all__)
    models = {c.__name__ for c in public if isinstance(c, type) and issubclass(c, BaseEstimator)} - {"CountTokens"}
    assert {name.partition(",")[0] for name in FITTED} == models


@pytest.mark.parametrize("name", FITTED)
def test_an_estimator_is_loaded_as_it_was_saved(name: str, tmp_path: Path) -> None:
    estimator, rows = FITTED[name]
    y = np.array(["x", "yy", "zzz"], dtype=object)[CODES]
    if "unlabelled" in estimator.get_params() and estimator.unlabelled == "em":
        y[::4] = None
    model = estimator.fit(rows, y) if is_classifier(estimator) else estimator.fit(rows)
    again = round_trip(model, rows, tmp_path)
    if is_clusterer(estimator):
        assert again.labels_.tolist() == model.labels_.tolist()
        assert again.classifier_.classes_.dtype == model.classifier_.classes_.dtype


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("name", [name for name in FITTED if name.endswith(("NB", "Discriminant", "classical"))])
def test_labels_of_every_type_are_loaded_as_they_were(name: str, labels: str, tmp_path: Path) -> None:
    estimator, rows = FITTED[name]
    if name == "GaussianNB":  # whose priors are for three classes
        estimator = tallybayes.GaussianNB()
    values = LABELS[labels]
    y = values[CODES % len(values)]
    model = estimator.fit(rows, y)
    assert sorted(map(str, model.classes_.tolist())) == sorted(map(str, values.tolist()))
    again = round_trip(model, rows, tmp_path)
    assert again.classes_.dtype == model.classes_.dtype
    assert [type(label) for label in again.classes_.tolist()] == [type(label) for label in model.classes_.tolist()]
    assert set(again.predict(rows).tolist()) <= set(values.tolist())


@pytest.mark.parametrize("labels", LABELS)
def test_labels_keep_their_type_when_models_are_added(labels: str) -> None:
    values = LABELS[labels]
    y = values[CODES % len(values)]
    for estimator in (tallybayes.GaussianNB(), tallybayes.NaiveBayes(classical=True)):
        model = estimator.fit(COUNTS * 1.5, y)
        both = model + model
        assert both.classes_.dtype == model.classes_.dtype
        assert both.classes_.tolist() == model.classes_.tolist()


@pytest.mark.parametrize("y", [[1, "a"] * 45, ["a", "a\0"] * 45], ids=["mixed", "NUL"])
def test_lists_of_labels_are_not_changed(y: list[Any], tmp_path: Path) -> None:
    for estimator in (tallybayes.GaussianNB(), tallybayes.NaiveBayes(classical=True)):
        model = estimator.fit(COUNTS * 1.5, y)
        assert set(model.classes_.tolist()) == set(y)
        round_trip(model, COUNTS * 1.5, tmp_path)


def test_labels_of_bytes_are_refused_by_name(tmp_path: Path) -> None:
    model = tallybayes.GaussianNB().fit(COUNTS, np.array([b"a", b"b", b"c"])[CODES])
    with pytest.raises(SettingError, match="a bytes cannot be written to a model file"):
        model.save(tmp_path / "model.tally")


def test_a_model_is_equal_to_the_one_that_is_read(tmp_path: Path) -> None:
    model = tallybayes.NaiveBayes().fit(TABLE, CODES).model_
    storage.write(model, tmp_path / "model.tally")
    assert storage.read(tmp_path / "model.tally") == model
    assert model != tallybayes.NaiveBayes().fit(TABLE, CODES[::-1]).model_
