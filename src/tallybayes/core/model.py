"""The core object: a tally read with settings, which scores rows. Knows nothing of scikit-learn."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import kernels
from tallybayes.core.batch import Array, Batch, Documents, Matrix, Rows, mask_scores
from tallybayes.core.calibration import Temperature
from tallybayes.core.chunks import by_chunks
from tallybayes.core.documents import Texts
from tallybayes.core.equality import ByValue, overflows
from tallybayes.core.family import log_total
from tallybayes.core.leave_one_out import LeaveOneOut
from tallybayes.core.lineage import Lineage
from tallybayes.core.merging import merged, selected, uncorrected, warn_of_twins
from tallybayes.core.notebook import model_panel
from tallybayes.core.offsets import Lookup, check_offsets, lookups, offsets_within
from tallybayes.core.plan import Plan
from tallybayes.core.provenance import Provenance
from tallybayes.core.schema import Column, Level, Schema
from tallybayes.core.settings import Prior, Settings
from tallybayes.core.tally import Tally, count, named_cells
from tallybayes.errors import DataError, SchemaError, SettingError, TallybayesError


@dataclass(frozen=True, eq=False)
class Model(ByValue):
    """A tally and the settings to read it with; parameters are estimated on first use.

    Parameters
    ----------
    settings : Settings
    tally : Tally
    provenance : Provenance, optional
        How the model came about.

    Examples
    --------
    >>> from tallybayes import families, tally
    >>> rows = tally(np.array([[1.0], [3.0], [8.0]]), ["no", "no", "yes"], families.Gaussian())
    >>> Model(Settings({"gaussian": families.Gaussian()}), rows)
    Model(gaussian; Tally(3 rows; no: 2, yes: 1; 1 column))
    """

    settings: Settings
    tally: Tally
    provenance: Provenance = field(default_factory=Provenance)

    def __repr__(self) -> str:
        return f"Model({', '.join(self.settings.families)}; {self.tally})"

    def _repr_html_(self) -> str:
        weights = dict(zip(self.schema.names, self.column_weights.tolist(), strict=True))
        return model_panel("Model", self.tally, self.log_prior, self.provenance.importance, weights)

    def __reduce__(self) -> tuple[type[Model], tuple[Settings, Tally, Provenance]]:
        return Model, (self.settings, self.tally, self.provenance)  # parameters are estimated again elsewhere

    @property
    def schema(self) -> Schema:
        """Columns and classes."""
        return self.tally.schema

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.schema.classes)

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """Parameters of each block."""
        return {name: self.settings.families[name].estimate(self.words.summary(name)) for name in self.tally.blocks}

    @cached_property
    def words(self) -> Texts:
        """What is special to the blocks of text."""
        return Texts(self.tally)

    @property
    def texts(self) -> dict[str, Column]:
        """The columns of text, by their blocks."""
        return self.words.columns

    @cached_property
    def scoring(self) -> dict[str, Any]:
        """Parameters of each block with the columns' weights on their logs, and offsets in their tables."""
        scoring = self.parameters
        if self.settings.weights is not None:
            scoring = {name: each.weighted(self.weight_of(name)) for name, each in scoring.items()}
        return scoring | {name: scoring[name].plus(own.table) for name, own in self.offsets.items() if own.is_coded}

    @cached_property
    def offsets(self) -> dict[str, Lookup]:
        """The offsets of each block that has some."""
        return lookups(self.settings.offsets, self.tally, self.settings.families)

    @cached_property
    def plan(self) -> Plan | None:
        """How tables are looked up by plain columns; None where no block has tables."""
        return Plan.of(self.tally, self.settings.families, self.scoring, self.offsets)

    def weight_of(self, block: str) -> Array:
        """Weight (d,) of the evidence of each column of a block; of a text whose words have their own, those (V,)."""
        given, places = self.settings.weights, list(self.tally.blocks[block].columns)
        weights, first = self.column_weights[places], self.schema.columns[places[0]]
        if given is None or first.name not in given.words:
            return weights
        words = given.words[first.name].among(first.levels or (), weights[0])
        return words[self.words.known[block]] if block in self.words.known else words

    @property
    def column_weights(self) -> Array:
        """Weight (D,) of the evidence of each column."""
        given = {} if self.settings.weights is None else self.settings.weights.columns
        return np.array([given.get(name, 1.0) for name in self.schema.names])

    @cached_property
    def log_prior(self) -> Array:
        """Log P(y), shape (K,)."""
        return np.ascontiguousarray(self.settings.log_prior(self.schema, self.tally.class_weight))

    @cached_property
    def prior_score(self) -> Array:
        """What the prior adds to the score (K,): its log, times the weight of the prior if there is one."""
        if self.settings.weights is None or self.settings.prior in ("none", "empirical"):
            return self.settings.prior_score(self.log_prior, self.log_prior)
        learned = replace(self.settings, prior="empirical").log_prior(self.schema, self.tally.class_weight)
        return self.settings.prior_score(self.log_prior, learned)

    @cached_property
    def generative(self) -> Model:
        """The plain model of the columns, which has a density of rows: for P(x) and samples."""
        corrected = any(family.is_correction for family in self.settings.families.values())
        plain = self.settings.weights is None and not self.settings.offsets and not corrected
        return self if plain else self.without_refinement()

    def without_refinement(self) -> Model:
        """Return the same columns and families without pairs, weights, offsets and calibration."""
        tally, families = uncorrected(self.tally, self.settings.families)
        settings = replace(self.settings, families=families, weights=None, offsets={}, calibration=None)
        return Model(settings, tally, replace(self.provenance.unmeasured(), lineage=self.lineage))

    @property
    def is_chosen(self) -> bool:
        """Whether settings were chosen from the rows: then leaving a row out of the counts leaves it in the choices."""
        return self.provenance.is_chosen or (self.settings.weights, self.settings.calibration) != (None, None)

    def learn(self, batch: Rows, n_jobs: int | None = None, *, decay: float = 1.0) -> Model:
        """Return the model that has also seen these rows; new classes and levels are united by name.

        With a decay below 1 the rows learned before count less.
        """
        self.provenance.refuse_guesses("learning more rows")
        return self.with_rows(count(batch, self.settings.families, n_jobs), batch.n_rows, decay=decay)

    def with_rows(self, counted: Tally, n_rows: int, *, decay: float = 1.0) -> Model:
        """The same with rows that were counted elsewhere, as this model counts them."""
        self.provenance.refuse_guesses("learning more rows")
        warn_of_twins(self.schema.classes, counted.schema.classes)
        past = self.tally if decay == 1.0 else self.tally * decay
        tally = past + counted.weighted(self.provenance.class_weight)
        return replace(self, tally=tally, provenance=self.provenance.plus(n_rows, self.lineage.changed()))

    def unlearn(self, batch: Rows, n_jobs: int | None = None) -> Model:
        """Return the model that never saw these rows."""
        self.provenance.refuse_guesses("unlearning")
        return self.without_rows(count(batch, self.settings.families, n_jobs), batch.n_rows)

    def without_rows(self, counted: Tally, n_rows: int) -> Model:
        """The same without rows that were counted elsewhere, as this model counts them."""
        self.provenance.refuse_guesses("unlearning")
        provenance = self.provenance.plus(-n_rows, self.lineage.changed())
        fewer = self.tally - counted.weighted(self.provenance.class_weight)
        return replace(self, tally=fewer, provenance=provenance).trimmed()

    def __add__(self, other: Model) -> Model:
        """Return the model of all rows, weights averaged; copies of one model share its rows and do not add."""
        if not isinstance(other, Model):
            return NotImplemented
        provenance = self.provenance.joined(other.provenance, self.lineage.joined(other.lineage))
        tally, settings = merged(self.tally, self.settings, other.tally, other.settings)
        return Model(settings, tally, provenance)

    @property
    def lineage(self) -> Lineage:
        """The states that the model has been in."""
        return Lineage.of(self.tally, self.provenance.lineage)

    def since(self, base: Model) -> Model:
        """Return the model of the rows that this one learned after it was the base: they add to other copies of it."""
        provenance = self.provenance.plus(-base.provenance.rows, self.lineage.since(base.lineage)).unmeasured()
        return replace(self, tally=self.tally - base.tally, provenance=provenance)

    def blank(self) -> Model:
        """Return a model that reads rows as this one does and has learned none: others can count for it."""
        return Model(self.settings, self.tally * 0.0, replace(self.provenance.unmeasured(), rows=0, unlabelled=0))

    def select(self, names: Sequence[str]) -> Model:
        """Return the model of some columns, uncalibrated; a pair or a block stays where all of its columns do."""
        tally, families = selected(self.tally, self.settings.families, names)
        offsets = offsets_within(self.settings.offsets, tally.schema)
        settings = replace(self.settings, families=families, calibration=None, offsets=offsets)
        provenance = self.provenance.unmeasured().select(tally.schema.names)
        return Model(settings, tally, replace(provenance, lineage=self.lineage))

    def trimmed(self, keep: Collection[Level] = ()) -> Model:
        """The model without what no row has any more, as `Tally.trimmed`; classes stay that its settings name."""
        named = tuple(self.settings.prior) if isinstance(self.settings.prior, Mapping) else ()
        one_by_one = not isinstance(self.settings.calibration, Temperature | None)
        tally = self.tally.trimmed(self.schema.classes if one_by_one else (*keep, *named))
        offsets = offsets_within(self.settings.offsets, tally.schema)
        return replace(self, settings=replace(self.settings, offsets=offsets), tally=tally)

    def check(self) -> None:
        """Refuse a model whose parts do not belong together, or whose parameters cannot be estimated."""
        if set(self.settings.families) != set(self.tally.blocks):
            raise SchemaError("its settings are not for the columns that it counted")
        self.tally.check()
        check_offsets(self.settings.offsets, self.tally)
        try:
            self.settings.check(self.schema, self.tally.blocks)
            with np.errstate(all="ignore"):
                if overflows((self.parameters, self.scoring, self.prior_score)):
                    raise SettingError("they are no numbers")
        except (TallybayesError, ArithmeticError, AssertionError, LookupError, TypeError, ValueError) as error:
            raise SchemaError(f"its parameters cannot be estimated ({error})") from error

    def column_evidence(self, batch: Rows, n_jobs: int | None = None) -> Array:
        """Log P(x | y), shape (n, K), up to the part that is the same for every class."""
        return self._by_chunks(batch, n_jobs, lambda part, first: (self._evidence(part, first), 0))

    def log_joint(self, batch: Rows, n_jobs: int | None = None) -> Array:
        """Log P(x, y), shape (n, K), up to the part that is the same for every class."""
        return self._by_chunks(batch, n_jobs, lambda part, first: (self._evidence(part, first) + self.prior_score, 0))

    def log_posterior(self, batch: Rows, n_jobs: int | None = None) -> Array:
        """Log P(y | x), shape (n, K)."""
        return self._by_chunks(batch, n_jobs, lambda part, first: self._posterior(self._evidence(part, first), True))

    def posterior(self, batch: Rows, n_jobs: int | None = None) -> Array:
        """P(y | x), shape (n, K)."""
        return self._by_chunks(batch, n_jobs, lambda part, first: self._posterior(self._evidence(part, first), False))

    def predict(self, batch: Rows, n_jobs: int | None = None) -> NDArray[np.int64]:
        """Code of the likeliest class of each row."""

        def best(part: Batch, first: int) -> tuple[NDArray[np.int64], int]:
            evidence = self._evidence(part, first)
            if self.settings.calibration is None:
                return kernels.best_class(evidence, self.prior_score, self.fallback)
            posterior, forbidden = self._posterior(evidence, True)  # calibration may change the likeliest class
            return posterior.argmax(axis=1), forbidden

        return self._by_chunks(batch, n_jobs, best)

    def log_evidence(self, batch: Rows, n_jobs: int | None = None) -> Array:
        """Log P(x) = log Σ_k P(y=k) P(x | y=k), shape (n,), by the plain model of the columns."""
        if self.generative is not self:
            return self.generative.log_evidence(batch, n_jobs)

        def total(part: Batch, first: int) -> tuple[Array, int]:
            return log_total(self._evidence(part, first) + self.prior_score) + self.log_base(part), 0

        return self._by_chunks(batch, n_jobs, total, planned=False)

    def log_likelihood(self, batch: Rows, n_jobs: int | None = None) -> float:
        """Log probability of labelled rows, Σ_n w_n log P(x_n, y_n), by the plain model of the columns."""
        if self.generative is not self:
            return self.generative.log_likelihood(batch, n_jobs)
        labels = batch.labels
        if labels is None or labels.codes is None:
            raise DataError("the likelihood of labelled rows needs the label of each row")

        def own(part: Batch, first: int) -> tuple[Array, int]:
            assert part.labels is not None
            scores = self._evidence(part, first) + self.prior_score
            return scores[np.arange(part.n_rows), part.labels.codes] + self.log_base(part), 0

        counted = labels.weight > 0  # a row of weight zero adds nothing, even where it is impossible
        return float((labels.weight[counted] * self._by_chunks(batch, n_jobs, own, planned=False)[counted]).sum())

    def log_base(self, batch: Batch) -> Array:
        """The part (n,) of log P(x | y) that is the same for every class."""
        blocks = ((name, block.x) for name, block in batch.blocks.items() if name in self.tally.blocks)
        return np.sum([self.settings.families[n].log_base(self.words.of_known(n, x)) for n, x in blocks], axis=0)

    def contributions(self, batch: Rows) -> Array:
        """Weighted log P(x_d | y) and offset, shape (n, K, D); with `prior_score` they add up to the log joint."""
        parts = np.zeros((batch.n_rows, self.n_classes, len(self.schema.columns)))
        for name, block in batch.rows(0, batch.n_rows).blocks.items():
            verb = "log_prob" if isinstance(block.x, Documents) else "contributions"
            scores = named_cells(self._bound(name, verb), self.schema, block.columns, 0)(block.x)
            parts[:, :, list(block.columns)] = scores if scores.ndim == 3 else scores[:, :, None]
        return parts

    def leave_one_out(self, batch: Rows, n_jobs: int | None = None) -> Array:
        """Leave-one-out log P(y | x), shape (n, K), of training rows."""

        def without(part: Batch, first: int) -> tuple[Array, int]:
            log_posterior, forbidden = self.left_out.log_posterior(part, first)
            return self._calibrated(log_posterior), forbidden

        return self._by_chunks(batch, n_jobs, without, planned=False)

    @cached_property
    def left_out(self) -> LeaveOneOut:
        """What scores training rows by all the others."""
        weights = None if self.settings.weights is None else {name: self.weight_of(name) for name in self.tally.blocks}
        parts = self.parameters, self.words, weights, self.offsets, self.log_prior, self.prior_score
        return LeaveOneOut(self.tally, self.settings, *parts, self.provenance.class_weight)

    def is_document(self, name: str) -> bool:
        """Whether the columns of a block, or the words of its one column, are one thing that has no parts."""
        family = self.settings.families[name]
        return name in self.texts or (family.is_document and not family.is_correction)

    def _bound(self, name: str, verb: str, plan: Plan | None = None) -> Callable[[Matrix], Array]:
        """What scores the rows of a block, offsets included unless a plan has them."""
        family, params = self.settings.families[name], self.scoring[name]
        lookup = self.offsets.get(name) if plan is None or name in plan.texts else None

        def work(x: Matrix) -> Array:
            known = self.words.of_known(name, x)
            scores = mask_scores(x, getattr(family, verb)(params, known))
            return scores if lookup is None or lookup.is_coded else lookup.added(scores, known)

        return work

    def _evidence(self, part: Batch, first: int) -> Array:
        """Log P(x | y), shape (n, K)."""
        evidence, plan = np.zeros((part.n_rows, self.n_classes)), None if part.cells is None else self.plan
        for name, block in part.blocks.items():
            if name in self.tally.blocks:  # the plain model leaves out pairs and blocks
                work = named_cells(self._bound(name, "log_prob", plan), self.schema, block.columns, first)
                evidence += work(block.x)
        if plan is not None and part.cells is not None:
            plan.add(part.cells, first, evidence)
        return evidence

    @cached_property
    def fallback(self) -> Array:
        """The log posterior of a row that every class forbids: the prior, or uniform where there is none."""
        return self.log_prior - (math.log(self.n_classes) if self.settings.prior == "none" else 0.0)

    def _posterior(self, evidence: Array, logs: bool) -> tuple[Array, int]:
        """Normalise in place and calibrate; also return the number of rows that every class forbids."""
        plain = self.settings.calibration is None
        forbidden = kernels.normalise(evidence, self.prior_score, self.fallback, logs or not plain)
        posterior = self._calibrated(evidence)
        return posterior if logs or plain else np.exp(posterior), forbidden

    def _calibrated(self, log_posterior: Array) -> Array:
        calibration = self.settings.calibration
        return log_posterior if calibration is None else np.ascontiguousarray(calibration.apply(log_posterior))

    def _by_chunks(
        self, batch: Rows, n_jobs: int | None, work: Callable[[Batch, int], tuple[Any, int]], planned: bool = True
    ) -> Any:
        """Work on chunks of rows on all cores and join the results; the plan reads rows for scores, if none has yet."""
        self.scoring, self.offsets, self.prior_score, self.fallback  # noqa: B018  estimated once, before threads ask
        plan = self.plan if planned and (not isinstance(batch, Batch) or batch.cells is not None) else None
        read = None if plan is None else batch.read_by(plan, self.schema.columns, self.tally.places)
        return by_chunks(batch, self.n_classes, n_jobs, work, read)

    def with_prior(self, prior: Prior) -> Model:
        """Return the same evidence under another prior; no data is needed. Figures of the old one are left out."""
        changed = Model(replace(self.settings, prior=prior), self.tally, self.provenance.with_prior(prior))
        changed.log_prior  # noqa: B018  a bad prior is an error now, not at the first prediction
        return changed

    def sample(self, n: int, rng: np.random.Generator) -> tuple[dict[str, Matrix], NDArray[np.int64]]:
        """Draw rows: a matrix for every block, and the class code of each row, by the plain model of the columns."""
        if self.generative is not self:
            return self.generative.sample(n, rng)
        p = np.exp(self.fallback)
        codes = rng.choice(self.n_classes, size=n, p=p / p.sum())
        others = ((name, params) for name, params in self.parameters.items() if name not in self.texts)
        families = self.settings.families
        drawn = {name: families[name].sample(params, codes, rng) for name, params in others}
        bags = (self.words.sample(name, families[name], self.parameters[name], codes, rng) for name in self.texts)
        return drawn | dict(zip(self.texts, bags, strict=True)), codes

    @property
    def n_parameters(self) -> int:
        """Free parameters: K − 1 for the prior, and each block's own."""
        return self.n_classes - 1 + sum(self.settings.families[k].n_parameters(p) for k, p in self.parameters.items())

    @property
    def n_joint_parameters(self) -> int:
        """Free parameters of the full joint of the same columns, without the naive assumption."""
        own = self.settings.families
        return self.n_classes * math.prod(own[name].joint_size(p) for name, p in self.parameters.items()) - 1
