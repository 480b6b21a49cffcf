"""Model files of every format version that ever was must load for ever, and say the same."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import tallybayes
from tests.golden.make_models import models

FILES = sorted(Path(__file__).parent.glob("*.tally"))


def test_there_is_one_of_every_kind() -> None:
    both = {f"v{version}-{name}" for version in (1, 2) for name in ("mixed", "gaussian", "categorical", "multinomial")}
    assert {path.stem for path in FILES} >= {*both, "v2-discriminant"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_golden_file_says_what_it_said(path: Path) -> None:
    model, rows = models()[path.stem.partition("-")[2]]
    again = tallybayes.load(path)
    np.testing.assert_allclose(again.predict_proba(rows), json.loads(path.with_suffix(".json").read_text()), rtol=1e-12)
    np.testing.assert_allclose(again.predict_proba(rows), model.predict_proba(rows), rtol=1e-9)
    assert again.classes_.tolist() == model.classes_.tolist()
    assert again.get_params().keys() == model.get_params().keys()
