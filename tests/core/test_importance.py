"""The importance of columns."""

from __future__ import annotations

import numpy as np
import pytest

from tallybayes import MultinomialNB
from tallybayes.core import importance
from tallybayes.core.model import Model


def test_rows_that_are_drawn_hold_no_more_than_is_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = np.random.default_rng(0).poisson(0.1, size=(40, 500))
    model = MultinomialNB().fit(counts, np.arange(40) % 4).model_
    drawn = []
    sample = Model.sample

    def counted(self: Model, n_rows: int, rng: np.random.Generator) -> object:
        drawn.append(n_rows)
        return sample(self, n_rows, rng)

    monkeypatch.setattr(Model, "sample", counted)
    monkeypatch.setattr(importance, "MOST_CELLS", 20_000)
    assert len(importance.expected_importance(model)) == 500
    assert drawn == [20_000 // (4 * 500)]
