"""A model fitted to rows that another one drew is that other one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tallybayes.core.batch import Labels

from .cases import CASES

ROWS = 20_000
# A floor, or a smoothing, that is drawn from is added once more by the next fit, and what was shrunk is shrunk again.
DRAWN = [case for case in CASES if not case.family.is_correction]  # they have no values of their own
WITHOUT_FLOOR = [
    case
    for case in DRAWN
    if getattr(case.family, "var_smoothing", 0.0) < 1e-6
    and getattr(case.family, "shrinkage", None) is None
    and not np.any(getattr(case.family, "bandwidth", 0.0))
]


@pytest.mark.parametrize("case", WITHOUT_FLOOR, ids=str)
def test_refitting_drawn_rows_recovers_the_model(case):
    model = case.model(case.random_table(300, weights=(1.0,)))
    drawn, codes = model.sample(ROWS, np.random.default_rng(0))
    labels = Labels.hard(codes.astype(np.int32))
    refitted = type(model)(model.settings, case.count(case.encoded(drawn[case.family.name], labels)))
    # Frequencies wander by 1/sqrt(n), 0.004 at most.
    assert_allclose(np.exp(refitted.log_prior), np.exp(model.log_prior), atol=0.015)
    probe = case.batch(case.random_table(50, seed=1))
    want, got = (m.log_joint(probe) - m.log_prior for m in (model, refitted))
    assert_allclose(got, want, atol=0.05 * np.ptp(want[np.isfinite(want)]))


@pytest.mark.parametrize("case", DRAWN, ids=str)
def test_no_rows_can_be_drawn(case):
    drawn, codes = case.model(case.random_table(20)).sample(0, np.random.default_rng(0))
    assert codes.shape == (0,)
    assert drawn[case.family.name].shape == (0, 3)
