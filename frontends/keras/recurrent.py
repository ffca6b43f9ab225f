"""SimpleRNN, GRU and LSTM, also as cells of RNN and in both directions: nn.rnn, nn.gru or nn.lstm per direction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.creation import ZerosOp
from ...dialects.relay.matmul import BiasAddOp, DenseOp
from ...dialects.relay.operator import Operator
from ...dialects.relay.rearrange import ReverseOp
from ...dialects.relay.recurrent import GRUOp, LSTMOp, RNNOp
from ...dialects.relay.transform import PadOp, StridedSliceOp, TransposeOp
from ...dialects.sizes import same, same_shape, symbols_of
from ...support.dtypes import Array
from ..importing.products import reshaped
from ..importing.recurrent_weights import padded_units, panels
from ..importing.tensor import dtype_of, shape_of
from ..importing.terms import Term
from .activations import function_of
from .context import Config, Context
from .masked_steps import MaskedSteps
from .masks import Masks
from .nests import entries_of, items_of, whole
from .rows import Carried, Row
from .weights import Variables


@dataclass(frozen=True)
class Kind:
    """A kind of cell."""

    op: type[Operator]
    order: tuple[int, ...]
    """The gates of the operator, by their places in Keras."""
    functions: tuple[str, ...]
    """The options that name the activations, as the operator takes them."""
    states: int = 1


KINDS = {
    "SimpleRNN": Kind(RNNOp, (0,), ("activation",)),
    "GRU": Kind(GRUOp, (0, 1, 2), ("recurrent_activation", "activation")),
    "LSTM": Kind(LSTMOp, (0, 3, 1, 2), ("recurrent_activation", "activation", "activation"), 2),
}
_DEFAULTS = {"activation": "tanh", "recurrent_activation": "sigmoid"}
_SPELLED = {name: name.replace("_", "") for name in ("relu", "sigmoid", "softplus", "softsign", "tanh")}


@dataclass
class Cell:
    """A cell that goes along a sequence: one direction of a layer. The context's weights are those of the cell."""

    ctx: Context
    kind: Kind

    def __post_init__(self) -> None:
        self.units = self.ctx.int("units", least=1)
        self.padded = padded_units(self.units)
        self.gates = len(self.kind.order)

    def activations(self) -> str:
        """The functions, as the operators spell them."""
        spelled: list[str] = []
        for option in self.kind.functions:
            entry = self.ctx.option(option, _DEFAULTS[option])
            function = function_of(entry)
            match function:
                case (name, _) if name in _SPELLED:
                    spelled.append(_SPELLED[name])
                case ("linear", _):
                    spelled.append("affine(1, 0)")
                case ("hard_sigmoid", _):
                    slope = 1 / 6 if self.ctx.node.major >= 3 else 0.2
                    spelled.append(f"hardsigmoid({slope:.9g}, 0.5)")
                case ("elu" as name, options):
                    alpha = self.ctx.inside("", name, options).float("alpha", 1.0)
                    spelled.append(f"elu({alpha:.9g})")
                case ("leaky_relu" as name, options):
                    slope = self.ctx.inside("", name, options).float("negative_slope", 0.2)
                    spelled.append(f"leakyrelu({slope:.9g})")
                case _:
                    wanted = f"'{option}' among {', '.join((*_SPELLED, 'linear', 'hard_sigmoid', 'elu', 'leaky_relu'))}"
                    self.ctx.fail(wanted, repr(entry)[:60])
        return " ".join(spelled)

    def grown(self, array: Array) -> Array:
        """Columns (.., gates * units) in the operator's order of gates, with zeros for the units too many."""
        apart = array.reshape(*array.shape[:-1], self.gates, self.units)[..., list(self.kind.order), :]
        widths = [(0, 0)] * (apart.ndim - 1) + [(0, self.padded - self.units)]
        return np.pad(apart, widths).reshape(*array.shape[:-1], self.gates * self.padded)

    def projected(self, data: SSAValue) -> SSAValue:
        """The products of all steps' input (time, batch, features), with the biases."""
        ctx = self.ctx
        time, batch, features = shape_of(data)
        columns = self.gates * self.units
        kernel = self.grown(ctx.numbers("kernel", (features, columns)))
        weight = ctx.of_weight("kernel", np.ascontiguousarray(kernel.T))
        product = ctx.emit(DenseOp, reshaped(ctx, data, (time * batch, features)), weight)
        if ctx.has_weight("bias"):
            own, _ = self.biases()
            product = ctx.emit(BiasAddOp, product, ctx.of_weight("bias", self.grown(own)))
        return reshaped(ctx, product, (time, batch, self.gates * self.padded))

    def biases(self) -> tuple[Array, Array]:
        """The bias of the input's product, and that of the hidden gate's product with the state (of a GRU)."""
        ctx, columns = self.ctx, self.gates * self.units
        nothing = np.zeros(self.units, np.float32)
        if not self.resets_after:
            return ctx.numbers("bias", (columns,)), nothing
        of_input, of_state = ctx.numbers("bias", (2, columns))
        # The hidden gate's bias of the state's product is not added before the reset gate is known.
        hidden = of_state[2 * self.units :]
        return of_input + np.concatenate([of_state[: 2 * self.units], np.zeros_like(hidden)]), hidden

    @property
    def resets_after(self) -> bool:
        return self.kind.op is GRUOp and self.ctx.flag("reset_after", self.ctx.node.major >= 3)

    def packed(self) -> SSAValue:
        """The recurrent weights in panels (units / block, hidden, gates, block)."""
        ctx = self.ctx
        rows = self.grown(ctx.numbers("recurrent_kernel", (self.units, self.gates * self.units)))
        weight = ctx.of_weight("recurrent_kernel", np.ascontiguousarray(rows.T))
        with ctx.builder.located(ctx.tensor(ctx.weight_place("recurrent_kernel")).location):
            return panels(ctx, weight, self.gates, self.padded)

    def initial(self, entry: SSAValue | None, batch: int, dtype: str) -> SSAValue:
        """A first state (batch, units); zeros without one."""
        ctx = self.ctx
        if entry is not None:
            if len(shape_of(entry)) != 2 or not same(shape_of(entry)[1], self.units):
                ctx.fail(f"a first state of {self.units} units", f"shape {list(shape_of(entry))}")
            if self.padded == self.units:
                return entry
            widths = (0, 0, 0, self.padded - self.units)
            return ctx.emit(PadOp, entry, ctx.scalar(0.0, entry), pad_width=widths)
        if symbols_of(batch):
            return ctx.emit(ZerosOp, shape=(batch, self.padded), dtype=dtype)
        return ctx.constant(np.zeros((batch, self.padded), np.dtype(dtype)), "zeros")

    def run(
        self,
        data: SSAValue,
        states: Sequence[SSAValue] | None,
        reverse: bool,
        lengths: SSAValue | None = None,
    ) -> list[SSAValue]:
        """All steps of `data` (time, batch, features): the results (time, batch, units), then the last states."""
        ctx = self.ctx
        if states is not None and len(states) != self.kind.states:
            ctx.fail(f"{self.kind.states} first states", str(len(states)))
        batch, dtype = shape_of(data)[1], ctx.dtype_name
        first = [self.initial(None if states is None else states[at], batch, dtype) for at in range(self.kind.states)]
        operands: list[SSAValue | None] = [self.projected(data), self.packed(), *first]
        attributes: dict[str, Any] = {"reverse": reverse, "activations": self.activations()}
        if self.kind.op is GRUOp:
            _, hidden = self.biases() if ctx.has_weight("bias") else (None, np.zeros(self.units, np.float32))
            grown = np.pad(hidden, (0, self.padded - self.units))
            own = ctx.of_weight("bias", grown) if self.resets_after and ctx.has_weight("bias") else None
            operands.append(own or ctx.constant(grown.astype(np.dtype(dtype)), "zeros"))
            attributes["linear_before_reset"] = self.resets_after
        if self.kind.op is LSTMOp:
            operands.append(None)
        results = ctx.emit_all(self.kind.op, *operands, lengths, **attributes)
        if self.padded == self.units:
            return list(results)
        return [self._cut(result) for result in results]

    def _cut(self, value: SSAValue) -> SSAValue:
        axis = len(shape_of(value)) - 1
        return self.ctx.emit(StridedSliceOp, value, begin=(0,), end=(self.units,), axes=(axis,))


