"""TensorFlow's files: frozen graphs, and folders of saved models with their variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from ...support.errors import FrontendError
from ...support.names import did_you_mean
from ..importing.files import read_model
from .checkpoint import Checkpoint
from .conditionals import without_merges
from .debug_info import DEBUG_INFO, DebugInfo, Line
from .frames import without_frames
from .graphs import Graph, Ref, function_graph, main_graph, tensor_ref
from .messages import parse
from .restored import restored_keys

SAVED_MODEL = "saved_model.pb"
_OTHER_FORMS = ("saved_model.pbtxt", "saved_model.cpb")
_SERVING, _DEFAULT = "serve", "serving_default"


def is_saved_model(path: Path) -> bool:
    """Return whether a path is the folder of a saved model."""
    return path.is_dir() and any((path / name).exists() for name in (SAVED_MODEL, *_OTHER_FORMS))


@dataclass(frozen=True, eq=False)
class Signature:
    """The names of inputs and outputs of a saved model."""

    inputs: Mapping[str, Ref]
    outputs: Mapping[str, Ref]
    input_infos: Mapping[str, Any]
    """Input -> TensorInfo."""
    output_infos: Mapping[str, Any]
    """Output -> TensorInfo; an output may be called as an input is."""


@dataclass(frozen=True, eq=False)
class ModelFile:
    """A GraphDef, its functions, and for a saved model a signature and the variables."""

    file: str
    """Its name, without folders."""
    proto: Any
    """The GraphDef."""
    signature: Signature | None = None
    checkpoint: Checkpoint | None = None
    restore: str = ""
    """The node of a saved model that gives variables their values."""
    debug_info: DebugInfo | None = None
    """The lines that made nodes."""
    _graphs: dict[str, Graph] = field(default_factory=lambda: dict[str, Graph]())

    @cached_property
    def main(self) -> Graph:
        """The main graph, as the file has it."""
        return main_graph(self.proto, self.file, self._lines(""))

    @cached_property
    def structured(self) -> Graph:
        """The main graph with loops and branches in the place of frames and what Merge nodes choose between."""
        return without_merges(without_frames(self.main, self.file))

    @cached_property
    def _functions(self) -> dict[str, tuple[Any, int]]:
        """Function -> its definition, and the number of its first node."""
        first, definitions = len(self.proto.node), dict[str, "tuple[Any, int]"]()
        for function in self.proto.library.function:
            definitions[function.signature.name] = function, first
            first += len(function.node_def)
        return definitions

    def function(self, name: str, what: str) -> Graph:
        """Return the body of a function that `what` calls."""
        if name not in self._graphs:
            if name not in self._functions:
                raise FrontendError(f"{self.file}: {what}: expected a function of the model, got '{name}'")
            graph = function_graph(*self._functions[name], self.file, self._lines(name))
            self._graphs[name] = without_merges(without_frames(graph, self.file))
        return self._graphs[name]

    def _lines(self, function: str) -> Mapping[str, Line]:
        return {} if self.debug_info is None else self.debug_info.lines(function)

    @cached_property
    def keys(self) -> Mapping[tuple[str, str], str]:
        """Variable -> its key in the checkpoint, as the node says that restores them."""
        if self.checkpoint is None:
            return {}
        return restored_keys(self.main, lambda name: self.function(name, "the node that restores"), self.restore)


def read(model: Any, signature: str | None) -> ModelFile:
    """Read a model: a path of a file or folder, bytes, or an object with `SerializeToString`.

    Raises FrontendError when it is none, or damaged.
    """
    if hasattr(model, "SerializeToString"):
        return _frozen(model.SerializeToString(), "<memory>", signature)
    if isinstance(model, bytes):
        return _frozen(model, "<memory>", signature)
    if not isinstance(model, str | os.PathLike):
        wanted = "a TensorFlow graph as a path, bytes or a GraphDef"
        raise FrontendError(f"expected {wanted}, got {type(model).__name__}")
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
    """Read a saved model; its signature is the default one, or the only one."""
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
    wanted = _signature(meta.signature_def, signature, str(path))
    variables = folder / "variables" / "variables"
    checkpoint = Checkpoint(variables) if variables.with_name("variables.index").exists() else None
    debug_info = DebugInfo(folder / DEBUG_INFO) if (folder / DEBUG_INFO).exists() else None
    return ModelFile(file, meta.graph_def, wanted, checkpoint, meta.saver_def.restore_op_name, debug_info)


def _signature(definitions: Mapping[str, Any], wanted: str | None, what: str) -> Signature:
    # Those without outputs, such as the one that initialises tables, are no programs.
    names = [name for name in sorted(definitions) if not name.startswith("__")]
    if wanted is None:
        wanted = _DEFAULT if _DEFAULT in names or len(names) != 1 else names[0]
    if wanted not in names:
        listed = ", ".join(names) or "none"
        raise FrontendError(f"{what}: expected a signature among {listed}, got {wanted!r}{did_you_mean(wanted, names)}")
    definition = definitions[wanted]
    inputs, outputs = (
        {name: tensor_ref(infos[name].name, f"{what}: '{name}' of signature '{wanted}'") for name in _ordered(infos)}
        for infos in (definition.inputs, definition.outputs)
    )
    return Signature(inputs, outputs, definition.inputs, definition.outputs)


def _ordered(infos: Mapping[str, Any]) -> list[str]:
    """The names of inputs or outputs in an order that the file has: maps have none, so by name, numbers by value."""
    return sorted(infos, key=_key)


def _key(name: str) -> tuple[str, int]:
    head = name.rstrip("0123456789")
    return head, int(name[len(head) :] or 0)
