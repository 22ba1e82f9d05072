"""From an estimator's parameters to the configuration of the engine.

Whether values can be trained with is decided below, by the engine; here only what it cannot know: types as Python has
them, the names under which scikit-learn has the strength of the regularisation, and rows taken ``"raw"``.
"""

from __future__ import annotations

import json
import math
import numbers
import os
from typing import Any

from efface._exceptions import PlanError

DEFAULT_L2 = 1e-3


def config(estimator: Any, *, loss: str, l2: float, scale: str) -> str:
    """The configuration of a training, as JSON."""
    noise_std = estimator.noise_std
    return json.dumps(
        {
            "loss": loss,
            "l2": l2,
            "mechanism": _one_of(estimator.mechanism, "mechanism", ("release", "objective")),
            "noise_std": None if noise_std is None else _real(noise_std, "noise_std"),
            "epsilon": _real(estimator.epsilon, "epsilon"),
            "delta": _real(estimator.delta, "delta"),
            "tolerance": _real(estimator.tol, "tol"),
            "scale": scale,
            "intercept": bool(estimator.fit_intercept),
            "max_row_weight": max_sample_weight(estimator),
        }
    )


def l2_per_row(estimator: Any, weight_sum: float) -> float:
    """The strength λ of L(w) = Σ sᵢ ℓᵢ(w) + (λ Σ sᵢ / 2)‖w‖², whichever name it was given under."""
    given = {name: getattr(estimator, name, None) for name in ("l2", "C", "alpha")}
    named = {name: _positive(value, name) for name, value in given.items() if value is not None}
    if len(named) > 1:
        listed = " and ".join(f"{name}={value:g}" for name, value in named.items())
        raise PlanError(f"l2, C and alpha are names of one thing: at most one may be given, got {listed}")
    if "C" in named:
        return 1.0 / (named["C"] * weight_sum)
    if "alpha" in named:
        return named["alpha"] / weight_sum
    return named.get("l2", DEFAULT_L2)


def declared_scale(estimator: Any) -> str:
    """The parameter ``scale``: a text."""
    scale = estimator.scale
    if not isinstance(scale, str):
        raise PlanError(f'scale must be "unit", "clip:R", "within:R", "none" or "raw", got `{scale!r}`')
    return scale


def raw_scale(longest_row: float) -> str:
    """The scale that ``"raw"`` stands for: rows as they are, within the least power of two that none exceeds."""
    if longest_row <= 0.0:
        return "within:1"
    mantissa, exponent = math.frexp(longest_row)
    radius = math.ldexp(1.0, exponent - 1 if mantissa == 0.5 else exponent)
    return f"within:{radius!r}".removesuffix(".0")


def max_sample_weight(estimator: Any) -> float:
    """The parameter of that name."""
    return _positive(estimator.max_sample_weight, "max_sample_weight")


def n_threads(estimator: Any) -> int | None:
    """Threads by the rules of ``n_jobs``: None leaves it to the engine, -1 is all cores, -2 all but one."""
    n_jobs = estimator.n_jobs
    if n_jobs is None:
        return None
    if not isinstance(n_jobs, numbers.Integral) or n_jobs == 0:
        raise PlanError(f"n_jobs must be None or an integer other than 0, got `{n_jobs!r}`")
    number = int(n_jobs)
    return number if number > 0 else max(1, (os.cpu_count() or 1) + 1 + number)


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


def _one_of(value: Any, name: str, values: tuple[str, ...]) -> str:
    if value not in values:
        raise PlanError(f"{name} must be one of {', '.join(map(repr, values))}, got `{value!r}`")
    return str(value)
