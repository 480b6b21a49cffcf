"""Leave-one-out scores of training rows: exact, and without fitting again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import kernels
from tallybayes.core.batch import Array, Batch, Documents, Labels, Matrix, columns_of, mask_labels, mask_scores
from tallybayes.core.class_weights import weighted_labels
from tallybayes.core.documents import Texts
from tallybayes.core.family import Family, for_columns, quiet_log
from tallybayes.core.levels import Level
from tallybayes.core.offsets import Lookup
from tallybayes.core.settings import Settings
from tallybayes.core.tally import Tally, named_cells
from tallybayes.errors import DataError, RowError

WORDY = 256  # texts whose words are scored one by one at a time


@dataclass(frozen=True)
class LeaveOneOut:
    """What scores training rows, each by the tally of all the others."""

    tally: Tally
    settings: Settings
    parameters: Mapping[str, Any]  # of all rows, by block
    words: Texts
    weights: Mapping[str, Array] | None  # of the columns (d,) or words (V,) of each block; None where all weigh one
    offsets: Mapping[str, Lookup]  # of the blocks that have some; they stay, whichever row is left out
    log_prior: Array  # (K,)
    prior_score: Array  # (K,) what the prior adds to the score
    class_weight: Mapping[Level, float]  # how often the rows of a class count

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.tally.schema.classes)

    @property
    def families(self) -> Mapping[str, Family]:
        """The family of each block."""
        return self.settings.families

    def log_posterior(self, part: Batch, first: int) -> tuple[Array, int]:
        """Log P(y | x), shape (n, K), uncalibrated, of each row without the row, and how many every class forbids."""
        if part.labels is None or part.labels.codes is None:
            raise DataError("leave-one-out needs the label of each row")
        labels = weighted_labels(part.labels, self.class_weight, self.tally.schema)
        try:
            own = own_prior_score(self.settings, self.log_prior, self.tally.class_weight, labels)
            evidence = self.evidence(replace(part, labels=labels), first)
        except RowError as error:
            raise RowError(first + error.row) from None
        return evidence, kernels.normalise_without(evidence, self.prior_score, part.labels.codes, own)

    def evidence(self, part: Batch, first: int) -> Array:
        """Log P(x | y), shape (n, K), of each row without the row; ``first`` is the number of the first one."""
        evidence = np.zeros((part.n_rows, self.n_classes))
        for name, block in part.blocks.items():
            assert part.labels is not None
            x = self.words.without_own_words(name, block.x, part.labels)
            if name in self.offsets:
                evidence += self.offsets[name].scores(x)
            if self.weights is None:
                work = named_cells(self.families[name].leave_one_out, self.tally.schema, block.columns, first)
                summary, params = self.words.summary(name), self.parameters[name]
                evidence += mask_scores(x, work(summary, params, x, mask_labels(x, part.labels)))
                continue
            weights = self.weights[name]
            if isinstance(x, Documents) and len(weights) == x.n_columns:
                evidence += self._weighted_words(name, x, part.labels, weights)
                continue
            for j, column in enumerate(self._single_columns[name]):
                if weights[j]:
                    evidence += weights[j] * column.without_row(x, j, part.labels)
        return evidence

    def contributions(self, part: Batch) -> Array:
        """Log P(x_d | y), shape (n, K, D), without weights and offsets, of each row without the row."""
        parts = np.zeros((part.n_rows, self.n_classes, len(self.tally.schema.columns)))
        for name, block in part.blocks.items():
            assert part.labels is not None
            x = self.words.without_own_words(name, block.x, part.labels)
            for j, column in enumerate(self._single_columns[name]):
                parts[:, :, block.columns[j]] = column.without_row(x, j, part.labels)
        return parts

    def each_column(self, part: Batch, out: NDArray[np.float32], places: Mapping[int, int]) -> None:
        """The same against the row's own class, each column into its place of an array (n, K, P)."""
        assert part.labels is not None
        assert part.labels.codes is not None
        for name, block in part.blocks.items():
            x, family = self.words.without_own_words(name, block.x, part.labels), self.families[name]
            if self._is_whole(name):
                scores = self._single_columns[name][0].without_row(x, 0, part.labels)
                out[:, :, places[block.columns[0]]] = scores - scores[np.arange(len(out)), part.labels.codes][:, None]
            else:
                summary = self.tally.blocks[name].summary
                family.evidence_without(summary, x, part.labels, out, [places[p] for p in block.columns])

    def _is_whole(self, name: str) -> bool:
        """Whether a block is one document."""
        return name in self.words.columns or self.families[name].is_document

    def _weighted_words(self, name: str, x: Documents, labels: Labels, weights: Array) -> Array:
        """Log P(x | y), shape (n, K), of texts whose words have weights (V,), each without itself."""
        family: Any = self.families[name]
        out = np.zeros((x.shape[0], self.n_classes))
        for first in range(0, x.shape[0], WORDY):
            rows = slice(first, min(first + WORDY, x.shape[0]))
            part, own = x.rows(rows.start, rows.stop), labels.rows(rows.start, rows.stop)
            summary, params = self.words.summary(name), self.parameters[name]
            scores = family.each_word_without(summary, params, part, mask_labels(part, own))
            out[rows] = part.sums(scores * weights[part.column, None])
        return mask_scores(x, out)

    @cached_property
    def _single_columns(self) -> dict[str, list[SingleColumn]]:
        """The columns of each block as blocks of their own; a block that is one document stays together."""
        found = {}
        for name, block in self.tally.blocks.items():
            if self._is_whole(name):
                whole = SingleColumn(self.families[name], self.words.summary(name), self.parameters[name], whole=True)
                found[name] = [whole]
            else:
                columns = range(len(block.columns))
                found[name] = [SingleColumn.of(self.families[name], block.summary, [j]) for j in columns]
        return found


