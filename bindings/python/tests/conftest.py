"""Rows for the tests, and what has to be set before anything is imported."""

import os

# scikit-learn's check of array API input runs only with this; it must stand before SciPy is imported.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import shutil
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import efface


def pytest_configure(config):
    """A warning about the guarantee that no test expects is a failure."""
    config.addinivalue_line("filterwarnings", "error::efface.GuaranteeWarning")
    config.addinivalue_line("filterwarnings", "error::efface.StaleReleaseWarning")
    config.addinivalue_line("filterwarnings", "error::efface.UncertifiedWarning")


@pytest.fixture
def rows():
    """200 rows of 5 features, two classes that a line nearly separates."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    y = (X @ [1.0, -1.0, 0.5, 0.0, 0.0] + 0.3 * rng.normal(size=200) > 0).astype(int)
    return X, y


@pytest.fixture(scope="session")
def cancer():
    """Breast cancer, 569 rows of 30 features, brought to similar sizes by constants."""
    X, y = load_breast_cancer(return_X_y=True)
    return X / 10.0 ** np.round(np.log10(X.max(axis=0))), y


@pytest.fixture
def fitted(rows):
    """A logistic regression on ``rows``."""
    return efface.RemovableLogisticRegression().fit(*rows)


@pytest.fixture(scope="session")
def data():
    """The folder of real data sets, described in docs/data.md."""
    folder = os.environ.get("EFFACE_DATA", "")
    if folder == "none":
        pytest.skip("EFFACE_DATA is `none`: there are no real data sets here")
    if not folder:
        pytest.fail("EFFACE_DATA is not set: name the folder that docs/data.md describes, or `none` to skip this test")
    missing = [name for name in ("adult", "mnist", "sst-features") if not (Path(folder) / name).is_dir()]
    if missing:
        pytest.fail(f"EFFACE_DATA is `{folder}`, which does not have {', '.join(missing)}; see docs/data.md")
    return Path(folder)


@pytest.fixture(scope="session")
def command():
    """The command line ``efface``, if it has been built."""
    root = Path(__file__).parents[3]
    named = os.environ.get("EFFACE_COMMAND")
    candidates = [named] if named else [root / "target" / build / "efface" for build in ("debug", "release")]
    found = next((str(path) for path in candidates if shutil.which(path)), None)
    if found is None:
        pytest.skip("the command line is not built; `cargo build` builds it, or EFFACE_COMMAND names it")
    return found
