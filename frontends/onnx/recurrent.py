"""RNN, GRU and LSTM of one or both directions, each with its own part of every input but the data and the lengths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ...dialects.relay.attributes import Value
from ...dialects.relay.recurrent import NUMPY
from ...dialects.sizes import same
from ..importing.attributes import Attribute, Flag, Float, Floats, Int, Word, Words
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.tensor import Tensor
from ..importing.terms import Term
from ..meanings.moves import stack, swap
from ..meanings.recurrent import GRU, LSTM, RNN, Direction, Kind
from ..meanings.slices import unstack
from .context import Context

_REVERSE = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}


def _hidden_size(ctx: Context, kind: Kind, directions: int, stated: int | None, batch_first: bool) -> int:
    """The units of a node whose inputs have the shapes that they must have."""
    data, weight, gates = ctx.shape(0), ctx.shape(2), len(kind.gates)
    if len(data) != 3:
        ctx.fail("a 3-d input (time, batch, features)", f"shape {list(data)}")
    if len(weight) != 3:
        ctx.fail("3-d recurrent weights (directions, gates, units)", f"shape {list(weight)}")
    hidden = weight[2] if stated is None else stated
    wanted = (directions, gates * hidden, hidden)
    if weight != wanted:
        by = f", as hidden_size is {hidden}" if hidden != weight[2] else ""
        ctx.fail(f"recurrent weights of shape {list(wanted)}{by}", str(list(weight)))
    if (own := ctx.shape(1)) != (*wanted[:2], data[2]):
        ctx.fail(f"weights of shape {[*wanted[:2], data[2]]}", str(list(own)))
    batch = data[not batch_first]
    states = (batch, directions, hidden) if batch_first else (directions, batch, hidden)
    shapes = {"biases": (directions, 2 * gates * hidden), "lengths": (batch,), "a first state": states}
    if kind is LSTM:
        shapes |= {"a first cell": states, "peepholes": (directions, 3 * hidden)}
    for index, (what, shape) in enumerate(shapes.items(), 3):
        if ctx.has(index):
            ctx.require_shape(index, shape, what)
    return hidden


def _spelled(
    ctx: Context, names: Sequence[str], count: int, alphas: Sequence[float] | None, betas: Sequence[float] | None
) -> list[str]:
    """Activations with alpha and beta, as the operators spell them."""
    if len(names) != count:
        ctx.fail(f"{count} activations", str(list(names)))
    numbers = (list(alphas or ()), list(betas or ()))
    spelled: list[str] = []
    for name in map(str.lower, names):
        if name not in NUMPY:
            ctx.fail(f"activations among {', '.join(NUMPY)}", name)
        # Numbers are given to those functions that have them, in order.
        own = [given.pop(0) if given else default for given, default in zip(numbers, NUMPY[name][0], strict=False)]
        spelled.append(f"{name}({', '.join(f'{number:.9g}' for number in own)})" if own else name)
    return spelled


def _unless_whole(ctx: Context, lengths: Tensor | None, time: int) -> Term | None:
    """The lengths of sequences, unless all are whole."""
    if lengths is None:
        return None
    known = ctx.known(4)
    if known is not None and known.size:
        ctx.require_least(time, int(known.max()), f"whether there are {known.max()} of {time} steps")
        if same(int(known.min()), time):
            return None
    return Term(ctx, ctx.value(4))


def recurrent(
    kind: Kind,
    ctx: Context,
    x: Term,
    weight: Term,
    of_state: Term,
    bias: Term | None,
    lengths: Tensor | None,
    *inner: Term | None,
    direction: str,
    batch_first: bool,
    hidden_size: int | None,
    clip: float,
    activations: Sequence[str] | None,
    alphas: Sequence[float] | None,
    betas: Sequence[float] | None,
    **options: Value,
) -> tuple[Term, ...]:
    """The results (time, directions, batch, hidden), or the batch first; then the states at the end.

    inner: the first states, then the peepholes of an LSTM.
    """
    reverse = _REVERSE[direction]
    count, functions = len(reverse), kind.activations.split()
    hidden = _hidden_size(ctx, kind, count, hidden_size, batch_first)
    if clip < 0:
        ctx.fail("a clip of at least 0", str(clip))
    spelled = _spelled(ctx, activations or functions * count, len(functions) * count, alphas, betas)
    data = swap(x, 0, 1) if batch_first else x
    ends = _unless_whole(ctx, lengths, data.shape[0])
    nothing = [None] * count
    biases = None if bias is None else unstack(bias.reshape(2 * count, len(kind.gates) * hidden), 0, 2 * count)
    states = [nothing if state is None else unstack(state, int(batch_first), count) for state in inner[: kind.states]]
    peepholes = [None if x is None else unstack(x.reshape(count, 3, hidden), 0, count) for x in inner[kind.states :]]
    weights, weights_of_state = (unstack(x, 0, count) for x in (weight, of_state))
    results: list[tuple[Term, ...]] = []
    for at, backwards in enumerate(reverse):
        layer = Direction(
            kind,
            weights[at],
            weights_of_state[at],
            *(biases[2 * at : 2 * at + 2] if biases else (None, None)),
            *(peephole and peephole[at] for peephole in peepholes),
            reverse=backwards,
            activations=" ".join(spelled[at * len(functions) : (at + 1) * len(functions)]),
            options={"clip": clip, **options},
        )
        results.append(layer.run(data, [state[at] for state in states], ends))
    steps, *last = zip(*results, strict=True)
    steps = [swap(part, 0, 1) if batch_first else part for part in steps]
    outer = int(batch_first)
    return stack(*steps, axis=1 + outer), *(stack(*state, axis=outer) for state in last)


_INPUTS = "X W R B? sequence_lens:tensor? initial_h?"
_ATTRIBUTES: Mapping[str, Attribute[Any]] = {
    "direction": Word("forward", among=tuple(_REVERSE)),
    "batch_first": Flag(False, name="layout"),
    "hidden_size": Int(None),
    "clip": Float(0.0),
    "activations": Words(None),
    "alphas": Floats(None, name="activation_alpha"),
    "betas": Floats(None, name="activation_beta"),
}
_OLDER = {"output_sequence": "before opset 7 said that the first output is wanted, which its name shows"}


def lstm(**options: Value) -> Converter[Any]:
    """The row of an LSTM, whose operator has these attributes, too."""
    inputs = f"{_INPUTS} initial_c? P?"
    return row(partial(recurrent, LSTM, **options), inputs, unread=_OLDER, input_forget=Flag(False), **_ATTRIBUTES)


TABLE = {
    "GRU": row(partial(recurrent, GRU), _INPUTS, unread=_OLDER, linear_before_reset=Flag(False), **_ATTRIBUTES),
    "LSTM": lstm(),
    "RNN": row(partial(recurrent, RNN), _INPUTS, unread=_OLDER, **_ATTRIBUTES),
}
