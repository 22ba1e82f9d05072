"""Estimators backed by a model directory, the one that the command line ``efface`` works on."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from efface import _secret
from efface._classifier import RemovableClassifier
from efface._efface import Engine
from efface._exceptions import DirectoryError
from efface._features._encoding import ALL, Encoding
from efface._features._maps import Schema
from efface._given import _labels, _parameters
from efface._logistic import RemovableLogisticRegression
from efface._ridge import RemovableRidge
from efface._ridge_classifier import RemovableRidgeClassifier

Path = str | os.PathLike[str]
Estimator = RemovableLogisticRegression | RemovableRidge | RemovableRidgeClassifier


def open(
    path: Path,
    *,
    classes: Any = None,
    memory_bytes: int | None = None,
    witness: Path | None = None,
    key: Path | None = None,
    passphrase: str | None = None,
    wait: float = 0.0,
    n_jobs: int | None = None,
    auto_release: bool = True,
    features: Any = None,
) -> Estimator:
    """Open a model directory, made by ``save`` or by the command line.

    The directory is in use until ``close()``, or the end of a ``with`` block; others who open it meanwhile are told so.

    Parameters
    ----------
    path : str or path-like
        The directory.
    classes : array-like, optional
        The classes as values of Python, in the order of their names. Default: names that are all integers become
        integers, ``true`` and ``false`` booleans, others stay text.
    memory_bytes : int, optional
        How much memory rows may take; the others are read block by block. Default: a quarter of the machine's.
    witness : str or path-like, optional
        The file elsewhere that remembers what was removed.
    key, passphrase : optional
        The file with the key that signs, and its passphrase.
    wait : float, default=0.0
        Seconds to wait for a directory that is in use.
    n_jobs : int, optional
        Threads, by the rules of the estimators' parameter of that name.
    auto_release : bool, default=True
        As the estimators' parameter of that name.
    features : Public or dict of str to Public, optional
        The transformers that made features, which are no part of the directory; by column where there are several. All
        other maps are in it.

    Returns
    -------
    model : estimator
        The estimator of the model's loss, fitted.

    Examples
    --------
    >>> import tempfile, efface
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> path = tempfile.mkdtemp() + "/iris.efface"
    >>> with efface.RemovableLogisticRegression().fit(X, y) as model:
    ...     report = model.save(path)
    >>> with efface.open(path) as model:
    ...     report = model.remove(ids=3)
    ...     print(model.classes_, model.status_["n_rows"])
    [0 1 2] 149
    """
    engine = Engine.open(
        os.fspath(path),
        memory_bytes=memory_bytes,
        witness=None if witness is None else os.fspath(witness),
        key=None if key is None else os.fspath(key),
        passphrase=passphrase,
        wait=float(wait),
        n_threads=_parameters.n_threads(n_jobs),
    )
    description: dict[str, Any] = json.loads(engine.description())
    estimator = _estimator(description, n_jobs=n_jobs, auto_release=auto_release)
    _describe(estimator, description, classes)
    if description["schema"] is not None:
        _describe_features(estimator, description, os.fspath(path), features)
    secret = _secret.Secret(engine)
    _secret.keep(estimator, secret)
    estimator._catch_up(secret)
    return estimator


def _ridge(description: dict[str, Any]) -> dict[str, float]:
    """The strength of the regularisation under the name that the estimator has for it."""
    if "l2" in description:
        return {"l2": description["l2"]}
    return {"C": 1.0 / description["alpha"]} if description["loss"] == "logistic" else {"alpha": description["alpha"]}


def _estimator(description: dict[str, Any], **parameters: Any) -> Estimator:
    parameters.update(
        **_ridge(description),
        fit_intercept=description["intercept"],
        scale=description["scale"],
        epsilon=description["epsilon"],
        delta=description["delta"],
        noise_std=description["noise_std"],
        max_releases=description["max_releases"],
        mechanism=description["mechanism"],
        tol=description["tolerance"],
    )
    # Without a limit every row counts once, and the default is as good as any.
    if description["max_row_weight"] is not None:
        parameters["max_sample_weight"] = description["max_row_weight"]
    loss, has_classes = description["loss"], bool(description["classes"])
    if loss == "logistic":
        parameters["multi_class"] = description["multi_class"]
    estimator = _ESTIMATORS.get((loss, has_classes))
    if estimator is None:
        what = "classes" if has_classes else "numbers"
        raise DirectoryError(f"no estimator of this version has the {loss} loss for {what}; use the command line")
    return estimator(**parameters)


# By the loss, and whether there are classes.
_ESTIMATORS: dict[tuple[str, bool], type[Estimator]] = {
    ("logistic", True): RemovableLogisticRegression,
    ("squared", True): RemovableRidgeClassifier,
    ("squared", False): RemovableRidge,
}


def _describe(estimator: Estimator, description: dict[str, Any], classes: Any) -> None:
    features = description["feature_names"]
    estimator.n_features_in_ = len(features)
    if description["features_had_names"] or not _may_be_made_up(features):
        estimator.feature_names_in_ = np.asarray(features, dtype=object)
    else:
        estimator._made_up_names = features
    columns = {"ids": description["id_column"], "subjects": description["subject_column"]}
    estimator._named_columns = {what: name for what, name in columns.items() if name is not None}
    names = description["classes"]
    if isinstance(estimator, RemovableRidge):
        return
    if classes is None:
        estimator.classes_ = _labels.restore(names)
        _restore_weights(estimator, description)
        return
    given = np.asarray(classes)
    if _labels.names(given) != names:
        raise ValueError(f"classes must be those of the model, {names}, got {_labels.names(given)}")
    estimator.classes_ = given
    _restore_weights(estimator, description)


def _describe_features(estimator: Estimator, description: dict[str, Any], path: str, features: Any) -> None:
    """What makes features of raw cells, and the parameter that would make it again."""
    schema, group = description["schema"], description["extractor_group"]
    encoding = Encoding.of_directory(description, path, features)
    estimator.features = (
        Schema(schema, networks=encoding.networks, extractor_group=group) if features is None else features
    )
    estimator.__dict__.pop("feature_names_in_", None)
    estimator._encoding = encoding
    estimator.n_features_in_ = len(encoding.columns)
    if ALL not in encoding.columns and not _may_be_made_up(encoding.columns):
        estimator.feature_names_in_ = np.asarray(encoding.columns, dtype=object)


def _restore_weights(estimator: RemovableClassifier, description: dict[str, Any]) -> None:
    weights, names = description["class_weights"], description["classes"]
    of = {
        label: weights[name] for label, name in zip(estimator.classes_.tolist(), names, strict=True) if name in weights
    }
    estimator.class_weight = of or None


def _may_be_made_up(features: list[str]) -> bool:
    """Whether features may have got these names because they had none: x0, x1, … of arrays, x1, x2, … of libsvm."""
    return any(features == [f"x{index}" for index in range(first, first + len(features))] for first in (0, 1))
