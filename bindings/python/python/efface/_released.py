"""A released model: everything that may leave the secret state, and all that predictions need."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Derived:
    """Derived constants, one entry per weight: those of the features, and one per column that is none."""

    names: list[str]
    location: NDArray[np.float64]
    # 0 for a column that is no feature: nothing in it tells rows apart.
    per_unit: NDArray[np.float64]
    target_location: float
    target_scale: float
    # The first column that has texts or gaps, if there is one.
    raw_column: str | None

    @classmethod
    def of(cls, published: dict[str, Any]) -> Derived:
        """The constants of a published model."""
        constants, features = published["constants"], iter(published["features"])
        names, location, per_unit, raw = [], [], [], []
        for name, column in zip(published["columns"], constants["columns"], strict=True):
            width = _width(column)
            if width > 1 or column["kind"] in ("categories", "gaps"):
                raw.append(name)
            # Other features of a column of numbers than the first, and all of another column, are 0 or 1.
            others = max(width, 1) - 1
            names.extend([next(features) for _ in range(width)] or [name])
            location.extend([column.get("location", 0.0)] + others * [0.0])
            per_unit.extend([float(width > 0) / column.get("scale", 1.0)] + others * [1.0])
        target = constants.get("target") or {"location": 0.0, "scale": 1.0}
        raw_column = raw[0] if raw else None
        scales = float(target["location"]), float(target["scale"])
        return cls(names, np.array(location), np.array(per_unit), *scales, raw_column)

    @property
    def is_feature(self) -> NDArray[np.bool_]:
        """Which entries are features."""
        return self.per_unit > 0.0

    def spread(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Weights of the features as weights of all entries: 0 where a column is none."""
        spread = np.zeros((len(weights), len(self.per_unit)))
        spread[:, self.is_feature] = weights
        return spread

    def coef(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Weights in the columns' own units."""
        return self.target_scale * self.spread(weights) * self.per_unit

    def intercepts(self, weights: NDArray[np.float64], intercepts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Intercepts that go with them."""
        shift = self.spread(weights) @ (self.location * self.per_unit)
        return self.target_location + self.target_scale * (intercepts - shift)


def _width(column: dict[str, Any]) -> int:
    """Number of features of a column."""
    slots = bool(column.get("has_others")) + bool(column.get("has_missing"))
    return {"nothing": 0, "categories": slots + len(column.get("categories", []))}.get(column["kind"], 1 + slots)


@dataclass(frozen=True)
class Released:
    """Weights with their noise, and the certificate they were published with.

    Attributes
    ----------
    weights : ndarray of shape (n_problems, dim)
        One row per problem; where there is an intercept it is the last column.
    certificate : str
        The certificate as it was issued, JSON.
    model : str
        The published model, JSON: what ``efface predict`` reads.
    """

    weights: NDArray[np.float64] = field(repr=False)
    certificate: str = field(repr=False)
    model: str = field(repr=False)
    intercept: bool
    scale: str
    classes: tuple[str, ...] = ()
    loss: str = ""

    @classmethod
    def of(cls, parts: tuple[NDArray[np.float64], str, str]) -> Released:
        """What the engine returned."""
        weights, certificate, model = parts
        published = json.loads(model)
        frozen = np.array(weights, dtype=np.float64, ndmin=2)
        frozen.setflags(write=False)
        intercept, scale, classes = bool(published["has_intercept"]), str(published["scale"]), published["classes"]
        return cls(frozen, certificate, model, intercept, scale, tuple(classes), str(published["loss"]))

    @property
    def coef(self) -> NDArray[np.float64]:
        """Weights, one row per problem: in the columns' own units where constants are derived."""
        derived = self.derived
        return self.scaled_coef if derived is None else derived.coef(self.scaled_coef)

    @property
    def intercepts(self) -> NDArray[np.float64]:
        """One per problem."""
        derived = self.derived
        if derived is None:
            return self.scaled_intercepts
        return derived.intercepts(self.scaled_coef, self.scaled_intercepts)

    @property
    def derived(self) -> Derived | None:
        """How columns are centred and scaled, where that was derived from the rows."""
        return Derived.of(json.loads(self.model)) if self.scale == "auto" else None

    @property
    def names(self) -> list[str]:
        """What the weights in ``coef`` belong to."""
        derived = self.derived
        return list(json.loads(self.model)["features"]) if derived is None else derived.names

    @property
    def scaled_coef(self) -> NDArray[np.float64]:
        """Weights of the scaled features, one row per problem."""
        return self.weights[:, :-1] if self.intercept else self.weights

    @property
    def scaled_intercepts(self) -> NDArray[np.float64]:
        """What goes with them, one per problem."""
        return self.weights[:, -1] if self.intercept else np.zeros(len(self.weights))

    @property
    def is_signed(self) -> bool:
        """Whether the certificate is one that a stranger can check: in a signed envelope, with its place in the log."""
        return "payload" in json.loads(self.certificate)

    def claims(self) -> dict[str, Any]:
        """The certificate's fields, taken out of the signed envelope if there is one."""
        certificate: dict[str, Any] = json.loads(self.certificate)
        if "payload" in certificate:
            statement = json.loads(base64.b64decode(certificate["payload"]))
            certificate = statement["predicate"]
        return certificate
