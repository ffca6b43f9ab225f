"""Random numbers, of the program's seed: every call draws others. The numbers are not those of torch's generator."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.sorting import ArgsortOp
from ...dialects.relay.transform import StridedSliceOp
from ..importing.attributes import Element, Flag, Float, Int, Ints
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term, log1p
from ..meanings.draws import bernoulli, chosen, integers, normal, number_type, uniform
from .context import Context
from .promotion import FLOAT, LONG, is_tensor, operand


def _exponential(ctx: Context, shape: tuple[int, ...], dtype: np.dtype[Any], rate: float) -> Term:
    return (log1p(-uniform(ctx, shape, number_type(dtype))) * (-1 / rate)).to(dtype)


def _around(ctx: Context) -> SSAValue:
    """Normally distributed around each element of `mean`, or by each deviation in `std`."""
    names = [name for name in ("mean", "std") if is_tensor(ctx, name)]
    dtype = ctx.dtype_of(names[0])
    mean, std = operand(ctx, "mean", dtype), operand(ctx, "std", dtype) if ctx.given("std") else None
    spread = mean if std is None else mean * 0.0 + std
    noise = normal(ctx, spread.shape, dtype)
    return (noise + mean if std is None else noise * std + mean).value


def _multinomial(odds: Term, count: int, replacement: bool) -> Term:
    """Classes by their odds; without replacement those that come first, if each waits for a time by its odds."""
    shape = odds.shape
    if len(shape) not in (1, 2):
        odds.ctx.fail("odds of 1 or 2 dimensions", str(list(shape)))
    rows = odds.to(number_type(odds.dtype)).reshape(*(1, *shape)[-2:])
    if replacement or count == 1:
        result = chosen(rows, count).to("int64")
    else:
        waits = -log1p(-uniform(odds.ctx, rows.shape, rows.dtype)) / rows
        order = waits.apply(ArgsortOp, axis=1, is_ascend=True, dtype="int64")
        result = order.apply(StridedSliceOp, begin=[0], end=[count], strides=[1], axes=[1])
    return result if len(shape) == 2 else result.reshape(count)


def _permutation(ctx: Context, count: int, dtype: np.dtype[Any]) -> Term:
    """The numbers below `count` in a random order."""
    even = uniform(ctx, (count,), np.dtype("float64"))
    return even.apply(ArgsortOp, axis=0, is_ascend=True, dtype="int64").to(dtype)


_OF_SIZE: dict[str, Any] = {"shape": Ints(name="size"), "dtype": Element(FLOAT)}
_LIKE: dict[str, Any] = {
    "shape": Ints(lambda ctx: ctx.shape_of("self"), name="size"),
    "dtype": Element(lambda ctx: ctx.dtype_of("self")),
}
_WHOLE: dict[str, Any] = {"low": Int(0), "high": Int()}
_INTEGERS: dict[str, Any] = {"shape": Ints(name="size"), "dtype": Element(LONG), **_WHOLE}
_CHANCE = Float(0.5, name="p")
_NORMAL: dict[str, Any] = {"mean": Float(0.0), "scale": Float(1.0, name="std")}

TABLE = {
    "aten.bernoulli.Tensor": row(bernoulli, "self p"),
    "aten.bernoulli.default": row(bernoulli, "self"),
    "aten.bernoulli.float": row(bernoulli, "self", chance=_CHANCE),
    "aten.bernoulli.p": row(bernoulli, "self", chance=_CHANCE),
    "aten.exponential.default": row(_exponential, **_LIKE, rate=Float(1.0, name="lambd")),
    "aten.multinomial.default": row(_multinomial, "self", count=Int(name="num_samples"), replacement=Flag(False)),
    "aten.normal.Tensor_Tensor": Converter(_around),
    "aten.normal.Tensor_float": Converter(_around),
    "aten.normal.default": row(normal, **_LIKE, **_NORMAL),
    "aten.normal.float_Tensor": Converter(_around),
    "aten.normal.float_float": row(normal, **_OF_SIZE, **_NORMAL),
    "aten.normal_functional.default": row(normal, **_LIKE, **_NORMAL),
    "aten.rand.default": row(uniform, **_OF_SIZE),
    "aten.rand_like.default": row(uniform, **_LIKE),
    "aten.randint.default": row(integers, **_INTEGERS),
    "aten.randint.low": row(integers, **_INTEGERS),
    "aten.randint_like.default": row(integers, **_LIKE, **_WHOLE),
    "aten.randint_like.low_dtype": row(integers, **_LIKE, **_WHOLE),
    "aten.randn.default": row(normal, **_OF_SIZE),
    "aten.randn_like.default": row(normal, **_LIKE),
    "aten.randperm.default": row(_permutation, count=Int(name="n"), dtype=Element(LONG)),
    "aten.uniform.default": row(uniform, **_LIKE, low=Float(0.0, name="from"), high=Float(1.0, name="to")),
}
