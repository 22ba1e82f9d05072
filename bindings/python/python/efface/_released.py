"""A released model: everything that may leave the secret state, and all that predictions need."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


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

    @classmethod
    def of(cls, parts: tuple[NDArray[np.float64], str, str]) -> Released:
        """What the engine returned."""
        weights, certificate, model = parts
        published = json.loads(model)
        frozen = np.array(weights, dtype=np.float64, ndmin=2)
        frozen.setflags(write=False)
        intercept, scale, classes = bool(published["has_intercept"]), str(published["scale"]), published["classes"]
        return cls(frozen, certificate, model, intercept, scale, tuple(classes))

    @property
    def coef(self) -> NDArray[np.float64]:
        """Weights of the features, one row per problem."""
        return self.weights[:, :-1] if self.intercept else self.weights

    @property
    def intercepts(self) -> NDArray[np.float64]:
        """One per problem."""
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
