"""Rows in every form, and none of them copied where the layout allows it."""

import numpy as np
import pytest

from efface import RemovableLogisticRegression, RemovableRidge, RowsChangedError
from efface._given import _input

# Noise far below what is compared, under a promise that allows it.
QUIET = {"noise_std": 1e-8, "epsilon": 100.0, "scale": "unit"}
NAMES = ["a", "b", "c", "d", "e"]


@pytest.fixture
def expected(rows):
    return RemovableLogisticRegression(**QUIET).fit(*rows)


def close(model, expected, X, limit=2e-7):
    assert np.abs(model.coef_ - expected.coef_).max() < limit
    assert np.abs(model.decision_function(X) - expected.decision_function(np.asarray(X, dtype=float))).max() < limit


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64, np.uint8, bool])
def test_dtypes(rows, dtype):
    X, y = (rows[0] * 10).astype(dtype), rows[1]
    model = RemovableLogisticRegression(**QUIET).fit(X, y)
    expected = RemovableLogisticRegression(**QUIET).fit(X.astype(float), y)
    assert np.abs(model.coef_ - expected.coef_).max() < (1e-4 if dtype == np.float32 else 2e-7)


def test_lists(rows, expected):
    X, y = rows
    close(RemovableLogisticRegression(**QUIET).fit(X.tolist(), y.tolist()), expected, X)


def test_fortran_order_and_strides(rows, expected):
    X, y = rows
    close(RemovableLogisticRegression(**QUIET).fit(np.asfortranarray(X), y), expected, X)
    wide = np.repeat(X, 2, axis=1)
    close(RemovableLogisticRegression(**QUIET).fit(wide[:, ::2], y), expected, X)


def test_memory_mapped(rows, expected, tmp_path):
    X, y = rows
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    model = RemovableLogisticRegression(**QUIET).fit(mapped, y)
    close(model, expected, mapped)
    model.remove(ids=5)
    assert model.status_["n_rows"] == 199


def test_pandas(rows, expected):
    pandas = pytest.importorskip("pandas")
    X, y = rows
    frame = pandas.DataFrame(X, columns=NAMES)
    model = RemovableLogisticRegression(**QUIET).fit(frame, pandas.Series(y), ids=pandas.Series(range(1000, 1200)))
    assert model.feature_names_in_.tolist() == NAMES
    assert np.abs(model.coef_ - expected.coef_).max() < 2e-7
    model.remove(ids=pandas.Index([1003, 1004]))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame.rename(columns={"a": "z"}))


def test_polars(rows, expected):
    polars = pytest.importorskip("polars")
    X, y = rows
    frame = polars.DataFrame(X, schema=NAMES)
    model = RemovableLogisticRegression(**QUIET).fit(
        frame, polars.Series(y), ids=polars.Series([f"p{i}" for i in range(200)])
    )
    assert model.feature_names_in_.tolist() == NAMES
    assert np.abs(model.coef_ - expected.coef_).max() < 2e-7
    assert np.abs(model.decision_function(frame) - expected.decision_function(X)).max() < 2e-7
    model.remove(ids=polars.Series(["p1"]))
    assert model.status_["n_rows"] == 199


