"""Which transformers learn from the rows that they are fitted on."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from sklearn.utils import get_tags


def learns(transformer: Any) -> bool:
    """Whether its ``fit`` takes more from the rows than the number of their columns."""
    kind = type(transformer)
    if any(kind is class_of(module, name) for module, name in _COUNTS_COLUMNS):
        return False
    for (module, name), declared in _DECLARED.items():
        if kind is class_of(module, name):
            return not declared(transformer)
    try:
        return bool(get_tags(transformer).requires_fit)
    except AttributeError:
        # Something that is no estimator of scikit-learn and tells nothing about itself.
        return True


def class_of(module: str, name: str) -> type | tuple[()]:
    """A class of scikit-learn, unless nobody has imported it yet: then nothing is one of its objects."""
    found: type | tuple[()] = getattr(sys.modules.get(module), name, ())
    return found


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
