"""Weights that differ by class."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

import tallybayes
from tallybayes import NaiveBayes
from tallybayes.errors import NotAvailableError


def digits(part: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Every other handwritten digit, some of its pixels and which half of the disc it belongs to."""
    X, y = load_digits(return_X_y=True)
    X, y = X[part::2], y[part::2]
    table = {f"pixel{c}": X[:, c] for c in range(1, 64, 5)}
    return {**table, "dark": np.where(X.sum(axis=1) > 310, "yes", "no")}, np.array([f"digit {k}" for k in y])


@pytest.fixture(scope="module")
def fitted() -> NaiveBayes:
    return NaiveBayes(weights="classes", pairs=0).fit(*digits(0))


def test_classes_that_hear_differently_foretell_better(fitted):
    table, y = digits(1)
    plain = NaiveBayes(weights="learn", pairs=0).fit(*digits(0))
    own = np.arange(len(y)), np.searchsorted(plain.classes_, y)
    assert fitted.predict_log_proba(table)[own].mean() > plain.predict_log_proba(table)[own].mean()
    times = fitted.weights_.by_class.times
    assert times.shape[0] == 10
    assert (times >= 0).all()
    assert np.ptp(times) > 0.1


def test_evidence_still_adds_up(fitted):
    table, _ = digits(1)
    batch = fitted._rows(table)
    added = fitted.model_.contributions(batch).sum(axis=2) + fitted.model_.prior_score
    np.testing.assert_allclose(added, fitted.model_.log_joint(batch), atol=1e-9)
    np.testing.assert_allclose(fitted.predict_proba(table).sum(axis=1), 1.0)


def test_leaving_a_row_out_is_exact(fitted):
    table, y = digits(0)
    found = fitted.model_.leave_one_out(fitted._labelled(table, y, None, fitted.classes_)[0])
    for i in (0, 5, 77):
        row = {name: values[i : i + 1] for name, values in table.items()}
        without = fitted.model_.unlearn(fitted._labelled(row, y[i : i + 1], None, fitted.classes_)[0])
        np.testing.assert_allclose(found[i], without.log_posterior(fitted._rows(row))[0], atol=1e-9)


def test_a_missing_value_says_nothing(fitted):
    table, _ = digits(1)
    holes = {**table, "dark": np.full(len(table["dark"]), None)}
    assert not fitted.model_.contributions(fitted._rows(holes))[:, :, -1].any()


def test_they_are_kept_in_the_file_and_shown_by_hand(fitted, tmp_path):
    table, _ = digits(1)
    fitted.save(tmp_path / "digits.tally")
    loaded = tallybayes.load(tmp_path / "digits.tally")
    np.testing.assert_array_equal(loaded.predict_proba(table), fitted.predict_proba(table))


def test_a_class_learned_later_hears_once():
    table = {name: values[:5] for name, values in digits(1)[0].items()}
    grown = tallybayes.NaiveBayes(weights="classes", pairs=0).fit(*digits(0))
    grown.partial_fit(table, ["letter"] * 5)
    np.testing.assert_array_equal(grown.model_._times[list(grown.classes_).index("letter")], 1.0)


def test_two_classes_weigh_alike():
    table, y = digits(0)
    two = NaiveBayes(weights="classes", pairs=0).fit(table, y == "digit 0")
    assert two.weights_.by_class is None
    assert "two classes" in str(two.summary())


def test_they_are_not_exported(fitted):
    with pytest.raises(NotAvailableError, match="differ by class"):
        fitted.to_json()
