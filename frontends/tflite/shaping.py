"""Operators that move elements: reshapes, slices, pads, what joins and splits."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from xdsl.ir import SSAValue

from ..importing.attributes import Flag, Int, Ints
from ..importing.converter import Result
from ..importing.edges import Widths
from ..importing.rows import row
from ..importing.terms import Term
from ..meanings import creation, moves, pads, slices
from ..meanings.creation import Number
from .activations import fused
from .context import Context
from .values import DTYPES

_MOST_AXES = 8
"""Extents that LiteRT reads from options."""


def _reshape(ctx: Context, x: Term, shape: tuple[int, ...] | None, stated: tuple[int, ...]) -> Term:
    """To the shape in input 1, else in the options; one extent may be -1."""
    if len(stated) > _MOST_AXES:
        ctx.fail(f"at most {_MOST_AXES} extents in its options", str(len(stated)))
    return moves.reshape(x, stated if shape is None else shape)


def _squeeze(x: Term, axes: tuple[int, ...]) -> Term:
    return moves.squeeze(x, axes or None)


def _concatenation(ctx: Context, *values: Term, axis: int) -> SSAValue:
    return fused(ctx, moves.concatenate(*values, axis=axis).value)


def _unpack(ctx: Context, x: Term, axis: int) -> tuple[Term, ...]:
    return slices.unstack(x, axis, len(ctx.node.outputs))


def _counted(ctx: Context, count: int, stated: int) -> None:
    """Complain of parts that are not as many as outputs, and as the options say."""
    outputs = len(ctx.node.outputs)
    if not count == stated == outputs:
        ctx.fail(f"{outputs} parts, as many as outputs", f"{count}, and {stated} in the options")


def _split(ctx: Context, axis: int, x: Term, count: int) -> tuple[Term, ...]:
    _counted(ctx, count, count)
    return slices.split(x, axis, count)


def _split_v(ctx: Context, x: Term, sizes: tuple[int, ...], axis: int, count: int) -> tuple[Term, ...]:
    _counted(ctx, len(sizes), count)
    return slices.split_with_rest(x, sizes, axis)


def _zero(ctx: Context) -> float:
    """The number of input 0 that stands for 0."""
    return float(ctx.out_quantization().zero_point[0]) if ctx.quantized(0) else 0.0


def _pad(ctx: Context, x: Term, widths: Widths, value: Term | None = None) -> Term:
    return pads.bordered(x, widths, _zero(ctx) if value is None else value)


def _mirror_pad(x: Term, widths: Widths, mode: int) -> Term:
    return pads.bordered(x, widths, mode="symmetric" if mode == 1 else "mirror")


def _space_to_batch(ctx: Context, x: Term, block: Sequence[int], widths: Sequence[tuple[int, int]]) -> Term:
    return pads.space_to_batch(x, block, widths, _zero(ctx))


def _shape(ctx: Context, shape: tuple[int, ...]) -> Result:
    return creation.extents(ctx, shape, DTYPES.get(ctx.out().type, creation.INT))


def _range(ctx: Context, start: Number, limit: Number, step: Number) -> Result:
    return creation.numbers_from(ctx, start, limit, step, ctx.dtype(0), narrow=True)


def same(ctx: Context) -> Result:
    """The value under another name."""
    return ctx.tensor(0)


_AXIS, _BLOCK = Int(0, name="Axis"), Int(0, name="BlockSize")
_MASKS: Any = {
    f"{name}_mask": Int(0, name=f"{name.title().replace('_', '')}Mask")
    for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
}

TABLE = {
    "BATCH_TO_SPACE_ND": row(pads.batch_to_space, "input block:ints crops:pairs"),
    "BROADCAST_ARGS": row(creation.common_extents, "s0:ints s1:ints"),
    "BROADCAST_TO": row(moves.broadcast_to, "input shape:ints"),
    "CONCATENATION": row(_concatenation, "values*", axis=_AXIS),
    "DEPTH_TO_SPACE": row(partial(pads.depth_to_space, layout="NHWC"), "input", block=_BLOCK),
    "EXPAND_DIMS": row(moves.expand_dims, "input axis:size"),
    "FILL": row(creation.fill, "dims:ints value"),
    "MIRROR_PAD": row(_mirror_pad, "input widths:pairs", mode=Int(0, name="Mode")),
    "PACK": row(moves.stack, "values*", axis=_AXIS),
    "PAD": row(_pad, "input widths:pairs value?"),
    "PADV2": row(_pad, "input widths:pairs value?"),
    "RANGE": row(_range, "start:exact limit:exact delta:exact"),
    "RANK": row(creation.rank, "input:shape"),
    "RESHAPE": row(_reshape, "input shape:ints?", stated=Ints((), name="NewShape")),
    "REVERSE_V2": row(moves.reverse, "input axes:ints"),
    "SHAPE": row(_shape, "input:shape"),
    "SLICE": row(slices.slice_from, "input begin:ints size:ints"),
    "SPACE_TO_BATCH_ND": row(_space_to_batch, "input block:ints paddings:pairs"),
    "SPACE_TO_DEPTH": row(partial(pads.space_to_depth, layout="NHWC"), "input", block=_BLOCK),
    "SPLIT": row(_split, "axis:size value", count=Int(0, name="NumSplits")),
    "SPLIT_V": row(_split_v, "value sizes:ints axis:size", count=Int(0, name="NumSplits")),
    "SQUEEZE": row(_squeeze, "input", axes=Ints((), name="SqueezeDims")),
    "STRIDED_SLICE": row(
        slices.strided_slice, "input begin:ints end:ints strides:ints", lengths=Flag(False, name="Offset"), **_MASKS
    ),
    "TILE": row(moves.tile_each, "input repetitions:ints"),
    "TRANSPOSE": row(moves.transpose, "input order:ints"),
    "UNPACK": row(_unpack, "value", axis=_AXIS),
}
