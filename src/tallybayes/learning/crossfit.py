"""Learning by cross-fitting: what is learned from some rows is chosen, weighted and judged on others.

The rows are dealt into folds by what they hold. For each fold everything is learned from the other folds: families,
bins, smoothing, weights, pairs. So every row has scores by models that have not seen it. These decide how much each
reading counts, whether the numbers are read together, and whether corrections are kept; they are also the model's
evaluation. The final model is learned from all rows in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array, Batch, Labels
from tallybayes.core.blas import one_blas_thread
from tallybayes.core.keys import stratified_folds
from tallybayes.core.model import Model
from tallybayes.core.records import changed
from tallybayes.core.schema import Column, Schema, plural
from tallybayes.core.settings import Settings
from tallybayes.core.tally import Block, Tally, count
from tallybayes.core.threads import map_each, threads_for
from tallybayes.data.tables import TableBatch
from tallybayes.families.correlation import Correlation
from tallybayes.learning.cells import Known, cells_of_columns, cells_of_pairs, offsets_of
from tallybayes.learning.columns import with_own_edges
from tallybayes.learning.corrections import STRENGTHS, Cells, Path, Regression, best_strength
from tallybayes.learning.evidence import MOST_SCORES
from tallybayes.learning.folds import Unseen, method_of
from tallybayes.learning.interactions import MILD, interacting
from tallybayes.learning.ladder import Ladder, climbed, encoded, evidence_of, with_shrinkage
from tallybayes.learning.options import Options
from tallybayes.learning.remembered import FEW_CELLS, RememberedBatch
from tallybayes.learning.screening import joining_words
from tallybayes.learning.stacking import Readings, Stack, losses, trust
from tallybayes.learning.weights import is_better

SHRINKAGES = (0.5, 2.0, 8.0, 32.0, np.inf)  # of the matrices of the numbers together
MANY = 20_000  # rows; of so many, what three folds hold back is hardly missed
MANY_NUMBERS, OF_A_CLASS = (
    5_000,
    800,
)  # rows, and rows a class, of numbers alone: what they say sets in slowly
WIDE = 1_000  # columns; a fold costs as much as they are many, and few rows do not weigh the readings any better
FEWEST_FOLDS, MOST_FOLDS = 3, 5
WORTH = 5  # cells to count that a cell to learn is worth
MUCH_WORK = 15_000_000  # rows × columns × classes; of many rows, a fold has little by chance


@dataclass(frozen=True)
class _Folds:
    """The rows that are judged, how they are dealt out, and what was learned without each fold."""

    batch: TableBatch
    fold: NDArray[np.intp]
    every: TableBatch  # those that are learned from, one fold after another
    start: Sequence[int]  # where each fold begins among these, and the end
    judged: Sequence[NDArray[np.intp]]  # which rows of each fold are judged
    ladders: Sequence[Ladder]
    n_jobs: int | None

    @classmethod
    def of(cls, batch: TableBatch, base: Settings, options: Options, whole: Ladder) -> _Folds | None:
        assert batch.labels is not None
        n_folds = FEWEST_FOLDS if _is_large(batch) else MOST_FOLDS
        fold = stratified_folds(batch.labels.codes, n_folds)  # type: ignore[arg-type]
        alone = replace(options, n_jobs=1, progress=None)

        def learned(number: int) -> Ladder | None:
            ladder = climbed(with_own_edges(batch.take(np.flatnonzero(fold != number))), base, alone, whole)
            return None if ladder is None else ladder.judged()

        ladders: list[Ladder] = []
        for ladder in map_each(learned, range(n_folds), threads_for(WORTH * batch.size, options.n_jobs)):
            if ladder is None:
                return None
            ladders.append(ladder)
            options.report(f"learned without fold {len(ladders)} of {n_folds}", len(ladders) / (n_folds + 2))
        step = -(-batch.n_rows * len(batch.schema.classes) // MOST_SCORES)
        judged, order = np.arange(0, batch.n_rows, step), np.argsort(fold, kind="stable")
        start = np.searchsorted(fold[order], np.arange(n_folds + 1)).tolist()
        own = [np.flatnonzero(order[a:b] % step == 0) for a, b in pairwise(start)]
        return cls(batch.take(judged), fold[judged], batch.take(order), start, own, ladders, options.n_jobs)

    def gathered(self, part: Sequence[Array]) -> Array:
        """What was found for the rows of each fold, in the order of the rows."""
        out = np.empty((len(self.fold), *part[0].shape[1:]))
        for number, values in enumerate(part):
            out[self.fold == number] = values
        return out

    @cached_property
    def held(self) -> list[TableBatch]:
        """The rows of each fold."""
        return [self.batch.take(np.flatnonzero(self.fold == f)) for f in range(len(self.ladders))]

    def evidence(self) -> list[Array]:
        """Of each reading (n, K)."""
        found = [a.evidence(rows, self.n_jobs) for a, rows in zip(self.ladders, self.held, strict=True)]
        return [self.gathered(each) for each in zip(*found, strict=True)]

    def together(self) -> list[Array]:
        """Of the numbers together (n, K), for each shrinkage."""
        threads = threads_for(WORTH * self.batch.size, self.n_jobs)
        parts = list(zip(self.ladders, self.held, strict=True))
        found = map_each(lambda part: part[0].together(part[1], SHRINKAGES), parts, threads)
        return [self.gathered(each) for each in zip(*found, strict=True)]

    def prior(self) -> Array:
        """Log prior (n, K); a class that none of the other folds has is as likely as half a row."""
        logs = [_log_prior(ladder.read.model) for ladder in self.ladders]
        return np.stack(logs)[self.fold]

    def without(self, stack: Stack, shrinkage: float | None) -> list[Array]:
        """For each fold scores (n, K) that know nothing of it: those of the others by counts without it, too."""
        scores = [stack.scores.copy() for _ in self.ladders]
        threads = threads_for(WORTH * self.every.size, self.n_jobs)
        work = range(len(self.ladders))
        for other, found in enumerate(map_each(lambda each: self._fewer(each, stack, shrinkage), work, threads)):
            for number, part in found:
                scores[number][self.fold == other] = part
        return scores

    def _fewer(self, other: int, stack: Stack, shrinkage: float | None) -> list[tuple[int, Array]]:
        """Scores (m, K) of the rows of a fold by its ladder, without what was counted of each other fold."""
        # Rows are encoded once for all models of the same columns.
        found, read = [], dict[tuple[str, ...], TableBatch | Batch]()
        for number in range(len(self.ladders)):
            if number == other:
                continue
            model = _collapsed(self.ladders[other], stack.by_fold[number], shrinkage)
            names = model.schema.names
            if names not in read:
                read[names] = encoded(self.every, model)
            theirs, own = (read[names].rows(self.start[f], self.start[f + 1]) for f in (number, other))
            if len(self.judged[other]) < own.n_rows:
                own = own.take(self.judged[other])
            fewer = changed(model, tally=model.tally.taken_back(count(theirs, model.settings.families, 1)))
            evidence = np.nan_to_num(evidence_of(fewer, own, 1), neginf=-1e6, posinf=1e6)
            found.append((number, _log_prior(fewer) + evidence))
        return found


def _is_large(batch: TableBatch) -> bool:
    """Whether three folds will do."""
    columns, n_classes = batch.schema.columns, len(batch.schema.classes)
    is_numeric = all(column.kind == "numeric" for column in columns if column.is_evidence)
    many = min(MANY, max(MANY_NUMBERS, OF_A_CLASS * n_classes)) if is_numeric else MANY
    return batch.n_rows > many or len(columns) > WIDE


def _log_prior(model: Model) -> Array:
    """Log prior (K,); a class that no row has is as likely as half a row."""
    weight = model.tally.class_weight
    least = 0.5 * float(weight[weight > 0].min(initial=1.0)) if weight.any() else 1.0
    return np.maximum(model.log_prior, np.log(least / max(float(weight.sum()), least)))


def crossfitted(batch: TableBatch, base: Settings, options: Options) -> tuple[Model, Unseen | None] | None:
    """The model that reads rows best, and what it makes of rows that it has not seen; None without finite evidence."""
    with one_blas_thread():
        batch = RememberedBatch.of(batch)
        learned = replace(base, prior="empirical")  # another prior replaces the class shares afterwards
        options.report("choosing families, weights and pairs", 0.0)
        whole = climbed(batch, learned, options)
        whole = None if whole is None else whole.judged()
        folds = None if whole is None else _Folds.of(batch, learned, options, whole)
        if folds is None or whole is None:
            return None
        prior = folds.prior()
        stack, shrinkage = _stacked(folds, prior, whole, options)
        scores = stack.scores
        if options.weights == "auto":
            options.report("learning corrections", 1.0 - 1.0 / (len(folds.ladders) + 2))
            model, scores = _corrected(batch, folds, whole, stack, shrinkage, options)
            model, scores = _trusted(model, scores, prior, whole, folds)
        else:
            model = _collapsed(whole, stack.weights, shrinkage)
        model = replace(model, settings=replace(model.settings, prior=base.prior))
        n_folds, labels = len(folds.ladders), folds.batch.labels
        assert labels is not None
        return model, Unseen(scores, labels, method_of(n_folds), n_folds, prior)


def _stacked(folds: _Folds, prior: Array, whole: Ladder, options: Options) -> tuple[Stack, float | None]:
    """The weights of the readings, and the shrinkage of the numbers together where they are read so."""
    labels = folds.batch.labels
    assert labels is not None
    start = np.array([0.0, 0.0, 1.0])
    evidence = [np.nan_to_num(each, neginf=-1e6, posinf=1e6) for each in folds.evidence()]
    if options.weights != "auto":
        return Stack(start, prior + evidence[2], np.stack([start] * len(folds.ladders))), None
    readings = Readings.of(evidence, prior, labels, folds.fold)
    plain = readings.stacked(start)
    if whole.block is None or any(ladder.block is None for ladder in folds.ladders):
        return plain, None
    # A handful of numbers that are alike: which of them suits the rows best can be seen without folds within folds.
    every = {s: readings.joined(each) for s, each in zip(SHRINKAGES, folds.together(), strict=True)}
    start = np.append(start, 0.0)
    chosen = min(SHRINKAGES, key=lambda s: every[s].least(start))
    found = every[chosen].stacked(start)
    is_worth_it = is_better(losses(plain.scores, labels), losses(found.scores, labels), labels.weight)
    return (found, chosen) if is_worth_it else (plain, None)


def _collapsed(whole: Ladder, stack: Array, shrinkage: float | None) -> Model:
    """The readings as one model: one weight for every column, pair and block."""
    plain = np.zeros_like(whole.weights[0])
    plain[: len(whole.names) + 1] = 1.0
    weights = stack[0] * plain + stack[1] * whole.weights[0] + stack[2] * whole.weights[1]
    model = whole.model(weights, stack[1] * whole.shifts[0] + stack[2] * whole.shifts[1])
    if shrinkage is not None and len(stack) > 3 and stack[3] > 0:
        assert whole.block is not None
        model = _with_block(model, with_shrinkage(whole.block, shrinkage), float(stack[3]))
    note = f"weights learned from {plural(whole.n_rows, 'row')}"
    return changed(model, provenance=model.provenance.noted(note))


def _trusted(model: Model, scores: Array, prior: Array, whole: Ladder, folds: _Folds) -> tuple[Model, Array]:
    """The model and the scores with their evidence as far as its gain over the prior differs from chance."""
    labels = folds.batch.labels
    assert labels is not None
    share = trust(scores, prior, labels)
    if share == 1.0:
        return model, scores
    note = f"evidence trusted to {share:.0%}: other rows do not confirm more of it"
    if share > 0.0:
        model, scores = replace(model, settings=_tempered(model.settings, share)), prior + share * (scores - prior)
    else:
        model, scores = _collapsed(whole, np.zeros(3), None), prior
    return replace(model, provenance=model.provenance.noted(note)), scores


def _tempered(settings: Settings, share: float) -> Settings:
    """The settings with so much of the evidence beyond the prior."""
    weights = settings.weights
    assert weights is not None
    columns = {name: share * weight for name, weight in weights.columns.items()}
    offsets = {name: offset.scaled(share) for name, offset in settings.offsets.items()}
    return replace(settings, weights=replace(weights, columns=columns), offsets=offsets)


def _with_block(model: Model, block: Model, weight: float) -> Model:
    """The model with the numbers together."""
    column = block.schema.columns[0]
    schema = Schema((*model.schema.columns, column), model.schema.classes, model.schema.declared)
    summary = block.tally.blocks[Correlation.name].summary
    blocks = {**model.tally.blocks, Correlation.name: Block([len(model.schema.columns)], summary)}
    given = model.settings.weights
    assert given is not None
    settings = changed(
        model.settings,
        families={**model.settings.families, **block.settings.families},
        weights=changed(given, columns={**given.columns, column.name: weight}),
    )
    return changed(model, settings=settings, tally=Tally(schema, model.tally.class_weight, blocks))


# ------------------------------------------------------------------------------------------ corrections


def _corrected(
    batch: TableBatch, folds: _Folds, whole: Ladder, stack: Stack, shrinkage: float | None, options: Options
) -> tuple[Model, Array]:
    """The model with corrections, and the scores of rows that had no part in them, if they gain beyond noise."""
    model, labels = _collapsed(whole, stack.weights, shrinkage), folds.batch.labels
    assert labels is not None
    regression = _Regressions.of(folds, whole, stack, options)
    if None in regression.cells and not all(regression.pairs):
        return model, stack.scores
    path = _judged(regression, folds, stack, shrinkage)
    if path is None:
        return model, stack.scores
    more = _interactions(folds, whole, regression, path, options)
    if more[-1]:
        before = regression.pairs
        regression.pairs = [[*some, *others] for some, others in zip(before, more, strict=True)]
        weaker = STRENGTHS[max(STRENGTHS.index(path.strength) - 1, 0) :]
        other = best_strength(regression, folds.fold, stack.scores, labels, options.n_jobs, weaker, path)
        if _gains(other, path.scores, labels):
            path, whole = other, whole.with_corrected(more[-1], batch, options.n_jobs)
            model = _collapsed(whole, stack.weights, shrinkage)
        else:
            regression.pairs = before
    assert path.strength is not None
    bare = {column.name for column in regression.pairs[-1]} - {*model.schema.names}
    if bare:  # they have corrections, if no weight
        model = _collapsed(replace(whole, corrected=whole.corrected | bare), stack.weights, shrinkage)
    last = regression(-1)
    # λ was found where a fold was missing. The penalty of a row stays as it was there, so that the model is no surer of
    # rows than those that were judged: its figures and its prediction sets come from them.
    more_rows = len(folds.ladders) / (len(folds.ladders) - 1)
    offsets = offsets_of(model, last.cells, last.cells.tables(last.approached(path.strength, more_rows)))
    noted = model.provenance.noted("corrections learned")
    return replace(model, settings=replace(model.settings, offsets=offsets), provenance=noted), path.scores


@dataclass
class _Regressions:
    """The rows that corrections are learned from without each fold, and at last those of all."""

    batch: TableBatch
    cells: Sequence[Cells | None]  # of the columns that may be corrected
    pairs: list[list[Column]]  # that have corrections
    bases: list[Array]  # that corrections start from
    known: dict[tuple[int, int], Cells] = field(default_factory=dict)
    codes: Known = field(default_factory=dict)

    @classmethod
    def of(cls, folds: _Folds, whole: Ladder, stack: Stack, options: Options) -> _Regressions:
        ladders = (*folds.ladders, whole)
        every = {ladder.informative for ladder in ladders}  # chosen without the fold, as all else
        found = {names: cells_of_columns(whole.read.model, folds.batch, options, names) for names in every}
        pairs = [[c for c in each.rungs[2].schema.columns if c.kind == "pair"] for each in ladders]
        return cls(folds.batch, [found[each.informative] for each in ladders], pairs, [stack.scores] * len(ladders))

    def __call__(self, number: int) -> Regression:
        """The rows without a fold, or those of all."""
        assert self.batch.labels is not None
        key = number % len(self.bases), len(self.pairs[number])  # more pairs come, or the last ones go
        found = self.known.get(key) or self._joined(self.cells[number], self.pairs[number])
        if found.cell.size <= FEW_CELLS:
            self.known[key] = found
        return Regression(found, self.bases[number], self.batch.labels).bounded()

    def _joined(self, columns: Cells | None, pairs: Sequence[Column]) -> Cells:
        """The cells of the columns and of pairs."""
        if columns is not None and not pairs:
            return columns
        own = cells_of_pairs(pairs, self.batch, self.codes if self.batch.n_rows <= MANY else None)
        return own if columns is None else columns.joined(own)


def _judged(regression: _Regressions, folds: _Folds, stack: Stack, shrinkage: float | None) -> Path | None:
    """Corrections of the bases, judged on rows that had no part in either; None where they gain no more than noise.

    What a fold holds by chance is in the scores of the other rows, since their models have counted it. Those rows do
    not confirm it, so corrections learned from them turn away from it, and the fold seems harder to predict than it is.
    The bases are therefore scored again without each fold, unless many rows are to be read. Where there is little, a
    first look with the bases as they are costs less: corrections that do not gain there are not looked at again, others
    under the λ found there and the next weaker one.
    """
    path, labels = None, folds.batch.labels
    strengths: Sequence[float] = STRENGTHS
    assert labels is not None
    if not regression(0).is_much:
        path = best_strength(regression, folds.fold, stack.scores, labels, folds.n_jobs)
        if not _gains(path, stack.scores, labels):
            return None
        place = STRENGTHS.index(path.strength)
        strengths = STRENGTHS[place : place + 2]
    if regression(0).work <= MUCH_WORK or folds.batch.n_rows <= MANY:
        regression.bases[:-1] = folds.without(stack, shrinkage)
    path = best_strength(regression, folds.fold, stack.scores, labels, folds.n_jobs, strengths, path)
    return path if _gains(path, stack.scores, labels) else None


def _gains(path: Path, before: Array, labels: Labels) -> bool:
    """Whether rows are better predicted with corrections, beyond noise."""
    return path.strength is not None and is_better(losses(before, labels), losses(path.scores, labels), labels.weight)


def _interactions(
    folds: _Folds, whole: Ladder, regression: _Regressions, path: Path, options: Options
) -> list[list[Column]]:
    """The pairs that are to have corrections besides: of each fold from the other rows, at last from all."""
    most, pairs = options.pairs_for(len(whole.names)), regression.pairs
    is_full = options.given_pairs is not None or most <= len(pairs[-1])  # there is no room for more
    if is_full or path.strength is None or path.strength > MILD:
        return [[] for _ in pairs]
    words = joining_words(whole.read.model.schema.names)
    found = []
    for number, ladder in enumerate((*folds.ladders, whole)):
        rows = regression(number).without(folds.fold == number)
        parts = [part for part in ladder.parts if not options.is_table(part.name)]
        coefficients = path.near(MILD, number)
        scores = rows.scores(rows.fitted(MILD) if coefficients is None else coefficients)
        asked = most - len(pairs[number])
        found.append(interacting(parts, pairs[number], folds.batch, scores, rows.labels, asked, words, options.n_jobs))
    return found
