"""A pattern that moves transforms between plain layouts, such as NHWC to NCHW, below the operators that read them.

What reads such a transform computes in the other layout instead, and a transform follows it. Only transforms that the
pass `relay-convert-layout` made move, and only down: so the rewriting ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from ...dialects.relay.activation import PReluOp
from ...dialects.relay.core import ConstantOp
from ...dialects.relay.fast_math import FastSoftmaxOp
from ...dialects.relay.nn import (
    BatchNormOp,
    BiasAddOp,
    DropoutOp,
    LogSoftmaxOp,
    LRNOp,
    Pool,
    SoftmaxOp,
)
from ...dialects.relay.operator import Operator, shape_of
from ...dialects.relay.qnn import DequantizeOp, QuantizeOp, RequantizeOp
from ...dialects.relay.rearrange import Blocks, SplitOp
from ...dialects.relay.reduce import ArgReduce
from ...dialects.relay.resize import Resize, UpsamplingOp
from ...dialects.relay.transform import (
    ConcatenateOp,
    ExpandDimsOp,
    LayoutTransformOp,
    PadOp,
    Reduce,
    ReshapeOp,
    Reshaping,
    SqueezeOp,
    StridedSliceOp,
)
from ...dialects.relay.vision import RoiAlignOp
from .blocking import moved, transform

_ON_AXIS = (
    *(BatchNormOp, BiasAddOp, LRNOp, PReluOp, SoftmaxOp, LogSoftmaxOp, FastSoftmaxOp, SplitOp),
    *(QuantizeOp, DequantizeOp, RequantizeOp),
)
"""Operators on the axis `axis` of their first operand; others are vectors along it, or numbers."""


@dataclass(frozen=True)
class Permuted:
    """A value in another layout, and the transform that brings it to the one that its readers expect."""

    value: SSAValue
    back: LayoutTransformOp

    @property
    def new(self) -> str:
        """The layout of `value`."""
        return self.back.src_layout.data

    @property
    def old(self) -> str:
        return self.back.dst_layout.data

    def axis(self, axis: int) -> int:
        """Where an axis of the old layout is in the new one."""
        return self.new.index(self.old[axis % len(self.old)])

    def order(self) -> list[int]:
        """For each axis of the new layout the one of the old."""
        return [self.old.index(letter) for letter in self.new]

    @property
    def layouts(self) -> tuple[str, str]:
        return self.new, self.old


@dataclass
class Moved:
    """An operator on values in another layout."""

    ops: Sequence[Operation]
    results: dict[int, tuple[str, str]]
    """Result -> its layout, and the one that readers expect; those left out are as they were."""


@dataclass
class SinkPermutation(RewritePattern):
    """An operator below the transforms that it reads, if it can compute on what they read."""

    made: set[Operation]
    """The transforms that may move."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, Operator) or isinstance(op, LayoutTransformOp):
            return
        sources = {i: source for i, value in enumerate(op.operands) if (source := self._source(value)) is not None}
        if not sources or (rule := _rule(op)) is None or (result := rule(op, sources)) is None:
            return
        backs = dict.fromkeys(source.back for source in sources.values())
        ops, twin = list(result.ops), result.ops[-1]
        asked = next(iter(backs))
        values: list[SSAValue | None] = list(twin.results)
        for index, (new, old) in result.results.items():
            if op.results[index].first_use is None:
                values[index] = None
            elif new != old:
                back = transform(twin.results[index], new, old, asked)
                self.made.add(back)
                ops.append(back)
                values[index] = back.result
        rewriter.replace(op, ops, values)
        for back in backs:
            if back.result.first_use is None:
                self.made.discard(back)
                rewriter.erase(back)

    def _source(self, value: SSAValue) -> Permuted | None:
        owner = value.owner
        if not isinstance(owner, LayoutTransformOp) or owner not in self.made:
            return None
        source = Permuted(owner.data, owner)
        return source if all(layout.isalpha() for layout in source.layouts) else None


Sources = dict[int, Permuted]
Rule = Callable[[Operator, Sources], Moved | None]


def _rule(op: Operator) -> Rule | None:
    """What tells how an operator computes in another layout."""
    if op.is_pointwise():
        return _pointwise
    rules: tuple[tuple[type[Operator] | tuple[type[Operator], ...], Rule], ...] = (
        (_ON_AXIS, _on_axis),
        (DropoutOp, _unchanged),
        (Pool, _in_layout),
        (Resize, _in_layout),
        (UpsamplingOp, _in_layout),
        (Blocks, _in_layout),
        (RoiAlignOp, _in_layout),
        (ConcatenateOp, _concatenate),
        (PadOp, _pad),
        (StridedSliceOp, _strided_slice),
        (Reduce, _reduce),
        (SqueezeOp, _squeeze),
        (Reshaping, _reshape),
    )
    return next((rule for kinds, rule in rules if isinstance(op, kinds)), None)


def _common(sources: Sources) -> Permuted | None:
    """The first source, if all have the same layouts."""
    first, *others = sources.values()
    return first if all(other.layouts == first.layouts for other in others) else None


def _wrapped(value: SSAValue, source: Permuted, at: LocationAttr) -> list[Operator]:
    """The ops that bring a value which broadcasts as numpy's to the new layout."""
    made: list[Operator] = []
    if missing := len(source.old) - len(shape_of(value)):
        made.append(ExpandDimsOp(value, axis=0, num_newaxis=missing, location=at))
        value = made[0].results[0]
    made.append(LayoutTransformOp(value, src_layout=source.old, dst_layout=source.new, location=at))
    return made


def _is_cheap(value: SSAValue) -> bool:
    """Whether another layout of a value costs nothing at run time: it folds, or moves no element."""
    return isinstance(value.owner, ConstantOp) or sum(extent != 1 for extent in shape_of(value)) <= 1


