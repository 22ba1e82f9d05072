"""Exported files of models whose features are made by maps: onnxruntime runs them from the raw cells."""

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import efface

HEADER = 'format = "efface-schema-1"\n'


@pytest.fixture
def run(command, tmp_path, monkeypatch):
    """Runs the command line in a folder, and answers what it says. This Python's onnxruntime runs networks."""
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)

    def run(*arguments):
        done = subprocess.run([command, *arguments, "--json"], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def answers(file, inputs):
    """Labels and probabilities of a file, a path or its bytes."""
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    assert {given.name for given in session.get_inputs()} == set(inputs)
    return session.run(None, inputs)


def compare(run, folder, data, inputs):
    """The file of the command line and that of an opened model say what ``efface predict`` says."""
    run("export", "m.efface", "--onnx", "m.onnx")
    predicted = run("predict", "m.efface", data, "--probabilities")["predictions"]
    expected = np.array([list(row["probabilities"].values()) for row in predicted])
    with efface.open(folder / "m.efface") as model:
        opened = model.to_onnx().SerializeToString()
    for file in (str(folder / "m.onnx"), opened):
        labels, probabilities = answers(file, inputs)
        assert np.abs(probabilities - expected).max() < 1e-4
        assert [str(label) for label in labels] == [row["prediction"] for row in predicted]


def documented():
    """The functions that docs/export.md prints."""
    text = (Path(__file__).parents[4] / "docs" / "export.md").read_text(encoding="utf-8")
    names = {}
    exec(re.findall(r"```python\n(.*?)```", text, re.DOTALL)[-1], names)
    return names


def test_hashes_are_those_that_are_documented(run, tmp_path):
    pytest.importorskip("onnx")
    words = ["Fine", "dull", "größte", "Kino", "a", "not", "it's", "moving", "42", "x"]
    texts = [" ".join(words[(i * k + k * k) % len(words)] for k in range(1 + i % 6)) for i in range(80)]
    streets = [f"street {i % 13}" for i in range(80)]
    with (tmp_path / "rows.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["review", "street", "liked"])
        writer.writerows(
            (text, street, "no" if "dull" in text else "yes") for text, street in zip(texts, streets, strict=True)
        )
    (tmp_path / "schema.toml").write_text(
        HEADER
        + 'label = "liked"\n[[column]]\nname = "review"\nkind = "text"\nbuckets = 256\nwords = [1, 2]\n'
        + "characters = [3, 4]\nseed = 7\n"
        + '[[column]]\nname = "street"\nkind = "hashed"\nbuckets = 8\norigin = "public"\n'
        + "[fourier]\nwidth = 128\nlength_scale = 1.0\n"
    )
    run("train", "rows.csv", "--schema", "schema.toml", "--out", "m.efface")
    run("release", "m.efface")
    hashes = documented()
    grams = [hashes["ngrams"](text, 256, words=(1, 2), characters=(3, 4), seed=7) for text in texts]
    buckets = [[hashes["bucket"]("street", street, 8)] for street in streets]
    inputs = {"review": np.array(grams, dtype=np.float32), "street": np.array(buckets, dtype=np.int64)}
    compare(run, tmp_path, "rows.csv", inputs)


@pytest.fixture
def pictures(tmp_path):
    """Pictures of 8 x 8 pixels in three colours, as arrays in a folder."""
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, size=(60, 8, 8, 3))
    pixels[::2, :, ::3] //= 3
    np.save(tmp_path / "x.npy", pixels.reshape(60, -1).astype(np.uint8))
    np.save(tmp_path / "y.npy", np.arange(60) % 2)
    return pixels.astype(np.float32)


def test_pictures_go_in_as_pixels(run, tmp_path, pictures):
    pytest.importorskip("onnx")
    column = '[[column]]\nname = "*"\nkind = "image"\nheight = 8\nwidth = 8\n'
    (tmp_path / "schema.toml").write_text(f"{HEADER}{column}[fourier]\nwidth = 256\nlength_scale = 0.5\n")
    run("train", "x.npy", "--label", "y.npy", "--schema", "schema.toml", "--out", "m.efface")
    run("release", "m.efface")
    compare(run, tmp_path, "x.npy", {"X": pictures})


def test_features_of_a_network_are_those_of_onnxruntime(run, tmp_path, pictures):
    onnx = pytest.importorskip("onnx")
    helper, numpy_helper = onnx.helper, onnx.numpy_helper
    rng = np.random.default_rng(1)
    nodes = [
        helper.make_node("Conv", ["pixels", "filters"], ["found"]),
        helper.make_node("Relu", ["found"], ["positive"]),
        helper.make_node("GlobalAveragePool", ["positive"], ["means"]),
        helper.make_node("Flatten", ["means"], ["features"]),
    ]
    given = helper.make_tensor_value_info("pixels", onnx.TensorProto.FLOAT, ["n", 3, 8, 8])
    made = helper.make_tensor_value_info("features", onnx.TensorProto.FLOAT, ["n", 12])
    filters = numpy_helper.from_array(rng.normal(size=(12, 3, 3, 3)).astype(np.float32), "filters")
    graph = helper.make_graph(nodes, "network", [given], [made], initializer=[filters])
    # Another version of the operators than that of what comes behind it.
    network = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    (tmp_path / "network.onnx").write_bytes(network.SerializeToString())
    column = '[[column]]\nname = "*"\nkind = "network"\nfile = "network.onnx"\nheight = 8\nwidth = 8\n'
    (tmp_path / "schema.toml").write_text(
        f'{HEADER}{column}mean = [0.5, 0.4, 0.3]\ndeviation = [0.2, 0.3, 0.25]\norigin = "public"\n'
    )
    run("train", "x.npy", "--label", "y.npy", "--schema", "schema.toml", "--out", "m.efface")
    run("release", "m.efface")

    standard = ((pictures / 255 - [0.5, 0.4, 0.3]) / [0.2, 0.3, 0.25]).transpose(0, 3, 1, 2).astype(np.float32)
    (features,) = answers(network.SerializeToString(), {"pixels": standard})
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    rows = [row["values"] for row in run("transform", "m.efface", "x.npy")["rows"]]
    assert np.abs(np.array(rows) - features).max() < 1e-4
    compare(run, tmp_path, "x.npy", {"X": pictures})
