"""scikit-learn's own checks of the estimator contract, for each estimator and its interesting settings."""

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from tallybayes import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianDiscriminant,
    GaussianNB,
    MultinomialNB,
    NaiveBayes,
    NaiveBayesMixture,
    PoissonNB,
)

WHOLE_ROWS = "leave-one-out leaves out a row with all its weight, which is not one of two equal rows"

ESTIMATORS = [
    GaussianNB(),
    GaussianNB(variance="shared"),
    GaussianNB(prior_alpha=1.0, n_jobs=2),
    BernoulliNB(),
    BernoulliNB(alpha="auto"),
    BernoulliNB(alpha=0.0),
    CategoricalNB(),
    CategoricalNB(alpha="auto"),
    CategoricalNB(unseen="smooth"),
    MultinomialNB(),
    MultinomialNB(alpha="auto"),
    ComplementNB(),
    ComplementNB(alpha="auto"),
    ComplementNB(norm=True),
    PoissonNB(),
    PoissonNB(alpha="auto"),
    NaiveBayes(),
    NaiveBayes(variance="shared", min_count=2, prior_alpha=1.0, unseen="smooth"),
    GaussianNB(unlabelled="ignore"),
    NaiveBayes(unlabelled="ignore"),
    MultinomialNB(document_length=10.0),
    GaussianDiscriminant(),
    GaussianDiscriminant(covariance="full", shrinkage="auto"),
    GaussianDiscriminant(covariance="diagonal"),
    NaiveBayesMixture(random_state=0),
    NaiveBayesMixture(estimator=GaussianNB(), random_state=0),
]


def expected_failures(estimator: Any) -> dict[str, str]:
    """Checks that contradict a documented extension, with the reason."""
    found = {}
    if getattr(estimator, "unlabelled", "error") != "error":
        found["check_classifiers_classes"] = "it calls a class -1, which then means that there is no label"
    if type(estimator) is NaiveBayes:
        reason = "a row of weight two is in one fold, two rows of weight one may be in two"
        found["check_sample_weight_equivalence_on_dense_data"] = reason
    if isinstance(estimator, NaiveBayesMixture):
        reason = "starts are drawn by row, and a row of weight two is drawn otherwise than two rows"
        return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}
    if getattr(estimator, "alpha", None) == "auto" and not isinstance(estimator, CategoricalNB):
        kinds = ("dense", "sparse")
        return {f"check_sample_weight_equivalence_on_{kind}_data": WHOLE_ROWS for kind in kinds}
    return found


@pytest.mark.filterwarnings("ignore::tallybayes.errors.RankWarning")  # some checks have more columns than rows
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_contract(estimator: Any, check: Any) -> None:
    check(estimator)
