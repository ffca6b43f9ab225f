"""Quantised weights: of 8 bits, whose products are those of integers, and of 4 bits, which become floats at import."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay import qnn_products
from ...dialects.relay.linear_algebra import Equation, Letters
from ...dialects.relay.reduce import MaxOp
from ...dialects.relay.transform import TransposeOp
from ...support.dtypes import Array
from ..importing.terms import Term, absolute
from ..meanings.products import dense
from .context import Config, Context
from .nests import entries_of, items_of, whole


@dataclass(frozen=True)
class Activations:
    """The quantisation of what a weight is multiplied with: each row spans the range to its greatest element."""

    low: float
    high: float
    epsilon: float


@dataclass(frozen=True)
class Quantization:
    """The form of the quantised weights of a layer."""

    bits: int
    block: int | None = None
    """Of 4 bits, the elements that have a scale and a zero point of their own; None for one scale of each output."""
    activations: Activations | None = None
    """Of 8 bits; None for products of floats."""

    def names(self, weight: str, *others: str) -> tuple[str, ...]:
        """Return the variables of a layer, of which `weight` is quantised, in the order of files."""
        grouped = (f"{weight}_zero", "g_idx") if self.block is not None else ()
        return weight, *others, f"{weight}_scale", *grouped


def quantization_of(config: Config) -> Quantization | None:
    """Return the quantisation of a layer; None without one. Raises ValueError for one that is not supported."""
    policy = config.get("dtype")
    inner = entries_of((entries_of(policy) or {}).get("config")) or {}
    mode = inner.get("mode")
    if mode is None and isinstance(policy, str) and "_from_" in policy:
        mode = policy.partition("_from_")[0]
    if mode is None:
        return None
    own = entries_of((entries_of(config.get("quantization_config")) or {}).get("config"))
    name, _, block = str(mode).partition("/")
    if config.get("lora_rank") is not None:
        raise ValueError("a quantised weight with LoRA")
    if name == "int8":
        return Quantization(8, activations=Activations(-127, 127, 1e-7) if own is None else _activations(own))
    if name == "int4" and own is not None and own.get("activation_quantizer") is None:
        size = int(block) if block.lstrip("-").isdigit() else whole(own.get("block_size"))
        return Quantization(4, block=None if size in (None, -1) else size)
    raise ValueError(f"a quantisation by {mode}: int8 and int4 are supported")


def _activations(config: Config) -> Activations | None:
    quantizer = entries_of(config.get("activation_quantizer"))
    if quantizer is None:
        return None
    own = entries_of(quantizer.get("config")) or {}
    low, high, *_ = [*(items_of(own.get("value_range")) or []), None, None]
    epsilon = own.get("epsilon", 1e-7)
    numbers = [number for number in (low, high, epsilon) if isinstance(number, int | float)]
    if quantizer.get("class_name") != "AbsMaxQuantizer" or len(numbers) != 3 or own.get("output_dtype") != "int8":
        raise ValueError("activations quantised by another class than AbsMaxQuantizer")
    return Activations(*map(float, numbers))


def unpacked(packed: NDArray[np.int8], extent: int) -> NDArray[np.float32]:
    """Return numbers of 4 bits, of which the last axis has two in a byte, the lower ones first, as floats."""
    halves = np.stack([packed & 15, (packed >> 4) & 15], axis=-1).reshape(*packed.shape[:-1], -1)
    return (((halves[..., :extent] ^ 8).astype(np.int16)) - 8).astype(np.float32)


def from_4_bits(ctx: Context, quantization: Quantization, name: str, shape: tuple[int, int], axis: int) -> Array:
    """Return a weight of 4 bits (rows, columns) in floats; along `axis` groups of numbers share a scale."""
    rows, columns = shape
    numbers = unpacked(ctx.numbers(name, (rows, -(-columns // 2))).astype(np.int8), columns)
    if quantization.block is None:
        scale = ctx.numbers(f"{name}_scale", (shape[1 - axis],)).astype(np.float32)
        return (numbers / np.expand_dims(scale, axis)).astype(np.float32)
    groups = -(-shape[axis] // quantization.block)
    kept = (groups, columns) if axis == 0 else (rows, groups)
    at = ctx.numbers("g_idx", (shape[axis],)).astype(np.int64)
    if at.size and not 0 <= at.min() <= at.max() < groups:
        ctx.fail(f"groups below {groups} in 'g_idx'", f"{at.min()} to {at.max()}")
    scale, zero = (ctx.numbers(f"{name}_{part}", kept).astype(np.float32).take(at, axis) for part in ("scale", "zero"))
    return ((numbers - zero) * scale).astype(np.float32)


def dense_of(ctx: Context, quantization: Quantization, equation: str, data: SSAValue, shape: Sequence[int]) -> SSAValue:
    """The product that an equation names of data and a quantised kernel of a shape."""
    try:
        own = Equation.of(equation, [Term(ctx, data).shape, tuple(shape)])
    except ValueError as error:
        ctx.fail(*error.args)
    inputs, weights = own.operands
    inner = [name for name in weights if name not in own.result]
    columns = [name for name in weights if name in own.result]
    rows = [name for name in inputs if name not in inner]
    if not inner or set(columns) & set(inputs) or not set(inner) <= set(inputs):
        ctx.fail("an equation of rows and columns of a quantised kernel", equation)
    extents = dict(zip(weights, shape, strict=True)) | dict(zip(inputs, Term(ctx, data).shape, strict=True))
    depth, width = prod(extents[name] for name in inner), prod(extents[name] for name in columns)

    def flat(array: Array) -> Array:
        """Return a kernel as (outputs, inputs)."""
        return (
            array.reshape(shape).transpose([weights.index(name) for name in (*columns, *inner)]).reshape(width, depth)
        )

    x = _ordered(Term(ctx, data), inputs, (*rows, *inner)).reshape(prod(extents[name] for name in rows), depth)
    if quantization.bits == 4:
        # Files have the kernel as a matrix of the axes in their own order.
        first = prod(extents[name] for name in weights[: len(inner)])
        if list(weights[: len(inner)]) != inner:
            ctx.fail("a kernel of 4 bits whose first axes are summed over", equation)
        kernel = from_4_bits(ctx, quantization, "kernel", (first, width), 0)
        result = _product(ctx, x, ctx.of_weight("kernel", flat(kernel)))
    else:
        result = _integers(ctx, quantization.activations, x, flat(ctx.numbers("kernel", shape)), width)
    whole_result = result.reshape(*(extents[name] for name in (*rows, *columns)))
    return _ordered(whole_result, (*rows, *columns), own.result).value


def _product(ctx: Context, x: Term, weight: SSAValue) -> Term:
    return dense(x, Term(ctx, weight), outputs_first=True)


def _ordered(term: Term, names: Letters | Sequence[str], wanted: Sequence[str]) -> Term:
    order = [list(names).index(name) for name in wanted]
    return term if order == sorted(order) else term.apply(TransposeOp, axes=order)


def _integers(ctx: Context, activations: Activations | None, x: Term, kernel: Array, width: int) -> Term:
    """Rows times a kernel (outputs, inputs) of 8 bits."""
    scale: Any = ctx.numbers("kernel_scale")
    if scale.size != width:
        ctx.fail(f"{width} numbers as kernel_scale", str(list(scale.shape)))
    steps = Term(ctx, ctx.of_weight("kernel_scale", scale.reshape(width)))
    if activations is None:
        return _product(ctx, x, ctx.of_weight("kernel", kernel.astype(np.float32))) / steps
    greatest = absolute(x).apply(MaxOp, axis=(1,), keepdims=True)
    factor = activations.high / (greatest + activations.epsilon)
    whole_rows = (x * factor).apply(ew.RoundOp).clip(activations.low, activations.high).to("int8")
    unit, zero = ctx.constant(np.ones((), np.float32), "scale"), ctx.constant(np.zeros((), np.int32), "zero")
    weight = ctx.of_weight("kernel", np.ascontiguousarray(kernel.astype(np.int8)))
    total = Term(ctx, ctx.emit(qnn_products.DenseOp, whole_rows.value, weight, zero, zero, unit, unit))
    return total.to(x.dtype) / (factor * steps)
