"""Row ranges on threads."""

import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallybayes.core import threads as parallel
from tallybayes.core.threads import SMALL, ahead, cores, map_each, map_rows, threads_for


@given(n=st.integers(1, 50), step=st.integers(1, 60), threads=st.integers(1, 3))
def test_every_row_is_in_one_range_and_in_order(n, step, threads):
    ranges = list(map_rows(lambda first, last: range(first, last), n, step, threads))
    assert [row for part in ranges for row in part] == list(range(n))
    assert all(0 < len(part) <= step for part in ranges)


@pytest.mark.parametrize("threads", [1, 2])
def test_each_item_is_worked_on_once_and_in_order(threads):
    assert list(map_each(str.upper, ["b", "a", "c"], threads)) == ["B", "A", "C"]
    assert list(map_each(str.upper, [], threads)) == []


def test_work_is_spread_over_threads():
    # Both ranges wait for each other: one thread alone would never end.
    meet = threading.Barrier(2, timeout=300)
    assert list(map_rows(lambda first, last: meet.wait() >= 0, 2, 1, 2)) == [True, True]


@pytest.mark.parametrize("threads", [1, 2])
def test_errors_come_through_first_range_first(threads):
    def work(first, last):
        raise KeyError(first)

    with pytest.raises(KeyError, match="0"):
        list(map_rows(work, 4, 2, threads))


def test_threads_are_worth_starting_for_large_inputs_only(monkeypatch):
    monkeypatch.setattr(parallel, "cores", lambda: 8)
    assert threads_for(SMALL - 1, None) == 1
    assert threads_for(SMALL, None) == 8


@pytest.mark.parametrize(("n_jobs", "threads"), [(1, 1), (3, 3), (-1, 8), (-2, 7), (-100, 1)])
def test_n_jobs_counts_as_in_scikit_learn(n_jobs, threads, monkeypatch):
    monkeypatch.setattr(parallel, "cores", lambda: 8)
    assert threads_for(1, n_jobs) == threads


def test_no_threads_at_all_is_an_error():
    with pytest.raises(ValueError, match="n_jobs"):
        threads_for(1, 0)


def test_there_is_a_core():
    assert cores() >= 1


def test_items_are_made_ahead_in_order_and_their_errors_are_raised() -> None:
    assert list(ahead(iter(range(5)))) == [0, 1, 2, 3, 4]
    assert list(ahead(iter([]))) == []

    def failing() -> Iterator[int]:
        yield 1
        raise ValueError("broken")

    items = ahead(failing())
    assert next(items) == 1
    with pytest.raises(ValueError, match="broken"):
        next(items)
