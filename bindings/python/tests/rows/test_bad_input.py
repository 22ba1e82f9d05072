"""The exceptions that users of scikit-learn expect, with the value and the limit."""

import re

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import efface
from efface import RemovableLogisticRegression, RemovableRidge, RemovableRidgeClassifier

ALL = [RemovableLogisticRegression, RemovableRidge, RemovableRidgeClassifier]


@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.parametrize(("value", "scale"), [(np.nan, "unit"), (np.inf, "auto"), (-np.inf, "unit")])
def test_rows_that_are_not_finite(rows, estimator, value, scale):
    X, y = rows[0].copy(), rows[1]
    X[3, 1] = value
    with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
        estimator(scale=scale).fit(X, y)
    model = estimator(scale=scale).fit(*rows)
    with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
        model.predict(X)
    with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
        model.correct([3], X[3:4], y[3:4])


@pytest.mark.parametrize("estimator", ALL)
def test_wrong_shapes(rows, estimator):
    X, y = rows
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        estimator().fit(X[:, 0], y)
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[200, 199\]"):
        estimator().fit(X, y[:-1])
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        estimator().fit(X[:0], y[:0])
    model = estimator().fit(X, y)
    for use in (model.predict, lambda bad: model.partial_fit(bad, y[:1]), lambda bad: model.correct([0], bad, y[:1])):
        with pytest.raises(ValueError, match=r"X has 4 features, but .* is expecting 5"):
            use(X[:1, :4])


@pytest.mark.parametrize("estimator", ALL)
def test_an_unfitted_model_says_so(rows, estimator, tmp_path):
    X, y = rows
    model = estimator()
    uses = [
        lambda: model.predict(X),
        lambda: model.score(X, y),
        lambda: model.remove(ids=1),
        lambda: model.correct([1], X[:1], y[:1]),
        model.settle,
        model.release,
        model.retrain,
        model.influence,
        model.to_json,
        lambda: model.save(tmp_path / "x"),
        lambda: model.coef_,
        lambda: model.certificate_,
        lambda: model.status_,
    ]
    for use in uses:
        with pytest.raises(NotFittedError, match="not fitted yet"):
            use()


@pytest.mark.parametrize("estimator", [RemovableLogisticRegression, RemovableRidgeClassifier])
def test_labels(rows, estimator):
    X, y = rows
    with pytest.raises(ValueError, match="at least 2 classes, got 1 class: 1"):
        estimator().fit(X, np.ones(200))
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        estimator().fit(X, np.linspace(0, 1, 200))
    with pytest.raises(ValueError, match="got none of class 2"):
        estimator().partial_fit(X, y, classes=[0, 1, 2])
    model = estimator().fit(X, y)
    with pytest.raises(ValueError, match="not among the classes 0, 1: 5"):
        model.partial_fit(X[:1], [5])
    with pytest.raises(ValueError, match="classes must be those of the first call"):
        model.partial_fit(X[:1], [1], classes=[1, 2])


def test_targets_of_regression(rows):
    X, y = rows
    with pytest.raises(ValueError, match=r"Input y contains (NaN|infinity)"):
        RemovableRidge().fit(X, np.where(y, np.nan, 0.0))
    with pytest.raises(ValueError, match="y should be a 1d array, got an array of shape"):
        RemovableRidge().fit(X, np.column_stack([y, y]))


def test_ids(rows):
    X, y = rows
    fit = lambda ids, **more: RemovableLogisticRegression().fit(X, y, ids=ids, **more)  # noqa: E731
    with pytest.raises(ValueError, match="ids must have one entry per row: got 199 for 200 rows"):
        fit(range(199))
    with pytest.raises(efface.RepeatedIdError, match="17"):
        fit([*range(199), 17])
    with pytest.raises(ValueError, match="ids must be integers or text, got `None` at position 3"):
        fit([0, 1, 2, None, *range(4, 200)])
    with pytest.raises(ValueError, match=r"got `0.5` at position 0"):
        fit(np.arange(200) + 0.5)
    with pytest.raises(ValueError, match="integers or text, got an array of datetime64"):
        fit(np.arange(200).astype("datetime64[ns]"))
    with pytest.raises(ValueError, match="integers or text, got `True`"):
        fit([True] * 200)
    with pytest.raises(ValueError, match="one-dimensional"):
        fit(np.zeros((200, 1), dtype=int))
    with pytest.raises(ValueError, match=r"2\*\*63"):
        fit([2**70, *range(1, 200)])
    with pytest.raises(ValueError, match="one entry per row"):
        fit(5)
    with pytest.raises(ValueError, match="subjects must have one entry per row: got 3 for 200 rows"):
        fit(None, subjects=[1, 2, 3])


