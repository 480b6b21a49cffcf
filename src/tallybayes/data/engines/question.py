"""What an engine is asked: sums, minima, maxima and counts, grouped; the answers of parts of the rows merge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw


@dataclass(frozen=True)
class Question:
    """Sums, minima and maxima of expressions, for every combination of keys.

    Answers of parts of the rows can be put together by `merge`, so it does not matter who is asked.
    """

    chosen: Sequence[nw.Expr]  # the keys and what is summed, named
    keys: Sequence[str]
    sums: Sequence[str] = ()
    counts: Sequence[str] = ()  # of these how many there are
    ranges: Sequence[str] = ()  # of these the least and the largest
    conditions: Sequence[nw.Expr] = ()  # which rows count
    derived: Sequence[nw.Expr] = ()  # from the chosen, in a second step

    def __call__(self, frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
        """The question, put to a table."""
        frame = frame.select(*self.chosen)
        for condition in self.conditions:
            frame = frame.filter(condition)
        frame = frame.with_columns(*self.derived) if self.derived else frame
        ends = [f(nw.col(name)).alias(f"{name}_{end}") for name in self.ranges for end, f in ENDS.items()]
        known = (nw.col(name).count().alias(f"{name}_0") for name in self.counts)
        return frame.group_by(*self.keys).agg(*(nw.col(name).sum() for name in self.sums), *known, *ends)

    def merge(self, answers: Sequence[Any]) -> Any:
        """The answers of parts of the rows as one."""
        frame = nw.concat([nw.from_native(answer) for answer in answers])
        ends = [f(nw.col(f"{name}_{end}")) for name in self.ranges for end, f in ENDS.items()]
        added = [*self.sums, *(f"{name}_0" for name in self.counts)]
        return frame.group_by(*self.keys).agg(*(nw.col(name).sum() for name in added), *ends).to_native()

    @property
    def names(self) -> list[str]:
        """What an answer is made of."""
        ends = [f"{name}_{end}" for name in self.ranges for end in ENDS]
        return [*self.keys, *self.sums, *(f"{name}_0" for name in self.counts), *ends]


ENDS: dict[str, Any] = {"low": nw.Expr.min, "high": nw.Expr.max}


def asked_by_partition(native: Any, question: Question) -> nw.DataFrame[Any]:
    """Dask: each partition answers for itself, and the answers are put together as a tree."""
    from dask.base import compute
    from dask.delayed import delayed

    answers = [delayed(_answered)(part, question) for part in native.to_delayed()]
    while len(answers) > 1:
        answers = [delayed(question.merge)(answers[i : i + 8]) for i in range(0, len(answers), 8)]
    (found,) = compute(*answers)  # type: ignore[no-untyped-call, unused-ignore]
    return nw.from_native(found, eager_only=True)


def _answered(part: Any, question: Question) -> Any:
    return question(nw.from_native(part).lazy()).collect().to_native()
