# pyright: basic, reportMissingImports=false
"""Networks and functions of JAX, small and with random weights: what the tests of StableHLO import."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


class CNN(nn.Module):
    """Convolutions with batch norms, poolings, and a classifier."""

    @nn.compact
    def __call__(self, x):
        x = nn.Conv(8, (3, 3), use_bias=False, name="conv")(x)
        x = nn.BatchNorm(use_running_average=True, name="bn")(x)
        x = nn.relu(x)
        x = nn.max_pool(x, (2, 2), (2, 2))
        x = nn.Conv(8, (3, 3), strides=(2, 2), feature_group_count=2, name="conv2")(x)
        x = nn.BatchNorm(use_running_average=True, name="bn2")(x)
        x = nn.avg_pool(nn.relu(x), (2, 2), (2, 2))
        return nn.softmax(nn.Dense(5, name="head")(x.mean((1, 2))))


class MixerBlock(nn.Module):
    """Two perceptrons, over places and over channels, each behind a layer norm."""

    @nn.compact
    def __call__(self, x):
        y = jnp.swapaxes(nn.LayerNorm(name="norm_places")(x), 1, 2)
        y = nn.Dense(x.shape[1], name="places_out")(nn.gelu(nn.Dense(12, name="places_in")(y)))
        x = x + jnp.swapaxes(y, 1, 2)
        y = nn.LayerNorm(name="norm_channels")(x)
        return x + nn.Dense(x.shape[2], name="channels_out")(nn.gelu(nn.Dense(12, name="channels_in")(y)))


class Mixer(nn.Module):
    """An MLP-mixer."""

    @nn.compact
    def __call__(self, x):
        x = nn.Conv(8, (4, 4), strides=(4, 4), name="stem")(x)
        x = x.reshape(x.shape[0], -1, x.shape[-1])
        for at in range(2):
            x = MixerBlock(name=f"block{at}")(x)
        return nn.Dense(3, name="head")(nn.LayerNorm(name="norm")(x).mean(1))


class EncoderBlock(nn.Module):
    """Self-attention and a perceptron, each behind a layer norm."""

    @nn.compact
    def __call__(self, x):
        y = nn.LayerNorm(name="norm1")(x)
        x = x + nn.MultiHeadDotProductAttention(num_heads=2, name="attention")(y, y)
        y = nn.LayerNorm(name="norm2")(x)
        return x + nn.Dense(x.shape[-1], name="out")(nn.gelu(nn.Dense(24, name="in")(y), approximate=False))


class Transformer(nn.Module):
    """An encoder of tokens."""

    @nn.compact
    def __call__(self, ids):
        x = nn.Embed(20, 12, name="tokens")(ids)
        x = x + self.param("places", nn.initializers.normal(), (ids.shape[1], 12))
        for at in range(2):
            x = EncoderBlock(name=f"block{at}")(x)
        return nn.log_softmax(nn.Dense(20, name="head")(x))


class Recurrent(nn.Module):
    """A GRU over a sequence."""

    @nn.compact
    def __call__(self, x):
        return nn.RNN(nn.GRUCell(6, name="gru"), name="rnn")(x)


def floats(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def _network(module: nn.Module, x: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A network with its weights inside, and an input; statistics and scales are random, too."""
    variables = jax.device_get(jax.jit(module.init)(jax.random.PRNGKey(0), x))
    rng = np.random.default_rng(1)
    variables = jax.tree.map(lambda w: (w + 0.1 * rng.random(w.shape)).astype(w.dtype), variables)
    return lambda x: module.apply(variables, x), (x,)


def perceptron(weights: dict[str, dict[str, Any]], x: Any) -> Any:
    """A perceptron whose weights are an argument."""
    hidden = jax.nn.gelu(x @ weights["first"]["w"] + weights["first"]["b"])
    mean = hidden.mean(-1, keepdims=True)
    hidden = (hidden - mean) / jnp.sqrt(hidden.var(-1, keepdims=True) + 1e-5)
    return jax.nn.softmax(hidden @ weights["second"]["w"] + weights["second"]["b"])


