"""Prediction sets of a model, from the rows that it was evaluated on."""

from __future__ import annotations

from tallybayes.core.batch import Array, Rows
from tallybayes.core.conformal import USUAL, Conformity, PredictionSets
from tallybayes.core.evaluation import Evaluation
from tallybayes.core.model import Model
from tallybayes.errors import NotAvailableError, SchemaError


def conformity_of(model: Model, evaluation: Evaluation | None = None) -> Conformity:
    """How probable the right classes of held-out rows are to a model: as it was measured, or as an evaluation shows."""
    found = evaluation or model.provenance.evaluation
    if found is None or found.conformity is None:
        raise NotAvailableError(
            "prediction sets need held-out rows, and this model was not evaluated on any when it was fitted; "
            "evaluate it on labelled rows and pass the result: predict_set(X, evaluation=model.evaluate(X, y))"
        )
    if found.classes != model.schema.classes:
        raise SchemaError(
            f"the evaluation is of the classes {list(found.classes)}, the model has {list(model.schema.classes)}"
        )
    return found.conformity


def thresholds(
    model: Model, coverage: float = USUAL, by_class: bool = False, evaluation: Evaluation | None = None
) -> Array:
    """The probability (K,) from which each class belongs to a prediction set."""
    return conformity_of(model, evaluation).thresholds(coverage, by_class, model.n_classes)


def prediction_sets(
    model: Model,
    batch: Rows,
    coverage: float = USUAL,
    *,
    by_class: bool = False,
    allow_empty: bool = True,
    evaluation: Evaluation | None = None,
    n_jobs: int | None = None,
) -> PredictionSets:
    """Return the classes of each row that cannot be ruled out.

    Parameters
    ----------
    model : Model
    batch : Rows
    coverage : float, default=0.9
        The share of the sets that hold the right class.
    by_class : bool, default=False
        Whether that share holds within every class, and not only over all rows.
    allow_empty : bool, default=True
        Whether doubtful rows may have an empty set, where the model is right more often than was asked for; otherwise
        a set has at least the likeliest class, and more sets than promised hold the right one.
    evaluation : Evaluation, optional
        Held-out rows to take the thresholds from; those that the model was evaluated on when it was fitted by default.
    n_jobs : int, optional

    Returns
    -------
    PredictionSets
    """
    least = thresholds(model, coverage, by_class, evaluation)
    return PredictionSets.of(model.posterior(batch, n_jobs), model.schema.classes, least, allow_empty)
