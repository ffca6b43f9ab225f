"""Groups of rows: histograms, bags of words, experts, boxes that others cover, and repetition by tensors."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any, cast

import numpy as np

from ...dialects.relay.cumulative import CumsumOp
from ...dialects.relay.detection import NonMaxSuppressionOp
from ...dialects.relay.indexing import AdvIndexOp
from ...dialects.relay.logic import GreaterEqualOp
from ...dialects.relay.reduce import MaxOp, MinOp
from ...dialects.relay.scatter import ScatterElementsOp
from ...dialects.relay.sorting import ArgsortOp
from ...dialects.relay.transform import ConcatenateOp, ReshapeOp, TakeOp, TransposeOp
from ...dialects.sizes import Size, SizeExpr
from ..importing.attributes import Element, Flag, Float, Int
from ..importing.converter import Converter, Narrowed
from ..importing.rows import row
from ..importing.tensor import shape_of
from ..importing.terms import Term, axis_of, constant, minimum, places, where, wide
from ..meanings.elementwise import is_close
from ..meanings.indices import points_of, take
from ..meanings.moves import broadcast
from ..meanings.products import matmul
from ..meanings.scatters import segment_mean, segment_reduced, segment_sum
from ..meanings.slices import cut, element
from ..meanings.sorting import search_sorted
from .context import Context
from .promotion import FLOAT, LONG, cast_to
from .shaping import shaped


def _histc(x: Term, bins: int, low: float, high: float) -> Term:
    """So many bins of one width between two ends, the last with its end; the data's own ends where both are equal."""
    if bins < 1 or high < low:
        x.ctx.fail("bins of at least 1, and max of at least min", f"bins {bins}, min {low} and max {high}")
    dtype, x = x.dtype, x.reshape(prod(x.shape))
    x = x.to(FLOAT) if dtype.itemsize < 4 or dtype.kind in "iub" else x
    if low == high:
        least, most = (x.apply(op, axis=(0,), keepdims=False) for op in (MinOp, MaxOp))
        equal = least.equal(most)
        least, most = where(equal, least - 1.0, least), where(equal, most + 1.0, most)
    else:
        least, most = x.number(low), x.number(high)
    inside = x.apply(GreaterEqualOp, least) & (x <= most)
    places_ = minimum(((where(inside, x, least) - least) * float(bins) / (most - least)).to(LONG), float(bins - 1))
    counts = constant(x.ctx, np.zeros(bins, dtype), "counts")
    return counts.apply(ScatterElementsOp, places_, inside.to(dtype), axis=0, reduction="add")


def _group_of(ends: Term, rows: int) -> Term:
    """The number of the group of each row: groups lie behind each other, and end before the row that `ends` says."""
    return search_sorted(ends, places(ends.ctx, rows, dtype=ends.dtype.name), right=True)


def grouped_product(rows: Term, weights: Term, ends: Term) -> Term:
    """Rows (t, k), each times the matrix (g, k, n) of its group; what is behind the last group is 0.

    Every group's matrix multiplies every row, of which its own ones stay: sizes of groups are data.
    """
    ctx, (count, depth), groups = rows.ctx, rows.shape, weights.shape[0]
    every = matmul(rows.reshape(1, count, depth), weights)
    group = _group_of(ends, count)
    own = every.apply(AdvIndexOp, minimum(group, float(groups - 1)), places(ctx, count))
    return where((group < float(groups)).reshape(count, 1), own, 0.0)


def _grouped_mm(left: Term, right: Term, ends: Term | None, bias: Term | None, dtype: np.dtype[Any] | None) -> Term:
    """Products of groups of rows (2-d by 3-d), columns (3-d by 2-d) or depths (2-d by 2-d), or of all (3-d by 3-d)."""
    ctx, dtype = left.ctx, dtype or left.dtype
    if bias is not None:
        ctx.fail("grouped products without a bias", "one with a bias")
    left, right = wide(left), wide(right)
    ranks = len(left.shape), len(right.shape)
    if ranks == (3, 3):
        return matmul(left, right).to(dtype)
    if ends is None:
        ctx.fail("the ends of groups", "none")
    match ranks:
        case (2, 3):
            result = grouped_product(left, right, ends)
        case (3, 2):
            rows, weights = right.apply(TransposeOp, axes=(1, 0)), left.apply(TransposeOp, axes=(0, 2, 1))
            result = grouped_product(rows, weights, ends).apply(TransposeOp, axes=(1, 0))
        case _:
            (groups,), depth = ends.shape, left.shape[1]
            own = _group_of(ends, depth).equal(places(ctx, groups).reshape(groups, 1)).reshape(groups, 1, depth)
            masked = where(own, left.reshape(1, *left.shape), 0.0)
            result = matmul(masked, right)
    return result.to(dtype)


