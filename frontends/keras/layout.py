"""Images of a module with channels first, as TVM's frontend has them by default."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ...dialects.relay.core import ReturnOp
from ...dialects.relay.operator import as_tensor, shape_of
from ...dialects.relay.size_ranges import main_of
from ...dialects.relay.transform import TransposeOp
from ...dialects.sizes.types import tensor_of
from ...provenance.span import value_location

LAYOUTS = ("NCHW", "NHWC", "NDHWC")
"""The layouts that TVM's frontend names."""
_IMAGE = 4
"""Dimensions of a batch of images."""
_FIRST, _LAST = (0, 3, 1, 2), (0, 2, 3, 1)


def images_channels_first(module: ModuleOp) -> None:
    """Have inputs and outputs of four dimensions as NCHW; what computes with them stays NHWC."""
    main = main_of(module)
    for argument in list(main.block.args):
        if len(shape_of(argument)) != _IMAGE:
            continue
        batch, height, width, channels = shape_of(argument)
        type_ = tensor_of(as_tensor(argument).element_type, (batch, channels, height, width))
        image = main.block.insert_arg(type_, argument.index)
        image.location, image.name_hint = argument.location, argument.name_hint
        ordered = TransposeOp(image, axes=_LAST, location=value_location(argument))
        first = main.block.first_op
        assert first is not None
        main.block.insert_op_before(ordered, first)
        argument.replace_all_uses_with(ordered.result)
        main.block.erase_arg(argument)
    end = main.block.last_op
    assert isinstance(end, ReturnOp)
    for at, value in enumerate(list(end.operands)):
        if len(shape_of(value)) == _IMAGE:
            end.operands[at] = _first(value, end)
    main.update_type()


def _first(value: SSAValue, end: ReturnOp) -> SSAValue:
    """An output with its channels first."""
    ordered = TransposeOp(value, axes=_FIRST, location=value_location(value))
    block = end.parent_block()
    assert block is not None
    block.insert_op_before(ordered, end)
    return ordered.result
