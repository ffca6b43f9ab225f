"""Models of operations of keras.ops, which `make_models.py` writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from model_parts import SEQUENCE, inputs, model, ops


def elementwise() -> Any:
    """Operations of keras.ops."""
    (x,) = inputs(SEQUENCE)
    names = """absolute ceil cos cosh exp expm1 floor negative round sign sin sinh square tan tanh trunc erf arctan
        arcsinh zeros_like ones_like isnan isfinite sigmoid relu relu6 silu gelu softplus elu leaky_relu""".split()
    outputs: list[Any] = [getattr(ops, name)(x) for name in names]
    positive = ops.abs(x) + 0.1
    outputs += [
        getattr(ops, name)(positive) for name in ("log", "log10", "log1p", "log2", "sqrt", "rsqrt", "reciprocal")
    ]
    outputs += [2 - x, x / positive, x**2, x // 0.3, x % 0.3, ops.maximum(x, 0.1), ops.minimum(x, x * 2)]
    outputs += [x > 0, x <= 0.1, ops.equal(x, x), ops.logical_and(x > 0, x < 1), ops.logical_not(x > 0)]
    outputs += [ops.where(x > 0, x, 0.5), ops.clip(x, -0.5, 0.5), ops.round(x, 1), ops.logaddexp(x, x * 2)]
    whole = ops.cast(x * 10, "int32")
    outputs += [whole + 1, whole / 2, whole + 0.5, whole % 3, ops.sum(whole, axis=1), ops.mean(whole, axis=1)]
    return model((x,), outputs, "elementwise")


def rearranged() -> Any:
    """Operations of keras.ops that move elements, or go along axes."""
    (x,) = inputs(SEQUENCE)
    outputs = [
        ops.reshape(x, (-1, 2, 12)), ops.transpose(x, (0, 2, 1)), ops.swapaxes(x, 1, 2), ops.moveaxis(x, -1, 1),
        ops.expand_dims(x, (1, 3)), ops.squeeze(ops.expand_dims(x, 1), 1), ops.concatenate([x, x * 2], axis=1),
        ops.stack([x, x], axis=-1), ops.flip(x, (1, 2)), ops.repeat(x, 2, axis=1), ops.tile(x, (1, 2, 1)),
        ops.roll(x, 2, axis=1), *ops.split(x, [1, 4], axis=1), *ops.split(x, 2, axis=2), *ops.unstack(x, axis=2),
        ops.pad(x, ((0, 0), (1, 2), (0, 1)), constant_values=1.5), ops.pad(x, ((0, 0), (1, 2), (0, 1)), mode="reflect"),
        x[:, -1], x[:, 1:3], x[..., 0], x[:, None], x[:, ::-1], x[:, ::2, 1], ops.take(x, [0, 2, -1], axis=1),
        ops.take_along_axis(x, ops.argsort(x, axis=1), axis=1), ops.one_hot(ops.argmax(x, axis=1), 6), ops.tril(x),
        ops.triu(x, 1), ops.sum(x, axis=1), ops.mean(x, axis=(1, 2)), ops.max(x, axis=-1, keepdims=True),
        ops.min(x, axis=1), ops.prod(x, axis=2), ops.std(x, axis=1), ops.var(x, axis=(1, 2), keepdims=True),
        ops.any(x > 1, axis=1), ops.all(x > -1, axis=2), ops.argmin(x, axis=-1), ops.logsumexp(x, axis=1),
        ops.count_nonzero(x, axis=1), ops.cumsum(x, axis=1), ops.cumprod(x, axis=2), ops.sort(x, axis=1),
        *ops.top_k(x, 3), *ops.moments(x, axes=[1, 2]), ops.matmul(x, ops.transpose(x, (0, 2, 1))),
        ops.einsum("bij,bkj->bik", x, x), ops.einsum("bij,bij->b", x, x), ops.tensordot(x, x, axes=([1, 2], [1, 2])),
        ops.normalize(x, axis=-1), ops.softmax(x, axis=1), ops.log_softmax(x),
    ]  # fmt: skip
    q = ops.reshape(x, (-1, 6, 2, 2))
    outputs += [ops.dot_product_attention(q, q, q), ops.dot_product_attention(q, q, q, is_causal=True)]
    return model((x,), outputs, "rearranged")


def statistics() -> Any:
    """Operations of keras.ops that few models have."""
    (x,) = inputs(SEQUENCE)
    gaps = ops.where(x > 1, float("nan"), x)
    outputs = [getattr(ops, name)(gaps, axis=1) for name in "nanmax nanmin nansum nanmean nanvar nanstd".split()]
    outputs += [getattr(ops, name)(gaps, axis=1) for name in ("nanprod", "nancumsum", "nancumprod")]
    outputs += [
        ops.median(x, axis=1), ops.quantile(x, [0.2, 0.5], axis=(1, 2)), ops.percentile(x, 30.0, -1, keepdims=True),
        ops.ptp(x, axis=1), ops.average(x, axis=1), ops.average(x, axis=1, weights=np.arange(6, dtype="float32")),
        ops.diff(x, n=2, axis=1), ops.digitize(x, np.asarray([-1.0, 0.0, 0.5], "float32")), ops.trapezoid(x, dx=0.5),
        ops.searchsorted(np.asarray([-1.0, 0.5], "float32"), x), ops.inner(x, x[0]), ops.vdot(x, x),
        ops.arctan2(x, x[:, ::-1]), ops.cbrt(x), ops.heaviside(x, x), ops.isclose(x, x + 1e-9), ops.fmod(x, x[:, ::-1]),
        ops.isneginf(x), ops.logaddexp2(x, 2 * x), ops.saturate_cast(x * 300, "uint8"), ops.real(x),
        ops.rot90(x, 1, (1, 2)), ops.rot90(x, 3, (1, 2)), ops.rot90(x, 2, (1, 2)), ops.append(x, x, axis=1),
        ops.fliplr(x), ops.dstack([x, x]), *ops.hsplit(x, 3), *ops.array_split(x, 4, axis=1), *ops.dsplit(x, [1, 3]),
        ops.diagonal(x, 1, 1, 2), ops.trace(x, -1, 1, 2), ops.kron(x, np.ones((1, 2, 1), "float32")),
        ops.select([x > 1, x > 0], [x, 2 * x], -1.0), ops.ldexp(x, ops.cast(x * 2, "int32")),
    ]  # fmt: skip
    return model((x,), outputs, "statistics")


def neural() -> Any:
    """Operations of keras.ops that layers are made of."""
    x, y = inputs(SEQUENCE, (7, 8, 4))
    rng = np.random.default_rng(0)

    def numbers(*shape: int) -> Any:
        return rng.standard_normal(shape).astype("float32")

    outputs = [
        ops.conv(x, numbers(3, 4, 6), strides=2, padding="same"), ops.conv(y, numbers(2, 3, 4, 5), dilation_rate=2),
        ops.depthwise_conv(y, numbers(3, 3, 4, 2), padding="same"), ops.average_pool(x, 3, 2, "same"),
        ops.separable_conv(y, numbers(3, 3, 4, 2), numbers(1, 1, 8, 3)), ops.adaptive_average_pool(y, (3, 5)),
        ops.adaptive_max_pool(x, (4,)), ops.max_pool(y, (2, 2), (2, 2)),
        ops.batch_normalization(y, numbers(4), numbers(4) ** 2 + 1, -1, numbers(4), numbers(4)),
        ops.layer_normalization(x, numbers(4), numbers(4)), ops.layer_normalization(y, axis=(1, 2)),
        ops.rms_normalization(x), ops.rms_normalization(x, numbers(4)), ops.depth_to_space(y, 2),
        ops.space_to_depth(y[:, :6], 2),
        ops.image.resize(y, (5, 6)), ops.image.rgb_to_grayscale(y[..., :3]), ops.multi_hot(ops.argmax(x, 1), 6),
    ]  # fmt: skip
    return model((x, y), outputs, "neural")


MODELS: dict[str, Callable[[], Any]] = {
    "elementwise": elementwise,
    "neural": neural,
    "rearranged": rearranged,
    "statistics": statistics,
}
