"""Opens model files: `.keras` archives and the older `.h5` files. Nothing in them is executed or unpickled."""

from __future__ import annotations

import io
import json
import os
import re
import zipfile
import zlib
from dataclasses import dataclass
from typing import Any

from ...support.errors import FrontendError
from ..importing.files import read_model
from ..importing.limits import memory_limit
from .hdf5 import SIGNATURE, Hdf5
from .nests import entries_of, items_of

ARCHIVE = b"PK\x03\x04"
_DEEPEST = 200
"""The greatest number of levels of a configuration."""
_MOST_TEXT = 1 << 28
"""The greatest number of bytes of a configuration; no model has a longer one."""

Config = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Saved:
    """A saved model: the configuration of its layers, and the file with their weights."""

    file: str
    """The name of the file, without folders."""
    config: Config
    """The configuration of the model: `class_name`, `config`, ..."""
    weights: Hdf5
    legacy: bool
    """True for an `.h5` file, which stores weights by layer and name."""
    major: int
    """The version of Keras that wrote it: 2 or 3."""


def open_saved(source: bytes | str | os.PathLike[str]) -> Saved:
    """Read a model from a path or the bytes of a file. Raises FrontendError for damaged and other files."""
    if isinstance(source, bytes):
        name, data = "<memory>", source
    else:
        path, data = read_model(source, "Keras")
        name = path.name
    if data.startswith(ARCHIVE):
        return _archive(name, data)
    if data.startswith(SIGNATURE):
        return _legacy(name, data)
    raise FrontendError(f"{name}: expected a Keras model (a .keras archive or an HDF5 file), got neither")


def _archive(name: str, data: bytes) -> Saved:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = set(archive.namelist())
            if "config.json" not in names:
                raise FrontendError(f"{name}: expected a Keras model with config.json, got {sorted(names)[:5]}")
            config = _json(name, "config.json", _member(name, archive, "config.json", _MOST_TEXT))
            metadata: Config = {}
            if "metadata.json" in names:
                metadata = _json(name, "metadata.json", _member(name, archive, "metadata.json", _MOST_TEXT))
            if "model.weights.h5" not in names:
                expected = "weights in one file, model.weights.h5"
                raise FrontendError(f"{name}: expected {expected}, got {', '.join(sorted(names)[:5])}")
            weights = _member(name, archive, "model.weights.h5", memory_limit())
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise FrontendError(f"{name}: expected a readable archive, got: {error}") from error
    version = metadata.get("keras_version")
    return Saved(name, config, Hdf5(name, weights), False, _major(version if isinstance(version, str) else "3"))


def _member(name: str, archive: zipfile.ZipFile, member: str, most: int) -> bytes:
    """Return the bytes of a member of an archive, unless it states or has more than `most` bytes."""
    size = archive.getinfo(member).file_size
    if size > most:
        raise FrontendError(f"{name}: expected {member} of at most {most} bytes, got {size}")
    with archive.open(member) as stream:
        data = stream.read(size + 1)
    if len(data) != size:
        raise FrontendError(f"{name}: expected {member} of {size} bytes, got others")
    return data


def _json(name: str, member: str, data: bytes | str) -> Config:
    try:
        parsed = json.loads(data)
    except (ValueError, RecursionError) as error:
        reason = "nesting too deep" if isinstance(error, RecursionError) else str(error)
        raise FrontendError(f"{name}: expected {member} as JSON, got: {reason}") from error
    if (entries := entries_of(parsed)) is None:
        raise FrontendError(f"{name}: expected {member} to be an object, got {type(parsed).__name__}")
    if _is_deep(entries):
        raise FrontendError(f"{name}: expected {member} nested at most {_DEEPEST} deep, got more")
    return entries


def _is_deep(nest: Any) -> bool:
    """Return whether a nest is deeper than those of models, so deep that recursion could fail."""
    layer: list[Any] = [nest]
    depth = 0
    while layer and depth <= _DEEPEST:
        inner = [items_of(item) or list((entries_of(item) or {}).values()) for item in layer]
        layer = [item for items in inner for item in items if isinstance(item, list | dict)]
        depth += 1
    return bool(layer)


def _legacy(name: str, data: bytes) -> Saved:
    weights = Hdf5(name, data)
    text = weights.text(weights.root, "model_config")
    if text is None:
        contents = "weights alone" if _is_weights(weights) else "an HDF5 file of another kind"
        raise FrontendError(f"{name}: expected a Keras model with its configuration (model_config), got {contents}")
    version = weights.text(weights.root, "keras_version") or "2"
    return Saved(name, _json(name, "model_config", text), weights, True, _major(version))


def _is_weights(weights: Hdf5) -> bool:
    return weights.texts(weights.root, "layer_names") is not None or "layers" in weights.members(weights.root)


def _major(version: str) -> int:
    """Return the first number of a version; 3 where there is none."""
    return int(first[0]) if (first := re.match(r"\d{1,4}", version)) else 3
