"""Warnings about a model: columns that leak the class or number the rows, classes of few rows, rows entered twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array, Codes, Labels, Rows
from tallybayes.core.evaluation import Evaluation
from tallybayes.core.levels import few_of
from tallybayes.core.merging import plain_label
from tallybayes.core.model import Model
from tallybayes.core.schema import amount
from tallybayes.core.summaries import Counts
from tallybayes.data.tables import TableBatch
from tallybayes.inspection.charts._model import model_of, prior_of, rows_of, rows_with_labels
from tallybayes.inspection.charts.columns import column_pictures, encoded
from tallybayes.inspection.charts.shapes import ColumnPicture

FEW = 20  # rows of a class that are too few
LEAK = 0.95  # share of the entropy of the class that a single column should not explain
DEPENDENT = 0.3  # share of a column's own information that another one repeats within the classes
MOST_COLUMNS = 60  # that are compared two by two, the most informative ones
BINS = 8  # that numbers are compared in
MOST_LEVELS = 20
NEARLY = 0.5  # different values a row from which on a category nearly numbers the rows
COPIED = 0.02  # share of the rows from which on copies matter
MANY = 20  # values that it must have for that


@dataclass(frozen=True)
class Concern:
    """A warning about a model."""

    kind: str  # "one class", "leak", "identifier", "few rows", "never predicted", "like names", "copies" or "dependent"
    columns: tuple[str, ...]  # or classes, where it is about these
    strength: float  # between 0 and 1
    text: str

    def __str__(self) -> str:
        return self.text

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values, for JSON."""
        return {"kind": self.kind, "columns": list(self.columns), "strength": self.strength, "text": self.text}


def concerns(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    pictures: Sequence[ColumnPicture] | None = None,
    most: int = 12,
    evaluation: Evaluation | None = None,
) -> tuple[Concern, ...]:
    """Warnings about a model.

    Parameters
    ----------
    model : Model or estimator
    X : table or labelled Rows, optional
        Rows that columns are compared on; without them only those that the model took together are named.
    y : array-like of shape (n_samples,) or str, optional
        Their labels, unless they are the column of the table that the model learned them from.
    pictures : sequence of ColumnPicture, optional
        Those of the model, where they are made already.
    most : int
        Of each kind, the strongest.
    evaluation : Evaluation, optional
        Its figures; those that were measured in fitting if not given.

    Returns
    -------
    tuple of Concern

    Examples
    --------
    >>> from tallybayes import NaiveBayes, datasets
    >>> for concern in concerns(NaiveBayes().fit(datasets.tennis(), target="play")):
    ...     print(concern)
    the classes no (5 rows) and yes (9) have too few rows to learn from
    """
    data, model = rows_with_labels(model, X, y), model_of(model)
    pictures = column_pictures(model) if pictures is None else pictures
    found = [*_one_class(model), *_leaks(model, pictures)[:most], *_identifiers(model)[:most]]
    found += [*_few_rows(model, most), *_never_predicted(model, evaluation), *_twins(model)[:most]]
    if data is not None:
        return (*found, *_copies(rows_of(model, data)), *_dependent(model, data, pictures, most))
    for column in [c for c in model.schema.columns if c.parts is not None and c.kind == "block"][:most]:
        assert column.parts is not None
        names = tuple(part.name for part in column.parts)
        text = f"{few_of(names)} depend on each other within the classes; the model takes them together"
        found.append(Concern("dependent", names, 0.5, text))
    return tuple(found)


def _one_class(model: Model) -> list[Concern]:
    if model.n_classes > 1:
        return []
    of = f"is {model.provenance.target!r} the right target?" if model.provenance.target else "is it the right target?"
    label = str(model.schema.classes[0])
    return [Concern("one class", (label,), 1.0, f"every row has the class '{label}': {of}")]


def _leaks(model: Model, pictures: Sequence[ColumnPicture]) -> list[Concern]:
    """Columns that decide the class alone; words add up to more than there is to know, so a text does not count."""
    prior, found, counted = prior_of(model), [], _counted_shares(model)
    if model.tally.class_weight.sum() < FEW:
        return []
    entropy = -float(sum(p * np.log(p) for p in prior.tolist() if p > 0))
    for picture in pictures:
        share = picture.information / entropy if entropy > 0 and picture.kind not in ("pair", "text") else 0.0
        share = max(share, counted.get(picture.column, 0.0))
        if share >= LEAK:
            text = f"{picture.column} alone decides the class: is it known before the class?"
            found.append(Concern("leak", (picture.column,), min(1.0, share), text))
    return sorted(found, key=lambda concern: -concern.strength)


