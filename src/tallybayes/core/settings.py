"""How a tally is to be read: the families, the prior, weights of the evidence, offsets and calibration."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import numpy as np

from tallybayes.core.batch import Array
from tallybayes.core.equality import ByValue
from tallybayes.core.family import Family, quiet_log
from tallybayes.core.levels import MOST_SHOWN
from tallybayes.core.notebook import Bar, Cell, grid, panel
from tallybayes.core.offsets import Offset, averaged
from tallybayes.core.schema import Level, Schema, plural
from tallybayes.core.summaries import MOST_WEIGHT
from tallybayes.core.tokens import Vocabulary
from tallybayes.errors import SettingError, nearest

Prior = Literal["empirical", "uniform", "none"] | Mapping[Level, float]


class Calibration(Protocol):
    """A map from posteriors to better ones."""

    def apply(self, log_posterior: Array, /) -> Array: ...
    def check(self, n_classes: int, /) -> None: ...


@dataclass(frozen=True, eq=False)
class WordWeights(ByValue):
    """Weights of the evidence of single words of a text.

    Parameters
    ----------
    words : Vocabulary or range
        The words, or the numbers of hashed ones.
    weight : ndarray
        The weight of each; other words have the weight of the text.
    """

    words: Vocabulary | range
    weight: Array

    def __post_init__(self) -> None:
        if self.weight.shape != (len(self.words),) or not np.isfinite(self.weight).all():
            raise SettingError("each word has a weight, which is a finite number")

    def among(self, levels: Sequence[Level], usual: float) -> Array:
        """The weights of all words of a text."""
        if not isinstance(self.words, Vocabulary) or not isinstance(levels, Vocabulary):
            return self.weight
        weights = np.full(len(levels), usual)
        places = self.words.places_in(levels)
        weights[places[places >= 0]] = self.weight[places >= 0]
        return weights


@dataclass(frozen=True, eq=False)
class EvidenceWeights(ByValue):
    """Weights of the evidence of the columns: the score is prior^w₀ · Π_d P(x_d | y)^w_d.

    Parameters
    ----------
    columns : mapping of str to float
        The weight of each column's evidence; 1 for those not named, 0 for none at all.
    prior : float
        The weight of the log prior of the rows that were learned.
    words : mapping of str to WordWeights
        Of texts, the weights of single words, instead of that of the column.
    """

    columns: Mapping[str, float]
    prior: float = 1.0
    words: Mapping[str, WordWeights] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, (self.prior, *self.columns.values()))):
            raise SettingError("weights of evidence must be finite numbers")

    def check(self, schema: Schema) -> None:
        """Refuse weights of words that are not those of such columns."""
        texts = {column.name: column.levels for column in schema.columns if column.is_text} if self.words else {}
        for name, own in self.words.items():
            levels = texts.get(name)
            if isinstance(own.words, Vocabulary):
                fits = isinstance(levels, Vocabulary) and own.words.is_sound()
            else:
                fits = own.words == levels
            if not fits:
                raise SettingError(f"the weights of words of {name!r} are not those of its words")

    def mean(self, other: EvidenceWeights, share: float) -> EvidenceWeights:
        """The weights of two tables together, of which the other has this share of the rows.

        A column or a word that one side does not name has the weight that this side gives it: 1, or that of its text.
        """
        if share in (0.0, 1.0) or self == other:
            return other if share == 1.0 else self

        def between(mine: Any, theirs: Any) -> Any:
            return (1.0 - share) * mine + share * theirs

        names = list(dict.fromkeys((*self.columns, *other.columns)))
        columns = {name: between(self.columns.get(name, 1.0), other.columns.get(name, 1.0)) for name in names}
        words: dict[str, WordWeights] = {}
        for name in dict.fromkeys((*self.words, *other.words)):
            known = _all_words([each.words[name].words for each in (self, other) if name in each.words])
            words[name] = WordWeights(known, between(self._of_words(name, known), other._of_words(name, known)))
        return EvidenceWeights(columns, between(self.prior, other.prior), words)

    def _of_words(self, name: str, known: Vocabulary | range) -> Array:
        usual = self.columns.get(name, 1.0)
        return self.words[name].among(known, usual) if name in self.words else np.full(len(known), usual)

    def _repr_html_(self) -> str:
        ranked = sorted(self.columns.items(), key=lambda each: -each[1])[:MOST_SHOWN]
        top = max((weight for _, weight in ranked), default=1.0) or 1.0
        rows: list[Sequence[Cell]] = [("prior", f"{self.prior:.3f}", Bar(self.prior / top))]
        rows += [(name, f"{weight:.3f}" if weight else "not used", Bar(weight / top)) for name, weight in ranked]
        more = f"<p>and {len(self.columns) - len(ranked)} more</p>" if len(ranked) < len(self.columns) else ""
        return panel("weights of the evidence", grid(("column", "weight", ""), rows), more)

    def __repr__(self) -> str:
        return f"EvidenceWeights(prior {self.prior:.3g}, {plural(len(self.columns), 'column')})"


@dataclass(frozen=True, eq=False)
class Settings(ByValue):
    """How a tally is to be read.

    Parameters
    ----------
    families : mapping of str to Family
        The event model of each block.
    prior : {"empirical", "uniform", "none"} or mapping of class to probability
        P(y). "none" leaves the term out of the joint.
    prior_alpha : float
        Pseudocount of every class in the empirical prior: (N_k + a) / (N + a·K).
    calibration : Calibration, optional
        What turns the posteriors into calibrated ones.
    weights : EvidenceWeights, optional
        The weights of the evidence; all are 1 by default.
    offsets : mapping of str to Offset
        What is added to the weighted evidence of a column or pair, by its name.
    """

    families: Mapping[str, Family]
    prior: Prior = "empirical"
    prior_alpha: float = 0.0
    calibration: Calibration | None = None
    weights: EvidenceWeights | None = None
    offsets: Mapping[str, Offset] = field(default_factory=dict)

    def joined(self, other: Settings, share: float) -> Settings:
        """The settings of two tables together, of which the other has this share of the rows."""
        if self.prior != other.prior or self.prior_alpha != other.prior_alpha:
            raise SettingError("only models with the same prior and prior_alpha add; set both alike with with_prior")
        weights = other.weights if self.weights is None else self.weights
        if self.weights is not None and other.weights is not None:
            weights = self.weights.mean(other.weights, share)
        return replace(self, weights=weights, offsets=averaged(self.offsets, other.offsets, share))

    def check(self, schema: Schema, blocks: Mapping[str, Any]) -> None:
        """Refuse settings that are not for such classes and blocks of columns."""
        for name, family in self.families.items():
            columns = blocks[name].columns
            alike = columns[:1] if schema.is_numbered else columns
            family.check([schema.columns[c] for c in alike], blocks[name].summary)
        if not 0 <= self.prior_alpha <= MOST_WEIGHT:
            raise SettingError(f"prior_alpha must be a number of at least 0, not {self.prior_alpha!r}")
        if self.calibration is not None:
            self.calibration.check(len(schema.classes))
        if self.weights is not None:
            self.weights.check(schema)

    def log_prior(self, schema: Schema, class_weight: Array) -> Array:
        """Log P(y), shape (…, K), for class weights of that shape."""
        n_classes = len(schema.classes)
        if isinstance(self.prior, Mapping):
            prior = checked_prior(self.prior, schema.classes)
        elif self.prior == "empirical":
            total = class_weight.sum(axis=-1, keepdims=True) + self.prior_alpha * n_classes
            shares = (class_weight + self.prior_alpha) / np.where(total > 0, total, 1.0)
            prior = np.where(total > 0, shares, 1.0 / n_classes)
        elif self.prior in ("uniform", "none"):
            prior = np.full(n_classes, 1.0 if self.prior == "none" else 1.0 / n_classes)
        else:
            raise SettingError(
                f"prior must be 'empirical', 'uniform' or a mapping of class to probability, not {self.prior!r}"
            )
        return np.broadcast_to(quiet_log(prior), class_weight.shape)

    def prior_score(self, log_prior: Array, learned: Array) -> Array:
        """What the prior adds to the scores, from its log and that of the shares of the classes that were learned."""
        if self.weights is None or self.prior == "none":
            return log_prior
        # The weight belongs to the mix that was learned; another prior replaces that mix and counts in full.
        finite = np.where(np.isneginf(learned), 0.0, learned)
        return np.ascontiguousarray(log_prior + (self.weights.prior - 1.0) * finite)


def _all_words(lists: Sequence[Vocabulary | range]) -> Vocabulary | range:
    """The words of both sides; hashed words are the same numbers on both."""
    first, last = lists[0], lists[-1]
    return first.unite(last) if isinstance(first, Vocabulary) and isinstance(last, Vocabulary) else first


def prior_by_class(prior: Any, classes: Sequence[Level]) -> Prior:
    """A prior as it is kept: a word, or a mapping of class to probability; a list is in the order of the classes."""
    if isinstance(prior, (str, Mapping)):
        return prior  # type: ignore[return-value]
    values = np.asarray(prior, dtype=np.float64)
    if values.shape != (len(classes),):
        raise SettingError(
            f"Number of priors must match number of classes: got {values.size} for the classes "
            f"{', '.join(map(str, classes))}."
        )
    return dict(zip(classes, values.tolist(), strict=True))


def checked_prior(prior: Mapping[Level, float], classes: tuple[Level, ...]) -> Array:
    """The probabilities in the order of the classes, checked."""
    if set(prior) != set(classes):
        unknown = [label for label in prior if label not in classes]
        hint = f"; {nearest(unknown[0], classes, 'the data')}" if unknown else ""
        raise SettingError(f"the prior names the classes {list(prior)}, the data has {list(classes)}{hint}")
    values = np.array([prior[label] for label in classes], dtype=np.float64)
    if not np.all(values >= 0):
        raise SettingError(f"Priors must be non-negative, got {values.tolist()}")
    if not math.isclose(values.sum(), 1.0, rel_tol=1e-5):
        raise SettingError(f"The sum of the priors should be 1, got {values.sum():g}")
    return values
