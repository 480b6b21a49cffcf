"""Class weights are sample weights: in every source, for every label type, after saving, unlearning and merging."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.class_weight import compute_class_weight, compute_sample_weight

import tallybayes
from tallybayes import NaiveBayes, TextNB
from tallybayes.errors import SettingError

RNG = np.random.default_rng(4)
N = 240
TABLE = pd.DataFrame(
    {
        "size": RNG.gamma(2.0, 3.0, N).round(3),
        "town": RNG.choice(["a", "b", "c"], N),
        "grade": RNG.integers(0, 5, N),
    }
)
PLACE = (TABLE["size"] > 8).to_numpy().astype(int) + (RNG.random(N) < 0.1)
LABELS = {"text": np.array(["no", "yes", "maybe"])[PLACE], "integers": PLACE, "booleans": PLACE > 0}
WEIGHTS = {"text": {"yes": 3.0, "no": 0.5}, "integers": {1: 3.0, 0: 0.5}, "booleans": {True: 3.0, False: 0.5}}
MODELS = {"default": {}, "classical": {"classical": True}, "calibrated": {"calibration": "temperature"}}


def alike(mine: Any, theirs: Any, rtol: float = 1e-9) -> None:
    """Both were counted alike and predict alike."""
    assert mine.model_.schema.classes == theirs.model_.schema.classes
    np.testing.assert_allclose(mine.class_count_, theirs.class_count_, rtol=1e-9)
    np.testing.assert_allclose(mine.predict_proba(TABLE), theirs.predict_proba(TABLE), rtol=0, atol=rtol)


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("options", MODELS)
@pytest.mark.parametrize("kind", ["balanced", "mapping"])
def test_it_is_the_weight_of_each_row(labels: str, options: str, kind: str) -> None:
    y, given = LABELS[labels], "balanced" if kind == "balanced" else WEIGHTS[labels]
    each = compute_sample_weight("balanced", y) if kind == "balanced" else [given.get(k, 1.0) for k in y.tolist()]
    mine = NaiveBayes(class_weight=given, **MODELS[options]).fit(TABLE, y)
    alike(mine, NaiveBayes(**MODELS[options]).fit(TABLE, y, sample_weight=np.asarray(each)), 1e-6)
    if mine.evaluation_ is not None:  # measured on the rows as they came
        assert mine.evaluation_.weight == pytest.approx(N)


def test_balanced_is_that_of_scikit_learn() -> None:
    y = LABELS["text"]
    weight = RNG.random(N)
    model = NaiveBayes(class_weight="balanced", classical=True).fit(TABLE, y, sample_weight=weight)
    want = compute_class_weight("balanced", classes=np.unique(y), y=y, sample_weight=weight)
    got = model.model_.provenance.class_weight
    np.testing.assert_allclose([got[label] for label in np.unique(y)], want)
    np.testing.assert_allclose(model.class_count_, weight.sum() / 3)


@pytest.mark.parametrize("source", ["csv", "parquet", "polars", "duckdb"])
@pytest.mark.parametrize("options", ["default", "classical"])
def test_it_is_the_same_in_every_source(source: str, options: str, tmp_path: Path) -> None:
    whole = TABLE.assign(answer=LABELS["text"])
    path = tmp_path / f"rows.{'parquet' if source == 'parquet' else 'csv'}"
    (whole.to_parquet if source == "parquet" else whole.to_csv)(path, index=False)
    data: Any = str(path)
    if source == "polars":
        pl = pytest.importorskip("polars")
        data = pl.scan_csv(path)
    elif source == "duckdb":
        duckdb = pytest.importorskip("duckdb")
        data = duckdb.sql(f"SELECT * FROM '{path}'")
    given = {"class_weight": WEIGHTS["text"], **MODELS[options]}
    alike(NaiveBayes(**given).fit(data, target="answer"), NaiveBayes(**given).fit(whole, target="answer"), 1e-6)


def test_rows_learned_and_unlearned_later_count_alike(tmp_path: Path) -> None:
    y, given = LABELS["text"], WEIGHTS["text"]
    first, rest = slice(0, 150), slice(150, N)
    whole = NaiveBayes(class_weight=given, classical=True).fit(TABLE, y)
    grown = NaiveBayes(class_weight=given, classical=True).partial_fit(TABLE[first], y[first])
    grown.partial_fit(TABLE[rest], y[rest])
    np.testing.assert_allclose(grown.class_count_, whole.class_count_)
    whole.save(tmp_path / "model.tally")
    again = NaiveBayes.load(tmp_path / "model.tally")
    again.unlearn(TABLE[rest], y[rest])
    fewer = NaiveBayes(class_weight=given, classical=True).fit(TABLE[first], y[first])
    np.testing.assert_allclose(again.class_count_, fewer.class_count_)
    np.testing.assert_allclose(again.predict_proba(TABLE), fewer.predict_proba(TABLE), atol=1e-9)


@pytest.mark.parametrize("options", ["default", "classical"])
def test_training_rows_are_known_again(options: str) -> None:
    y = LABELS["text"]
    model = NaiveBayes(class_weight="balanced", **MODELS[options]).fit(TABLE, y)
    assert model.evaluate(TABLE, y).method != "test"


def test_leave_one_out_leaves_the_weighted_row_out() -> None:
    y, given = LABELS["text"], WEIGHTS["text"]
    model = NaiveBayes(class_weight=given, classical=True, prior="uniform").fit(TABLE, y)
    found = model.leave_one_out(TABLE, y)
    for row in (0, 17, 101):
        others = np.delete(np.arange(N), row)
        without = NaiveBayes(class_weight=given, classical=True, prior="uniform").fit(TABLE.iloc[others], y[others])
        np.testing.assert_allclose(found[row], without.predict_log_proba(TABLE.iloc[[row]])[0], atol=1e-6)


def test_models_of_other_class_weights_do_not_add() -> None:
    y = LABELS["text"]
    parts = [
        NaiveBayes(class_weight=given, classical=True).fit(TABLE, y).model_ for given in ("balanced", WEIGHTS["text"])
    ]
    with pytest.raises(SettingError, match="class weights"):
        parts[0] + parts[1]


def test_texts() -> None:
    texts = [
        f"{town} {'big large' if size > 8 else 'small'}"
        for town, size in TABLE[["town", "size"]].itertuples(index=False)
    ]
    y = LABELS["text"]
    mine = TextNB(class_weight="balanced").fit(texts, y)
    theirs = TextNB().fit(texts, y, sample_weight=compute_sample_weight("balanced", y))
    np.testing.assert_allclose(mine.predict_proba(texts), theirs.predict_proba(texts), atol=1e-6)


def test_what_makes_no_sense_is_refused() -> None:
    y = LABELS["text"]
    with pytest.raises(SettingError, match="did you mean 'maybe'"):
        NaiveBayes(class_weight={"mayb": 2.0}).fit(TABLE, y)
    with pytest.raises(SettingError, match="number above 0"):
        NaiveBayes(class_weight={"maybe": -2.0}).fit(TABLE, y)
    with pytest.raises(SettingError, match="'balanced' or None, or a mapping"):
        NaiveBayes(class_weight="even").fit(TABLE, y)
    with pytest.raises(SettingError, match="all rows at once"):
        NaiveBayes(class_weight="balanced").partial_fit(TABLE, y)


def test_the_command_line_has_it(tmp_path: Path) -> None:
    from tallybayes.cli import main

    whole, out = TABLE.assign(answer=LABELS["text"]), tmp_path / "model.tally"
    whole.to_csv(tmp_path / "rows.csv", index=False)
    arguments = ["train", str(tmp_path / "rows.csv"), "--target", "answer", "-o", str(out), "--quiet"]
    assert main([*arguments, "--class-weight", "yes=3,no=0.5"]) == 0
    alike(tallybayes.load(out), NaiveBayes(class_weight=WEIGHTS["text"]).fit(whole, target="answer"), 1e-6)
