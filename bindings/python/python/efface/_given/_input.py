"""Rows, labels and weights as users have them, made ready for the engine, copied only where their layout asks for it.

NumPy arrays in C order and single or double precision, memory-mapped ones too, go down as they are. So do Arrow tables,
record batches and polars frames, through the PyCapsule interface: there a column of fixed-size lists is used as it
lies, and plain columns are interleaved once. Pandas frames with texts, categories, dates or nullable numbers go down
column by column. Everything else becomes an array the way scikit-learn does it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight, _check_y, column_or_1d, validate_data

from efface._exceptions import RowError
from efface._features._encoding import ALL, Encoding
from efface._given import _cells, _frame
from efface._progress import Progress
from efface._warn import warn


@dataclass(frozen=True)
class Rows:
    """Rows that the engine takes: an array, an Arrow object, a list of columns, or features that it made."""

    data: Any
    n_rows: int


def training_rows(estimator: Any, X: Any, y: Any, *, numeric: bool) -> tuple[Rows, NDArray[Any]]:
    """Checks rows and labels of a ``fit``, and sets ``n_features_in_`` and ``feature_names_in_``."""
    return _labelled(estimator, X, y, numeric=numeric, reset=True)


def more_rows(estimator: Any, X: Any, y: Any, *, numeric: bool) -> tuple[Rows, NDArray[Any]]:
    """Checks rows and labels that join a fitted model."""
    return _labelled(estimator, features(estimator, X), y, numeric=numeric, reset=False)


def plain_rows(estimator: Any, X: Any) -> Rows:
    """Checks rows to predict for."""
    X = features(estimator, X)
    if _encoding(estimator) is not None:
        return _encoded_rows(estimator, X)
    if _is_table(X):
        return _table_rows(estimator, X, reset=False)
    array = _validated(estimator, X, reset=False)
    return Rows(array, array.shape[0])


def features(estimator: Any, X: Any) -> Any:
    """X without the columns that named rows or subjects at ``fit``, where it still has them."""
    X = _frame.opened(X)
    there = _frame.column_names(X) or []
    known = given_names(estimator)
    beside = [name for name in estimator._named_columns.values() if name in there and name not in (known or [])]
    encoding = _encoding(estimator)
    if encoding is not None:
        return _frame.without(X, [name for name in beside if name not in encoding.columns])
    rest = [name for name in there if name not in beside]
    made_up = feature_names(estimator)
    if known is None and rest != made_up and not set(made_up).isdisjoint(rest):
        raise ValueError(
            "The feature names should match those that a model without names of its own is saved with, "
            f"{made_up[0]} to {made_up[-1]} in this order: got {', '.join(map(str, rest))}"
        )
    return _frame.without(X, beside)


def given_names(estimator: Any) -> list[str] | None:
    """Names of the features, where the rows of ``fit`` had any, and no map made them."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None or _encoding(estimator) is not None else list(map(str, names))


def feature_names(estimator: Any) -> list[str]:
    """Names of the features that the engine knows, made up where the rows had none."""
    encoding = _encoding(estimator)
    if encoding is not None:
        return encoding.feature_names
    made_up = estimator._made_up_names or [f"x{index}" for index in range(estimator.n_features_in_)]
    return given_names(estimator) or made_up


def sample_weights(weights: Any, rows: Rows, limit: float) -> NDArray[np.float64] | None:
    """Weights of the rows: finite, from 0 to the limit, not all 0; None where every row counts once."""
    if weights is None:
        return None
    placeholder = np.empty((rows.n_rows, 0))
    checked: NDArray[np.float64] = _check_sample_weight(
        weights, placeholder, dtype=np.float64, ensure_non_negative=True
    )
    checked = np.ascontiguousarray(checked)
    heaviest = int(np.argmax(checked))
    if checked[heaviest] > limit:
        got = f"`{checked[heaviest]:g}` at row {heaviest}"
        raise RowError(f"sample_weight must be at most max_sample_weight = {limit:g}, got {got}")
    if checked[heaviest] == 0.0:
        raise RowError("sample_weight must be positive for at least one row, got 0 for all of them")
    return checked


def _labelled(estimator: Any, X: Any, y: Any, *, numeric: bool, reset: bool) -> tuple[Rows, NDArray[Any]]:
    y = _column(y)
    if reset:
        estimator.__dict__.pop("_encoding", None)
        if estimator.features is not None:
            _set_encoding(estimator, X)
    if _encoding(estimator) is not None:
        rows, labels = _encoded_rows(estimator, X), _labels_of(estimator, y, numeric=numeric)
        _check_lengths(rows, labels)
    elif not _is_table(X):
        array, labels = _validated(estimator, X, y=y, reset=reset, y_numeric=numeric)
        rows = Rows(array, array.shape[0])
    else:
        rows, labels = _table_rows(estimator, X, reset=reset), _labels_of(estimator, y, numeric=numeric)
        _check_lengths(rows, labels)
    return rows, column_or_1d(labels)


def _labels_of(estimator: Any, y: Any, *, numeric: bool) -> Any:
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is None."
        )
    return _check_y(y, y_numeric=numeric, estimator=estimator)


def _check_lengths(rows: Rows, labels: NDArray[Any]) -> None:
    if len(labels) != rows.n_rows:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: {[rows.n_rows, len(labels)]}")


