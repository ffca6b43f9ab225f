"""Computes of resized images: one axis after the other, with tables of neighbours and weights."""

from __future__ import annotations

import numpy as np

from ... import te
from ...dialects.relay import resize as relay
from ...dialects.relay.interpolation import Resizing
from ...dialects.relay.operator import Operator
from ...support.dtypes import is_float
from ...te import Expr, Tensor
from .constants import table
from .stages import REPEATED, compute, dtype_of, label, shape

_UNROLLED = 4
"""More terms than these are a reduction."""


def resize(op: Operator, x: Tensor) -> Tensor:
    kind, sig, dtype = type(op), op.signature, dtype_of(op)
    assert issubclass(kind, relay.Resized)
    how = [pair for pair in zip(kind.axes(sig), kind.how(sig), strict=True) if not pair[1].identical]
    plain = all(one.method == "nearest_neighbor" and one.mode != "tf_crop_and_resize" for _, one in how)
    number = x.dtype if plain or x.dtype == "float64" else "float32"
    data, name = x, label(op).replace("image.", "")
    # The innermost axis first, along which reads are single: of fewer rows, when the others grow.
    for axis, one in sorted(how, key=lambda pair: -pair[0]):
        data = _along(data, axis, one, number, kind.extrapolation(sig), f"{name}_{axis}")
    if data.dtype != dtype:
        return compute(shape(data), lambda *i: _as(data(*i), dtype), name)
    return data if how else compute(shape(data), lambda *i: data(*i), name)


def _as(value: Expr, dtype: str) -> Expr:
    return value.astype(dtype) if is_float(dtype) else te.trunc(value).astype(dtype)


def _along(data: Tensor, axis: int, how: Resizing, dtype: str, extrapolation: float, name: str) -> Tensor:
    """One axis resized, in numbers of `dtype`."""
    indices, factors = how.table()
    taps = len(indices)
    times = how.size // how.extent
    if dtype == data.dtype and np.array_equal(indices, np.arange(how.extent).repeat(times)[None]):
        return _repeated(data, axis, times, name)
    places = table(indices.astype(np.int32), f"{name}_places")
    extents = (*shape(data)[:axis], how.size, *shape(data)[axis + 1 :])
    outside = how.outside()
    weights = table(factors.astype(dtype), f"{name}_weights") if how.method != "nearest_neighbor" else None
    beyond = table(outside.astype(np.uint8), f"{name}_beyond") if outside.any() else None

    def term(tap: Expr | int, *i: Expr) -> Expr:
        value = data(*i[:axis], places(tap, i[axis]), *i[axis + 1 :]).astype(dtype)
        return value if weights is None else value * weights(tap, i[axis])

    def inside(total: Expr, *i: Expr) -> Expr:
        return total if beyond is None else te.select(beyond(i[axis]) > 0, te.const(extrapolation, dtype), total)

    def element(*i: Expr) -> Expr:
        total = term(0, *i)
        for tap in range(1, taps):
            total = total + term(tap, *i)
        return inside(total, *i)

    if taps <= _UNROLLED:
        return compute(extents, element, name, keep=True)
    k = te.reduce_axis((0, taps), name="k")
    total = compute(extents, lambda *i: te.sum(term(k, *i), axis=k), name, tag="comm_reduce")
    return total if beyond is None else compute(extents, lambda *i: inside(total(*i), *i), name)


def _repeated(data: Tensor, axis: int, times: int, name: str) -> Tensor:
    """Each element so many times along an axis."""
    extents = (*shape(data)[:axis], shape(data)[axis] * times, *shape(data)[axis + 1 :])
    attributes = {"keep": True, "times": times}

    def element(*i: Expr) -> Expr:
        return data(*i[:axis], i[axis] // times, *i[axis + 1 :])

    return te.compute(extents, element, name, REPEATED if axis == len(extents) - 1 else "", attributes)


TABLE = dict.fromkeys([relay.Resize1DOp, relay.Resize2DOp, relay.Resize3DOp, relay.UpsamplingOp], resize)