def cells_of(ctx: Context) -> list[Cell]:
    """The cells of a recurrent layer, of which each reads what the one before it gives."""
    if (kind := KINDS.get(ctx.node.op_type)) is not None:
        return [Cell(ctx.inside("cell", ctx.node.op_type, ctx.config), kind)]
    return [_cell(ctx, path, name, config) for path, name, config in _cells(ctx.config)]


def _cell(ctx: Context, path: str, name: str, config: Config) -> Cell:
    kind = KINDS.get(name.removesuffix("Cell")) if name.endswith("Cell") else None
    if kind is None:
        ctx.fail("cells among SimpleRNNCell, GRUCell and LSTMCell", name)
    return Cell(ctx.inside(path.replace("/", "."), name, config), kind)


def _cells(config: Config) -> list[tuple[str, str, Config]]:
    """The cells of an RNN: where their weights are, their class and configuration. Raises ValueError for none."""
    entry = entry_of(config.get("cell"))
    if entry[0] != "StackedRNNCells":
        return [("cell", *entry)]
    counts: dict[str, int] = {}
    cells: list[tuple[str, str, Config]] = []
    for cell in items_of(entry[1].get("cells")) or ():
        name, own = entry_of(cell)
        key = {"SimpleRNNCell": "simple_rnn_cell", "GRUCell": "gru_cell", "LSTMCell": "lstm_cell"}.get(name, name)
        count = counts.get(key, 0)
        counts[key] = count + 1
        cells.append((f"cell/cells/{key}_{count}" if count else f"cell/cells/{key}", name, own))
    if not cells:
        raise ValueError("cells of StackedRNNCells")
    return cells


