"""A family and a handful of rows."""

import numpy as np

from tallybayes.core.batch import Labels


def labels(codes, weight=None):
    """Hard labels from lists."""
    return Labels.hard(np.asarray(codes, np.int32), None if weight is None else np.asarray(weight, np.float64))


def fitted(family, x, codes, weight=None, n_classes=None):
    """The summary of the rows and the parameters it is read as."""
    summary = family.tally(x, labels(codes, weight), n_classes or max(codes) + 1)
    return summary, family.estimate(summary)
