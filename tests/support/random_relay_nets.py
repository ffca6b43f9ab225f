"""How operators that networks are made of are drawn: products, windows, norms, recurrences, images, quantization."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from random_relay_elementwise import Recipe
from random_relay_layout import same
from random_relay_values import FLOATS, Draw, Redraw, Value

from whence import relay

_REAL = ("float32", "float64")


def total(d: Draw, found: Any, x: Value, terms: int, weight: float = 1.0) -> Value:
    """Sums of products: weights are drawn so small that `terms` of them stay tame."""
    return d.emit(found, -x.most * weight * terms, x.most * weight * terms, exact=False)


def weight(d: Draw, shape: Any, dtype: str, size: float = 1.0) -> Value:
    return d.fresh(shape, dtype, -size, size, constant=0.7)


def dense(d: Draw) -> Value:
    x = d.tensor((*_REAL, "float32", "float16"), (2, 2))
    n = d.size(9)
    return total(d, relay.nn.dense(x.expr, weight(d, (n, x.shape[1]), x.dtype).expr), x, x.shape[1])


def matmul(d: Draw) -> Value:
    x = d.tensor(_REAL, (2, 2))
    turned, other = d.chance(0.4), d.chance(0.4)
    k, n = x.shape[0 if turned else 1], d.size(9)
    y = weight(d, (n, k) if other else (k, n), x.dtype)
    return total(d, relay.nn.matmul(x.expr, y.expr, transpose_a=turned, transpose_b=other), x, k)


def batch_matmul(d: Draw) -> Value:
    x = d.tensor(_REAL, (3, 3))
    turned, other = d.chance(0.4), d.chance(0.5)
    k, n = x.shape[1 if turned else 2], d.size(5)
    batch = d.choice((x.shape[0], 1))
    y = weight(d, (batch, n, k) if other else (batch, k, n), x.dtype)
    return total(d, relay.nn.batch_matmul(x.expr, y.expr, transpose_a=turned, transpose_b=other), x, k)


def einsum(d: Draw) -> Value:
    x = d.tensor(("float32",), (2, 2), empty=False)
    n = d.size(5)
    equation, shape = d.choice((("ij,jk->ik", (x.shape[1], n)), ("ij,kj->ki", (n, x.shape[1])), ("ij,ij->i", x.shape)))
    return total(d, relay.einsum([x.expr, weight(d, shape, x.dtype).expr], equation), x, x.shape[1])


def convolution(rank: int, d: Draw) -> Value:
    x = d.tensor(("float32",) if d.chance(0.8) else ("float64",), (rank + 2, rank + 2), empty=False)
    kernel = [d.choice((1, 2, 3)) for _ in range(rank)]
    dilation = [d.choice((1, 1, 2)) for _ in range(rank)]
    padding = [d.dice.randint(0, 2) for _ in range(2 * rank)]
    for axis, (k, n) in enumerate(zip(kernel, x.shape[2:], strict=True)):
        if n + padding[axis] + padding[axis + rank] < (k - 1) * dilation[axis] + 1:
            kernel[axis] = 1
    channels = x.shape[1]
    groups = d.choice((1, 1, channels))
    filters = groups * d.size(2) if groups > 1 else d.size(5)
    w = weight(d, (filters, channels // groups, *kernel), x.dtype, 0.5)
    kind = dict(strides=[d.choice((1, 2)) for _ in kernel], padding=padding, dilation=dilation, groups=groups)
    if d.chance(0.5):
        kind |= dict(channels=filters, kernel_size=kernel)
    build = getattr(relay.nn, f"conv{rank}d")
    return total(d, build(x.expr, w.expr, **kind), x, channels // groups * int(np.prod(kernel)), 0.5)


def transposed(rank: int, d: Draw) -> Value:
    x = d.tensor(("float32",), (rank + 2, rank + 2), empty=False)
    kernel = [d.choice((1, 2, 3)) for _ in range(rank)]
    strides = [d.choice((1, 2)) for _ in range(rank)]
    filters = d.size(4)
    w = weight(d, (x.shape[1], filters, *kernel), x.dtype, 0.5)
    build = getattr(relay.nn, f"conv{rank}d_transpose")
    found = build(x.expr, w.expr, channels=filters, kernel_size=kernel, strides=strides, padding=[0] * (2 * rank))
    return total(d, found, x, x.shape[1] * int(np.prod(kernel)), 0.5)


def pooling(name: str, d: Draw) -> Value:
    rank = int(name[-2])
    x = d.tensor(("float32",) if d.chance(0.8) else ("float64",), (rank + 2, rank + 2), empty=False)
    sizes = [d.dice.randint(1, min(3, n)) for n in x.shape[2:]]
    kind = dict[str, Any](pool_size=sizes, strides=[d.choice((1, 2)) for _ in sizes])
    if d.chance(0.5):
        kind["padding"] = [d.dice.randint(0, (size - 1) // 2) for size in sizes] * 2
    if "avg" in name:
        kind["count_include_pad"] = d.chance(0.5)
    found = getattr(relay.nn, name.removeprefix("nn."))(x.expr, **kind)
    return d.emit(found, -x.most, x.most, x.exact and "max" in name)


def global_pool(name: str, d: Draw) -> Value:
    x = d.tensor(_REAL, (4, 4), empty=False)
    return d.emit(getattr(relay.nn, name)(x.expr), x.low, x.high, exact=False)


def adaptive(name: str, d: Draw) -> Value:
    x = d.tensor(("float32",), (4, 4), empty=False)
    sizes = [d.dice.randint(1, n) for n in x.shape[2:]]
    return d.emit(getattr(relay.nn, name)(x.expr, output_size=sizes), x.low, x.high, exact=False)


def bias_add(d: Draw) -> Value:
    x = d.tensor(FLOATS, (1, 4), empty=False)
    axis = d.axis(x.rank)
    return d.emit(
        relay.nn.bias_add(x.expr, weight(d, (x.shape[axis],), x.dtype).expr, axis=axis),
        -x.most - 1,
        x.most + 1,
        x.exact,
    )


def batch_norm(d: Draw) -> Value:
    x = d.tensor(_REAL, (2, 4), empty=False)
    axis: int = d.choice((1, 1, -1))
    n = x.shape[axis]
    gamma, beta, mean = (weight(d, (n,), x.dtype) for _ in range(3))
    variance = d.fresh((n,), x.dtype, 0.5, 2.0, constant=0.7)
    kind = dict(axis=axis, epsilon=1e-3, scale=d.chance(0.8), center=d.chance(0.8))
    found = relay.nn.batch_norm(x.expr, gamma.expr, beta.expr, mean.expr, variance.expr, **kind)
    d.type_of(found.astuple())
    return d.emit(found[0], -3 * x.most - 3, 3 * x.most + 3, exact=False)


def norm(name: str, d: Draw) -> Value:
    x = d.tensor(_REAL, (2, 4) if name == "layer_norm" else (3, 4), empty=False)
    axis = d.axis(x.rank) if name == "layer_norm" else 1
    n = x.shape[axis]
    kind = dict[str, Any](axis=axis, epsilon=0.25)
    if name == "group_norm":
        kind["num_groups"] = d.choice([k for k in range(1, n + 1) if n % k == 0])
    found = getattr(relay.nn, name)(x.expr, weight(d, (n,), x.dtype).expr, weight(d, (n,), x.dtype).expr, **kind)
    return d.emit(found, -20.0, 20.0, exact=False)


def rms_norm(d: Draw) -> Value:
    x = d.tensor(_REAL, (1, 3), empty=False)
    found = relay.nn.rms_norm(x.expr, weight(d, (x.shape[-1],), x.dtype).expr, axis=-1, epsilon=0.25)
    return d.emit(found, -20.0, 20.0, exact=False)


def l2_normalize(d: Draw) -> Value:
    x = d.tensor(_REAL, (1, 4), empty=False)
    return d.emit(relay.nn.l2_normalize(x.expr, eps=0.25, axis=[d.axis(x.rank)]), -2 * x.most, 2 * x.most, exact=False)


def lrn(d: Draw) -> Value:
    x = d.tensor(("float32",), (4, 4), empty=False)
    found = relay.nn.lrn(x.expr, size=d.choice((1, 3, 5)), axis=1, bias=2.0, alpha=0.5, beta=0.75)
    return d.emit(found, -x.most, x.most, exact=False)


def softmax(name: str, d: Draw) -> Value:
    x = d.tensor(FLOATS if name != "fast_softmax" else _REAL, (1, 4), empty=False)
    found = getattr(relay.nn, name)(x.expr, axis=d.axis(x.rank))
    return d.emit(found, -2 * x.most - 8 if name == "log_softmax" else 0.0, 1.0, exact=False)


def dropout(d: Draw) -> Value:
    x = d.tensor(FLOATS)
    found = relay.nn.dropout(x.expr, rate=0.25)
    d.type_of(found)
    return same(d, found, x)


def prelu(d: Draw) -> Value:
    x = d.tensor(_REAL, (2, 4), empty=False)
    return d.emit(relay.nn.prelu(x.expr, weight(d, (x.shape[1],), x.dtype).expr, axis=1), -x.most, x.most, exact=False)


def space(name: str, d: Draw) -> Value:
    x = d.tensor(("float32",), (4, 4), empty=False)
    if name == "depth_to_space":
        if x.shape[1] % 4:
            raise Redraw
        return same(d, relay.nn.depth_to_space(x.expr, block_size=2), x)
    if x.shape[2] % 2 or x.shape[3] % 2:
        raise Redraw
    return same(d, relay.nn.space_to_depth(x.expr, block_size=2), x)


def space_to_batch(d: Draw) -> Value:
    x = d.tensor(("float32",), (3, 4), empty=False)
    block = d.choice((1, 2))
    pads = [(0, -x.shape[1] % block)]
    batches = relay.nn.space_to_batch_nd(x.expr, block_shape=[block], paddings=pads)
    value = d.emit(batches, min(x.low, 0.0), max(x.high, 0.0), x.exact)
    if d.chance(0.5):
        same(d, relay.nn.batch_to_space_nd(value.expr, block_shape=[block], crops=pads), value)
    return value


def dilate(d: Draw) -> Value:
    x = d.tensor(("float32",), (1, 4), empty=False)
    found = relay.nn.dilate(x.expr, strides=[d.choice((1, 1, 2)) for _ in x.shape])
    return d.emit(found, min(x.low, 0.0), max(x.high, 0.0), x.exact)


def upsampling(d: Draw) -> Value:
    x = d.tensor(("float32",), (4, 4), empty=False)
    found = relay.nn.upsampling(x.expr, scale_h=2.0, scale_w=2.0, method=d.choice(("nearest_neighbor", "bilinear")))
    return d.emit(found, x.low, x.high, exact=False)


def resize(d: Draw) -> Value:
    x = d.tensor(("float32",), (4, 4), empty=False)
    method, mode = d.choice((("nearest_neighbor", "asymmetric"), ("linear", "half_pixel"), ("linear", "align_corners")))
    kind = dict[str, Any](size=[d.size(5), d.size(5)], method=method, coordinate_transformation_mode=mode)
    if method == "nearest_neighbor":
        kind["rounding_method"] = "floor"
    return d.emit(relay.image.resize2d(x.expr, **kind), x.low, x.high, exact=False)


def quantized(d: Draw) -> None:
    """There and back: a rounding that is near a half may go either way, so only exact numbers go there."""
    x = d.tensor(("float32",), (0, 4), exact=True, low=-16.0, high=15.0)
    # A quarter, which x is a multiple of.
    scale, zero = relay.const(0.25, "float32"), relay.const(d.choice((0, -3, 5)), "int32")
    q = relay.qnn.quantize(x.expr, scale, zero, out_dtype="int8", axis=-1 if x.rank else 0)
    integers = d.emit(q, -128.0, 127.0)
    body = d.choice(("", "relu", "max"))
    back = relay.qnn.dequantize(integers.expr, scale, zero, axis=-1 if x.rank else 0)
    value = d.emit(back, -36.0, 36.0, exact=True)
    if body:
        value = d.emit(relay.nn.relu(value.expr), 0.0, 36.0, exact=True)
        again = relay.qnn.quantize(value.expr, scale, zero, out_dtype="int8", axis=-1 if x.rank else 0)
        d.emit(again, -128.0, 127.0)


def loss(name: str, d: Draw) -> Value:
    x = d.tensor(("float32",), (2, 2), low=0.5, high=4.0, empty=False)
    targets = d.fresh(x.shape, "float32", 0.0, 1.0)
    found = getattr(relay.nn, name)(x.expr, targets.expr)
    return d.emit(found, -8.0 * x.shape[1], 8.0 * x.shape[1], exact=False)


RECIPES: dict[str, Recipe] = {
    "nn.dense": dense,
    "nn.matmul": matmul,
    "nn.batch_matmul": batch_matmul,
    "einsum": einsum,
    **{f"nn.conv{rank}d": partial(convolution, rank) for rank in (1, 2, 3)},
    "nn.conv2d more": partial(convolution, 2),
    **{f"nn.conv{rank}d_transpose": partial(transposed, rank) for rank in (1, 2)},
    **{name: partial(pooling, name) for name in (f"nn.{kind}_pool{n}d" for kind in ("max", "avg") for n in (1, 2, 3))},
    **{f"nn.{name}": partial(global_pool, name) for name in ("global_avg_pool2d", "global_max_pool2d")},
    **{f"nn.{name}": partial(adaptive, name) for name in ("adaptive_avg_pool2d", "adaptive_max_pool2d")},
    "nn.bias_add": bias_add,
    "nn.batch_norm": batch_norm,
    **{f"nn.{name}": partial(norm, name) for name in ("layer_norm", "instance_norm", "group_norm")},
    "nn.rms_norm": rms_norm,
    "nn.l2_normalize": l2_normalize,
    "nn.lrn": lrn,
    **{f"nn.{name}": partial(softmax, name) for name in ("softmax", "log_softmax", "fast_softmax")},
    "nn.dropout": dropout,
    "nn.prelu": prelu,
    **{f"nn.{name}": partial(space, name) for name in ("depth_to_space", "space_to_depth")},
    "nn.space_to_batch_nd": space_to_batch,
    "nn.dilate": dilate,
    "nn.upsampling": upsampling,
    "image.resize2d": resize,
    "qnn.quantize": quantized,
    **{f"nn.{name}": partial(loss, name) for name in ("cross_entropy", "cross_entropy_with_logits")},
}
"""By TVM's names of the functions."""
