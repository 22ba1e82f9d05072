"""The engine of Efface, as the extension module shows it. Reports and configurations are JSON."""

import os
from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

__version__: str
#: Texts that usually mean that nothing is there.
USUAL_MISSING_MARKERS: list[str]

#: A two-dimensional C-order array of float32 or float64, Arrow data (`__arrow_c_stream__`, `__arrow_c_array__`), or
#: `EncodedRows`.
Rows = Any
#: An int64 array, or integers and texts.
Ids = NDArray[np.int64] | Sequence[int | str]
#: Weights (one row per problem, the intercept last), certificate, published model.
Release = tuple[NDArray[np.float64], str, str]

@final
class Engine:
    """A trained model with everything that removing its rows takes. Nothing of its secret state can be seen."""

    @staticmethod
    def fit(
        rows: Rows,
        labels: NDArray[np.float64],
        *,
        config: str,
        feature_names: list[str],
        naming: str | None = None,
        classes: list[str] | None = None,
        row_weights: NDArray[np.float64] | None = None,
        ids: Ids | None = None,
        subjects: Ids | None = None,
        features: FeatureEncoder | None = None,
        extractor_group: int | None = None,
        outside_scope: Sequence[str] = (),
        copy: bool = False,
        seed: int | None = None,
        n_threads: int | None = None,
        progress: Callable[[str], object] | None = None,
    ) -> Engine: ...
    @staticmethod
    def open(
        path: str | os.PathLike[str],
        *,
        memory_bytes: int | None = None,
        witness: str | os.PathLike[str] | None = None,
        key: str | os.PathLike[str] | None = None,
        passphrase: str | None = None,
        wait: float = 0.0,
        n_threads: int | None = None,
    ) -> Engine: ...
    def save(
        self,
        path: str | os.PathLike[str],
        *,
        key: str | os.PathLike[str] | None = None,
        witness: str | os.PathLike[str] | None = None,
    ) -> str: ...
    def remove(
        self,
        *,
        ids: Ids | None = None,
        subjects: Ids | None = None,
        request_id: str | None = None,
        skip_missing: bool = False,
    ) -> str: ...
    def add(
        self,
        rows: Rows,
        labels: NDArray[np.float64],
        *,
        ids: Ids | None = None,
        subjects: Ids | None = None,
        row_weights: NDArray[np.float64] | None = None,
    ) -> str: ...
    def correct(
        self,
        ids: Ids,
        rows: Rows,
        labels: NDArray[np.float64],
        *,
        subjects: Ids | None = None,
        row_weights: NDArray[np.float64] | None = None,
    ) -> str: ...
    def settle(self, tolerance: float | None = None) -> str: ...
    def retrain(self, seed: int | None = None) -> str: ...
    def release(self, seed: int | None = None) -> Release: ...
    def latest(self) -> Release | None: ...
    def status(self) -> str: ...
    def influence(self, ids: Ids | None = None) -> NDArray[np.float64]: ...
    def description(self) -> str: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(data: bytes, *, networks: Sequence[str] = ()) -> Engine: ...
    def close(self) -> None: ...
    @property
    def remark(self) -> str | None: ...
    @property
    def n_releases(self) -> int: ...
    @property
    def is_stale(self) -> bool: ...
    @property
    def path(self) -> str | None: ...

@final
class FeatureEncoder:
    """A schema whose maps are built and whose networks are open."""

    def __init__(self, schema: str, *, networks: Sequence[str | os.PathLike[str]] = ()) -> None: ...
    @staticmethod
    def load(path: str | os.PathLike[str]) -> FeatureEncoder: ...
    @property
    def schema(self) -> str: ...
    @property
    def networks(self) -> list[str | os.PathLike[str]]: ...
    @property
    def feature_names(self) -> list[str]: ...
    @property
    def scale(self) -> str: ...
    def encode(
        self,
        columns: Sequence[Any],
        n_rows: int,
        *,
        n_threads: int | None = None,
        progress: Callable[[str], object] | None = None,
    ) -> EncodedRows: ...

@final
class EncodedRows:
    """Features that a `FeatureEncoder` made."""

    @property
    def n_rows(self) -> int: ...
    def to_numpy(self) -> NDArray[Any]: ...

def decision(
    rows: Rows,
    weights: NDArray[np.float64],
    *,
    scale: str,
    intercept: bool,
    published: tuple[str, list[str]] | None = None,
    n_threads: int | None = None,
) -> NDArray[np.float64]: ...
def transform(
    rows: Rows,
    *,
    scale: str,
    intercept: bool,
    published: tuple[str, list[str]] | None = None,
    n_threads: int | None = None,
) -> NDArray[np.float64]: ...
def in_own_units(
    weights: NDArray[np.float64], intercept: bool, published: tuple[str, list[str]]
) -> tuple[list[str], NDArray[np.float64], NDArray[np.float64]]: ...
def to_onnx(
    published: tuple[str, list[str]],
    *,
    labels: list[int] | list[str] | None = None,
    metadata: list[tuple[str, str]] = ...,
    directory: str | os.PathLike[str] | None = None,
) -> bytes: ...
def draws_noise(config: str) -> bool: ...
def longest_row(rows: Rows) -> float: ...
def onnx_runtime_at_hand(path: str | os.PathLike[str]) -> None: ...
def plan(
    config: str,
    *,
    n_rows: int | None = None,
    dim: int | None = None,
    rows: Rows | None = None,
    labels: NDArray[np.float64] | None = None,
    classes: list[str] | None = None,
    features: FeatureEncoder | None = None,
) -> str: ...