@pytest.mark.parametrize("form", ["table", "batch", "chunks", "reader"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_arrow(rows, form, dtype):
    pa = pytest.importorskip("pyarrow")
    X, y = rows[0].astype(dtype), rows[1]
    expected = RemovableLogisticRegression(**QUIET).fit(X, y)
    table = pa.table({name: X[:, j] for j, name in enumerate(NAMES)})
    given = {
        "table": table,
        "batch": table.to_batches()[0],
        "chunks": pa.concat_tables([table.slice(0, 70), table.slice(70)]),
        "reader": table.to_reader(),
    }[form]
    model = RemovableLogisticRegression(**QUIET).fit(given, pa.array(y), ids=pa.array(range(200)))
    assert model.feature_names_in_.tolist() == NAMES
    assert np.abs(model.coef_ - expected.coef_).max() < 2e-7
    assert np.abs(model.decision_function(table) - expected.decision_function(X)).max() < 2e-7
    model.remove(ids=pa.array([3]))
    assert np.isfinite(model.coef_).all()
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(table.rename_columns(["z", "b", "c", "d", "e"]))


def test_arrow_lists_of_fixed_size(rows):
    pa = pytest.importorskip("pyarrow")
    X, y = rows[0].astype(np.float32), rows[1]
    expected = RemovableLogisticRegression(**QUIET).fit(X, y)
    table = pa.table({"embedding": pa.FixedSizeListArray.from_arrays(X.ravel(), 5)})
    model = RemovableLogisticRegression(**QUIET).fit(table, y)
    assert model.n_features_in_ == 5
    assert not hasattr(model, "feature_names_in_")
    assert np.abs(model.coef_ - expected.coef_).max() < 2e-7
    assert np.array_equal(model.predict(table), expected.predict(X))
    with pytest.raises(ValueError, match="X has 4 features"):
        model.predict(pa.table({"embedding": pa.FixedSizeListArray.from_arrays(X[:100, :4].ravel(), 4)}))


def test_names_of_arrow_features_are_compared_as_those_of_frames(rows):
    pa = pytest.importorskip("pyarrow")
    X, y = rows
    named = pa.table({name: X[:, j] for j, name in enumerate(NAMES)})
    lists = pa.table({"embedding": pa.FixedSizeListArray.from_arrays(X.ravel(), 5)})
    with pytest.warns(UserWarning, match="X has feature names, but RemovableLogisticRegression was fitted without"):
        RemovableLogisticRegression().fit(X, y).predict(named)
    with pytest.warns(UserWarning, match="X does not have valid feature names, but RemovableLogisticRegression was"):
        RemovableLogisticRegression().fit(named, y).predict(lists)


def test_columns_are_no_rows_and_tables_no_labels(rows):
    pa, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    X, y = rows
    model = RemovableLogisticRegression().fit(X, y)
    for column in (polars.Series(X[:, 0]), pa.array(X[:, 0]), pa.chunked_array([X[:, 0]])):
        with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
            RemovableLogisticRegression().fit(column, y)
        with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
            model.predict(column)
    for rows_ in (X, pa.table({name: X[:, j] for j, name in enumerate(NAMES)})):
        with pytest.raises(ValueError, match=r"y must be one column, such as .*, got a Table of shape \(200, 1\)"):
            RemovableLogisticRegression().fit(rows_, pa.table({"y": y}))
        with pytest.raises(ValueError, match=r"y must be one column, such as .*, got a RecordBatch"):
            RemovableLogisticRegression().fit(rows_, pa.table({"y": y}).to_batches()[0])


def test_polars_arrays(rows):
    polars = pytest.importorskip("polars")
    X, y = rows
    frame = polars.DataFrame({"embedding": polars.Series(X, dtype=polars.Array(polars.Float64, 5))})
    model = RemovableLogisticRegression(**QUIET).fit(frame, y)
    assert np.abs(model.coef_ - RemovableLogisticRegression(**QUIET).fit(X, y).coef_).max() < 2e-7


def test_arrow_nulls_and_texts_are_refused_where_rows_are_scaled_one_by_one(rows):
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match=r"null|missing|NaN"):
        RemovableLogisticRegression(scale="unit").fit(pa.table({"a": [1.0, None, 3.0]}), [0, 1, 0])
    with pytest.raises((ValueError, TypeError)):
        RemovableLogisticRegression(scale="unit").fit(pa.table({"a": ["x", "y", "z"]}), [0, 1, 0])


def test_labels_of_every_kind(rows):
    X, y = rows
    for labels in (
        y.astype(bool),
        np.where(y, "yes", "no"),
        np.where(y, 7, -3),
        y.astype(float),
        np.where(y, "é", "a").astype(object),
    ):
        model = RemovableLogisticRegression().fit(X, labels)
        assert np.array_equal(model.classes_, np.unique(labels))
        assert np.mean(model.predict(X) == labels) > 0.9
        model.partial_fit(X[:2], labels[:2], ids=["new", "newer"])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_engine_gets_the_users_memory(dtype):
    X = np.random.default_rng(0).normal(size=(50, 3)).astype(dtype)
    y = np.arange(50) % 2
    rows, _ = _input.training_rows(RemovableLogisticRegression(), X, y, numeric=False)
    assert np.shares_memory(rows.data, X)


def test_rows_that_were_modified_are_noticed(rows):
    X, y = rows[0].copy(), rows[1]
    model = RemovableRidge().fit(X, y.astype(float))
    X[7] += 1.0
    with pytest.raises(RowsChangedError):
        model.remove(ids=7)


@pytest.mark.parametrize("scale", ["raw", "within:8", "unit", "clip:2"])
def test_rows_to_predict_for_may_be_longer_than_those_of_the_training(rows, scale):
    """With rows taken as they are, a longer one than the training had was refused by predict, too."""
    X, y = rows
    model = RemovableLogisticRegression(scale=scale).fit(X, y)
    factor = 100.0 if scale in ("raw", "within:8") else 1.0
    longer = model.decision_function(100.0 * X) - model.intercept_
    if scale != "clip:2":
        assert np.allclose(longer, factor * (model.decision_function(X) - model.intercept_))
    assert np.mean(model.predict(100.0 * X) == y) > 0.9


def test_a_copy_may_be_modified(rows):
    X, y = rows[0].copy(), rows[1]
    model = RemovableLogisticRegression(copy_X=True, **QUIET).fit(X, y)
    expected = RemovableLogisticRegression(**QUIET).fit(rows[0][1:], y[1:])
    X[:] = 0.0
    model.remove(ids=0)
    assert np.abs(model.coef_ - expected.coef_).max() < 2e-7
