"""The runnable result of a build: a graph, its library and its params, under the names of TVM's modules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ...support.dtypes import Array
from ...support.errors import PipelineError, expectation
from ..values.device import check_cpu
from ..values.moves import Move
from ..values.ndarray import NDArray
from ..values.params import named
from .entries import NamedFunctions
from .graph_executor import GraphExecutor
from .graph_module import GraphModule
from .graph_reader import read_graph
from .library import Library

if TYPE_CHECKING:
    from .graph import Graph


class Origin(NamedTuple):
    """The layers behind a node of a graph, and the share of its work that each has; the shares add up to 1."""

    layers: tuple[str, ...] = ()
    shares: tuple[float, ...] = ()
    results: tuple[str, ...] = ()
    """The layers whose value the node computes: several if they have the same value, none for an intermediate step."""
    sampled: bool = False
    """True if the shares are from samples; else they are estimates, unless there is one layer."""
    moves: tuple[Move, ...] = ()
    """For each of `results`, the move of the node's tensor to the layout and shape that it has in the model."""

    @property
    def estimated(self) -> bool:
        return len(self.layers) > 1 and not self.sampled


class GraphExecutorFactory(NamedFunctions):
    """A model ready to be run by a graph executor.

    library: links the functions; called when they are first needed.
    origins: returns the layers behind the nodes by name; called when somebody asks.
    """

    def __init__(
        self,
        graph_json: str,
        library: Callable[[], Library],
        params: Mapping[str, Array],
        libmod_name: str = "default",
        origins: Callable[[], Mapping[str, Origin]] | None = None,
    ):
        self.graph_json = graph_json
        self.params = dict(params)
        self.libmod_name = libmod_name
        self._link = library
        self._library: Library | None = None
        self._origins = origins
        self._graph: Graph | None = None

    @property
    def library(self) -> Library:
        """The linked functions."""
        if self._library is None:
            self._library = self._link()
        return self._library

    # TVM's names.
    lib = library

    @property
    def module(self) -> GraphExecutorFactory:
        return self

    @property
    def graph(self) -> Graph:
        """The graph as data."""
        if self._graph is None:
            self._graph = read_graph(self.graph_json)
        return self._graph

    @property
    def origins(self) -> Mapping[str, Origin]:
        """Node -> the layers behind it; empty if they are not known."""
        return self._origins() if self._origins is not None else {}

    def get_graph_json(self) -> str:
        return self.graph_json

    def get_lib(self) -> Library:
        return self.library

    def get_params(self) -> dict[str, NDArray]:
        return named(self.params)

    def __iter__(self) -> Iterator[Any]:
        """Allow `graph_json, lib, params = ..`, as TVM does."""
        return iter((self.graph_json, self.library, self.get_params()))

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """A function of TVM's module by name; raises PipelineError for an unknown one."""
        functions: dict[str, Callable[..., Any]] = {
            self.libmod_name: self.create,
            "debug_create": self.debug_create,
            "get_graph_json": self.get_graph_json,
            "get_graph_params": self.get_params,
            "remove_params": self.remove_params,
        }
        if name not in functions:
            raise PipelineError(expectation("module", f"a function among {', '.join(functions)}", repr(name)))
        return functions[name]

    def executor(self) -> GraphExecutor:
        """Return an executor of the graph with memory of its own and this module's params."""
        return GraphExecutor(self.graph, self.library, self.params)

    def create(self, device: object = None) -> GraphModule:
        """Return a module that runs the graph; raises PipelineError for any device but the CPU."""
        check_cpu(device, "graph executor")
        return GraphModule(self.executor())

    def debug_create(self, name: str, device: object = None) -> GraphModule:
        """Return the module that `GraphModuleDebug` takes; raises PipelineError for any name but the module's."""
        if name != self.libmod_name:
            raise PipelineError(expectation("debug_create", f"the name {self.libmod_name!r}", repr(name)))
        check_cpu(device, "debug_create")
        module = DebugModule(self.executor())
        module.origins = self._origins
        return module

    def remove_params(self) -> GraphExecutorFactory:
        """Return the same factory without params, which are then loaded from elsewhere."""
        return GraphExecutorFactory(self.graph_json, lambda: self.library, {}, self.libmod_name, self._origins)


class DebugModule(GraphModule):
    """A graph module that knows the layers behind its nodes."""

    origins: Callable[[], Mapping[str, Origin]] | None = None
