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
# What a release claims; that these do not depend on the rows is tested where they are computed.
CLAIMS = {"gradient_residual", "distance_bound", "mu", "mu_total", "epsilon_spent", "spent_before", "curve"}
# Covered by the guarantee itself.
WEIGHTS = {"weights", "intercept", "coefficients", "intercepts", "coef_", "intercept_"}
MAY_DIFFER = NAMES | COUNTS | CLAIMS | WEIGHTS


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
    seen = [name for name in dir(twin) if not name.startswith("__") and name not in MAY_DIFFER]
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
