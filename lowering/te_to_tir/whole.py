"""Stages that take tensors as a whole: calls of functions, loops written by hand, and the first rows of a scan.

Each adds its ops at the builder's place and location, on buffers that are there.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap

from ...dialects import te, tir
from ...dialects.te.stages import tensor_number
from ...provenance.builder import LocatedBuilder
from .reducers import constant


def emit_extern(builder: LocatedBuilder, op: te.ExternOp, buffers: Sequence[SSAValue]) -> None:
    """A call of the function on the buffers of the inputs and then of the outputs."""
    arguments: list[SSAValue] = []
    for argument in op.arguments:
        number = tensor_number(argument)
        arguments.append(constant(builder, argument) if number is None else buffers[number])
    builder.add(tir.CallExternOp(op.symbol, arguments, []))


def emit_hybrid(builder: LocatedBuilder, op: te.HybridOp, buffers: Sequence[SSAValue]) -> None:
    """The loops of the body, on the buffers of the inputs and then of the outputs."""
    values = dict[SSAValue, SSAValue](zip(op.body.block.args, buffers, strict=True))
    for inner in op.body.block.ops:
        copy = builder.add(inner.clone(values))
        values.update(zip(inner.results, copy.results, strict=True))


def copy_rows(builder: LocatedBuilder, source: SSAValue, target: SSAValue) -> None:
    """Copy a buffer to the start of another, whose first dimension may be longer."""
    block = builder.block
    variables: list[SSAValue] = []
    for i, extent in enumerate(tir.buffer_of(source).get_shape()):
        loop = builder.add(tir.ForOp.make(extent, "serial", f"i{i}"))
        builder.block = loop.block
        variables.append(loop.var)
    same = AffineMap.identity(len(variables))
    value = builder.add(tir.LoadOp.make(source, same, variables)).result
    builder.add(tir.StoreOp.make(value, target, same, variables))
    builder.block = block
