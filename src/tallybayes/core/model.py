"""The core object: a tally read with settings. Knows nothing of scikit-learn.

rows ──► Tally ──► parameters ──► log joint (n × K) ──► posteriors, labels, evidence, leave-one-out.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import kernels
from tallybayes.core.batch import Array, Batch, Csr, Documents, Labels, Matrix, Rows, columns_of, heard, silenced
from tallybayes.core.documents import Texts
from tallybayes.core.family import Family, for_columns, quiet_log
from tallybayes.core.schema import Column, Schema, plural
from tallybayes.core.settings import Prior, Settings
from tallybayes.core.tally import Tally, count, named_cells
from tallybayes.core.threads import map_rows, threads_for
from tallybayes.errors import DataError, ForbiddenRowWarning, RowError
from tallybayes.exports import Exports

WORDY = 256  # texts whose words are looked at one by one at a time
CHUNK = 8192  # rows scored at a time: their scores stay in the cache


@dataclass(frozen=True)
class Model(Exports):
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
        """Parameters of each block with the columns' weights on their logs."""
        if self.settings.weights is None:
            return self.parameters
        return {name: params.weighted(self.weight_of(name)) for name, params in self.parameters.items()}

    def weight_of(self, block: str) -> Array:
        """Weight (d,) of the evidence of each column of a block; of a text whose words have their own, those (V,)."""
        given = self.settings.weights
        columns = [self.schema.columns[c] for c in self.tally.blocks[block].columns]
        weights = np.array([1.0 if given is None else given.columns.get(column.name, 1.0) for column in columns])
        if given is None or columns[0].name not in given.words:
            return weights
        words = given.words[columns[0].name].among(columns[0].levels or (), weights[0])
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
        """What the prior adds to the score (K,): its log, weighed where there are weights."""
        learned = replace(self.settings, prior="empirical").log_prior(self.schema, self.tally.class_weight)
        return self._prior_score(self.log_prior, learned)

    def _prior_score(self, log_prior: Array, learned: Array) -> Array:
        if self.settings.weights is None or self.settings.prior == "none":
            return log_prior
        # The weight belongs to the mix that was learned; another prior replaces that mix and counts in full.
        heard = np.where(np.isneginf(learned), 0.0, learned)
        return np.ascontiguousarray(log_prior + (self.settings.weights.prior - 1.0) * heard)

    @cached_property
    def generative(self) -> Model:
        """The plain model of how rows come about: every column once, in full. It samples and tells P(x)."""
        families = {name: f for name, f in self.settings.families.items() if not f.is_correction}
        if self.settings.weights is None and len(families) == len(self.settings.families):
            return self
        settings = replace(self.settings, families=families, weights=None, calibration=None)
        blocks = {name: block for name, block in self.tally.blocks.items() if name in families}
        return Model(settings, replace(self.tally, blocks=blocks))

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
                return kernels.best_class(evidence, self.prior_score, self.fallback)
            posterior, forbidden = self._posterior(evidence, True)  # it may change which class is the likeliest
            return posterior.argmax(axis=1), forbidden

        return self._by_chunks(batch, n_jobs, best)

    def log_evidence(self, batch: Rows, n_jobs: int | None = None) -> Array:
        """Log P(x) = log Σ_k P(y=k) P(x | y=k), shape (n,), by the plain model of the columns."""
        if self.generative is not self:
            return self.generative.log_evidence(batch, n_jobs)

        def evidence(part: Batch, first: int) -> tuple[Array, int]:
            joint = self._joint(part, first)
            top = joint.max(axis=1)
            shift = np.where(np.isneginf(top), 0.0, top)
            total = quiet_log(np.exp(joint - shift[:, None]).sum(axis=1))
            return total + shift + self.log_base(part), 0

        return self._by_chunks(batch, n_jobs, evidence)

    def log_likelihood(self, batch: Rows, n_jobs: int | None = None) -> float:
        """Log probability of labelled rows, Σ_n w_n log P(x_n, y_n), by the plain model of the columns."""
        if self.generative is not self:
            return self.generative.log_likelihood(batch, n_jobs)
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
        blocks = ((name, block.x) for name, block in batch.blocks.items() if name in self.tally.blocks)
        return np.sum([self.settings.families[n].log_base(self.words.of_known(n, x)) for n, x in blocks], axis=0)

    def contributions(self, batch: Rows) -> Array:
        """Log P(x_d | y), weighed, shape (n, K, D); with `prior_score` they add up to the log joint."""
        parts = np.zeros((batch.n_rows, self.n_classes, len(self.schema.columns)))
        for name, block in batch.rows(0, batch.n_rows).blocks.items():
            verb = "log_prob" if isinstance(block.x, Documents) else "contributions"
            said = named_cells(self._bound(name, verb), self.schema, block.columns, 0)(block.x)
            parts[:, :, list(block.columns)] = silenced(block.x, said if said.ndim == 3 else said[:, :, None])
        return self._heard(parts)

    @cached_property
    def _times(self) -> Array | None:
        """How many times as much of each column a class hears as the others (K, D)."""
        given = self.settings.weights
        return None if given is None or given.by_class is None else given.by_class.among(self.schema)

    def _heard(self, parts: Array) -> Array:
        """Evidence (n, K, D) as each class hears it: centred over the classes where they hear differently much."""
        if self._times is None:
            return parts
        impossible = np.isneginf(parts)
        centred = parts - np.where(impossible, 0.0, parts).mean(axis=1, keepdims=True)
        return np.where(impossible, -np.inf, np.where(impossible, 0.0, centred) * self._times)

    def leave_one_out(self, batch: Rows, n_jobs: int | None = None) -> Array:
        """Log P(y | x), shape (n, K), of learned rows, each as if it alone had not been learned."""

        def without(part: Batch, first: int) -> tuple[Array, int]:
            labels = part.labels
            if labels is None or labels.codes is None:
                raise DataError("leave-one-out needs the label of each row")
            try:
                own = self._own_log_prior_without(labels.codes, labels.weight)
                evidence = self._evidence_without(part, first)
            except RowError as error:
                raise RowError(first + error.row) from None
            forbidden = kernels.normalise_without(evidence, self.prior_score, labels.codes, own)
            return self._calibrated(evidence), forbidden

        return self._by_chunks(batch, n_jobs, without)

    def _own_log_prior_without(self, codes: NDArray[np.int32], weight: Array) -> Array:
        """Log prior (n,) of each row's own class without the row, to go with that of the others with the row in.

        The sum of the weights has lost the row too, but that is the same for every class of the row.
        """
        have = self.tally.class_weight[codes]
        left = have - weight
        strange = left < -1e-9 * have
        if strange.any():
            raise RowError(int(np.argmax(strange)))
        left = np.where(left < 1e-12 * have, 0.0, left)
        total = self.tally.class_weight.sum() + self.settings.prior_alpha * self.n_classes
        learned = quiet_log((left + self.settings.prior_alpha) / total) if total > 0 else self.log_prior[codes]
        return self._prior_score(learned if self.settings.prior == "empirical" else self.log_prior[codes], learned)

    def _evidence_without(self, part: Batch, first: int) -> Array:
        """Log P(x | y), shape (n, K), of each row without the row."""
        if self._times is not None:
            said = self.contributions_without(part) * self.column_weights
            return np.ascontiguousarray(self._heard(said).sum(axis=2))
        evidence = np.zeros((part.n_rows, self.n_classes))
        for name, block in part.blocks.items():
            assert part.labels is not None
            x = self.words.left_behind(name, block.x, part.labels)
            family, params = self.settings.families[name], self.parameters[name]
            if self.settings.weights is None:
                work = named_cells(family.leave_one_out, self.schema, block.columns, first)
                evidence += silenced(x, work(self.words.summary(name), params, x, heard(x, part.labels)))
                continue
            weights = self.weight_of(name)
            if isinstance(x, Documents) and len(weights) == x.n_columns:
                evidence += self._weighed_words_without(name, x, part.labels, weights)
                continue
            for j, alone in enumerate(self._alone[name]):
                if weights[j]:
                    evidence += weights[j] * alone.without_row(x, j, part.labels)
        return evidence

    def _weighed_words_without(self, name: str, x: Documents, labels: Labels, weights: Array) -> Array:
        """Log P(x | y), shape (n, K), of texts whose words have weights (V,), each without itself."""
        family, out = self.settings.families[name], np.zeros((x.shape[0], self.n_classes))
        for first in range(0, x.shape[0], WORDY):
            rows = slice(first, min(first + WORDY, x.shape[0]))
            part, own = x.rows(rows.start, rows.stop), labels.rows(rows.start, rows.stop)
            said = family.each_word_without(self.words.summary(name), self.parameters[name], part, heard(part, own))  # type: ignore[attr-defined]
            out[rows] = part.sums(said * weights[part.column, None])
        return silenced(x, out)

    def contributions_without(self, part: Batch) -> Array:
        """Log P(x_d | y), shape (n, K, D), unweighed, of learned rows, each left out of what was learned."""
        parts = np.zeros((part.n_rows, self.n_classes, len(self.schema.columns)))
        for name, block in part.blocks.items():
            assert part.labels is not None
            x = self.words.left_behind(name, block.x, part.labels)
            for j, alone in enumerate(self._alone[name]):
                parts[:, :, block.columns[j]] = alone.without_row(x, j, part.labels)
        return parts

    @cached_property
    def _alone(self) -> dict[str, list[Alone]]:
        """The columns of each block as blocks of their own; a block that is one document stays together."""
        blocks = self.tally.blocks.items()
        return {
            name: [Alone.of(self.settings.families[name], b.summary, [j]) for j in range(len(b.columns))]
            if not self.is_document(name)
            else [Alone(self.settings.families[name], self.words.summary(name), self.parameters[name], whole=True)]
            for name, b in blocks
        }

    def is_document(self, name: str) -> bool:
        """Whether the columns of a block, or the words of its one column, are one thing that has no parts."""
        return name in self.texts or self.settings.families[name].is_document

    def _bound(self, name: str, verb: str) -> Callable[[Matrix], Array]:
        family, params = self.settings.families[name], self.scoring[name]
        return lambda x: getattr(family, verb)(params, self.words.of_known(name, x))

    def _evidence(self, part: Batch, first: int) -> Array:
        """Log P(x | y), shape (n, K)."""
        if self._times is not None:
            return np.ascontiguousarray(self.contributions(part).sum(axis=2))
        evidence = np.zeros((part.n_rows, self.n_classes))
        for name, block in part.blocks.items():
            if name in self.tally.blocks:  # the plain model leaves out the pairs
                work = named_cells(self._bound(name, "log_prob"), self.schema, block.columns, first)
                evidence += silenced(block.x, work(block.x))
        return evidence

    def _joint(self, part: Batch, first: int) -> Array:
        return self._evidence(part, first) + self.prior_score

    @cached_property
    def fallback(self) -> Array:
        """What a row that every class forbids is given: the log prior, or all classes alike where there is none."""
        return self.log_prior - (math.log(self.n_classes) if self.settings.prior == "none" else 0.0)

    def _posterior(self, evidence: Array, logs: bool) -> tuple[Array, int]:
        """Normalise in place and calibrate; also answers how many rows every class forbids."""
        if self.settings.calibration is None:
            return evidence, kernels.normalise(evidence, self.prior_score, self.fallback, logs)
        forbidden = kernels.normalise(evidence, self.prior_score, self.fallback, True)
        calibrated = self._calibrated(evidence)
        return (calibrated if logs else np.exp(calibrated)), forbidden

    def _calibrated(self, log_posterior: Array) -> Array:
        if self.settings.calibration is None:
            return log_posterior
        return np.ascontiguousarray(self.settings.calibration.apply(log_posterior))

    def _by_chunks(self, batch: Rows, n_jobs: int | None, work: Callable[[Batch, int], tuple[Any, int]]) -> Any:
        """Work on chunks of rows on all cores, put the results together and warn of the rows nobody allows."""
        threads = threads_for(batch.size * self.n_classes, n_jobs)
        step = max(1, min(batch.most_rows or CHUNK, -(-batch.n_rows // threads)))
        if batch.n_rows <= step:
            out, forbidden = work(batch.rows(0, batch.n_rows), 0)
        else:
            self.scoring, self.prior_score  # noqa: B018  estimated once, before the threads ask for them
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
        """Draw rows: a matrix for every block, and the class code of each row, by the plain model of the columns."""
        if self.generative is not self:
            return self.generative.sample(n, rng)
        p = np.exp(self.fallback)
        codes = rng.choice(self.n_classes, size=n, p=p / p.sum())
        others = ((name, params) for name, params in self.parameters.items() if name not in self.texts)
        drawn = {name: self.settings.families[name].sample(params, codes, rng) for name, params in others}
        return drawn | {name: self._sampled_words(name, codes, rng) for name in self.texts}, codes

    def _sampled_words(self, name: str, codes: NDArray[np.int64], rng: np.random.Generator) -> Csr:
        """Bags of words, a few rows at a time: a row of all words is long."""
        params, n_words = self.parameters[name], self.words.summary(name).count.shape[1]
        step, row, column, count = max(1, 4_000_000 // max(n_words, 1)), [], [], []
        for first in range(0, len(codes), step):
            bags = self.settings.families[name].sample(params, codes[first : first + step], rng)
            here, words = np.nonzero(bags)
            row.append(here + first)
            column.append(self.words.known[name][words] if name in self.words.known else words)
            count.append(bags[here, words])
        start = np.searchsorted(np.concatenate(row), np.arange(len(codes) + 1))
        return Csr(np.concatenate(count), np.concatenate(column), start, len(self.texts[name].levels or ()))

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


@dataclass(frozen=True)
class Alone:
    """One column of a block, with its part of the summary and of the family's settings."""

    family: Any
    summary: Any
    params: Any
    whole: bool = False  # not a column, but all of a block

    @classmethod
    def of(cls, family: Family, summary: Any, columns: list[int]) -> Alone:
        """Some columns of a block."""
        family, part = for_columns(family, columns), summary.select(np.array(columns, dtype=np.intp))
        return cls(family, part, family.estimate(part))

    def without_row(self, x: Matrix, column: int, labels: Any) -> Array:
        """Leave-one-out log probability (n, K) of the column."""
        x = x if self.whole else columns_of(x, [column])
        return silenced(x, np.asarray(self.family.leave_one_out(self.summary, self.params, x, heard(x, labels))))


# How a model is written to a file; `tallybayes.storage` says it, so that this module need not import what lies above.
WRITERS: list[Callable[..., None]] = []