WEIGHTS = {
    "first": {"w": floats(6, 10), "b": floats(10, seed=1)},
    "second": {"w": floats(10, 4, seed=2), "b": floats(4, seed=3)},
}


def _loops(x: Any) -> Any:
    """A counted loop, and one that values end."""
    x = lax.fori_loop(0, 4, lambda i, c: c * 0.5 + jnp.sin(c + i), x)
    return lax.while_loop(lambda c: jnp.sum(c) < 50, lambda c: c * 1.5 + 1, x)


def _branches(x: Any, index: Any) -> Any:
    y = lax.cond(x.mean() > 0, lambda v: v @ v.T, lambda v: -v @ v.T, x)
    return lax.switch(index, [jnp.sin, jnp.cos, lambda v: v * 2], y)


def _order(x: Any) -> Any:
    values, places = lax.top_k(x, 3)
    return values, places, jnp.sort(x, axis=0), jnp.argsort(-x, axis=1)


def _contractions(x: Any, y: Any) -> Any:
    return jnp.einsum("bij,bjk->bik", x, y), jnp.einsum("bij,bkj->ik", x, jnp.swapaxes(y, 1, 2))


def _running(x: Any) -> Any:
    return jnp.cumsum(x, 1), jnp.argmax(x, 1), lax.cummax(x, 0), jnp.argmin(x)


def _indexed(x: Any, index: Any) -> Any:
    return x[index], x[:, index % 3], x.at[index].add(1.0), x.at[index, 0].set(5.0)


def _gradients(x: Any) -> Any:
    """The gradient of a pooling whose windows overlap along one axis, and leave gaps along the other."""
    return jax.grad(lambda x: jnp.sin(lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (1, 3), "SAME")).sum())(x)


def _logarithms(x: Any) -> Any:
    return lax.cumlogsumexp(jnp.where(x > 1, -jnp.inf, x), 0, reverse=True)


def _inverses(x: Any) -> Any:
    """The functions of CHLO, which `jax.export` writes as composites."""
    unit, above = jnp.sin(x), jnp.abs(x) + 1
    of_units = sum(function(unit) for function in (lax.asin, lax.acos, lax.atanh))
    of_all = sum(function(x) for function in (lax.asinh, lax.sinh, lax.cosh, lax.erf))
    return of_units, of_all, lax.acosh(above)


def _attention(q: Any, k: Any, v: Any) -> Any:
    return jax.nn.dot_product_attention(q, k, v, is_causal=True)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "attention": (_attention, tuple(floats(2, 5, 2, 4, seed=seed) for seed in range(3))),
    "branches": (_branches, (floats(3, 4), np.int32(1))),
    "cnn": _network(CNN(), floats(2, 12, 12, 3)),
    "contractions": (_contractions, (floats(2, 3, 4), floats(2, 4, 5, seed=1))),
    "gradients": (_gradients, (np.round(3 * floats(5, 9)),)),
    "indexed": (_indexed, (floats(4, 5), np.array([2, 0, -1], np.int32))),
    "inverses": (_inverses, (floats(3, 5),)),
    "logarithms": (_logarithms, (floats(4, 7),)),
    "loops": (_loops, (np.abs(floats(3, 4)),)),
    "mixer": _network(Mixer(), floats(2, 8, 8, 3)),
    "order": (_order, (floats(4, 7),)),
    "perceptron": (perceptron, (WEIGHTS, floats(3, 6, seed=4))),
    "recurrent": _network(Recurrent(), floats(2, 5, 4)),
    "running": (_running, (floats(4, 7),)),
    "transformer": _network(Transformer(), np.arange(12, dtype=np.int32).reshape(2, 6)),
}
"""Function and arguments, by name."""