def test_removals(rows):
    model = RemovableLogisticRegression().fit(*rows, subjects=np.arange(200) // 10)
    with pytest.raises(efface.UnknownIdError, match="9999"):
        model.remove(ids=[1, 9999])
    assert model.status_["n_rows"] == 200
    model.remove(ids=7)
    with pytest.raises(efface.AlreadyRemovedError, match="7"):
        model.remove(ids=[8, 7])
    assert model.remove(ids=[9, 9])["n_changed"] == 1, "names that are given twice are one"
    with pytest.raises(efface.UnknownIdError, match="nobody"):
        model.remove(subjects="nobody")
    model.remove(subjects=3)
    with pytest.raises(efface.AlreadyRemovedError, match="3"):
        model.remove(subjects=3)
    with pytest.raises(ValueError, match="got both"):
        model.remove(ids=1, subjects=1)
    with pytest.raises(ValueError, match="got neither"):
        model.remove()
    with pytest.raises(efface.UnknownIdError, match="4444"):
        model.correct([4444], rows[0][:1], rows[1][:1])
    with pytest.raises(efface.RepeatedIdError, match="1"):
        model.partial_fit(rows[0][:1], rows[1][:1], ids=[1], subjects=["x"])
    assert model.status_["n_rows"] == 188
    report = model.remove(ids=[1, 7, 9999], skip_missing=True)
    assert report["n_changed"] == 1


def test_removing_whom_the_model_has_no_subjects_for(fitted):
    with pytest.raises(ValueError, match="subject"):
        fitted.remove(subjects=[1])


def test_the_last_rows_stay(rows):
    X, y = rows
    model = RemovableLogisticRegression().fit(X, y)
    assert model.remove(ids=np.flatnonzero(y == 1))["classes_gone"] == ["1"]
    with pytest.raises(efface.LastRowError, match="a classifier needs rows of two classes"):
        model.predict(X)
    ridge = RemovableRidge().fit(X, y)
    with pytest.raises(efface.LastRowError):
        ridge.remove(ids=range(200))
    assert ridge.status_["n_rows"] == 200


def test_sample_weights(rows):
    X, y = rows
    fit = lambda s, **more: RemovableLogisticRegression(**more).fit(X, y, sample_weight=s)  # noqa: E731
    ones = np.ones(200)
    with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
        fit(np.where(np.arange(200) == 5, -1.0, ones))
    with pytest.raises(ValueError, match="NaN"):
        fit(np.where(np.arange(200) == 5, np.nan, ones))
    with pytest.raises(ValueError, match="at most max_sample_weight = 1024, got `2000` at row 5"):
        fit(np.where(np.arange(200) == 5, 2000.0, ones))
    with pytest.raises(ValueError, match="at most max_sample_weight = 2, got `3` at row 0"):
        fit(3 * ones, max_sample_weight=2)
    with pytest.raises(ValueError, match=r"sample_weight.shape == \(3,\), expected \(200,\)"):
        fit(np.ones(3))
    with pytest.raises(ValueError, match=r"[Ss]ample.weight.*(zero|0 for all)"):
        fit(0 * ones)


NOISE = "the standard deviation of the noise must be positive and at most 1e100, got "
SCALES = '^scale must be "auto", "unit", "clip:R", "within:R", "none" or "raw", R a positive number, got '


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"l2": 0.1, "C": 1.0}, "at most one may be given, got l2=0.1 and C=1"),
        ({"l2": 0.0}, "l2 must be positive and finite, got `0`"),
        ({"l2": -1.0}, "l2 must be positive and finite, got `-1`"),
        ({"l2": "strong"}, "l2 must be a number, got `'strong'`"),
        ({"C": np.inf}, "C must be finite, got `inf`"),
        ({"C": 1e-310}, "1 / C must be finite, got C=`1e-310`"),
        ({"epsilon": -1.0}, "epsilon must be positive and finite, got `-1`"),
        ({"epsilon": np.nan}, "epsilon must be finite, got `nan`"),
        ({"delta": 2.0}, "delta must be above 0 and below 1, got `2`"),
        ({"delta": 0}, "delta must be above 0 and below 1, got `0`"),
        ({"noise_std": -0.5}, f"{NOISE}`-0.5`; noise_std sets it"),
        ({"noise_std": 1e200}, f"{NOISE}`1e200`; noise_std sets it"),
        ({"max_releases": 2**53}, "at most 2.52, got `9007199254740992`; max_releases sets it"),
        ({"mechanism": "magic"}, "mechanism must be `release` or `objective`, got `magic`"),
        ({"scale": "huge"}, f"{SCALES}`'huge'`"),
        ({"scale": 3}, f"{SCALES}`3`"),
        ({"scale": "clip:-1"}, f"{SCALES}`'clip:-1'`"),
        ({"scale": "within:0"}, f"{SCALES}`'within:0'`"),
        ({"scale": "within:inf"}, f"{SCALES}`'within:inf'`"),
        ({"scale": "unit:1"}, f"{SCALES}`'unit:1'`"),
        ({"scale": "clip:"}, f"{SCALES}`'clip:'`"),
        ({"tol": 0.0}, "^tol must be positive and finite, got `0`"),
        ({"max_sample_weight": 0}, "max_sample_weight must be positive and finite, got `0`"),
        ({"n_jobs": 0}, "n_jobs must be None or an integer other than 0, got `0`"),
        ({"n_jobs": True}, "n_jobs must be None or an integer other than 0, got `True`"),
    ],
)
def test_parameters(rows, parameters, message):
    with pytest.raises(efface.PlanError, match=message):
        RemovableLogisticRegression(**parameters).fit(*rows)
    with pytest.raises(ValueError, match=message):
        RemovableRidgeClassifier(**parameters).fit(*rows)


