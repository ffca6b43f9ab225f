"""Groups of rows: histograms, bags of words, experts, boxes that others cover, and repetition by tensors."""

from __future__ import annotations

from math import prod
from typing import cast

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay.cumulative import CumsumOp
from ...dialects.relay.detection import NonMaxSuppressionOp
from ...dialects.relay.indexing import AdvIndexOp, ArgwhereOp
from ...dialects.relay.logic import GreaterEqualOp, LessEqualOp, LogicalAndOp
from ...dialects.relay.reduce import MaxOp, MinOp
from ...dialects.relay.scatter import ScatterElementsOp, ScatterNdOp
from ...dialects.relay.sorting import ArgsortOp, SearchSortedOp
from ...dialects.relay.transform import BroadcastToOp, ConcatenateOp, ReshapeOp, TakeOp, TransposeOp
from ...dialects.sizes import Size, SizeExpr
from ..importing.attributes import Flag, Float
from ..importing.converter import Converter, Narrowed
from ..importing.indices import check_indices
from ..importing.products import product
from ..importing.rows import row
from ..importing.tensor import dtype_of, shape_of
from ..importing.terms import Term, maximum, minimum, places, where
from ..meanings.elementwise import is_close
from .context import Context
from .promotion import FLOAT, LONG, cast_to, number_term
from .shaping import broadcast, cut, shaped


def _histc(ctx: Context) -> SSAValue:
    """So many bins of one width between two ends, the last with its end; the data's own ends where both are equal."""
    data = ctx.term("self")
    x = (
        data.reshape(prod(data.shape)).to(FLOAT)
        if data.dtype.itemsize < 4 or data.dtype.kind in "iub"
        else data.reshape(prod(data.shape))
    )
    bins, low, high = ctx.int("bins", 100), ctx.float("min", 0.0), ctx.float("max", 0.0)
    if bins < 1 or high < low:
        ctx.fail("bins of at least 1, and max of at least min", f"bins {bins}, min {low} and max {high}")
    if low == high:
        least, most = (x.apply(op, axis=(0,), keepdims=False) for op in (MinOp, MaxOp))
        equal = least.equal(most)
        least, most = where(equal, least - 1.0, least), where(equal, most + 1.0, most)
    else:
        least, most = (number_term(ctx, end, x.dtype) for end in (low, high))
    inside = x.apply(GreaterEqualOp, least).apply(LogicalAndOp, x.apply(LessEqualOp, most))
    bin_ = minimum(((where(inside, x, least) - least) * float(bins) / (most - least)).to(LONG), float(bins - 1))
    counts = ctx.constant(np.zeros(bins, data.dtype), "counts")
    return ctx.emit(ScatterElementsOp, counts, bin_.value, inside.to(data.dtype).value, axis=0, reduction="add")


def _group_of(ctx: Context, ends: SSAValue, rows: Size) -> Term:
    """The number of the group of each row: groups lie behind each other, and end before the row that `ends` says."""
    row = places(ctx, cast("int", rows), dtype=dtype_of(ends).name)
    return Term(ctx, ctx.emit(SearchSortedOp, ends, row.value, right=True, dtype="int64"))


def grouped_product(ctx: Context, rows: SSAValue, weights: SSAValue, ends: SSAValue) -> SSAValue:
    """Rows (t, k), each times the matrix (g, k, n) of its group; what is behind the last group is 0.

    Every group's matrix multiplies every row, of which its own ones stay: sizes of groups are data.
    """
    (count, depth), (groups, _, _) = shape_of(rows), shape_of(weights)
    every = product(ctx, shaped(ctx, rows, (1, count, depth)), weights)
    group = _group_of(ctx, ends, count)
    own = ctx.emit(AdvIndexOp, every, minimum(group, float(groups - 1)).value, places(ctx, count).value)
    return where((group < float(groups)).reshape(count, 1), Term(ctx, own), 0.0).value


