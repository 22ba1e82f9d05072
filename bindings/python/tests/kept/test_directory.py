"""Model directories: saved here, opened here and by the command line."""

import json
import pickle
import subprocess
import warnings

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

import efface
from efface import RemovableLogisticRegression, RemovableRidge, RemovableRidgeClassifier, _directory, _secret


def run(command, *arguments, code=0):
    done = subprocess.run([command, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stderr
    return done.stdout


@pytest.mark.parametrize("estimator", [RemovableLogisticRegression, RemovableRidge, RemovableRidgeClassifier])
def test_a_saved_model_goes_on_elsewhere(rows, tmp_path, estimator):
    X, y = rows
    path = tmp_path / "model.efface"
    with estimator(l2=0.01, noise_std=1e-8, epsilon=100.0).fit(X, y, ids=[f"p{i}" for i in range(200)]) as model:
        model.remove(ids="p0")
        report = model.save(path)
        assert (report["n_rows"], report["model"]) == (199, str(path))
        assert model.status_["path"] == str(path)
        model.remove(ids="p1")
        assert model.status_["n_rows"] == 198
    with efface.open(path) as again:
        assert type(again) is estimator
        assert again.l2 == 0.01
        again.remove(ids=["p2"])
        assert again.status_["n_rows"] == 197
        with pytest.raises(efface.AlreadyRemovedError):
            again.remove(ids="p1")
        alone = estimator(l2=0.01, noise_std=1e-8, epsilon=100.0, scale=again.scale).fit(X[3:], y[3:])
        assert np.abs(again.coef_ - alone.coef_).max() < 2e-7
        assert again.predict(X).shape == (200,)


DECLARED = ["fitted-preprocessing:StandardScaler", "hyper-parameters:GridSearchCV"]


def test_what_was_fitted_beside_a_model_is_in_every_certificate(rows, tmp_path, command):
    """The estimator had added it to what it showed: it was in no file, and gone from a model that was opened again."""
    search = GridSearchCV(make_pipeline(StandardScaler(), RemovableLogisticRegression()), {"memory": [None]}, cv=2)
    with pytest.warns(efface.GuaranteeWarning):
        model = search.fit(*rows).best_estimator_[-1]
    path, certificates = tmp_path / "model.efface", [model.certificate_]
    assert pickle.loads(pickle.dumps(model)).certificate_ == model.certificate_
    model.set_params(include_secret_state=True)
    certificates.append(pickle.loads(pickle.dumps(model)).release())
    model.save(path)
    certificates.append(model.release())
    model.close()
    with efface.open(path) as again:
        assert again.certificate_ == model.certificate_
        assert again.status_["outside_scope"] == DECLARED
        again.remove(ids=3)
        certificates.append(again.release())
        again.to_json(tmp_path / "model.json")
    for certificate in certificates:
        assert certificate["outside_scope"][-2:] == DECLARED
        assert len(certificate["outside_scope"]) == len(set(certificate["outside_scope"]))
    run(command, "verify", path, "--replay")
    signed = tmp_path / "model.json.certificate.json"
    run(command, "verify", signed, "--key", path / "signing.key.pub", "--model", tmp_path / "model.json")


def test_one_life_one_account(rows, tmp_path):
    model = RemovableLogisticRegression().fit(*rows)
    model.release()
    released = model.coef_
    model.save(tmp_path / "model.efface")
    assert np.array_equal(model.coef_, released)
    model.release()
    assert model.certificate_["release"] == 3
    model.close()
    with efface.open(tmp_path / "model.efface") as again:
        assert again.status_["n_releases"] == 3
        assert np.array_equal(again.coef_, model.coef_)


@pytest.mark.parametrize(
    "labels",
    [np.array([0, 1]), np.array([-7, 10]), np.array([False, True]), np.array(["no", "yes"]), np.array(["1", "a"])],
)
def test_classes_keep_their_type(rows, tmp_path, labels):
    X, y = rows
    RemovableLogisticRegression().fit(X, labels[y]).save(tmp_path / "m")
    # The estimator above is gone, and its directory free.
    with efface.open(tmp_path / "m") as again:
        assert again.classes_.dtype.kind == labels.dtype.kind
        assert again.classes_.tolist() == labels.tolist()
        assert again.score(X, labels[y]) > 0.9
        again.partial_fit(X[:1], labels[y][:1], ids=["later"])


def test_a_loss_without_an_estimator_is_refused(rows, tmp_path):
    """Any loss but the logistic one was taken for the squared one."""
    RemovableLogisticRegression().fit(*rows).save(tmp_path / "m")
    with efface.open(tmp_path / "m") as model:
        description = json.loads(_secret.find(model).engine.description())
    assert type(_directory._estimator(description)) is RemovableLogisticRegression
    for changed in ({"loss": "hinge"}, {"classes": []}):
        with pytest.raises(efface.DirectoryError, match=r"no estimator of this version has the (hinge|logistic) loss"):
            _directory._estimator(description | changed)


def test_classes_can_be_given(rows, tmp_path):
    X, y = rows
    RemovableLogisticRegression().fit(X, np.array(["1", "2"])[y]).save(tmp_path / "m")
    with efface.open(tmp_path / "m", classes=["1", "2"]) as again:
        assert again.classes_.tolist() == ["1", "2"]
    with pytest.raises(ValueError, match="classes must be those of the model"):
        efface.open(tmp_path / "m", classes=["1", "3"])


def test_feature_names_come_back(rows, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(rows[0], columns=list("abcde"))
    RemovableLogisticRegression().fit(frame, rows[1]).save(tmp_path / "named")
    RemovableLogisticRegression().fit(*rows).save(tmp_path / "plain")
    with efface.open(tmp_path / "named") as named, efface.open(tmp_path / "plain") as plain:
        assert named.feature_names_in_.tolist() == list("abcde")
        assert not hasattr(plain, "feature_names_in_")
        named.predict(frame)
        plain.predict(rows[0])


@pytest.mark.parametrize("first", [0, 1])
def test_columns_named_like_features_without_names_are_not_forgotten(rows, tmp_path, first):
    """Columns x0, x1, … were taken for made-up names: the opened model predicted on shuffled ones, and said nothing."""
    pandas = pytest.importorskip("pandas")
    X, y = rows
    frame = pandas.DataFrame(X, columns=[f"x{i}" for i in range(first, first + 5)])
    shuffled = frame[frame.columns[::-1]]
    model = RemovableLogisticRegression().fit(frame, y)
    twin = pickle.loads(pickle.dumps(model))
    model.save(tmp_path / "m")
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(shuffled)
    model.close()
    with efface.open(tmp_path / "m") as again:
        assert again.feature_names_in_.tolist() == frame.columns.tolist()
        for use in (twin.predict, again.predict, lambda X: again.partial_fit(X, y)):
            with pytest.raises(ValueError, match="feature names should match"):
                use(shuffled)
        assert np.array_equal(again.predict(frame), twin.predict(frame))


def test_features_without_names_stay_without(rows, tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = rows
    RemovableLogisticRegression().fit(X, y).save(tmp_path / "m")
    with efface.open(tmp_path / "m") as again:
        assert not hasattr(again, "feature_names_in_")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            expected = again.predict(X)
        with pytest.warns(UserWarning, match="was fitted without feature names"):
            again.predict(pandas.DataFrame(X, columns=list("abcde")))
        written = pandas.DataFrame(X, columns=[f"x{i}" for i in range(5)])
        with pytest.raises(ValueError, match=r"The feature names should match .*, x0 to x4 in this order: got x4, x3"):
            again.predict(written[written.columns[::-1]])
        with pytest.warns(UserWarning, match="was fitted without feature names"):
            assert np.array_equal(again.predict(written), expected)


def test_parameters_come_from_the_directory(rows, tmp_path):
    given = {"l2": 0.02, "epsilon": 0.5, "delta": 1e-5, "noise_std": 0.01, "scale": "clip:3", "fit_intercept": False}
    RemovableLogisticRegression(**given).fit(*rows).save(tmp_path / "m")
    with efface.open(tmp_path / "m") as again:
        found = again.get_params()
        assert {name: found[name] for name in given} == given


def test_the_largest_weight_comes_from_the_directory(rows, tmp_path):
    """It came back as the default, so that weights which the model allows were refused, and the other way round."""
    X, y = rows
    RemovableLogisticRegression(max_sample_weight=5000.0).fit(X, y, sample_weight=np.full(200, 2.0)).save(
        tmp_path / "m"
    )
    with efface.open(tmp_path / "m") as again:
        assert again.max_sample_weight == 5000.0
        again.partial_fit(X[:1], y[:1], ids=[1000], sample_weight=[3000.0])
        with pytest.raises(ValueError, match="at most max_sample_weight = 5000, got `6000` at row 0"):
            again.partial_fit(X[:1], y[:1], ids=[1001], sample_weight=[6000.0])


@pytest.mark.parametrize("n_jobs", [0, 1.5, "two", True])
def test_threads_are_checked_as_fit_does(fitted, tmp_path, n_jobs):
    fitted.save(tmp_path / "m")
    fitted.close()
    with pytest.raises(efface.PlanError, match="n_jobs must be None or an integer other than 0"):
        efface.open(tmp_path / "m", n_jobs=n_jobs)
    efface.open(tmp_path / "m", n_jobs=-1).close()


def test_looking_at_a_directory_releases_nothing(rows, tmp_path):
    model = RemovableLogisticRegression(auto_release=False).fit(*rows)
    model.save(tmp_path / "m")
    model.release()
    model.remove(ids=3)
    model.close()
    with efface.open(tmp_path / "m") as again:
        assert (again.status_["stale"], again.status_["n_releases"]) == (True, 2)
    assert again.status_["stale"] is True
    with efface.open(tmp_path / "m") as again:
        assert again.status_["n_releases"] == 2
        again.remove(ids=4)
    assert again.status_["stale"] is False
    assert again.certificate_["n_removed"] == 2


def test_looking_at_a_model_without_a_release_makes_none(fitted, tmp_path):
    fitted.save(tmp_path / "m")
    fitted.close()
    with efface.open(tmp_path / "m") as again:
        dir(again)
        estimator_html_repr(again)
        assert again.status_["n_releases"] == 1
        assert again.coef_.shape == (1, 5)
        assert again.status_["n_releases"] == 2


def test_directories_that_are_none_in_use_or_taken(rows, tmp_path):
    with pytest.raises(efface.DirectoryError):
        efface.open(tmp_path / "missing")
    with pytest.raises(OSError, match=str(tmp_path)):
        efface.open(tmp_path)
    with RemovableLogisticRegression().fit(*rows) as model:
        model.save(tmp_path / "m")
        with pytest.raises(efface.DirectoryError):
            efface.open(tmp_path / "m")
        with pytest.raises(efface.DirectoryError):
            RemovableLogisticRegression().fit(*rows).save(tmp_path / "m")
    efface.open(tmp_path / "m").close()


def test_a_closed_model_says_where_it_lives(rows, tmp_path):
    model = RemovableLogisticRegression().fit(*rows)
    model.save(tmp_path / "m")
    model.close()
    with pytest.raises(efface.SecretStateMissingError, match=r"efface\.open"):
        model.remove(ids=1)
    assert model.status_["path"] == str(tmp_path / "m")


def test_the_command_line_goes_on_with_a_saved_model(rows, tmp_path, command):
    path = tmp_path / "model.efface"
    model = RemovableLogisticRegression().fit(*rows, ids=[f"p{i}" for i in range(200)])
    model.save(path)
    model.close()
    run(command, "remove", path, "--id", "p7")
    status = json.loads(run(command, "status", path, "--json"))
    assert status["n_rows"] == 199
    run(command, "release", path, "--out", tmp_path / "model.json")
    run(command, "verify", path, "--replay")
    with efface.open(path) as again:
        assert again.status_["n_rows"] == 199
        published = json.loads((tmp_path / "model.json").read_text())
        assert np.allclose(again.coef_[0], published["weights"])
        with pytest.raises(efface.AlreadyRemovedError):
            again.remove(ids="p7")


def test_a_release_that_the_policy_holds_back_says_what_is_missing(rows, tmp_path, command):
    RemovableLogisticRegression().fit(*rows).save(tmp_path / "m")
    run(command, "policy", tmp_path / "m", "--min-removals", "3", "--release-every", "10 days")
    with efface.open(tmp_path / "m") as model:
        first = model.coef_
        model.remove(ids=7)
        with pytest.raises(efface.ReleaseHeldBackError, match=r"rows of at least 3 people .* 2 missing") as held_back:
            model.release()
        assert "10 days must pass" in str(held_back.value)
        assert "efface policy" in str(held_back.value)
        assert held_back.value.code == "held-back"
        with pytest.raises(RuntimeError, match="auto_release=False"):
            model.predict(rows[0])
        model.set_params(auto_release=False)
        with pytest.warns(efface.StaleReleaseWarning):
            assert np.array_equal(model.coef_, first)
        model.remove(ids=[8, 9])
        model.release()


def test_a_model_of_the_command_line_opens_here(rows, tmp_path, command):
    X, y = rows
    header = "who,a,b,c,d,e,label\n"
    lines = [
        f"{i},{','.join(map(repr, row.tolist()))},{label}\n" for i, (row, label) in enumerate(zip(X, y, strict=True))
    ]
    (tmp_path / "rows.csv").write_text(header + "".join(lines))
    path = tmp_path / "model.efface"
    run(command, "train", tmp_path / "rows.csv", "--label", "label", "--id", "who", "--intercept", "--out", path)
    with efface.open(path) as model:
        assert isinstance(model, RemovableLogisticRegression)
        assert model.feature_names_in_.tolist() == list("abcde")
        model.remove(ids=3)
        assert model.status_["n_rows"] == 199
        assert np.mean(model.predict(_frame(X)) == y) > 0.9


def test_columns_that_a_model_of_the_command_line_was_trained_on_are_not_mixed_up(rows, tmp_path, command):
    pandas = pytest.importorskip("pandas")
    X, y = rows
    frame = pandas.DataFrame(X, columns=[f"x{i}" for i in range(5)])
    frame.assign(label=y).to_csv(tmp_path / "rows.csv", index=False)
    run(command, "train", tmp_path / "rows.csv", "--label", "label", "--intercept", "--out", tmp_path / "m")
    with efface.open(tmp_path / "m") as model, pytest.raises(ValueError, match="x0 to x4 in this order: got x4, x3"):
        model.predict(frame[frame.columns[::-1]])


def test_the_command_line_names_no_row_that_an_index_does_not(rows, tmp_path, command):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(rows[0], columns=list("abcde"), index=[0] * 200)
    RemovableLogisticRegression().fit(frame, rows[1], subjects=np.arange(200) // 10).save(tmp_path / "m")
    run(command, "remove", tmp_path / "m", "--id", "7", code=2)
    run(command, "remove", tmp_path / "m", "--subject", "7")
    assert json.loads(run(command, "status", tmp_path / "m", "--json"))["n_rows"] == 190


def _frame(X):
    return pytest.importorskip("pandas").DataFrame(X, columns=list("abcde"))
