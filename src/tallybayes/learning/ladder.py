"""Nested readings of the same rows: the columns as they are, with weights, with pairs, and the numbers together.

Each is a model of what was counted once. What is learned from some rows is judged on others: see `crossfit`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tallybayes.core.batch import Array, Batch, every_nth
from tallybayes.core.model import Model
from tallybayes.core.offsets import Offset
from tallybayes.core.schema import Column, Schema
from tallybayes.core.settings import EvidenceWeights, Settings
from tallybayes.core.tally import count
from tallybayes.data.tables import TableBatch
from tallybayes.families.correlation import Correlation, standardised, together
from tallybayes.learning.centring import centred
from tallybayes.learning.columns import read_columns
from tallybayes.learning.evidence import LEARNED_ROWS, MOST_CELLS, MOST_SCORES, HeldOut, held_out
from tallybayes.learning.options import Options
from tallybayes.learning.pairs import Paired, found_pairs
from tallybayes.learning.pseudocounts import with_pseudocount
from tallybayes.learning.reading import Reading, places_of
from tallybayes.learning.remembered import FEW_CELLS
from tallybayes.learning.weights import PULL, best_pull, column_weights, learn

TEXT_CELLS = 1000  # cells that a document is worth where rows are left out
MOST_NUMBERS = 64  # that are read together, the most informative ones
MOST_CORRECTED = 256  # columns, the most informative ones
NEAR_ZERO = 1e-3  # a smaller weight is none


@dataclass(frozen=True)
class Ladder:
    """Readings of some rows, each of which knows more than the one before."""

    read: Reading  # of the columns, without weights
    names: Sequence[str]  # of the columns that have weights, P
    n_rows: int  # that weights were learned from
    rows: HeldOut  # their leave-one-out evidence, of the columns and then of the pairs
    pull: float  # that kept the weights near one
    weights: Array  # (2, 1 + P + Q) of the prior, the columns and the pairs: without the pairs, and with them
    shifts: Array  # (2, P, K) what each column adds wherever it has a value
    pairs: Paired | None = None
    block: Model | None = None  # of the numbers together, and nothing else
    parts: Sequence[Column] = ()  # the columns that may be paired, as they are
    informative: frozenset[str] | None = None  # the columns that may be corrected, where there are too many for all
    corrected: frozenset[str] = frozenset()  # pairs that stay without a weight, for the sake of their corrections

    def weights_of(self, names: Sequence[str]) -> Array:
        """The weights (2, 1 + M) of the prior and of some columns or pairs, zero for those that it has not."""
        own = {name: m for m, name in enumerate((*self.names, *(self.pairs.names if self.pairs else ())), 1)}
        weights = np.concatenate((self.weights, np.zeros((2, 1))), axis=1)
        return weights[:, [0, *(own.get(name, -1) for name in names)]]

    def judged(self) -> Ladder:
        """The same for other rows: without the evidence that its weights were learned from, which is large."""
        return replace(self, rows=self.rows.take([]))  # a slice would keep all of it

    @cached_property
    def rungs(self) -> tuple[Model, ...]:
        """The readings as models: columns alone, with weights, with pairs."""
        plain = self.read.model
        weighted = self.model(self.weights[0], self.shifts[0])
        return (plain, weighted, self.model(self.weights[1], self.shifts[1]) if self.pairs else weighted)

    def model(self, weights: Array, shifts: Array) -> Model:
        """The columns, and the pairs that have a weight, with these weights and shifts."""
        read, n = self.read.model, 1 + len(self.names)
        of_columns = column_weights(read, self.names, weights[:n])
        tally, families, of_pairs = read.tally, read.settings.families, {}
        if self.pairs is not None:
            by_name = dict(zip(self.pairs.names, weights[n:].tolist(), strict=True))
            of_pairs = {name: w for name, w in by_name.items() if w > NEAR_ZERO or name in self.corrected}
            tally, families = self.pairs.joined(read, list(of_pairs))
        settings = replace(
            read.settings,
            families=families,
            weights=EvidenceWeights(of_columns | of_pairs, 1.0),
            offsets=shifted(read, self.names, shifts),
        )
        return _sharing(Model(settings, tally, read.provenance), read)

    def with_corrected(self, columns: Sequence[Column], batch: TableBatch, n_jobs: int | None) -> Ladder:
        """The same with pairs that have no weight, and are to have corrections."""
        read, no_weights = self.read.model, np.zeros((2, len(columns)))
        before = self.pairs or Paired.counted((), (), batch, read, n_jobs)
        return replace(
            self,
            pairs=before.joined_by(columns, batch, n_jobs),
            weights=np.concatenate((self.weights, no_weights), axis=1),
            corrected=frozenset(column.name for column in columns),
        )

    def evidence(self, rows: TableBatch, n_jobs: int | None) -> list[Array]:
        """What each reading says of other rows beyond the prior (n, K)."""
        plain, weighted, paired = self.rungs
        read = encoded(rows, paired)
        found = [evidence_of(model, read, n_jobs) for model in (plain, weighted)]
        return [*found, found[1] if paired is weighted else evidence_of(paired, read, n_jobs)]

    def together(self, rows: TableBatch, shrinkages: Sequence[float]) -> list[Array]:
        """What the numbers say together beyond each alone (n, K), for each shrinkage; the rows are read once."""
        assert self.block is not None
        tally, name = self.block.tally, Correlation.name
        family: Any = self.block.settings.families[name]
        read = replace(rows, schema=tally.schema, places=tally.places).rows(0, rows.n_rows)
        z, summary = family.standard(read.blocks[name].x), tally.blocks[name].summary
        found = (replace(family, centre=(), scale=(), shrinkage=each) for each in shrinkages)
        return [each.log_prob(each.estimate(summary), z) for each in found]


def encoded(rows: TableBatch, model: Model) -> TableBatch | Batch:
    """Rows for a model and others of its columns, or of the first of them; few rows are encoded once for all."""
    rows = replace(rows, schema=model.schema, places=model.tally.places)
    return rows.rows(0, rows.n_rows) if rows.size <= FEW_CELLS else rows


def evidence_of(model: Model, rows: TableBatch | Batch, n_jobs: int | None) -> Array:
    """Scores (n, K) of rows without the prior."""
    bare = _sharing(replace(model, settings=replace(model.settings, prior="none")), model)
    if isinstance(rows, TableBatch):
        rows = replace(rows, schema=model.schema, places=model.tally.places)
    return bare.log_joint(rows, n_jobs)


def _sharing(model: Model, other: Model) -> Model:
    """The model, with the parameters that another has estimated from the same counts by the same families."""
    blocks, families = other.tally.blocks, other.settings.families
    known = {
        name: other.parameters[name]
        for name, block in model.tally.blocks.items()
        if name in blocks and blocks[name] is block and families[name] is model.settings.families[name]
    }
    if len(known) == len(model.tally.blocks):
        vars(model)["parameters"] = known
    return model


def with_shrinkage(block: Model, shrinkage: float) -> Model:
    """The numbers together, the matrix of each class shrunk so far."""
    family: Any = block.settings.families[Correlation.name]
    families = {Correlation.name: replace(family, shrinkage=shrinkage)}
    return replace(block, settings=replace(block.settings, families=families))


def shifted(model: Model, names: Sequence[str], shifts: Array) -> Mapping[str, Offset]:
    """What columns add wherever they have a value, from an array (P, K)."""
    kinds = {column.name: column.kind for column in model.schema.columns}
    classes = model.schema.classes
    some: list[bool] = np.any(shifts, axis=1).tolist()
    return {
        name: Offset(Column(name, kinds[name]), classes, shift[None])
        for name, shift, is_any in zip(names, shifts, some, strict=True)
        if is_any
    }


def climbed(batch: TableBatch, base: Settings, options: Options, like: Ladder | None = None) -> Ladder | None:
    """The readings of some labelled rows; None where evidence is infinite, so that no weights can be learned.

    ``like`` are those of more rows: its pull for a row is taken, and its weights are near, so that fewer steps lead to
    the best.
    """
    read = read_columns(batch, base, options)
    used, names, texts = _weighted_columns(read)
    n_pairs = options.pairs_for(len(used))
    cells = read.model.n_classes * (len(used) + n_pairs + TEXT_CELLS * len(texts))
    most = min(LEARNED_ROWS, MOST_CELLS // max(cells, 1), MOST_SCORES // read.model.n_classes)
    sample = every_nth(batch, max(most, 1000))
    for name in texts:
        if options.given_alpha(name) is None:
            read = with_pseudocount(read, sample, base, name, options.n_jobs)
    rows = held_out(read.model, sample, places_of(read.families, read.model.schema), used)
    if not np.isfinite(rows.terms).all():
        return None
    ones, prior = np.ones(rows.n_terms), read.model.log_prior
    fixed = len(ones) if options.weights is None else None
    pull = like.pull * sample.n_rows / like.n_rows if like else best_pull(rows, ones) if fixed is None else PULL
    start = ones if like is None else like.weights_of(names)[0]
    weights = _cleared(learn(rows, ones, start, pull, is_near=like is not None)) if fixed is None else ones
    pairs, joint = None, rows
    parts: Sequence[Column] = ()
    if options.most_pairs:
        pairs, joint, parts = found_pairs(read, batch, sample, rows, names, weights, options)
    both = np.concatenate((weights, np.zeros(joint.n_terms - len(weights))))
    if pairs is not None:
        centre = np.concatenate((ones, np.zeros(joint.n_terms - len(ones))))
        if like is not None and fixed is None:
            both = like.weights_of([*names, *pairs.names])[1]
        both = _cleared(learn(joint, centre, both, pull, fixed, is_near=like is not None))
    alone = np.concatenate((weights, np.zeros(len(both) - len(weights))))
    shifts = np.zeros((2, len(names), len(prior)))
    if fixed is None:
        shifts = np.stack([centred(rows, w[: len(ones)], prior) for w in (alone, both)])
    informative = _most_informative(rows, names) if len(names) > MOST_CORRECTED else None
    block = _block(read, batch, rows, names, options)
    return Ladder(
        read, names, sample.n_rows, joint, pull, np.stack((alone, both)), shifts, pairs, block, parts, informative
    )


def _weighted_columns(read: Reading) -> tuple[list[int], list[str], list[str]]:
    """The columns that have a weight of their own, by position and name, and those of text."""
    columns = read.model.schema.columns
    # A document is one thing: its evidence is that of all its columns, and has one weight.
    blocks, families = read.model.tally.blocks.items(), read.model.settings.families
    used = [p for name, b in blocks for p in (b.columns[:1] if families[name].is_document else b.columns)]
    used.sort()  # in the order of the table, whatever their families are
    return used, [columns[p].name for p in used], [columns[p].name for p in used if columns[p].is_text]


def _most_informative(rows: HeldOut, names: Sequence[str]) -> frozenset[str]:
    """Of many columns those that say most by themselves of these rows: other rows have no part in it."""
    best = np.argsort(rows.single_losses(), kind="stable")[:MOST_CORRECTED]
    return frozenset(names[i] for i in best.tolist())


def _cleared(weights: Array) -> Array:
    """Weights that are next to nothing are nothing: evidence that was never weighted may be of any size."""
    return np.where(weights < NEAR_ZERO, 0.0, weights)


def _block(read: Reading, batch: TableBatch, rows: HeldOut, names: Sequence[str], options: Options) -> Model | None:
    """The numbers together, as a model of their own; None where there are fewer than two."""
    if options.weights is None:
        return None
    free = [c for c in read.model.schema.columns if c.name in read.families and not options.is_table(c.name)]
    numbers = [c for c in free if c.kind == "numeric"]
    values = {c.name: np.asarray(batch.table.columns[c.name].numbers(0, batch.n_rows), float) for c in numbers}
    numbers = [c for c in numbers if _varies(values[c.name])]
    if len(numbers) > MOST_NUMBERS:
        says = dict(zip(names, rows.single_losses().tolist(), strict=True))
        numbers = sorted(numbers, key=lambda c: says[c.name])[:MOST_NUMBERS]
    if len(numbers) < 2:
        return None
    assert batch.labels is not None
    column = together(numbers, read.model.schema.names)
    parts = np.stack([values[part.name] for part in column.parts or ()], axis=1)
    families = {Correlation.name: Correlation(*standardised(parts, batch.labels.weight))}
    schema = Schema((column,), read.model.schema.classes)
    tally = count(replace(batch, schema=schema, places={Correlation.name: [0]}), families, options.n_jobs)
    return Model(replace(read.model.settings, families=families), tally)


def _varies(values: Array) -> bool:
    known = values[np.isfinite(values)]
    return bool(len(known) and known.min() < known.max())
