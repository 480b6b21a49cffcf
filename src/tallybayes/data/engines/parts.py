"""Work on the rows of an engine part by part, for what no question can ask: on its workers, where it has any."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from tallybayes.core.tally import Tally
from tallybayes.data.engines.table import Lazy
from tallybayes.data.frames import Table, read_table


def summed_tables(lazy: Lazy, names: Sequence[str], target: str, work: Callable[[Table], Tally]) -> Tally:
    """Σ work over the labelled rows, part by part: on the workers of Spark and Dask, else here, a batch at a time."""
    if not lazy.is_spread:
        return sum(map(work, lazy.tables(names, target)), Tally.empty())
    native = nw.to_native(lazy.labelled(names, target))
    with lazy.errors():
        if lazy.is_spark:
            found = native.mapInArrow(_Parts(work), "part binary").toLocalIterator()
            return sum((pickle.loads(bytes(row[0])) for row in found), Tally.empty())
        from dask.base import compute
        from dask.delayed import delayed

        parts = [delayed(_worked)(part, work) for part in native.to_delayed()]
        while len(parts) > 1:
            parts = [delayed(sum)(parts[i : i + 8], Tally.empty()) for i in range(0, len(parts), 8)]
        return compute(*parts)[0]  # type: ignore[no-untyped-call, no-any-return, unused-ignore]


@dataclass(frozen=True)
class _Parts:
    """What a worker of Spark does: a tally of its rows, as bytes."""

    work: Callable[[Table], Tally]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        from tallybayes.data.arrow import tables_of

        tally = sum(map(self.work, tables_of(batches)), Tally.empty())
        yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(tally)], pa.binary())], ["part"])


def _worked(part: Any, work: Callable[[Table], Tally]) -> Tally:
    return work(read_table(part)) if len(part) else Tally.empty()
