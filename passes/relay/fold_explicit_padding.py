"""relay-fold-explicit-padding: convolutions and poolings pad by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from ...dialects.relay import qnn_products
from ...dialects.relay.canonicalization.constant_operands import constant_value, erase_unused, one_number, sole_user
from ...dialects.relay.convolution import expand_padding
from ...dialects.relay.layout import parse_layout
from ...dialects.relay.nn import AvgPool, Conv, MaxPool
from ...dialects.relay.numerics import lowest
from ...dialects.relay.operator import Operator
from ...dialects.relay.transform import PadOp
from ...provenance.rewrite import rewrite
from ...support.dtypes import Array
from .blocking import twin


class _Window(NamedTuple):
    """The attributes of an operator that pads which describe its padding."""

    layout: str
    spatial: str
    padding: tuple[int, ...]


def _window(op: Operator) -> _Window | None:
    if not isinstance(op, Conv | MaxPool | AvgPool):
        return None
    sig, rank = op.signature, len(op.SPATIAL)
    layout = sig.str("data_layout" if isinstance(op, Conv) else "layout")
    return _Window(layout, op.SPATIAL, expand_padding(sig, sig.ints("padding"), rank))


@dataclass
class FoldPad(RewritePattern):
    """An `nn.pad` of spatial axes only, by the value that the operator behind it pads with."""

    module: ModuleOp

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, Operator) or (window := _window(op)) is None:
            return
        pad = op.operands[0].owner
        if not isinstance(pad, PadOp) or pad.signature.str("pad_mode") != "constant" or sole_user(pad.result) is not op:
            return
        number = one_number(pad.value, self.module)
        if number is None or (more := _spatial(pad.signature.ints("pad_width"), window)) is None:
            return
        counts = self._counts(op, number, any(window.padding))
        if counts is None:
            return
        padding = [a + b for a, b in zip(window.padding, more, strict=True)]
        changed: dict[str, Any] = {"padding": padding, **counts}
        rewriter.replace(op, twin(op, pad.data, *op.operands[1:], **changed))
        value = pad.value
        rewriter.erase(pad)
        erase_unused([value], rewriter)

    def _counts(self, op: Operator, number: Array, padded: bool) -> dict[str, Any] | None:
        """Attributes that change besides, None where the operator pads with another number, or counts otherwise."""
        value = number.item()
        match op:
            case qnn_products.Conv2DOp():
                zero = constant_value(op.input_zero_point, self.module)
                return {} if zero is not None and (zero == value).all() else None
            case MaxPool():
                # Beyond the padding of ceil_mode there is nothing, and a max of nothing is no number.
                return {} if value == lowest(number.dtype) and not op.signature.get("ceil_mode") else None
            case AvgPool():
                # The elements that were padded count.
                fits = value == 0 and not op.signature.get("ceil_mode")
                return (
                    {"count_include_pad": True}
                    if fits and (op.signature.get("count_include_pad") or not padded)
                    else None
                )
            case _:
                return {} if value == 0 and not np.signbit(number) else None


def _spatial(width: Sequence[int], window: _Window) -> list[int] | None:
    """Pad widths as a window has them, those before each spatial axis first; None where another axis is padded."""
    pairs = dict(zip(parse_layout(window.layout), zip(width[::2], width[1::2], strict=True), strict=True))
    by_letter = {axis.letter: pair for axis, pair in pairs.items() if not axis.factor}
    if any(any(pair) and (axis.factor or axis.letter not in window.spatial) for axis, pair in pairs.items()):
        return None
    return [by_letter[letter][side] for side in (0, 1) for letter in window.spatial]


@dataclass(frozen=True)
class FoldExplicitPaddingPass(ModulePass):
    """Merges an `nn.pad` into the convolution or pooling after it, as TVM's FoldExplicitPadding (level 0).

    Before: any relay module.
    After: no convolution, max pool or average pool reads a constant padding of its spatial axes that it could do
    itself, and that nobody else reads: zeros before convolutions, the zero point before `qnn.conv2d`, zeros that count
    before averages, the lowest number before maxima. With `ceil_mode` poolings keep theirs.
    Locations: the operator gets its own, the padding's and that of the number that was padded with.

    ```mlir
    %zero = relay.constant dense<0.0> : tensor<f32> loc("zero")
    %0 = relay.nn.pad %x, %zero {pad_width = [0, 0, 0, 0, 1, 1, 2, 2]}
          : (tensor<1x4x8x8xf32>, tensor<f32>) -> tensor<1x4x10x12xf32> loc("pad")
    %1 = relay.nn.conv2d %0, %w : (tensor<1x4x10x12xf32>, tensor<2x4x3x3xf32>) -> tensor<1x2x8x10xf32> loc("conv")
    // becomes
    %0 = relay.nn.conv2d %x, %w {padding = [1, 2, 1, 2]}
          : (tensor<1x4x8x8xf32>, tensor<2x4x3x3xf32>) -> tensor<1x2x8x10xf32> loc(fused["conv", "pad", "zero"])
    ```
    """

    name = "relay-fold-explicit-padding"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [FoldPad(op)])
