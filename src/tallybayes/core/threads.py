"""Row ranges and columns on a thread pool: the kernels release the GIL, so threads are all the parallelism there is."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from tallybayes.errors import SettingError

S = TypeVar("S")
T = TypeVar("T")

SHARES = 16  # of the items, for each thread
SMALL = 500_000  # cells below which starting threads costs more than it saves


def cores() -> int:
    """Number of processor cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS, Windows
        return os.cpu_count() or 1


def threads_for(size: int, n_jobs: int | None) -> int:
    """Threads worth starting for so many cells; ``n_jobs`` as in scikit-learn, None for all cores on large inputs."""
    if n_jobs == 0:
        raise SettingError("n_jobs=0 means nothing; use None for all cores on large inputs, 1 for a single thread")
    if n_jobs is None:
        return 1 if size < SMALL else cores()
    return max(1, cores() + 1 + n_jobs) if n_jobs < 0 else n_jobs


def map_each(work: Callable[[S], T], items: Sequence[S], threads: int) -> Iterator[T]:
    """Apply work to each item and yield the results in order."""
    if threads == 1 or len(items) <= 1:
        yield from map(work, items)
        return
    size = max(1, len(items) // (SHARES * threads))  # handing out thousands of small items takes longer than the work
    shares = [items[first : first + size] for first in range(0, len(items), size)]
    with ThreadPoolExecutor(min(threads, len(shares))) as pool:
        for found in pool.map(lambda share: [*map(work, share)], shares):
            yield from found


def map_rows(work: Callable[[int, int], T], n_rows: int, step: int, threads: int) -> Iterator[T]:
    """Apply work to ranges of rows and yield the results in order."""
    ranges = [(first, min(first + step, n_rows)) for first in range(0, n_rows, step)]
    return map_each(lambda bounds: work(*bounds), ranges, threads)


def ahead(items: Iterator[T]) -> Iterator[T]:
    """Yield items, each of which is made while the one before is worked on."""
    end = object()
    with ThreadPoolExecutor(1) as pool:
        coming: Future[Any] = pool.submit(next, items, end)
        while (item := coming.result()) is not end:
            coming = pool.submit(next, items, end)
            yield item
