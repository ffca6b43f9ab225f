"""Builders that, like TVM's, do more than call one operator with their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import Attribute

from whence.dialects.sizes import Size, SizeExpr
from whence.relay.builders import Builder, TupleWrapper, as_expr, builder, const
from whence.relay.kernel_calls import CALLS
from whence.relay.picking import PICKING
from whence.relay.randomness import RANDOM
from whence.relay.reordered import REORDERED
from whence.relay.sized import resized
from whence.support.errors import FrontendError
from whence.syntax.relay import tvm_calls
from whence.syntax.relay.expr import Constant, Expr, Tuple, Var
from whence.syntax.relay.tvm_forms import own_attributes
from whence.syntax.relay.type_view import tensor_type


def var(
    name_hint: str,
    type_annotation: Attribute | str | None = None,
    shape: Sequence[Any] | None = None,
    dtype: str = "float32",
    span: Any = None,
) -> Var:
    """A variable: of a type, or of a shape and a dtype; of a type to be inferred without either."""
    if type_annotation is not None and shape is not None:
        raise ValueError("Can only specify either type_annotation or shape.")
    if isinstance(type_annotation, str):
        type_annotation = tensor_type((), type_annotation)
    elif type_annotation is None and shape is not None:
        type_annotation = tensor_type(shape, dtype)
    return Var(name_hint, type_annotation, span=span)


def concatenate(data: Any, axis: int = 0) -> Expr:
    """Tensors, or a tuple of tensors, one after the other along an axis."""
    return builder("concatenate")(as_expr(data), axis=axis)


def split(data: Expr, indices_or_sections: Any, axis: int = 0) -> TupleWrapper:
    """Return this number of equal parts, or parts that begin at the given indices."""
    sections = isinstance(indices_or_sections, int)
    count = indices_or_sections if sections else len(indices_or_sections) + 1
    call = builder("split")(data, indices_or_sections=indices_or_sections, axis=axis)
    return TupleWrapper(call, count)


def batch_norm(
    data: Expr,
    gamma: Expr,
    beta: Expr,
    moving_mean: Expr,
    moving_var: Expr,
    axis: int = 1,
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
) -> TupleWrapper:
    """Return the normalised data, and the unchanged moving mean and variance."""
    operands = (data, gamma, beta, moving_mean, moving_var)
    call = builder("nn.batch_norm")(*operands, axis=axis, epsilon=epsilon, center=center, scale=scale)
    return TupleWrapper(call, 3)


def dropout_raw(data: Expr, rate: float = 0.5) -> Expr:
    """The data and the mask, as a tuple."""
    return builder("nn.dropout")(data, rate=rate)


def dropout(data: Expr, rate: float = 0.5) -> Expr:
    """The data of which, in training, parts would be zero."""
    return TupleWrapper(dropout_raw(data, rate), 2)[0]


def topk(
    data: Expr, k: int = 1, axis: int = -1, ret_type: str = "both", is_ascend: bool = False, dtype: str = "int32"
) -> Expr | TupleWrapper:
    """The greatest, or least, `k` elements along an axis: values, indices or both."""
    call = builder("topk")(data, k=k, axis=axis, ret_type=ret_type, is_ascend=is_ascend, dtype=dtype)
    return TupleWrapper(call, 2) if ret_type == "both" else call


def unique(data: Expr, is_sorted: bool = True, return_counts: bool = False) -> TupleWrapper:
    """The distinct elements, padded; where they first stand, their places, how many there are; how often each is."""
    fields = tvm_calls.unique([data], {"sorted": is_sorted, "return_counts": return_counts})
    return TupleWrapper(fields, len(fields))


def argwhere(condition: Expr) -> Expr:
    """The points of the elements that are not 0: as many rows of int32 as a run finds."""
    points = tvm_calls.argwhere([condition], {})
    assert points is not None
    return points


def meshgrid(data: Any, indexing: str = "ij") -> TupleWrapper:
    """Coordinates of a grid, of vectors of coordinates."""
    tensors = as_expr(data)
    if not isinstance(tensors, Tuple):
        raise FrontendError("meshgrid: expected a list or a tuple of vectors")
    return TupleWrapper(builder("meshgrid")(tensors, indexing=indexing), len(tensors.fields))


def pad(data: Expr, pad_width: Any, pad_value: Any = 0, pad_mode: str = "constant") -> Expr:
    """Elements of `pad_value` around the data: before and after, for each axis."""
    if not isinstance(pad_value, Expr):
        pad_value = const(pad_value if isinstance(pad_value, int) else float(pad_value))
    return builder("nn.pad")(data, pad_value, pad_width=pad_width, pad_mode=pad_mode)


def arange(start: Any, stop: Any = None, step: Any = None, dtype: str = "float32") -> Expr:
    """`start`, `start + step`, .. before `stop`; from 0 if only one number is given."""
    first, last = (0, start) if stop is None else (start, stop)
    values = [_number(value, "arange") for value in (first, last, 1 if step is None else step)]
    return builder("arange")(start=values[0], stop=values[1], step=values[2], dtype=dtype)


def _number(value: Any, op: str) -> float:
    if isinstance(value, Constant):
        return float(value.data.item())
    if isinstance(value, Expr):
        raise FrontendError(f"{op}: expected numbers that are known, got an expression")
    return float(value)


def clip(a: Expr, a_min: float, a_max: float) -> Expr:
    """Elements below `a_min` become that, those above `a_max` that."""
    return builder("clip")(a, a_min=float(a_min), a_max=float(a_max))


def full(fill_value: Any, shape: Any = (), dtype: str = "") -> Expr:
    """A tensor of one value."""
    return builder("full")(as_expr(fill_value), shape=_extents(shape), dtype=dtype)


def zeros(shape: Any, dtype: str) -> Expr:
    """A tensor of zeros."""
    return builder("zeros")(shape=_extents(shape), dtype=dtype)


def ones(shape: Any, dtype: str) -> Expr:
    """A tensor of ones."""
    return builder("ones")(shape=_extents(shape), dtype=dtype)


def reshape(data: Expr, newshape: Any, allowzero: bool = False) -> Expr:
    """Return the elements in another shape; -1 stands for the remaining extent, and 0 for the extent at that axis."""
    return builder("reshape")(data, newshape=_extents(newshape), allowzero=allowzero)


def tile(data: Expr, reps: Any) -> Expr:
    """The tensor repeated along each axis."""
    return builder("tile")(data, reps=_extents(reps))


def broadcast_to(data: Expr, shape: Any) -> Expr:
    """The tensor repeated to a shape."""
    return builder("broadcast_to")(data, shape=_extents(shape))


def _extents(shape: Any) -> list[Size]:
    if isinstance(shape, int | SizeExpr):
        return [shape]
    extents = shape.data.tolist() if isinstance(shape, Constant) else shape
    return [e if isinstance(e, SizeExpr) else int(_number(e, "shape")) for e in extents]


def strided_slice(
    data: Expr, begin: Any, end: Any, strides: Any = None, axes: Any = None, slice_mode: str = "end"
) -> Expr:
    """Slice from `begin` up to, but without, `end`, in steps; with mode "size", `end` is the number of elements."""
    first, last = _extents(begin), _extents(end)
    steps = None if strides is None else _extents(strides)
    attrs = {"begin": first, "end": last, "strides": steps, "axes": axes, "slice_mode": slice_mode}
    return builder("strided_slice")(data, **own_attributes("strided_slice", attrs))


def stack(data: Any, axis: int = 0) -> Expr:
    """Tensors along a new axis."""
    return builder("stack")(as_expr(data), axis=axis)


def einsum(data: Any, equation: str) -> Expr:
    """The sum of products that an equation states."""
    return builder("einsum")(as_expr(data), equation=equation)


def variance(
    data: Expr,
    axis: Any = None,
    keepdims: bool = False,
    exclude: bool = False,
    unbiased: bool = False,
    with_mean: Expr | None = None,
) -> Expr:
    """The mean of the squared differences from the mean."""
    mean = builder("mean")(data, axis=axis, keepdims=True, exclude=exclude) if with_mean is None else with_mean
    options = {"axis": axis, "keepdims": keepdims, "exclude": exclude, "unbiased": unbiased}
    return builder("variance")(data, mean, **options)


def std(data: Expr, axis: Any = None, keepdims: bool = False, exclude: bool = False, unbiased: bool = False) -> Expr:
    """The root of the variance."""
    return builder("sqrt")(variance(data, axis, keepdims, exclude, unbiased))


def mean_variance(data: Expr, axis: Any = None, keepdims: bool = False, exclude: bool = False) -> TupleWrapper:
    """The mean and the variance."""
    mean = builder("mean")(data, axis=axis, keepdims=True, exclude=exclude)
    spread = variance(data, axis, keepdims, exclude, with_mean=mean)
    shown = mean if keepdims else builder("mean")(data, axis=axis, keepdims=False, exclude=exclude)
    return TupleWrapper(Tuple([shown, spread]), 2)


def logsumexp(data: Expr, axis: Any = None, keepdims: bool = False) -> Expr:
    """The logarithm of the sum of exponentials."""
    greatest = builder("max")(data, axis=axis, keepdims=True)
    inner = builder("sum")(builder("exp")(data - greatest), axis=axis, keepdims=True)
    total = builder("log")(inner) + greatest
    return total if keepdims else builder("squeeze")(total, axis=axis)


def sparse_to_dense(sparse_indices: Any, output_shape: Any, sparse_values: Any, default_value: Any = 0) -> Expr:
    """Zeros, or `default_value`, with values at points."""
    values = as_expr(sparse_values)
    default = default_value
    if not isinstance(default, Expr):
        default = const(default, values.data.dtype.name) if isinstance(values, Constant) else const(float(default))
    return builder("sparse_to_dense")(as_expr(sparse_indices), values, default, output_shape=_extents(output_shape))


def _global_pool(kind: str, rank: int) -> Builder:
    def build(data: Expr, layout: str = "NC" + "DHW"[3 - rank :], out_layout: str = "") -> Expr:
        if out_layout not in ("", layout):
            raise FrontendError(f"nn.global_{kind}_pool{rank}d: expected out_layout {layout}, got {out_layout}")
        return builder(f"nn.adaptive_{kind}_pool{rank}d")(data, output_size=[1] * rank, layout=layout)

    build.__name__ = build.__qualname__ = f"global_{kind}_pool{rank}d"
    build.__doc__ = "One number for each image and channel."
    return build


def reverse_reshape(data: Expr, newshape: Any) -> Expr:
    """Return the elements in another shape like `reshape`, with -1 and 0 read from the last axis to the first."""
    return builder("contrib_reverse_reshape")(data, newshape=_extents(newshape))


def lrn(data: Any, size: int = 5, axis: int = 1, bias: float = 2, alpha: float = 0.00001, beta: float = 0.75) -> Expr:
    """nn.lrn; alpha in TVM's Python differs from the attribute."""
    return builder("nn.lrn")(data, size, axis, bias, alpha, beta)


