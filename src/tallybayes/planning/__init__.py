"""How a table is best read: a distribution for each column, weights for their evidence, and pairs.

Everything is judged by exact leave-one-out of the rows themselves, so nothing has to be held out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tallybayes.batch import Array, Batch, Csr, Documents, heard
from tallybayes.errors import SettingError
from tallybayes.families import DOCUMENTS, FAMILIES, Family, Gaussian, Hierarchical, Pair
from tallybayes.infer import FAMILY_OF_KIND
from tallybayes.model import WORDY, Model
from tallybayes.plan import NUMERIC, Plan
from tallybayes.planning import pairs as pairing
from tallybayes.planning import weights as weighing
from tallybayes.planning.bins import fine_edges
from tallybayes.planning.choice import Choice, Judge, candidates, choose, described
from tallybayes.planning.classes import ClassEvidence, learn_classes
from tallybayes.planning.weights import LeftOut, held_out_losses, is_better, learn
from tallybayes.planning.words import MOST_TERMS, WordEvidence, learn_words
from tallybayes.schema import Column, Schema, block_of, plural
from tallybayes.settings import ClassWeights, EvidenceWeights, Settings, WordWeights
from tallybayes.sources.tables import TableBatch
from tallybayes.tally import Block, Tally, count
from tallybayes.tokens import Vocabulary

JUDGED_ROWS = 10_000  # rows on which families are compared
LEARNED_ROWS = 50_000  # rows that weights and pairs are learned from
TEXT_CELLS = 1000  # cells that a document is worth where rows are left out
ALPHAS = (0.02, 0.05, 0.1, 0.2, 0.4)  # pseudocounts of words that are tried
TEXT_JUDGED = 20_000  # left-out texts, times classes, on which they are compared
NO_WEIGHT = 1e-3  # pairs that weigh less are left out

Weights = Literal["auto", "learn", "words", "classes"] | None
Pairs = Literal["auto"] | int | Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Wishes:
    """What the user wants of a plan."""

    numeric: str = "auto"  # the family of numbers, or "auto"
    category: Family | None = None  # the family of categories; None for the pooled one that leave-one-out prefers
    told: Mapping[str, Family] | None = None  # families of single columns
    weights: Weights = "auto"
    pairs: Pairs = "auto"
    smoothed: frozenset[str] = frozenset()  # texts whose pseudocount is to be chosen


def make(batch: TableBatch, base: Settings, wishes: Wishes, n_jobs: int | None = None) -> tuple[Plan, Model]:
    """Look at all rows and return how they are best read, and the model that has learned them so.

    Parameters
    ----------
    batch : TableBatch
        Labelled rows.
    base : Settings
        Prior and the like.
    wishes : Wishes
    n_jobs : int, optional
        Threads.

    Returns
    -------
    plan : Plan
    model : Model
    """
    # Our threads work on rows; those of a BLAS would only be in their way.
    with threadpool_limits(1, user_api="blas"):
        plan, model = _made(batch, base, wishes, n_jobs)
        if wishes.weights == "classes" and model.settings.weights is not None:
            return _with_class_weights(plan, model, batch)
        if wishes.weights != "words" or model.settings.weights is None:
            return plan, model
        for name in [n for n, b in model.tally.blocks.items() if model.schema.columns[b.columns[0]].kind == "text"]:
            plan, model = _with_word_weights(plan, model, batch, name, n_jobs)
        return plan, model


def _made(batch: TableBatch, base: Settings, wishes: Wishes, n_jobs: int | None) -> tuple[Plan, Model]:
    assert batch.labels is not None
    plan, model, fine = _columns(batch, base, wishes, n_jobs)
    if model.n_classes < 2 or (wishes.weights is None and wishes.pairs == 0):
        return plan, model
    if batch.n_rows < weighing.LEAST_ROWS:
        return replace(
            plan, notes=(*plan.notes, f"{plural(batch.n_rows, 'row')}: too few to learn weights from")
        ), model
    asked = (
        pairing.MOST_PAIRS
        if wishes.pairs == "auto"
        else wishes.pairs
        if isinstance(wishes.pairs, int)
        else len(wishes.pairs)
    )
    # A document is one thing: its evidence is that of all its columns, and has one weight.
    blocks = model.tally.blocks.items()
    used = [p for name, b in blocks for p in (b.columns[:1] if name in DOCUMENTS else b.columns)]
    texts = [model.schema.columns[p].name for p in used if model.schema.columns[p].kind == "text"]
    most = weighing.MOST_CELLS // (model.n_classes * (len(used) + asked + TEXT_CELLS * len(texts)))
    sample = _thinned(batch, min(LEARNED_ROWS, max(most, 1000)))
    for name in texts:
        plan, model = _smoothed(plan, model, sample, base, name, wishes)
    rows = _left_out(model, sample, plan.places(model.schema), used)
    if not np.isfinite(rows.terms).all():
        note = "weights need evidence that is never infinite: use alpha > 0"
        return replace(plan, notes=(*plan.notes, note)), model
    weighed = _Weighed.learned(rows, wishes.weights)
    names = [model.schema.columns[p].name for p in used]
    if asked:
        plan, model = _paired(plan, model, fine, batch, sample, rows, weighed, names, wishes, asked, n_jobs)
        if model.settings.weights is not None:
            return plan, model
    lost = dict(zip(names, _judged(rows).lost_without(weighed.weights)[1:].tolist(), strict=True))
    plan = replace(plan, lost=lost)
    if not weighed.kept:
        return replace(plan, notes=(*plan.notes, "weights would not improve leave-one-out log loss: none")), model
    weights = EvidenceWeights(_heard(model, names, weighed.weights), float(weighed.weights[0]))
    plan = replace(plan, weights=weights, notes=(*plan.notes, f"weights learned from {plural(sample.n_rows, 'row')}"))
    return plan, replace(model, settings=replace(model.settings, weights=weights))


# ---------------------------------------------------------------------------------------------- families


def _columns(
    batch: TableBatch, base: Settings, wishes: Wishes, n_jobs: int | None
) -> tuple[Plan, Model, Mapping[int, Array]]:
    """Choose the family of every column; also gives the fine counts (B, K) of the numbers."""
    schema, gaussian = batch.schema, base.families.get("gaussian")
    # Each column's parameters are its own, so that leaving a row out of one column does not change another.
    numeric = {**NUMERIC} if gaussian is None else {**NUMERIC, "gaussian": _on_its_own(gaussian)}
    told = {name: _on_its_own(family) for name, family in (wishes.told or {}).items()}
    columns, trials, families = list(schema.columns), {}, {}
    for p, column in enumerate(columns):
        if column.kind == "ignored":
            continue
        if column.name in told:
            families[column.name] = told[column.name]
        elif column.kind == "numeric":
            trials[p] = _trials(batch, column, wishes.numeric)
        elif column.kind in ("category", "boolean"):
            if wishes.category is None:
                trials[p] = ["hierarchical"]
            else:
                families[column.name] = wishes.category
        else:
            families[column.name] = FAMILIES[FAMILY_OF_KIND[column.kind]]()
        if column.kind == "numeric" and {"kernel", "binned"} & {
            *trials.get(p, ()),
            getattr(told.get(column.name), "name", ""),
        }:
            values = batch.table.columns[column.name]
            columns[p] = replace(column, edges=fine_edges(values.numbers(0, len(values))))
    tried = Schema(tuple(columns), schema.classes)
    places: dict[str, list[int]] = {}
    for p, names in trials.items():
        for name in dict.fromkeys(map(_counted_as, names)):
            places.setdefault(name, []).append(p)
    for p, column in enumerate(columns):
        if column.name in families:
            places.setdefault(block_of(column, _counted_as(families[column.name].name)), []).append(p)
    counting: dict[str, Any] = {"hierarchical": Hierarchical(), **numeric}
    chosen = ((block_of(c, families[c.name].name), families[c.name]) for c in columns if c.name in families)
    counting |= {block: family for block, family in chosen if block not in counting}
    tally = count(replace(batch, schema=tried, places=places), counting, n_jobs)
    sample = _thinned(replace(batch, schema=tried, places=places), JUDGED_ROWS)
    assert sample.labels is not None
    part = sample.rows(0, sample.n_rows)
    prior = np.maximum(base.log_prior(tried, tally.class_weight), -1e3)
    judge = Judge(part.blocks, sample.labels, prior)
    choices = {p: choose(judge, tally, p, names, counting) for p, names in trials.items()}
    families |= {columns[p].name: choice.family for p, choice in choices.items()}
    fine = {p: _fine_counts(tally, p) for p, column in enumerate(columns) if column.edges is not None}
    read = tuple(_read(column, families.get(column.name), choices.get(p)) for p, column in enumerate(columns))
    plan = Plan(families)
    final = Schema(read, schema.classes)
    blocks = {name: _taken(tally, name, at) for name, at in plan.places(final).items()}
    model = Model(plan.settings(final, base), Tally(final, tally.class_weight, blocks))
    return plan, model, fine


def _trials(batch: TableBatch, column: Column, numeric: str) -> list[str]:
    """The families to try for a number."""
    values = batch.table.columns[column.name]
    numbers = np.asarray(values.numbers(0, len(values)), dtype=np.float64)
    numbers = numbers[np.isfinite(numbers)]
    if numeric != "auto":
        return [numeric]
    if len(numbers) == 0 or numbers.min() == numbers.max():
        return ["gaussian"]  # which takes a constant for no evidence
    return candidates(float(numbers.min()), float((numbers == 0).mean()))


def _read(column: Column, family: Any, choice: Choice | None) -> Column:
    """The column with its bins, if it is read in bins, and the reason of its family."""
    binned = family is not None and family.name in ("kernel", "binned")
    reason, lasting = column.reason, column.lasting
    if choice is not None and column.kind == "numeric" and not reason.startswith("constant"):
        reason, lasting = f"{reason}; {choice.reason}", f"{lasting}; {described(choice.family)}"
    return replace(column, edges=column.edges if binned else None, reason=reason, lasting=lasting)


def _taken(tally: Tally, name: str, places: list[int]) -> Block:
    """Some columns of a block that was counted for all that might want it."""
    block = tally.blocks[_counted_as(name)]
    order = [list(block.columns).index(p) for p in places]
    return Block(places, block.summary.select(np.array(order, dtype=np.intp)))


def _fine_counts(tally: Tally, column: int) -> Array:
    return np.asarray(_taken(tally, "kernel", [column]).summary.count.T)  # type: ignore[attr-defined]


def _counted_as(name: str) -> str:
    """The block that a family's columns are counted in at first: bins, merged or not, have the same fine counts."""
    return "kernel" if name == "binned" else name


