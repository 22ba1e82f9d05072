"""Frames and tables as users have them: their columns by name, and the index that pandas gives to rows."""

from __future__ import annotations

import sys
from typing import Any


def opened(X: Any) -> Any:
    """X, with what can be read only once, or is still to be computed, turned into a table."""
    module = _package(X)
    if module == "pyarrow":
        import pyarrow

        if isinstance(X, pyarrow.RecordBatch):
            return pyarrow.Table.from_batches([X])
        return X.read_all() if isinstance(X, pyarrow.RecordBatchReader) else X
    return X.collect() if module == "polars" and hasattr(X, "collect") else X


def is_arrow(X: Any) -> bool:
    """Whether X is a table that speaks Arrow; frames of pandas are arrays underneath and do better as such."""
    if _package(X) == "numpy" or is_pandas(X, "DataFrame"):
        return False
    if _package(X) == "pyarrow":
        import pyarrow

        return isinstance(X, pyarrow.Table)
    return hasattr(X, "__arrow_c_stream__") and len(getattr(X, "shape", ())) == 2


def column_names(X: Any) -> list[Any] | None:
    """Names of the columns; None where X has none."""
    if is_pandas(X, "DataFrame"):
        return list(X.columns)
    if not is_arrow(X):
        return None
    names = getattr(X, "column_names", None)
    return list(X.columns if names is None else names)


def without(X: Any, names: list[str]) -> Any:
    """X without these columns, all of which it has."""
    if not names:
        return X
    if is_pandas(X, "DataFrame"):
        return X.drop(columns=names)
    return X.select([name for name in column_names(X) or [] if name not in names])


def index(values: Any) -> Any:
    """The index of a frame or a Series of pandas; None of everything else."""
    return values.index if is_pandas(values, "DataFrame") or is_pandas(values, "Series") else None


def has_labels(index: Any) -> bool:
    """Whether it is an index that somebody gave to the rows, not the 0, 1, 2, … that pandas makes up."""
    if index is None:
        return False
    return not (is_pandas(index, "RangeIndex") and index.start == 0 and index.step == 1)


def is_pandas(value: Any, kind: str) -> bool:
    """Whether it is an object of this class of pandas; without pandas nothing is."""
    return isinstance(value, getattr(sys.modules.get("pandas"), kind, ()))


def _package(value: Any) -> str:
    return type(value).__module__.partition(".")[0]
