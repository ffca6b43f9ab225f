"""The shapes of register tiles, as the machine's registers decide them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....dialects.sizes import Size
from ....passes.relay.blocking import largest_divisor
from ....support.machine import Machine

_PIXELS = 14
"""Pixels of a row that a tile takes at most."""
_OPEN_PIXELS = 8
"""The pixels of a tile if only a call knows their number: as fast as more, with less code to compile."""
_FEWEST = 4
"""Fewer do not pay for the weights that are loaded for them."""
_BLOCKS = range(1, 9)
"""Blocks of output channels that a tile may take."""
MANY = 5040
"""Rows or pixels that a tile is chosen for where only a call knows how many there are: many heights divide them."""
_OPERANDS = 2
"""Vectors per vector of a pixel that hold operands."""
_PORTS = 2
"""Products that a core begins in a cycle."""
_HIDDEN = 4 * _PORTS
"""Sums under way at once hide that one takes 4 cycles."""
_RAGGED = 1.25
"""The cost of a height that does not divide the rows: the last tile is computed by code of its own."""


def _cycles(height: int, vectors: int) -> float:
    """A step of the reduction: each of `height` numbers times each of the vectors.

    Numbers are broadcast from the first cache, several in a cycle; the vectors come from afar.
    """
    return max(height * vectors, _HIDDEN) / _PORTS + height / _PORTS + vectors


def counted(extent: Size) -> int:
    """Return the number of rows or pixels that a tile is chosen for."""
    return extent if isinstance(extent, int) else MANY


def pixel_tile(columns: Size, channels: int, per_block: int, machine: Machine, *, fused: bool) -> tuple[int, int]:
    """The pixels of a row of `columns`, and the blocks of `channels`, that a convolution's tile takes.

    per_block: vectors of a block; fused: whether a product and its sum are one instruction. A tile that divides the
    row, and keeps the core busy, comes before others; among them the one with the fewest cycles for a row is best,
    then the largest.
    """
    enough = _HIDDEN if fused else _HIDDEN + 1
    widest = _PIXELS if isinstance(columns, int) else _OPEN_PIXELS
    many = counted(columns)

    def cost(tile: tuple[int, int]) -> tuple[bool, float, int]:
        width, vectors = tile[0], tile[1] * per_block
        full, rest = divmod(many, width)
        cycles = full * _cycles(width, vectors) + (_cycles(rest, vectors) if rest else 0)
        return rest > 0 or width * vectors < enough, cycles / vectors, -width * vectors

    fits = [
        (width, blocks)
        for blocks in _BLOCKS
        for width in range(1, min(many, widest) + 1)
        if channels % blocks == 0 and pixels_fit(width, blocks, per_block, machine)
    ]
    wide = [tile for tile in fits if tile[0] >= min(many, _FEWEST)]
    return min(wide or fits, key=cost, default=(1, 1))


def pixel_tiles(columns: Size, channels: int, per_block: int, machine: Machine) -> tuple[Sequence[int], Sequence[int]]:
    """The pixels that the tile of a convolution may have of a row, and its blocks of channels; see `pixels_fit`."""
    widest = max(1, (machine.vector_registers - 1) // per_block - 1)
    counts = [blocks for blocks in _BLOCKS if channels % blocks == 0]
    return range(1, min(counted(columns), widest) + 1), [blocks for blocks in counts if blocks <= widest]


def pixels_fit(width: Any, blocks: Any, per_block: int, machine: Machine) -> Any:
    """Return whether the sums of a tile, and the weights of a step, are in registers; of arrays, where they are."""
    return (width + 1) * blocks * per_block < machine.vector_registers


def row_tiles(columns: int, per_pixel: int, machine: Machine) -> Sequence[int]:
    """The pixels of a row that a tile may take, each of some vectors."""
    return range(1, min(columns, max(1, machine.vector_registers // per_pixel - _OPERANDS)) + 1)


def row_tile(columns: int, per_pixel: int, machine: Machine) -> int:
    """The pixels of a row of `columns` that a tile takes, each of some vectors: a divisor if there is a good one."""
    limit = min(_PIXELS, max(1, machine.vector_registers // per_pixel - _OPERANDS))
    best = largest_divisor(columns, limit)
    return best if best >= min(columns, limit * 3 // 7) else min(-(-columns // -(-columns // limit)), columns)


def vectors_tile(channels: int, vectors: int, machine: Machine) -> tuple[int, int]:
    """The output channels, a divisor of `channels`, and the vectors of pixels that a register tile takes.

    A step multiplies a number of each channel's weights with each vector of pixels; registers hold all of one, one
    of the other, and one is left. The tiles of a row of `vectors` with the fewest cycles are best.
    """

    def cost(tile: tuple[int, int]) -> tuple[float, int]:
        outputs, width = tile
        return -(-vectors // width) * _cycles(outputs, width) / outputs, -outputs * width

    def fit(outputs: int, width: int) -> bool:
        sums = outputs * width
        return sums <= machine.accumulators and sums + min(outputs, width) + 1 < machine.vector_registers

    heights = [outputs for outputs in range(1, channels + 1) if channels % outputs == 0]
    widths = range(1, min(vectors, machine.accumulators) + 1)
    return min(((o, w) for o in heights for w in widths if fit(o, w)), key=cost)


def product_tile(rows: int, panel: int, machine: Machine, whole: bool = True) -> tuple[int, int]:
    """The rows and the vectors of the register tile: of `rows`, and of the `panel` vectors of a row.

    A step of the reduction loads both and multiplies each with each, so the tile with the fewest loads per product
    is best. The last tile of rows may be cut off; its share of the work is the smaller the more tiles there are.
    Panels are taken apart only where they are `whole`.
    """

    def cost(tile: tuple[int, int]) -> float:
        height, vectors = tile
        ragged = _RAGGED if rows % height else 1.0
        return (height + vectors) / (height * vectors) * ragged

    widths = product_widths(panel, whole)
    heights = range(1, min(rows, machine.accumulators) + 1)
    fits = [(h, w) for w in widths for h in heights if product_fits(h, w, machine)]
    return min(fits, key=cost, default=(1, panel))


def product_widths(panel: int, whole: bool) -> list[int]:
    """The vectors that a row of a tile may take of a panel."""
    return [width for width in range(1, panel + 1) if panel % width == 0] if whole else [panel]


def product_fits(height: Any, vectors: Any, machine: Machine) -> Any:
    """Return whether the sums of a tile and its operands are in registers; of arrays, where they are."""
    return (height * vectors <= machine.accumulators) & ((height + 1) * vectors < machine.vector_registers)
