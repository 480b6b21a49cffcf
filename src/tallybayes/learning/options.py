"""The options of learning: plain records, the same for Python, the command line and the service."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tallybayes.core.class_weights import ClassWeight
from tallybayes.core.family import Family
from tallybayes.core.schema import Kind
from tallybayes.core.settings import Prior
from tallybayes.core.tokens import USUAL, Tokens
from tallybayes.errors import SettingError
from tallybayes.families import numeric_families

if TYPE_CHECKING:
    from tallybayes.data.overrides import Overrides

Alpha = float | Mapping[str, float] | Literal["auto"] | None
Missing = Literal["ignore", "level"]
Pairs = Literal["auto"] | Sequence[tuple[str, str]]
Unlabelled = Literal["error", "ignore", "em"]
Weights = Literal["auto", "learn", "words"] | None

MOST_PAIRS = 100  # where no number is given
PAIRS_A_COLUMN = 2  # at most, so that a model can be read
READABLE_BINS = 6  # of a column of a model that fits on a page


def check_steps(tol: float, max_iter: int) -> None:
    """Refuse settings under which no step of expectation-maximisation could be taken."""
    if not (tol >= 0 and max_iter >= 1):
        raise SettingError(f"tol must be at least 0 and max_iter at least 1, not {tol!r} and {max_iter!r}")


@dataclass(frozen=True)
class EM:
    """How rows without a label are learned by expectation-maximisation.

    Parameters
    ----------
    weight : float or "auto"
        How much an unlabelled row counts beside a labelled one; "auto" takes what makes the labels of held-out rows
        likeliest.
    max_iter : int
        Most steps.
    tol : float
        The steps end when one gains less in log likelihood a row.
    warm_start : bool
        Begin with the model of the last fit instead of that of the labelled rows.
    keep_responsibilities : bool
        Keep `responsibilities_`, the share of each row that each class got.
    verbose : int
        Print every step.

    Examples
    --------
    >>> EM(weight=0.5)
    EM(weight=0.5, max_iter=100, tol=0.001, warm_start=False, keep_responsibilities=False, verbose=0)
    """

    weight: float | Literal["auto"] = 1.0
    max_iter: int = 100
    tol: float = 1e-3
    warm_start: bool = False
    keep_responsibilities: bool = False
    verbose: int = 0

    def __post_init__(self) -> None:
        if not (self.weight == "auto" or (not isinstance(self.weight, str) and self.weight >= 0)):
            raise SettingError(f"weight of EM must be a number of at least 0 or 'auto', not {self.weight!r}")
        check_steps(self.tol, self.max_iter)


@dataclass(frozen=True)
class Options:
    """How a table is to be learned; the parameters of `NaiveBayes`, whose docstring explains them.

    ``stream`` is for the first of many batches: the kind of a column follows from its type alone, and the model is the
    textbook one, so that any split of the rows gives the same. ``matrix`` is the family of all columns of a matrix,
    where the rows are one; ``choose_length`` chooses the length of its documents, ``idf`` belongs to texts.
    ``choose_tokens`` names what held-out loss chooses of how a table of nothing but one text is tokenised ("scaled",
    "ngrams", "characters"); None is the usual: the scale, where no tokens are given and the texts are few enough.
    ``progress`` is called with the name of each phase, and the share that is done where it is known.
    """

    kind: Mapping[str, Kind] = field(default_factory=dict)
    family: Mapping[str, str] = field(default_factory=dict)
    tokens: Tokens | Mapping[str, Tokens] | None = None
    drop: Sequence[str] = ()
    missing: Missing | Mapping[str, Missing] = "ignore"
    unseen: Literal["ignore", "smooth"] = "ignore"
    min_count: float = 0.0
    alpha: Alpha = None
    numeric: str = "auto"
    weights: Weights = "auto"
    pairs: Pairs = "auto"
    max_pairs: int | None = None
    max_bins: int | Mapping[str, int] | None = None
    monotone: Mapping[str, int | Literal["auto"]] = field(default_factory=dict)
    readable: bool = False
    classical: bool = False
    var_smoothing: float = 1e-9
    variance: Literal["class", "shared"] = "class"
    class_weight: ClassWeight = None
    prior: Prior | Sequence[float] = "empirical"
    prior_alpha: float = 0.0
    calibration: Literal["temperature", "isotonic"] | None = None
    unlabelled: Unlabelled = "error"
    em: EM = EM()
    idf: bool = False
    choose_tokens: tuple[str, ...] | None = None
    choose_length: bool = False
    matrix: Family | None = None
    stream: bool = False
    n_jobs: int | None = None
    decimal: Literal[".", ","] | None = None
    dates: Literal["dmy", "mdy"] | None = None
    missing_values: Sequence[Any] | Mapping[str, Sequence[Any]] = ()
    encoding: str | None = None
    delimiter: str | None = None
    progress: Callable[[str, float | None], None] | None = field(default=None, compare=False, repr=False)

    def report(self, phase: str, share: float | None = None) -> None:
        """Name what begins now, and the share of learning that is done, to whoever shows progress."""
        if self.progress is not None:
            self.progress(phase, share)

    @property
    def is_textbook(self) -> bool:
        """Whether the evidence of every column is to be a likelihood, as expectation-maximisation needs it."""
        return bool(self.classical or self.stream or self.matrix is not None or self.unlabelled == "em")

    @property
    def given(self) -> dict[str, Any]:
        """The options that differ from the defaults, as plain values; threads make no difference to a model."""
        usual = Options()
        given = {
            f.name: _plain(getattr(self, f.name))
            for f in fields(self)
            if f.name not in ("n_jobs", "encoding", "delimiter", "progress")
        }
        return {name: value for name, value in given.items() if value != _plain(getattr(usual, name))}

    @cached_property
    def overrides(self) -> Overrides:
        """What is given for single columns."""
        from tallybayes.data.overrides import Overrides  # it reads frames, which model files need not

        # A stream has no likelihood to keep to, but its words are the usual ones from the first batch on.
        plain = self.classical or self.unlabelled == "em"
        texts = (Tokens(), "multinomial") if plain else (USUAL, "complement")
        found = Overrides.of(self.kind, self.family, self.drop, self.missing, self.alpha, self.tokens, *texts)
        return replace(found, decimal=self.decimal, dates=self.dates, missing_values=self._missing_values)

    @property
    def _missing_values(self) -> Any:
        if isinstance(self.missing_values, Mapping):
            return {str(name): tuple(values) for name, values in self.missing_values.items()}
        return tuple(self.missing_values)

    @property
    def given_pairs(self) -> Sequence[tuple[str, str]] | None:
        """The pairs by name; None where they are to be found."""
        return None if isinstance(self.pairs, str) else self.pairs

    @property
    def most_pairs(self) -> int:
        """How many pairs there may be."""
        if self.given_pairs is not None:
            return len(self.given_pairs)
        usual = 0 if self.readable else MOST_PAIRS
        return usual if self.max_pairs is None else self.max_pairs

    def pairs_for(self, n_columns: int) -> int:
        """How many pairs there may be beside so many columns."""
        return min(self.most_pairs, PAIRS_A_COLUMN * n_columns)

    def bins_of(self, column: str) -> int | None:
        """How many bins or groups of levels a column may have; None where that is not limited."""
        given = self.max_bins.get(column) if isinstance(self.max_bins, Mapping) else self.max_bins
        return given if given is not None or not self.readable else READABLE_BINS

    def is_table(self, column: str) -> bool:
        """Whether a column is to be a table and nothing else: of few bins, or with monotone evidence."""
        return self.bins_of(column) is not None or column in self.monotone

    def check_together(self) -> None:
        """Refuse options that contradict each other."""
        tables = self.readable or self.max_bins is not None or self.monotone
        if tables and self.is_textbook:
            raise SettingError(
                "readable, max_bins and monotone choose bins from the rows, which the textbook model does not: leave "
                "out classical, unlabelled='em' and partial_fit"
            )

    def given_alpha(self, column: str) -> float | None:
        """The pseudocount that was given for a column; None where it is the usual one, or to be chosen."""
        given: Any = self.overrides.alpha.get(column) if isinstance(self.alpha, Mapping) else self.alpha
        return None if given is None or isinstance(given, str) else float(given)

    def refuse_choices(self, of: str) -> None:
        """Refuse options that need rows, where there is only a tally."""
        if isinstance(self.alpha, str):
            raise SettingError(f"alpha='auto' is chosen from rows, not from {of}; give alpha a number")
        if self.calibration is not None:
            raise SettingError(f"calibration is fitted to rows, not to {of}; set calibration=None")


def _plain(value: Any) -> Any:
    """A value as a model file keeps it: lists as tuples, numbers as Python's."""
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, np.generic):
        return value.item()
    is_list = isinstance(value, Iterable) and not isinstance(value, str)
    return tuple(map(_plain, value)) if is_list else value


