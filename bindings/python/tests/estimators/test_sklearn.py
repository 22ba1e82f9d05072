"""Inside scikit-learn's own machinery."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_diabetes
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, cross_val_predict, cross_val_score, cross_validate
from sklearn.multiclass import OneVsOneClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.utils.validation import check_is_fitted

import efface
from efface import RemovableLogisticRegression, RemovableRidge, RemovableRidgeClassifier

ALL = [RemovableLogisticRegression, RemovableRidge, RemovableRidgeClassifier]


def test_pipeline_predicts_and_its_last_step_forgets(rows):
    X, y = rows
    pipeline = make_pipeline(Normalizer(), RemovableLogisticRegression(scale="none"))
    pipeline.fit(X, y, removablelogisticregression__ids=[f"row {i}" for i in range(len(X))])
    assert pipeline.score(X, y) > 0.9
    pipeline[-1].remove(ids="row 5")
    assert pipeline[-1].certificate_["n_removed"] == 1
    assert pipeline.score(X, y) > 0.9


@pytest.mark.parametrize("estimator", ALL)
def test_cross_val_score(rows, estimator):
    assert cross_val_score(estimator(), *rows, cv=3, error_score="raise").mean() > 0.3
    assert cross_val_predict(estimator(), *rows, cv=3).shape == (200,)


def test_cross_validate_in_other_processes(rows):
    scores = cross_validate(RemovableLogisticRegression(), *rows, cv=2, n_jobs=2, return_estimator=True)
    assert scores["test_score"].mean() > 0.85
    # The models come back as pickles: released weights only.
    with pytest.raises(efface.SecretStateMissingError):
        scores["estimator"][0].remove(ids=0)


@pytest.mark.filterwarnings("ignore::efface.GuaranteeWarning")
def test_searches_find_the_better_strength(rows):
    X, y = rows
    grid = GridSearchCV(RemovableLogisticRegression(), {"l2": [1e-3, 1e3]}, cv=3).fit(X, y)
    assert grid.best_params_ == {"l2": 1e-3}
    grid.best_estimator_.remove(ids=[1, 2])
    assert grid.score(X, y) > 0.9
    drawn = RandomizedSearchCV(RemovableRidge(), {"alpha": [1e-2, 1e6]}, n_iter=2, cv=3).fit(X, y)
    assert drawn.best_params_ == {"alpha": 1e-2}


@pytest.mark.filterwarnings("ignore::efface.GuaranteeWarning")
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("estimator", [RemovableLogisticRegression(), RemovableRidgeClassifier()])
def test_calibration(rows, estimator, method):
    X, y = rows
    calibrated = CalibratedClassifierCV(estimator, method=method, cv=3).fit(X, y, sample_weight=np.ones(len(X)))
    assert calibrated.score(X, y) > 0.9


def test_one_vs_one(rows):
    X, _ = rows
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    assert OneVsOneClassifier(RemovableLogisticRegression()).fit(X, y).score(X, y) > 0.7


@pytest.mark.parametrize("estimator", ALL)
def test_clone_and_set_params(rows, estimator):
    model = estimator(l2=0.5, epsilon=0.3).fit(*rows)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        check_is_fitted(copy)
    assert model.set_params(l2=0.25).l2 == 0.25
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.set_params(strength=1)


def test_kinds():
    assert [is_classifier(e()) for e in ALL] == [True, False, True]
    assert [is_regressor(e()) for e in ALL] == [False, True, False]


def test_metadata_routing_hands_ids_and_weights_on(rows):
    X, y = rows
    with sklearn.config_context(enable_metadata_routing=True):
        model = RemovableLogisticRegression().set_fit_request(ids=True, sample_weight=True)
        pipeline = make_pipeline(Normalizer(), model)
        pipeline.fit(X, y, ids=np.arange(1000, 1200), sample_weight=np.full(200, 2.0))
        pipeline[-1].remove(ids=1100)
        assert pipeline[-1].status_["n_rows"] == 199


def test_shapes_and_types_are_those_of_scikit_learn(rows):
    X, y = rows
    binary = RemovableLogisticRegression().fit(X, y)
    assert binary.coef_.shape == (1, 5)
    assert binary.intercept_.shape == (1,)
    assert binary.decision_function(X).shape == (200,)
    assert binary.predict_proba(X).shape == (200, 2)
    assert np.allclose(np.exp(binary.predict_log_proba(X)), binary.predict_proba(X))
    three = RemovableLogisticRegression(fit_intercept=False).fit(X, np.array(["a", "b", "c"])[np.arange(200) % 3])
    assert three.coef_.shape == (3, 5)
    assert three.intercept_.tolist() == [0.0, 0.0, 0.0]
    assert three.predict_proba(X).sum(axis=1) == pytest.approx(1.0)
    assert np.allclose(np.exp(three.predict_log_proba(X)), three.predict_proba(X))
    assert set(three.predict(X)) <= {"a", "b", "c"}
    ridge = RemovableRidge().fit(X, y)
    assert ridge.coef_.shape == (5,)
    assert isinstance(ridge.intercept_, float)
    assert not hasattr(RemovableRidgeClassifier(), "predict_proba")


def test_ridge_takes_a_table_as_it_is():
    """Columns of sizes from 1 to 300 were refused, because rounding showed on rows that long."""
    X, y = load_diabetes(return_X_y=True, scaled=False)
    model = RemovableRidge(scale="raw", l2=1e-3).fit(X, y)
    with_ones = np.column_stack([X, np.ones(len(X))])
    expected = Ridge(alpha=1e-3 * len(X), fit_intercept=False, solver="cholesky").fit(with_ones, y)
    assert np.append(model.coef_, model.intercept_) == pytest.approx(expected.coef_, rel=1e-6, abs=1e-8)
    model.remove(ids=range(100))
    alone = Ridge(alpha=1e-3 * 342, fit_intercept=False, solver="cholesky").fit(with_ones[100:], y[100:])
    assert np.append(model.coef_, model.intercept_) == pytest.approx(alone.coef_, rel=1e-6, abs=1e-8)
    certificate = model.certificate_
    assert (certificate["certified"], certificate["epsilon"], certificate["n_removed"]) == (True, 0.0, 100)


def test_no_weight_is_there_before_fit():
    for attribute in ("coef_", "intercept_", "certificate_", "status_"):
        assert not hasattr(RemovableLogisticRegression(), attribute)
