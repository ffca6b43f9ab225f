"""relay -> te: one primitive function becomes one te.func and its schedule.

Every stage, scalar ops inside included, is located at the operator it came from.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Operation, SSAValue

from ...dialects import te
from ...dialects.relay.constants import literal_value
from ...dialects.relay.core import ConstantOp, FuncOp, ReturnOp
from ...dialects.relay.operator import Operator
from ...provenance.diagnostics import fail
from . import convolution, elementwise, nn, transform
from .body import Scalar, TeBuilder, Tensor

Lowering = Callable[[TeBuilder, Operator, list[Tensor]], list[SSAValue]]

TABLE: dict[type[Operator], Lowering] = {
    **elementwise.TABLE,
    **transform.TABLE,
    **convolution.TABLE,
    **nn.TABLE,
}
"""Operator -> how it becomes stages."""


def lower_function(func: FuncOp) -> te.FuncOp:
    """The te.func of a primitive relay function, with its name.

    Raises VerifyException for operators that have no lowering; inference passes rewrite those before.
    """
    type_ = func.function_type
    out = te.FuncOp(func.sym_name.data, list(type_.inputs), list(type_.outputs))
    out.location = func.location
    values: dict[SSAValue, Tensor] = {}
    for index, (mine, theirs) in enumerate(zip(out.block.args, func.block.args, strict=True)):
        mine.name_hint = f"p{index}"
        mine.location = theirs.location
        values[theirs] = mine
    builder = TeBuilder(out)
    for op in func.block.ops:
        with builder.builder.located(op.location):
            match op:
                case ConstantOp():
                    values[op.result] = _scalar(op)
                case Operator():
                    lowered = _lowering(op)(builder, op, [values[operand] for operand in op.operands])
                    values.update(zip(op.results, lowered, strict=True))
                case ReturnOp():
                    results = [_result(builder, values[value], op.location) for value in op.values]
                    builder.builder.add(te.ReturnOp(*results))
                case _:
                    fail(op, "an operator inside a primitive function", op.name)
    return out


def _lowering(op: Operator) -> Lowering:
    if type(op) not in TABLE:
        fail(op, "an operator with a lowering to te", "none (simplify-inference removes training operators)")
    return TABLE[type(op)]


def _scalar(op: ConstantOp) -> Tensor:
    if op.literal is None or (value := literal_value(op.literal)).size != 1:
        fail(op, "constants of one element inside a primitive function", str(op.result.type))
    return Scalar(value, op.result.type.element_type, op.result.type.get_shape(), op.location)


def _result(builder: TeBuilder, value: Tensor, location: LocationAttr) -> SSAValue:
    """A result has to be a stage of its own: an argument or constant returned as it is gets copied."""
    if isinstance(value, SSAValue) and isinstance(value.owner, Operation):
        return value
    extents = value.shape if isinstance(value, Scalar) else elementwise.shape_of(value)
    kind = value.element if isinstance(value, Scalar) else elementwise.element(value)
    return builder.compute("copy", extents, kind, lambda b: b.read(value, b.axes))
