"""The threads of a BLAS: ours work on rows and columns, and those would only be in their way."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]


def one_blas_thread() -> AbstractContextManager[Any]:
    """Keep the BLAS of NumPy from starting threads meanwhile."""
    return _blas().limit(limits=1)


@cache
def _blas() -> Any:
    """What controls it; to look for it among all loaded libraries takes as long as a small table takes to learn."""
    return ThreadpoolController().select(user_api="blas")
