"""Recurrent layers in integers: data of 8 bits, gates and cells of 16."""

from __future__ import annotations

from math import log2

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.logic import RightShiftOp
from ...dialects.relay.qnn_products import DenseOp as QnnDenseOp
from ...dialects.relay.rearrange import StackOp
from ...dialects.relay.transform import ConcatenateOp, TakeOp
from ...support.dtypes import limits
from ..importing.converter import Converter
from ..importing.tensor import shape_of
from ..importing.terms import Term, where
from ..meanings.slices import split
from .activations import TANH
from .context import Context
from .fixed_point import centred, factor, multiplied, out_scale, saturated, scale_of
from .gate_tables import sigmoid_table, tanh_table
from .quantized_norms import normalised
from .recurrent import (
    Places,
    basic_lstm_sizes,
    is_basic,
    remembered,
    sizes_of,
    state_of,
    steps_of,
    svdf_shape,
    vector,
)

_GATE = 2.0**-12
"""The scale of what goes into a gate that is not normalised."""
_LOW = 1 << 15
_CELL = 2.0**-11
"""The scale of the cell of a basic LSTM."""
_INTERMEDIATES = 5
"""Of a layer whose gates have 16 bits."""


def _cut(x: Term, dtype: str = "int16") -> Term:
    return x.clip(*map(float, limits(dtype)))


def _scaled(x: Term, real: float) -> Term:
    return Term(x.ctx, multiplied(x.ctx, x.value, real))


def _factor(*scales: float) -> float:
    """The product of scales, but for the last, by which it is divided; in float32."""
    *factors, divisor = (np.float32(scale) for scale in scales)
    total = factors[0]
    for one in factors[1:]:
        total = total * one
    return float(total / divisor)


def _product(ctx: Context, x: SSAValue, zero_point: int, weight: int) -> Term:
    """Rows of int8 above their zero point times a weight, int32."""
    zero, none, one = ctx.number(zero_point, "int32"), ctx.number(0, "int32"), ctx.number(1, "float32")
    return Term(ctx, ctx.emit(QnnDenseOp, x, ctx.value(weight), zero, none, one, one))


def _halved(x: Term, bits: int) -> Term:
    """Divided by a power of two, halves away from 0."""
    below = where(x < 0, x.number(1), x.number(0))
    return (x + (1 << (bits - 1)) - below).apply(RightShiftOp, bits)


def _looked_up(table: SSAValue, x: Term) -> Term:
    return Term(x.ctx, x.ctx.emit(TakeOp, table, (x + _LOW).value, axis=0))


