"""A released model: everything that may leave the secret state, and all that predictions need."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface._efface import in_own_units


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
    # Of the rows; a model does not publish the names of those in which no row has anything.
    columns: tuple[str, ...] = ()

    @classmethod
    def of(cls, parts: tuple[NDArray[np.float64], str, str], columns: list[str]) -> Released:
        """What the engine returned, for rows of these columns."""
        weights, certificate, model = parts
        published = json.loads(model)
        frozen = np.array(weights, dtype=np.float64, ndmin=2)
        frozen.setflags(write=False)
        intercept, scale, classes = bool(published["has_intercept"]), str(published["scale"]), published["classes"]
        loss = str(published["loss"])
        return cls(frozen, certificate, model, intercept, scale, tuple(classes), loss, tuple(columns))

    @property
    def derived(self) -> tuple[str, list[str]] | None:
        """The published model and the columns of its rows, where constants are derived from the rows."""
        return (self.model, list(self.columns)) if self.scale == "auto" else None

    @property
    def coef(self) -> NDArray[np.float64]:
        """Weights, one row per problem: in the columns' own units where constants are derived."""
        derived = self.derived
        return self.scaled_coef if derived is None else in_own_units(self.weights, self.intercept, derived)[1]

    @property
    def intercepts(self) -> NDArray[np.float64]:
        """One per problem."""
        derived = self.derived
        return self.scaled_intercepts if derived is None else in_own_units(self.weights, self.intercept, derived)[2]

    @property
    def names(self) -> list[str]:
        """What the weights in ``coef`` belong to."""
        derived = self.derived
        if derived is None:
            return list(json.loads(self.model)["features"])
        return in_own_units(self.weights, self.intercept, derived)[0]

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
