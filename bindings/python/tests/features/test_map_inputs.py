"""Raw cells in every form in which Python has them, and what is refused, with row and column."""

import io
import pathlib

import numpy as np
import pandas
import pytest

import efface
from efface import Fourier, Image, RemovableLogisticRegression, RemovableRidgeClassifier, Text

TEXTS = ["a fine film", "dull and endless", "fine and moving", "a dull film"] * 10
LIKED = np.array([True, False, True, False] * 10)


def tables(columns):
    """The same columns as frames of three packages."""
    pyarrow, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    return [pandas.DataFrame(columns), pyarrow.table(columns), polars.DataFrame(columns)]


def test_texts_come_as_lists_arrays_and_columns():
    expected = Text(64).transform(TEXTS)
    pyarrow, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    forms = [
        tuple(TEXTS),
        np.array(TEXTS),
        np.array(TEXTS, dtype=object),
        np.array(TEXTS)[:, None],
        pandas.Series(TEXTS),
        pandas.Series(TEXTS, dtype="string"),
        pandas.Series(TEXTS, dtype="category"),
        polars.Series(TEXTS),
        pyarrow.chunked_array([TEXTS[:7], TEXTS[7:]]),
        *tables({"review": TEXTS}),
    ]
    for form in forms:
        assert np.array_equal(Text(64).transform(form), expected), type(form)
    fitted = RemovableRidgeClassifier(features=Text(64)).fit(TEXTS, LIKED)
    for form in forms:
        assert fitted.predict(form).tolist() == LIKED.tolist(), type(form)


def test_frames_are_read_by_name():
    columns = {"stars": [None, *np.arange(39.0)], "review": TEXTS, "id": [f"r{i}" for i in range(40)]}
    features = {
        "review": Text(64),
        "stars": {"kind": "numeric", "range": [0, 40], "missing": "slot", "origin": "public"},
    }
    expected = None
    for frame in tables(columns):
        model = RemovableRidgeClassifier(features=features).fit(frame, LIKED, ids="id")
        assert model.feature_names_in_.tolist() == ["stars", "review"]
        assert model.encoded_feature_names_[:3].tolist() == ["stars", "stars=?missing", "review#0"]
        expected = model.coef_ if expected is None else expected
        assert np.array_equal(model.coef_, expected)
        turned = frame.select(["review", "stars"]) if hasattr(frame, "select") else frame[["review", "stars"]]
        assert np.array_equal(model.predict(turned), model.predict(frame))
        assert model.remove(ids="r3")["n_changed"] == 1
    with pytest.raises(efface.RowError, match="X has no column `stars`; its columns are review"):
        model.predict(pandas.DataFrame({"review": TEXTS}))


def pictures(n=24):
    rng = np.random.default_rng(0)
    return rng.integers(0, 255, (n, 8, 12, 3)).astype(np.uint8)


def test_images_come_as_arrays_lists_bytes_and_paths(tmp_path):
    pixels = pictures()
    PIL = pytest.importorskip("PIL.Image")
    files = []
    for index, image in enumerate(pixels):
        buffer = io.BytesIO()
        PIL.fromarray(image).save(buffer, format="PNG")
        files.append(buffer.getvalue())
        (tmp_path / f"{index}.png").write_bytes(files[-1])
    names = [tmp_path / f"{index}.png" for index in range(len(pixels))]
    expected = Image(8, 12).transform(pixels)
    assert expected.shape == (24, 486)
    forms = [
        pixels.astype(np.float64),
        pixels.astype(np.int16),
        pixels.reshape(24, -1),
        list(pixels),
        [PIL.fromarray(image) for image in pixels],
        files,
        names,
        list(map(str, names)),
        pandas.DataFrame({"photo": files}),
        pandas.Series(list(pixels)),
        pandas.DataFrame(pixels.reshape(24, -1)),
        *tables({"photo": files}),
        *tables({"photo": list(map(str, names))}),
    ]
    for form in forms:
        assert np.array_equal(Image(8, 12).transform(form), expected), type(form)
    with_gap = Image(8, 12, missing="slot").transform([*pixels[:2], None])
    assert np.array_equal(with_gap[:2, :-1], expected[:2])
    assert with_gap[2].tolist() == [0.0] * 486 + [1.0]
    assert Image(8, 8, resize=True).transform(files).shape == (24, 324)


