"""The parts that operators' computes share: names of stages and axes, and the dtypes in which numbers are reduced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, cast

from ... import te
from ...dialects.element_types import dtype_name
from ...dialects.relay.operator import Operator, element_of
from ...dialects.sizes import Size, SizeExpr, proves
from ...dialects.te import ROWS_APART as ROWS_APART
from ...support.dtypes import storage
from ...te import Expr, Tensor
from ...te.language.tensor import FullOp

_WIDE = {"float16": "float32", "bfloat16": "float32", "bool": "uint8"}


DEQUANTIZED = "dequantized"
"""The tag of stages that make floats of a product's weights; the product's schedule says where."""

BYTES = "dense_bytes"
"""The tag of products of data in bytes and weights of a few bits, summed as integers and scaled a chain at a time."""

PARTS = "parts"
"""The tag of sums of a few products, of which a product's own sum is made; its schedule says where they are."""

TURNED = "turned"
"""The tag of stages that have the transposed operand of a product whose rows only a call knows: of one row, none."""

NORMALIZED = "normalized"
"""The tag of stages whose elements are made of reductions of their rows, and that are no operator of another tag."""

JOINED = "concatenate"
"""The tag of stages that have their operands one behind the other along an axis."""

MUCH_PADDING = "much_padding"
"""The attribute of convolutions for which it pays to leave out products with the zeros around an image."""

REPEATED = "repeated"
"""The tag of stages that have each element of their operand `times` (an attribute) along the last axis."""


def label(op: Operator) -> str:
    """Return the name of the stage of an operator."""
    return op.name.removeprefix("relay.").removeprefix("nn.")


def shape(tensor: Tensor) -> tuple[int, ...]:
    """The shape of a tensor, which no size variable is part of; sizes with symbols take part in arithmetic as ints."""
    return cast("tuple[int, ...]", tensor.shape)


def dtype_of(op: Operator) -> str:
    """The dtype of an operator's result, as it lies in memory."""
    return storage(dtype_name(element_of(op.results[0])))


def wide(dtype: str) -> str:
    """The dtype in which numbers of a dtype are combined."""
    return _WIDE.get(dtype, dtype)


def compute(
    extents: Sequence[int], fcompute: Callable[..., Expr], name: str, *, tag: str = "", keep: bool = False
) -> Tensor:
    """`te.compute` of a function of all axes, which are called ax0, ax1 and so on.

    keep: the stage has a buffer even if it could be inlined.
    """
    names = _axis_names(len(extents))
    return te.compute(extents, fcompute, name, tag, {"keep": True} if keep else None, names)


@cache
def _axis_names(rank: int) -> tuple[str, ...]:
    return tuple(f"ax{axis}" for axis in range(rank))


def in_dtype(x: Tensor, dtype: str, name: str) -> Tensor:
    """A tensor in numbers of a dtype, in a stage that has a buffer unless it has them."""
    return x if x.dtype == dtype else compute(shape(x), lambda *i: x(*i).astype(dtype), name, keep=True)


def as_vector(x: Tensor, dtype: str) -> Tensor:
    """A scalar, or tensor of one number, as a vector of it."""
    return compute((1,), lambda *i: x(*[0] * len(shape(x))).astype(dtype), x.op.name, keep=True)


def rounded(total: Tensor, dtype: str) -> Tensor:
    """A reduction as numbers of `dtype`: in a stage of its own, if it was not reduced in that."""
    if total.dtype == dtype:
        return total
    return compute(shape(total), lambda *i: total(*i).astype(dtype), total.op.name)


def reduced_rows(
    element: Callable[..., Expr], extents: Sequence[int], axis: int, reducer: Callable[..., Expr], name: str
) -> Tensor:
    """The reduction along `axis` of `element` of a point of a tensor of `extents`; `axis` is gone from the shape."""
    k = te.reduce_axis((0, extents[axis]), name="k0")
    rest = (*extents[:axis], *extents[axis + 1 :])
    return compute(rest, lambda *i: reducer(element(*i[:axis], k, *i[axis:]), axis=k), name, tag="comm_reduce")


def of_row(rows: Tensor, axis: int, point: Sequence[Expr]) -> Expr:
    """Return the element of `reduced_rows` for the row of `point`."""
    return rows(*point[:axis], *point[axis + 1 :])


def divided(total: Tensor, count: int, dtype: str) -> Tensor:
    """`total / count`, elementwise, as numbers of `dtype`; integers divide towards zero."""
    return compute(shape(total), lambda *i: te.div(total(*i), count).astype(dtype), total.op.name)


def share_of(count: Size, dtype: str) -> float | Expr:
    """Return the share of each of so many elements in their mean."""
    return 1.0 / te.const(count, dtype) if isinstance(count, SizeExpr) else 1 / count


def literal(tensor: Tensor) -> bool | float | None:
    """The one number of a tensor, where it is known."""
    return tensor.op.number.value if isinstance(tensor.op, FullOp) else None


def broadcast_point(tensor: Tensor, point: Sequence[Any]) -> list[Any]:
    """The point of a tensor that broadcasts, numpy's way, to a tensor indexed by `point`."""
    extents = shape(tensor)
    tail = point[len(point) - len(extents) :]
    return [0 if _is_single(extent) else at for extent, at in zip(extents, tail, strict=True)]


def _is_single(extent: Size) -> bool:
    """Return whether an axis is of one element, or of none as `min(1, n)` may be, where nobody asks for one."""
    return proves(extent, "<=", 1) if isinstance(extent, SizeExpr) else extent == 1


def broadcast(tensor: Tensor, point: Sequence[Any]) -> Expr:
    """The element of a tensor that broadcasts, numpy's way, to a tensor indexed by `point`."""
    return tensor(*broadcast_point(tensor, point))
