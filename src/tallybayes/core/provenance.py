"""How a model came about: what it was learned from, and what was chosen on the way."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tallybayes.core.evaluation import Evaluation
from tallybayes.core.lineage import Lineage
from tallybayes.core.schema import Level
from tallybayes.errors import LabelWarning, NotAvailableError, SettingError


@dataclass(frozen=True)
class Steps:
    """The steps of expectation-maximisation.

    Parameters
    ----------
    n_iter : int
        How many there were.
    converged : bool
        Whether the last one gained less than the tolerance.
    path : tuple of float
        Penalised log likelihood after each; it never falls. Empty where the scores are no probabilities.
    weight : float
        How much an unlabelled row counted beside a labelled one.
    """

    n_iter: int
    converged: bool
    path: tuple[float, ...] = ()
    weight: float = 1.0


@dataclass(frozen=True)
class Provenance:
    """Where a model comes from.

    Parameters
    ----------
    target : str, optional
        The column that held the class labels, where the rows were a table.
    rows : int
        Number of labelled rows that were learned.
    unlabelled : int
        Number of rows without a label that were left out.
    labels : str
        NumPy's name of the type of the labels, such as ``int8`` or ``<U5``; empty where it does not matter.
    made_by : str
        What held the rows: "pandas", "polars", "pyarrow", "dict" or "array". New rows are drawn in the same form.
    named : bool
        Whether the columns have names of their own, by which later tables are matched.
    steps : Steps, optional
        How expectation-maximisation went, where rows without labels were learned: their classes were guessed.
    notes : tuple of str
        What was chosen on the way, for people.
    chosen : mapping of str to float
        Settings that were chosen by looking at rows, such as ``alpha``.
    tried : mapping of str to float
        Ways to read the texts that were compared, and the mean loss of held-out texts by each.
    is_single : bool
        Whether all rows were of single precision; predictions then are, too.
    importance : mapping of str to float
        Mean absolute evidence of each column, pair and block, in nats, on training rows that were left out of their
        own counts (`core.importance`), where that was measured.
    options : mapping of str to object, optional
        The options that differ from the defaults, where settings were chosen from rows: what choosing them anew needs.
        None where nothing was chosen; such a model is evaluated exactly by taking rows out of its tally.
    evaluation : Evaluation, optional
        Performance on rows that had no part in the model, measured when it was learned. It stays when rows are learned
        or unlearned later (`Evaluation.n_learned` shows how many there were), and goes with any other change.
    uncalibrated : Evaluation, optional
        The same without the calibration, where there is one.
    class_weight : mapping of class to float
        How many times the rows of a class count, learned before or later; those of a class not named count once.
    lineage : Lineage, optional
        The states that the model has been in, where it was changed after it was fitted.
    """

    target: str | None = None
    rows: int = 0
    unlabelled: int = 0
    labels: str = ""
    made_by: str = "dict"
    named: bool = True
    steps: Steps | None = None
    notes: tuple[str, ...] = ()
    chosen: Mapping[str, float | None] = field(default_factory=dict)
    tried: Mapping[str, float] = field(default_factory=dict)
    is_single: bool = False
    importance: Mapping[str, float] = field(default_factory=dict)
    options: Mapping[str, Any] | None = None
    evaluation: Evaluation | None = None
    uncalibrated: Evaluation | None = None
    class_weight: Mapping[Level, float] = field(default_factory=dict)
    lineage: Lineage | None = field(default=None, compare=False)

    @property
    def guessed(self) -> bool:
        """Whether the classes of some rows were guessed."""
        return self.steps is not None

    @property
    def is_chosen(self) -> bool:
        """Whether settings were chosen from rows."""
        return self.options is not None or bool(self.chosen)

    def refuse_guesses(self, verb: str) -> None:
        """Refuse what is exact only where every row had a label."""
        if self.guessed:
            raise NotAvailableError(
                f"{verb} is exact only where every row had a label: the classes that were estimated for the unlabelled "
                "rows depend on all the others; fit again instead"
            )

    def plus(self, rows: int, lineage: Lineage) -> Provenance:
        """The provenance of a model that learned so many more rows, or fewer."""
        return replace(self, rows=max(self.rows + rows, 0), lineage=lineage)

    def joined(self, other: Provenance, lineage: Lineage) -> Provenance:
        """The provenance of a model of the rows of both; it was never evaluated, unless one of them has no rows."""
        for each in (self, other):
            each.refuse_guesses("adding models")
        if self.rows and other.rows and None not in (self.target, other.target) and self.target != other.target:
            text = f"one model predicts {self.target!r}, the other {other.target!r}; the sum is called {self.target!r}"
            warnings.warn(text, LabelWarning, stacklevel=4)
        if self.rows and other.rows and self.class_weight != other.class_weight:
            raise SettingError(
                "the rows of the two models count by other class weights; fit both with the same mapping"
            )
        total = self.plus(other.rows, lineage)
        if self.rows and other.rows:
            return total.unmeasured()
        measured = other if other.rows else self
        return replace(total, evaluation=measured.evaluation, uncalibrated=measured.uncalibrated)

    def unmeasured(self) -> Provenance:
        """The provenance of a model that predicts otherwise than the one that was evaluated."""
        return replace(self, evaluation=None, uncalibrated=None)

    def select(self, names: Sequence[str]) -> Provenance:
        """The provenance of a model of some columns."""
        return replace(self, importance={name: self.importance[name] for name in names if name in self.importance})

    def with_prior(self, prior: Any) -> Provenance:
        """The provenance under another prior, for rows of other class shares than those that were measured."""
        options = None if self.options is None else {**self.options, "prior": prior}
        return replace(self.unmeasured(), options=options)

    def noted(self, note: str) -> Provenance:
        """The same with one more note."""
        return self if note in self.notes else replace(self, notes=(*self.notes, note))
