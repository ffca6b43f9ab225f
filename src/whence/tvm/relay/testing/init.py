"""Weights for networks of tests, and a network with them: a workload."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from math import prod
from typing import Any, ParamSpec, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from whence.dialects.element_types import numpy_dtype
from whence.relay.module import IRModule
from whence.runtime.values.ndarray import NDArray, array
from whence.support.dtypes import Array
from whence.syntax.relay.expr import Function

P = ParamSpec("P")

Initializer = Callable[[str, Array], None]
"""Writes the values of a weight of a name."""


@dataclass(frozen=True)
class Constant:
    """The same number everywhere."""

    value: float = 1.0

    def __call__(self, name: str, weight: Array) -> None:
        weight[...] = self.value


@dataclass
class Xavier:
    """Uniform numbers within sqrt(3 / mean of fan in and fan out) around 0; biases, means and betas are 0, scales 1."""

    seed: int = 0

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng(self.seed)

    def __call__(self, name: str, weight: Array) -> None:
        if name.endswith(("gamma", "var")):
            weight[...] = 1
        elif weight.ndim >= 2:
            around = prod(weight.shape[2:])
            bound = np.sqrt(3 / (around * (weight.shape[0] + weight.shape[1]) / 2))
            weight[...] = self._rng.uniform(-bound, bound, weight.shape).astype(weight.dtype)
        else:
            weight[...] = 0


def create_workload(net: Function, initializer: Initializer | None = None, seed: int = 0) -> tuple[IRModule, Any]:
    """The module of a function, and values of all its arguments but `data` by name."""
    from whence.transform import InferType

    mod = InferType()(IRModule.from_expr(net))
    fill = initializer or Xavier(seed)
    params: dict[str, NDArray] = {}
    for argument in mod["main"].params:
        if argument.name_hint != "data":
            type_ = cast("TensorType[Attribute]", argument.checked_type)
            value: Any = np.zeros(type_.get_shape(), numpy_dtype(type_.element_type))
            fill(argument.name_hint, value)
            params[argument.name_hint] = array(value)
    return mod, params


def workload_of(get_net: Callable[P, Function]) -> Callable[P, tuple[IRModule, Any]]:
    """Return a function that takes the arguments of `get_net`, and returns the workload of its network."""

    @wraps(get_net, assigned=("__module__",))
    def get_workload(*args: P.args, **kwargs: P.kwargs) -> tuple[IRModule, Any]:
        """The network as a module, and its weights."""
        return create_workload(get_net(*args, **kwargs))

    return get_workload
