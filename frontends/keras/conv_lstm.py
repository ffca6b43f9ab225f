"""ConvLSTM of one to three spatial axes: the convolution of all steps' inputs at once, then step after step."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ...dialects.relay.creation import ZerosOp
from ...dialects.relay.matmul import BiasAddOp
from ...dialects.relay.rearrange import StackOp
from ...dialects.sizes import same_shape, symbols_of
from ..importing.tensor import shape_of
from ..importing.terms import Term, where
from ..meanings.recurrent import lstm_step
from ..meanings.slices import split, unstack
from .activations import activated
from .context import Config, Context
from .convolution import convolved, image_of, layer_window, window_of
from .masks import Masks
from .rows import Row
from .weights import Variables

GATES = 4
"""Input, forget, cell and output, in this order along the last axis of the weights."""


def conv_sequence(
    ctx: Context,
    operands: Sequence[SSAValue],
    states: Sequence[SSAValue] | None,
    flip: bool,
    mask: SSAValue | None = None,
) -> list[SSAValue]:
    """The results of a ConvLSTM: all steps or the last one, then the states where they are wanted.

    flip: whether results of a layer that goes backwards are in the order of its steps. mask: (batch, time), false at
    steps that change nothing.
    """
    if ctx.flag("stateful", False):
        ctx.fail("'stateful' false: what a ConvLSTM keeps from call to call is not supported", "true")
    data, rank = operands[0], _rank(ctx)
    states = operands[1:] if len(operands) > 1 else states
    if states is not None and len(states) != 2:
        ctx.fail("2 first states", str(len(states)))
    gates = _inputs(ctx, data, rank)
    batch, time, *image = shape_of(gates)
    channels = 0 if ctx.channels_first() else rank
    image[channels] //= GATES
    if states is None:
        zeros = ctx.emit(ZerosOp, shape=(batch, *image), dtype=ctx.dtype_name)
        states = [zeros, zeros]
    hidden, cell = (Term(ctx, state) for state in states)
    if not all(same_shape(state.shape, (batch, *image)) for state in (hidden, cell)):
        ctx.fail(f"first states of shape {[batch, *image]}", f"{list(hidden.shape)} and {list(cell.shape)}")
    parts = unstack(Term(ctx, gates), 1, time)
    marks = None if mask is None else unstack(Term(ctx, mask), 1, time)
    reverse, zero = ctx.flag("go_backwards", False), ctx.flag("zero_output_for_mask", False)
    every, output = list[SSAValue](), hidden * 0.0
    for at in reversed(range(time)) if reverse else range(time):
        new_hidden, new_cell = _step(ctx, parts[at], hidden, cell, rank)
        if marks is None:
            output, hidden, cell = new_hidden, new_hidden, new_cell
        else:
            mark = marks[at].reshape(batch, *(1,) * len(image))
            output = where(mark, new_hidden, 0.0 if zero else output)
            hidden, cell = where(mark, new_hidden, hidden), where(mark, new_cell, cell)
        every.append(output.value)
    result = output.value
    if ctx.flag("return_sequences", False):
        result = ctx.emit(StackOp, every if flip or not reverse else every[::-1], axis=1)
    return [result, *([hidden.value, cell.value] if ctx.flag("return_state", False) else [])]


def _rank(ctx: Context) -> int:
    return int(ctx.node.op_type[-2])


def _inputs(ctx: Context, data: SSAValue, rank: int) -> SSAValue:
    """The inputs' part of all gates, (batch, time, ..), with the biases."""
    if len(shape_of(data)) != rank + 3:
        ctx.fail(f"an input of {rank + 3} dimensions (batch, time, {rank} of space, channels)", f"{shape_of(data)}")
    batch, time, *rest = shape_of(data)
    if symbols_of(time):
        ctx.fail("a known number of steps", str(time))
    filters = ctx.int("filters", least=1)
    flat = Term(ctx, data).reshape(batch * time, *rest).value
    image, channels = image_of(ctx, flat, rank)
    window = layer_window(ctx, image)
    result = convolved(ctx, flat, "cell.kernel", (*window.kernel, channels, GATES * filters), window, 1)
    if ctx.has_weight("cell.bias"):
        axis = 1 if ctx.channels_first() else rank + 1
        result = ctx.emit(BiasAddOp, result, ctx.weight("cell.bias", (GATES * filters,)), axis=axis)
    return Term(ctx, result).reshape(batch, time, *shape_of(result)[1:]).value


def _step(ctx: Context, gates: Term, hidden: Term, cell: Term, rank: int) -> tuple[Term, Term]:
    """The states after a step."""
    filters, size, ones = ctx.int("filters", least=1), ctx.ints("kernel_size", count=rank, least=1), (1,) * rank
    image, _ = image_of(ctx, hidden.value, rank)
    window = window_of(ctx, image, size, ones, ones, "same")
    kernel = (*size, filters, GATES * filters)
    sums = gates + Term(ctx, convolved(ctx, hidden.value, "cell.recurrent_kernel", kernel, window, 1))
    axis = 1 if ctx.channels_first() else rank + 1

    def gate(x: Term) -> Term:
        return Term(ctx, activated(ctx, x.value, "recurrent_activation"))

    def bend(x: Term) -> Term:
        return Term(ctx, activated(ctx, x.value))

    return lstm_step(cell, *split(sums, axis, GATES), gate=gate, bend=bend)


def conv_lstm(ctx: Context) -> tuple[SSAValue, ...]:
    states = ctx.operands(1, "initial_state") if ctx.argument(1, "initial_state") is not None else None
    return tuple(conv_sequence(ctx, ctx.operands(0, "sequences"), states, flip=True, mask=ctx.mask(2)))


def conv_variables(config: Config) -> tuple[Variables, ...]:
    names = ("kernel", "recurrent_kernel", "bias") if config.get("use_bias", True) else ("kernel", "recurrent_kernel")
    return (Variables(names, "cell"),)


_MASKS = Masks({"mask": 2}, kept=lambda config: int(config.get("return_sequences") is True))
KINDS = tuple(f"ConvLSTM{rank}D" for rank in (1, 2, 3))
TABLE = {kind: Row(conv_lstm, conv_variables, _MASKS) for kind in KINDS}
