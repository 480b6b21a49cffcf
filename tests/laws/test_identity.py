"""Adding nothing changes nothing: tallies, weights of columns and words, and predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tallybayes
from tallybayes import NaiveBayes, TextNB
from tallybayes.core.settings import EvidenceWeights, WordWeights
from tallybayes.core.tokens import Vocabulary

from .cases import FAMILY_CASES

RNG = np.random.default_rng(0)
N = 300
LABELS = np.array(["x", "y", "z"])[RNG.integers(0, 3, N)]
WORDS = {"x": ["tea", "sun", "ham"], "y": ["fox", "sun", "car"], "z": ["owl", "ham", "car"]}
TABLE: dict[str, Any] = {
    "size": [float(RNG.normal() + (label == "x")) for label in LABELS],
    "town": [str(RNG.choice(["rom", "bern"])) for _ in LABELS],
    "note": [" ".join([*RNG.choice(WORDS[label], 4), *RNG.choice(["and", "or", "the"], 3)]) for label in LABELS],
}
TAGGED = {**TABLE, "note": [[*RNG.choice(WORDS[label], 2)] for label in LABELS]}

MODELS: dict[str, tuple[Any, Any]] = {
    "TextNB": (TextNB(), TABLE["note"]),
    "TextNB of words": (TextNB(weights="words"), TABLE["note"]),
    "NaiveBayes": (NaiveBayes(kind={"note": "text"}), TABLE),
    "NaiveBayes of words": (NaiveBayes(kind={"note": "text"}, weights="words"), TABLE),
    "NaiveBayes, classical": (NaiveBayes(kind={"note": "text"}, classical=True), TABLE),
    "NaiveBayes of tags": (NaiveBayes(), TAGGED),
    "NaiveBayes with pairs": (NaiveBayes(drop=["note"], pairs=[("size", "town")]), TABLE),
}


@pytest.mark.parametrize("case", FAMILY_CASES, ids=str)
def test_a_tally_and_nothing_is_the_tally(case: Any) -> None:
    tally = case.tally(case.random_table(50))
    assert tally + tally * 0 == tally
    assert tally * 0 + tally == tally
    assert tally * 1.0 == tally
    assert tally != tally * 2
    with pytest.raises(TypeError, match="unhashable"):
        hash(tally)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_and_a_blank_one_is_the_model(name: str) -> None:
    estimator, rows = MODELS[name]
    model = estimator.fit(rows, LABELS)
    if "words" in name:
        assert model.weights_.words  # there is something to lose
    for both in (model + model.blank(), model.blank() + model):
        assert both.model_ == model.model_
        assert both.tally_ == model.tally_
        assert both.model_.settings.weights == model.model_.settings.weights
        np.testing.assert_array_equal(both.predict_proba(rows), model.predict_proba(rows))


@pytest.mark.parametrize("cls", [tallybayes.GaussianNB, tallybayes.PoissonNB, tallybayes.GaussianDiscriminant])
def test_a_drop_in_and_an_empty_one_is_the_drop_in(cls: Any) -> None:
    x = RNG.poisson(3.0, size=(N, 3)) * 1.0
    model = cls().fit(x, LABELS)
    both = model + cls.from_tally(model.tally_ * 0)
    assert both.model_ == model.model_
    np.testing.assert_array_equal(both.predict_proba(x), model.predict_proba(x))


def weights(words: dict[str, float] | None, **columns: float) -> EvidenceWeights:
    named = {} if words is None else {"note": _words(words)}
    return EvidenceWeights(columns, columns.get("prior", 1.0), named)


def _words(weight: dict[str, float]) -> WordWeights:
    known = Vocabulary.of(list(weight))
    return WordWeights(known, np.array([weight[word] for word in known]))


def test_the_mean_of_weights_is_between_them() -> None:
    mine, theirs = weights({"sun": 2.0, "tea": 1.0}, size=1.0, note=0.5), weights({"sun": 1.0, "fox": 3.0}, note=0.7)
    both = mine.mean(theirs, 0.25)
    assert both.columns == pytest.approx({"size": 1.0, "note": 0.55})
    found = dict(zip(both.words["note"].words, both.words["note"].weight.tolist(), strict=True))
    # A word that one side does not name weighs there what the text weighs.
    expected = {"sun": 1.75, "tea": 0.75 * 1.0 + 0.25 * 0.7, "fox": 0.75 * 0.5 + 0.25 * 3.0}
    assert found == pytest.approx(expected)
    swapped = theirs.mean(mine, 0.75)
    assert swapped.columns == pytest.approx(both.columns)
    np.testing.assert_allclose(swapped.words["note"].weight, both.words["note"].weight, rtol=1e-15)
    assert mine.mean(theirs, 0.0) == mine
    assert mine.mean(theirs, 1.0) == theirs
    assert mine.mean(weights(None, note=0.5), 0.5).words["note"].weight.tolist() == [1.25, 0.75]


def test_the_mean_of_hashed_words() -> None:
    one, two = (EvidenceWeights({}, 1.0, {"note": WordWeights(range(4), np.full(4, w))}) for w in (1.0, 3.0))
    assert one.mean(two, 0.5).words["note"].weight.tolist() == [2.0] * 4
