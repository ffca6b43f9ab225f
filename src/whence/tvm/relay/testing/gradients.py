"""A check of gradients against finite differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from whence.relay.execution import create_executor
from whence.relay.module import IRModule
from whence.relay.transform import gradient
from whence.runtime.values.ndarray import NDArray, array
from whence.support.dtypes import Array
from whence.support.dtypes import numpy_of as _numpy_of
from whence.syntax.relay.expr import Function, Var
from whence.transform import InferType


def rand(dtype: str = "float32", *shape: int) -> NDArray:
    """Uniform numbers from 0 to 1."""
    return array(np.random.default_rng().uniform(size=shape).astype(_numpy_of(dtype)))


def check_grad(
    func: Function,
    inputs: Sequence[Any] | None = None,
    test_inputs: Sequence[Any] | None = None,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    scale: float | None = None,
    mean: float = 0,
    mode: str = "higher_order",
    target_devices: object = None,
    executor_kind: str = "debug",
) -> None:
    """Raise AssertionError unless each gradient of a function's sum is the quotient of differences.

    inputs: values of the parameters; if left out, normal ones around `mean`, by default so close to it (`scale`, ten
    times `eps`) that few digits are lost. test_inputs: those of them, by object, whose
    gradients are compared; all floats if left out. mode: of `transform.gradient`. There is one device.
    """
    forward: Any = InferType()(IRModule.from_expr(func))["main"]
    backward = gradient(forward, mode=mode)
    scale = 10 * eps if scale is None else scale
    values = [_value(param, scale, mean) for param in forward.params] if inputs is None else list(inputs)
    executor = create_executor(executor_kind)
    of_values: Any = executor.evaluate(backward)(*values)
    compute = executor.evaluate(forward)
    chosen = [value for value in values if np.asarray(value).dtype.kind == "f"] if test_inputs is None else test_inputs
    for index, value in enumerate(values):
        if any(value is other for other in chosen):
            wanted: Any = _quotients(compute, values, index, eps)
            np.testing.assert_allclose(np.asarray(of_values[1][index]), wanted, atol=atol, rtol=rtol)


def _value(param: Var, scale: float, mean: float) -> Array:
    shape: tuple[int, ...] = param.checked_type.concrete_shape
    sample = np.random.default_rng().normal(mean, scale, shape)
    return np.asarray(sample, _numpy_of(param.checked_type.dtype))


def _quotients(compute: Any, values: Sequence[Any], position: int, eps: float) -> Array:
    """Return the derivative of the sum of the result by each element."""
    base: Array = np.asarray(values[position])
    quotients: Array = np.zeros_like(base)
    for index in np.ndindex(base.shape):
        results: list[Any] = []
        for step in (eps, -eps):
            moved: Any = base.copy()
            moved[index] += step
            results.append(np.asarray(compute(*values[:position], moved, *values[position + 1 :]), "float64"))
        # Elements that stay as they are take nothing from the digits of the sum.
        quotients[index] = np.sum((results[0] - results[1]) / (2 * eps))
    return quotients
