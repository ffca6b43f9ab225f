"""Computes of the operators that write parts of a tensor."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from ... import te
from ...dialects.relay import scatter as relay
from ...dialects.relay.operator import Operator
from ...dialects.relay.transform import StridedSliceOp
from ...dialects.sizes import product, proves, same
from ...provenance.diagnostics import fail
from ...support.dtypes import BOOL
from ...te import Expr, Tensor
from ...te.language.tensor import PlaceholderOp
from . import scatter_scripts as scripts
from .indexing import inside
from .stages import compute, label, shape, wide
from .transform import flat_index, unflatten

_Act = Callable[[Expr, Expr], Expr]
_NUMBERS: dict[str, _Act] = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "min": te.minimum,
    "max": te.maximum,
}
_BOOLS: dict[str, _Act] = {
    "add": te.bitwise_or,
    "mul": te.bitwise_and,
    "min": te.bitwise_and,
    "max": te.bitwise_or,
}


def _act(mode: str, dtype: str) -> _Act:
    """Return the effect of an update on an element; half precision is combined in float32."""

    def replaced(old: Expr, new: Expr) -> Expr:
        return new

    def combined(old: Expr, new: Expr) -> Expr:
        if dtype == BOOL:
            return _BOOLS[mode](old, new)
        number = wide(dtype)
        return _NUMBERS[mode](old.astype(number), new.astype(number)).astype(dtype)

    return replaced if mode == "update" else combined


def scatter_elements(op: Operator, x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    extents = shape(x)
    axis = op.signature.int("axis") % len(extents)
    count = prod(shape(indices))

    def place(points: Tensor, number: Expr) -> Expr | int:
        point = unflatten(number, shape(indices))
        return flat_index((*point[:axis], inside(points(*point), extents[axis]), *point[axis + 1 :]), extents)

    act = _act(op.signature.str("reduction"), x.dtype)
    return scripts.scatter_elements(x, updates, indices, prod(extents), count, place, act)


def scatter_nd(op: Operator, x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    extents, (rank, *rest) = shape(x), shape(indices)
    outer, inner = extents[:rank], extents[rank:]

    def row(points: Tensor, number: Expr) -> Expr | int:
        point = unflatten(number, rest)
        return flat_index([inside(points(m, *point), extent) for m, extent in enumerate(outer)], outer)

    act = _act(op.signature.str("mode"), x.dtype)
    if same(prod(inner), 1):
        return scripts.scatter_elements(x, updates, indices, prod(extents), prod(rest), row, act)
    return scripts.scatter_rows(x, updates, indices, (prod(outer), prod(inner), prod(rest)), row, act)


def tensor_scatter(op: Operator, x: Tensor, updates: Tensor, indices: Tensor) -> Tensor:
    axis = op.signature.int("axis") % len(shape(x))
    extent, length = shape(x)[axis], shape(updates)[axis]

    def element(*i: Expr) -> Expr:
        at = i[axis].astype("int64") - indices(i[0]).astype("int64")
        if op.signature.str("mode") == "circular":
            at = te.truncmod(at, extent)
            at = te.select(at < 0, at + extent, at)
        new = te.all(at >= 0, at < length)
        position = te.minimum(te.maximum(at, 0), length - 1)
        # Where a call may bring no updates at all, none is read.
        choose = te.select if proves(length, ">", 0) else te.if_then_else
        return choose(new, updates(*i[:axis], position, *i[axis + 1 :]), x(*i))

    return compute(shape(x), element, label(op))


def strided_set(op: Operator, x: Tensor, v: Tensor) -> Tensor:
    if op.signature.get("in_place"):
        return _set_rows(op, x, v)
    steps = relay.ranges(op.signature)
    if not prod(shape(v)):
        return compute(shape(x), lambda *i: x(*i), label(op))

    def element(*i: Expr) -> Expr:
        tests: list[Expr] = []
        point: list[Expr] = []
        for index, r, extent in zip(i, steps, shape(x), strict=True):
            up = r if r.step > 0 else r[::-1]
            offset = index - up.start
            if up != range(extent):
                tests.append(te.all(offset >= 0, index <= up[-1], (offset % up.step).equal(0)))
            position = offset // up.step
            point.append(position if r.step > 0 else position * -1 + (len(r) - 1))
        if not tests:
            return v(*point)
        return te.if_then_else(te.all(*tests), v(*point, otherwise=0), x(*i))

    return compute(shape(x), element, label(op))


def _set_rows(op: Operator, x: Tensor, v: Tensor) -> Tensor:
    """The rows along one axis that are replaced; the others are in the result's memory already."""
    spans = StridedSliceOp.spans(op.signature)
    (axis, start), *others = [
        (axis, start)
        for axis, ((start, count, step), extent) in enumerate(zip(spans, shape(x), strict=True))
        if not (same(count, extent) and step == 1)
    ] or [(0, 0)]
    if others or spans[axis][2] != 1 or not isinstance(x.op, PlaceholderOp):
        fail(op, "a range along one axis of an argument to replace in place", f"{spans} of {x.op.name}")
    extents, rows = shape(x), shape(v)[axis]
    sizes = (product(extents[:axis]), extents[axis], rows, product(extents[axis + 1 :]))
    return scripts.set_rows(x, v, sizes, start)


def matrix_set_diag(op: Operator, x: Tensor, diagonal: Tensor) -> Tensor:
    sig = op.signature
    low, high = sig.spatial("k", 2)
    rank = len(shape(x))

    def element(*i: Expr) -> Expr:
        value = x(*i)
        row, column = i[rank - 2], i[rank - 1]
        for number in range(low, high + 1):
            first = relay.MatrixSetDiagOp.place(sig, number)
            # The place along the diagonal.
            along = (column if number < 0 else row) + first
            which = () if low == high else (high - number,)
            there = diagonal(*i[: rank - 2], *which, along, otherwise=0)
            value = te.select((column - row).equal(number), there, value)
        return value

    return compute(shape(x), element, label(op))


TABLE = {
    relay.ScatterElementsOp: scatter_elements,
    relay.ScatterNdOp: scatter_nd,
    relay.TensorScatterOp: tensor_scatter,
    relay.StridedSetOp: strided_set,
    relay.MatrixSetDiagOp: matrix_set_diag,
}
