"""Drop-in replacements: the same parameters, fitted state, answers, types and errors as scikit-learn's classes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from .matrices import (
    BERNOULLI,
    CATEGORICAL,
    COMPLEMENT,
    GAUSSIAN,
    MULTINOMIAL,
    POISSON,
    Kind,
    each,
    every_peer,
)

TIGHT = 1e-9
SINGLE = 1e-3  # scikit-learn computes in float32 what it is given in float32; here only the answer is rounded

every_discrete = each(BERNOULLI, CATEGORICAL, MULTINOMIAL, COMPLEMENT)
every_sparse = each(BERNOULLI, MULTINOMIAL, COMPLEMENT)
every_array_alpha = each(MULTINOMIAL, COMPLEMENT)  # scikit-learn's BernoulliNB says it takes one, and cannot


def assert_close(ours: Any, theirs: Any, what: str, tolerance: float = TIGHT) -> None:
    """Equal in shape, type and value; lists table by table."""
    if isinstance(theirs, list):
        assert isinstance(ours, list), what
        assert len(ours) == len(theirs), what
        for mine, other in zip(ours, theirs, strict=True):
            assert_close(mine, other, what, tolerance)
        return
    mine, other = np.asarray(ours), np.asarray(theirs)
    assert mine.dtype == other.dtype, what
    if mine.dtype.kind == "f":
        np.testing.assert_allclose(mine, other, rtol=tolerance, atol=tolerance, err_msg=what)
    else:
        np.testing.assert_array_equal(mine, other, err_msg=what)


def assert_same(ours: Any, theirs: Any, x: Any, tolerance: float = TIGHT) -> None:
    """Every fitted attribute that scikit-learn has, and every answer to the rows x."""
    for name in (name for name in vars(theirs) if name.endswith("_")):
        assert_close(getattr(ours, name), getattr(theirs, name), name, tolerance)
    for method in ("predict_proba", "predict_log_proba", "predict_joint_log_proba"):
        assert_close(getattr(ours, method)(x), getattr(theirs, method)(x), method, tolerance)
    # Where two classes are equally likely but for rounding, either is right.
    second, best = np.sort(theirs.predict_proba(x), axis=1)[:, -2:].T if len(theirs.classes_) > 1 else (0.0, 1.0)
    clear = best - second > tolerance
    assert_close(ours.predict(x)[clear], theirs.predict(x)[clear], "predict")


def assert_fits_alike(
    kind: Kind, x: Any, y: Any, *, weight: Any = None, tolerance: float = TIGHT, **params: Any
) -> None:
    ours = kind.ours(**params).fit(x, y, sample_weight=weight)
    assert_same(ours, kind.theirs(**params).fit(x, y, sample_weight=weight), x, tolerance)


# ---------------------------------------------------------------------------------------------- the surface


@every_peer
def test_parameters_are_a_superset_with_the_same_defaults(kind: Kind) -> None:
    assert kind.theirs().get_params().items() <= kind.ours().get_params().items()


@every_peer
def test_parameters_are_keywords_only(kind: Kind) -> None:
    with pytest.raises(TypeError):
        kind.ours(1.0)


@every_peer
def test_methods_take_the_same_arguments(kind: Kind) -> None:
    for name, theirs in inspect.getmembers(kind.theirs, inspect.isfunction):
        if not name.startswith("_"):
            ours = inspect.signature(getattr(kind.ours, name)).parameters
            for argument, description in inspect.signature(theirs).parameters.items():
                assert ours[argument].default == description.default, (name, argument)


@every_peer
def test_tags_match_but_for_the_extensions(kind: Kind) -> None:
    ours, theirs = kind.ours().__sklearn_tags__(), kind.theirs().__sklearn_tags__()
    theirs.array_api_support = ours.array_api_support  # kernels read memory of the processor only
    theirs.input_tags.allow_nan = ours.input_tags.allow_nan  # a missing value is no evidence
    assert ours == theirs


# ---------------------------------------------------------------------------------------------- matrices


def unaligned(x: Any) -> Any:
    """A field of a packed record: neither aligned nor a whole number of strides."""
    packed = np.zeros(x.shape, dtype=[("pad", "i1"), ("x", "f8")])
    packed["x"] = x
    return packed["x"]


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "C order": np.ascontiguousarray,
    "Fortran order": np.asfortranarray,
    "list": lambda x: x.tolist(),
    "frame": lambda x: pd.DataFrame(x, columns=[f"column {j}" for j in range(x.shape[1])]),
    "reversed columns": lambda x: np.ascontiguousarray(x[:, ::-1])[:, ::-1],
    "every other row": lambda x: np.repeat(x, 2, axis=0)[::2],
    "unaligned": unaligned,
    "read only": lambda x: np.frombuffer(x.astype(np.float64).tobytes()).reshape(x.shape),
    "swapped bytes": lambda x: x.astype(">f8"),
    "object": lambda x: x.astype(object),
}


@every_peer
@pytest.mark.parametrize("layout", LAYOUTS)
def test_memory_layouts(kind: Kind, layout: str) -> None:
    x, y = kind.data()
    assert_fits_alike(kind, LAYOUTS[layout](x), y)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_memory_layouts_of_the_one_without_a_peer(layout: str) -> None:
    x, y = POISSON.data()
    rows = LAYOUTS[layout](x)
    model, plain = POISSON.ours().fit(rows, y), POISSON.ours().fit(x, y)
    np.testing.assert_allclose(model.predict_joint_log_proba(rows), plain.predict_joint_log_proba(x), rtol=1e-12)


@every_discrete
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_number_types_of_counts(kind: Kind, dtype: Any, order: Any) -> None:
    x, y = kind.data()
    assert_fits_alike(kind, x.astype(dtype, order=order), y)


@each(GAUSSIAN)
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, bool])
def test_number_types_of_measurements(kind: Kind, dtype: Any) -> None:
    x, y = kind.data()
    assert_fits_alike(kind, (x > 0) if dtype is bool else np.abs(10 * x).clip(0, 120).astype(dtype), y)


@each(BERNOULLI, CATEGORICAL, MULTINOMIAL, COMPLEMENT)
def test_booleans(kind: Kind) -> None:
    x, y = BERNOULLI.data()
    assert_fits_alike(kind, x.astype(bool), y)


def test_categories_are_truncated_to_whole_numbers() -> None:
    x, y = CATEGORICAL.data()
    assert_fits_alike(CATEGORICAL, x + 0.75, y)


@each(GAUSSIAN)
@pytest.mark.parametrize("order", ["C", "F"])
def test_float32_in_gives_float32_out(kind: Kind, order: Any) -> None:
    x, y = kind.data()
    assert_fits_alike(kind, x.astype(np.float32, order=order), y, tolerance=SINGLE)


@each(GAUSSIAN)
def test_float32_frame_gives_float32_out(kind: Kind) -> None:
    x, y = kind.data()
    assert_fits_alike(kind, pd.DataFrame(x.astype(np.float32)), y, tolerance=SINGLE)


@every_peer
@pytest.mark.parametrize(("fitted", "asked"), [(np.float32, np.float64), (np.float64, np.float32)])
def test_precision_of_the_answer_when_fit_and_predict_differ(kind: Kind, fitted: Any, asked: Any) -> None:
    x, y = kind.data()
    ours, theirs = kind.ours().fit(x.astype(fitted), y), kind.theirs().fit(x.astype(fitted), y)
    assert_same(ours, theirs, x.astype(asked), SINGLE)


def wide(x: Any) -> Any:
    """CSR with 64-bit indices."""
    x = sp.csr_array(x)
    return sp.csr_array((x.data, x.indices.astype(np.int64), x.indptr.astype(np.int64)), shape=x.shape)


def with_stored_zeros(x: Any) -> Any:
    """CSR with every cell stored, the zeros as well."""
    n, d = x.shape
    return sp.csr_array((x.ravel(), np.tile(np.arange(d), n), np.arange(n + 1) * d), shape=x.shape)


def with_duplicates(x: Any) -> Any:
    """CSR whose entries are stored in two halves."""
    x = sp.csr_array(x)
    return sp.csr_array((np.repeat(x.data / 2, 2), np.repeat(x.indices, 2), x.indptr * 2), shape=x.shape)


def unsorted(x: Any) -> Any:
    """CSR whose entries run from right to left."""
    x = sp.csr_array(x[:, ::-1])
    return sp.csr_array((x.data, x.shape[1] - 1 - x.indices, x.indptr), shape=x.shape)


FORMATS: dict[str, Callable[[Any], Any]] = {
    "csr_array": sp.csr_array,
    "csr_matrix": sp.csr_matrix,
    "csc": sp.csc_array,
    "coo": sp.coo_array,
    "lil": sp.lil_array,
    "64-bit indices": wide,
    "stored zeros": with_stored_zeros,
    "duplicates": with_duplicates,
    "unsorted": unsorted,
    "float32": lambda x: sp.csr_array(x.astype(np.float32)),
    "integers": lambda x: sp.csr_array(x.astype(np.int32)),
    "with empty rows and columns": lambda x: sp.csr_array(
        x * (np.arange(len(x)) % 4 > 0)[:, None] * (np.arange(5) != 2)
    ),
}


@every_sparse
@pytest.mark.parametrize("form", FORMATS)
def test_sparse_formats(kind: Kind, form: str) -> None:
    x, y = kind.data()
    sparse = FORMATS[form](x)
    if (kind, form) != (BERNOULLI, "duplicates"):  # scikit-learn holds each half against the threshold
        assert_fits_alike(kind, sparse, y)
    # The dense matrix of the same values is the same data.
    dense = kind.ours().fit(sparse.toarray(), y)
    np.testing.assert_allclose(kind.ours().fit(sparse, y).predict_proba(sparse), dense.predict_proba(sparse.toarray()))


@every_sparse
def test_sparse_input_is_left_as_it_was(kind: Kind) -> None:
    x, y = kind.data()
    sparse = with_duplicates(unsorted(x))
    before = [part.copy() for part in (sparse.data, sparse.indices, sparse.indptr)]
    kind.ours().fit(sparse, y).predict(sparse)
    for part, old in zip((sparse.data, sparse.indices, sparse.indptr), before, strict=True):
        np.testing.assert_array_equal(part, old)


# ---------------------------------------------------------------------------------------------- labels


def as_category(y: Any) -> Any:
    return pd.Series(pd.Categorical(np.array(["low", "mid", "high"])[y], categories=["mid", "low", "high", "unused"]))


LABELS: dict[str, Callable[[Any], Any]] = {
    "int64": lambda y: y,
    "int8 from -100 to 100": lambda y: (100 * (y - 1)).astype(np.int8),
    "uint8": lambda y: (100 * y).astype(np.uint8),
    "far apart": lambda y: np.array([-(10**12), 7, 10**15])[y],
    "bool": lambda y: y > 0,
    "whole floats": lambda y: y - 1.0,
    "str, not in order of appearance": lambda y: np.array(["zebra", "ant", "Mule"])[y],
    "list of str": lambda y: np.array(["zebra", "ant", "Mule"])[y].tolist(),
    "object": lambda y: np.array(["zebra", "ant", "Mule"], dtype=object)[y],
    "series of str": lambda y: pd.Series(np.array(["zebra", "ant", "Mule"])[y]),
    "category": as_category,
}


@every_peer
@pytest.mark.parametrize("labels", LABELS)
def test_labels(kind: Kind, labels: str) -> None:
    x, y = kind.data()
    assert_fits_alike(kind, x, LABELS[labels](y))


@every_peer
def test_many_classes(kind: Kind) -> None:
    x, y = kind.data(n=400, d=4, k=70)
    assert_fits_alike(kind, x, y)


@every_peer
def test_a_single_class(kind: Kind) -> None:
    x, y = kind.data(k=1)
    assert_fits_alike(kind, x, y)


@every_peer
def test_more_columns_than_rows(kind: Kind) -> None:
    x, y = kind.data(n=7, d=40, k=2)
    assert_fits_alike(kind, x, y)


@every_peer
def test_one_row_at_a_time(kind: Kind) -> None:
    x, y = kind.data()
    ours, theirs = kind.ours().fit(x, y), kind.theirs().fit(x, y)
    for row in x[:5]:
        assert_same(ours, theirs, row[None])


# ---------------------------------------------------------------------------------------------- parameters


WEIGHTS: dict[str, Callable[[int], Any]] = {
    "fractions": lambda n: np.random.default_rng(1).uniform(0.1, 2.0, n),
    "whole numbers": lambda n: np.random.default_rng(1).integers(1, 4, n),
    "list": lambda n: np.random.default_rng(1).uniform(0.1, 2.0, n).tolist(),
    "series": lambda n: pd.Series(np.random.default_rng(1).uniform(0.1, 2.0, n)),
    "one for all": lambda n: 0.5,
}


@every_peer
@pytest.mark.parametrize("weights", WEIGHTS)
def test_sample_weight(kind: Kind, weights: str) -> None:
    x, y = kind.data()
    # Its floor is weighted here and is not in scikit-learn, so the floor is left out of the comparison.
    params = {"var_smoothing": 0.0} if kind is GAUSSIAN else {}
    assert_fits_alike(kind, x, y, weight=WEIGHTS[weights](len(y)), **params)


def prior_name(kind: Kind) -> str:
    return "priors" if kind is GAUSSIAN else "class_prior"


@every_peer
@pytest.mark.parametrize("prior", [[0.2, 0.5, 0.3], (0.2, 0.5, 0.3), np.array([0.2, 0.5, 0.3])])
def test_given_prior(kind: Kind, prior: Any) -> None:
    assert_fits_alike(kind, *kind.data(), **{prior_name(kind): prior})


@every_discrete
def test_uniform_prior(kind: Kind) -> None:
    x, y = kind.data()
    assert_fits_alike(kind, x[y < 2], np.minimum(y, 1)[y < 2], fit_prior=False)


@every_discrete
@pytest.mark.parametrize("alpha", [1e-3, 0.5, 1, 30.0])
def test_alpha(kind: Kind, alpha: float) -> None:
    assert_fits_alike(kind, *kind.data(), alpha=alpha)


@every_array_alpha
def test_alpha_for_each_column(kind: Kind) -> None:
    assert_fits_alike(kind, *kind.data(), alpha=[0.1, 0.2, 1.0, 2.0, 5.0])


@every_discrete
def test_alpha_zero_where_nothing_is_zero(kind: Kind) -> None:
    _, y = kind.data(n=600)
    x = np.random.default_rng(2).integers(0, 2, size=(600, 5))  # every value in every class
    assert_fits_alike(kind, x, y, alpha=0.0)


@every_discrete
def test_tiny_alpha_is_lifted_unless_forced(kind: Kind) -> None:
    x, y = kind.data()
    with pytest.warns(UserWarning, match="alpha too small") as caught:
        ours = kind.ours(alpha=1e-12, force_alpha=False).fit(x, y)
    assert len(caught) == 1
    with pytest.warns(UserWarning, match="alpha too small"):
        theirs = kind.theirs(alpha=1e-12, force_alpha=False).fit(x, y)
    assert_same(ours, theirs, x)


@pytest.mark.parametrize("threshold", [0.0, 1.0, 2.5])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_binarize(threshold: float, form: Any) -> None:
    x, y = MULTINOMIAL.data()
    assert_fits_alike(BERNOULLI, form(x), y, binarize=threshold)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_binarize_none_takes_the_data_as_it_is(form: Any) -> None:
    x, y = BERNOULLI.data()
    assert_fits_alike(BERNOULLI, form(x), y, binarize=None)


@pytest.mark.parametrize("norm", [False, True])
def test_norm(norm: bool) -> None:
    assert_fits_alike(COMPLEMENT, *COMPLEMENT.data(), norm=norm)


@pytest.mark.parametrize("least", [3, 12, [2, 3, 4, 5, 20], np.array([9, 9, 9, 9, 9])])
def test_min_categories(least: Any) -> None:
    assert_fits_alike(CATEGORICAL, *CATEGORICAL.data(), min_categories=least)


@pytest.mark.parametrize("var_smoothing", [0.0, 1e-3, 1.0, 10])
def test_var_smoothing(var_smoothing: float) -> None:
    assert_fits_alike(GAUSSIAN, *GAUSSIAN.data(), var_smoothing=var_smoothing)


# ---------------------------------------------------------------------------------------------- batches


def batches(x: Any, y: Any) -> Iterator[tuple[Any, Any]]:
    for rows in np.array_split(np.arange(len(y)), 4):
        yield x[rows], y[rows]


@every_peer
def test_partial_fit(kind: Kind) -> None:
    x, y = kind.data()
    # scikit-learn's floor depends on the batches, and its levels on the last of them: both are kept out of the way.
    params: dict[str, Any] = {"var_smoothing": 0.0} if kind is GAUSSIAN else {}
    if kind is CATEGORICAL:
        params = {"min_categories": 6}
    ours, theirs = kind.ours(**params), kind.theirs(**params)
    for part, labels in batches(x, y):
        ours.partial_fit(part, labels, classes=[2, 0, 1], sample_weight=np.full(len(labels), 0.5))
        theirs.partial_fit(part, labels, classes=[2, 0, 1], sample_weight=np.full(len(labels), 0.5))
        assert_same(ours, theirs, x)


@every_peer
def test_partial_fit_keeps_a_given_prior(kind: Kind) -> None:
    x, y = kind.data()
    ours, theirs = (which(**{prior_name(kind): [0.2, 0.5, 0.3]}) for which in (kind.ours, kind.theirs))
    for estimator in (ours, theirs):
        estimator.partial_fit(x, y, classes=[0, 1, 2])
    assert_same(ours, theirs, x)


@every_peer
def test_fit_after_partial_fit_starts_anew(kind: Kind) -> None:
    x, y = kind.data()
    ours = kind.ours().partial_fit(x[:40], y[:40], classes=[0, 1, 2]).fit(x[40:], y[40:])
    assert_same(ours, kind.theirs().fit(x[40:], y[40:]), x[40:])


# ---------------------------------------------------------------------------------------------- errors


def complaint(work: Callable[[], Any]) -> Exception:
    """The error that the work ends in."""
    with pytest.raises(Exception) as caught:  # noqa: PT011  which one is what the caller wants to know
        work()
    return caught.value


def assert_complains_alike(kind: Kind, work: Callable[[Any], Any], *said: str) -> None:
    """Both raise; ours is of every type that scikit-learn's is, so that `except` clauses work, and says the words."""
    ours, theirs = complaint(lambda: work(kind.ours)), complaint(lambda: work(kind.theirs))
    assert isinstance(ours, type(theirs)), repr(ours)
    for words in said:
        assert words in str(theirs), "scikit-learn no longer says so"
        assert words in str(ours)


