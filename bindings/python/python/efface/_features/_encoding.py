"""From a specification to features: the schema that it stands for, and what makes features of rows by it."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from efface import _efface
from efface._exceptions import PlanError, RowError
from efface._features import _columns
from efface._features._maps import Entry, Fourier, Map, Network, Schema
from efface._features._public import Public, digest
from efface._given import _frame, _parameters

# In place of a column's name: the rows of an array, as one list each.
ALL = "*"


@dataclass
class Encoding:
    """What makes features of the rows of a model: a schema, as everybody may know it.

    Attributes
    ----------
    schema : str
        JSON; networks by their digests.
    networks : list of str
        Files and folders where these are.
    feature_names : list of str
        What it makes.
    scale : str
        How its rows are scaled where nobody says otherwise.
    public : dict of str to Public
        By column: transformers that are run here.
    extractor_group : int or None
        For how many rows the share of a private network is in the promise.
    """

    schema: str
    networks: list[str]
    feature_names: list[str] = field(repr=False)
    scale: str
    public: dict[str, Public] = field(default_factory=dict)
    extractor_group: int | None = None

    @classmethod
    def of(cls, features: Any, X: Any) -> Encoding:
        """What a specification stands for, for rows like these."""
        X = _frame.opened(X)
        if isinstance(features, str | os.PathLike):
            features = Schema(features)
        find_onnx_runtime()
        if isinstance(features, Schema):
            return cls._of_schema(features)
        _columns.n_rows(X)
        schema: Entry = {"format": "efface-schema-1"}
        of = features
        if isinstance(features, Fourier):
            schema["fourier"] = features.layer()
            of = _numbers(X) if features.of is None else features.of
        entries, maps = _entries(of, X)
        if any(entry["kind"] == "derived" for entry in entries):
            # What means that nothing is there, as in a frame without maps.
            schema["missing_markers"] = list(_efface.USUAL_MISSING_MARKERS)
        schema["column"] = entries
        encoder = _efface.FeatureEncoder(json.dumps(schema))
        public = {name: map for name, map in maps.items() if isinstance(map, Public)}
        groups = [map.extractor_group for map in maps.values() if isinstance(map, Network)]
        group = next((group for group in groups if group is not None), None)
        return cls._of_encoder(encoder, public, group)

    @classmethod
    def of_directory(cls, description: Entry, path: str, features: Any) -> Encoding:
        """That of a model directory, with the transformers of ``features``."""
        schema, maps = description["schema"], features if isinstance(features, Mapping) else {}
        public = {}
        for entry in schema["column"]:
            given = maps.get(entry["name"], features if isinstance(features, Public) else None)
            if entry["kind"] != "transformer" or not isinstance(given, Public):
                continue
            if digest(given.transformer) != entry["sha256"]:
                raise PlanError(
                    f"column `{entry['name']}` of this model goes through a {entry['transformer']} of SHA-256 "
                    f"{entry['sha256']}, and the one given has {digest(given.transformer)}"
                )
            public[entry["name"]] = given
        return cls(
            json.dumps(schema),
            [str(Path(path, "networks").absolute())],
            description["feature_names"],
            description["scale"],
            public,
            description["extractor_group"],
        )

    @classmethod
    def _of_schema(cls, features: Schema) -> Encoding:
        file, networks = features.file, [os.path.abspath(os.fspath(path)) for path in features.networks]
        if isinstance(file, Mapping):
            encoder = _efface.FeatureEncoder(json.dumps({"format": "efface-schema-1", **file}), networks=networks)
        else:
            encoder = _efface.FeatureEncoder.load(os.path.abspath(os.fspath(file)))
        return cls._of_encoder(encoder, {}, features.extractor_group)

    @classmethod
    def _of_encoder(cls, encoder: _efface.FeatureEncoder, public: dict[str, Public], group: int | None) -> Encoding:
        networks = [str(path) for path in encoder.networks]
        encoding = cls(encoder.schema, networks, encoder.feature_names, encoder.scale, public, group)
        encoding.__dict__["_encoder"] = encoder
        return encoding

    @property
    def encoder(self) -> _efface.FeatureEncoder:
        """The engine's; made when it is first needed, where the encoding comes from a pickle or a directory."""
        encoder: _efface.FeatureEncoder | None = self.__dict__.get("_encoder")
        if encoder is None:
            find_onnx_runtime()
            encoder = self.__dict__["_encoder"] = _efface.FeatureEncoder(self.schema, networks=self.networks)
        return encoder

    @property
    def entries(self) -> list[Entry]:
        """The entries of the schema."""
        entries: list[Entry] = json.loads(self.schema)["column"]
        return entries

    @property
    def columns(self) -> list[str]:
        """The columns that are read."""
        return [entry["name"] for entry in self.entries]

    @property
    def is_private(self) -> bool:
        """Whether a network has seen the rows."""
        return any(entry.get("origin") == "private" for entry in self.entries)

    def encode(
        self, X: Any, *, one_by_one: bool = False, n_jobs: int | None = None, progress: Any = None
    ) -> _efface.EncodedRows:
        """Features of rows; ``one_by_one``: public transformers see one row at a time."""
        X = _frame.opened(X)
        n_rows = _columns.n_rows(X)
        columns = [self._cells(X, index, entry, one_by_one) for index, entry in enumerate(self.entries)]
        return self.encoder.encode(columns, n_rows, n_threads=_parameters.n_threads(n_jobs), progress=progress)

    def _cells(self, X: Any, index: int, entry: Entry, one_by_one: bool) -> _columns.Cells:
        name = entry["name"]
        public = self.public.get(name)
        values = _picked(X, self.columns, index, is_whole=public is not None)
        cells = _columns.cells(values if public is None else public.made(values, one_by_one=one_by_one), name)
        if entry["kind"] == "transformer" and not isinstance(cells, np.ndarray):
            raise PlanError(
                f"column `{name}` of this model goes through a {entry['transformer']}, no part of a directory: "
                "open it with features=efface.Public(…) or a dict of them by column, or give what it makes"
            )
        return cells

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_encoder"}


