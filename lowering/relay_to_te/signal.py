"""Computes of Fourier transforms: a script that goes through the factors of the length, in float64."""
# pyright: reportUndefinedVariable=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# ruff: noqa: F821

from __future__ import annotations

from collections.abc import Callable
from math import pi, prod, sqrt
from typing import Any, cast

import numpy as np

from ... import te
from ...dialects.relay import signal as relay
from ...dialects.relay.operator import Operator, shape_of
from ...dialects.sizes import Size, SizeExpr
from ...te import Expr, Tensor
from .constants import table
from .stages import ROWS_APART, compute, dtype_of, label, shape, share_of
from .transform import flat_index, unflatten


@te.hybrid.script
def _transform(x: Any, cosines: Any, sines: Any, rows: Any, length: Any, factors: Any, steps: Any, rests: Any) -> Any:
    """The transforms of `x` (rows, 2, length), real and imaginary parts apart.

    At each stage, from one half of a pair of buffers to the other, the length that is left is a factor times `rests`,
    and results so far lie `steps` apart: Stockham's order, which needs no permutation.
    """
    out = output_tensor((rows, 2, length), "float64")
    pair = allocate((2, rows, 2, length), "float64", "global")
    for row in range(rows):
        for i in range(length):
            pair[0, row, 0, i] = x[row, 0, i]
            pair[0, row, 1, i] = x[row, 1, i]
        for stage in const_range(len(factors)):
            for p in range(rests[stage]):
                for u in range(factors[stage]):
                    for q in vectorize(steps[stage]):
                        pair[(stage + 1) % 2, row, 0, q + steps[stage] * (factors[stage] * p + u)] = 0.0
                        pair[(stage + 1) % 2, row, 1, q + steps[stage] * (factors[stage] * p + u)] = 0.0
                    for t in range(factors[stage]):
                        angle = (int64(u) * steps[stage]) * (p + rests[stage] * t) % length
                        c = cosines[angle]
                        s = sines[angle]
                        for q in vectorize(steps[stage]):
                            pair[(stage + 1) % 2, row, 0, q + steps[stage] * (factors[stage] * p + u)] += (
                                pair[stage % 2, row, 0, q + steps[stage] * (p + rests[stage] * t)] * c
                                - pair[stage % 2, row, 1, q + steps[stage] * (p + rests[stage] * t)] * s
                            )
                            pair[(stage + 1) % 2, row, 1, q + steps[stage] * (factors[stage] * p + u)] += (
                                pair[stage % 2, row, 0, q + steps[stage] * (p + rests[stage] * t)] * s
                                + pair[stage % 2, row, 1, q + steps[stage] * (p + rests[stage] * t)] * c
                            )
        for i in range(length):
            out[row, 0, i] = pair[len(factors) % 2, row, 0, i]
            out[row, 1, i] = pair[len(factors) % 2, row, 1, i]
    return out


def _factors(length: int) -> list[int]:
    """Prime factors, but fours in place of twos."""
    factors: list[int] = []
    for factor in (4, *range(2, length + 1)):
        while length % factor == 0:
            factors.append(factor)
            length //= factor
    return factors


def transform(parts: Tensor, inverse: bool) -> Tensor:
    """The transforms of `parts` (rows, 2, length) of float64; of the inverse, not divided by the length."""
    rows, _, length = shape(parts)
    if isinstance(cast(Size, length), SizeExpr):
        return _direct(parts, inverse)
    factors = tuple(_factors(length))
    steps = tuple(prod(factors[:stage]) for stage in range(len(factors)))
    rests = tuple(length // step // factor for step, factor in zip(steps, factors, strict=True))
    angles = np.linspace(0, 2 * pi, length, endpoint=False) * (1 if inverse else -1)
    cosines, sines = table(np.cos(angles), "cosines"), table(np.sin(angles), "sines")
    with te.tag_scope(ROWS_APART):
        return _transform(parts, cosines, sines, rows, length, factors=factors, steps=steps, rests=rests)


def _direct(parts: Tensor, inverse: bool) -> Tensor:
    """Transform parts whose length has unknown factors: a sum along the signal for each frequency."""
    rows, _, length = shape(parts)
    step = (2 * pi if inverse else -2 * pi) / te.const(length, "float64")

    def wave(function: Callable[[Expr], Expr], name: str) -> Tensor:
        return compute((length,), lambda *i: function(i[0].astype("float64") * step), name, keep=True)

    cosines, sines = wave(te.cos, "cosines"), wave(te.sin, "sines")
    k = te.reduce_axis((0, length), name="k")

    def element(row: Expr, part: Expr, frequency: Expr) -> Expr:
        at = frequency.astype("int64") * k % length
        own = te.select(part < 1, cosines(at), sines(at))
        other = te.select(part < 1, sines(at) * -1.0, cosines(at))
        return te.sum(parts(row, 0, k) * own + parts(row, 1, k) * other, axis=k)

    return compute((rows, 2, length), element, "transforms", tag="comm_reduce")


def dft(op: Operator, re: Tensor, im: Tensor) -> tuple[Tensor, Tensor]:
    extents, dtype, inverse = shape(re), dtype_of(op), bool(op.signature.get("inverse"))
    *outer, length = extents
    whole = (prod(outer), 2, length)

    def part(*i: Expr) -> Expr:
        point = (*unflatten(i[0], outer), i[2])
        return te.select(i[1] < 1, re(*point), im(*point)).astype("float64")

    transformed = transform(compute(whole, part, "parts", keep=True), inverse)
    scale = share_of(length, "float64") if inverse else 1.0

    def result(which: int) -> Tensor:
        def element(*i: Expr) -> Expr:
            return (transformed(flat_index(i[:-1], outer), which, i[-1]) * scale).astype(dtype)

        return compute(extents, element, f"{label(op)}_{which}")

    return result(0), result(1)


def stft(op: Operator, data: Tensor, window: Tensor) -> Tensor:
    sig, dtype = op.signature, dtype_of(op)
    batch, frames = shape(data)[0], relay.StftOp.frames(sig)
    n_fft, hop, left = sig.int("n_fft"), sig.int("hop_length"), (sig.int("n_fft") - sig.int("win_length")) // 2
    scale: Expr | float = 1.0
    if sig.get("normalized"):
        closed = isinstance(cast(Size, n_fft), int)
        scale = 1 / sqrt(n_fft) if closed else 1.0 / te.sqrt(te.const(n_fft, "float64"))

    def part(*i: Expr) -> Expr:
        sample = data(i[0] // frames, i[0] % frames * hop + i[2]).astype("float64")
        value = sample * window(i[2] - left, otherwise=0).astype("float64")
        return te.select(i[1] < 1, value, te.const(0, "float64"))

    transformed = transform(compute((batch * frames, 2, n_fft), part, "frames", keep=True), False)

    def element(*i: Expr) -> Expr:
        return (transformed(i[0] * frames + i[2], i[3], i[1]) * scale).astype(dtype)

    return compute(shape_of(op.results[0]), element, label(op))


TABLE = {relay.DftOp: dft, relay.StftOp: stft}
