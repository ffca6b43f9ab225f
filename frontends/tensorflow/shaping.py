"""Operators that move elements: reshapes, what joins and splits, pads, blocks."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ..importing.attributes import Element, Int, Ints, Word
from ..importing.converter import Converter, Result
from ..importing.edges import Widths
from ..importing.rows import row
from ..importing.terms import Term, axis_of, term
from ..meanings import creation, moves, pads, slices
from .context import Context


def _concat(axis: int, *values: Term) -> Term:
    return moves.concatenate(*values, axis=axis)


def _concat_v2(ctx: Context) -> SSAValue:
    """The axis comes last."""
    last = len(ctx.inputs) - 1
    axis = ctx.size(last, "axis")
    if not last:
        ctx.fail("tensors to concatenate", "none")
    return moves.concatenate(*(term(ctx, index) for index in range(last)), axis=axis).value


def _pack(*values: Term, axis: int) -> Term:
    """Each value with a new axis, then concatenated, as TVM has it."""
    at = axis_of(values[0], axis, 1)
    rows = [moves.expand_dims(x, at) for x in values]
    return moves.concatenate(*rows, axis=at) if rows[1:] else rows[0]


def _squeeze(x: Term, axes: tuple[int, ...]) -> Term:
    return moves.squeeze(x, axes or None)


def _split(axis: int, x: Term, count: int) -> tuple[Term, ...]:
    return slices.split(x, axis, count)


def _mirror_pad(x: Term, widths: Widths, mode: str) -> Term:
    return pads.bordered(x, widths, mode="symmetric" if mode == "SYMMETRIC" else "mirror")


def ensure_shape(ctx: Context) -> Result:
    """The value, which must have the shape that the attribute says."""
    value = ctx.attribute("shape")
    wanted, own = None if value is None else value.shape, ctx.shape(0)
    if wanted is not None and not wanted.unknown_rank:
        extents = [int(dim.size) for dim in wanted.dim]
        if len(extents) != len(own):
            ctx.fail(f"a shape {extents}", str(list(own)))
        ctx.require_shape(0, [o if e < 0 else e for e, o in zip(extents, own, strict=True)], "an input")
    return ctx.tensor(0)


_OUT_TYPE = Element(creation.INT, name="out_type")
_BLOCK, _LAYOUT = Int(0, name="block_size"), Word("NHWC", among=("NHWC", "NCHW"), name="data_format")

TABLE = {
    "BatchToSpaceND": row(pads.batch_to_space, "input block_shape:ints crops:pairs"),
    "BroadcastArgs": row(creation.common_extents, "s0:ints s1:ints"),
    "BroadcastTo": row(moves.broadcast_to, "input shape:ints"),
    "Concat": row(_concat, "concat_dim:size values*"),
    "ConcatV2": Converter(_concat_v2),
    "DepthToSpace": row(pads.depth_to_space, "input", block=_BLOCK, layout=_LAYOUT),
    "EnsureShape": Converter(ensure_shape),
    "ExpandDims": row(moves.expand_dims, "input axis:size"),
    "Fill": row(creation.fill, "dims:ints value"),
    "MirrorPad": row(_mirror_pad, "input paddings:pairs", mode=Word(among=("REFLECT", "SYMMETRIC"))),
    "Pack": row(_pack, "values*", axis=Int(0)),
    "Pad": row(pads.bordered, "input paddings:pairs"),
    "PadV2": row(pads.bordered, "input paddings:pairs constant_values"),
    "Rank": row(creation.rank, "input:shape"),
    "Reshape": row(moves.reshape, "tensor shape:ints"),
    "ReverseV2": row(moves.reverse, "tensor axis:ints"),
    "Roll": row(moves.roll, "input shift:ints axis:ints"),
    "Shape": row(creation.extents, "input:shape", dtype=_OUT_TYPE),
    "ShapeN": row(creation.each_extents, "input:shape*", dtype=_OUT_TYPE),
    "Size": row(creation.size, "input:shape", dtype=_OUT_TYPE),
    "SpaceToBatchND": row(pads.space_to_batch, "input block_shape:ints paddings:pairs"),
    "SpaceToDepth": row(pads.space_to_depth, "input", block=_BLOCK, layout=_LAYOUT),
    "Split": row(_split, "axis:size value", count=Int(0, name="num_split")),
    "SplitV": row(slices.split_with_rest, "value sizes:ints axis:size"),
    "Squeeze": row(_squeeze, "input", axes=Ints((), name="squeeze_dims")),
    "Tile": row(moves.tile_each, "input repetitions:ints"),
    "Transpose": row(moves.transpose, "x perm:ints"),
    "Unpack": row(slices.unstack, "value", axis=Int(0), count=Int(0, name="num")),
}
