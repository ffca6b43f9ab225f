"""Recurrent layers in integers: data of 8 bits, gates and cells of 16."""

from __future__ import annotations

from math import log2

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.logic import RightShiftOp
from ...dialects.relay.qnn_products import DenseOp as QnnDenseOp
from ...dialects.relay.rearrange import StackOp
from ...dialects.relay.transform import TakeOp
from ...support.dtypes import limits
from ..importing.converter import Converter
from ..importing.tensor import shape_of
from ..importing.terms import Term, where
from .activations import TANH
from .context import Context
from .fixed_point import centred, multiplied, out_scale, saturated, scale_of
from .gate_tables import sigmoid_table, tanh_table
from .recurrent import Places, remembered, sizes_of, state_of, steps_of, svdf_shape, vector

_GATE = 2.0**-12
"""The scale of what goes into a gate."""
_LOW = 1 << 15


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


class _Lstm:
    """Weights are where those of floats are; states are int8 and int16, held by int32 between the steps."""

    def __init__(self, ctx: Context):
        self.ctx = ctx
        self.coupled = not ctx.has(1)
        if any(ctx.has(at) for at in range(20, 24)):
            ctx.fail("a layer without normalisation", "coefficients of it")
        if ctx.option("FusedActivationFunction", TANH) != TANH:
            ctx.fail("an activation TANH", f"number {ctx.option('FusedActivationFunction', TANH)}")
        self.cell_bits = 15 + round(log2(scale_of(ctx, 19)))
        self.out_zero = int(ctx.quantization(18).zero_point[0])
        out = ctx.out_quantization()
        if (out.scale[0], out.zero_point[0]) != (ctx.quantization(18).scale[0], self.out_zero):
            ctx.fail("outputs that are quantised as the states", f"scale {out.scale[0]} and {out.zero_point[0]}")
        hidden = ctx.node.intermediates[4] if len(ctx.node.intermediates) > 4 else None
        if hidden is None or hidden.quantization is None:
            ctx.fail("an intermediate tensor 4 with a scale", "none")
        self.hidden_scale = float(hidden.quantization.scale[0])
        self.hidden_zero = int(hidden.quantization.zero_point[0])
        self.sigmoid = ctx.constant(sigmoid_table().astype(np.int32), "sigmoid")
        self.gate_tanh = ctx.constant(tanh_table(3).astype(np.int32), "tanh")
        self.cell_tanh = ctx.constant(tanh_table(self.cell_bits).astype(np.int32), "tanh")

    def looked_up(self, table: SSAValue, x: Term) -> Term:
        return Term(self.ctx, self.ctx.emit(TakeOp, table, (x + _LOW).value, axis=0))

    def clipped(self, x: Term, option: str, scale: float, dtype: str) -> Term:
        """Within what the options say, in steps of a scale."""
        most = float(self.ctx.option(option, 0.0))
        if most <= 0:
            return x
        bound = float(np.clip(np.trunc(most / scale), *limits(dtype)))
        return x.clip(-bound, bound)

    def gate(self, at: int, x: SSAValue, h: SSAValue, c: Term | None) -> Term:
        """What goes into gate `at`: input, forget, cell or output, int32 within 16 bits."""
        ctx = self.ctx
        total = _product(ctx, x, int(ctx.quantization(0).zero_point[0]), 1 + at)
        if ctx.has(12 + at):
            total = total + vector(ctx, 12 + at, total.shape[-1])
        found = _cut(_scaled(total, _factor(scale_of(ctx, 0), scale_of(ctx, 1 + at), _GATE)))
        real = _factor(scale_of(ctx, 18), scale_of(ctx, 5 + at), _GATE)
        found = _cut(found + _scaled(_product(ctx, h, self.out_zero, 5 + at), real))
        peephole = {0: 9, 1: 10, 3: 11}.get(at)
        if c is not None and peephole is not None and ctx.has(peephole):
            real = _factor(scale_of(ctx, 19), scale_of(ctx, peephole), _GATE)
            found = _cut(found + _scaled(c * Term(ctx, ctx.value(peephole)).to("int32"), real))
        return found

    def step(self, x: SSAValue, h: SSAValue, c: Term) -> tuple[SSAValue, Term]:
        """The state, int8, and the cell after a step."""
        ctx = self.ctx
        forget = self.looked_up(self.sigmoid, self.gate(1, x, h, c))
        new = self.looked_up(self.gate_tanh, self.gate(2, x, h, None))
        enter = -forget + (_LOW - 1) if self.coupled else self.looked_up(self.sigmoid, self.gate(0, x, h, c))
        c = _cut(_halved(forget * c, 15) + _halved(enter * new, 15 + self.cell_bits))
        c = self.clipped(c, "CellClip", scale_of(ctx, 19), "int16")
        leave = self.looked_up(self.sigmoid, self.gate(3, x, h, c))
        product = leave * self.looked_up(self.cell_tanh, c)
        hidden = _cut(_scaled(product, float(np.float32(2.0**-30 / self.hidden_scale))) + self.hidden_zero, "int8")
        if ctx.has(16):
            total = _product(ctx, hidden.to("int8").value, self.hidden_zero, 16)
            if ctx.has(17):
                total = total + vector(ctx, 17, total.shape[-1])
            real = _factor(scale_of(ctx, 16), self.hidden_scale, scale_of(ctx, 18))
            hidden = _cut(_scaled(total, real) + self.out_zero, "int8")
            hidden = self.clipped(hidden, "ProjClip", scale_of(ctx, 18), "int8")
        return hidden.to("int8").value, c


def sequence_lstm(ctx: Context) -> tuple[SSAValue, ...]:
    """As `recurrent.sequence_lstm`, of int8 with weights of int8."""
    if ctx.info(0).type != "INT8" or ctx.info(2).type != "INT8" or ctx.option("DiagonalRecurrentTensors", False):
        ctx.fail("data and weights of int8, whole recurrent weights", f"{ctx.info(0).type} and {ctx.info(2).type}")
    steps, axis = steps_of(ctx)
    batch, units, outputs = sizes_of(ctx, Places(), shape_of(steps[0])[0] if steps else 0)
    layer, h = _Lstm(ctx), state_of(ctx, 18, batch, outputs)
    c = Term(ctx, state_of(ctx, 19, batch, units)).to("int32")
    states: list[SSAValue] = []
    for x in steps:
        h, c = layer.step(x, h, c)
        states.append(h)
    return ctx.emit(StackOp, states, axis=axis), h, c.to("int16").value


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
    # The kernel has no activation.
    return saturated(ctx, moved.value, ctx.out_quantization(), "int8"), state.reshape(*ctx.shape(4)).value


TABLE = {
    "SVDF": Converter(svdf),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": Converter(sequence_lstm),
}
