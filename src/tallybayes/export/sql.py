"""A scorer as one SQL query, which scores the rows of a table where they are.

The steps: the numbers without NaN, the places of levels and bins (both in `export.sql_query`), the scores of the
classes, the scores relative to the largest, the probabilities.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tallybayes.core.batch import Array
from tallybayes.core.calibration import Isotonic, Temperature
from tallybayes.core.model import Model
from tallybayes.core.schema import Level
from tallybayes.errors import SettingError
from tallybayes.export.dialects import FORBIDDEN, dialect_of
from tallybayes.export.portable import Scorer, check_plain
from tallybayes.export.reasons import Ranked
from tallybayes.export.sql_curves import isotonic_steps
from tallybayes.export.sql_query import Query
from tallybayes.export.sql_reasons import loss_columns, ranking
from tallybayes.export.sql_reasons import outputs as outputs_of
from tallybayes.inspection.reasons import ReasonPlan
from tallybayes.inspection.sets import thresholds


def to_sql(
    model: Model,
    table: str | Sequence[str],
    dialect: str = "duckdb",
    proba: bool = True,
    keep: Sequence[str] | None = None,
    coverage: float | None = None,
    reasons: ReasonPlan | None = None,
    contributions: bool = False,
) -> str:
    """One SELECT that returns the prediction, the probability and set membership of each class, for every row.

    With a plan of reasons also these, and with ``contributions`` what each of their names adds to the score.
    """
    scorer = Scorer.of(model, tags=True, readings=True)
    check_plain(scorer)
    least = None if coverage is None else thresholds(model, coverage)
    query = Query(scorer, dialect_of(dialect), scorer.inputs if keep is None else tuple(keep))
    ranked = None if reasons is None else Ranked.of(reasons, model, scorer.terms)
    return _written(query, table, proba, least, ranked, contributions)


def _written(
    query: Query,
    table: str | Sequence[str],
    proba: bool,
    least: Array | None = None,
    ranked: Ranked | None = None,
    contributions: bool = False,
) -> str:
    """The query; ``least`` is the probability (K,) from which each class is in the prediction set."""
    d, own = query.dialect, query.own
    scores = query.scores()
    chances = [f"p_{label}" for label in query.scorer.classes if proba]
    outputs = ["prediction", *chances, *(f"set_{label}" for label in query.scorer.classes if least is not None)]
    parts = [] if ranked is None else loss_columns(query, ranked)
    more = [] if ranked is None else list(outputs_of(ranked, contributions))
    if taken := [name for name in query.keep if name in (*outputs, *more)]:
        raise SettingError(f"the query returns a column {taken[0]!r} already; leave it out of keep")
    kept, extra = _scored(query, table, scores, parts, ranked, contributions)
    first = [f"{called} AS {d.identifier(name)}" for name, called in zip(query.keep, kept, strict=True)]
    kept = [*kept, *extra]
    s = [f"{own}s{k}" for k in range(query.n_classes)]
    query.step("topped", query.steps[-1][0], [*kept, *s, f"{d.largest(s)} AS {own}top"])
    query.step("shifted", f"{own}topped", [*kept, *_shifted(query)])
    given = _calibrated(query, kept)
    best, total = f"{own}best", f"{own}total"
    ends = [f"{' + '.join(given)} AS {total}", f"{d.largest(given)} AS {best}"]
    query.step("normalised", query.steps[-1][0], [*kept, *given, *ends])
    pairs = list(zip(given, query.scorer.classes, strict=True))
    chosen = " ".join(f"WHEN {name} = {best} THEN {_label(query, label)}" for name, label in pairs)
    shares = [f"{name} / {total}" for name in given]
    limits = [] if least is None else list(zip(shares, least.tolist(), strict=True))
    members = [f"CASE WHEN {share} >= {d.number(limit)} THEN 1 ELSE 0 END" for share, limit in limits]
    shown = [f"CASE {chosen} END", *(shares if proba else []), *members, *extra]
    named = [f"{what} AS {d.identifier(name)}" for what, name in zip(shown, (*outputs, *more), strict=True)]
    return query.finished(f"{own}normalised", [*first, *named])


def _scored(
    query: Query,
    table: str | Sequence[str],
    scores: Sequence[str],
    parts: Sequence[tuple[str, str]],
    ranked: Ranked | None,
    contributions: bool,
) -> tuple[list[str], list[str]]:
    """Add the steps up to the scores; returns the kept columns, and those of reasons and contributions."""
    own, kept, added, extra = query.own, query.coded(table), [], list[str]()
    named = [f"{score} AS {own}s{k}" for k, score in enumerate(scores)]
    if ranked is not None:
        added = [f"{own}c{e}" for e in ranked.used] if contributions else []
        losses = [f"{loss} AS {own}l{e}" for (_, loss), e in zip(parts, ranked.used, strict=True)]
        named += losses + [f"{part} AS {name}" for (part, _), name in zip(parts, added, strict=False)]
    query.step("scored", f"{own}coded", [*kept, *named])
    if ranked is not None:
        passed = [*kept, *(f"{own}s{k}" for k in range(query.n_classes)), *added]
        extra = [name for pair in ranking(query, passed, ranked) for name in pair]
    return kept, [*extra, *added]


def _label(query: Query, label: Level) -> str:
    kinds = {type(each) for each in query.scorer.classes}
    return query.dialect.literal(label if len(kinds) == 1 else str(label))


def _shifted(query: Query) -> Iterator[str]:
    """The scores below the largest, or the fallback where every class forbids the row."""
    own, number = query.own, query.dialect.number
    forbidden = f"{own}top <= {number(0.1 * FORBIDDEN)}"
    for k, p in enumerate(query.scorer.fallback):
        yield f"CASE WHEN {forbidden} THEN {number(p)} ELSE {own}s{k} - {own}top END AS {own}d{k}"


def _calibrated(query: Query, kept: list[str]) -> list[str]:
    """The next steps; returns the columns that are in proportion to the probabilities."""
    d, own, calibration = query.dialect, query.own, query.scorer.calibration
    if isinstance(calibration, Isotonic):
        return isotonic_steps(query, calibration, kept)
    cooled = f" / {d.number(calibration.temperature)}" if isinstance(calibration, Temperature) else ""
    powers = [f"{own}e{k}" for k in range(query.n_classes)]
    raised = [f"{d.exponential(f'{own}d{k}{cooled}')} AS {name}" for k, name in enumerate(powers)]
    query.step("powers", f"{own}shifted", [*kept, *raised])
    return powers