BAD_PARAMETERS = [
    (GAUSSIAN, {"var_smoothing": -1e-9}),
    (GAUSSIAN, {"var_smoothing": "small"}),
    (GAUSSIAN, {"priors": 0.5}),
    (BERNOULLI, {"alpha": -1.0}),
    (BERNOULLI, {"alpha": "most"}),
    (BERNOULLI, {"binarize": -1.0}),
    (BERNOULLI, {"binarize": "yes"}),
    (BERNOULLI, {"fit_prior": "yes"}),
    (MULTINOMIAL, {"alpha": None}),
    (MULTINOMIAL, {"force_alpha": 1}),
    (MULTINOMIAL, {"class_prior": 1.0}),
    (COMPLEMENT, {"norm": 2}),
    (CATEGORICAL, {"min_categories": "many"}),
    (CATEGORICAL, {"min_categories": -1}),
    (CATEGORICAL, {"alpha": [1.0, 1.0, 1.0, 1.0, 1.0]}),
]


@pytest.mark.parametrize(("kind", "params"), BAD_PARAMETERS, ids=lambda value: getattr(value, "name", str(value)))
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_bad_parameters(kind: Kind, params: dict[str, Any], method: str) -> None:
    x, y = kind.data()
    more = {"classes": [0, 1, 2]} if method == "partial_fit" else {}
    name = next(iter(params))
    assert_complains_alike(
        kind,
        lambda which: getattr(which(**params), method)(x, y, **more),
        f"The '{name}' parameter of {kind.name} must be",
        "Got ",
    )


