"""Lists of tensors, as loops fill and read them: one tensor whose first axis counts the elements.

A list whose elements' extents nobody has said yet has 0 in their place, and takes those of the first element set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...dialects.relay.scatter import ScatterNdOp
from ...dialects.relay.transform import ExpandDimsOp, TakeOp
from ...dialects.sizes import proves, same, same_shape
from ..importing.attributes import Element, Flag, Stated
from ..importing.context import Context
from ..importing.converter import Converter, Narrowed, Result
from ..importing.rows import row
from ..importing.tensor import Tensor
from ..importing.terms import Term, constant, maximum
from ..meanings.creation import extents, fill, size
from ..meanings.moves import concatenate
from ..meanings.slices import cut

Dtype = np.dtype[Any]


def _zeros(ctx: Context, shape: Sequence[int], dtype: Dtype) -> Term:
    return fill(ctx, shape, constant(ctx, np.zeros((), dtype), "scalar"))


def reserve(ctx: Context, element: Sequence[int], count: int, dtype: Dtype) -> Term:
    """Zeros for so many elements, of extents of 0 where they are open; of an open rank they have one axis."""
    return _zeros(ctx, (count, *(0 if same(extent, -1) else extent for extent in element)), dtype)


def empty(ctx: Context, element: Sequence[int], dtype: Dtype) -> Term:
    return reserve(ctx, element, 0, dtype)


def same_list(whole: Tensor) -> Tensor:
    """The tensor that a list is."""
    return whole


def get(data: Term, at: Term) -> Term:
    return data.apply(TakeOp, at, axis=0)


def _fitting(data: Term, item: Sequence[int]) -> Term:
    """A list for elements of a shape: the same, or zeros for one whose elements have no extents yet."""
    count, *own = data.shape
    if len(own) == len(item):
        for a, b in zip(own, item, strict=True):
            if not same(a, 0):
                data.ctx.require_equal(a, b)
    if same_shape(own, item):
        return data
    if 0 in own:
        return _zeros(data.ctx, (count, *item), data.dtype)
    data.ctx.fail(f"elements of one shape {own}", str(list(item)))


def put(data: Term, places: Term, items: Term) -> Term:
    """A list with elements at places."""
    at = places.reshape(1, *places.shape)
    return _fitting(data, items.shape[1:]).apply(ScatterNdOp, at, items, mode="update")


def set_item(data: Term, at: Term, item: Term, grows: bool = False) -> Term | Narrowed:
    """One element; in a list that may grow, behind the last one, too."""
    row, place = item.apply(ExpandDimsOp, axis=0), at.reshape(1)
    if not grows:
        return put(data, place, row)
    fitting = _fitting(data, item.shape)
    used = at.reshape().to("int64") + 1.0
    longer = put(concatenate(fitting, row, axis=0), place, row)
    return Narrowed(longer.value, maximum(used, used.number(data.shape[0])).value)


def push_back(data: Term, item: Term) -> Term:
    row = item.apply(ExpandDimsOp, axis=0)
    return row if proves(data.shape[0], "==", 0) else concatenate(_fitting(data, item.shape), row, axis=0)


def pop_back(data: Term) -> tuple[Term, Term]:
    count = data.shape[0]
    if proves(count, "<", 1):
        data.ctx.fail("a list with elements", "an empty one")
    return cut(data, 0, 0, count - 1), cut(data, 0, count - 1, count).reshape(*data.shape[1:])


def length(ctx: Context, shape: Sequence[int]) -> Result:
    return size(ctx, shape[:1])


def element_shape(ctx: Context, shape: Sequence[int], dtype: Dtype) -> Result:
    return extents(ctx, shape[1:], dtype)


def concat(data: Term) -> tuple[Result, ...]:
    """The elements one after the other, and how long each is."""
    count, first, *rest = data.shape
    return data.reshape(count * first, *rest).value, np.full(count, first, np.int64)


def scatter(ctx: Context, rows: Term, places: Term, element: Tensor, count: int | None) -> Term:
    """Rows put where the places say, into a list as long as the count says, else as they need."""
    if count is None or count < 0:
        known = ctx.array(1, "indices")
        count = int(known.max()) + 1 if known.size else 0
    return put(_zeros(ctx, (count, *rows.shape[1:]), rows.dtype), places, rows)


def resize(data: Term, count: int) -> Term:
    own, *item = data.shape
    if proves(count, "<=", own):
        return cut(data, 0, 0, count)
    return concatenate(data, _zeros(data.ctx, (count - own, *item), data.dtype), axis=0)


def split(rows: Term, element: Tensor, counts: Sequence[int]) -> Term:
    """Rows as elements of so many rows each; lists have elements of one shape."""
    first, *rest = rows.shape
    if not counts or any(not same(count, counts[0]) for count in counts) or not same(sum(counts), first):
        rows.ctx.fail(f"elements of one length that are {first} rows", f"lengths {list(counts)}")
    return rows.reshape(len(counts), counts[0], *rest)


def array_split(handle: Tensor, rows: Term, counts: Sequence[int]) -> Term:
    return split(rows, handle, counts)


def array_length(ctx: Context, handle: Tensor, shape: Sequence[int]) -> Result:
    return length(ctx, shape)


def array(ctx: Context, count: int, element: Sequence[int] | None, dtype: Dtype) -> tuple[Term, Term]:
    """A TensorArray: what holds its elements is the flow; the handle only names it."""
    handle = constant(ctx, np.zeros((), np.int32), "handle")
    return handle, reserve(ctx, (0,) if element is None else element, count, dtype)


def _of_array(function: Callable[..., Any], inputs: str) -> Converter[Any]:
    """The row of an operator of a TensorArray, whose first input names it, and whose last one is its flow."""

    def computed(handle: Tensor, *others: Any) -> Any:
        return function(others[-1], *others[:-1])

    return row(computed, f"handle:tensor {inputs} flow_in")


_ELEMENT = Element(name="element_dtype")

TABLE = {
    "EmptyTensorList": row(empty, "element_shape:ints", dtype=_ELEMENT),
    "TensorArrayConcatV3": _of_array(concat, ""),
    "TensorArrayGatherV3": _of_array(get, "indices"),
    "TensorArrayReadV3": _of_array(get, "index"),
    "TensorArrayScatterV3": _of_array(put, "indices value"),
    "TensorArraySizeV3": row(array_length, "handle:tensor flow_in:shape"),
    "TensorArraySplitV3": row(
        array_split,
        "handle:tensor value lengths:ints",
        unread={"flow_in": "all of which is replaced"},
    ),
    "TensorArrayV3": row(array, "size:size", element=Stated(None, name="element_shape"), dtype=Element()),
    "TensorArrayWriteV3": _of_array(set_item, "index value"),
    "TensorListConcatLists": row(partial(concatenate, axis=0), "input_a input_b"),
    "TensorListConcatV2": row(concat, "input_handle", unread={"leading_dims": "of elements that were never set"}),
    "TensorListElementShape": row(
        element_shape, "input_handle:shape", dtype=Element(np.dtype(np.int32), name="shape_type")
    ),
    "TensorListFromTensor": row(same_list, "tensor:tensor"),
    "TensorListGather": row(get, "input_handle indices"),
    "TensorListGetItem": row(get, "input_handle index"),
    "TensorListLength": row(length, "input_handle:shape"),
    "TensorListPopBack": row(pop_back, "input_handle"),
    "TensorListPushBack": row(push_back, "input_handle tensor"),
    "TensorListReserve": row(reserve, "element_shape:ints num_elements:size", dtype=_ELEMENT),
    "TensorListResize": row(resize, "input_handle size:size"),
    "TensorListScatterV2": row(scatter, "tensor indices element_shape:tensor num_elements:size?"),
    "TensorListSetItem": row(
        set_item, "input_handle index item", grows=Flag(False, name="resize_if_index_out_of_bounds")
    ),
    "TensorListSplit": row(split, "tensor element_shape:tensor lengths:ints"),
    "TensorListStack": row(same_list, "input_handle:tensor"),
}
