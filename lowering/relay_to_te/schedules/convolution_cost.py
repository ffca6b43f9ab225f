"""The costs of convolutions and poolings, as functions of their knobs."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any, NamedTuple

import numpy as np
from xdsl.ir import SSAValue

from ....dialects import te
from ....dialects.sizes.kernel import known
from ....support.machine import Machine
from ....te.schedule.stage import Stage
from ..cost import Cost, Moved, moved
from ..knobs import Formula, Values
from .common import operand

_BUSY = 4
"""Sums under way at once that keep a core busy where one begins in a cycle: a tile of fewer takes as long."""
_EPILOGUE = 3
"""Loads and stores of a vector of results: its first value, an operand of what follows, and where it goes."""
_SPILL = 8
"""The stores and loads of a vector that finds no register."""
_COPY = 6
"""The loads that take as long as a vector's way into a padded image: it is asked for, and comes from afar."""
_AHEAD = 128
"""Products that a core looks ahead: where a window has few, those of the next tiles do not wait for its sums."""
_TILE = 1
"""Passes of loops whose time it takes to begin a tile and to leave it."""


def row_steps(columns: int, width: Any, vectors: Any) -> tuple[Any, Any]:
    """Return the tiles of a row, and the products of a step of the reduction in all of them.

    The last tile computes what is left of the row; as it does not keep the core busy, it counts as one that does.
    """
    rest = columns % width
    whole = (columns - rest) / width
    few = np.where(rest > 0, np.maximum(rest * vectors, _BUSY), 0)
    return whole + (rest > 0), whole * width * vectors + few


def convolution_cost(
    machine: Machine, inner: Stage, extents: tuple[int, int, int, int], per_block: int, terms: int
) -> Formula:
    """The cost of a convolution, by its knobs.

    extents: the images, blocks of channels, rows and columns of the result; where windows are single pixels one row of
    all. per_block: the vectors of a block. terms: the products of which each result is the sum.
    """
    images, channels, rows, columns = extents
    data, weights = operand(inner, 0).tensor_bytes / images, operand(inner, 1).tensor_bytes

    def formula(at: Values) -> Cost:
        width, blocks, kept_blocks = at["pixels"], at["blocks"], at["kept_blocks"]
        by_pixel = "kept_pixels" in at
        part = at["kept_pixels"] / columns if by_pixel else at.get("kept_rows", rows) / rows
        vectors = blocks * per_block
        tiles, products = row_steps(columns, width, vectors)
        groups, shares = channels / kept_blocks, 1 / part
        panels = kept_blocks / blocks
        row_tiles = images * rows * tiles * (channels / blocks)
        share_data, panel, group = data * part, weights * blocks / channels, weights / groups
        tile_data = data / (rows * columns) * width
        # Inside out: the weights of a panel for each tile of a share, the data of a share for each panel of a group,
        # the weights of a group for each share, the data of an image for each group.
        again = panels * groups * shares * images
        traffic = moved(panel, row_tiles - again, panel + tile_data, machine)
        traffic = traffic.also(moved(share_data, again - groups * shares * images, share_data + panel, machine))
        traffic = traffic.also(moved(group, (shares - 1) * groups * images, group + share_data, machine))
        traffic = traffic.also(moved(data, (groups - 1) * images, data + group, machine))
        traffic = traffic.also(moved(weights, images - 1, weights + data, machine))
        steps = row_tiles * terms
        return Cost(
            products=images * rows * (channels / blocks) * products * terms,
            sums=width * vectors,
            loads=steps * vectors + images * rows * columns * (channels / blocks) * (terms + _EPILOGUE * vectors),
            steps=steps / at["unrolled_terms"] + row_tiles * _TILE,
            moved=traffic.also(Moved(memory=np.asarray(weights))),
            passes=images * groups * panels * (shares if by_pixel else rows),
        )

    return formula


def coefficients(read: te.ReadOp) -> dict[SSAValue, list[int]]:
    """For each axis that a read's indices are made of, the step that it takes along each axis of the tensor."""
    count = len(read.indices)
    start = read.map.data.eval([0] * count, [])
    units = np.eye(count, dtype=int).tolist()
    return {
        axis: [at - first for at, first in zip(read.map.data.eval(unit, []), start, strict=True)]
        for axis, unit in zip(read.indices, units, strict=True)
    }


class Padding(NamedTuple):
    """The padded copies of a depthwise convolution's rows."""

    vectors: float
    """The vectors of a row."""
    stride: int
    """Its rows from one row of the result to the next."""
    window: int
    """Its rows of which one of the result is made."""


def window_cost(
    machine: Machine,
    inner: Stage,
    extents: tuple[int, int, int],
    per_pixel: int,
    padding: Padding | None = None,
) -> Formula:
    """The cost of a reduction over windows, by its knobs.

    extents: the images, of a channel or a block of some, and the rows and columns of the result of each; per_pixel: the
    vectors of a pixel, 0 where pixels are the lanes of vectors.
    """
    images, rows, columns = extents
    window = list(map(known, inner.compute.reduce_shape))
    terms, across = prod(window), window[-1]
    # A window's element that the neighbours' windows have, too, is kept from one to the other in a written out row.
    read, column = inner.compute.reads[0], inner.compute.axes[-2 if per_pixel else -1]
    step = max(map(abs, coefficients(read).get(column, [1])), default=1)
    shared = max(0, across - step) / across
    data = operand(inner, 0).tensor_bytes

    def formula(at: Values) -> Cost:
        width, written = at["pixels"], at["unrolled_terms"]
        tiles = np.ceil(columns / width)
        products = columns * per_pixel if per_pixel else tiles
        vectors = width * per_pixel if per_pixel else 1.0
        by_row = np.minimum(written, across) / across if across > 1 else 0.0
        # An operand of each sum is loaded before the first is used.
        spilled = np.maximum(2 * vectors - machine.vector_registers, 0.0)
        all_tiles = images * rows * tiles
        cost = Cost(
            products=images * rows * products * terms,
            sums=np.maximum(vectors, _AHEAD / terms),
            loads=images * rows * products * (terms * (1 - shared * by_row) + _EPILOGUE)
            + all_tiles * terms * spilled * _SPILL / across,
            steps=all_tiles * (terms / written + _TILE),
            moved=moved(data, 1, data, machine),
            passes=images * (rows / at["kept_rows"] if "kept_rows" in at else 1),
        )
        if padding is not None:
            height = at.get("kept_rows", rows)
            copied = (height - 1) * padding.stride + padding.window
            vectors = images * rows / height * copied * padding.vectors * at["padded_rows"]
            cost = replace(cost, loads=cost.loads + vectors * _COPY, steps=cost.steps + vectors)
        if "shared_rows" in at:
            cost = replace(cost, passes=images * np.where(at["shared_rows"], rows, 1))
        return cost

    return formula
