"""How operators that move elements are drawn: shapes, slices, indices, orders."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from random_relay_elementwise import Recipe
from random_relay_values import ELEMENTS, EVERY, FLOATS, NUMBERS, Draw, Redraw, Value

from whence import relay


def same(d: Draw, found: Any, x: Value, *others: Value) -> Value:
    """What moves elements of `x`, and of others."""
    every = (x, *others)
    low, high = min(v.low for v in every), max(v.high for v in every)
    return d.emit(found, low, high, all(v.exact for v in every))


def factors(d: Draw, count: int) -> list[int]:
    """A shape of so many elements."""
    found: list[int] = []
    while count > 1 and len(found) < 4 and d.chance(0.8):
        factor = d.choice([n for n in range(1, count + 1) if count % n == 0])
        found.append(factor)
        count //= factor
    return [*found, count]


def reshape(d: Draw) -> Value:
    x = d.tensor(EVERY, empty=False)
    shape = factors(d, int(np.prod(x.shape)))
    if d.chance(0.3):
        shape[d.dice.randrange(len(shape))] = -1
    elif x.rank and d.chance(0.2):
        shape = [0, -1] if x.rank > 1 else [0]
    return same(d, relay.reshape(x.expr, shape), x)


def transpose(d: Draw) -> Value:
    x = d.tensor(EVERY, (1, 4))
    order = None if d.chance(0.2) else d.dice.sample(range(x.rank), x.rank)
    return same(d, relay.transpose(x.expr, order), x)


def squeeze(d: Draw) -> Value:
    x = d.tensor(EVERY, (1, 4), fits=lambda v: 1 in v.shape)
    ones = [axis for axis, n in enumerate(x.shape) if n == 1]
    return same(
        d, relay.squeeze(x.expr, None if d.chance(0.3) else d.dice.sample(ones, d.dice.randint(1, len(ones)))), x
    )


def expand_dims(d: Draw) -> Value:
    x = d.tensor(EVERY, (0, 3))
    return same(d, relay.expand_dims(x.expr, d.dice.randint(-x.rank - 1, x.rank), d.dice.randint(1, 4 - x.rank)), x)


def alike(d: Draw, x: Value, count: int) -> list[Value]:
    """`x` and others of its type, in some order."""
    others = d.visible(lambda v: v.type == x.type)
    found = [d.choice(others) if others and d.chance(0.6) else _twin(d, x.shape, x.dtype) for _ in range(count)]
    return d.dice.sample([x, *found], count + 1)


def _twin(d: Draw, shape: Sequence[int], dtype: str) -> Value:
    return d.fresh(shape, dtype, 0.0 if dtype == "uint8" else -3.0)


def concatenate(d: Draw) -> Value:
    x = d.tensor(EVERY, (1, 4))
    axis = d.axis(x.rank)
    parts = [x]
    for _ in range(d.dice.randint(0, 2)):
        fits = d.visible(
            lambda v: v.dtype == x.dtype and v.rank == x.rank and _but(v.shape, axis) == _but(x.shape, axis)
        )
        own = [d.size(4) if at == axis % x.rank else n for at, n in enumerate(x.shape)]
        parts.append(d.choice(fits) if fits and d.chance(0.6) else _twin(d, own, x.dtype))
    d.dice.shuffle(parts)
    given = [part.expr for part in parts]
    return same(d, relay.concatenate(relay.Tuple(given) if d.chance(0.5) else given, axis), *parts)


def _but(shape: Sequence[int], axis: int) -> list[int]:
    found = list(shape)
    del found[axis]
    return found


def stack(d: Draw) -> Value:
    x = d.tensor(EVERY, (0, 3))
    parts = alike(d, x, d.dice.randint(0, 2))
    return same(d, relay.stack([part.expr for part in parts], d.dice.randint(-x.rank - 1, x.rank)), *parts)


def split(d: Draw) -> None:
    """The parts as values of their own, or one of them."""
    x = d.tensor(EVERY, (1, 4), empty=False)
    axis = d.axis(x.rank)
    extent = x.shape[axis]
    if d.chance(0.5):
        where: Any = d.choice([n for n in range(1, extent + 1) if extent % n == 0])
    else:
        where = sorted(d.dice.sample(range(extent + 1), d.dice.randint(1, min(2, extent))))
    parts = relay.split(x.expr, where, axis)
    d.type_of(parts.astuple())
    for index in d.dice.sample(range(len(parts)), d.dice.randint(1, len(parts))):
        same(d, parts[index], x)


def strided_slice(d: Draw) -> Value:
    x = d.tensor(EVERY, (1, 4), empty=False)
    axes = sorted(d.dice.sample(range(x.rank), d.dice.randint(1, x.rank)))
    begin, end, strides = list[int](), list[int](), list[int]()
    for axis in axes:
        n = x.shape[axis]
        first, last = sorted((d.dice.randint(0, n), d.dice.randint(0, n)))
        if first == last and d.chance(0.9):
            first, last = 0, n
        step = d.choice((1, 1, 2, 3))
        if d.chance(0.2) and last - 1 - n < first - 1:
            # Backwards: from the last one taken down to the first.
            begin.append(last - 1)
            end.append(first - 1 if first else -n - 1)
            strides.append(-step)
        else:
            begin.append(first - n if d.chance(0.2) and first < n else first)
            end.append(last + d.dice.randint(0, 9) if last == n else last)
            strides.append(step)
    kind = dict[str, Any](strides=strides, axes=axes)
    if axes == list(range(len(axes))) and d.chance(0.4):
        kind.pop("axes")
    if set(strides) == {1} and d.chance(0.5):
        kind.pop("strides")
    return same(d, relay.strided_slice(x.expr, begin, end, **kind), x)


def slice_like(d: Draw) -> Value:
    x = d.tensor(EVERY, (1, 4), empty=False)
    like = _twin(d, [d.dice.randint(1, n) for n in x.shape], d.dtype(NUMBERS))
    axes = None if d.chance(0.5) else d.dice.sample(range(x.rank), d.dice.randint(1, x.rank))
    return same(d, relay.slice_like(x.expr, like.expr, axes), x)


def take(d: Draw) -> Value:
    x = d.tensor(EVERY, (1, 4), empty=False)
    axis = d.axis(x.rank)
    indices = d.given(d.array(d.shape(0, 2), d.dtype(("int32", "int64")), 0, x.shape[axis] - 1))
    kind = {} if d.chance(0.6) else {"mode": "clip"}
    return same(d, relay.take(x.expr, indices.expr, axis, **kind), x)


def gather(d: Draw) -> Value:
    x = d.tensor(EVERY, (1, 4), empty=False)
    axis = d.axis(x.rank)
    shape = [d.size(5) if at == axis % x.rank else n for at, n in enumerate(x.shape)]
    indices = d.given(d.array(shape, d.dtype(("int32", "int64")), 0, x.shape[axis] - 1))
    return same(d, relay.gather(x.expr, axis=axis, indices=indices.expr), x)


def gather_nd(d: Draw) -> Value:
    x = d.tensor(EVERY, (1, 4), empty=False)
    count, points_count = d.dice.randint(1, x.rank), d.size(4)
    points = np.stack([d.array((points_count,), "int64", 0, n - 1) for n in x.shape[:count]])
    return same(d, relay.gather_nd(x.expr, d.given(points).expr), x)


def one_hot(d: Draw) -> Value:
    indices = d.given(d.array(d.shape(0, 2), "int32", 0, 4))
    on, off = relay.const(2.0, "float32"), relay.const(-1.0, "float32")
    found = relay.one_hot(indices.expr, on, off, depth=d.size(5), axis=-1, dtype="float32")
    return d.emit(found, -1.0, 2.0, exact=True)


def scatter_elements(d: Draw) -> Value:
    x = d.tensor(("float32", "int32"), (1, 3), empty=False)
    axis = d.axis(x.rank)
    # Distinct places: what comes last is not said.
    places = [d.dice.randint(0, n) if at != axis % x.rank else min(n, 2) for at, n in enumerate(x.shape)]
    if 0 in places:
        raise Redraw
    order = np.argsort(
        d.numbers.random([x.shape[axis % x.rank] if at == axis % x.rank else n for at, n in enumerate(places)]), axis
    )
    indices = d.given(order.take(range(places[axis % x.rank]), axis).astype(np.int64))
    updates = d.fresh(places, x.dtype)
    reduction = d.choice(("update", "add", "max"))
    found = relay.scatter_elements(x.expr, indices.expr, updates.expr, axis=axis, reduction=reduction)
    return d.emit(found, x.low - 3, x.high + 3, x.exact)


def scatter_nd(d: Draw) -> Value:
    x = d.tensor(("float32", "int32"), (1, 3), empty=False)
    points = d.given(d.numbers.permutation(x.shape[0])[: d.size(x.shape[0])][None].astype(np.int64))
    updates = d.fresh((points.shape[1], *x.shape[1:]), x.dtype)
    found = relay.scatter_nd(x.expr, points.expr, updates.expr, mode=d.choice(("update", "add")))
    return d.emit(found, x.low - 3, x.high + 3, x.exact)


def tile(d: Draw) -> Value:
    x = d.tensor(EVERY, (0, 3))
    return same(d, relay.tile(x.expr, [d.size(3) for _ in range(d.dice.randint(1, 3))]), x)


def repeat(d: Draw) -> Value:
    x = d.tensor(EVERY, (1, 4))
    return same(d, relay.repeat(x.expr, d.size(3), d.axis(x.rank)), x)


def reverse(d: Draw) -> Value:
    x = d.tensor(EVERY, (1, 4))
    return same(d, relay.reverse(x.expr, [d.axis(x.rank)]), x)


def broadcast_to(d: Draw) -> Value:
    x = d.tensor(EVERY, (0, 3))
    shape = [d.size(4) if n == 1 and d.chance(0.7) else n for n in x.shape]
    shape = [*(d.size(3) for _ in range(d.dice.randint(0, 4 - x.rank))), *shape]
    if int(np.prod(shape)) > ELEMENTS:
        raise Redraw
    if d.chance(0.3):
        return same(d, relay.broadcast_to_like(x.expr, _twin(d, shape, d.dtype(NUMBERS)).expr), x)
    return same(d, relay.broadcast_to(x.expr, shape), x)


def reshape_like(d: Draw) -> Value:
    x = d.tensor(EVERY, empty=False)
    like = _twin(d, factors(d, int(np.prod(x.shape))), d.dtype(NUMBERS))
    return same(d, relay.reshape_like(x.expr, like.expr), x)


def batch_flatten(d: Draw) -> Value:
    x = d.tensor(EVERY, (2, 4))
    return same(d, relay.nn.batch_flatten(x.expr), x)


def pad(d: Draw) -> Value:
    x = d.tensor(NUMBERS, (1, 4), empty=False)
    widths = [(d.dice.randint(0, 2), d.dice.randint(0, 2)) for _ in x.shape]
    mode = d.choice(("constant", "constant", "edge", "reflect"))
    if mode == "reflect":
        widths = [(min(a, n - 1), min(b, n - 1)) for (a, b), n in zip(widths, x.shape, strict=True)]
    value = d.choice((0, 0, 1))
    found = relay.nn.pad(x.expr, widths, relay.const(value, x.dtype), pad_mode=mode)
    return d.emit(found, min(x.low, value), max(x.high, value), x.exact)


def mirror_pad(d: Draw) -> Value:
    x = d.tensor(FLOATS, (1, 4), empty=False)
    widths = [(d.dice.randint(0, min(2, n - 1)), d.dice.randint(0, min(2, n - 1))) for n in x.shape]
    return same(d, relay.nn.mirror_pad(x.expr, pad_width=widths, mode=d.choice(("SYMMETRIC", "REFLECT"))), x)


def layout(d: Draw) -> Value:
    x = d.tensor(("float32", "int32"), (4, 4), empty=False)
    return same(d, relay.layout_transform(x.expr, "NCHW", d.choice(("NHWC", "NCHW", "HWCN"))), x)


def sorting(name: str, d: Draw) -> Value:
    x = d.tensor(("float32", "int32", "int64"), (1, 3), exact=True, empty=False)
    axis = d.axis(x.rank)
    if name == "sort":
        return same(d, relay.sort(x.expr, axis=axis, is_ascend=d.chance(0.5)), x)
    if name == "argsort":
        found = relay.argsort(x.expr, axis=axis, is_ascend=d.chance(0.5), dtype="int32")
        return d.emit(found, 0.0, float(x.shape[axis]))
    k = d.dice.randint(1, x.shape[axis])
    return same(d, relay.topk(x.expr, k, axis, "values", d.chance(0.5)), x)


def topk_both(d: Draw) -> None:
    x = d.tensor(("float32", "int32"), (1, 3), exact=True, empty=False)
    axis = d.axis(x.rank)
    both = relay.topk(x.expr, d.dice.randint(1, x.shape[axis]), axis)
    d.type_of(both.astuple())
    same(d, both[0], x)
    d.emit(both[1], 0.0, float(x.shape[axis]))


def cumulative(name: str, d: Draw) -> Value:
    x = d.tensor(("float32", "int32", "int64"), (1, 3), empty=False)
    axis = d.axis(x.rank)
    n = x.shape[axis]
    kind = dict(axis=axis, exclusive=d.chance(0.3))
    if name == "cumsum":
        return d.emit(relay.cumsum(x.expr, **kind), -x.most * n, x.most * n, x.exact)
    x = d.bounded(x, -1.25, 1.25) if x.is_float else d.bounded(x, -1.0, 1.0)
    if 1.25**n > 30:
        raise Redraw
    return d.emit(relay.cumprod(x.expr, **kind), -(1.25**n), 1.25**n, exact=False)


def created(name: str, d: Draw) -> Value:
    dtype = d.dtype(NUMBERS)
    shape = d.shape()
    if name == "full":
        return d.emit(relay.full(relay.const(2, dtype), shape=shape, dtype=dtype), 2.0, 2.0, exact=True)
    value = float(name == "ones")
    return d.emit(getattr(relay, name)(shape, dtype), value, value, exact=True)


def full_like(d: Draw) -> Value:
    x = d.tensor(NUMBERS)
    return d.emit(relay.full_like(x.expr, relay.const(3, x.dtype)), 3.0, 3.0, exact=True)


def arange(d: Draw) -> Value:
    count = d.size(7)
    return d.emit(relay.arange(count, dtype=d.dtype(("float32", "int32", "int64"))), 0.0, float(count), exact=True)


def meshgrid(d: Draw) -> None:
    x, y = d.tensor(("float32",), (1, 1), empty=False), d.tensor(("float32",), (1, 1), empty=False)
    both = relay.meshgrid([x.expr, y.expr], indexing=d.choice(("ij", "xy")))
    d.type_of(both.astuple())
    same(d, both[0], x)
    same(d, both[1], y)


def trilu(d: Draw) -> Value:
    x = d.tensor(("float32", "int32"), (2, 3), empty=False)
    k = relay.const(d.dice.randint(-2, 2), "int32")
    return d.emit(relay.trilu(x.expr, k, upper=d.chance(0.5)), min(x.low, 0.0), max(x.high, 0.0), x.exact)


def shape_of(d: Draw) -> Value:
    x = d.tensor(EVERY, (1, 4))
    if d.chance(0.4):
        return d.emit(relay.ndarray_size(x.expr, dtype="int32"), 0.0, float(ELEMENTS))
    return d.emit(relay.shape_of(x.expr, dtype="int32"), 0.0, float(max(x.shape)))


def collapse(d: Draw) -> Value:
    x = d.tensor(("float32", "int32"), (1, 3), empty=False)
    like = d.fresh(d.partner(x.shape), x.dtype)
    count = float(np.prod(x.shape))
    found = (
        relay.collapse_sum_like(x.expr, like.expr) if d.chance(0.5) else relay.collapse_sum_to(x.expr, shape=like.shape)
    )
    return d.emit(found, -x.most * count, x.most * count, x.exact)


def sequence(name: str, d: Draw) -> Value:
    x = d.tensor(("float32", "int32"), (2, 3), empty=False)
    if name == "sequence_mask":
        axis = d.dice.randint(0, 1)
        lengths = d.given(d.array((x.shape[1 - axis],), "int32", 0, x.shape[axis]))
        found = relay.sequence_mask(x.expr, lengths.expr, mask_value=0.0, axis=axis)
        return d.emit(found, min(0.0, x.low), max(0.0, x.high), x.exact)
    lengths = d.given(d.array((x.shape[1],), "int32", 1, x.shape[0]))
    return same(d, relay.reverse_sequence(x.expr, lengths.expr, seq_axis=0, batch_axis=1), x)


RECIPES: dict[str, Recipe] = {
    "reshape": reshape,
    "transpose": transpose,
    "squeeze": squeeze,
    "expand_dims": expand_dims,
    "concatenate": concatenate,
    "stack": stack,
    "split": split,
    "strided_slice": strided_slice,
    "slice_like": slice_like,
    "take": take,
    "gather": gather,
    "gather_nd": gather_nd,
    "one_hot": one_hot,
    "scatter_elements": scatter_elements,
    "scatter_nd": scatter_nd,
    "tile": tile,
    "repeat": repeat,
    "reverse": reverse,
    "broadcast_to": broadcast_to,
    "reshape_like": reshape_like,
    "nn.batch_flatten": batch_flatten,
    "nn.pad": pad,
    "nn.mirror_pad": mirror_pad,
    "layout_transform": layout,
    **{name: partial(sorting, name) for name in ("sort", "argsort", "topk")},
    "topk of both": topk_both,
    **{name: partial(cumulative, name) for name in ("cumsum", "cumprod")},
    **{name: partial(created, name) for name in ("full", "zeros", "ones")},
    "full_like": full_like,
    "arange": arange,
    "meshgrid": meshgrid,
    "trilu": trilu,
    "shape_of": shape_of,
    "collapse_sum": collapse,
    **{name: partial(sequence, name) for name in ("sequence_mask", "reverse_sequence")},
}
"""By TVM's names of the functions."""
