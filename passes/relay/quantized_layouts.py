"""Layouts of products of quantised tensors: blocks of channels, and weights in words of several integers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.element_types import dtype_name
from ...dialects.relay.attributes import Value
from ...dialects.relay.canonicalization.constant_operands import constant_value
from ...dialects.relay.core import ConstantOp
from ...dialects.relay.elementwise import AddOp, CastOp, MultiplyOp
from ...dialects.relay.operator import Operator, element_of, shape_of
from ...dialects.relay.qnn_products import (
    ContribConv2DNCHWcOp,
    ContribDensePackOp,
    ContribDepthwiseConv2DNCHWcOp,
    Conv2DOp,
    DenseOp,
    PackWordsOp,
)
from ...dialects.relay.reduce import SumOp
from ...dialects.relay.transform import LayoutTransformOp, ReshapeOp
from ...dialects.sizes import proves, same
from .blocking import (
    PLAIN,
    SMALLEST_BLOCK,
    in_blocks,
    input_block,
    largest_divisor,
    panel_width,
    product_block,
    vector_block,
)

_FEW = 3
"""Channels, of an image, that are packed along its rows."""
_WORD = 4
"""Bytes of a word, in which all channels of a pixel of an image may be."""
_WIDEST = 8
"""Half blocks of channels in the widest panel of them."""
_ROWS = 3
"""Rows of data for which a weight is read no more often than it is loaded, so that its bytes stay bytes."""


@dataclass
class _Blocking:
    """The ops that one match makes, in order, all of them located at the product.

    parts: integers in a word.
    """

    op: Operator
    parts: int
    module: ModuleOp

    def __post_init__(self) -> None:
        self.made: list[Operation] = []

    def add(self, kind: type[Operator], *operands: SSAValue | None, **attributes: Value) -> SSAValue:
        self.made.append(kind(*operands, location=self.op.location, **attributes))
        return self.made[-1].results[0]

    def words(self, weight: SSAValue, zero_point: SSAValue, axis: int, dtype: str = "int32") -> SSAValue:
        """Words along `axis` of a weight above its zero points, of which there may be one per index of axis 0."""
        return self.add(PackWordsOp, weight, zero_point, axis=axis, parts=self.parts, dtype=dtype)

    def correction(self, weight: SSAValue, data: SSAValue, zero_point: SSAValue, block: int) -> SSAValue | None:
        """Return the excess of sums of whole bytes of data, as blocks of output channels; None where there is none.

        Where rows of data have a zero point each, those of each row.
        """
        least = -128 if dtype_name(element_of(data)) == "int8" else 0
        zero = constant_value(zero_point, self.module)
        if self.parts == 2 or (zero is not None and bool(np.all(zero == least))):
            return None
        wide = self.add(CastOp, weight, dtype="int32")
        sums = self.add(SumOp, wide, axis=range(1, len(shape_of(weight))))
        if least:
            self.made.append(above := ConstantOp.of(np.array(-least, np.int32), self.module, "least"))
            above.location = self.op.location
            zero_point = self.add(AddOp, zero_point, above.result)
        rows = shape_of(zero_point)[:1]
        if rows and not same(rows[0], 1):
            zero_point = self.add(ReshapeOp, zero_point, newshape=(*rows, 1))
        else:
            rows = ()
        total = self.add(MultiplyOp, sums, zero_point)
        return self.add(ReshapeOp, total, newshape=(*rows, shape_of(weight)[0] // block, block))

    def instead(self, value: SSAValue, rewriter: PatternRewriter) -> None:
        rewriter.replace(self.op, self.made, [value])


def _parts(wanted: int, weight: SSAValue, zero_point: SSAValue, module: ModuleOp) -> int:
    """The integers in a word: four only of weights that are signed bytes as they are."""
    zero = constant_value(zero_point, module)
    signed = dtype_name(element_of(weight)) == "int8" and zero is not None and not zero.any()
    return wanted if signed else 2


def _per_output(work: _Blocking, zero_point: SSAValue, rank: int) -> SSAValue:
    """A weight's zero points as they broadcast to it."""
    own = shape_of(zero_point)
    return zero_point if own in ((), (1,)) else work.add(ReshapeOp, zero_point, newshape=(*own, *[1] * (rank - 1)))


def is_depthwise(op: Conv2DOp) -> bool:
    """Return whether a convolution on NCHW has a group for each channel, and for each output."""
    return op.signature.int("groups") == shape_of(op.data)[1] == shape_of(op.weight)[0]


