"""Transformers of others, declared public: run by Python, named in certificates, never fitted here."""

import subprocess
import sys

import numpy as np
import pandas
import pytest
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer

import efface
from efface import Fourier, Public, RemovableLogisticRegression, RemovableRidge, RemovableRidgeClassifier

TEXTS = ["a fine film", "dull and endless", "fine and moving", "a dull film"] * 20
LIKED = np.array([True, False, True, False] * 20)
HASHED = HashingVectorizer(n_features=64)


def test_it_is_listed_as_the_word_of_whoever_trained(tmp_path, command):
    model = RemovableLogisticRegression(features={"text": Public(HASHED)}, C=100.0)
    model.fit(pandas.DataFrame({"text": TEXTS, "stars": np.arange(80.0)}), LIKED)
    (named,) = model.certificate_["feature_maps"]
    assert (named["column"], named["origin"], named["parameters"]["kind"]) == ("text", "public", "transformer")
    assert (named["parameters"]["transformer"], named["parameters"]["features"]) == ("HashingVectorizer", 64)
    assert model.certificate_["not_public"] == []
    assert len(model.encoded_feature_names_) == 65
    path = tmp_path / "model.efface"
    model.save(path)
    model.remove(ids=[3])
    model.to_json(tmp_path / "model.json")
    signed = tmp_path / "model.json.certificate.json"
    verify = [command, "verify", signed, "--key", path / "signing.key.pub", "--model", tmp_path / "model.json"]
    done = subprocess.run(verify, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    shown = subprocess.run([command, "certificate", "show", signed], capture_output=True, text=True, timeout=60)
    told = " ".join((shown.stdout + shown.stderr).split())
    assert "of column `text`: transformer, made without these rows, as whoever trained says" in told


def test_a_directory_knows_its_transformer_by_its_digest(tmp_path):
    model = RemovableRidgeClassifier(features=Public(HASHED)).fit(TEXTS, LIKED)
    path = tmp_path / "model.efface"
    model.save(path)
    model.close()
    with efface.open(path) as opened:
        assert opened.remove(ids=[1])["n_changed"] == 1
        with pytest.raises(efface.PlanError, match=r"open it with features=efface.Public"):
            opened.predict(TEXTS)
        made = HashingVectorizer(n_features=64).transform(["fine", "dull"]).toarray()
        assert opened.predict(made).tolist() == [True, False]
    with pytest.raises(efface.PlanError, match="and the one given has"):
        efface.open(path, features=Public(HashingVectorizer(n_features=64, binary=True)))
    with efface.open(path, features=Public(HashingVectorizer(n_features=64))) as opened:
        opened.remove(ids=[0])
        opened.partial_fit(["a fine one"], [True])
        assert opened.predict(["fine", "dull"]).tolist() == [True, False]


def test_the_digest_is_the_same_in_every_process():
    script = (
        "from sklearn.feature_extraction.text import HashingVectorizer\nfrom efface._features._public import digest\n"
        "print(digest(HashingVectorizer(n_features=64)))"
    )
    other = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60).stdout.strip()
    from efface._features._public import digest

    assert digest(HASHED) == other
    assert digest(HashingVectorizer(n_features=128)) != other


def test_features_are_divided_by_their_norm():
    X = np.random.default_rng(0).normal(size=(80, 3))
    doubled = Public(FunctionTransformer(np.expm1))
    model = RemovableRidgeClassifier(features=doubled).fit(X, LIKED)
    made = np.expm1(X)
    assert np.abs(model.transform(X) - made / np.linalg.norm(made, axis=1, keepdims=True)).max() < 1e-6
    kernel = RemovableRidgeClassifier(features=Fourier(32, 1.0, of=doubled)).fit(X, LIKED)
    assert [named["parameters"]["kind"] for named in kernel.certificate_["feature_maps"]] == ["transformer", "fourier"]


def test_a_model_without_noise_hands_it_one_row_at_a_time():
    """A matrix product rounds by the shape of all rows: two rows had other features than each alone."""
    draw = np.random.default_rng(0)
    X, y = draw.normal(size=(3, 784)), draw.normal(size=3)
    kernel = Public(FrozenEstimator(RBFSampler(n_components=256, random_state=0).fit(X[:1])))
    model = RemovableRidge(features=kernel).fit(X, y)
    model.remove(ids=[1])
    without = RemovableRidge(features=kernel).fit(X[[0, 2]], y[[0, 2]])
    assert np.array_equal(model.coef_, without.coef_)
    assert model.intercept_ == without.intercept_


def test_in_a_pipeline_it_is_the_users_word():
    pipeline = make_pipeline(Public(HASHED), RemovableLogisticRegression(scale="none")).fit(TEXTS, LIKED)
    assert pipeline[-1].certificate_["outside_scope"][-1] == "declared-public:HashingVectorizer"


def test_it_is_never_fitted():
    with pytest.raises(efface.PlanError, match="TfidfVectorizer learns from the rows it is fitted on"):
        RemovableLogisticRegression(features=Public(TfidfVectorizer())).fit(TEXTS, LIKED)
    elsewhere = FrozenEstimator(TfidfVectorizer().fit(["fine", "dull", "moving film"]))
    model = RemovableLogisticRegression(features=Public(elsewhere), C=100.0).fit(TEXTS, LIKED)
    assert model.score(TEXTS, LIKED) == 1.0


def test_what_is_no_transformer_is_refused():
    X = np.ones((80, 3))
    X[41, 1] = np.nan
    with pytest.raises(efface.RowError, match=r"row 41, column `\*`: numbers must be finite, got `NaN`"):
        RemovableLogisticRegression(features=Public(FunctionTransformer(None))).fit(X, LIKED)
    with pytest.raises(efface.PlanError, match="needs a method `transform`"):
        RemovableLogisticRegression(features=Public("words")).fit(TEXTS, LIKED)
    with pytest.raises(efface.PlanError, match="cannot be pickled"):
        RemovableLogisticRegression(features=Public(FunctionTransformer(lambda X: X))).fit(X, LIKED)
    with pytest.raises(efface.RowError, match="must make an array of numbers"):
        RemovableLogisticRegression(features=Public(FunctionTransformer(np.ravel))).fit(np.ones((80, 2)), LIKED)
    wider = RemovableLogisticRegression(features=Public(Normalizer())).fit(np.ones((80, 2)), LIKED)
    with pytest.raises(efface.RowError, match="3 values in the list, expected 2"):
        wider.predict(np.ones((2, 3)))