class _Lstm:
    """Weights are where those of floats are; states are int8 and int16, held by int32 between the steps."""

    def __init__(self, ctx: Context):
        self.ctx = ctx
        self.coupled = not ctx.has(1)
        self.norms = ctx.has(21)
        self.gates = [self.between(at)[0] if self.norms else _GATE for at in range(4)]
        if ctx.int("FusedActivationFunction", TANH) != TANH:
            ctx.fail("an activation TANH", f"number {ctx.int('FusedActivationFunction', TANH)}")
        self.cell_bits = 15 + round(log2(scale_of(ctx, 19)))
        self.out_zero = int(ctx.quantization(18).zero_point[0])
        out = ctx.out_quantization()
        if (out.scale[0], out.zero_point[0]) != (ctx.quantization(18).scale[0], self.out_zero):
            ctx.fail("outputs that are quantised as the states", f"scale {out.scale[0]} and {out.zero_point[0]}")
        self.hidden_scale, self.hidden_zero = self.between(4)
        self.sigmoid = ctx.constant(sigmoid_table().astype(np.int32), "sigmoid")
        self.gate_tanh = ctx.constant(tanh_table(3).astype(np.int32), "tanh")
        self.cell_tanh = ctx.constant(tanh_table(self.cell_bits).astype(np.int32), "tanh")

    def between(self, at: int) -> tuple[float, int]:
        """The scale and zero point of intermediate tensor `at`."""
        between = self.ctx.node.intermediates
        info = between[at] if at < len(between) else None
        if info is None:
            self.ctx.fail(f"an intermediate tensor {at}", "none")
        found = self.ctx.checked(info)
        return float(found.scale[0]), int(found.zero_point[0])

    def clipped(self, x: Term, option: str, scale: float, dtype: str) -> Term:
        """Within what the options say, in steps of a scale."""
        most = float(self.ctx.float(option, 0.0))
        if most <= 0:
            return x
        bound = float(np.clip(np.trunc(most / scale), *limits(dtype)))
        return x.clip(-bound, bound)

    def gate(self, at: int, x: SSAValue, h: SSAValue, c: Term | None) -> Term:
        """Return the input of gate `at`: input, forget, cell or output, int32 within 16 bits."""
        ctx = self.ctx
        total = _product(ctx, x, int(ctx.quantization(0).zero_point[0]), 1 + at)
        bias = vector(ctx, 12 + at, total.shape[-1])
        if not self.norms:
            total = total + bias
        scale = self.gates[at]
        found = _cut(_scaled(total, _factor(scale_of(ctx, 1 + at), scale_of(ctx, 0), scale)))
        real = _factor(scale_of(ctx, 5 + at), scale_of(ctx, 18), scale)
        found = _cut(found + _scaled(_product(ctx, h, self.out_zero, 5 + at), real))
        peephole = {0: 9, 1: 10, 3: 11}.get(at)
        if c is not None and peephole is not None and ctx.has(peephole):
            real = _factor(scale_of(ctx, 19), scale_of(ctx, peephole), scale)
            found = _cut(found + _scaled(c * Term(ctx, ctx.value(peephole)).to("int32"), real))
        return _cut(normalised(ctx, found, 20 + at, bias)) if self.norms else found

    def step(self, x: SSAValue, h: SSAValue, c: Term) -> tuple[SSAValue, Term]:
        """The state, int8, and the cell after a step."""
        ctx = self.ctx
        forget = _looked_up(self.sigmoid, self.gate(1, x, h, c))
        new = _looked_up(self.gate_tanh, self.gate(2, x, h, None))
        enter = -forget + (_LOW - 1) if self.coupled else _looked_up(self.sigmoid, self.gate(0, x, h, c))
        c = _cut(_halved(forget * c, 15) + _halved(enter * new, 15 + self.cell_bits))
        c = self.clipped(c, "CellClip", scale_of(ctx, 19), "int16")
        leave = _looked_up(self.sigmoid, self.gate(3, x, h, c))
        product = leave * _looked_up(self.cell_tanh, c)
        hidden = _cut(_scaled(product, float(np.float32(2.0**-30 / self.hidden_scale))) + self.hidden_zero, "int8")
        if ctx.has(16):
            total = _product(ctx, hidden.to("int8").value, self.hidden_zero, 16)
            if ctx.has(17):
                total = total + vector(ctx, 17, total.shape[-1])
            real = _factor(scale_of(ctx, 16), self.hidden_scale, scale_of(ctx, 18))
            hidden = _cut(_scaled(total, real) + self.out_zero, "int8")
            hidden = self.clipped(hidden, "ProjClip", scale_of(ctx, 18), "int8")
        return hidden.to("int8").value, c


def _check_types(ctx: Context) -> None:
    if ctx.info(0).type != "INT8" or ctx.info(2).type != "INT8":
        ctx.fail("data and weights of int8", f"{ctx.info(0).type} and {ctx.info(2).type}")


def lstm(ctx: Context) -> tuple[SSAValue, ...]:
    """As `recurrent.lstm`, of int8 with weights of int8; the basic kind of uint8."""
    if is_basic(ctx):
        return basic_lstm(ctx)
    _check_types(ctx)
    if len(ctx.node.outputs) != 1 or len(ctx.node.intermediates) > _INTERMEDIATES:
        found = f"{len(ctx.node.outputs)} and {len(ctx.node.intermediates)}"
        ctx.fail(f"one output, {_INTERMEDIATES} intermediate tensors", found)
    batch, units, outputs = sizes_of(ctx, Places(), ctx.shape(0)[0])
    h, c = state_of(ctx, 18, batch, outputs), Term(ctx, state_of(ctx, 19, batch, units)).to("int32")
    h, c = _Lstm(ctx).step(ctx.value(0), h, c)
    return h, h, c.to("int16").value


