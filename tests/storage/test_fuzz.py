"""Model files that are damaged at random or field by field; ``scripts/fuzz-model-files`` does it 50,000 times."""

from __future__ import annotations

from pathlib import Path

import pytest

from .fuzz import fuzz, originals, timed


@pytest.mark.parametrize("name", originals())
def test_the_files_work_before_they_are_damaged(name: str, tmp_path: Path) -> None:
    assert timed(originals()[name], tmp_path / "model.tally", 1) == "used"


def test_damaged_files_are_refused_or_work(tmp_path: Path) -> None:
    found, failures = fuzz(range(500), tmp_path)
    assert not failures
    assert found["refused"] > 100  # damage is noticed
    assert found["used"] > 20  # and not everything is refused
