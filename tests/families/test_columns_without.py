"""Losses and leave-one-out evidence of all columns of a block at once, held against one column at a time."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tallybayes.core import column_kernels
from tallybayes.core.batch import Codes, Labels
from tallybayes.core.family import Family
from tallybayes.core.trials import Trial
from tallybayes.errors import RowError
from tallybayes.families import Binned, Exponential, Gamma, Gaussian, Hierarchical, Kernel, Lognormal, ZeroInflated
from tallybayes.families._merged import partition_cost
from tallybayes.families._tables import STRENGTHS

NUMBERS = [
    Gaussian.usual(),
    Gaussian(0.1, variance="shared", floor="own"),
    Gaussian(floor="own"),
    Lognormal(),
    Gamma(1e-4),
    Exponential(),
    Exponential(0.5),
    ZeroInflated("lognormal"),
    ZeroInflated("gaussian", alpha=0.5),
]
TABLES = [Hierarchical(), Kernel(), Binned()]


def labels_of(n, n_classes, rng, weighted):
    codes = rng.integers(0, n_classes, n).astype(np.int32)
    codes[:n_classes] = np.arange(n_classes)
    return Labels(codes, rng.choice([0.5, 1.0, 2.5], n) if weighted else np.ones(n))


def numbers(family, n, rng):
    """Columns that are smooth, of few values, constant in a class, far off, and with missing values."""
    x = np.stack(
        [rng.gamma(2.0, size=n), 1.0 + rng.integers(0, 5, n), 7.0 + rng.random(n), 1e3 + rng.normal(size=n)], 1
    )
    if family.has_spike or not family.above_least:
        x[rng.random(x.shape) < 0.2] = 0.0
    x[rng.random(x.shape) < 0.1] = np.nan
    return x


def trial_of(x, labels, n_classes, rng, cells=None):
    return Trial(x, labels, np.log(rng.dirichlet(np.ones(n_classes))), cells)


def single(family, summary, x, labels, j):
    part = summary.select(np.array([j]))
    column = Codes(x.matrix[:, j : j + 1], x.n_levels[j : j + 1]) if isinstance(x, Codes) else x[:, j : j + 1]
    return family.leave_one_out(part, family.estimate(part), column, labels)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("family", NUMBERS, ids=repr)
def test_numbers_of_a_block_are_left_out_as_those_of_a_column(family, n_classes, weighted, seed):
    rng = np.random.default_rng(seed)
    labels, x = labels_of(80, n_classes, rng, weighted), numbers(family, 80, rng)
    x[:, 2] = np.where(labels.codes == 0, 7.0, x[:, 2])  # constant in one class
    x[labels.codes == 1, 1] = np.nan  # a class without a value
    summary = family.tally(x, labels, n_classes)
    expected = np.stack([single(family, summary, x, labels, j) for j in range(4)], axis=2)
    out = np.full((80, n_classes, 6), -1.0, dtype=np.float32)
    family.evidence_without(summary, x, labels, out, [5, 0, 2, 3])
    own = expected[np.arange(80), labels.codes][:, None]
    assert_allclose(out[:, :, [5, 0, 2, 3]], expected - own, rtol=1e-6, atol=1e-5)
    assert (out[:, :, [1, 4]] == -1.0).all()
    trial = trial_of(x, labels, n_classes, rng)
    alone = trial.losses(lambda j: expected[:, :, j])
    values = np.stack([np.unique(column, return_inverse=True)[1] for column in x.T], axis=1).astype(np.int32)
    some = np.minimum(values, 2)  # two cells of one value each, and one of all others
    for cells in (values, None, np.zeros_like(values), some):  # rows of a cell that differ are not taken for alike
        tried, losses = family.tuned(summary, Trial(x, labels, trial.prior, cells))
        assert list(tried) == [family] * 4
        assert_allclose(losses, alone, rtol=1e-7)


def best_losses(family, losses_of, n_levels):
    """The least losses (d,) of the settings that are tried, one column at a time."""
    if not isinstance(family, Kernel):
        return np.min([losses_of(type(family)(strength=s)) for s in STRENGTHS], axis=0)
    by_width = np.array([losses_of(Kernel(width)) for width in Kernel.widths])
    by_width[1:, n_levels <= 3] = np.inf
    widths = tuple(Kernel.widths[i] for i in by_width.argmin(axis=0))
    found = [[losses_of(Kernel(width, s))[j] for j, width in enumerate(widths)] for s in STRENGTHS]
    return np.min(found, axis=0)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("family", TABLES, ids=repr)
def test_codes_of_a_block_are_left_out_as_those_of_a_column(family, n_classes, weighted, seed):
    rng, n_levels = np.random.default_rng(seed), np.array([1, 3, 12, 30])
    labels = labels_of(150, n_classes, rng, weighted)
    matrix = (rng.integers(0, n_levels, (150, 4)) + labels.codes[:, None] * 3) % n_levels
    matrix[rng.random((150, 4)) < 0.1] = -1
    x = Codes(matrix.astype(np.int16), n_levels)
    summary, trial = family.tally(x, labels, n_classes), trial_of(x, labels, n_classes, rng)

    def losses_of(each):
        return trial.losses(lambda j: single(each, summary, x, labels, j))

    cost = np.zeros(4)
    if isinstance(family, Binned):
        cost = partition_cost(family.estimate(summary).n_groups, summary.weight.sum(axis=0))
    tried, losses = family.tuned(summary, trial)
    assert_allclose(losses, best_losses(family, losses_of, n_levels) + cost, rtol=1e-9)
    assert_allclose(losses, [losses_of(each)[j] + cost[j] for j, each in enumerate(tried)], rtol=1e-9)
    block = type(family)(**{name: tuple(getattr(each, name) for each in tried) for name in family.by_column})
    fast, slow = np.zeros((2, 150, n_classes, 4), dtype=np.float32)
    block.evidence_without(summary, x, labels, fast, range(4))
    Family.evidence_without(block, summary, x, labels, slow, range(4))
    assert_allclose(fast, slow, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("bandwidth", [0.5, 2.0, 8.0])
def test_counts_are_spread_by_a_normal_kernel(bandwidth):
    rng, bins = np.random.default_rng(1), np.arange(20)
    near = np.exp(-0.5 * ((bins[:, None] - bins) / bandwidth) ** 2)
    near /= near.sum(axis=1, keepdims=True)
    count = rng.integers(0, 9, (23, 3)).astype(float)
    spread, kept = column_kernels.spread_counts(count, np.array([20, 3]), np.array([bandwidth, 0.0]))
    assert_allclose(spread, np.vstack((near.T @ count[:20], count[20:])))
    assert_allclose(kept, np.append(near.diagonal(), np.ones(3)))


def test_rows_that_were_not_learned_are_refused():
    rng = np.random.default_rng(0)
    labels = labels_of(40, 2, rng, weighted=False)
    heavy = Labels(labels.codes, np.full(40, 100.0))
    x, codes = rng.gamma(2.0, size=(40, 2)), Codes(rng.integers(0, 3, (40, 2)), np.array([3, 3]))
    out = np.zeros((40, 2, 2), dtype=np.float32)
    for family in NUMBERS + TABLES:
        rows = codes if family in TABLES else x
        summary = family.tally(rows, labels, 2)
        with pytest.raises(RowError):
            family.evidence_without(summary, rows, heavy, out, [0, 1])
        with pytest.raises(RowError):
            family.tuned(summary, Trial(rows, heavy, np.zeros(2)))
    for code in (3, -2):
        other = Codes(np.full((40, 2), code), np.array([3, 3]))
        with pytest.raises(RowError):
            Hierarchical().evidence_without(Hierarchical().tally(codes, labels, 2), other, labels, out, [0, 1])
