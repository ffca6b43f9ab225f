"""Opsets: which are known, and where an operator meant something else before the first of them.

Opsets beyond the known ones are imported with a warning. A node whose operator is not what it is now is refused, or its
converter says what it was.
"""

from __future__ import annotations

import warnings

from onnx import NodeProto, helper

from ...support.errors import FrontendWarning

KNOWN = range(7, 25)

_TRAINING = ("BatchNormalization", "Dropout")
"""Before opset 7 these trained unless `is_test` was set."""


def warn_of(opset: int, file: str) -> None:
    """Say that an opset is not among the known ones."""
    if opset not in KNOWN:
        text = f"{file}: expected ONNX opset {KNOWN[0]} to {KNOWN[-1]}, got {opset}; its operators are read as known"
        warnings.warn(FrontendWarning(text), stacklevel=2)


def differs(node: NodeProto, opset: int) -> tuple[str, str] | None:
    """Return what was expected of a node and what was found, where its operator means something else in this opset."""
    given = {attribute.name: attribute for attribute in node.attribute}
    if opset < 7 and node.op_type in _TRAINING:
        if "is_test" not in given or not helper.get_attribute_value(given["is_test"]):
            return "is_test=1 (inference) before opset 7", "training mode"
    if opset < 2 and node.op_type == "Pad":
        return "a Pad of opset 2 or later", f"opset {opset}"
    return None
