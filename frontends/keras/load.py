"""Reads a model and checks it, before anything is converted."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

from ...runtime.interpreting.flow import Region
from ...support.errors import FrontendError
from ..importing.custom import NO_CUSTOM_OPS, CustomOps
from ..importing.state import State
from ..importing.unsupported import Call, refuse
from .archive import Saved, open_saved
from .convert import row_of, supported
from .kept_states import InputInfo
from .layers import INPUT, MODELS, Layer, Reader
from .masks import UNMASKED, Masks
from .program import Builder
from .rows import Carried
from .weights import Variables

_CODE = ("Lambda", "__lambda__")
"""Classes whose configuration holds compiled code."""


@dataclass(frozen=True, eq=False)
class Source:
    """A loaded and checked model."""

    file: str
    name: str
    region: Region
    """Its steps."""
    inputs: Mapping[str, InputInfo]
    states: tuple[State, ...] = ()
    """The states that a call changes for the next one."""
    custom_ops: CustomOps = NO_CUSTOM_OPS
    """The layers that Python functions compute."""


def load(
    model: bytes | str | os.PathLike[str] | Any, keep: bool = False, custom_ops: CustomOps = NO_CUSTOM_OPS
) -> Source:
    """Read and check a model: a path, the bytes of a file, or a Keras model in memory.

    keep: whether states of layers are inputs and outputs, to be kept for the next call; else each call begins anew.
    custom_ops: the layers that Python functions compute.
    Raises FrontendError for a file that is no model, is damaged, holds code or uses unsupported layers.
    """
    if not isinstance(model, bytes | str | os.PathLike):
        model = _bytes(model)
    saved = open_saved(cast("bytes | str | os.PathLike[str]", model))
    reader = Reader(saved.file)
    main = reader.layer(saved.config, "the model")
    if not main.is_model:
        kind = f"{main.kind}, a class of the user's" if main.kind not in MODELS else "one without layers"
        raise FrontendError(f"{saved.file}: expected a Sequential or Functional model, got {kind}")
    _check_code(saved)
    _check_supported(saved, reader, main, custom_ops)
    builder = Builder(saved, partial(_variables, custom_ops), _masks, _carried, keep)
    region = builder.main(main)
    states = builder.kept.states if keep else ()
    return Source(saved.file, main.name, region, builder.inputs, states, custom_ops)


def _bytes(model: Any) -> bytes:
    """Return the bytes of the file that Keras saves a model to."""
    save = getattr(model, "save", None)
    if not callable(save) or not hasattr(model, "get_config"):
        raise FrontendError(f"expected a Keras model as a path, bytes or keras.Model, got {type(model).__name__}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.keras"
        save(path)
        return path.read_bytes()


def _variables(custom_ops: CustomOps, layer: Layer) -> Sequence[Variables]:
    custom = custom_ops.find(layer.names)
    if custom is not None and custom.variables:
        return (Variables(tuple(custom.variables)),)
    row = row_of(layer.kind, not layer.is_operation)
    return () if row is None else row.variables(layer.config)


def _masks(layer: Layer) -> Masks:
    row = row_of(layer.kind, not layer.is_operation)
    return UNMASKED if row is None else row.masks


def _carried(layer: Layer) -> Carried | None:
    row = row_of(layer.kind, not layer.is_operation)
    return None if row is None else row.carried(layer.config)


def _check_code(saved: Saved) -> None:
    """Raise FrontendError for compiled code anywhere in the layers."""
    stack: list[tuple[str, Any]] = [("", saved.config.get("config"))]
    while stack:
        name, nest = stack.pop()
        if isinstance(nest, dict):
            entries = cast("dict[str, Any]", nest)
            config = entries.get("config")
            own_name = entries.get("name") or (
                cast("dict[str, Any]", config).get("name") if isinstance(config, dict) else ""
            )
            if isinstance(own_name, str) and own_name and "class_name" in entries:
                name = own_name
            if entries.get("class_name") in _CODE:
                expected = "layers that are no code (write it with keras.ops, or export the model without it)"
                raise FrontendError(f"{saved.file}: layer '{name}': expected {expected}, got a {entries['class_name']}")
            stack.extend((name, item) for item in reversed(list(entries.values())))
        elif isinstance(nest, list):
            stack.extend((name, item) for item in reversed(cast("list[Any]", nest)))


def _check_supported(saved: Saved, reader: Reader, main: Layer, custom_ops: CustomOps) -> None:
    """Complain about all unsupported layers at once, those of inner models included."""
    calls: list[Call] = []
    for name, layer in _all(reader, main):
        if layer.kind == INPUT or layer.is_model or custom_ops.has(*layer.names):
            continue
        strange = layer.package and layer.module and not layer.module.startswith("keras")
        if strange or row_of(layer.kind, not layer.is_operation) is None:
            kind = layer.names[0] if layer.is_operation or strange else layer.kind
            calls.append(Call(kind, name))
    refuse(saved.file, "Keras", calls, supported())


def _all(reader: Reader, main: Layer) -> Iterator[tuple[str, Layer]]:
    """Yield every layer of a model and of the models in it, with its whole name."""
    stack = [("", main)]
    while stack:
        scope, model = stack.pop()
        entries = cast("list[Any]", model.config["layers"])
        for at, entry in enumerate(entries):
            layer = reader.layer(entry, f"layer {at} of '{model.name}'")
            yield scope + layer.name, layer
            if layer.is_model:
                stack.append((f"{scope}{layer.name}/", layer))
