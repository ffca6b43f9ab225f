"""Computes of Winograd's convolutions: tiles of data transformed, a product for each of their points, results made.

In blocks of channels as the other convolutions, so that lanes are output channels in each stage but the first, where
they are input channels. The stages have TVM's names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ... import te
from ...dialects.relay import winograd as relay
from ...dialects.relay.convolution import expand_padding
from ...dialects.relay.layout import logical_shape, parse_layout
from ...dialects.relay.operator import Operator, shape_of
from ...passes.relay.blocking import vector_block
from ...support.machine import CHANNEL_BLOCK
from ...te import Expr, Tensor
from .convolution import repacked, zeros_around
from .stages import compute, dtype_of, label, rounded, shape, wide
from .transform import blocked_point, unflatten

Matrix = npt.NDArray[np.float64] | npt.NDArray[np.int_]


def _row(factors: npt.NDArray[Any], numbers: list[Expr]) -> Expr:
    """The sum of numbers times their factors, of which those that are 1 and -1 cost nothing."""
    total: Expr | None = None
    for factor, number in sorted(zip(factors.tolist(), numbers, strict=True), key=lambda term: term[0] < 0):
        if factor and total is None:
            total = number if factor == 1 else number * factor
        elif factor:
            assert total is not None
            total = total + number if factor == 1 else total - number if factor == -1 else total + number * factor
    assert total is not None
    return total


def _transformed(matrix: Matrix, at: Expr, number: Callable[[int], Expr]) -> Expr:
    """Element `at` of the product of a matrix and the vector of `number`: a loop over `at` is to be written out."""
    numbers = [number(place) for place in range(matrix.shape[1])]
    *rest, value = [_row(factors, numbers) for factors in matrix]
    for place, element in reversed(list(enumerate(rest))):
        value = te.select(at == place, element, value)
    return value


def _transformed_twice(matrix: Matrix, at: tuple[Expr, Expr], number: Callable[[int, int], Expr]) -> Expr:
    """Element `at` of the product of a matrix, the square of `number` and the matrix transposed."""
    return _transformed(matrix, at[1], lambda j: _transformed(matrix, at[0], lambda i: number(i, j)))


def winograd_weight_transform(op: Operator, weight: Tensor) -> Tensor:
    number = wide(weight.dtype)

    def point(a: Expr, b: Expr, o: Expr, i: Expr) -> Expr:
        return _transformed_twice(relay.WEIGHTS, (a, b), lambda y, x: weight(o, i, y, x).astype(number))

    return rounded(compute(shape_of(op.results[0]), point, label(op)), dtype_of(op))


def _blocked(op: Operator, name: str, data: Tensor, weight: Tensor, result: tuple[int, ...]) -> Tensor:
    """NCHW[x]c data, HWOI[x]i[y]o weight -> NCHW[y]c of shape `result`."""
    batch, chunks, _, _, lanes = shape(data)
    *_, rows, columns, _ = result
    before = expand_padding(op.signature, op.signature.ints("padding"))[:2]
    tiles = [-(-extent // relay.TILE) for extent in (rows, columns)]
    count, points = tiles[0] * tiles[1], (relay.POINTS, relay.POINTS)
    source = zeros_around(data, [extent * relay.TILE + relay.WINDOW - 1 for extent in tiles], before)
    number = wide(dtype_of(op))

    def transformed(a: Expr, b: Expr, n: Expr, c: Expr, p: Expr, ci: Expr) -> Expr:
        y, x = (at * relay.TILE for at in unflatten(p, tiles))
        return _transformed_twice(relay.DATA, (a, b), lambda i, j: source(n, c, y + i, x + j, ci).astype(number))

    names = ("eps", "nu", "n", "c", "p", "ci")
    packed = te.compute((*points, batch, chunks, count, lanes), transformed, "data_pack", "", {"keep": True}, names)
    ic, il = te.reduce_axis((0, chunks), "ic"), te.reduce_axis((0, lanes), "il")

    def product(a: Expr, b: Expr, n: Expr, oc: Expr, p: Expr, ol: Expr) -> Expr:
        return te.sum(packed(a, b, n, ic, p, il) * weight(a, b, oc, ic, il, ol).astype(number), axis=[ic, il])

    names = ("eps", "nu", "n", "oc", "p", "ol")
    sums = te.compute((*points, batch, result[1], count, result[-1]), product, "bgemm", "", None, names)

    def element(n: Expr, oc: Expr, y: Expr, x: Expr, ol: Expr) -> Expr:
        tile = y // relay.TILE * tiles[1] + x // relay.TILE
        at = y % relay.TILE, x % relay.TILE
        return _transformed_twice(relay.RESULTS, at, lambda a, b: sums(a, b, n, oc, tile, ol))

    names = ("n", "oc", "y", "x", "ol")
    return rounded(te.compute(result, element, name, "conv2d_winograd", {"keep": True}, names), dtype_of(op))


def conv2d_winograd(op: Operator, data: Tensor, weight: Tensor) -> Tensor:
    """Any layouts: blocks of channels are made here of others."""
    sig, result = op.signature, shape_of(op.results[0])
    layouts = (sig.str("data_layout"), sig.str("kernel_layout"), sig.str("out_layout") or sig.str("data_layout"))
    ins, outs = shape(data)[-1], result[-1]
    if layouts == (f"NCHW{ins}c", f"HWOI{ins}i{outs}o", f"NCHW{outs}c"):
        return _blocked(op, label(op), data, weight, result)
    full, filters, made = (
        logical_shape(extents, parse_layout(layout))
        for extents, layout in zip((shape(data), shape(weight), result), layouts, strict=True)
    )
    ib, ob = vector_block(filters["I"], CHANNEL_BLOCK), vector_block(filters["O"], CHANNEL_BLOCK)
    extents = full["N"], full["C"] // ib, full["H"], full["W"], ib
    blocks = filters["H"], filters["W"], filters["O"] // ob, filters["I"] // ib, ib, ob
    packed = repacked(data, layouts[0], f"NCHW{ib}c", extents, "data_vec")
    kernel = repacked(weight, layouts[1], f"HWOI{ib}i{ob}o", blocks, "kernel_vec")
    extents = made["N"], made["C"] // ob, made["H"], made["W"], ob
    total = _blocked(op, f"{label(op)}_NCHWc", packed, kernel, extents)
    return compute(result, lambda *i: total(*blocked_point(i, f"NCHW{ob}c", layouts[2])), label(op))


TABLE = {
    relay.WinogradConv2DOp: conv2d_winograd,
    relay.WinogradWeightTransformOp: winograd_weight_transform,
}