def test_noise_that_only_the_squared_loss_can_do_without(rows):
    with pytest.raises(efface.PlanError, match=f"{NOISE}`0`; noise_std sets it"):
        RemovableLogisticRegression(noise_std=0).fit(*rows)
    assert RemovableRidge(noise_std=0).fit(*rows).certificate_["epsilon"] == 0.0


def test_how_small_l2_may_be_is_up_to_the_engine(rows):
    for parameters, name in (({"l2": 1e-300}, "l2"), ({"C": 1e300}, "alpha")):
        with pytest.raises(efface.OutOfReachError, match=f"without an {name} of at least"):
            RemovableLogisticRegression(**parameters).fit(*rows)
        assert RemovableRidgeClassifier(**parameters).fit(*rows).score(*rows) > 0.9


def test_noise_needs_a_bound_on_the_rows(rows):
    with pytest.raises(efface.PlanError, match="scale them, or bound their length"):
        RemovableLogisticRegression(scale="within:1e300").fit(*rows)


def test_rows_longer_than_declared(rows):
    with pytest.raises(efface.RowError, match=r"row 0: row norm is 0.861\d+, the limit is 0.5"):
        RemovableLogisticRegression(scale="within:0.5").fit(*rows)
    with pytest.raises(efface.RowError, match=r"row \d+: row norm is \d.\d+, the limit is 1"):
        RemovableLogisticRegression(scale="none").fit(*rows)


def test_sparse_rows_are_refused_with_a_hint(rows):
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(TypeError, match="toarray"):
        RemovableLogisticRegression().fit(sparse.csr_matrix(rows[0]), rows[1])


def test_a_failed_fit_leaves_the_model_as_it_was(rows):
    X, y = rows
    model = RemovableLogisticRegression().fit(X, y)
    before = model.coef_
    with pytest.raises(ValueError, match="Input X contains infinity"):
        model.fit(np.full((10, 3), np.inf), np.arange(10) % 2)
    with pytest.raises(ValueError, match="1 class"):
        model.fit(X[:, :3], np.ones(200))
    assert np.array_equal(model.coef_, before)
    assert model.n_features_in_ == 5
    assert model.remove(ids=3)["n_changed"] == 1


def test_what_could_never_be_released_is_refused_with_settings_that_work(rows):
    with pytest.raises(efface.OutOfReachError, match=r"noise of at least .*; set noise_std, or alpha") as caught:
        RemovableLogisticRegression(noise_std=1e-13).fit(*rows)
    assert isinstance(caught.value, ValueError)
    enough = float(re.search(r"noise of at least ([^ ,]+)", str(caught.value))[1])
    RemovableLogisticRegression(noise_std=enough).fit(*rows)


def test_every_exception_is_an_efface_error():
    names = [name for name in efface.__all__ if name.endswith("Error")]
    assert len(names) == 15
    assert all(issubclass(getattr(efface, name), efface.EffaceError) for name in names)
