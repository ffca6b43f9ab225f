"""Layouts with channels in blocks: reading them off the graph, and building the ops that come and go between them.

What these helpers build is located at once, and not by the rewrite driver: an operator that moves to another layout is
still that one layer, and a transform belongs to the layer that asked for it, however far it travels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects.relay.attributes import Value, to_python
from ...dialects.relay.operator import Operator, shape_of
from ...dialects.relay.transform import ExpandDimsOp, LayoutTransformOp, SqueezeOp
from ...support.machine import CHANNEL_BLOCK

PLAIN = {3: "NCW", 4: "NCHW", 5: "NCDHW"}
"""The plain layout of a rank."""
_PANELS = (4, 3, 2, 1)
"""Preferred widths of a packed weight's panels, in blocks: the columns of the register tiles."""
_WIDEST = 8
"""Blocks of the widest panel."""
_FILLED = 0.75
"""Panels whose vectors are less full than that are not worth having no columns left over."""


def largest_divisor(extent: int, limit: int) -> int:
    """The largest divisor of `extent` that is at most `limit`."""
    return next((factor for factor in range(min(extent, limit), 1, -1) if extent % factor == 0), 1)


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


def panel_width(rows: int, lanes: int = CHANNEL_BLOCK) -> int:
    """How many rows of a dense weight are packed side by side: a multiple of `lanes` if that divides `rows`.

    Else the divisor of up to 8 `lanes` that fills whole vectors best, the last vector of a panel being cut off; where
    a quarter of a vector or more stays empty, a multiple of `lanes` of which few are left over in the last panel.
    """

    def filled(width: int) -> tuple[float, int]:
        return width / (-(-width // lanes) * lanes), width

    if whole := next((lanes * count for count in _PANELS if rows % (lanes * count) == 0), 0):
        return whole
    best = max((width for width in range(1, min(rows, _WIDEST * lanes) + 1) if rows % width == 0), key=filled)
    if best == rows or filled(best)[0] > _FILLED:
        return best
    return min((lanes * count for count in _PANELS), key=lambda width: (-(-rows // width) * width, -width))


def in_blocks(plain: str, block: int) -> str:
    """The layout with channels in blocks: `NCHW16c`."""
    return f"{plain}{block}c"


@cache
def channel_block(layout: str, plain: str) -> int | None:
    """16 for `NCHW16c`, if `plain` is NCHW; None for another kind of layout."""
    found = re.fullmatch(rf"{plain}(\d+)c", layout)
    return int(found[1]) if found else None


@dataclass(frozen=True)
class Blocked:
    """A blocked value, and the transform that brings it back to the plain layout, such as NCHW."""

    value: SSAValue
    block: int
    back: LayoutTransformOp

    @property
    def plain(self) -> str:
        """The plain layout."""
        return self.back.dst_layout.data


def blocked_source(value: SSAValue) -> Blocked | None:
    """What `value` is the plain form of; None when it is not made by a transform from blocks."""
    back = value.owner
    if isinstance(back, LayoutTransformOp) and (plain := back.dst_layout.data) in PLAIN.values():
        if (block := channel_block(back.src_layout.data, plain)) is not None:
            return Blocked(back.data, block, back)
    return None


def transform(value: SSAValue | Operation, src: str, dst: str, asked: Operation) -> LayoutTransformOp:
    """`value` from layout `src` to `dst`, at the location of the op that asked for it."""
    return LayoutTransformOp(value, src_layout=src, dst_layout=dst, location=asked.location)


def twin(op: Operator, *operands: SSAValue | Operation, into: type[Operator] | None = None, **changed: Any) -> Operator:
    """`op` on other operands, with some attributes `changed`, perhaps as another operator; not located."""
    attributes: dict[str, Value] = {name: to_python(value) for name, value in op.properties.items()}
    build = cast(Callable[..., Operator], into or type(op))
    made = build(*operands, **(attributes | changed))
    made.attributes.update(op.attributes)
    made.results[0].name_hint = op.results[0].name_hint
    return made


def moved(
    op: Operator, *operands: SSAValue | Operation, into: type[Operator] | None = None, **changed: Value
) -> Operator:
    """`op` on other operands, with some attributes `changed`, perhaps as another operator: the same location."""
    made = twin(op, *operands, into=into, **changed)
    made.location = op.location
    return made


class Sinking:
    """Collects the blocked form of one operator, then puts it in place with one transform back behind it."""

    def __init__(self, op: Operator):
        self.op = op
        self._new: list[Operation] = []
        self._sources: dict[LayoutTransformOp, None] = {}

    def take(self, source: Blocked, block: int) -> SSAValue:
        """The blocked value in blocks of `block`."""
        self._sources[source.back] = None
        if source.block == block:
            return source.value
        layouts = in_blocks(source.plain, source.block), in_blocks(source.plain, block)
        return self.add(transform(source.value, *layouts, self.op))

    def wrap(self, value: SSAValue, block: int) -> SSAValue:
        """A plain value of at most the sources' rank, which broadcasts as numpy's, in blocks of `block`."""
        plain = PLAIN[max(len(shape_of(v)) for v in (*self.op.operands, *self.op.results))]
        if missing := len(plain) - len(shape_of(value)):
            value = self.add(ExpandDimsOp(value, axis=0, num_newaxis=missing, location=self.op.location))
        return self.add(transform(value, plain, in_blocks(plain, block), self.op))

    def add(self, op: Operation) -> SSAValue:
        """Put `op` before what comes next."""
        self._new.append(op)
        return op.results[0]

    def finish(self, made: Operator, block: int, rewriter: PatternRewriter, squeeze: Sequence[int] = ()) -> None:
        """Replace the operator by its blocked form and a transform back, which the first source's layer asked for.

        made: the blocked form.
        squeeze: axes of extent 1 that the operator's result does not have.
        """
        asked = next(iter(self._sources))
        plain = asked.dst_layout.data
        result = self.add(transform(self.add(made), in_blocks(plain, block), plain, asked))
        if squeeze:
            result = self.add(SqueezeOp(result, axis=squeeze, location=self.op.location))
        rewriter.replace(self.op, self._new, [result])
        for source in self._sources:
            if source.result.first_use is None:
                rewriter.erase(source)