def _counted_shares(model: Model) -> dict[str, float]:
    """The share of the class that the counts of a category explain by themselves, where its levels have many rows.

    Smoothing hides a copy of the class in a table of few rows.
    """
    found = {}
    for block in model.tally.blocks.values():
        counts = block.summary
        if not isinstance(counts, Counts) or counts.n_levels is None or counts.n_right is not None:
            continue
        tables = np.split(counts.count, np.cumsum(counts.n_levels)[:-1], axis=1)
        for p, table in zip(block.columns, tables, strict=True):
            rows, classes = float(table.sum()), table.sum(axis=1)
            if rows < FEW * table.shape[1] or min(classes.max(initial=0), rows - classes.max(initial=0)) < FEW / 2:
                continue
            share = table / rows
            left = _entropy(share) - _entropy(share.sum(axis=0))
            found[model.schema.columns[p].name] = 1.0 - left / _entropy(share.sum(axis=1))
    return found


def _identifiers(model: Model) -> list[Concern]:
    """Categories of which few values occur twice."""
    total, found = float(model.tally.class_weight.sum()), []
    for block in model.tally.blocks.values():
        known = block.summary.column_weight.sum(axis=0)
        for j, p in enumerate(block.columns if not model.schema.is_numbered else ()):
            column = model.schema.columns[p]
            rows = float(known[min(j, len(known) - 1)])
            # Levels that were given, such as the days of a month, are not those of the rows.
            n_levels = len(column.levels or ()) if column.kind == "category" and not column.declared else 0
            if n_levels >= MANY and n_levels > NEARLY * rows and model.column_weights[p]:
                where = f"{amount(rows)} rows" if rows == total else f"the {amount(rows)} rows that have one"
                text = f"{column.name} has {n_levels:,} different values in {where}: will new rows have the same ones?"
                found.append(Concern("identifier", (column.name,), n_levels / max(rows, 1.0), text))
    return sorted(found, key=lambda concern: -concern.strength)


def _few_rows(model: Model, most: int) -> list[Concern]:
    """Classes that have too few rows, in one warning."""
    rows = zip(model.schema.classes, model.tally.class_weight.tolist(), strict=True)
    few = sorted(((label, weight) for label, weight in rows if weight < FEW), key=lambda each: each[1])
    if not few or model.n_classes < 2:
        return []
    first, *others = [f"{label} ({amount(weight)}" for label, weight in few[:most]]
    shown = [f"{first} row{'' if few[0][1] == 1 else 's'})", *(f"{each})" for each in others)]
    more = f" and {len(few) - len(shown)} more" if len(few) > len(shown) else ""
    listed = few_of(shown) if len(shown) > 1 and not more else ", ".join(shown)
    text = f"the classes {listed}{more} have" if len(few) > 1 else f"the class {listed} has"
    names = tuple(str(label) for label, _ in few[:most])
    return [Concern("few rows", names, 1.0 - few[0][1] / FEW, f"{text} too few rows to learn from")]


def _never_predicted(model: Model, evaluation: Evaluation | None) -> list[Concern]:
    """Classes that have rows, none of which was predicted."""
    figures = evaluation or model.provenance.evaluation
    if figures is None or figures.log_loss.high >= figures.baseline_log_loss:  # the columns say nothing of the classes
        return []
    counts = zip(figures.classes, figures.support.tolist(), figures.predicted.tolist(), strict=True)
    names = tuple(str(label) for label, rows, guesses in counts if rows >= FEW and not guesses)
    if not names:
        return []
    listed = few_of(names) if len(names) > 1 else names[0]
    which = f"the classes {listed} were" if len(names) > 1 else f"the class {listed} was"
    advice = "another is likelier in every row, which balanced class weights would change"
    return [Concern("never predicted", names, 1.0, f"{which} never predicted: {advice}")]


def _twins(model: Model) -> list[Concern]:
    """Classes that are written almost alike."""
    by_spelling: dict[str, list[str]] = {}
    for label in model.schema.classes:
        by_spelling.setdefault(plain_label(label), []).append(f"'{label}'")
    alike = (tuple(each) for each in by_spelling.values() if len(each) > 1)
    return [
        Concern("like names", names, 1.0, f"the classes {few_of(names)} are written almost alike: are they one class?")
        for names in alike
    ]


def _copies(rows: Rows) -> list[Concern]:
    """Rows that are entered more than once, of which one fold then teaches what another asks.

    Rows of a few levels repeat each other by nature. So rows are looked at that share their values of the two most
    varied columns of numbers: copies share all others too.
    """
    inputs = [column for column in rows.schema.columns if column.is_evidence and not column.is_derived]
    measured = [column.name for column in inputs if column.kind in ("numeric", "count")]
    if not isinstance(rows, TableBatch) or rows.n_rows < FEW or len(inputs) < 2 or not measured:
        return []
    keys = rows.keys().exact
    n_copies = rows.n_rows - len(np.unique(keys))
    if n_copies < COPIED * rows.n_rows:
        return []
    numbers = [rows.table.columns[name].numbers(0, rows.n_rows) for name in measured]
    varied = np.column_stack(sorted(numbers, key=lambda values: -len(np.unique(values)))[:2])
    known = np.isfinite(varied).all(axis=1)
    same = np.unique(keys[known], return_counts=True)[1]
    alike = np.unique(varied[known], axis=0, return_counts=True)[1]
    if int(known.sum()) - len(same) < COPIED * rows.n_rows or _couples(same) < NEARLY * _couples(alike):
        return []
    text = (
        f"{n_copies:,} of {rows.n_rows:,} rows are copies of others, and the figures take them for new ones: "
        "were they entered twice?"
    )
    return [Concern("copies", (), n_copies / rows.n_rows, text)]


