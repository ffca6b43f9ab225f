"""onnxruntime as an external compiler: a function becomes an ONNX model, which a session runs."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...dialects.relay.operator import Operator
from ...passes.relay.dataflow_pattern.expressions import Expr, owner_of
from ...passes.relay.dataflow_pattern.patterns import DFPattern
from ...passes.relay.dataflow_pattern.syntax import is_constant, is_op, wildcard
from ...passes.relay.pattern_table import Table, register_pattern_table, register_supported
from ...runtime.program.external import ExternalFunction
from ...support.dtypes import Array
from ...support.errors import PipelineError
from .onnx_export import EXPORTED, export, exports

NAME = "onnxruntime"


def _with_bias_and_activation(product: DFPattern) -> DFPattern:
    def biased(x: DFPattern) -> DFPattern:
        return is_op("nn.bias_add")(x, is_constant()) | is_op("add")(x, is_constant())

    def active(x: DFPattern) -> DFPattern:
        return is_op("nn.relu")(x) | is_op("clip")(x) | is_op("sigmoid")(x) | is_op("tanh")(x)

    return product.optional(biased).optional(active)


def _exported(root: Expr) -> bool:
    """Return whether a product, and what follows it up to `root`, can be exported."""
    op: Operation | None = owner_of(root)
    while isinstance(op, Operator) and exports(op):
        if op.name in ("relay.nn.conv2d", "relay.nn.dense"):
            return True
        above = [value.owner for value in op.operands if isinstance(value.owner, Operator)]
        op = above[0] if above else None
    return False


def patterns() -> Table:
    """Products with what onnxruntime does along with them."""
    return [
        (f"{NAME}.{op}", _with_bias_and_activation(is_op(f"nn.{op}")(wildcard(), is_constant())), _exported)
        for op in ("conv2d", "dense")
    ]


def _session(model: bytes) -> Any:
    """Raises PipelineError when onnxruntime is not there."""
    try:
        ort: Any = import_module("onnxruntime")
    except ImportError as error:
        expected = "the package onnxruntime to be installed (the extra 'onnxruntime' of whence-compiler)"
        raise PipelineError(f"external compiler '{NAME}': expected {expected}, got {error}") from error
    options = ort.SessionOptions()
    # Its threads would keep cores busy that our kernels need next.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def build(module: ModuleOp) -> ExternalFunction:
    """Return a function that runs `@main`; raises PipelineError without onnxruntime, or when that refuses the model."""
    model = export(module)
    inputs = [value.name for value in model.graph.input]
    session = _session(model.SerializeToString())

    def run(*arrays: Array) -> list[Array]:
        return session.run(None, dict(zip(inputs, arrays, strict=True)))

    return run


for _name in EXPORTED:
    register_supported(NAME, _name, exports)
register_pattern_table(NAME, patterns)
