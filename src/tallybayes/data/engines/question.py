"""Grouped sums, minima, maxima and counts for an engine to compute; results of parts of the rows merge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw


@dataclass(frozen=True)
class Question:
    """Sums, minima and maxima of expressions, for every combination of keys.

    Results of parts of the rows can be merged, so partitions can be counted apart.
    """

    chosen: Sequence[nw.Expr]  # the keys and what is summed, named
    keys: Sequence[str]
    sums: Sequence[str] = ()
    counts: Sequence[str] = ()  # of these how many there are
    ranges: Sequence[str] = ()  # of these the least and the largest
    conditions: Sequence[nw.Expr] = ()  # which rows count
    derived: Sequence[nw.Expr] = ()  # from the chosen, in a second step

    def __call__(self, frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
        """The query for a table."""
        frame = frame.select(*self.chosen)
        for condition in self.conditions:
            frame = frame.filter(condition)
        frame = frame.with_columns(*self.derived) if self.derived else frame
        ends = [f(nw.col(name)).alias(f"{name}_{end}") for name in self.ranges for end, f in ENDS.items()]
        known = (nw.col(name).count().alias(f"{name}_0") for name in self.counts)
        return frame.group_by(*self.keys).agg(*(nw.col(name).sum() for name in self.sums), *known, *ends)

    def merge(self, results: Sequence[Any]) -> Any:
        """The results of parts of the rows as one."""
        frame = nw.concat([nw.from_native(result) for result in results])
        ends = [f(nw.col(f"{name}_{end}")) for name in self.ranges for end, f in ENDS.items()]
        added = [*self.sums, *(f"{name}_0" for name in self.counts)]
        return frame.group_by(*self.keys).agg(*(nw.col(name).sum() for name in added), *ends).to_native()

    @property
    def names(self) -> list[str]:
        """The columns of a result."""
        ends = [f"{name}_{end}" for name in self.ranges for end in ENDS]
        return [*self.keys, *self.sums, *(f"{name}_0" for name in self.counts), *ends]


ENDS: dict[str, Any] = {"low": nw.Expr.min, "high": nw.Expr.max}


def asked_by_partition(native: Any, question: Question) -> nw.DataFrame[Any]:
    """Dask: each partition is counted by itself, and the results are merged as a tree."""
    from dask.base import compute
    from dask.delayed import delayed

    results = [delayed(_counted)(part, question) for part in native.to_delayed()]
    while len(results) > 1:
        results = [delayed(question.merge)(results[i : i + 8]) for i in range(0, len(results), 8)]
    (found,) = compute(*results)  # type: ignore[no-untyped-call, unused-ignore]
    return nw.from_native(found, eager_only=True)


def _counted(part: Any, question: Question) -> Any:
    return question(nw.from_native(part).lazy()).collect().to_native()
