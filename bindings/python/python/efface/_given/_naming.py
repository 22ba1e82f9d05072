"""What rows are called: ids that were given, a column of the frame, the labels of its index, or numbers.

A removal must hit the row that is meant. So the labels of a pandas index are the ids where they tell rows apart, and
what could be paired with rows in more than one way is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from efface._exceptions import RowError
from efface._given import _frame, _ids


@dataclass(frozen=True)
class Named:
    """Rows with what they are called.

    Attributes
    ----------
    X : array, frame or table
        The rows, without the columns that only name them.
    ids, subjects : array-like or None
        One per row, as they were given or found.
    columns : dict of str to str
        The columns that were taken out, by the argument that named them.
    row_names : {"ids", "index", "nothing"}
        What ids are: given or counted, labels of an index, or unknown, because the rows have an index that does not
        tell them apart.
    """

    X: Any
    ids: Any
    subjects: Any
    columns: Mapping[str, str]
    row_names: str

    def column(self, what: str, n_rows: int) -> _ids.Ids | None:
        """The ids or subjects as the engine takes them, checked."""
        given = self.ids if what == "ids" else self.subjects
        title = f"{what} (column `{self.columns[what]}`)" if what in self.columns else what
        return _ids.column(given, n_rows, what=title)

    def description(self, feature_names: list[str] | None) -> str:
        """What a model directory remembers of it, as JSON; ``feature_names``: those that the user's rows had."""
        columns = {"features": feature_names, "id": self.columns.get("ids"), "subject": self.columns.get("subjects")}
        return json.dumps({"columns": columns, "row_names": self.row_names})


def first(X: Any, y: Any, *, ids: Any, subjects: Any) -> Named:
    """Names of the rows of a ``fit``."""
    named = as_given(X, ids=ids, subjects=subjects)
    if named.ids is not None:
        return named
    labels, row_names = _labels(_frame.index(X), _frame.index(y))
    return Named(named.X, labels, named.subjects, named.columns, row_names)


def further(X: Any, y: Any, *, ids: Any, subjects: Any, columns: Mapping[str, str], row_names: str) -> Named:
    """Names of rows that join a model, whose rows are called as ``columns`` and ``row_names`` say."""
    X = _frame.opened(X)
    there = _frame.column_names(X) or []
    ids, subjects = (
        columns[what] if given is None and columns.get(what) in there else given
        for what, given in (("ids", ids), ("subjects", subjects))
    )
    named = as_given(X, ids=ids, subjects=subjects)
    if named.ids is not None or row_names == "nothing":
        return named
    labels, found = _labels(_frame.index(X), _frame.index(y))
    if found == "nothing":
        raise RowError(
            "the index of the new rows does not tell them apart: labels must differ, be integers or text, and be on X, "
            "not on y alone; pass ids=, or number the rows on with X.reset_index(drop=True) and y.to_numpy()"
        )
    if labels is not None and row_names != "index":
        raise RowError(
            "X has an index, but the rows of this model are not called by one: pass ids=X.index to use its labels as "
            "ids, or X.reset_index(drop=True) to leave them out"
        )
    return Named(named.X, labels, named.subjects, named.columns, row_names)


def as_given(X: Any, *, ids: Any, subjects: Any) -> Named:
    """Rows with the names that the user gave, apart from the columns that hold them."""
    X = _frame.opened(X)
    arguments = {"ids": ids, "subjects": subjects}
    columns = {what: given for what, given in arguments.items() if isinstance(given, str)}
    for what, name in columns.items():
        _check_column(X, name, what)
        arguments[what] = X[name]
    if len(set(columns.values())) < len(columns):
        raise RowError(f"ids and subjects must be different columns, got `{ids}` for both")
    for what, given in arguments.items():
        _check_pairing(given, X, what)
    rest = _frame.without(X, list(columns.values()))
    return Named(rest, arguments["ids"], arguments["subjects"], columns, "ids")


def _check_column(X: Any, name: str, what: str) -> None:
    names = _frame.column_names(X)
    if names is None:
        raise RowError(
            f"{what} is `{name}`, the name of a column, but X is a {type(X).__name__} without named columns: "
            f"pass {what} as a list or an array, one entry per row"
        )
    if names.count(name) != 1:
        n_columns = "no" if name not in names else "more than one"
        raise RowError(f"{what}: X has {n_columns} column `{name}`; its columns are {', '.join(map(str, names))}")


def _check_pairing(given: Any, X: Any, what: str) -> None:
    """Refuses a Series that goes with the rows in one way by position, and in another by label."""
    own, index = _frame.index(given), _frame.index(X)
    if index is not None and _frame.has_labels(own) and not own.equals(index):
        raise RowError(
            f"{what} has another index than X: pass {what}.loc[X.index] to pair them by label, or {what}.to_numpy() to "
            "pair them by position"
        )


def _labels(index: Any, of_y: Any) -> tuple[_ids.Ids | None, str]:
    """The labels of rows whose frame and y have these indexes, if they have any, and what names the rows then."""
    if not _frame.has_labels(index):
        if _frame.has_labels(of_y):
            # Labels were there, and X has lost them: nobody can tell whether a number means a label or a position.
            return None, "nothing"
        return None, "ids" if index is None else "index"
    if _frame.has_labels(of_y) and not of_y.equals(index):
        raise RowError(
            "X and y have different indexes, so it is not clear which label belongs to which row: pass "
            "y.loc[X.index] to pair them by label, or y.to_numpy() to pair them by position"
        )
    labels = _ids.distinct(index)
    return labels, "nothing" if labels is None else "index"