def test_unknown_parameters() -> None:
    assert_complains_alike(GAUSSIAN, lambda which: which(alpha=1.0), "unexpected keyword argument 'alpha'")
    assert_complains_alike(GAUSSIAN, lambda which: which().set_params(alpha=1.0), "Invalid parameter 'alpha'")


@every_array_alpha
def test_bad_alpha_arrays(kind: Kind) -> None:
    x, y = kind.data()
    for alpha, said in [([1.0, 2.0], "Got 2 elements instead of 5"), ([1, 1, 1, 1, -1], "All values in alpha")]:
        assert_complains_alike(kind, lambda which, alpha=alpha: which(alpha=alpha).fit(x, y), said)


@pytest.mark.parametrize(
    ("least", "said"), [([[2] * 5] * 2, "'min_categories' should have shape"), ([2.5] * 5, "integral type")]
)
def test_bad_min_categories(least: Any, said: str) -> None:
    x, y = CATEGORICAL.data()
    assert_complains_alike(CATEGORICAL, lambda which: which(min_categories=least).fit(x, y), said)


@every_peer
def test_prior_of_the_wrong_length(kind: Kind) -> None:
    x, y = kind.data()
    prior = {prior_name(kind): [0.5, 0.5]}
    assert_complains_alike(kind, lambda w: w(**prior).fit(x, y), "Number of priors must match number of classes")


