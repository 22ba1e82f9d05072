"""The life of a model: removals, corrections, additions, releases, and what it says about itself."""

import os
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.utils import estimator_html_repr

import efface
from efface import RemovableLogisticRegression, RemovableRidge, StaleReleaseWarning, _released
from efface._given import _parameters

# Noise far below what is compared, under a promise that allows it.
QUIET = {"noise_std": 1e-8, "epsilon": 100.0}


def test_removing_equals_training_without(rows):
    X, y = rows
    model = RemovableLogisticRegression(**QUIET).fit(X, y)
    report = model.remove(ids=[3, 4, 5])
    assert report["n_changed"] == 3
    assert report["n_rows"] == 197
    kept = np.delete(np.arange(200), [3, 4, 5])
    assert np.abs(model.coef_ - RemovableLogisticRegression(**QUIET).fit(X[kept], y[kept]).coef_).max() < 2e-7


def test_removing_subjects_takes_all_their_rows(rows):
    X, y = rows
    model = RemovableLogisticRegression(**QUIET).fit(X, y, subjects=[f"s{i // 10}" for i in range(200)])
    assert model.remove(subjects=["s0", "s7"])["n_changed"] == 20
    kept = np.r_[10:70, 80:200]
    assert np.abs(model.coef_ - RemovableLogisticRegression(**QUIET).fit(X[kept], y[kept]).coef_).max() < 2e-7


def test_a_request_is_carried_out_once(fitted):
    first = fitted.remove(ids=[1, 2], request_id="ticket-77")
    again = fitted.remove(ids=[1, 2], request_id="ticket-77")
    assert first["n_changed"] == again["n_changed"] == 2
    assert fitted.status_["n_rows"] == 198


@pytest.mark.parametrize(("request_id", "code"), [("", "request-unnamed"), ("change-7", "request-reserved")])
def test_a_request_needs_a_name_of_its_own(fitted, request_id, code):
    with pytest.raises(ValueError, match="request id") as refused:
        fitted.remove(ids=[1, 2], request_id=request_id)
    assert (type(refused.value), refused.value.code) == (efface.PlanError, code)
    assert fitted.status_["n_rows"] == 200


def test_a_removal_does_not_release_and_the_next_use_does(fitted, rows):
    before = fitted.coef_
    assert fitted.status_["stale"] is False
    fitted.remove(ids=11)
    status = fitted.status_
    assert (status["stale"], status["n_releases"]) == (True, 1)
    fitted.predict(rows[0])
    status = fitted.status_
    assert (status["stale"], status["n_releases"]) == (False, 2)
    assert not np.array_equal(fitted.coef_, before)
    assert fitted.status_["n_releases"] == 2, "looking twice releases once"


@pytest.mark.parametrize("use", ["coef_", "intercept_", "certificate_"])
def test_every_look_at_weights_is_fresh(fitted, use):
    fitted.remove(ids=11)
    getattr(fitted, use)
    assert fitted.status_["stale"] is False


def test_without_auto_release_the_old_weights_stay_and_warn(rows):
    X, y = rows
    model = RemovableLogisticRegression(auto_release=False).fit(X, y)
    before = model.coef_
    model.remove(ids=[0, 1])
    with pytest.warns(StaleReleaseWarning, match="call release"):
        assert np.array_equal(model.coef_, before)
    with pytest.warns(StaleReleaseWarning):
        model.predict(X)
    certificate = model.release()
    assert certificate["n_removed"] == 2
    assert certificate == model.certificate_
    assert not np.array_equal(model.coef_, before)


def test_each_release_has_fresh_noise(fitted):
    first = fitted.coef_
    fitted.release()
    assert 0 < np.abs(fitted.coef_ - first).max() < 0.1


def test_noise_is_as_large_as_declared(rows):
    model = RemovableRidge(noise_std=0.5, scale="raw").fit(*rows)
    exact = RemovableRidge(**QUIET, scale="raw").fit(*rows).coef_
    noise = [model.coef_ - exact]
    for _ in range(200):
        model.release()
        noise.append(model.coef_ - exact)
    # Of 1005 draws the standard deviation is off by a tenth with a probability below 1e-5.
    assert np.std(noise) == pytest.approx(0.5, rel=0.1)


def test_corrections(rows):
    X, y = rows
    model = RemovableLogisticRegression(**QUIET).fit(X, y, sample_weight=np.linspace(0.5, 2.0, 200))
    assert model.correct([5], X[5:6] + 1.0, 1 - y[5:6])["n_changed"] == 1
    changed, flipped = X.copy(), y.copy()
    changed[5] += 1.0
    flipped[5] = 1 - y[5]
    alone = RemovableLogisticRegression(**QUIET).fit(changed, flipped, sample_weight=np.linspace(0.5, 2.0, 200))
    assert np.abs(model.coef_ - alone.coef_).max() < 2e-7


