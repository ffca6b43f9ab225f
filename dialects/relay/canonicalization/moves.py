"""Patterns that make one op of several in a row that only move data: reshapes, transposes and layout transforms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TypeAlias

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...sizes import holds_zero
from ..layout import parse_layout, strides
from ..operator import shape_of
from ..shapes import ContribReverseReshapeOp
from ..transform import BatchFlattenOp, LayoutTransformOp, ReshapeOp, Reshaping, TransposeOp
from .constant_operands import erase_unused, sole_user

Merged: TypeAlias = ReshapeOp | BatchFlattenOp | ContribReverseReshapeOp
Mover: TypeAlias = TransposeOp | LayoutTransformOp


class MergeReshapes(RewritePattern):
    """The last of several reshapes in a row reshapes the first one's input."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Merged, rewriter: PatternRewriter, /) -> None:
        if isinstance(sole_user(op.result), Merged):
            return
        base: SSAValue = op.data
        while isinstance(owner := base.owner, Reshaping):
            base = owner.data
        shape = shape_of(op.result)
        if base is op.data or DYNAMIC_INDEX in shape:
            return
        merged = (
            []
            if base.type == op.result.type
            else [ReshapeOp(base, newshape=shape, allowzero=int(holds_zero(shape)) or None)]
        )
        before = op.data
        rewriter.replace(op, merged, [merged[0].result if merged else base])
        erase_unused([before], rewriter)


@dataclass(frozen=True)
class Digits:
    """A part of the index along one axis: of `index // stride`, the last `extent` values."""

    axis: int
    stride: int
    extent: int


Dims: TypeAlias = list[list[Digits]]
"""For each axis of a result, what its index is made of, most significant first."""
_LETTERS = "NCDHWABEFGIJKLMOPQRSTUVXYZ"


