"""Models of other tools as Relay, with TVM's names: `relay.frontend.from_tflite`, `relay.frontend.from_onnx`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from whence.relay.module import IRModule
from whence.support.dtypes import Array
from whence.support.errors import FrontendError

if TYPE_CHECKING:
    import onnx


def from_tflite(
    model: Any,
    shape_dict: Mapping[str, Sequence[int]] | None = None,
    dtype_dict: Mapping[str, str] | None = None,
    op_converter: object = None,
) -> tuple[IRModule, dict[str, Array]]:
    """The module of a TFLite model, and the values of the parameters that its weights are.

    model: a `tflite.Model`, or the path or bytes of a file. shape_dict: input name -> shape; the file's without.
    dtype_dict: input name -> dtype, which must be the model's.
    Weights are variables `_param_1`, `_param_2`, .., whose spans are the tensors' names; `@main` has the names of the
    outputs, with `_` for all but letters and digits, in its attribute `output_tensor_names`.

    Raises FrontendError when the model is bad, uses unsupported operators, or does not fit shapes or dtypes.
    """
    from whence.frontends.importing.importer import import_model
    from whence.frontends.tflite.graph import open_model
    from whence.frontends.tflite.parameters import as_parameters

    if op_converter is not None:
        raise FrontendError("from_tflite: expected no op_converter, got one")
    opened = open_model(model)
    for spec in opened.open_inputs({}):
        if dtype_dict and (wanted := dtype_dict.get(spec.name, spec.dtype.name)) != spec.dtype.name:
            raise FrontendError(f"input '{spec.name}': expected {spec.dtype.name} as the model has, got {wanted}")
    module = import_model(opened, shape_dict or {})
    params = as_parameters(module, opened.constants)
    return IRModule.of(module), params


def from_onnx(
    model: onnx.ModelProto,
    shape: Mapping[str, Sequence[int]] | None = None,
    dtype: str = "float32",
    opset: int | None = None,
    freeze_params: bool = True,
) -> tuple[IRModule, dict[str, Array]]:
    """The module of an ONNX model, whose weights are constants of it, and no parameters.

    Raises FrontendError when the model is bad, uses unsupported operators, or leaves a shape open.
    """
    from whence.frontends.onnx import from_onnx as imported

    if not freeze_params or opset is not None:
        raise FrontendError("from_onnx: expected frozen parameters, and the opset that the model states")
    return IRModule.of(imported(model, shapes=shape)), {}
