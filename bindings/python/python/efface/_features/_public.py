"""Transformers of others, which users declare public: what they are called, and the digest that names them."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from joblib.hashing import NumpyHasher
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone

from efface._exceptions import PlanError, RowError
from efface._features._maps import Entry, Map
from efface._given._learning import learns


class Public(Map):
    """Any transformer that nothing was fitted on, or not on these rows: your word, and certificates say so.

    Its features are divided by their norm, as those of networks are. It is never fitted here; what was fitted
    elsewhere, on public rows, goes in a `sklearn.frozen.FrozenEstimator`. Certificates name it, with a SHA-256 over its
    class, its parameters (its state, if it is frozen) and the version of scikit-learn. A model without noise hands it
    one row at a time, because its release shows the last bit of every feature.

    Parameters
    ----------
    transformer : object
        With a ``transform`` that takes each row by itself.

    Examples
    --------
    >>> import efface
    >>> from sklearn.feature_extraction.text import HashingVectorizer
    >>> texts, liked = ["a fine film", "dull", "fine", "a dull film"] * 25, [1, 0, 1, 0] * 25
    >>> features = efface.Public(HashingVectorizer(n_features=256))
    >>> model = efface.RemovableLogisticRegression(C=100.0, features=features).fit(texts, liked)
    >>> model.certificate_["feature_maps"][0]["origin"]
    'public'
    """

    def __init__(self, transformer: Any) -> None:
        self.transformer = transformer

    def entry(self) -> Entry:
        """The entry of a column in a schema, without its name and the number of features."""
        return {
            "kind": "transformer",
            "transformer": type(self.transformer).__name__,
            "sha256": digest(self.transformer),
            "origin": "public",
        }

    def made(self, X: Any, *, one_by_one: bool = False) -> NDArray[Any]:
        """What the transformer makes of rows, as an array of numbers.

        Matrix products round by the shape of all rows together: ``one_by_one`` makes features of a row that no other
        row has a part in, to the last bit.
        """
        if one_by_one and len(X) > 1:
            return np.concatenate([self.made(X[row : row + 1]) for row in range(len(X))])
        module = type(X).__module__.partition(".")[0]
        if module in ("pyarrow", "polars") and not hasattr(X, "columns"):
            X = X.to_pylist() if module == "pyarrow" else X.to_list()
        made = self.transformer.transform(X)
        made = made.toarray() if issparse(made) else np.asarray(made)
        if made.ndim != 2 or made.dtype.kind not in "biuf":
            raise RowError(
                f"{type(self.transformer).__name__} must make an array of numbers of shape (rows, features), got one "
                f"of shape {made.shape} and type {made.dtype}"
            )
        return made


def digest(transformer: Any) -> str:
    """SHA-256 of what a transformer is: its class and its parameters; the state of one that is frozen."""
    kind = type(transformer)
    if not hasattr(transformer, "transform"):
        raise PlanError(f"a transformer needs a method `transform`, and {kind.__name__} has none")
    if learns(transformer):
        raise PlanError(
            f"{kind.__name__} learns from the rows it is fitted on: fit it on public rows, and give it as "
            f"efface.Public(sklearn.frozen.FrozenEstimator({kind.__name__.lower()}))"
        )
    try:
        # A clone has its parameters, and nothing that it notes while it works; what is frozen is its own clone. Equal
        # objects have one digest, in whatever order their dictionaries are.
        state = NumpyHasher(hash_name="sha256").hash(clone(transformer, safe=False))
    except Exception as error:
        raise PlanError(
            f"{kind.__name__} cannot be named by a digest, because it cannot be pickled: {error}"
        ) from error
    return hashlib.sha256(f"{kind.__module__}.{kind.__qualname__}\n{state}".encode()).hexdigest()
