"""The default model judges itself on rows that had no part in it."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pandas as pd
import pytest

from tallybayes import NaiveBayes, datasets, learn, rows
from tallybayes.learning.crossfit import _collapsed, _Folds
from tallybayes.learning.evidence import MOST_SCORES, HeldOut
from tallybayes.learning.ladder import Ladder
from tallybayes.learning.options import PAIRS_A_COLUMN, Options
from tallybayes.learning.remembered import RememberedBatch


def noise(n, d, seed):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.normal(size=(n, d)), columns=[f"c{j}" for j in range(d)]), rng.integers(0, 2, n)


def test_noise_gets_the_class_shares() -> None:
    excess = []
    for seed in range(3):
        X, y = noise(60, 8, seed)
        model = NaiveBayes().fit(X, y)
        fresh = noise(1000, 8, 100 + seed)[0]
        p, share = model.predict_proba(fresh)[:, 1], y.mean()
        truth = -0.5 * (np.log(p) + np.log(1 - p)).mean()
        excess.append(truth + 0.5 * (np.log(share) + np.log(1 - share)))
        stored = model.evaluation_.log_loss
        assert stored.low <= truth <= stored.high
        assert any("evidence trusted to" in note for note in model.model_.provenance.notes)
    assert max(excess) < 0.02


def test_evidence_that_chance_explains_is_none() -> None:
    X, y = noise(60, 8, 0)
    model = NaiveBayes().fit(X, y)
    assert "evidence trusted to 0%" in " ".join(model.model_.provenance.notes)
    np.testing.assert_allclose(model.predict_proba(noise(50, 8, 1)[0])[:, 1], y.mean())
    assert all(column.parts is None for column in model.schema_.columns)
    assert model.evaluation_.accuracy.value <= max(y.mean(), 1 - y.mean())


@pytest.fixture(scope="module")
def penguins():
    table = pd.DataFrame(datasets.penguins())
    return table, NaiveBayes().fit(table.drop(columns="species"), table["species"])


def test_a_row_without_values_gets_the_class_shares(penguins) -> None:
    table, model = penguins
    empty = table.drop(columns="species").iloc[:1].copy()
    for name in empty:
        empty[name] = None
    shares = table["species"].value_counts(normalize=True)[model.classes_].to_numpy()
    np.testing.assert_allclose(model.predict_proba(empty)[0], shares, atol=1e-9)


def test_contributions_add_up_with_offsets_and_blocks(penguins) -> None:
    table, model = penguins
    batch = rows(model.model_, table.drop(columns="species"))
    whole = model.model_.prior_score + model.model_.contributions(batch).sum(axis=2)
    np.testing.assert_allclose(whole, model.model_.log_joint(batch), atol=1e-8)


def test_the_prior_keeps_a_weight_of_one(penguins) -> None:
    _, model = penguins
    assert model.model_.settings.weights.prior == 1.0


def test_what_was_chosen_can_be_dropped(penguins) -> None:
    table, model = penguins
    plain = model.without_refinement()
    assert plain.model_.settings.weights is None
    assert not plain.model_.settings.offsets
    assert all(column.parts is None for column in plain.model_.schema.columns)
    assert plain.predict_proba(table.drop(columns="species")).shape == (len(table), 3)


def test_what_nearly_identifies_rows_is_never_paired() -> None:
    rng = np.random.default_rng(0)
    n = 400
    y = rng.integers(0, 2, n)
    table = {
        "ticket": np.array([f"t{i}" for i in rng.integers(0, 300, n)]),
        "a": np.where(rng.random(n) < 0.8, y, 1 - y).astype(str),
        "b": np.array(list("xyz"))[rng.integers(0, 3, n)],
        "c": rng.normal(size=n) + y,
    }
    model = learn(table, y, Options(kind={"ticket": "category"}))
    pairs = [column for column in model.schema.columns if column.kind == "pair"]
    assert all("ticket" not in {part.name for part in column.parts or ()} for column in pairs)


def test_columns_that_matter_only_together_are_found_and_few() -> None:
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2, size=(800, 6))
    y = bits[:, 0] ^ bits[:, 1]
    table = {f"b{j}": bits[:, j].astype(str) for j in range(6)}
    model = learn(table, y)
    pairs = [column for column in model.schema.columns if column.kind == "pair"]
    assert 1 <= len(pairs) <= PAIRS_A_COLUMN * 6
    assert model.provenance.evaluation.accuracy.value > 0.95


def test_stored_figures_are_those_of_folds_and_rows(penguins) -> None:
    table, model = penguins
    figures = model.evaluation_
    assert figures.n_folds == 5
    assert figures.n_rows == len(table)
    assert figures.method == "5 folds, each learned anew without its rows"
    np.testing.assert_allclose(figures.support.sum(), len(table))


@pytest.mark.parametrize("labels", [["a"] * 12 + ["b"] * 12 + ["c"], ["a", "b"] * 8])
def test_few_rows_and_rare_classes_are_learned(labels) -> None:
    x = np.arange(len(labels), dtype=float)
    model = learn({"x": x, "k": np.array(list("uvw"))[np.arange(len(x)) % 3]}, np.array(labels))
    posterior = model.posterior(rows(model, {"x": x, "k": ["u"] * len(x)}))
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0)
    assert np.isfinite(model.provenance.evaluation.log_loss.value)


def test_weights_that_were_asked_for_are_kept_as_they_are() -> None:
    X, y = noise(80, 3, 5)
    model = NaiveBayes(weights="learn", max_pairs=0).fit(X, y)
    assert set(model.model_.settings.weights.columns) == {"c0", "c1", "c2"}
    assert not any(column.kind == "block" for column in model.model_.schema.columns)


def test_of_many_rows_times_classes_some_are_judged_and_all_are_learned(monkeypatch) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(600) % 6
    X = pd.DataFrame({"a": rng.normal(3.0 * y), "b": rng.normal(size=600)})
    whole = NaiveBayes().fit(X, y)
    monkeypatch.setattr("tallybayes.learning.crossfit.MOST_SCORES", 600)
    bounded = NaiveBayes().fit(X, y)
    assert whole.evaluation_.n_rows == 600
    assert bounded.evaluation_.n_rows == 100
    assert bounded.model_.tally.class_weight.sum() == 600
    assert (bounded.predict(X) == whole.predict(X)).mean() > 0.9


def test_of_many_columns_those_that_are_corrected_are_chosen_without_the_fold(monkeypatch):
    """Columns that were chosen by all labels predict noise on held-out rows, too."""
    monkeypatch.setattr("tallybayes.learning.ladder.MOST_CORRECTED", 60)
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(100, 200)), rng.permutation(np.arange(100) % 2)
    itself = NaiveBayes(max_pairs=0, n_jobs=1).fit(X, y).evaluation_.log_loss
    assert itself.high > np.log(2) > itself.low


def test_corrections_are_judged_by_what_does_not_know_the_fold() -> None:
    cells = np.random.default_rng(0).integers(4, size=(800, 5))
    y = np.where(cells[:, 0] == 0, 0, np.where(cells[:, 1:].sum(axis=1) < 6.4, 1, 2))
    X = pd.DataFrame(np.array(list("abcd"))[cells], columns=list("vwxyz"))
    model = NaiveBayes().fit(X, y)
    assert "corrections learned" in model.model_.provenance.notes
    outside = float(model.evaluate(X, y, method=5).log_loss)
    assert 0.5 < float(model.evaluation_.log_loss) / outside < 2  # it was four times as much


@pytest.mark.parametrize("judged", [MOST_SCORES, 500])
def test_scores_without_a_second_fold_are_those_of_models_that_never_counted_it(judged: int, monkeypatch) -> None:
    rng = np.random.default_rng(1)
    level, y = rng.integers(3, size=(300, 4)), np.arange(300) % 3
    level[:, 0], level[:, 2] = (level[:, 1] + y) % 3, np.where(rng.random(300) < 0.5, y, level[:, 2])
    X = pd.DataFrame(np.array([*"pqr", None], dtype=object)[level], columns=list("abcd"))
    X["number"] = np.where(rng.random(300) < 0.1, np.nan, rng.normal(y))
    found, original = [], _Folds.without

    def watched(folds, stack, shrinkage):
        found.append((folds, stack, shrinkage, original(folds, stack, shrinkage)))
        return found[-1][-1]

    monkeypatch.setattr(_Folds, "without", watched)
    monkeypatch.setattr("tallybayes.learning.crossfit.MOST_SCORES", judged)
    NaiveBayes().fit(X, y)
    ((folds, stack, shrinkage, scores),) = found
    for number, other in permutations(range(len(folds.ladders)), 2):
        model = _collapsed(folds.ladders[other], stack.by_fold[number], shrinkage)
        rows = replace(folds.every, schema=model.schema, places=model.tally.places)
        theirs = rows.take(np.arange(folds.start[number], folds.start[number + 1]))
        fewer = model.unlearn(theirs)
        of_table = replace(folds.held[other], schema=fewer.schema, places=fewer.tally.places)
        want, got = fewer.log_posterior(of_table), scores[number][folds.fold == other]
        np.testing.assert_allclose(got - got[:, :1], want - want[:, :1], atol=1e-9)
        np.testing.assert_array_equal(scores[number][folds.fold == number], stack.scores[folds.fold == number])


def test_what_weights_were_learned_from_is_freed() -> None:
    rows = HeldOut(np.zeros((4, 1, 2), dtype=np.float32), np.zeros(4, dtype=int), np.ones(4))
    ladder = Ladder(None, [], 4, rows, 1.0, np.ones((2, 2)), np.zeros((2, 1, 2)))
    left = ladder.judged().rows
    assert left.n_terms == 2
    assert left.terms.base is None  # a view would keep all of it


def test_all_rows_of_a_remembered_table_are_not_kept_twice() -> None:
    batch = RememberedBatch.of(rows(learn(datasets.tennis(), "play"), datasets.tennis()))
    assert batch.take(np.arange(batch.n_rows)) is batch
    assert batch.take(np.arange(batch.n_rows)[::-1]) is not batch


def test_pairs_that_have_corrections_stay_where_the_pairs_themselves_have_no_weight() -> None:
    x = np.random.default_rng(2).normal(size=(150, 3))
    model = NaiveBayes().fit(pd.DataFrame(x, columns=["a", "b", "c"]), (x[:, 0] * x[:, 1] > 0).astype(str))
    assert "a together with b" in model.model_.settings.offsets
    assert model.model_.settings.weights.columns["a together with b"] < 1e-2
    model.model_.check()


@pytest.mark.parametrize(
    ("kinds", "of_a_class", "n_folds"), [("numeric", 80, 3), ("numeric", 120, 5), ("mixed", 80, 5)]
)
def test_many_numbers_are_judged_by_three_folds(kinds, of_a_class, n_folds, monkeypatch) -> None:
    monkeypatch.setattr("tallybayes.learning.crossfit.MANY_NUMBERS", 100)
    monkeypatch.setattr("tallybayes.learning.crossfit.OF_A_CLASS", of_a_class)
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=200)
    X = {"a": rng.normal(size=200) + y, "b": rng.normal(size=200)}
    X |= {"c": np.array(["u", "v"])[rng.integers(2, size=200)]} if kinds == "mixed" else {}
    assert NaiveBayes().fit(X, y).model_.provenance.evaluation.n_folds == n_folds