def find_onnx_runtime() -> None:
    """Says where the package ``onnxruntime`` of this Python has its library; it is not imported."""
    try:
        found = importlib.util.find_spec("onnxruntime")
    except (ImportError, ValueError):
        return
    for folder in () if found is None else found.submodule_search_locations or ():
        for library in sorted(Path(folder, "capi").glob("*onnxruntime*")):
            if library.name.startswith(("libonnxruntime.", "onnxruntime.dll")):
                _efface.onnx_runtime_at_hand(library)
                return


def _numbers(X: Any) -> Mapping[str, Entry]:
    """Entries of columns of numbers, as they are."""
    names = _frame.column_names(X)
    if names is not None:
        return {str(name): {"kind": "numeric"} for name in names}
    array = np.asarray(X)
    if array.dtype.kind in "biuf":
        return {ALL: {"kind": "vector", "dim": int(np.prod(array.shape[1:], dtype=np.int64))}}
    n_columns = 1 if array.ndim == 1 else array.shape[1]
    return {f"x{index}": {"kind": "numeric"} for index in range(n_columns)}


def _entries(features: Any, X: Any) -> tuple[list[Entry], dict[str, Map]]:
    """The entries of a schema for all columns of X, and the maps behind them."""
    names = _frame.column_names(X)
    if isinstance(features, Map) and not isinstance(features, Fourier | Schema):
        name = _only_column(features, X, names)
        return [_entry(features, X, [name], 0)], {name: features}
    if not isinstance(features, Mapping) or not features:
        raise PlanError(
            "features must be a map (efface.Text, Image, Network, Fourier, Public), a dict of them by column, or a "
            f"schema (efface.Schema, or the path of a file), got `{features!r}`"
        )
    if names is not None:
        known = [str(name) for name in names]
    elif ALL in features:
        known = [ALL]
    else:
        known = [f"x{index}" for index in range(_columns.n_columns(X))]
    unknown = [str(name) for name in features if str(name) not in known]
    if unknown:
        raise RowError(f"features: X has no column `{unknown[0]}`; its columns are {', '.join(known)}")
    by_name = {str(name): value for name, value in features.items()}
    entries, maps = [], {}
    for index, name in enumerate(known):
        given = by_name.get(name, {"kind": "derived"})
        entries.append(_entry(given, X, known, index))
        if isinstance(given, Map):
            maps[name] = given
    return entries, maps


def _entry(given: Any, X: Any, columns: list[str], index: int) -> Entry:
    name = columns[index]
    if isinstance(given, Mapping):
        return {"name": name, **given}
    if not isinstance(given, Map) or isinstance(given, Fourier | Schema):
        raise PlanError(
            f"features: column `{name}` must be a map (efface.Text, Image, Network, Public) or an entry of a schema, "
            f"such as {{'kind': 'numeric', 'range': [0, 120], 'origin': 'public'}}, got `{given!r}`"
        )
    entry = {"name": name, **given.entry()}
    if isinstance(given, Public):
        entry["features"] = int(given.made(_picked(X, columns, index, is_whole=True)[:1]).shape[1])
    return entry


def _picked(X: Any, columns: list[str], index: int, *, is_whole: bool) -> Any:
    """The cells of a column as they were given; ``is_whole``: all columns together stay what they are."""
    name, names = columns[index], _frame.column_names(X)
    if names is not None:
        if name == ALL and len(names) > 1:
            return X if is_whole else _matrix(X)
        # Rows that had no name at fit are the only column.
        is_only = len(names) == 1 and (name == ALL or (columns == ["x0"] and "x0" not in names))
        return X[names[0]] if is_only else _columns.of_frame(X, name)
    if len(columns) == 1:
        is_column = isinstance(X, np.ndarray) and X.shape[1:] == (1,) and name != ALL
        return X[:, 0] if is_column else X
    array = X if isinstance(X, np.ndarray) else np.asarray(X, dtype=object)
    if array.ndim != 2 or array.shape[1] != len(columns):
        raise RowError(
            f"X has no named columns and is of shape {array.shape}; expected a frame with the columns "
            f"{', '.join(columns)}"
        )
    return array[:, index]


def _only_column(map: Map, X: Any, names: list[Any] | None) -> str:
    """What the one column is called that a map takes."""
    title = type(map).__name__
    takes_arrays = isinstance(map, Public) or (hasattr(map, "height") and getattr(map, "tokenizer", None) is None)
    if names is None:
        return ALL if takes_arrays else "x0"
    if len(names) == 1:
        return str(names[0])
    if takes_arrays:
        return ALL
    raise RowError(
        f"features={title}(…) takes one column, and X has {len(names)}: name it, as in "
        f"features={{'{names[0]}': efface.{title}(…)}}"
    )


def _matrix(X: Any) -> Any:
    """All columns of a frame, as the rows of an array."""
    if hasattr(X, "to_numpy"):
        return X.to_numpy()
    return np.column_stack([column.to_numpy() for column in X.columns])
