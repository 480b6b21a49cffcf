"""``tallybayes train``: learn a file."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tallybayes import storage
from tallybayes.cli.overview import print_next, print_overview
from tallybayes.cli.screen import (
    beside,
    console,
    label_of,
    missing_words,
    notes,
    opened,
    print_json,
    progress,
    rows_of,
)
from tallybayes.cli.wording import in_options
from tallybayes.core.batch import every_nth
from tallybayes.core.evaluation import Evaluation
from tallybayes.core.model import Model
from tallybayes.core.schema import plural
from tallybayes.data.opening import open_source
from tallybayes.data.scans import FileSource
from tallybayes.data.sources import Source
from tallybayes.errors import SettingError
from tallybayes.inspection.evaluate import leave_one_out
from tallybayes.inspection.explain import class_profiles
from tallybayes.inspection.overview import Overview, overview
from tallybayes.inspection.readability import Readability
from tallybayes.learning.learn import learn, sample_of
from tallybayes.learning.options import Options, check_values

COMPARED = 5_000  # rows that columns are compared on, two by two


def run(options: argparse.Namespace) -> None:
    """Learn, write the model, and show how good it is, its warnings and what matters."""
    asked = _options(options)
    with notes(options), opened(options.data, options) as file:
        with progress(options, f"reading {options.data}", rows_of(file)) as report:
            source = open_source(file, options.target, options.weight, options.unlabelled, progress=report)
            asked = replace(_with_labels(asked, source), progress=None if report is None else report.phase)
            model = learn(source, options=asked)
            asked.report("evaluating")
            evaluation = None if options.no_evaluation else _evaluation(model, source)
            found = overview(model, every_nth(sample_of(model, source), COMPARED), evaluation=evaluation)
            cost = _cost_of_reading(source, asked, evaluation)
        if options.output is not None:
            storage.write(model, options.output, storage.Saved("NaiveBayes", asked.given, {}))
    with beside(options):
        if options.json:
            record = _record(model, source, evaluation, options) | found.as_dict()
            print_json(record | ({} if cost is None else {"readable": cost.as_dict()}))
            return
        print_overview(_in_words(found, options), console())
        if cost is not None:
            console().print("", str(cost), sep="\n")
        if options.verbose:
            console().print()
            _details(model, source, evaluation, options)
            console().print("", *(f"warning: {concern}" for concern in found.warnings), sep="\n")
        if not options.quiet:
            console().print()
            print_next(options.data, options.output, console())


def _in_words(found: Overview, options: argparse.Namespace) -> Overview:
    """What is shown of it, in the words of the command line."""
    gone = tuple(replace(each, why=in_options(each.why, options)) for each in found.left_out)
    return replace(found, left_out=gone, verdict=None if options.no_evaluation else found.verdict)


def _options(options: argparse.Namespace) -> Options:
    asked = Options(
        kind={name: kind.split("<") if "<" in kind else kind for name, kind in options.kind},
        family=dict(options.family),
        drop=tuple(options.drop),
        missing=options.missing,
        alpha=options.alpha,
        class_weight=_by_class("--class-weight", options.class_weight, "balanced or label=w,label=w,…"),
        prior=_by_class("--prior", options.prior, "empirical, uniform or label=p,label=p,…"),
        calibration=options.calibration,
        classical=options.classical,
        max_pairs=options.max_pairs,
        max_bins=options.max_bins,
        monotone=_directions(options.monotone),
        readable=options.readable,
        unlabelled=options.unlabelled,
        decimal=options.decimal,
        dates=options.dates,
        missing_values=tuple(missing_words(options)),
    )
    check_values(vars(asked))
    return asked


def _cost_of_reading(source: Source, asked: Options, evaluation: Evaluation | None) -> Readability | None:
    """What a model that can be read costs, beside one without that limit, where one was asked for."""
    if not asked.readable or evaluation is None:
        return None
    asked.report("learning without the limit, for comparison")
    free = learn(source, options=replace(asked, readable=False, max_bins=None, monotone={}, progress=None))
    return Readability(evaluation, _evaluation(free, source))


def _directions(texts: list[str]) -> dict[str, Any]:
    """COLUMN=+1, COLUMN=-1 or COLUMN=auto."""
    known: dict[str, Any] = {"+1": 1, "1": 1, "-1": -1, "auto": "auto"}
    found = {}
    for text in texts:
        name, _, direction = text.rpartition("=")
        if not name or direction.strip() not in known:
            raise SettingError(f"--monotone must be COLUMN=+1, COLUMN=-1 or COLUMN=auto, not {text!r}")
        found[name.strip()] = known[direction.strip()]
    return found


def _evaluation(model: Model, source: Source) -> Evaluation:
    """The figures that were measured in learning; those of a textbook model are exact and cost one pass."""
    return model.provenance.evaluation or leave_one_out(model, sample_of(model, source))


def _by_class(option: str, text: str | None, what: str) -> Any:
    """A word, or a number for each class."""
    if text is None or "=" not in text:
        return text
    try:
        return {name.strip(): float(p) for name, _, p in (part.rpartition("=") for part in text.split(","))}
    except ValueError:
        raise SettingError(f"{option} must be {what}, not {text!r}") from None


def _with_labels(asked: Options, source: Source) -> Options:
    """Classes are typed as text, whatever the labels are."""
    if not isinstance(source, FileSource):
        return asked

    def known(given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        return {label_of(source.seen.classes, str(label)): p for label, p in given.items()}

    return replace(asked, prior=known(asked.prior), class_weight=known(asked.class_weight))


def _chosen_alpha(model: Model, options: argparse.Namespace) -> float | None:
    """The pseudocount, where it was to be chosen."""
    family: Any = model.settings.families.get("categorical")
    return float(np.ravel(family.alpha)[0]) if options.alpha == "auto" and family is not None else None


def _record(model: Model, source: Source, evaluation: Evaluation | None, options: argparse.Namespace) -> dict[str, Any]:
    schema = model.schema
    return {
        "columns": [{"name": c.name, "kind": c.kind, "why": c.reason} for c in schema.columns],
        "classes": dict(zip(map(str, schema.classes), source.facts.class_rows, strict=True)),
        "unlabelled": source.facts.unlabelled,
        "alpha": _chosen_alpha(model, options),
        "evaluation": None if evaluation is None else evaluation.as_dict(),
        "evidence": {
            str(label): [{"text": entry.text, "strength": entry.strength} for entry in entries]
            for label, entries in class_profiles(model).items()
        },
        "model": options.output,
    }


def _details(model: Model, source: Source, evaluation: Evaluation | None, options: argparse.Namespace) -> None:
    screen, facts, alpha = console(), source.facts, _chosen_alpha(model, options)
    screen.print(in_options(str(model.schema), options), end="\n\n")
    if facts.unlabelled:
        screen.print(f"{plural(facts.unlabelled, 'row')} without a label left out", end="\n\n")
    if alpha is not None:
        screen.print(f"alpha chosen by leave-one-out: {alpha:.4g}", end="\n\n")
    if evaluation is not None:
        if evaluation.n_rows < facts.n_rows:
            screen.print(f"evaluated on {evaluation.n_rows:,} of the {facts.n_rows:,} rows, drawn at random")
        screen.print(str(evaluation), end="\n\n")
    screen.print("strongest evidence")
    for label, entries in class_profiles(model).items():
        screen.print(f"  {label}")
        for entry in entries:
            screen.print(f"    {entry.text}")
