"""Products of words by tiles: 2 by 2 of them are summed in the registers that some machines have."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith

from ....dialects import te
from ....dialects.sizes import Size, same
from ....dialects.sizes.kernel import known
from ....dialects.tir import Dot4Op, DotBf16Op, JoinBytesOp
from ....dialects.tir.tiles import ROWS, WORDS
from ....passes.relay.blocking import largest_divisor, tile_words
from ....te.schedule.itervar import IterVar
from ....te.schedule.stage import Stage
from .common import Scheduling

HINT = "tiles"
"""The pragma of the loop over words that `tir-tile-products` looks for."""
_FEWEST_ROWS = 4
"""Rows of bytes for which tiles pay: for fewer, vectors multiply as fast."""
_SIDE = 2
"""Tiles of rows, and of columns, whose sums are in registers: what is loaded for a product is least then."""
_PLAIN = (te.ReadOp, te.YieldOp, JoinBytesOp, Dot4Op, DotBf16Op, arith.ConstantOp, arith.BitcastOp)
_WORD_OF_HALVES = (arith.ExtSIOp, arith.AndIOp, arith.ShLIOp, arith.OrIOp)


def takes_tiles(work: Scheduling, inner: Stage, rows: Size, panel: Size) -> bool:
    """Return whether a stage is a sum of products of words that lie in memory, and tiles are the fastest for it.

    rows: of the data that meet the same weights. panel: the columns that lie side by side.
    """
    ops = [op for part in work.parts(inner) for op in part.compute.block.ops]
    kinds = {type(op) for op in ops if isinstance(op, Dot4Op | DotBf16Op)}
    if not work.is_static(inner) or not isinstance(rows, int) or not isinstance(panel, int) or len(kinds) != 1:
        return False
    if panel % tile_columns(panel):
        return False
    if not work.machine.amx_bf16 if DotBf16Op in kinds else (not work.machine.amx_int8 or rows < _FEWEST_ROWS):
        return False
    plain = all(isinstance(op, (*_PLAIN, *_WORD_OF_HALVES)) for op in ops)
    there = all(op.otherwise is None for op in ops if isinstance(op, te.ReadOp))
    return plain and there and tile_words(known(inner.compute.reduce_shape[-1])) > 0


def tile_rows(rows: int, columns: int) -> int:
    """The rows whose sums, of so many columns, registers hold; all tiles of rows have about as many."""
    most = ROWS * (_SIDE if columns <= _SIDE * WORDS else 1)
    return -(-rows // -(-rows // most))


def tile_columns(panel: int) -> int:
    """The columns of a panel that tiles are made of: two tiles where these divide it, else up to three, or one."""
    if panel % (_SIDE * WORDS) == 0:
        return _SIDE * WORDS
    return panel if panel <= (_SIDE + 1) * WORDS else WORDS


def schedule_convolution(work: Scheduling, host: Stage, inner: Stage, image: Sequence[IterVar]) -> None:
    """Convolutions of words in tiles: rows of tiles are pixels of a row of the `image`, columns are output channels.

    for parallel n.oc.y.outer { for x.outer { acc[y.inner, x.inner, oc.inner, lane] in tiles; .. ; out = acc } }
    """
    n, channels, *_, lanes = host.leaf
    *rows, columns = image
    # A block that is no whole tiles is not taken apart.
    whole = same(lanes.extent % WORDS, 0)
    width = _SIDE * WORDS if whole else known(lanes.extent)
    x_outer, x_inner = host.split(columns, tile_rows(known(columns.extent), width), tail="cut")
    inside = [x_inner]
    several = known(x_inner.extent) > ROWS
    if not several and width <= _SIDE * WORDS and rows and same(rows[-1].extent % _SIDE, 0):
        rows[-1], second = host.split(rows[-1], _SIDE)
        inside.insert(0, second)
        several = True
    # Where there is one tile of rows, it meets more columns.
    most = _SIDE * WORDS * (1 if several else _SIDE)
    block = WORDS * largest_divisor(known(lanes.extent) // WORDS, most // WORDS) if whole else width
    l_outer, l_inner = host.split(lanes, block)
    compute = inner.compute
    grouped = any(compute.axes[1] in read.indices for read in compute.reads[:-1])
    # Of another group, channels have other data.
    c_outer, c_inner = host.split(channels, 1 if grouped else largest_divisor(known(channels.extent), most // block))
    outside = [n, c_outer, l_outer, *rows]
    host.reorder(*outside, x_outer, *inside, c_inner, l_inner)
    host.parallel(host.fuse(*outside))
    inner.compute_at(host, x_outer)
    first, block_axis, *pixels, lane = inner.axes
    sum_in_tiles(inner, (first, *pixels, block_axis, lane))
    host.unroll(c_inner)
    work.vectorize(host, l_inner, unroll=True)


def sum_in_tiles(inner: Stage, data: Sequence[IterVar]) -> None:
    """Order the loops of a sum for `tir-tile-products`: the words of a tile innermost, in rows and columns, `data`."""
    *outer, words = inner.reduce_axes
    steps, word = inner.split(words, tile_words(known(words.extent)))
    inner.reorder(*outer, steps, *data, word)
    inner.pragma(word, HINT, 1)
