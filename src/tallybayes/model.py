"""The core object: a tally read with settings. Knows nothing of scikit-learn.

rows ──► Tally ──► parameters ──► log joint (n × K) ──► posteriors, labels, evidence, leave-one-out.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from tallybayes import kernels
from tallybayes.batch import Array, Batch, Matrix, Rows
from tallybayes.errors import DataError, ForbiddenRowWarning, RowError, SettingError
from tallybayes.families import Family
from tallybayes.families._family import quiet_log
from tallybayes.parallel import map_rows, threads_for
from tallybayes.schema import Level, Schema, plural
from tallybayes.tally import Tally, count, named_cells

CHUNK = 8192  # rows scored at a time: their scores stay in the cache

Prior = Literal["empirical", "uniform", "none"] | Mapping[Level, float]


class Calibration(Protocol):
    """A map from posteriors to better ones."""

    def apply(self, log_posterior: Array, /) -> Array: ...


@dataclass(frozen=True)
class Settings:
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
        What turns the posteriors into honest ones.
    """

    families: Mapping[str, Family]
    prior: Prior = "empirical"
    prior_alpha: float = 0.0
    calibration: Calibration | None = None

    def log_prior(self, schema: Schema, class_weight: Array) -> Array:
        """Log P(y), shape (…, K), for class weights of that shape."""
        n_classes = len(schema.classes)
        if isinstance(self.prior, Mapping):
            prior = checked_prior(self.prior, schema.classes)
        elif self.prior == "empirical":
            total = class_weight.sum(axis=-1, keepdims=True) + self.prior_alpha * n_classes
            known = np.broadcast_to(total > 0, class_weight.shape)
            prior = np.where(
                known, (class_weight + self.prior_alpha) / np.where(total > 0, total, 1.0), 1.0 / n_classes
            )
        elif self.prior in ("uniform", "none"):
            prior = np.full(n_classes, 1.0 if self.prior == "none" else 1.0 / n_classes)
        else:
            raise SettingError(
                f"prior must be 'empirical', 'uniform' or a mapping of class to probability, not {self.prior!r}"
            )
        return np.broadcast_to(quiet_log(prior), class_weight.shape)


def checked_prior(prior: Mapping[Level, float], classes: tuple[Level, ...]) -> Array:
    """The probabilities in the order of the classes, checked."""
    if set(prior) != set(classes):
        raise SettingError(f"the prior names the classes {list(prior)}, the data has {list(classes)}")
    values = np.array([prior[label] for label in classes], dtype=np.float64)
    if not np.all(values >= 0):
        raise SettingError(f"priors must be non-negative, got {values.tolist()}")
    if not math.isclose(values.sum(), 1.0, rel_tol=1e-5):
        raise SettingError(f"the sum of the priors should be 1, got {values.sum():g}")
    return values