def test_additions_are_numbered_on_and_can_be_removed(rows):
    X, y = rows
    model = RemovableLogisticRegression(**QUIET).partial_fit(X[:150], y[:150], classes=[0, 1])
    assert model.partial_fit(X[150:], y[150:]) is model
    model.remove(ids=[149, 150, 199])
    kept = np.delete(np.arange(200), [149, 150, 199])
    alone = RemovableLogisticRegression(**QUIET).fit(X[kept], y[kept])
    assert np.abs(model.coef_ - alone.coef_).max() < 2e-7
    assert model.status_["n_rows"] == 197


def test_additions_have_weights_and_subjects(rows):
    X, y = rows
    weights = np.linspace(0.5, 2.0, 200)
    subjects = np.array([f"s{i % 20}" for i in range(200)])
    model = RemovableLogisticRegression(**QUIET).fit(X[:150], y[:150], weights[:150], subjects=subjects[:150])
    model.partial_fit(X[150:], y[150:], subjects=subjects[150:], sample_weight=weights[150:])
    assert model.remove(subjects="s3")["n_changed"] == 10
    kept = subjects != "s3"
    alone = RemovableLogisticRegression(**QUIET).fit(X[kept], y[kept], sample_weight=weights[kept])
    assert np.abs(model.coef_ - alone.coef_).max() < 2e-7


def test_corrections_can_change_weights(rows):
    X, y = rows
    model = RemovableLogisticRegression(**QUIET).fit(X, y)
    model.correct([4, 5], X[4:6], y[4:6], sample_weight=[3.0, 0.5])
    weights = np.ones(200)
    weights[4:6] = 3.0, 0.5
    alone = RemovableLogisticRegression(**QUIET).fit(X, y, sample_weight=weights)
    assert np.abs(model.coef_ - alone.coef_).max() < 2e-7


def test_settling_makes_the_bound_small(fitted):
    after = fitted.remove(ids=range(30))
    settled = fitted.settle()
    assert settled["distance_bound"] < after["distance_bound"]
    assert fitted.status_["distance_bound"] <= settled["distance_bound"] * (1 + 1e-9)


def test_influence_is_the_norm_of_the_removal_update(rows):
    X, y = rows
    model = RemovableRidge(**QUIET, scale="raw", fit_intercept=False).fit(X, y)
    influence = model.influence()
    assert influence.shape == (200,)
    for row in (0, 17, 100):
        without = RemovableRidge(**QUIET, scale="raw", fit_intercept=False).fit(np.delete(X, row, 0), np.delete(y, row))
        assert influence[row] == pytest.approx(np.linalg.norm(model.coef_ - without.coef_), rel=0.05)
    assert np.allclose(model.influence([17, 0]), influence[[17, 0]])
    model.remove(ids=17)
    assert model.influence()[17] == 0.0


def test_influence_of_text_ids(rows):
    model = RemovableLogisticRegression().fit(*rows, ids=[f"p{i}" for i in range(200)])
    assert model.influence(["p3", "p4"]).shape == (2,)
    with pytest.raises(efface.UnknownIdError, match="p999"):
        model.influence(["p999"])


def test_plans_by_size_by_rows_and_of_a_model(rows, fitted):
    by_size = RemovableLogisticRegression().plan(n_rows=10_000, n_features=20)
    assert by_size["n_rows"] == 10_000
    assert by_size["rows"]
    by_rows = RemovableLogisticRegression().plan(*rows)
    assert (by_size["basis"], by_rows["basis"]) == ("sizes", "rows")
    assert fitted.plan()["n_rows"] == 200
    with pytest.raises(ValueError, match="n_rows=None"):
        RemovableLogisticRegression().plan(n_features=3)
    with pytest.raises(efface.PlanError, match="raw"):
        RemovableRidge(noise_std=0.1, scale="raw").plan(n_rows=100, n_features=3)
    assert RemovableRidge().plan(n_rows=100, n_features=3)["basis"] == "sizes"
    assert RemovableRidge().plan(*rows)["basis"] == "rows"


def test_certificate_says_what_is_promised(fitted):
    certificate = fitted.certificate_
    assert certificate["certified"] is True
    assert certificate["epsilon"] == 1.0
    assert certificate["delta"] == 1e-4
    assert certificate["noise_std"] == 1e-3
    assert certificate["n_removed"] == 0
    assert "prior-releases" in certificate["outside_scope"]
    certificate["n_removed"] = 99
    assert fitted.certificate_["n_removed"] == 0, "what the user does to the dict stays with the user"


