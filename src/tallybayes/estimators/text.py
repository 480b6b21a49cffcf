"""Naive Bayes for texts: a list of strings in, classes out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from tallybayes.core.class_weights import ClassWeight
from tallybayes.core.settings import Prior
from tallybayes.core.tokens import USUAL, Tokens, Words
from tallybayes.data.frames import Table
from tallybayes.data.labels import is_missing, objects
from tallybayes.data.values import ArrayValues, SeriesValues, Values
from tallybayes.errors import DataError, row_number
from tallybayes.estimators._fitted import Fitted
from tallybayes.estimators._tables import TableNB
from tallybayes.families import FAMILIES
from tallybayes.learning.options import EM, Options, Unlabelled, Weights

TEXT = "text"  # the name of the only column
OF_TEXT = {name for name, family in FAMILIES.items() if "text" in family.reads}
OF_TOKENS: dict[str, list[Any]] = {  # parameters of what tokenises
    "words": [StrOptions({"text", "unicode", "sklearn", "lines"})],
    "lower": ["boolean"],
    "characters": [tuple, list, None],
    "stop_words": ["array-like"],
    "min_count": [Interval(Integral, 1, None, closed="left")],
    "max_features": [Interval(Integral, 1, None, closed="left"), None],
    "hashed": [Interval(Integral, 1, 30, closed="both"), None],
}


class TextNB(TableNB):
    """Naive Bayes for documents: takes strings as they are, and counts their words.

    The same as `NaiveBayes` on a table of a single column of text.

    Parameters
    ----------
    family : {"complement", "multinomial", "bernoulli"}, optional
        What is counted: the words of all other classes; how often words occur; whether they occur, absence included.
        The usual one is "complement"; with ``unlabelled="em"``, which needs a likelihood, it
        is "multinomial" on plain counts of single words.
    alpha : float, optional
        Pseudocount of every word. If not given, `fit` takes the one of a few that predicts held-out texts best; where
        there are too few texts, and in a stream, it is 0.1 with "complement" and 1 otherwise.
    weights : {"auto", "learn", "words"}, optional, default="auto"
        Learn a weight for every word ("words") or one for all of them ("learn"), and one of the prior, from held-out
        texts. "auto" keeps the weights of words, or the one weight, only if texts of other folds are predicted better
        beyond noise.
    words : {"text", "unicode", "sklearn", "lines"}, default="text"
        What a word is, see `Tokens`; "sklearn" tokenises as ``CountVectorizer`` does.
    lower : bool, default=True
        Fold case.
    ngrams : tuple of two int, optional
        Least and most words that are counted together; usually (1, 2).
    characters : tuple of two int, optional
        Count runs of so many characters inside the words, and not the words.
    stop_words : list of str, default=()
        Words to pass over.
    min_count : int, default=1
        Leave out words that occur less often.
    max_features : int, optional
        Keep only so many words, the most frequent.
    hashed : int, optional
        Number the words by a hash of so many bits instead of keeping them: memory is fixed.
    damped, scaled : bool, optional
        Count log(1 + n) for a word that occurs n times, and scale the counts of each text to length one, as is usual.
    tokens : {"auto"}, optional
        "auto" lets held-out texts choose `ngrams`, `scaled`, `family`, and runs of characters instead of words, where
        these are not given: on up to 1,000 texts first, and the best of those on all. The fit takes up to five times as
        long; `tried_` shows what was compared. If nothing is given of how texts are tokenised,
        and they are few enough for it to take less than the fit once more, `scaled` is chosen.
    idf : bool, default=False
        Give words that are in few texts a larger weight. Other weights are not learned then, and figures are by folds.
    class_weight : {"balanced"} or mapping of class to weight, optional
        How many times the rows of a class count, as scikit-learn has it: the same as `sample_weight` of each row.
        "balanced" makes all classes weigh the same. Performance is measured on the rows as they came.
    prior : {"empirical", "uniform"}, mapping of class to probability, or list, default="empirical"
        P(y); a list is in the order of `classes_`.
    prior_alpha : float, default=0.0
        Pseudocount of every class in the empirical prior.
    n_jobs : int, optional
        Threads; None takes all cores for large inputs.
    verbose : int, default=0
        Whether `fit` shows a progress bar with the name of the phase; only where the standard error is a terminal.
    unlabelled : {"error", "ignore", "em"}, default="error"
        What to do with a text that has no label (None, NaN, −1 among integers): refuse it, leave it out, or learn it
        by expectation-maximisation.
    em : EM, optional
        How expectation-maximisation goes, as in `NaiveBayes`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    class_count_ : ndarray of shape (n_classes,)
    vocabulary_ : Vocabulary or range
        The words that are counted, in order; with `hashed`, their numbers.
    tokens_ : Tokens
        How texts are tokenised.
    tried_ : dict of str to float
        The ways to read texts that were compared, and the mean loss of held-out texts by each, the least first.
    schema_, evaluation_, model_, tally_
        As in `NaiveBayes`.

    Examples
    --------
    >>> from tallybayes import TextNB
    >>> model = TextNB().fit(["win cash now", "lunch at noon?", "cash prize"], ["spam", "ham", "spam"])
    >>> model.predict(["free cash", "lunch"])
    array(['spam', 'ham'], dtype='<U4')
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Fitted._shared_constraints,
        **OF_TOKENS,
        "family": [StrOptions(OF_TEXT), None],
        "alpha": [Interval(Real, 0, None, closed="left"), None],
        "weights": [StrOptions({"auto", "learn", "words"}), None],
        "prior": [StrOptions({"empirical", "uniform"}), Mapping, "array-like"],
        "prior_alpha": [Interval(Real, 0, None, closed="left")],
        "ngrams": [tuple, list, None],
        "damped": ["boolean", None],
        "scaled": ["boolean", None],
        "tokens": [StrOptions({"auto"}), None],
        "idf": ["boolean"],
        "class_weight": [StrOptions({"balanced"}), Mapping, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        family: Literal["complement", "multinomial", "bernoulli"] | None = None,
        alpha: float | None = None,
        weights: Weights = "auto",
        words: Words = "text",
        lower: bool = True,
        ngrams: tuple[int, int] | None = None,
        characters: tuple[int, int] | None = None,
        stop_words: Sequence[str] = (),
        min_count: int = 1,
        max_features: int | None = None,
        hashed: int | None = None,
        damped: bool | None = None,
        scaled: bool | None = None,
        tokens: Literal["auto"] | None = None,
        idf: bool = False,
        class_weight: ClassWeight = None,
        prior: Prior | Sequence[float] = "empirical",
        prior_alpha: float = 0.0,
        n_jobs: int | None = None,
        verbose: int = 0,
        unlabelled: Unlabelled = "error",
        em: EM | None = None,
    ) -> None:
        self.family = family
        self.alpha = alpha
        self.weights = weights
        self.words = words
        self.lower = lower
        self.ngrams = ngrams
        self.characters = characters
        self.stop_words = stop_words
        self.min_count = min_count
        self.max_features = max_features
        self.hashed = hashed
        self.damped = damped
        self.scaled = scaled
        self.tokens = tokens
        self.idf = idf
        self.class_weight = class_weight
        self.prior = prior
        self.prior_alpha = prior_alpha
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.unlabelled = unlabelled
        self.em = em

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn texts, forgetting everything learned before.

        Parameters
        ----------
        X : list of str, array or column of a frame
            None is a missing text: no evidence.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), optional
            How much each text counts; 1 if not given.

        Returns
        -------
        self : object
        """
        self._validate_params()
        return self._fit(self._source(X, y, sample_weight))

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more texts; new words and new classes are learned as they come.

        Parameters
        ----------
        X : list of str, array or column of a frame
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), optional
            Classes to expect.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self : object
        """
        self._validate_params()
        return self._partial_fit(X, y, classes, sample_weight)

    @property
    def tokens_(self) -> Tokens:
        """How texts are tokenised."""
        tokens = self.schema_.columns[0].tokens
        assert tokens is not None
        return tokens

    @property
    def tried_(self) -> dict[str, float]:
        """The ways to read texts that were compared, and the mean loss of held-out texts by each; the least first."""
        tried = self.model_.provenance.tried
        return dict(sorted(tried.items(), key=lambda item: item[1]))

    @property
    def vocabulary_(self) -> Any:
        """The words that are counted."""
        return self.schema_.columns[0].levels

    def _read(self, X: Any) -> Table:
        if isinstance(X, Table):
            return X
        values = text_values(X)
        return Table({TEXT: values}, len(values))

    def _options(self) -> Options:
        plain = self.unlabelled == "em"  # expectation-maximisation needs a likelihood
        usual = Tokens() if plain else USUAL
        tokens = tokens_of(self, usual)
        is_given = tokens != usual or (self.scaled, self.ngrams, self.tokens) != (None, None, None)
        return Options(
            kind={TEXT: "text"},
            class_weight=self.class_weight,
            family={TEXT: self.family or ("multinomial" if plain else "complement")},
            tokens=tokens if is_given else None,
            alpha=None if self.alpha is None else float(self.alpha),
            choose_tokens=self._chosen_tokens(),
            idf=bool(self.idf),
            weights=self.weights,
            max_pairs=0,
            prior=self.prior,
            prior_alpha=float(self.prior_alpha),
            unlabelled=self.unlabelled,
            em=self.em or EM(),
            n_jobs=self.n_jobs,
        )

    def _chosen_tokens(self) -> tuple[str, ...] | None:
        """What of the tokens held-out texts choose; None for the usual."""
        if self.tokens is None:
            return None
        is_free = self.characters is None and self.ngrams is None and self.words not in ("lines", "tags")
        free = {"scaled": self.scaled is None, "ngrams": is_free, "characters": is_free, "family": self.family is None}
        return tuple(name for name in free if free[name])

    def explain(self, row: Any, against: Any = None, *, interval: float | None = None) -> Any:
        """Return the evidence for the class of one text.

        Parameters
        ----------
        row : str
        against : class label, optional
            The class to compare with; the runner-up if not given.
        interval : float, optional
            The share of intervals that cover, such as 0.9.

        Returns
        -------
        Explanation
        """
        return super().explain(self._read([row]) if isinstance(row, (str, bytes)) else row, against, interval=interval)


