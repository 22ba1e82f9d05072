"""Frames as people have them: texts, categories, booleans, dates and gaps, under ``scale="auto"``."""

import json
import pickle
import subprocess

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils import get_tags

import efface
from efface import RemovableLogisticRegression, RemovableRidge, RemovableRidgeClassifier

pd = pytest.importorskip("pandas")

ALL = [RemovableLogisticRegression, RemovableRidge, RemovableRidgeClassifier]
QUIET = {"noise_std": 1e-7, "epsilon": 5.0, "max_releases": 8}


def table(n=400, seed=0):
    """A frame of mixed columns, and what is to be learned from it."""
    rng = np.random.default_rng(seed)
    plans = np.array(["basic", "plus", "family"], dtype=object)
    plan = rng.integers(0, 3, n)
    age = np.round(rng.normal(45, 12, n))
    spent = np.round(rng.lognormal(3, 1, n), 2)
    active = rng.random(n) < 0.5
    since = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1500, n), unit="D")
    score = 0.08 * (age - 45) + np.array([-1.5, 0.0, 2.0])[plan] + active - 0.01 * spent
    frame = pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, age),
            "plan": plans[plan],
            "spent": spent,
            "active": active.astype(int),
            "since": since,
            "city": pd.Series([None if i % 7 == 0 else f"city {i % 4}" for i in range(n)], dtype=object),
        }
    )
    return frame, (score + 0.7 * rng.normal(size=n) > 0).astype(int)


def derived(model):
    """The constants that left with the release, and the names of features."""
    published = json.loads(model.to_json())
    return published["constants"], published["features"]


