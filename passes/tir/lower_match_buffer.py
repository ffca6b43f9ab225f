"""tir-lower-match-buffer: accesses of a view become accesses of the buffer that it is a part of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import AffineMapAttr, ModuleOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr
from xdsl.passes import ModulePass

from ...dialects.affine import flatten, linear
from ...dialects.sizes import Size, same_shape
from ...dialects.sizes.kernel import affine_map, known, lifted
from ...dialects.tir import UNBOUNDED, DeclBufferOp, LoadOp, PrimFuncOp, buffer_of, prim_funcs
from ...dialects.tir.buffer import strides_attribute
from ...dialects.tir.index_maps import LEADING, Reader, Touch, Writer
from ...dialects.tir.lanes import lanes
from ...provenance.diagnostics import fail
from ...provenance.walk import walk
from .rewriting.constants import stride_attribute
from .rewriting.ops import drop


def _unflatten(position: AffineExpr, shape: Sequence[Size]) -> list[AffineExpr]:
    """The point of a row-major position, innermost dim last."""
    point: list[AffineExpr] = []
    for extent in reversed(shape[1:]):
        point.append(position % lifted(extent))
        position = position // lifted(extent)
    return [position, *reversed(point)] if shape else []


def _point(view: DeclBufferOp, start: list[AffineExpr], inside: list[AffineExpr]) -> list[AffineExpr]:
    """The element of the source that element `inside` of the view is."""
    source = buffer_of(view.buffer)
    if (strides := view.steps) is None:
        skipped: list[AffineExpr] = [AffineConstantExpr(0)] * (len(start) - len(inside))
        return [first + offset for first, offset in zip(start, skipped + inside, strict=True)]
    flat = flatten(start, source.strides)
    for expr, stride in zip(inside, strides, strict=True):
        flat = flat + expr * lifted(stride)
    # As a sum, so that a division finds whole multiples in it.
    dims = max((dim + 1 for dim in flat.used_dims()), default=0)
    return _unflatten(linear(flat, (UNBOUNDED,) * dims).expr, source.get_shape())


def _shifted(expr: AffineExpr, by: int, dims: int) -> AffineExpr:
    return expr.replace_dims_and_symbols([AffineExpr.dimension(i + by) for i in range(dims)], ())


def _resolve(view: DeclBufferOp) -> None:
    """Let every use of `view` use its source."""
    for use in list(view.result.uses):
        if not isinstance(op := use.operation, Touch | DeclBufferOp):
            fail(op, "loads, stores, prefetches and views of a declared buffer", op.name)
        _through(op, view)
    drop(view, "ResolveView", "its uses name the buffer that it is a part of")


def _through(op: Touch | DeclBufferOp, view: DeclBufferOp) -> None:
    leading = 1 if isinstance(op, DeclBufferOp) else LEADING[type(op)]
    own = list(op.operands[leading:])
    count, outer = len(own), list(view.indices)
    total = count + len(outer)
    start = [_shifted(expr, count, len(outer)) for expr in view.map.data.results]
    point = _point(view, start, list(op.map.data.results))
    op.properties["map"] = AffineMapAttr(affine_map(total, tuple(point)))
    if isinstance(op, LoadOp) and op.guard is not None:
        op.properties["guard"] = AffineMapAttr(affine_map(total, op.guard.data.results))
    if isinstance(op, Reader | Writer):
        _stride(op, view)
    if isinstance(op, DeclBufferOp):
        _strides(op, view)
    operands: list[SSAValue] = [*op.operands[: leading - 1], view.buffer, *own, *outer]
    op.operands = operands


def _stride(op: Reader | Writer, view: DeclBufferOp) -> None:
    """Lanes that move along the last dim of the view move by its stride in the source."""
    value = op.result if isinstance(op, Reader) else op.value
    if view.steps and lanes(value.type):
        op.properties["stride"] = stride_attribute(op.step * known(view.steps[-1]))


def _strides(op: DeclBufferOp, view: DeclBufferOp) -> None:
    """A view of a view has gaps of its own, or else those of the dims that it shares."""
    if view.steps is not None and op.strides is None:
        rank = len(op.result.type.shape)
        op.properties["strides"] = strides_attribute(view.steps[-rank:] if rank else ())
    elif view.strides is None and op.strides is not None and not same_shape(view.result.type.strides, _tail(view)):
        fail(op, "strides over a whole buffer", "strides over a part of one")


def _tail(view: DeclBufferOp) -> tuple[Size, ...]:
    strides = buffer_of(view.buffer).strides
    return strides[len(strides) - len(view.result.type.shape) :]


def run(func: PrimFuncOp) -> None:
    """Resolve the views of one kernel, in place; a view of a view comes after its source, so in order."""
    for view in [op for op in walk(func) if isinstance(op, DeclBufferOp)]:
        _resolve(view)


@dataclass(frozen=True)
class TirLowerMatchBufferPass(ModulePass):
    """Lets accesses of a `tir.decl_buffer` name the buffer that it is a part of.

    Before: any kernels. After: there is no view. Lanes of vectors are expected to stay in one row of a view.
    Locations: as they were; the ledger keeps those of the views.

    ```mlir
    %row = tir.decl_buffer %a[%i, 0] : !tir.buffer<8x64xf32> -> !tir.buffer<64xf32>
    %0 = tir.load %row[%j] : !tir.buffer<64xf32> -> f32
    // becomes
    %0 = tir.load %a[%i, %j] : !tir.buffer<8x64xf32> -> f32
    ```
    """

    name = "tir-lower-match-buffer"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in prim_funcs(op):
            run(func)