def simulated_quantize(
    data: Expr, output_scale: Any, output_zero_point: Any, axis: int = -1, out_dtype: str = "int8"
) -> Expr:
    """Return the result of `qnn.quantize` as float32; with `out_dtype` "disable" the data."""
    if out_dtype == "disable":
        return data
    scale, zero = as_expr(output_scale), as_expr(output_zero_point)
    return builder("cast")(builder("qnn.quantize")(data, scale, zero, axis=axis, out_dtype=out_dtype), dtype="float32")


def simulated_dequantize(
    data: Expr, input_scale: Any, input_zero_point: Any, axis: int = -1, in_dtype: str = "int8"
) -> Expr:
    """Return the result of `qnn.dequantize` for integers stored as float32; with `in_dtype` "disable" the data."""
    if in_dtype == "disable":
        return data
    integers = builder("cast")(data, dtype="int32")
    return builder("qnn.dequantize")(integers, as_expr(input_scale), as_expr(input_zero_point), axis=axis)


COMPOSED: dict[str, Builder] = {
    "qnn.simulated_quantize": simulated_quantize,
    "qnn.simulated_dequantize": simulated_dequantize,
    **{f"nn.global_{kind}_pool{rank}d": _global_pool(kind, rank) for kind in ("avg", "max") for rank in (1, 3)},
    "nn.lrn": lrn,
    "reverse_reshape": reverse_reshape,
    "sparse_to_dense": sparse_to_dense,
    "concatenate": concatenate,
    "split": split,
    "topk": topk,
    "argwhere": argwhere,
    "unique": unique,
    "meshgrid": meshgrid,
    "arange": arange,
    "clip": clip,
    "full": full,
    "zeros": zeros,
    "ones": ones,
    "reshape": reshape,
    "tile": tile,
    "broadcast_to": broadcast_to,
    "strided_slice": strided_slice,
    "stack": stack,
    "einsum": einsum,
    "variance": variance,
    "std": std,
    "mean_variance": mean_variance,
    "logsumexp": logsumexp,
    "nn.batch_norm": batch_norm,
    "nn.dropout": dropout,
    "nn.dropout_raw": dropout_raw,
    "nn.pad": pad,
}
COMPOSED.update(CALLS)
COMPOSED.update(PICKING)
COMPOSED.update(REORDERED)
COMPOSED.update(RANDOM)
COMPOSED.update(resized(COMPOSED))
"""By TVM's names of the functions."""
