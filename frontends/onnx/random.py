"""Random numbers: of a node's seed, or of one made of the name of its output. Every run gives the same."""

from __future__ import annotations

import struct
from collections.abc import Callable
from zlib import crc32

from onnx import TensorProto
from xdsl.ir import SSAValue

from ...dialects.relay.cumulative import CumsumOp
from ...dialects.relay.nn import SoftmaxOp
from ...dialects.relay.numerics import is_float
from ...dialects.relay.operator import Operator
from ...dialects.relay.random import SeededNormalOp, SeededUniformOp
from ...dialects.relay.reduce import SumOp
from ..importing.converter import Converter
from ..importing.terms import Term, minimum, term
from .context import Context
from .tensors import dtype_of


def seed_of(ctx: Context) -> int:
    """The bits of attribute `seed`, a float (of a Dropout the integer), or a number of the first output's name."""
    if not ctx.has_attribute("seed"):
        return crc32(ctx.node.output[0].encode()) | 1 << 32
    if ctx.node.op_type == "Dropout":
        return ctx.int("seed", 0)
    (bits,) = struct.unpack("<I", struct.pack("<f", ctx.float("seed", 0.0)))
    return bits


def uniform(ctx: Context, shape: tuple[int, ...], dtype: str = "float32") -> Term:
    """Numbers evenly distributed in [0, 1)."""
    return Term(ctx, ctx.emit(SeededUniformOp, shape=shape, dtype=dtype, seed=seed_of(ctx)))


def _distribution(op: type[Operator], names: dict[str, float], like: bool) -> Callable[[Context], SSAValue]:
    """The converter of a distribution, whose attributes have the operator's names."""

    def convert(ctx: Context) -> SSAValue:
        shape = ctx.shape(0) if like else ctx.ints("shape")
        if shape is None:
            ctx.fail("a shape", "none")
        if like and not ctx.has_attribute("dtype"):
            dtype = ctx.dtype(0)
        else:
            dtype = dtype_of(ctx.int("dtype", TensorProto.FLOAT), f"{ctx.node.op_type} '{ctx.node.output[0]}'")
        given = {name: ctx.float(name, default) for name, default in names.items()}
        return ctx.emit(op, shape=shape, dtype=dtype.name, seed=seed_of(ctx), **given)

    return convert


def bernoulli(ctx: Context) -> SSAValue:
    """Return whether a number in [0, 1) is below the probability."""
    chance = term(ctx, 0)
    code = ctx.int("dtype", 0)
    dtype = dtype_of(code, f"Bernoulli '{ctx.node.output[0]}'") if code else ctx.dtype(0)
    number = "float64" if chance.dtype.name == "float64" else "float32"
    return (uniform(ctx, chance.shape, number) < chance.to(number)).to(dtype).value


def multinomial(ctx: Context) -> SSAValue:
    """Each sample is the first class up to which the probabilities, of their logarithms, sum up to a random number."""
    data, size = term(ctx, 0), ctx.int("sample_size", 1)
    dtype = dtype_of(ctx.int("dtype", TensorProto.INT32), f"Multinomial '{ctx.node.output[0]}'")
    if len(data.shape) != 2 or not is_float(data.dtype):
        ctx.fail("logarithms of shape (batch, classes)", f"{data.dtype} of shape {list(data.shape)}")
    rows, classes = data.shape
    data = data if data.dtype.name == "float64" else data.to("float32")
    below = data.apply(SoftmaxOp, axis=1).apply(CumsumOp, axis=1).reshape(rows, 1, classes)
    passed = (below < uniform(ctx, (rows, size, 1), data.dtype.name)).to("int32")
    found = passed.apply(SumOp, axis=[2])
    return minimum(found, classes - 1).to(dtype).value


_NORMAL = {"mean": 0.0, "scale": 1.0}
_UNIFORM = {"low": 0.0, "high": 1.0}

TABLE = {
    "Bernoulli": Converter(bernoulli),
    "Multinomial": Converter(multinomial),
    "RandomNormal": Converter(_distribution(SeededNormalOp, _NORMAL, like=False)),
    "RandomNormalLike": Converter(_distribution(SeededNormalOp, _NORMAL, like=True)),
    "RandomUniform": Converter(_distribution(SeededUniformOp, _UNIFORM, like=False)),
    "RandomUniformLike": Converter(_distribution(SeededUniformOp, _UNIFORM, like=True)),
}
