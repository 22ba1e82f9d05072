"""What copies and pickles can do, with and without the secret state."""

import copy
import pickle

import joblib
import numpy as np
import pytest

from efface import (
    RemovableLogisticRegression,
    RemovableRidge,
    RemovableRidgeClassifier,
    SecretStateMissingError,
    StaleReleaseWarning,
)


def through_joblib(model, folder):
    joblib.dump(model, folder / "model.joblib")
    return joblib.load(folder / "model.joblib")


WAYS = {
    "pickle": lambda model, _: pickle.loads(pickle.dumps(model)),
    "old pickle": lambda model, _: pickle.loads(pickle.dumps(model, protocol=2)),
    "copy": lambda model, _: copy.copy(model),
    "deepcopy": lambda model, _: copy.deepcopy(model),
    "joblib": through_joblib,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("estimator", [RemovableLogisticRegression, RemovableRidge, RemovableRidgeClassifier])
def test_a_copy_predicts_the_same_and_cannot_remove(rows, tmp_path, estimator, way):
    X, y = rows
    model = estimator().fit(X, y)
    twin = WAYS[way](model, tmp_path)
    assert np.array_equal(twin.coef_, model.coef_)
    assert np.array_equal(twin.predict(X), model.predict(X))
    assert twin.certificate_ == model.certificate_
    assert twin.status_["secret_state"] is False
    assert twin.n_features_in_ == 5
    for change in (
        lambda: twin.remove(ids=0),
        lambda: twin.correct([0], X[:1], y[:1]),
        lambda: twin.partial_fit(X[:1], y[:1]),
        twin.settle,
        twin.release,
        twin.retrain,
        twin.influence,
        lambda: twin.save(tmp_path / "model.efface"),
    ):
        with pytest.raises(SecretStateMissingError, match="no secret state"):
            change()
    model.remove(ids=0)


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_with_the_secret_state_goes_on(rows, tmp_path, way):
    X, y = rows
    model = RemovableLogisticRegression(include_secret_state=True, noise_std=1e-8, epsilon=100.0).fit(
        X, y, ids=[f"p{i}" for i in range(200)]
    )
    model.remove(ids="p1")
    twin = WAYS[way](model, tmp_path)
    twin.remove(ids=["p2", "p3"])
    kept = np.delete(np.arange(200), [1, 2, 3])
    alone = RemovableLogisticRegression(noise_std=1e-8, epsilon=100.0).fit(X[kept], y[kept])
    assert np.abs(twin.coef_ - alone.coef_).max() < 2e-7
    assert twin.status_["n_rows"] == 197
    assert model.status_["n_rows"] == 199


def test_a_pickle_after_a_removal_does_not_know_the_removed_row(rows):
    """A pickle made between a removal and the next release held the old weights, which still knew the row."""
    X, y = rows
    model = RemovableLogisticRegression(noise_std=1e-8, epsilon=100.0).fit(X, y)
    before = model.coef_
    model.remove(ids=range(50))
    twin = pickle.loads(pickle.dumps(model))
    assert np.abs(twin.coef_ - before).max() > 1e-4
    assert twin.certificate_["n_removed"] == 50


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_of_a_stale_model_says_that_it_is(rows, tmp_path, way):
    """Under ``auto_release=False`` a copy held the weights of before the removal and did not say so."""
    X, y = rows
    model = RemovableLogisticRegression(auto_release=False).fit(X, y)
    model.remove(ids=3)
    with pytest.warns(StaleReleaseWarning, match="call release"):
        twin = WAYS[way](model, tmp_path)
    assert twin.status_["stale"] is True
    with pytest.warns(StaleReleaseWarning, match="cannot release anew"):
        twin.predict(X)
    again = WAYS[way](twin, tmp_path)
    assert again.status_["stale"] is True
    model.release()
    assert WAYS[way](model, tmp_path).status_["stale"] is False


def test_a_stale_copy_with_the_secret_state_can_release(rows):
    model = RemovableLogisticRegression(auto_release=False, include_secret_state=True).fit(*rows)
    model.remove(ids=3)
    with pytest.warns(StaleReleaseWarning):
        twin = copy.copy(model)
    assert twin.status_["stale"] is True
    assert twin.release()["n_removed"] == 1
    twin.close()
    assert twin.status_["stale"] is False


def test_an_unfitted_model_is_copied_as_it_is():
    assert pickle.loads(pickle.dumps(RemovableRidge(l2=0.5))).l2 == 0.5


def test_a_copy_can_be_fitted_anew(rows):
    twin = copy.copy(RemovableLogisticRegression().fit(*rows)).fit(*rows)
    assert twin.remove(ids=3)["n_changed"] == 1
