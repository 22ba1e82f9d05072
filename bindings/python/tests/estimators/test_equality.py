"""The same minimiser as scikit-learn's, with negligible noise, before and after changes of the rows.

The intercept is a feature that is 1 and regularised like the others, so scikit-learn gets that feature and no
intercept.
"""

import gzip

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine, make_regression
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import normalize

from efface import RemovableLogisticRegression, RemovableRidge, RemovableRidgeClassifier

# Noise and training far below what is compared, under a promise that allows it. The squared loss needs no noise.
QUIET = {"noise_std": 1e-8, "epsilon": 100.0, "tol": 1e-10, "scale": "unit"}
LIMIT = 1e-6


def scikit_learn(X, y, l2, sample_weight=None):
    """Weights of one binary problem, the intercept last, of the same objective; of all classes where y has more."""
    X = np.column_stack([normalize(X), np.ones(len(X))])
    total = len(X) if sample_weight is None else np.sum(sample_weight)
    peer = LogisticRegression(
        C=1 / (l2 * total), fit_intercept=False, solver="newton-cholesky", tol=1e-12, max_iter=200
    )
    coef = peer.fit(X, y, sample_weight=sample_weight).coef_
    return coef[0] if len(coef) == 1 else coef


def weights(model):
    return np.column_stack([model.coef_, model.intercept_])


def distance(model, *expected):
    return np.abs(weights(model) - np.vstack(expected)).max()


def mnist_3_vs_8(data):
    def read(name, skip):
        with gzip.open(data / "mnist" / name) as file:
            return np.frombuffer(file.read(), np.uint8, offset=skip)

    y = read("train-labels-idx1-ubyte.gz", 8)
    X = read("train-images-idx3-ubyte.gz", 16).reshape(len(y), -1)
    keep = (y == 3) | (y == 8)
    return X[keep] / 255.0 - 0.5, y[keep].astype(int)


def adult(data):
    """Adult by public constants: numbers divided by a range, texts one column per value."""
    pandas = pytest.importorskip("pandas")
    table = pandas.read_csv(data / "adult" / "train.csv.gz")
    y = table.pop("income").to_numpy()
    ranges = {
        "age": 100,
        "fnlwgt": 1e6,
        "education-num": 16,
        "capital-gain": 1e5,
        "capital-loss": 5e3,
        "hours-per-week": 100,
    }
    numbers = [name for name in table.columns if pandas.api.types.is_numeric_dtype(table[name])]
    scaled = table[numbers] / [ranges.get(name.replace("_", "-"), 100) for name in numbers]
    return np.hstack([scaled, pandas.get_dummies(table.drop(columns=numbers))]).astype(float), y


def test_mnist_and_500_removals(data):
    X, y = mnist_3_vs_8(data)
    assert X.shape == (11_982, 784)
    model = RemovableLogisticRegression(l2=1e-3, **QUIET).fit(X, y)
    assert distance(model, scikit_learn(X, y, 1e-3)) < LIMIT
    gone = np.random.default_rng(0).choice(len(X), 500, replace=False)
    model.remove(ids=gone)
    assert distance(model, scikit_learn(np.delete(X, gone, 0), np.delete(y, gone), 1e-3)) < LIMIT


def test_adult_and_500_removals_with_and_without_weights(data):
    X, y = adult(data)
    assert len(X) == 32_561
    s = np.random.default_rng(1).uniform(0.1, 3.0, len(X))
    gone = np.random.default_rng(2).choice(len(X), 500, replace=False)
    for sample_weight in (None, s):
        model = RemovableLogisticRegression(l2=1e-4, **QUIET).fit(X, y, sample_weight=sample_weight)
        assert distance(model, scikit_learn(X, y, 1e-4, sample_weight)) < LIMIT
        model.remove(ids=gone)
        rest = None if sample_weight is None else np.delete(s, gone)
        assert distance(model, scikit_learn(np.delete(X, gone, 0), np.delete(y, gone), 1e-4, rest)) < LIMIT


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_breast_cancer(cancer, dtype):
    X, y = cancer[0].astype(dtype), cancer[1]
    model = RemovableLogisticRegression(l2=1e-3, **QUIET).fit(X, y)
    # Single precision is the precision of the rows: each is rounded after it was scaled.
    assert distance(model, scikit_learn(X.astype(float), y, 1e-3)) < (LIMIT if dtype == np.float64 else 1e-4)


def test_breast_cancer_with_sample_weights_and_500_removals(cancer):
    X, y = cancer
    s = np.random.default_rng(0).uniform(0.0, 4.0, len(X))
    model = RemovableLogisticRegression(l2=1e-3, **QUIET).fit(X, y, sample_weight=s)
    assert distance(model, scikit_learn(X, y, 1e-3, s)) < LIMIT
    gone = np.arange(500)
    model.remove(ids=gone)
    assert distance(model, scikit_learn(X[500:], y[500:], 1e-3, s[500:])) < LIMIT


def test_a_weight_of_two_is_the_row_twice(cancer):
    X, y = cancer
    s = np.random.default_rng(0).integers(0, 4, len(X))
    weighted = RemovableLogisticRegression(**QUIET).fit(X, y, sample_weight=s)
    repeated = RemovableLogisticRegression(**QUIET).fit(X.repeat(s, axis=0), y.repeat(s))
    assert distance(weighted, weights(repeated)) < 2e-7