@dataclass(frozen=True)
class Model:
    """A tally and the settings to read it with; parameters are estimated on first use.

    Parameters
    ----------
    settings : Settings
    tally : Tally

    Examples
    --------
    >>> from tallybayes import Tally, families
    >>> tally = Tally.of(np.array([[1.0], [3.0], [8.0]]), ["no", "no", "yes"], families.Gaussian())
    >>> Model(Settings({"gaussian": families.Gaussian()}), tally)
    Model(gaussian; Tally(3 rows; no: 2, yes: 1; 1 column))
    """

    settings: Settings
    tally: Tally

    def __repr__(self) -> str:
        return f"Model({', '.join(self.settings.families)}; {self.tally})"

    def __reduce__(self) -> tuple[type[Model], tuple[Settings, Tally]]:
        return Model, (self.settings, self.tally)  # parameters are estimated again where it is unpickled

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
        return {name: self.settings.families[name].estimate(b.summary) for name, b in self.tally.blocks.items()}

    @cached_property
    def log_prior(self) -> Array:
        """Log P(y), shape (K,)."""
        return np.ascontiguousarray(self.settings.log_prior(self.schema, self.tally.class_weight))

    # ------------------------------------------------------------------------------------------ learning

    def learn(self, batch: Rows, n_jobs: int | None = None) -> Model:
        """Return the model that has also seen these rows; new classes and levels are united by name."""
        return replace(self, tally=self.tally + count(batch, self.settings.families, n_jobs))

    def unlearn(self, batch: Rows, n_jobs: int | None = None) -> Model:
        """Return the model that never saw these rows."""
        return replace(self, tally=self.tally - count(batch, self.settings.families, n_jobs))

    # ------------------------------------------------------------------------------------------ scoring

    def log_joint(self, batch: Rows, n_jobs: int | None = None) -> Array:
        """Log P(x, y), shape (n, K), up to the part that is the same for every class."""
        return self._by_chunks(batch, n_jobs, lambda part, first: (self._joint(part, first), 0))

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
                return kernels.best_class(evidence, self.log_prior, self._fallback)
            posterior, forbidden = self._posterior(evidence, True)  # it may change which class is the likeliest
            return posterior.argmax(axis=1), forbidden

        return self._by_chunks(batch, n_jobs, best)

    def log_evidence(self, batch: Rows, n_jobs: int | None = None) -> Array:
        """Log P(x) = log Σ_k P(y=k) P(x | y=k), shape (n,)."""

        def evidence(part: Batch, first: int) -> tuple[Array, int]:
            joint = self._joint(part, first)
            top = joint.max(axis=1)
            shift = np.where(np.isneginf(top), 0.0, top)
            total = quiet_log(np.exp(joint - shift[:, None]).sum(axis=1))
            return total + shift + self.log_base(part), 0

        return self._by_chunks(batch, n_jobs, evidence)

    def log_likelihood(self, batch: Rows, n_jobs: int | None = None) -> float:
        """Log probability of labelled rows, Σ_n w_n log P(x_n, y_n)."""
        labels = batch.labels
        if labels is None or labels.codes is None:
            raise DataError("the likelihood of labelled rows needs the label of each row")

        def own(part: Batch, first: int) -> tuple[Array, int]:
            assert part.labels is not None
            return self._joint(part, first)[np.arange(part.n_rows), part.labels.codes] + self.log_base(part), 0

        weighed = labels.weight > 0  # a row that weighs nothing says nothing, even where it is impossible
        return float((labels.weight[weighed] * self._by_chunks(batch, n_jobs, own)[weighed]).sum())

    def log_base(self, batch: Batch) -> Array:
        """The part (n,) of log P(x | y) that is the same for every class."""
        bases = [self.settings.families[name].log_base(block.x) for name, block in batch.blocks.items()]
        return np.sum(bases, axis=0)

    def contributions(self, batch: Rows) -> Array:
        """Log P(x_d | y), shape (n, K, D); with the log prior they add up to the log joint."""
        parts = np.zeros((batch.n_rows, self.n_classes, len(self.schema.columns)))
        for name, block in batch.rows(0, batch.n_rows).blocks.items():
            work = named_cells(self._bound(name, "contributions"), self.schema, block.columns, 0)
            parts[:, :, list(block.columns)] = work(block.x)
        return parts

    def leave_one_out(self, batch: Rows, n_jobs: int | None = None) -> Array:
        """Log P(y | x), shape (n, K), of learned rows, each as if it alone had not been learned."""

        def without(part: Batch, first: int) -> tuple[Array, int]:
            try:
                prior, evidence = self._prior_without(part), self._evidence_without(part)
            except RowError as error:
                raise RowError(first + error.row) from None
            # As in the kernels: the largest likelihood is taken off before the prior is added to it.
            top = np.where(np.isneginf(prior), -np.inf, evidence).max(axis=1, keepdims=True)
            forbidden = np.isneginf(top)
            joint = np.where(forbidden, prior, (evidence - np.where(forbidden, 0.0, top)) + prior)
            return self._posterior(joint, True, np.zeros(self.n_classes))[0], int(forbidden.sum())

        return self._by_chunks(batch, n_jobs, without)

    def _prior_without(self, part: Batch) -> Array:
        """Log prior (n, K) without each row."""
        labels = part.labels
        if labels is None or labels.codes is None:
            raise DataError("leave-one-out needs the label of each row")
        weights = np.repeat(self.tally.class_weight[None], part.n_rows, axis=0)
        weights[np.arange(part.n_rows), labels.codes] -= labels.weight
        strange = (weights < -1e-9 * self.tally.class_weight).any(axis=1)
        if strange.any():
            raise RowError(int(np.argmax(strange)))
        weights[weights < 1e-12 * self.tally.class_weight] = 0.0
        return self.settings.log_prior(self.schema, weights)

    def _evidence_without(self, part: Batch) -> Array:
        """Log P(x | y), shape (n, K), of each row without the row."""
        evidence = np.zeros((part.n_rows, self.n_classes))
        for name, block in part.blocks.items():
            summary = self.tally.blocks[name].summary
            family, params = self.settings.families[name], self.parameters[name]
            work = named_cells(family.leave_one_out, self.schema, block.columns, 0)
            evidence += work(summary, params, block.x, part.labels)
        return evidence

    def _bound(self, name: str, verb: str) -> Callable[[Matrix], Array]:
        family, params = self.settings.families[name], self.parameters[name]
        return lambda x: getattr(family, verb)(params, x)

    def _evidence(self, part: Batch, first: int) -> Array:
        """Log P(x | y), shape (n, K)."""
        evidence = np.zeros((part.n_rows, self.n_classes))
        for name, block in part.blocks.items():
            evidence += named_cells(self._bound(name, "log_prob"), self.schema, block.columns, first)(block.x)
        return evidence

    def _joint(self, part: Batch, first: int) -> Array:
        return self._evidence(part, first) + self.log_prior

    @cached_property
    def _fallback(self) -> Array:
        """What a row that every class forbids is given: the log prior, or all classes alike where there is none."""
        return self.log_prior - (math.log(self.n_classes) if self.settings.prior == "none" else 0.0)

    def _posterior(self, evidence: Array, logs: bool, log_prior: Array | None = None) -> tuple[Array, int]:
        """Normalise in place and calibrate; also answers how many rows every class forbids."""
        prior = self.log_prior if log_prior is None else log_prior
        forbidden = kernels.normalise(evidence, prior, self._fallback, logs or self.settings.calibration is not None)
        if self.settings.calibration is None:
            return evidence, forbidden
        calibrated = np.ascontiguousarray(self.settings.calibration.apply(evidence))
        return (calibrated if logs else np.exp(calibrated)), forbidden

    def _by_chunks(self, batch: Rows, n_jobs: int | None, work: Callable[[Batch, int], tuple[Any, int]]) -> Any:
        """Work on chunks of rows on all cores, put the results together and warn of the rows nobody allows."""
        step = batch.most_rows or CHUNK
        if batch.n_rows <= step:
            out, forbidden = work(batch.rows(0, batch.n_rows), 0)
        else:
            self.parameters, self.log_prior  # noqa: B018  estimated once, before the threads ask for them
            threads = threads_for(batch.size * self.n_classes, n_jobs)
            out, first, forbidden = None, 0, 0
            for part, number in map_rows(lambda a, b: work(batch.rows(a, b), a), batch.n_rows, step, threads):
                if out is None:
                    out = np.empty((batch.n_rows, *part.shape[1:]), dtype=part.dtype)
                out[first : first + len(part)] = part
                first, forbidden = first + len(part), forbidden + number
        if forbidden:
            warnings.warn(
                f"{plural(forbidden, 'row')} had probability zero under every class and got the prior instead; "
                "smoothing (alpha, var_smoothing) avoids it",
                ForbiddenRowWarning,
                stacklevel=4,
            )
        return out

    # ------------------------------------------------------------------------------------------ the model itself

    def with_prior(self, prior: Prior) -> Model:
        """Return the same evidence under another prior; no data is needed."""
        changed = replace(self, settings=replace(self.settings, prior=prior))
        changed.log_prior  # noqa: B018  a bad prior is an error now, not at the first prediction
        return changed

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that `tallybayes.load` and `storage.read` read."""
        WRITERS[0](self, path)

    def sample(self, n: int, rng: np.random.Generator) -> tuple[dict[str, Matrix], NDArray[np.int64]]:
        """Draw rows: a matrix for every block, and the class code of each row."""
        p = np.exp(self._fallback)
        codes = rng.choice(self.n_classes, size=n, p=p / p.sum())
        drawn = {n_: self.settings.families[n_].sample(p, codes, rng) for n_, p in self.parameters.items()}
        return drawn, codes

    @property
    def n_parameters(self) -> int:
        """Free parameters: K − 1 for the prior, and each block's own."""
        own = sum(self.settings.families[name].n_parameters(p) for name, p in self.parameters.items())
        return self.n_classes - 1 + own

    @property
    def n_joint_parameters(self) -> int:
        """Free parameters of the full joint of the same columns, without the naive assumption."""
        sizes = (self.settings.families[name].joint_size(p) for name, p in self.parameters.items())
        return self.n_classes * math.prod(sizes) - 1


# How a model is written to a file; `tallybayes.storage` says it, so that this module need not import what lies above.
WRITERS: list[Callable[..., None]] = []
