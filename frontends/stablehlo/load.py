"""Reads a program and checks it, before anything is converted."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from ...runtime.interpreting.flow import Region
from ...support.dtypes import Array
from ...support.errors import FrontendError
from ..importing.custom import NO_CUSTOM_OPS, CustomOps
from ..importing.files import read_model
from ..importing.unsupported import refuse, unsupported_calls
from .convert import CONVERTERS, REFUSED
from .jax_objects import text_of
from .nodes import CUSTOM_CALL
from .program import Builder
from .text import READABLE, parse

_BYTECODE = b"ML\xefR"


@dataclass(frozen=True, eq=False)
class Source:
    """A loaded and checked program."""

    file: str
    name: str
    region: Region
    builder: Builder


def load(
    model: bytes | str | os.PathLike[str] | Any,
    params: Mapping[str, Any] | None = None,
    custom_ops: CustomOps = NO_CUSTOM_OPS,
) -> Source:
    """Read and check a program: a path, the bytes of a file, or an object of JAX.

    params: the values of inputs by their names, nested as in JAX; those in `net.npz` beside `net.mlir` are added.
    Raises FrontendError for damaged and other files, and for unsupported operators.
    """
    values = flat(params or {})
    if isinstance(model, bytes):
        return _checked(_decoded(model, "<memory>"), "<memory>", values, custom_ops)
    if isinstance(model, str | os.PathLike):
        path, data = read_model(cast("str | os.PathLike[str]", model), "StableHLO (.mlir)")
        return _checked(_decoded(data, path.name), path.name, {**_beside(path), **values}, custom_ops)
    return _checked(text_of(model), "<memory>", values, custom_ops)


def _decoded(data: bytes, file: str) -> str:
    if data.startswith(_BYTECODE):
        raise FrontendError(f"{file}: expected {READABLE}, got bytecode")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise FrontendError(f"{file}: expected a text in UTF-8, got other bytes at {error.start}") from error


def _beside(path: Path) -> dict[str, Array]:
    """Return the arrays of the .npz file beside a program, if there is one."""
    weights = path.with_suffix(".npz")
    if not weights.is_file():
        return {}
    try:
        with weights.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except Exception as error:  # zipfile, numpy and zlib raise various errors.
        raise FrontendError(f"{weights}: expected arrays as numpy.savez writes them, got: {error}") from error


def flat(params: Mapping[str, Any], prefix: str = "") -> dict[str, Array]:
    """Return arrays by the names of inputs: `{"p": {"w": x}}` becomes `{"p.w": x}`, and items of lists have numbers."""
    arrays: dict[str, Array] = {}
    for key, value in params.items():
        name = f"{prefix}{key}"
        if isinstance(value, list | tuple):
            value = {str(at): item for at, item in enumerate(cast("list[Any]", value))}
        if isinstance(value, Mapping):
            arrays |= flat(cast("Mapping[str, Any]", value), f"{name}.")
        else:
            arrays[name] = np.asarray(value)
    return arrays


def _checked(text: str, file: str, params: Mapping[str, Array], custom_ops: CustomOps) -> Source:
    program = parse(text, file)
    builder = Builder(program, params, CONVERTERS)
    region = builder.main()
    if not region.outputs:
        raise FrontendError(f"{file}: expected a program with at least one output, got none")
    _check_supported(region, file, custom_ops)
    name = program.module.sym_name
    return Source(file, name.data if name is not None else "main", region, builder)


def operator_names(name: str) -> tuple[str, str]:
    """Return the names that you may call an op by: `stablehlo.rng` or `rng`, or the target of a custom call."""
    target = name.removeprefix(CUSTOM_CALL)
    return (name, target) if target != name else (f"stablehlo.{name}", name)


def _check_supported(region: Region, file: str, custom_ops: CustomOps) -> None:
    """Raise FrontendError about all unsupported operators at once."""

    def supports(name: str) -> bool:
        return custom_ops.has(*operator_names(name)) or name in CONVERTERS

    calls = list(dict.fromkeys(unsupported_calls(region, supports)))
    reasons = dict.fromkeys(REFUSED[call.operator] for call in calls if call.operator in REFUSED)
    refuse(file, "StableHLO", calls, CONVERTERS, instead="; ".join(reasons))
