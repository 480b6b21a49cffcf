"""Learning: a source of labelled rows and the options become a model."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tallybayes.core import calibration
from tallybayes.core.batch import Rows
from tallybayes.core.model import Model
from tallybayes.core.provenance import Provenance
from tallybayes.core.schema import Schema, plural
from tallybayes.core.settings import Settings
from tallybayes.data.opening import open_source
from tallybayes.data.sources import Facts, Places, Source
from tallybayes.data.vocabularies import opened
from tallybayes.errors import ColumnWarning, DataError
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
    source = open_source(source, target, weight, options.unlabelled, n_jobs=options.n_jobs)
    overrides = options.overrides if options.matrix is None else NONE
    schema = source.profile(overrides, options.stream)
    settings, places = _start(schema, options)
    if isinstance(options.prior, Mapping) and not options.stream:  # whose other classes may be in batches to come
        settings.log_prior(schema, np.ones(len(schema.classes)))  # a bad prior is an error before any row is counted
    if _is_textbook(schema, source.facts, options):
        model = _textbook(source, schema, settings, places, options)
        if options.unlabelled == "em":
            rows = source.all_rows(model.schema, model.tally.places)
            model = with_unlabelled(model, rows, options, before)
    else:
        model = _refined(source, schema, settings, places, options)
    provenance = _provenance(source.facts, model.provenance)
    model = _calibrated(replace(model, provenance=provenance), source, options)
    if not options.stream:
        _warn(model, source.facts)
    return model


def _start(schema: Schema, options: Options) -> tuple[Settings, Places]:
    """The textbook reading and the columns of its blocks."""
    if options.matrix is None:
        return textbook_settings(schema, options), options.overrides.places(schema)
    block = options.matrix.name
    settings = Settings({block: options.matrix}, options.prior, float(options.prior_alpha))
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


def _is_given(schema: Schema, options: Options) -> bool:
    """Whether nothing is left to choose: no weights and no pairs, and words only, whose family is given."""
    plain = options.weights is None and options.pairs == 0 and not isinstance(options.alpha, str)
    return plain and all(column.kind in ("text", "ignored") for column in schema.columns)


def _textbook(source: Source, schema: Schema, settings: Settings, places: Places, options: Options) -> Model:
    """The model of the labelled rows as the textbook reads them, with the smoothing that is to be chosen."""
    model = Model(settings, source.count(schema, places, settings.families))
    if not model.tally.class_weight.any():
        raise DataError("Sample weights must contain at least one non-zero number.")
    block = "categorical" if options.matrix is None else options.matrix.name
    if options.choose_length:
        rows = source.sample(model.schema, places, SAMPLE)
        length, found = best_document_length(model, block, rows, options.n_jobs)
        model = Model(found.settings, source.count(schema, places, found.settings.families))
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


def _refined(source: Source, schema: Schema, settings: Settings, places: Places, options: Options) -> Model:
    """The model whose families, weights and pairs were chosen on a sample of the rows; all rows are counted."""
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
        model = refined(rows, settings, options)
    except DataError:
        source.count(schema, places, settings.families)  # in the order of the rows, so that the right one is named
        raise
    if alpha is not None:
        model = _noted(model, "alpha", alpha)
    if rows.n_rows < source.facts.n_rows:
        tally = source.count(opened(model.schema), model.tally.places, model.settings.families)
        model = replace(model, tally=tally)
    return model


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


def _calibrated(model: Model, source: Source, options: Options) -> Model:
    """The model with the calibration that the options ask for, fitted to leave-one-out scores."""
    if options.calibration is None:
        return model
    rows = sample_of(model, source)
    assert rows.labels is not None
    assert rows.labels.codes is not None
    raw = model.leave_one_out(rows, options.n_jobs)
    found = calibration.fit(options.calibration, raw, rows.labels.codes, rows.labels.weight)
    return replace(model, settings=replace(model.settings, calibration=found))


def sample_of(model: Model, source: Source, most: int = SAMPLE) -> Rows:
    """Some of the learned rows as the model reads them, drawn by what they hold."""
    return source.sample(model.schema, model.tally.places, most)


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