def _encoding(estimator: Any) -> Encoding | None:
    """What makes features of raw cells, where the model has maps."""
    encoding: Encoding | None = getattr(estimator, "_encoding", None)
    return encoding


def _set_encoding(estimator: Any, X: Any) -> None:
    """Finds out what ``features`` stands for, and sets ``n_features_in_`` and ``feature_names_in_``."""
    encoding = estimator._encoding = Encoding.of(estimator.features, X)
    estimator.n_features_in_ = len(encoding.columns)
    estimator.__dict__.pop("feature_names_in_", None)
    if _frame.column_names(X) is not None and ALL not in encoding.columns:
        estimator.feature_names_in_ = np.asarray(encoding.columns, dtype=object)


def _encoded_rows(estimator: Any, X: Any) -> Rows:
    encoding = _encoding(estimator)
    assert encoding is not None
    with Progress(f"features of {type(estimator).__name__}", bool(estimator.verbose), unit=" rows") as progress:
        # A model without noise shows the last bit of every feature.
        one_by_one = estimator._loss == "squared" and not estimator.noise_std
        rows = encoding.encode(X, one_by_one=one_by_one, n_jobs=estimator.n_jobs, progress=progress.callback)
    return Rows(rows, rows.n_rows)


def _column(y: Any) -> Any:
    """Labels in a column of Arrow or polars, as an array."""
    module = type(y).__module__.partition(".")[0]
    if module == "pyarrow":
        if not hasattr(y, "to_numpy"):
            shape = f" of shape {y.shape}" if hasattr(y, "shape") else ""
            raise ValueError(f"y must be one column, such as table.column(0), got a {type(y).__name__}{shape}")
        return y.to_numpy(zero_copy_only=False)
    return y.to_numpy() if module == "polars" else y


def _is_table(X: Any) -> bool:
    """Whether X goes down column by column."""
    return _frame.is_arrow(X) or not _cells.is_plain(X)


def _validated(estimator: Any, X: Any, *, reset: bool, **checks: Any) -> Any:
    """X as an array, checked as scikit-learn does. A NaN is a gap where constants are derived, else refused."""
    released = None if reset else getattr(estimator, "_released", None)
    is_auto = (estimator.scale if released is None else released.scale) == "auto"
    finite: Any = "allow-nan" if is_auto else True
    try:
        return validate_data(
            estimator, X, reset=reset, dtype=[np.float64, np.float32], order="C", ensure_all_finite=finite, **checks
        )
    except ValueError as error:
        if "Input X contains NaN" not in str(error):
            raise
        place = int(np.argmax(np.isnan(np.asarray(X, dtype=np.float64)).any(axis=0)))
        names = _frame.column_names(X)
        name = place if names is None else names[place]
        raise RowError(
            f'Input X contains NaN, the first in column `{name}`: scale="auto" takes texts and gaps, other scales take '
            "numbers only"
        ) from error


def _table_rows(estimator: Any, table: Any, *, reset: bool) -> Rows:
    n_rows, n_columns = table.shape
    if n_columns == 0:
        raise ValueError(f"Found array with 0 feature(s) (shape=({n_rows}, 0)) while a minimum of 1 is required.")
    if n_rows == 0:
        raise ValueError(
            f"Found array with 0 sample(s) (shape=(0, {n_columns})) while a minimum of 1 is required by "
            f"{type(estimator).__name__}."
        )
    if not _frame.is_arrow(table):
        validate_data(estimator, table, reset=reset, skip_check_array=True)
        return Rows(_cells.columns(table), n_rows)
    n_features = _list_size(table) if n_columns == 1 else None
    if n_features is None:
        _check_features(estimator, n_columns, _frame.column_names(table), reset=reset)
    else:
        # The one column is all features: it is checked by its length, and its name names none of them.
        _check_features(estimator, n_features, None, reset=reset)
    return Rows(table, n_rows)


def _check_features(estimator: Any, n_features: int, names: list[str] | None, *, reset: bool) -> None:
    """Sets, or compares, number and names of the features, as ``validate_data`` does for arrays and frames."""
    if reset:
        estimator.n_features_in_ = n_features
        estimator.__dict__.pop("feature_names_in_", None)
        if names is not None:
            estimator.feature_names_in_ = np.asarray(names, dtype=object)
        return
    fitted, title = getattr(estimator, "feature_names_in_", None), type(estimator).__name__
    if n_features != estimator.n_features_in_:
        raise ValueError(
            f"X has {n_features} features, but {title} is expecting {estimator.n_features_in_} features as input"
        )
    if fitted is None and names is not None:
        warn(f"X has feature names, but {title} was fitted without feature names", UserWarning)
    elif fitted is not None and names is None:
        warn(f"X does not have valid feature names, but {title} was fitted with feature names", UserWarning)
    elif fitted is not None and names is not None and names != fitted.tolist():
        here, there = next((here, there) for here, there in zip(names, fitted, strict=True) if here != there)
        raise ValueError(
            "The feature names should match those that were passed during fit, in the same order: "
            f"got `{here}` in the place of `{there}`"
        )


def _list_size(table: Any) -> int | None:
    """The length of the lists in the only column, if it is one of fixed-size lists."""
    schema = table.schema
    if hasattr(schema, "field"):
        size = getattr(schema.field(0).type, "list_size", None)
    else:
        size = getattr(next(iter(schema.values())), "size", None)
    return size if isinstance(size, int) else None
