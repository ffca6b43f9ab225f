"""Layers around another layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay.transform import ConcatenateOp
from ..importing.tensor import shape_of
from ..importing.terms import Term
from .context import Config, Context
from .conv_lstm import KINDS as CONV_KINDS
from .conv_lstm import conv_sequence, conv_variables
from .masks import Masks
from .recurrent import KINDS, carried_by, entry_of, sequence, variables_of
from .rows import Carried, Row
from .weights import Variables

ItemT = TypeVar("ItemT")
MODES = ("concat", "sum", "mul", "ave")


def bidirectional(ctx: Context) -> tuple[SSAValue, ...]:
    """A recurrent layer along a sequence, and one backwards, whose results are merged step by step."""
    states = ctx.operands(1, "initial_state") if ctx.argument(1, "initial_state") is not None else None
    operands = ctx.operands(0, "sequences")
    if len(operands) > 1:
        states, operands = operands[1:], operands[:1]
    results: list[list[SSAValue]] = []
    for at, (kind, config) in enumerate(_directions(ctx.config)):
        # Steps that a mask leaves out are 0 in both directions, whatever the layers say.
        config = {**config, "zero_output_for_mask": config.get("return_sequences", False)}
        inner = ctx.inside(("forward_layer", "backward_layer")[at], kind, config)
        inner = replace(inner, node=replace(inner.node, states=_half(ctx.node.states, at)))
        run = conv_sequence if kind in CONV_KINDS else sequence
        first = None if states is None else _half(states, at)
        results.append(run(inner, operands, first, flip=False, mask=ctx.mask(2)))
    (forward, *last), (backward, *last_back) = results
    kept = len(ctx.node.states) // 2
    shown = len(last) - kept
    states_out = [*last[:shown], *last_back[:shown], *last[shown:], *last_back[shown:]]
    mode = ctx.option("merge_mode", "concat")
    if mode is None:
        return forward, backward, *states_out
    match ctx.choice("merge_mode", MODES, "concat"):
        case "concat":
            merged = ctx.emit(ConcatenateOp, [forward, backward], axis=len(shape_of(forward)) - 1)
        case "mul":
            merged = ctx.emit(ew.MultiplyOp, forward, backward)
        case mode:
            merged = ctx.emit(ew.AddOp, forward, backward)
            merged = (Term(ctx, merged) * 0.5).value if mode == "ave" else merged
    return merged, *states_out


def _half(states: Sequence[ItemT], at: int) -> Sequence[ItemT]:
    """The states of one direction."""
    half = len(states) // 2
    return states[half:] if at else states[:half]


def _directions(config: Config) -> tuple[tuple[str, Config], tuple[str, Config]]:
    """Class and configuration of both layers; raises ValueError for others than recurrent ones."""
    kind, there = entry_of(config.get("layer"))
    own_states = config.get("backward_layer")
    back_kind, back = entry_of(own_states) if own_states is not None else (kind, {**there, "go_backwards": True})
    if back.get("go_backwards", False) == there.get("go_backwards", False):
        back = {**back, "go_backwards": not there.get("go_backwards", False)}
    for name in (kind, back_kind):
        if name not in (*KINDS, *CONV_KINDS, "RNN"):
            raise ValueError(f"a recurrent layer in both directions, got {name}")
    return (kind, there), (back_kind, back)


def _of_both(config: Config) -> tuple[Variables, ...]:
    (kind, there), (back_kind, back) = _directions(config)
    outer = str(there.get("name", "")).removeprefix("forward_")
    own: Config = entry_of(config["backward_layer"])[1] if config.get("backward_layer") is not None else {}
    behind = str(own.get("name", f"backward_{outer}"))
    return (
        *(part.under("forward_layer", f"forward_{outer}") for part in _of_direction(kind, there)),
        *(part.under("backward_layer", behind) for part in _of_direction(back_kind, back)),
    )


def _of_direction(kind: str, config: Config) -> tuple[Variables, ...]:
    return conv_variables(config) if kind in CONV_KINDS else variables_of(kind, config)


def wrapped(rows: Mapping[str, Row]) -> dict[str, Row]:
    """The rows of layers around a layer of the table."""

    def row_of(config: Config) -> tuple[Row, str, Config]:
        kind, inner = entry_of(config.get("layer"))
        if kind not in rows:
            raise ValueError(f"a layer that is supported, got {kind}")
        return rows[kind], kind, inner

    def time_distributed(ctx: Context) -> Any:
        """The layer of each step: steps are more of the batch."""
        row, kind, config = row_of(ctx.config)
        if config.get("stateful") is True:
            ctx.fail("a layer that begins anew at each step", "a stateful one")
        data = ctx.data()
        batch, time, *rest = shape_of(data)
        if len(rest) < 1:
            ctx.fail("an input of at least 3 dimensions (batch, time, ..)", f"shape {list(shape_of(data))}")
        flat = Term(ctx, data).reshape(batch * time, *rest).value
        inner, mask = ctx.with_values(flat), ctx.mask(2)
        if mask is not None and len(shape_of(mask)) > 2 and "mask" in row.masks.reads:
            _, _, *steps = shape_of(mask)
            inner = ctx.with_values(flat, Term(ctx, mask).reshape(batch * time, *steps).value, names=("", "mask"))
        result = row.convert(inner.inside("layer", kind, config))
        if not isinstance(result, SSAValue):
            ctx.fail("a layer of one result", kind)
        _, *rest = shape_of(result)
        return Term(ctx, result).reshape(batch, time, *rest).value

    def spectral(ctx: Context) -> Any:
        """At inference the layer as it is, in the element type of the wrapper."""
        row, kind, config = row_of(ctx.config)
        result: Any = row.convert(ctx.inside("layer", kind, config))
        return ctx.cast(result, ctx.dtype_name)

    def inner(config: Config) -> Sequence[Variables]:
        row, _, own = row_of(config)
        return [part.under("layer") for part in row.variables(own)]

    def of_spectral(config: Config) -> Sequence[Variables]:
        kind, _ = entry_of(config.get("layer"))
        name = "embeddings" if kind == "Embedding" else "kernel"
        return [*inner(config), Variables((name, "vector_u"), older=("vector_u",))]

    return {
        "SpectralNormalization": Row(spectral, of_spectral),
        "TimeDistributed": Row(time_distributed, inner, Masks({"mask": 2}, kept=lambda config: 1)),
    }


def _kept(config: Config) -> int:
    """Return how many of the results are of all steps."""
    (_, there), _ = _directions(config)
    return (2 if config.get("merge_mode", "concat") is None else 1) if there.get("return_sequences") is True else 0


def _carried(config: Config) -> Carried | None:
    """The states of both directions, and the results before them."""
    both = [carried_by(kind, own) for kind, own in _directions(config)]
    kept = [own for own in both if own is not None]
    if not kept:
        return None
    if len(kept) < 2:
        raise ValueError("layers of both directions that keep their states, got one")
    results = sum(own.results for own in kept) - (1 if config.get("merge_mode", "concat") is not None else 0)
    return Carried(tuple(width for own in kept for width in own.widths), results)


TABLE = {"Bidirectional": Row(bidirectional, _of_both, Masks({"mask": 2}, _kept), _carried)}
