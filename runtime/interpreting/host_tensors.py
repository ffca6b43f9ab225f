"""Operators that move, compare and choose elements, on tensors of texts, by numpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Texts: TypeAlias = NDArray[np.object_]
Attributes: TypeAlias = Mapping[str, Any]
Inputs: TypeAlias = Sequence[Any]


def texts(values: Any) -> Texts:
    """Return an array of texts."""
    return np.asarray(values, np.object_)


def axis_of(axis: int, rank: int) -> int:
    """Return an axis, counted from the end if it is negative; raises ValueError if there is none."""
    if not -rank <= axis < rank:
        raise ValueError(f"expected an axis in [{-rank}, {rank}), got {axis}")
    return axis % rank


def _axes(attributes: Attributes, inputs: Inputs) -> list[int] | None:
    """Return the axes in an attribute, or in the second input."""
    if len(inputs) > 1 and inputs[1] is not None:
        return [int(axis) for axis in inputs[1].reshape(-1)]
    axes = attributes.get("axes")
    return None if axes is None else list(axes)


def _identity(attributes: Attributes, inputs: Inputs) -> Any:
    return inputs[0]


def _constant(attributes: Attributes, inputs: Inputs) -> Texts:
    return attributes["value"]


def _reshape(attributes: Attributes, inputs: Inputs) -> Texts:
    x, shape = inputs[0], [int(n) for n in inputs[1]]
    if not attributes.get("allowzero", 0):
        shape = [x.shape[at] if n == 0 else n for at, n in enumerate(shape)]
    return x.reshape(shape)


def _flatten(attributes: Attributes, inputs: Inputs) -> Texts:
    x: Texts = inputs[0]
    axis: int = attributes.get("axis", 1)
    axis = axis + x.ndim if axis < 0 else axis
    return x.reshape(prod(x.shape[:axis]), prod(x.shape[axis:]))


def _transpose(attributes: Attributes, inputs: Inputs) -> Texts:
    return inputs[0].transpose(attributes.get("perm"))


def _squeeze(attributes: Attributes, inputs: Inputs) -> Texts:
    axes = _axes(attributes, inputs)
    return inputs[0].squeeze(None if axes is None else tuple(axes))


def _unsqueeze(attributes: Attributes, inputs: Inputs) -> Texts:
    return np.expand_dims(inputs[0], tuple(_axes(attributes, inputs) or ()))


def _concat(attributes: Attributes, inputs: Inputs) -> Texts:
    return np.concatenate(inputs, axis=attributes["axis"])


def _split(attributes: Attributes, inputs: Inputs) -> tuple[Texts, ...]:
    x, axis = inputs[0], axis_of(attributes.get("axis", 0), inputs[0].ndim)
    sizes = [int(n) for n in inputs[1]] if len(inputs) > 1 and inputs[1] is not None else attributes.get("split")
    if sizes is None:
        parts = attributes["outputs"]
        size = -(-x.shape[axis] // parts)
        sizes = [min(size, max(0, x.shape[axis] - size * part)) for part in range(parts)]
    if sum(sizes) != x.shape[axis] or min(sizes, default=0) < 0:
        raise ValueError(f"expected sizes that make up {x.shape[axis]}, got {list(sizes)}")
    return tuple(np.split(x, np.cumsum(sizes)[:-1], axis))


def _slice(attributes: Attributes, inputs: Inputs) -> Texts:
    x = inputs[0]
    if len(inputs) < 3:
        starts, ends = attributes["starts"], attributes["ends"]
        axes, steps = attributes.get("axes"), None
    else:
        starts, ends = inputs[1].tolist(), inputs[2].tolist()
        axes = inputs[3].tolist() if len(inputs) > 3 and inputs[3] is not None else None
        steps = inputs[4].tolist() if len(inputs) > 4 and inputs[4] is not None else None
    slices: list[slice] = [slice(None)] * x.ndim
    axes = range(len(starts)) if axes is None else axes
    for axis, start, end, step in zip(axes, starts, ends, steps or [1] * len(starts), strict=True):
        axis, extent = axis_of(axis, x.ndim), x.shape[axis]
        # An end before the first element is none in Python, whose -1 is the last one.
        stop = None if step < 0 and end + (extent if end < 0 else 0) < 0 else end
        slices[axis] = slice(start, stop, step)
    return x[tuple(slices)]


def _gather(attributes: Attributes, inputs: Inputs) -> Texts:
    x, indices = inputs[0], inputs[1]
    axis = axis_of(attributes.get("axis", 0), x.ndim)
    return texts(np.take(x, _wrapped(indices, x.shape[axis]), axis=axis))


def _wrapped(indices: NDArray[np.int64], extent: int) -> NDArray[np.int64]:
    """Return indices from 0 on for those that may count from the end; raises ValueError for one out of bounds."""
    if indices.size and not -extent <= indices.min() <= indices.max() < extent:
        raise ValueError(f"expected indices in [{-extent}, {extent}), got {indices.min()} to {indices.max()}")
    return np.where(indices < 0, indices + extent, indices)


def _gather_elements(attributes: Attributes, inputs: Inputs) -> Texts:
    x, indices = inputs[0], inputs[1]
    axis = axis_of(attributes.get("axis", 0), x.ndim)
    return np.take_along_axis(x, _wrapped(indices, x.shape[axis]), axis)


def _gather_nd(attributes: Attributes, inputs: Inputs) -> Texts:
    x, indices = inputs[0], inputs[1]
    if attributes.get("batch_dims", 0):
        raise ValueError(f"expected batch_dims of 0 for texts, got {attributes['batch_dims']}")
    extents = x.shape[: indices.shape[-1]]
    return texts(x[tuple(_wrapped(indices[..., axis], extent) for axis, extent in enumerate(extents))])


def _features(attributes: Attributes, inputs: Inputs) -> Texts:
    x, indices = inputs[0], inputs[1].reshape(-1)
    features = np.take(x, _wrapped(indices, x.shape[-1]), axis=-1)
    return features.reshape(1, -1) if x.ndim == 1 else features


def _expand(attributes: Attributes, inputs: Inputs) -> Texts:
    x, shape = inputs[0], tuple(int(n) for n in inputs[1])
    return np.broadcast_to(x, np.broadcast_shapes(x.shape, shape)).copy()


def _tile(attributes: Attributes, inputs: Inputs) -> Texts:
    return np.tile(inputs[0], tuple(int(n) for n in inputs[1]))


def _where(attributes: Attributes, inputs: Inputs) -> Texts:
    condition, x, y = inputs
    return texts(np.where(condition, texts(x), texts(y)))


def _equal(attributes: Attributes, inputs: Inputs) -> Any:
    return np.asarray(np.equal(*inputs), np.bool_)


def _compress(attributes: Attributes, inputs: Inputs) -> Texts:
    return np.compress(inputs[1], inputs[0], axis=attributes.get("axis"))


def _unique(attributes: Attributes, inputs: Inputs) -> tuple[Any, ...]:
    x, axis = inputs[0], attributes.get("axis")
    if axis is not None and x.ndim > 1:
        raise ValueError(f"expected texts without an axis, got axis {axis} of {x.ndim} dimensions")
    flat = x.reshape(-1)
    numbers: dict[str, int] = {}
    positions: list[int] = []
    inverse = np.empty(len(flat), np.int64)
    for position, text in enumerate(flat.tolist()):
        if text not in numbers:
            numbers[text] = len(numbers)
            positions.append(position)
        inverse[position] = numbers[text]
    first = np.asarray(positions, np.int64)
    if attributes.get("sorted", 1):
        order = np.asarray(sorted(range(len(first)), key=lambda number: flat[first[number]]), np.int64)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        first, inverse = first[order], rank[inverse] if len(rank) else inverse
    return flat[first], first, inverse, np.bincount(inverse, minlength=len(first)).astype(np.int64)


def _shape(attributes: Attributes, inputs: Inputs) -> Any:
    return np.asarray(inputs[0].shape[attributes.get("start", 0) : attributes.get("end")], np.int64)


def _size(attributes: Attributes, inputs: Inputs) -> Any:
    return np.asarray(inputs[0].size, np.int64)


def _cast(attributes: Attributes, inputs: Inputs) -> Any:
    """Cast between texts and numbers: numbers are written as in C, with few digits, texts are read as in Python."""
    x, dtype = inputs[0], attributes["dtype"]
    if dtype is None:
        return x if x.dtype.hasobject else texts(_spelled(x))
    if dtype.kind == "b":
        return texts(x) == "True" if all(text in ("True", "False") for text in x.reshape(-1)) else _numbers(x, dtype)
    return _numbers(x, dtype)


def _numbers(x: Texts, dtype: np.dtype[Any]) -> Any:
    parse: Callable[[str], float] = float if dtype.kind not in "iu" else int
    flat = [parse(text) for text in x.reshape(-1).tolist()]
    return np.asarray(flat, np.float64 if dtype.kind not in "iu" else dtype).astype(dtype).reshape(x.shape)


def _spelled(x: Any) -> Any:
    """Return numbers as texts, floats with up to 8 or 17 significant digits."""
    flat = x.reshape(-1)
    if x.dtype.kind in "iub":
        numbers = [str(int(number)) for number in flat]
    else:
        digits = 17 if x.dtype == np.float64 else 8
        numbers = [_number(float(number), digits) for number in flat]
    return np.asarray(numbers, np.object_).reshape(x.shape)


def _number(number: float, digits: int) -> str:
    if np.isnan(number):
        return "NaN"
    return ("-INF" if number < 0 else "INF") if np.isinf(number) else f"{number:.{digits}g}"


TABLE = {
    "ArrayFeatureExtractor": _features,
    "Cast": _cast,
    "Compress": _compress,
    "Concat": _concat,
    "Constant": _constant,
    "Equal": _equal,
    "Expand": _expand,
    "Flatten": _flatten,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "Identity": _identity,
    "Reshape": _reshape,
    "Shape": _shape,
    "Size": _size,
    "Slice": _slice,
    "Split": _split,
    "Squeeze": _squeeze,
    "Tile": _tile,
    "Transpose": _transpose,
    "Unique": _unique,
    "Unsqueeze": _unsqueeze,
    "Where": _where,
}
