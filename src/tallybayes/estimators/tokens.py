"""Words as columns, for other estimators: the tokeniser of `TextNB` as a scikit-learn transformer."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from tallybayes.core.batch import Documents
from tallybayes.core.tokens import Tokens, Vocabulary, Words
from tallybayes.data.values import Values
from tallybayes.data.vocabularies import nothing
from tallybayes.errors import DataError, NotAvailableError
from tallybayes.estimators.text import OF_TOKENS, text_values, tokens_of


class CountTokens(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Turn texts into a sparse matrix of how often each word occurs in each.

    With ``words="sklearn"`` the words, their order and the counts are those of scikit-learn's ``CountVectorizer``.
    The output is sparse, so `set_output` has nothing to offer; a missing text is a row of zeros.

    Parameters
    ----------
    words, lower, ngrams, characters, stop_words, min_count, max_features, hashed, damped, scaled
        How texts are tokenised, as in `Tokens`.
    vocabulary : list of str, optional
        The words to count, where they are known beforehand; they stand in alphabetical order, each once.
    dtype : dtype, optional
        Of the matrix; int64 for counts, float64 where they are damped or scaled.
    n_jobs : int, optional
        Threads; None takes all cores for large inputs.

    Attributes
    ----------
    words_ : Vocabulary or range
        The words in the order of the columns; with `hashed`, numbers.
    vocabulary_ : dict of str to int
        The column of each word.

    Examples
    --------
    >>> from tallybayes import CountTokens
    >>> counter = CountTokens()
    >>> counter.fit_transform(["To be or not to be", "that is it"]).toarray()
    array([[2, 0, 0, 1, 1, 0, 2],
           [0, 1, 1, 0, 0, 1, 0]])
    >>> counter.get_feature_names_out()
    array(['be', 'is', 'it', 'not', 'or', 'that', 'to'], dtype=object)
    """

    words_: Vocabulary | range

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OF_TOKENS,
        "ngrams": [tuple, list],
        "damped": ["boolean"],
        "scaled": ["boolean"],
        "vocabulary": ["array-like", None],
        "dtype": "no_validation",  # type: ignore[dict-item]
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        *,
        words: Words = "text",
        lower: bool = True,
        ngrams: tuple[int, int] = (1, 1),
        characters: tuple[int, int] | None = None,
        stop_words: Any = (),
        min_count: int = 1,
        max_features: int | None = None,
        hashed: int | None = None,
        damped: bool = False,
        scaled: bool = False,
        vocabulary: Any = None,
        dtype: Any = None,
        n_jobs: int | None = None,
    ) -> None:
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
        self.vocabulary = vocabulary
        self.dtype = dtype
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the words.

        Parameters
        ----------
        X : list of str, array or column of a frame
        y : ignored

        Returns
        -------
        self : object
        """
        self._learn(text_values(X))
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn the words and count them; the texts are tokenised once.

        Parameters
        ----------
        X : list of str, array or column of a frame
        y : ignored

        Returns
        -------
        scipy.sparse.csr_matrix of shape (n_samples, n_words)
        """
        values = text_values(X)
        self._learn(values)
        return self._counts(values)

    def transform(self, X: Any) -> Any:
        """Count the words of texts; words that were not learned are left out.

        Parameters
        ----------
        X : list of str, array or column of a frame

        Returns
        -------
        scipy.sparse.csr_matrix of shape (n_samples, n_words)
        """
        check_is_fitted(self)
        values = text_values(X)
        if values.storage == "text":
            values.learned_words(tokens_of(self, Tokens()), self.n_jobs)  # on all cores
        return self._counts(values)

    def inverse_transform(self, X: Any) -> list[NDArray[Any]]:
        """Return the words that each row has.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_words)

        Returns
        -------
        list of ndarray of str
        """
        names, rows = self.get_feature_names_out(), sparse.csr_array(X)
        if rows.shape[1] != len(names):
            raise DataError(f"expected {len(names):,} columns, one for each word, got {rows.shape[1]:,}")
        return [names[rows.indices[a:b]] for a, b in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the words in the order of the columns.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        if not isinstance(self.words_, Vocabulary):
            raise NotAvailableError("words that are hashed are not known by name; use hashed=None")
        return np.array(list(self.words_), dtype=object)

    @property
    def vocabulary_(self) -> dict[str, int]:
        """The column of each word."""
        return {word: p for p, word in enumerate(self.get_feature_names_out())}

    def _learn(self, values: Values) -> None:
        self._validate_params()
        tokens = tokens_of(self, Tokens())
        if self.vocabulary is not None:
            self.words_ = Vocabulary.of(list(self.vocabulary))
        elif values.storage == "empty":
            self.words_ = nothing(tokens)
        else:
            self.words_ = values.learned_words(tokens, self.n_jobs).chosen(tokens)

    def _counts(self, values: Values) -> Any:
        tokens, n = tokens_of(self, Tokens()), len(values)
        empty = values.storage == "empty"
        x = Documents.none(n, len(self.words_)) if empty else values.words(tokens, self.words_, 0, n)
        dtype = self.dtype or (np.float64 if tokens.damped or tokens.scaled else np.int64)
        return sparse.csr_matrix((x.data.astype(dtype, copy=False), x.column, x.start), shape=(n, len(self.words_)))

    def __sklearn_is_fitted__(self) -> bool:
        return "words_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags
