"""Layouts with channels in blocks: reading them off the graph, and building the ops that come and go between them.

What these helpers build is located at once, and not by the rewrite driver: an operator that moves to another layout is
still that one layer, and a transform belongs to the layer that asked for it, however far it travels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue

from ...dialects.relay.attributes import Value, to_python
from ...dialects.relay.layout_traits import Arrangement, OwnLayouts
from ...dialects.relay.nn import Conv
from ...dialects.relay.operator import Operator, element_of, shape_of
from ...dialects.relay.transform import LayoutTransformOp
from ...dialects.sizes import Size, SizeExpr
from ...support.machine import CHANNEL_BLOCK, TILE_ROW

PLAIN = {3: "NCW", 4: "NCHW", 5: "NCDHW"}
"""The plain layout of a rank."""
SMALLEST_BLOCK = 4
"""Blocks below this many channels are not worth bringing operands to."""
_WHOLE = 4
"""Vectors of the widest block that is no block of a machine's own: more leave too few registers for pixels."""
_FEW_EMPTY = 1 / 8
"""Channels of zeros, to each other one, that cost less than vectors that are cut off."""
_EMPTY = 1.1
"""Work that may be left out for which more channels of zeros pay."""
_CLOSE = 1 / 16
"""Channels of zeros, to each other one, that cost less than blocks that are no whole vectors, or narrower ones."""
_SMALL = 64
"""The pixels of a small image."""
_FULL = 3 / 4
"""The part of a vector that outputs have to fill to be its lanes: sums across lanes cost about what is empty then."""
_PANELS = (4, 3, 2, 1)
"""Preferred widths of a packed weight's panels, in blocks: the columns of the register tiles."""
_FEWEST_WORDS = 8
"""Words in a row of a tile for which tiles pay: a product takes as long for fewer."""
_SUMS = 24
"""Vectors of sums in registers, as most machines of wide vectors have them."""


def largest_divisor(extent: int, limit: int) -> int:
    """The largest divisor of `extent` that is at most `limit`."""
    return next((factor for factor in range(min(extent, limit), 1, -1) if extent % factor == 0), 1)


def tile_words(words: int) -> int:
    """The words of a sum that a row of a tile takes at once, a divisor of them; 0 of so few that tiles do not pay."""
    step = largest_divisor(words, TILE_ROW // 4)
    return step if step >= _FEWEST_WORDS else 0


def vector_block(extent: int, limit: int) -> int:
    """The block of a dimension that runs along a vector: a power of two if one of at least 4 divides `extent`.

    Else the largest divisor up to `limit`: few blocks, if not full vectors.
    """
    power = extent & -extent
    return min(power, limit) if power >= 4 else largest_divisor(extent, limit)


def product_block(extent: int, limit: int) -> int:
    """As `vector_block`, for blocks that a convolution sums in registers: where that gives less than half a vector,
    the divisor of up to three whole ones that fills them best: 43 of 258 channels, not 6.
    """
    block = vector_block(extent, limit)
    if block * 2 >= limit:
        return block
    divisors = [width for width in range(1, min(extent, 3 * limit) + 1) if extent % width == 0]
    return max(divisors, key=lambda width: (width / (-(-width // limit) * limit), width))


def channel_block(extent: int, limit: int, lanes: int, masks: bool = True) -> int:
    """Return the block of channels that a convolution sums in vectors of `lanes`: `limit` if that divides `extent`.

    Else a smaller power of two that is whole vectors, or the divisor of up to 4 vectors that fills them best: 52 of 104
    channels in vectors of 16, not 8. The last vector of a block may be cut off.
    """
    power = min(extent & -extent, limit)
    if power == limit or power % lanes == 0:
        return power
    divisors = [width for width in range(1, min(extent, _WHOLE * lanes) + 1) if extent % width == 0]
    return max(divisors, key=lambda width: (_filled(width, lanes, masks), width))


def empty_channels(extent: int, limit: int, lanes: int, masks: bool = True) -> int:
    """Return the channels of zeros that a convolution computes best beside `extent`; 0 where blocks divide well.

    They fill the last vector, or the last block of `limit` if that is hardly more.
    """
    filled = _filled(channel_block(extent, limit, lanes, masks), lanes, masks)
    more, whole = -extent % lanes, -extent % limit
    if whole - more <= _FEW_EMPTY * extent:
        more = whole
    pays = more <= _FEW_EMPTY * extent or extent / (extent + more) > _EMPTY * filled
    return more if filled < 1 and pays else 0


def summed_block(extent: int, limit: int, lanes: int) -> tuple[int, int]:
    """Return the block of input channels in which a convolution reads data of no blocks, and zeros that fill the last.

    Whole vectors, which are the fastest to pack, if that costs little; else few channels as they are, or the block
    nearest to `limit` with the fewest zeros.
    """
    for width in (limit, lanes):
        if width <= limit and -extent % width <= _CLOSE * extent:
            return width, -extent % width
    if extent <= 2 * limit:
        return extent, 0
    width = min(range(limit // 2, 2 * limit + 1), key=lambda width: (-extent % width, abs(width - limit)))
    return width, -extent % width


def few_channels(outputs: int, image: Sequence[Size], lanes: int) -> bool:
    """Return whether a convolution's lanes are better input channels, in blocks of whole vectors, than so few outputs.

    Not of small images, as those that gate channels are: these are read again in blocks of channels.
    """
    large = any(isinstance(extent, SizeExpr) for extent in image) or prod(image) > _SMALL
    return outputs < _FULL * lanes and large


def lanes_are_pixels(op: Conv, lanes: int, width: int) -> bool:
    """Return whether lanes of a convolution of single pixels, on plain data, are better pixels than packed channels.

    Of so few outputs all products take about as long as the input takes to pack. Not of short rows, nor of one only,
    nor of such that are no whole vectors of `width`: sums in a part of one are slow to store.
    """
    (_, outputs, *image), (_, channels, *kernel) = shape_of(op.results[0]), shape_of(op.operands[1])
    sig = op.signature
    single = {*kernel, *sig.ints("strides"), sig.int("groups")} == {1} and not any(sig.ints("padding"))
    long = not any(isinstance(extent, SizeExpr) for extent in image) and len(image) > 1 and image[-1] >= CHANNEL_BLOCK
    whole = long and image[-1] % width == 0
    floats = all(element_of(value) == f32 for value in (*op.operands, *op.results))
    return single and whole and floats and outputs <= min(channels, lanes)


def _filled(width: int, lanes: int, masks: bool = True) -> float:
    """Return the part of whole vectors that a width fills, the last of which is several narrower ones without masks."""
    full, rest = divmod(width, lanes)
    return width / ((full + (min(rest, 1) if masks else rest.bit_count())) * lanes)


def panel_width(rows: int, lanes: int = CHANNEL_BLOCK) -> int:
    """Return the number of rows of a dense weight to pack side by side: a multiple of `lanes` if that divides `rows`.

    Else all of them where that is 4 vectors at most, the last one cut off, or the multiple of `lanes` of least work,
    what is left over in the last panel included: vectors of a panel that is no multiple of them lie in two cache lines.
    """
    if width := next((lanes * count for count in _PANELS if rows % (lanes * count) == 0), 0):
        return width
    if rows <= max(_PANELS) * lanes:
        return rows

    def work(count: int) -> float:
        """The panels' products, numbers that these are with and loads of the panels, where sums fill registers."""
        return -(-rows // (lanes * count)) * count * (1 / 2 + 1 / (2 * count) + count / _SUMS)

    return lanes * min(_PANELS, key=work)


def in_blocks(plain: str, block: int) -> str:
    """The layout with channels in blocks: `NCHW16c`."""
    return f"{plain}{block}c"


@cache
def _from_blocks(source: str, target: str) -> Arrangement | None:
    blocks = re.fullmatch(rf"{target}\d+c", source) if target in PLAIN.values() else None
    return Arrangement(source, target) if blocks else None


def arrangement(value: SSAValue) -> Arrangement | None:
    """The layout of what `value` is the plain form of; None where no transform from blocks of channels makes it."""
    back = value.owner
    return _from_blocks(back.src_layout.data, back.dst_layout.data) if isinstance(back, LayoutTransformOp) else None


def input_block(data: SSAValue, channels: int, own: int) -> int:
    """The producer's block if it fits a group's `channels`, else `own`: blocks of the input cost no vector width."""
    block = layout.block(1) if (layout := arrangement(data)) is not None else 0
    return block if block >= SMALLEST_BLOCK and channels % block == 0 else own


def transform(value: SSAValue | Operation, src: str, dst: str, asked: Operation) -> LayoutTransformOp:
    """`value` from layout `src` to `dst`, at the location of the op that asked for it."""
    return LayoutTransformOp(value, src_layout=src, dst_layout=dst, location=asked.location)


def twin(op: Operator, *operands: SSAValue | Operation, into: type[Operator] | None = None, **changed: Any) -> Operator:
    """`op` on other operands, with some attributes `changed`, perhaps as another operator; not located."""
    attributes: dict[str, Value] = {name: to_python(value) for name, value in op.properties.items()}
    build = cast(Callable[..., Operator], into or type(op))
    copy = build(*operands, **(attributes | changed))
    copy.attributes.update(op.attributes)
    copy.results[0].name_hint = op.results[0].name_hint
    return copy


def moved(
    op: Operator, *operands: SSAValue | Operation, into: type[Operator] | None = None, **changed: Value
) -> Operator:
    """`op` on other operands, with some attributes `changed`, perhaps as another operator: the same location."""
    copy = twin(op, *operands, into=into, **changed)
    copy.location = op.location
    return copy


def in_layouts(
    op: Operator, named: OwnLayouts, *layouts: str, into: type[Operator] | None = None, **changed: Value
) -> list[Operation]:
    """`op` in other layouts of its operands, and of its result (the first unless it is said), between transforms."""
    *sources, target = named.of(op)
    ops: list[Operation] = []
    operands = list(op.operands)
    for index, (source, layout) in enumerate(zip(sources, layouts, strict=False)):
        if source != layout:
            ops.append(transform(operands[index], source, layout, op))
            operands[index] = ops[-1].results[0]
    ops.append(moved(op, *operands, into=into, **named.attributes_for(type(op), layouts), **changed))
    result = layouts[len(sources)] if len(sources) < len(layouts) else layouts[0]
    return ops if result == target else [*ops, transform(ops[-1], result, target, op)]