def _cut(parts: Sequence[Digits], stride: int, extent: int) -> list[Digits] | None:
    """The digits of a composed index from `stride` on; None where no boundary is there."""
    if stride == 1 and extent == prod(part.extent for part in parts):
        return list(parts)
    if extent == 1:
        return [Digits(parts[0].axis, parts[0].stride * parts[0].extent, 1)]  # always 0
    digits: list[Digits] = []
    step = 1
    for part in reversed(parts):
        low, high = max(step, stride), min(step * part.extent, stride * extent)
        if low < high:
            if low % step or high % low or (step * part.extent) % high:
                return None
            digits.append(Digits(part.axis, part.stride * (low // step), high // low))
        step *= part.extent
    return digits[::-1] or None


def _joined(parts: Sequence[Digits]) -> list[Digits]:
    """Neighbours that make one run of digits as one."""
    joined: list[Digits] = []
    for part in parts:
        last = joined[-1] if joined else None
        if last is not None and last.axis == part.axis and last.stride == part.stride * part.extent:
            joined[-1] = Digits(part.axis, part.stride, last.extent * part.extent)
        else:
            joined.append(part)
    return joined


def _own_dims(op: Mover) -> Dims | None:
    """Return the result's indices in terms of those of the operand."""
    shape = shape_of(op.data)
    if isinstance(op, TransposeOp):
        return [[Digits(axis, 1, shape[axis])] for axis in op.order(op.signature)]
    if DYNAMIC_INDEX in shape:
        return None
    src, dst = parse_layout(op.src_layout.data), parse_layout(op.dst_layout.data)
    whole: dict[str, list[Digits]] = {}
    steps = strides(src)
    for axis in sorted(range(len(src)), key=lambda axis: (-steps[axis], src[axis].factor > 0)):
        whole.setdefault(src[axis].letter, []).append(Digits(axis, 1, shape[axis]))
    dims: Dims = []
    for name, step in zip(dst, strides(dst), strict=True):
        parts = whole[name.letter]
        dim = _cut(parts, step, name.factor or prod(part.extent for part in parts) // step)
        if dim is None:
            return None
        dims.append(_joined(dim))
    return dims


def _after(dims: Dims, inner: Dims) -> Dims | None:
    """`dims`, whose digits are of the results of an op, in the digits of its operand."""
    composed: Dims = []
    for parts in dims:
        cuts = [_cut(inner[part.axis], part.stride, part.extent) for part in parts]
        pieces = [cut for cut in cuts if cut is not None]
        if len(pieces) < len(cuts):
            return None
        composed.append(_joined([digit for cut in pieces for digit in cut]))
    return composed


@dataclass
class Row:
    """Transposes and layout transforms in a row, the last first."""

    dims: Dims
    base: SSAValue
    count: int = 1
    letters: dict[int, str] = field(default_factory=lambda: dict[int, str]())
    """Axis of the base -> its letter, where a layout names it."""

    @staticmethod
    def of(op: Mover) -> Row | None:
        dims = _own_dims(op)
        return None if dims is None else Row(dims, op.data, letters=_letters(op))

    def extended(self, op: Mover) -> Row | None:
        """With `op`, which makes the base, before it; None when no single op says as much."""
        inner = _own_dims(op)
        dims = _after(self.dims, inner) if inner is not None else None
        if inner is None or dims is None:
            return None
        letters = {inner[axis][0].axis: letter for axis, letter in self.letters.items()} | _letters(op)
        row = Row(dims, op.data, self.count + 1, letters)
        return row if row.axes() or row.layouts() else None

    def axes(self) -> tuple[int, ...] | None:
        """The order of axes that it amounts to, if it does."""
        shape = shape_of(self.base)
        whole = all(len(p) == 1 and p[0].stride == 1 and p[0].extent == shape[p[0].axis] for p in self.dims)
        axes = tuple(parts[0].axis for parts in self.dims)
        return axes if whole and sorted(axes) == list(range(len(shape))) else None

    def layouts(self) -> tuple[str, str] | None:
        """The layouts that it goes from and to, if one side has no blocks."""
        names, joined = self._names(), [parts for parts in self.dims if len(parts) > 1]
        return self._joining(names) if joined else self._splitting(names, [parts[0] for parts in self.dims])

    def _splitting(self, names: Sequence[str], digits: Sequence[Digits]) -> tuple[str, str] | None:
        """Axes of the base are split, each into two at most."""
        strides = [[digit.stride for digit in digits if digit.axis == axis] for axis in range(len(names))]
        if any(len(steps) not in (1, 2) for steps in strides):
            return None
        blocks = [digit.stride == 1 and len(strides[digit.axis]) == 2 for digit in digits]
        spelled = (
            f"{digit.extent}{names[digit.axis].lower()}" if block else names[digit.axis]
            for digit, block in zip(digits, blocks, strict=True)
        )
        return "".join(names), "".join(spelled)

    def _joining(self, names: Sequence[str]) -> tuple[str, str] | None:
        """Axes of the base are joined: of two the second is a block of the first."""
        shape = shape_of(self.base)
        if any(digit.stride != 1 or digit.extent != shape[digit.axis] for parts in self.dims for digit in parts):
            return None
        if any(len(parts) > 2 for parts in self.dims):
            return None
        outer = {parts[1].axis: parts[0].axis for parts in self.dims if len(parts) == 2}
        spelled = (
            f"{extent}{names[outer[axis]].lower()}" if axis in outer else names[axis]
            for axis, extent in enumerate(shape)
        )
        return "".join(spelled), "".join(names[parts[0].axis] for parts in self.dims)

    def _names(self) -> list[str]:
        """A letter for each axis of the base, those that layouts give them where they can be told apart."""
        letters: list[str] = []
        for axis in range(len(shape_of(self.base))):
            letter = self.letters.get(axis, "")
            free = (c for c in _LETTERS if c not in letters and c not in self.letters.values())
            letters.append(letter if letter and letter not in letters else next(free))
        return letters


def _letters(op: Mover) -> dict[int, str]:
    """Axis of the operand -> the letter that it has in the layout, blocks apart."""
    if isinstance(op, TransposeOp):
        return {}
    return {axis: name.letter for axis, name in enumerate(parse_layout(op.src_layout.data)) if not name.factor}


class MergeTransposes(RewritePattern):
    """The last of several transposes and layout transforms in a row moves the first one's input, where one op can."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, Mover) or (row := Row.of(op)) is None:
            return
        user = sole_user(op.result)
        if isinstance(user, Mover) and (last := Row.of(user)) is not None and last.extended(op) is not None:
            return
        while isinstance(owner := row.base.owner, Mover) and (longer := row.extended(owner)) is not None:
            row = longer
        if row.count == 1:
            return
        before, moves = op.data, list[Operation]()
        if (axes := row.axes()) is None:
            src, dst = row.layouts() or ("", "")
            moves = [LayoutTransformOp(row.base, src_layout=src, dst_layout=dst)]
        elif axes != tuple(range(len(axes))):
            moves = [TransposeOp(row.base, axes=axes)]
        rewriter.replace(op, moves, [moves[0].results[0] if moves else row.base])
        erase_unused([before], rewriter)
