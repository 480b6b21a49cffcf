"""Calibration and cut-offs of a filter, from leave-one-out scores, and an honest account of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import calibration
from tallybayes.core.batch import Array, Batch
from tallybayes.core.model import Model
from tallybayes.mail import filter
from tallybayes.mail.cutoffs import SHARE, checked_share, thresholds_for
from tallybayes.mail.evaluation import MailEvaluation
from tallybayes.mail.verdicts import DEFAULT, Thresholds

MANY = 100  # messages of each class from which the calibration and the cut-offs are fitted


@dataclass(frozen=True)
class Reading:
    """How the scores of a filter are read."""

    calibration: calibration.Calibration
    thresholds: Thresholds
    is_fitted: bool  # rather than the usual one

    def probability(self, log_posterior: Array) -> Array:
        """The calibrated probability of spam (n,)."""
        return np.exp(self.calibration.apply(log_posterior))[:, 1]


def train(ham: Sequence[str], spam: Sequence[str], share: float = SHARE) -> tuple[Model, MailEvaluation]:
    """A filter that has learned these messages, and its performance on held-out ones.

    Parameters
    ----------
    ham, spam : sequence of str
        Documents: the tokens of a message, one a line.
    share : float
        The share of ham that may be called spam.

    Returns
    -------
    Model, MailEvaluation

    Examples
    --------
    >>> model, evaluation = train(["see you at lunch"] * 3, ["free money"] * 3)
    >>> model.tally.class_weight.tolist(), evaluation.n_messages
    ([3.0, 3.0], 6)
    """
    batch = filter.rows([*ham, *spam], [filter.HAM] * len(ham) + [filter.SPAM] * len(spam))
    return fitted(filter.empty().learn(batch), batch, share)


def fitted(
    model: Model, batch: Batch, share: float = SHARE, times: Sequence[float] | None = None
) -> tuple[Model, MailEvaluation]:
    """The filter with calibration and cut-offs from the leave-one-out scores of messages that it has learned.

    The evaluation is of messages that had no part in either: each half is read as the other half suggests, the older
    and the newer one where the times of the messages are known.
    """
    checked_share(share)
    raw = replace(model, settings=replace(model.settings, calibration=None)).leave_one_out(batch)
    assert batch.labels is not None
    assert batch.labels.codes is not None
    codes = batch.labels.codes
    reading = read_scores(raw, codes, share)
    chosen = {}
    if reading.is_fitted:
        chosen = {
            filter.SPAM_FROM: reading.thresholds.spam,
            filter.HAM_BELOW: reading.thresholds.ham,
            filter.PROMISE: share,
        }
    model = replace(
        model,
        settings=replace(model.settings, calibration=reading.calibration),
        provenance=replace(model.provenance, chosen=chosen),
    )
    return model, judged(raw, codes, share, _later_half(codes, times))


def read_scores(log_posterior: Array, codes: NDArray[np.int32], share: float) -> Reading:
    """Calibration and cut-offs for the held-out scores (n, 2) of messages; the usual ones where messages are few."""
    if min(np.bincount(codes, minlength=2)) < MANY:
        return Reading(filter.TEMPERATURE, DEFAULT, is_fitted=False)
    found = calibration.fit("affine", log_posterior, codes, np.ones(len(codes)))
    ham = found.apply(log_posterior[codes == 0])
    return Reading(found, thresholds_for(ham[:, 1] - ham[:, 0], share), is_fitted=True)


def judged(raw: Array, codes: NDArray[np.int32], share: float, later: NDArray[np.bool_]) -> MailEvaluation:
    """Verdicts on the messages of each half, by what the scores of the other half suggest."""
    total = MailEvaluation.of((), ())
    for half in (later, ~later):
        reading = read_scores(raw[~half], codes[~half], share)
        probability = reading.probability(raw[half])
        spam, ham = (probability[codes[half] == code].tolist() for code in (1, 0))
        total += MailEvaluation.of_probabilities(spam, ham, reading.thresholds)
    return total


def _later_half(codes: NDArray[np.int32], times: Sequence[float] | None) -> NDArray[np.bool_]:
    """The newer half of each class; every second message where no times are known."""
    later = np.zeros(len(codes), dtype=bool)
    for code in (0, 1):
        own = np.flatnonzero(codes == code)
        if times is None:
            later[own[1::2]] = True
        else:
            later[own[np.argsort(np.asarray(times)[own], kind="stable")][len(own) // 2 :]] = True
    return later
