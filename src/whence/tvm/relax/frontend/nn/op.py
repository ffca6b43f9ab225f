"""Functions on the tensors of layers, by TVM's names and in the order of its arguments."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from whence.relax import op as operators
from whence.relax.frontend.nn import kernels
from whence.relax.frontend.nn.kernels import extern as extern
from whence.relax.frontend.nn.kernels import tensor_expr_op as tensor_expr_op
from whence.relax.frontend.nn.kernels import tensor_ir_inplace_op as tensor_ir_inplace_op
from whence.relax.frontend.nn.kernels import tensor_ir_op as tensor_ir_op
from whence.relax.frontend.nn.parameters import get_default_dtype
from whence.relax.frontend.nn.tensors import (
    Tensor,
    applied,
    as_shape,
    current,
    emitted,
    expression,
)
from whence.relay.builders import const
from whence.support.errors import FrontendError, expectation


def _one_tensor(operator: str, name: str, doc: str) -> Callable[..., Tensor]:
    """Return the function of an operator of one tensor, which TVM calls by `name`."""

    def function(x: Tensor, name: str = name) -> Tensor:
        return applied(operator, x, _hint=name)

    return _named(function, name, doc)


def _two_tensors(operator: str, name: str, doc: str, hint: str = "") -> Callable[..., Tensor]:
    """Return the function of an operator of two tensors, or of a tensor and a number."""

    def function(a: Any, b: Any, name: str = hint or name) -> Tensor:
        return applied(operator, a, b, _hint=name)

    return _named(function, name, doc)


def _named(function: Callable[..., Tensor], name: str, doc: str) -> Callable[..., Tensor]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


relu = _one_tensor("nn.relu", "relu", "Return the tensor without its negative elements.")
relu6 = _one_tensor("nn.relu6", "relu6", "Return the tensor between 0 and 6.")
silu = _one_tensor("nn.silu", "silu", "Return x * sigmoid(x).")
sigmoid = _one_tensor("sigmoid", "sigmoid", "Return 1 / (1 + exp(-x)).")
tanh = _one_tensor("tanh", "tanh", "Return the hyperbolic tangent.")
exp = _one_tensor("exp", "exp", "Return e to the power of x.")
log = _one_tensor("log", "log", "Return the natural logarithm.")
floor = _one_tensor("floor", "floor", "Return the greatest whole numbers that are not greater.")
negative = _one_tensor("negative", "neg", "Return -x.")
square = _one_tensor("square", "square", "Return x * x.")
sqrt = _one_tensor("sqrt", "sqrt", "Return the square root.")
add = _two_tensors("add", "add", "Return the sum.")
subtract = _two_tensors("subtract", "subtract", "Return the difference.")
multiply = _two_tensors("multiply", "multiply", "Return the product of elements.", "mul")
divide = _two_tensors("divide", "divide", "Return the quotient.")
maximum = _two_tensors("maximum", "maximum", "Return the greater elements.")
minimum = _two_tensors("minimum", "minimum", "Return the lesser elements.")
less = _two_tensors("less", "less", "Return a < b.")
less_equal = _two_tensors("less_equal", "less_equal", "Return a <= b.")
greater = _two_tensors("greater", "greater", "Return a > b.")
greater_equal = _two_tensors("greater_equal", "greater_equal", "Return a >= b.")
equal = _two_tensors("equal", "equal", "Return a == b.")
not_equal = _two_tensors("not_equal", "not_equal", "Return a != b.")


def unsqueeze(x: Tensor, dim: int, name: str = "unsqueeze") -> Tensor:
    """Return the tensor with another axis, of extent 1, at `dim`."""
    return applied("expand_dims", x, dim, _hint=name)


def squeeze(x: Tensor, axis: int | list[int] | None = -1, name: str = "squeeze") -> Tensor:
    """Return the tensor without axes of extent 1; all of these for None."""
    return applied("squeeze", x, [axis] if isinstance(axis, int) else axis, _hint=name)


def concat(x: Sequence[Tensor], dim: int, name: str = "concat") -> Tensor:
    """Return tensors one after the other along an axis."""
    return applied("concat", list(x), dim, _hint=name)


def split(
    ary: Tensor, indices_or_sections: int | Sequence[int], axis: int = 0, name: str = "split"
) -> tuple[Tensor, ...]:
    """Return this number of equal parts, or parts that begin at the given indices."""
    return applied("split", ary, indices_or_sections, axis, _hint=name)


def chunk(x: Tensor, chunks: int, dim: int = 0, name: str = "chunk") -> tuple[Tensor, ...]:
    """Return this number of equal parts along an axis."""
    return split(x, chunks, dim, name)


def sum(x: Tensor, axis: int | list[int] | None = None, keepdims: bool = False, name: str = "sum") -> Tensor:
    """Return the sum along axes, of all for None."""
    return applied("sum", x, axis, keepdims, _hint=name)


def max(x: Tensor, axis: int | list[int] | None = None, keepdims: bool = False, name: str = "max") -> Tensor:
    """Return the greatest element along axes, of all for None."""
    return applied("max", x, axis, keepdims, _hint=name)


def min(x: Tensor, axis: int | list[int] | None = None, keepdims: bool = False, name: str = "min") -> Tensor:
    """Return the least element along axes, of all for None."""
    return applied("min", x, axis, keepdims, _hint=name)


def matmul(a: Tensor, b: Tensor, out_dtype: str | None = None, name: str = "matmul") -> Tensor:
    """Return the product of matrices, or of batches of matrices, which broadcast."""
    return applied("matmul", a, b, out_dtype=out_dtype, _hint=name)


def _convolution(
    kind: str, x: Tensor, weight: Tensor, bias: Tensor | None, layout: str, options: dict[str, Any], name: str
) -> Tensor:
    current(name)
    result = expression(f"nn.{kind}", x, weight, data_layout=layout, **options)
    if bias is not None:
        channels = layout.index("C")
        shape = [1] * channels + [-1] + [1] * (len(layout) - channels - 1)
        result = expression("add", result, expression("reshape", bias, as_shape(shape)))
    return emitted(result, name)


def _window(rank: int, stride: Any, padding: Any, dilation: Any, groups: int) -> dict[str, Any]:
    """Return the attributes of a window; one number is that of all axes, and padding as many in front and behind."""
    pads = _each(padding, rank)
    return {
        "strides": _each(stride, rank),
        "padding": pads if len(pads) == 2 * rank else pads * 2,
        "dilation": _each(dilation, rank),
        "groups": groups,
    }


def _each(value: Any, rank: int) -> list[int]:
    values = [value] * rank if isinstance(value, int) else list(value)
    return values * rank if len(values) == 1 else values


def conv1d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    name: str = "conv1d",
) -> Tensor:
    """Return the convolution of (N, C, W), with a weight of (out, in / groups, width)."""
    return _convolution("conv1d", x, weight, bias, "NCW", _window(1, stride, padding, dilation, groups), name)


def conv2d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    data_layout: str = "NCHW",
    name: str = "conv2d",
) -> Tensor:
    """Return the convolution of images, with a weight of (out, in / groups, height, width)."""
    return _convolution("conv2d", x, weight, bias, data_layout, _window(2, stride, padding, dilation, groups), name)


def conv3d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    data_layout: str = "NCDHW",
    name: str = "conv3d",
) -> Tensor:
    """Return the convolution of volumes, with a weight of (out, in / groups, depth, height, width)."""
    return _convolution("conv3d", x, weight, bias, data_layout, _window(3, stride, padding, dilation, groups), name)


def conv1d_transpose(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    name: str = "conv1d_transpose",
) -> Tensor:
    """Return the transposed convolution of (N, C, W), with a weight of (in, out / groups, width)."""
    options = _window(1, stride, padding, dilation, groups) | {"output_padding": _each(output_padding, 1)}
    return _convolution("conv1d_transpose", x, weight, bias, "NCW", options, name)


def broadcast_to(x: Tensor, shape: Sequence[Any], name: str = "broadcast_to") -> Tensor:
    """Return the tensor repeated to a shape."""
    return applied("broadcast_to", x, as_shape(shape), _hint=name)


def permute_dims(x: Tensor, axes: list[int] | None = None, name: str | None = None) -> Tensor:
    """Return the tensor with its axes in another order, by default the opposite one."""
    return applied("permute_dims", x, axes, _hint=name or "permute_dims")


def permute(x: Tensor, axes: list[int] | None, name: str = "permute") -> Tensor:
    """Return the tensor with its axes in another order."""
    return permute_dims(x, axes, name)


def reshape(x: Tensor, shape: Sequence[Any], name: str = "reshape") -> Tensor:
    """Return the elements in another shape; one extent may be -1, which follows, and 0 is that of the tensor."""
    return applied("reshape", x, as_shape(shape), _hint=name)


def repeat(x: Tensor, repeats: int, axis: int | None = None, name: str = "repeat") -> Tensor:
    """Return each element of the flat tensor, or each part along an axis, several times."""
    return applied("repeat", x, repeats, axis, _hint=name)


def take(x: Tensor, indices: Tensor, axis: int | None = None, name: str = "take") -> Tensor:
    """Return the elements at indices of an axis, for None of the flat tensor."""
    return applied("take", x, indices, axis, _hint=name)


def astype(x: Tensor, dtype: str, name: str = "astype") -> Tensor:
    """Return the elements in another dtype, the tensor itself if it has that."""
    return x if x.dtype == dtype else applied("astype", x, dtype, _hint=name)


def gelu(x: Tensor, approximate: str | None = None, name: str = "gelu") -> Tensor:
    """Return x times the normal distribution's share below x; approximate: `tanh`, or None."""
    if approximate not in (None, "none", "tanh"):
        raise FrontendError(expectation("nn.op.gelu", "tanh or None as approximate", repr(approximate)))
    return applied("nn.gelu_tanh" if approximate == "tanh" else "nn.gelu", x, _hint=name)


