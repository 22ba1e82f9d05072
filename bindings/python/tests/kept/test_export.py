"""Exported files predict what the estimator does."""

import csv
import json
import subprocess
import sys

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from efface import RemovableLogisticRegression, RemovableRidge, RemovableRidgeClassifier

SCALES = ["auto", "unit", "clip:2", "raw"]


def three_classes(rows):
    return rows[0], np.array(["low", "middle", "high"])[np.digitize(rows[0][:, 0], [-0.5, 0.5])]


def session(model):
    pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def with_extremes(X):
    """Single precision, with a row of zeros and one that is long."""
    return np.vstack([X, np.zeros(X.shape[1]), 1e3 * X[0]]).astype(np.float32)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("estimator", [RemovableLogisticRegression, RemovableRidgeClassifier])
@pytest.mark.parametrize("kind", ["integers", "booleans", "text", "three"])
def test_onnx_classifiers(rows, tmp_path, scale, estimator, kind):
    X, y = rows
    y = {"integers": y, "booleans": y == 1, "text": np.where(y, "ja", "nein"), "three": three_classes(rows)[1]}[kind]
    model = estimator(scale=scale).fit(X, y)
    onnx = model.to_onnx(tmp_path / "model.onnx")
    assert (tmp_path / "model.onnx").read_bytes() == onnx.SerializeToString()
    assert "LinearClassifier" in {node.op_type for node in onnx.graph.node}
    shown = with_extremes(X) if scale != "raw" else X.astype(np.float32)
    labels, scores = session(onnx).run(None, {"X": shown})
    decisive = np.ones(len(shown), dtype=bool)
    if isinstance(model, RemovableLogisticRegression):
        expected = model.predict_proba(shown)
        decisive = np.sort(expected, axis=1)[:, -1] - np.sort(expected, axis=1)[:, -2] > 1e-5
    else:
        expected = model.decision_function(shown)
        expected = np.column_stack([-expected, expected]) if expected.ndim == 1 else expected
    assert np.abs(scores - expected).max() < 1e-5
    predicted = model.predict(shown)
    assert np.array_equal(labels[decisive], predicted[decisive].astype(labels.dtype))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_onnx_regressors(rows, scale, fit_intercept):
    X, _ = rows
    model = RemovableRidge(scale=scale, fit_intercept=fit_intercept).fit(X, X @ [3.0, 1.0, 0.0, -2.0, 0.5] + 1.0)
    onnx = model.to_onnx()
    assert "LinearRegressor" in {node.op_type for node in onnx.graph.node}
    (predicted,) = session(onnx).run(None, {"X": X.astype(np.float32)})
    assert np.abs(predicted[:, 0] - model.predict(X)).max() < 1e-4


def test_a_package_that_is_missing_is_named(fitted, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    with pytest.raises(ImportError, match="pip install onnx"):
        fitted.to_onnx()
    with pytest.raises(ImportError, match="pip install safetensors"):
        fitted.to_safetensors(tmp_path / "model.safetensors")


def test_onnx_says_where_it_comes_from(fitted):
    properties = {entry.key: entry.value for entry in fitted.to_onnx().metadata_props}
    assert properties["scale"] == "auto"
    assert json.loads(properties["constants"])["columns"][0]["kind"] == "number"
    assert json.loads(properties["certified"]) is True
    assert json.loads(properties["classes"]) == ["0", "1"]


@pytest.mark.filterwarnings("ignore::efface.GuaranteeWarning")
@pytest.mark.parametrize("is_signed", [False, True])
def test_files_say_what_the_certificate_does_not_speak_about(rows, tmp_path, is_signed):
    """The certificate in the metadata did not have what the estimator had noticed around its fit."""
    pytest.importorskip("onnx")
    safetensors = pytest.importorskip("safetensors")
    model = make_pipeline(StandardScaler(), RemovableLogisticRegression()).fit(*rows)[-1]
    if is_signed:
        model.save(tmp_path / "model.efface")
        model.release()
    model.to_safetensors(tmp_path / "model.safetensors")
    with safetensors.safe_open(tmp_path / "model.safetensors", framework="numpy") as file:
        tensors = file.metadata()
    for metadata in ({entry.key: entry.value for entry in model.to_onnx().metadata_props}, tensors):
        assert json.loads(metadata["outside_scope"]) == model.certificate_["outside_scope"]
        assert "fitted-preprocessing:StandardScaler" in json.loads(metadata["outside_scope"])
        if is_signed:
            assert "payload" in json.loads(metadata["certificate"])
        else:
            assert json.loads(metadata["certificate"]) == model.certificate_


@pytest.mark.parametrize("three", [False, True])
def test_safetensors(rows, tmp_path, three):
    safetensors = pytest.importorskip("safetensors")
    X, y = three_classes(rows) if three else rows
    model = RemovableLogisticRegression(scale="unit").fit(X, y)
    model.to_safetensors(tmp_path / "model.safetensors")
    with safetensors.safe_open(tmp_path / "model.safetensors", framework="numpy") as file:
        assert set(file.keys()) == {"weights", "intercept"}
        weights, intercept = file.get_tensor("weights"), file.get_tensor("intercept")
        metadata = file.metadata()
    assert np.array_equal(weights, model.coef_)
    assert np.array_equal(intercept, model.intercept_)
    assert metadata["scale"] == "unit"
    assert json.loads(metadata["classes"]) == (["high", "low", "middle"] if three else ["0", "1"])
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    scores = unit @ weights.T + intercept
    assert np.allclose(scores if three else scores[:, 0], model.decision_function(X))


def test_json_is_plain(rows, tmp_path):
    X, y = rows
    model = RemovableLogisticRegression().fit(X, y)
    text = model.to_json(tmp_path / "model.json")
    assert (tmp_path / "model.json").read_text() == text
    published = json.loads(text)
    assert published["format"] == "efface-model-1"
    assert np.allclose(published["weights"], model.coef_[0])
    assert published["features"] == ["x0", "x1", "x2", "x3", "x4"]
    assert not (tmp_path / "model.json.certificate.json").exists(), "nobody has signed it"


def test_the_json_of_a_saved_model_verifies(fitted, tmp_path, command):
    fitted.save(tmp_path / "model.efface")
    fitted.release()
    fitted.to_json(tmp_path / "model.json")
    key = subprocess.run(
        [command, "key", "show", tmp_path / "model.efface"], capture_output=True, text=True, check=True
    )
    (tmp_path / "model.pub").write_text(key.stdout)
    files = ["model.json.certificate.json", "--key", "model.pub", "--model", "model.json"]
    done = subprocess.run([command, "verify", *files], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_exports_follow_a_removal(fitted):
    before = json.loads(fitted.to_json())["release"]
    fitted.remove(ids=3)
    assert json.loads(fitted.to_json())["release"] == before + 1


def test_the_command_line_predicts_with_the_json(rows, tmp_path, command):
    X, y = three_classes(rows)
    model = RemovableLogisticRegression().fit(X, y)
    model.to_json(tmp_path / "model.json")
    header = "x0,x1,x2,x3,x4\n"
    (tmp_path / "rows.csv").write_text(header + "".join(",".join(map(repr, row)) + "\n" for row in X.tolist()))
    predictions = tmp_path / "predictions.csv"
    arguments = ["predict", tmp_path / "model.json", tmp_path / "rows.csv", "--out", predictions]
    done = subprocess.run([command, *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    with predictions.open() as file:
        assert [line["prediction"] for line in csv.DictReader(file)] == model.predict(X).tolist()
