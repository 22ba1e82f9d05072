"""Nothing that leaves a model tells whether rows were removed from it or were never there.

Both worlds are made over many settings, and everything public is compared: pickles, copies, attributes, exports, texts.
What may differ is listed here, field by field.
"""

import copy
import json
import pickle

import numpy as np
import pytest
from sklearn import config_context

from efface import RemovableLogisticRegression, RemovableRidge, RemovableRidgeClassifier

N_SETTINGS = 80
ESTIMATORS = [RemovableLogisticRegression, RemovableRidge, RemovableRidgeClassifier]

# Names, keys and times.
NAMES = {"model", "issued", "key_id", "log"}
# How many rows left and when, which a certificate is there to say.
COUNTS = {"n_removed", "requests", "since_previous"}
# Covered by the guarantee itself.
WEIGHTS = {"weights", "intercept", "coefficients", "intercepts", "coef_", "intercept_", "model_sha256"}
MAY_DIFFER = NAMES | COUNTS | WEIGHTS


def setting(seed):
    """An estimator, its rows with what belongs to each, and which of them leave."""
    rng = np.random.default_rng(seed)
    n_rows, n_features = int(rng.integers(40, 120)), int(rng.integers(1, 7))
    estimator = ESTIMATORS[seed % 3](
        l2=10.0 ** rng.uniform(-3.0, 0.0),
        scale=str(rng.choice(["unit", "clip:1", "within:64"])),
        fit_intercept=bool(rng.integers(2)),
        noise_std=[None, 1e-3, 0.1][rng.integers(3)],
        tol=10.0 ** rng.uniform(-10.0, -6.0),
    )
    X = rng.normal(size=(n_rows, n_features)) * 10.0 ** rng.uniform(-1.0, 1.0)
    y = rng.normal(size=n_rows) if seed % 3 == 1 else np.arange(n_rows) % int(rng.integers(2, 5))
    weights = rng.uniform(0.5, 2.0, size=n_rows) if rng.integers(2) else None
    leaving = rng.choice(n_rows, size=int(rng.integers(1, n_rows // 4)), replace=False)
    # Those who leave are unlike the others.
    X[leaving] += rng.normal(size=n_features) * X.std()
    return estimator, X.astype(rng.choice([np.float32, np.float64])), y, weights, leaving


def both_worlds(seed):
    """The same model after rows left, and on those that stayed."""
    estimator, X, y, weights, leaving = setting(seed)
    everybody, staying = np.arange(len(X)), np.setdiff1d(np.arange(len(X)), leaving)
    models = []
    for rows in (everybody, staying):
        model = copy.copy(estimator)
        names = {"ids": [f"r{i}" for i in rows], "subjects": [f"s{i}" for i in rows]}
        model.fit(X[rows], y[rows], sample_weight=None if weights is None else weights[rows], **names)
        models.append(model)
    removed, alone = models
    half = len(leaving) // 2
    if half:
        removed.remove(ids=[f"r{i}" for i in leaving[:half]])
    removed.remove(subjects=[f"s{i}" for i in leaving[half:]])
    return removed, alone


def flat(value, path=""):
    """All that a value consists of, by where it stands; of what may differ, only that it is there."""
    if is_json(value):
        value = json.loads(value)
    if hasattr(value, "__dataclass_fields__"):
        value = vars(value)
    if isinstance(value, (list, tuple)):
        value = dict(enumerate(value))
    if isinstance(value, np.ndarray):
        return {path: (value.dtype.str, value.shape, value.tolist())}
    if not isinstance(value, dict):
        return {path: value}
    parts = {}
    for key, part in value.items():
        # A file in JSON is no name, and whether there is an intercept is no weight.
        is_left_out = key in MAY_DIFFER and not is_json(part) and not isinstance(part, bool)
        parts |= {f"{path}/{key}": "…"} if is_left_out else flat(part, f"{path}/{key}")
    return parts


def is_json(value):
    return isinstance(value, str) and value[:1] in ("{", "[")


def public(model, folder):
    """Everything that can be seen of a model without its secret state."""
    onnx, safetensors = pytest.importorskip("onnx"), pytest.importorskip("safetensors")
    twin = pickle.loads(pickle.dumps(model))
    model.to_safetensors(folder / "model.safetensors")
    with safetensors.safe_open(folder / "model.safetensors", framework="np") as file:
        tensors = {"metadata": file.metadata(), "tensors": sorted(file.keys())}
    graph = model.to_onnx()
    attributes = {
        f"{node.name}/{part.name}": onnx.helper.get_attribute_value(part)
        for node in graph.graph.node
        for part in node.attribute
        if part.name not in MAY_DIFFER
    }
    with config_context(print_changed_only=False):
        text = repr(model)
    # `set_output` is listed by some versions of scikit-learn where it is not there.
    names = [name for name in dir(twin) if hasattr(twin, name)]
    seen = [name for name in names if not name.startswith("__") and name not in MAY_DIFFER]
    values = {name: getattr(twin, name) for name in seen if not callable(getattr(twin, name))}
    return {
        "pickle": flat(twin.__getstate__()),
        "copy": flat(copy.copy(model).__getstate__()),
        "dict": flat(dict(vars(model))),
        "json": flat(model.to_json()),
        "safetensors": flat(tensors),
        "onnx": flat({"attributes": attributes, "metadata": {p.key: p.value for p in graph.metadata_props}}),
        "attributes": flat(values),
        "names": seen,
        "repr": text,
    }


def differing(one, other, path=""):
    """Where two values differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted(one.keys() | other.keys()):
            yield from differing(one.get(key), other.get(key), f"{path} {key}")
    elif one != other:
        yield f"{path}: {one!r} and {other!r}"


@pytest.mark.parametrize("seed", range(N_SETTINGS))
def test_nothing_public_tells_the_worlds_apart(tmp_path, seed):
    """``n_iter_`` was in every pickle: the passes of a training that the removed rows had been part of."""
    removed, alone = both_worlds(seed)
    alone.release()
    assert list(differing(public(removed, tmp_path), public(alone, tmp_path))) == []


@pytest.mark.parametrize("seed", range(0, N_SETTINGS, 5))
def test_nothing_public_of_a_saved_model_tells_the_worlds_apart(tmp_path, seed):
    worlds = []
    for name, model in zip(("removed", "alone"), both_worlds(seed), strict=True):
        model.save(tmp_path / name)
        model.release()
        state = pickle.loads(pickle.dumps(model)).__getstate__()
        assert state.pop("_closed_path") == str(tmp_path / name)
        # The certificate's envelope is signed; what it says is compared.
        names = sorted(state)
        del state["_released"]
        worlds.append([names, flat(state), flat(model.certificate_), flat(model.to_json())])
        model.close()
    assert list(differing(dict(enumerate(worlds[0])), dict(enumerate(worlds[1])))) == []


def table(seed):
    """Raw rows that nobody prepared: columns of any size, categories that few have, weights, one class or another."""
    rng = np.random.default_rng(10_000 + seed)
    n_rows, n_numbers, n_categories = int(rng.integers(30, 300)), int(rng.integers(1, 5)), int(rng.integers(0, 9))
    sizes = 10.0 ** rng.integers(-6, 7, size=n_numbers)
    numbers = rng.standard_t(2, size=(n_rows, n_numbers)) * sizes
    categories = (n_categories * rng.uniform(size=n_rows) ** 3).astype(int)
    X = np.hstack([numbers, categories[:, None] == np.arange(n_categories)]).astype(
        rng.choice([np.float32, np.float64])
    )
    y = rng.normal(size=n_rows) * 100.0 if seed % 2 else np.arange(n_rows) % int(rng.integers(2, 5))
    weights = rng.uniform(0.0, 3.0, size=n_rows) if rng.integers(2) else np.ones(n_rows)
    return rng, X, y, weights


@pytest.mark.parametrize("seed", range(100))
def test_an_exact_model_is_the_retrained_one_byte_for_byte(seed):
    """A category that only the removed person had left a coefficient of 1e-15, where retraining gives 0."""
    rng, X, y, weights = table(seed)
    estimator = RemovableRidge if seed % 2 else RemovableRidgeClassifier
    scale = str(rng.choice(["raw", "raw", "unit", "clip:8"]))

    def model(n_jobs):
        return estimator(l2=10.0 ** -(seed % 5), scale=scale, fit_intercept=bool(seed % 3), n_jobs=n_jobs)

    everybody = np.arange(len(X))
    late = everybody[len(X) - int(rng.integers(0, 5)) :]
    early = everybody[: len(X) - len(late)]
    leaving = rng.choice(early[10:], size=int(rng.integers(1, len(early) // 3)), replace=False)
    removed = model(1 + seed % 2).fit(X[early], y[early], weights[early], ids=early)
    removed.remove(ids=leaving[::2])
    if len(late):
        removed.partial_fit(X[late], y[late], sample_weight=weights[late], ids=late)
    if len(leaving) > 1:
        removed.remove(ids=leaving[1::2])
    staying = rng.permutation(np.setdiff1d(everybody, leaving))
    alone = model(2 - seed % 2).fit(X[staying], y[staying], weights[staying], ids=staying)
    alone.release()
    assert removed.to_json() == alone.to_json()
    assert removed.coef_.tobytes() == alone.coef_.tobytes()
    assert removed.certificate_["epsilon"] == removed.certificate_["distance_bound"] == 0.0


def test_a_class_goes_with_its_last_row():
    """The last person of a class could not leave."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 3)), np.array(["a", "b", "c"])[np.arange(60) % 3]
    y[:58][y[:58] == "c"] = "a"
    y = y.astype("<U8")
    for estimator in (RemovableRidgeClassifier, RemovableLogisticRegression):
        model = estimator().fit(X, y)
        (last,) = np.flatnonzero(y == "c")
        assert model.remove(ids=int(last))["classes_gone"] == ["c"]
        # Whichever is looked at first: the classes, or the scores that belong to them.
        assert np.array_equal(model.classes_[(model.decision_function(X) > 0).astype(int)], model.predict(X))
        assert model.classes_.tolist() == ["a", "b"]
        assert model.classes_.dtype == "<U1"
        assert model.coef_.shape == (1, 3)
        model.partial_fit(X[:2], np.array(["b", "a"]))
        with pytest.raises(ValueError, match="not among the classes"):
            model.partial_fit(X[:1], np.array(["c"]))


def test_a_class_of_rows_without_weight_is_one_in_both_worlds():
    """It was refused by a training, and kept by a removal."""
    X = np.random.default_rng(4).normal(size=(7, 2))
    y, weights = np.array([0, 0, 1, 1, 2, 2, 2]), np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
    removed = RemovableRidgeClassifier().fit(X, y, weights)
    removed.remove(ids=4)
    staying = np.arange(7) != 4
    alone = RemovableRidgeClassifier().fit(X[staying], y[staying], weights[staying])
    alone.release()
    assert removed.to_json() == alone.to_json()
