"""A machine like this one with registers for tiles, whose products are vectors: what runs is the order of tiles."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace

from whence.lowering.llvm_to_native.target import Target
from whence.support.context import PassContext
from whence.support.machine import register_machine

TARGET = "llvm -mcpu=tiled"


@contextmanager
def tiled(lower: str = "always") -> Generator[str]:
    """Inside, the target runs here, as this process is not allowed to use tiles or no kernel does; gives its name."""
    host = Target.parse("native")
    register_machine(replace(host.hardware, name="tiled", cpu=host.cpu, amx_bf16=True, amx_int8=True))
    with PassContext(config={"tir.lower_tiles": lower}):
        yield TARGET
