"""Random numbers: of a node's seed, or of the program's. Every run, and every turn of a loop, draws others."""

from __future__ import annotations

import struct
from collections.abc import Callable

from onnx import TensorProto
from xdsl.ir import SSAValue

from ...dialects.relay.nn import SoftmaxOp
from ...dialects.relay.numerics import is_float
from ...dialects.relay.operator import Operator
from ...dialects.relay.random import DrawNormalOp, DrawUniformOp
from ..importing import draws
from ..importing.converter import Converter
from ..importing.terms import Term, term
from .context import Context
from .tensors import dtype_of


def seed_of(ctx: Context) -> int | None:
    """The bits of attribute `seed`, a float (of a Dropout the integer); None for the program's."""
    if not ctx.has_attribute("seed"):
        return None
    if ctx.node.op_type == "Dropout":
        return ctx.int("seed", 0)
    (bits,) = struct.unpack("<I", struct.pack("<f", ctx.float("seed", 0.0)))
    return bits


def uniform(ctx: Context, shape: tuple[int, ...], dtype: str = "float32") -> Term:
    """Numbers evenly distributed in [0, 1), of the node's seed."""
    return draws.uniform(ctx, shape, dtype, seed_of(ctx))


def _distribution(op: type[Operator], names: dict[str, float], like: bool) -> Callable[[Context], SSAValue]:
    """The converter of a distribution, whose attributes have the operator's names."""

    def convert(ctx: Context) -> SSAValue:
        shape = ctx.shape(0) if like else ctx.ints("shape", None)
        if shape is None:
            ctx.fail("a shape", "none")
        if like and not ctx.has_attribute("dtype"):
            dtype = ctx.dtype(0)
        else:
            dtype = dtype_of(ctx.int("dtype", TensorProto.FLOAT), f"{ctx.node.op_type} '{ctx.node.output[0]}'")
        given = {name: ctx.float(name, default) for name, default in names.items()}
        return draws.drawn(ctx, op, shape, dtype.name, seed_of(ctx), **given)

    return convert


def bernoulli(ctx: Context) -> SSAValue:
    """Return whether a number in [0, 1) is below the probability."""
    chance = term(ctx, 0)
    code = ctx.int("dtype", 0)
    dtype = dtype_of(code, f"Bernoulli '{ctx.node.output[0]}'") if code else ctx.dtype(0)
    number = draws.number_type(chance.dtype)
    return (uniform(ctx, chance.shape, number) < chance.to(number)).to(dtype).value


def multinomial(ctx: Context) -> SSAValue:
    """Classes by their probabilities, of which there are the logarithms."""
    data, size = term(ctx, 0), ctx.int("sample_size", 1)
    dtype = dtype_of(ctx.int("dtype", TensorProto.INT32), f"Multinomial '{ctx.node.output[0]}'")
    if len(data.shape) != 2 or not is_float(data.dtype):
        ctx.fail("logarithms of shape (batch, classes)", f"{data.dtype} of shape {list(data.shape)}")
    data = data.to(draws.number_type(data.dtype))
    return draws.chosen(ctx, data.apply(SoftmaxOp, axis=1), size, seed_of(ctx)).to(dtype).value


_NORMAL = {"mean": 0.0, "scale": 1.0}
_UNIFORM = {"low": 0.0, "high": 1.0}

TABLE = {
    "Bernoulli": Converter(bernoulli),
    "Multinomial": Converter(multinomial),
    "RandomNormal": Converter(_distribution(DrawNormalOp, _NORMAL, like=False)),
    "RandomNormalLike": Converter(_distribution(DrawNormalOp, _NORMAL, like=True)),
    "RandomUniform": Converter(_distribution(DrawUniformOp, _UNIFORM, like=False)),
    "RandomUniformLike": Converter(_distribution(DrawUniformOp, _UNIFORM, like=True)),
}
