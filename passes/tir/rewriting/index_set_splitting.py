"""Parts of a loop as loops of their own."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from ....dialects.affine import below, substitute
from ....dialects.sizes import Size, same
from ....dialects.sizes.kernel import affine_map, lifted, size_attribute
from ....dialects.tir import UNBOUNDED, ForOp, IndexOp
from ....dialects.tir.index_maps import Access, Ranges, simplify_maps, update, view

_FEW = 8
"""Chunks whose loop is unrolled, so that each may have a register of its own."""


def subrange(loop: ForOp, begin: Size, end: Size, ranges: Ranges) -> ForOp:
    """A copy of `loop` that does its iterations from `begin` to `end`."""
    copy = loop.clone()
    copy.properties["extent"] = size_attribute(end - begin)
    inside: Ranges = {**ranges, copy.var: copy.bounds}
    start = AffineDimExpr(0)
    express(copy, copy.var, start if same(begin, 0) else start + lifted(begin), [copy.var], inside)
    return copy


def strip_mine(loop: ForOp, size: int, ranges: Ranges) -> ForOp:
    """A loop around a copy of `loop` of `size` iterations; together they do what it does. `size` divides it."""
    chunks = loop.trip_count // size
    outer = ForOp.make(chunks, "unrolled" if below(chunks, _FEW + 1) else "serial")
    outer.location, outer.var.location = loop.location, loop.var.location
    outer.var.name_hint = loop.var.name_hint
    inner = loop.clone()
    inner.properties["extent"] = IntegerAttr(size, i64)
    outer.block.add_op(inner)
    inside: Ranges = {**ranges, outer.var: outer.bounds, inner.var: (0, size - 1)}
    express(inner, inner.var, AffineDimExpr(0) * size + AffineDimExpr(1), [outer.var, inner.var], inside)
    return outer


def strided(loop: ForOp, step: int, first: int, end: int, ranges: Ranges) -> ForOp:
    """A copy of `loop` that does each `step`-th of its iterations from `first` to `end`; `step` divides `end`."""
    copy = loop.clone()
    copy.properties["extent"] = IntegerAttr(end // step, i64)
    inside: Ranges = {**ranges, copy.var: (0, end // step - 1)}
    express(copy, copy.var, AffineDimExpr(0) * step + first, [copy.var], inside)
    return copy


def express(loop: ForOp, var: SSAValue, expr: AffineExpr, values: Sequence[SSAValue], ranges: Ranges) -> None:
    """Let the body of `loop` use `expr` of `values` in place of `var`, and drop the guards that then always hold.

    var: the variable of `loop`, or of one that was around it.
    """
    others: list[Operation] = []
    for op in loop.walk():
        if isinstance(op, ForOp) and op is not loop:
            ranges[op.var] = op.bounds
        elif var in op.operands:
            if isinstance(op, Access):
                _replace(op, var, expr, values, ranges)
            else:
                others.append(op)
    if not others or isinstance(expr, AffineDimExpr):
        return
    number = IndexOp.make(affine_map(len(values), (expr,)), values)
    number.location = loop.location
    first = loop.block.first_op
    assert first is not None
    loop.block.insert_op_before(number, first)
    for op in others:
        op.operands = [number.result if operand is var else operand for operand in op.operands]


def _replace(op: Access, var: SSAValue, expr: AffineExpr, values: Sequence[SSAValue], ranges: Ranges) -> None:
    seen = view(op, ranges)
    operands = list(dict.fromkeys(new for value in seen.values for new in (values if value is var else (value,))))
    dim: dict[SSAValue, AffineExpr] = {value: AffineDimExpr(i) for i, value in enumerate(operands)}
    moved = substitute(expr, [dim[value] for value in values])
    dims = [moved if value is var else dim[value] for value in seen.values]
    map, guard = (tuple(substitute(e, dims) for e in exprs) for exprs in (seen.map, seen.guard))
    update(op, operands, simplify_maps(map, guard, tuple(ranges.get(value, UNBOUNDED) for value in operands)))
