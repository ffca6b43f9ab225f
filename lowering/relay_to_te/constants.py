"""Tables of numbers in a kernel."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, Float32Type, TensorType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap

from ... import te
from ...dialects import tir
from ...dialects.element_types import element_type, stored_type
from ...dialects.relay.numerics import AnyArray
from ...provenance.builder import LocatedBuilder
from ...te import Tensor


def table(array: AnyArray, name: str) -> Tensor:
    """A tensor of the numbers of an array, which the kernel holds."""
    element = element_type(array.dtype)
    type_ = tir.BufferType.of(array.shape, element)
    func = tir.PrimFuncOp(name, [type_], 1)
    builder = LocatedBuilder(func.block)
    stored = cast("TensorType[Float32Type]", TensorType(stored_type(element), array.shape))
    values = DenseIntOrFPElementsAttr.from_list(stored, array.ravel().tolist())
    numbers = builder.add(tir.AllocConstOp.make(values, tir.BufferType.of(array.shape, element))).result
    variables: list[SSAValue] = []
    for axis, extent in enumerate(array.shape):
        loop = builder.add(tir.ForOp.make(extent, "serial", f"i{axis}"))
        builder.block = loop.block
        variables.append(loop.var)
    same = AffineMap.identity(len(variables))
    value = builder.add(tir.LoadOp.make(numbers, same, variables)).result
    builder.add(tir.StoreOp.make(value, func.block.args[0], same, variables))
    return te.extern_primfunc([], func)
