"""Warnings that point at the user's line, not at one of this package or of scikit-learn."""

from __future__ import annotations

import sys
import warnings
from types import FrameType


def warn(message: str, category: type[Warning]) -> None:
    """Warns at the innermost caller outside of efface, scikit-learn and joblib."""
    level = 1
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _INSIDE:
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


_INSIDE = frozenset({"efface", "sklearn", "joblib"})
