"""Call every compiled kernel on odd input, for the sanitizers to watch: ``scripts/sanitize``.

Each matrix comes in many layouts and types, whole and damaged. A kernel must answer or raise an error of ours; it
must not read or write outside what it was lent. Results are held against plain NumPy.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from tallybayes import _native
from tallybayes.core import (
    column_kernels,
    draws,
    fitting,
    kernels,
    keys,
    moment_kernels,
    pair_kernels,
    scatter,
    word_kernels,
)
from tallybayes.core.batch import Codes, Csr, Labels
from tallybayes.core.summaries import Moments
from tallybayes.core.tokens import Tokens, Vocabulary
from tallybayes.core.trials import Trial
from tallybayes.core.word_kernels import TextRows, WordCounts
from tallybayes.families import Hierarchical, numeric_families
from tallybayes.storage.ledger import blobs

SHAPES = [(0, 3), (1, 1), (1, 7), (5, 0), (31, 2), (32, 3), (33, 17), (257, 5), (700, 1)]  # around the block sizes
INTEGERS = [np.dtype(f"{kind}{size}") for kind in "iu" for size in (1, 2, 4, 8)]
K = 3
WRONG_SIGNATURE = "incompatible function arguments"  # how nanobind says so


class Watch:
    """The extension, noting which of its functions were called."""

    def __init__(self) -> None:
        self.called: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        self.called.add(name)
        return getattr(_native, name)


def layouts(x: Any) -> Iterator[Any]:
    """The same matrix in C order, Fortran order, read-only, and as views that skip, go backwards, or start late."""
    yield np.ascontiguousarray(x)
    yield np.asfortranarray(x)
    yield np.repeat(np.repeat(x, 2, axis=0), 3, axis=1)[::2, ::3]
    yield np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1]
    yield np.pad(x, ((1, 0), (2, 0)))[1:, 2:]
    frozen = x.copy()
    frozen.flags.writeable = False
    yield frozen


def hard(n: int, rng: np.random.Generator) -> Labels:
    return Labels.hard(rng.integers(K, size=n).astype(np.int32), rng.choice([0.0, 0.5, 1.0, 2.0], size=n))


def both(n: int, rng: np.random.Generator) -> tuple[Labels, Labels]:
    """Hard labels, and the same said softly."""
    labels = hard(n, rng)
    return labels, Labels.soft(np.eye(K)[labels.codes] * labels.weight[:, None])


def fields(summary: Moments) -> tuple[Any, Any, Any]:
    return summary.weight, summary.mean, summary.m2


def merged(summary: Moments) -> Any:
    return np.concatenate(fields(summary.merged()))


def refused(work: Callable[..., Any], *args: Any, error: type[Exception] = ValueError) -> None:
    """The call must end in an error, not in a crash or an answer.

    That a kernel has no such signature is no refusal: the call would then not have reached what looks for damage.
    """
    refusal = refusal_of(work, *args, error=error)
    if WRONG_SIGNATURE in refusal:
        raise AssertionError(f"{getattr(work, '__name__', work)} is called with the wrong arguments: {refusal}")


def refusal_of(work: Callable[..., Any], *args: Any, error: type[Exception]) -> str:
    try:
        work(*args)
    except error as refusal:
        return str(refusal)
    raise AssertionError(f"{getattr(work, '__name__', work)} took damaged input")


def refuses_other_order(work: Callable[..., Any], *args: Any, at: int) -> None:
    """A matrix that has to be in C order is taken, and the same in Fortran order is not.

    Only a signature can say so; that the first call is answered shows that it is the order that is refused.
    """
    work(*args)
    turned = *args[:at], np.asfortranarray(args[at]), *args[at + 1 :]
    assert WRONG_SIGNATURE in refusal_of(work, *turned, error=TypeError)


def floats(rng: np.random.Generator) -> None:
    types = [np.float64, np.float32, np.float16, np.int16, np.dtype(">f8")]
    for shape, dtype, missing in itertools.product(SHAPES, types, (0.0, 0.3, 1.0)):
        x = rng.integers(0, 5, size=shape).astype(dtype)
        if x.dtype.kind == "f":
            x[rng.random(shape) < missing] = np.nan
        for labels, one in itertools.product(both(shape[0], rng), layouts(x)):
            summary = Moments(*kernels.moments(one, labels, K))
            ones, zeros = np.ones_like(summary.mean), np.zeros_like(summary.mean)
            kernels.gaussian_scores(one, summary.mean, ones, zeros, zeros.sum(axis=1))
            for n_edges in (0, 1, 4):
                columns, edges = np.arange(shape[1])[::-1].copy(), np.arange(float(n_edges))
                start = kernels.starts(np.full(shape[1], n_edges + 2))
                table = rng.random((int(start[-1]), K))
                kernels.bin_scores(one, columns, start, np.tile(edges, shape[1]), table)
            for threshold in (None, 1.0):
                sums, seen = kernels.event_sums(one, labels, K, threshold)
                events = np.nan_to_num(x) if threshold is None else x > threshold
                row_weight = labels.weight if labels.codes is None else np.eye(K)[labels.codes] * labels.weight[:, None]
                np.testing.assert_allclose(sums, row_weight.T @ events.astype(float), atol=1e-12)
                np.testing.assert_allclose(seen, summary.weight, atol=1e-12)
            if labels.codes is not None:
                for shared in (True, False):
                    kernels.gaussian_leave_one_out(
                        one, labels, fields(summary), merged(summary), 1e-9, 1e-9, shared, False
                    )


def damaged_floats(rng: np.random.Generator) -> None:
    labels, x = hard(40, rng), rng.random((40, 6))
    table, learned = np.zeros((K, 6)), Moments(*kernels.moments(x, labels, K))
    for value in (np.inf, -np.inf):
        for row, column in ((0, 0), (39, 5), (17, 2)):
            bad = x.copy()
            bad[row, column] = value
            for one in layouts(bad):
                refused(kernels.moments, one, labels, K)
                refused(kernels.event_sums, one, labels, K, None)
                refused(kernels.event_sums, one, labels, K, 0.5)
                refused(kernels.gaussian_scores, one, table, table, table, np.zeros(K))
                for shared in (True, False):
                    refused(
                        kernels.gaussian_leave_one_out,
                        one,
                        labels,
                        fields(learned),
                        merged(learned),
                        0.0,
                        0.0,
                        shared,
                        False,
                    )
    refused(kernels.event_sums, -x, labels, K, None)
    refused(
        kernels.event_sums, np.where(x < 0.1, np.nan, x), labels, K, None, False
    )  # a missing value where none may be
    for codes in (np.full(40, K), np.full(40, -1), np.zeros(39), np.zeros(0)):
        wrong = Labels(codes.astype(np.int32), np.ones(40))
        refused(kernels.moments, x, wrong, K)
        refused(kernels.event_sums, x, wrong, K, None)
        refused(kernels.gaussian_leave_one_out, x, wrong, (table,) * 3, np.zeros((3, 6)), 0.0, 0.0, False, False)
    refused(kernels.moments, x, Labels(labels.codes, np.ones(39)), K)
    refused(kernels.moments, x, Labels.soft(np.ones((40, K + 1))), K)
    refused(kernels.gaussian_scores, x, np.zeros((K, 5)), table, table, np.zeros(K))
    refused(kernels.gaussian_scores, x, table, table, table, np.zeros(K + 1))
    for column, start, n_edges in ((6, [0, 4], 2), (-1, [0, 4], 2), (0, [0, 4], 3), (0, [0, 5], 2), (0, [0, 1, 4], 2)):
        refused(kernels.bin_scores, x, np.array([column]), np.array(start), np.zeros(n_edges), np.zeros((4, K)))
    refused(kernels.gaussian_leave_one_out, x, labels, (table,) * 3, np.zeros((2, 6)), 0.0, 0.0, True, False)
    heavy = Labels(labels.codes, np.full(40, learned.weight.max() * 1.1))  # a row weighs more than its class
    for shared in (True, False):
        refused(kernels.gaussian_leave_one_out, x, heavy, fields(learned), merged(learned), 0.0, 0.0, shared, False)


def moments_of_sets(rng: np.random.Generator) -> None:
    """Moments of several sets of rows, together and out again."""
    for k, d in ((1, 1), (3, 0), (3, 7), (2, 33)):
        x, codes = rng.normal(size=(60, d)), rng.integers(k, size=60)
        one, other, whole = (
            (*kernels.moments(part, Labels.hard(own.astype(np.int32), np.ones(len(own))), k), None)
            for part, own in ((x[:25], codes[:25]), (x[25:], codes[25:]), (x, codes))
        )
        both_sets = moment_kernels.joined(one, other)
        for found, want in zip(both_sets, whole[:3], strict=False):
            np.testing.assert_allclose(found, want, atol=1e-9)
        left = moment_kernels.without((*both_sets[:3], both_sets[3]), other, one[0])
        assert left is not None
        for found, want in zip(left, one[:3], strict=False):
            np.testing.assert_allclose(found, want, atol=1e-9)
        assert moment_kernels.merged(*whole[:3]).shape == (3, d)
        weights = moment_kernels.weights_without(whole[0], one[0])
        assert weights is not None
        np.testing.assert_array_equal(weights, other[0])
        if d:
            assert moment_kernels.weights_without(one[0], whole[0]) is None
            assert moment_kernels.without(one, whole, one[0] - whole[0]) is None
    small = tuple(np.ones((2, 3)) for _ in range(3))
    refused(moment_kernels.joined, (*whole[:3], None), (*small, None))
    refused(moment_kernels.joined, (*small, np.zeros(5)), (*small, None))
    refused(moment_kernels.without, (*small, None), (*whole[:3], None), np.ones((2, 3)))
    refused(moment_kernels.merged, np.ones((2, 3)), np.ones((2, 4)), np.ones((2, 3)))
    refused(moment_kernels.weights_without, np.ones(4), np.ones(5))


def scatters(rng: np.random.Generator) -> None:
    """How numbers vary together, beside the formulas of NumPy."""
    for shape, missing in itertools.product([(0, 3), (1, 1), (31, 2), (33, 17), (257, 5)], (0.0, 0.1)):
        x = np.where(rng.random(shape) < missing, np.nan, rng.normal(0, 3, shape))
        centre, scale, complete = rng.normal(size=shape[1]), rng.random(shape[1]) + 0.5, ~np.isnan(x).any(axis=1)
        z = np.clip((x[complete] - centre) / scale, -5, 5)
        for labels, layout in itertools.product(both(shape[0], rng), layouts(x)):
            found = scatter.standard_scatter(layout, labels, K, centre, scale, 5.0)
            want = scatter.scatter_by_class(z, labels.take(np.flatnonzero(complete)), K)
            for name in ("weight", "mean", "product"):
                np.testing.assert_allclose(getattr(found, name), getattr(want, name), atol=1e-9, err_msg=name)
    x, labels, one = rng.random((40, 6)), hard(40, rng), np.ones(6)
    refused(scatter.standard_scatter, np.where(x < 0.1, np.inf, x), labels, K, one, one, 5.0)
    for codes in (np.full(40, K), np.full(40, -2), np.zeros(39)):
        refused(scatter.standard_scatter, x, Labels(codes.astype(np.int32), np.ones(40)), K, one, one, 5.0)
    refused(scatter.standard_scatter, x, labels, K, one[:5], one, 5.0)
    refused(scatter.standard_scatter, x, Labels.soft(np.ones((40, K + 1))), K, one, one, 5.0)


def categories(rng: np.random.Generator) -> None:
    for shape, dtype in itertools.product(SHAPES, INTEGERS):
        n_levels = rng.integers(1, 6, size=shape[1])
        x = (rng.integers(100, size=shape) % n_levels).astype(dtype)
        kernels.code_range(x)
        if x.dtype.kind == "i":
            x[rng.random(shape) < 0.2] = -1
        for labels, matrix in itertools.product(both(shape[0], rng), layouts(x)):
            if matrix.size:
                low, high = kernels.code_range(matrix)
                np.testing.assert_array_equal((low, high), (x.min(axis=0), x.max(axis=0)))
            codes = Codes(matrix, n_levels)
            count = kernels.code_counts(codes, labels, K)
            np.testing.assert_allclose(
                count.sum(),
                (labels.weight.sum(axis=-1) if labels.codes is None else labels.weight)
                @ (x.astype(np.int64) != -1).sum(axis=1),
            )
            table = rng.random((int(n_levels.sum()) + shape[1], K))
            kernels.table_scores(matrix, kernels.starts(n_levels + 1), table)
            if labels.codes is not None:
                weight, alpha = np.full((K, shape[1]), 1e9), np.zeros(shape[1])
                kernels.table_leave_one_out(codes, labels, count + 1.0, weight, alpha)


def damaged_categories(rng: np.random.Generator) -> None:
    labels, n_levels = hard(20, rng), np.array([2, 3])
    for dtype in INTEGERS:
        limits = np.iinfo(dtype)
        for code, column in itertools.product((limits.max, limits.min, 3, -2), (0, 1)):
            if not limits.min <= code <= limits.max or code in (0, -1) or code == np.uint64(2**64 - 1):
                continue
            x = np.zeros((20, 2), dtype=dtype)
            x[19, column] = code
            for matrix in layouts(x):
                refused(kernels.code_counts, Codes(matrix, n_levels), labels, K)
                args = np.ones((5, K)) * 9, np.ones((K, 2)) * 99, np.ones(2)
                refused(kernels.table_leave_one_out, Codes(matrix, n_levels), labels, *args)
                kernels.table_scores(matrix, kernels.starts(n_levels + 1), np.zeros((7, K)))  # unseen: no error
    x, table = np.zeros((20, 2), dtype=np.int64), np.zeros((7, K))
    for start in ([0, 3, 8], [0, 9, 7], [1, 3, 7], [0, 7], [0, -3, 7], [0, 0, 7]):
        refused(kernels.table_scores, x, np.array(start), table)
    refused(kernels.table_leave_one_out, Codes(x, n_levels), labels, np.ones((5, K)), np.ones((K, 2)), np.ones(1))
    refused(kernels.table_leave_one_out, Codes(x, n_levels), labels, np.zeros((5, K)), np.ones((K, 2)), np.ones(2))
    refused(kernels.code_counts, Codes(x, n_levels), Labels.hard(np.full(20, K, dtype=np.int32)), K)
    refused(_native.code_range, np.zeros((0, 2), dtype=np.int64), *np.zeros((2, 2), dtype=np.int64))


def pairs(rng: np.random.Generator) -> None:
    """Combinations of two columns: leave-one-out, and the slopes in the weights of pairs."""
    for (n, d), dtype in itertools.product(SHAPES, INTEGERS):
        n_left, n_right = rng.integers(1, 4, size=(2, d))
        x = (rng.integers(100, size=(n, d)) % (n_left * n_right)).astype(dtype)
        if x.dtype.kind == "i":
            x[rng.random((n, d)) < 0.2] = -1
        labels = hard(n, rng)
        for matrix in layouts(x):
            codes = Codes(matrix, n_left * n_right, n_right)
            count = kernels.code_counts(codes, labels, K).T
            weight = count @ np.repeat(np.eye(d), codes.n_levels, axis=0)
            assert np.isfinite(pair_kernels.pair_leave_one_out(codes, labels, count, weight, np.ones(d))).all()
            lifts = pair_kernels.pair_lifts(codes.n_levels, n_right, count, weight, np.ones(d))
            assert lifts.shape == (count.shape[1], K)
            assert np.isfinite(lifts).all()
            table, out = np.zeros((count.shape[1] + d, K)), np.full((n, K, d + 1), np.nan, dtype=np.float32)
            pair_kernels.pair_evidence(codes, labels, count, weight, np.ones(d), table, range(1, d + 1), out)
            assert np.isfinite(out[:, :, 1:]).all()
    codes, n_right = np.zeros((20, 1), dtype=np.int32), np.array([2])
    x, labels, strength = Codes(codes, np.array([4]), n_right), Labels.hard(np.zeros(20, np.int32)), np.ones(1)
    count, weight = np.full((K, 4), 20.0), np.full((K, 1), 20.0)
    pair_kernels.pair_leave_one_out(x, labels, count, weight, strength)
    for code in (4, -2, 2**31 - 1, -(2**31)):
        refused(
            pair_kernels.pair_leave_one_out, replace(x, matrix=codes + np.int32(code)), labels, count, weight, strength
        )
    for right in ([3], [0], [-2], [2, 2]):
        refused(pair_kernels.pair_leave_one_out, replace(x, n_right=np.array(right)), labels, count, weight, strength)
    refused(pair_kernels.pair_leave_one_out, x, labels, count[:, 1:], weight, strength)
    refused(pair_kernels.pair_leave_one_out, x, labels, count, weight[1:], strength)
    refused(pair_kernels.pair_leave_one_out, x, labels, count, weight, np.ones(2))
    refused(pair_kernels.pair_leave_one_out, x, labels, 0.0 * count, weight, strength)  # rows that were never learned
    refused(pair_kernels.pair_leave_one_out, x, hard(19, rng), count, weight, strength)
    levels = np.array([4])
    refused(pair_kernels.pair_lifts, levels, np.array([3]), count, weight, strength)
    refused(pair_kernels.pair_lifts, levels, n_right, count[:, 1:], weight, strength)
    refused(pair_kernels.pair_lifts, levels, n_right, count, weight[1:], strength)
    refused(pair_kernels.pair_lifts, levels, n_right, count, weight, np.ones(2))
    table, out = np.zeros((5, K)), np.zeros((20, K, 1), dtype=np.float32)
    for place, lifts, to in ((1, table, out), (-1, table, out), (0, table[1:], out), (0, table, out[1:])):
        refused(pair_kernels.pair_evidence, x, labels, count, weight, strength, lifts, [place], to)
    refused(pair_kernels.pair_evidence, x, labels, 0.0 * count, weight, strength, table, [0], out)
    pair_slopes(rng)


def pair_slopes(rng: np.random.Generator) -> None:
    two = np.array([[0, 1], [1, 0], [1, 1]])
    for n, n_classes, weighted in itertools.product((0, 1, 5, 600, 3000), (1, 2, 6), (True, False)):
        n_levels = np.array([3, 200])
        codes = rng.integers(-1, n_levels[:, None], size=(2, n)).astype(np.int32)
        y = np.sort(rng.integers(n_classes, size=n))
        start = kernels.starts(np.bincount(y, minlength=n_classes))
        weight = rng.choice([0.0, 0.5, 2.0], size=n) if weighted else np.ones(n)
        compared = kernels.starts(np.diff(start) // 2)
        posterior = rng.random((n_classes, int(compared[-1])))
        rows = pair_kernels.GridRows(codes, n_levels, weight, start, compared, posterior)
        for pairs in (two, two[:0]):
            assert np.isfinite(pair_kernels.pair_slopes(rows, pairs, np.array([1.0, 8.0]))).all()
    for wrong in (
        rows._replace(codes=rows.codes + np.int32(300)),
        rows._replace(n_levels=n_levels[:1]),
        rows._replace(n_levels=np.array([3, 2**40])),
        rows._replace(n_levels=np.array([3, -1])),
        rows._replace(weight=weight[1:]),
        rows._replace(start=start + 1),
        rows._replace(start=start[:-1]),
        rows._replace(compared=start),
        rows._replace(compared=2 * start, posterior=np.ones((n_classes, 2 * n))),
        rows._replace(posterior=posterior[:, 1:].copy()),
    ):
        refused(pair_kernels.pair_slopes, wrong, two, np.ones(1))
    for pairs in (two + 1, two - 1, two[:, :1]):
        refused(pair_kernels.pair_slopes, rows, np.ascontiguousarray(pairs), np.ones(1))
    interaction_gains(rng, two)


def interaction_gains(rng: np.random.Generator, pairs: Any) -> None:
    n_levels = np.array([3, 20])
    for n, (n_classes, width) in itertools.product((0, 1, 5, 600), ((2, 4), (4, 8), (5, 16))):
        codes = rng.integers(-1, n_levels[:, None], size=(2, n)).astype(np.int32)
        terms = rng.random((n, width)).astype(np.float32)
        assert np.isfinite(pair_kernels.interaction_gains(codes, n_levels, terms, n_classes, pairs, 1.0)).all()
    right = codes, n_levels, terms, n_classes, pairs, 1.0
    for place, wrong in (
        (0, codes + np.int32(20)),
        (1, n_levels[:1]),
        (1, np.array([3, 2**40])),
        (2, terms[1:]),
        (2, np.ascontiguousarray(terms[:, :15])),
        (3, 1),
        (3, 9),
        (4, pairs + 1),
        (4, pairs - 1),
        (5, 0.0),
    ):
        refused(pair_kernels.interaction_gains, *right[:place], wrong, *right[place + 1 :])


def sparse(rng: np.random.Generator) -> None:
    for (n, d), dtype, index in itertools.product(SHAPES, (np.float64, np.float32), (np.int32, np.int64)):
        length = rng.integers(0, 4, size=n) if d else np.zeros(n, dtype=int)
        column = rng.integers(max(d, 1), size=length.sum()).astype(index)  # unsorted, with duplicates
        start = np.concatenate(([0], np.cumsum(length))).astype(index)
        x = Csr(rng.integers(0, 3, size=len(column)).astype(dtype), column, start, d)
        slope = rng.random((d, K))
        for labels, threshold in itertools.product(both(n, rng), (None, 0.5)):
            kernels.event_sums(x, labels, K, threshold)
            kernels.sparse_scores(x, slope, threshold)
        np.testing.assert_allclose(kernels.sparse_scores(x, slope, None), x.dense() @ slope, atol=1e-12)
        assert kernels.in_order(x).dense().tolist() == x.dense().tolist()
        left_out(x, hard(n, rng))
        for first, last in ((0, n), (n // 2, n), (n, n)):
            kernels.sparse_scores(x.rows(first, last), slope, None)


ALPHA = np.ones(1)


def rivals(x: Csr, labels: Labels, count: Any, alpha: Any, norm: bool) -> Any:
    """The complement kernel, lent totals that need not be right."""
    total = count.sum(axis=0)
    args = count.sum(axis=1), total.sum() - total, x.n_columns * 1.0, 1e100, norm, np.zeros(K), np.zeros(K)
    return kernels.rivals_without(x, labels, count, alpha, *args)


def left_out(x: Csr, labels: Labels) -> None:
    """Leave-one-out of sparse rows, with one pseudocount for all columns and with one for each."""
    full, w, n_columns = x.dense(), labels.weight[:, None], x.n_columns
    count, weight = np.ones((n_columns, K)) * 1e3, np.full((1, K), 1e6)
    for alpha in (ALPHA, np.ones(n_columns)):
        for one in (count, np.asfortranarray(count)):
            words, length = kernels.words_without(x, labels, one, alpha)
            np.testing.assert_allclose(length, full.sum(axis=1))
            np.testing.assert_allclose(words, (full * np.log(1e3 - w * full + 1.0)).sum(axis=1))
        assert np.isfinite(rivals(x, labels, count, alpha, True)).all()
        if n_columns:
            mass, others = (K - 1) * 1e3 * n_columns, (K - 1) * 1e3
            log_mass = np.log(mass - w * full.sum(axis=1, keepdims=True) + n_columns)
            expected = (full * (log_mass - np.log(others - w * full + 1.0))).sum(axis=1)
            other = (labels.codes + 1) % K
            scores = rivals(x, labels, count, alpha, False)[np.arange(len(full)), other]
            np.testing.assert_allclose(scores, expected, atol=1e-9)
        for all_weights, threshold in itertools.product((weight, np.full((n_columns, K), 1e6)), (None, 0.5)):
            own, zeros = np.zeros((2, x.shape[0]))
            kernels.yes_without(x, labels, threshold, count, all_weights, alpha, own, zeros)
            assert np.isfinite(own).all()
            assert not zeros.any()
            for amount in (0.0, 1.0, 1e9):
                base, _ = kernels.all_no_without(count, all_weights, alpha, amount)
                assert np.isfinite(base).all()
            for said_yes, most in ((count, 2.0), (count + 0.999e6, 2.0), (count, 1e9)):  # far from, near to running out
                series = kernels.all_no_series(said_yes, all_weights, alpha, most)
                own, _ = kernels.all_no_of_rows(labels, said_yes, all_weights, alpha, series)
                heavy = labels.weight == 2.0
                two, _ = kernels.all_no_without(said_yes, all_weights, alpha, 2.0)
                np.testing.assert_allclose(own[heavy], two[labels.codes[heavy]])


def damaged_left_out(x: Csr, labels: Labels) -> None:
    """Leave-one-out must refuse the rows, or the labels, or find that the rows were never learned."""
    count, n = np.ones((5, K)) * 1e3, len(labels.weight)
    refused(kernels.words_without, x, labels, count, ALPHA)
    for norm in (True, False):
        refused(rivals, x, labels, count, ALPHA, norm)
    for threshold in (None, 0.5):
        args = threshold, count, np.ones((1, K)) * 1e6, ALPHA, np.zeros(n), np.zeros(n)
        refused(kernels.yes_without, x, labels, *args)


def damaged_sparse(rng: np.random.Generator) -> None:
    labels = hard(3, rng)
    data, column, start = [1.0, 2.0, 3.0, 4.0], [0, 4, 1, 2], [0, 2, 2, 4]
    broken = [
        (data, [0, 5, 1, 2], start),  # a column too far
        (data, [0, -1, 1, 2], start),  # a column before the first
        (data, [0, 4, 1, 2**31 - 1], start),
        (data, [0, 4, 1, -(2**31)], start),
        (data, column, [0, 2, 2, 5]),  # rows that end outside the entries
        (data, column, [0, 3, 2, 4]),  # rows that end before they start
        (data, column, [-1, 2, 2, 4]),
        (data, column, [0, 2, 2, 2**31 - 1]),
        (data, column[:3], start),  # entries without a column
        (data, column, []),
        ([1.0, np.nan, 3.0, 4.0], column, start),
        ([1.0, np.inf, 3.0, 4.0], column, start),
        ([1.0, 2.0, 3.0, -np.inf], column, start),
    ]
    for (d, c, s), dtype, index in itertools.product(broken, (np.float64, np.float32), (np.int32, np.int64)):
        x = Csr(np.array(d, dtype), np.array(c, index), np.array(s, index), 5)
        for threshold in (None, 0.5):
            refused(kernels.event_sums, x, labels, K, threshold)
            refused(kernels.event_sums, x, Labels.soft(np.ones((3, K))), K, threshold)
            refused(kernels.sparse_scores, x, np.ones((5, K)), threshold)
        damaged_left_out(x, labels)
    whole = Csr(np.array(data), np.array(column), np.array(start), 5)
    refused(kernels.event_sums, whole, Labels.hard(np.full(3, K, dtype=np.int32)), K, None)
    refused(kernels.event_sums, whole, hard(2, rng), K, None)
    refuses_other_order(kernels.sparse_scores, whole, np.ones((5, K)), None, at=1)
    damaged_left_out(whole, Labels.hard(np.full(3, K, dtype=np.int32)))
    damaged_left_out(whole, hard(2, rng))
    damaged_left_out(whole, Labels.hard(np.zeros(3, dtype=np.int32), np.full(3, 1e9)))  # rows heavier than all there is
    ones, two = np.ones((5, K)), np.ones((2, 3))
    refused(kernels.words_without, whole, labels, ones, np.ones(4))
    refused(rivals, whole, labels, ones, np.ones(4), False)
    refused(kernels.all_no_without, ones, np.ones((4, K)), ALPHA, 1.0)
    refused(kernels.all_no_without, ones, np.ones((1, K + 1)), ALPHA, 1.0)
    refused(kernels.all_no_without, ones, np.ones((1, K)), np.ones(4), 1.0)
    refused(kernels.all_no_series, ones, np.ones((2, K)), ALPHA, 1.0)
    series = kernels.all_no_series(ones, np.ones((1, K)), ALPHA, 1.0)
    for other in (
        series._replace(coefficient=np.ones((8, K))),
        series._replace(start=series.start + 1),
        series._replace(column=series.column + 1),
        series._replace(column=series.column - 1),
    ):
        refused(kernels.all_no_of_rows, labels, ones, np.ones((1, K)), ALPHA, other)
    refused(kernels.all_no_of_rows, Labels.hard(np.full(3, K, np.int32)), ones, np.ones((1, K)), ALPHA, series)
    refused(kernels.yes_without, whole, labels, None, ones, np.ones((2, K)), ALPHA, *two)
    refused(kernels.yes_without, whole, labels, None, ones, np.ones((1, K)), ALPHA, *np.ones((2, 4)))


def posteriors(rng: np.random.Generator) -> None:
    for n, k in ((0, 2), (1, 1), (40, 3), (9, 200)):
        evidence = rng.normal(scale=1000.0, size=(n, k))
        evidence[rng.random((n, k)) < 0.3] = -np.inf
        evidence[::4] = -np.inf
        even = np.full(k, -np.log(k))
        best, forbidden = kernels.best_class(evidence, even, even)
        assert forbidden == np.isneginf(evidence).all(axis=1).sum()
        assert ((best >= 0) & (best < k)).all()
        for logs in (True, False):
            out = evidence.copy()
            kernels.normalise(out, even, even, logs)
            np.testing.assert_allclose((np.exp(out) if logs else out).sum(axis=1), 1.0)
        out, codes = evidence.copy(), rng.integers(k, size=n).astype(np.int32)
        assert kernels.normalise_without(out, even, codes, np.full(n, -1.0)) == forbidden
        np.testing.assert_allclose(np.exp(out).sum(axis=1), 1.0)
        kernels.normalise_without(out, np.full(k, -np.inf), codes, np.full(n, -np.inf))
        np.testing.assert_allclose(np.exp(out).sum(axis=1), 1.0)
        odd = np.where(rng.random((n, k)) < 0.5, np.nan, np.inf)
        for prior in (even, np.full(k, -np.inf), np.full(k, np.nan)):
            assert (kernels.best_class(odd, prior, even)[0] < k).all()
            kernels.normalise(odd.copy(), prior, even, True)
        group, codes = (np.arange(k) % 2).astype(np.int32), rng.integers(-1, 2, size=n).astype(np.int32)
        weight = rng.choice([0.0, 0.5, 2.0], size=n)
        for joint in (evidence.copy(), odd.copy()):
            kernels.responsibilities(joint, even, group, codes, weight)
        share = evidence.copy()
        kernels.responsibilities(share, even, np.zeros(k, np.int32), np.full(n, -1, np.int32), weight)
        np.testing.assert_allclose(share.sum(axis=1), weight)
    two = np.zeros((3, 2))
    pair, three = np.zeros(2, np.int32), np.zeros(3, np.int32)
    refused(kernels.responsibilities, two, np.zeros(3), pair, three, np.ones(3))
    refused(kernels.responsibilities, two, np.zeros(2), three, three, np.ones(3))
    refused(kernels.responsibilities, two, np.zeros(2), pair, pair, np.ones(3))
    refused(kernels.responsibilities, two, np.zeros(2), pair, three, np.ones(2))
    for log_prior, fallback in ((np.zeros(3), np.zeros(2)), (np.zeros(2), np.zeros(1)), (np.zeros(0), np.zeros(0))):
        refused(kernels.best_class, two, log_prior, fallback)
        refused(kernels.normalise, two, log_prior, fallback, True)
    refused(kernels.best_class, np.zeros((3, 0)), np.zeros(0), np.zeros(0))
    refuses_other_order(kernels.normalise, np.zeros((3, 2)), np.zeros(2), np.zeros(2), True, at=0)
    for codes, own in (
        ([0, 1, 2], np.zeros(3)),
        ([0, -1, 0], np.zeros(3)),
        ([0, 1], np.zeros(3)),
        ([0, 1, 1], np.zeros(2)),
    ):
        refused(kernels.normalise_without, two, np.zeros(2), np.array(codes, np.int32), own)
    refused(kernels.normalise_without, two, np.zeros(3), np.zeros(3, np.int32), np.zeros(3))


def text(rng: np.random.Generator) -> None:
    import pyarrow as pa

    words = np.array([None, *("ü" * n for n in range(20)), *("x" * n for n in range(1, 40))], dtype=object)
    for layout in (pa.string(), pa.large_string(), pa.string_view()):
        for n in (0, 1, 7, 8, 9, 1000):
            cells = pa.array(words[rng.integers(len(words), size=n)], type=layout)
            column = pa.chunked_array([cells, cells.slice(n // 2), cells.slice(0, 0)])
            values, places = kernels.list_text(column)
            assert [None if p < 0 else values[p] for p in places] == column.to_pylist()
    refused(lambda: kernels.list_text(pa.chunked_array([[1, 2]])))
    refused(lambda: _native.list_text(pa.chunked_array([["a", "b"]]).__arrow_c_stream__(), np.empty(1, np.int32)))


def tokens(rng: np.random.Generator) -> None:
    """Texts of every kind of character and of none, cut in every way, against the list of their tokens."""
    import pyarrow as pa

    alphabet = [
        *"aZ09_ '’-.:)!\n\0ßİΣΑÉ…ｶﾞ中ひ한ไ👍❤",
        "\u1161",
        "\u11ab",
        "\u0301",
        "\u0345",
        "\u200d",
        "\ufe0f",
        "\ud800",
        "x" * 300,
        " " * 300,
    ]
    texts = ["".join(rng.choice(alphabet, size=n)) for n in (0, 1, 2, 3, 10, 100, 1000, 5000)]
    raw = [bytes(rng.integers(256, size=n, dtype=np.uint8)) for n in (0, 1, 2, 3, 4, 100, 5000)]
    ways = [
        *(Tokens(words, lower) for words in ("text", "unicode", "sklearn", "lines") for lower in (True, False)),
        *(Tokens(ngrams=(1, 3)), Tokens("lines", ngrams=(2, 2)), Tokens(characters=(1, 5)), Tokens(hashed=7)),
        Tokens(stop_words=("a", "z")),
    ]
    for way in ways:
        cut = way.native()
        documents: list[Any] = [None, *texts, None, *raw]
        lent = kernels.texts_of(documents)
        for first, last in ((0, len(documents)), (3, 3), (2, 9)):
            x, words = kernels.count_tokens(lent, first, last, cut)
            assert len(x.start) == last - first + 1
            assert words.is_sound()
            kernels.scaled_counts(x, True, True)
            for i in range(first, last):
                listed = [token for token, *_ in _native_of(kernels).list_tokens(lent, i, cut)]
                assert x.data[x.start[i - first] : x.start[i - first + 1]].sum() == len(listed)
        refused(_native_of(kernels).count_tokens, lent, 0, len(documents) + 1, cut)
        refused(_native_of(kernels).list_tokens, lent, len(documents), cut)
    for layout in (pa.string(), pa.large_string(), pa.string_view()):
        cells = pa.array(["to be", None, "", "or not"], type=layout)
        x, words = kernels.count_tokens(kernels.texts_of(pa.chunked_array([cells, cells.slice(1)])), 0, 7, cut)
        assert list(words) == ["be", "not", "or", "to"]
    refused(lambda: kernels.texts_of(pa.chunked_array([[1, 2]])))
    refused(lambda: kernels.texts_of([3]), error=TypeError)
    _native_of(kernels).hash_token(b"word", 30)
    refused(_native_of(kernels).hash_token, b"word", 31)
    for bad in ((0, 1, 0, 0, 0), (2, 1, 0, 0, 0), (1, 1, 0, 2, 0), (1, 1, 0, 0, 31)):
        refused(_native_of(kernels).cut, "unicode", True, *bad, [])
    refused(_native_of(kernels).cut, "letters", True, 1, 1, 0, 0, 0, [])
    vocabularies(rng)


def vocabularies(rng: np.random.Generator) -> None:
    """Sorted lists of words, whole and damaged."""
    native = _native_of(kernels)
    for n, m in ((0, 0), (0, 9), (5, 500), (500, 5), (300, 300)):
        one, two = (Vocabulary.of([f"w{i}" for i in rng.integers(600, size=size)]) for size in (n, m))
        mine, theirs = np.empty(len(one), np.int32), np.empty(len(two), np.int32)
        joined = Vocabulary(*native.unite_words(one.text, one.start, two.text, two.start, mine, theirs))
        assert list(joined) == sorted({*one, *two})
        native.words_in(one.text, one.start, joined.text, joined.start, mine)
        assert [joined[p] for p in mine] == list(one)
        assert native.are_sorted(joined.text, joined.start)
        rare, found = rng.random(len(joined)) < 0.5, np.empty(len(joined), dtype=bool)
        native.with_rare_words(joined.text, joined.start, rare, found)
        assert not found.any()  # they are single words
        refused(native.with_rare_words, joined.text, joined.start, np.append(rare, True), found)
    some = Vocabulary.of(["a", "a b", "b", "b c", "c", " ", "a "])
    rare, found = np.array([word != "c" and word != "b" for word in some]), np.empty(len(some), dtype=bool)
    native.with_rare_words(some.text, some.start, rare, found)
    assert [word for word, is_found in zip(some, found, strict=True) if is_found] == ["a ", "a b"]
    text = np.frombuffer(b"abc", np.uint8)
    for start in ([], [1, 3], [0, 4], [0, 2, 1, 3], [0, -1, 3]):
        damaged = np.array(start, dtype=np.int64)
        refused(native.are_sorted, text, damaged)
        refused(native.words_in, text, damaged, text, damaged, np.empty(max(len(start) - 1, 0), np.int32))
    counts, flags = np.ones(3, np.float32), np.empty(2, np.uint8)
    for start in ([0, 2], [0, 4, 3], [1, 3]):
        refused(native.weigh_counts, counts, np.array(start, dtype=np.int32), True, True, np.empty(3))
    refused(native.weigh_counts, counts, np.array([0, 3], dtype=np.int64), True, True, np.empty(2))
    refused(native.missing_texts, kernels.texts_of(["a"]), flags)


def word_weights(rng: np.random.Generator) -> None:
    """Tables without some documents, slopes and scores; documents of any length, words that do not fit are refused."""
    for n, k, n_words in itertools.product((1, 7), (1, 2, K, 20), (1, 5)):
        start = np.concatenate(([0], np.cumsum(rng.integers(0, 4, size=n)))).astype(np.int64)
        word = rng.integers(n_words, size=start[-1]).astype(np.int32)
        labels = Labels.hard(rng.integers(k, size=n).astype(np.int32), rng.random(n))
        x = TextRows(start, word, rng.random(start[-1]).astype(np.float32), np.diff(start) * 1.0, labels)
        count = rng.random((n_words, k)).astype(np.float32) * 9
        placed(Csr(x.amount, word, start, n_words), labels, rng)
        for rivals in (False, True):
            counts = WordCounts(x, count, np.full(k, 50.0), n_words + 3, np.ones(n, dtype=np.int64), 0.1, rivals)
            table = counts.table(np.arange(0, n, 2))
            base, weight = rng.normal(size=(n, k)), rng.random((n_words, 7)).astype(np.float32)
            slope, curvature = table.slopes(x, np.full(n_words, 1.5), base, None)
            assert np.isfinite(slope).all()
            assert (curvature >= 0).all()
            assert np.isfinite(table.scores(x, np.arange(0, n, 2), weight, None)).all()
            refused(table.scores, x, np.array([n]), weight, None)
            refused(table.scores, x, np.arange(n), weight[1:], None)
            refused(table.slopes, x, np.full(n_words, 1.5), base[1:], None)
            refused(table.slopes, x, np.full(n_words + 1, 1.5), base, None)
            refused(counts.table, np.array([-1]))
            if len(word):
                refused(table.slopes, replace(x, word=word + np.int32(n_words)), np.full(n_words, 1.5), base, None)
                refused(table.slopes, replace(x, amount=x.amount[1:]), np.full(n_words, 1.5), base, None)


def placed(x: Csr, labels: Labels, rng: np.random.Generator) -> None:
    """Documents whose words have a place, and the counts of some words; what does not fit is refused."""
    n_words = x.n_columns
    place = rng.integers(-2, n_words, size=n_words).astype(np.int32)
    rows, singles = word_kernels.placed_words(x, place, labels)
    there = place[x.column]
    assert np.array_equal(rows.word, there[there >= 0])
    assert singles.sum() == (there == -1).sum()
    assert np.array_equal(word_kernels.documents_with(x), np.bincount(x.column, minlength=n_words))
    count = rng.random((n_words, K))
    some = rng.integers(n_words, size=4)
    assert np.allclose(word_kernels.counts_of(count, some), count[some])
    refused(word_kernels.counts_of, count, np.array([n_words]))
    refused(word_kernels.counts_of, count, np.array([-1]))
    if len(x.column):
        refused(word_kernels.documents_with, replace(x, column=x.column - np.int32(n_words)))
        refused(word_kernels.placed_words, replace(x, column=x.column - np.int32(n_words)), place, labels)
        refused(word_kernels.placed_words, replace(x, column=x.column + np.int32(n_words)), place, labels)
        refused(word_kernels.placed_words, replace(x, start=x.start + 1), place, labels)
        refused(word_kernels.placed_words, replace(x, data=x.data[1:]), place, labels)


def rival_words(rng: np.random.Generator) -> None:
    """The evidence of words in other classes, and documents that have more than was counted."""
    n, n_words, labels = 9, 6, hard(9, rng)
    dense = rng.integers(0, 3, size=(n, n_words)).astype(float)
    row, column = np.nonzero(dense)
    start = np.concatenate(([0], np.cumsum((dense > 0).sum(axis=1)))).astype(np.int64)
    x = Csr(dense[row, column], column.astype(np.int32), start, n_words)
    count = np.zeros((n_words, K))
    for i, code in enumerate(labels.codes):
        count[:, code] += labels.weight[i] * dense[i]
    totals = count.sum(axis=1), count.sum() - count.sum(axis=0)
    terms, beyond = kernels.rival_words(x, labels, count, totals, np.ones(n_words), 1e3)
    assert np.isfinite(terms).all()
    assert not beyond
    fewer = 0.01 * count, (0.01 * totals[0], 0.01 * totals[1])
    assert kernels.rival_words(x, labels, *fewer, np.ones(n_words), 1e3)[1]
    refused(kernels.rival_words, x, labels, count[1:], totals, np.ones(n_words), 1e3)
    refused(kernels.rival_words, x, hard(n - 1, rng), count, totals, np.ones(n_words), 1e3)


def corrections(rng: np.random.Generator) -> None:
    """Corrections end where no single step of a coefficient gains; cells and shapes that do not fit are refused."""
    for n, k in itertools.product((0, 1, 40), (1, 2, 3, 9, 20)):
        cell = np.column_stack((rng.integers(-1, 2, size=n), rng.choice([-1, 2, 3, 4], size=n))).astype(np.int32)
        base, labels = rng.normal(size=(n, k)), Labels.hard(rng.integers(k, size=n).astype(np.int32), rng.random(n))
        shape = rng.normal(size=(3, 2))
        shapes = fitting.Shapes(*(np.array(v) for v in ((0, 2, 5), (0, 2, 4))), shape.ravel(), np.array([-1, 0]))
        at, penalty = np.zeros((4, k)), np.ones(4)

        def loss(at: Any, cell: Any = cell, base: Any = base, labels: Any = labels, shape: Any = shape) -> float:
            scores, table = base.copy(), np.concatenate((at[:2], shape @ at[2:]))
            fitting.add_corrections(cell, table, scores)
            own = scores[np.arange(len(scores)), labels.codes]
            return float(labels.weight @ (np.logaddexp.reduce(scores, axis=1) - own) + 0.5 * (at**2).sum())

        rows = fitting.CorrectedRows(cell, base, labels, shapes)
        rows.fit(3.0 * penalty, np.zeros((4, k)), 1e-9)  # what was fitted before changes nothing
        rows.fit(penalty, at, 1e-9)
        for c, d in np.ndindex(4, k):
            step = np.zeros((4, k))
            step[c, d] = 0.3
            assert loss(at) < min(loss(at + step), loss(at - step))
        wrong = shapes._replace(start=np.array([-1, 1]))
        refused(fitting.CorrectedRows, cell, base, labels, wrong)
        refused(rows.fit, penalty[1:], at, 1e-9)
        refused(fitting.CorrectedRows, cell[:, 1:].copy(), base, labels, shapes)
        refused(fitting.CorrectedRows, cell, base, hard(n + 1, rng), shapes)
        refused(fitting.add_corrections, cell, np.zeros((5, k + 1)), base)
        if n == 40:
            for other in (cell + np.int32(5), cell[:, ::-1].copy()):  # cells that are none, and those of another column
                refused(fitting.CorrectedRows, other, base, labels, shapes)
            refused(fitting.add_corrections, cell + np.int32(5), np.zeros((5, k)), base)


def evidence_weights(rng: np.random.Generator) -> None:
    """Weights end where no single step gains; what does not fit the evidence is refused."""
    for n, k, columns, coarse in itertools.product((0, 1, 70), (1, 2, 4), (0, 1, 3, 17, 600), (1, 3)):
        codes = rng.integers(k, size=n).astype(np.int32)
        terms, weight = rng.normal(size=(n, k - 1, columns + 1)).astype(np.float32), rng.choice([0.0, 1.0, 2.0], size=n)
        at, centre = np.ones(columns + 1), np.ones(columns + 1)
        fitting.learn_weights(terms, weight, centre, at, 1.0, 0, coarse, 1e-7)

        def loss(at: Any, terms: Any = terms, weight: Any = weight) -> float:
            return float(weight @ fitting.rival_losses(terms, weight, at) + ((at - 1.0) ** 2).sum())

        for step in 0.3 * np.eye(columns + 1)[:5]:
            assert loss(at) < min(loss(at + step), loss(np.maximum(at - step, 0.0)) if (at >= step).all() else np.inf)
        rises = fitting.loss_rises(terms, weight, at)
        assert np.isfinite(rises).all()
        constants, says = fitting.column_constants(terms, codes, weight, at, np.log(np.full(k, 1.0 / k)))
        assert np.isfinite(constants).all()
        assert np.isfinite(says).all()
        refused(fitting.learn_weights, terms, weight, centre[1:], at, 1.0, 0, coarse, 1e-7)
        refused(fitting.learn_weights, terms, np.ones(n + 1), centre, at, 1.0, 0, coarse, 1e-7)
        refused(fitting.learn_weights, terms, weight, centre, at, 1.0, 0, 0, 1e-7)
        refused(fitting.rival_losses, terms, weight, np.ones(columns + 2))
        refused(fitting.loss_rises, terms, weight, np.ones(columns + 2))
        refused(fitting.column_constants, terms, codes, weight, at, np.zeros(k + 1))
        refused(fitting.column_constants, terms, np.full(n + 1, 9), weight, at, np.zeros(k))
        evidence = rng.normal(size=(n, k, columns)).astype(np.float32)
        fitting.against_own(evidence, codes, terms, 1)
        rivals = (evidence - evidence[np.arange(n), codes][:, None])[np.arange(k) != codes[:, None]]
        assert np.array_equal(terms[:, :, 1:], rivals.reshape(n, k - 1, columns))
        refused(fitting.against_own, evidence, codes, terms, 2)
        refused(fitting.against_own, evidence, np.full(n + 1, k, dtype=np.int32), terms, 1)


def readings(rng: np.random.Generator) -> None:
    """Weights of nested readings, and the losses of their scores."""
    for n, k, v in itertools.product((0, 1, 600), (1, 2, 5), (1, 4)):
        base, terms = (rng.normal(size=size).astype(np.float32) for size in ((k, n), (v, k, n)))
        weight, centre, at = rng.choice([0.0, 1.0], size=n), np.ones(v), np.ones(v)
        assert np.isfinite(fitting.stack_readings(base, terms, weight, centre, at, 3.0, 1e-8))
        refused(fitting.stack_readings, base, terms, np.ones(n + 1), centre, at, 3.0, 1e-8)
        refused(fitting.stack_readings, base, terms, weight, np.ones(v + 1), at, 3.0, 1e-8)
        scores, codes = rng.normal(size=(n, k)), rng.integers(k, size=n).astype(np.int32)
        assert (fitting.score_losses(scores, codes) >= 0).all()
        refused(fitting.score_losses, scores, np.full(n + 1, k, dtype=np.int32))


def _native_of(module: Any) -> Any:
    """The extension as a module sees it: watched."""
    return module._native


def mail(rng: np.random.Generator) -> None:
    for n in (0, 1, 7, 1000):
        said = rng.choice([-1.0, 0.0, 0.5, 1.0], size=(n, 3))
        start = np.array([0, n // 3, n // 3, n], dtype=np.int64)
        chosen = kernels.strongest(said, start, 2, 2)
        assert chosen.sum() <= 3 * 3 * 2
        refused(kernels.strongest, said, np.array([0, n + 1], dtype=np.int64), 2, 1)
        refused(kernels.strongest, said, np.array([1, 0], dtype=np.int64), 2, 1)
        damaged = np.sort(rng.integers(-9, 99, n + 1)).tobytes()
        scorer = kernels._native.ClueScorer(bytes(n), damaged, bytes(16 * n), 3.0, 4.0, 0.05, 15, 2)
        assert scorer.log_odds("\0\nfree\n\nmoney")[1] >= 0
        refused(kernels._native.ClueScorer, b"", damaged, bytes(16 * n + 16), 3.0, 4.0, 0.05, 15, 2)
        word, labels = np.zeros(n, dtype=np.int32), Labels.hard(np.zeros(3, dtype=np.int32))
        count, weight = np.full((2, 3), 5.0), np.full(3, 9.0)
        assert np.isfinite(kernels.word_scores_without(count, weight, 0.5, start, word, labels)).all()
        if n:
            refused(kernels.word_scores_without, count, weight, 0.5, start, word + np.int32(2), labels)
        refused(kernels.word_scores_without, count, weight[:2], 0.5, start, word, labels)
        refused(kernels.word_scores_without, count, weight, 0.5, start[:-1], word, labels)
    letters = list("aB1_$'’.-%! éÉßİΣ你\u0301\U0001f600\ud800\n")
    for length in (0, 1, 5, 40, 3000):
        bag = kernels._native.TokenBag()
        for tag in ("", "subject"):
            bag.add_words(tag, "".join(rng.choice(letters, size=length)))
            bag.add([tag, "x" * length])
            for how in range(6):
                bag.add_header(tag, how, "".join(rng.choice([*letters, "@", "a.b"], size=length)))
            refused(bag.add_header, tag, 6, "")
            link = "".join(rng.choice([*letters, "http://", "www.", "/", "@"], size=length))
            bag.add_text(link, [link])
            figures = "".join(rng.choice([*letters, "9", "1,0", "$", "€", "<", ">", "wrote:", "-- "], size=length))
            bag.add_text(figures, [])
            bag.count_form(figures, tag == "")
        bag.add_form()
        assert isinstance(bag.document(), str)


def row_keys(rng: np.random.Generator) -> None:
    types = ("f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?", "f2", ">f8")
    for n in (0, 1, 7, 1000):
        for kind in types:
            values = rng.integers(0, 2, size=2 * n).astype(kind)
            for column in (values[:n], values[::2], values[::-2]):
                total = np.zeros(len(column), dtype=np.uint64)
                keys.add_numbers(total, column, keys.key_of("x"))
                assert len(np.unique(total)) <= 2
                both = keys.RowKeys(np.zeros_like(total), np.zeros_like(total))
                keys.add_places(both, column, (0.0, 1.0), 3)
        levels, codes = ["a", "b", None], rng.integers(-2, 3, size=n).astype(np.int32)
        total = np.zeros(n, dtype=np.uint64)
        for contents in (2, 300, 10**6):
            found = keys.RowKeys(*(keys.mixed(rng.integers(0, contents, size=n)) for _ in range(2)))
            for draw in (draws.Draw(2**58, n), draws.Redraw(2**60, np.unique(found.exact)) if n else None):
                assert draw is None or len(draw.drawn(found)[0]) <= n
                assert not isinstance(draw, draws.Draw) or len(draw.overlooked()) <= n
        keys.add_levels(total, codes, levels, 5)
        documents = [None if i % 3 == 0 else "é" * (i % 40) for i in range(n)]
        keys.add_texts(total, kernels.texts_of(documents), 0, 7)
        native = _native_of(keys)
        if n:
            refused(native.code_keys, codes + np.int32(9), np.zeros(4, dtype=np.uint64), total)
            refused(native.code_keys, codes, np.zeros(4, dtype=np.uint64), total[1:])
            refused(native.number_keys, np.zeros(n), 1, total[1:])
            refused(native.text_keys, kernels.texts_of(documents), 1, 7, total)
            refused(native.place_keys, np.zeros(n), 0.0, 1.0, 1, total, total[1:])
            mark = np.zeros(n, dtype=np.uint8)
            refused(native.sort_out, total, total, 1, 8, 4, np.zeros(3, dtype=np.uint8), mark)
            refused(native.sort_out, total, total[1:], 1, 8, 4, np.zeros(4, dtype=np.uint8), mark)
            refused(native.reach, total, 1, 8, total[1:], mark)


def columns(rng: np.random.Generator) -> None:
    """Columns by themselves: losses, evidence, partitions and edges of numbers and codes."""
    for n, d in SHAPES:
        labels, x = hard(n, rng), rng.gamma(2.0, size=(n, d)).round(1)
        x[rng.random((n, d)) < 0.2] = np.nan
        n_levels = rng.integers(1, 40, size=d)
        codes = Codes(np.minimum(rng.integers(-1, 40, size=(n, d)), n_levels - 1), n_levels)
        out, prior, places = np.zeros((n, K, d + 2), dtype=np.float32), np.zeros(K), rng.permutation(d + 2)[:d]
        for family in (*numeric_families().values(), Hierarchical()):
            if family.is_coded:
                given, cells = codes, None
            else:
                given, cells = x + 0.1 * family.above_least, np.nan_to_num(10 * x, nan=-1).astype(np.int32)
            summary = family.tally(given, labels, K)
            for each in [given] if family.is_coded else layouts(given):
                family.tuned(summary, Trial(each, labels, prior, cells))
                family.evidence_without(summary, each, labels, out, places)
                if n > 1 and d:
                    heavy = Labels(labels.codes, labels.weight + 1e9)
                    refused(family.evidence_without, summary, each, heavy, out, places)
                    refused(family.evidence_without, summary, each, labels, out, places + 3)
                    refused(family.evidence_without, summary, each, labels, out[:-1], places)
                    wrong = Trial(each, labels, np.zeros(K + 1), cells)
                    refused(family.tuned, summary, wrong)
        for column in x.T:
            column_kernels.fine_edges(np.sort(column[np.isfinite(column)]), 8, 1e-15)
            column_kernels.units_of(column, labels.weight)
            column_kernels.bin_codes(column, [0.0, 0.5])
    refused(column_kernels.bin_codes, np.ones(3), [1.0, 0.0])
    refused(column_kernels.units_of, np.ones(3), np.ones(2))
    huge = np.array([-1e308, -1e-308, 5e-324, 1e-300, 1e300, 1.7e308])
    assert len(column_kernels.fine_edges(huge, 4, 1e-15)) > 0
    refused(column_kernels.fine_edges, huge[::-1].copy(), 4, 1e-15)
    refused(column_kernels.partitions, np.ones((5, K)), np.array([6]), 4)
    coded_losses(rng)
    refused(column_kernels.spread_counts, np.ones((5, K)), np.array([5]), np.ones(2))


def coded_losses(rng: np.random.Generator) -> None:
    """Codes by themselves, merged and spread."""
    for n, matrix in itertools.product((9, 30), layouts(np.zeros((30, 2), dtype=np.int32))):
        codes = np.asarray(matrix)[:n]
        labels, fine = hard(n, rng), Codes(codes, np.array([5, 1]))
        summary = Hierarchical().tally(fine, labels, K)
        few = Hierarchical().tally(Codes(codes, np.array([2, 1])), labels, K)
        trial, groups = (
            Trial(fine, labels, np.zeros(K)),
            column_kernels.Groups(np.array([0, 0, 1, 1, 1, 0]), fine.n_levels),
        )
        assert np.isfinite(column_kernels.pooled_losses(few, trial, [1.0, 2.0], groups)).all()
        spread = (0.0, 0.5, 3.0), 2, np.ones(2), [1.0, 2.0]
        assert np.isfinite(column_kernels.smoothed_losses(summary, trial, *spread)[1]).all()
        refused(column_kernels.smoothed_losses, summary, trial, (), 2, np.ones(2), [1.0])
        refused(column_kernels.smoothed_losses, summary, trial, (1.0,), 2, np.ones(1), [1.0])
        for of, n_levels in (
            ([0, 0, 1, 1, 2, 0], [5, 1]),
            ([0, 0, 1, 1, -1, 0], [5, 1]),
            ([0, 0, 1], [5, 1]),
            ([0], [1]),
        ):
            wrong = column_kernels.Groups(np.array(of), np.array(n_levels))
            refused(column_kernels.pooled_losses, few, trial, [1.0], wrong)
        for code in (5, 1000, -2, -(2**31)):
            bad = replace(trial, x=Codes(np.full_like(codes, code), fine.n_levels))
            refused(column_kernels.pooled_losses, few, bad, [1.0], groups)
            refused(column_kernels.pooled_losses, summary, bad, [1.0])
            refused(column_kernels.smoothed_losses, summary, bad, *spread)


def ledgers(rng: np.random.Generator) -> None:
    """Records of a ledger, whole and damaged."""
    n, page, slots = 40, 8, 4
    mate = np.arange(n)
    mate[30:] = mate[30:].reshape(-1, 2)[:, ::-1].ravel()  # products of two columns, both ways round
    group = np.array([0, 1, -1, 0], dtype=np.int32)
    for cells, most in itertools.product((0, 1, 300), (1, 300, 1e6)):
        owner, cell = np.sort(rng.integers(page * slots, size=cells)), rng.integers(n, size=cells)
        c_owner = np.repeat(np.unique(owner), n)
        c_cell = np.tile(np.arange(n), len(np.unique(owner)))
        moments = np.column_stack(
            (rng.integers(1, 3, len(c_cell)), rng.normal(size=len(c_cell)), np.zeros(len(c_cell)))
        )
        moments[:, 0] = np.repeat(moments[::2, 0], 2)
        row = (*blobs.packed(owner, cell, np.ceil(rng.random(cells) * most), c_owner, c_cell, moments),)
        wanted = rng.random((2, page)) < 0.7
        blobs.summed([row, row], wanted, group, mate)
        found = blobs.unpacked([row, row], n, page * slots)
        assert np.array_equal(np.sort(found.cell), np.sort(np.tile(cell, 2)))
        for place, part in enumerate(row[1:], start=1):
            with contextlib.suppress(ValueError):  # other numbers may fit
                blobs.summed([(*row[:place], b"\xff" * len(part), *row[place + 1 :])], wanted[:1], group, mate)
            for damaged in (part[:-1], part + b"\0", part.decode("latin-1"), None):
                if damaged != part:
                    changed = (*row[:place], damaged, *row[place + 1 :])
                    refused(blobs.summed, [changed], wanted[:1], group, mate)
                    refused(blobs.unpacked, [changed], n, page * slots)
        for flags in (-1, 3, 8, 32, 2**70, None):
            refused(blobs.unpacked, [(flags, *row[1:])], n, page * slots)
        refused(blobs.unpacked, [row[:3]], n, page * slots)
        refused(blobs.summed, [row], wanted, group, mate)
        refused(blobs.summed, [row], wanted[:1], group, mate + 1)


def main() -> None:
    watch = Watch()
    for module in (kernels, keys, fitting, column_kernels, moment_kernels, pair_kernels, scatter, word_kernels, blobs):
        module._native = watch
    numbers = floats, damaged_floats, categories, damaged_categories, pairs, sparse, damaged_sparse, posteriors
    for part in (
        *numbers,
        moments_of_sets,
        scatters,
        columns,
        text,
        tokens,
        word_weights,
        rival_words,
        corrections,
        evidence_weights,
        readings,
        mail,
        row_keys,
        ledgers,
    ):
        part(np.random.default_rng(0))
        print(f"{part.__name__.replace('_', ' ')}: fine", flush=True)
    named = {name: getattr(_native, name) for name in dir(_native) if not name.startswith("_")}
    functions = {name for name, each in named.items() if callable(each) and not isinstance(each, type)}
    assert watch.called >= functions, f"never called: {sorted(functions - watch.called)}"
    print(f"{len(functions)} kernels of {_native.__file__}")


if __name__ == "__main__":
    main()