def test_constants_are_those_of_the_command_line(command, tmp_path):
    frame, y = table()
    frame.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    subprocess.run(
        [command, "train", "t.csv", "--label", "y", "--out", "t.efface"], cwd=tmp_path, check=True, capture_output=True
    )
    subprocess.run([command, "release", "t.efface", "--out", "m.json"], cwd=tmp_path, check=True, capture_output=True)
    published = json.loads((tmp_path / "m.json").read_text())
    model = RemovableLogisticRegression().fit(frame, y)
    assert derived(model) == (published["constants"], published["features"])
    # A file of the model reads raw tables, and so does a directory.
    with efface.open(tmp_path / "t.efface") as opened:
        assert np.mean(opened.predict(frame) == model.predict(frame)) > 0.99
    model.to_json(tmp_path / "own.json")
    done = subprocess.run(
        [command, "evaluate", "own.json", "t.csv", "--label", "y", "--json"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    assert json.loads(done.stdout)["accuracy"] == pytest.approx(model.score(frame, y))


def test_every_frame_with_the_same_cells_is_the_same_table():
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    frame, y = table()
    model = RemovableLogisticRegression(**QUIET).fit(frame, y)
    frames = [
        frame.astype({"plan": "string", "city": "category", "age": "Int64", "active": "boolean"}),
        frame.assign(age=[None if np.isnan(x) else int(x) for x in frame["age"]], spent=frame["spent"].map(str)),
        frame.assign(since=frame["since"].dt.strftime("%Y-%m-%d"), city=frame["city"].fillna("NA")),
        frame.assign(since=frame["since"].dt.date.astype(object), plan=" " + frame["plan"]),
        frame.assign(since=frame["since"].dt.tz_localize("UTC")),
        pl.DataFrame({name: frame[name].replace({np.nan: None}).tolist() for name in frame}).with_columns(
            pl.col("plan").cast(pl.Categorical), pl.col("active").cast(pl.Boolean)
        ),
        pa.Table.from_pandas(frame),
        pa.Table.from_pandas(frame.astype({"city": "category"})),
    ]
    for other in frames:
        assert np.allclose(model.decision_function(other), model.decision_function(frame), atol=1e-12)
        again = RemovableLogisticRegression(**QUIET).fit(other, y)
        assert derived(again) == derived(model)
        assert again.feature_names_in_.tolist() == list(frame)
        again.partial_fit(frame[:9], y[:9], ids=range(1000, 1009))
        again.correct(range(1000, 1009), other[:9], y[:9])
        again.remove(ids=range(1000, 1009))
        assert np.allclose(again.coef_, model.coef_, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("estimator", ALL)
def test_a_category_that_left_was_never_there(estimator, tmp_path):
    frame, y = table()
    rare = frame[:6].assign(plan="confidential", city=None, age=np.nan)
    settings = {} if estimator is not RemovableLogisticRegression else QUIET
    model = estimator(**settings).fit(pd.concat([frame, rare], ignore_index=True), np.r_[y, y[:6]])
    never = estimator(**settings).fit(frame, y)
    assert "plan=confidential" in model.encoded_feature_names_
    model.include_secret_state = True
    assert "plan=confidential" in pickle.loads(pickle.dumps(model)).encoded_feature_names_
    model.include_secret_state = False
    model.remove(ids=range(400, 406))
    model.auto_release = False
    model.save(tmp_path / "m.efface")
    model.auto_release = True
    assert derived(model) == derived(never)
    if estimator is RemovableLogisticRegression:
        assert np.allclose(model.coef_, never.coef_, rtol=1e-4, atol=1e-5)
    else:
        assert np.array_equal(model.coef_, never.coef_)
    assert json.loads(model.to_json())["schema"] == json.loads(never.to_json())["schema"]
    assert b"confidential" not in pickle.dumps(model)
    model.close()
    for path in (tmp_path / "m.efface").rglob("*"):
        assert path.is_dir() or b"confidential" not in path.read_bytes(), path
    with efface.open(tmp_path / "m.efface") as opened:
        assert derived(opened) == derived(never)
        assert np.array_equal(opened.predict(frame), model.predict(frame))


@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.parametrize("n_filled", [0, 10])
def test_a_column_with_nothing_in_it_has_the_weight_0(estimator, n_filled, tmp_path):
    # A release does not name such a column, so that rows had one column more than the model: no prediction was made.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] + 0.1 * X[:, 2] > 0).astype(int)
    X[n_filled:, 1] = np.nan
    model = estimator().fit(X, y)
    if n_filled:
        assert model.encoded_feature_names_.tolist() == ["x0", "x1", "x1=?missing", "x2"]
        model.remove(ids=range(n_filled))
    assert json.loads(model.to_json())["columns"] == ["x0", "x2"]
    assert model.encoded_feature_names_.tolist() == ["x0", "x1", "x2"]
    coef = np.ravel(model.coef_)
    assert coef.shape == (3,)
    assert coef[1] == 0.0
    rest = X[n_filled:]
    scores = rest[:, [0, 2]] @ coef[[0, 2]] + model.intercept_
    found = model.predict(rest) if estimator is RemovableRidge else model.decision_function(rest)
    assert np.allclose(found, scores)
    assert model.transform(rest).shape == (len(rest), 2)
    model.save(tmp_path / "m.efface")
    model.close()
    with efface.open(tmp_path / "m.efface") as opened:
        # A directory signs a release of its own, with fresh noise.
        assert np.mean(opened.predict(rest) == model.predict(rest)) > 0.95
        assert np.allclose(np.ravel(opened.coef_), coef, atol=0.1)
        assert np.ravel(opened.coef_)[1] == 0.0
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(rest), model.predict(rest))


@pytest.mark.parametrize("estimator", ALL)
def test_rows_are_shown_as_the_weights_take_them(estimator):
    frame, y = table()
    model = estimator().fit(frame, y)
    published = json.loads(model.to_json())
    scaled = model.transform(frame)
    assert scaled.shape == (len(frame), len(published["features"]))
    assert np.abs(scaled).max() <= 8.0
    scores = scaled @ published["weights"] + published["intercept"]
    if estimator is RemovableRidge:
        target = published["constants"]["target"]
        assert np.allclose(model.predict(frame), target["location"] + target["scale"] * scores)
    else:
        assert np.allclose(model.decision_function(frame), scores)
    plain = estimator(scale="clip:4").fit(frame[["age", "spent"]].fillna(0.0).to_numpy(), y)
    lengths = np.linalg.norm(plain.transform(np.array([[1.0, 2.0], [300.0, 400.0]])), axis=1)
    assert np.allclose(lengths, [np.sqrt(5.0) / 4.0, 1.0])


def test_a_copy_with_its_secret_state_keeps_the_names_of_categories():
    frame, y = table()
    model = RemovableRidge(include_secret_state=True).fit(frame, y)
    again = pickle.loads(pickle.dumps(model))
    for each in (model, again):
        each.remove(ids=[3, 4])
    assert derived(again) == derived(model)
    assert np.array_equal(again.coef_, model.coef_)


def test_coef_belongs_to_encoded_features(rows):
    frame, y = table()
    model = RemovableRidge().fit(frame.assign(constant=1), y)
    names = model.encoded_feature_names_.tolist()
    assert names == [
        *("age", "age=?missing", "plan=basic", "plan=family", "plan=plus", "spent", "active", "since"),
        *("city=city 0", "city=city 1", "city=city 2", "city=city 3", "city=?missing", "constant"),
    ]
    weight = dict(zip(names, model.coef_, strict=True))
    assert weight["constant"] == 0.0
    one = frame[frame["plan"] == "basic"][:1].assign(constant=1)
    other = one.assign(plan="plus", spent=one["spent"] + 2.0)
    expected = weight["plan=plus"] - weight["plan=basic"] + 2.0 * weight["spent"]
    assert model.predict(other) - model.predict(one) == pytest.approx(expected, abs=1e-9)
    plain = RemovableRidge().fit(*rows)
    assert plain.encoded_feature_names_.tolist() == ["x0", "x1", "x2", "x3", "x4"]


def test_unseen_categories_are_as_good_as_none():
    frame, y = table()
    model = RemovableLogisticRegression().fit(frame, y)
    unseen = frame.assign(plan="gold", city=frame["city"].astype("category"))
    assert np.isfinite(model.predict_proba(unseen)).all()
    assert np.array_equal(model.predict_proba(unseen), model.predict_proba(frame.assign(plan=7)))


@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_nan_in_an_array_is_a_gap(rows, estimator, dtype):
    X, y = rows[0].astype(dtype), rows[1]
    X[::9, 1] = np.nan
    model = estimator().fit(X, y)
    assert model.encoded_feature_names_.tolist() == ["x0", "x1", "x1=?missing", "x2", "x3", "x4"]
    assert np.isfinite(model.predict(X)).all()
    model.remove(ids=np.arange(0, 200, 9))
    never = estimator().fit(np.delete(X, np.arange(0, 200, 9), axis=0), np.delete(y, np.arange(0, 200, 9)))
    assert derived(model) == derived(never)
    model.partial_fit(X[:1], y[:1], ids=[999])
    assert "x1=?missing" in model.encoded_feature_names_


def test_a_nan_of_any_bits_is_a_gap(rows):
    # The missing value of R is a NaN with a payload; it was taken for a text.
    X, y = rows[0].copy(), rows[1]
    X[::9, 1] = np.uint64(0x7FF80000000007A2).view(np.float64)
    model = RemovableRidge().fit(X, y)
    assert "x1=?missing" in model.encoded_feature_names_
    assert np.array_equal(model.predict(X), model.predict(np.where(np.isnan(X), np.nan, X)))


@pytest.mark.parametrize("scale", ["unit", "clip:9", "raw"])
def test_other_scales_take_numbers_only(scale):
    pl = pytest.importorskip("polars")
    frame, y = table()
    model = RemovableRidge(scale=scale)
    for make in (lambda frame: frame, lambda frame: pl.DataFrame(frame.to_dict("list"))):
        with pytest.raises(efface.RowError, match=r'column `plan` holds the text `\w+`: scale="auto" takes texts'):
            model.fit(make(frame[["spent", "plan"]]), y)
        with pytest.raises(efface.RowError, match=r'column `age`.*scale="auto" takes texts and gaps'):
            model.fit(make(frame[["spent", "age"]]), y)
    model.fit(frame[["active"]].astype("Int64").assign(since=0.5), y)
    with pytest.raises(efface.RowError, match=r"column `active` has cells with nothing in them"):
        model.predict(pd.DataFrame({"active": pd.array([None], dtype="Int64"), "since": [0.5]}))


def test_what_is_no_cell_is_refused_by_column():
    pa = pytest.importorskip("pyarrow")
    frame, y = table(20)
    for cells, message in [
        ([[1]] * 20, "column `city` holds cells that are neither texts nor numbers"),
        ([b"x"] * 20, "column `city` holds `b'x'`, a bytes: cells must be texts, numbers, booleans or dates"),
        (pd.to_timedelta(range(20), unit="D"), r"column `city` is of type timedelta64\[\w+\], which is no feature"),
        (["inf", np.inf] * 10, "column `city` holds `inf`: numbers must be finite"),
    ]:
        with pytest.raises(efface.RowError, match=message):
            RemovableLogisticRegression().fit(frame.assign(city=cells), y)
    with pytest.raises(efface.RowError, match="column `a` holds `inf`: numbers must be finite"):
        RemovableLogisticRegression().fit(pa.table({"a": [np.inf] * 20}), y)
    with pytest.raises(efface.RowError, match=r"column `a` is of type List.*, which is no feature"):
        RemovableLogisticRegression().fit(pa.table({"a": [[1.0]] * 20}), y)


def test_a_column_that_tells_rows_apart_is_refused_by_name():
    frame = pd.DataFrame({"x": np.arange(100_001) % 7, "letter": [f"letter {i}" for i in range(100_001)]})
    with pytest.raises(efface.EffaceError, match="column `letter` has more than 100000 different texts"):
        RemovableRidge().fit(frame, np.arange(100_001) % 3)


def test_as_accurate_as_a_pipeline_of_scikit_learn():
    compose, linear = pytest.importorskip("sklearn.compose"), pytest.importorskip("sklearn.linear_model")
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    (train, y), (test, y_test) = table(4000), table(4000, seed=1)
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    before = compose.ColumnTransformer(
        [
            ("numbers", numbers, ["age", "spent", "active"]),
            ("texts", OneHotEncoder(handle_unknown="ignore"), ["plan", "city"]),
        ]
    )
    pipeline = make_pipeline(before, linear.LogisticRegression())
    expected = pipeline.fit(train, y).score(test, y_test)
    assert RemovableLogisticRegression().fit(train, y).score(test, y_test) > expected - 0.005


def test_exports_of_texts_are_the_same_model(tmp_path):
    pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    safetensors = pytest.importorskip("safetensors")
    frame, y = table()
    model = RemovableLogisticRegression().fit(frame, y)
    model.to_onnx(tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    days = frame.assign(since=(frame["since"] - pd.Timestamp(0)) / pd.Timedelta(days=1))
    columns = {
        given.name: days[given.name].fillna("").to_numpy(dtype=object)
        if given.type == "tensor(string)"
        else days[given.name].to_numpy(dtype=np.float32)
        for given in session.get_inputs()
    }
    assert list(columns) == list(frame.columns)
    labels, probabilities = session.run(None, {name: column.reshape(-1, 1) for name, column in columns.items()})
    assert np.abs(probabilities - model.predict_proba(frame)).max() < 1e-5
    assert np.array_equal(labels, model.predict(frame).astype(labels.dtype))
    model.to_safetensors(tmp_path / "m.safetensors")
    with safetensors.safe_open(tmp_path / "m.safetensors", "numpy") as file:
        assert file.get_tensor("weights").shape == (1, len(json.loads(file.metadata()["features"])))


def test_plans_and_tags(rows):
    frame, y = table()
    model = RemovableLogisticRegression()
    assert model.plan(frame, y)["rows"]
    tags, other = get_tags(model).input_tags, get_tags(clone(model).set_params(scale="unit")).input_tags
    assert (tags.allow_nan, tags.categorical, tags.string) == (True, True, False)
    assert (other.allow_nan, other.categorical, other.string) == (False, False, False)
