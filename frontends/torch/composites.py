"""Operators that are others put together, and rarer functions."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay.logic import LeftShiftOp, NotEqualOp, RightShiftOp
from ...dialects.relay.reduce import SumOp
from ..importing.attributes import Float, Int
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term, log, maximum, minimum
from ..meanings.activations import hard_shrink, soft_shrink
from ..meanings.formulas import degrees, radians, step
from ..meanings.pools import ADAPTIVE_MAX, adaptive_pool
from ..meanings.reductions import norm_2
from ..meanings.windows import with_batch, without_batch
from .context import Context
from .elementwise import of_floats
from .promotion import meeting
from .special import cross


def _logit(x: Term, eps: float | None) -> Term:
    x = x if eps is None else maximum(minimum(x, 1.0 - eps), eps)
    return log(x / (-x + 1.0))


def _adaptive_max(rank: int) -> Converter[Context]:
    def convert(ctx: Context) -> tuple[SSAValue, ...]:
        """The values; indices are no operator's here, and asked for by few."""
        data, added = with_batch(ctx.term("self"), rank)
        result = adaptive_pool(ADAPTIVE_MAX, data, ctx.ints("output_size", count=rank))
        return (without_batch(result, added).value,)

    return Converter(convert)


def _count_nonzero(ctx: Context) -> SSAValue:
    x = ctx.term("self")
    rank = len(x.shape)
    axes = tuple(ctx.axis_in(axis, rank) for axis in ctx.ints("dim", tuple(range(rank))))
    return x.apply(NotEqualOp, 0.0).to("int64").apply(SumOp, axis=axes, keepdims=False).value


def _weight_norm(ctx: Context) -> SSAValue:
    """A direction of length 1 for each index of an axis, times its length."""
    v, g, axis = ctx.term("v"), ctx.term("g"), ctx.int("dim", 0)
    axes = None if axis == -1 else [at for at in range(len(v.shape)) if at != axis % len(v.shape)]
    return (v * (g / norm_2(v, axes, keepdims=True))).value


def _frac(x: Term) -> Term:
    return x - x.apply(ew.TruncOp)


TABLE: dict[str, Converter[Context]] = {
    "aten.__lshift__.Scalar": meeting(LeftShiftOp),
    "aten.__lshift__.Tensor": meeting(LeftShiftOp),
    "aten.__rshift__.Scalar": meeting(RightShiftOp),
    "aten.__rshift__.Tensor": meeting(RightShiftOp),
    **{
        f"aten.bitwise_left_shift.{form}": meeting(LeftShiftOp) for form in ("Tensor", "Tensor_Scalar", "Scalar_Tensor")
    },
    **{
        f"aten.bitwise_right_shift.{form}": meeting(RightShiftOp)
        for form in ("Tensor", "Tensor_Scalar", "Scalar_Tensor")
    },
    "aten._weight_norm.default": Converter(_weight_norm),
    "aten.adaptive_max_pool1d.default": _adaptive_max(1),
    "aten.adaptive_max_pool2d.default": _adaptive_max(2),
    "aten.adaptive_max_pool3d.default": _adaptive_max(3),
    "aten.count_nonzero.default": Converter(_count_nonzero),
    "aten.count_nonzero.dim_IntList": Converter(_count_nonzero),
    "aten.deg2rad.default": of_floats(radians),
    "aten.frac.default": of_floats(_frac),
    "aten.hardshrink.default": of_floats(hard_shrink, bound=Float(0.5, name="lambd")),
    "aten.heaviside.default": meeting(step, "self", beside="values"),
    "aten.hypot.default": meeting(ew.HypotOp),
    "aten.linalg_cross.default": row(cross, "self other", axis=Int(-1, name="dim")),
    "aten.logit.default": of_floats(_logit, eps=Float(None)),
    "aten.rad2deg.default": of_floats(degrees),
    "aten.softshrink.default": of_floats(soft_shrink, bound=Float(0.5, name="lambd")),
}