def entry_of(nest: Any) -> tuple[str, Config]:
    """Class and configuration of an object in a configuration; raises ValueError for none."""
    entries = entries_of(nest) or {}
    name, config = entries.get("class_name"), entries_of(entries.get("config"))
    if not isinstance(name, str) or config is None:
        raise ValueError("a class and its configuration")
    return name, config


def time_first(ctx: Context, value: SSAValue) -> SSAValue:
    """(batch, time, ..) as (time, batch, ..), or back."""
    return ctx.emit(TransposeOp, value, axes=(1, 0, *range(2, len(shape_of(value)))))


def sequence(
    ctx: Context,
    operands: Sequence[SSAValue],
    states: Sequence[SSAValue] | None,
    flip: bool,
    mask: SSAValue | None = None,
) -> list[SSAValue]:
    """The results of a recurrent layer: all steps or the last one, then the states where they are wanted.

    flip: whether results of a layer that goes backwards are in the order of its steps, as Keras has them. mask: (batch,
    time), false at steps that change nothing.
    """
    data = operands[0]
    if len(shape_of(data)) != 3:
        ctx.fail("an input of 3 dimensions (batch, time, features)", f"shape {list(shape_of(data))}")
    if ctx.flag("time_major", False):
        ctx.fail("'time_major' false: the batch first", "true")
    if len(operands) > 1:
        states = operands[1:]
    carried = [ctx.value(at) for at in ctx.node.states]
    states = states or carried or None
    reverse, every = ctx.flag("go_backwards", False), ctx.flag("return_sequences", False)
    masked = None if mask is None else _masked(ctx, mask, data)
    data = data if masked is None else masked.joined(data)
    steps, last = time_first(ctx, data), list[SSAValue]()
    cells = cells_of(ctx)
    if states is not None and len(states) != sum(cell.kind.states for cell in cells):
        ctx.fail(f"{sum(cell.kind.states for cell in cells)} first states", str(len(states)))
    at = 0
    for cell in cells:
        entry = None if states is None else states[at : at + cell.kind.states]
        at += cell.kind.states
        steps, *own = cell.run(steps, entry, reverse, None if masked is None else masked.lengths)
        last += own
    result = last[-cells[-1].kind.states]
    zero = ctx.flag("zero_output_for_mask", False)
    if every:
        result = time_first(ctx, steps)
        if masked is not None:
            result = masked.apart(result, reverse, zero)
        if reverse and flip:
            result = ctx.emit(ReverseOp, result, axis=(1,))
    elif masked is not None and zero:
        result = masked.at_end(result, reverse)
    kept = [Term(ctx, state).to(dtype_of(was)).value for state, was in zip(last, carried, strict=bool(carried))]
    return [result, *(last if ctx.flag("return_state", False) else ()), *kept]


def recurrent(ctx: Context) -> tuple[SSAValue, ...]:
    states = ctx.operands(1, "initial_state") if ctx.argument(1, "initial_state") is not None else None
    if states is None and ctx.argument(0, "sequences") is None:
        ctx.fail("a sequence", "none")
    operands = ctx.operands(0, "sequences")
    return tuple(sequence(ctx, operands, states, flip=True, mask=ctx.mask(2)))


def _masked(ctx: Context, mask: SSAValue, data: SSAValue) -> MaskedSteps:
    if not same_shape(shape_of(mask), shape_of(data)[:2]):
        ctx.fail(f"a mask of shape {list(shape_of(data)[:2])}", f"shape {list(shape_of(mask))}")
    return MaskedSteps(ctx, mask)


def variables_of(kind: str, config: Config) -> tuple[Variables, ...]:
    """The variables of a recurrent layer, by its class and configuration."""
    cells = [("cell", kind, config)] if kind in KINDS else _cells(config)
    names = ("kernel", "recurrent_kernel")
    return tuple(Variables((*names, "bias") if own.get("use_bias", True) else names, path) for path, _, own in cells)


MASKS = Masks({"mask": 2}, kept=lambda config: int(config.get("return_sequences") is True))


def carried_by(kind: str, config: Config) -> Carried | None:
    """The states that a recurrent layer keeps from call to call, by its class and configuration."""
    if config.get("stateful") is not True:
        return None
    cells = [("cell", kind, config)] if kind in KINDS else _cells(config)
    widths: list[int] = []
    for _, name, own in cells:
        units, cell = whole(own.get("units")), KINDS.get(name.removesuffix("Cell"))
        if units is None or units < 1 or cell is None:
            raise ValueError(f"units of a {name} that keeps its states, got {own.get('units')!r}")
        widths += [units] * cell.states
    return Carried(tuple(widths), 1 + (len(widths) if config.get("return_state") is True else 0))


def _row(kind: str) -> Row:
    return Row(recurrent, lambda config: variables_of(kind, config), MASKS, lambda config: carried_by(kind, config))


TABLE = {kind: _row(kind) for kind in (*KINDS, "RNN")}
