"""The kernels of a compiled model, whose code tests look at."""

from __future__ import annotations

import whence
from whence.lowering.kernel.record import Kernel


def kernels_of(compiled: whence.Executable) -> list[Kernel]:
    """The model's own kernels, those of external compilers left out."""
    return [kernel for kernel in compiled.artifact.kernels if isinstance(kernel, Kernel)]