def test_status_says_what_the_model_is(fitted):
    status = fitted.status_
    assert status["n_rows"] == 200
    assert status["secret_state"] is True
    assert status["path"] is None
    assert status["outside_scope"] == []
    assert status["mechanism"] == "release"
    assert status["n_iter"] > 0


def test_mechanism_objective_retrains_when_its_budget_is_spent(rows):
    X, y = rows
    model = RemovableLogisticRegression(mechanism="objective", noise_std=0.5, l2=1e-2, epsilon=0.5).fit(X, y)
    n_removed = 0
    while model.status_["outcome"] != "retrain-required":
        assert n_removed < 150, "the budget is never spent"
        model.remove(ids=n_removed)
        n_removed += 1
    with pytest.raises(efface.RetrainRequiredError):
        model.release()
    model.retrain()
    assert model.release()["n_removed"] == n_removed
    assert model.score(X, y) > 0.6


def test_a_closed_model_predicts_and_removes_no_more(rows):
    X, y = rows
    with RemovableLogisticRegression().fit(X, y) as model:
        model.remove(ids=1)
        released = model.coef_
    assert np.array_equal(model.coef_, released)
    assert model.predict(X).shape == (200,)
    with pytest.raises(efface.SecretStateMissingError, match="closed"):
        model.remove(ids=2)
    model.close()


def test_fitting_again_starts_a_new_model(fitted, rows):
    fitted.remove(ids=5)
    fitted.fit(*rows)
    assert fitted.status_["n_rows"] == 200
    assert fitted.certificate_["release"] == 1


def test_threads_do_not_change_results(rows):
    X, y = rows
    one, two = (RemovableLogisticRegression(n_jobs=n, **QUIET).fit(X, y) for n in (1, 2))
    assert np.abs(one.coef_ - two.coef_).max() < 2e-7
    RemovableLogisticRegression(n_jobs=-1).fit(X, y).predict(X)


def test_threads_by_the_rules_of_joblib(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 2, 5}, raising=False)
    assert [_parameters.n_threads(n) for n in (None, 1, 7, -1, -2, -99)] == [None, 1, 7, 3, 2, 1]
    for told, expected in {"3": 3, " 2 ": 2, "0": None, "-1": None, "many": None, "": None, "4,2": None}.items():
        monkeypatch.setenv("OMP_NUM_THREADS", told)
        assert _parameters.n_threads(None) == expected
        assert _parameters.n_threads(5) == 5


def test_verbose_shows_a_bar(rows, capsys):
    RemovableLogisticRegression(verbose=True).fit(*rows)
    assert "fit RemovableLogisticRegression" in capsys.readouterr().err
    RemovableLogisticRegression().fit(*rows)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("auto_release", [True, False])
