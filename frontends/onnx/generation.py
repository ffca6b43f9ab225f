"""Operators of com.microsoft that models which generate text have: windows, forbidden repetitions, kept states."""

from __future__ import annotations

from functools import reduce
from typing import cast

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.elementwise import EqualOp
from ...dialects.relay.logic import LogicalAndOp, WhereOp
from ...dialects.relay.nn import BiasAddOp, Conv1DOp
from ...dialects.relay.scatter import ScatterElementsOp
from ...dialects.relay.transform import ConcatenateOp, ReshapeOp, StridedSliceOp, TakeOp, TransposeOp
from ...dialects.sizes import UndecidedSize, decide, proves, same, size_max
from ..importing.converter import Converter
from ..importing.products import reshaped
from ..importing.tensor import shape_of
from ..importing.terms import Term, places, sigmoid
from .context import Context
from .known import filled_value
from .shaping import axis_of


def _cut(ctx: Context, value: SSAValue, axis: int, begin: int, end: int) -> SSAValue:
    return ctx.emit(StridedSliceOp, value, begin=(begin,), end=(end,), strides=(1,), axes=(axis,))


def unfold_tensor(ctx: Context) -> SSAValue:
    """All windows of `size` elements along an axis, `step` apart; their elements are a new last axis."""
    shape = ctx.shape(0)
    axis, size, step = axis_of(ctx, ctx.int("dim", -1), len(shape)), ctx.int("size", 0), ctx.int("step", 1)
    if size < 1 or step < 1:
        ctx.fail("a size and a step of at least 1", f"{size} and {step}")
    ctx.require(shape[axis] - size)
    if proves(shape[axis], "<", size):
        ctx.fail(f"an axis of at least {size} elements", str(shape[axis]))
    starts = places(ctx, (shape[axis] - size) // step + 1, 2, 0) * step
    taken = ctx.emit(TakeOp, ctx.value(0), (starts + places(ctx, size, 2, 1)).value, axis=axis)
    rank = len(shape) + 1
    return ctx.emit(TransposeOp, taken, axes=(*range(axis + 1), *range(axis + 2, rank), axis + 1))


def ngram_repeat_block(ctx: Context) -> SSAValue:
    """-inf as the score of what would follow the last n - 1 words as it followed them before."""
    size, (batch, length), words = ctx.int("ngram_size", 0), ctx.shape(0), ctx.value(0)
    if size < 1:
        ctx.fail("an ngram_size of at least 1", str(size))
    count = cast(int, size_max(length - size + 1, 0))
    scores = ctx.value(1)
    if same(count, 0):
        return ctx.emit(TransposeOp, scores, axes=(0, 1))
    following = _cut(ctx, words, 1, size - 1, size - 1 + count)
    equal: list[SSAValue] = []
    if size > 1:
        # Of fewer words none is compared.
        last = places(ctx, size - 1, start=length - size + 1)
        end = ctx.emit(TakeOp, words, last.value, axis=1, mode="clip")
        for at in range(size - 1):
            equal.append(ctx.emit(EqualOp, _cut(ctx, words, 1, at, at + count), _cut(ctx, end, 1, at, at + 1)))
    everywhere = ctx.scalar(np.inf, scores)
    least = ctx.scalar(-np.inf, scores)
    if equal:
        repeated = reduce(lambda a, b: ctx.emit(LogicalAndOp, a, b), equal)
        update = ctx.emit(WhereOp, repeated, least, everywhere)
    else:
        update = filled_value(ctx, np.asarray(-np.inf, ctx.dtype(1)), (batch, count), "least")
    return ctx.emit(ScatterElementsOp, scores, following, update, axis=1, reduction="min")


def causal_conv_with_state(ctx: Context) -> tuple[SSAValue, ...]:
    """Each channel's convolution with what came before, and with the state in front; the new state is what came last.

    With a `state_window` W the states after each of the last W elements are kept, zeros where there are fewer.
    """
    if (dimensions := ctx.int("ndim", 1)) != 1:
        ctx.fail("ndim 1", str(dimensions))
    activation = ctx.word("activation", "none")
    if activation not in ("none", "silu", "swish"):
        ctx.fail("activation none, silu or swish", repr(activation))
    last, data, shape = ctx.is_one("channels_last"), ctx.value(0), ctx.shape(0)
    channels, _, taps = ctx.shape(1)
    dilation, kept = ctx.int("dilation", 1), ctx.int("state_window", 0)
    behind = (taps - 1) * dilation
    batch, length = shape[0], shape[1] if last else shape[2]

    def first(value: SSAValue, extent: int) -> SSAValue:
        """Channels before the sequence."""
        if not last:
            return value
        return ctx.emit(TransposeOp, reshaped(ctx, value, (batch, extent, channels)), axes=(0, 2, 1))

    def back(value: SSAValue, extent: int) -> SSAValue:
        if not last:
            return value
        return reshaped(ctx, ctx.emit(TransposeOp, value, axes=(0, 2, 1)), (batch, extent, *shape[2:]))

    if ctx.has(3):
        past = ctx.value(3)
        if kept:
            newest = _cut(ctx, past, 0, kept - 1, kept)
            past = reshaped(ctx, newest, shape_of(newest)[1:])
        past = first(past, behind)
    else:
        past = filled_value(ctx, np.zeros((), ctx.dtype(0)), (batch, channels, behind), "zeros")
    whole = ctx.emit(ConcatenateOp, [past, first(data, length)], axis=2) if behind else first(data, length)
    result = ctx.emit(
        Conv1DOp, whole, ctx.value(1), strides=(1,), padding=(0, 0), dilation=(dilation,), groups=channels
    )
    if ctx.has(2):
        result = ctx.emit(BiasAddOp, result, ctx.value(2))
    if activation != "none":
        x = Term(ctx, result)
        result = (x * sigmoid(x)).value

    def state(ago: int) -> SSAValue:
        """The state after all elements but the last `ago`."""
        if (there := not ago or decide(ago + 1, "<=", length)) is None:
            raise UndecidedSize(f"{ctx.op_type}: whether there are more than {ago} of {length} elements", (length, ago))
        if not there:
            none = filled_value(ctx, np.zeros((), ctx.dtype(0)), (batch, channels, behind), "zeros")
            return back(none, behind)
        return back(_cut(ctx, whole, 2, length - ago, length - ago + behind), behind)

    if not kept:
        return back(result, length), state(0)
    states = [state(kept - 1 - slot) for slot in range(kept)]
    rows = [ctx.emit(ReshapeOp, part, newshape=(1, *shape_of(part)), allowzero=int(not behind)) for part in states]
    return back(result, length), ctx.emit(ConcatenateOp, rows, axis=0)


MICROSOFT = {
    "CausalConvWithState": Converter(causal_conv_with_state),
    "NGramRepeatBlock": Converter(ngram_repeat_block),
    "UnfoldTensor": Converter(unfold_tensor),
}
