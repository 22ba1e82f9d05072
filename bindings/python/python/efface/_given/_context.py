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
        if isinstance(caller, _class(module, name))
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


def _class(module: str, name: str) -> type | tuple[()]:
    """A class of scikit-learn, unless nobody has imported it yet: then nothing is one of its objects."""
    found: type | tuple[()] = getattr(sys.modules.get(module), name, ())
    return found


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
    kind = type(transformer)
    if any(kind is _class(module, name) for module, name in _COUNTS_COLUMNS):
        return False
    for (module, name), declared in _DECLARED.items():
        if kind is _class(module, name):
            return not declared(transformer)
    try:
        return bool(get_tags(transformer).requires_fit)
    except AttributeError:
        # Something that is no estimator of scikit-learn and tells nothing about itself.
        return True


# Their fit looks at the number of columns only, or at nothing, though they say that it is required. What was frozen has
# been fitted elsewhere; that it is public is the word of whoever froze it. Their subclasses may do
# otherwise and are not meant.
_COUNTS_COLUMNS = (
    ("sklearn.frozen", "FrozenEstimator"),
    ("sklearn.preprocessing", "FunctionTransformer"),
    ("sklearn.random_projection", "GaussianRandomProjection"),
    ("sklearn.feature_extraction.text", "HashingVectorizer"),
    ("sklearn.preprocessing", "Normalizer"),
    ("sklearn.preprocessing", "PolynomialFeatures"),
    ("sklearn.kernel_approximation", "PolynomialCountSketch"),
    ("sklearn.kernel_approximation", "RBFSampler"),
    ("sklearn.kernel_approximation", "SkewedChi2Sampler"),
    ("sklearn.random_projection", "SparseRandomProjection"),
)


def _has_declared_categories(encoder: Any) -> bool:
    no_counting = getattr(encoder, "min_frequency", None) is None and getattr(encoder, "max_categories", None) is None
    return not isinstance(encoder.categories, str) and no_counting


def _fills_a_constant(imputer: Any) -> bool:
    return bool(imputer.strategy == "constant" and not imputer.add_indicator)


# Data-dependent unless what they would learn is declared.
_DECLARED: dict[tuple[str, str], Callable[[Any], bool]] = {
    ("sklearn.preprocessing", "OneHotEncoder"): _has_declared_categories,
    ("sklearn.preprocessing", "OrdinalEncoder"): _has_declared_categories,
    ("sklearn.impute", "SimpleImputer"): _fills_a_constant,
    ("sklearn.feature_extraction.text", "CountVectorizer"): lambda vectorizer: vectorizer.vocabulary is not None,
}