def _on_its_own(family: Family) -> Family:
    """The family with a floor for each column that does not hang on the others."""
    return replace(family, floor="own") if isinstance(family, Gaussian) else family


def _thinned(batch: TableBatch, most: int) -> TableBatch:
    """At most so many rows, evenly spread."""
    step = max(1, -(-batch.n_rows // most))
    return batch if step == 1 else batch.take(np.arange(0, batch.n_rows, step))


# ---------------------------------------------------------------------------------------------- text


def _smoothed(
    plan: Plan, model: Model, sample: TableBatch, base: Settings, text: str, wishes: Wishes
) -> tuple[Plan, Model]:
    """The plan and the model with the pseudocount of a text's words under which left-out texts are foretold best.

    Each is judged with the weights of the prior and of the text that suit it: what they are does not change the order
    of the words, and they are learned afterwards anyhow.
    """
    (p,) = (p for p, column in enumerate(model.schema.columns) if column.name == text)
    family: Any = plan.families[text]
    if text not in wishes.smoothed or getattr(family, "idf", False):
        return plan, model
    few = _thinned(sample, max(300, TEXT_JUDGED // model.n_classes))
    place = block_of(model.schema.columns[p], family.name)

    def read(alpha: float) -> tuple[Plan, Model]:
        other = replace(plan, families={**plan.families, text: replace(family, alpha=alpha)})
        return other, Model(other.settings(model.schema, base), model.tally)

    def loss(alpha: float) -> float:
        only = Model(Settings({place: replace(family, alpha=alpha)}, base.prior), _only(model.tally, p, place))
        rows = _left_out(only, few, {place: [0]}, [0])
        ones = np.ones(rows.n_terms)
        return float((rows.weight * rows.losses(learn(rows, ones))).sum()) if np.isfinite(rows.terms).all() else np.inf

    return read(min(ALPHAS, key=loss))


def _with_word_weights(
    plan: Plan, model: Model, batch: TableBatch, block: str, n_jobs: int | None
) -> tuple[Plan, Model]:
    """The plan and the model with a weight for every word of a text."""
    given, (p,) = model.settings.weights, model.tally.blocks[block].columns
    assert given is not None
    text = model.schema.columns[p]
    evidence = _word_evidence(model, replace(batch, schema=model.schema, places=plan.places(model.schema)), block)
    usual = given.columns[text.name]
    learned, prior = learn_words(evidence, usual, given.prior, n_jobs)
    weights, levels = np.full(text.n_cells, usual), text.levels
    weights[model.words.known.get(block, slice(None))] = learned
    assert isinstance(levels, (Vocabulary, range))
    if isinstance(levels, Vocabulary):
        changed = np.abs(weights - usual) > NO_WEIGHT * usual
        levels, weights = levels.select(changed), weights[changed]
    record = replace(given, prior=prior, words={**given.words, text.name: WordWeights(levels, weights)})
    note = f"weights of {plural(len(weights), 'word')} of {text.name!r}, from {plural(evidence.x.shape[0], 'row')}"
    plan = replace(plan, weights=record, notes=(*plan.notes, note))
    return plan, replace(model, settings=replace(model.settings, weights=record))


def _word_evidence(model: Model, rows: TableBatch, block: str) -> WordEvidence:
    """What the words of a text say, each row left out, of as many rows as there is room for."""
    (p,) = model.tally.blocks[block].columns
    few = _thinned(rows, 100)
    x: Any = few.rows(0, few.n_rows).blocks[block].x
    length = max(1.0, float(x.start[-1]) / few.n_rows)
    sample = _thinned(rows, max(100, min(LEARNED_ROWS, int(MOST_TERMS / length / model.n_classes))))
    assert sample.labels is not None
    weights = [0.0 if c == p else _weight(model, column.name) for c, column in enumerate(model.schema.columns)]
    said, documents, others = [], [], np.zeros((sample.n_rows, model.n_classes))
    for first in range(0, sample.n_rows, WORDY):
        part = sample.rows(first, min(first + WORDY, sample.n_rows))
        assert part.labels is not None
        entries, terms = _words_without(model, block, part)
        said.append(terms.astype(np.float32, order="C"))
        documents.append(entries)
        if len(part.blocks) > 1:
            others[first : first + part.n_rows] = model.contributions_without(part) @ weights
    start = np.concatenate(([0], np.cumsum(np.concatenate([np.diff(each.start) for each in documents]))))
    column = np.concatenate([each.column for each in documents]).astype(np.int32)
    data = np.concatenate([each.data for each in documents])
    x = Csr(data, column, start.astype(np.int64), documents[0].n_columns)
    return WordEvidence(np.concatenate(said), x, sample.labels, np.maximum(model.log_prior, -1e3), others)


def _words_without(model: Model, block: str, part: Batch) -> tuple[Documents, Array]:
    """The words of learned texts, and what each of them says (nnz, K), each text left out of what was learned."""
    assert part.labels is not None
    x: Any = model.words.left_behind(block, part.blocks[block].x, part.labels)
    family: Any = model.settings.families[block]
    if not hasattr(family, "each_word_without"):
        raise SettingError(f"words have no weights of their own in a {family.name} text; use weights='auto'")
    labels = heard(x, part.labels)
    return x, family.each_word_without(model.words.summary(block), model.parameters[block], x, labels)


def _weight(model: Model, name: str) -> float:
    weights = model.settings.weights
    return 1.0 if weights is None else weights.columns.get(name, 1.0)


def _only(tally: Tally, column: int, block: str) -> Tally:
    """The tally of a single column."""
    schema = Schema((tally.schema.columns[column],), tally.schema.classes)
    return Tally(schema, tally.class_weight, {block: Block([0], tally.blocks[block].summary)})


# ---------------------------------------------------------------------------------------------- weights


def _judged(rows: LeftOut) -> LeftOut:
    """As many of the rows as it takes to judge something."""
    return rows.take(slice(None, None, max(1, -(-len(rows.codes) // JUDGED_ROWS))))


def _left_out(model: Model, sample: TableBatch, places: Mapping[str, list[int]], used: Sequence[int]) -> LeftOut:
    """Leave-one-out evidence of the sample, the columns in the order of ``used``."""
    assert sample.labels is not None
    assert sample.labels.codes is not None
    evidence = np.empty((sample.n_rows, model.n_classes, len(used)), dtype=np.float32)
    rows = replace(sample, schema=model.schema, places=places)
    step = max(1, 4_000_000 // max(model.n_classes * len(model.schema.columns), 1))
    for first in range(0, sample.n_rows, step):
        part: Batch = rows.rows(first, min(first + step, sample.n_rows))
        evidence[first : first + part.n_rows] = model.contributions_without(part)[:, :, list(used)]
    prior = np.maximum(model.log_prior, -1e3)  # a class that never occurs stays out of it
    return LeftOut.of(evidence, prior, sample.labels.codes, sample.labels.weight)


@dataclass(frozen=True)
class _Weighed:
    """Weights of the columns, whether they are worth keeping, and the losses of the rows they were judged on."""

    weights: Array
    kept: bool
    pull: float
    losses: Array

    @classmethod
    def learned(cls, rows: LeftOut, wanted: Weights) -> _Weighed:
        ones = np.ones(rows.n_terms)
        few = _judged(rows)
        plain = few.losses(ones)
        if wanted is None:
            return cls(ones, False, weighing.PULL, plain)
        pull = weighing.best_pull(rows, ones)
        held_out = held_out_losses(few, ones, pull)
        if wanted == "auto" and not is_better(plain, held_out, few.weight):
            return cls(ones, False, pull, plain)
        return cls(learn(rows, ones, pull=pull), True, pull, held_out)


def _heard(model: Model, names: Sequence[str], weights: Array) -> dict[str, float]:
    """The weight of each column, from those of the prior and of the named ones; all of a document weigh the same."""
    heard = dict(zip(names, weights[1:].tolist(), strict=False))
    for name in DOCUMENTS & set(model.tally.blocks):
        columns = [model.schema.columns[p].name for p in model.tally.blocks[name].columns]
        heard |= dict.fromkeys(columns, heard[columns[0]])
    return heard


def _with_class_weights(plan: Plan, model: Model, batch: TableBatch) -> tuple[Plan, Model]:
    """The plan and the model with weights that differ by class, if there are more than two and they gain by it."""
    given, names = model.settings.weights, model.schema.names
    assert given is not None
    used = [p for p, c in enumerate(model.schema.columns) if given.columns.get(c.name, 1.0) and c.kind != "ignored"]
    if model.n_classes < 3:
        note = "two classes weigh alike: what one hears more of a column, the other hears less"
        return replace(plan, notes=(*plan.notes, note)), model
    sample = _thinned(batch, max(1000, min(LEARNED_ROWS, weighing.MOST_CELLS // (model.n_classes * len(names)))))
    rows = replace(sample, schema=model.schema, places=plan.places(model.schema))
    assert rows.labels is not None
    assert rows.labels.codes is not None
    said = np.empty((rows.n_rows, model.n_classes, len(used)), dtype=np.float32)
    step = max(1, 4_000_000 // (model.n_classes * len(names)))
    for first in range(0, rows.n_rows, step):
        part: Batch = rows.rows(first, min(first + step, rows.n_rows))
        parts = (model.contributions_without(part) * model.column_weights)[:, :, used]
        said[first : first + part.n_rows] = parts - parts.mean(axis=1, keepdims=True)
    evidence = ClassEvidence(said, np.maximum(model.prior_score, -1e3), rows.labels.codes, rows.labels.weight)
    times = learn_classes(evidence)
    if times is None:
        note = "weights that differ by class would not improve held-out log loss: none"
        return replace(plan, notes=(*plan.notes, note)), model
    by_class = ClassWeights(tuple(names[p] for p in used), model.schema.classes, times)
    record = replace(given, by_class=by_class)
    note = f"weights of {plural(model.n_classes, 'class')} learned from {plural(rows.n_rows, 'row')}"
    plan = replace(plan, weights=record, notes=(*plan.notes, note))
    return plan, replace(model, settings=replace(model.settings, weights=record))


# ---------------------------------------------------------------------------------------------- pairs


def _paired(
    plan: Plan,
    model: Model,
    fine: Mapping[int, Array],
    batch: TableBatch,
    sample: TableBatch,
    rows: LeftOut,
    weighed: _Weighed,
    names: list[str],
    wishes: Wishes,
    asked: int,
    n_jobs: int | None,
) -> tuple[Plan, Model]:
    """The plan and the model with the pairs that improve leave-one-out; without any if none does."""
    assert sample.labels is not None
    place = {column.name: p for p, column in enumerate(model.schema.columns)}
    parts: dict[int, Column] = {}
    for p, column in enumerate(model.schema.columns):
        if column.kind not in ("ignored", "text") and (column.levels is not None or p in fine):
            edges = fine_edges_of(batch, column) if p in fine and column.edges is None else column.edges
            parts[p] = pairing.part_of(replace(column, edges=edges), fine.get(p, np.zeros((0, 0))))
    paired = [p for p in parts if parts[p].n_cells > 1]
    seen: dict[str, NDArray[np.int32]] = {}
    codes = np.stack([sample.codes(parts[p], 0, sample.n_rows, seen) for p in paired], axis=1) if paired else None
    if codes is None:
        return plan, model
    grid = pairing.Grid([parts[p] for p in paired], codes, sample.labels, model.n_classes)
    if isinstance(wishes.pairs, (str, int)):
        alone = _alone_losses(rows, names)
        telling = sorted(range(len(paired)), key=lambda i: alone[model.schema.columns[paired[i]].name])
        found = pairing.screened(
            grid, rows.log_posterior(weighed.weights), sorted(telling[: pairing.MOST_COLUMNS]), asked
        )
        # In the order of the columns, so that tables in which the same pairs tell can be added.
        found.sort(key=lambda c: (c.left, c.right))
    else:
        found = [_told_pair(pair, place, paired) for pair in wishes.pairs]
        twice = [pair for i, pair in enumerate(wishes.pairs) if set(pair) in map(set, wishes.pairs[:i])]
        if twice:
            raise SettingError(f"pairs names {twice[0]!r} twice")
    if not found:
        return plan, model
    columns = [pairing.with_reason(pairing.pair_column(grid.parts[c.left], grid.parts[c.right]), c.gain) for c in found]
    families = {column.name: Pair(c.strength) for column, c in zip(columns, found, strict=True)}
    both = _PairModel.counted(batch, model, columns, families, n_jobs)
    joint = rows.joined(_left_out(both.model, sample, both.places, range(len(columns))))
    centre = np.concatenate((np.ones(len(names) + 1), np.zeros(len(columns))))
    start = np.concatenate((weighed.weights, np.zeros(len(columns))))
    fixed = None if weighed.kept else len(names) + 1
    if isinstance(wishes.pairs, (str, int)):
        judged = _judged(joint)
        after = held_out_losses(judged, centre, weighed.pull, start, fixed)
        if not is_better(weighed.losses, after, judged.weight):
            return replace(plan, notes=(*plan.notes, "pairs would not improve leave-one-out log loss: none")), model
    weights = learn(joint, centre, start, weighed.pull, fixed=fixed)
    told = not isinstance(wishes.pairs, (str, int))
    kept = [i for i, w in enumerate(weights[len(names) + 1 :]) if told or w > NO_WEIGHT]
    kept_names = [columns[i].name for i in kept]
    heard = {
        **_heard(model, names, weights),
        **{columns[i].name: float(weights[len(names) + 1 + i]) for i in kept},
    }
    record = EvidenceWeights(heard, float(weights[0]))
    tally = both.joined(model.tally, kept_names)
    tried = plural(len(paired) * (len(paired) - 1) // 2, "candidate")
    note = f"{plural(len(kept), 'pair')} of {tried}; weights learned from {plural(sample.n_rows, 'row')}"
    rises = _judged(joint).lost_without(weights)[1:].tolist()
    lost = dict(zip([*names, *(c.name for c in columns)], rises, strict=True))
    lost = {name: rise for name, rise in lost.items() if name in names or name in kept_names}
    plan = Plan({**plan.families, **{n: families[n] for n in kept_names}}, record, (*plan.notes, note), lost)
    return plan, Model(plan.settings(tally.schema, model.settings), tally)


@dataclass(frozen=True)
class _PairModel:
    """A model of pairs alone."""

    model: Model
    places: Mapping[str, list[int]]

    @classmethod
    def counted(
        cls, batch: TableBatch, base: Model, columns: list[Column], families: Mapping[str, Any], n_jobs: int | None
    ) -> _PairModel:
        plan = Plan(families)
        schema = Schema(tuple(columns), base.schema.classes)
        settings, places = plan.settings(schema, base.settings), plan.places(schema)
        return cls(
            Model(settings, count(replace(batch, schema=schema, places=places), settings.families, n_jobs)), places
        )

    def joined(self, tally: Tally, names: list[str]) -> Tally:
        """The tally of the other columns with some of the pairs."""
        if not names:
            return tally
        chosen, first = self.model.tally.select(names), len(tally.schema.columns)
        schema = Schema((*tally.schema.columns, *chosen.schema.columns), tally.schema.classes)
        block = chosen.blocks["pair"]
        return Tally(
            schema,
            tally.class_weight,
            {**tally.blocks, "pair": Block([first + c for c in block.columns], block.summary)},
        )


def fine_edges_of(batch: TableBatch, column: Column) -> tuple[float, ...]:
    """The edges that a number's fine counts have."""
    values = batch.table.columns[column.name]
    return fine_edges(values.numbers(0, len(values)))


def _alone_losses(rows: LeftOut, names: list[str]) -> dict[str, float]:
    """Mean loss of each column's evidence by itself."""
    found, step = {}, max(1, len(rows.codes) // 5000)
    few = rows.take(slice(None, None, step))
    for d, name in enumerate(names):
        weights = np.zeros(len(names) + 1)
        weights[[0, d + 1]] = 1.0
        found[name] = float(few.losses(weights).mean())
    return found


def _told_pair(pair: tuple[str, str], place: Mapping[str, int], paired: list[int]) -> pairing.Candidate:
    if isinstance(pair, str) or len(pair) != 2 or pair[0] == pair[1]:
        raise SettingError(f"a pair is two different columns, such as ('age', 'sex'), not {pair!r}")
    for name in pair:
        if name not in place:
            raise SettingError(f"pairs names the column {name!r}, but the table has {', '.join(list(place)[:20])}")
        if place[name] not in paired:
            raise SettingError(f"pairs names the column {name!r}, which is no evidence or has a single level")
    left, right = (paired.index(place[name]) for name in pair)
    return pairing.Candidate(left, right, 8.0, 0.0)
