"""How a model outlives its process: a model directory, or a pickle of what has been released."""

from __future__ import annotations

import json
import os
from types import TracebackType
from typing import TYPE_CHECKING, Any

from efface import _efface, _secret
from efface._exceptions import EffaceError
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

        Predictions go on to work, with the weights released last. Rows that were changed and not released yet are
        released first, unless ``auto_release=False`` or the release is refused: then ``status_["stale"]`` is true and
        predictions warn.
        """
        secret = _secret.find(self)
        if secret is None:
            return
        with secret.lock:
            try:
                self._last_release(secret)
            except EffaceError:
                # What is refused, or cannot be read any more, stays unreleased; the mark below says so.
                pass
            finally:
                self._let_go(secret)

    def _last_release(self, secret: _secret.Secret) -> None:
        if self.auto_release and secret.is_changed and secret.engine.is_stale:
            self._publish(secret)
        else:
            self._catch_up(secret)

    def _let_go(self, secret: _secret.Secret) -> None:
        if _secret.find(self) is not secret:
            return
        _secret.forget(self)
        try:
            self._closed_path = secret.engine.path
            if secret.engine.is_stale:
                self._stale = True
        finally:
            secret.engine.close()

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
        if secret is None:
            return dict(super().__getstate__())
        with secret.lock:
            self._current()
            state: dict[str, Any] = dict(super().__getstate__())
            state["_closed_path"] = secret.engine.path
            if self.include_secret_state and secret.engine.path is None:
                held = (secret.engine.to_bytes(), secret.seed, secret.n_drawn, secret.is_changed)
                state["_secret_state"] = held
            elif secret.engine.is_stale:
                state["_stale"] = True
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        secret = state.pop("_secret_state", None)
        super().__setstate__(state)
        if secret is not None:
            data, seed, n_drawn, is_changed = secret
            encoding = getattr(self, "_encoding", None)
            engine = _efface.Engine.from_bytes(data, networks=[] if encoding is None else encoding.networks)
            _secret.keep(self, _secret.Secret(engine, seed, n_drawn, engine.n_releases, is_changed))
