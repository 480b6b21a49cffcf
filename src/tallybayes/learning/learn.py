"""Learning: a source of labelled rows and the options become a model."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from tallybayes.core import calibration
from tallybayes.core.batch import Array, Rows, every_nth
from tallybayes.core.class_weights import as_array, check_factors, class_factors, weighted_labels
from tallybayes.core.evaluation import Evaluation
from tallybayes.core.importance import MOST_ROWS, importance, importance_of_scores
from tallybayes.core.metrics import score
from tallybayes.core.model import Model
from tallybayes.core.provenance import Provenance
from tallybayes.core.schema import Column, Level, Schema, plural
from tallybayes.core.settings import Settings, prior_by_class
from tallybayes.core.tally import Tally
from tallybayes.data.labels import check_total
from tallybayes.data.opening import open_source
from tallybayes.data.sources import Facts, MatrixSource, Places, Source, TableSource
from tallybayes.data.tables import TableBatch
from tallybayes.data.vocabularies import opened
from tallybayes.data.weighted import WeightedSource
from tallybayes.errors import ColumnWarning, DataError, NotAvailableError, SettingError
from tallybayes.families import family_of
from tallybayes.learning.constraints import check_constraints
from tallybayes.learning.folds import N_FOLDS, Unseen, dealt, leave_one_out_of, method_of, refitted_folds
from tallybayes.learning.options import Options
from tallybayes.learning.refinement import refined
from tallybayes.learning.semi_supervised import with_unlabelled
from tallybayes.learning.smoothing import best_alpha, best_document_length, with_alpha
from tallybayes.learning.textbook import textbook_settings
from tallybayes.learning.weights import LEAST_ROWS

NONE = Options().overrides  # for a matrix, whose columns are all alike
SAMPLE = 50_000  # rows that choices are made on; all rows are counted as chosen


def learn(
    source: Any, target: Any = None, options: Options | None = None, *, weight: Any = None, before: Model | None = None
) -> Model:
    """Learn labelled rows, wherever they are.

    Parameters
    ----------
    source : table, path or Source
        A frame, a dict of columns, files, or an engine's table, as `data.opening.open_source` takes them; or a source
        that was opened already, which knows its labels.
    target : array-like of shape (n,) or str, optional
        Class labels, or the name of the column that holds them.
    options : Options, optional
    weight : array-like of shape (n,) or str, optional
        How much each row counts, or the name of the column that holds it.
    before : Model, optional
        What expectation-maximisation begins with, where it is of the same columns and classes.

    Returns
    -------
    Model
        `tallybayes.rows` reads a table as it does, for `Model.predict` and its kin.

    Examples
    --------
    >>> from tallybayes import datasets, learn
    >>> learn(datasets.tennis(), "play")
    Model(categorical; Tally(14 rows; no: 5, yes: 9; 4 columns))
    """
    options = options or Options()
    how: dict[str, Any] = {"encoding": options.encoding, "delimiter": options.delimiter, "decimal": options.decimal}
    source = open_source(source, target, weight, options.unlabelled, n_jobs=options.n_jobs, **how)
    model, unseen = _learned(source, options, before)
    check_total(float(model.tally.class_weight.sum()))  # of all parts of a file
    model = replace(model, provenance=_provenance(source.facts, model.provenance))
    model = _judged(_ranked(model, unseen, source, options), unseen, source, options)
    if not options.stream:
        _warn(model, source.facts)
    return model


def _learned(source: Source, options: Options, before: Model | None = None) -> tuple[Model, Unseen | None]:
    """The model of a source, neither calibrated nor evaluated, and scores of rows that it had not seen, if any."""
    unseen = None
    overrides = options.overrides if options.matrix is None else NONE
    options.report("reading rows")
    schema = source.profile(overrides, options.stream)
    options.check_together()
    check_constraints(schema, options)
    options = replace(options, prior=prior_by_class(options.prior, schema.classes))
    factors = _class_factors(source, schema, options)
    source = WeightedSource(source, factors) if factors else source
    in_bins = [] if options.matrix is not None else _without_edges(schema, options)
    settings, places = _start(schema, options)
    if isinstance(options.prior, Mapping) and not options.stream:  # whose other classes may be in batches to come
        settings.log_prior(schema, np.ones(len(schema.classes)))  # a bad prior is an error before any row is counted
    textbook = _is_textbook(schema, source.facts, options)
    plain = _placing_bins(in_bins[0], options) if in_bins and textbook else None
    textbook = textbook and plain is None
    if textbook:
        model = _textbook(source, schema, settings, places, options)
        if options.unlabelled == "em":
            rows = source.all_rows(model.schema, model.tally.places)
            model = with_unlabelled(model, rows, options, before)
    else:
        model, unseen = _refined(source, schema, settings, places, plain or options)
    model = replace(model, provenance=replace(model.provenance, class_weight=factors)) if factors else model
    if textbook and not model.provenance.chosen:
        return model, None
    return replace(model, provenance=replace(model.provenance, options=options.given)), unseen


def _class_factors(source: Source, schema: Schema, options: Options) -> dict[Level, float]:
    """How many times the rows of each class are to count."""
    given = options.class_weight
    if given is None:
        return {}
    if not isinstance(given, str):
        check_factors(given)
    if options.stream:
        if isinstance(given, str):
            raise SettingError("class_weight='balanced' needs all rows at once: use fit, or give each class a weight")
        return {label: float(factor) for label, factor in given.items()}  # other classes may be in batches to come
    return class_factors(given, schema.classes, source.count(schema, {}, {}).class_weight)


def learned_again(model: Model, options: Options) -> Callable[[Any], Model]:
    """What learns rows from nothing as a model of the same table was learned, choices included.

    The kinds and levels of the columns are the model's: they were found without looking at labels.
    """
    plain = replace(options, calibration=None, unlabelled="error", stream=False, progress=None)
    columns = tuple(replace(c, edges=None) for c in model.schema.columns if c.parts is None)
    schema = model.schema if model.schema.is_numbered else opened(replace(model.schema, columns=columns))

    def learned(rows: Any) -> Model:
        facts = Facts(None, "", rows.n_rows, 0, model.provenance.made_by, model.provenance.named)
        if not isinstance(rows, TableBatch):
            return _learned(MatrixSource(replace(rows, schema=schema), facts, options.n_jobs), plain)[0]
        assert rows.labels is not None
        there = rows.table.columns
        known = tuple(c if c.name in there else replace(c, kind="ignored") for c in schema.columns)
        own = replace(schema, columns=known)
        return _learned(TableSource(rows.table, own.classes, rows.labels, facts, options.n_jobs, own), plain)[0]

    return learned


def _start(schema: Schema, options: Options) -> tuple[Settings, Places]:
    """The textbook reading and the columns of its blocks."""
    if options.matrix is None:
        return textbook_settings(schema, options), options.overrides.places(schema)
    block = options.matrix.name
    settings = Settings(
        {block: options.matrix}, prior_by_class(options.prior, schema.classes), float(options.prior_alpha)
    )
    return settings, {block: range(len(schema.columns))}


def _is_textbook(schema: Schema, facts: Facts, options: Options) -> bool:
    if options.is_textbook or len(schema.classes) < 2 or _is_given(schema, options):
        return True
    few = facts.n_rows < LEAST_ROWS
    if few and (options.weights not in ("auto", None) or options.given_pairs is not None):
        warnings.warn(
            f"{plural(facts.n_rows, 'row')}: too few to learn weights and pairs from: the classical model",
            UserWarning,
            stacklevel=4,
        )
    return few


def _without_edges(schema: Schema, options: Options) -> list[Column]:
    """The columns that are to be read in bins, of which nobody knows yet where they begin."""
    places = options.overrides.places(schema)
    at = [p for name, columns in places.items() if family_of(name).in_bins for p in columns]
    return [schema.columns[p] for p in at if schema.columns[p].edges is None]


def _placing_bins(column: Column, options: Options) -> Options:
    """The options of rows that are too few for more than families and bins."""
    if options.is_textbook:
        raise SettingError(
            f"the bins of column {column.name!r} are placed where the rows are, which the textbook model does not do: "
            "leave out classical, unlabelled='em' and partial_fit; weights=None and max_pairs=0 keep it plain"
        )
    return replace(options, weights=None, pairs=(), max_pairs=0)


def _is_given(schema: Schema, options: Options) -> bool:
    """Whether nothing is left to choose: no weights and no pairs, and words only, whose family is given."""
    plain = options.weights is None and options.most_pairs == 0 and not isinstance(options.alpha, str)
    kinds = {column.kind for column in schema.columns}
    return plain and options.choose_tokens is None and kinds <= {"text", "tags", "date", "ignored"}


def _textbook(source: Source, schema: Schema, settings: Settings, places: Places, options: Options) -> Model:
    """The model of the labelled rows as the textbook reads them, with the smoothing that is to be chosen."""
    options.report("counting rows")
    model = Model(settings, _with_reasons(source.count(schema, places, settings.families), schema))
    if not model.tally.class_weight.any():
        raise DataError("Sample weights must contain at least one non-zero number.")
    block = "categorical" if options.matrix is None else options.matrix.name
    if options.choose_length:
        rows = source.sample(model.schema, places, SAMPLE)
        length, found = best_document_length(model, block, rows, options.n_jobs)
        model = Model(found.settings, _with_reasons(source.count(schema, places, found.settings.families), schema))
        model = _noted(model, "document_length", length)
    if isinstance(options.alpha, str) and block in settings.families:
        rows = source.sample(model.schema, places, SAMPLE)
        alpha = best_alpha(model, block, rows, options.n_jobs)
        model = _noted(with_alpha(model, block, alpha), "alpha", alpha)
    return model


def _noted(model: Model, name: str, value: float | None) -> Model:
    """The model with a setting that was chosen."""
    provenance = replace(model.provenance, chosen={**model.provenance.chosen, name: value})
    return replace(model, provenance=provenance)


def _refined(
    source: Source, schema: Schema, settings: Settings, places: Places, options: Options
) -> tuple[Model, Unseen | None]:
    """The model whose families, weights and pairs were chosen on a sample of the rows; all rows are counted."""
    options.report("sampling rows")
    rows: Any = source.sample(schema, places, SAMPLE)
    if rows.labels is None or not rows.labels.weight.any():
        raise DataError("Sample weights must contain at least one non-zero number.")
    alpha = None
    if isinstance(options.alpha, str) and "categorical" in settings.families:
        # With a variance floor for each column, so that the unit of one does not matter to the others.
        families = {name: family.by_itself() for name, family in settings.families.items()}
        plain = Model(replace(settings, families=families), source.count(schema, places, families))
        few = source.sample(plain.schema, places, SAMPLE)
        alpha = best_alpha(plain, "categorical", few, options.n_jobs)
        settings = textbook_settings(schema, options, alpha)
    try:
        model, unseen = refined(rows, settings, options)
    except DataError:
        source.count(schema, places, settings.families)  # in the order of the rows, so that the right one is named
        raise
    if alpha is not None:
        model = _noted(model, "alpha", alpha)
    if rows.n_rows < source.facts.n_rows:
        options.report("counting rows")
        tally = source.count(opened(model.schema), model.tally.places, model.settings.families)
        model = replace(model, tally=_with_reasons(tally, model.schema))
    return model, unseen


def _with_reasons(tally: Tally, schema: Schema) -> Tally:
    """A tally that was counted in parts, with the reasons of its columns; of texts, that of all their words."""
    if tally.schema.is_numbered:
        return tally
    known = {column.name: column for column in schema.columns if column.tokens is None}
    columns = tuple(
        replace(c, reason=known[c.name].reason, lasting=known[c.name].lasting) if c.name in known else c
        for c in tally.schema.columns
    )
    return replace(tally, schema=replace(tally.schema, columns=columns))


def _provenance(facts: Facts, chosen: Provenance) -> Provenance:
    return replace(
        chosen,
        target=facts.target,
        rows=facts.n_rows,
        unlabelled=facts.unlabelled,
        labels=facts.labels,
        made_by=facts.made_by,
        named=facts.named,
        is_single=facts.is_single,
    )


def _ranked(model: Model, unseen: Unseen | None, source: Source, options: Options) -> Model:
    """The model with the importance of its columns; that of textbook models is estimated when it is asked for."""
    if options.is_textbook or model.n_classes < 2:
        return model
    if unseen is not None and len(model.schema.columns) == len(model.texts) == 1:
        found = importance_of_scores(model, unseen.scores, unseen.labels.weight)
    else:
        found = _measured_importance(model, every_nth(sample_of(model, source), MOST_ROWS))
    return replace(model, provenance=replace(model.provenance, importance=found))


def _measured_importance(model: Model, rows: Rows) -> dict[str, float]:
    try:
        return importance(model, rows, learned=True)
    except NotAvailableError:  # of words that are weighted by how rare they are in all texts
        return importance(model, rows)


def _judged(model: Model, unseen: Unseen | None, source: Source, options: Options) -> Model:
    """The model with its calibration and its figures, both from the scores of rows that had no part in it.

    Textbook models are evaluated exactly, and at any time, by `Model.leave_one_out`: nothing is measured here.
    """
    kind, is_plain = options.calibration, options.is_textbook or model.n_classes < 2
    if (is_plain and kind is None) or model.provenance.rows < 2:
        return model
    if unseen is None:
        options.report("evaluating")
    unseen = unseen or _held_out(model, sample_of(model, source), options)
    codes, weight, n_folds, method = unseen.labels.codes, unseen.labels.weight, unseen.n_folds, unseen.method
    assert codes is not None
    logs = unseen.log_posterior(model.log_prior)
    own = weight / as_array(model.provenance.class_weight, model.schema)[codes]  # figures count each row as it came

    def figures(scores: Array, method: str) -> Evaluation:
        found = score(scores, codes, model.schema.classes, own, method)
        return found.of(n_folds=n_folds, n_learned=model.provenance.rows, source=source.facts.source)

    plain = figures(logs, method)
    if kind is None:
        return replace(model, provenance=replace(model.provenance, evaluation=plain))
    settings = replace(model.settings, calibration=calibration.fit(kind, logs, codes, weight))
    after = figures(calibration.cross_fitted(kind, logs, codes, weight), f"{method}; calibration cross-fitted")
    measured = replace(model.provenance, options=options.given, evaluation=after, uncalibrated=plain)
    return replace(model, settings=settings, provenance=measured)


def _held_out(model: Model, rows: Rows, options: Options) -> Unseen:
    """Scores of rows by models that they had no part in."""
    assert rows.labels is not None
    labels = weighted_labels(rows.labels, model.provenance.class_weight, model.schema)
    if model.provenance.guessed or not model.is_chosen or rows.n_rows < 2:
        with suppress(NotAvailableError):  # of words that are weighted by how rare they are in all texts
            return Unseen(model.leave_one_out(rows, options.n_jobs), labels, leave_one_out_of(model))
    n_folds = min(N_FOLDS, rows.n_rows)
    fold = dealt(rows, n_folds)
    return Unseen(refitted_folds(rows, learned_again(model, options), fold), labels, method_of(n_folds), n_folds)


def sample_of(model: Model, source: Source) -> Rows:
    """Some of the learned rows as the model reads them, drawn by what they hold."""
    return source.sample(model.schema, model.tally.places, SAMPLE)


def _warn(model: Model, facts: Facts) -> None:
    """Warn of columns without a value and of a target with too many classes."""
    for block in model.tally.blocks.values():
        weight = block.summary.column_weight
        empty = np.flatnonzero(weight.sum(axis=0) == 0) if weight.shape[1] == len(block.columns) else ()
        if len(empty):
            names = ", ".join(repr(model.schema.columns[block.columns[j]].name) for j in empty[:5])
            warnings.warn(f"no value at all in column {names}: it is no evidence", ColumnWarning, stacklevel=4)
    if 2 * model.n_classes > facts.n_rows > 10:
        warnings.warn(
            f"The target has {model.n_classes} classes in {facts.n_rows} rows, more than half: is it a label at all?",
            UserWarning,
            stacklevel=4,
        )