def test_a_wrong_picture_is_named_by_its_row(tmp_path):
    pixels, y = pictures(), np.arange(24) % 2

    def refused(X, match, features=None):
        with pytest.raises(efface.RowError, match=match):
            RemovableLogisticRegression(features=features or Image(8, 12)).fit(X, y)

    refused(pixels.transpose(0, 3, 1, 2), r"column `\*`: images of shape \[3, 8, 12\], expected \[8, 12, 3\]")
    refused([*pixels[:23], pixels[0, :4]], r"row 23, column `\*`: an array of shape \(4, 12, 3\), the first is")
    refused([b"no picture"] * 24, r"row 0, column `\*`: not a PNG or JPEG file")
    refused([pathlib.Path(tmp_path / "none.png")] * 24, r"row 0, column `\*`: `none.png`: No such file")
    refused([*list(pixels[:23]), None], r"row 23, column `\*`: missing value")
    refused(pixels.astype(complex), "which is no feature")
    broken = pixels.astype(float)
    broken[5, 0, 0, 0] = np.inf
    refused(broken, r"row 5, column `\*`: value 0 must be finite")


def test_a_wrong_text_is_named_by_its_row():
    def refused(X, match, features=None):
        with pytest.raises(efface.RowError, match=match):
            RemovableLogisticRegression(features=features or Text(64)).fit(X, LIKED)

    refused([*TEXTS[:39], ""], "row 39, column `x0`: missing value")
    refused([*TEXTS[:39], None], "row 39, column `x0`: missing value")
    refused(pandas.DataFrame({"a": TEXTS, "b": TEXTS}), r"takes one column, and X has 2: name it")
    refused(pandas.DataFrame({"a": TEXTS}), "X has no column `b`; its columns are a", {"b": Text(64)})
    refused(np.array([TEXTS, TEXTS]).T, r"array of shape \(40, 2\)")
    refused([b"bytes"] * 40, "row 0, column `x0`: bytes")
    refused("a text", "X must be rows")
    numbers = pandas.DataFrame({"stars": [1.0] * 40, "review": TEXTS})
    refused(numbers, "row 0, column `review`: the schema declares numbers, got `a fine film`", Fourier(8, 1.0))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        RemovableLogisticRegression(features=Text(64)).fit(TEXTS[:-1], LIKED)
    with pytest.raises(ValueError, match="0 sample"):
        RemovableLogisticRegression(features=Text(64)).fit([], [])


def test_parameters_that_no_map_has_are_refused():
    def refused(features, match, **more):
        with pytest.raises(efface.PlanError, match=match):
            RemovableLogisticRegression(features=features, **more).fit(pandas.DataFrame({"review": TEXTS}), LIKED)

    refused(Text(60), "buckets must be a power of two, got `60`")
    refused(Text(64, characters=(4, 2)), "n-grams of characters must go from at least 1")
    refused(Text(64, words=3), "words must be a pair of integers")
    refused(Image(9, 8), "height must be a multiple of 4, got `9`")
    refused(Fourier(0, 1.0, of=Text(64)), "width must be at least 1")
    refused(Fourier(8, 1.0, of={"review": {"kind": "derived"}}), "derived from the rows")
    refused({"review": "text"}, "column `review` must be a map")
    refused({"review": {"kind": "text", "buckets": 64, "range": [0, 1]}}, "`range` does not belong to kind `text`")
    refused({"review": {"kind": "standardize"}}, "is fitted on the rows")
    refused(7, "features must be a map")
    refused({"review": {"kind": "derived"}}, "takes scale `auto`, got `unit`", scale="unit")


def test_markers_of_gaps_are_those_of_frames_without_maps():
    frame = pandas.DataFrame({"review": TEXTS, "plan": ["basic", "?"] * 20})
    model = RemovableLogisticRegression(features={"review": Text(64)}).fit(frame, LIKED)
    assert model.encoded_feature_names_[-2:].tolist() == ["plan=basic", "plan=?missing"]


def test_progress_is_shown(capfd):
    RemovableLogisticRegression(features=Text(64), verbose=True).fit(TEXTS, LIKED)
    assert "features of RemovableLogisticRegression" in capfd.readouterr().err