@pytest.mark.parametrize(
    ("prior", "said"), [([0.5, 0.4, 0.4], "sum of the priors should be 1"), ([2, -1, 0], "riors must be non-negative")]
)
def test_prior_that_is_none(prior: Any, said: str) -> None:
    x, y = GAUSSIAN.data()
    assert_complains_alike(GAUSSIAN, lambda which: which(priors=prior).fit(x, y), said)


BAD_DATA: dict[str, tuple[Callable[[Any, Any, Any], Any], tuple[str, ...]]] = {
    "one dimension": (lambda m, x, y: m.fit(x[0], y), ("Expected 2D array, got 1D array instead",)),
    "three dimensions": (lambda m, x, y: m.fit(x[:, :, None], y), ("dim 3",)),
    "no rows": (lambda m, x, y: m.fit(x[:0], y[:0]), ("Found array with 0 sample(s)",)),
    "no columns": (lambda m, x, y: m.fit(x[:, :0], y), ("0 feature(s)",)),
    "labels too few": (lambda m, x, y: m.fit(x, y[1:]), ("inconsistent numbers of samples",)),
    "labels none": (lambda m, x, y: m.fit(x, None), ("y",)),
    "labels two-dimensional": (lambda m, x, y: m.fit(x, np.stack([y, y], axis=1)), ("1d array",)),
    "labels with holes": (lambda m, x, y: m.fit(x, np.where(y == 1, np.nan, y)), ("NaN",)),
    "text": (lambda m, x, y: m.fit(np.full(x.shape, "a", dtype=object), y), ("'a'",)),
    "complex": (lambda m, x, y: m.fit(x * 1j, y), ("Complex data not supported",)),
    "infinite": (lambda m, x, y: m.fit(np.where(x > 0, np.inf, x), y), ("infinit",)),
    "weights too few": (lambda m, x, y: m.fit(x, y, sample_weight=np.ones(3)), ("sample_weight.shape == (3,)",)),
    "weights two-dimensional": (lambda m, x, y: m.fit(x, y, np.ones((len(y), 2))), ("1D array or scalar",)),
    "fewer columns at predict": (lambda m, x, y: m.fit(x, y).predict(x[:, 1:]), ("expecting 5 features as input",)),
    "more columns in a batch": (
        lambda m, x, y: m.partial_fit(x[:, 1:], y, [0, 1, 2]).partial_fit(x, y),
        ("expecting 4 features as input",),
    ),
    "no classes at first": (lambda m, x, y: m.partial_fit(x, y), ("classes must be passed on the first call",)),
    "other classes later": (
        lambda m, x, y: m.partial_fit(x, y, [0, 1, 2]).partial_fit(x, y, [0, 1, 3]),
        ("is not the same as on last call to partial_fit",),
    ),
    "not fitted": (lambda m, x, y: m.predict(x), ("is not fitted yet",)),
    "not fitted, probabilities": (lambda m, x, y: m.predict_proba(x), ("is not fitted yet",)),
}


