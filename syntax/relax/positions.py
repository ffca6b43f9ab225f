"""Operators of Relax that read or write at places that other tensors say, and boxes, as expressions of relay."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import cos, pi
from typing import Any

from ...dialects.sizes import broadcast_sizes
from ...support.errors import FrontendError
from ..relay.expr import Expr, Tuple, TupleGetItem
from .rows import Shape, Values
from .terms import axes_of, call, constant, dtype_of, items_of, number_of, rank_of, scalar, shape_of, sizes_tensor


def _counted_from_zero(index: Expr, extent: Any) -> Expr:
    """Return indices of which negative ones count from the end."""
    if dtype_of(index) == "bool":
        raise FrontendError("expected whole numbers as indices, got bool")
    if isinstance(extent, int):
        last = scalar(extent, index)
    else:
        last = call("sizes", values=[extent], shape=[], dtype=dtype_of(index))
    return call("where", call("less", index, scalar(0, index)), call("add", index, last), index)


def _index_put(values: Values) -> Expr:
    data, updates, indices = values["data"], values["values"], items_of(values["indices"])
    shape = shape_of(data)
    if len(indices) > len(shape):
        raise FrontendError(f"index_put: expected at most {len(shape)} tensors of indices, got {len(indices)}")
    common: Sequence[Any] | None = ()
    for index in indices:
        common = None if common is None else broadcast_sizes(common, shape_of(index))
    if common is None:
        raise FrontendError(f"index_put: expected indices that broadcast, got {[list(shape_of(i)) for i in indices]}")
    rows = [
        call("broadcast_to", call("cast", _counted_from_zero(index, extent), dtype="int64"), shape=list(common))
        for index, extent in zip(indices, shape, strict=False)
    ]
    points = call("stack", Tuple(rows), axis=0)
    updates = call("broadcast_to", updates, shape=[*common, *shape[len(indices) :]])
    return call("scatter_nd", data, points, updates, mode="add" if values["accumulate"] else "update")


def _slice_scatter(values: Values) -> Expr:
    data, (axis,) = values["input_tensor"], axes_of(values["axis"], rank_of(values["input_tensor"]))
    start, end, step = (values[name] for name in ("start", "end", "step"))
    if not isinstance(step, int) or step < 1:
        raise FrontendError(f"slice_scatter: expected a step of at least 1, got {step}")
    return call("strided_set", data, values["src"], begin=[start], end=[end], strides=[step], axes=[axis])


def _whole(padded: Expr, number: Expr) -> Expr:
    """Return the first rows of a tensor, as many as a number says."""
    end = call("reshape", number, newshape=[1])
    return call("dyn.strided_slice", padded, constant([0], "int64"), end, constant([1], "int64"))


def _nonzero(values: Values) -> Expr:
    data = values["x"]
    padded = call("padded_argwhere", data if rank_of(data) else call("reshape", data, newshape=[1]))
    return call("transpose", _whole(TupleGetItem(padded, 0), TupleGetItem(padded, 1)), axes=[1, 0])


def _unique(values: Values) -> Expr:
    """The distinct elements, and where wanted, first places, the inverse and counts, of whole tensors."""
    data = values["x"]
    if values["axis"] is not None and not (rank_of(data) == 1 and axes_of(values["axis"], 1)):
        raise FrontendError(f"unique: expected no axis, got {values['axis']}")
    flat = call("reshape", data, newshape=[-1])
    # TVM sorts in any case.
    padded = call("padded_unique", flat, sorted=True)
    number = TupleGetItem(padded, 4)
    fields: list[Expr] = [_whole(TupleGetItem(padded, 0), number)]
    if _is_true(values["return_index"]):
        fields.append(_whole(TupleGetItem(padded, 1), number))
    if _is_true(values["return_inverse"]):
        fields.append(TupleGetItem(padded, 2))
    if _is_true(values["return_counts"]):
        fields.append(_whole(TupleGetItem(padded, 3), number))
    return fields[0] if len(fields) == 1 else Tuple(fields)


def _is_true(value: Any) -> bool:
    return bool(number_of(value, "a choice"))


def _median(values: Values) -> Expr:
    """The lower median; along an axis with the place where it stands."""
    data, axis, keepdims = values["x"], values["axis"], bool(values["keepdims"])
    axes = [axis] if isinstance(axis, int) else list(axis or ())
    if len(axes) > 1:
        raise FrontendError(f"median: expected one axis or none, got {axes}")
    flat = data if axes else call("reshape", data, newshape=[-1])
    (along,) = axes_of(axes or -1, rank_of(flat))
    extent = shape_of(flat)[along]
    middle = (extent - 1) // 2
    places = call("argsort", flat, axis=along, is_ascend=True, dtype="int64")
    ordered = call("gather", flat, places, axis=along)
    parts = [call("strided_slice", part, begin=[middle], end=[middle + 1], axes=[along]) for part in (ordered, places)]
    if not axes:
        return call("reshape", parts[0], newshape=[1] if keepdims else [])
    return Tuple(parts if keepdims else [call("squeeze", part, axis=[along]) for part in parts])


def _multinomial(values: Values) -> Expr:
    """The first class at which the sum of odds is more than a number, of the row that an index says."""
    total = call("cumsum", values["prob"], axis=1)
    rows = call("take", total, call("reshape", values["sample_indices"], newshape=[-1]), axis=0, mode="fast")
    above = call("cast", call("less", values["uniform_sample"], rows), dtype="int32")
    return call("cast", call("argmax", above, axis=[1], keepdims=True), dtype=values["dtype"])


def _window(values: Values) -> Expr:
    """A window of Hamming: alpha - beta * cos(2 pi k / n)."""
    length, periodic = (int(number_of(values[name], name)) for name in ("window_size", "periodic"))
    alpha, beta = (number_of(values[name], name) for name in ("alpha", "beta"))
    if length < 1:
        raise FrontendError(f"hamming_window: expected a size of at least 1, got {length}")
    n = length if periodic else max(length - 1, 1)
    numbers = [1.0] if length == 1 else [alpha - beta * cos(2 * pi * k / n) for k in range(length)]
    return constant(numbers, values["dtype"] or "float32")


def _shape_to_tensor(values: Values) -> Expr:
    shape = values["expr"]
    return sizes_tensor(shape) if isinstance(shape, Shape) else shape


def _view(values: Values) -> Expr:
    """The same elements in another shape; those of another dtype are other elements."""
    data, shape, dtype = values["data"], values["shape"], values["dtype"]
    if values["relative_byte_offset"] not in (None, 0) or dtype not in (None, dtype_of(data)):
        raise FrontendError("memory.view: expected a view of all elements with their dtype, got another")
    return data if shape is None else call("reshape", data, newshape=list(shape))


# Boxes.


def _limit(values: Values, name: str, dtype: str) -> Expr:
    value = values[name]
    return value if isinstance(value, Expr) else constant(number_of(value, name), dtype)


def _valid_counts(values: Values) -> Expr:
    options = {key: values[key] for key in ("id_index", "score_index")}
    least = _limit(values, "score_threshold", dtype_of(values["data"]))
    return call("vision.get_valid_counts", values["data"], least, **options)


_SUPPRESSION = (
    "force_suppress",
    "top_k",
    "coord_start",
    "score_index",
    "id_index",
    "return_indices",
    "invalid_to_bottom",
)


def _suppressed(values: Values) -> Expr:
    if values["soft_nms_sigma"]:
        raise FrontendError(f"vision.non_max_suppression: expected no soft_nms_sigma, got {values['soft_nms_sigma']}")
    if values["score_threshold"]:
        got = values["score_threshold"]
        raise FrontendError(f"vision.non_max_suppression: expected no score_threshold, got {got}")
    operands = [values[name] for name in ("data", "valid_count", "indices")]
    limits = [_limit(values, "max_output_size", "int32"), _limit(values, "iou_threshold", "float32")]
    options = {key: values[key] for key in _SUPPRESSION}
    return call("vision.non_max_suppression", *operands, *limits, **options)


def _identity(name: str) -> Callable[[Values], Expr]:
    return lambda values: values[name]


POSITIONED: Mapping[str, Callable[[Values], Expr]] = {
    "index_put data *indices values accumulate=False": _index_put,
    "slice_scatter input_tensor src start=! end=! step=! axis=0": _slice_scatter,
    "nonzero x": _nonzero,
    "unique x sorted=True return_index=False return_inverse=False return_counts=False axis=None": _unique,
    "median x axis=None keepdims=False": _median,
    'multinomial_from_uniform prob uniform_sample sample_indices dtype="int64"': _multinomial,
    "hamming_window window_size=! periodic=! alpha=! beta=! dtype=None": _window,
    "shape_to_tensor expr=!": _shape_to_tensor,
    "memory.view data shape=None dtype=None relative_byte_offset=None": _view,
    "memory.ensure_zero_offset data": _identity("data"),
    "grad.no_grad input": _identity("input"),
    "grad.start_checkpoint input": _identity("input"),
    "grad.end_checkpoint input": _identity("input"),
    "vision.get_valid_counts data score_threshold=0 id_index=0 score_index=1": _valid_counts,
    "vision.non_max_suppression data valid_count indices max_output_size=-1 iou_threshold=0.5 force_suppress=False "
    "top_k=-1 coord_start=2 score_index=1 id_index=0 return_indices=True invalid_to_bottom=False soft_nms_sigma=0.0 "
    "score_threshold=0.0": _suppressed,
}
"""Operators by their signatures: the expressions that they are."""
