"""Clusters of an unlabelled table."""

from __future__ import annotations

import os
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin, DensityMixin, clone
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import _num_samples, check_is_fitted

from tallybayes import storage
from tallybayes.core.batch import Array, Batch, Labels, Rows
from tallybayes.core.model import Model
from tallybayes.core.provenance import Provenance, Steps
from tallybayes.core.schema import plural
from tallybayes.core.settings import Settings
from tallybayes.data.frames import Table, read_table
from tallybayes.data.sources import Source
from tallybayes.errors import DataError, NotAvailableError, SettingError
from tallybayes.estimators._checks import generator, unchanged_on_error
from tallybayes.estimators._fitted import Fitted
from tallybayes.estimators._saving import saved_of
from tallybayes.estimators.mixed import NaiveBayes
from tallybayes.learning import em
from tallybayes.learning import mixtures as components
from tallybayes.learning.learn import learn


class NaiveBayesMixture(DensityMixin, ClusterMixin, BaseEstimator):
    """Clusters of a table as it is: a Naive Bayes model with unknown classes (latent class analysis).

    Each cluster is a class of a `NaiveBayes` model, learned by expectation-maximisation. Numbers, categories,
    booleans and counts are taken together, missing values are no evidence, and all that reads a Naive Bayes model reads
    the clusters: see `classifier_`.

    Parameters
    ----------
    n_components : int or "auto", default=2
        Number of clusters; "auto" takes the one of the least BIC.
    estimator : NaiveBayes or one of the estimators for matrices, optional
        How columns are read and smoothed. ``NaiveBayes(var_smoothing=1e-6)`` if not given.
    init : {"k-means++", "random"} or array-like of shape (n_samples, n_components), default="k-means++"
        Where to begin: around rows that lie far apart, at random shares, or at given ones.
    n_init : int, default=3
        Starts, of which the likeliest end counts.
    max_components : int, default=10
        The most that "auto" tries.
    max_iter : int, default=200
        Most steps of a start.
    tol : float, default=1e-4
        The steps end when one gains less in log likelihood a row.
    random_state : int, RandomState instance or None, default=None
    warm_start : bool, default=False
        Begin with the clusters of the last fit.
    verbose : int, default=0
        Print how each start ended.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each training row; cluster 0 is the heaviest.
    weights_ : ndarray of shape (n_components_,)
        Share of each cluster.
    n_components_ : int
    bic_path_ : dict
        BIC of each number of clusters that "auto" tried.
    classifier_ : estimator
        The clusters as the classes of an ordinary classifier: it explains, samples and shows its schema.
    model_ : Model
    n_iter_, converged_ : int and bool
        Steps of the best start, and whether they ended by themselves.
    log_likelihood_path_ : ndarray of shape (n_iter_,)
        Penalised log likelihood after each of them; it never falls.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    Examples
    --------
    >>> from tallybayes import NaiveBayesMixture
    >>> guests = {"age": [21, 23, 22, 64, 61, None], "meal": ["pizza", "pizza", "pasta", "soup", "soup", "soup"]}
    >>> NaiveBayesMixture(2, random_state=0).fit_predict(guests)
    array([0, 0, 0, 1, 1, 1])
    """

    model_: Model

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "estimator": [HasMethods(["fit", "predict"]), None],
        "init": [StrOptions({"k-means++", "random"}), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_components": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_components: int | Literal["auto"] = 2,
        *,
        estimator: Fitted | None = None,
        init: Literal["k-means++", "random"] | ArrayLike = "k-means++",
        n_init: int = 3,
        max_components: int = 10,
        max_iter: int = 200,
        tol: float = 1e-4,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.estimator = estimator
        self.init = init
        self.n_init = n_init
        self.max_components = max_components
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose

    # ------------------------------------------------------------------------------------------ learning

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : table or matrix
            What the estimator reads.
        y : None
            Not used.
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts; 1 if not given.

        Returns
        -------
        self : object
        """
        with unchanged_on_error(self):
            self._validate_params()
            reader, rows, settings, source = self._read(X, sample_weight)
            rng = generator(self.random_state)
            found = self._found(settings, rows, rng)
            self.model_ = self._numbered(components.in_order(found.model, rows), found, source)
            reader._keep(self.model_)
            self.classifier_ = reader
            self._describe()
            self.labels_ = self.model_.predict(replace(rows, schema=self.model_.schema), reader.n_jobs)
        return self

    def _describe(self) -> None:
        """The attributes that the model and its classifier show."""
        reader, steps = self.classifier_, self.model_.provenance.steps
        assert steps is not None
        self.n_components_, self.n_features_in_ = self.model_.n_classes, reader.n_features_in_
        self.n_iter_, self.converged_, self.log_likelihood_path_ = steps.n_iter, steps.converged, np.array(steps.path)
        if "feature_names_in_" in vars(reader):
            self.feature_names_in_ = reader.feature_names_in_

    def _numbered(self, model: Model, found: em.Learned, source: Source) -> Model:
        """The model with how it came about: every class was guessed."""
        facts, steps = source.facts, Steps(found.n_iter, found.converged, found.log_likelihood_path)
        return replace(model, provenance=Provenance(None, 0, 0, "<i8", facts.made_by, facts.named, steps))

    def _read(self, X: Any, weight: Any) -> tuple[Fitted, Batch, Settings, Source]:
        """The estimator, the rows as it reads them and how they are counted."""
        reader = NaiveBayes(var_smoothing=1e-6) if self.estimator is None else clone(self.estimator)
        if not isinstance(reader, Fitted):
            raise SettingError(f"estimator must be one of tallybayes' classifiers, not {type(reader).__name__}")
        reader._validate_params()
        X = read_table(X) if isinstance(reader, NaiveBayes) else X
        n = X.n_rows if isinstance(X, Table) else _num_samples(X)
        source = reader._source(X, np.zeros(n, dtype=np.int64), weight)
        options = reader._options()
        options.refuse_choices("rows without labels")
        model = learn(source, options=options)  # as if all were one class: a bad cell or setting is an error here
        batch = source.all_rows(model.schema, model.tally.places)
        rows = batch.rows(0, batch.n_rows)
        try:
            model.log_base(rows.rows(0, 1))
        except NotAvailableError as error:
            raise SettingError(f"{type(reader).__name__} has no likelihood, so it finds no clusters: {error}") from None
        assert rows.labels is not None
        labels = Labels.hard(np.full(n, em.UNKNOWN), rows.labels.weight)
        return reader, replace(rows, labels=labels), model.settings, source

    def _found(self, settings: Settings, rows: Batch, rng: np.random.Generator) -> em.Learned:
        """The likeliest clusters, of the given number or of the number with the least BIC."""
        assert rows.labels is not None
        counted = int((rows.labels.weight > 0).sum())
        if not counted:
            raise DataError("Sample weights must contain at least one non-zero number.")
        if self.n_components != "auto":
            if self.n_components > counted:
                raise DataError(f"{plural(self.n_components, 'component')} for {plural(counted, 'row')} that count")
            return self._best_of(settings, rows, int(self.n_components), rng)
        if not isinstance(self.init, str):
            raise SettingError(
                "given shares in init fix the number of components; n_components='auto' needs a name there"
            )
        found: dict[int, em.Learned] = {}
        self.bic_path_: dict[int, float] = {}
        for n in range(1, min(int(self.max_components), counted) + 1):
            found[n] = self._best_of(settings, rows, n, rng)
            self.bic_path_[n] = self._criterion(found[n].model, rows, np.log(rows.labels.weight.sum()))
            best = min(self.bic_path_, key=self.bic_path_.__getitem__)
            if n >= best + 2:  # two more have not made it better
                break
        return found[best]

    def _best_of(self, settings: Settings, rows: Batch, n: int, rng: np.random.Generator) -> em.Learned:
        runs = [self._run(replace(start, settings=settings), rows) for start in self._starts(settings, rows, n, rng)]
        return max(runs, key=lambda run: run.log_likelihood_path[-1])

    def _starts(self, settings: Settings, rows: Batch, n: int, rng: np.random.Generator) -> list[Model]:
        if self.warm_start and "model_" in vars(self) and self.model_.n_classes == n:
            before = self.model_.tally
            if [c.name for c in before.schema.columns] == [c.name for c in rows.schema.columns]:
                return [Model(settings, before)]
        if isinstance(self.init, str):
            return [
                components.start(settings, rows, n, self.init, rng) for _ in range(int(self.n_init) if n > 1 else 1)
            ]
        share = np.asarray(self.init, dtype=np.float64)
        if share.shape != (rows.n_rows, n) or not np.all(share >= 0) or not np.isfinite(share).all():
            raise DataError(
                f"init must be shares of at least 0 of the shape {(rows.n_rows, n)}, got the shape {share.shape}"
            )
        assert rows.labels is not None
        return [components.of_shares(settings, rows, tuple(range(n)), share * rows.labels.weight[:, None])]

    def _run(self, start: Model, rows: Batch) -> em.Learned:
        """Climb from one start; components that lost their rows get another chance."""
        steps: Any = {"max_iter": int(self.max_iter), "tol": float(self.tol)}
        found = em.learn(start, rows, **steps)
        for _ in range(start.n_classes):
            again = components.revived(found.model, rows)
            retry = None if again is None else em.learn(again, rows, **steps)
            if retry is None or retry.log_likelihood_path[-1] <= found.log_likelihood_path[-1]:
                break
            found = retry
        if self.verbose:
            print(f"[{type(self).__name__}] {plural(start.n_classes, 'component')}: {found}", flush=True)
        return found

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted clusters to a file, whole or not at all; `tallybayes.load` reads it.

        Parameters
        ----------
        path : path
            Any name; ``.tally`` is a good ending.
        """
        check_is_fitted(self)
        saved, reader = saved_of(self), saved_of(self.classifier_)
        storage.write(self.model_, path, replace(saved, fitted={**saved.fitted, "classifier_": reader}))

    # ------------------------------------------------------------------------------------------ predicting

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest cluster of each row.

        Parameters
        ----------
        X : table or matrix

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self.classifier_.predict(X)

    def predict_proba(self, X: Any) -> Array:
        """Return P(cluster | x) of each row.

        Parameters
        ----------
        X : table or matrix

        Returns
        -------
        ndarray of shape (n_samples, n_components_)
        """
        check_is_fitted(self)
        return self.classifier_.predict_proba(X)

    def score_samples(self, X: Any) -> Array:
        """Return log P(x) of each row.

        Parameters
        ----------
        X : table or matrix

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self.classifier_.score_samples(X)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean of log P(x).

        Parameters
        ----------
        X : table or matrix
        y : None
            Not used.

        Returns
        -------
        float
        """
        return float(np.mean(self.score_samples(X)))

    def bic(self, X: Any) -> float:
        """Return the Bayesian information criterion, −2 log P(X) + p log n; the lower the better.

        Parameters
        ----------
        X : table or matrix

        Returns
        -------
        float
        """
        evidence = self.score_samples(X)
        return float(-2.0 * evidence.sum() + self.model_.n_parameters * np.log(len(evidence)))

    def aic(self, X: Any) -> float:
        """Return Akaike's information criterion, −2 log P(X) + 2 p; the lower the better.

        Parameters
        ----------
        X : table or matrix

        Returns
        -------
        float
        """
        return float(-2.0 * self.score_samples(X).sum() + 2.0 * self.model_.n_parameters)

    def _criterion(self, model: Model, rows: Rows, price: float) -> float:
        assert rows.labels is not None
        evidence = model.log_evidence(rows)
        return float(-2.0 * (rows.labels.weight * evidence).sum() + model.n_parameters * price)

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Any, NDArray[Any]]:
        """Draw rows from the mixture.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, RandomState instance or None, default=None

        Returns
        -------
        X : table or matrix
            In what the training rows came in.
        y : ndarray of shape (n_samples,)
            The cluster of each.
        """
        check_is_fitted(self)
        return self.classifier_.sample(n_samples, random_state)

    @property
    def weights_(self) -> Array:
        """Share of each cluster, shape (n_components_,)."""
        return np.exp(self.model_.log_prior)

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        reader = NaiveBayes() if self.estimator is None else self.estimator
        tags.input_tags = reader.__sklearn_tags__().input_tags
        return tags
