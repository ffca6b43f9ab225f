"""A pattern that compares quantised numbers instead of the numbers that they represent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.element_types import bit_width, is_small
from ...dialects.relay.canonicalization.constant_operands import constant_value, erase_unused
from ...dialects.relay.operator import element_of
from ...dialects.relay.qnn import DequantizeOp
from ...dialects.relay.reduce import ArgMaxOp, ArgMinOp
from ...dialects.relay.sorting import ArgsortOp
from .blocking import moved

Ordering: TypeAlias = ArgMaxOp | ArgMinOp | ArgsortOp


@dataclass
class OrderBeforeDequantize(RewritePattern):
    """The order of quantised numbers is that of what they stand for: a positive scale for all, and none that meet.

    TVM does not look at the scales; those of single channels, and negative ones, change the order.
    """

    module: ModuleOp

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Ordering, rewriter: PatternRewriter, /) -> None:
        asked = op.data.owner
        if not isinstance(asked, DequantizeOp) or element_of(asked.result) != f32:
            return
        scale, zero = (constant_value(value, self.module) for value in (asked.input_scale, asked.input_zero_point))
        element = element_of(asked.data)
        if scale is None or zero is None or scale.size != 1 or zero.size != 1 or is_small(element):
            return
        # Differences of 16-bit numbers are told apart by a float's 24 digits, while these do not leave its range.
        if bit_width(element) > 16 or not 1e-30 < float(scale.flat[0]) < 1e30:
            return
        rewriter.replace(op, moved(op, asked.data))
        erase_unused([asked.result], rewriter)
