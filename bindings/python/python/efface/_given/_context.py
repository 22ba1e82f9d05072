"""What a ``fit`` is part of, and what of that is fitted on the same rows.

A certificate speaks about the model's own weights. A scaler before it in a Pipeline has means that remember every row;
hyper-parameters that a search picked by looking at the rows do, too. Neither is told to the model, so it looks at who
calls: the frames of scikit-learn's ``Pipeline.fit``, ``GridSearchCV.fit`` and their kin that are at work.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any

from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.pipeline import FeatureUnion, Pipeline

from efface._features._maps import Fourier, Map, Network
from efface._features._public import Public
from efface._given._learning import class_of, learns


@dataclass(frozen=True)
class Finding:
    """Something around the model that is outside its guarantee.

    Attributes
    ----------
    tag : str
        As certificates list it.
    text : str or None
        For a warning; None: it rests on the user's word, which the certificate says, and nobody is warned of.
    """

    tag: str
    text: str | None


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
        if name in _TRIALS:
            is_trial = True
        elif isinstance(caller, Pipeline):
            findings.extend(_of_steps(caller.steps[:-1]))
        elif isinstance(caller, TransformedTargetRegressor) and caller.transformer is not None:
            findings.extend(_of_steps([("transformer", caller.transformer)]))
        elif caller is not None and not is_trial:
            findings.extend(_of_wrapper(caller))
    return Context(tuple(dict.fromkeys(findings)), is_trial)


# The functions of scikit-learn that fit a model, look at its scores, and throw it away.
_TRIALS = frozenset(
    {
        "_fit_and_score",
        "_fit_and_predict",
        "_fit_and_score_over_thresholds",
        "_incremental_fit_and_score",
        "_permutation_test_score",
        "_rfe_single_fit",
    }
)


def _callers(frame: FrameType | None) -> Iterator[tuple[str, Any]]:
    while frame is not None:
        name = frame.f_code.co_name
        if name in _TRIALS and frame.f_globals.get("__name__", "").startswith("sklearn."):
            yield name, None
        elif name in ("fit", "fit_predict", "partial_fit"):
            yield name, frame.f_locals.get("self")
        frame = frame.f_back


def _of_wrapper(caller: Any) -> list[Finding]:
    """What estimators that fit others, and something besides, do to the guarantee."""
    title = type(caller).__name__
    return [
        Finding(f"{tag}:{title}", f"{title} {text}")
        for module, name, tag, text in _WRAPPERS
        if isinstance(caller, class_of(module, name))
    ]


_WRAPPERS = (
    (
        "sklearn.model_selection._search",
        "BaseSearchCV",
        "hyper-parameters",
        "chose hyper-parameters by their score on the same rows",
    ),
    ("sklearn.calibration", "CalibratedClassifierCV", "calibration", "fits a calibration on the same rows"),
    ("sklearn.model_selection", "TunedThresholdClassifierCV", "threshold", "chooses a threshold by the same rows"),
    ("sklearn.feature_selection", "RFE", "feature-selection", "chooses features by the same rows"),
    ("sklearn.ensemble", "StackingClassifier", "stacking", "fits other models on the same rows"),
    ("sklearn.ensemble", "StackingRegressor", "stacking", "fits other models on the same rows"),
)


def _of_steps(steps: list[tuple[str, Any]]) -> list[Finding]:
    return [finding for name, step in _leaves(steps) for finding in _of_step(name, step)]


def _of_step(name: str, step: Any) -> Iterator[Finding]:
    title = type(step).__name__
    if isinstance(step, Fourier):
        inner = step.of.values() if isinstance(step.of, Mapping) else [step.of]
        for map in inner:
            yield from _of_step(name, map) if isinstance(map, Map) else ()
    elif isinstance(step, Public):
        yield Finding(f"declared-public:{type(step.transformer).__name__}", None)
    elif isinstance(step, Network) and step.origin == "public":
        yield Finding(f"declared-public:{title}", None)
    elif isinstance(step, Network):
        text = f'nobody says that {title} (`{name}`) was trained without these rows: origin="public" does'
        yield Finding(f"fitted-preprocessing:{title}", text)
    elif not isinstance(step, Map) and learns(step):
        text = f"{title} (`{name}`) is fitted on the same rows and remembers those that are removed"
        yield Finding(f"fitted-preprocessing:{title}", text)


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
