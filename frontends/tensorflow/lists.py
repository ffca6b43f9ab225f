"""Lists of tensors, as loops fill and read them: one tensor whose first axis counts the elements.

A list whose elements' extents nobody has said yet has 0 in their place, and takes those of the first element set.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.scatter import ScatterNdOp
from ...dialects.relay.transform import BroadcastToOp, ConcatenateOp, ExpandDimsOp, ReshapeOp, TakeOp
from ...dialects.sizes import proves, same, same_shape
from ..importing.converter import Converter, Narrowed, Result
from ..importing.products import reshaped
from ..importing.sizes import counted, sizes_array
from ..importing.tensor import dtype_of, shape_of
from ..importing.terms import Term, maximum, term
from .context import Context
from .shaping import cut


def _zeros(ctx: Context, shape: Sequence[int], dtype: np.dtype[np.generic]) -> SSAValue:
    ctx.fits(shape, dtype)
    return ctx.emit(BroadcastToOp, ctx.number(0, dtype.name), shape=tuple(shape))


def _element(ctx: Context, index: int) -> tuple[int, ...]:
    """The shape of elements in input `index`, with 0 for what is open: of a rank that is, one axis."""
    shape = ctx.known_ints(index, "the shape of elements")
    if ctx.shape(index) == ():
        return (0,)
    return tuple(0 if same(extent, -1) else extent for extent in shape)


def reserve(ctx: Context) -> SSAValue:
    count = ctx.one(1, "a number of elements")
    if proves(count, "<", 0):
        ctx.fail("a number of elements from 0 on", str(count))
    return _zeros(ctx, (count, *_element(ctx, 0)), ctx.element("element_dtype"))


def empty(ctx: Context) -> SSAValue:
    return _zeros(ctx, (0, *_element(ctx, 0)), ctx.element("element_dtype"))


def same_list(ctx: Context) -> Result:
    """The tensor that a list is."""
    return ctx.tensor(0)


def get_item(ctx: Context) -> SSAValue:
    return ctx.emit(TakeOp, ctx.value(0), ctx.value(1), axis=0)


def _fitting(ctx: Context, data: SSAValue, item: Sequence[int]) -> SSAValue:
    """A list for elements of a shape: the same, or zeros for one whose elements have no extents yet."""
    count, *own = shape_of(data)
    if len(own) == len(item):
        for a, b in zip(own, item, strict=True):
            if not same(a, 0):
                ctx.require_equal(a, b)
    if same_shape(own, item):
        return data
    if 0 in own:
        return _zeros(ctx, (count, *item), dtype_of(data))
    ctx.fail(f"elements of one shape {own}", str(list(item)))


def set_item(ctx: Context) -> Result:
    """One element; in a list that may grow, behind the last one, too."""
    item = ctx.value(2)
    data = _fitting(ctx, ctx.value(0), shape_of(item))
    row, at = ctx.emit(ExpandDimsOp, item, axis=0), ctx.emit(ReshapeOp, ctx.value(1), newshape=(1, 1))
    if not ctx.flag("resize_if_index_out_of_bounds"):
        return ctx.emit(ScatterNdOp, data, at, row, mode="update")
    count, *_ = shape_of(data)
    longer = ctx.emit(ScatterNdOp, ctx.emit(ConcatenateOp, [data, row], axis=0), at, row, mode="update")
    used = maximum(term(ctx, 1).reshape().to("int64") + 1.0, Term(ctx, ctx.number(0, "int64")).number(count))
    return Narrowed(longer, used.value)


def push_back(ctx: Context) -> SSAValue:
    item = ctx.emit(ExpandDimsOp, ctx.value(1), axis=0)
    if proves(ctx.shape(0)[0], "==", 0):
        return item
    return ctx.emit(ConcatenateOp, [_fitting(ctx, ctx.value(0), ctx.shape(1)), item], axis=0)


def pop_back(ctx: Context) -> tuple[SSAValue, ...]:
    data, count = ctx.value(0), ctx.shape(0)[0]
    if proves(count, "<", 1):
        ctx.fail("a list with elements", "an empty one")
    last = reshaped(ctx, cut(ctx, data, 0, count - 1, count), ctx.shape(0)[1:])
    return cut(ctx, data, 0, 0, count - 1), last


def length(ctx: Context) -> Result:
    return counted(ctx, np.asarray(sizes_array(ctx.shape(0)[0])), np.dtype(np.int32))


def element_shape(ctx: Context) -> Result:
    return counted(ctx, sizes_array(ctx.shape(0)[1:]), ctx.element("shape_type", np.dtype("int32")))


def concat(ctx: Context) -> tuple[Result, ...]:
    """The elements one after the other, and how long each is."""
    count, first, *rest = ctx.shape(0)
    whole = reshaped(ctx, ctx.value(0), (count * first, *rest))
    return whole, np.full(count, first, np.int64)


def gather(ctx: Context) -> SSAValue:
    return ctx.emit(TakeOp, ctx.value(0), ctx.value(1), axis=0)


def scatter(ctx: Context) -> SSAValue:
    """Rows put where the indices say, into a list as long as input 3 says, else as they need."""
    rows, indices = term(ctx, 0), term(ctx, 1)
    count = ctx.one(3, "a number of elements") if len(ctx.inputs) > 3 else -1
    if count < 0:
        values = ctx.array(1, "indices")
        count = int(values.max()) + 1 if values.size else 0
    zeros = _zeros(ctx, (count, *rows.shape[1:]), rows.dtype)
    places = indices.reshape(1, *indices.shape)
    return ctx.emit(ScatterNdOp, zeros, places.value, rows.value, mode="update")


def concat_lists(ctx: Context) -> SSAValue:
    return ctx.emit(ConcatenateOp, [ctx.value(0), ctx.value(1)], axis=0)


def resize(ctx: Context) -> SSAValue:
    count, own = ctx.one(1, "a number of elements"), ctx.shape(0)[0]
    if proves(count, "<=", own):
        return cut(ctx, ctx.value(0), 0, 0, count)
    more = _zeros(ctx, (count - own, *ctx.shape(0)[1:]), ctx.dtype(0))
    return ctx.emit(ConcatenateOp, [ctx.value(0), more], axis=0)


def array(ctx: Context) -> tuple[SSAValue, ...]:
    """A TensorArray: what holds its elements is the flow; the handle only names it."""
    count, shape = ctx.one(0, "a number of elements"), (0,)
    stated = None if (value := ctx.attribute("element_shape")) is None else value.shape
    if stated is not None and not stated.unknown_rank:
        shape = tuple(max(int(dim.size), 0) for dim in stated.dim)
    return ctx.number(0, "int32"), _zeros(ctx, (count, *shape), ctx.element("dtype"))


def array_read(ctx: Context) -> SSAValue:
    return ctx.emit(TakeOp, ctx.value(2), ctx.value(1), axis=0)


def array_write(ctx: Context) -> SSAValue:
    item = ctx.value(2)
    data = _fitting(ctx, ctx.value(3), shape_of(item))
    at = ctx.emit(ReshapeOp, ctx.value(1), newshape=(1, 1))
    return ctx.emit(ScatterNdOp, data, at, ctx.emit(ExpandDimsOp, item, axis=0), mode="update")


def array_scatter(ctx: Context) -> SSAValue:
    rows = term(ctx, 2)
    data = _fitting(ctx, ctx.value(3), rows.shape[1:])
    places = Term(ctx, ctx.value(1)).reshape(1, *ctx.shape(1))
    return ctx.emit(ScatterNdOp, data, places.value, rows.value, mode="update")


def array_gather(ctx: Context) -> SSAValue:
    return ctx.emit(TakeOp, ctx.value(2), ctx.value(1), axis=0)


def array_size(ctx: Context) -> Result:
    return counted(ctx, np.asarray(sizes_array(ctx.shape(1)[0])), np.dtype(np.int32))


def array_concat(ctx: Context) -> tuple[Result, ...]:
    count, first, *rest = ctx.shape(1)
    return reshaped(ctx, ctx.value(1), (count * first, *rest)), np.full(count, first, np.int64)


def _split(ctx: Context, index: int, lengths: int) -> SSAValue:
    """Rows as elements of so many rows each; lists have elements of one shape."""
    counts = ctx.known_ints(lengths, "lengths")
    first, *rest = ctx.shape(index)
    if not counts or any(not same(count, counts[0]) for count in counts) or not same(sum(counts), first):
        ctx.fail(f"elements of one length that are {first} rows", f"lengths {list(counts)}")
    return reshaped(ctx, ctx.value(index), (len(counts), counts[0], *rest))


def array_split(ctx: Context) -> SSAValue:
    return _split(ctx, 1, 2)


def split(ctx: Context) -> SSAValue:
    return _split(ctx, 0, 2)


_HANDLE = {"handle": "of the array that `flow_in` is"}

TABLE = {
    "EmptyTensorList": Converter(empty),
    "TensorArrayConcatV3": Converter(array_concat, unread=_HANDLE),
    "TensorArrayGatherV3": Converter(array_gather, unread=_HANDLE),
    "TensorArrayReadV3": Converter(array_read, unread=_HANDLE),
    "TensorArrayScatterV3": Converter(array_scatter, unread=_HANDLE),
    "TensorArraySizeV3": Converter(array_size, unread=_HANDLE),
    "TensorArraySplitV3": Converter(array_split, unread={**_HANDLE, "flow_in": "all of which is replaced"}),
    "TensorArrayV3": Converter(array),
    "TensorArrayWriteV3": Converter(array_write, unread=_HANDLE),
    "TensorListConcatLists": Converter(concat_lists),
    "TensorListConcatV2": Converter(concat, unread={"leading_dims": "of elements that were never set"}),
    "TensorListElementShape": Converter(element_shape),
    "TensorListFromTensor": Converter(same_list),
    "TensorListGather": Converter(gather),
    "TensorListGetItem": Converter(get_item),
    "TensorListLength": Converter(length),
    "TensorListPopBack": Converter(pop_back),
    "TensorListPushBack": Converter(push_back),
    "TensorListReserve": Converter(reserve),
    "TensorListResize": Converter(resize),
    "TensorListScatterV2": Converter(scatter),
    "TensorListSetItem": Converter(set_item),
    "TensorListSplit": Converter(split),
    "TensorListStack": Converter(same_list),
}
