"""A model at a glance: what is warned of, what is left out and why, and how it is printed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tallybayes import NaiveBayes
from tallybayes.cli import main
from tallybayes.core.offsets import Offset
from tallybayes.inspection.overview import overview

RNG = np.random.default_rng(5)
LABELS = ["no", "yes"] * 40


def kinds(model: NaiveBayes) -> list[str]:
    return [concern.kind for concern in overview(model).warnings]


def train(table: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    rows = [",".join(map(str, row)) for row in zip(*table.values(), strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join([",".join(table), *rows]))
    assert main(["train", str(tmp_path / "rows.csv"), "--target", "y"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("classical", [False, True])
def test_a_copy_of_the_class_is_a_leak_in_a_small_table(classical: bool) -> None:
    table = {"copy": LABELS, "other": RNG.normal(size=80), "y": LABELS}
    assert kinds(NaiveBayes(classical=classical).fit(table, target="y")) == ["leak"]


def test_two_rows_show_no_leak() -> None:
    assert kinds(NaiveBayes().fit({"a": [1.0, 2.0], "y": ["no", "yes"]}, target="y")) == ["few rows"]


@pytest.mark.parametrize("seed", range(5))
def test_noise_is_no_leak(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = {"a": rng.choice(list("abcd"), 80).tolist(), "b": rng.normal(size=80), "y": LABELS}
    assert "leak" not in kinds(NaiveBayes().fit(table, target="y"))


def test_why_a_column_is_left_out() -> None:
    one = NaiveBayes().fit({"five": [5] * 80, "noise": RNG.normal(size=80), "y": LABELS}, target="y")
    assert {gone.column: gone.why for gone in overview(one).left_out} == {
        "five": "constant: 5 in every row",
        "noise": "says nothing about the class",
    }


def test_a_column_of_a_pair_is_not_left_out() -> None:
    a, b = RNG.integers(0, 2, 600), RNG.integers(0, 2, 600)
    table = {"a": np.where(a, "x", "z"), "b": np.where(b, "u", "v"), "y": np.where(a ^ b, "yes", "no")}
    model = NaiveBayes().fit(table, target="y")
    assert any(column.kind == "pair" for column in model.schema_.columns)
    assert not overview(model).left_out


def test_the_screen_has_no_empty_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = train({"a": [1] * 80, "y": LABELS}, tmp_path, capsys)
    assert "no column is evidence about the class" in printed
    assert "\n\n\n" not in printed


def test_a_weight_with_a_correction_is_marked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = np.where(np.array(LABELS) == "yes", 30.0, 0.0) + RNG.random(80)
    table = {"a": a.round(2), "b": RNG.random(80).round(3), "y": LABELS}
    printed = train(table, tmp_path, capsys)
    offsets: dict[str, Offset] = dict(NaiveBayes().fit(table, target="y").model_.settings.offsets)
    corrected = {name for name, offset in offsets.items() if not offset.is_constant}
    marked = {line.split()[0] for line in printed.splitlines() if re.search(r"\d\*$", line)}
    assert corrected
    assert marked == corrected
    assert "* and a correction learned from rows" in printed


def test_parts_of_a_date_are_no_surprise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    day = [f"2023-{1 + i * 7 % 12:02}-{1 + i * 5 % 28:02}" for i in range(160)]
    code = [f"c{i * 37 % 150}" for i in range(160)]
    shown = train({"day": day, "code": code, "x": RNG.normal(size=160).round(3), "y": LABELS * 2}, tmp_path, capsys)
    assert "redundant" not in shown  # of days and month
    assert "day has 31 different values" not in shown
    assert not re.search(r"\bday (and|says)|, day\b", shown)  # the date itself is no column beside its parts
    assert "--kind code=category keeps it" in " ".join(shown.split())
