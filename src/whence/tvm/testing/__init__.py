"""Helpers of tests, as in `tvm.testing`: comparisons, requirements, parameters; and TVM's names for whence.

What needs pytest is loaded when it is first used.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from whence.runtime.values.device import Device, cpu

if TYPE_CHECKING:
    from whence.testing.parametrized import fixture as fixture
    from whence.testing.parametrized import parameter as parameter
    from whence.testing.parametrized import parameters as parameters
    from whence.testing.tvm_names import as_tvm as as_tvm

_HOMES = {
    "as_tvm": "tvm_names",
    "exclude_targets": "parametrized",
    "fixture": "parametrized",
    "known_failing_targets": "parametrized",
    "parameter": "parametrized",
    "parameters": "parametrized",
    "parametrize_targets": "parametrized",
    "check_numerical_grads": "numerical_gradients",
}
_MODULES = ("plugin", "utils")


def assert_allclose(actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 1e-7) -> None:
    """Raise AssertionError unless two arrays have one shape and elements that are close."""
    one, other = np.asanyarray(actual), np.asanyarray(desired)
    np.testing.assert_equal(one.shape, other.shape)
    np.testing.assert_allclose(one, other, rtol=rtol, atol=atol, verbose=True)


def assert_prim_expr_equal(lhs: Any, rhs: Any) -> None:
    """Raise AssertionError unless two expressions of integers are equal for sure."""
    from whence.arith import Analyzer

    if not Analyzer().can_prove_equal(lhs, rhs):
        raise AssertionError(f"{lhs} and {rhs} are not equal")


def device_enabled(target: Any) -> bool:
    """Return whether programs can be made for a target: those of LLVM's kind can."""
    kind = cast("dict[str, Any]", target).get("kind", "") if isinstance(target, dict) else target
    return str(kind).split()[:1] == ["llvm"]


def enabled_targets() -> list[tuple[str, Device]]:
    """The targets that tests run on, with their devices."""
    return [("llvm", cpu(0))]


def main() -> None:
    """Run the tests of the script that is executed, with the arguments of the command line."""
    import pytest

    sys.exit(pytest.main([sys.argv[0], *sys.argv[1:]]))


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"whence.testing.{name}") if name != "utils" else sys.modules[__name__]
    if name in _HOMES:
        return getattr(import_module(f"whence.testing.{_HOMES[name]}"), name)
    if name.startswith("_"):
        raise AttributeError(name)
    return import_module("whence.testing.requirements").requirement(name)
