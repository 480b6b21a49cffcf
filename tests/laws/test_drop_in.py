"""The law of the drop-in: what scikit-learn's own tests ask of its Naive Bayes classes holds of ours.

The tests are those of the installed scikit-learn, run as they are, with our classes under the names that they import.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import numpy as np
import pytest
import sklearn
import sklearn.naive_bayes
from sklearn.utils import _array_api

import tallybayes

CLASSES = ("BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB")
SOURCE = Path(sklearn.__file__).parent / "tests" / "test_naive_bayes.py"
PRIVATE = {  # methods that are nobody's interface, and the tests that call them
    "test_gnb_check_update_with_no_data": "GaussianNB._update_mean_variance",
    "test_alpha_vector": "MultinomialNB._check_alpha",
    "test_check_alpha": "BernoulliNB._check_alpha",
}

if not SOURCE.exists():
    pytest.skip("the installed scikit-learn comes without its tests", allow_module_level=True)


def their_tests() -> ModuleType:
    """scikit-learn's tests of its Naive Bayes, which import our classes instead of its own."""
    spec = importlib.util.spec_from_file_location("sklearn_test_naive_bayes", SOURCE)
    module = importlib.util.module_from_spec(spec)
    ours = {name: getattr(tallybayes, name) for name in CLASSES}
    combinations = _array_api.yield_namespace_device_dtype_combinations
    with (
        patch.multiple(sklearn.naive_bayes, **ours),
        # pytest warns of parameters that are a generator
        patch.object(_array_api, combinations.__name__, lambda *args, **kwargs: list(combinations(*args, **kwargs))),
    ):
        spec.loader.exec_module(module)
    return module


THEIRS = {name: test for name, test in vars(their_tests()).items() if name.startswith("test_")}
globals().update({name: test for name, test in THEIRS.items() if name not in PRIVATE})


@pytest.fixture
def global_random_seed():
    """scikit-learn's own default."""
    return 42


@pytest.fixture
def global_dtype():
    """scikit-learn's own default."""
    return np.float64


def test_the_exceptions_are_tests_of_private_methods():
    for name, method in PRIVATE.items():
        assert method.split(".")[1] in THEIRS[name].__code__.co_names


def test_the_tests_are_of_our_classes():
    used = {name: THEIRS["test_gnb"].__globals__[name] for name in CLASSES}
    assert used == {name: getattr(tallybayes, name) for name in CLASSES}


def test_after_a_failed_fit_other_classes_are_refused_and_the_older_model_stays():
    model = tallybayes.MultinomialNB().fit([[0], [1]], [0, 1])
    before = model.predict_proba([[1]])
    with pytest.raises(tallybayes.errors.NegativeError, match=r"to MultinomialNB .input X.: column 'x0' .* -1 .row 3"):
        model.fit([[0], [1], [-1]], [0, 1, 2])
    np.testing.assert_array_equal(model.predict_proba([[1]]), before)
    for classes in ([0, 1], [0, 1, 2]):  # neither of the older model only, nor of the failed rows only
        with pytest.raises(ValueError, match="is not the same as on last call"):
            model.partial_fit([[0]], [0], classes=classes)
    model.partial_fit([[0]], [0])
    assert model.class_count_.tolist() == [2, 1]
    model.partial_fit([[0]], [0], classes=[0, 1])
    assert model.class_count_.tolist() == [3, 1]
