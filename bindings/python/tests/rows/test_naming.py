"""Whom a removal hits: what rows are called, and what is refused because it could mean another one."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer

import efface
from efface import RemovableLogisticRegression, RemovableRidge, RemovableRidgeClassifier

pandas = pytest.importorskip("pandas")

# Noise far below what is compared, under a promise that allows it.
QUIET = {"noise_std": 1e-8, "epsilon": 100.0, "scale": "unit"}
ALL = [RemovableLogisticRegression, RemovableRidge, RemovableRidgeClassifier]
NO_IDS = r"the rows of this model have no ids: .* fit again with ids=, or with X.reset_index\(drop=True\)"


@pytest.fixture
def frame(rows):
    return pandas.DataFrame(rows[0], columns=list("abcde"))


@pytest.fixture
def labels(rows):
    return pandas.Series(rows[1])


@pytest.fixture
def split(frame, labels):
    """150 rows in random order, each with the label it had among all 200."""
    X, _, y, _ = train_test_split(frame, labels, train_size=150, random_state=3)
    return X, y


def has_left(model, X, y, label):
    """Whether the model is the one without the row of this label."""
    alone = clone(model).fit(X.drop(index=label), y.drop(index=label))
    return np.abs(model.coef_ - alone.coef_).max() < 2e-7


@pytest.mark.parametrize("estimator", ALL)
def test_after_a_split_a_label_names_the_row_that_has_it(split, estimator):
    """The index was ignored: `remove(ids=[label])` took the row at that position, and said nothing."""
    X, y = split
    for label in (X.index[0], X.index[17], X.index[149]):
        model = estimator(**QUIET).fit(X, y)
        model.remove(ids=[label])
        assert has_left(model, X, y, label)
    missing = next(label for label in range(150) if label not in X.index)
    with pytest.raises(efface.UnknownIdError, match=str(missing)):
        estimator(**QUIET).fit(X, y).remove(ids=[missing])


@pytest.mark.parametrize("part", [slice(50, None), slice(None, None, 2), slice(None, None, -1)])
def test_the_index_of_a_slice_names_its_rows(frame, labels, part):
    X, y = frame[part], labels[part]
    model = RemovableLogisticRegression(**QUIET).fit(X, y)
    model.remove(ids=100)
    assert has_left(model, X, y, 100)


def test_text_and_mixed_labels_name_rows(frame, labels):
    for names in ([f"p{i}" for i in range(200)], ["first", *range(1, 200)]):
        X, y = frame.set_axis(names, axis=0), labels.set_axis(names)
        model = RemovableLogisticRegression(**QUIET).fit(X, y)
        model.remove(ids=names[:1])
        assert has_left(model, X, y, names[0])


def test_an_index_that_pandas_made_up_is_the_positions(frame, labels, rows):
    model = RemovableLogisticRegression(**QUIET).fit(frame, labels)
    model.remove(ids=[7])
    assert has_left(model, frame, labels, 7)
    model.partial_fit(frame[:2], labels[:2])
    assert model.remove(ids=[200, 201])["n_changed"] == 2


UNUSABLE = {
    "repeated": [0, 0, *range(2, 200)],
    "dates": pandas.date_range("2026-01-01", periods=200),
    "fractions": np.arange(200) + 0.5,
    "pairs": pandas.MultiIndex.from_product([range(20), range(10)]),
    "a number and its text": [5, "5", *range(6, 204)],
    "missing": [None, *(f"p{i}" for i in range(199))],
}


@pytest.mark.parametrize("index", UNUSABLE.values(), ids=UNUSABLE)
@pytest.mark.parametrize("estimator", ALL)
def test_an_index_that_does_not_tell_rows_apart_names_none(frame, labels, tmp_path, index, estimator):
    X, y = frame.set_axis(index, axis=0), labels.set_axis(index)
    model = estimator(include_secret_state=True).fit(X, y, subjects=np.arange(200) // 10)
    assert model.predict(X).shape == (200,)
    for again in (model, pickle.loads(pickle.dumps(model))):
        for use in (
            lambda again=again: again.remove(ids=5),
            lambda again=again: again.remove(ids=[5], skip_missing=True),
            lambda again=again: again.correct([5], X[:1], y[:1]),
            lambda again=again: again.influence([5]),
            lambda again=again: again.partial_fit(X[:1], y[:1], ids=["new"], subjects=[3]),
        ):
            with pytest.raises(efface.RowError, match=NO_IDS):
                use()
        assert again.influence().shape == (200,)
    model.partial_fit(X[:2], y[:2], subjects=["newcomer", "newcomer"])
    assert model.remove(subjects="newcomer")["n_changed"] == 2
    model.save(tmp_path / "m")
    model.close()
    with efface.open(tmp_path / "m") as opened:
        for use in (
            lambda: opened.remove(ids=5),
            lambda: opened.remove(ids=[5], skip_missing=True),
            lambda: opened.correct([5], X[:1], y[:1]),
            lambda: opened.influence([5]),
            lambda: opened.partial_fit(X[:1], y[:1], ids=["new"], subjects=[3]),
        ):
            with pytest.raises(efface.RowError, match=NO_IDS):
                use()
        assert opened.remove(subjects=3)["n_changed"] == 10


def test_ids_that_are_given_take_the_place_of_the_index(frame, labels):
    X = frame.set_axis([0] * 200, axis=0)
    model = RemovableLogisticRegression(**QUIET).fit(X, labels.to_numpy(), ids=range(1000, 1200))
    model.remove(ids=1007)
    assert has_left(model, frame, labels, 7)


def test_x_and_y_with_different_labels_are_refused(split):
    X, y = split
    with pytest.raises(efface.RowError, match=r"X and y have different indexes.*y.loc\[X.index\]"):
        RemovableLogisticRegression().fit(X, y.sort_index())
    model = RemovableLogisticRegression(**QUIET).fit(X, y.reset_index(drop=True))
    model.remove(ids=X.index[3])
    assert has_left(model, X, y, X.index[3])
    RemovableLogisticRegression().fit(X, y.sort_index(), ids=X.index)


@pytest.mark.parametrize("lost", [lambda X: X.to_numpy(), lambda X: X.reset_index(drop=True)])
def test_labels_that_only_y_has_kept_are_no_positions(split, lost):
    X, y = split
    model = RemovableLogisticRegression(**QUIET).fit(lost(X), y)
    with pytest.raises(efface.RowError, match=NO_IDS):
        model.remove(ids=X.index[3])
    model = RemovableLogisticRegression(**QUIET).fit(lost(X), y, ids=y.index)
    model.remove(ids=X.index[3])
    assert has_left(model, X, y, X.index[3])


def test_pipelines_that_keep_the_index_and_those_that_drop_it(split):
    X, y = split
    label = X.index[3]
    keeping = make_pipeline(FunctionTransformer(), RemovableLogisticRegression(**QUIET)).fit(X, y)
    keeping[-1].remove(ids=label)
    assert has_left(keeping[-1], X, y, label)
    dropping = make_pipeline(Normalizer(), RemovableLogisticRegression(**QUIET))
    with pytest.raises(efface.RowError, match=NO_IDS):
        dropping.fit(X, y)[-1].remove(ids=label)
    dropping.fit(X, y, removablelogisticregression__ids=X.index)[-1].remove(ids=label)
    assert has_left(dropping[-1], X, y, label)
    dropping.fit(X, y.to_numpy())[-1].remove(ids=3)
    assert has_left(dropping[-1], X, y, label)


@pytest.mark.filterwarnings("ignore::efface.GuaranteeWarning")
def test_the_best_model_of_a_search_knows_the_labels(split):
    X, y = split
    grid = GridSearchCV(RemovableLogisticRegression(**QUIET), {"l2": [1e-3, 1e3]}, cv=3).fit(X, y)
    grid.best_estimator_.remove(ids=X.index[3])
    assert has_left(grid.best_estimator_, X, y, X.index[3])


def test_labels_name_rows_in_copies_and_directories(split, tmp_path):
    X, y = split
    model = RemovableLogisticRegression(include_secret_state=True, **QUIET).fit(X, y)
    twin = pickle.loads(pickle.dumps(model))
    twin.remove(ids=X.index[3])
    assert has_left(twin, X, y, X.index[3])
    model.save(tmp_path / "m")
    model.close()
    with efface.open(tmp_path / "m") as again:
        again.remove(ids=X.index[4])
        assert has_left(again, X, y, X.index[4])


@pytest.mark.parametrize("where", ["memory", "directory"])
def test_rows_that_join_are_called_as_those_before(frame, labels, tmp_path, where):
    """Frames with labels, with numbers, with ids: what joins under another kind of name is refused."""

    def kept(model):
        if where == "memory":
            return model
        path = tmp_path / str(len(list(tmp_path.iterdir())))
        model.save(path)
        model.close()
        return efface.open(path)

    later, late = frame[120:], labels[120:]
    by_index = kept(RemovableLogisticRegression(**QUIET).fit(frame[50:120], labels[50:120]))
    by_index.partial_fit(later, late).remove(ids=150)
    assert has_left(by_index, frame[50:], labels[50:], 150)
    with pytest.raises(efface.RowError, match="have ids of their own: give one for each new row"):
        by_index.partial_fit(frame[:50], labels[:50])
    with pytest.raises(efface.RowError, match="index of the new rows does not tell them apart"):
        by_index.partial_fit(frame[:2].set_axis([7, 7], axis=0), [0, 1])
    chunks = kept(RemovableLogisticRegression(**QUIET).fit(frame[:120], labels[:120]))
    chunks.partial_fit(later, late).remove(ids=150)
    assert has_left(chunks, frame, labels, 150)
    by_number = kept(RemovableLogisticRegression(**QUIET).fit(frame[:100].to_numpy(), labels[:100].to_numpy()))
    by_id = kept(RemovableLogisticRegression(**QUIET).fit(frame[:100], labels[:100], ids=range(1000, 1100)))
    for model, more in ((by_number, later.to_numpy()), (by_id, later)):
        with pytest.raises(efface.RowError, match=r"X has an index, but the rows of this model are not called by one"):
            model.partial_fit(later, late)
        model.partial_fit(more, late, ids=range(2000, 2080))
        assert model.remove(ids=2005)["n_changed"] == 1


UNORDERED = {
    "set": set,
    "frozenset": frozenset,
    "dict": lambda ids: dict.fromkeys(ids, 1),
    "keys": lambda ids: dict.fromkeys(ids, 1).keys(),
    "values": lambda ids: {str(i): i for i in ids}.values(),
    "generator": lambda ids: (i for i in ids),
    "iterator": iter,
    "map": lambda ids: map(int, ids),
}


@pytest.mark.parametrize("kind", UNORDERED)
@pytest.mark.parametrize("what", ["ids", "subjects"])
def test_what_has_no_order_cannot_go_with_rows(rows, kind, what):
    """A set of ids was paired with the rows in the order of its hashes."""
    X, y = rows
    message = f"{what} must be in the order of the rows .*, got a "
    with pytest.raises(efface.RowError, match=message):
        RemovableLogisticRegression().fit(X, y, **{what: UNORDERED[kind](range(200))})
    model = RemovableLogisticRegression().fit(X, y, subjects=range(200))
    with pytest.raises(efface.RowError, match=message):
        model.partial_fit(X[:2], y[:2], **({"subjects": [1, 2]} | {what: UNORDERED[kind]([300, 301])}))
    with pytest.raises(efface.RowError, match=message):
        model.correct(**({"ids": [1, 2]} | {what: UNORDERED[kind]([1, 2])}), X=X[:2], y=y[:2])
    if what == "ids":
        with pytest.raises(efface.RowError, match=message):
            model.influence(UNORDERED[kind]([1, 2]))


@pytest.mark.parametrize("what", ["ids", "subjects"])
def test_removals_take_sets(rows, what):
    model = RemovableLogisticRegression().fit(*rows, subjects=range(200))
    for some in ({1, 2}, frozenset({3, 4}), {5: "x", 6: "y"}.keys(), (i for i in (7, 8))):
        assert model.remove(**{what: some})["n_changed"] == 2


@pytest.mark.parametrize("what", ["ids", "subjects"])
def test_a_series_with_another_index_than_x_is_refused(split, what):
    X, y = split
    names = pandas.Series(range(1000, 1150), index=X.index)
    message = rf"{what} has another index than X: pass {what}.loc\[X.index\] to pair them by label"
    with pytest.raises(efface.RowError, match=message):
        RemovableLogisticRegression().fit(X, y, **{what: names.sort_index()})
    with pytest.raises(efface.RowError, match=message):
        RemovableLogisticRegression().fit(X.reset_index(drop=True), y.to_numpy(), **{what: names})
    for given in (names, names.reset_index(drop=True), names.sort_index().loc[X.index], names.to_numpy()):
        model = RemovableLogisticRegression(**QUIET).fit(X, y, **{what: given})
        model.remove(**{what: 1003})
        assert has_left(model, X, y, X.index[3])


def test_the_third_argument_is_the_weight_as_in_scikit_learn(rows):
    """It was the ids: weights by position became names, and every row counted once."""
    X, y = rows
    weights = np.linspace(0.5, 2.0, 200)
    for estimator in ALL:
        by_name = estimator(**QUIET).fit(X, y, sample_weight=weights)
        assert np.abs(estimator(**QUIET).fit(X, y, weights).coef_ - by_name.coef_).max() < 2e-7
        with pytest.raises(TypeError, match="positional"):
            estimator().fit(X, y, weights, range(200))
        with pytest.raises(TypeError, match="positional"):
            estimator().fit(X, y).remove([3])
        with pytest.raises(TypeError, match="positional"):
            estimator().fit(X, y).correct([3], X[3:4], y[3:4], ["s"])
    classifier, ridge = RemovableLogisticRegression(**QUIET), RemovableRidge(**QUIET)
    by_name = clone(classifier).fit(X, y, sample_weight=weights)
    assert np.abs(classifier.partial_fit(X, y, [0, 1], weights).coef_ - by_name.coef_).max() < 2e-7
    by_name = clone(ridge).fit(X, y, sample_weight=weights)
    assert np.abs(ridge.partial_fit(X, y, weights).coef_ - by_name.coef_).max() < 2e-7


def tables(frame):
    """A frame, or columns by name, in every form that has named columns."""
    polars, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    columns = {name: list(frame[name]) for name in frame}
    table = pa.table(columns)
    return {
        "pandas": pandas.DataFrame(columns),
        "polars": polars.DataFrame(columns),
        "lazy": polars.DataFrame(columns).lazy(),
        "table": table,
        "batch": table.to_batches()[0],
        "reader": table.to_reader(),
    }


FORMS = ["pandas", "polars", "lazy", "table", "batch", "reader"]


@pytest.fixture
def orders(frame):
    """Rows with whose they are in two more columns, one of them in the middle."""
    orders = frame.copy()
    orders.insert(2, "customer_id", range(1000, 1200))
    return orders.assign(person=[f"p{i // 10}" for i in range(200)])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("estimator", ALL)
def test_columns_name_rows_and_subjects_and_are_no_features(orders, frame, labels, tmp_path, form, estimator):
    y = labels.to_numpy()
    model = estimator(include_secret_state=True, **QUIET)
    model.fit(tables(orders)[form], y, ids="customer_id", subjects="person")
    assert model.feature_names_in_.tolist() == list("abcde")
    assert np.array_equal(model.predict(tables(orders)[form]), model.predict(tables(frame)[form]))
    twin = pickle.loads(pickle.dumps(model))
    assert twin.remove(subjects="p3")["n_changed"] == 10
    model.remove(ids=1007)
    assert has_left(model, frame, labels, 7)
    more = orders[:3].assign(customer_id=[2000, 2001, 2002], person="p77")
    model.partial_fit(tables(more)[form], y[:3])
    model.correct("customer_id", tables(more[:1])[form], y[:1])
    assert model.remove(ids=2000)["n_changed"] == 1
    model.save(tmp_path / "m")
    model.close()
    assert np.array_equal(model.predict(tables(orders)[form]), model.predict(tables(frame)[form]))
    with efface.open(tmp_path / "m") as again:
        assert again.feature_names_in_.tolist() == list("abcde")
        assert np.array_equal(again.predict(tables(orders)[form]), again.predict(tables(frame)[form]))
        again.partial_fit(tables(more.assign(customer_id=[3000, 3001, 3002]))[form], y[:3])
        assert again.remove(subjects="p77")["n_changed"] == 5


@pytest.mark.filterwarnings("ignore::efface.GuaranteeWarning")
def test_columns_name_rows_in_a_search(orders, frame, labels):
    grid = GridSearchCV(RemovableLogisticRegression(**QUIET), {"l2": [1e-3, 1e3]}, cv=3)
    grid.fit(orders, labels, ids="customer_id", subjects="person")
    grid.best_estimator_.remove(ids=1007)
    assert has_left(grid.best_estimator_, frame, labels, 7)
    assert grid.score(orders, labels) > 0.9


def test_columns_are_left_out_of_plans(orders, labels):
    model = RemovableLogisticRegression().fit(orders, labels, ids="customer_id", subjects="person")
    assert model.plan(orders, labels)["basis"] == "rows"


def test_lists_of_fixed_size_beside_a_column_of_ids(rows):
    pa = pytest.importorskip("pyarrow")
    X, y = rows
    embedding = pa.FixedSizeListArray.from_arrays(X.ravel(), 5)
    table = pa.table({"customer_id": [f"c{i}" for i in range(200)], "embedding": embedding})
    model = RemovableLogisticRegression().fit(table, y, ids="customer_id")
    assert model.n_features_in_ == 5
    assert model.remove(ids="c7")["n_changed"] == 1
    assert np.array_equal(model.predict(table), model.predict(X))


@pytest.mark.parametrize("form", FORMS)
def test_columns_that_cannot_name_rows(orders, labels, form):
    y = labels.to_numpy()

    def fit(changed, **names):
        return RemovableLogisticRegression().fit(tables(changed)[form], y, **names)

    with pytest.raises(
        efface.RowError, match="X has no column `customer`; its columns are a, b, customer_id, c, d, e, p"
    ):
        fit(orders, ids="customer")
    with pytest.raises(efface.RepeatedIdError):
        fit(orders.assign(customer_id=[1, *range(199)]), ids="customer_id", subjects="person")
    with pytest.raises(
        efface.RowError, match=r"ids \(column `person`\) must be .*, got `(None|nan)` at position 3, a missing value"
    ):
        fit(
            {**orders, "person": [None if i == 3 else f"p{i}" for i in range(200)]},
            ids="person",
            subjects="customer_id",
        )
    with pytest.raises(efface.RowError, match=r"ids \(column `a`\) must be integers or text, got `0.1"):
        fit(orders.drop(columns="customer_id"), ids="a", subjects="person")
    with pytest.raises(efface.RowError, match="ids and subjects must be different columns, got `person` for both"):
        fit(orders, ids="person", subjects="person")


def test_a_missing_id_is_found_though_pandas_makes_floats_of_the_others(orders, labels):
    orders["customer_id"] = [None if i == 3 else i for i in range(200)]
    with pytest.raises(efface.RowError, match="got `nan` at position 3, a missing value"):
        RemovableLogisticRegression().fit(orders, labels, ids="customer_id", subjects="person")


def test_rows_without_names_have_no_column_of_ids(rows):
    X, y = rows
    message = "ids is `customer_id`, the name of a column, but X is a ndarray without named columns: pass ids as a list"
    with pytest.raises(efface.RowError, match=message):
        RemovableLogisticRegression().fit(X, y, ids="customer_id")
    with pytest.raises(efface.RowError, match=message):
        RemovableLogisticRegression().fit(X, y).correct("customer_id", X[:1], y[:1])


def test_a_new_fit_forgets_the_columns_of_the_one_before(orders, frame, labels):
    model = RemovableLogisticRegression().fit(orders, labels, ids="customer_id", subjects="person").fit(frame, labels)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(orders)
    assert model.remove(ids=7)["n_changed"] == 1
