"""What every part of an estimator stands on: its parameters, its secret state, and its latest release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from efface import _secret
from efface._exceptions import EffaceError, SecretStateMissingError, StaleReleaseWarning
from efface._features._encoding import Encoding
from efface._given import _input
from efface._released import Released
from efface._warn import warn

if TYPE_CHECKING:
    from efface._efface import Engine, Release

Report = dict[str, Any]

_CHANGED = "rows have changed since the latest release, which still knows those that were removed"


class Foundation(BaseEstimator):
    """Parameters, secret state and latest release of an estimator."""

    features: Any
    fit_intercept: bool
    scale: str
    copy_X: bool
    auto_release: bool
    n_jobs: int | None
    include_secret_state: bool
    random_state: Any
    verbose: bool

    n_features_in_: int
    feature_names_in_: NDArray[Any]

    _loss: str
    _numeric_labels: bool
    # What makes features of raw cells, where the model has maps.
    _encoding: Encoding
    _released: Released
    # Columns of the frame given to fit that are no features, by the argument that named them: "ids", "subjects".
    _named_columns: Mapping[str, str] = MappingProxyType({})
    # What features without names are called in files, where it is not x0, x1, …
    _made_up_names: list[str] | None = None
    # Of a copy without the secret state: where that is, and whether rows had changed since the release.
    _closed_path: str | None
    _stale: bool

    def __sklearn_is_fitted__(self) -> bool:
        return "_released" in self.__dict__ or _secret.find(self) is not None

    def _encode_first(
        self, labels: NDArray[Any], classes: Any, weights: NDArray[np.float64] | None
    ) -> tuple[NDArray[np.float64], list[str] | None]:
        """Labels of a first fit as the engine takes them, and the names of the classes."""
        raise NotImplementedError

    def _encode(self, labels: NDArray[Any]) -> NDArray[np.float64]:
        """Labels of further rows."""
        raise NotImplementedError

    def _open_secret(self) -> _secret.Secret:
        """The secret state, or the exception that tells where it has gone."""
        check_is_fitted(self)
        secret = _secret.find(self)
        if secret is None:
            path = self._path()
            where = "it was not copied or pickled with it, or the model was closed"
            if path is not None:
                where = f"it is in the model directory: efface.open({path!r})"
            raise SecretStateMissingError(
                f"this {type(self).__name__} has no secret state, only released weights: {where}"
            )
        return secret

    def _engine(self) -> Engine:
        return self._open_secret().engine

    def _engine_to_change(self) -> Engine:
        """The engine, for a change of its rows."""
        secret = self._open_secret()
        secret.is_changed = True
        return secret.engine

    def _path(self) -> str | None:
        """The model directory that the model lives in, or lived in when it was closed."""
        secret = _secret.find(self)
        return self.__dict__.get("_closed_path") if secret is None else secret.engine.path

    def _is_stale(self) -> bool:
        """Whether rows have changed since the release in use."""
        secret = _secret.find(self)
        return self.__dict__.get("_stale", False) if secret is None else bool(secret.engine.is_stale)

    def _publish(self, secret: _secret.Secret) -> Released:
        """Makes a release, and takes it over."""
        with secret.lock:
            return self._take(secret, secret.engine.release(secret.next_seed()))

    def _take(self, secret: _secret.Secret, parts: Release) -> Released:
        """Makes a release of the engine the one in use."""
        self._released = Released.of(parts, _input.feature_names(self))
        self._follow(self._released)
        secret.n_taken = secret.engine.n_releases
        return self._released

    def _follow(self, released: Released) -> None:
        """Takes over what a release changes of the estimator itself."""

    def _changed(self, report: Report) -> None:
        """Takes over what a change of the rows changes of the estimator itself."""

    def _catch_up(self, secret: _secret.Secret) -> Released | None:
        """The engine's latest release.

        It may be another than the one in use: Ctrl-C can come between the engine's release and its being taken over.
        """
        if secret.n_taken != secret.engine.n_releases or "_released" not in self.__dict__:
            latest = secret.engine.latest()
            return None if latest is None else self._take(secret, latest)
        return self._released

    def __dir__(self) -> list[str]:
        with self._only_looking():
            return list(super().__dir__())

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        """What notebooks show of a fitted estimator."""
        with self._only_looking():
            return super()._get_fitted_attr_html(doc_link)

    @contextmanager
    def _only_looking(self) -> Iterator[None]:
        """While it lasts, the release in use is shown as it is: looking at a model must not change it."""
        secret = _secret.find(self)
        if secret is None:
            yield
            return
        with secret.lock:
            secret.n_lookers += 1
            try:
                yield
            finally:
                secret.n_lookers -= 1

    def _current(self) -> Released:
        """The release to use: the latest one, or a new one if rows have changed since."""
        check_is_fitted(self)
        secret = _secret.find(self)
        if secret is None:
            if self._is_stale():
                warn(f"{_CHANGED}, and this copy of the model cannot release anew", StaleReleaseWarning)
            return self._released
        with secret.lock:
            if _secret.find(self) is not secret:
                # Another thread closed the model, or fitted it anew.
                return self._current()
            if secret.n_lookers > 0:
                # Only whoever is looking has the lock; others, who use the model, wait for it.
                if "_released" not in self.__dict__:
                    raise AttributeError("nothing has been released yet")
                return self._released
            if self.auto_release and secret.engine.is_stale:
                return self._publish(secret)
            released = self._catch_up(secret)
            if released is None:
                if self.auto_release:
                    return self._publish(secret)
                raise EffaceError("nothing has been released yet; call release(), or set auto_release=True")
            is_stale = secret.engine.is_stale
        if is_stale:
            warn(f"{_CHANGED}; call release()", StaleReleaseWarning)
        return released
