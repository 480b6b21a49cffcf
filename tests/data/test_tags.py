"""Tags: several values in a cell, as text or lists; one block of evidence."""

from __future__ import annotations

import io
import json
import math
import os
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.naive_bayes import BernoulliNB
from sklearn.preprocessing import MultiLabelBinarizer

import tallybayes
from tallybayes import NaiveBayes, Tokens
from tallybayes.cli import main
from tallybayes.data.tags import likeliest_separator, lists_as_text, separator_of
from tallybayes.errors import SettingError

TAGS = ("drama", "crime", "comedy", "war", "film noir")
SHARES = {"hit": (0.7, 0.3, 0.2, 0.1, 0.2), "flop": (0.3, 0.3, 0.6, 0.2, 0.1)}


def films(n: int = 300, seed: int = 0) -> tuple[list[list[str] | None], list[str]]:
    """Lists of tags, some of them missing, and labels."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["hit", "flop"], n).tolist()
    lists = [[tag for tag, share in zip(TAGS, SHARES[label], strict=True) if rng.random() < share] for label in y]
    return [None if rng.random() < 0.05 else tags for tags in lists], y


LISTS, LABELS = films()
TEXTS = [None if tags is None else " | ".join(tags) for tags in LISTS]


@pytest.fixture(scope="module")
def model() -> NaiveBayes:
    return NaiveBayes(classical=True, alpha=1.0).fit({"genres": TEXTS}, LABELS)


def test_each_tag_is_a_bernoulli_as_scikit_learn_has_it(model: NaiveBayes) -> None:
    present = [i for i, tags in enumerate(LISTS) if tags is not None]
    ones = MultiLabelBinarizer().fit_transform([LISTS[i] for i in present])
    theirs = BernoulliNB(alpha=1.0).fit(ones, [LABELS[i] for i in present])
    mine = model.contributions({"genres": [TEXTS[i] for i in present]})[:, :, 0]
    joint = theirs.predict_joint_log_proba(ones) - theirs.class_log_prior_
    np.testing.assert_allclose(mine, joint, rtol=1e-12)


def test_by_hand() -> None:
    cells = ["a;b", "a", "b;a ", "c", "b;c", None]
    model = NaiveBayes(classical=True, alpha=1.0, kind={"x": "tags"}).fit({"x": cells}, list("pppqqq"))
    # p: a in 3 of 3 rows, b in 2, c in none; q: a in none of 2 rows, b in 1, c in 2.
    p, q = math.log(4 / 5 * 3 / 5 * 4 / 5), math.log(1 / 4 * 2 / 4 * 1 / 4)
    assert model.contributions({"x": ["a;b"]})[0, :, 0].tolist() == pytest.approx([p, q])
    assert model.contributions({"x": ["b;b; a;unknown"]})[0, :, 0].tolist() == pytest.approx([p, q])
    assert model.contributions({"x": [None]})[0, :, 0].tolist() == [0.0, 0.0]
    assert repr(model.schema_.columns[0]) == "Column(x: tags of 3 tags)"


def test_lists_and_text_are_one_model(model: NaiveBayes) -> None:
    listed = NaiveBayes(classical=True, alpha=1.0).fit({"genres": LISTS}, LABELS)
    assert listed.schema_.columns[0].reason == "lists of tags, 19 missing; 5 tags"
    assert model.schema_.columns[0].reason == "tags with '|' between them, 19 missing; 5 tags"
    for rows in ({"genres": LISTS[:40]}, {"genres": TEXTS[:40]}):
        np.testing.assert_allclose(listed.predict_proba(rows), model.predict_proba(rows), rtol=1e-12)


def test_a_tag_of_a_list_may_hold_any_separator() -> None:
    cells = [["a|b", "c;d"], ["a|b"], ["c;d"], [], ["e, f", "c;d"], None] * 5
    model = NaiveBayes(classical=True).fit({"x": cells}, list("pqpqpq") * 5)
    assert list(model.schema_.columns[0].levels or ()) == ["a|b", "c;d", "e, f"]


def test_stream_learning_and_unlearning() -> None:
    whole = NaiveBayes(classical=True).fit({"x": LISTS}, LABELS)
    parts = NaiveBayes(classical=True)
    for first in (0, 100, 200):
        parts.partial_fit({"x": LISTS[first : first + 100]}, LABELS[first : first + 100], classes=["flop", "hit"])
    np.testing.assert_allclose(parts.predict_proba({"x": LISTS}), whole.predict_proba({"x": LISTS}), rtol=1e-12)
    parts.unlearn({"x": LISTS[200:]}, LABELS[200:])
    rest = NaiveBayes(classical=True).fit({"x": LISTS[:200]}, LABELS[:200])
    np.testing.assert_allclose(parts.predict_proba({"x": LISTS}), rest.predict_proba({"x": LISTS}), rtol=1e-12)


def test_a_sample_can_be_learned_again(model: NaiveBayes) -> None:
    drawn, labels = model.sample(2000, random_state=0)
    again = NaiveBayes(classical=True, kind={"genres": "tags"}).fit(drawn, labels)
    np.testing.assert_allclose(again.predict_proba({"genres": TEXTS}), model.predict_proba({"genres": TEXTS}), atol=0.1)


def test_an_explanation_opens_like_a_text(model: NaiveBayes) -> None:
    shown = str(model.explain({"genres": ["drama|war|unheard of"]}))
    assert "genres: 2 known tags of 3" in shown
    assert "    drama " in shown
    assert "    absent tags " in shown
    listed = model.explain({"genres": [["drama", "war", "unheard of"]]})
    assert str(listed) == shown
    assert listed.as_dict()["evidence"][0]["value"] == ["drama", "war", "unheard of"]
    assert ">drama</mark>, " in listed._repr_html_()


# ---------------------------------------------------------------------------------------------- what is taken for tags


@pytest.mark.parametrize(
    ("cells", "separator"),
    [
        ([text for text in TEXTS if text], "|"),
        ([text.replace(" | ", ";") for text in TEXTS if text], ";"),
        ([text.replace(" | ", ", ") for text in TEXTS if text], ","),
    ],
)
def test_tags_are_recognised(cells: list[str], separator: str) -> None:
    assert separator_of(sorted(set(cells))) == separator


@pytest.mark.parametrize(
    "cells",
    [
        [
            f"{town}, {land}" for town, land in zip("abcdefghijkl" * 3, "wxyz" * 9, strict=True)
        ],  # a town and its country
        [f"Doe, Mr. {name}" for name in "ABCDEFGHIJKLMNOP"],  # names
        ["well, this is a long sentence, is it not", "so it goes, and goes, on and on, at length"] * 8,
        ["red", "green", "blue", "dark red"] * 5,
        [f"{i},{j}" for i in range(20) for j in range(3)],  # numbers with a decimal comma
        ["a|b", "a", "b"],  # too few to be sure
    ],
)
def test_other_texts_are_none(cells: list[str]) -> None:
    assert separator_of(sorted(set(cells))) is None


def test_given_tags_have_the_likeliest_separator_or_the_given_one() -> None:
    assert likeliest_separator(["a/b", "a", "b/c"]) == "/"
    assert likeliest_separator(["a", "b"]) == "|"
    cells = ["a b", "a", "b c"] * 4
    found = NaiveBayes(classical=True, kind={"x": "tags"}).fit({"x": cells}, list("pqr") * 4)
    assert list(found.schema_.columns[0].levels or ()) == ["a", "b", "c"]
    tokens = {"x": Tokens(words="tags", separator=";", lower=False)}
    found = NaiveBayes(classical=True, tokens=tokens).fit({"x": cells}, list("pqr") * 4)
    assert list(found.schema_.columns[0].levels or ()) == ["a", "a b", "b c"]
    with pytest.raises(SettingError, match="must be Tokens"):
        NaiveBayes(kind={"x": "tags"}, tokens={"x": Tokens()}).fit({"x": cells}, list("pqr") * 4)
    with pytest.raises(SettingError, match="a single ASCII character"):
        Tokens(words="tags", separator="||")
    with pytest.raises(SettingError, match="counted whole"):
        Tokens(words="tags", ngrams=(1, 2))


def test_lists_of_numbers_and_mixed_cells_are_no_tags() -> None:
    assert lists_as_text([[1, 2], [3]]) is None
    assert lists_as_text(["a", ["b"]]) is None
    assert lists_as_text([{"b", "a"}, ("c",), np.array(["d"], dtype=object), float("nan")]) == [
        "\x1fa\x1fb",
        "\x1fc",
        "\x1fd",
        None,
    ]


# ---------------------------------------------------------------------------------------------- files and interfaces


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl", "arrow"])
def test_every_file_gives_the_model_of_the_frame(suffix: str, tmp_path: Path) -> None:
    cells = TEXTS if suffix == "csv" else LISTS
    frame = pl.DataFrame({"genres": [each or None for each in cells], "outcome": LABELS})
    path = tmp_path / f"films.{suffix}"
    {"csv": frame.write_csv, "parquet": frame.write_parquet, "jsonl": frame.write_ndjson, "arrow": frame.write_ipc}[
        suffix
    ](path)
    expected = NaiveBayes().fit(frame, target="outcome")
    found = NaiveBayes().fit(path, target="outcome")
    assert found.schema_ == expected.schema_
    rows = frame.drop("outcome")
    np.testing.assert_allclose(found.predict_proba(rows), expected.predict_proba(rows), rtol=1e-9)
    out = tmp_path / "predicted.parquet"
    found.predict_file(path, out)
    predicted = pl.read_parquet(out)
    assert predicted["genres"].to_list() == frame["genres"].to_list()
    np.testing.assert_allclose(predicted["p_hit"].to_numpy(), expected.predict_proba(rows)[:, 1], rtol=1e-9)


def test_the_command_line(tmp_path: Path) -> None:
    table = pd.DataFrame({"genres": TEXTS, "outcome": LABELS})
    table.to_csv(tmp_path / "films.csv", index=False)
    model = str(tmp_path / "films.tally")
    with redirect_stdout(io.StringIO()) as shown:
        assert (
            main(["train", str(tmp_path / "films.csv"), "--target", "outcome", "-o", model, "--kind", "genres=tags"])
            == 0
        )
        assert main(["explain", model, "genres=drama|war"]) == 0
    assert "genres: 2 known tags" in shown.getvalue()
    assert tallybayes.load(model).schema_.columns[0].kind == "tags"


def test_the_service(model: NaiveBayes, tmp_path: Path) -> None:
    if os.environ.get("CI") != "true":
        pytest.importorskip("fastapi", reason="the service needs the extra 'serve'")
    from tests.serve.test_app import client

    model.save(tmp_path / "films.tally")
    service = client(tmp_path / "films.tally")

    def posted(cell: Any) -> Any:
        return service.post("/models/films/predict", json={"row": {"genres": cell}})

    expected = model.predict_proba({"genres": ["drama|war"]})[0]
    for cell in ("drama|war", ["war", "drama"]):
        np.testing.assert_allclose(list(posted(cell).json()["probabilities"].values()), expected, rtol=1e-12)
    assert posted([1, 2]).status_code == 422
    assert "a list of texts" in json.dumps(posted([1, 2]).json())