def check_values(given: Mapping[str, Any]) -> None:
    """Refuse parameters of `NaiveBayes` that mean nothing, in the same words in Python and on the command line."""
    for name, (what, holds) in VALUES.items():
        if name in given and not holds(given[name]):
            raise SettingError(f"The {name!r} parameter of NaiveBayes must be {what}. Got {given[name]!r} instead.")


def _at_least_zero(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and 0.0 <= float(value) < math.inf


def _one_of(*words: str | None) -> tuple[str, Callable[[Any], bool]]:
    shown = [repr(word) for word in words]
    return f"{', '.join(shown[:-1])} or {shown[-1]}", lambda value: any(
        value is word or value == word for word in words
    )


def _or_mapping(what: str, holds: Callable[[Any], bool]) -> tuple[str, Callable[[Any], bool]]:
    return f"{what}, or a mapping", lambda value: isinstance(value, Mapping) or holds(value)


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _is_prior(value: Any) -> bool:
    if isinstance(value, str):
        return value in ("empirical", "uniform")
    return isinstance(value, Iterable) and np.ndim(value) == 1  # type: ignore[arg-type]


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _are_directions(value: Any) -> bool:
    known = (1, -1, "auto")
    return isinstance(value, Mapping) and all(not isinstance(v, bool) and v in known for v in value.values())


_NUMBER = "a number of at least 0"
VALUES: dict[str, tuple[str, Callable[[Any], bool]]] = {  # what may be given, and whether something is that
    "kind": ("a mapping of column to kind, or None", lambda value: value is None or isinstance(value, Mapping)),
    "family": ("a mapping of column to family, or None", lambda value: value is None or isinstance(value, Mapping)),
    "tokens": ("Tokens(…), a mapping or None", lambda value: value is None or isinstance(value, (Tokens, Mapping))),
    "drop": ("a list of columns, or None", lambda v: v is None or (not isinstance(v, str) and isinstance(v, Iterable))),
    "missing": _or_mapping(*_one_of("ignore", "level")),
    "unseen": _one_of("ignore", "smooth"),
    "min_count": (_NUMBER, _at_least_zero),
    "alpha": _or_mapping(f"{_NUMBER}, 'auto' or None", lambda v: v is None or v == "auto" or _at_least_zero(v)),
    "numeric": _one_of("auto", *numeric_families()),
    "weights": _one_of("auto", "learn", "words", None),
    "pairs": ("'auto' or a list of pairs of columns", lambda v: v == "auto" if isinstance(v, str) else _is_list(v)),
    "max_pairs": ("a whole number of at least 0 or None", lambda v: v is None or (_is_whole(v) and int(v) >= 0)),
    "max_bins": _or_mapping("a whole number of at least 2 or None", lambda v: v is None or (_is_whole(v) and v >= 2)),
    "monotone": ("a mapping of column to 1, -1 or 'auto', or None", lambda v: v is None or _are_directions(v)),
    "readable": ("True or False", lambda value: isinstance(value, (bool, np.bool_))),
    "classical": ("True or False", lambda value: isinstance(value, (bool, np.bool_))),
    "var_smoothing": (_NUMBER, _at_least_zero),
    "variance": _one_of("class", "shared"),
    "class_weight": _or_mapping("'balanced' or None", lambda v: v is None or (isinstance(v, str) and v == "balanced")),
    "prior": _or_mapping("'empirical', 'uniform' or a list of probabilities", _is_prior),
    "prior_alpha": (_NUMBER, _at_least_zero),
    "calibration": _one_of("temperature", "isotonic", None),
    "unlabelled": _one_of("error", "ignore", "em"),
    "decimal": _one_of(".", ",", None),
    "dates": _one_of("dmy", "mdy", None),
    "missing_values": _or_mapping("a list of values, or None", lambda v: v is None or _is_list(v)),
}
