"""tir-flatten-buffer: every buffer gets one dimension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp, TensorType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects.sizes.kernel import known
from ...dialects.tir import AllocConstOp, AllocOp, BufferType, PrimFuncOp, buffer_of, prim_funcs
from ...dialects.tir.index_maps import LEADING, Ranges, Touch, blocks_of, flat_index, simplify_maps, update, view
from ...provenance.copies import copy_of


def flat_type(type: BufferType) -> BufferType:
    """The type of as many elements in one dimension."""
    return BufferType.of([type.size], type.element_type, type.scope.data)


def run(func: PrimFuncOp) -> None:
    """Flatten the buffers of one kernel, in place."""
    block = func.block
    arguments = [argument for argument in block.args if len(buffer_of(argument).shape) != 1]
    allocs = [op for op in func.walk() if isinstance(op, AllocOp | AllocConstOp) and len(op.result.type.shape) != 1]
    flatten(func, arguments, allocs)


def flatten(
    func: PrimFuncOp, arguments: Sequence[BlockArgument], allocs: Sequence[AllocOp | AllocConstOp]
) -> list[SSAValue]:
    """Flatten some buffers of a kernel, in place; returns those of the allocs, in order."""
    block = func.block
    flat: dict[SSAValue, SSAValue] = {}
    for argument in arguments:
        flat[argument] = block.insert_arg(flat_type(buffer_of(argument)), argument.index, argument.location)
    for op in allocs:
        flat[op.result] = _flat(op)
    _block(block, {}, flat)
    for old, new in flat.items():
        old.replace_all_uses_with(new)
        if isinstance(old, BlockArgument):
            block.erase_arg(old)
        elif isinstance(old.owner, Operation):
            old.owner.detach()
            old.owner.erase()
    return [flat[op.result] for op in allocs]


def _flat(op: AllocOp | AllocConstOp) -> SSAValue:
    """The result of a flat copy of `op`, before it."""
    properties = {"value": _flat_numbers(op)} if isinstance(op, AllocConstOp) else {}
    new = copy_of(op, (), [flat_type(op.result.type)], properties=properties)
    assert op.parent is not None
    op.parent.insert_op_before(new, op)
    return new.results[0]


def _block(block: Block, ranges: Ranges, flat: dict[SSAValue, SSAValue]) -> None:
    for op in list(block.ops):
        match op:
            case _ if isinstance(op, Touch):
                _access(op, ranges, flat)
            case _:
                for inner, inner_ranges in blocks_of(op, ranges):
                    _block(inner, inner_ranges, flat)


def _flat_numbers(op: AllocConstOp) -> DenseIntOrFPElementsAttr:
    type_ = TensorType(op.value.get_element_type(), [known(op.result.type.size)])
    return DenseIntOrFPElementsAttr(type_, op.value.data)


def _access(op: Touch, ranges: Ranges, flat: dict[SSAValue, SSAValue]) -> None:
    if (buffer := flat.get(op.buffer)) is None:
        return
    seen = view(op, ranges)
    index = flat_index(seen.map, buffer_of(op.buffer).strides)
    simplified = simplify_maps((index,), seen.guard, seen.ranges)
    update(op, seen.values, simplified)
    op.operands[LEADING[type(op)] - 1] = buffer


@dataclass(frozen=True)
class TirFlattenBufferPass(ModulePass):
    """Gives every buffer one dimension, and every access one index.

    Before: any kernels. After: buffers, arguments and allocated ones, are 1-d arrays of as many elements, in the scope
    they had; each index is one linear expression, simplified under the ranges of the loops. Row-major order is what
    buffers have, so no element moves.
    Locations: as they were, those of arguments included.

    ```mlir
    tir.for %i in 4 {
      tir.for %j in 8 {
        %0 = tir.load %a[%i, %j] : !tir.buffer<4x8xf32> -> f32
        tir.store %0, %b[%i, 7 - %j] : f32, !tir.buffer<4x8xf32>
      }
    }
    // becomes
    tir.for %i in 4 {
      tir.for %j in 8 {
        %0 = tir.load %a[%i * 8 + %j] : !tir.buffer<32xf32> -> f32
        tir.store %0, %b[%i * 8 + %j * -1 + 7] : f32, !tir.buffer<32xf32>
      }
    }
    ```
    """

    name = "tir-flatten-buffer"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in prim_funcs(op):
            run(func)
