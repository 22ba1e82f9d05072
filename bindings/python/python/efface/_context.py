"""What a ``fit`` is part of, and what of that is fitted on the same rows.

A certificate speaks about the model's own weights. A scaler before it in a Pipeline has means that remember every row;
hyper-parameters that a search picked by looking at the rows do, too. Neither is told to the model, so it looks at who
calls: the frames of scikit-learn's ``Pipeline.fit``, ``GridSearchCV.fit`` and their kin that are at work.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils import get_tags


@dataclass(frozen=True)
class Finding:
    """Something around the model that is outside its guarantee."""

    tag: str
    text: str


@dataclass(frozen=True)
class Context:
    """What a fit is part of.

    Attributes
    ----------
    findings : tuple of Finding
        What else was fitted on the same rows.
    is_trial : bool
        Whether this is one of many fits that a cross-validation makes and throws away: then warnings would be noise.
    """

    findings: tuple[Finding, ...]
    is_trial: bool


def enclosing() -> Context:
    """Looks at the calls that this one is made from."""
    findings: list[Finding] = []
    is_trial = False
    for name, caller in _callers(sys._getframe(1)):
        if name == "_fit_and_score":
            is_trial = True
        elif isinstance(caller, Pipeline):
            findings.extend(_of_steps(caller.steps[:-1]))
        elif isinstance(caller, BaseSearchCV) and not is_trial:
            title = type(caller).__name__
            findings.append(
                Finding(f"hyper-parameters:{title}", f"{title} chose hyper-parameters by their score on the same rows")
            )
        elif isinstance(caller, TransformedTargetRegressor) and caller.transformer is not None:
            findings.extend(_of_steps([("transformer", caller.transformer)]))
    return Context(tuple(dict.fromkeys(findings)), is_trial)


def _callers(frame: FrameType | None) -> Iterator[tuple[str, Any]]:
    while frame is not None:
        name = frame.f_code.co_name
        if name == "_fit_and_score":
            yield name, None
        elif name in ("fit", "fit_predict", "partial_fit"):
            yield name, frame.f_locals.get("self")
        frame = frame.f_back


def _of_steps(steps: list[tuple[str, Any]]) -> list[Finding]:
    return [
        Finding(
            f"fitted-preprocessing:{type(step).__name__}",
            f"{type(step).__name__} (`{name}`) is fitted on the same rows and remembers those that are removed",
        )
        for name, step in _leaves(steps)
        if _learns(step)
    ]


def _leaves(steps: list[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Transformers, those inside of pipelines, unions and column transformers too."""
    for name, step in steps:
        if step is None or isinstance(step, str):
            continue
        if isinstance(step, Pipeline):
            yield from _leaves(step.steps)
        elif isinstance(step, FeatureUnion):
            yield from _leaves(list(step.transformer_list))
        elif isinstance(step, ColumnTransformer):
            yield from _leaves([(name, inner) for name, inner, _ in step.transformers])
            yield from _leaves([("remainder", step.remainder)])
        else:
            yield name, step


def _learns(transformer: Any) -> bool:
    """Whether its ``fit`` takes more from the rows than the number of their columns."""
    title = type(transformer).__name__
    if title in _COUNTS_COLUMNS:
        return False
    declared = _DECLARED.get(title)
    if declared is not None:
        return not declared(transformer)
    return bool(get_tags(transformer).requires_fit)


# Their fit looks at the number of columns only, or at nothing, though they say that it is required. What was frozen has
# been fitted elsewhere; that it is public is the word of whoever froze it.
_COUNTS_COLUMNS = frozenset(
    {
        "FrozenEstimator",
        "FunctionTransformer",
        "GaussianRandomProjection",
        "HashingVectorizer",
        "Normalizer",
        "PolynomialFeatures",
        "PolynomialCountSketch",
        "RBFSampler",
        "SkewedChi2Sampler",
        "SparseRandomProjection",
    }
)


def _has_declared_categories(encoder: Any) -> bool:
    no_counting = getattr(encoder, "min_frequency", None) is None and getattr(encoder, "max_categories", None) is None
    return not isinstance(encoder.categories, str) and no_counting


# Data-dependent unless what they would learn is declared.
_DECLARED: dict[str, Callable[[Any], bool]] = {
    "OneHotEncoder": _has_declared_categories,
    "OrdinalEncoder": _has_declared_categories,
    "CountVectorizer": lambda vectorizer: vectorizer.vocabulary is not None,
}
