"""Naive Bayes for texts: a list of strings in, classes out."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from tallybayes.core.schema import Schema
from tallybayes.core.settings import Settings
from tallybayes.core.tokens import USUAL, Tokens
from tallybayes.data.columns import Overrides
from tallybayes.data.labels import is_hole
from tallybayes.data.tables import Table
from tallybayes.data.values import ArrayValues, SeriesValues, Values
from tallybayes.errors import DataError
from tallybayes.estimators._base import BaseNB
from tallybayes.estimators.mixed import NaiveBayes
from tallybayes.families import FAMILIES

TEXT = "text"  # the name of the only column
OF_TEXT = tuple(name for name, family in FAMILIES.items() if "text" in family.reads)


class TextNB(NaiveBayes):
    """Naive Bayes for documents: takes strings as they are, and counts their words.

    The same as `NaiveBayes` on a table of a single column of text.

    Parameters
    ----------
    family : {"complement", "multinomial", "bernoulli"}, optional
        How words tell: by how unlike the words of all other classes they are; by how often they occur; by whether they
        occur, absence included. The usual one is "complement"; with ``unlabelled="em"``, which needs a likelihood, it
        is "multinomial" on plain counts of single words.
    alpha : float, optional
        Pseudocount of every word. If not given, `fit` takes the one of a few under which left-out texts are foretold
        best; where there are too few texts, and in a stream, it is 0.1 with "complement" and 1 otherwise.
    weights : {"auto", "learn", "words"}, optional, default="auto"
        Learn from left-out texts how much is to be believed of the words and of the prior, so that probabilities are
        honest; "auto" keeps the weights only if leave-one-out improves beyond noise. "words" learns a weight for every
        word: it takes longer and foretells better.
    words : {"unicode", "sklearn", "lines"}, default="unicode"
        What a word is, see `Tokens`; "sklearn" cuts as ``CountVectorizer`` does.
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
    idf : bool, default=False
        Words that are in few texts weigh more.
    prior : {"empirical", "uniform"} or mapping of class to probability, default="empirical"
        P(y).
    prior_alpha : float, default=0.0
        Pseudocount of every class in the empirical prior.
    n_jobs : int, optional
        Threads; None takes all cores for large inputs.
    unlabelled : {"error", "ignore", "em"}, default="error"
        What to do with a text that has no label (None, NaN, −1 among integers): refuse it, leave it out, or learn it
        by expectation-maximisation.
    unlabelled_weight : float or "auto", default=1.0
        How much an unlabelled text counts beside a labelled one.
    components_per_class, max_iter, tol, warm_start, keep_responsibilities, verbose
        As in `NaiveBayes`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    class_count_ : ndarray of shape (n_classes,)
    vocabulary_ : Vocabulary or range
        The words that are counted, in order; with `hashed`, their numbers.
    schema_, model_, tally_
        As in `NaiveBayes`.

    Examples
    --------
    >>> from tallybayes import TextNB
    >>> model = TextNB().fit(["win cash now", "lunch at noon?", "cash prize"], ["spam", "ham", "spam"])
    >>> model.predict(["free cash", "lunch"])
    array(['spam', 'ham'], dtype='<U4')
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: NaiveBayes._parameter_constraints[name]
            for name in (*NaiveBayes._em_constraints, "prior", "prior_alpha", "n_jobs")
        },
        "family": [StrOptions(set(OF_TEXT)), None],
        "alpha": [NaiveBayes._parameter_constraints["alpha"][0], None],
        "weights": NaiveBayes._parameter_constraints["weights"],
        "words": [StrOptions({"unicode", "sklearn", "lines"})],
        "lower": ["boolean"],
        "ngrams": [tuple, list, None],
        "characters": [tuple, list, None],
        "stop_words": ["array-like"],
        "min_count": [Interval(Integral, 1, None, closed="left")],
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
        "hashed": [Interval(Integral, 1, 30, closed="both"), None],
        "damped": ["boolean", None],
        "scaled": ["boolean", None],
        "idf": ["boolean"],
    }

    # What a table of one column of text leaves nothing to say about.
    drop, missing, unseen, numeric, pairs, tokens = None, "ignore", "ignore", "auto", 0, None
    classical, variance, var_smoothing, calibration, decay, strict = False, "class", 0.0, None, 1.0, False

    def __init__(  # not that of NaiveBayes: its other parameters are for other columns
        self,
        *,
        family: str | None = None,
        alpha: float | None = None,
        weights: Any = "auto",
        words: Any = "unicode",
        lower: bool = True,
        ngrams: Any = None,
        characters: Any = None,
        stop_words: Any = (),
        min_count: int = 1,
        max_features: int | None = None,
        hashed: int | None = None,
        damped: bool | None = None,
        scaled: bool | None = None,
        idf: bool = False,
        prior: Any = "empirical",
        prior_alpha: float = 0.0,
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
        self.idf = idf
        self.prior = prior
        self.prior_alpha = prior_alpha
        self.n_jobs = n_jobs
        steps = max_iter, tol, warm_start, keep_responsibilities, verbose
        self._set_em(unlabelled, unlabelled_weight, components_per_class, *steps)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # type: ignore[override]
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
        return BaseNB.fit(self, self._read(X), y, sample_weight)

    @property
    def vocabulary_(self) -> Any:
        """The words that are counted."""
        return self.schema_.columns[0].levels

    def _read(self, X: Any) -> Table:
        if isinstance(X, Table):
            return X
        values = text_values(X)
        return Table({TEXT: values}, len(values))

    def _overrides(self) -> Overrides:
        usual = Tokens() if self._is_textbook else USUAL
        # What is a token already, or part of a word, does not come in pairs.
        ngrams = (1, 1) if self.characters is not None or self.words == "lines" else usual.ngrams
        tokens = Tokens(
            self.words,
            bool(self.lower),
            ngrams if self.ngrams is None else self.ngrams,
            self.characters,
            tuple(self.stop_words),
            int(self.min_count),
            self.max_features,
            self.hashed,
            usual.damped if self.damped is None else bool(self.damped),
            usual.scaled if self.scaled is None else bool(self.scaled),
        )
        family = self.family or ("multinomial" if self._is_textbook else "complement")
        return Overrides.of({TEXT: "text"}, {TEXT: family}, None, "ignore", None, tokens)

    def _base_settings(self, schema: Schema) -> Settings:
        (block,) = self._overrides().places(schema)
        name = block.split(":")[0]
        chosen: Any = FAMILIES[name]
        idf = {"idf": bool(self.idf)} if chosen.is_document else {}
        family = chosen(chosen.text_alpha if self.alpha is None else float(self.alpha), **idf)
        calibrated = getattr(self, "_calibration", None)
        return Settings({block: family}, self.prior, float(self.prior_alpha), calibrated)

    def explain(self, row: Any, against: Any = None) -> Any:
        """Return the evidence for the class of one text.

        Parameters
        ----------
        row : str
        against : class label, optional
            The class to compare with; the runner-up if not given.

        Returns
        -------
        Explanation
        """
        return super().explain(self._read([row]) if isinstance(row, (str, bytes)) else row, against)

    @classmethod
    def from_tally(cls, tally: Any, **params: Any) -> Self:
        """Make a fitted estimator from a tally of texts.

        Parameters
        ----------
        tally : Tally
        **params
            Parameters of the estimator.

        Returns
        -------
        TextNB
        """
        estimator = cls(**params)
        estimator._validate_params()
        if list(tally.blocks) != list(estimator._places(tally.schema)):
            raise DataError(f"a tally of {', '.join(tally.blocks)} is none of {estimator.family or 'complement'} texts")
        estimator._adopt(tally)
        return estimator


def text_values(documents: Any) -> Values:
    """Texts as a column: a list, an array or a column of a frame."""
    if isinstance(documents, (str, bytes)):
        raise DataError("expected a list of texts, got a single one; pass [text]")
    if isinstance(documents, Mapping) or getattr(documents, "ndim", 1) != 1:
        raise DataError("expected a list of texts, got a table; pass one of its columns, or use NaiveBayes")
    if isinstance(documents, list) and documents and set(map(type, documents)) == {str}:
        return ArrayValues.of_texts(documents)
    values = _column(documents)
    if values.storage not in ("text", "empty"):
        row, odd = next((i, v) for i, v in enumerate(documents) if not isinstance(v, (str, bytes)) and not is_hole(v))
        raise DataError(f"expected a list of texts, got {odd!r} (row {row}); convert what is no text to strings")
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
    found = [each.decode("utf-8", "replace") if isinstance(each, bytes) else each for each in documents]
    array = np.empty(len(found), dtype=object)
    array[:] = found
    return array
