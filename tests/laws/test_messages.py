"""Errors are in the words of the interface: options with dashes or parameters, the nearest name, rows from 1."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tallybayes
from tallybayes import EM, NaiveBayes, TextNB
from tallybayes.cli import main

FRAME = pd.DataFrame(
    {"size": np.arange(40.0) % 7, "town": ["a", "b"] * 20, "count": [1, 2, 3, 4] * 10, "late": ["no", "yes"] * 20}
)
HALF = np.float64(0.5)

PYTHON: dict[str, tuple[Callable[[Any], object], str]] = {  # what is wrong → the call, what the message must hold
    "drop": (lambda m: NaiveBayes(drop=["sise"]).fit(FRAME, target="late"), "did you mean 'size'?"),
    "kind": (lambda m: NaiveBayes(kind={"twn": "category"}).fit(FRAME, target="late"), "did you mean 'town'?"),
    "target": (lambda m: NaiveBayes().fit(FRAME, target="Late"), "did you mean 'late'?"),
    "alpha": (lambda m: NaiveBayes(alpha=np.float64(-1)).fit(FRAME, target="late"), "Got -1.0"),
    "alpha of a column": (lambda m: NaiveBayes(alpha={"town": np.float64(-1)}).fit(FRAME, target="late"), "not -1.0"),
    "max_pairs": (lambda m: NaiveBayes(max_pairs=np.int64(-2)).fit(FRAME, target="late"), "'max_pairs'"),
    "numeric": (lambda m: NaiveBayes(numeric=np.str_("kernl")).fit(FRAME, target="late"), "Got 'kernl'"),
    "prior": (lambda m: NaiveBayes(prior={"no": HALF, "Yes": HALF}).fit(FRAME, target="late"), "did you mean 'yes'?"),
    "with_prior": (lambda m: m.with_prior({"no": HALF, "yess": HALF}), "did you mean 'yes'?"),
    "with_prior of three": (lambda m: m.with_prior([0.2, 0.3, 0.5]), "got 3 for the classes no, yes"),
    "class_weight": (lambda m: NaiveBayes(class_weight={"yse": 2}).fit(FRAME, target="late"), "did you mean 'yes'?"),
    "against": (lambda m: m.explain({"size": 1.0}, against=np.str_("yse")), "did you mean 'yes'?"),
    "select": (lambda m: m.select(["sizes"]), "did you mean 'size'?"),
    "label": (lambda m: m.evaluate(FRAME.assign(late="yess")), "did you mean 'yes'?"),
    "sample": (lambda m: m.sample(np.int64(0)), "not 0"),
    "text": (lambda m: TextNB(alpha=np.float64(-1)).fit(["a b"] * 4, list("aabb")), "Got -1.0"),
    "em": (lambda m: EM(weight=np.float64(-1)), "not -1.0"),
    "infinite": (lambda m: NaiveBayes().fit(FRAME.replace({"size": {3.0: np.inf}}), target="late"), "(row 4)"),
    "weight": (lambda m: NaiveBayes().fit(FRAME, target="late", sample_weight=-np.arange(40.0)), "in row 2"),
    "no label": (lambda m: NaiveBayes().fit(FRAME, np.array(["a", None] * 20, dtype=object)), "row 2 has no label"),
    "no class": (lambda m: NaiveBayes().fit(FRAME, np.linspace(0.0, 1.0, 40)), "(row 2)"),
}
COMMANDS: dict[str, tuple[list[str], str]] = {
    "drop": (["--drop", "sise"], "--drop names the column 'sise', which there is not; did you mean 'size'?"),
    "kind": (["--kind", "twn=category"], "--kind names the column 'twn', which there is not; did you mean 'town'?"),
    "kind of a column": (["--kind", "town=word"], "--kind of column 'town' must be"),
    "family": (["--family", "size=gausian"], "--family of column 'size' must be"),
    "alpha": (["--alpha=-1"], "--alpha must be a number of at least 0"),
    "max pairs": (["--max-pairs=-1"], "--max-pairs must be a whole number"),
    "prior": (["--prior", "no=0.5,yess=0.5"], "there is no class 'yess'; did you mean 'yes'?"),
    "class weight": (["--class-weight", "yess=2"], "there is no class 'yess'; did you mean 'yes'?"),
    "class weight in words": (["--class-weight", "even"], "--class-weight must be 'balanced'"),
}


@pytest.fixture(scope="module")
def model() -> NaiveBayes:
    return NaiveBayes(classical=True).fit(FRAME, target="late")


def check(message: str) -> None:
    """What no message may hold."""
    for pattern in (r"\bnp\.", r"<class", r"dtype", r"\barray\(", r"object at 0x"):
        assert not re.search(pattern, message), message
    assert message[0] != " "
    assert len(message) > 10


@pytest.mark.parametrize("case", PYTHON)
def test_python(case: str, model: NaiveBayes) -> None:
    call, wanted = PYTHON[case]
    with pytest.raises((ValueError, tallybayes.errors.TallybayesError)) as error:
        call(model)
    check(str(error.value))
    assert wanted in str(error.value)
    assert not re.search(r"(?<!\w)--\w", str(error.value))  # options are of the command line


@pytest.mark.parametrize("case", COMMANDS)
def test_the_command_line(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    FRAME.to_csv(tmp_path / "rows.csv", index=False)
    given, wanted = COMMANDS[case]
    assert main(["train", str(tmp_path / "rows.csv"), "--target", "late", "--quiet", *given]) == 1
    message = capsys.readouterr().err.removeprefix("tallybayes: ")
    check(message)
    assert wanted in message
    assert "parameter of" not in message
    assert not re.search(r"\b[a-z_]+='", message), message  # parameters are Python's


DATES = "when,late\n" + "".join(f"0{1 + i % 7}/0{1 + i % 9}/2023,{'no' if i % 3 else 'yes'}\n" for i in range(40))
PRICES = "price,late\n" + "".join(f"{i if i % 8 else 'n/a'},{'no' if i % 3 else 'yes'}\n" for i in range(40))
FILES: dict[str, tuple[str, str]] = {  # the content of a file → what the message must hold
    "dates": (DATES, "with --dates dmy or --dates mdy, or leave it out with --drop when"),
    "a code": (PRICES, "--kind price=category keeps it as text"),
    "labels": ("size,late\n" + "1,\n2,no\n" * 20, "leave such rows out, with --unlabelled ignore"),
}


@pytest.mark.parametrize("case", FILES)
def test_a_file_at_the_command_line(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, wanted = FILES[case]
    (tmp_path / "rows.csv").write_text(text)
    main(["train", str(tmp_path / "rows.csv"), "--target", "late", "--no-evaluation"])
    message = capsys.readouterr().err
    assert wanted in message
    assert not re.search(r"\b[a-z_]+=['\[{]", message), message
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            NaiveBayes(classical=True).fit(tmp_path / "rows.csv", target="late")
        except tallybayes.errors.DataError as error:
            message = str(error)
        else:
            message = str(caught[0].message)
    assert not re.search(r"(?<!\w)--\w", message), message


def test_rows_are_counted_from_one() -> None:
    wrong = FRAME.assign(size=[1.5] * 30 + [np.inf] + [2.5] * 9)
    for classical in (False, True):
        with pytest.raises(tallybayes.errors.DataError, match=r"column 'size' is infinite \(row 31\)") as error:
            NaiveBayes(classical=classical).fit(wrong, target="late")
        assert "(row 1,031)" in str(error.value.moved(1000))  # where it was the second part of a file
