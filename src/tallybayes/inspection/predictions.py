"""Predictions for whole files: streamed through the model, beside their rows, into another file."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array
from tallybayes.core.conformal import PredictionSets
from tallybayes.core.costs import cheapest
from tallybayes.core.model import Model
from tallybayes.core.schema import Level
from tallybayes.data.files import File, open_file
from tallybayes.data.known import as_learned, check_columns, with_retyping
from tallybayes.data.progress import Progress
from tallybayes.data.streams import is_stream
from tallybayes.data.tables import TableBatch
from tallybayes.data.writers import write_batches
from tallybayes.errors import ColumnWarning, DataError, SettingError
from tallybayes.inspection.explain import Evidence, shown, strongest
from tallybayes.inspection.explain.words import words_of
from tallybayes.inspection.reasons import ReasonPlan
from tallybayes.inspection.sets import thresholds

SEPARATOR = "|"  # of the classes of a prediction set
CELLS = 4_000_000  # contributions that are held at a time


@dataclass(frozen=True)
class PredictionColumns:
    """Which columns a file of predictions has.

    Parameters
    ----------
    beside : bool
        Keep the columns of the input.
    threshold : float
        A prediction less probable than this is left empty.
    least : mapping of class to probability
        Classes that are predicted as soon as they are that probable.
    top : int, optional
        Only that many of the likeliest classes, with their probabilities; by default the probability of every class.
    reasons : int
        That many of the strongest reasons for the prediction.
    codes : ReasonPlan, optional
        Reason codes: what took most from the score of a class, and how much.
    coverage : float, optional
        A prediction set for each row: the classes that cannot be ruled out, such that this share of the sets holds the
        right one.
    costs : ndarray of shape (K, K), optional
        What each prediction (second axis) costs for each true class; that of least expected cost is made.
    """

    beside: bool = True
    threshold: float = 0.0
    least: dict[Level, float] = field(default_factory=dict)
    top: int | None = None
    reasons: int = 0
    coverage: float | None = None
    codes: ReasonPlan | None = None
    costs: Array | None = None

    def check(self, classes: Sequence[Level]) -> None:
        """Refuse thresholds that are no probabilities and classes that do not exist."""
        for label, p in [*self.least.items(), (None, self.threshold)]:
            if not 0 <= p <= 1:
                raise SettingError(f"a threshold must be between 0 and 1, not {p:g}")
            if label is not None and label not in classes:
                raise SettingError(f"there is no class {label!r}; the model has {', '.join(map(str, classes))}")
        if self.top is not None and self.top < 1:
            raise SettingError(f"top must be at least 1, not {self.top}")
        if self.costs is not None and self.least:
            raise SettingError("a class is predicted by its threshold or by costs, not by both")

    def names(self, classes: Sequence[Level]) -> list[str]:
        """Names of the columns."""
        if self.top is None:
            names = ["prediction", *(f"p_{label}" for label in classes)]
        else:
            ranks = range(1, min(self.top, len(classes)) + 1)
            names = [name for r in ranks for name in (("prediction", "p") if r == 1 else (f"prediction_{r}", f"p_{r}"))]
        names += (["set"] if self.coverage is not None else []) + (["reasons"] if self.reasons else [])
        numbers = range(1, 1 + (0 if self.codes is None else self.codes.most))
        return [*names, *(name for r in numbers for name in (f"reason_{r}", f"loss_{r}"))]


def predict_batches(
    model: Model, source: Any, output: PredictionColumns | None = None, progress: Progress | None = None
) -> Iterator[Any]:
    """Stream a file through a model: record batches of Arrow, the rows in their order with the predictions."""
    # Rows that were yielded cannot be taken back, so the types must fit every row from the start.
    yield from _stream(model, open_file(source).typed_by_all_rows(), output or PredictionColumns(), progress)[1]


def _stream(
    model: Model, file: File, output: PredictionColumns, progress: Progress | None
) -> tuple[Any, Iterator[Any]]:
    import pyarrow as pa

    classes = model.schema.classes
    output.check(classes)
    if output.coverage is not None:
        thresholds(model, output.coverage)  # refused before a row is read
    file = as_learned(file, model.schema)
    check_columns(file, model.schema, [name for name in file.names if name not in model.schema.names])
    wanted = file.names if output.beside else [n for n in file.names if n in model.schema.names]
    names = output.names(classes)
    if taken := [name for name in names if output.beside and name in file.types]:
        raise DataError(f"{file.name} already has a column {taken[0]!r}; rename it, or write the predictions only")
    kept = file.connection.sql(f"SELECT * FROM {file.scan} LIMIT 0").to_arrow_table().schema if output.beside else []
    schema = pa.schema([*kept, *prediction_fields(model, output)])

    def batches() -> Iterator[Any]:
        done, warned = 0, set[str]()
        for batch in file.batches(wanted):
            yield with_predictions(model, batch, output, schema, warned)
            done += batch.num_rows
            if progress is not None:
                progress(done)

    return schema, batches()


def prediction_fields(model: Model, output: PredictionColumns) -> list[Any]:
    """The PyArrow fields of a prediction."""
    import pyarrow as pa

    from tallybayes.data import arrow

    kinds = {"prediction": arrow.labels(model.schema.classes).type}
    kinds |= dict.fromkeys(("reasons", "set", "reason"), pa.string())
    names = output.names(model.schema.classes)
    return [pa.field(name, kinds.get(name.split("_")[0], pa.float64())) for name in names]


def with_predictions(
    model: Model, batch: Any, output: PredictionColumns, schema: Any, warned: set[str] | None = None
) -> Any:
    """A record batch with the predictions beside its rows; what is in ``warned`` is not warned of again."""
    import pyarrow as pa

    from tallybayes.data import arrow

    places = model.tally.places
    rows = TableBatch(model.schema, arrow.arrow_table(pa.Table.from_batches([batch])), places)
    for sentence in rows.unseen():
        if warned is not None and sentence not in warned:
            warned.add(sentence)
            warnings.warn(sentence, ColumnWarning, stacklevel=2)
    columns = _columns(model, rows, output, arrow.labels(model.schema.classes))
    return pa.RecordBatch.from_arrays([*(batch.columns if output.beside else []), *columns], schema=schema)


def _columns(model: Model, rows: TableBatch, output: PredictionColumns, labels: Any) -> list[Any]:
    import pyarrow as pa

    from tallybayes.data import arrow

    posterior = model.posterior(rows) if rows.n_rows else np.zeros((0, model.n_classes))
    best = posterior.argmax(axis=1) if output.costs is None else cheapest(posterior, output.costs)
    for label, least in output.least.items():
        k = model.schema.classes.index(label)
        others = np.delete(posterior, k, axis=1).argmax(axis=1)
        best = np.where(posterior[:, k] >= least, k, np.where(best == k, others + (others >= k), best))
    sure = posterior[np.arange(len(best)), best] >= output.threshold
    first = arrow.numbers_of(best, sure)
    if output.top is None:
        columns = [labels.take(first), *map(arrow.numbers_of, posterior.T)]
    else:
        order = -posterior
        order[np.arange(len(best)), best] = -2.0  # the predicted class is first, even where a threshold chose it
        ranked = np.argsort(order, axis=1, kind="stable")[:, : output.top]
        columns = []
        for r, codes in enumerate(ranked.T):
            p = arrow.numbers_of(posterior[np.arange(len(codes)), codes])
            columns += [labels.take(first if r == 0 else arrow.numbers_of(codes)), p]
    if output.coverage is not None:
        sets = PredictionSets.of(posterior, model.schema.classes, thresholds(model, output.coverage), allow_empty=True)
        columns.append(arrow.text([SEPARATOR.join(map(str, each)) for each in sets]))
    if output.reasons:
        columns.append(arrow.text(_reasons(model, rows, posterior, best, output.reasons)))
    if output.codes is not None:
        found = output.codes.of(model, rows)
        for r in range(output.codes.most):
            columns.append(pa.array([row[r].name if r < len(row) else None for row in found], pa.string()))
            lost = np.array([row[r].loss if r < len(row) else np.nan for row in found], dtype=np.float64)
            columns.append(arrow.numbers_of(lost, ~np.isnan(lost)))
    return columns


def _reasons(model: Model, rows: TableBatch, posterior: Array, best: NDArray[Any], n: int) -> list[str]:
    """The strongest evidence of each row for its class, against the likeliest of the others."""
    if model.n_classes < 2:
        raise DataError("with a single class there is nothing to explain")
    step, reasons = max(1, CELLS // (model.n_classes * max(1, len(model.schema.columns)))), []
    for first in range(0, rows.n_rows, step):
        last = min(first + step, rows.n_rows)
        part = rows.rows(first, last)
        contributions = model.contributions(part)
        for i in range(last - first):
            k = best[first + i]
            others = posterior[first + i].copy()
            others[k] = -1.0
            other, values = int(others.argmax()), rows.table.row(first + i)
            words = {
                text.name: words_of(model, rows.take(np.array([first + i])), block, values, int(k), other)
                for block, text in model.texts.items()
                if values.get(text.name) is not None
            }
            found = strongest(model.schema, values, contributions[i, k], contributions[i, other], words)
            reasons.append("; ".join(_reason(evidence, n) for evidence in found[:n] if evidence.log_odds))
    return reasons


def _reason(evidence: Evidence, n: int) -> str:
    """The column with its value; of a text the words that are the strongest evidence."""
    if evidence.words is None:
        return f"{evidence.column} = {shown(evidence.value)} {evidence.log_odds:+.2f}"
    words = ", ".join(f"{word.word} {word.log_odds:+.2f}" for word in evidence.words.words[:n])
    return f"{evidence.column} {evidence.log_odds:+.2f}" + (f" ({words})" if words else "")


def predict_file(
    model: Model,
    source: Any,
    out: str | os.PathLike[str],
    output: PredictionColumns | None = None,
    *,
    format: str | None = None,
    safe_csv: bool = False,
    progress: Progress | None = None,
) -> int:
    """Write the predictions for a file to another, in constant memory; whole or not at all.

    Parameters
    ----------
    model : Model
    source : path
        The rows: CSV, Parquet, JSON lines or Arrow.
    out : path
        CSV, Parquet or JSON lines, by its suffix, which may also be that of a compression; "-" is the standard
        output; a device or a pipe is written to as it is, as CSV unless a format is given.
    output : PredictionColumns, optional
        Which columns to write.
    format : {"csv", "parquet", "json"}, optional
        Where the suffix does not imply it.
    safe_csv : bool
        Whether texts of a CSV file that begin like a formula get an apostrophe, for spreadsheets.
    progress : callable, optional
        Called with the number of rows that are done.

    Returns
    -------
    int
        Number of rows.
    """

    def write(file: File) -> int:
        schema, batches = _stream(model, file, output or PredictionColumns(), progress)
        return write_batches(schema, batches, out, format, safe_csv)

    file = open_file(source)
    return write(file.typed_by_all_rows()) if is_stream(out) else with_retyping(file, write)
