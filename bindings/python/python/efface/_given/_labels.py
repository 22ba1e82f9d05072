"""Classes: labels of any type on the user's side, indices and names on the engine's."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets


def find_classes(labels: NDArray[Any], classes: Any) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """The classes, sorted, and each label as an index among them.

    Every class must have a row, also one of weight 0: a class goes with its last row, and with none before it.
    """
    check_classification_targets(labels)
    found = no_wider_than_needed(np.unique(labels if classes is None else np.asarray(classes)))
    if len(found) < 2:
        raise ValueError(f"a classifier needs labels of at least 2 classes, got 1 class: {_shown(found)}")
    codes = encode(labels, found)
    empty = np.setdiff1d(found, labels)
    if len(empty):
        raise ValueError(f"every class needs a row, got none of class {_shown(empty)}")
    return found, codes


def no_wider_than_needed(classes: NDArray[Any]) -> NDArray[Any]:
    """Texts in as many characters as the longest of them has: not of one that has gone."""
    return np.array(classes.tolist()) if classes.dtype.kind in "US" else classes


def encode(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.float64]:
    """Each label as an index among the classes."""
    found, inverse = np.unique(labels, return_inverse=True)
    index = {label: code for code, label in enumerate(classes.tolist())}
    unknown = [label for label in found.tolist() if label not in index]
    if unknown:
        raise ValueError(f"y has labels that are not among the classes {_shown(classes)}: {_shown(unknown)}")
    codes = np.array([index[label] for label in found.tolist()], dtype=np.float64)
    return np.asarray(codes[inverse.ravel()], dtype=np.float64)


def names(classes: NDArray[Any]) -> list[str]:
    """Names as the engine writes them: integers without a point, booleans in lower case."""
    return [_name(label) for label in classes.tolist()]


def restore(names: list[str]) -> NDArray[Any]:
    """The classes that names stand for: all booleans, all integers in order, or text."""
    if set(names) == {"false", "true"}:
        return np.array([name == "true" for name in names])
    try:
        numbers = [int(name) for name in names]
    except ValueError:
        return np.array(names)
    is_canonical = numbers == sorted(numbers) and [str(number) for number in numbers] == names
    return np.array(numbers) if is_canonical else np.array(names)


def _name(label: Any) -> str:
    if isinstance(label, bool):
        return str(label).lower()
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label)


def _shown(labels: Any) -> str:
    listed = [repr(label) for label in np.asarray(labels, dtype=object).tolist()[:8]]
    return ", ".join(listed) + (", …" if len(labels) > 8 else "")
