"""The graph of a released model in ONNX: scale the rows, one linear operator, probabilities where there are any."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, checker, helper

from efface._exceptions import PlanError
from efface._released import Released

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

_OPSETS = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 3)]
_IR_VERSION = 8


def build(released: Released, *, classes: NDArray[Any] | None, metadata: dict[str, str]) -> ModelProto:
    """The model that computes what the estimator does, in single precision."""
    derived = None if released.derived is None else Derived.of(released)
    n_features = released.coef.shape[1]
    nodes, scaled, constants = _scaling(released.scale) if derived is None else _derived_scaling(derived)
    coef, intercepts = released.scaled_coef, released.scaled_intercepts
    if derived is not None:
        spread = np.zeros((len(coef), n_features))
        spread[:, derived.per_unit > 0.0] = coef
        coef = derived.target["scale"] * spread
        intercepts = derived.target["location"] + derived.target["scale"] * intercepts
    rows = helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, n_features])
    if classes is None:
        nodes.append(_regressor(coef, intercepts, scaled))
        outputs = [helper.make_tensor_value_info("prediction", TensorProto.FLOAT, [None, 1])]
    else:
        more, score = _classifier(coef, intercepts, scaled, classes, loss=released.loss)
        nodes.extend(more)
        kind = TensorProto.STRING if _labels(classes)[0] == "classlabels_strings" else TensorProto.INT64
        outputs = [
            helper.make_tensor_value_info("label", kind, [None]),
            helper.make_tensor_value_info(score, TensorProto.FLOAT, [None, len(classes)]),
        ]
    graph = helper.make_graph(nodes, "efface", [rows], outputs, initializer=constants)
    model = helper.make_model(graph, opset_imports=_OPSETS, ir_version=_IR_VERSION, producer_name="efface")
    helper.set_model_props(model, metadata)
    checker.check_model(model)
    return model


@dataclass(frozen=True)
class Derived:
    """Constants that rows of numbers are scaled by, one entry per column."""

    location: NDArray[np.float64]
    # 0 for a column that is no feature: nothing in it tells rows apart.
    per_unit: NDArray[np.float64]
    target: dict[str, float]

    @classmethod
    def of(cls, released: Released) -> Derived:
        published = json.loads(released.model)
        of = dict(zip(published["columns"], published["constants"]["columns"], strict=True))
        for name, column in of.items():
            if column["kind"] not in ("number", "nothing", "empty") or column.get("has_missing"):
                raise PlanError(
                    f"ONNX takes rows of numbers, and column `{name}` of this model has texts or gaps: use to_json or "
                    "to_safetensors"
                )
        columns = [of.get(name, {}) for name in released.columns]
        location = np.array([column.get("location", 0.0) for column in columns])
        per_unit = np.array([1.0 / column["scale"] if "scale" in column else 0.0 for column in columns])
        return cls(location, per_unit, published["constants"].get("target") or {"location": 0.0, "scale": 1.0})


def _scaling(scale: str) -> tuple[list[NodeProto], str, list[TensorProto]]:
    """Nodes that scale rows, what their result is called, and their constants.

    ``unit`` divides by the norm and ``clip:R`` by the larger of norm and R; the others take rows as they are.
    """
    kind, _, radius = scale.partition(":")
    if kind not in ("unit", "clip"):
        return [], "X", []
    least = float(radius) if kind == "clip" else float(np.finfo(np.float32).tiny)
    constants = [
        helper.make_tensor("last_axis", TensorProto.INT64, [1], [1]),
        helper.make_tensor("least_norm", TensorProto.FLOAT, [1], [least]),
    ]
    nodes = [
        helper.make_node("ReduceL2", ["X", "last_axis"], ["norm"], keepdims=1),
        helper.make_node("Max", ["norm", "least_norm"], ["divisor"]),
        helper.make_node("Div", ["X", "divisor"], ["scaled"]),
    ]
    return nodes, "scaled", constants


def _derived_scaling(derived: Derived) -> tuple[list[NodeProto], str, list[TensorProto]]:
    """The same for ``auto``: columns are centred, scaled and clipped, and rows shortened that are still long."""
    n_columns, n_used = len(derived.location), max(1, int((derived.per_unit > 0.0).sum()))
    constants = [
        helper.make_tensor("location", TensorProto.FLOAT, [n_columns], derived.location),
        helper.make_tensor("per_unit", TensorProto.FLOAT, [n_columns], derived.per_unit),
        helper.make_tensor("lowest", TensorProto.FLOAT, [], [-8.0]),
        helper.make_tensor("highest", TensorProto.FLOAT, [], [8.0]),
        helper.make_tensor("last_axis", TensorProto.INT64, [1], [1]),
        helper.make_tensor("limit", TensorProto.FLOAT, [1], [4.0 * n_used**0.5]),
        helper.make_tensor("one", TensorProto.FLOAT, [1], [1.0]),
    ]
    nodes = [
        helper.make_node("Sub", ["X", "location"], ["centred"]),
        helper.make_node("Mul", ["centred", "per_unit"], ["standard"]),
        helper.make_node("Clip", ["standard", "lowest", "highest"], ["clipped"]),
        helper.make_node("ReduceL2", ["clipped", "last_axis"], ["norm"], keepdims=1),
        helper.make_node("Div", ["norm", "limit"], ["excess"]),
        helper.make_node("Max", ["excess", "one"], ["divisor"]),
        helper.make_node("Div", ["clipped", "divisor"], ["scaled"]),
    ]
    return nodes, "scaled", constants


def _regressor(coef: NDArray[np.float64], intercepts: NDArray[np.float64], scaled: str) -> NodeProto:
    return helper.make_node(
        "LinearRegressor",
        [scaled],
        ["prediction"],
        domain="ai.onnx.ml",
        coefficients=coef.ravel().tolist(),
        intercepts=intercepts.tolist(),
        targets=1,
    )


def _classifier(
    coef: NDArray[np.float64],
    intercepts: NDArray[np.float64],
    scaled: str,
    classes: NDArray[Any],
    *,
    loss: str,
) -> tuple[list[NodeProto], str]:
    is_binary = len(coef) == 1
    if is_binary:
        coef, intercepts = np.vstack([-coef, coef]), np.concatenate([-intercepts, intercepts])
    attribute, labels = _labels(classes)
    transform = {"logistic": "LOGISTIC", "softmax": "SOFTMAX"}.get(loss, "NONE")
    score = "scores" if transform == "NONE" else "probabilities"
    # One against the others: each probability by itself, then divided by their sum.
    direct = is_binary or transform != "LOGISTIC"
    linear = helper.make_node(
        "LinearClassifier",
        [scaled],
        ["label", score if direct else "each"],
        domain="ai.onnx.ml",
        coefficients=coef.ravel().tolist(),
        intercepts=intercepts.tolist(),
        multi_class=0,
        post_transform=transform,
    )
    linear.attribute.append(helper.make_attribute(attribute, labels))
    if direct:
        return [linear], score
    return [linear, helper.make_node("Normalizer", ["each"], [score], domain="ai.onnx.ml", norm="L1")], score


def _labels(classes: NDArray[Any]) -> tuple[str, list[Any]]:
    """The attribute that classes go to: integers (booleans as 0 and 1), or text."""
    if classes.dtype.kind in "iub":
        return "classlabels_ints", [int(label) for label in classes]
    return "classlabels_strings", [str(label) for label in classes.tolist()]
