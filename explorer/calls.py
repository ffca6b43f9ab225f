"""Kernels and their calls, found by what people call them."""

from __future__ import annotations

from typing import NamedTuple

from ..planning.artifact import Artifact, Call
from ..support.errors import FrontendError
from .layers import unknown


class Found(NamedTuple):
    """A kernel, and which of its calls are asked about."""

    kernel: int
    asked: tuple[Call, ...]
    others: tuple[Call, ...]


def find_calls(artifact: Artifact, kernel: str | int, call: str | None = None) -> Found:
    """The calls that a name stands for: that of a call (its primitive function's), a kernel's symbol, or its index.

    The name of a call asks about that one, the others about every call of the kernel. call: the one asked about.
    Raises FrontendError for an unknown kernel or call.
    """
    index, only = _resolve(artifact, kernel)
    of_kernel = [other for other in artifact.calls if other.kernel == index]
    name = call if call is not None else only
    if name is None:
        return Found(index, tuple(of_kernel), ())
    asked = tuple(candidate for candidate in of_kernel if candidate.name == name)
    if not asked:
        raise FrontendError(unknown(f"call of kernel {kernel}", name, [candidate.name for candidate in of_kernel]))
    return Found(index, asked, tuple(candidate for candidate in of_kernel if candidate.name != name))


def _resolve(artifact: Artifact, kernel: str | int) -> tuple[int, str | None]:
    """The index of a kernel, and the name of the call if it is one."""
    if isinstance(kernel, str):
        for call in artifact.calls:
            if call.name == kernel:
                return call.kernel, kernel
        for index, code in enumerate(artifact.kernels):
            if code.symbol == kernel:
                return index, None
        if not kernel.isdecimal():
            raise FrontendError(unknown("kernel", kernel, [call.name for call in artifact.calls]))
    index = int(kernel)
    if not 0 <= index < len(artifact.kernels):
        raise FrontendError(f"kernel {index}: expected an index from 0 to {len(artifact.kernels) - 1}")
    return index, None
