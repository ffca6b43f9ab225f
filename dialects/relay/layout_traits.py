"""The trait `Layout`: how operators compute on operands in other layouts than the plain ones.

A layout is moved through a graph by one engine (`passes/relay/sink_layouts.py`), which asks each operator what it
computes on operands in another layout than the plain one: an order of axes such as `NHWC`, or blocks as in `NCHW16c`.
The operator's `Layout` answers with the attributes that change (axes, pads, bounds, layouts) and the layout of the
results. So passes list no operators, and one that has no `Layout` reads its operands in plain layouts.

    NCHW -> NCHW16c   relu           relu
    NCHW -> NHWC      softmax(1)     softmax(3)
    NCHW -> NCHW16c   softmax(1)     no answer: the axis is in blocks
    NCHW -> NHWC      mean(2, 3)     mean(1, 2), whose result is NC in both layouts
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache

from xdsl.dialects.builtin import StringAttr
from xdsl.traits import OpTrait

from .attributes import Value
from .layout import Axis, parse_layout
from .operator import Operator, shape_of


@dataclass(frozen=True)
class Arrangement:
    """The layout in which a value is stored, `NHWC` or `NCHW16c`, and the plain one that its readers expect."""

    stored: str
    plain: str

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The stored axes."""
        return _axes(self.stored)

    @property
    def blocks(self) -> dict[str, int]:
        """The letters of axes in blocks -> the extent of a block."""
        return {axis.letter: axis.factor for axis in self.axes if axis.factor}

    def axis(self, axis: int) -> int:
        """The stored axis for one of the plain layout; of an axis in blocks the one that counts them."""
        return self.axes.index(Axis(self.plain[axis % len(self.plain)]))

    def splits(self, axis: int) -> bool:
        """Return whether an axis of the plain layout is in blocks."""
        return self.plain[axis % len(self.plain)] in self.blocks

    def block(self, axis: int) -> int:
        """The extent of a block of an axis of the plain layout: 1 without blocks."""
        return self.blocks.get(self.plain[axis], 1)

    def without(self, axes: Collection[int]) -> Arrangement:
        """Both layouts without some axes of the plain one, which are not in blocks."""
        letters = {self.plain[axis] for axis in axes}
        return Arrangement(*("".join(c for c in layout if c not in letters) for layout in (self.stored, self.plain)))


_axes = cache(parse_layout)


@dataclass(frozen=True)
class InLayout:
    """An operator in another layout."""

    result: Arrangement | None = None
    """The layout of the results that have all its axes; None where they are as they were."""
    attributes: Mapping[str, Value] = field(default_factory=lambda: dict[str, Value]())
    """The attributes that change."""
    kind: type[Operator] | None = None
    """The operator that computes it, with no other attributes, where it is another one."""
    squeezed: Sequence[int] = ()
    """Axes of extent 1 in the plain layout that the results lose only there."""


class Takes(Enum):
    """The operands that are brought to the other layout."""

    FIRST = "the first; others are vectors along an axis, numbers, or regions"
    PARTS = "all, of one rank"
    BROADCAST = "all, whose shapes broadcast as numpy's"


@dataclass(frozen=True)
class Layout(OpTrait):
    """The operator computes on operands in other layouts."""

    rule: Callable[[Operator, Arrangement], InLayout | None]
    """The operator for a layout of its operands; None where it cannot be."""
    takes: Takes = Takes.FIRST


EVERYWHERE = Layout(lambda op, layout: InLayout(layout), Takes.BROADCAST)
"""Pointwise operators compute in any layout that all operands are brought to."""


def _on_axis(op: Operator, layout: Arrangement) -> InLayout | None:
    if layout.blocks or any(len(shape_of(value)) > 1 for value in op.operands[1:]):
        return None
    return InLayout(layout, {"axis": layout.axis(op.signature.int("axis"))})


ON_AXIS = Layout(_on_axis)
"""It computes along the axis `axis` of its first operand; others are vectors along it, or numbers."""


UNCHANGED = Layout(lambda op, layout: InLayout(layout))
"""Its results are its operand, or have its shape, in any layout."""


@dataclass(frozen=True)
class OwnLayouts(OpTrait):
    """Attributes name the layouts of the first operands; that of the result is `out_layout`, or the first of them."""

    attributes: tuple[str, ...] = ("layout",)
    blocks: tuple[str, ...] = ("",)
    """For each of them, the letters of the axes that may be in blocks."""
    among: tuple[str, ...] = ()
    """The layouts that the first may be; any order of its axes where none are named."""

    def allows(self, cls: type[Operator], attribute: str, layout: str) -> bool:
        """Return whether an operator of a class computes in a layout; False for a name that is none."""
        try:
            axes = parse_layout(layout)
        except ValueError:
            return False
        letters = sorted(axis.letter for axis in axes if not axis.factor)
        index = self.attributes.index(attribute)
        return (
            letters == sorted(self.plain(cls, attribute))
            and {axis.letter for axis in axes if axis.factor} <= set(self.blocks[index])
            and (bool(index) or not self.among or layout in self.among)
        )

    def plain(self, cls: type[Operator], attribute: str) -> str:
        """The layout that an attribute is by default."""
        default = cls.declared_attributes()[attribute].default_value
        assert isinstance(default, StringAttr)
        return default.data

    def of(self, op: Operator) -> tuple[str, ...]:
        """The layouts of the operands and of the result."""
        sig = op.signature
        named = [sig.str(attribute) for attribute in self.attributes]
        return *named, sig.get("out_layout") or named[0]

    def attributes_for(self, cls: type[Operator], layouts: Sequence[str]) -> dict[str, Value]:
        """The attributes for layouts of the operands, and of the result if it has one that is not the first of them."""
        count = len(self.attributes)
        named: dict[str, Value] = dict(zip(self.attributes, layouts, strict=False))
        if "out_layout" in cls.declared_attributes():
            named["out_layout"] = layouts[count] if count < len(layouts) else ""
        return named


def _in_own_layout(op: Operator, layout: Arrangement) -> InLayout | None:
    named = op.get_trait(OwnLayouts)
    if named is None or set(named.of(op)) != {layout.plain} or not named.allows(type(op), "layout", layout.stored):
        return None
    return InLayout(layout, named.attributes_for(type(op), [layout.stored]))


OF_IMAGE = Layout(_in_own_layout)
"""It computes in those layouts of its first operand, and of the result, that `OwnLayouts` allows."""
