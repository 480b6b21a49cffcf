"""Model files that are damaged at random or field by field; ``scripts/fuzz-model-files`` does it 50,000 times."""

from __future__ import annotations

from pathlib import Path

import pytest

from tallybayes import storage

from .fuzz import fuzz, joined, originals, split, spots, timed


@pytest.mark.parametrize("name", originals())
def test_the_files_work_before_they_are_damaged(name: str, tmp_path: Path) -> None:
    assert timed(originals()[name], tmp_path / "model.tally", 0) == "used"  # a report and ONNX included


def test_every_record_that_a_file_may_hold_is_damaged() -> None:
    contents = [split(data)[1] for data in originals().values()]
    found = {holder[key] for content in contents for holder, key in spots(content) if key == "is"}
    assert set(storage.RECORDS) - found == set()


def test_levels_of_an_offset_that_the_file_does_not_hold_are_refused_before_they_are_made(tmp_path: Path) -> None:
    """A range of a thousand million numbers is a few bytes of a file."""
    tried = 0
    for name, data in originals().items():
        header, content, rest = split(data)
        for place, (holder, key) in enumerate(list(spots(content))):
            if key == "cells" and isinstance(holder[key], dict) and holder[key]["is"] == "Column" and tried < 20:
                before = dict(holder[key])
                holder[key]["levels"] = {"is": "range", "of": [0, 10**9, 1]}
                damaged = joined(header, content, rest)
                holder[key] = before
                assert timed(damaged, tmp_path / "model.tally", 1) == "refused", (name, place)
                tried += 1
    assert tried


@pytest.mark.parametrize("attribute", ["classes_", "n_iter_", "_target", "_made_by", "_plan"])
@pytest.mark.parametrize("value", ["a", 1.5, [], {"is": "map", "of": []}])
def test_attributes_of_version_1_are_checked(attribute: str, value: object, tmp_path: Path) -> None:
    header, content, rest = split(originals()["version 1 with a plan"])
    others = [pair for pair in content["saved"]["fitted"]["of"] if pair[0] != attribute]
    content["saved"]["fitted"]["of"] = [*others, [attribute, value]]
    allowed = {"used"} if value == "a" and attribute in ("_target", "_made_by") else {"refused"}
    assert timed(joined(header, content, rest), tmp_path / "model.tally", 1) in allowed


def test_damaged_files_are_refused_or_work(tmp_path: Path) -> None:
    found, failures = fuzz(range(500), tmp_path)
    assert not failures
    assert found["refused"] > 100  # damage is noticed
    assert found["used"] > 20  # and not everything is refused
