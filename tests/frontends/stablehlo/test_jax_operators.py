# pyright: basic, reportMissingImports=false
"""Operators of JAX against JAX itself: a function each, lowered in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402
from jax_programs import assert_as_jax, outputs  # noqa: E402

import whence  # noqa: E402

RNG = np.random.default_rng(3)


def floats(*shape: int, low: float = -2.0, high: float = 2.0) -> Any:
    return RNG.uniform(low, high, shape).astype(np.float32)


def integers(*shape: int, low: int = -9, high: int = 9, dtype: str = "int32") -> Any:
    return RNG.integers(low, high, shape).astype(dtype)


X, Y = floats(3, 8), floats(3, 8)
POSITIVE, UNIT = floats(3, 8, low=0.1, high=3.0), floats(3, 8, low=-0.95, high=0.95)
WHOLE, NATURAL = integers(3, 8), integers(3, 8, low=1)
U = integers(3, 8, low=0, high=2**31, dtype="uint32")
B = X > 0
IMAGE = floats(2, 9, 9, 4)


def conv(**kwargs: Any) -> Callable[..., Any]:
    options = {"window_strides": (1, 1), "padding": "SAME", "dimension_numbers": ("NHWC", "HWIO", "NHWC")} | kwargs
    return lambda x, w: lax.conv_general_dilated(x, w, **options)


def window(init: float, op: Any, dims: Any, strides: Any, padding: Any, **kwargs: Any) -> Callable[..., Any]:
    return lambda x: lax.reduce_window(x, np.float32(init), op, dims, strides, padding, **kwargs)


def pool_gradient(*pooling: Any) -> Callable[..., Any]:
    pool = window(*pooling)
    return jax.grad(lambda x: jnp.sin(pool(x)).sum())


def dot(contract: Any, batch: Any = ((), ())) -> Callable[..., Any]:
    return lambda x, y: lax.dot_general(x, y, (contract, batch))


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    **{
        name: (getattr(lax, name), (X,))
        for name in "abs cbrt ceil cos exp expm1 floor is_finite logistic neg sign sin square tan tanh erf erfc".split()
    },
    **{name: (getattr(lax, name), (X,)) for name in "asinh atan cosh sinh".split()},
    **{name: (getattr(lax, name), (POSITIVE,)) for name in "log log1p rsqrt sqrt digamma lgamma".split()},
    **{name: (getattr(lax, name), (UNIT,)) for name in "acos asin atanh erf_inv".split()},
    "acosh": (lax.acosh, (POSITIVE + 1,)),
    "lgamma_negative": (lax.lgamma, (X,)),
    "digamma_negative": (lax.digamma, (X,)),
    **{name: (getattr(lax, name), (X, Y)) for name in "add sub mul div max min atan2 rem".split()},
    **{name: (getattr(lax, name), (X, Y)) for name in "eq ne ge gt le lt".split()},
    **{f"{name}_int": (getattr(lax, name), (WHOLE, NATURAL)) for name in "add sub mul div max min rem eq lt".split()},
    **{name: (getattr(lax, name), (WHOLE, NATURAL)) for name in "bitwise_and bitwise_or bitwise_xor".split()},
    **{f"{name}_bool": (getattr(lax, name), (B, ~B)) for name in "bitwise_and bitwise_or bitwise_xor eq max".split()},
    **{name: (getattr(lax, name), (WHOLE,)) for name in "bitwise_not population_count clz".split()},
    "not_bool": (lax.bitwise_not, (B,)),
    "pow": (lax.pow, (POSITIVE, Y)),
    "integer_pow": (lambda x: x**3, (X,)),
    "round_even": (lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), (X * 4 // 1 / 2,)),
    "round_away": (lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO), (X * 4 // 1 / 2,)),
    "shift_left": (lax.shift_left, (WHOLE, NATURAL)),
    "shift_right": (lax.shift_right_arithmetic, (WHOLE, NATURAL)),
    "shift_logical": (lax.shift_right_logical, (WHOLE, NATURAL)),
    "shift_known": (lambda x: (x << 13) ^ (x >> 19), (U,)),
    "shift_too_far": (lax.shift_left, (WHOLE, NATURAL * 40)),
    "select": (lax.select, (B, X, Y)),
    "select_scalar": (lax.select, (np.bool_(True), X, Y)),
    "clamp": (lambda x: lax.clamp(-0.5, x, 0.5), (X,)),
    "convert_int": (lambda x: x.astype(jnp.int32), (X * 9,)),
    "convert_bool": (lambda x: x.astype(bool), (WHOLE,)),
    "convert_half": (lambda x: x.astype(jnp.bfloat16).astype(jnp.float32), (X,)),
    "bitcast": (lambda x: lax.bitcast_convert_type(x, jnp.int32), (X,)),
    "reduce_precision": (lambda x: lax.reduce_precision(x, 8, 7), (X,)),
    "nan_to_num": (jnp.nan_to_num, (np.where(B, X, np.nan).astype(np.float32),)),
    "broadcast": (lambda x: lax.broadcast(x, (2, 3)), (X,)),
    "broadcast_in_dim": (lambda x: lax.broadcast_in_dim(x, (3, 4, 8), (0, 2)), (X,)),
    "broadcast_turned": (lambda x: lax.broadcast_in_dim(x, (8, 2, 3), (2, 0)), (X,)),
    "reshape": (lambda x: x.reshape(4, 6), (X,)),
    "transpose": (lambda x: lax.transpose(x, (2, 0, 3, 1)), (IMAGE,)),
    "concatenate": (lambda x, y: jnp.concatenate([x, y, x], 1), (X, Y)),
    "slice": (lambda x: x[1:3, 1:8:3], (X,)),
    "rev": (lambda x: lax.rev(x, (1,)), (X,)),
    "pad": (lambda x: lax.pad(x, 1.5, ((1, 2, 0), (0, 1, 2))), (X,)),
    "pad_negative": (lambda x: lax.pad(x, 1.5, ((-1, 2, 0), (1, -3, 1))), (X,)),
    "iota": (lambda x: x + lax.broadcasted_iota(jnp.float32, (3, 8), 1), (X,)),
    "iota_large": (lambda x: x + jnp.arange(3000.0)[:, None], (floats(1, 2),)),
    "linspace": (lambda x: x + jnp.linspace(0, 1, 8), (X,)),
    "sum": (lambda x: x.sum(1), (X,)),
    "sum_keep": (lambda x: x.sum((1, 2), keepdims=True), (IMAGE,)),
    "prod": (lambda x: x.prod(0), (X,)),
    "reduce_max": (lambda x: x.max(), (X,)),
    "reduce_min": (lambda x: x.min(1), (WHOLE,)),
    "mean": (lambda x: x.mean((1, 2)), (IMAGE,)),
    "var": (lambda x: x.var(-1), (IMAGE,)),
    "all": (lambda x: x.all(1), (B,)),
    "any": (lambda x: x.any(), (B,)),
    "reduce_start": (lambda x: lax.reduce(x, np.float32(2.5), lax.add, (1,)), (X,)),
    "argmax": (lambda x: x.argmax(1), (X,)),
    "argmin": (lambda x: jnp.argmin(x), (X,)),
    "argmax_int": (lambda x: x.argmax(0), (WHOLE,)),
    "argmax_nan": (lambda x: x.argmax(1), (np.where(X > 1, np.nan, X).astype(np.float32),)),
    "logsumexp": (lambda x: jax.nn.logsumexp(x, 1), (X,)),
    "cumsum": (lambda x: jnp.cumsum(x, 1), (X,)),
    "cumsum_reverse": (lambda x: lax.cumsum(x, 0, reverse=True), (X,)),
    "cumprod": (lambda x: lax.cumprod(x, 1), (X,)),
    "cummax": (lambda x: lax.cummax(x, 1), (X,)),
    "cummin_reverse": (lambda x: lax.cummin(x, 1, reverse=True), (X,)),
    "cumlogsumexp": (lambda x: lax.cumlogsumexp(x, 1), (X,)),
    "cumlogsumexp_reverse": (lambda x: lax.cumlogsumexp(x, 0, reverse=True), (np.where(B, X, -np.inf),)),
    "max_pool_gradient": (pool_gradient(-np.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME"), (np.round(IMAGE * 3),)),
    "min_pool_gradient": (pool_gradient(np.inf, lax.min, (2, 2), (1, 3), "VALID"), (np.round(X * 3),)),
    "sort": (lambda x: jnp.sort(x, 1), (X,)),
    "sort_descending": (lambda x: jnp.sort(x, 0, descending=True), (X,)),
    "sort_int": (lambda x: jnp.sort(x, 1), (WHOLE,)),
    "argsort": (lambda x: jnp.argsort(x, 1), (X,)),
    "sort_two_keys": (lambda x, y, z: lax.sort((x, y, z), num_keys=2), (WHOLE // 5, X, Y)),
    "lexsort": (lambda x, y: jnp.lexsort((x, y)), (X[0], WHOLE[0] // 5)),
    "unique": (lambda x: jnp.unique(x, size=6, fill_value=0), (WHOLE[0],)),
    "sort_pairs": (lambda x, y: lax.sort((x, y), num_keys=1), (X, WHOLE)),
    "top_k": (lambda x: lax.top_k(x, 3), (X,)),
    "matmul": (jnp.matmul, (floats(3, 4), floats(4, 5))),
    "matmul_batched": (jnp.matmul, (floats(2, 3, 4), floats(2, 4, 5))),
    "matvec": (jnp.matmul, (floats(3, 4), floats(4))),
    "inner": (jnp.inner, (floats(7), floats(7))),
    "outer": (jnp.outer, (floats(3), floats(5))),
    "dot_weight_first": (dot(((1,), (1,))), (floats(3, 4), floats(5, 4))),
    "dot_two_axes": (dot(((0, 2), (1, 0))), (floats(3, 4, 5), floats(5, 3, 2))),
    "dot_batch_last": (dot(((1,), (0,)), ((2,), (1,))), (floats(3, 4, 5), floats(4, 5, 2))),
    "dot_outer_batch": (dot(((), ()), ((0,), (1,))), (floats(3, 4), floats(5, 3))),
    "einsum": (lambda x, y: jnp.einsum("bhqd,bkhd->bqhk", x, y), (floats(2, 3, 4, 5), floats(2, 6, 3, 5))),
    "einsum_int": (lambda x, y: x @ y.T, (WHOLE, NATURAL)),
    "conv": (conv(), (IMAGE, floats(3, 3, 4, 5))),
    "conv_stride": (conv(window_strides=(2, 1), padding=((1, 0), (2, 1))), (IMAGE, floats(3, 2, 4, 5))),
    "conv_dilated": (conv(rhs_dilation=(2, 2)), (IMAGE, floats(3, 3, 4, 5))),
    "conv_groups": (conv(feature_group_count=2), (IMAGE, floats(3, 3, 2, 6))),
    "conv_depthwise": (conv(feature_group_count=4), (IMAGE, floats(3, 3, 1, 4))),
    "conv_transposed": (lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME"), (IMAGE, floats(3, 3, 4, 5))),
    "conv_nchw": (
        conv(dimension_numbers=("NCHW", "OIHW", "NCHW")),
        (floats(2, 4, 7, 7), floats(5, 4, 3, 3)),
    ),
    "conv_mixed": (
        conv(dimension_numbers=("CNHW", "IHWO", "NHWC")),
        (floats(4, 2, 7, 7), floats(4, 3, 3, 5)),
    ),
    "conv_1d": (
        conv(window_strides=(1,), dimension_numbers=("NWC", "WIO", "NWC")),
        (floats(2, 9, 4), floats(3, 4, 5)),
    ),
    "conv_3d": (
        conv(window_strides=(1, 1, 1), dimension_numbers=("NDHWC", "DHWIO", "NDHWC")),
        (floats(1, 4, 5, 6, 2), floats(3, 3, 3, 2, 3)),
    ),
    "conv_cut": (conv(padding=((-1, 0), (0, -1))), (IMAGE, floats(3, 3, 4, 5))),
    "max_pool": (window(-np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME"), (IMAGE,)),
    "sum_pool": (window(0, lax.add, (1, 3, 3, 1), (1, 2, 2, 1), "VALID"), (IMAGE,)),
    "sum_pool_padded": (window(0, lax.add, (1, 3, 3, 1), (1, 1, 1, 1), "SAME"), (IMAGE,)),
    "min_pool": (window(np.inf, lax.min, (1, 3, 3, 1), (1, 2, 2, 1), "SAME"), (IMAGE,)),
    "pool_channels": (window(0, lax.add, (1, 1, 1, 3), (1, 1, 1, 1), "SAME"), (IMAGE,)),
    "pool_dilated": (
        window(-np.inf, lax.max, (1, 2, 2, 1), (1, 1, 1, 1), "VALID", window_dilation=(1, 2, 2, 1)),
        (IMAGE,),
    ),
    "slice_beyond": (lambda x: lax.dynamic_slice(x, (np.int32(2), np.int32(7)), (2, 5)), (X,)),
    "parts_of_rows": (
        lambda x: lax.gather(
            x,
            np.array([[2], [0]]),
            lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,)),
            (1, 5),
        ),
        (X,),
    ),
    "sums_dilated": (
        lambda x: window(0, lax.add, (1, x.shape[1]), (1, 1), ((0, 0), (x.shape[1] - 1, 0)), window_dilation=(1, 2))(x),
        (X,),
    ),
    "products_dilated": (
        window(1, lax.mul, (1, 2, 3, 1), (1, 1, 2, 1), "VALID", window_dilation=(1, 2, 2, 1)),
        (IMAGE,),
    ),
    "pool_start": (window(0.5, lax.add, (2, 2), (1, 1), "VALID"), (X,)),
    "rows": (lambda x, i: x[i], (X, np.array([2, -1, 0, 5], np.int32))),
    "columns": (lambda x, i: x[:, i], (X, np.array([[7, 1], [0, 3]], np.int32))),
    "points": (lambda x, i, j: x[i, j], (X, np.array([2, 1, 0], np.int32), np.array([7, 0, 4], np.int32))),
    "take": (lambda x, i: jnp.take(x, i, axis=1), (X, np.array([1, 20, -3], np.int32))),
    "take_clip": (lambda x, i: jnp.take(x, i, axis=0, mode="clip"), (X, np.array([1, 20, -30], np.int32))),
    "take_along_axis": (lambda x, i: jnp.take_along_axis(x, i, 1), (X, integers(3, 4, low=0, high=8))),
    "windows": (
        lambda x, i: jax.vmap(lambda k: lax.dynamic_slice(x, (0, k), (3, 2)))(i),
        (X, np.array([0, 7, 3], np.int32)),
    ),
    "dynamic_slice": (lambda x, i: lax.dynamic_slice(x, (1, i), (2, 3)), (X, np.int32(4))),
    "dynamic_slice_end": (lambda x, i: lax.dynamic_slice(x, (i, i), (2, 3)), (X, np.int32(40))),
    "dynamic_update": (lambda x, i: lax.dynamic_update_slice(x, -x[:1, :3], (i, 2)), (X, np.int32(1))),
    "dynamic_update_both": (lambda x, i: lax.dynamic_update_slice(x, -x[:2, :3], (i, i)), (X, np.int32(1))),
    "dynamic_update_known": (lambda x: lax.dynamic_update_slice(x, -x[:1, :3], (1, 2)), (X,)),
    "scatter_set": (lambda x, i: x.at[i].set(5.0), (X, np.array([2, 0], np.int32))),
    "scatter_add": (lambda x, i: x.at[i].add(x[:3]), (X, np.array([2, 0, 2], np.int32))),
    "scatter_points": (lambda x, i: x.at[i, i + 1].mul(3.0), (X, np.array([2, 0], np.int32))),
    "scatter_max": (lambda x, i: x.at[:, i].max(0.5), (X, np.array([2, 0, 11], np.int32))),
    "segment_sum": (lambda x, i: jax.ops.segment_sum(x, i, 4), (X, np.array([1, 3, 1], np.int32))),
    "one_hot": (lambda i: jax.nn.one_hot(i, 8), (integers(5, low=0, high=8),)),
    "where": (lambda x: jnp.where(x > 0, x, 0.1 * x), (X,)),
    "tril": (jnp.tril, (floats(5, 5),)),
    "roll": (lambda x: jnp.roll(x, 3, 1), (X,)),
    "searchsorted": (lambda x, y: jnp.searchsorted(jnp.sort(x[0]), y), (X, Y)),
    "floor_divide": (lambda x, y: x // y, (WHOLE, NATURAL)),
    "mod": (lambda x, y: x % y, (X, Y)),
    "softmax": (lambda x: jax.nn.softmax(x, -1), (X,)),
    "log_softmax": (lambda x: jax.nn.log_softmax(x, 0), (X,)),
    "gelu": (lambda x: jax.nn.gelu(x, approximate=False), (X,)),
    "gelu_tanh": (jax.nn.gelu, (X,)),
    "silu": (jax.nn.silu, (X,)),
    "relu6": (jax.nn.relu6, (X * 5,)),
    "relu_int": (lambda x: jnp.maximum(x, 0), (WHOLE,)),
    "relu_unsigned": (lambda x: jnp.maximum(x, 0) + 1, (U,)),
    "constants_only": (lambda x: (jnp.arange(3.0), x, x), (X,)),
    "scalar": (lambda x: x.sum() * 2, (X,)),
    "elu": (jax.nn.elu, (X,)),
    "softplus": (jax.nn.softplus, (X,)),
    "hard_swish": (jax.nn.hard_swish, (X * 3,)),
    "attention": (
        lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=True),
        (floats(2, 6, 2, 8), floats(2, 6, 2, 8), floats(2, 6, 2, 8)),
    ),
    "resize": (lambda x: jax.image.resize(x, (2, 18, 18, 4), "bilinear"), (IMAGE,)),
    "random": (lambda key: jax.random.uniform(key, (5,)), (np.array([3, 7], np.uint32),)),
    "vmap": (jax.vmap(lambda x, y: jnp.dot(x, y)), (X, Y)),
    "gradient": (jax.grad(lambda x: jnp.tanh(x).sum()), (X,)),
    "while": (lambda x: lax.while_loop(lambda c: c.sum() < 100, lambda c: c * 2 + 1, x), (POSITIVE,)),
    "fori": (lambda x: lax.fori_loop(0, 5, lambda i, c: c * 0.5 + i, x), (X,)),
    "fori_open": (lambda x, n: lax.fori_loop(0, n, lambda i, c: c * 0.5 + i, x), (X, np.int32(4))),
    "cond": (lambda x: lax.cond(x.sum() > 0, lambda y: y + 1, lambda y: y * 2, x), (X,)),
    "switch": (lambda x, i: lax.switch(i, [jnp.sin, jnp.cos, lambda y: -y], x), (X, np.int32(1))),
    "scan": (lambda x: lax.scan(lambda c, t: (c + t, c * t), x[0], x), (X,)),
    "map": (lambda x: lax.map(lambda r: r[::-1] * 2, x), (X,)),
    "associative_scan": (lambda x: lax.associative_scan(jnp.multiply, x, axis=1), (X,)),
}


@pytest.mark.parametrize("name", CASES)
def test_operator(name: str):
    function, arguments = CASES[name]
    assert_as_jax(function, *arguments)


CHLO = "acos acosh asin asinh atan atanh cosh digamma erf erf_inv erfc lgamma sinh square tan top_k".split()


@pytest.mark.parametrize("name", CHLO)
def test_exported_operator(name: str):
    function, arguments = CASES[name]
    exported: Any = jax.export.export(jax.jit(function))(*arguments)
    results = outputs(whence.compile(exported)(*arguments))
    for result, wanted in zip(results, jax.tree.leaves(jax.jit(function)(*arguments)), strict=True):
        np.testing.assert_allclose(result, wanted, rtol=2e-5, atol=2e-5)
