"""Names of rows and subjects as users write them: integers or text, alone or in any kind of column."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface._exceptions import RowError

Ids = NDArray[np.int64] | list[int | str]

_LIMIT = 2**63


def column(ids: Any, n_rows: int, *, what: str) -> Ids | None:
    """One id per row, or None.

    Parameters
    ----------
    ids : array-like of int or str, or None
        What the user gave.
    n_rows : int
        How many there must be.
    what : str
        The name of the argument, for messages.
    """
    if ids is None:
        return None
    if np.ndim(ids) == 0 and not hasattr(ids, "__len__"):
        raise RowError(f"{what} must have one entry per row ({n_rows}), got `{ids!r}`")
    parsed = listed(ids, what=what)
    if len(parsed) != n_rows:
        raise RowError(f"{what} must have one entry per row: got {len(parsed)} for {n_rows} rows")
    return parsed


def listed(ids: Any, *, what: str) -> Ids:
    """Ids that name rows or subjects; a single one may stand alone."""
    if isinstance(ids, (str, numbers.Integral)):
        ids = [ids]
    array = _as_array(ids, what)
    if array.ndim != 1:
        raise RowError(f"{what} must be one-dimensional, got an array of {array.ndim} dimensions")
    if array.dtype.kind == "i":
        return np.ascontiguousarray(array, dtype=np.int64)
    if array.dtype.kind == "u" and (array.size == 0 or int(array.max()) < _LIMIT):
        return np.ascontiguousarray(array, dtype=np.int64)
    if array.size == 0:
        return np.empty(0, dtype=np.int64)
    return [_checked(entry, index, what) for index, entry in enumerate(array.tolist())]


def _as_array(ids: Any, what: str) -> NDArray[Any]:
    """An array that has not turned numbers into text, as ``np.asarray([1, "a"])`` would."""
    if isinstance(ids, dict | bytes) or not (hasattr(ids, "__len__") or hasattr(ids, "__iter__")):
        raise RowError(f"{what} must be integers or text, got `{ids!r}`")
    if isinstance(ids, np.ndarray):
        return ids
    if hasattr(ids, "to_pylist"):
        ids = ids.to_pylist()
    elif hasattr(ids, "to_numpy"):
        ids = ids.to_numpy()
    if isinstance(ids, np.ndarray) and ids.dtype.kind in "iu":
        return ids
    entries = list(ids)
    array = np.empty(len(entries), dtype=object)
    array[:] = entries
    if entries and all(isinstance(entry, numbers.Integral) and not isinstance(entry, bool) for entry in entries):
        try:
            return np.array(entries, dtype=np.int64)
        except OverflowError:
            return array
    return array


def _checked(entry: Any, index: int, what: str) -> int | str:
    if isinstance(entry, str):
        return entry
    if isinstance(entry, numbers.Integral) and not isinstance(entry, bool):
        if -_LIMIT <= int(entry) < _LIMIT:
            return int(entry)
        raise RowError(f"{what}[{index}] must be between -2**63 and 2**63 - 1, got `{entry}`")
    raise RowError(f"{what} must be integers or text, got `{entry!r}` at position {index}")
