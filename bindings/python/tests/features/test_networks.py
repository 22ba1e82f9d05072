"""Networks from Python: public and private ones, what keeps them, and what is refused."""

import hashlib
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import efface
from efface import Network, RemovableLogisticRegression, RemovableRidgeClassifier

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

SHAPE = {"height": 8, "width": 8, "channels": 1, "mean": [0.5], "deviation": [0.25]}


def write_network(path, seed=3):
    """Sixteen features of grey pictures of 8 × 8: what eight filters find in each of two halves."""
    filters = np.random.default_rng(seed).normal(size=(8, 1, 3, 3)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["pixels", "filters"], ["found"]),
        helper.make_node("Relu", ["found"], ["active"]),
        helper.make_node("AveragePool", ["active"], ["pooled"], kernel_shape=[3, 6], strides=[3, 6]),
        helper.make_node("Flatten", ["pooled"], ["features"]),
    ]
    pixels = helper.make_tensor_value_info("pixels", TensorProto.FLOAT, ["batch", 1, 8, 8])
    features = helper.make_tensor_value_info("features", TensorProto.FLOAT, ["batch", 16])
    graph = helper.make_graph(nodes, "net", [pixels], [features], [numpy_helper.from_array(filters, "filters")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), path)
    return path


def write_encoder(folder):
    """A network of texts: the mean of what stands for their words."""
    words = ["[PAD]", "[UNK]", "fine", "dull", "film"]
    table = numpy_helper.from_array(np.random.default_rng(1).normal(size=(5, 6)).astype(np.float32), "table")
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "tokens"])
    mask = helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["batch", "tokens"])
    made = helper.make_tensor_value_info("last", TensorProto.FLOAT, ["batch", "tokens", 6])
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "input_ids"], ["last"])], "net", [ids, mask], [made], [table]
    )
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), folder / "encoder.onnx"
    )
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": {word: i for i, word in enumerate(words)}, "unk_token": "[UNK]"},
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    return Network(folder / "encoder.onnx", origin="public", tokenizer=folder / "tokenizer.json", max_tokens=16)


def stripes(n=120):
    rng = np.random.default_rng(0)
    across = np.arange(n) % 2 == 0
    row, column = np.indices((8, 8))
    bright = np.where(across[:, None, None], row % 4 < 2, column % 4 < 2)
    return (np.where(bright, 170, 80) + rng.integers(0, 60, (n, 8, 8))).astype(np.uint8), across


def test_features_are_those_of_onnxruntime(tmp_path):
    images, _ = stripes()
    file = write_network(tmp_path / "net.onnx")
    made = Network(file, origin="public", **SHAPE).transform(images)
    session = runtime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    expected = session.run(None, {"pixels": (images[:, None] / np.float32(255) - np.float32(0.5)) / np.float32(0.25)})[
        0
    ]
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert np.abs(made - expected).max() < 1e-4

    encoder = write_encoder(tmp_path)
    texts = ["a fine film", "dull", "fine fine film"]
    session = runtime.InferenceSession(str(tmp_path / "encoder.onnx"), providers=["CPUExecutionProvider"])
    tokens = [[1, 2, 4], [3], [2, 2, 4]]
    means = [
        session.run(None, {"input_ids": [ids], "attention_mask": [[1] * len(ids)]})[0][0].mean(axis=0) for ids in tokens
    ]
    expected = np.array([mean / np.linalg.norm(mean) for mean in means])
    assert np.abs(encoder.transform(texts) - expected).max() < 1e-4


def test_a_network_is_part_of_the_model_by_its_digest(tmp_path, command):
    images, across = stripes()
    file = write_network(tmp_path / "net.onnx")
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    model = RemovableRidgeClassifier(features=Network(file, origin="public", **SHAPE), include_secret_state=True)
    model.fit(images, across)
    (named,) = model.certificate_["feature_maps"]
    assert (named["origin"], named["parameters"]["onnx"]) == ("public", digest)
    assert model.score(images, across) > 0.95
    pickled, scores = pickle.dumps(model), model.decision_function(images)
    assert np.array_equal(pickle.loads(pickled).decision_function(images), scores)

    path = tmp_path / "model.efface"
    pickle.loads(pickled).save(path)
    assert [file.name for file in (path / "networks").iterdir()] == [f"{digest}.onnx"]
    # What lies where the file was makes no difference to the directory, and is not taken for the one that was there.
    write_network(tmp_path / "net.onnx", seed=4)
    with efface.open(path) as opened:
        assert np.array_equal(opened.decision_function(images), scores)
        opened.partial_fit(images[:2], across[:2])
        opened.correct([5], images[7:8], across[7:8])
        opened.to_json(tmp_path / "model.json")
    with pytest.raises(efface.PlanError, match=f"no file with SHA-256 {digest}"):
        pickle.loads(pickled).predict(images)
    np.save(tmp_path / "images.npy", images.reshape(len(images), -1))
    predict = [command, "predict", tmp_path / "model.json", tmp_path / "images.npy", "--networks", path / "networks"]
    library = next(Path(runtime.__file__).parent.glob("capi/libonnxruntime.*"))
    done = subprocess.run(predict, capture_output=True, timeout=60, env={**os.environ, "ORT_DYLIB_PATH": str(library)})
    assert done.returncode == 0, done.stderr


