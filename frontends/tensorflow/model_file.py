"""The contents of a model's file: the graph, its functions, the names of a signature, and the values of variables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ...support.dtypes import Array
from ...support.errors import FrontendError
from ...support.names import did_you_mean
from .conditionals import without_merges
from .debug_info import DebugInfo
from .frames import without_frames
from .graphs import Frames, Graph, Ref, function_graph, main_graph
from .restored import restored_keys

SERVING_DEFAULT = "serving_default"
"""The default name of a model's signature."""


@dataclass(frozen=True, eq=False)
class Signature:
    """The names of inputs and outputs of a saved model."""

    inputs: Mapping[str, Ref]
    outputs: Mapping[str, Ref]
    input_infos: Mapping[str, Any]
    """Input -> TensorInfo."""
    output_infos: Mapping[str, Any]
    """Output -> TensorInfo; an output may have the name of an input."""


@dataclass(frozen=True, eq=False)
class ModelFile:
    """A GraphDef, its functions, and for a saved model a signature and the variables."""

    file: str
    """Its name, without folders."""
    proto: Any
    """The GraphDef."""
    signature: Signature | None = None
    checkpoint: Mapping[str, Array] | None = None
    """The values of variables."""
    restore: str = ""
    """The node of a saved model that restores variables."""
    debug_info: DebugInfo | None = None
    """The calls that made nodes."""
    _graphs: dict[str, Graph] = field(default_factory=lambda: dict[str, Graph]())

    @cached_property
    def main(self) -> Graph:
        """Return the main graph, unchanged."""
        return main_graph(self.proto, self.file, self._frames(""))

    @cached_property
    def structured(self) -> Graph:
        """Return the main graph, with loops and branches in the place of frames and Merge nodes."""
        return without_merges(without_frames(self.main, self.file))

    @cached_property
    def _functions(self) -> dict[str, tuple[Any, int]]:
        """Return function -> its definition, and the number of its first node."""
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
            graph = function_graph(*self._functions[name], self.file, self._frames(name))
            self._graphs[name] = without_merges(without_frames(graph, self.file))
        return self._graphs[name]

    @property
    def count(self) -> int:
        """Return the number of nodes of the graph and its functions."""
        return len(self.proto.node) + sum(len(function.node_def) for function in self.proto.library.function)

    def _frames(self, function: str) -> Frames:
        return {} if self.debug_info is None else self.debug_info.frames(function)

    @cached_property
    def keys(self) -> Mapping[tuple[str, str], str]:
        """Return variable -> its key in the checkpoint, according to the node that restores variables."""
        if self.checkpoint is None:
            return {}
        return restored_keys(self.main, lambda name: self.function(name, "the node that restores"), self.restore)


def signature_named(names: Iterable[str], wanted: str | None, what: str) -> str:
    """Return the signature `wanted`, or for None the default or only one.

    Raises FrontendError, which begins with `what`, for an unknown signature.
    """
    # Signatures without outputs, such as the one that initialises tables, are not programs.
    programs = [name for name in sorted(names) if not name.startswith("__")]
    if wanted is None:
        wanted = SERVING_DEFAULT if SERVING_DEFAULT in programs or len(programs) != 1 else programs[0]
    if wanted not in programs:
        listed, hint = ", ".join(programs) or "none", did_you_mean(wanted, programs)
        raise FrontendError(f"{what}: expected a signature among {listed}, got {wanted!r}{hint}")
    return wanted
