"""When two tallies are the same."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from tallybayes.core.scatter import Scatter
from tallybayes.core.summaries import Moments
from tallybayes.core.tally import Tally
from tallybayes.families.zero_inflated import Spiked


def assert_same_tally(got: Tally, want: Tally, exact: bool = False, scale: Tally | None = None) -> None:
    """Check that two tallies are equal: counts exactly if asked for, moments to 1e-10 of the spread of the column.

    The spread is that of ``scale``, the largest tally that the computation went through.
    """
    assert got.schema == want.schema
    assert got.blocks.keys() == want.blocks.keys()
    _same(got.class_weight, want.class_weight, exact)
    for name, block in want.blocks.items():
        mine, summary = got.blocks[name].summary, block.summary
        assert type(mine) is type(summary)
        assert tuple(got.blocks[name].columns) == tuple(block.columns)
        if isinstance(summary, Spiked):  # two summaries, of which one is moments
            _same_moments(mine.rest, summary.rest, exact, (scale or want).blocks[name].summary.rest.merged())
            mine, summary = mine.other, summary.other
        if isinstance(summary, Moments):
            _same_moments(mine, summary, exact, (scale or want).blocks[name].summary.merged())
            continue
        if isinstance(summary, Scatter):
            _same_scatter(mine, summary, exact, (scale or want).blocks[name].summary.columns().merged())
            continue
        for field, array in summary.arrays().items():
            # Sparse rows have no missing values, so one column of weights stands for all.
            _same(*np.broadcast_arrays(mine.arrays()[field], array), exact)


def _same(got, want, exact) -> None:
    if exact:
        assert_array_equal(got, want)
    else:
        assert_allclose(got, want, rtol=1e-12, atol=1e-12)


def _same_moments(got: Moments, want: Moments, exact: bool, whole: Moments) -> None:
    _same(got.weight, want.weight, exact)
    ulp = 1e-14 * np.abs(whole.mean)  # all that is left to compare where a column is constant
    spread = np.sqrt(np.divide(whole.m2, whole.weight, out=np.zeros_like(whole.m2), where=whole.weight > 0))
    assert np.all(np.abs(got.mean - want.mean) <= 1e-10 * spread + ulp), (got.mean, want.mean)
    assert np.all(np.abs(got.m2 - want.m2) <= 1e-10 * whole.m2 + whole.weight * ulp**2), (got.m2, want.m2)
    assert np.all(got.m2 >= 0)


def _same_scatter(got: Scatter, want: Scatter, exact: bool, whole: Moments) -> None:
    _same(*np.broadcast_arrays(got.weight, want.weight), exact)
    ulp = 1e-14 * np.abs(whole.mean[0])
    spread = np.sqrt(np.divide(whole.m2, whole.weight, out=np.zeros_like(whole.m2), where=whole.weight > 0))[0]
    assert np.all(np.abs(got.mean - want.mean) <= (1e-10 * spread + ulp)[:, None]), (got.mean, want.mean)
    near = 1e-10 * np.sqrt(np.outer(whole.m2, whole.m2)) + whole.weight.max() * np.outer(ulp, ulp)
    assert np.all(np.abs(got.product - want.product) <= near), (got.product, want.product)