def test_of_unknown_origin_is_outside_the_guarantee(tmp_path):
    images, across = stripes()
    network = Network(write_network(tmp_path / "net.onnx"), **SHAPE)
    model = RemovableLogisticRegression(features=network).fit(images, across)
    assert model.certificate_["not_public"] == ["*"]
    assert model.certificate_["feature_maps"][0]["origin"] == "unknown"
    with pytest.warns(efface.GuaranteeWarning, match="nobody says that Network"):
        pipeline = make_pipeline(network, RemovableLogisticRegression()).fit(images, across)
    assert pipeline[-1].certificate_["outside_scope"][-1] == "fitted-preprocessing:Network"
    named = make_pipeline(network.set_params(origin="public"), RemovableLogisticRegression()).fit(images, across)
    assert named[-1].certificate_["outside_scope"][-1] == "declared-public:Network"


def private(folder, **more):
    file = write_network(folder / "net.onnx")
    statement = {
        "format": "efface-extractor-statement-1",
        "mechanism": "dp-sgd-poisson",
        "sampling_rate": 0.02,
        "noise_multiplier": 8.0,
        "steps": 500,
        "clip": 1.0,
        "unit": "row",
        "delta": 1e-6,
        "digest": hashlib.sha256(file.read_bytes()).hexdigest(),
    }
    (folder / "net.json").write_text(json.dumps(statement))
    return Network(file, statement=folder / "net.json", **{**SHAPE, **more})


def test_a_private_network_covers_a_group_and_no_more(tmp_path, command):
    images, across = stripes()
    model = RemovableLogisticRegression(features=private(tmp_path, extractor_group=3)).fit(images, across)
    model.remove(ids=[1, 2, 3])
    certificate = model.certificate_
    share = certificate["extractor"]["epsilon"]
    assert certificate["extractor"]["group"] == 3
    assert share > 0.1
    assert abs(certificate["epsilon"] - 1.0 - 3 * share) < 1e-12
    assert certificate["feature_maps"][0]["statement"]["noise_multiplier"] == 8.0
    path = tmp_path / "model.efface"
    model.save(path)
    model.release()
    model.to_json(tmp_path / "model.json")
    signed = tmp_path / "model.json.certificate.json"
    verify = [command, "verify", signed, "--key", path / "signing.key.pub", "--model", tmp_path / "model.json"]
    assert subprocess.run(verify, capture_output=True, timeout=60).returncode == 0
    assert model.remove(ids=[4])["outcome"] == "retrain-required"
    with pytest.raises(efface.RetrainRequiredError, match="feature extractor covers"):
        model.predict(images)
    model.close()
    with efface.open(path, auto_release=False) as opened:
        assert opened.features.extractor_group == 3
        with pytest.raises(efface.RetrainRequiredError):
            opened.release()


def test_what_a_private_network_may_not_be(tmp_path):
    images, across = stripes()
    network = private(tmp_path)
    with pytest.raises(efface.PlanError, match="not as a step before it"):
        make_pipeline(network, RemovableLogisticRegression()).fit(images, across)
    write_network(tmp_path / "net.onnx", seed=9)
    with pytest.raises(efface.PlanError, match="its statement is about the network with SHA-256"):
        RemovableLogisticRegression(features=network).fit(images, across)
    public = Network(tmp_path / "net.onnx", origin="public", extractor_group=2, **SHAPE)
    with pytest.raises(efface.PlanError, match="no column is mapped by a private network"):
        RemovableLogisticRegression(features=public).fit(images, across)


def test_what_is_no_network_is_refused(tmp_path):
    images, across = stripes()
    file = write_network(tmp_path / "net.onnx")
    whole = file.read_bytes()

    def refused(match, **more):
        with pytest.raises(efface.PlanError, match=match):
            RemovableLogisticRegression(features=Network(file, **{**SHAPE, **more})).fit(images, across)

    refused("not images of height 9", height=9)
    refused("needs height and width", height=None)
    refused("No such file", tokenizer=tmp_path / "none.json", max_tokens=8, height=None, width=None, channels=None)
    file.write_bytes(whole[: len(whole) // 2])
    refused("not an ONNX model")
    file.unlink()
    refused("No such file")


def test_without_onnx_runtime_it_is_said_how_to_get_it(tmp_path):
    file = write_network(tmp_path / "net.onnx")
    script = (
        "import importlib.util, efface, numpy\n"
        "importlib.util.find_spec = lambda name, package=None: None\n"
        f"network = efface.Network({str(file)!r}, height=8, width=8, channels=1)\n"
        "try:\n    network.transform(numpy.zeros((1, 8, 8), numpy.uint8))\n"
        "except efface.PlanError as error:\n    print(error)\n"
    )
    environment = {**os.environ, "ORT_DYLIB_PATH": "", "PATH": str(tmp_path)}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    assert "ONNX Runtime was not found; install it with `pip install onnxruntime`" in done.stdout, done
