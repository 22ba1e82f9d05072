"""The graph of a released model in ONNX: scale the rows, one linear operator, probabilities where there are any."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, checker, helper

from efface._exceptions import PlanError
from efface._released import Derived, Released

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

_OPSETS = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 3)]
_IR_VERSION = 8


def build(released: Released, *, classes: NDArray[Any] | None, metadata: dict[str, str]) -> ModelProto:
    """The model that computes what the estimator does, in single precision."""
    derived = released.derived
    if derived is not None and derived.raw_column is not None:
        raise PlanError(
            f"ONNX takes rows of numbers, and column `{derived.raw_column}` of this model has texts or gaps: use "
            "to_json or to_safetensors"
        )
    n_features = released.coef.shape[1]
    nodes, scaled, constants = _scaling(released)
    coef, intercepts = _linear(released)
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


def _linear(released: Released) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weights and intercepts for the scaled columns."""
    derived = released.derived
    coef, intercepts = released.scaled_coef, released.scaled_intercepts
    if derived is None:
        return coef, intercepts
    scale = derived.target_scale
    return scale * derived.spread(coef), derived.target_location + scale * intercepts


def _scaling(released: Released) -> tuple[list[NodeProto], str, list[TensorProto]]:
    """Nodes that scale rows, what their result is called, and their constants.

    ``unit`` divides by the norm and ``clip:R`` by the larger of norm and R; ``auto`` centres and scales columns, clips
    them and shortens rows that are still long; the others take rows as they are.
    """
    if released.derived is not None:
        return _derived_scaling(released.derived)
    kind, _, radius = released.scale.partition(":")
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
    n_columns, n_used = len(derived.location), max(1, int(derived.is_feature.sum()))
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