@dataclass(frozen=True)
class SingleColumn:
    """One column of a block, with its part of the summary and of the family's settings."""

    family: Any
    summary: Any
    params: Any
    whole: bool = False  # not a column, but all of a block

    @classmethod
    def of(cls, family: Family, summary: Any, columns: list[int]) -> SingleColumn:
        """Some columns of a block."""
        family, part = for_columns(family, columns), summary.select(np.array(columns, dtype=np.intp))
        return cls(family, part, family.estimate(part))

    def without_row(self, x: Matrix, column: int, labels: Labels) -> Array:
        """Leave-one-out log probability (n, K) of the column."""
        x = x if self.whole else columns_of(x, [column])
        return mask_scores(
            x, np.asarray(self.family.leave_one_out(self.summary, self.params, x, mask_labels(x, labels)))
        )


def own_prior_score(settings: Settings, log_prior: Array, class_weight: Array, labels: Labels) -> Array:
    """What the prior adds to the score (n,) of each row's own class without the row; one that was given stays."""
    assert labels.codes is not None
    learned = _own_log_prior(class_weight, settings.prior_alpha, labels.codes, labels.weight)
    return settings.prior_score(learned if settings.prior == "empirical" else log_prior[labels.codes], learned)


def _own_log_prior(class_weight: Array, alpha: float, codes: NDArray[np.int32], weight: Array) -> Array:
    """Log prior (n,) of each row's own class without the row, to go with that of the others with the row in.

    The sum of the weights has lost the row too, but that is the same for every class of the row.
    """
    have = class_weight[codes]
    left = have - weight
    unknown = left < -1e-9 * have
    if unknown.any():
        raise RowError(int(np.argmax(unknown)))
    left = np.where(left < 1e-12 * have, 0.0, left)
    total = class_weight.sum() + alpha * len(class_weight)
    if not total > 0:  # without a row that counts, all classes are alike
        return np.full(len(codes), -np.log(len(class_weight)))
    return quiet_log((left + alpha) / total)
