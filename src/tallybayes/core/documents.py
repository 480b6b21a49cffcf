"""The words of the columns of text of a tally: which are known, and which only one row has."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Csr, Documents, Labels, Matrix
from tallybayes.core.schema import Column
from tallybayes.core.summaries import Counts
from tallybayes.core.tally import Tally


@dataclass(frozen=True)
class Texts:
    """The blocks of a tally that are one column of text each."""

    tally: Tally

    @cached_property
    def columns(self) -> dict[str, Column]:
        """The columns of text, by their blocks."""
        columns = self.tally.schema.columns
        first = ((name, block.columns[0]) for name, block in self.tally.blocks.items() if len(block.columns) == 1)
        return {name: columns[p] for name, p in first if columns[p].is_text}

    @cached_property
    def known(self) -> dict[str, NDArray[np.intp]]:
        """Of each block in which some words (or hashes) occur in no row, those that do occur."""
        blocks = {n: b for n, b in self.tally.blocks.items() if n in self.columns and isinstance(b.summary, Counts)}
        used = {name: b.summary.cell_total > 0 for name, b in blocks.items()}  # type: ignore[attr-defined]
        return {name: np.flatnonzero(each) for name, each in used.items() if not each.all()}

    def summary(self, name: str) -> Any:
        """The summary of a block without the words that no row has: they take no share of the smoothing."""
        return self._of_known.get(name, self.tally.blocks[name].summary)

    @cached_property
    def _of_known(self) -> dict[str, Any]:
        summaries: dict[str, Any] = {name: self.tally.blocks[name].summary for name in self.known}
        return {
            name: summary.with_cells(np.isin(np.arange(summary.count.shape[1]), self.known[name]))
            for name, summary in summaries.items()
        }

    def of_known(self, name: str, x: Matrix) -> Matrix:
        """The rows of a block, without the words that no training row has."""
        if not isinstance(x, Documents) or name not in self.known:
            return x
        words = self.known[name]
        place = np.full(x.n_columns, -1, dtype=x.column.dtype)
        place[words] = np.arange(len(words))
        return x.renumbered(place, len(words))

    def without_own_words(self, name: str, x: Matrix, labels: Labels) -> Matrix:
        """Training rows, each without the words that only it has: without the row, these would be unknown."""
        x = self.of_known(name, x)
        if not isinstance(x, Documents):
            return x
        total = self.summary(name).cell_total[x.column]
        own = np.repeat(labels.weight, np.diff(x.start)) * x.data
        return x.kept(total - own > 1e-9 * total)

    def sample(self, name: str, family: Any, params: Any, codes: NDArray[Any], rng: np.random.Generator) -> Csr:
        """Draw bags of words for class codes, a few rows at a time: a row of all words is long."""
        step = max(1, 4_000_000 // max(self.summary(name).count.shape[1], 1))
        row, column, count = [], [], []
        for first in range(0, len(codes), step):
            bags = family.sample(params, codes[first : first + step], rng)
            here, words = np.nonzero(bags)
            row.append(here + first)
            column.append(self.known[name][words] if name in self.known else words)
            count.append(bags[here, words])
        start = np.searchsorted(np.concatenate(row), np.arange(len(codes) + 1))
        return Csr(np.concatenate(count), np.concatenate(column), start, len(self.columns[name].levels or ()))