_SUM, _MEAN, _MAX = range(3)


def _embedding_bag(
    weight: Term,
    indices: Term,
    offsets: Term,
    weights: Term | None,
    mode: int,
    ends: bool,
    ignored: int | None,
    *,
    none: int | None = None,
) -> tuple[Term]:
    """Sums, means or maxima of the rows of each bag; bags lie behind each other, and begin at `offsets`.

    ends: the last offset is the end of the last bag. ignored: the row that counts in no bag, where it is not `none`.
    The other results, which only gradients need, are not given.
    """
    if mode not in (_SUM, _MEAN, _MAX):
        weight.ctx.fail("mode 0 (sum), 1 (mean) or 2 (max)", str(mode))
    bags = offsets.shape[0] - int(ends)
    starts = cut(offsets.to(LONG), 0, 0, bags)
    rows = take(weight, indices, rule="inside")
    bag = _group_of(starts, indices.shape[0]) - 1
    if weights is not None:
        rows = rows * weights.reshape(*weights.shape, 1)
    if ignored is not None and ignored != none:
        bag = where(indices.equal(ignored + weight.shape[0] * (ignored < 0)), bags, bag)
    if mode == _MAX:
        return (segment_reduced("max", rows, bag, bags, empty=0, infinite=True),)
    return ((segment_mean if mode == _MEAN else segment_sum)(rows, bag, bags),)


def _bags(none: int | None) -> Converter[Context]:
    return row(
        partial(_embedding_bag, none=none),
        "weight indices offsets per_sample_weights?",
        mode=Int(_SUM),
        ends=Flag(False, name="include_last_offset"),
        ignored=Int(None, name="padding_idx"),
    )


def _repeat_by_tensor(ctx: Context, x: Term | None, repeats: Term, axis: int | None, size: int | None) -> Term:
    """Each slice of an axis as often as its number says; how many come of that must be known.

    Without slices their places are repeated.
    """
    known = ctx.known(ctx.at("repeats"))
    if x is not None:
        x, axis = (x.reshape(prod(x.shape)), 0) if axis is None else (x, axis_of(x, axis))
    count = repeats.shape[0] if x is None else x.shape[axis or 0]
    if known is not None:
        if isinstance(cast(Size, count), SizeExpr):
            ctx.fail("a tensor of known extent beside known repeats", str(count))
        times = np.broadcast_to(known.astype(np.int64), (count,))
        source = constant(ctx, np.repeat(np.arange(count), times), "source")
    elif size is not None:
        ends = broadcast(repeats.to(LONG), (count,)).apply(CumsumOp, axis=0)
        source = minimum(_group_of(ends, size), places(ctx, 1) * 0.0 + (count - 1))
    else:
        ctx.fail("an output_size, or repeats known at import", "neither")
    return source if x is None else x.apply(TakeOp, source, axis=axis)


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
    """The places of what is not 0, one tensor for each axis; a scalar has one."""
    narrowed = points_of(ctx.term("condition" if ctx.given("condition") else "self"), scalar_rank=1)
    points = Term(ctx, narrowed.value)
    return tuple(Narrowed(element(points, 1, at).value, narrowed.count) for at in range(points.shape[1]))


_REPEAT = row(_repeat_by_tensor, "self? repeats", axis=Int(None, name="dim"), size=Int(None, name="output_size"))

TABLE: dict[str, Converter[Context]] = {
    "aten._embedding_bag.default": _bags(-1),
    "aten._embedding_bag_forward_only.default": _bags(-1),
    "aten._grouped_mm.default": row(_grouped_mm, "self mat2 offs? bias?", dtype=Element(None, name="out_dtype")),
    "aten.embedding_bag.default": _bags(None),
    "aten.embedding_bag.padding_idx": _bags(None),
    "aten.histc.default": row(_histc, "self", bins=Int(100), low=Float(0.0, name="min"), high=Float(0.0, name="max")),
    "aten.isclose.default": row(is_close, "self other", rtol=Float(1e-5), atol=Float(1e-8), equal_nan=Flag(False)),
    "aten.nonzero_numpy.default": row(_where_true),
    "aten.repeat_interleave.Tensor": _REPEAT,
    "aten.repeat_interleave.self_Tensor": _REPEAT,
    "aten.where.default": row(_where_true),
    "torchvision.nms.default": Converter(_nms),
    "transformers.grouped_mm_fallback.default": row(grouped_product, "input weight offs"),
}
