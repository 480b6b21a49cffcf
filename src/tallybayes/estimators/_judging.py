"""What an estimator is worth on labelled rows; sets of classes and intervals that hold what they promise."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from tallybayes.core.batch import Array
from tallybayes.core.conformal import USUAL, PredictionSets
from tallybayes.core.evaluation import Evaluation
from tallybayes.inspection.card import Scorecard
from tallybayes.inspection.evaluate import evaluated, scored_rows
from tallybayes.inspection.scorecard import BASE, ODDS, POINTS
from tallybayes.inspection.scorecard import scorecard as card_of
from tallybayes.inspection.sets import prediction_sets
from tallybayes.inspection.subgroups import subgroups
from tallybayes.inspection.uncertainty import USUAL as LEVEL
from tallybayes.inspection.uncertainty import Uncertainty


def evaluate(
    self: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    method: Any = "auto",
    seed: int = 0,
    costs: Any = None,
    by: Any = None,
    label: Any = None,
) -> Any:
    """Evaluate the predictions: accuracy, log loss, calibration and more.

    Parameters
    ----------
    X, y, sample_weight
        Labelled rows; a table whose labels were a column when it was learned may be passed without y.
    method : {"auto", "leave-one-out", "test"}, int or array-like of shape (n_samples,), default="auto"
        Leave out each training row, each of so many folds, or the folds that an array numbers: exact and without
        refitting for textbook models; otherwise folds are learned anew, and leave-one-out keeps what was chosen
        from rows, flatters and warns. "test" scores the rows as they are; so does "auto", unless they are all those
        that were learned: these give the stored figures, five folds, or leave-one-out of a textbook model.
    seed : int, default=0
        Which folds; they follow from what the rows hold, not from their order.
    costs : mapping or array-like of shape (n_classes, n_classes), optional
        What predictions cost, ``{(true, predicted): cost}``: the figures then have the mean cost of the decisions
        that are expected to cost least.
    by : str, list of str, or array-like of shape (n_samples,), optional
        A column of the table, whether the model reads it or not, columns that are crossed, or the group of each row:
        the figures of each group with intervals, on the same held-out scores.
    label : class, optional
        With ``by``, the class whose rates are compared; of two classes, the second.

    Returns
    -------
    Evaluation, or Subgroups with ``by``
    """
    rows = self.labelled_rows(X, y, sample_weight)
    if by is not None:
        return subgroups(scored_rows(self.model_, rows, method, seed, self.n_jobs), by, label)
    return evaluated(self.model_, rows, method, seed, self.n_jobs, costs=costs)


def scorecard(
    self: Any,
    points_to_double_odds: float = POINTS,
    base: float = BASE,
    odds: float = ODDS,
    rounding: bool = True,
    label: Any = None,
) -> Scorecard:
    """Return the model as a scorecard: points for each value of each column, which are added.

    Every column has to be a table of levels or bins, as ``NaiveBayes(readable=True)`` learns it.

    Parameters
    ----------
    points_to_double_odds : float, default=20
    base : float, default=600
        The score of a row whose odds are ``odds`` to one.
    odds : float, default=50
    rounding : bool, default=True
        Whether points are whole numbers: then a score is exactly their sum.
    label : class, optional
        Whose odds they are; of two classes, the second. Of more it is compared with the geometric mean of the others.

    Returns
    -------
    Scorecard
        Prints as a table; ``as_frame()``, ``to_html()``, ``to_csv()``, ``to_markdown()`` and ``score(X)``.

    Examples
    --------
    >>> from tallybayes import NaiveBayes, datasets
    >>> card = NaiveBayes(classical=True).fit(datasets.tennis(), target="play").scorecard()
    >>> [(str(line), line.points) for line in card.columns[3].lines]
    [('strong', -13), ('weak', 11)]
    """
    check_is_fitted(self)
    return card_of(self.model_, points_to_double_odds, base, odds, rounding, label)


def predict_set(
    self: Any,
    X: Any,
    coverage: float = USUAL,
    *,
    by_class: bool = False,
    allow_empty: bool = True,
    evaluation: Evaluation | None = None,
) -> PredictionSets:
    """Return the classes of each row that cannot be ruled out (conformal prediction).

    The right class is in the set of a share ``coverage`` of new rows, if they come from where the held-out rows did.
    The thresholds come from rows that had no part in the model: those that it was evaluated on when it was fitted, or
    others that are passed. A textbook model is not evaluated when it is fitted: pass ``evaluate(X, y)``.

    Parameters
    ----------
    X : rows as `predict` takes them
    coverage : float, default=0.9
    by_class : bool, default=False
        Whether the share holds within every class (Mondrian), and not only over all rows.
    allow_empty : bool, default=True
        Whether doubtful rows may have an empty set, where the model is right more often than was asked for; otherwise
        a set has at least the likeliest class, and more sets than promised hold the right one.
    evaluation : Evaluation, optional
        Held-out rows to take the thresholds from.

    Returns
    -------
    PredictionSets
        One tuple of labels for each row; as an array, booleans of shape (n_samples, n_classes).

    Examples
    --------
    >>> from tallybayes import NaiveBayes, datasets
    >>> penguins = datasets.penguins()
    >>> few = {name: penguins[name] for name in ("island", "bill_length_mm", "species")}
    >>> model = NaiveBayes().fit(few, target="species")
    >>> model.predict_set({"island": ["Dream"], "bill_length_mm": [43.2]}, coverage=0.99)[0]
    ('Adelie', 'Chinstrap')
    """
    batch = self._rows(X)
    given: dict[str, Any] = {"by_class": by_class, "allow_empty": allow_empty, "evaluation": evaluation}
    return prediction_sets(self.model_, batch, coverage, **given, n_jobs=self.n_jobs)


def predict_interval(self: Any, X: Any, level: float = LEVEL) -> Array:
    """Return the interval of P(y | x) of each row and class, from the counts behind it.

    A share ``level`` of the intervals covers the probability that would be learned from endless rows like those seen.
    It is about how much was learned, not about which class is right: for that see `predict_set`.

    Parameters
    ----------
    X : rows as `predict` takes them
    level : float, default=0.9

    Returns
    -------
    ndarray of shape (n_samples, n_classes, 2)
        The lower and the upper end.

    Examples
    --------
    >>> from tallybayes import NaiveBayes, datasets
    >>> penguins = datasets.penguins()
    >>> few = {name: penguins[name] for name in ("island", "bill_length_mm", "species")}
    >>> model = NaiveBayes().fit(few, target="species")
    >>> row = {"island": ["Dream"], "bill_length_mm": [43.2]}
    >>> float(model.predict_proba(row)[0, 0].round(2)), model.predict_interval(row)[0, 0].round(2)
    (0.46, array([0.28, 0.64]))
    """
    return Uncertainty(self.model_).probabilities(self._rows(X), level)
