"""The storage of a tensor's elements in its buffer: regions, alignment, layouts, circular buffers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import DenseArrayBase, UnitAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr

from ...dialects.affine import bounds, flatten, substitute
from ...dialects.sizes import Size, ceil_div, same
from ...dialects.sizes.kernel import lifted
from ...te.schedule.relations import last_of
from ...te.schedule.stage_state import StageState


@dataclass(frozen=True)
class Layout:
    """The shape of a buffer, and the point in it of each point of a region, both from 0."""

    shape: tuple[Size, ...]
    exprs: tuple[AffineExpr, ...] | None
    """None for the same point."""


def layout_of(stage: StageState, shape: Sequence[Size]) -> Layout:
    """Return the layout of a region of `shape` of the stage's tensor.

    The stride of an aligned axis is its offset modulo its factor; where that is no whole number of the dimensions
    inside, or the innermost has a stride of its own, the buffer has one dimension.
    """
    storage = stage.storage
    if storage.layout is not None:
        exprs = storage.layout.data.results
        ranges = [(0, last_of(extent)) for extent in shape]
        return Layout(tuple(bounds(expr, ranges)[1] + 1 for expr in exprs), exprs)
    if not storage.align:
        return Layout(tuple(shape), None)
    strides: list[Size] = [1]
    for axis in reversed(range(len(shape))):
        if (rule := storage.align.get(axis)) is not None:
            factor, offset = rule
            strides[0] = _aligned(strides[0], factor, offset)
        strides.insert(0, strides[0] * shape[axis])
    steps = strides[1:]
    if same(steps[-1], 1) and all(same(a % b, 0) for a, b in zip(strides, steps, strict=False)):
        return Layout(tuple(a // b for a, b in zip(strides, steps, strict=False)), None)
    return Layout((strides[0],), (flatten([AffineExpr.dimension(i) for i in range(len(shape))], steps),))


def _aligned(stride: Size, factor: int, offset: int) -> Size:
    """The least stride from `stride` on that is `offset` modulo `factor`."""
    if isinstance(stride, int):
        return stride + (factor + offset - stride % factor) % factor
    return ceil_div(stride - offset, factor) * factor + offset


def attributes_of(stage: StageState) -> dict[str, Attribute]:
    """Return the attributes of the stage's buffers."""
    attributes: dict[str, Attribute] = {}
    if stage.storage.double_buffer:
        attributes["double_buffer"] = UnitAttr()
    if stage.storage.separators:
        attributes["axis_separators"] = DenseArrayBase.from_list(i64, list(stage.storage.separators))
    return attributes


class Stored:
    """The storage of a tensor's elements: element `i` of the tensor is at `i - starts` of the kept region.

    rolling: dimension and length of a circular buffer, where element `i` is at `i mod length`. rounded: the dimensions
    in which the region may end past the tensor, with elements that may be read like others.
    """

    def __init__(
        self,
        buffer: SSAValue,
        starts: Sequence[AffineExpr],
        layout: Layout | None = None,
        rolling: tuple[int, Size] | None = None,
        rounded: frozenset[int] = frozenset(),
    ):
        self.buffer = buffer
        self.starts = starts
        self.layout = layout
        self.rolling = rolling
        self.rounded = rounded

    def place(self, point: Sequence[AffineExpr]) -> list[AffineExpr]:
        """Return the position in the buffer of a point of the tensor."""
        exprs = [expr - start for expr, start in zip(point, self.starts, strict=True)]
        if self.rolling is not None:
            dim, length = self.rolling
            exprs[dim] = point[dim] % lifted(length)
        if self.layout is not None and self.layout.exprs is not None:
            exprs = [substitute(expr, exprs) for expr in self.layout.exprs]
        return exprs
