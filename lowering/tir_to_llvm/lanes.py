"""The lane-by-lane ops of tir: comparison, select and conversion, on scalars and vectors alike."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from xdsl.dialects import llvm
from xdsl.ir import Operation

from ...dialects import llvm_ext
from ...dialects.tir.lanes import CastOp, CompareOp, SelectOp
from .arithmetic import fcmp, resize, select
from .context import Handler, Lowering
from .types import element, is_integer, register_type

_CASTS: dict[str, type[Operation]] = {
    "sitofp": llvm.SIToFPOp,
    "uitofp": llvm_ext.UIToFPOp,
    "fptosi": llvm_ext.FPToSIOp,
    "fptoui": llvm_ext.FPToUIOp,
    "trunci": llvm.TruncOp,
    "extsi": llvm.SExtOp,
    "extui": llvm.ZExtOp,
}


def _compare(ctx: Lowering, op: Operation) -> None:
    assert isinstance(op, CompareOp)
    first, second = ctx.get(op.first), ctx.get(op.second)
    compare = ctx.icmp if is_integer(element(first.type)) else partial(fcmp, ctx)
    ctx.set(op.result, compare(op.predicate.data, first, second))


def _select(ctx: Lowering, op: Operation) -> None:
    assert isinstance(op, SelectOp)
    ctx.set(op.result, select(ctx, ctx.get(op.condition), ctx.get(op.first), ctx.get(op.second)))


def _cast(ctx: Lowering, op: Operation) -> None:
    assert isinstance(op, CastOp)
    source, type_ = ctx.get(op.source), register_type(op.result.type)
    if op.kind.data == "index_cast":
        ctx.set(op.result, resize(ctx, source, type_))
    else:
        ctx.set(op.result, ctx.value(_CASTS[op.kind.data], (source,), type_))


LANES: Mapping[type[Operation], Handler] = {CompareOp: _compare, SelectOp: _select, CastOp: _cast}