@every_peer
@pytest.mark.parametrize("case", BAD_DATA)
def test_bad_data(kind: Kind, case: str) -> None:
    x, y = kind.data()
    work, said = BAD_DATA[case]
    if case == "infinite" and kind is CATEGORICAL:
        said = ()  # scikit-learn speaks of the integer it cannot become
    assert_complains_alike(kind, lambda which: work(which(), x, y), *said)


@pytest.mark.parametrize("kind", [GAUSSIAN, CATEGORICAL], ids=lambda kind: kind.name)
def test_sparse_rows_where_they_make_no_sense(kind: Kind) -> None:
    x, y = kind.data()
    assert_complains_alike(kind, lambda which: which().fit(sp.csr_array(x), y), "Sparse data was passed")


@each(MULTINOMIAL, COMPLEMENT, CATEGORICAL)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_negative_counts(kind: Kind, form: Any) -> None:
    x, y = kind.data()
    if kind is not CATEGORICAL or form is np.asarray:
        assert_complains_alike(kind, lambda which: which().fit(form(x - 1), y), "Negative values in data")


@every_peer
def test_labels_that_are_none(kind: Kind) -> None:
    """scikit-learn only says that it cannot sort them."""
    x, y = kind.data()
    labels = y.astype(str).astype(object)
    labels[4] = None
    with pytest.raises(ValueError, match=r"row 5 has no label.*leave such rows out"):
        kind.ours().fit(x, labels)


@every_peer
def test_labels_that_were_not_declared(kind: Kind) -> None:
    x, y = kind.data()
    estimator = kind.ours().partial_fit(x, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="do not exist in the initial classes"):
        estimator.partial_fit(x, y + 1)
