"""Computes of resized images: one axis after the other, with tables of neighbours and weights."""

from __future__ import annotations

import numpy as np

from ... import te
from ...dialects.kernel_sizes import known
from ...dialects.relay import resize as relay
from ...dialects.relay.interpolation import Resizing
from ...dialects.relay.operator import Operator
from ...provenance.undecided import UndecidedSize
from ...support.dtypes import is_float
from ...te import Expr, Tensor
from .constants import table
from .stages import REPEATED, compute, dtype_of, label, shape

_CLOSED = ("tf_crop_and_resize",)
"""Modes of known sizes only."""
_REPEATING = {
    "": ("asymmetric",),
    "floor": ("asymmetric",),
    "round_prefer_floor": ("half_pixel", "half_pixel_symmetric"),
    "round_prefer_ceil": ("half_pixel", "half_pixel_symmetric"),
    "round": ("half_pixel", "half_pixel_symmetric"),
}
"""By the rounding, modes in which a whole number of times as many elements are the old ones so many times."""
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
    if how.is_open:
        return _along_open(data, axis, how, dtype, name)
    indices, factors = how.table()
    taps = len(indices)
    extent = known(how.extent)
    times = known(how.size) // extent
    if dtype == data.dtype and np.array_equal(indices, np.arange(extent).repeat(times)[None]):
        return _repeated(data, axis, times, name)
    places = table(indices.astype(np.int32), f"{name}_places")
    extents = _resized(data, axis, how)
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


def _resized(data: Tensor, axis: int, how: Resizing) -> tuple[int, ...]:
    return (*shape(data)[:axis], how.size, *shape(data)[axis + 1 :])


def _along_open(data: Tensor, axis: int, how: Resizing, dtype: str, name: str) -> Tensor:
    """One axis of open size resized: the neighbours and weights of `Resizing.table`, computed in the call."""
    nearest = how.method == "nearest_neighbor"
    if how.method == "cubic" or how.mode in _CLOSED or (how.antialias and not nearest) or how.exclude:
        raise UndecidedSize(f"resize: expected known sizes for method {how.method} and mode {how.mode}")
    times = how.scale
    if nearest and times is not None and times == int(times) and how.mode in _REPEATING.get(how.rounding, ()):
        return _repeated(data, axis, int(times), name)
    taps, size = 1 if nearest else 2, how.size

    def left(at: Expr) -> Expr:
        # A coordinate on an element is that on the right of a pair.
        return te.ceil(at) - 1.0

    def place(tap: Expr, i: Expr) -> Expr:
        at = _coordinate(how, i)
        first = left(at)
        found = first + (_right(how, at - first) if nearest else tap.astype("float64"))
        last = te.const(how.extent, "float64") - 1.0
        return te.maximum(te.minimum(found, last), te.const(0.0, "float64")).astype("int32")

    def weight(tap: Expr, i: Expr) -> Expr:
        at = _coordinate(how, i)
        share = at - left(at)
        return te.select(tap.equal(0), 1.0 - share, share).astype(dtype)

    places = compute((taps, size), place, f"{name}_places", keep=True)
    weights = None if nearest else compute((taps, size), weight, f"{name}_weights", keep=True)

    def element(*i: Expr) -> Expr:
        terms = [data(*i[:axis], places(tap, i[axis]), *i[axis + 1 :]).astype(dtype) for tap in range(taps)]
        if weights is None:
            return terms[0]
        return terms[0] * weights(0, i[axis]) + terms[1] * weights(1, i[axis])

    return compute(_resized(data, axis, how), element, name, keep=True)


def _coordinate(how: Resizing, i: Expr) -> Expr:
    """Where new element i lies among the old ones, float64."""
    x = i.astype("float64")
    extent, size = (te.const(n, "float64") for n in (how.extent, how.size))
    scale = size / extent if how.scale is None else te.const(how.scale, "float64")
    length = size if how.scale is None else scale * extent
    match how.mode:
        case "align_corners":
            return te.select(length.equal(1.0), te.const(0.0, "float64"), x * (extent - 1.0) / (length - 1.0))
        case "asymmetric":
            return x / scale
        case "tf_half_pixel_for_nn":
            return (x + 0.5) / scale
        case "pytorch_half_pixel":
            return te.select(length.equal(1.0), te.const(0.0, "float64"), (x + 0.5) / scale - 0.5)
        case "half_pixel_symmetric":
            return extent / 2.0 * (1.0 - size / length) + (x + 0.5) / scale - 0.5
        case _:
            return (x + 0.5) / scale - 0.5


def _right(how: Resizing, share: Expr) -> Expr:
    """0 for the left one of a pair, 1 for the right one."""
    rounding = how.rounding or ("round" if how.mode == "align_corners" else "floor")
    tests = {"floor": share >= 1.0, "ceil": share > 0.0, "round_prefer_floor": share > 0.5}
    right = tests.get(rounding, share >= 0.5)
    return te.select(right, te.const(1.0, "float64"), te.const(0.0, "float64"))


def _repeated(data: Tensor, axis: int, times: int, name: str) -> Tensor:
    """Each element so many times along an axis."""
    extents = (*shape(data)[:axis], shape(data)[axis] * times, *shape(data)[axis + 1 :])
    attributes = {"keep": True, "times": times}

    def element(*i: Expr) -> Expr:
        return data(*i[:axis], i[axis] // times, *i[axis + 1 :])

    return te.compute(extents, element, name, REPEATED if axis == len(extents) - 1 else "", attributes)


TABLE = dict.fromkeys([relay.Resize1DOp, relay.Resize2DOp, relay.Resize3DOp, relay.UpsamplingOp], resize)