def _couples(sizes: NDArray[np.intp]) -> int:
    """Couples of rows in groups of such sizes."""
    return int((sizes * (sizes - 1)).sum()) // 2


def _dependent(model: Any, data: Any, pictures: Sequence[ColumnPicture], most: int) -> list[Concern]:
    """Columns that repeat each other within the classes, by conditional mutual information."""
    batch = encoded(rows_of(model, data))
    labels = batch.labels
    if labels is None or labels.codes is None:
        return []
    compared = [p.column for p in pictures if p.kind not in ("pair", "ignored", "date")][:MOST_COLUMNS]
    codes: dict[str, NDArray[np.int64]] = {}
    for name, block in batch.blocks.items():
        if model.settings.families[name].is_correction or not isinstance(block.x, (np.ndarray, Codes)):
            continue
        matrix = block.x.matrix if isinstance(block.x, Codes) else block.x
        for j, p in enumerate(block.columns):
            column = model.schema.columns[p]
            if column.name in compared:
                coded = isinstance(block.x, Codes) and column.edges is None
                codes[column.name] = _levels(matrix[:, j]) if coded else _bins(matrix[:, j])
    taken = {frozenset(part.name for part in c.parts) for c in model.schema.columns if c.parts is not None}
    weighted = model.settings.weights is not None
    counted = "the learned weights allow for it" if weighted else "their evidence is counted twice"
    names, found = [name for name in compared if name in codes], []
    whole = {column.name: column.parent or column.name for column in model.schema.columns}  # a date for its parts
    for i, a in enumerate(names):
        for b in (b for b in names[i + 1 :] if whole[b] != whole[a]):
            share = _repeated(codes[a], codes[b], labels, model.n_classes)
            if share >= DEPENDENT:
                effect = "the model takes them together" if any({a, b} <= each for each in taken) else counted
                text = f"{a} and {b} are redundant within the classes ({share:.0%} shared): {effect}"
                found.append(Concern("dependent", (a, b), share, text))
    by_strength = sorted(found, key=lambda concern: concern.strength)
    strongest = {frozenset(whole[name] for name in concern.columns): concern for concern in by_strength}
    return sorted(strongest.values(), key=lambda concern: -concern.strength)[:most]


def _levels(codes: NDArray[Any]) -> NDArray[np.int64]:
    """Codes from 0, the rare ones together; −1 for a missing value."""
    known = codes[codes >= 0]
    if not len(known):
        return np.full(len(codes), -1, dtype=np.int64)
    common = np.argsort(-np.bincount(known), kind="stable")[: MOST_LEVELS - 1]
    place = np.full(int(known.max()) + 1, MOST_LEVELS - 1, dtype=np.int64)
    place[common] = np.arange(len(common))
    return np.where(codes >= 0, place[np.maximum(codes, 0)], -1)


def _bins(numbers: NDArray[Any]) -> NDArray[np.int64]:
    """The octile of each number; −1 for a missing value."""
    values = np.asarray(numbers, dtype=np.float64)
    known = np.isfinite(values) if np.issubdtype(np.asarray(numbers).dtype, np.floating) else values >= 0
    if not known.any():
        return np.full(len(values), -1, dtype=np.int64)
    edges = np.unique(np.quantile(values[known], np.linspace(0, 1, BINS + 1)[1:-1]))
    return np.where(known, np.searchsorted(edges, values, side="right"), -1)


def _repeated(a: NDArray[np.int64], b: NDArray[np.int64], labels: Labels, n_classes: int) -> float:
    """I(a; b | class) as a share of the smaller of the two entropies, less what chance would give."""
    assert labels.codes is not None
    known = (a >= 0) & (b >= 0)
    total = float(labels.weight[known].sum())
    if total < 2 * FEW:
        return 0.0
    n_a, n_b = int(a.max()) + 1, int(b.max()) + 1
    cell = (labels.codes[known].astype(np.int64) * n_a + a[known]) * n_b + b[known]
    table = np.bincount(cell, weights=labels.weight[known], minlength=n_classes * n_a * n_b)
    joint = table.reshape(n_classes, n_a, n_b) / total
    left, right, classes = joint.sum(axis=2), joint.sum(axis=1), joint.sum(axis=(1, 2))
    shared = _entropy(left) + _entropy(right) - _entropy(joint) - _entropy(classes)
    chance = (n_a - 1) * (n_b - 1) * n_classes / (2.0 * total)  # Miller 1955
    least = min(_entropy(left), _entropy(right)) - _entropy(classes)
    return max(0.0, shared - chance) / least if least > 1e-9 else 0.0


def _entropy(table: Array) -> float:
    p = table[table > 0]
    return -float((p * np.log(p)).sum())