def _several(op: Operator, sources: Sources) -> tuple[list[SSAValue], list[Operation]] | None:
    """All operands in the new layout, if that takes no more transforms than it saves."""
    source = _common(sources)
    if source is None:
        return None
    rank = len(source.old)
    others = [value for i, value in enumerate(op.operands) if i not in sources]
    dear = [value for value in others if not _is_cheap(value)]
    if len(dear) >= len({s.back for s in sources.values()}) or any(len(shape_of(v)) > rank for v in others):
        return None
    made: list[Operation] = []
    operands: list[SSAValue] = []
    for index, value in enumerate(op.operands):
        if index in sources:
            operands.append(sources[index].value)
        elif all(extent == 1 for extent in shape_of(value)) and len(shape_of(value)) < rank:
            operands.append(value)
        else:
            made += (more := _wrapped(value, source, op.location))
            operands.append(more[-1].results[0])
    return operands, made


def _pointwise(op: Operator, sources: Sources) -> Moved | None:
    source = next(iter(sources.values()))
    if len(shape_of(op.results[0])) != len(source.old) or (found := _several(op, sources)) is None:
        return None
    operands, made = found
    return Moved([*made, moved(op, *operands)], {0: source.layouts})


def _concatenate(op: Operator, sources: Sources) -> Moved | None:
    source = next(iter(sources.values()))
    if (found := _several(op, sources)) is None:
        return None
    operands, made = found
    return Moved([*made, moved(op, *operands, axis=source.axis(op.signature.int("axis")))], {0: source.layouts})


def _single(sources: Sources) -> Permuted | None:
    """The source, where it is the first operand and no other."""
    return sources.get(0) if len(sources) == 1 else None


def _on_axis(op: Operator, sources: Sources) -> Moved | None:
    if (source := _single(sources)) is None or any(len(shape_of(value)) > 1 for value in op.operands[1:]):
        return None
    twin = moved(op, source.value, *op.operands[1:], axis=source.axis(op.signature.int("axis")))
    rank = len(source.old)
    return Moved([twin], {i: source.layouts for i, r in enumerate(op.results) if len(shape_of(r)) == rank > 1})


def _unchanged(op: Operator, sources: Sources) -> Moved | None:
    source = _single(sources)
    if source is None:
        return None
    return Moved([moved(op, source.value)], {i: source.layouts for i in range(len(op.results))})


def _in_layout(op: Operator, sources: Sources) -> Moved | None:
    source = _single(sources)
    if source is None or op.signature.str("layout") != source.old:
        return None
    if isinstance(op, RoiAlignOp) and source.new not in op.LAYOUTS:
        return None
    changed: dict[str, Any] = {"layout": source.new}
    if "out_layout" in op.properties:
        if op.signature.str("out_layout") not in ("", source.old):
            return None
        changed["out_layout"] = ""
    if isinstance(op, Blocks) and source.new not in ("NCHW", "NHWC"):
        return None
    return Moved([moved(op, source.value, *op.operands[1:], **changed)], {0: source.layouts})


def _pad(op: Operator, sources: Sources) -> Moved | None:
    if (source := _single(sources)) is None:
        return None
    width = op.signature.ints("pad_width")
    return Moved(
        [
            moved(
                op,
                source.value,
                op.operands[1],
                pad_width=[w for i in source.order() for w in width[2 * i : 2 * i + 2]],
            )
        ],
        {0: source.layouts},
    )


def _strided_slice(op: Operator, sources: Sources) -> Moved | None:
    if (source := _single(sources)) is None:
        return None
    sig = op.signature
    axes = sig.get("axes") or tuple(range(len(sig.ints("begin"))))
    return Moved([moved(op, source.value, axes=[source.axis(axis) for axis in axes])], {0: source.layouts})


def _left(source: Permuted, gone: Sequence[int]) -> tuple[str, str]:
    """Both layouts without some axes of the old one."""
    letters = {source.old[axis] for axis in gone}
    new, old = ("".join(c for c in layout if c not in letters) for layout in source.layouts)
    return new, old


def _reduce(op: Operator, sources: Sources) -> Moved | None:
    """A mean that is an operand, too, comes along."""
    if (source := sources.get(0)) is None or (found := _several(op, sources)) is None or not isinstance(op, Reduce):
        return None
    sig = op.signature
    axes = op.axes(sig)
    if isinstance(op, ArgReduce) and len(axes) > 1:
        return None  # places are counted in the order of axes
    operands, made = found
    twin = moved(op, *operands, axis=sorted(source.axis(axis) for axis in axes), exclude=False)
    return Moved([*made, twin], {0: source.layouts if sig.get("keepdims") else _left(source, axes)})


def _squeeze(op: Operator, sources: Sources) -> Moved | None:
    if (source := _single(sources)) is None:
        return None
    given, shape = op.signature.get("axis"), shape_of(op.operands[0])
    axes = [a % len(shape) for a in given] if given is not None else [i for i, n in enumerate(shape) if n == 1]
    twin = moved(op, source.value, axis=sorted(source.axis(axis) for axis in axes))
    return Moved([twin], {0: _left(source, axes)})


def _reshape(op: Operator, sources: Sources) -> Moved | None:
    """A transform that moves extents of 1 only moves no element."""
    if (source := _single(sources)) is None:
        return None
    ones = [axis for axis, extent in enumerate(shape_of(op.operands[0])) if extent == 1]
    new, old = _left(source, ones)
    shape = shape_of(op.results[0])
    if new != old or min(shape, default=1) < 1:
        return None
    return Moved([ReshapeOp(source.value, newshape=shape, location=op.location)], {})
