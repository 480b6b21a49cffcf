"""CountTokens beside CountVectorizer."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from tallybayes import CountTokens
from tallybayes.errors import DataError, NotAvailableError

TEXTS = ["The cat sat.", "the dog SAT on the mat", "", "a dog's life"]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({}, {}),
        ({"ngrams": (1, 2)}, {"ngram_range": (1, 2)}),
        ({"lower": False}, {"lowercase": False}),
        ({"stop_words": ["the", "on"]}, {"stop_words": ["the", "on"]}),
        ({"max_features": 3}, {"max_features": 3}),
        ({"vocabulary": ["sat", "cat", "emu"]}, {"vocabulary": ["cat", "emu", "sat"]}),
    ],
)
def test_parity(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    mine, peer = CountTokens(words="sklearn", **ours), CountVectorizer(**theirs)
    for asked in (TEXTS, ["cat dog emu", "sat sat"]):
        if asked is TEXTS:
            found, expected = mine.fit_transform(asked), peer.fit_transform(asked)
        else:
            found, expected = mine.transform(asked), peer.transform(asked)
        assert found.dtype == expected.dtype
        assert_array_equal(found.toarray(), expected.toarray())
    assert_array_equal(mine.get_feature_names_out(), peer.get_feature_names_out())
    assert mine.vocabulary_ == peer.vocabulary_
    assert_array_equal(mine.fit(TEXTS).transform(TEXTS).toarray(), peer.fit(TEXTS).transform(TEXTS).toarray())


@given(st.lists(st.text(max_size=30), min_size=1, max_size=5))
def test_damped_and_scaled_as_tfidf_does(texts: list[str]) -> None:
    texts = [*texts, "some words"]
    peer = TfidfVectorizer(use_idf=False, token_pattern=r"(?u)\b\w\w+\b")
    expected = peer.fit_transform(texts).toarray()
    found = CountTokens(words="sklearn", scaled=True).fit_transform(texts).toarray()
    assert_allclose(found, expected, rtol=1e-12)
    damped = CountTokens(words="sklearn", damped=True).fit_transform(texts).toarray()
    assert_allclose(damped, np.log1p(CountTokens(words="sklearn").fit_transform(texts).toarray()))


def test_in_a_pipeline_and_copied() -> None:
    model = make_pipeline(CountTokens(), LogisticRegression()).fit(TEXTS, [0, 1, 0, 1])
    assert model.predict(["on the mat"]).tolist() == [1]
    counter = clone(CountTokens(ngrams=(1, 2))).fit(TEXTS)
    other = pickle.loads(pickle.dumps(counter))
    assert_array_equal(other.transform(TEXTS).toarray(), counter.transform(TEXTS).toarray())
    assert not hasattr(counter, "set_output")
    back = counter.inverse_transform(counter.transform(TEXTS))
    assert sorted(back[0]) == [".", "cat", "cat sat", "sat", "the", "the cat"]
    with pytest.raises(DataError, match="one for each word"):
        counter.inverse_transform(np.ones((1, 2)))


def test_missing_texts_and_hashes() -> None:
    counter = CountTokens(hashed=4).fit(TEXTS)
    assert counter.transform([None, "cat"]).sum(axis=1).ravel().tolist() == [[0, 1]]
    assert counter.transform([None]).shape == (1, 16)
    with pytest.raises(NotAvailableError, match="hashed"):
        counter.get_feature_names_out()
    assert CountTokens().fit_transform([None, None]).shape == (2, 0)
    with pytest.raises(NotFittedError):
        CountTokens().transform(TEXTS)
    with pytest.raises(DataError, match=r"pass \[text\]"):
        CountTokens().fit("one text")
