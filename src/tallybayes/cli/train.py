"""``tallybayes train``: learn a file."""

from __future__ import annotations

import argparse
from typing import Any

from tallybayes.cli.screen import console, note, notes, opened, print_json, progress, rows_of
from tallybayes.core.schema import plural
from tallybayes.data.file_sources import Learned
from tallybayes.errors import SettingError
from tallybayes.estimators._files import learn_into
from tallybayes.estimators.mixed import NaiveBayes
from tallybayes.inspection.evaluate import Evaluation, leave_one_out
from tallybayes.inspection.explain import hallmarks


def run(options: argparse.Namespace) -> None:
    """Learn, show what was learned and how good it is, write the model."""
    estimator = NaiveBayes(
        kind=dict(options.kind) or None,
        family=dict(options.family) or None,
        drop=options.drop or None,
        missing=options.missing,
        alpha=options.alpha,
        prior=_prior(options.prior),
        calibration=options.calibration,
        classical=options.classical,
    )
    _check(estimator)
    with notes(options), opened(options.data, options) as file:
        with progress(options, f"learning {options.data}", rows_of(file)) as report:
            learned = learn_into(estimator, file, options.target, options.weight, options.unlabelled, report)
        judged = None if options.no_evaluation else leave_one_out(estimator.model_, learned.sample())
        if options.output is not None:
            estimator.save(options.output)
    if options.json:
        print_json(_record(estimator, learned, judged, options.output))
    else:
        _show(estimator, learned, judged)
    if options.output is not None:
        note(f"written to {options.output}", options)


def _check(estimator: Any) -> None:
    """Refuse settings before any row is read."""
    try:
        estimator._validate_params()
    except ValueError as error:
        raise SettingError(str(error)) from error


def _prior(text: str) -> Any:
    if "=" not in text:
        return text
    try:
        return {name.strip(): float(p) for name, _, p in (part.rpartition("=") for part in text.split(","))}
    except ValueError:
        raise SettingError(f"--prior must be empirical, uniform or label=p,label=p,…, not {text!r}") from None


def _record(estimator: Any, learned: Learned, judged: Evaluation | None, output: str | None) -> dict[str, Any]:
    schema = estimator.schema_
    return {
        "columns": [{"name": c.name, "kind": c.kind, "why": c.reason} for c in schema.columns],
        "classes": dict(zip(map(str, schema.classes), learned.n_rows, strict=True)),
        "unlabelled": learned.unlabelled,
        "alpha": getattr(estimator, "alpha_", None),
        "evaluation": None if judged is None else judged.as_dict(),
        "evidence": {
            str(label): [{"text": mark.text, "strength": mark.strength} for mark in marks]
            for label, marks in hallmarks(estimator.model_).items()
        },
        "model": output,
    }


def _show(estimator: Any, learned: Learned, judged: Evaluation | None) -> None:
    screen, n_rows = console(), sum(learned.n_rows)
    screen.print(str(estimator.schema_), end="\n\n")
    if learned.unlabelled:
        screen.print(f"{plural(learned.unlabelled, 'row')} without a label left out", end="\n\n")
    if hasattr(estimator, "alpha_"):
        screen.print(f"alpha chosen by leave-one-out: {estimator.alpha_:.4g}", end="\n\n")
    if judged is not None:
        if judged.n_rows < n_rows:
            screen.print(f"judged on {judged.n_rows:,} of the {n_rows:,} rows, drawn at random")
        screen.print(str(judged), end="\n\n")
    screen.print("strongest evidence")
    for label, marks in hallmarks(estimator.model_).items():
        screen.print(f"  {label}")
        for mark in marks:
            screen.print(f"    {mark.text}")
