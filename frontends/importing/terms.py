"""Arithmetic of relay values: `x * sigmoid(x * alpha)` emits operators, which fuse into one kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from math import prod
from typing import Concatenate, ParamSpec, cast

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay import logic, reduce
from ...dialects.relay.attributes import Value
from ...dialects.relay.creation import ArangeOp, OnesOp
from ...dialects.relay.numerics import is_float
from ...dialects.relay.operator import Operator
from ...dialects.relay.transform import ReshapeOp, TransposeOp
from ...dialects.sizes import Size, SizeExpr, holds_zero, same, same_shape
from ...support.dtypes import Array
from .context import Context
from .tensor import dtype_of, shape_of

P = ParamSpec("P")


@dataclass(frozen=True, eq=False)
class Term:
    """A relay value of a node. Numbers combined with it get its dtype; shapes broadcast."""

    ctx: Context
    value: SSAValue

    @property
    def shape(self) -> tuple[int, ...]:
        return shape_of(self.value)

    @property
    def dtype(self) -> np.dtype[np.generic]:
        return dtype_of(self.value)

    def _of(self, other: Term | float) -> SSAValue:
        return other.value if isinstance(other, Term) else self.ctx.scalar(other, self.value)

    def apply(self, op: type[Operator], *others: Term | float, **attributes: Value) -> Term:
        """Apply an operator to this term and others."""
        operands = [self._of(other) for other in others]
        return Term(self.ctx, self.ctx.emit(op, self.value, *operands, **attributes))

    def number(self, value: float | Size) -> Term:
        """Return a scalar of the term's dtype."""
        return Term(self.ctx, self.ctx.scalar(value, self.value))

    def __add__(self, other: Term | float) -> Term:
        return self.apply(ew.AddOp, other)

    def __sub__(self, other: Term | float) -> Term:
        return self.apply(ew.SubtractOp, other)

    def __mul__(self, other: Term | float) -> Term:
        return self.apply(ew.MultiplyOp, other)

    def __truediv__(self, other: Term | float) -> Term:
        return self.apply(ew.DivideOp, other)

    def __rtruediv__(self, other: float) -> Term:
        return self.number(other) / self

    def __neg__(self) -> Term:
        return self.apply(ew.NegativeOp)

    def __lt__(self, other: Term | float) -> Term:
        return self.apply(ew.LessOp, other)

    def __gt__(self, other: Term | float) -> Term:
        return self.apply(ew.GreaterOp, other)

    def __le__(self, other: Term | float) -> Term:
        return self.apply(logic.LessEqualOp, other)

    def __and__(self, other: Term) -> Term:
        return self.apply(logic.LogicalAndOp, other)

    def __or__(self, other: Term) -> Term:
        return self.apply(logic.LogicalOrOp, other)

    def __invert__(self) -> Term:
        return self.apply(ew.LogicalNotOp)

    def equal(self, other: Term | float) -> Term:
        return self.apply(ew.EqualOp, other)

    def clip(self, low: float, high: float) -> Term:
        return self.apply(ew.ClipOp, a_min=low, a_max=high)

    def to(self, dtype: str | np.dtype[np.generic]) -> Term:
        """Return the term in a dtype."""
        name = np.dtype(dtype).name if isinstance(dtype, str) and dtype != "bfloat16" else str(dtype)
        return self if self.dtype.name == name else self.apply(ew.CastOp, dtype=name)

    def reshape(self, *shape: int) -> Term:
        return (
            self
            if same_shape(self.shape, shape)
            else self.apply(ReshapeOp, newshape=shape, allowzero=int(holds_zero(shape)))
        )

    def sum(self, *axes: int) -> Term:
        """Over `axes`, which stay as axes of 1."""
        return self.apply(reduce.SumOp, axis=axes, keepdims=True)

    def mean(self, *axes: int) -> Term:
        """Over `axes`, which stay as axes of 1."""
        return self.apply(reduce.MeanOp, axis=axes, keepdims=True)


def term(ctx: Context, index: int) -> Term:
    """Input `index`."""
    return Term(ctx, ctx.value(index))


def wide(x: Term) -> Term:
    """Return the term, half precision as float32, so that several operators round once."""
    return x.to("float32") if is_float(x.dtype) and x.dtype.itemsize < 4 else x


def wide_term(ctx: Context, index: int) -> Term:
    """Return input `index`, half precision as float32."""
    return wide(term(ctx, index))


