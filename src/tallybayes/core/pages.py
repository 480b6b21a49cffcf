"""Tables that are read all over, on large pages: a tenth of the time would go into finding small ones."""

from __future__ import annotations

import mmap
from contextlib import suppress
from math import prod

import numpy as np

from tallybayes.core.batch import Array

LARGE = 1 << 21  # bytes of a large page; NumPy's own arrays get them only where no memory is free to be used again


def zeros(shape: tuple[int, ...]) -> Array:
    """Zeros, which begin where a page does.

    Examples
    --------
    >>> zeros((2, 3))
    array([[0., 0., 0.],
           [0., 0., 0.]])
    """
    n = prod(shape)
    if 8 * n < 2 * LARGE or not hasattr(mmap, "MADV_HUGEPAGE"):
        return np.zeros(shape)
    pages = mmap.mmap(-1, 8 * n + LARGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):  # of a kernel that has none
        pages.madvise(mmap.MADV_HUGEPAGE)
    first = -np.frombuffer(pages, dtype=np.uint8).ctypes.data % LARGE
    return np.frombuffer(pages, dtype=np.float64, count=n, offset=first).reshape(shape)
