"""Naive Bayes for tables of mixed columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from numbers import Real
from typing import Any, ClassVar, Literal, Self

from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from tallybayes.core.class_weights import ClassWeight
from tallybayes.core.schema import Kind
from tallybayes.core.settings import Prior
from tallybayes.core.tokens import Tokens
from tallybayes.data.opening import is_stored, open_source
from tallybayes.data.sources import Source
from tallybayes.errors import SettingError
from tallybayes.estimators._fitted import Fitted
from tallybayes.estimators._tables import TableNB
from tallybayes.learning.options import EM, Alpha, Missing, Options, Pairs, Unlabelled, Weights, check_values

OPTIONS = {field.name for field in fields(Options)}


class NaiveBayes(TableNB):
    """Naive Bayes for a table as it is: numbers, categories, booleans, counts and text, with missing values.

    Takes pandas, Polars and PyArrow frames, dicts of columns, lists of dicts and arrays. What each column is, is
    inferred, shown in `schema_` with the reason, and can be overridden. Columns are matched by name.

    Parameters
    ----------
    kind : mapping of column to str, optional
        What columns are, where the inference is wrong: "numeric", "category", "boolean", "count", "text", "date",
        "epoch" (a date in seconds or milliseconds since 1970) or "ignored".
    family : mapping of column to str, optional
        The distribution of columns, where another than the chosen one is wanted: the name of a family of
        `tallybayes.families` that reads columns of this kind, such as "gaussian", "hierarchical" or "poisson"; of text
        "multinomial", "bernoulli" or "complement".
    tokens : Tokens or mapping of column to Tokens, optional
        How text is tokenised.
    drop : list of str, optional
        Columns to leave out.
    missing : {"ignore", "level"} or mapping of column to these, default="ignore"
        Whether a missing category is no evidence or a level of its own. A missing number is never evidence.
    unseen : {"ignore", "smooth"}, default="ignore"
        Evidence of an unseen category: none, or the probability that the smoothing gives one level.
    min_count : float, default=0
        Levels of a smaller weight are rare and share one probability.
    alpha : float, mapping of column to float, or "auto", optional
        Pseudocount of every level; "auto" maximises the leave-one-out likelihood of the labels. Without it levels are
        smoothed towards their share of all rows, as strongly as leave-one-out prefers, column by column; with
        `classical` it is 1.
    numeric : str, default="auto"
        The distribution of numbers: the name of a family of numbers, such as "gaussian", "kernel", "binned",
        "lognormal" or "exponential"; "auto" takes for each column the one that predicts the classes best, by
        leave-one-out, and `schema_` shows it.
    weights : {"auto", "learn", "words"}, optional, default="auto"
        Learn a weight for each column's evidence, so that redundant columns are not counted twice. "auto" trusts
        weights, pairs, numbers taken together and corrections as far as rows that they were not learned from confirm
        them; "learn" takes weights and pairs as they are learned; "words" also learns a weight for each word of a text;
        None gives every column the weight one.
    pairs : {"auto"} or list of pairs of columns, default="auto"
        Columns that are also taken together, two at a time: those that are found to say more so, or the given ones.
    max_pairs : int, optional
        How many pairs may be found: 0 for none, at most two for each column by default.
    max_bins : int or mapping of column to int, optional
        How many bins a number, and how many groups of levels a category, may have; such columns are tables.
    monotone : mapping of column to 1, -1 or "auto", optional
        Numbers whose evidence for the second of two classes must not fall (1) or not rise (−1) as they grow; "auto"
        takes the direction that the rows have.
    readable : bool, default=False
        A model that fits on a page, such as `scorecard` needs: every column a table of at most six lines (`max_bins`),
        with a weight, and no pairs, corrections or numbers taken together.
    classical : bool, default=False
        The textbook model: Gaussian numbers, Laplace smoothing, no weights, no pairs.
    var_smoothing : float, default=1e-9
        Fraction of the largest variance of the numeric columns that is added to every variance.
    variance : {"class", "shared"}, default="class"
        A variance for each class, or one a column for all.
    class_weight : {"balanced"} or mapping of class to weight, optional
        How many times the rows of a class count, as scikit-learn has it: the same as `sample_weight` of each row.
        "balanced" makes all classes weigh the same. Performance is measured on the rows as they came.
    prior : {"empirical", "uniform"}, mapping of class to probability, or list, default="empirical"
        P(y); a list is in the order of `classes_`.
    prior_alpha : float, default=0.0
        Pseudocount of every class in the empirical prior.
    calibration : {"temperature", "isotonic"}, optional
        Calibrate the probabilities on the scores of rows that had no part in the model that scores them: leave-one-out
        of the textbook model, folds learned anew otherwise. No rows have to be set aside.
    decay : float, default=1.0
        What `partial_fit` multiplies everything known before with: below 1 the past fades.
    strict : bool, default=False
        Missing columns are an error, instead of missing values.
    n_jobs : int, optional
        Threads; None takes all cores for large inputs.
    verbose : int, default=0
        Whether `fit` shows a progress bar with the name of the phase; only where the standard error is a terminal.
    unlabelled : {"error", "ignore", "em"}, default="error"
        What to do with a row that has no label (None, NaN, −1 among integers): refuse it, leave it out, or learn it
        by expectation-maximisation. With "error" −1 is a label like any other. "em" makes the model the classical one.
    em : EM, optional
        How expectation-maximisation goes with ``unlabelled="em"``: ``EM(weight=0.5, max_iter=200)``.
    decimal : {".", ","}, optional
        The decimal mark of numbers that are written as text, where the values leave a doubt.
    dates : {"dmy", "mdy"}, optional
        Whether the day or the month comes first in dates such as 01/02/2024, where no value of the column decides.
    missing_values : list or mapping of column to list, optional
        Values that stand for a missing one, such as ``["?", 999]``.
    encoding : str, optional
        Encoding of CSV files, where it is not to be recognised.
    delimiter : str, optional
        What separates the fields of CSV files, where it is not to be recognised.

    Attributes
    ----------
    schema_ : Schema
        What each column is, and why.
    classes_ : ndarray of shape (n_classes,)
    class_count_ : ndarray of shape (n_classes,)
    alpha_ : float
        The chosen pseudocount, with ``alpha="auto"``.
    importance_ : dict of str to float
        Mean absolute evidence of each column, pair and block, in nats, the largest first.
    weights_ : EvidenceWeights or None
        The weight of each column's evidence.
    evaluation_ : Evaluation or None
        Performance on rows that had no part in the model, measured in `fit`; None with `classical` or after
        `with_prior`, `select` and adding models. It stays when rows are learned or unlearned later.
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
        **Fitted._shared_constraints,
        "decay": [Interval(Real, 0, 1, closed="right")],
        "strict": ["boolean"],
        "verbose": ["verbose"],
        "encoding": [str, None],
        "delimiter": [str, None],
    }

    def __init__(
        self,
        *,
        kind: Mapping[str, Kind] | None = None,
        family: Mapping[str, str] | None = None,
        tokens: Tokens | Mapping[str, Tokens] | None = None,
        drop: Sequence[str] | None = None,
        missing: Missing | Mapping[str, Missing] = "ignore",
        unseen: Literal["ignore", "smooth"] = "ignore",
        min_count: float = 0,
        alpha: Alpha = None,
        numeric: str = "auto",
        weights: Weights = "auto",
        pairs: Pairs = "auto",
        max_pairs: int | None = None,
        max_bins: int | Mapping[str, int] | None = None,
        monotone: Mapping[str, int | Literal["auto"]] | None = None,
        readable: bool = False,
        classical: bool = False,
        var_smoothing: float = 1e-9,
        variance: Literal["class", "shared"] = "class",
        class_weight: ClassWeight = None,
        prior: Prior | Sequence[float] = "empirical",
        prior_alpha: float = 0.0,
        calibration: Literal["temperature", "isotonic"] | None = None,
        decay: float = 1.0,
        strict: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        unlabelled: Unlabelled = "error",
        em: EM | None = None,
        decimal: Literal[".", ","] | None = None,
        dates: Literal["dmy", "mdy"] | None = None,
        missing_values: Sequence[Any] | Mapping[str, Sequence[Any]] | None = None,
        encoding: str | None = None,
        delimiter: str | None = None,
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
        self.max_pairs = max_pairs
        self.max_bins = max_bins
        self.monotone = monotone
        self.readable = readable
        self.classical = classical
        self.var_smoothing = var_smoothing
        self.variance = variance
        self.class_weight = class_weight
        self.prior = prior
        self.prior_alpha = prior_alpha
        self.calibration = calibration
        self.decay = decay
        self.strict = strict
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.unlabelled = unlabelled
        self.em = em
        self.decimal = decimal
        self.dates = dates
        self.missing_values = missing_values
        self.encoding = encoding
        self.delimiter = delimiter

    # ------------------------------------------------------------------------------------------ learning

    def _validate_params(self) -> None:
        super()._validate_params()
        check_values(vars(self))

    def _options(self) -> Options:
        given = {name: value for name, value in vars(self).items() if name in OPTIONS}
        return Options(**{name: value for name, value in given.items() if value is not None or name == "weights"})

    def _source(self, X: Any, y: Any, weight: Any) -> Source:
        if is_stored(X):
            how: dict[str, Any] = {"encoding": self.encoding, "delimiter": self.delimiter, "decimal": self.decimal}
            return open_source(X, y, weight, self.unlabelled, n_jobs=self.n_jobs, **how)
        return super()._source(X, y, weight)

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
            How much each row counts; 1 if not given. Or the name of the column of the table that holds it. A weight
            of two counts as the row twice; what folds choose differs a little, as two rows may be in two of them.
        target : str, optional
            Name of that column, where it reads better than ``y``.

        Returns
        -------
        self : object
        """
        self._validate_params()
        y = one_target(y, target)
        return self._fit(self._source(X, y, sample_weight))

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
        self._validate_params()
        return self._partial_fit(X, one_target(y, target), classes, sample_weight)

    def without_refinement(self) -> Self:
        """Return the same columns and families without pairs, weights, offsets and calibration.

        What is left is counted, not chosen to predict well: every factor is P(value | class).

        Returns
        -------
        estimator
        """
        check_is_fitted(self)
        return self._like(self.model_.without_refinement(), weights=None, pairs="auto", max_pairs=0, calibration=None)

    @property
    def alpha_(self) -> float:
        """The chosen pseudocount, with ``alpha="auto"``."""
        return self._chosen("alpha")


def one_target(y: Any, target: str | None) -> Any:
    """The labels or the name of their column, whichever way it was given."""
    if y is not None and target is not None:
        raise SettingError("pass either y or target, not both")
    return y if target is None else target