def once(function: Callable[Concatenate[Term, P], Term]) -> Callable[Concatenate[Term, P], Term]:
    """Return the function with halves converted to float32, so that it rounds once."""

    @wraps(function)
    def computed(x: Term, *others: P.args, **options: P.kwargs) -> Term:
        if not is_float(x.dtype) or x.dtype.itemsize >= 4:
            return function(x, *others, **options)
        wide = [part.to("float32") if isinstance(part, Term) else part for part in others]
        return function(x.to("float32"), *wide, **options).to(x.dtype)  # pyright: ignore[reportCallIssue]

    return computed


def constant(ctx: Context, array: Array, hint: str) -> Term:
    return Term(ctx, ctx.constant(array, hint))


def places(ctx: Context, extent: int, rank: int = 1, axis: int = 0, dtype: str = "int64", start: int = 0) -> Term:
    """Return `extent` numbers from `start` on, along an axis of a tensor of `rank` dimensions."""
    shape = [-1 if at == axis else 1 for at in range(rank)]
    if not isinstance(cast(Size, extent), SizeExpr) and not isinstance(cast(Size, start), SizeExpr):
        return constant(ctx, np.arange(start, start + extent, dtype=dtype).reshape(shape), "places")
    stop = (extent,) if isinstance(cast(Size, extent), SizeExpr) else float(extent)
    row = Term(ctx, ctx.emit(ArangeOp, stop=stop, dtype=dtype))
    row = row if same(start, 0) else row + start
    return row if rank == 1 else row.reshape(*[extent if at == axis else 1 for at in range(rank)])


def ones(ctx: Context, extent: int, dtype: np.dtype[np.generic]) -> Term:
    """Return a vector of ones."""
    if not isinstance(cast(Size, extent), SizeExpr):
        return constant(ctx, np.ones(extent, dtype), "ones")
    return Term(ctx, ctx.emit(OnesOp, shape=(extent,), dtype=dtype.name))


def where(condition: Term, x: Term | float, y: Term | float) -> Term:
    """Return `x` where the condition holds, else `y`; one of them is a term."""
    term = x if isinstance(x, Term) else y
    assert isinstance(term, Term)
    left, right = (side if isinstance(side, Term) else term.number(side) for side in (x, y))
    return Term(condition.ctx, condition.ctx.emit(logic.WhereOp, condition.value, left.value, right.value))


def axis_of(x: Term, axis: int, new: int = 0) -> int:
    """Return an axis of a term, or of a term with `new` more axes, counted from 0; a scalar has one axis."""
    bound = max(len(x.shape) + new, 1)
    if not -bound <= axis < bound:
        x.ctx.fail(f"an axis in [{-bound}, {bound})", str(axis))
    return axis % bound


def along_rows(function: Callable[[Term], Term], x: Term, axes: Sequence[int]) -> Term:
    """Apply a function along the last axis to several axes, as if they were one."""
    rank = len(x.shape)
    axes = sorted(axis_of(x, axis) for axis in axes)
    order = [*(at for at in range(rank) if at not in axes), *axes]
    moved = x if order == list(range(rank)) else x.apply(TransposeOp, axes=order)
    outer, row = moved.shape[: rank - len(axes)], moved.shape[rank - len(axes) :]
    rows = function(moved.reshape(*outer, prod(row))).reshape(*moved.shape)
    return rows if moved is x else rows.apply(TransposeOp, axes=[order.index(at) for at in range(rank)])


def absolute(x: Term) -> Term:
    return x.apply(ew.AbsOp)


def copysign(x: Term, y: Term) -> Term:
    """Return `x` with the sign of `y`."""
    return x.apply(ew.CopysignOp, y)


def cos(x: Term) -> Term:
    return x.apply(ew.CosOp)


def exp(x: Term) -> Term:
    return x.apply(ew.ExpOp)


def expm1(x: Term) -> Term:
    return x.apply(ew.Expm1Op)


def log(x: Term) -> Term:
    return x.apply(ew.LogOp)


def log1p(x: Term) -> Term:
    return x.apply(ew.Log1pOp)


def is_nan(x: Term) -> Term:
    return x.apply(ew.IsNanOp)


def sqrt(x: Term) -> Term:
    return x.apply(ew.SqrtOp)


def erf(x: Term) -> Term:
    return x.apply(ew.ErfOp)


def tanh(x: Term) -> Term:
    return x.apply(ew.TanhOp)


def sigmoid(x: Term) -> Term:
    return x.apply(ew.SigmoidOp)


def maximum(x: Term, y: Term | float) -> Term:
    return x.apply(ew.MaximumOp, y)


def minimum(x: Term, y: Term | float) -> Term:
    return x.apply(ew.MinimumOp, y)