@dataclass
class BlockQuantizedConv2D(RewritePattern):
    """`qnn.conv2d` on NCHW of a constant weight becomes a convolution on blocks of at most `lanes` channels.

    vector: words in a vector of the machine.
    """

    lanes: int
    bytes: int
    module: ModuleOp
    vector: int

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Conv2DOp, rewriter: PatternRewriter, /):
        layouts = (op.data_layout.data, op.kernel_layout.data, op.out_layout.data or PLAIN[4])
        constant = all(isinstance(value.owner, ConstantOp) for value in (op.weight, op.kernel_zero_point))
        if layouts != (PLAIN[4], "OIHW", PLAIN[4]) or not constant:
            return
        groups = op.signature.int("groups")
        channels, (outputs, _, *kernel) = shape_of(op.data)[1], shape_of(op.weight)
        depthwise = is_depthwise(op)
        parts = _parts(self.bytes, op.weight, op.kernel_zero_point, self.module)
        if depthwise and not self._fills_words(op, channels):
            parts = 2
        few = groups == 1 and channels <= (_WORD if parts == _WORD else _FEW) and kernel[1] > 1
        work = _Blocking(op, parts, self.module)
        zero_point = _per_output(work, op.kernel_zero_point, 4)
        along: dict[str, Value] = {}
        if depthwise:
            block_in = block_out = vector_block(channels, self.lanes)
            words = work.words(op.weight, zero_point, 3)
            layout, kind = f"OIHW1i{block_out}o", ContribDepthwiseConv2DNCHWcOp
        elif few:
            # Words hold neighbours in a row, or all channels of a pixel, and so are packed by vectors.
            block_in, block_out = 1, product_block(outputs, self.lanes)
            along["along"] = "W" if parts == 2 else "I"
            words = work.words(op.weight, zero_point, 3 if parts == 2 else 1)
            layout, kind = f"OIHW1i{block_out}o", ContribConv2DNCHWcOp
        else:
            block_in = input_block(op.data, channels // groups, product_block(channels // groups, self.lanes))
            block_out = product_block(outputs // groups, self.lanes)
            words = self._channel_words(work, op.weight, zero_point, block_in)
            layout, kind = f"OIHW{-(-block_in // work.parts)}i{block_out}o", ContribConv2DNCHWcOp
        words = work.add(LayoutTransformOp, words, src_layout="OIHW", dst_layout=layout)
        data = work.add(LayoutTransformOp, op.data, src_layout=PLAIN[4], dst_layout=in_blocks(PLAIN[4], block_in))
        attributes: dict[str, Value] = {
            name: op.signature.get(name) for name in ("strides", "padding", "dilation", "groups")
        } | along
        correction = work.correction(op.weight, op.data, op.input_zero_point, block_out)
        conv = work.add(
            kind, data, words, op.input_zero_point, correction, kernel_size=kernel, parts=work.parts, **attributes
        )
        blocks = in_blocks(PLAIN[4], block_out)
        work.instead(work.add(LayoutTransformOp, conv, src_layout=blocks, dst_layout=PLAIN[4]), rewriter)

    def _fills_words(self, op: Conv2DOp, channels: int) -> bool:
        """Return whether four neighbours in a row, of a whole vector of channels each, lie side by side in memory."""
        return vector_block(channels, self.lanes) == self.vector and op.signature.ints("dilation")[1] == 1

    def _channel_words(self, work: _Blocking, weight: SSAValue, zero_point: SSAValue, block: int) -> SSAValue:
        """Words of the channels of a block of input channels, of which the last may hold one channel only."""
        outputs, depth, height, width = shape_of(weight)
        split = work.add(ReshapeOp, weight, newshape=(outputs, depth // block, block, height, width))
        if shape_of(zero_point) not in ((), (1,)):
            zero_point = work.add(ReshapeOp, zero_point, newshape=(outputs, 1, 1, 1, 1))
        words = work.words(split, zero_point, 2)
        return work.add(ReshapeOp, words, newshape=(outputs, depth // block * -(-block // work.parts), height, width))


@dataclass
class PackQuantizedDense(RewritePattern):
    """`qnn.dense` with a constant weight takes it in panels of words, `(n / b, k / parts, b)`."""

    lanes: int
    bytes: int
    module: ModuleOp

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DenseOp, rewriter: PatternRewriter, /):
        if not all(isinstance(value.owner, ConstantOp) for value in (op.weight, op.kernel_zero_point)):
            return
        rows = shape_of(op.weight)[0]
        width = panel_width(rows, self.lanes)
        halves = [count * self.lanes // 2 for count in range(_WIDEST, 1, -1) if rows % (count * self.lanes // 2) == 0]
        if width % self.lanes and halves and self.bytes == 2:
            # Vectors of a machine without products of bytes, which are the shorter ones.
            width = halves[0]
        if rows % width:
            # No rows of zeros are added, as they cost a pass over the result.
            width = largest_divisor(rows, width)
        if width < SMALLEST_BLOCK:
            return
        work = _Blocking(op, _parts(self.bytes, op.weight, op.kernel_zero_point, self.module), self.module)
        signed = _parts(4, op.weight, op.kernel_zero_point, self.module) == 4
        few = proves(shape_of(op.data)[0], "<=", _ROWS)
        dtype = "int16" if work.parts == 2 and signed and few else "int32"
        words = work.words(op.weight, _per_output(work, op.kernel_zero_point, 2), 1, dtype)
        words = work.add(LayoutTransformOp, words, src_layout="NC", dst_layout=f"NC{width}n")
        correction = work.correction(op.weight, op.data, op.input_zero_point, width)
        operands = (op.data, words, op.input_zero_point, correction)
        work.instead(work.add(ContribDensePackOp, *operands, parts=work.parts), rewriter)