def softmax(x: Tensor, axis: int = -1, name: str = "softmax") -> Tensor:
    """Return e to the power of the elements, divided by the sum of these along an axis."""
    return applied("nn.softmax", x, axis, _hint=name)


def softplus(x: Tensor, beta: float = 1.0, threshold: float = 20.0, name: str = "softplus") -> Tensor:
    """Return log(1 + exp(beta * x)) / beta, and x where beta * x is above the threshold."""
    return applied("nn.softplus", x, beta, threshold, _hint=name)


def prelu(x: Tensor, alpha: Tensor, name: str = "prelu") -> Tensor:
    """Return the tensor with negative elements times alpha, which has one number, or one for each of axis 1."""
    return applied("nn.prelu", x, alpha, _hint=name)


def arange(
    start: int, end: int | None = None, step: int = 1, dtype: str | None = "float32", name: str = "arange"
) -> Tensor:
    """Return numbers from `start` to before `end`; from 0 to before `start` without `end`."""
    return applied("arange", start, end, step, dtype, _hint=name)


def layer_norm(
    x: Tensor,
    normalized_shape: int | list[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    name: str = "layer_norm",
) -> Tensor:
    """Return the normalisation over the last axes, those of `normalized_shape`."""
    shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    gamma = Tensor.from_const(np.ones(shape, x.dtype)) if weight is None else weight
    beta = Tensor.from_const(np.zeros(shape, x.dtype)) if bias is None else bias
    return applied("nn.layer_norm", x, gamma, beta, axes=list(range(-len(shape), 0)), epsilon=eps, _hint=name)


def rms_norm(x: Tensor, weight: Tensor, axes: int | list[int], epsilon: float = 1e-5, name: str = "rms_norm") -> Tensor:
    """Return the quotient by the root of the mean of squares along axes, times the weight."""
    return applied("nn.rms_norm", x, weight, axes=axes, epsilon=epsilon, _hint=name)


def group_norm(
    x: Tensor,
    num_groups: int,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float = 1e-5,
    channel_axis: int = 1,
    axes: list[int] | None = None,
    name: str = "group_norm",
) -> Tensor:
    """Return the normalisation of groups of channels."""
    channels = x.shape[channel_axis]
    gamma = Tensor.from_const(np.ones(int(channels), x.dtype)) if weight is None else weight
    beta = Tensor.from_const(np.zeros(int(channels), x.dtype)) if bias is None else bias
    axes = list(range(2, x.ndim)) if axes is None else axes
    return applied(
        "nn.group_norm", x, gamma, beta, num_groups, channel_axis=channel_axis, axes=axes, epsilon=eps, _hint=name
    )


def triu(x: Tensor, diagonal: int = 0, name: str = "triu") -> Tensor:
    """Return the elements on and above a diagonal, and 0 below."""
    return applied("triu", x, diagonal, _hint=name)


def full(shape: Sequence[Any], fill_value: Any, dtype: str = "float32", name: str = "full") -> Tensor:
    """Return a tensor whose elements are one number, or that of a tensor without axes."""
    fill = fill_value if isinstance(fill_value, Tensor) else Tensor.from_scalar(fill_value, dtype)
    return applied("full", as_shape(shape), fill, dtype, _hint=name)


def zeros(shape: Sequence[Any], dtype: str = "float32", name: str = "zeros") -> Tensor:
    """Return a tensor of zeros."""
    return applied("zeros", as_shape(shape), dtype, _hint=name)


def ones(shape: Sequence[Any], dtype: str = "float32", name: str = "ones") -> Tensor:
    """Return a tensor of ones."""
    return applied("ones", as_shape(shape), dtype, _hint=name)


def empty(shape: Sequence[Any], dtype: str = "float32", name: str = "empty") -> Tensor:
    """Return a tensor whose elements nothing says: zeros, as there is no memory that one sees before it is written."""
    return zeros(shape, dtype, name)


def pad(x: Tensor, pad: list[int], mode: str = "constant", value: float = 0.0, name: str = "pad") -> Tensor:
    """Return the tensor with elements in front of and behind each axis, `[front, behind, front, ..]`."""
    pairs = [pad[index : index + 2] for index in range(0, len(pad), 2)]
    if len(pairs) != x.ndim or len(pad) % 2:
        raise FrontendError(expectation("nn.op.pad", f"2 numbers for each of {x.ndim} axes", str(pad)))
    return applied("nn.pad", x, pad, mode, value, _hint=name)


def where(condition: Tensor, x1: Any, x2: Any, name: str = "where") -> Tensor:
    """Return the elements of x1 where the condition is true, those of x2 elsewhere."""
    if not condition.dtype.startswith("bool"):
        condition = astype(condition, "bool")
    return applied("where", condition, x1, x2, _hint=name)


def cumsum(
    data: Tensor,
    axis: int | None = None,
    dtype: str | None = None,
    exclusive: bool | None = None,
    name: str = "cumsum",
) -> Tensor:
    """Return the sums of all elements so far along an axis, for None of the flat tensor."""
    return applied("cumsum", data, axis, dtype, bool(exclusive), _hint=name)


def sort(x: Tensor, axis: int = -1, descending: bool = False, name: str = "sort") -> Tensor:
    """Return the elements in order along an axis."""
    return applied("sort", x, axis, descending, _hint=name)


def argsort(
    data: Tensor, axis: int = -1, descending: bool = False, dtype: str = "int32", name: str = "argsort"
) -> Tensor:
    """Return the indices that put the elements in order along an axis."""
    return applied("argsort", data, axis, descending, dtype, _hint=name)


def topk(
    data: Tensor,
    k: int = 1,
    axis: int = -1,
    ret_type: str = "both",
    largest: bool = True,
    dtype: str = "int32",
    name: str = "topk",
) -> Any:
    """Return the k greatest or least elements along an axis: `values`, `indices` or `both`."""
    return applied("topk", data, k, axis, ret_type, largest, dtype, _hint=name)


def get_timestep_embedding(
    x: Tensor,
    embedding_dim: int,
    flip_sin_to_cos: bool = False,
    downscale_freq_shift: float = 1,
    scale: float = 1,
    max_period: int = 10000,
    name: str = "get_timestep_embedding",
) -> Tensor:
    """Return sines and cosines of timesteps (N,), as (N, embedding_dim)."""
    current(name)
    half = embedding_dim // 2
    powers = np.arange(half, dtype="float32") * np.float32(-math.log(max_period))
    frequencies = np.exp(powers / np.float32(half - downscale_freq_shift))[None]
    steps = expression("expand_dims", expression("astype", x, "float32"), 1)
    angles = expression("multiply", steps, const(frequencies))
    if scale != 1:
        angles = expression("multiply", angles, const(scale, "float32"))
    waves = [expression("sin", angles), expression("cos", angles)]
    result = expression("concat", waves[::-1] if flip_sin_to_cos else waves, -1)
    if embedding_dim % 2:
        result = expression("nn.pad", result, [0, 0, 0, 1])
    return emitted(expression("astype", result, get_default_dtype()), name)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    is_causal: bool | None = False,
    scale: float | None = None,
    name: str = "scaled_dot_product_attention",
) -> Tensor:
    """Return softmax(q k^T * scale + attn_mask) v over (batch, length, heads, width); scale is 1 / sqrt(width)."""
    causal = "TopLeft" if is_causal else None
    return applied("nn.attention", query, key, value, attn_mask, scale=scale, causal_mask=causal, _hint=name)


