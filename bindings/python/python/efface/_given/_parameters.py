"""From an estimator's parameters to the configuration of the engine.

Whether values can be trained with is decided below, by the engine; here what it cannot know: types as Python has them,
the names under which scikit-learn has tolerances and the strength of the regularisation, and rows taken ``"raw"``.
"""

from __future__ import annotations

import json
import math
import numbers
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from efface._exceptions import PlanError
from efface._given import _labels


def config(estimator: Any, *, loss: str, scale: str) -> str:
    """The configuration of a training, as JSON."""
    return json.dumps(
        {
            "loss": loss,
            **_ridge(estimator),
            "mechanism": str(estimator.mechanism),
            "noise_std": None if estimator.noise_std is None else _real(estimator.noise_std, "noise_std"),
            "epsilon": _real(estimator.epsilon, "epsilon"),
            "delta": _real(estimator.delta, "delta"),
            "tolerance": _positive(estimator.tol, "tol"),
            "scale": scale,
            "intercept": bool(estimator.fit_intercept),
            "max_row_weight": max_sample_weight(estimator),
            "row_norm_from_rows": estimator.scale == "raw" and scale != "raw",
            "max_releases": _count(estimator.max_releases, "max_releases"),
            "multi_class": str(getattr(estimator, "multi_class", "one-vs-rest")),
            "class_weights": class_weights(estimator),
        }
    )


def _ridge(estimator: Any) -> dict[str, float]:
    """The λ of (λ Σ sᵢ / 2)‖w‖², or the α of (α / 2)‖w‖², whichever name it was given under."""
    given = {name: getattr(estimator, name, None) for name in ("l2", "C", "alpha")}
    named = {name: _positive(value, name) for name, value in given.items() if value is not None}
    if len(named) > 1:
        listed = " and ".join(f"{name}={value:g}" for name, value in named.items())
        raise PlanError(f"l2, C and alpha are names of one thing: at most one may be given, got {listed}")
    if "C" in named:
        alpha = 1.0 / named["C"]
        if not math.isfinite(alpha):
            raise PlanError(f"1 / C must be finite, got C=`{named['C']:g}`")
        return {"alpha": alpha}
    return named or {"alpha": 1.0}


def declared_scale(estimator: Any) -> str:
    """The parameter ``scale``, checked; where maps make features, ``"auto"`` leaves their length as it is."""
    scale = estimator.scale
    if scale == "auto" and estimator.features is not None:
        encoding = getattr(estimator, "_encoding", None)
        return "none" if encoding is None else str(encoding.scale)
    if isinstance(scale, str):
        kind, colon, radius = scale.partition(":")
        if kind in ("auto", "unit", "none", "raw") and not colon:
            return scale
        if kind in ("clip", "within") and _is_radius(radius):
            return scale
    raise PlanError(
        f'scale must be "auto", "unit", "clip:R", "within:R", "none" or "raw", R a positive number, got `{scale!r}`'
    )


def _is_radius(text: str) -> bool:
    try:
        return text == text.strip() and "_" not in text and 0.0 < float(text) < math.inf
    except ValueError:
        return False


def raw_scale(longest_row: float) -> str:
    """What ``"raw"`` stands for with noise: rows as they are, within the least power of two that none exceeds."""
    if longest_row <= 0.0:
        return "within:1"
    mantissa, exponent = math.frexp(longest_row)
    radius = math.ldexp(1.0, exponent - 1 if mantissa == 0.5 else exponent)
    return f"within:{radius!r}".removesuffix(".0")


def max_sample_weight(estimator: Any) -> float:
    """The parameter of that name."""
    return _positive(estimator.max_sample_weight, "max_sample_weight")


def class_weights(estimator: Any) -> dict[str, float]:
    """The parameter ``class_weight``, by the names of classes as the engine writes them."""
    given = getattr(estimator, "class_weight", None)
    if given is None:
        return {}
    if isinstance(given, str) and given == "balanced":
        raise PlanError(
            'class_weight="balanced" would remember how frequent classes were when removed rows were there; give '
            "numbers of your own, as in {0: 1, 1: 20}"
        )
    if not isinstance(given, Mapping):
        raise PlanError(f"class_weight must be a dict, got `{given!r}`")
    names = _labels.names(np.array(list(given), dtype=object))
    return {name: _positive(weight, "class_weight") for name, weight in zip(names, given.values(), strict=True)}


def n_threads(n_jobs: Any) -> int | None:
    """Threads by the rules of ``n_jobs``: -1 is all processors that this process may use, -2 all but one.

    None is the number in ``OMP_NUM_THREADS``, with which joblib keeps its workers from taking all processors each;
    without one it is left to the engine, which takes all.
    """
    if n_jobs is None:
        told = os.environ.get("OMP_NUM_THREADS", "").strip()
        return int(told) if told.isdecimal() and int(told) > 0 else None
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral) or n_jobs == 0:
        raise PlanError(f"n_jobs must be None or an integer other than 0, got `{n_jobs!r}`")
    number = int(n_jobs)
    return number if number > 0 else max(1, _n_processors() + 1 + number)


def _n_processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _real(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise PlanError(f"{name} must be a number, got `{value!r}`")
    if not math.isfinite(value):
        raise PlanError(f"{name} must be finite, got `{value}`")
    return float(value)


def _positive(value: Any, name: str) -> float:
    number = _real(value, name)
    if number <= 0.0:
        raise PlanError(f"{name} must be positive and finite, got `{number:g}`")
    return number


def _count(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1:
        raise PlanError(f"{name} must be an integer of at least 1, got `{value!r}`")
    return int(value)
