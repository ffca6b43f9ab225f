"""Builders of random numbers: of keys, which TVM's generator hands on from use to use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from whence.relay.builders import Builder, builder, const
from whence.syntax.relay import tvm_calls
from whence.syntax.relay.expr import Constant, Expr


def threefry_key(seed: int) -> Constant:
    """A key for a seed of up to 256 bits; raises OverflowError for another one."""
    words = np.frombuffer(seed.to_bytes(32, "little"), np.uint64)
    return const(np.concatenate([words, np.array([0, 0, 0, 0, 1 << 63, 0], np.uint64)]))


def threefry_generate(key: Expr, shape: Sequence[int]) -> Expr:
    """The key for the next use and random words of 64 bits, as a tuple."""
    return builder("random.threefry_generate")(key, out_shape=list(shape))


def threefry_split(key: Expr) -> Expr:
    """Two keys, as a tuple."""
    return builder("random.threefry_split")(key)


def uniform(key: Expr, shape: Sequence[int], dtype: str = "float32", low: Any = 0.0, high: Any = 1.0) -> Expr:
    """The key for the next use and numbers from `low` to below `high`, as a tuple."""
    ends = [end if isinstance(end, Expr) else const(end, dtype) for end in (low, high)]
    return tvm_calls.uniform([key, *ends], {"out_shape": list(shape), "out_dtype": dtype})


def normal(key: Expr, shape: Sequence[int], dtype: str = "float32", mean: Any = 0.0, scale: Any = 1.0) -> Expr:
    """The key for the next use and normally distributed numbers, as a tuple."""
    both = [number if isinstance(number, Expr) else const(number, dtype) for number in (mean, scale)]
    return tvm_calls.normal([key, *both], {"out_shape": list(shape), "out_dtype": dtype})


RANDOM: dict[str, Builder] = {
    f"random.{function.__name__}": function
    for function in (threefry_key, threefry_generate, threefry_split, uniform, normal)
}
"""By TVM's names of the functions."""