def tokens_of(given: Any, usual: Tokens) -> Tokens:
    """How texts are tokenised by an estimator: as its parameters ask for, or as is usual."""
    # What is a token already, or part of a word, does not come in pairs.
    ngrams = (1, 1) if given.characters is not None or given.words == "lines" else usual.ngrams
    return Tokens(
        given.words,
        bool(given.lower),
        ngrams if given.ngrams is None else given.ngrams,
        given.characters,
        tuple(given.stop_words),
        int(given.min_count),
        given.max_features,
        given.hashed,
        usual.damped if given.damped is None else bool(given.damped),
        usual.scaled if given.scaled is None else bool(given.scaled),
    )


def text_values(documents: Any) -> Values:
    """Texts as a column: a list, an array or a column of a frame."""
    if isinstance(documents, (str, bytes)):
        raise DataError("expected a list of texts, got a single one; pass [text]")
    if not isinstance(documents, Iterable) and not hasattr(documents, "__len__"):
        raise DataError(f"expected a list of texts, got {documents!r}")
    if isinstance(documents, Mapping) or getattr(documents, "ndim", 1) != 1:
        raise DataError("expected a list of texts, got a table; pass one of its columns, or use NaiveBayes")
    if isinstance(documents, list) and documents and set(map(type, documents)) == {str}:
        return ArrayValues.of_texts(documents)
    values = _column(documents)
    if values.storage not in ("text", "empty") or values.are_lists:
        row, bad = next(
            (i, v) for i, v in enumerate(documents) if not isinstance(v, (str, bytes)) and not is_missing(v)
        )
        raise DataError(
            f"expected a list of texts, got {bad!r} (row {row_number(row)}); convert what is no text to strings"
        )
    return values


def _column(documents: Any) -> Values:
    try:
        return SeriesValues(nw.from_native(documents, series_only=True))
    except TypeError:  # no column of a frame
        return ArrayValues(
            documents if isinstance(documents, np.ndarray) and documents.dtype.kind in "UT" else _strings(documents)
        )


def _strings(documents: Any) -> NDArray[Any]:
    """The texts as an array of objects; those in bytes are taken for UTF-8, and what is none is no word."""
    return objects([each.decode("utf-8", "replace") if isinstance(each, bytes) else each for each in documents])
