"""Released models in files that others read: ONNX, safetensors, plain JSON.

Each file predicts as the estimator does, the scaling of rows included; none holds more than what has been released.
"""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from efface._efface import to_onnx
from efface._foundation import Foundation
from efface._released import Released

if TYPE_CHECKING:
    from onnx import ModelProto

Destination = str | os.PathLike[str]


class Exports(Foundation):
    """Writers of the released model."""

    def to_json(self, path: Destination | None = None) -> str:
        """The released model as plain JSON, which ``efface predict`` reads and any program can.

        Parameters
        ----------
        path : str or path-like, optional
            A file to write it to. For a model that lives in a directory the signed certificate goes beside it, to a
            file named with ``.certificate.json`` added.

        Returns
        -------
        text : str
            The JSON.
        """
        released = self._current()
        if path is not None:
            Path(path).write_text(released.model, encoding="utf-8")
            if released.is_signed:
                Path(f"{os.fspath(path)}.certificate.json").write_text(released.certificate, encoding="utf-8")
        return released.model

    def to_safetensors(self, path: Destination) -> None:
        """Write the released weights as safetensors.

        Tensors ``weights`` (n_problems, n_features) and ``intercept`` (n_problems,), double precision, for rows scaled
        as the metadata says under ``scale`` (and ``constants``, where they are derived from the rows). The rest of the
        metadata: ``format``, ``loss``, ``classes`` and ``features`` (JSON lists of text), ``schema``, where columns of
        a frame become features, ``release``, ``certified``,
        the whole ``certificate``, and ``outside_scope`` (a JSON list), what it does not speak about.

        Parameters
        ----------
        path : str or path-like
            The file to write.
        """
        save_file = _optional("safetensors.numpy").save_file
        released = self._current()
        tensors = {
            "weights": np.ascontiguousarray(released.scaled_coef),
            "intercept": np.ascontiguousarray(released.scaled_intercepts),
        }
        save_file(tensors, os.fspath(path), metadata=self._metadata(released))

    def to_onnx(self, path: Destination | None = None) -> ModelProto:
        """The released model as ONNX, from raw rows to answers, in single precision: what ``efface export`` writes.

        Rows of numbers are one input ``X``, (n, n_features), in which NaN is a gap. Where columns are texts, or a
        schema makes features of them, each column is an input under its name: texts ``(n, 1)`` (a gap is an empty one),
        pictures as pixels, tokens for a network of texts. Outputs: ``label`` and ``probabilities`` for logistic
        regression, ``label`` and ``scores`` for ridge classifiers, ``prediction`` for ridge regression.

        Parameters
        ----------
        path : str or path-like, optional
            A file to write it to.

        Returns
        -------
        model : onnx.ModelProto
            The model, checked.
        """
        onnx = _optional("onnx")
        released = self._current()
        classes = getattr(self, "classes_", None)
        file = to_onnx(
            (released.model, list(released.columns)),
            labels=None if classes is None else _labels(classes),
            metadata=[(key, text) for key, text in self._metadata(released).items() if key in _NOT_IN_MODEL],
            directory=self._path(),
        )
        model: ModelProto = onnx.load_from_string(file)
        onnx.checker.check_model(model)
        if path is not None:
            Path(path).write_bytes(file)
        return model

    def _metadata(self, released: Released) -> dict[str, str]:
        """What a file must say beside its numbers, as text; the certificate as it was issued."""
        published: dict[str, Any] = json.loads(released.model)
        return {
            "format": "efface-weights-1",
            "loss": published["loss"],
            "scale": released.scale,
            "classes": json.dumps(published["classes"]),
            "features": json.dumps(published["features"]),
            "release": str(published["release"]),
            "certified": json.dumps(published["certified"]),
            "certificate": released.certificate,
            "outside_scope": json.dumps(released.claims()["outside_scope"]),
            **{key: json.dumps(published[key]) for key in ("constants", "schema") if key in published},
        }


# What the published model does not say of itself.
_NOT_IN_MODEL = ("certificate", "outside_scope")


def _labels(classes: NDArray[Any]) -> list[int] | list[str]:
    """What a file answers: integers (booleans as 0 and 1), or text."""
    if classes.dtype.kind in "iub":
        return [int(label) for label in classes]
    return [str(label) for label in classes.tolist()]


def _optional(module: str) -> Any:
    """A module of the extra ``export``, or the exception that says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(f"this export needs {package}: pip install {package}") from error