def sequence_lstm(ctx: Context) -> tuple[SSAValue, ...]:
    """As `recurrent.sequence_lstm`, of int8 with weights of int8."""
    _check_types(ctx)
    if ctx.flag("DiagonalRecurrentTensors"):
        ctx.fail("whole recurrent weights", "diagonals of them")
    steps, axis = steps_of(ctx)
    batch, units, outputs = sizes_of(ctx, Places(), shape_of(steps[0])[0] if steps else 0)
    layer, h = _Lstm(ctx), state_of(ctx, 18, batch, outputs)
    c = Term(ctx, state_of(ctx, 19, batch, units)).to("int32")
    states: list[SSAValue] = []
    for x in steps:
        h, c = layer.step(x, h, c)
        states.append(h)
    return ctx.emit(StackOp, states, axis=axis), h, c.to("int16").value


def _upward(x: Term, real: float) -> Term:
    """Numbers times a factor, halves upward in both of its roundings."""
    right = max(-factor(real)[1], 0)
    found = _scaled(x, real * 2.0**right)
    return (found + (1 << (right - 1))).apply(RightShiftOp, right) if right else found


def _fraction(a: Term, b: Term) -> Term:
    """A product of fractions of 2^15, rounded upward."""
    return (a * b + (1 << 14)).apply(RightShiftOp, 15)


def basic_lstm(ctx: Context) -> tuple[SSAValue, ...]:
    """All gates in one product, in 16 bits with 3 before the point; the state in uint8, the cell with 4 bits before
    the point."""
    kinds = [ctx.info(at).type for at in range(5)]
    if kinds != ["UINT8", "UINT8", "UINT8", "INT32", "INT16"]:
        ctx.fail("data, state and weights of uint8, a bias of int32 and a cell of int16", ", ".join(kinds).lower())
    batch, units = basic_lstm_sizes(ctx)
    if out_scale(ctx, 1) != _CELL:
        ctx.fail(f"a cell in steps of {_CELL}", str(out_scale(ctx, 1)))
    before, c = state_of(ctx, 1, batch, units), Term(ctx, state_of(ctx, 4, batch, units)).to("int32")
    both = ctx.emit(ConcatenateOp, [ctx.value(0), before], axis=1)
    zero, one = ctx.number(int(ctx.quantization(2).zero_point[0]), "int32"), ctx.number(1, "float32")
    total = Term(ctx, ctx.emit(QnnDenseOp, both, ctx.value(2), ctx.number(128, "int32"), zero, one, one))
    gates = _cut(_upward(total + vector(ctx, 3, 4 * units), scale_of(ctx, 3) / _GATE))
    logistic = ctx.constant(sigmoid_table().astype(np.int32), "sigmoid")
    tangent = ctx.constant(tanh_table(3).astype(np.int32), "tanh")
    enter, new, forget, leave = split(gates, -1, 4)
    grown = _halved(_fraction(_looked_up(logistic, enter), _looked_up(tangent, new)), 4)
    c = _cut(grown + _fraction(_looked_up(logistic, forget), c))
    h = _halved(_fraction(_looked_up(logistic, leave), _looked_up(tangent, _cut(c * 2))), 8)
    out, cell = (_cut(h, "int8") + 128).to("uint8").value, c.to("int16").value
    return out, cell, both, gates.to("int16").value, out, cell


def svdf(ctx: Context) -> tuple[SSAValue, ...]:
    """As `recurrent.svdf`: features of 8 bits, states and filters over time of 16."""
    batch, units, rank, memory = svdf_shape(ctx)
    zero = int(ctx.quantization(0).zero_point[0])
    state_scale = scale_of(ctx, 4)
    total = _product(ctx, ctx.value(0), zero, 1)
    new = _cut(_scaled(total, _factor(scale_of(ctx, 0), scale_of(ctx, 1), state_scale))).to("int16")
    state = remembered(ctx, new, memory)
    over_time = centred(ctx, 2).reshape(1, units * rank, memory)
    sums = (state.to("int32") * over_time).sum(2).reshape(batch, units, rank).sum(2).reshape(batch, units)
    if ctx.has(3):
        sums = sums + vector(ctx, 3, units)
    moved = _scaled(sums, _factor(state_scale, scale_of(ctx, 2), out_scale(ctx)))
    return saturated(ctx, moved.value, ctx.out_quantization(), "int8"), state.reshape(*ctx.shape(4)).value


_PROJECTED = {"ProjClip": "of a projection, where it is read"}

QUANTIZED = {
    "LSTM": Converter(lstm, unread=_PROJECTED),
    "SVDF": Converter(svdf, unread={"FusedActivationFunction": "the kernel has none"}),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": Converter(sequence_lstm, unread=_PROJECTED),
}
