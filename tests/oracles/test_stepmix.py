"""Latent classes against StepMix, from the same start; the numbers were stored by the script beside this file."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tallybayes import NaiveBayes, NaiveBayesMixture

from . import make_stepmix

STORED = json.loads(make_stepmix.STORED.read_text())["mean_log_likelihood"]


@pytest.mark.parametrize("case", STORED)
@pytest.mark.parametrize("steps", make_stepmix.STEPS)
def test_the_same_likelihood_after_so_many_steps(case: str, steps: int) -> None:
    x, share = make_stepmix.rows()
    x = make_stepmix.with_missing(x) if "holes" in case else x
    table = {name: [None if np.isnan(v) else int(v) for v in x[:, j]] for j, name in enumerate("abc")}
    if "mixed" in case:
        table |= {"d": x[:, 3].tolist(), "e": x[:, 4].tolist()}
    reader = NaiveBayes(alpha=0.0, var_smoothing=0.0, kind=dict.fromkeys("abc", "category"))
    share = share / share.sum(axis=1, keepdims=True)
    model = NaiveBayesMixture(3, estimator=reader, init=share, max_iter=steps, tol=0.0).fit(table)
    assert model.score(table) == pytest.approx(STORED[case][str(steps)], abs=1e-6)
