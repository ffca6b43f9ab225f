"""SimpleRNN, GRU and LSTM, also as cells of RNN and in both directions: nn.rnn, nn.gru or nn.lstm per direction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.ir import SSAValue

from ...dialects.relay.rearrange import ReverseOp
from ...dialects.sizes import same, same_shape
from ..importing.tensor import dtype_of, shape_of
from ..importing.terms import Term
from ..meanings.moves import swap
from ..meanings.recurrent import GRU, LSTM, RNN, Direction, Kind
from .activations import function_of
from .context import Config, Context
from .masked_steps import MaskedSteps
from .masks import Masks
from .nests import entries_of, items_of, whole
from .rows import Carried, Row
from .weights import Variables


@dataclass(frozen=True)
class CellKind:
    """A kind of cell."""

    kind: Kind
    gates: str
    """In the order of Keras."""
    functions: tuple[str, ...]
    """The options that name the activations, as the operator takes them."""

    @property
    def states(self) -> int:
        return self.kind.states


KINDS = {
    "SimpleRNN": CellKind(RNN, "h", ("activation",)),
    "GRU": CellKind(GRU, "zrh", ("recurrent_activation", "activation")),
    "LSTM": CellKind(LSTM, "ifco", ("recurrent_activation", "activation", "activation")),
}
_DEFAULTS = {"activation": "tanh", "recurrent_activation": "sigmoid"}
_SPELLED = {name: name.replace("_", "") for name in ("relu", "sigmoid", "softplus", "softsign", "tanh")}


@dataclass
class Cell:
    """A cell that goes along a sequence: one direction of a layer. The context's weights are those of the cell."""

    ctx: Context
    kind: CellKind

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

    def direction(self, features: int, reverse: bool) -> Direction:
        ctx, kind, units = self.ctx, self.kind.kind, self.ctx.int("units", least=1)
        columns, biases = len(kind.gates) * units, list[Term]()
        resets_after = kind is GRU and ctx.flag("reset_after", ctx.node.major >= 3)
        if ctx.has_weight("bias"):
            numbers = ctx.numbers("bias", (2, columns) if resets_after else (columns,))
            biases = [Term(ctx, ctx.of_weight("bias", bias)) for bias in numbers.reshape(-1, columns)]
        return Direction(
            kind,
            Term(ctx, ctx.arranged("kernel", (features, columns), (1, 0))),
            Term(ctx, ctx.arranged("recurrent_kernel", (units, columns), (1, 0))),
            *biases,
            gates=self.kind.gates,
            reverse=reverse,
            activations=self.activations(),
            options={"linear_before_reset": resets_after} if kind is GRU else {},
        )

    def run(self, data: Term, states: Sequence[Term], reverse: bool, lengths: Term | None) -> tuple[Term, ...]:
        """All steps of `data` (time, batch, features): the results (time, batch, units), then the last states."""
        layer = self.direction(data.shape[2], reverse)
        for state in states:
            if len(state.shape) != 2 or not same(state.shape[1], layer.hidden):
                self.ctx.fail(f"a first state of {layer.hidden} units", f"shape {list(state.shape)}")
        return layer.run(data, states or [None] * self.kind.states, lengths)


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
    begun = [Term(ctx, state) for state in states or carried]
    reverse, every = ctx.flag("go_backwards", False), ctx.flag("return_sequences", False)
    masked = None if mask is None else _masked(ctx, mask, data)
    data = data if masked is None else masked.joined(data)
    steps, last = swap(Term(ctx, data), 0, 1), list[Term]()
    cells = cells_of(ctx)
    if begun and len(begun) != sum(cell.kind.states for cell in cells):
        ctx.fail(f"{sum(cell.kind.states for cell in cells)} first states", str(len(begun)))
    lengths = None if masked is None else Term(ctx, masked.lengths)
    for cell in cells:
        at = len(last)
        steps, *own = cell.run(steps, begun[at : at + cell.kind.states], reverse, lengths)
        last += own
    result = last[-cells[-1].kind.states].value
    zero = ctx.flag("zero_output_for_mask", False)
    if every:
        result = swap(steps, 0, 1).value
        if masked is not None:
            result = masked.apart(result, reverse, zero)
        if reverse and flip:
            result = ctx.emit(ReverseOp, result, axis=(1,))
    elif masked is not None and zero:
        result = masked.at_end(result, reverse)
    kept = [state.to(dtype_of(was)).value for state, was in zip(last, carried, strict=bool(carried))]
    return [result, *((state.value for state in last) if ctx.flag("return_state", False) else ()), *kept]


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
