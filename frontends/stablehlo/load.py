"""Reads a program and checks it, before anything is converted."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import FileLineColLoc, NameLoc

from ...runtime.flow import Region, Step
from ...support.dtypes import Array
from ...support.errors import FrontendError
from ..importing.files import read_model
from ..importing.node import node_of
from .convert import CONVERTERS, REFUSED
from .jax_objects import text_of
from .program import Builder
from .text import GENERIC, parse

_SHOWN = 3
"""The largest number of layers of an operator that an error names."""
_BYTECODE = b"ML\xefR"


@dataclass(frozen=True, eq=False)
class Source:
    """A loaded and checked program."""

    file: str
    name: str
    region: Region
    builder: Builder


def load(model: bytes | str | os.PathLike[str] | Any, params: Mapping[str, Any] | None = None) -> Source:
    """Read and check a program: a path, the bytes of a file, or an object of JAX.

    params: the values of inputs, by their names, nested as they are in JAX; beside a file `net.mlir` those in `net.npz`.
    Raises FrontendError when it is none, damaged, or uses unsupported operators.
    """
    values = flat(params or {})
    if isinstance(model, bytes):
        return _checked(_decoded(model, "<memory>"), "<memory>", values)
    if isinstance(model, str | os.PathLike):
        path, data = read_model(cast("str | os.PathLike[str]", model), "StableHLO (.mlir)")
        return _checked(_decoded(data, path.name), path.name, {**_beside(path), **values})
    return _checked(text_of(model), "<memory>", values)


def _decoded(data: bytes, file: str) -> str:
    if data.startswith(_BYTECODE):
        raise FrontendError(f"{file}: expected {GENERIC}, got bytecode")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise FrontendError(f"{file}: expected a text in UTF-8, got other bytes at {error.start}") from error


def _beside(path: Path) -> dict[str, Array]:
    """The arrays of the .npz file beside a program, if there is one."""
    weights = path.with_suffix(".npz")
    if not weights.is_file():
        return {}
    try:
        with np.load(weights, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except Exception as error:  # zipfile, numpy and zlib have errors of their own
        raise FrontendError(f"{weights}: expected arrays as numpy.savez writes them, got: {error}") from error


def flat(params: Mapping[str, Any], prefix: str = "") -> dict[str, Array]:
    """Arrays by the names that inputs have: `{"p": {"w": x}}` is `{"p.w": x}`; so are lists, by number."""
    result: dict[str, Array] = {}
    for key, value in params.items():
        name = f"{prefix}{key}"
        if isinstance(value, list | tuple):
            value = {str(at): item for at, item in enumerate(cast("list[Any]", value))}
        if isinstance(value, Mapping):
            result |= flat(cast("Mapping[str, Any]", value), f"{name}.")
        else:
            result[name] = np.asarray(value)
    return result


def _checked(text: str, file: str, params: Mapping[str, Array]) -> Source:
    program = parse(text, file)
    builder = Builder(program, params)
    region = builder.main()
    if not region.outputs:
        raise FrontendError(f"{file}: expected a program with at least one output, got none")
    _check_supported(region)
    name = program.module.sym_name
    return Source(file, name.data if name is not None else "main", region, builder)


def _check_supported(region: Region) -> None:
    """Complain about all unsupported operators at once, each with layers, their lines, and how many."""
    found: dict[str, list[str]] = {}
    waiting = [region]
    while waiting:
        for step in waiting.pop().steps:
            waiting += step.bodies.values()
            if not step.kind and node_of(step).op_type not in CONVERTERS:
                found.setdefault(node_of(step).op_type, []).append(_place(step))
    if found:
        parts = ", ".join(_listed(name, list(dict.fromkeys(places))) for name, places in sorted(found.items()))
        raise FrontendError(f"The following operators are not supported for frontend StableHLO: {parts}")


def _listed(name: str, places: list[str]) -> str:
    more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
    reason = f": {REFUSED[name]}" if name in REFUSED else ""
    return f"{name} ({'layer' if len(places) == 1 else 'layers'} {', '.join(places[:_SHOWN])}{more}{reason})"


def _place(step: Step) -> str:
    leaf = node_of(step).leaf
    at = leaf.location if isinstance(leaf, NameLoc) else None
    return f"{step.layer} at {at.filename.data}:{at.line.data}" if isinstance(at, FileLineColLoc) else step.layer
