"""Models of other frameworks as modules of Relax, by TVM's names; they are imported as for relay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from whence.compiler.load import load
from whence.reading.input_shapes import InputShapes
from whence.relay import frontend
from whence.relay.binding import bind_params_by_name
from whence.relay.module import IRModule
from whence.runtime.values.ndarray import NDArray, array
from whence.support.doors import door
from whence.support.dtypes import Array
from whence.support.errors import FrontendError
from whence.syntax.relay.expr import Function, Tuple

_PARAMS = "params"
"""The note of a module with the values of the parameters behind the inputs, by function."""


@door()
def from_onnx(
    model: Any,
    shape_dict: InputShapes | None = None,
    dtype_dict: str | Mapping[str, str] = "float32",
    opset: int | None = None,
    keep_params_in_input: bool = False,
    sanitize_input_names: bool = True,
) -> IRModule:
    """Return the module of an ONNX model.

    keep_params_in_input: weights are parameters behind the inputs, whose values `detach_params` returns; else they are
    constants. dtype_dict: ignored; the model states the dtypes. sanitize_input_names: as in TVM; texts have no other
    names. Arguments and errors else as `relay.frontend.from_onnx`.
    """
    del dtype_dict, sanitize_input_names
    mod, params = frontend.from_onnx(model, shape_dict, opset=opset, freeze_params=not keep_params_in_input)
    return _noted(mod, params)


@door()
def from_exported_program(
    exported_program: Any,
    *,
    keep_params_as_input: bool = False,
    unwrap_unit_return_tuple: bool = False,
    no_bind_return_tuple: bool = False,
    custom_convert_map: Mapping[str, Any] | None = None,
    run_ep_decomposition: bool = True,
) -> IRModule:
    """Return the module of an exported PyTorch program, or of its .pt2 file; its result is a tuple.

    keep_params_as_input: weights are parameters behind the inputs, whose values `detach_params` returns; else they are
    constants. unwrap_unit_return_tuple: return a single result itself. no_bind_return_tuple, run_ep_decomposition: as
    in TVM; neither changes what is computed. Raises FrontendError for a custom_convert_map, as
    `whence.compile(custom_ops=)` has its place, and errors as `relay.frontend.from_exported_program`.
    """
    del no_bind_return_tuple, run_ep_decomposition
    if custom_convert_map:
        got = ", ".join(custom_convert_map)
        raise FrontendError(f"from_exported_program: expected no custom_convert_map, got {got}; see custom_ops")
    mod, params = frontend.from_exported_program(exported_program, keep_params_as_input=keep_params_as_input)
    if not unwrap_unit_return_tuple:
        main = mod["main"]
        if not isinstance(main.body, Tuple):
            mod["main"] = Function(main.params, Tuple([main.body]), attrs=main.attrs)
    return _noted(mod, params)


@door()
def from_tflite(
    model: Any,
    shape_dict: InputShapes | None = None,
    dtype_dict: Mapping[str, str] | None = None,
    op_converter: object = None,
) -> IRModule:
    """Return the module of a TFLite model, whose weights are constants.

    Raises FrontendError for an op_converter, and errors as `relay.frontend.from_tflite`.
    """
    mod, params = frontend.from_tflite(model, shape_dict, dtype_dict, op_converter)
    mod["main"] = bind_params_by_name(mod["main"], params)
    return mod


@door()
def from_stablehlo(stablehlo_module: Any, input_info: Sequence[tuple[Sequence[int], str]] | None = None) -> IRModule:
    """Return the module of a program of StableHLO: a text, its bytes, or an exported program of JAX.

    input_info: ignored; the program states its inputs. Raises FrontendError as `whence.load`.
    """
    del input_info
    return IRModule.of(load(stablehlo_module))


@door()
def detach_params(mod: IRModule) -> tuple[IRModule, dict[str, list[NDArray]]]:
    """Return a module without the values of its parameters, and these: the arrays of each function in order."""
    values = cast("Mapping[str, Sequence[NDArray]]", mod.get_attr(_PARAMS) or {})
    return mod.without_attr(_PARAMS), {name: list(arrays) for name, arrays in values.items()}


def _noted(mod: IRModule, params: Mapping[str, Array]) -> IRModule:
    """Return a module that notes the values of its parameters, which are in their order."""
    if not params:
        return mod
    return mod.with_attr(_PARAMS, {"main": [array(np.asarray(value)) for value in params.values()]})
