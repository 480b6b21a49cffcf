"""Large tables on large pages."""

import pickle

import numpy as np
import pytest

from tallybayes.core import pages


@pytest.mark.parametrize("shape", [(0, 3), (3, 2), (1 << 19, 1), (2, 70_001, 5)])
def test_they_are_zeros_that_can_be_written_and_copied(shape) -> None:
    table = pages.zeros(shape)
    assert table.shape == shape
    assert table.dtype == np.float64
    assert not table.any()
    table += 1.0
    assert pages.zeros(shape).sum() == 0.0
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(table)), np.ones(shape))


@pytest.mark.skipif(not hasattr(pages.mmap, "MADV_HUGEPAGE"), reason="a system without large pages")
def test_large_ones_begin_where_a_page_does() -> None:
    assert pages.zeros((1 << 20,)).ctypes.data % pages.LARGE == 0
