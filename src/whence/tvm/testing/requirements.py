"""The machine that a test needs, as decorators by TVM's names: `requires_llvm`, `requires_cuda`, `uses_gpu`."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any, TypeVar

import pytest

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


class Requirement:
    """A decorator that skips a test where something is missing; `requires_x` and `requires_x()` are the same."""

    def __init__(self, name: str, met: bool):
        self.name = name
        self.met = met

    def marks(self, support_required: str = "compile-and-run") -> list[pytest.MarkDecorator]:
        """The marks of the decorator, for `pytest.param`."""
        del support_required
        return [pytest.mark.skipif(not self.met, reason=f"{self.name}: not on this machine")]

    def __call__(self, func: Callable[..., Any] | None = None, *, support_required: str = "compile-and-run") -> Any:
        marks = self.marks(support_required)

        def decorate(test: FunctionT) -> FunctionT:
            for mark in marks:
                test = mark(test)
            return test

        return decorate if func is None else decorate(func)


def _features() -> str:
    from whence.lowering.llvm_to_native.target import Target

    return Target.native().features


def _x86() -> bool:
    return platform.machine().lower() in ("x86_64", "amd64", "i386", "i686")


_MET: dict[str, Callable[[], bool]] = {
    "llvm": lambda: True,
    "x86": _x86,
    "x86_vnni": lambda: "+avx512vnni" in _features() or "+avxvnni" in _features(),
    "x86_avx512": lambda: "+avx512f" in _features(),
    "x86_amx": lambda: "+amx-int8" in _features(),
    "skylake_avx512": lambda: "+avx512f" in _features(),
    "cascadelake": lambda: "+avx512vnni" in _features(),
}
"""Requirements that may hold. No others do: there are no other devices, no RPC, no libraries of hardware vendors."""
_ALWAYS = ("uses_gpu", "skip_if_32bit", "skip_if_wheel_test")
"""Decorators whose requirement always holds here."""


def requirement(name: str) -> Any:
    """The decorator of a name. Raises AttributeError for a name that is no decorator."""
    if name == "requires_package":
        return _requires_packages
    if name == "slow":
        return Requirement("slow", not os.environ.get("SKIP_SLOW_TESTS"))
    if name in _ALWAYS:
        return Requirement(name, name != "skip_if_32bit" or sys.maxsize > 2**32)
    prefix, _, what = name.partition("_")
    if prefix != "requires" or not what:
        raise AttributeError(f"module 'whence.testing' has no attribute '{name}'")
    return Requirement(name, _MET.get(what, lambda: False)())


def _requires_packages(*packages: str) -> Requirement:
    """A decorator that skips a test unless all these packages are installed."""
    missing: Sequence[str] = [package for package in packages if find_spec(package) is None]
    return Requirement(f"requires_package({', '.join(missing)})", not missing)
