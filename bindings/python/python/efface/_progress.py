"""A progress bar for long fits, on the terminal and in notebooks."""

from __future__ import annotations

import json
from types import TracebackType
from typing import Any


class Progress:
    """Shows passes over the rows and the gradient norm, or rows that have become features, while ``verbose`` is true.

    Parameters
    ----------
    title : str
        What is being done.
    verbose : bool
        Whether to show it.
    unit : str
        What is counted.
    """

    def __init__(self, title: str, verbose: bool, unit: str = " passes") -> None:
        self._bar: Any = None
        if verbose:
            from tqdm.auto import tqdm

            self._bar = tqdm(desc=title, unit=unit, leave=True)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    @property
    def callback(self) -> Progress | None:
        """What the engine calls with its reports; None when nothing is shown."""
        return None if self._bar is None else self

    def __call__(self, report: str) -> None:
        state = json.loads(report)
        if "mapped" in state:
            self._bar.update(state["mapped"] - self._bar.n)
            return
        shown = {"gradient": f"{state['gradient_norm']:.1e}"}
        if state["n_problems"] > 1:
            shown["classes"] = f"{state['n_done']}/{state['n_problems']}"
        self._bar.n = state["passes"]
        self._bar.set_postfix(shown)
