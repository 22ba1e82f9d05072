"""The exact weights and the rows are nowhere that a user, a log or a file could pick them up by accident."""

import copy
import io
import pickle
import pprint

import numpy as np
import pytest
from sklearn import config_context
from sklearn.utils import estimator_html_repr

from efface import RemovableLogisticRegression, _secret

# The noise is so large that released weights cannot be taken for the exact ones.
LOUD = {"noise_std": 5.0}


@pytest.fixture
def model(rows):
    return RemovableLogisticRegression(**LOUD).fit(*rows, ids=[f"customer-{i}" for i in range(200)])


@pytest.fixture
def exact(rows):
    quiet = RemovableLogisticRegression(noise_std=1e-8, epsilon=100.0).fit(*rows)
    return np.append(quiet.coef_, quiet.intercept_)


def arrays_within(value, seen=None):
    """All arrays that can be reached from a value through attributes and containers."""
    seen = set() if seen is None else seen
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, dict):
        for entry in value.values():
            yield from arrays_within(entry, seen)
    elif isinstance(value, (list, tuple, set)):
        for entry in value:
            yield from arrays_within(entry, seen)
    elif hasattr(value, "__dict__"):
        yield from arrays_within(vars(value), seen)


def test_dict_holds_no_engine_and_no_exact_weight(model, exact):
    assert not any("engine" in type(value).__name__.lower() for value in vars(model).values())
    for array in arrays_within(vars(model)):
        if array.dtype.kind == "f":
            assert array.size <= exact.size, "rows are in __dict__"
            assert not np.isclose(array.ravel()[:, None], exact, rtol=1e-6).any()


def test_weights_shown_are_noisy_everywhere(model, exact):
    assert np.abs(np.append(model.coef_, model.intercept_) - exact).max() > 0.5


@pytest.mark.parametrize("show", [repr, str, estimator_html_repr, pprint.pformat, lambda model: repr(vars(model))])
def test_no_text_shows_a_weight_or_an_id(model, exact, show):
    with config_context(print_changed_only=False):
        text = show(model)
    assert "customer-" not in text
    for weight in exact:
        assert f"{weight:.4f}"[:-1] not in text


def test_the_engine_shows_nothing():
    engine = _engine_of(RemovableLogisticRegression().fit([[0.0], [1.0]], [0, 1]))
    assert repr(engine) == "<efface engine>"
    assert not hasattr(engine, "__dict__")
    public = {name for name in dir(engine) if not name.startswith("_")}
    assert public.isdisjoint({"weights", "rows", "gradient", "hessian", "gram"})
    with pytest.raises(TypeError):
        pickle.dumps(engine)


def test_the_secret_prints_nothing(model):
    assert repr(_secret.find(model)) == "Secret(n_drawn=0)"


def test_pickles_hold_neither_rows_nor_exact_weights(model, exact, rows):
    for data in (pickle.dumps(model), pickle.dumps(copy.copy(model)), pickle.dumps(copy.deepcopy(model))):
        assert b"customer-" not in data
        assert len(data) < 40_000
        for number in (*exact, *rows[0][:3].ravel()):
            assert np.float64(number).tobytes() not in data


def test_an_estimator_takes_its_secret_along_when_it_goes(rows):
    before = len(_secret._SECRETS)
    RemovableLogisticRegression().fit(*rows)
    assert len(_secret._SECRETS) == before


def test_status_and_certificate_show_no_id_and_no_weight(model, exact):
    out = io.StringIO()
    pprint.pprint([model.status_, model.certificate_], stream=out)
    assert "customer-" not in out.getvalue()
    for weight in exact:
        assert repr(float(weight))[:8] not in out.getvalue()


def _engine_of(model):
    return _secret.find(model).engine
