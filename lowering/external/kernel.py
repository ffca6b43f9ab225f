"""Functions that external compilers run, as kernels of a program."""

from __future__ import annotations

from dataclasses import dataclass

from ...runtime.program.external import External
from ..kernel.record import Kernel


@dataclass(frozen=True)
class ExternalKernel(Kernel):
    """A function that an external compiler runs; nothing is known of its code."""

    compiler: str
    external: External
