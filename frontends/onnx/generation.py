"""Operators of com.microsoft that models which generate text have: windows, forbidden repetitions, kept states."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import cast

import numpy as np

from ...dialects.relay.logic import LogicalAndOp
from ...dialects.relay.nn import BiasAddOp, Conv1DOp
from ...dialects.relay.scatter import ScatterElementsOp
from ...dialects.relay.transform import TakeOp, TransposeOp
from ...dialects.sizes import UndecidedSize, decide, proves, same, size_max
from ..importing.attributes import Flag, Int, Word
from ..importing.rows import row
from ..importing.terms import Term, axis_of, constant, places, where
from ..meanings.activations import swish
from ..meanings.creation import fill
from ..meanings.moves import concatenate, stack, swap
from ..meanings.slices import cut, element


def _filled(like: Term, number: float, shape: Sequence[int]) -> Term:
    return fill(like.ctx, shape, constant(like.ctx, np.asarray(number, like.dtype), "scalar"))


def unfold_tensor(x: Term, axis: int, size: int, step: int) -> Term:
    """All windows of `size` elements along an axis, `step` apart; their elements are a new last axis."""
    ctx, axis = x.ctx, axis_of(x, axis)
    extent, rank = x.shape[axis], len(x.shape) + 1
    ctx.require(extent - size)
    if proves(extent, "<", size):
        ctx.fail(f"an axis of at least {size} elements", str(extent))
    starts = places(ctx, (extent - size) // step + 1, 2, 0) * step
    taken = x.apply(TakeOp, starts + places(ctx, size, 2, 1), axis=axis)
    return taken.apply(TransposeOp, axes=(*range(axis + 1), *range(axis + 2, rank), axis + 1))


def ngram_repeat_block(words: Term, scores: Term, size: int) -> Term:
    """-inf as the score of what would follow the last n - 1 words as it followed them before."""
    ctx, (batch, length) = words.ctx, words.shape
    count = cast(int, size_max(length - size + 1, 0))
    if same(count, 0):
        return scores.apply(TransposeOp, axes=(0, 1))
    following = cut(words, 1, size - 1, size - 1 + count)
    if size > 1:
        # Of fewer words none is compared.
        end = words.apply(TakeOp, places(ctx, size - 1, start=length - size + 1), axis=1, mode="clip")
        equal = [cut(words, 1, at, at + count).equal(cut(end, 1, at, at + 1)) for at in range(size - 1)]
        repeated = reduce(lambda a, b: a.apply(LogicalAndOp, b), equal)
        update = where(repeated, scores.number(-np.inf), np.inf)
    else:
        update = _filled(scores, -np.inf, (batch, count))
    return scores.apply(ScatterElementsOp, following, update, axis=1, reduction="min")


def causal_conv_with_state(
    x: Term,
    weight: Term,
    bias: Term | None,
    past: Term | None,
    activation: str,
    channels_last: bool,
    dilation: int,
    state_window: int,
    dimensions: int,
) -> tuple[Term, Term]:
    """Each channel's convolution with what came before, and with the state in front; the new state is what came last.

    With a `state_window` W the states after each of the last W elements are kept, zeros where there are fewer.
    """
    if dimensions != 1:
        x.ctx.fail("ndim 1", str(dimensions))
    channels, _, taps = weight.shape
    behind, shape = (taps - 1) * dilation, x.shape
    batch, length = shape[0], shape[1] if channels_last else shape[2]

    def first(value: Term, extent: int) -> Term:
        """Channels before the sequence."""
        return swap(value.reshape(batch, extent, channels), 1, 2) if channels_last else value

    def back(value: Term, extent: int) -> Term:
        return swap(value, 1, 2).reshape(batch, extent, *shape[2:]) if channels_last else value

    if past is None:
        before = _filled(x, 0, (batch, channels, behind))
    else:
        before = first(element(past, 0, state_window - 1) if state_window else past, behind)
    whole = concatenate(before, first(x, length), axis=2) if behind else first(x, length)
    result = whole.apply(Conv1DOp, weight, strides=(1,), padding=(0, 0), dilation=(dilation,), groups=channels)
    result = result if bias is None else result.apply(BiasAddOp, bias)
    result = result if activation == "none" else swish(result)

    def state(ago: int) -> Term:
        """The state after all elements but the last `ago`."""
        if (there := not ago or decide(ago + 1, "<=", length)) is None:
            what = f"{x.ctx.op_type}: whether there are more than {ago} of {length} elements"
            raise UndecidedSize(what, (length, ago))
        if not there:
            return back(_filled(x, 0, (batch, channels, behind)), behind)
        return back(cut(whole, 2, length - ago, length - ago + behind), behind)

    if not state_window:
        return back(result, length), state(0)
    states = (state(state_window - 1 - slot) for slot in range(state_window))
    return back(result, length), stack(*states, axis=0)


MICROSOFT = {
    "CausalConvWithState": row(
        causal_conv_with_state,
        "input weight bias? past_state?",
        activation=Word("none", among=("none", "silu", "swish")),
        channels_last=Flag(False, others=False),
        dilation=Int(1),
        state_window=Int(0),
        dimensions=Int(1, name="ndim"),
    ),
    "NGramRepeatBlock": row(ngram_repeat_block, "input_ids scores", size=Int(name="ngram_size", least=1)),
    "UnfoldTensor": row(unfold_tensor, "input", axis=Int(-1, name="dim"), size=Int(least=1), step=Int(1, least=1)),
}