def _grouped_mm(ctx: Context) -> SSAValue:
    """Products of groups of rows (2-d by 3-d), columns (3-d by 2-d) or depths (2-d by 2-d), or of all (3-d by 3-d)."""
    left, right = ctx.of("self"), ctx.of("mat2")
    dtype = ctx.element("out_dtype", ctx.dtype_of("self"))
    assert dtype is not None
    if ctx.given("bias"):
        ctx.fail("grouped products without a bias", "one with a bias")
    ranks = len(shape_of(left)), len(shape_of(right))
    half = ctx.dtype_of("self").itemsize < 4
    left, right = (cast_to(ctx, value, FLOAT) if half else value for value in (left, right))
    match ranks:
        case (3, 3):
            result = product(ctx, left, right)
        case (2, 3):
            result = grouped_product(ctx, left, right, ctx.of("offs"))
        case (3, 2):
            rows, weights = ctx.emit(TransposeOp, right, axes=(1, 0)), ctx.emit(TransposeOp, left, axes=(0, 2, 1))
            result = ctx.emit(TransposeOp, grouped_product(ctx, rows, weights, ctx.of("offs")), axes=(1, 0))
        case _:
            groups = shape_of(ctx.of("offs"))[0]
            group = _group_of(ctx, ctx.of("offs"), shape_of(left)[1])
            own = group.equal(places(ctx, groups).reshape(groups, 1)).reshape(groups, 1, shape_of(left)[1])
            masked = where(own, Term(ctx, shaped(ctx, left, (1, *shape_of(left)))), 0.0)
            result = product(ctx, masked.value, right)
    return cast_to(ctx, result, dtype)


def _grouped_fallback(ctx: Context) -> SSAValue:
    return grouped_product(ctx, ctx.of("input"), ctx.of("weight"), ctx.of("offs"))


_MODES = ("sum", "mean", "max")


def _embedding_bag(ctx: Context) -> tuple[SSAValue, ...]:
    """Sums, means or maxima of the rows of each bag; bags lie behind each other, and begin at `offsets`.

    The other results, which only gradients need, are not given.
    """
    weight, mode = ctx.of("weight"), ctx.int("mode")
    if not 0 <= mode < len(_MODES):
        ctx.fail("mode 0 (sum), 1 (mean) or 2 (max)", str(mode))
    check_indices(ctx, ctx.at("indices"), ctx.shape_of("weight")[:1])
    indices, offsets = cast_to(ctx, ctx.of("indices"), LONG), cast_to(ctx, ctx.of("offsets"), LONG)
    bags = shape_of(offsets)[0]
    if ctx.flag("include_last_offset"):
        bags = bags - 1
        offsets = cut(ctx, offsets, 0, 0, bags)
    rows = Term(ctx, ctx.emit(TakeOp, weight, indices, axis=0))
    count, width = rows.shape
    bag = _group_of(ctx, offsets, count) - 1.0
    if ctx.given("per_sample_weights"):
        rows = rows * ctx.term("per_sample_weights").reshape(count, 1)
    counted = rows.number(1.0)
    counted = Term(ctx, ctx.emit(BroadcastToOp, counted.value, shape=(count,)))
    kept: Term | None = None
    if ctx.given("padding_idx") and (ignored := ctx.int("padding_idx")) != -1:
        ignored = ignored + shape_of(weight)[0] if ignored < 0 else ignored
        kept = Term(ctx, indices).equal(float(ignored)).apply(ew.LogicalNotOp)
        counted = where(kept, counted, 0.0)
        rows = where(kept.reshape(count, 1), rows, -np.inf if mode == 2 else 0.0)
    points = bag.reshape(1, count)
    zeros = rows.number(0.0)
    sizes = Term(ctx, ctx.emit(BroadcastToOp, zeros.value, shape=(bags,)))
    sizes = Term(ctx, ctx.emit(ScatterNdOp, sizes.value, points.value, counted.value, mode="add")).reshape(bags, 1)
    start = rows.number(-np.inf) if mode == 2 else zeros
    start = Term(ctx, ctx.emit(BroadcastToOp, start.value, shape=(bags, width)))
    how = "max" if mode == 2 else "add"
    total = Term(ctx, ctx.emit(ScatterNdOp, start.value, points.value, rows.value, mode=how))
    if mode == 1:
        total = total / maximum(sizes, 1.0)
    return (where(sizes > 0.0, total, 0.0).value,)


