"""Random numbers, of the program's seed: every call draws others. The numbers are not those of torch's generator."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.sorting import ArgsortOp
from ...dialects.relay.transform import StridedSliceOp
from ..importing.converter import Converter
from ..importing.draws import chosen, integers, normal, number_type, uniform
from ..importing.terms import Term, log1p
from .context import Context
from .promotion import FLOAT, LONG, cast_to, is_tensor, operand

Draw = Callable[[Context, tuple[int, ...], str], Term]
"""Numbers of a shape and dtype, by the other arguments of a call."""


def _of(draw: Draw, like: bool = False) -> Converter[Context]:
    """The converter of numbers of a shape, `size` or that of `self`."""

    def convert(ctx: Context) -> SSAValue:
        shape = ctx.shape_of("self") if like else ctx.ints("size")
        dtype = ctx.element("dtype", ctx.dtype_of("self") if like else FLOAT)
        assert dtype is not None
        return cast_to(ctx, draw(ctx, shape, number_type(dtype)).value, dtype)

    return Converter(convert)


def _integers(like: bool = False, default: np.dtype[np.generic] = LONG) -> Converter[Context]:
    """The converter of whole numbers from `low`, or 0, to before `high`."""

    def convert(ctx: Context) -> SSAValue:
        shape = ctx.shape_of("self") if like else ctx.ints("size")
        dtype = ctx.element("dtype", ctx.dtype_of("self") if like else default)
        assert dtype is not None
        low = ctx.int("low", 0)
        return cast_to(ctx, integers(ctx, low, ctx.int("high"), shape).value, dtype)

    return Converter(convert)


def _spread(ctx: Context, shape: tuple[int, ...], dtype: str) -> Term:
    low, high = ctx.float("from", 0.0), ctx.float("to", 1.0)
    return uniform(ctx, shape, dtype) * (high - low) + low


def _bell(ctx: Context, shape: tuple[int, ...], dtype: str) -> Term:
    return normal(ctx, shape, dtype) * ctx.float("std", 1.0) + ctx.float("mean", 0.0)


def _exponential(ctx: Context, shape: tuple[int, ...], dtype: str) -> Term:
    return log1p(-uniform(ctx, shape, dtype)) * (-1 / ctx.float("lambd", 1.0))


def _around(ctx: Context) -> SSAValue:
    """Normally distributed around each element of `mean`, or by each deviation in `std`."""
    names = [name for name in ("mean", "std") if is_tensor(ctx, name)]
    dtype = ctx.dtype_of(names[0])
    mean, std = operand(ctx, "mean", dtype), operand(ctx, "std", dtype) if ctx.given("std") else None
    spread = mean if std is None else mean * 0.0 + std
    noise = normal(ctx, spread.shape, number_type(dtype)).to(dtype.name)
    return (noise + mean if std is None else noise * std + mean).value


def below(ctx: Context, chance: Term | float, shape: tuple[int, ...], dtype: str) -> Term:
    """Truth values, each true with a chance."""
    return uniform(ctx, shape, dtype) < chance


def _bernoulli(ctx: Context) -> SSAValue:
    """1 with the chance that `p` says for all elements, or each element for itself."""
    dtype, shape = ctx.dtype_of("self"), ctx.shape_of("self")
    if is_tensor(ctx, "p"):
        chance: Term | float = ctx.term("p").to(number_type(dtype))
    else:
        chance = ctx.float("p", 0.5) if ctx.given("p") else ctx.term("self").to(number_type(dtype))
    return cast_to(ctx, below(ctx, chance, shape, number_type(dtype)).value, dtype)


def _bernoulli_in_place(ctx: Context) -> SSAValue:
    """1 with a chance, of one half where none is said."""
    dtype, shape = ctx.dtype_of("self"), ctx.shape_of("self")
    return cast_to(ctx, below(ctx, ctx.float("p", 0.5), shape, number_type(dtype)).value, dtype)


def _multinomial(ctx: Context) -> SSAValue:
    """Classes by their odds; without replacement those that come first, if each waits for a time by its odds."""
    odds, count = ctx.term("self"), ctx.int("num_samples")
    odds = odds.to(number_type(odds.dtype))
    shape = odds.shape
    if len(shape) not in (1, 2):
        ctx.fail("odds of 1 or 2 dimensions", str(list(shape)))
    rows = odds if len(shape) == 2 else odds.reshape(1, shape[0])
    if ctx.flag("replacement") or count == 1:
        result = chosen(ctx, rows, count).to("int64")
    else:
        waits = -log1p(-uniform(ctx, rows.shape, rows.dtype.name)) / rows
        order = ctx.emit(ArgsortOp, waits.value, axis=1, is_ascend=True, dtype="int64")
        first = ctx.emit(StridedSliceOp, order, begin=[0], end=[count], strides=[1], axes=[1])
        result = Term(ctx, first)
    return (result if len(shape) == 2 else result.reshape(count)).value


def _permutation(ctx: Context) -> SSAValue:
    """The numbers below `n` in a random order."""
    count, dtype = ctx.int("n"), ctx.element("dtype", LONG)
    assert dtype is not None
    order = ctx.emit(ArgsortOp, uniform(ctx, (count,), "float64").value, axis=0, is_ascend=True, dtype="int64")
    return cast_to(ctx, order, dtype)


TABLE = {
    "aten.bernoulli.default": Converter(_bernoulli),
    "aten.bernoulli.p": Converter(_bernoulli),
    "aten.bernoulli.float": Converter(_bernoulli_in_place),
    "aten.bernoulli.Tensor": Converter(_bernoulli),
    "aten.exponential.default": _of(_exponential, like=True),
    "aten.multinomial.default": Converter(_multinomial),
    "aten.normal.Tensor_Tensor": Converter(_around),
    "aten.normal.Tensor_float": Converter(_around),
    "aten.normal.default": _of(_bell, like=True),
    "aten.normal.float_Tensor": Converter(_around),
    "aten.normal.float_float": _of(_bell),
    "aten.normal_functional.default": _of(_bell, like=True),
    "aten.rand.default": _of(_spread),
    "aten.rand_like.default": _of(_spread, like=True),
    "aten.randint.default": _integers(),
    "aten.randint.low": _integers(),
    "aten.randint_like.default": _integers(like=True),
    "aten.randint_like.low_dtype": _integers(like=True),
    "aten.randn.default": _of(_bell),
    "aten.randn_like.default": _of(_bell, like=True),
    "aten.randperm.default": Converter(_permutation),
    "aten.uniform.default": _of(_spread, like=True),
}
