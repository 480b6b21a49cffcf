"""Cut-offs that keep a promise: how much ham may be called spam, estimated from leave-one-out scores.

The promised share is smaller than what a few thousand messages can show: 0.1 % of 500 messages is half a message. So
the largest scores of ham are taken for an exponential tail, which fits them well, and the cut-off is where that tail
has the promised share. The very largest, as many as the share allows, are known only to lie beyond the others: one
mislabelled message must not move the cut-off.
"""

from __future__ import annotations

import math

import numpy as np

from tallybayes.core.batch import Array
from tallybayes.errors import DataError
from tallybayes.mail.verdicts import Thresholds

SHARE = 0.001  # of the ham that may be called spam
TAIL = 0.01  # of the ham whose scores are the tail: of a larger one, half of the promised share was called spam
LEAST_TAIL = 15  # messages in the tail, however few there are
HAM_BELOW = 0.1  # a message with less than this probability of spam is ham
LEAST_SPAM = 0.5  # whatever is promised, spam is what is likelier spam than ham


def checked_share(share: float) -> float:
    """A share of ham that may be called spam, which is above 0 and below 1.

    Raises
    ------
    DataError
        If it is none.
    """
    if not 0.0 < share < 1.0:
        raise DataError(f"the share of ham that may be called spam lies between 0 and 1, such as 0.001; got {share:g}")
    return share


def tail_quantile(scores: Array, share: float) -> float:
    """The score that this share of the messages exceeds, by an exponential tail of the largest of them.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        At least 20 of them.
    share : float

    Examples
    --------
    >>> scores = -np.log((np.arange(2000) + 0.5) / 2000)  # an exponential distribution
    >>> round(tail_quantile(scores, 0.001), 1), round(math.log(1000), 1)
    (7.0, 6.9)
    >>> scores[0] = 1e6  # one outlier
    >>> round(tail_quantile(scores, 0.001), 1)
    7.0
    """
    ordered = np.sort(scores)[::-1]
    tail = min(max(LEAST_TAIL, int(max(TAIL, 2.0 * share) * len(ordered))), len(ordered) - 1)
    beyond = min(int(share * len(ordered)), tail - 1)
    start = float(ordered[tail])
    # The likeliest mean excess where the largest are only known to be at least as large as the next.
    seen = tail - beyond
    excess = float((ordered[beyond:tail] - start).sum() + beyond * (ordered[beyond] - start)) / seen
    # The mean excess is itself estimated: of the next message the tail is a little heavier, (1 + x / seen·mean)^-seen.
    rarity = max(tail / len(ordered) / share, 1.0)
    return start + excess * seen * (rarity ** (1.0 / seen) - 1.0)


def thresholds_for(ham_log_odds: Array, share: float) -> Thresholds:
    """The thresholds that promise this share of false positives, from calibrated log odds of ham that was held out."""
    spam = max(1.0 / (1.0 + math.exp(-min(tail_quantile(ham_log_odds, share), 30.0))), LEAST_SPAM)
    return Thresholds(spam, min(HAM_BELOW, spam))
