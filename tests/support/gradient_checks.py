"""Holds gradients of operators against differences of values, in float64."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from whence.dialects.element_types import tensor_type
from whence.dialects.relay import elementwise as e
from whence.dialects.relay.core import ConstantOp, FuncOp, ReturnOp
from whence.dialects.relay.interpret import evaluate_module
from whence.dialects.relay.operator import Operator, shape_of
from whence.passes.relay.analysis.traversal import functions_of
from whence.passes.relay.first_order_gradient import gradient
from whence.provenance.builder import LocatedBuilder
from whence.provenance.span import layer_location

Array: TypeAlias = npt.NDArray[Any]
Make: TypeAlias = Callable[..., Operator]
RNG = np.random.default_rng(11)


def floats(*shape: int) -> Array:
    return RNG.uniform(-1, 1, shape)


def positive(*shape: int) -> Array:
    return RNG.uniform(0.2, 0.9, shape)


def distinct(*shape: int) -> Array:
    """Numbers no two of which are close."""
    count = int(np.prod(shape))
    return (RNG.permutation(count) / count * 2 - 1).reshape(shape)


def module_of(make: Make, arrays: list[Array]) -> ModuleOp:
    """`@main`: the operator's results, each multiplied by numbers of its own, so that gradients differ by place."""
    module = ModuleOp([])
    main = FuncOp("main", [tensor_type(array) for array in arrays], [], location=layer_location("main", "net", 0))
    module.body.block.add_op(main)
    builder = LocatedBuilder(main.block, layer_location("op", "net", 1))
    op = builder.add(make(*main.block.args))
    values: list[SSAValue] = list(op.results)
    for index, value in enumerate(values):
        weight = np.random.default_rng(index).uniform(0.5, 1.5, shape_of(value))
        constant = builder.add(ConstantOp.of(weight, module, "weight")).result
        values[index] = builder.add(e.MultiplyOp(value, constant)).result
    builder.add(ReturnOp(*values))
    for argument in main.block.args:
        argument.location = layer_location("in", "net", 2)
    main.update_type()
    return module


def total(module: ModuleOp, arrays: list[Array]) -> float:
    return float(sum(np.sum(value) for value in evaluate_module(module, arrays)))


def differences(module: ModuleOp, arrays: list[Array], which: int, step: float = 1e-6) -> Array:
    found = np.zeros(arrays[which].shape)
    for place in np.ndindex(*found.shape):
        high, low = [array.copy() for array in arrays], [array.copy() for array in arrays]
        high[which][place] += step
        low[which][place] -= step
        found[place] = (total(module, high) - total(module, low)) / (2 * step)
    return found


def check(module: ModuleOp, arrays: list[Array]) -> None:
    func = functions_of(module)["main"]
    before = str(func)
    made = gradient(func, module)
    expected = evaluate_module(module, arrays)
    wanted = [
        differences(module, arrays, i) if array.dtype == np.float64 else np.zeros_like(array)
        for i, array in enumerate(arrays)
    ]
    assert str(func) == before
    other = ModuleOp([made])
    other.attributes.update(module.attributes)
    other.verify()
    value, gradients = evaluate_module(other, arrays)
    for mine, reference in zip(value if len(expected) > 1 else [value], expected, strict=True):
        np.testing.assert_allclose(mine, reference)
    for mine, reference in zip(gradients, wanted, strict=True):
        assert mine.shape == reference.shape
        np.testing.assert_allclose(mine, reference, rtol=1e-5, atol=1e-6)


def case(name: str, op: type[Operator], *given: Array | dict[str, Any]) -> Any:
    """An operator with its operands, behind its attributes if it has any."""
    arrays = [one for one in given if not isinstance(one, dict)]
    attributes: dict[str, Any] = {}
    for one in given:
        if isinstance(one, dict):
            attributes.update(one)
    return pytest.param(partial(op, **attributes), arrays, id=name)
