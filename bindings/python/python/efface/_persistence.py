"""How a model outlives its process: a model directory, or a pickle of what has been released."""

from __future__ import annotations

import json
import os
from types import TracebackType
from typing import TYPE_CHECKING, Any

from efface import _efface, _secret
from efface._foundation import Foundation, Report

if TYPE_CHECKING:
    from typing_extensions import Self


class Persistent(Foundation):
    """Saving, closing, copying and pickling."""

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        key: str | os.PathLike[str] | None = None,
        witness: str | os.PathLike[str] | None = None,
    ) -> Report:
        """Move the model to a model directory, which the command line ``efface`` works on, too.

        From then on the estimator lives there: a model has one life and one account of what it has published.

        Parameters
        ----------
        path : str or path-like
            The directory to make.
        key : str or path-like, optional
            A file with the key that signs certificates. Default: the model gets a key of its own.
        witness : str or path-like, optional
            A file elsewhere that remembers what was removed, even if the directory is restored from a backup.

        Returns
        -------
        report : dict
            What was written.
        """
        engine = self._engine()
        report: Report = json.loads(
            engine.save(
                os.fspath(path),
                key=None if key is None else os.fspath(key),
                witness=None if witness is None else os.fspath(witness),
            )
        )
        return report

    def close(self) -> None:
        """Let go of the secret state: a model in memory loses it, a model directory becomes free for others.

        Predictions go on to work, with the weights released last.
        """
        path = self._path()
        secret = _secret.forget(self)
        if secret is not None:
            secret.engine.close()
            self._closed_path = path

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        """The released model; the secret state only if ``include_secret_state`` is true."""
        secret = _secret.find(self)
        if secret is not None:
            self._current()
        state: dict[str, Any] = dict(super().__getstate__())
        if secret is not None:
            state["_closed_path"] = secret.engine.path
            if self.include_secret_state and secret.engine.path is None:
                state["_secret_state"] = (secret.engine.to_bytes(), secret.seed, secret.n_drawn)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        secret = state.pop("_secret_state", None)
        super().__setstate__(state)
        if secret is not None:
            data, seed, n_drawn = secret
            _secret.keep(self, _secret.Secret(_efface.Engine.from_bytes(data), seed, n_drawn))
