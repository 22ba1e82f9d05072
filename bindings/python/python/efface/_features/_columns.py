"""Cells of one column, as the engine takes them: an array, a list of values, or which value of either each row has."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from efface._exceptions import RowError
from efface._given import _cells, _frame

Cells = NDArray[Any] | list[Any] | tuple[NDArray[np.int64], Any]


def n_rows(X: Any) -> int:
    """How many rows there are."""
    if issparse(X):
        raise RowError("sparse rows have no cells to make features of; pass X.toarray()")
    if isinstance(X, str | bytes) or not hasattr(X, "__len__"):
        raise RowError(f"X must be rows (a list, an array, a frame), got a {type(X).__name__}")
    n = int(X.shape[0] if hasattr(X, "shape") else len(X))
    if n == 0:
        raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
    return n


def n_columns(X: Any) -> int:
    """How many columns rows without names have."""
    if hasattr(X, "shape"):
        return int(X.shape[1]) if len(X.shape) > 1 else 1
    return len(X[0]) if _is_array(X[0]) else 1


def of_frame(frame: Any, name: str) -> Any:
    """One column of a frame, by its name as text."""
    names = _frame.column_names(frame) or []
    found = [column for column in names if str(column) == name]
    if len(found) != 1:
        many = "no" if not found else "more than one"
        raise RowError(f"X has {many} column `{name}`; its columns are {', '.join(map(str, names))}")
    return frame[found[0]]


def cells(values: Any, name: str) -> Cells:
    """The cells of a column of any kind."""
    module = type(values).__module__.partition(".")[0]
    if module == "pyarrow":
        values = _of_arrow(values)
    elif module == "polars":
        # Numbers with gaps become floats with NaN; all else what Python has for it.
        values = values.to_numpy() if values.dtype.is_numeric() else values.to_list()
    elif _frame.is_pandas(values, "Series"):
        values = _of_pandas(values, name)
    if isinstance(values, tuple) and len(values) == 2 and isinstance(values[0], np.ndarray) and values[0].ndim == 1:
        return values
    return _of_array(values, name) if isinstance(values, np.ndarray) else _of_list(list(values), name)


def _of_pandas(series: Any, name: str) -> Any:
    if hasattr(series, "cat") or getattr(series.dtype, "kind", "O") in "Mcm":
        codes, values = _cells._column(series, name)
        return codes if values is None else (codes, values)
    if getattr(series.dtype, "kind", "O") in "biuf" and not isinstance(series.dtype, np.dtype):
        return _cells._column(series, name)[0]
    return series.to_numpy()


def _of_arrow(column: Any) -> Any:
    import pyarrow

    if pyarrow.types.is_fixed_size_list(column.type) and column.null_count == 0:
        whole = column.combine_chunks() if isinstance(column, pyarrow.ChunkedArray) else column
        return whole.flatten().to_numpy(zero_copy_only=False).reshape(len(column), -1)
    if pyarrow.types.is_integer(column.type) or pyarrow.types.is_floating(column.type):
        return column.to_numpy() if isinstance(column, pyarrow.ChunkedArray) else column.to_numpy(zero_copy_only=False)
    return column.to_pylist()


def _of_array(array: NDArray[Any], name: str) -> Cells:
    kind = array.dtype.kind
    if kind == "M" and array.ndim == 1:
        return _cells._days(array.astype("datetime64[us]"))
    if kind == "c":
        raise RowError(f"column `{name}` is of type {array.dtype}, which is no feature: turn it into numbers")
    if kind not in "biuf" or (kind == "b" and array.ndim == 1):
        if array.ndim > 1:
            raise RowError(
                f"column `{name}` is an array of shape {array.shape} and type {array.dtype}; expected one axis"
            )
        return _of_list(array.tolist(), name)
    if array.dtype in (np.uint8, np.float32, np.float64, np.int64) and array.dtype.isnative:
        return np.ascontiguousarray(array)
    if kind == "b":
        return np.ascontiguousarray(array, dtype=np.uint8)
    is_wide = array.dtype == np.uint64 and array.size > 0 and array.max() >= 2**63
    if kind == "f" or is_wide:
        return np.ascontiguousarray(array, dtype=np.float32 if array.dtype.itemsize == 2 else np.float64)
    return np.ascontiguousarray(array, dtype=np.int64)


def _of_list(values: list[Any], name: str) -> Cells:
    present = [index for index, value in enumerate(values) if not _is_gap(value)]
    if not present or not _is_array(values[present[0]]):
        return [None if _is_gap(value) else _value(value, name) for value in values]
    # Pictures as arrays, or lists of numbers.
    arrays = [np.asarray(values[index]) for index in present]
    for index, array in zip(present, arrays, strict=True):
        if array.shape != arrays[0].shape:
            raise RowError(
                f"row {index}, column `{name}`: an array of shape {array.shape}, the first is {arrays[0].shape}"
            )
    stacked = _of_array(np.stack(arrays), name)
    if len(present) == len(values):
        return stacked
    codes = np.full(len(values), -1, dtype=np.int64)
    codes[present] = np.arange(len(present))
    return codes, stacked


def _is_array(value: Any) -> bool:
    return isinstance(value, list | tuple) or (
        hasattr(value, "__array_interface__") and not isinstance(value, np.generic)
    )


def _is_gap(value: Any) -> bool:
    is_nan = isinstance(value, float) and value != value
    return value is None or is_nan or type(value).__name__ in ("NAType", "NaTType")


def _value(value: Any, name: str) -> Any:
    if isinstance(value, str | bool | int | float | bytes):
        return value
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    return os.fspath(value) if isinstance(value, os.PathLike) else _cells._value(value, name)
