"""Names of rows and subjects as users write them: integers or text, alone or in any kind of column."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Set
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
        What the user gave, in the order of the rows.
    n_rows : int
        How many there must be.
    what : str
        The name of the argument, for messages.
    """
    if ids is None:
        return None
    if np.ndim(ids) == 0 and not (hasattr(ids, "__len__") or hasattr(ids, "__iter__")):
        raise RowError(f"{what} must have one entry per row ({n_rows}), got `{ids!r}`")
    _refuse_unordered(ids, what)
    parsed = listed(ids, what=what)
    if len(parsed) != n_rows:
        raise RowError(f"{what} must have one entry per row: got {len(parsed)} for {n_rows} rows")
    return parsed


def ordered(ids: Any, *, what: str) -> Ids:
    """Ids that name rows, where it matters which comes first; a single one may stand alone."""
    if not isinstance(ids, (str, numbers.Integral)):
        _refuse_unordered(ids, what)
    return listed(ids, what=what)


def listed(ids: Any, *, what: str) -> Ids:
    """Ids that name rows or subjects in any order, sets of them too; a single one may stand alone."""
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
    entries = array.tolist()
    if not all(isinstance(entry, str) for entry in entries):
        _refuse_missing(entries, what)
    return [_checked(entry, index, what) for index, entry in enumerate(entries)]


def distinct(labels: Any) -> Ids | None:
    """Labels of an index as ids; None where they are neither integers nor text, or some are the same."""
    if not labels.is_unique:
        return None
    try:
        parsed = listed(labels, what="index")
    except RowError:
        return None
    if isinstance(parsed, list) and len({str(label) for label in parsed}) < len(parsed):
        # The text "5" and the number 5 are one id.
        return None
    return parsed


def _refuse_unordered(ids: Any, what: str) -> None:
    """Refuses sets and whatever else has no order that could be that of the rows."""
    has_order = hasattr(ids, "__len__") and hasattr(ids, "__getitem__")
    if isinstance(ids, Set | Mapping) or not has_order:
        raise RowError(
            f"{what} must be in the order of the rows (a list, a tuple, an array or a column), got a "
            f"{type(ids).__name__}"
        )


def _as_array(ids: Any, what: str) -> NDArray[Any]:
    """An array that has not turned numbers into text, as ``np.asarray([1, "a"])`` would."""
    if isinstance(ids, dict | bytes) or not (hasattr(ids, "__len__") or hasattr(ids, "__iter__")):
        raise RowError(f"{what} must be integers or text, got `{ids!r}`")
    if isinstance(ids, np.ndarray):
        return _without_times(ids, what)
    if hasattr(ids, "to_pylist"):
        ids = ids.to_pylist()
    elif hasattr(ids, "to_numpy"):
        ids = ids.to_numpy()
    if isinstance(ids, np.ndarray) and ids.dtype.kind in "iu":
        return ids
    entries = _without_times(ids, what).tolist() if isinstance(ids, np.ndarray) else list(ids)
    array = np.fromiter(entries, dtype=object, count=len(entries))
    if entries and all(isinstance(entry, numbers.Integral) and not isinstance(entry, bool) for entry in entries):
        try:
            return np.array(entries, dtype=np.int64)
        except OverflowError:
            return array
    return array


def _without_times(array: NDArray[Any], what: str) -> NDArray[Any]:
    """The array, unless it has dates or durations, which NumPy would turn into integers."""
    if array.dtype.kind in "mM":
        raise RowError(f"{what} must be integers or text, got an array of {array.dtype}")
    return array


def _refuse_missing(entries: list[Any], what: str) -> None:
    """Refuses None, NaN and the like before anything else: one of them makes floats of all integers."""
    for index, entry in enumerate(entries):
        is_nan = isinstance(entry, float) and entry != entry
        if entry is None or is_nan or type(entry).__name__ in ("NAType", "NaTType"):
            raise RowError(f"{what} must be integers or text, got `{entry!r}` at position {index}, a missing value")


def _checked(entry: Any, index: int, what: str) -> int | str:
    if isinstance(entry, str):
        return entry
    if isinstance(entry, numbers.Integral) and not isinstance(entry, bool):
        if -_LIMIT <= int(entry) < _LIMIT:
            return int(entry)
        raise RowError(f"{what}[{index}] must be between -2**63 and 2**63 - 1, got `{entry}`")
    raise RowError(f"{what} must be integers or text, got `{entry!r}` at position {index}")
