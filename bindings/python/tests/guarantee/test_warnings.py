"""Warnings for what weakens the guarantee, and none where nothing does."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.ensemble import StackingClassifier, StackingRegressor
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.feature_selection import RFE, RFECV
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
    learning_curve,
    permutation_test_score,
)
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
)

from efface import (
    GuaranteeWarning,
    RemovableLogisticRegression,
    RemovableRidge,
    RemovableRidgeClassifier,
    ScaleWarning,
    UncertifiedWarning,
)


class NamedLikeAnother(StandardScaler):
    """A scaler that a user gave the name of a row-local transformer."""


NamedLikeAnother.__name__ = "Normalizer"


class Doubler:
    """A transformer that is no estimator of scikit-learn, and tells nothing about itself."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return 2.0 * X


FITTED = [
    ("StandardScaler", StandardScaler()),
    ("PCA", PCA(n_components=3)),
    ("MinMaxScaler", make_pipeline(Normalizer(), MinMaxScaler())),
    ("StandardScaler", FeatureUnion([("plain", Normalizer()), ("scaled", StandardScaler())])),
    ("StandardScaler", ColumnTransformer([("some", StandardScaler(), [0, 1])], remainder="passthrough")),
    ("OneHotEncoder", ColumnTransformer([("codes", OneHotEncoder(sparse_output=False), [0])])),
    ("SimpleImputer", SimpleImputer()),
    ("Normalizer", NamedLikeAnother()),
    ("Doubler", Doubler()),
]

ROW_LOCAL = [
    Normalizer(),
    Binarizer(),
    FunctionTransformer(np.tanh),
    PolynomialFeatures(2),
    SimpleImputer(strategy="constant", fill_value=0.0),
    FeatureUnion([("plain", "passthrough"), ("lengths", Normalizer())]),
    ColumnTransformer([("some", Normalizer(), [0, 1])], remainder="drop"),
    "passthrough",
]


@pytest.mark.parametrize(("name", "transformer"), FITTED)
def test_a_transformer_fitted_on_the_rows_is_told(rows, name, transformer):
    pipeline = make_pipeline(transformer, RemovableLogisticRegression())
    with pytest.warns(GuaranteeWarning, match=f"{name} .* remembers those that are removed") as caught:
        pipeline.fit(*rows)
    assert caught[0].filename == __file__
    assert f"fitted-preprocessing:{name}" in pipeline[-1].certificate_["outside_scope"]
    assert f"fitted-preprocessing:{name}" in pipeline[-1].status_["outside_scope"]


@pytest.mark.parametrize("transformer", ROW_LOCAL, ids=repr)
def test_a_row_local_transformer_is_not(rows, transformer):
    pipeline = make_pipeline(transformer, RemovableLogisticRegression()).fit(*rows)
    assert pipeline[-1].status_["outside_scope"] == []


def test_declared_categories_are_public(rows):
    X = np.digitize(rows[0][:, :2], [0.0])
    declared = OneHotEncoder(categories=[[0, 1], [0, 1]], sparse_output=False)
    make_pipeline(declared, RemovableLogisticRegression()).fit(X, rows[1])
    with pytest.warns(GuaranteeWarning, match="OneHotEncoder"):
        make_pipeline(OneHotEncoder(sparse_output=False), RemovableLogisticRegression()).fit(X, rows[1])


def test_texts():
    texts, y = ["good film", "bad film", "good plot", "bad plot"] * 5, [1, 0, 1, 0] * 5
    dense = FunctionTransformer(lambda rows: rows.toarray(), accept_sparse=True)
    make_pipeline(HashingVectorizer(n_features=16), dense, RemovableLogisticRegression()).fit(texts, y)
    with pytest.warns(GuaranteeWarning, match="TfidfVectorizer"):
        make_pipeline(TfidfVectorizer(), dense, RemovableLogisticRegression()).fit(texts, y)


@pytest.mark.parametrize("search", [GridSearchCV, RandomizedSearchCV])
def test_a_search_on_the_same_rows_warns_once(rows, search):
    more = {"n_iter": 2} if search is RandomizedSearchCV else {}
    with pytest.warns(GuaranteeWarning, match="chose hyper-parameters") as caught:
        found = search(RemovableLogisticRegression(), {"l2": [1e-3, 1e-2]}, cv=3, **more).fit(*rows)
    assert len([w for w in caught if w.category is GuaranteeWarning]) == 1
    assert f"hyper-parameters:{search.__name__}" in found.best_estimator_.certificate_["outside_scope"]


def test_a_search_over_a_pipeline_tells_both(rows):
    pipeline = make_pipeline(StandardScaler(), RemovableRidge())
    with pytest.warns(GuaranteeWarning):
        found = GridSearchCV(pipeline, {"removableridge__alpha": [0.1, 1.0]}, cv=2, error_score="raise").fit(*rows)
    best = found.best_estimator_[-1]
    assert best.status_["outside_scope"] == ["fitted-preprocessing:StandardScaler", "hyper-parameters:GridSearchCV"]
    assert set(best.status_["outside_scope"]) <= set(best.certificate_["outside_scope"])