def test_a_release_that_was_interrupted_on_its_way_is_taken_over(rows, monkeypatch, auto_release):
    """Ctrl-C between the engine's release and its assignment left the weights of before in use, as if not stale."""
    X, y = rows
    model = RemovableLogisticRegression(auto_release=auto_release).fit(X, y)
    before = model.coef_
    model.remove(ids=range(50))
    with monkeypatch.context() as patch:
        patch.setattr(_released.Released, "of", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            model.release()
    assert (model.status_["stale"], model.status_["n_releases"]) == (False, 2)
    assert not np.array_equal(model.coef_, before)
    assert model.certificate_["n_removed"] == 50
    assert model.status_["n_releases"] == 2, "the release that was made is used, not another one"


def test_a_fit_that_was_interrupted_at_its_release_does_not_show_the_model_before(rows, monkeypatch):
    X, y = rows
    model = RemovableLogisticRegression().fit(X, y)
    before = model.coef_
    with monkeypatch.context() as patch:
        patch.setattr(_released.Released, "of", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X[:, :3], y)
    assert model.coef_.shape in {(1, 3), before.shape}
    assert model.coef_.shape[1] == model.n_features_in_
    assert model.predict(X[:, : model.n_features_in_]).shape == (200,)


def _interrupt(*_):
    raise KeyboardInterrupt


def test_closing_releases_what_has_changed(rows):
    """A model that was closed between a removal and the next release went on with weights that knew the rows."""
    X, y = rows
    with RemovableLogisticRegression(**QUIET).fit(X, y) as model:
        before = model.coef_
        model.remove(ids=range(50))
    assert model.status_["stale"] is False
    assert model.certificate_["n_removed"] == 50
    assert np.abs(model.coef_ - before).max() > 1e-4


def test_closing_without_a_release_leaves_a_mark(rows):
    X, y = rows
    with RemovableLogisticRegression(auto_release=False).fit(X, y) as model:
        model.remove(ids=3)
    assert model.status_["stale"] is True
    with pytest.warns(StaleReleaseWarning, match="cannot release anew"):
        model.predict(X)
    model.fit(X, y)
    assert model.status_["stale"] is False
    model.predict(X)
    model.close()
    assert model.status_["stale"] is False


def test_closing_when_the_release_is_refused_leaves_a_mark(rows):
    X, y = rows
    model = RemovableLogisticRegression(mechanism="objective", noise_std=0.5, l2=1e-2, epsilon=0.5).fit(X, y)
    for row in range(150):
        model.remove(ids=row)
        if model.status_["outcome"] == "retrain-required":
            break
    model.close()
    assert model.status_["stale"] is True
    with pytest.warns(StaleReleaseWarning, match="still knows"):
        model.predict(X)


def test_many_threads_release_once(fitted, rows):
    fitted.remove(ids=7)
    start = threading.Barrier(16)

    def use(_):
        start.wait()
        return fitted.decision_function(rows[0])

    with ThreadPoolExecutor(16) as pool:
        scores = list(pool.map(use, range(16)))
    assert fitted.status_["n_releases"] == 2
    assert all(np.array_equal(score, scores[0]) for score in scores)


def test_whoever_uses_a_model_that_another_thread_looks_at_gets_a_fresh_release(fitted):
    """While one thread showed the model, predictions of the others came from weights that knew the removed rows."""
    fitted.remove(ids=range(50))
    with ThreadPoolExecutor(1) as pool:
        with fitted._only_looking():
            using = pool.submit(lambda: fitted.certificate_["n_removed"])
            time.sleep(0.1)
            assert fitted.certificate_["n_removed"] == 0
        assert using.result(timeout=20) == 50


def test_looking_at_a_model_releases_nothing(rows):
    """A notebook that showed a model after a removal, or completed a name, made a release each time."""
    X, y = rows
    model = RemovableLogisticRegression().fit(X, y)
    model.remove(ids=[3])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "coef_" in dir(model)
        estimator_html_repr(model)
        repr(model)
    assert model.status_["stale"]
    assert model.status_["n_releases"] == 1
    assert model.certificate_["release"] == 2


@pytest.mark.parametrize("estimator", [RemovableLogisticRegression, efface.RemovableRidgeClassifier])
def test_rows_count_as_their_class_does(estimator, tmp_path):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 3))
    y = np.where(X[:, 0] + rng.normal(size=300) > 1.0, "fraud", "fine")
    own = rng.integers(1, 4, 300).astype(float)
    settings = (
        {"noise_std": 1e-9, "epsilon": 5.0, "max_releases": 8} if estimator is RemovableLogisticRegression else {}
    )
    weights = {"fraud": 20}
    by_class = np.where(y == "fraud", 20.0, 1.0)
    for weight in (None, own):
        model = estimator(class_weight=weights, **settings).fit(
            X[:250], y[:250], weight if weight is None else own[:250]
        )
        same = estimator(**settings).fit(X[:250], y[:250], by_class[:250] * (1.0 if weight is None else own[:250]))
        assert np.allclose(model.coef_, same.coef_, atol=1e-6)
        # So do rows that join, also after the model has moved.
        more = None if weight is None else own[250:]
        model.save(tmp_path / f"{weight is None}.efface")
        model.close()
        with efface.open(tmp_path / f"{weight is None}.efface") as opened:
            assert opened.class_weight == weights
            opened.partial_fit(X[250:], y[250:], sample_weight=more)
            same.partial_fit(X[250:], y[250:], sample_weight=by_class[250:] * (1.0 if more is None else more))
            assert np.allclose(opened.coef_, same.coef_, atol=1e-4)


@pytest.mark.parametrize(
    ("weights", "told"),
    [
        ("balanced", "would remember how frequent classes were"),
        ({2: 3.0}, "class_weight has classes of which there are no rows: '2'"),
        ({0: 0.0}, "class_weight must be positive and finite"),
        ([1.0, 2.0], "class_weight must be a dict"),
    ],
)
def test_class_weights_that_cannot_be_meant_are_refused(weights, told):
    X = np.arange(20.0).reshape(10, 2)
    with pytest.raises(ValueError, match=told):
        RemovableLogisticRegression(class_weight=weights).fit(X, np.arange(10) % 2)
