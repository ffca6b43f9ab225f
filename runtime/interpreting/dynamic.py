"""Operators whose values decide the shape of their result, TVM's `dyn.*`, by numpy.

They have the operands and attributes of `dialects/relay/dynamic.py`, and the dtypes of its type rules. A result may be
a view of an input.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from ...support.dtypes import numpy_of
from .host_tensors import axis_of
from .images import METHODS, MODES, ROUNDINGS, AxisResizing, resized, scaled_sizes

AnyArray: TypeAlias = NDArray[Any]
Attributes: TypeAlias = Mapping[str, Any]
Inputs: TypeAlias = Sequence[Any]

ALL = 2**63 - 1
"""The end of a slice of all that is left."""
PADS = ("constant", "edge", "reflect", "wrap")
"""The modes of padding."""


def order(x: AnyArray, axis: int, ascend: bool) -> AnyArray:
    """Return the indices that sort `x` along an axis, stable; descending, NaN comes first."""
    if ascend:
        return np.argsort(x, axis=axis, kind="stable")
    # From behind, ascending: equals are reversed twice.
    last = x.shape[axis] - 1
    return last - np.flip(np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)


def greatest(x: AnyArray, k: int, axis: int, ascend: bool) -> tuple[AnyArray, AnyArray]:
    """Return the `k` greatest elements along an axis, or the least, sorted; and their indices."""
    indices = order(x, axis, ascend).take(range(k), axis)
    return np.take_along_axis(x, indices, axis), indices


def one_hot(indices: AnyArray, on: AnyArray, off: AnyArray, depth: int, axis: int) -> AnyArray:
    """Return `on` where the new axis equals the index, else `off`."""
    rows = np.arange(depth).reshape(-1, *[1] * (indices.ndim - axis))
    return np.where(np.expand_dims(indices, axis) == rows, on.reshape(()), off.reshape(()))


def dense(shape: Sequence[int], indices: AnyArray, values: AnyArray, default: AnyArray | None) -> AnyArray:
    """Return a tensor with values at points, the default (0) elsewhere; points outside are left out."""
    out = np.full(shape, 0 if default is None else default.reshape(()), values.dtype)
    points = indices.reshape(values.size, len(shape)).astype(np.int64).tolist()
    for point, value in zip(points, values.reshape(-1), strict=True):
        if all(0 <= at < extent for at, extent in zip(point, shape, strict=True)):
            out[tuple(point)] = value
    return out


def padded(x: AnyArray, value: AnyArray, width: Sequence[int], mode: str) -> AnyArray:
    """Return `x` with elements before and after those of each axis in turn; `value` is for the mode "constant"."""
    if not x.ndim:
        return x
    pairs = list(zip(width[::2], width[1::2], strict=True))
    if mode == "constant":
        return np.pad(x, pairs, constant_values=value.reshape(())[()])
    return np.pad(x, pairs, mode=cast(Any, mode))


def end_after(first: Any, size: Any) -> Any:
    """Return the end of a slice of so many indices from the first one on; a negative size is all that is left."""
    if isinstance(size, int) and size < 0:
        return ALL
    reaches_end = isinstance(first, int) and first < 0 and isinstance(size, int) and first + size >= 0
    return ALL if reaches_end else first + size


def _ints(array: AnyArray) -> list[int]:
    """Return the elements of an operand that decides, in row-major order."""
    return [int(number) for number in array.ravel().tolist()]


def _one(array: AnyArray) -> Any:
    """Return the element of an operand that decides, a scalar or a vector of one."""
    _require(array.size == 1, "one number", array.size)
    return array.item()


def _require(holds: bool, expected: str, actual: object) -> None:
    if not holds:
        raise ValueError(f"expected {expected}, got {actual}")


def _shape(array: AnyArray) -> list[int]:
    shape = _ints(array)
    _require(min(shape, default=0) >= 0, "extents of at least 0", shape)
    return shape


def _reshape(attributes: Attributes, inputs: Inputs) -> AnyArray:
    """Reshape to extents in which 0 copies (unless `allowzero`), and the numbers from -1 to -4 stand for others."""
    x, new = inputs[0], _ints(inputs[1])
    old: tuple[int, ...] = x.shape
    extents: list[int] = []
    # -1 is the quotient of what extents are made of and are not: a copied 0 divides nothing.
    others: list[int] = []
    written: list[int] = []
    at = index = 0
    while index < len(new):
        extent = new[index]
        index += 1
        if extent == -2:
            extents += old[at:]
            at = max(at, len(old))
        elif extent == -4:
            extents += _split(old[at : at + 1], new[index : index + 2])
            at, index = at + 1, index + 2
        elif extent == -3 or (extent == 0 and not attributes["allowzero"]):
            width = 1 if extent == 0 else 2
            _require(at + width <= len(old), f"{extent} in newshape only below rank {len(old) + 1 - width}", new)
            extents.append(math.prod(old[at : at + width]))
            at += width
        else:
            extents.append(extent)
            written.append(extent)
            others += old[at : at + 1]
            at += 1
    left = [place for place, extent in enumerate(extents) if extent == -1]
    _require(len(left) <= 1 and min(extents, default=0) >= -1, "a newshape of sizes with at most one -1", new)
    if left:
        elements, divisor = math.prod([*others, *old[at:]]), -math.prod(written)
        _require(divisor != 0 and elements % divisor == 0, f"a newshape that divides {x.size} elements", new)
        extents[left[0]] = elements // divisor
    _require(math.prod(extents) == x.size, f"a newshape of {x.size} elements", new)
    return x.reshape(extents)


def _split(old: Sequence[int], parts: Sequence[int]) -> list[int]:
    """Return the two extents that one is split in."""
    _require(len(old) == 1 and len(parts) == 2 and parts.count(-1) < 2, "two extents behind -4 for one", parts)
    factor = math.prod(part for part in parts if part != -1)
    _require(factor > 0 and old[0] % factor == 0, f"extents behind -4 that divide {old[0]}", parts)
    both = [old[0] // factor if part == -1 else part for part in parts]
    _require(math.prod(both) == old[0], f"extents behind -4 of the product {old[0]}", parts)
    return both


def _broadcast_to(attributes: Attributes, inputs: Inputs) -> AnyArray:
    x, shape = inputs[0], _shape(inputs[1])
    tail = shape[len(shape) - x.ndim :] if len(shape) >= x.ndim else ()
    fits = len(tail) == x.ndim and all(old in (1, new) for old, new in zip(x.shape, tail, strict=True))
    _require(fits, f"a shape that {list(x.shape)} broadcasts to", shape)
    return np.broadcast_to(x, shape)


def _tile(attributes: Attributes, inputs: Inputs) -> AnyArray:
    return np.tile(inputs[0], _shape(inputs[1]))


def _strided_slice(attributes: Attributes, inputs: Inputs) -> AnyArray:
    x, begin, end = inputs[0], _ints(inputs[1]), _ints(inputs[2])
    strides = _ints(inputs[3]) if len(inputs) > 3 else None
    if attributes["slice_mode"] == "size":
        end, strides = [end_after(first, count) for first, count in zip(begin, end, strict=True)], None
    axes: Sequence[int] = attributes["axes"] or range(len(begin))
    strides = strides or [1] * len(begin)
    _require(
        len(begin) == len(end) == len(axes) == len(strides) <= x.ndim,
        f"begin, end, strides and axes of one length, at most {x.ndim}",
        f"{begin}, {end}, {strides} and {list(axes)}",
    )
    _require(0 not in strides, "strides other than 0", strides)
    places = [axis_of(axis, x.ndim) for axis in axes]
    _require(len(set(places)) == len(places), "axes that differ", list(axes))
    indices: list[slice] = [slice(None)] * x.ndim
    for axis, first, last, stride in zip(places, begin, end, strides, strict=True):
        taken = range(x.shape[axis])[first:last:stride]
        stop = taken.stop if taken.stop >= 0 else None
        indices[axis] = slice(taken.start, stop, taken.step) if taken else slice(0, 0)
    return x[tuple(indices)]


def _full(attributes: Attributes, inputs: Inputs) -> AnyArray:
    _require(inputs[0].size == 1, "one number", f"an array of shape {list(inputs[0].shape)}")
    return np.broadcast_to(inputs[0].reshape(()).astype(numpy_of(attributes["dtype"])), _shape(inputs[1]))


def _filled(number: int) -> Callable[[Attributes, Inputs], AnyArray]:
    return lambda attributes, inputs: np.full(_shape(inputs[0]), number, numpy_of(attributes["dtype"]))


def _arange(attributes: Attributes, inputs: Inputs) -> AnyArray:
    start, stop, step = (float(_one(array)) for array in inputs)
    fits = step != 0 and all(map(math.isfinite, (start, stop, step)))
    _require(fits, "finite numbers and a step other than 0", f"{start}, {stop}, {step}")
    count = max(0, math.ceil((stop - start) / step))
    return (start + np.arange(count) * step).astype(numpy_of(attributes["dtype"]))


def _topk(attributes: Attributes, inputs: Inputs) -> tuple[AnyArray, ...]:
    x, k = inputs[0], int(_one(inputs[1]))
    axis = axis_of(attributes["axis"], x.ndim)
    k = k if k > 0 else x.shape[axis]
    _require(k <= x.shape[axis], f"k of at most {x.shape[axis]}", k)
    values, indices = greatest(x, k, axis, bool(attributes["is_ascend"]))
    indices = indices.astype(numpy_of(attributes["dtype"]))
    return {"both": (values, indices), "values": (values,), "indices": (indices,)}[attributes["ret_type"]]


def _one_hot(attributes: Attributes, inputs: Inputs) -> AnyArray:
    indices, on, off, depth = *inputs[:3], int(_one(inputs[3]))
    _require(on.size == off.size == 1 and depth >= 0, "two scalars and a depth of at least 0", depth)
    axis = axis_of(attributes["axis"], indices.ndim + 1)
    return one_hot(indices, on, off, depth, axis).astype(numpy_of(attributes["dtype"]))


def _pad(attributes: Attributes, inputs: Inputs) -> AnyArray:
    x, width, mode = inputs[0], _ints(inputs[1]), attributes["pad_mode"]
    fits = len(width) == 2 * x.ndim and min(width, default=0) >= 0
    _require(fits, f"{2 * x.ndim} non-negative pad widths", width)
    _require(inputs[2].size == 1, "one pad value", f"an array of shape {list(inputs[2].shape)}")
    _require(mode in PADS, f"pad_mode among {', '.join(PADS)}", repr(mode))
    repeated = mode != "constant" and any(any(width[2 * axis :][:2]) for axis in range(x.ndim) if not x.shape[axis])
    _require(not repeated, "a tensor with elements to repeat", f"one of shape {list(x.shape)}")
    return padded(x, inputs[2], width, mode)


def _squeeze(attributes: Attributes, inputs: Inputs) -> AnyArray:
    x = inputs[0]
    axes = {axis_of(axis, x.ndim) for axis in _ints(inputs[1])}
    _require(all(x.shape[axis] == 1 for axis in axes), "axes of extent 1", f"{sorted(axes)} of {list(x.shape)}")
    return x.reshape([extent for axis, extent in enumerate(x.shape) if axis not in axes])


def _expand_dims(attributes: Attributes, inputs: Inputs) -> AnyArray:
    x, count = inputs[0], attributes["num_newaxis"]
    axis = axis_of(int(_one(inputs[1])), x.ndim + 1)
    _require(count >= 0, "num_newaxis of at least 0", count)
    return x.reshape((*x.shape[:axis], *[1] * count, *x.shape[axis:]))


def _sparse_to_dense(attributes: Attributes, inputs: Inputs) -> AnyArray:
    indices, shape, values = inputs[0], _shape(inputs[1]), inputs[2]
    default = inputs[3] if len(inputs) > 3 else None
    columns = indices.shape[1] if indices.ndim == 2 else 1
    fits = indices.ndim <= 2 and values.shape == indices.shape[:1] and len(shape) == columns
    _require(fits, f"coordinates in {shape}, and a value for each", f"{list(indices.shape)} and {list(values.shape)}")
    _require(default is None or default.size == 1, "one number as default", "others")
    return dense(shape, indices, values, default)


def _image(x: AnyArray, layout: str) -> list[int]:
    """Return the axes of height and width."""
    fits = sorted(layout) == sorted("NCHW") and x.ndim == 4
    _require(fits, "a layout of N, C, H and W that fits", f"{layout!r} for {list(x.shape)}")
    return [layout.index(letter) for letter in "HW"]


def _upsampling(attributes: Attributes, inputs: Inputs) -> AnyArray:
    x, scales = inputs[0], [float(_one(array)) for array in inputs[1:]]
    axes, method = _image(x, attributes["layout"]), attributes["method"].removeprefix("bi")
    _require(method in METHODS, "method nearest_neighbor, bilinear or bicubic", repr(attributes["method"]))
    extents = [x.shape[axis] for axis in axes]
    sizes = scaled_sizes(extents, scales)
    mode = "align_corners" if attributes["align_corners"] else "asymmetric"
    return _resized(
        x, axes, [AxisResizing(e, s, s / max(1, e), method, mode) for e, s in zip(extents, sizes, strict=True)]
    )


def _resize2d(attributes: Attributes, inputs: Inputs) -> AnyArray:
    x, sizes, roi = inputs[0], _ints(inputs[1]), [float(number) for number in inputs[2].ravel().tolist()]
    axes = _image(x, attributes["layout"])
    method, mode = attributes["method"], attributes["coordinate_transformation_mode"]
    rounding = attributes["rounding_method"]
    for found, allowed in ((method, METHODS), (mode, MODES), (rounding, ROUNDINGS)):
        _require(found in allowed, f"a way of resizing among {', '.join(filter(None, allowed))}", repr(found))
    roi = roi or [0.0, 0.0, 1.0, 1.0]
    fits = len(sizes) == 2 and len(roi) == 4 and min(sizes, default=0) > 0
    _require(fits, "2 sizes of at least 1, and 4 roi", f"{sizes}, {roi}")
    how = [
        AxisResizing(
            *(x.shape[axis], sizes[at], sizes[at] / max(1, x.shape[axis]), method, mode, rounding),
            alpha=attributes["cubic_alpha"],
            exclude=bool(attributes["cubic_exclude"]),
            roi=(roi[at], roi[2 + at]),
        )
        for at, axis in enumerate(axes)
    ]
    return _resized(x, axes, how, attributes["extrapolation_value"])


def _resized(x: AnyArray, axes: Sequence[int], how: Sequence[AxisResizing], extrapolation: float = 0.0) -> AnyArray:
    """Return an image with axes resized; a number outside of it has the extrapolation value."""
    for axis, resizing in zip(axes, how, strict=True):
        some = x.shape[axis] > 0 or resizing.size == 0
        _require(some, "an image with elements to read", f"one of shape {list(x.shape)}")
    return resized(x, axes, how, extrapolation, x.dtype)


TABLE = {
    "dyn.arange": _arange,
    "dyn.broadcast_to": _broadcast_to,
    "dyn.expand_dims": _expand_dims,
    "dyn.full": _full,
    "dyn.image.resize2d": _resize2d,
    "dyn.nn.pad": _pad,
    "dyn.nn.upsampling": _upsampling,
    "dyn.one_hot": _one_hot,
    "dyn.ones": _filled(1),
    "dyn.reshape": _reshape,
    "dyn.sparse_to_dense": _sparse_to_dense,
    "dyn.squeeze": _squeeze,
    "dyn.strided_slice": _strided_slice,
    "dyn.tile": _tile,
    "dyn.topk": _topk,
    "dyn.zeros": _filled(0),
}
