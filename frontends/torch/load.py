"""Reads a program and checks it, before anything is converted."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from typing import Any, cast

from ...runtime.flow import Region
from ...support.errors import FrontendError, FrontendWarning
from ..importing.files import read_model
from ..importing.node import node_of
from ..importing.unsupported import Call as UnsupportedCall
from ..importing.unsupported import refuse, source_line
from .archive import Archive
from .convert import CONVERTERS
from .program import Builder
from .schema import Program, Reader
from .tensors import Tensors


@dataclass(frozen=True, eq=False)
class Source:
    """A loaded and checked program."""

    file: str
    program: Program
    region: Region
    builder: Builder


def load(model: bytes | str | os.PathLike[str] | Any, keep: bool = False) -> Source:
    """Read and check a program: a path, the bytes of a .pt2 file, or an ExportedProgram.

    keep: whether what a call changes is kept for the next one (`program.Builder`).
    Raises FrontendError when it is none, damaged, or uses unsupported operators.
    """
    if isinstance(model, bytes):
        return _checked(model, "<memory>", keep)
    if isinstance(model, str | os.PathLike):
        path, data = read_model(cast("str | os.PathLike[str]", model), "PyTorch (.pt2)")
        return _checked(data, path.name, keep)
    return _checked(serialised(model), "<memory>", keep)


def serialised(program: Any) -> bytes:
    """The .pt2 file of a program in memory, so that there is one way to read them."""
    torch: Any = import_module("torch")
    if not isinstance(program, torch.export.ExportedProgram):
        result = type(program).__name__
        raise FrontendError(f"expected a program of torch.export.export, or a .pt2 file, got {result}")
    buffer = BytesIO()
    torch.export.save(program, buffer)
    return buffer.getvalue()


def _checked(data: bytes, file: str, keep: bool) -> Source:
    archive, reader = Archive(data, file), Reader(file)
    program = reader.program(archive.document(archive.model()))
    builder = Builder(program, Tensors(archive, reader), file, keep)
    region = builder.main()
    if not region.outputs:
        raise FrontendError(f"{file}: expected a program with at least one output, got none")
    _check_supported(region, file)
    if builder.changed:
        listed = ", ".join(f"'{name}'" for name in builder.changed)
        text = f"{file}: expected inputs that stay as they are, got writes to {listed}: callers' arrays are not changed"
        warnings.warn(FrontendWarning(text), stacklevel=2)
    return Source(file, program, region, builder)


def _check_supported(region: Region, file: str) -> None:
    """Complain about all unsupported operators at once."""
    calls: list[UnsupportedCall] = []
    waiting = [region]
    while waiting:
        for step in waiting.pop().steps:
            waiting += step.bodies.values()
            if not step.kind and (node := node_of(step)).op_type not in CONVERTERS:
                calls.append(UnsupportedCall(node.op_type, step.layer, source_line(node.leaf)))
    refuse(file, "PyTorch", calls, (name for name in CONVERTERS if name.count(".") == 2), without_overload)


def without_overload(name: str) -> str:
    """Return what an operator is called in all of its overloads, in place or not: `aten.add`."""
    return ".".join(name.split(".")[:2]).rstrip("_")
