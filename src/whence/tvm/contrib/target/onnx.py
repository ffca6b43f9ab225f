"""Relay modules as ONNX models, by TVM's name."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from whence import relay
from whence.lowering.external.onnx_export import OPSET, export
from whence.lowering.external.onnx_layers import LAYERS
from whence.relay.executors import bound_params
from whence.relay.module import IRModule
from whence.support.dtypes import Array
from whence.support.errors import PipelineError, expectation
from whence.support.files import replacing

if TYPE_CHECKING:
    from onnx import ModelProto


def to_onnx(
    relay_ir: IRModule | ModuleOp | relay.Function,
    params: Mapping[str, Array] | None = None,
    name: str = "main",
    opset_version: int = OPSET,
    path: str | PathLike[str] | None = None,
) -> ModelProto:
    """Return `@main` of a module as an ONNX model called `name`, and write it to `path`, if given.

    Inputs have the names of the function's parameters, those of `params` are constants; outputs are `y0`, `y1`, ..
    Each node has the names of the layers that it serves in its `metadata_props`, under `whence.layers`. Operators are
    simplified for inference first. Raises VerifyException for an operator that ONNX does not have as it is, with its
    layer, PipelineError for another opset than 17, and when the file cannot be written.
    """
    if opset_version != OPSET:
        raise PipelineError(expectation("to_onnx", f"opset_version {OPSET}", str(opset_version)))
    mod = IRModule.from_expr(relay_ir) if isinstance(relay_ir, relay.Function) else relay_ir
    module = mod.module if isinstance(mod, IRModule) else mod
    bound = IRModule.of(bound_params(module, params) if params else module)
    model = export(relay.transform.SimplifyInference()(bound).module, name, LAYERS)
    if path is not None:
        with replacing(Path(path)) as stream:
            stream.write(model.SerializeToString())
    return model
