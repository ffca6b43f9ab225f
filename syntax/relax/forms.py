"""Operators whose parameters mean something else in relay: how calls are read, and how they are written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from ..relay.defaults import completed
from ..relay.expr import Call, Constant, Expr, Op, Tuple
from .norms import NORMS_READ, NORMS_WRITTEN
from .rows import Shape, Values, repeated
from .terms import (
    axes_of,
    call,
    constant,
    coordinates_first,
    coordinates_last,
    dtype_of,
    items_of,
    number_of,
    rank_of,
    scalar,
    shape_of,
    variance,
)

# Operators with another dtype, or another form of a parameter.


def _dtype(op: str) -> Callable[[Values], Expr]:
    """`zeros_like` and others with a dtype of the result."""

    def read(values: Values) -> Expr:
        fill = (values["fill_value"],) if "fill_value" in values else ()
        result = call(op, values["x"], *fill)
        dtype = values["dtype"]
        return result if dtype in (None, dtype_of(values["x"])) else call("cast", result, dtype=dtype)

    return read


def _like(call_: Call) -> Values:
    names = ("x", "fill_value")
    return {**dict(zip(names, call_.args, strict=False)), "dtype": None}


def _full(values: Values) -> Expr:
    fill, shape = values["fill_value"], values["shape"]
    if isinstance(shape, Expr):
        return call("dyn.full", fill, shape, dtype=values["dtype"] or dtype_of(fill))
    return call("full", fill, shape=list(values["shape"]), dtype=values["dtype"] or dtype_of(fill))


def _written_full(call_: Call) -> Values:
    attrs = call_.attrs
    return {
        "shape": Shape(attrs["shape"]),
        "fill_value": call_.args[0],
        "dtype": attrs.get("dtype") or dtype_of(call_.args[0]),
    }


def _clip(values: Values) -> Expr:
    return call("clip", values["x"], a_min=number_of(values["min"], "min"), a_max=number_of(values["max"], "max"))


def _written_clip(call_: Call) -> Values:
    low, high = (_plain_number(call_.attrs[key], dtype_of(call_.args[0])) for key in ("a_min", "a_max"))
    return {"x": call_.args[0], "min": low, "max": high}


def _plain_number(value: float, dtype: str) -> int | float:
    """Return a number as Relax writes one of a dtype."""
    return int(value) if "int" in dtype and float(value).is_integer() else float(value)


def _reduced(op: str) -> Callable[[Values], Expr]:
    def read(values: Values) -> Expr:
        axis = values["axis"]
        return call(op, values["x"], axis=[axis] if isinstance(axis, int) else axis, keepdims=values["keepdims"])

    return read


def _written_reduced(call_: Call) -> Values:
    attrs, data = call_.attrs, call_.args[0]
    axis = attrs["axis"]
    if attrs["exclude"]:
        rank = rank_of(data)
        axis = sorted(set(range(rank)) - set(axes_of(axis, rank)))
    return {"x": data, "axis": None if axis is None else _list(axis), "keepdims": bool(attrs["keepdims"])}


def _list(value: Any) -> list[Any]:
    return [value] if isinstance(value, int) else list(value)


def _place(op: str) -> Callable[[Values], Expr]:
    """The place of the greatest or least element, which is an int64 in Relax."""

    def read(values: Values) -> Expr:
        axis = values["axis"]
        place = call(op, values["x"], axis=None if axis is None else [axis], keepdims=values["keepdims"])
        return call("cast", place, dtype="int64")

    return read


def _written_place(op: str) -> Callable[[Call], Values | None]:
    def write(call_: Call) -> Values | None:
        place = call_.args[0]
        if call_.attrs["dtype"] != "int64" or not isinstance(place, Call) or place.op != Op(op):
            return None
        values = _written_reduced(place)
        axis = values["axis"]
        several = axis is not None and len(axis) != 1
        if several or place.attrs["select_last_index"]:
            return None
        return {**values, "axis": None if axis is None else axis[0]}

    return write


def _cast(values: Values) -> Expr:
    data, dtype = values["x"], values["dtype"]
    if dtype == "int32" and isinstance(data, Call) and data.op == Op("cast") and data.attrs["dtype"] == "int64":
        place = data.args[0]
        if isinstance(place, Call) and place.op in (Op("argmax"), Op("argmin")):
            return place
    return call("cast", data, dtype=dtype)


def _written_variance(call_: Call) -> Values | None:
    data, mean = call_.args
    attrs = completed("variance", call_.attrs)
    if not isinstance(mean, Call) or mean.op != Op("mean") or mean.args[0] is not data or attrs.get("unbiased"):
        return None
    wanted = {**completed("mean", mean.attrs), "keepdims": attrs["keepdims"]}
    if not mean.attrs["keepdims"] or wanted != {key: attrs.get(key) for key in wanted}:
        return None
    return _written_reduced(call_)


def _repeat(values: Values) -> Expr:
    data, axis = values["data"], values["axis"]
    data = call("reshape", data, newshape=[-1]) if axis is None else data
    return call("repeat", data, repeats=values["repeats"], axis=0 if axis is None else axis)


def _written_repeat(call_: Call) -> Values:
    attrs = call_.attrs
    return {"data": call_.args[0], "repeats": attrs["repeats"], "axis": attrs["axis"]}


def _expand_dims(values: Values) -> Expr:
    """One call for each run of new axes."""
    result, axes = values["x"], _list(values["axis"])
    wanted = sorted(axes_of(axes, rank_of(result) + len(axes)))
    for index, axis in enumerate(wanted):
        if index and wanted[index - 1] == axis - 1:
            continue
        count = next(k for k in range(1, len(wanted) + 1) if axis + k not in wanted)
        result = call("expand_dims", result, axis=axis, num_newaxis=count)
    return result


def _written_expand_dims(call_: Call) -> Values:
    data, attrs = call_.args[0], call_.attrs
    count = attrs["num_newaxis"]
    axis = attrs["axis"] if attrs["axis"] >= 0 else attrs["axis"] + rank_of(data) + 1
    return {"x": data, "axis": list(range(axis, axis + count))}


def _slice(values: Values) -> Expr:
    numbers = {key: None if values[key] is None else list(values[key]) for key in ("begin", "end", "strides", "axes")}
    return call("strided_slice", values["x"], **numbers)


def _written_slice(call_: Call) -> Values | None:
    attrs = {key: value for key, value in completed("strided_slice", call_.attrs).items() if value}
    begin, end = _list(attrs["begin"]), _list(attrs["end"])
    axes = attrs.get("axes") or range(len(begin))
    if len(begin) != len(end) or len(axes) != len(begin):
        return None
    strides = attrs.get("strides")
    strides = None if strides is None else _list(strides) * (len(begin) if len(_list(strides)) == 1 else 1)
    wrapped = {"axes": tuple(axes), "begin": tuple(begin), "end": tuple(end)}
    return {"x": call_.args[0], **wrapped, "strides": None if strides is None else tuple(strides)}


def _shaped(op: str, key: str) -> Callable[[Values], Expr]:
    """`reshape` and `broadcast_to` to a shape, which may be a tensor that a call decides."""

    def read(values: Values) -> Expr:
        shape = values["shape"]
        if isinstance(shape, Expr):
            return call(f"dyn.{op}", values["x"], shape)
        return call(op, values["x"], **{key: list(shape)})

    return read


def _filled(op: str) -> Callable[[Values], Expr]:
    def read(values: Values) -> Expr:
        shape, dtype = values["shape"], values["dtype"]
        if isinstance(shape, Expr):
            return call(f"dyn.{op}", shape, dtype=dtype)
        return call(op, shape=list(shape), dtype=dtype)

    return read


def _written_filled(call_: Call) -> Values:
    return {"shape": Shape(call_.attrs["shape"]), "dtype": call_.attrs["dtype"]}


def _written_broadcast_to(call_: Call) -> Values:
    return {"x": call_.args[0], "shape": Shape(call_.attrs["shape"])}


def _written_reshape(call_: Call) -> Values | None:
    """A shape without numbers that stand for others: 0 and -1 mean something else in Relax, or nothing."""
    attrs = completed("reshape", call_.attrs)
    extents = _list(attrs["newshape"])
    if attrs["allowzero"] or any(isinstance(extent, int) and extent <= 0 for extent in extents):
        return None
    return {"x": call_.args[0], "shape": Shape(extents)}


def _pad(values: Values) -> Expr:
    data, value = values["data"], values["pad_value"]
    numbers = list(values["pad_width"])
    widths = list(zip(numbers[::2], numbers[1::2], strict=True))
    number = value if isinstance(value, Expr) else scalar(value, data)
    return call("nn.pad", data, number, pad_width=widths, pad_mode=values["pad_mode"])


def _written_pad(call_: Call) -> Values | None:
    data, value = call_.args
    if not isinstance(value, Constant) or value.data.size != 1:
        return None
    widths = np.asarray(call_.attrs["pad_width"], object).reshape(-1).tolist()
    return {
        "data": data,
        "pad_width": widths,
        "pad_mode": call_.attrs["pad_mode"],
        "pad_value": float(value.data.item()),
    }


def _one_hot(values: Values) -> Expr:
    on, off = values["on_value"], values["off_value"]
    dtype = _number_dtype(on)
    numbers = [value if isinstance(value, Expr) else constant(value, dtype) for value in (on, off)]
    return call("one_hot", values["indices"], *numbers, depth=values["depth"], axis=values["axis"], dtype=dtype)


def _number_dtype(value: Any) -> str:
    if isinstance(value, Expr):
        return dtype_of(value)
    return "int64" if isinstance(value, int) else "float32"


def _written_one_hot(call_: Call) -> Values | None:
    indices, *numbers = call_.args
    attrs = call_.attrs
    if not all(isinstance(n, Constant) and n.data.size == 1 for n in numbers):
        return None
    plain = [_plain_number(cast(Constant, n).data.item(), attrs["dtype"]) for n in numbers]
    if _number_dtype(plain[0]) != attrs["dtype"]:
        return None
    return {
        "indices": indices,
        "on_value": plain[0],
        "off_value": plain[1],
        "depth": attrs["depth"],
        "axis": attrs["axis"],
    }


def _arange(values: Values) -> Expr:
    start, end, step = values["start"], values["end"], values["step"]
    first, last = (0, start) if end is None else (start, end)
    whole = all(isinstance(value, int) for value in (first, last, step))
    dtype = values["dtype"] or ("int64" if whole else "float32")
    numbers = {"start": number_of(first, "start"), "stop": number_of(last, "end"), "step": number_of(step, "step")}
    return call("arange", **numbers, dtype=dtype)


def _written_arange(call_: Call) -> Values:
    attrs = call_.attrs
    start, stop, step = (_plain_number(attrs[key], attrs["dtype"]) for key in ("start", "stop", "step"))
    return {"start": start, "end": stop, "step": step, "dtype": attrs["dtype"]}


def _triangle(upper: bool) -> Callable[[Values], Expr]:
    def read(values: Values) -> Expr:
        number = values["k"]
        diagonal = number if isinstance(number, Expr) else constant(number, "int32")
        return call("trilu", values["x"], diagonal, upper=upper)

    return read


def _written_triangle(upper: bool) -> Callable[[Call], Values | None]:
    def write(call_: Call) -> Values | None:
        data, diagonal = call_.args
        if call_.attrs["upper"] != upper or not isinstance(diagonal, Constant):
            return None
        return {"x": data, "k": int(diagonal.data.item())}

    return write


# Windows.


def _pool(op: str, rank: int) -> Callable[[Values], Expr]:
    """`max_pool` and `avg_pool`, which with `ceil_mode` have no window that begins behind the data in Relax."""

    def read(values: Values) -> Expr:
        attrs = {key: value for key, value in values.items() if key != "data"}
        attrs |= {key: repeated(attrs[key], rank) for key in ("pool_size", "strides", "padding", "dilation")}
        pooled = call(op, values["data"], **attrs)
        if not values["ceil_mode"]:
            return pooled
        ends = _ends(pooled)
        if not ends:
            return pooled
        return call("strided_slice", pooled, begin=[0] * len(ends), end=list(ends.values()), axes=list(ends))

    return read


def _ends(pooled: Call) -> dict[int, int]:
    """Return the numbers of windows by axis where the last one begins behind the data."""
    attrs = completed(cast(Op, pooled.op).name, pooled.attrs)
    shape, result = shape_of(pooled.args[0]), shape_of(pooled)
    rank, ends = len(attrs["strides"]), dict[int, int]()
    for before, stride, letter in zip(attrs["padding"], attrs["strides"], "DHW"[3 - rank :], strict=False):
        axis = str(attrs["layout"]).find(letter)
        extent, windows = shape[axis], result[axis]
        if isinstance(extent, int) and isinstance(windows, int) and (windows - 1) * stride >= extent + before:
            ends[axis] = windows - 1
    return ends


def _written_pool(call_: Call) -> Values | None:
    attrs = completed(cast(Op, call_.op).name, call_.attrs)
    if attrs["ceil_mode"] and _ends(call_):
        return None
    plain = {key: list(cast("Sequence[Any]", v)) if isinstance(v, tuple) else v for key, v in attrs.items()}
    return {"data": call_.args[0], **plain, "out_layout": attrs["out_layout"] or None}


# Points: their coordinates are last in Relax, and first in relay.


def _gather_nd(values: Values) -> Expr:
    return call("gather_nd", values["data"], coordinates_first(values["indices"]), batch_dims=values["batch_dims"])


def _written_gather_nd(call_: Call) -> Values | None:
    data, points = call_.args
    indices = coordinates_last(points)
    return indices and {"data": data, "indices": indices, "batch_dims": call_.attrs["batch_dims"]}


def _index_tensor(values: Values) -> Expr:
    return call("adv_index", Tuple([values["data"], *items_of(values["indices"])]))


def _written_index_tensor(call_: Call) -> Values | None:
    if not isinstance(call_.args[0], Tuple):
        return None
    data, *indices = call_.args[0].fields
    return {"data": data, "indices": indices}


def _scatter_nd(values: Values) -> Expr:
    return call(
        "scatter_nd", values["data"], coordinates_first(values["indices"]), values["updates"], mode=values["reduction"]
    )


def _written_scatter_nd(call_: Call) -> Values | None:
    data, points, updates = call_.args
    indices = coordinates_last(points)
    return indices and {"data": data, "indices": indices, "updates": updates, "reduction": call_.attrs["mode"]}


_REDUCTIONS = ("sum", "mean", "max", "min", "prod")
READ: Mapping[str, Callable[[Values], Expr]] = {
    **NORMS_READ,
    **{name: _reduced(name) for name in _REDUCTIONS},
    **{name: _place(name) for name in ("argmax", "argmin")},
    **{name: _dtype(name) for name in ("zeros_like", "ones_like", "full_like")},
    "full": _full,
    "clip": _clip,
    "astype": _cast,
    "variance": variance,
    "repeat": _repeat,
    "expand_dims": _expand_dims,
    "strided_slice": _slice,
    **{
        f"nn.{kind}_pool{rank}d": _pool(f"nn.{kind}_pool{rank}d", rank) for kind in ("max", "avg") for rank in (1, 2, 3)
    },
    "nn.pad": _pad,
    "reshape": _shaped("reshape", "newshape"),
    "broadcast_to": _shaped("broadcast_to", "shape"),
    "zeros": _filled("zeros"),
    "ones": _filled("ones"),
    "one_hot": _one_hot,
    "arange": _arange,
    "tril": _triangle(False),
    "triu": _triangle(True),
    "index_tensor": _index_tensor,
    "gather_nd": _gather_nd,
    "scatter_nd": _scatter_nd,
}
"""The meanings in relay of operators whose parameters are others."""
WRITTEN: Mapping[str, Callable[[Call], Values | None]] = {
    **NORMS_WRITTEN,
    **{name: _written_reduced for name in _REDUCTIONS},
    **{name: _written_place(name) for name in ("argmax", "argmin")},
    **{name: _like for name in ("zeros_like", "ones_like", "full_like")},
    "astype": lambda call_: {"x": call_.args[0], "dtype": call_.attrs["dtype"]},
    "full": _written_full,
    "clip": _written_clip,
    "variance": _written_variance,
    "repeat": _written_repeat,
    "expand_dims": _written_expand_dims,
    "strided_slice": _written_slice,
    **{f"nn.{kind}_pool{rank}d": _written_pool for kind in ("max", "avg") for rank in (1, 2, 3)},
    "nn.pad": _written_pad,
    "reshape": _written_reshape,
    "broadcast_to": _written_broadcast_to,
    "zeros": _written_filled,
    "ones": _written_filled,
    "one_hot": _written_one_hot,
    "arange": _written_arange,
    "tril": _written_triangle(False),
    "triu": _written_triangle(True),
    "index_tensor": _written_index_tensor,
    "gather_nd": _written_gather_nd,
    "scatter_nd": _written_scatter_nd,
}
"""The arguments in Relax of calls of these operators."""
