"""The builders of operators on quantised tensors, and the user's functions for these."""

from __future__ import annotations

from typing import Any

from whence.relay.namespaces import NAMESPACES
from whence.syntax.relay.op_attrs import register_op_attr

QNN_LEGALIZE = "FTVMQnnLegalize"


def register_qnn_legalize(op_name: str, legal_op: Any = None, level: int = 10) -> Any:
    """A function (attrs, inputs, types) -> expression or None, for `qnn.transform.Legalize`."""
    return register_op_attr(op_name, QNN_LEGALIZE, legal_op, level)


def __getattr__(name: str) -> Any:
    return getattr(NAMESPACES["qnn"], name)


def __dir__() -> list[str]:
    return dir(NAMESPACES["qnn"])
