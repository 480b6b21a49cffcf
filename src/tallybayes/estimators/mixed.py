"""Naive Bayes for the table a person actually has."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from tallybayes.core import calibration
from tallybayes.core.batch import Array, Rows, thinned
from tallybayes.core.model import Model
from tallybayes.core.schema import Schema, plural, united
from tallybayes.core.tally import Tally, count
from tallybayes.core.tokens import Tokens
from tallybayes.data.columns import split_target
from tallybayes.data.sources import is_source
from tallybayes.data.tables import TableBatch
from tallybayes.errors import NotAvailableError, SettingError
from tallybayes.estimators._answers import AnswersOfTables
from tallybayes.estimators._base import BaseNB
from tallybayes.estimators._checks import unchanged_on_error
from tallybayes.estimators._files import fit_file
from tallybayes.families import numeric_families
from tallybayes.inspection.evaluate import CalibrationReport, score
from tallybayes.learning import refinement as planning
from tallybayes.learning.plan import Plan, mean_of
from tallybayes.learning.smoothing import MOST_ROWS, best_alpha, with_alpha
from tallybayes.learning.weights import LEAST_ROWS


class NaiveBayes(AnswersOfTables):
    """Naive Bayes over a table as it is: numbers, categories, booleans, counts and text, with holes in them.

    Takes pandas, Polars and PyArrow frames, dicts of columns, lists of dicts and arrays. What each column is, is
    inferred, shown in `schema_` with the reason, and can be overridden. Columns are matched by name.

    Parameters
    ----------
    kind : mapping of column to {"numeric", "category", "boolean", "count", "text", "ignored"}, optional
        What columns are, where the inference is wrong.
    family : mapping of column to str, optional
        The distribution of columns, where another than the chosen one is wanted: the name of a family of
        `tallybayes.families` that reads columns of this kind, such as "gaussian", "hierarchical" or "poisson"; of text
        "multinomial", "bernoulli" or "complement".
    tokens : Tokens or mapping of column to Tokens, optional
        How text is cut into words.
    drop : list of str, optional
        Columns to leave out.
    missing : {"ignore", "level"} or mapping of column to these, default="ignore"
        What a missing category says: nothing, or it is a level of its own. A missing number always says nothing.
    unseen : {"ignore", "smooth"}, default="ignore"
        What a level never seen in training says: nothing, or it gets the smoothing's mass.
    min_count : float, default=0
        Levels that weigh less are rare and share one probability.
    alpha : float, mapping of column to float, or "auto", optional
        Pseudocount of every level; "auto" maximises the leave-one-out likelihood of the labels. Without it levels are
        smoothed towards their share of all rows, as strongly as leave-one-out prefers, column by column; with
        `classical` it is 1.
    numeric : str, default="auto"
        The distribution of numbers: the name of a family of numbers, such as "gaussian", "kernel", "binned",
        "lognormal" or "exponential"; "auto" takes for each column the one that predicts the classes best, by
        leave-one-out, and says so in `schema_`.
    weights : {"auto", "learn", "words", "classes"}, optional, default="auto"
        Learn how much of each column's evidence is to be believed, so that columns that say the same are not counted
        twice; "auto" keeps the weights only if leave-one-out improves beyond noise, "words" also learns one for each
        word of a text, "classes" how much more or less of a column each of three classes or more hears, where that
        foretells held-out rows better; None believes everything.
    pairs : {"auto"}, int or list of pairs of columns, default="auto"
        Columns that are also taken together, two at a time: those that improve leave-one-out, at most so many of
        them (0 for none), or the given ones.
    classical : bool, default=False
        The textbook model: Gaussian numbers, Laplace smoothing, no weights, no pairs.
    var_smoothing : float, default=1e-9
        Fraction of the largest variance of the numeric columns that is added to every variance.
    variance : {"class", "shared"}, default="class"
        A variance for each class, or one a column for all.
    prior : {"empirical", "uniform"} or mapping of class to probability, default="empirical"
        P(y).
    prior_alpha : float, default=0.0
        Pseudocount of every class in the empirical prior.
    calibration : {"temperature", "isotonic"}, optional
        Make the probabilities honest by what leave-one-out shows; needs no hold-out.
    decay : float, default=1.0
        What `partial_fit` multiplies everything known before with: below 1 the past fades.
    strict : bool, default=False
        Missing columns are an error, not holes.
    n_jobs : int, optional
        Threads; None takes all cores for large inputs.
    unlabelled : {"error", "ignore", "em"}, default="error"
        What to do with a row that has no label (None, NaN, −1 among integers): refuse it, leave it out, or learn it
        by expectation-maximisation. With "error" −1 is a label like any other. "em" makes the model the classical one.
    unlabelled_weight : float or "auto", default=1.0
        How much an unlabelled row counts beside a labelled one; "auto" takes what makes the labels of left-out rows
        likeliest.
    components_per_class : int, default=1
        Mixture components of each class, with "em".
    max_iter : int, default=100
        Most steps of "em".
    tol : float, default=1e-3
        The steps end when one gains less in log likelihood a row.
    warm_start : bool, default=False
        Begin with the model of the last fit instead of that of the labelled rows.
    keep_responsibilities : bool, default=False
        Keep `responsibilities_`, what share of each row each class (or component) got.
    verbose : int, default=0
        Print every step.

    Attributes
    ----------
    schema_ : Schema
        What each column is, and why.
    classes_ : ndarray of shape (n_classes,)
    class_count_ : ndarray of shape (n_classes,)
    alpha_ : float
        The chosen pseudocount, with ``alpha="auto"``.
    weights_ : EvidenceWeights or None
        How much of each column's evidence is believed.
    calibration_ : CalibrationReport
        Log loss and calibration error before and after, with `calibration`.
    receipt_ : Receipt
        What the last `unlearn` removed.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
    n_iter_, converged_ : int and bool
        Steps of "em", 1 without, and whether they ended by themselves.
    log_likelihood_path_ : ndarray of shape (n_iter_,)
        Penalised log likelihood after each step; it never falls.
    model_ : Model
    tally_ : Tally
    n_parameters_, n_joint_parameters_ : int

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> weather = {"sky": ["clear", "grey", None, "grey"], "degrees": [21.5, 9.0, 18.0, None]}
    >>> model = NaiveBayes().fit(weather, ["out", "in", "out", "in"])
    >>> model.predict({"degrees": [19.0], "sky": ["clear"]})
    array(['out'], dtype='<U3')
    >>> print(model.schema_)
    column   kind      why
    sky      category  text, 2 levels in 4 rows, 1 missing
    degrees  numeric   numbers from 9 to 21.5, 1 missing
    classes: in, out
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseNB._parameter_constraints,
        "kind": [Mapping, None],
        "family": [Mapping, None],
        "tokens": [Tokens, Mapping, None],
        "drop": ["array-like", None],
        "missing": [StrOptions({"ignore", "level"}), Mapping],
        "unseen": [StrOptions({"ignore", "smooth"})],
        "min_count": [Interval(Real, 0, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left"), Mapping, StrOptions({"auto"}), None],
        "numeric": [StrOptions({"auto", *numeric_families()})],
        "weights": [StrOptions({"auto", "classes", "learn", "words"}), None],
        "pairs": [StrOptions({"auto"}), Interval(Integral, 0, None, closed="left"), list, tuple],
        "classical": ["boolean"],
        "var_smoothing": [Interval(Real, 0, None, closed="left")],
        "variance": [StrOptions({"class", "shared"})],
        "prior": [StrOptions({"empirical", "uniform"}), Mapping],
        "calibration": [StrOptions({"temperature", "isotonic"}), None],
        "decay": [Interval(Real, 0, 1, closed="right")],
        "strict": ["boolean"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        *,
        kind: Any = None,
        family: Any = None,
        tokens: Any = None,
        drop: Any = None,
        missing: Any = "ignore",
        unseen: Any = "ignore",
        min_count: float = 0,
        alpha: Any = None,
        numeric: str = "auto",
        weights: Any = "auto",
        pairs: Any = "auto",
        classical: bool = False,
        var_smoothing: float = 1e-9,
        variance: Any = "class",
        prior: Any = "empirical",
        prior_alpha: float = 0.0,
        calibration: Any = None,
        decay: float = 1.0,
        strict: bool = False,
        n_jobs: int | None = None,
        unlabelled: Any = "error",
        unlabelled_weight: Any = 1.0,
        components_per_class: int = 1,
        max_iter: int = 100,
        tol: float = 1e-3,
        warm_start: bool = False,
        keep_responsibilities: bool = False,
        verbose: int = 0,
    ) -> None:
        self.kind = kind
        self.family = family
        self.tokens = tokens
        self.drop = drop
        self.missing = missing
        self.unseen = unseen
        self.min_count = min_count
        self.alpha = alpha
        self.numeric = numeric
        self.weights = weights
        self.pairs = pairs
        self.classical = classical
        self.var_smoothing = var_smoothing
        self.variance = variance
        self.prior = prior
        self.prior_alpha = prior_alpha
        self.calibration = calibration
        self.decay = decay
        self.strict = strict
        self.n_jobs = n_jobs
        steps = max_iter, tol, warm_start, keep_responsibilities, verbose
        self._set_em(unlabelled, unlabelled_weight, components_per_class, *steps)

    # ------------------------------------------------------------------------------------------ learning

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, target: str | None = None) -> Self:
        """Learn a table, forgetting everything learned before.

        Parameters
        ----------
        X : table or path
            A frame, a dict of columns, a list of dicts or an array; or a file, or a pattern of files, of CSV, Parquet,
            JSON lines or Arrow, which may be larger than memory; or a table that its engine counts: a DuckDB relation,
            a Polars LazyFrame, an Ibis table, a Spark or Dask DataFrame.
        y : array-like of shape (n_samples,) or str
            Class labels, or the name of the column of the table that holds them.
        sample_weight : array-like of shape (n_samples,) or str, optional
            How much each row counts; 1 if not given. Or the name of the column of the table that holds it.
        target : str, optional
            Name of that column, where it reads better than ``y``.

        Returns
        -------
        self : object
        """
        if is_source(X):
            return fit_file(self, X, self._one_target(y, target), sample_weight)
        if isinstance(sample_weight, str):
            X, sample_weight = split_target(X, sample_weight)
        return super().fit(X, self._one_target(y, target), sample_weight)

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None, *, target: str | None = None
    ) -> Self:
        """Learn more rows; new levels and new classes are learned as they come.

        Parameters
        ----------
        X : table
        y : array-like of shape (n_samples,), optional
            Class labels, unless they are a column of the table.
        classes : array-like of shape (n_classes,), optional
            Classes to expect; unlike scikit-learn's estimators this one needs no such list.
        sample_weight : array-like of shape (n_samples,), optional
        target : str, optional
            Name of the column that holds the class labels.

        Returns
        -------
        self : object
        """
        self._refuse_components("partial_fit")
        if isinstance(self.alpha, str) or self.calibration is not None:
            raise SettingError("alpha='auto' and calibration look at all rows at once: use fit, or leave them out")
        with unchanged_on_error(self):
            self._validate_params()
            X, y = self._split(X, self._one_target(y, target))
            if self._nothing_told(y):
                return self
            X, y, sample_weight, holes = self._sorted_out(X, y, sample_weight)
            self._refuse_holes(holes)
            batch, seen = self._labelled(X, y, sample_weight, None, whole=False)
            past = self.tally_ * self.decay if hasattr(self, "model_") else Tally.empty()
            tally = past + count(batch, self._settings(batch.schema).families, self.n_jobs)
            expected = tuple(np.asarray(classes).tolist()) if classes is not None else ()
            known = Schema(tally.schema.columns, tuple(united(tally.schema.classes, expected)))
            self._adopt(tally.align(known), like=seen)
        return self

    def _one_target(self, y: Any, target: str | None) -> Any:
        if y is not None and target is not None:
            raise SettingError("pass either y or target, not both")
        return y if target is None else target

    def _learn(self, batch: Rows) -> None:
        settings = self._settings(batch.schema)
        settings.log_prior(batch.schema, np.ones(len(self.classes_)))  # a bad prior fails before any row is counted
        # Weights and pairs are fitted to labels; what unlabelled rows are shared by has to be a likelihood.
        classical = self._is_textbook
        few = batch.n_rows < LEAST_ROWS
        asked = self.weights not in ("auto", None) or not isinstance(self.pairs, (str, int))
        if few and not classical and asked:
            warnings.warn(
                f"{plural(batch.n_rows, 'row')}: too few to learn weights and pairs from: the classical model",
                UserWarning,
                stacklevel=4,
            )
        if classical or few or len(self.classes_) < 2:
            self.model_ = Model(settings, count(batch, settings.families, self.n_jobs))
            return
        assert isinstance(batch, TableBatch)
        self._plan, self.model_ = planning.make(batch, settings, self._wishes(batch), self.n_jobs)

    def _remembered(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name in ("_made_by", "_target", "_plan")}

    def _set_prior(self, prior: Any) -> None:
        self.prior = prior if isinstance(prior, str) else dict(zip(self.classes_.tolist(), prior, strict=True))

    def _adopt(self, tally: Tally, like: NDArray[Any] | None = None) -> None:
        classes = np.array(tally.schema.classes)
        self.classes_ = classes.astype(object) if like is not None and like.dtype.kind == "O" else classes
        names = [column.name for column in tally.schema.columns if column.kind != "pair"]
        self.n_features_in_ = len(names)
        if getattr(self, "_made_by", "") != "array":
            self.feature_names_in_ = np.array(names, dtype=object)
        self.model_ = Model(self._settings(tally.schema), tally)
        self.model_.log_prior  # noqa: B018  a bad prior is an error now

    def select(self, columns: Iterable[str]) -> Self:
        """Return the model of some columns only, uncalibrated; nothing is counted again.

        Parameters
        ----------
        columns : iterable of str

        Returns
        -------
        NaiveBayes
        """
        check_is_fitted(self)
        self._refuse_components("select")
        if isinstance(columns, str):
            raise SettingError(f"select takes a list of columns: [{columns!r}]")
        smaller = clone(self).set_params(calibration=None)  # it was fitted to the evidence of all columns
        vars(smaller).update(self._remembered())
        names = set(columns := list(columns))
        for option in ("kind", "family", "missing", "alpha", "tokens"):
            given = getattr(self, option)
            if isinstance(given, Mapping):
                setattr(smaller, option, {name: value for name, value in given.items() if str(name) in names})
        if hasattr(self, "alpha_"):
            smaller.alpha_ = self.alpha_
        pairs = [c.name for c in self.schema_.columns if c.parts and {part.name for part in c.parts} <= names]
        smaller._adopt(self.tally_.select([*columns, *pairs]), like=self.classes_)
        return smaller

    def blank(self) -> Self:
        """Return an estimator that reads tables as this one does and has learned nothing yet.

        What each column is, its bins, the pairs and the weights are kept, so that rows counted elsewhere with
        `partial_fit` can be added to this one.

        Returns
        -------
        NaiveBayes
        """
        check_is_fitted(self)
        other = clone(self)
        vars(other).update(self._remembered())
        other._adopt(self.tally_ * 0.0, like=self.classes_)
        return other

    def _remembered_with(self, other: Self) -> dict[str, Any]:
        mine, theirs = getattr(self, "_plan", None), getattr(other, "_plan", None)
        if mine is None and theirs is None:
            return self._remembered()
        if mine is None or theirs is None or not mine.same_reading(theirs):
            raise SettingError(
                "the two models were fitted apart and read their columns differently, so their counts do not add up; "
                "count the second table as the first was: first.blank().partial_fit(…), or use classical=True"
            )
        shares = float(self.class_count_.sum()), float(other.class_count_.sum())
        return {**self._remembered(), "_plan": mean_of(mine, theirs, *shares)}

    # ------------------------------------------------------------------------------------------ choosing

    def _choose_smoothing(self, batch: Rows) -> None:
        if (
            isinstance(self.alpha, str)
            and "categorical" in self.model_.settings.families
            and not hasattr(self, "alpha_")
        ):
            self.alpha_ = best_alpha(self.model_, "categorical", batch, self.n_jobs)
            self.model_ = with_alpha(self.model_, "categorical", self.alpha_)

    def _calibrate_on(self, batch: Rows) -> None:
        if self.calibration is None:
            return
        self._refuse_components("calibration")
        if isinstance(batch, TableBatch):  # the plan may read the columns otherwise than they were first taken
            batch = replace(batch, schema=self.schema_, places=self._places(self.schema_))
        rows = thinned(batch, MOST_ROWS)
        assert rows.labels is not None
        assert rows.labels.codes is not None
        raw = self.model_.leave_one_out(rows, self.n_jobs)
        codes, weight = rows.labels.codes, rows.labels.weight
        self._calibration = calibration.fit(self.calibration, raw, codes, weight)
        self.model_ = replace(self.model_, settings=replace(self.model_.settings, calibration=self._calibration))
        honest = self._calibration.apply(raw)
        before, after = (score(each, codes, self.schema_.classes, weight, "leave-one-out") for each in (raw, honest))
        self.calibration_ = CalibrationReport(before, after)

    def _forget(self) -> None:
        super()._forget()
        for name in ("_calibration", "_made_by", "_target", "_plan"):
            if hasattr(self, name):
                delattr(self, name)

    # ------------------------------------------------------------------------------------------ reading the model

    def _linear(self) -> tuple[Array, Array]:
        raise NotAvailableError("a mixed table has no single linear form; read the evidence with explain")

    @classmethod
    def from_tally(cls, tally: Tally, **params: Any) -> Self:
        """Make a fitted estimator from a tally of a mixed table.

        Parameters
        ----------
        tally : Tally
        **params
            Parameters of the estimator.

        Returns
        -------
        NaiveBayes
        """
        estimator = cls(**params)
        estimator._validate_params()
        estimator._refuse_auto("a tally alone")
        if set(tally.blocks) - set(estimator._overrides().places(tally.schema)):
            estimator._plan = Plan.of_tally(tally)
        estimator._adopt(tally)
        return estimator

    def _refuse_auto(self, of: str) -> None:
        super()._refuse_auto(of)
        if self.calibration is not None:
            raise SettingError(f"calibration is fitted to rows, not to {of}; set calibration=None")
