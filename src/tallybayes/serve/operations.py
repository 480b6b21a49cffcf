"""The operations on a served model: from a model and a parsed body to a plain record, independent of HTTP."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tallybayes.core.conformal import PredictionSets
from tallybayes.core.merging import new_classes
from tallybayes.core.model import Model
from tallybayes.errors import DataError, TallybayesError, UnlearnError, unlearning
from tallybayes.inspection.evaluate import are_learned, evaluated
from tallybayes.inspection.explain import explain, steps
from tallybayes.inspection.overview import overview
from tallybayes.inspection.predictions import predict_file
from tallybayes.inspection.reasons import ReasonPlan, reason_plan
from tallybayes.inspection.receipts import Receipt
from tallybayes.inspection.sets import thresholds
from tallybayes.serve.rows import batch_of, labelled_of, table_of
from tallybayes.serve.served import Served
from tallybayes.serve.store import Entry

LABELLED = ("labels", "label", "weight")  # fields of a body with labelled rows, besides the rows
REASONS = ("reasons", "reference", "groups", "label")  # fields of a body that asks for reason codes
MOST_LEVELS = 1000  # of a column that are listed


def summary(entry: Entry) -> dict[str, Any]:
    """Name, target, classes and size of a model."""
    model = entry.current().model
    return {
        "name": entry.name,
        "target": entry.loaded.target,
        "classes": list(model.schema.classes),
        "n_columns": sum(not column.is_derived for column in model.schema.columns),
        "rows": float(model.tally.class_weight.sum()),
    }


def described(entry: Entry) -> dict[str, Any]:
    """The summary of a model, what was measured when it was learned, a verdict, warnings and its columns."""
    model = entry.current().model
    stored = model.provenance.evaluation
    figures = {"n_learned": model.provenance.rows, "evaluation": None if stored is None else stored.as_dict()}
    shown = {} if model.schema.is_numbered else overview(model).as_dict()
    return {**summary(entry), **figures, **shown, "columns": columns(model)}


def columns(model: Model) -> list[dict[str, Any]]:
    """The columns that a row may have, with the first of their levels."""
    return [
        {
            "name": column.name,
            "kind": column.kind,
            "why": column.reason,
            "levels": None if column.levels is None else list(column.levels[:MOST_LEVELS]),
        }
        for column in model.schema.columns
        if not column.is_derived
    ]


def predict(model: Model, body: Any, max_rows: int, served: Served | None = None) -> dict[str, Any]:
    """The likeliest class and the probabilities, of one row or of many; the rows may be counted as served."""
    table, single = table_of(model, body, max_rows, ("coverage", *REASONS))
    coverage, plan = body.get("coverage"), _plan(model, body)
    least = None if coverage is None else thresholds(model, coverage)
    batch, classes = batch_of(model, table), model.schema.classes
    posterior, unseen = model.posterior(batch), batch.unseen()
    if served is not None:
        served.add(model, batch)
    warned = {"warnings": unseen} if unseen else {}
    best = posterior.argmax(axis=1).tolist()
    sets = None if least is None else [list(s) for s in PredictionSets.of(posterior, classes, least, allow_empty=True)]
    codes = None if plan is None else plan.of(model, batch).as_dict()["reasons"]
    if single:
        probabilities = dict(zip(map(str, classes), posterior[0].tolist(), strict=True))
        one = ({} if sets is None else {"set": sets[0]}) | ({} if codes is None else {"reasons": codes[0]})
        return {"prediction": classes[best[0]], "probabilities": probabilities, **one, **warned}
    return {
        "classes": list(classes),
        "predictions": [classes[k] for k in best],
        "probabilities": np.ascontiguousarray(posterior),
        **({} if sets is None else {"sets": sets}),
        **({} if codes is None else {"reasons": codes}),
        **warned,
    }


def _plan(model: Model, body: Any) -> ReasonPlan | None:
    """What reason codes are worked out with, if a request asks for them."""
    most, reference, groups = body.get("reasons"), body.get("reference", "population"), body.get("groups", {})
    if most is None:
        if given := [name for name in REASONS if name in body]:
            raise DataError(f"{given[0]!r} belongs to reasons: say how many with 'reasons'")
        return None
    if not isinstance(groups, dict) or not all(isinstance(names, list) for names in groups.values()):
        raise DataError("'groups' must be an object of lists of columns")
    if not isinstance(reference, str):
        table, _ = table_of(model, {"row": reference}, 1)
        reference = batch_of(model, table)
    return reason_plan(model, most, reference, groups, body.get("label"))


def predict_csv(
    model: Model, content: bytes, safe_csv: bool = False, served: Served | None = None
) -> tuple[bytes, int]:
    """A CSV file with the predictions beside its rows, and the number of rows.

    It is written to a temporary directory and nowhere else.
    """
    with tempfile.TemporaryDirectory() as directory:
        source, out = Path(directory, "rows.csv"), Path(directory, "predicted.csv")
        source.write_bytes(content)
        try:
            n_rows = predict_file(model, source, out, safe_csv=safe_csv)
        except TallybayesError as error:  # the path of the temporary file must not show
            raise DataError(str(error).replace(str(source), "the file")) from None
        if served is not None:
            served.add(model, source)
        return out.read_bytes(), n_rows


def explanation(model: Model, body: Any) -> dict[str, Any]:
    """The evidence for the prediction of one row, and the calculation step by step."""
    table, _ = table_of(model, body, 1, ("against",))
    batch = batch_of(model, table)
    values = batch.table.row(0)
    against = body.get("against")
    if against is not None and not isinstance(against, (str, int, float, bool)):
        raise DataError("'against' must be a class")
    record = explain(model, batch, values, against).as_dict()
    worked = [{"what": s.what, "factors": s.factors, "logs": s.logs} for s in steps(model, batch, values)]
    return record | {"work": worked}


def evaluation(model: Model, body: Any, max_rows: int) -> dict[str, Any]:
    """Performance on labelled rows."""
    table, _ = table_of(model, body, max_rows, LABELLED)
    batch = labelled_of(model, table, body)
    stored = model.provenance.evaluation
    if model.is_chosen and (stored is None or stored.n_learned != model.provenance.rows) and are_learned(model, batch):
        # Learning models anew is no work for a service, and scoring rows by a model of them would flatter.
        raise DataError("these rows were learned; 'tallybayes evaluate' scores them by models without them")
    return evaluated(model, batch).as_dict()


def update(model: Model, body: Any, max_rows: int) -> tuple[Model, dict[str, Any]]:
    """The model that has also learned the rows."""
    table, _ = table_of(model, body, max_rows, LABELLED)
    batch = labelled_of(model, table, body, new_levels=True, new_classes=True)
    new = new_classes(model.schema.classes, batch.schema.classes)
    changed = model.learn(batch)
    return changed, {"rows": table.n_rows, "tally": repr(changed.tally)} | ({"warnings": new} if new else {})


def unlearn(model: Model, body: Any, max_rows: int) -> tuple[Model, dict[str, Any]]:
    """The model that never saw the rows, with a receipt."""
    table, _ = table_of(model, body, max_rows, LABELLED)
    with unlearning():
        batch = labelled_of(model, table, body, new_levels=True)
    changed = model.unlearn(batch)
    if not changed.tally.class_weight.any():
        raise UnlearnError("nothing would be left of the model")
    assert batch.labels is not None
    return changed, Receipt.of(batch.labels, model.tally, changed.tally).as_dict()
