"""Columns of a pandas frame that are more than numbers: texts, categories, dates, gaps.

Numbers and dates go down as an array in which a gap is NaN. Any other column goes down as its different values and,
for each row, which of them it has. What becomes of a text is decided by the engine, as of one in a file.
"""

from __future__ import annotations

import sys
from datetime import date, datetime, timezone
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface._exceptions import RowError
from efface._given import _frame

# Name, numbers, None; or name, which value each row has (-1: none), the values.
Column = tuple[str, NDArray[Any], list[Any] | None]


def is_plain(X: Any) -> bool:
    """Whether X is no pandas frame, or one whose columns are all arrays of numbers."""
    if not _frame.is_pandas(X, "DataFrame"):
        return True
    return all(_is_numbers(dtype) for dtype in X.dtypes)


def columns(frame: Any) -> list[Column]:
    """The columns of a frame."""
    return [(str(name), *_column(frame.iloc[:, index], str(name))) for index, name in enumerate(frame.columns)]


def _is_numbers(dtype: Any) -> bool:
    # Sparse columns are refused where arrays are checked, with a hint, as sparse rows are.
    return dtype.kind in "biufc" if isinstance(dtype, np.dtype) else _frame.is_pandas(dtype, "SparseDtype")


def _column(column: Any, name: str) -> tuple[NDArray[Any], list[Any] | None]:
    kind = getattr(column.dtype, "kind", "O")
    if kind in "biuf":
        gaps = {} if isinstance(column.dtype, np.dtype) else {"na_value": np.nan}
        return column.to_numpy(dtype=np.float64, **gaps), None
    if kind == "M":
        return _days(column.to_numpy(dtype="datetime64[us]")), None
    if kind in "cm":
        raise RowError(f"column `{name}` is of type {column.dtype}, which is no feature: turn it into numbers")
    if hasattr(column, "cat"):
        codes, values = column.cat.codes.to_numpy(), column.cat.categories
    else:
        try:
            codes, values = sys.modules["pandas"].factorize(column)
        except TypeError as error:
            raise RowError(f"column `{name}` holds cells that are neither texts nor numbers: {error}") from error
    return codes.astype(np.int64), [_value(value, name) for value in values]


def _value(value: Any, name: str) -> str | bool | float:
    if isinstance(value, str | bool):
        return value
    if isinstance(value, Real | Decimal | np.bool_):
        return float(value)
    if isinstance(value, datetime):
        moment = value if value.tzinfo is None else value.astimezone(timezone.utc).replace(tzinfo=None)
        since = moment - datetime(1970, 1, 1)
        return since.days + (since.seconds + since.microseconds / 1e6) / 86_400.0
    if isinstance(value, date):
        return float((value - date(1970, 1, 1)).days)
    if _frame.is_pandas(value, "Interval") or _frame.is_pandas(value, "Period"):
        return str(value)
    shown = repr(value)
    shown = shown if len(shown) <= 24 else f"{shown[:24]}…"
    raise RowError(
        f"column `{name}` holds `{shown}`, a {type(value).__name__}: cells must be texts, numbers, booleans or dates"
    )


def _days(times: NDArray[Any]) -> NDArray[np.float64]:
    """Days since 1970 and the part of the day, as a date in a file is read."""
    days, rest = np.divmod(times.astype(np.int64), 86_400_000_000)
    return np.where(np.isnat(times), np.nan, days + rest / 1e6 / 86_400.0)