def _repeat_by_tensor(ctx: Context) -> SSAValue:
    """Each slice of an axis as often as its number says; how many come of that must be known."""
    repeats = ctx.known(ctx.at("repeats"))
    alone = not ctx.given("self")
    data = ctx.of("repeats") if alone else ctx.of("self")
    if not alone and not ctx.given("dim"):
        data = shaped(ctx, data, (prod(shape_of(data)),))
    axis = 0 if alone else ctx.axis("dim", len(shape_of(data)), 0)
    count = shape_of(data)[axis]
    if repeats is not None:
        if isinstance(cast(Size, count), SizeExpr):
            ctx.fail("a tensor of known extent beside known repeats", str(count))
        times = np.broadcast_to(repeats.astype(np.int64), (count,))
        source = ctx.constant(np.repeat(np.arange(count), times), "source")
    elif ctx.given("output_size"):
        times = broadcast(ctx, cast_to(ctx, ctx.of("repeats"), LONG), (count,))
        ends = ctx.emit(CumsumOp, times, axis=0)
        source = minimum(_group_of(ctx, ends, ctx.int("output_size")), places(ctx, 1) * 0.0 + (count - 1)).value
    else:
        ctx.fail("an output_size, or repeats known at import", "neither")
    return source if alone else ctx.emit(TakeOp, data, source, axis=axis)


def _nms(ctx: Context) -> Narrowed:
    """Boxes by descending scores that no better one covers by more than a threshold."""
    boxes = ctx.of("dets")
    count = shape_of(boxes)[0]
    order = ctx.emit(ArgsortOp, ctx.of("scores"), axis=0, is_ascend=False, dtype="int32")
    ranked = ctx.emit(TakeOp, cast_to(ctx, boxes, FLOAT), order, axis=0)
    # The order is decided: scores that fall from there on keep it, and are above 0.
    scores = (-places(ctx, count, dtype="float32") + cast("float", count)).reshape(count, 1)
    rows = ctx.emit(ConcatenateOp, scores.value, ranked, axis=1)
    threshold = np.nextafter(np.float32(ctx.float("iou_threshold", 0.0)), np.float32(np.inf))
    valid = Term(ctx, ctx.constant(np.zeros(1, np.int32), "count")) + cast("float", count)
    kept, number = ctx.emit_all(
        NonMaxSuppressionOp,
        shaped(ctx, rows, (1, count, 5)),
        valid.value,
        shaped(ctx, order, (1, count)),
        ctx.constant(np.asarray(-1, np.int32), "limit"),
        ctx.constant(np.asarray(threshold, np.float32), "threshold"),
        force_suppress=True,
        coord_start=1,
        score_index=0,
        id_index=-1,
        return_indices=True,
    )
    places_ = cast_to(ctx, ctx.emit(ReshapeOp, kept, newshape=(count,)), LONG)
    return Narrowed(places_, ctx.emit(ReshapeOp, cast_to(ctx, number, LONG), newshape=()), 0)


def _where_true(ctx: Context) -> tuple[Narrowed, ...]:
    """The places of what is not 0, one tensor for each axis."""
    name = "condition" if ctx.given("condition") else "self"
    points, number = ctx.emit_all(ArgwhereOp, ctx.of(name))
    rows, rank = shape_of(points)
    columns = (cut(ctx, points, 1, at, at + 1) for at in range(rank))
    return tuple(Narrowed(shaped(ctx, column, (rows,)), number) for column in columns)


TABLE: dict[str, Converter[Context]] = {
    "aten._embedding_bag.default": Converter(_embedding_bag),
    "aten._embedding_bag_forward_only.default": Converter(_embedding_bag),
    "aten._grouped_mm.default": Converter(_grouped_mm),
    "aten.embedding_bag.default": Converter(_embedding_bag),
    "aten.embedding_bag.padding_idx": Converter(_embedding_bag),
    "aten.histc.default": Converter(_histc),
    "aten.isclose.default": row(is_close, "self other", rtol=Float(1e-5), atol=Float(1e-8), equal_nan=Flag(False)),
    "aten.nonzero_numpy.default": Converter(_where_true),
    "aten.repeat_interleave.Tensor": Converter(_repeat_by_tensor),
    "aten.repeat_interleave.self_Tensor": Converter(_repeat_by_tensor),
    "aten.where.default": Converter(_where_true),
    "torchvision.nms.default": Converter(_nms),
    "transformers.grouped_mm_fallback.default": Converter(_grouped_fallback),
}
