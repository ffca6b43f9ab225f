"""Calls of kernels that somebody wrote: as tensor expressions where their loops are surely such, else as they are."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Block

from ... import te
from ...dialects.relay.call_tir import CallTirOp
from ...dialects.relay.operator import Operator
from ...dialects.tir import PrimFuncOp
from ...dialects.tir.sizes import at_sizes
from ...provenance.builder import LocatedBuilder
from ...te import Tensor
from ..te_to_tir.whole import copy_rows
from ..tir_to_te.fusion import expressions_of
from .lower import Lowering
from .packing import prepare


def call_tir(op: CallTirOp, data: Sequence[Tensor]) -> Tensor | tuple[Tensor, ...]:
    """Return the tensors of the results. Locations: those of the kernel's lines behind that of the call."""
    kernel = called_kernel(op)
    expressions = expressions_of(kernel)
    if expressions is not None:
        expressions = prepare(expressions.clone())
    results: Tensor | list[Tensor] = te.extern_primfunc(data, kernel, expressions=expressions)
    return results if isinstance(results, Tensor) else tuple(results)


def called_kernel(op: CallTirOp) -> PrimFuncOp:
    """Return the kernel of a call, at its sizes, with the results behind the operands."""
    kernel = op.kernel.data
    if indices := op.signature_indices():
        kernel = out_of_place(kernel, len(op.operands), indices)
    return at_sizes(kernel, op.size_values) if kernel.size_names else kernel


def out_of_place(kernel: PrimFuncOp, operands: int, indices: Sequence[int]) -> PrimFuncOp:
    """Return a kernel that writes its results behind its operands, in order, first copied where it changes operands."""
    copy = kernel.clone()
    arguments = list(copy.block.args)
    behind = iter(arguments[operands:])
    sources = [next(behind) if index == -1 else arguments[index] for index in indices]
    start = Block()
    builder = LocatedBuilder(start, copy.location)
    for source in sources:
        result = copy.block.insert_arg(source.type, len(copy.block.args))
        result.name_hint, result.location = source.name_hint, source.location
        source.replace_all_uses_with(result)
        if source.index < operands:
            copy_rows(builder, source, result)
    for source in sources:
        if source.index >= operands:
            copy.block.erase_arg(source)
    first = copy.block.first_op
    for op in list(start.ops):
        op.detach()
        if first is None:
            copy.block.add_op(op)
        else:
            copy.block.insert_op_before(op, first)
    copy.outputs = IntegerAttr(len(indices), i64)
    return copy


TABLE: dict[type[Operator], Lowering] = {CallTirOp: call_tir}