@pytest.mark.parametrize("load", [load_iris, load_wine, load_digits])
def test_classes_taken_together_are_the_multinomial_solution(load):
    X, y = load(return_X_y=True)
    s = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    model = RemovableLogisticRegression(l2=1e-3, **QUIET).fit(X, y, s)
    assert distance(model, scikit_learn(X, y, 1e-3, s)) < LIMIT
    gone = np.random.default_rng(1).permutation(len(X))[: min(500, len(X) // 3)]
    model.remove(ids=gone)
    left = np.setdiff1d(np.arange(len(X)), gone)
    assert distance(model, scikit_learn(X[left], y[left], 1e-3, s[left])) < LIMIT
    scores = normalize(X) @ model.coef_.T + model.intercept_
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    assert np.abs(model.predict_proba(X) - odds / odds.sum(axis=1, keepdims=True)).max() < 1e-12
    assert np.abs(np.exp(model.predict_log_proba(X)) - model.predict_proba(X)).max() < 1e-12


def test_three_classes_one_against_the_others_each():
    X, y = load_iris(return_X_y=True)
    s = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    for sample_weight in (None, s):
        model = RemovableLogisticRegression(l2=1e-3, multi_class="one-vs-rest", **QUIET)
        model.fit(X, y, sample_weight=sample_weight)
        expected = [scikit_learn(X, y == label, 1e-3, sample_weight) for label in range(3)]
        assert distance(model, *expected) < LIMIT
    model.remove(ids=range(40))
    expected = [scikit_learn(X[40:], y[40:] == label, 1e-3, s[40:]) for label in range(3)]
    assert distance(model, *expected) < LIMIT


def test_C_is_scikit_learns_C(cancer):
    X, y = normalize(cancer[0]), cancer[1]
    model = RemovableLogisticRegression(C=10.0, fit_intercept=False, **QUIET).fit(X, y)
    peer = LogisticRegression(C=10.0, fit_intercept=False, solver="newton-cholesky", tol=1e-12).fit(X, y)
    assert np.abs(model.coef_ - peer.coef_).max() < LIMIT
    assert np.abs(model.predict_proba(X) - peer.predict_proba(X)).max() < LIMIT
    assert np.array_equal(model.predict(X), peer.predict(X))


def test_corrected_and_added_rows_count_as_if_trained_with(cancer):
    X, y = cancer
    model = RemovableLogisticRegression(l2=1e-3, **QUIET).fit(X[:400], y[:400], ids=[f"p{i}" for i in range(400)])
    model.partial_fit(X[400:], y[400:], ids=[f"p{i}" for i in range(400, len(X))])
    assert distance(model, scikit_learn(X, y, 1e-3)) < LIMIT
    changed, flipped = X.copy(), y.copy()
    changed[:7] *= np.linspace(0.5, 2.0, X.shape[1])
    flipped[:7] = 1 - flipped[:7]
    model.correct([f"p{i}" for i in range(7)], changed[:7], flipped[:7])
    assert distance(model, scikit_learn(changed, flipped, 1e-3)) < LIMIT


@pytest.mark.parametrize("sample_weight", [None, np.linspace(0.0, 3.0, 300)])
def test_ridge(sample_weight):
    X, y = make_regression(n_samples=300, n_features=12, noise=3.0, random_state=0)
    model = RemovableRidge(scale="raw", alpha=2.0, fit_intercept=False).fit(X, y, sample_weight=sample_weight)
    peer = Ridge(alpha=2.0, fit_intercept=False, solver="cholesky").fit(X, y, sample_weight=sample_weight)
    assert np.abs(model.coef_ - peer.coef_).max() < LIMIT
    assert np.abs(model.predict(X) - peer.predict(X)).max() < 1e-5
    model.remove(ids=range(200))
    rest = None if sample_weight is None else sample_weight[200:]
    # The ridge does not change with the rows: both worlds minimise the same objective.
    peer = Ridge(alpha=2.0, fit_intercept=False, solver="cholesky").fit(X[200:], y[200:], rest)
    assert np.abs(model.coef_ - peer.coef_).max() < LIMIT


def test_ridge_with_an_intercept():
    X, y = make_regression(n_samples=300, n_features=12, noise=3.0, bias=5.0, random_state=0)
    model = RemovableRidge(scale="raw", l2=0.01).fit(X, y)
    peer = Ridge(alpha=3.0, fit_intercept=False, solver="cholesky").fit(np.column_stack([X, np.ones(300)]), y)
    assert np.abs(np.append(model.coef_, model.intercept_) - peer.coef_).max() < LIMIT


def test_ridge_classifier():
    X, y = load_iris(return_X_y=True)
    model = RemovableRidgeClassifier(l2=1e-3, scale="raw").fit(X, y)
    peer = Ridge(alpha=1e-3 * len(X), fit_intercept=False, solver="cholesky")
    peer.fit(np.column_stack([X, np.ones(len(X))]), np.where(y[:, None] == np.arange(3), 1.0, -1.0))
    assert distance(model, peer.coef_) < LIMIT
    binary = RemovableRidgeClassifier(l2=1e-3, scale="raw").fit(X, y == 1)
    assert distance(binary, peer.coef_[1:2]) < LIMIT
