"""Reads a program and checks it, before anything is converted."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from io import BytesIO
from typing import Any, cast

from ...runtime.interpreting.flow import Region
from ...support.dtypes import Array
from ...support.errors import FrontendError, FrontendWarning
from ..importing.custom import NO_CUSTOM_OPS, CustomOps
from ..importing.files import read_model
from ..importing.unsupported import refuse, unsupported_calls
from .archive import Archive
from .captured import Captured
from .control import CONTROL
from .convert import CONVERTERS
from .guards import Extent, UnknownGuard, parse_guard
from .program import IGNORED, INLINED, Builder
from .schema import Program, Reader
from .tensors import tensors_of
from .unsupported import reason_of


@dataclass(frozen=True, eq=False)
class Source:
    """A loaded and checked program."""

    file: str
    program: Program
    region: Region
    builder: Builder
    custom_ops: CustomOps = NO_CUSTOM_OPS
    """The operators that Python functions compute."""


def load(
    model: bytes | str | os.PathLike[str] | Any, keep: bool = False, custom_ops: CustomOps = NO_CUSTOM_OPS
) -> Source:
    """Read and check a program: a path, the bytes of a .pt2 file, an ExportedProgram, or a captured graph.

    keep: whether buffers that a call changes are kept for the next call (`program.Builder`).
    custom_ops: the operators that Python functions compute.
    Raises FrontendError for damaged and other files, and for unsupported operators.
    """
    if isinstance(model, bytes):
        return _unpacked(model, "<memory>", keep, custom_ops)
    if isinstance(model, str | os.PathLike):
        path, data = read_model(cast("str | os.PathLike[str]", model), "PyTorch (.pt2)")
        return _unpacked(data, path.name, keep, custom_ops)
    if isinstance(model, Captured):
        program = Reader(model.file).program(model.document())
        return _supported(program, model.weights, model.file, keep, custom_ops)
    return _unpacked(serialised(model), "<memory>", keep, custom_ops, dims_of(model))


def serialised(program: Any) -> bytes:
    """Return the .pt2 file of a program in memory, so that all programs are read alike."""
    torch: Any = import_module("torch")
    if not isinstance(program, torch.export.ExportedProgram):
        actual = type(program).__name__
        module = isinstance(program, torch.nn.Module)
        hint = "; torch.export.export(model.eval(), inputs) makes a program of it" if module else ""
        raise FrontendError(f"expected a program of torch.export.export, or a .pt2 file, got {actual}{hint}")
    buffer = BytesIO()
    try:
        torch.export.save(program, buffer)
    except Exception as error:
        # torch cannot write some programs, such as loops that carry Python's numbers.
        actual = f"one that torch cannot: {' '.join(str(error).split())[:300]}"
        raise FrontendError(f"<memory>: expected a program that torch.export.save writes, got {actual}") from error
    return buffer.getvalue()


def dims_of(program: Any) -> dict[Extent, str]:
    """Return extent of an argument of a program in memory -> the name of its `Dim`."""
    values = [node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"]
    mode = next((value.fake_mode for value in values if hasattr(value, "fake_mode")), None)
    named: Mapping[str, str] = getattr(getattr(mode, "shape_env", None), "source_name_to_debug_name", {})
    names: dict[Extent, str] = {}
    for source, name in named.items():
        try:
            tree = parse_guard(source)
        except UnknownGuard:
            continue
        if isinstance(tree, Extent):
            names[tree] = name
    return names


def _unpacked(
    data: bytes, file: str, keep: bool, custom_ops: CustomOps, dims: Mapping[Extent, str] | None = None
) -> Source:
    archive, reader = Archive(data, file), Reader(file)
    program = reader.program(archive.document(archive.model()))
    return _supported(program, tensors_of(archive, reader), file, keep, custom_ops, dims)


def _supported(
    program: Program,
    tensors: Mapping[str, Array],
    file: str,
    keep: bool,
    custom_ops: CustomOps,
    dims: Mapping[Extent, str] | None = None,
) -> Source:
    source = replace(made(program, tensors, file, keep, dims), custom_ops=custom_ops)
    _check_supported(source.region, file, custom_ops)
    return source


def made(
    program: Program, tensors: Mapping[str, Array], file: str, keep: bool, dims: Mapping[Extent, str] | None = None
) -> Source:
    """Return a program as steps; `tensors` has the module's names."""
    builder = Builder(program, tensors, file, keep, dims)
    region = builder.main()
    if not region.outputs:
        raise FrontendError(f"{file}: expected a program with at least one output, got none")
    if builder.changed:
        listed = ", ".join(f"'{name}'" for name in builder.changed)
        text = f"{file}: expected inputs that stay as they are, got writes to {listed}: callers' arrays are not changed"
        warnings.warn(FrontendWarning(text), stacklevel=2)
    return Source(file, program, region, builder)


def supported(name: str) -> bool:
    """Return whether an operator is supported, by its name in the tables: `aten.conv2d.default`."""
    target = f"torch.ops.{name}"
    return name in CONVERTERS or name.rpartition(".")[0] in IGNORED or target in INLINED or target in CONTROL


def _check_supported(region: Region, file: str, custom_ops: CustomOps) -> None:
    """Raise FrontendError about all unsupported operators at once."""

    def supports(name: str) -> bool:
        return custom_ops.covers(*operator_names(name)) or name in CONVERTERS

    calls = unsupported_calls(region, supports)
    shipped = all(call.operator.startswith("aten.") for call in calls)
    refuse(file, "PyTorch", calls, overloads(), without_overload, reason=reason_of, library="torch" if shipped else "")


def overloads() -> list[str]:
    """Return the operators with rows."""
    return [name for name in CONVERTERS if name.count(".") == 2]


def operator_names(name: str) -> tuple[str, str]:
    """Return the names that you may call an operator by: with its overload, and for all overloads."""
    return name, name.rpartition(".")[0]


def without_overload(name: str) -> str:
    """Return the common name of all overloads of an operator, in place or not: `aten.add`."""
    return ".".join(name.split(".")[:2]).rstrip("_")
