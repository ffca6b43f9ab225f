"""Models of other tools as Relay, with TVM's names: `relay.frontend.from_tflite`, `from_keras`, `from_onnx`, ..."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import TYPE_CHECKING, Any

from whence.compiler.load import import_at
from whence.reading.input_shapes import InputShapes, ShapesByName
from whence.relay.frontend import common as common
from whence.relay.frontend import tensorflow2 as tensorflow2
from whence.relay.frontend.pytorch import from_pytorch as from_pytorch
from whence.relay.frontend.tensorflow import from_tensorflow as from_tensorflow
from whence.relay.module import IRModule
from whence.support.doors import door
from whence.support.dtypes import Array
from whence.support.errors import FrontendError

if TYPE_CHECKING:
    import onnx
    from xdsl.dialects.builtin import ModuleOp

    from whence.frontends.importing.model import Model


@door()
def from_tflite(
    model: Any,
    shape_dict: InputShapes | None = None,
    dtype_dict: Mapping[str, str] | None = None,
    op_converter: object = None,
) -> tuple[IRModule, dict[str, Array]]:
    """Return the module of a TFLite model, and the values of its weights as parameters.

    model: a `tflite.Model`, or the path or bytes of a file. shape_dict: shapes as in `from_onnx`; by default the
    file's. dtype_dict: input name -> dtype, which must be the model's.
    Weights are variables `_param_1`, `_param_2`, .., whose spans are the tensors' names; `@main` has the names of the
    outputs, with `_` for all but letters and digits, in its attribute `output_tensor_names`.

    Raises FrontendError if the model is bad, uses unsupported operators, or does not fit shapes or dtypes.
    """
    from whence.frontends.importing.parameters import numbered_parameters
    from whence.frontends.tflite.graph import open_model

    if op_converter is not None:
        raise FrontendError("from_tflite: expected no op_converter, got one")
    opened = open_model(model)
    for spec in opened.inputs.after({}):
        if dtype_dict and (wanted := dtype_dict.get(spec.name, spec.dtype.name)) != spec.dtype.name:
            raise FrontendError(f"input '{spec.name}': expected {spec.dtype.name} as the model has, got {wanted}")
    module = import_at(opened, shape_dict)
    params = numbered_parameters(module, set(opened.region.constants))
    return IRModule.of(module), params


@door()
def from_keras(
    model: Any, shape: ShapesByName | None = None, layout: str = "NCHW"
) -> tuple[IRModule, dict[str, Array]]:
    """The module of a Keras model, and the values of the parameters that its weights are.

    model: a Keras model in memory, or the path or bytes of a `.keras` or `.h5` file. shape: input name -> shape, in
    `layout`; of dimensions that are open without it, as batches are, the module has sizes. layout: `NCHW` for images
    with channels first in inputs and outputs, `NHWC` or `NDHWC` for those as the model has them; one with layers of
    channels first keeps its own.
    Weights are variables `_param_1`, `_param_2`, .., whose spans are `layer.variable`.

    Raises FrontendError when the model is bad, holds code, uses unsupported layers, or does not fit the shapes.
    """
    from whence.frontends.importing.parameters import numbered_parameters
    from whence.frontends.keras.graph import channels_first, open_model
    from whence.frontends.keras.layout import LAYOUTS, images_channels_first

    if layout not in LAYOUTS:
        raise FrontendError(f"from_keras: expected a layout among {', '.join(LAYOUTS)}, got {layout!r}")
    opened = open_model(model)
    first = layout == "NCHW" and not channels_first(opened)
    shapes = {
        name: [own[0], *own[2:], own[1]] if first and len(own) == 4 else own for name, own in (shape or {}).items()
    }
    module = import_at(opened, shapes)
    if first:
        images_channels_first(module)
    params = numbered_parameters(module, set(opened.region.constants))
    return IRModule.of(module), params


@door()
def from_onnx(
    model: onnx.ModelProto,
    shape: InputShapes | None = None,
    dtype: str = "float32",
    opset: int | None = None,
    freeze_params: bool = True,
) -> tuple[IRModule, dict[str, Array]]:
    """Return the module of an ONNX model, and the values of its parameters.

    shape: shapes of inputs like those of `whence.compile`. The module has sizes for dimensions that these or the model
    leave open: -1, `relay.Any()`, or a name. dtype: ignored; the model states the dtypes of inputs.
    opset: replaces the opset that the model states.
    freeze_params: whether weights are constants of the module; else they are variables with the initializers' names,
    except weights that operators read as attributes.

    Raises FrontendError when the model is bad, uses unsupported operators, or does not fit the shapes.
    """
    from onnx import ModelProto

    from whence.frontends.onnx.graph import open_model

    if opset is not None:
        copy = ModelProto()
        copy.CopyFrom(model)
        for entry in copy.opset_import:
            if not entry.domain:
                entry.version = opset
        model = copy
    opened = open_model(model)
    module = import_at(opened, shape)
    params = {} if freeze_params else _weights(opened, module, opened.region.constants)
    return IRModule.of(module), params


@door()
def from_exported_program(
    program: Any,
    shape_dict: InputShapes | None = None,
    keep_params_as_input: bool = True,
) -> tuple[IRModule, dict[str, Array]]:
    """Return the module of an exported PyTorch program, and the values of its parameters.

    program: a `torch.export.ExportedProgram`, or the path or bytes of a .pt2 file. shape_dict: as in `from_onnx`.
    keep_params_as_input: whether weights are variables with their names in the module's state_dict, such as
    "layer1.0.conv1.weight"; else they are constants of the module.

    Raises FrontendError when the program is bad, uses unsupported operators, or does not fit the shapes.
    """
    from whence.frontends.torch.graph import open_model
    from whence.frontends.torch.relay_control import choose_in_language

    opened = open_model(program)
    opened.control = choose_in_language
    module = import_at(opened, shape_dict)
    params = _weights(opened, module, opened.source.builder.targets) if keep_params_as_input else {}
    return IRModule.of(module), params


def _weights(opened: Model, module: ModuleOp, names: Container[str]) -> dict[str, Array]:
    """Make variables of the weights of these names, whose constants are located at the format's labels."""
    from whence.frontends.importing.node import node_of
    from whence.frontends.importing.parameters import as_parameters

    label = opened.format.label
    assert label is not None
    steps = opened.region.steps
    layers_of = {label(opened, name, node_of(step)): name for step in steps for name in step.inputs if name in names}
    return as_parameters(module, lambda layers: layers_of.get(layers[0]) if len(layers) == 1 else None)