def test_a_search_without_refit_and_cross_validation_keep_quiet(rows):
    pipeline = make_pipeline(StandardScaler(), RemovableLogisticRegression())
    GridSearchCV(RemovableLogisticRegression(), {"l2": [1e-3, 1e-2]}, cv=2, refit=False).fit(*rows)
    cross_val_score(pipeline, *rows, cv=2)
    cross_val_predict(pipeline, *rows, cv=2)
    permutation_test_score(pipeline, *rows, cv=2, n_permutations=2)
    learning_curve(pipeline, *rows, cv=2, train_sizes=[0.5, 1.0])


MODEL = RemovableLogisticRegression()
AROUND = [
    (
        "calibration:CalibratedClassifierCV",
        CalibratedClassifierCV(MODEL, cv=2),
        lambda f: f.calibrated_classifiers_[0].estimator,
    ),
    (
        "calibration:CalibratedClassifierCV",
        CalibratedClassifierCV(MODEL, cv=2, ensemble=False),
        lambda f: f.calibrated_classifiers_[0].estimator,
    ),
    ("threshold:TunedThresholdClassifierCV", TunedThresholdClassifierCV(MODEL, cv=2), lambda f: f.estimator_),
    ("feature-selection:RFE", RFE(MODEL, n_features_to_select=3), lambda f: f.estimator_),
    ("feature-selection:RFECV", RFECV(MODEL, cv=2), lambda f: f.estimator_),
    ("stacking:StackingClassifier", StackingClassifier([("a", MODEL)], cv=2), lambda f: f.estimators_[0]),
    (
        "stacking:StackingClassifier",
        StackingClassifier([("a", LogisticRegression())], final_estimator=MODEL, cv=2),
        lambda f: f.final_estimator_,
    ),
    ("stacking:StackingRegressor", StackingRegressor([("a", RemovableRidge())], cv=2), lambda f: f.estimators_[0]),
]


@pytest.mark.parametrize(("tag", "around", "inner"), AROUND)
def test_what_is_fitted_around_the_model_is_told(rows, tag, around, inner):
    with pytest.warns(GuaranteeWarning, match="the same rows") as caught:
        fitted = around.fit(*rows)
    assert any(tag.partition(":")[2] in str(warning.message) for warning in caught)
    assert tag in inner(fitted).certificate_["outside_scope"]


def test_a_threshold_that_is_given_is_not_fitted(rows):
    model = FixedThresholdClassifier(MODEL, threshold=0.3).fit(*rows)
    assert model.estimator_.status_["outside_scope"] == []


def test_a_transformed_target_is_told(rows):
    X, y = rows
    with pytest.warns(GuaranteeWarning, match="StandardScaler"):
        TransformedTargetRegressor(RemovableRidge(), transformer=StandardScaler()).fit(X, y)
    TransformedTargetRegressor(RemovableRidge(), func=np.log1p, inverse_func=np.expm1).fit(X, y)


def test_a_pipeline_elsewhere_is_not_blamed(rows):
    make_pipeline(StandardScaler(), LinearRegression()).fit(*rows)
    assert RemovableLogisticRegression().fit(*rows).status_["outside_scope"] == []


def test_a_seed_makes_a_model_uncertified_and_repeatable(rows):
    def fit():
        with pytest.warns(UncertifiedWarning, match="not certified") as caught:
            model = RemovableLogisticRegression(random_state=7).fit(*rows)
        assert caught[0].filename == __file__
        return model

    one, two = fit(), fit()
    assert np.array_equal(one.coef_, two.coef_)
    assert one.certificate_["certified"] is False
    assert one.status_["certified"] is False
    first = one.coef_
    one.release()
    assert not np.array_equal(one.coef_, first), "each release has noise of its own"
    two.release()
    assert np.array_equal(one.coef_, two.coef_)


@pytest.mark.parametrize("estimator", [RemovableRidge, RemovableRidgeClassifier])
@pytest.mark.parametrize("noise_std", [None, 0.0])
def test_a_seed_without_noise_draws_nothing(rows, estimator, noise_std):
    model = estimator(random_state=7, noise_std=noise_std).fit(*rows)
    assert model.certificate_["certified"] is True
    with pytest.warns(UncertifiedWarning, match="not certified"):
        noisy = estimator(random_state=7, noise_std=0.1).fit(*rows)
    assert noisy.certificate_["certified"] is False


def test_without_a_seed_nobody_is_warned(rows):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RemovableLogisticRegression().fit(*rows)
        model.remove(ids=1)
        model.predict(rows[0])
    assert model.certificate_["certified"] is True


def test_a_column_that_drowns_the_others_is_named(rows):
    X, y = rows
    frame = pd.DataFrame(X, columns=["age", "income", "visits", "score", "days"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RemovableLogisticRegression().fit(frame, y)
        RemovableLogisticRegression(scale="raw").fit(frame * [1, 100, 1, 1, 1], y)
    large = frame * [1, 1000, 1, 1, 1]
    arrow = pytest.importorskip("pyarrow").table(dict(large))
    for X, scale in [(large, "unit"), (large, "clip:3"), (arrow, "unit")]:
        with pytest.warns(ScaleWarning, match=r"column `income` accounts for 100.0 % of the squared row norm"):
            RemovableLogisticRegression(scale=scale).fit(X, y)
