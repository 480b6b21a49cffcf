"""What files of earlier versions hold and this version keeps elsewhere."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tallybayes.core.family import Family
from tallybayes.core.model import Model
from tallybayes.core.provenance import Provenance, Steps
from tallybayes.core.settings import EvidenceWeights
from tallybayes.errors import ModelFileError

EM_PARAMETERS = {
    "unlabelled_weight": "weight",
    "max_iter": "max_iter",
    "tol": "tol",
    "warm_start": "warm_start",
    "keep_responsibilities": "keep_responsibilities",
    "verbose": "verbose",
}
KEPT = {"receipt_", "responsibilities_"}  # fitted attributes that are still beside the model
GONE = {"components_per_class"}  # parameters that there are no more


@dataclass(frozen=True)
class Plan:
    """How columns were read, in files of version 1."""

    families: Mapping[str, Family]
    weights: EvidenceWeights | None = None
    notes: tuple[str, ...] = ()
    lost: Mapping[str, float] = field(default_factory=dict)


FITTED = {"_plan": (Plan,), "classes_": (np.ndarray,), "n_iter_": (int,), "_target": (str,), "_made_by": (str,)}


def upgraded(model: Model, saved: Any) -> tuple[Model, Any]:
    """A model and its estimator as this version would have saved them."""
    kept = {name: value for name, value in saved.fitted.items() if name in KEPT}
    return with_provenance(model, saved.fitted), replace(saved, fitted=kept)


def with_provenance(model: Model, fitted: Mapping[str, Any]) -> Model:
    """The model with its provenance, from the fitted attributes of version 1."""
    for name, kinds in FITTED.items():
        if not isinstance(fitted.get(name), (*kinds, type(None))):
            raise ModelFileError(f"its attribute {name!r} is a {type(fitted[name]).__name__}, which it never was")
    plan, classes = fitted.get("_plan"), fitted.get("classes_")
    steps = Steps(fitted.get("n_iter_") or 1, bool(fitted.get("converged_", True)))
    provenance = Provenance(
        target=fitted.get("_target"),
        rows=round(float(model.tally.class_weight.sum())),
        labels="" if classes is None else classes.dtype.str,
        made_by=fitted.get("_made_by") or "array",
        named="feature_names_in_" in fitted,
        steps=steps if fitted.get("_guessed") else None,
        notes=() if plan is None else plan.notes,
    )
    return replace(model, provenance=provenance)


def with_em(params: Mapping[str, Any], known: Collection[str], record: type) -> dict[str, Any]:
    """Parameters of an estimator that has the ``known`` ones, others of expectation-maximisation in one record."""
    steps = {EM_PARAMETERS[name]: value for name, value in params.items() if name in EM_PARAMETERS.keys() - known}
    kept = {name: value for name, value in params.items() if name in known or name not in {*EM_PARAMETERS, *GONE}}
    return {**kept, "em": record(**steps)} if steps and params.get("unlabelled") == "em" else kept
