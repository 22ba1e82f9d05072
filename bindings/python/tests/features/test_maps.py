"""Maps from Python: the same features, weights and certificates as the command line makes of the same rows."""

import csv
import hashlib
import json
import pickle
import subprocess

import numpy as np
import pandas
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import efface
from efface import Fourier, Image, RemovableLogisticRegression, RemovableRidge, RemovableRidgeClassifier, Schema, Text

WORDS = {True: ["fine", "moving", "clever"], False: ["dull", "endless", "flat"]}


def reviews(n=120):
    """Sentences in which a word tells whether the film was liked, beside a number and a category."""
    liked = np.arange(n) % 2 == 0
    words = [WORDS[bool(good)][i // 2 % 3] for i, good in enumerate(liked)]
    text = [f"A {word} {['film', 'story'][i // 6 % 2]}, to the end" for i, word in enumerate(words)]
    stars = [float(i % 7) for i in range(n)]
    return pandas.DataFrame(
        {"review": text, "stars": stars, "seen": [["home", "cinema"][i // 3 % 2] for i in range(n)]}
    ), liked


def stripes(n=80):
    """Grey pictures of 8 × 8: stripes across or down, with noise."""
    rng = np.random.default_rng(0)
    across = np.arange(n) % 2 == 0
    row, column = np.indices((8, 8))
    bright = np.where(across[:, None, None], row % 4 < 2, column % 4 < 2)
    return (np.where(bright, 170, 80) + rng.integers(0, 60, (n, 8, 8))).astype(np.uint8), across


def run(command, *arguments):
    done = subprocess.run([command, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


TEXT = '[[column]]\nname = "review"\nkind = "text"\nbuckets = 128\ncharacters = [2, 4]\nseed = 3\n'
DERIVED = '[[column]]\nname = "{}"\nkind = "derived"\n'
STARS = '[[column]]\nname = "stars"\nkind = "numeric"\nrange = [0, 7]\norigin = "public"\n'
FOURIER = "[fourier]\nwidth = 96\nlength_scale = 0.7\nseed = 5\n"
REVIEW = Text(128, characters=(2, 4), seed=3)
CASES = {
    "texts": (REVIEW, ["review"], TEXT),
    "beside derived": (
        {"review": REVIEW},
        ["review", "stars", "seen"],
        TEXT + DERIVED.format("stars") + DERIVED.format("seen"),
    ),
    "a layer": (
        Fourier(
            96, 0.7, seed=5, of={"review": REVIEW, "stars": {"kind": "numeric", "range": [0, 7], "origin": "public"}}
        ),
        ["review", "stars"],
        TEXT + STARS + FOURIER,
    ),
    "numbers as they are": (Fourier(96, 0.7, seed=5), ["stars"], STARS.replace("range = [0, 7]\n", "") + FOURIER),
}


@pytest.mark.parametrize("case", CASES)
def test_features_and_weights_are_those_of_the_command_line(case, tmp_path, command):
    """Without noise a released model is exact, so equal rows make equal bits."""
    features, columns, schema = CASES[case]
    frame, liked = reviews()
    liked = liked + 0.1 * frame["stars"].to_numpy()
    rows, table = frame[columns], tmp_path / "reviews.csv"
    frame.assign(liked=liked).to_csv(table, index=False)
    toml = tmp_path / "schema.toml"
    markers = (
        "missing_markers = " + json.dumps(list(efface._efface.USUAL_MISSING_MARKERS)) if "derived" in schema else ""
    )
    toml.write_text(f'format = "efface-schema-1"\nlabel = "liked"\n{markers}\n{schema}')
    out = tmp_path / "model.efface"
    run(command, "train", table, "--schema", toml, "--loss", "squared", "--out", out)
    run(command, "release", out, "--out", tmp_path / "model.json")
    theirs = json.loads((tmp_path / "model.json").read_text())

    run(command, "transform", tmp_path / "model.json", table, "--out", tmp_path / "features.csv")
    with (tmp_path / "features.csv").open() as file:
        transformed = [[float(line[name]) for name in theirs["features"]] for line in csv.DictReader(file)]

    for given in (features, toml, Schema(toml)):
        model = RemovableRidge(features=given).fit(rows, liked)
        ours = json.loads(model.to_json())
        for key in ("features", "weights", "intercept", "scale", "constants"):
            assert ours.get(key) == theirs.get(key), key
        assert ours["schema"]["column"] == theirs["schema"]["column"]
        assert np.array_equal(model.transform(rows), transformed)
    with efface.open(out) as opened:
        assert opened.certificate_["feature_maps"] == model.certificate_["feature_maps"]
        assert np.array_equal(opened.predict(rows), model.predict(rows))
        assert list(opened.feature_names_in_) == columns
        again = clone(opened).fit(rows, liked)
    assert np.array_equal(again.coef_, model.coef_)


def test_a_life_with_texts(tmp_path, command):
    frame, liked = reviews()
    texts = frame["review"].tolist()
    model = RemovableRidgeClassifier(features=REVIEW).fit(texts[:100], liked[:100])
    model.remove(ids=[3, 4])
    model.partial_fit(texts[100:110], liked[100:110])
    model.correct([5], [texts[0]], [True])
    kept = [*texts[:3], texts[0], *texts[6:110]]
    never = RemovableRidgeClassifier(features=REVIEW).fit(kept, [*liked[:3], True, *liked[6:110]])
    assert np.array_equal(model.coef_, never.coef_)
    assert model.score(texts, liked) == 1.0
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.decision_function(texts), model.decision_function(texts))

    path = tmp_path / "model.efface"
    model.save(path)
    model.remove(ids=[6])
    model.close()
    run(command, "verify", path, "--replay")
    table = tmp_path / "more.csv"
    pandas.DataFrame({"x0": texts[110:], "liked": liked[110:]}).to_csv(table, index=False)
    run(command, "add", path, table, "--label", "liked")
    with efface.open(path) as opened:
        never = RemovableRidgeClassifier(features=REVIEW).fit([*kept, *texts[110:]], [*liked[:3], True, *liked[6:]])
        opened.remove(ids=[7])
        assert opened.predict(pandas.Series(texts)).tolist() == liked.tolist()
        opened.to_json(tmp_path / "model.json")
    run(command, "predict", tmp_path / "model.json", table)


def test_certificates_name_maps_by_their_digest(tmp_path, command):
    images, across = stripes()
    model = RemovableLogisticRegression(C=100.0, features=Fourier(64, 0.5, of=Image(8, 8, 1))).fit(images, across)
    scattering, fourier = model.certificate_["feature_maps"]
    assert (scattering["column"], scattering["origin"], fourier["origin"]) == ("*", "fixed", "fixed")
    assert fourier["parameters"] == {"kind": "fourier", "n_inputs": 324, "width": 64, "length_scale": 0.5, "seed": 0}
    written = b'efface-features/1\n{"kind":"scattering","height":8,"width":8,"channels":1}'
    assert scattering["sha256"] == hashlib.sha256(written).hexdigest()
    assert model.certificate_["scale"] == "none"
    assert model.certificate_["not_public"] == []
    path = tmp_path / "model.efface"
    model.save(path)
    model.remove(ids=[1])
    model.to_json(tmp_path / "model.json")
    signed = tmp_path / "model.json.certificate.json"
    run(command, "verify", signed, "--key", path / "signing.key.pub", "--model", tmp_path / "model.json")
    # An array of images is what the command line reads from a file.
    np.save(tmp_path / "images.npy", images.reshape(len(images), -1))
    predicted = run(command, "predict", tmp_path / "model.json", tmp_path / "images.npy").splitlines()[1:]
    assert [line.split(",")[1] for line in predicted] == [str(one).lower() for one in model.predict(images)]


def test_a_map_is_a_stateless_transformer(tmp_path):
    frame, liked = reviews()
    texts = frame["review"].to_numpy()
    step = Text(128, characters=(2, 4), seed=3)
    pipeline = make_pipeline(step, RemovableRidgeClassifier(scale="none")).fit(texts, liked)
    inside = RemovableRidgeClassifier(features=step).fit(texts, liked)
    assert np.array_equal(step.transform(texts), inside.transform(texts))
    assert step.transform(texts).dtype == np.float32
    assert np.array_equal(pipeline[-1].coef_, inside.coef_)
    # Nothing is fitted on the rows, and nobody is told that something was.
    assert pipeline[-1].certificate_["outside_scope"] == inside.certificate_["outside_scope"]


def test_parameters_are_searched_through():
    frame, liked = reviews()
    model = RemovableLogisticRegression(C=100.0, features=Fourier(32, 1.0, of=Text(64)))
    assert model.get_params()["features__of__buckets"] == 64
    grid = {"features__of__buckets": [32, 64], "features__length_scale": [0.5, 1.0]}
    with pytest.warns(efface.GuaranteeWarning):
        search = GridSearchCV(model, grid, cv=2).fit(frame["review"].tolist(), liked)
    assert search.best_estimator_.features is not model.features
    assert model.features.of.buckets == 64


def test_a_plan_knows_what_rows_become():
    frame, liked = reviews()
    model = RemovableLogisticRegression(features=Text(64), noise_std=0.1)
    assert model.plan(frame["review"], liked)["dim"] == 65
    model.fit(frame["review"], liked)
    assert model.plan()["dim"] == 65


def test_an_exported_model_of_texts_takes_what_the_map_makes(tmp_path):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    frame, liked = reviews()
    model = RemovableLogisticRegression(features=Text(64)).fit(frame["review"], liked)
    model.to_onnx(tmp_path / "model.onnx")
    session = runtime.InferenceSession(tmp_path / "model.onnx")
    (taken,) = session.get_inputs()
    made = Text(64).transform(frame["review"]).astype(np.float32)
    label, probabilities = session.run(None, {taken.name: made})
    assert np.array_equal(label, model.predict(frame["review"]))
    np.testing.assert_allclose(probabilities, model.predict_proba(frame["review"]), atol=1e-5)
