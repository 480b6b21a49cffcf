"""Sums over the rows of an engine: by class, by level, about a centre."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from tallybayes.core.batch import Array
from tallybayes.core.schema import Level
from tallybayes.data.engines.question import Question
from tallybayes.data.engines.table import Lazy
from tallybayes.data.survey import Seen
from tallybayes.errors import DataError

LABEL, WEIGHT, VALUE, COLUMN = "tb_label", "tb_weight", "tb_value", "tb_column"
MOST_ON_SPARK = 10  # columns in one question
LOSSY = 1e4  # how far a class may lie from the centre, in variances, before it is summed about its own mean


def _labels(lazy: Lazy, target: str, weight: str | None) -> list[nw.Expr]:
    w = lazy.lit(1.0) if weight is None else lazy.number(weight)
    return [lazy.value(target).alias(LABEL), w.alias(WEIGHT)]


def grouped(
    lazy: Lazy, target: str, weight: str | None, keys: Mapping[str, nw.Expr], complete: bool = False
) -> list[tuple[Any, ...]]:
    """Rows (label, key, …, weight) of every combination that occurs; ``complete`` leaves out missing values."""
    known = [LABEL, *(keys if complete else ())]
    chosen = [*_labels(lazy, target, weight), *(x.alias(name) for name, x in keys.items())]
    present = [~nw.col(name).is_null() for name in known]
    return lazy.ask(Question(chosen, [LABEL, *keys], [WEIGHT], conditions=present))


def level_sums(
    lazy: Lazy, names: Sequence[str], target: str, weight: str | None = None
) -> dict[str, list[tuple[Any, ...]]]:
    """Rows (label, level, weight) of each column. Where a question is a job, all columns of text are one."""
    texts = [name for name in names if lazy.storage(name) == "text" and lazy.is_spark]
    found: dict[str, list[tuple[Any, ...]]] = {name: [] for name in names}
    if texts:
        places = {f"tb_{place}": name for place, name in enumerate(texts)}
        chosen = [*_labels(lazy, target, weight), *(lazy.value(name).alias(key) for key, name in places.items())]
        index = [LABEL, WEIGHT]
        long = lazy.frame.select(*chosen).unpivot(list(places), index=index, variable_name=COLUMN, value_name=VALUE)
        keys = [LABEL, COLUMN, VALUE]
        present = [~nw.col(name).is_null() for name in keys]
        question = Question([nw.col(name) for name in (*keys, WEIGHT)], keys, [WEIGHT], conditions=present)
        for label, key, level, total in Lazy(long).ask(question):
            found[places[key]].append((label, level, total))
    for name in (name for name in names if name not in texts):
        found[name] = grouped(lazy, target, weight, {VALUE: lazy.value(name)}, complete=True)
    return found


def ranges_of(lazy: Lazy, columns: Mapping[str, nw.Expr]) -> dict[str, tuple[float | None, float | None, float, float]]:
    """The least and the largest of expressions, how many rows have a value, and how many there are."""
    keys = {f"tb_{j}": name for j, name in enumerate(columns)}
    chosen = [lazy.lit(1.0).alias(WEIGHT), *(x.alias(key) for key, x in zip(keys, columns.values(), strict=True))]
    known = [lazy.flag(~nw.col(key).is_null()).alias(f"{key}_n") for key in keys]
    derived = [nw.lit(0).alias(LABEL), *known]
    sums = [WEIGHT, *(f"{key}_n" for key in keys)]
    ((_, rows, *cells),) = lazy.ask(Question(chosen, [LABEL], sums, ranges=list(keys), derived=derived))
    n = len(keys)
    return {name: (cells[n + 2 * j], cells[n + 2 * j + 1], cells[j], rows) for j, name in enumerate(columns)}


def sums_of(
    lazy: Lazy, columns: Mapping[str, tuple[nw.Expr, float]], target: str, weight: str | None, only: Level | None = None
) -> dict[Level | None, tuple[float, dict[str, Array]]]:
    """For each label the weight, and of each expression Σ w, Σ w·(x − c), Σ w·(x − c)², min x and max x; c is given.

    Rows of weight zero are no rows.
    """
    result: dict[Level | None, tuple[float, dict[str, Array]]] = {}
    # Of very long questions Spark makes code that Java will not compile.
    step = MOST_ON_SPARK if lazy.is_spark else max(len(columns), 1)
    for first in range(0, max(len(columns), 1), step):
        some = list(columns)[first : first + step]
        question = _question(lazy, {name: columns[name] for name in some}, target, weight, only)
        for row in lazy.ask(question):
            found = {name: 0.0 if cell is None else cell for name, cell in zip(question.names, row, strict=True)}
            label, total = row[0], float(found[WEIGHT])
            one = "{}_1" if weight is not None else "{}"
            fields = ("{}_0", one, "{}_2", "{}_x_low", "{}_x_high")
            by_name = {name: np.array([float(found[field.format(name)]) for field in fields]) for name in some}
            result[label] = total, {**result.get(label, (0.0, {}))[1], **by_name}
    return result


def _question(
    lazy: Lazy, columns: Mapping[str, tuple[nw.Expr, float]], target: str, weight: str | None, only: Level | None
) -> Question:
    w, names = nw.col(WEIGHT), list(columns)
    conditions = [] if weight is None else [w > 0]
    if only is not None:
        conditions.append(nw.col(LABEL) == nw.lit(only))  # type: ignore[arg-type]
    shifted = ((x - nw.lit(centre)).alias(name) for name, (x, centre) in columns.items())
    # The ends as they are, since rows are drawn by their place between them.
    ends = [f"{name}_x" for name in names]
    plain = (x.alias(end) for end, (x, _) in zip(ends, columns.values(), strict=True))
    chosen = [*_labels(lazy, target, weight), *shifted, *plain]
    if weight is None:
        squares = [(nw.col(name) * nw.col(name)).alias(f"{name}_2") for name in names]
        sums = [WEIGHT, *names, *(f"{name}_2" for name in names)]
        return Question(chosen, [LABEL], sums, names, ends, conditions, squares)
    parts = []
    for name in names:
        x = nw.col(name)
        known = nw.when(~x.is_null()).then(w)
        parts += [known.alias(f"{name}_0"), (w * x).alias(f"{name}_1"), (w * x * x).alias(f"{name}_2")]
    sums = [WEIGHT, *(f"{name}_{power}" for name in names for power in (0, 1, 2))]
    return Question(chosen, [LABEL], sums, (), ends, conditions, parts)


def moments_of(
    lazy: Lazy,
    columns: Mapping[str, nw.Expr],
    centre: Mapping[str, float],
    target: str,
    weight: str | None,
    classes: Any,
) -> dict[str, Seen]:
    """Weight, mean, centred squares and range of expressions, by class."""
    asked = {f"tb_{j}": (x, centre.get(name, 0.0)) for j, (name, x) in enumerate(columns.items())}
    found = sums_of(lazy, asked, target, weight)
    seen = {}
    for key, name in zip(asked, columns, strict=True):
        table = np.array([found[k][1][key] if k in found else np.zeros(5) for k in classes]).reshape(-1, 5)
        seen[name] = centred(lazy, name, table, asked[key], target, weight, classes)
    return seen


def centred(
    lazy: Lazy, name: str, table: Array, asked: tuple[nw.Expr, float], target: str, weight: str | None, classes: Any
) -> Seen:
    """Moments of one expression from its sums about a centre; a class too far from it is summed about its own mean."""
    total, first, second, low, high = table.T
    known = total > 0
    if not np.isfinite(low[known] + high[known]).all():
        raise DataError(f"column {name!r} is infinite in some row. Replace infinite values, or leave them empty.")
    if not np.isfinite(second).all():
        raise DataError(f"column {name!r} holds numbers whose squares overflow. Rescale the column.")
    x, centre = asked
    shift = np.divide(first, total, out=np.zeros_like(first), where=known)
    m2 = np.maximum(second - total * shift**2, 0.0)
    mean = shift + centre
    for k in np.flatnonzero(known & (low < high) & (total * shift**2 > LOSSY * m2)).tolist():
        again = sums_of(lazy, {"tb_0": (x, float(mean[k]))}, target, weight, only=classes[k])
        part = again[classes[k]][1]["tb_0"]
        step = part[1] / part[0]
        mean[k], m2[k] = mean[k] + step, part[2] - part[0] * step**2
    same = known & (low == high)  # what does not vary does so exactly
    mean, m2 = np.where(same, low, mean), np.where(same, 0.0, m2)
    ends = (float(low[known].min()), float(high[known].max())) if known.any() else (0.0, 0.0)
    return Seen(total, np.where(known, mean, 0.0), m2, *ends, {})
