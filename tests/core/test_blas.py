"""A BLAS has one thread while ours work, and all of its own afterwards."""

import numpy as np  # noqa: F401  which brings the BLAS
from threadpoolctl import threadpool_info

from tallybayes.core.blas import one_blas_thread


def threads():
    return {each["filepath"]: each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


def test_threads_are_limited_meanwhile_only():
    before = threads()
    for _ in range(2):
        with one_blas_thread():
            assert set(threads().values()) <= {1}
        assert threads() == before
