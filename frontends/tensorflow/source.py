"""Reads TensorFlow's files: frozen graphs, and folders of saved models with their variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from ...support.errors import FrontendError
from ..importing.files import read_model
from .checkpoint import Checkpoint
from .debug_info import DEBUG_INFO, DebugInfo
from .graphs import tensor_ref
from .in_memory import MEMORY, is_of_tensorflow, read_object
from .messages import parse
from .model_file import ModelFile, Signature, signature_named

SAVED_MODEL = "saved_model.pb"
_OTHER_FORMS = ("saved_model.pbtxt", "saved_model.cpb")
_SERVING = "serve"


def is_saved_model(path: Path) -> bool:
    """Return whether a path is the folder of a saved model."""
    return path.is_dir() and any((path / name).exists() for name in (SAVED_MODEL, *_OTHER_FORMS))


def read(model: Any, signature: str | None) -> ModelFile:
    """Read a model: a path of a file or folder, bytes, a GraphDef, or a function or loaded model of TensorFlow.

    Raises FrontendError for damaged files and for other objects.
    """
    if hasattr(model, "SerializeToString"):
        return _frozen(model.SerializeToString(), MEMORY, signature)
    if is_of_tensorflow(model):
        return read_object(model, signature)
    if isinstance(model, bytes):
        return _frozen(model, MEMORY, signature)
    if not isinstance(model, str | os.PathLike):
        expected = "a TensorFlow graph as a path, bytes or a GraphDef"
        raise FrontendError(f"expected {expected}, got {type(model).__name__}")
    path = Path(cast("str | os.PathLike[str]", model))
    if path.is_dir():
        return _saved(path, signature)
    path, data = read_model(path, "TensorFlow")
    if path.name == SAVED_MODEL:
        return _saved(path.parent, signature)
    return _frozen(data, path.name, signature)


def _frozen(data: bytes, file: str, signature: str | None) -> ModelFile:
    if signature is not None:
        raise FrontendError(f"{file}: expected a saved model, which has signatures, got a graph, for {signature!r}")
    graph = parse("GraphDef", data, file)
    if not graph.node:
        raise FrontendError(f"{file}: expected a GraphDef with nodes, got none")
    return ModelFile(file, graph)


def _saved(folder: Path, signature: str | None) -> ModelFile:
    """Read a saved model; without `signature`, its signature is the default or only one."""
    file = folder.resolve().name
    path = folder / SAVED_MODEL
    for other in _OTHER_FORMS:
        if not path.exists() and (folder / other).exists():
            raise FrontendError(f"{folder}: expected {SAVED_MODEL}, got {other}, a form that is not read")
    _, data = read_model(path, "TensorFlow")
    saved = parse("SavedModel", data, str(path))
    graphs = [graph for graph in saved.meta_graphs if _SERVING in graph.meta_info_def.tags]
    graphs = graphs or list(saved.meta_graphs)
    if len(graphs) != 1:
        raise FrontendError(f"{path}: expected one graph for serving, got {len(graphs)}")
    (meta,) = graphs
    model_signature = _signature(meta.signature_def, signature, str(path))
    variables = folder / "variables" / "variables"
    checkpoint = Checkpoint(variables) if variables.with_name("variables.index").exists() else None
    debug_info = DebugInfo(folder / DEBUG_INFO) if (folder / DEBUG_INFO).exists() else None
    return ModelFile(file, meta.graph_def, model_signature, checkpoint, meta.saver_def.restore_op_name, debug_info)


def _signature(definitions: Mapping[str, Any], wanted: str | None, what: str) -> Signature:
    wanted = signature_named(definitions, wanted, what)
    definition = definitions[wanted]
    inputs, outputs = (
        {name: tensor_ref(infos[name].name, f"{what}: '{name}' of signature '{wanted}'") for name in _ordered(infos)}
        for infos in (definition.inputs, definition.outputs)
    )
    return Signature(inputs, outputs, definition.inputs, definition.outputs)


def _ordered(infos: Mapping[str, Any]) -> list[str]:
    """Return the names in an unordered map of inputs or outputs, sorted, with numbers at their ends by value."""
    return sorted(infos, key=_key)


def _key(name: str) -> tuple[str, int]:
    head = name.rstrip("0123456789")
    return head, int(name[len(head) :] or 0)
