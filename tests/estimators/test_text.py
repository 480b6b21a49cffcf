"""Texts: TextNB, and text as a column of NaiveBayes."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import naive_bayes as peers
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import tallybayes
from tallybayes import NaiveBayes, TextNB, Tokens, storage
from tallybayes.core.tokens import Vocabulary
from tallybayes.errors import DataError, ModelFileError, NotAvailableError, SchemaError, SettingError, UnlearnError
from tallybayes.inspection.summary import settings_of
from tallybayes.learning.pseudocounts import ALPHAS, BEYOND

TEXTS = [
    *("win cash now", "lunch at noon?", "cash prize, win win", "see you at lunch", "free prize now", "at noon then"),
    *("cash cash cash", "see you", "you win", "then lunch"),
]
Y = np.array(["spam", "ham"] * 5)
PLAIN: dict[str, Any] = {"ngrams": (1, 1), "damped": False, "scaled": False, "weights": None}  # as in a textbook


def forms(texts: list[Any]) -> dict[str, Any]:
    found = {"list": texts, "tuple": tuple(texts), "objects": np.array(texts, dtype=object)}
    found |= {"pandas": pd.Series(texts, dtype=object), "polars": pl.Series(texts), "pandas text": pd.Series(texts)}
    return found


@pytest.mark.parametrize(
    ("family", "peer"),
    [
        ("multinomial", peers.MultinomialNB(alpha=0.5)),
        ("complement", peers.ComplementNB(alpha=0.5)),
        ("bernoulli", peers.BernoulliNB(alpha=0.5)),
    ],
)
def test_the_textbook_families(family: str, peer: Any) -> None:
    asked = [*TEXTS, "something else", "", "cash for lunch lunch"]
    ours = TextNB(family=family, alpha=0.5, words="sklearn", **PLAIN).fit(TEXTS, Y)
    theirs = make_pipeline(CountVectorizer(), peer).fit(TEXTS, Y)
    if family != "complement":  # which has no prior in scikit-learn's
        assert_allclose(ours.predict_log_proba(asked), theirs.predict_log_proba(asked), rtol=1e-9)
    assert_array_equal(ours.predict(asked[:-3]), theirs.predict(asked[:-3]))


@pytest.mark.parametrize("form", forms(TEXTS))
def test_texts_in_every_form(form: str) -> None:
    texts = [*TEXTS[:4], None, *TEXTS[5:]]
    expected, given = TextNB().fit(texts, Y), forms(texts)[form]
    model = TextNB().fit(given, Y)
    assert model.vocabulary_ == expected.vocabulary_
    assert_array_equal(model.predict_proba(given), expected.predict_proba(texts))
    assert_allclose(model.predict_proba(given)[4], [0.5, 0.5])


def test_a_missing_an_empty_and_an_unknown_text_get_the_prior() -> None:
    model = TextNB(prior={"ham": 0.3, "spam": 0.7}).fit(TEXTS, Y)  # too few to learn weights from
    assert_allclose(model.predict_proba([None, "", "%&", "zebra"]), [[0.3, 0.7]] * 4)


@pytest.mark.parametrize(
    "options",
    [PLAIN, {}, {"hashed": 8}, {"family": "bernoulli"}, {"idf": True}, {"family": "multinomial", "idf": True}],
)
def test_batches_sites_and_taking_back(options: dict[str, Any]) -> None:
    whole = TextNB(**options).fit(TEXTS, Y)
    parts = TextNB(**options)
    for first in range(0, 10, 3):
        parts.partial_fit(TEXTS[first : first + 3], Y[first : first + 3])
    sites = TextNB(**options).fit(TEXTS[:4], Y[:4]) + TextNB(**options).fit(TEXTS[4:], Y[4:])
    less = TextNB(**options).fit([*TEXTS, "quite new words"], [*Y, "ham"]).unlearn(["quite new words"], ["ham"])
    for model in (parts, sites, less):
        assert model.vocabulary_ == whole.vocabulary_
        assert_allclose(model.predict_joint_log_proba(TEXTS), whole.predict_joint_log_proba(TEXTS), rtol=1e-9)
    assert less.receipt_.rows == (1, 0)
    with pytest.raises(UnlearnError):
        less.unlearn(["quite new words"], ["ham"])


def test_a_vocabulary_that_was_chosen_stays() -> None:
    model = TextNB(min_count=2, max_features=5, **PLAIN).fit(TEXTS, Y)
    assert list(model.vocabulary_) == ["at", "cash", "lunch", "win", "you"]
    assert "5 words of 13 kept" in model.schema_.columns[0].reason
    before = model.predict_joint_log_proba(TEXTS)
    model.partial_fit(["a wholly new text"], ["ham"]).unlearn(["a wholly new text"], ["ham"])
    assert_allclose(model.predict_joint_log_proba(TEXTS), before, rtol=1e-12)
    with pytest.raises(SettingError, match="use fit"):
        TextNB(min_count=2).partial_fit(TEXTS, Y)


def test_ties_at_the_last_place_go_by_the_alphabet() -> None:
    assert list(TextNB(max_features=2, **PLAIN).fit(["b a d c"], ["x"]).vocabulary_) == ["a", "b"]


def test_files_and_copies(tmp_path: Path) -> None:
    for options in ({}, {"hashed": 6}, {"stop_words": ["you"], "characters": (2, 3)}):
        model = TextNB(**options).fit([*TEXTS, "lone \ud800 surrogate", "日本 👍"], [*Y, "ham", "ham"])
        model.save(tmp_path / "texts.tally")
        for other in (tallybayes.load(tmp_path / "texts.tally"), pickle.loads(pickle.dumps(model)), copy.copy(model)):
            assert type(other) is TextNB
            assert other.vocabulary_ == model.vocabulary_
            assert other.get_params() == model.get_params()
            assert_allclose(other.predict_joint_log_proba(TEXTS), model.predict_joint_log_proba(TEXTS), rtol=1e-12)
            other.partial_fit(["more of it"], ["ham"])


def test_scikit_learn_conventions() -> None:
    model = TextNB(ngrams=(1, 2), alpha=0.1)
    assert clone(model).get_params() == model.get_params()
    assert cross_val_score(TextNB(), TEXTS, Y, cv=2).shape == (2,)
    search = GridSearchCV(TextNB(), {"alpha": [0.1, 1.0], "ngrams": [(1, 1), (1, 2)]}, cv=2).fit(TEXTS, Y)
    assert search.best_params_.keys() == {"alpha", "ngrams"}
    assert make_pipeline(TextNB()).fit(TEXTS, Y).score(TEXTS, Y) > 0.8
    from_tally = TextNB.from_tally(TextNB().fit(TEXTS, Y).tally_)
    assert_array_equal(from_tally.predict(TEXTS), TextNB().fit(TEXTS, Y).predict(TEXTS))
    with pytest.raises(SchemaError, match="'text' was counted as complement, not as bernoulli"):
        TextNB.from_tally(from_tally.tally_, family="bernoulli")


def test_unlabelled_texts_are_learned_by_em() -> None:
    texts = [*TEXTS, "cash bonus", "bonus bonus", "picnic at noon", "picnic picnic"]
    y = np.array([*Y, None, None, None, None], dtype=object)
    model = TextNB(unlabelled="em").fit(texts, y)
    assert model.predict(["bonus", "picnic"]).tolist() == ["spam", "ham"]
    assert np.all(np.diff(model.log_likelihood_path_) >= 0)


@pytest.mark.parametrize(
    ("texts", "what"),
    [
        ("one text", "pass \\[text\\]"),
        ([1, 2], "convert what is no text"),
        ([["nested"], ["lists"]], "convert what is no text"),
        (np.array([["a"], ["b"]]), "a table"),
        (pd.DataFrame({"a": ["x", "y"]}), "a table"),
        ({"a": ["x", "y"]}, "a table"),
        (sparse.csr_array(np.eye(2)), "a table"),
    ],
)
def test_what_is_no_list_of_texts(texts: Any, what: str) -> None:
    with pytest.raises(DataError, match=what):
        TextNB().fit(texts, ["p", "q"])


def test_bytes_are_read_as_utf8() -> None:
    model = TextNB(ngrams=(1, 1)).fit([b"caf\xc3\xa9", b"caf\xe9 bar"], ["p", "q"])
    assert list(model.vocabulary_) == ["bar", "caf", "café"]


# ------------------------------------------------------------------------------------------ beside other columns


def mails(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    spam = np.arange(n) % 2 == 0
    words = {
        True: ["win", "cash", "prize", "now", "free", "click"],
        False: ["lunch", "meeting", "noon", "report", "team", "see"],
    }
    body = [" ".join([*rng.choice(words[bool(s)], 5), f"word{i}", "the"]) for i, s in enumerate(spam)]
    body[3], body[7] = None, ""
    size = np.where(spam, 20.0, 30.0) + rng.normal(size=n)
    return pd.DataFrame({"size": size, "from": np.where(spam, "shop", "office"), "body": body, "spam": spam})


def test_text_is_found_and_counted_beside_other_columns() -> None:
    table = mails()
    model = NaiveBayes(classical=True).fit(table, target="spam")
    assert [column.kind for column in model.schema_.columns] == ["numeric", "category", "text"]
    assert "text of about 7 words, 59 different in 60 rows, 1 missing" in model.schema_.columns[2].reason
    x = table.drop(columns="spam")
    parts = model.contributions(x)
    assert_allclose(parts.sum(axis=2) + model.model_.log_prior, model.predict_joint_log_proba(x))
    alone = TextNB(family="multinomial", **PLAIN).fit(table["body"], table["spam"])
    assert_allclose(parts[:, :, 2] + alone.model_.log_prior, alone.predict_joint_log_proba(table["body"]))
    assert not parts[[3, 7], :, 2].any()


def test_text_is_weighted_with_the_others() -> None:
    table = mails(400)
    model = NaiveBayes(weights="learn").fit(table, target="spam")
    assert "body" in model.weights_.columns
    assert model.score(table.drop(columns="spam"), table["spam"]) > 0.98
    assert "complement:body" in model.tally_.blocks
    x = table.drop(columns="spam")
    assert_allclose(model.contributions(x).sum(axis=2) + model.model_.prior_score, model.predict_joint_log_proba(x))
    blank = model.blank().partial_fit(x[:50], table["spam"][:50])
    assert blank.model_.settings.weights == model.weights_


def test_settings_of_single_texts() -> None:
    table = mails().assign(subject=mails()["body"])
    by_column = {"subject": Tokens(hashed=5), "body": Tokens(ngrams=(1, 2))}
    model = NaiveBayes(tokens=by_column, family={"subject": "bernoulli", "body": "complement"}, classical=True)
    model.set_params(kind={"subject": "text"})
    model.fit(table, target="spam")
    assert list(model.tally_.blocks) == ["gaussian", "categorical", "complement:body", "bernoulli:subject"]
    assert len(model.schema_.columns[3].levels) == 32
    with pytest.raises(SettingError, match=r"must be Tokens\(…\)"):
        NaiveBayes(tokens={"body": 3}).fit(table, target="spam")
    with pytest.raises(SettingError, match="names the column 'x'"):
        NaiveBayes(tokens={"x": Tokens()}).fit(table, target="spam")


def test_texts_tokenised_differently_do_not_add_up() -> None:
    one, two = TextNB().fit(TEXTS, Y).tally_, TextNB(lower=False).fit(TEXTS, Y).tally_
    with pytest.raises(SchemaError, match="tokenised in two ways"):
        one + two


def test_numbers_where_text_was_learned() -> None:
    table = mails()
    model = NaiveBayes(classical=True).fit(table, target="spam")
    with pytest.raises(DataError, match="was learned as text, but holds integer"):
        model.predict({"size": [1.0], "from": ["shop"], "body": [3]})
    with pytest.raises(DataError, match="holds number, not text"):
        NaiveBayes(kind={"size": "text"}).fit(table, target="spam")


def test_identifiers_names_and_few_values_are_no_text() -> None:
    n = 40
    table = {
        "id": [f"a{i}" for i in range(n)],
        "name": [f"Doe, Mr. John {i}" for i in range(n)],
        "state": ["it is one of a few", "or it is another of them"] * (n // 2),
    }
    model = NaiveBayes(classical=True).fit(table, ["p", "q"] * (n // 2))
    assert [column.kind for column in model.schema_.columns] == ["ignored", "ignored", "category"]


# ------------------------------------------------------------------------------------------ how words weigh


def test_counts_are_damped_and_texts_scaled_before_words_are_left_out() -> None:
    tokens = Tokens(ngrams=(1, 1), damped=True, scaled=True)
    model = NaiveBayes(classical=True, kind={"note": "text"}, tokens=tokens)
    model.fit({"note": ["be be be", "or"]}, ["p", "q"])
    block = model.tally_.blocks["multinomial:note"].summary
    assert_allclose(block.count, [[1.0, 0.0], [0.0, 1.0]])  # each text has length one
    batch = model._rows({"note": ["be be be or not"]}).rows(0, 1).blocks["multinomial:note"].x
    weight = np.log([4.0, 2.0, 2.0])
    assert_allclose(batch.data, (weight / np.linalg.norm(weight))[:2])


def test_idf_is_applied_to_the_tally_and_not_in_it() -> None:
    plain, rare = (
        TextNB(idf=idf, family="multinomial", words="unicode", **PLAIN).fit(TEXTS, Y) for idf in (False, True)
    )
    (mine,), (theirs,) = (list(model.tally_.blocks.values()) for model in (rare, plain))
    assert_array_equal(mine.summary.count, theirs.summary.count)
    x = CountVectorizer(token_pattern=r"\w+").fit_transform(TEXTS).toarray()
    idf = np.log(11.0 / (1.0 + (x > 0).sum(axis=0))) + 1.0
    expected = peers.MultinomialNB().fit(x * idf, Y)
    assert_allclose(rare.predict_log_proba(TEXTS), expected.predict_log_proba(x * idf), rtol=1e-9, atol=1e-12)


def test_idf_without_other_weights() -> None:
    texts, y = [*TEXTS, *TEXTS[:9], *TEXTS], [*Y, *Y[:9], *Y]
    model = TextNB(idf=True).fit(texts, y)
    assert model.weights_ is None
    assert model.evaluation_.accuracy.value > 0.5
    with pytest.raises(SettingError, match="idf"):
        TextNB(idf=True, weights="words").fit(texts, y)


def test_a_word_of_one_text_alone_is_unknown_without_it() -> None:
    """As in prediction: a word that nobody else has says nothing, rather than that the class is small."""
    texts = [f"be w{i} w{i + 1} w{i + 2}" for i in range(300)] + ["be unique words of mine"]
    y = ["p"] * 200 + ["q"] * 100 + ["p"]
    model = TextNB(family="multinomial", **PLAIN).fit(texts, y)
    found = model.leave_one_out(texts[-1:], y[-1:])
    rest = TextNB(family="multinomial", alpha=1.0, **PLAIN).fit(texts[:-1], y[:-1])
    assert_allclose(found, rest.predict_log_proba(texts[-1:]), atol=0.01)  # the vocabulary stays as large as it is


def test_hashes_that_nobody_has_take_no_share_of_the_smoothing() -> None:
    options = {**PLAIN, "family": "bernoulli"}
    few, many = (TextNB(hashed=bits, **options).fit(TEXTS, Y) for bits in (16, 24))
    exact = TextNB(**options).fit(TEXTS, Y)
    assert_allclose(few.predict_log_proba(TEXTS), exact.predict_log_proba(TEXTS), rtol=1e-9)
    assert_allclose(many.predict_log_proba([*TEXTS, "zebra"]), exact.predict_log_proba([*TEXTS, "zebra"]), rtol=1e-9)


# ------------------------------------------------------------------------------------------ explanations


@pytest.mark.parametrize("options", [{}, PLAIN, {"family": "bernoulli"}, {"hashed": 3}, {"characters": (2, 3)}])
def test_the_words_add_up_to_the_evidence(options: dict[str, Any]) -> None:
    model = TextNB(**options).fit(TEXTS, Y)
    text = "Win, WIN and\nwin Cash at lunch — 👍 unknown"
    found = model.explain(text)
    (evidence,) = found.evidence
    words = evidence.words
    assert evidence.log_odds == pytest.approx(sum(w.log_odds for w in words.words) + words.absent, abs=1e-12)
    assert sum(amount for _, amount in words.pieces) == pytest.approx(evidence.log_odds - words.absent, abs=1e-12)
    assert "".join(piece for piece, _ in words.pieces) == text
    assert found.total == pytest.approx(found.prior + evidence.log_odds)
    if "characters" not in options:
        assert next(w.times for w in words.words if w.word == "win") == 3
    assert model.explain(text, against=found.label).total == pytest.approx(-found.total)


def test_an_explanation_lists_the_words_and_marks_them() -> None:
    model = TextNB(**PLAIN).fit([*TEXTS, "<b>"], [*Y, "ham"])
    found = model.explain("cash cash <b>")
    lines = str(found).splitlines()
    assert "text: 4 known words" in lines[2]
    assert lines[3].split()[:2] == ["cash", "×2"]
    page = found._repr_html_()
    assert "<mark style=" in page
    assert "&lt;" in page
    assert "<b>" not in page
    record = found.as_dict()["evidence"][0]
    assert record["words"][0]["word"] == "cash"
    for text, said in (("", "no word"), ("zebra", "no known word"), (None, None)):
        found = model.explain(text) if text is not None else model.explain(model._read([None]))
        assert found.total == found.prior
        assert said is None or said in str(found)


def test_top_words() -> None:
    model = TextNB(ngrams=(1, 1)).fit(TEXTS, Y)
    found = model.top_words("spam", 3)
    assert [word.word for word in found[:1]] == ["cash"]
    assert found[0].log_odds > 0
    assert found[0].elsewhere == 0
    assert str(found[0]).startswith("text: cash (×")
    assert len(model.top_words("ham", 1000)) < len(model.vocabulary_)
    assert model.top_words("ham", 0) == ()
    with pytest.raises(DataError, match="there is no class 'eggs'"):
        model.top_words("eggs")
    with pytest.raises(NotAvailableError, match="hashed"):
        TextNB(hashed=4).fit(TEXTS, Y).top_words("ham")
    with pytest.raises(DataError, match="no column of text"):
        NaiveBayes().fit({"x": [1.0, 2.0]}, ["p", "q"]).top_words("p")
    with pytest.raises(DataError, match="no column of text 'x'"):
        model.top_words("ham", column="x")


def test_texts_are_drawn_as_bags_of_words() -> None:
    model = NaiveBayes(classical=True).fit(mails(), target="spam")
    drawn, codes = model.sample(200, 0)
    assert drawn["body"].str.split().str.len().mean() == pytest.approx(7, abs=0.7)
    assert model.score(drawn, codes) > 0.95
    with_missing, _ = model.sample(500, 0, missing=True)
    assert 0 < with_missing["body"].isna().sum() < 50
    texts, y = TextNB().fit(TEXTS, Y).sample(5, 1)
    assert len(texts["text"]) == len(y) == 5
    with pytest.raises(NotAvailableError, match="hashed"):
        TextNB(hashed=5).fit(TEXTS, Y).sample()


@pytest.mark.parametrize(
    ("alpha", "expected"), [(None, 1.0), (0.3, 0.3), ({"from": 3.0}, 1.0), ({"body": 0.2}, 0.2), ("auto", 1.0)]
)
def test_the_pseudocount_of_words_is_their_own(alpha: Any, expected: float) -> None:
    model = NaiveBayes(classical=True, alpha=alpha).fit(mails(), target="spam")
    assert model.model_.settings.families["multinomial:body"].alpha == expected


def test_left_out_texts_choose_the_pseudocount() -> None:
    chosen = NaiveBayes().fit(mails(200), target="spam").model_.settings.families["complement:body"].alpha
    assert np.ravel(chosen)[0] in {*ALPHAS, *BEYOND.values()}
    family = NaiveBayes(alpha={"body": 0.3}).fit(mails(200), target="spam").model_.settings.families["complement:body"]
    assert np.ravel(family.alpha)[0] == 0.3


def test_unlabelled_rows_with_text() -> None:
    table = mails(200)
    y = table.pop("spam").astype(object)
    y[20:] = None
    model = NaiveBayes(unlabelled="em").fit(table, y)
    assert model.score(table[20:], np.arange(20, 200) % 2 == 0) > 0.95


@pytest.mark.parametrize("damage", ["order", "utf8", "starts", "tokens", "hash"])
def test_damaged_vocabularies_are_refused_when_a_file_is_read(damage: str, tmp_path: Path) -> None:
    model = TextNB(**PLAIN, hashed=4 if damage == "hash" else None).fit(TEXTS, Y).model_
    (column,), path = model.schema.columns, tmp_path / "damaged.tally"
    words: Any = column.levels
    if damage == "order":
        words = Vocabulary(words.text[::-1].copy(), words.start)
    elif damage == "utf8":
        text = words.text.copy()
        text[-1] = 255
        words = Vocabulary(text, words.start)
    elif damage == "starts":
        words = Vocabulary(words.text, words.start + 1)
    elif damage == "hash":
        words = range(17)
    column = replace(column, levels=words, tokens=None if damage == "tokens" else column.tokens)
    schema = replace(model.schema, columns=(column,))
    storage.write(replace(model, tally=replace(model.tally, schema=schema)), path)
    with pytest.raises(ModelFileError, match=r"column 'text'|other levels"):
        storage.read(path)


def test_what_is_no_text_is_named_with_its_row() -> None:
    with pytest.raises(DataError, match=r"got 3 \(row 3\)"):
        TextNB().fit(["a", None, 3], [0, 1, 0])


def test_left_out_texts_choose_runs_of_characters_where_words_have_many_forms():
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 120)
    stems = np.array(["".join(rng.choice(list("bdgklmnprst"), 7)) for _ in range(360)]).reshape(120, 3)
    texts = [" ".join(stem + ("ovat" if k else "ista") for stem in row) for row, k in zip(stems, y, strict=True)]
    model = TextNB(tokens="auto").fit(texts[:80], y[:80])
    assert model.schema_.columns[0].tokens.characters == (2, 5)
    assert "runs of 2 to 5 characters" in " ".join(model.model_.provenance.notes)
    assert (model.predict(texts[80:]) == y[80:]).mean() > 0.95
    assert TextNB(tokens="auto", ngrams=(1, 1)).fit(texts, y).schema_.columns[0].tokens.characters is None


def made_up(n: int = 150, seed: int = 3) -> tuple[list[str], list[str]]:
    """Texts of stems that never come back, with the ending of their class."""
    rng = np.random.default_rng(seed)
    stems = np.array(["".join(rng.choice(list("bdgklmnprst"), 6)) for _ in range(3 * n)]).reshape(n, 3)
    labels = rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1])
    ends = {"a": "ovat", "b": "ista", "c": "een"}
    return [" ".join(stem + ends[k] for stem in row) for row, k in zip(stems, labels, strict=True)], labels.tolist()


def test_what_was_tried_is_shown(tmp_path: Path) -> None:
    texts, labels = made_up()
    model = TextNB(tokens="auto").fit(texts, labels)
    best, *others = model.tried_
    assert best.startswith("runs of 2 to 5 characters in words")
    assert [*model.tried_.values()] == sorted(model.tried_.values())
    assert {"bernoulli", "multinomial", "complement"} <= {way.rpartition(", ")[2] for way in model.tried_}
    assert any(way.startswith("runs of 1 to 3 words") for way in others)
    assert f"{best}, chosen by held-out loss" in str(model.schema_)
    assert best in settings_of(model.model_)["tried"]
    model.save(tmp_path / "model.tally")
    loaded = tallybayes.load(tmp_path / "model.tally")
    assert (loaded.tried_, loaded.tokens_, str(loaded.schema_)) == (model.tried_, model.tokens_, str(model.schema_))
    assert TextNB().fit(texts, labels).tokens_.characters is None
    assert TextNB().fit(texts, labels).tried_ == {}


def test_the_order_of_texts_does_not_change_what_is_chosen() -> None:
    texts, labels = made_up()
    mixed = np.random.default_rng(0).permutation(len(texts))
    one = TextNB(tokens="auto").fit(texts, labels)
    other = TextNB(tokens="auto").fit([texts[i] for i in mixed], [labels[i] for i in mixed])
    assert one.tried_ == pytest.approx(other.tried_)
    assert_allclose(one.predict_proba(texts), other.predict_proba(texts), atol=1e-9)


def test_texts_come_and_go_as_they_were_chosen_to_be_read() -> None:
    texts, labels = made_up()
    model = TextNB(tokens="auto").fit(texts[:120], labels[:120])
    before = model.predict_proba(texts)
    more = copy.deepcopy(model).partial_fit(texts[120:], labels[120:])
    assert more.tokens_ == model.tokens_
    assert more.schema_.columns[0].reason.startswith("runs of 2 to 5 characters in words")
    assert_allclose(more.unlearn(texts[120:], labels[120:]).predict_proba(texts), before, atol=1e-9)


def test_tokens_are_chosen_for_equal_weights_too() -> None:
    texts, labels = made_up()
    assert TextNB(tokens="auto", weights=None).fit(texts, labels).tokens_.characters == (2, 5)
    given = TextNB(tokens="auto", family="complement").fit(texts, labels)
    assert all(way.endswith("complement") for way in given.tried_)


@pytest.mark.parametrize("weights", ["auto", "learn", None])
def test_a_text_without_known_words_gets_the_class_shares(weights: Any) -> None:
    texts, labels = made_up(400)
    model = TextNB(weights=weights).fit([text.replace("o", "x x ") for text in texts], labels)
    shares = [labels.count(name) / len(labels) for name in model.classes_]
    for text in ("unheard", "", None):
        assert_allclose(model.predict_proba([text])[0], shares, atol=1e-9)
