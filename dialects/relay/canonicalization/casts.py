"""A pattern that leaves out casts which change no number."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np
from xdsl.dialects.builtin import bf16, f16, f32, f64, i1
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...element_types import bit_width, is_integer, is_small, is_unsigned, numpy_dtype
from ..elementwise import CastOp, ClipOp
from ..operator import element_of
from .constant_operands import erase_unused, sole_user


class _Float(NamedTuple):
    """The precision and range of a float type."""

    digits: int
    """Binary digits of a number."""
    least: int
    greatest: int
    """Exponents."""


FLOATS: dict[Attribute, _Float] = {
    f16: _Float(11, -14, 15),
    bf16: _Float(8, -126, 127),
    f32: _Float(24, -126, 127),
    f64: _Float(53, -1022, 1023),
}


def is_exact(source: Attribute, target: Attribute) -> bool:
    """Return whether every number of one element type is one of the other.

    TVM also takes int32 -> float32 and int8 -> uint8 for such casts, which they are not.
    """
    if source == target or is_small(source) or is_small(target):
        return source == target
    if is_integer(target):
        if not is_integer(source):
            return False
        more = bit_width(target) - bit_width(source)
        if is_unsigned(source):
            return target != i1 and (more > 0 or (more == 0 and is_unsigned(target)))
        return source == i1 or (more >= 0 and not is_unsigned(target))
    wide = FLOATS[target]
    if is_integer(source):
        return bit_width(source) - (not is_unsigned(source)) <= wide.digits
    own = FLOATS[source]
    return own.digits <= wide.digits and own.least >= wide.least and own.greatest <= wide.greatest


def _keeps(op: CastOp) -> bool:
    """Return True if a cast keeps each number that it can meet: by its types, or as they were clipped to fit."""
    source, target = element_of(op.data), element_of(op.result)
    if is_exact(source, target):
        return True
    clip = op.data.owner
    if not isinstance(clip, ClipOp) or not is_integer(source) or not is_integer(target) or is_small(target):
        return False
    if i1 in (source, target):
        return False
    info = np.iinfo(numpy_dtype(target).name)
    return clip.a_min.value.data >= info.min and clip.a_max.value.data <= info.max


def _is_shared(op: CastOp) -> bool:
    """Return True for a cast to fewer bits that others read, too: these are in memory then, and not the wide ones."""
    return not op.result.has_one_use() and bit_width(element_of(op.result)) < bit_width(element_of(op.data))


class MergeCasts(RewritePattern):
    """The last of several casts in a row reads what the first did that keep all numbers."""

    reason: ClassVar[str] = "casts that keep every number change nothing"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: CastOp, rewriter: PatternRewriter, /) -> None:
        if is_small(element_of(op.result)) or (isinstance(sole_user(op.result), CastOp) and _keeps(op)):
            return
        base: SSAValue = op.data
        while isinstance(owner := base.owner, CastOp) and _keeps(owner) and not _is_shared(owner):
            base = owner.data
        if base is op.data:
            return
        before = op.data
        if base.type == op.result.type:
            rewriter.replace(op, [], [base])
        else:
            rewriter.replace(op, CastOp(base, dtype=op.dtype.data))
        erase_unused([before], rewriter)
