"""The costs of convolutions and poolings, as functions of their knobs."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ....dialects.sizes.kernel import known
from ....dialects.tir import element_bytes
from ....support.machine import Machine
from ....te.schedule.stage import Stage
from ..cost import Cost, Moved, moved
from ..knobs import Formula, Values
from .common import shape_of

_BUSY = 8
"""Sums under way at once that keep a core busy: a tile of fewer takes as long."""
_EPILOGUE = 3
"""Loads and stores of a vector of results: its first value, an operand of what follows, and where it goes."""
_TILE = 8
"""Passes of loops whose time it takes to begin a tile and to leave it."""


def row_steps(columns: int, width: Any, vectors: Any) -> tuple[Any, Any]:
    """Return the tiles of a row, and the products of a step of the reduction in all of them.

    The last tile computes what is left of the row; as it does not keep the core busy, it counts as one that does.
    """
    rest = columns % width
    whole = (columns - rest) / width
    few = np.where(rest > 0, np.maximum(rest * vectors, _BUSY), 0)
    return whole + (rest > 0), whole * width * vectors + few


def read_bytes(stage: Stage, operand: int) -> float:
    """The bytes of the tensor that a stage reads as one of its operands, all sizes being numbers."""
    read = stage.compute.reads[operand]
    shape = [known(extent) for extent in shape_of(read)]
    return float(prod(shape) * element_bytes(read.tensor.type.element_type))


def convolution_cost(
    machine: Machine, inner: Stage, images: int, channels: int, rows: int, columns: int, per_block: int
) -> Formula:
    """The cost of a convolution of `images`, of blocks of `channels`, each of `per_block` vectors, by its knobs.

    rows, columns: of the result; where windows are single pixels one row of all.
    """
    terms = prod(map(known, inner.compute.reduce_shape))
    data, weights = read_bytes(inner, 0) / images, read_bytes(inner, 1)

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


def window_cost(
    inner: Stage, images: int, rows: int, columns: int, per_pixel: int, *, padded: float = 0.0, by_lanes: bool = False
) -> Formula:
    """The cost of a reduction over windows in each of `images`, of a channel or a block of some, by its knobs.

    padded: the vectors of an image with its padding, which is copied first; by_lanes: pixels are the lanes of vectors.
    """
    terms = prod(map(known, inner.compute.reduce_shape))

    def formula(at: Values) -> Cost:
        width, written = at["pixels"], at["unrolled_terms"]
        tiles, products = row_steps(columns, width, 1.0 if by_lanes else per_pixel)
        if by_lanes:
            products = tiles
        sums = 1.0 if by_lanes else width * per_pixel
        all_tiles = images * rows * tiles
        buffered = at.get("padded_rows", 0)
        height = at.get("kept_rows", rows)
        copies = images * padded * buffered
        return Cost(
            products=images * rows * products * terms,
            sums=sums,
            loads=images * rows * products * (terms + _EPILOGUE) + 2 * copies,
            steps=all_tiles * (terms / written + _TILE),
            passes=images * rows / height if "kept_rows" in at else images * np.where(at["shared_rows"], rows, 1),
        )

    return formula
