"""What looks like a mistake in the rows, though it is not an error: told before they are trained on."""

from __future__ import annotations

from typing import Any

import numpy as np

from efface._exceptions import ScaleWarning
from efface._warn import warn

# A column with more than this share of all squares rules the rows.
_RULING_SHARE = 0.99

# With fewer rows than this nothing is unusual; more than that many are not looked at.
_FEW_ROWS = 20
_MANY_ROWS = 4096


def one_column_rules(rows: Any, names: list[str], scale: str) -> None:
    """Warns where one column is so large that after row scaling the others barely matter."""
    if not (scale == "unit" or scale.startswith("clip:")) or not isinstance(rows, np.ndarray):
        return
    n_rows, n_features = rows.shape
    if n_rows < _FEW_ROWS or n_features < 2:
        return
    sample = rows[:: -(-n_rows // _MANY_ROWS)].astype(np.float64)
    squares = np.square(sample).sum(axis=0)
    column = int(np.argmax(squares))
    share = squares[column] / squares.sum() if 0.0 < squares.sum() < np.inf else 0.0
    if share > _RULING_SHARE:
        warn(
            f"column `{names[column]}` accounts for {100 * share:.1f} % of the squared row norm, so after row scaling "
            f'(scale="{scale}") the other columns barely matter; bring columns to similar sizes by public constants, '
            "or leave it out",
            ScaleWarning,
        )