def interpolate(
    x: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool | None = None,
    data_layout: str = "NCHW",
    name: str = "interpolate",
) -> Tensor:
    """Return images of another size, `nearest`, `bilinear` or `bicubic`."""
    if recompute_scale_factor or antialias:
        got = "antialias" if antialias else "recompute_scale_factor"
        raise FrontendError(expectation("nn.op.interpolate", "neither antialias nor recompute_scale_factor", got))
    if (size is None) == (scale_factor is None):
        got = "none" if size is None else "both"
        raise FrontendError(expectation("nn.op.interpolate", "size or scale_factor", got))
    if size is None:
        factors: list[Any] = list(scale_factor) if isinstance(scale_factor, list | tuple) else [scale_factor] * 2  # pyright: ignore[reportUnknownArgumentType]
        extents = [extent for extent, axis in zip(x.shape, data_layout, strict=True) if axis not in "NC"]
        size = [int(extent * factor) for extent, factor in zip(extents, factors, strict=True)]
    shape = as_shape([size] * 2 if isinstance(size, int) else size)
    method = "nearest_neighbor" if mode.startswith("nearest") else mode.removeprefix("bi")
    corners = "align_corners" if align_corners else "half_pixel"
    transform = "asymmetric" if method == "nearest_neighbor" else corners
    options = {"layout": data_layout, "method": method, "coordinate_transformation_mode": transform}
    return applied("image.resize2d", x, shape, _hint=name, **options)


_ABSENT = {
    **dict.fromkeys(("ccl_allreduce", "ccl_allgather", "ccl_broadcast_from_worker0"), "there is one machine"),
    **dict.fromkeys(("print_", "debug_func"), "functions have no effects; see Executable.intermediates"),
    **dict.fromkeys(
        ("multinomial_from_uniform", "sample_top_p_top_k_from_sorted_prob", "renormalize_top_p_top_k_prob"),
        "tokens are chosen from the probabilities that a function returns",
    ),
}
_HOMES = (__name__, kernels.__name__)
__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    name
    for name, value in list(globals().items())
    if getattr(value, "__module__", "") in _HOMES and not name.startswith("_")
]


def __getattr__(name: str) -> Callable[..., Any]:
    """Return the function of another operator of Relax, `mean`, or `max_pool2d` for `nn.max_pool2d`."""
    if name in _ABSENT or name.startswith("__"):
        reason = f": {_ABSENT[name]}" if name in _ABSENT else ""
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'{reason}")
    full = name if name in operators.__dir__() and not name.startswith("nn") else f"nn.{name}"
    operators.operator(full)
    return partial(applied, full)
