"""Execution of a graph: memory by storage ids, a native call per node."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from ...support.dtypes import Array
from ...support.errors import FrontendError, PipelineError, expectation
from ..values.ndarray import is_aligned, view
from ..values.tensors import Tensor, TensorSpec, address, aligned_empty, lasting_empty
from .entries import ENTRY_NAME, NamedFunctions
from .graph import NOP, Graph
from .inputs import accepted
from .library import GraphFunction, Library
from .random_state import STATE, WORDS, RandomState


class GraphExecutor(NamedFunctions):
    """A graph with its memory. Entries are views of that memory, or arrays that somebody has bound.

    params: values of arguments by name, used in place if kernels can read them there, and never written.
    Raises FrontendError when the library lacks a function of the graph.
    """

    def __init__(self, graph: Graph, library: Library, params: Mapping[str, Array] | None = None):
        self.graph = graph
        self.library = library
        self.specs = [TensorSpec("", entry.shape, entry.numpy) for entry in graph.entries]
        self.argument_of = {graph.nodes[node].name: node for node in graph.arguments}
        self.params: set[str] = set()
        arrays = {name: value for name, value in (params or {}).items() if name in self.argument_of}
        self.random = RandomState.of(arrays[STATE]) if STATE in arrays else None
        if self.random is not None:
            arrays[STATE] = aligned_empty((WORDS,), np.uint32)
        bound = {graph.rows[self.argument_of[name]] for name in arrays}
        used = {entry.storage for number, entry in enumerate(graph.entries) if number not in bound}
        self._storage = {
            storage: lasting_empty((max(size, 1),), np.uint8)
            for storage, size in graph.storage_sizes().items()
            if storage in used
        }
        for memory in self._storage.values():
            memory[...] = 0
        self.entries: list[Tensor] = [
            np.empty(spec.shape, spec.dtype) if number in bound else self._own(number)
            for number, spec in enumerate(self.specs)
        ]
        self._shared = {number: False for number in range(len(self.specs))}
        self._users: dict[int, list[tuple[int, int]]] = {}
        self._views: dict[int, list[int]] = {}
        scratch = 0
        self.calls: list[int] = []
        self._functions: list[Callable[..., None]] = []
        self._arguments: list[list[int | None]] = []
        for index in graph.calls:
            node = graph.nodes[index]
            if node.function == NOP:
                self._views.setdefault(graph.entry(node.inputs[0]), []).append(graph.rows[index])
                continue
            function = library.function(node.function, node.name)
            numbers = [*map(graph.entry, node.inputs), *graph.entries_of(index)]
            if not isinstance(function, GraphFunction):
                self.calls.append(index)
                self._functions.append(self._in_python(function, numbers))
                self._arguments.append([None, None])
                continue
            scratch = max(scratch, function.workspace)
            for position, number in enumerate(numbers):
                self._users.setdefault(number, []).append((len(self.calls), position))
            addresses = [address(self.entries[number]) for number in numbers]
            arguments: list[int | None] = [*addresses, *function.sizes, None, None]
            prototype: Any = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arguments))
            self.calls.append(index)
            self._functions.append(prototype(function.address))
            self._arguments.append(arguments)
        self._scratch = aligned_empty((scratch or 1,), np.uint8)
        for call in self._arguments:
            call[-2] = address(self._scratch)
        self._handle: int | None = None
        self._places = {node: position for position, node in enumerate(self.calls)}
        self._made_by = [node for node in range(len(graph.nodes)) for _ in graph.entries_of(node)]
        for name, value in arrays.items():
            self.share(name, value)
        for number in self._views:
            self._point(number)

    def _in_python(self, function: Callable[..., object], numbers: Sequence[int]) -> Callable[..., None]:
        """Return a call of a Python function with entries, looked up at each call because they may be bound anew."""

        def call(*_: object) -> None:
            function(*(view(self.entries[number]) for number in numbers))

        return call

    def _own(self, number: int) -> Tensor:
        """The graph's own memory of an entry."""
        spec = self.specs[number]
        memory = self._storage[self.graph.entries[number].storage]
        return memory[: spec.nbytes].view(spec.dtype).reshape(spec.shape)

    def __getitem__(self, name: str) -> Callable[..., None]:
        """Return the function that runs the graph, by TVM's name for it; raises PipelineError for another name."""
        if name not in ("run", ENTRY_NAME):
            raise PipelineError(expectation("graph executor", "the function 'run'", repr(name)))
        return self.run

    def run(self) -> None:
        """Run all nodes in order. Raises WhenceError when a kernel reports an error."""
        self.begin()
        if self.library.check is None:
            for function, arguments in zip(self._functions, self._arguments, strict=True):
                function(*arguments)
        else:
            for node in self.calls:
                self.run_node(node)
        self.end()

    def begin(self) -> None:
        """Prepare the threads and the run's random numbers, before nodes run one by one."""
        if self.random is not None:
            number = self.graph.rows[self.argument_of[STATE]]
            np.copyto(self.entries[number], self.random.current())
        if (handle := self.library.pool.handle or None) != self._handle:
            self._handle = handle
            for arguments in self._arguments:
                arguments[-1] = handle

    def end(self) -> None:
        """Let the next run draw other random numbers, after all nodes ran, each any number of times."""
        if self.random is not None:
            self.random.advance()

    def run_node(self, node: int) -> None:
        """Run one node; does nothing for an argument, or for a node that is only a view."""
        if (position := self._places.get(node)) is not None:
            self._functions[position](*self._arguments[position])
            if self.library.check is not None:
                self.library.check(self.graph.nodes[node].name)

    def is_view(self, number: int) -> bool:
        """Return whether an entry is an argument, or an output of another node seen with another shape."""
        return self._made_by[number] not in self._places

    def native(self, node: int) -> tuple[Callable[..., None], Sequence[int | None]] | None:
        """Return the function of a node and its arguments; None for a node that calls nothing."""
        position = self._places.get(node)
        return None if position is None else (self._functions[position], self._arguments[position])

    def bind(self, number: int, array: Tensor) -> None:
        """Place an entry in `array`, where nodes then read or write it; the array must fit, and kernels can access it.

        The output of a node that is only a view stays where its input is: ask `is_view` first.
        """
        self.entries[number] = array
        self._shared[number] = True
        self._point(number)

    def _point(self, number: int) -> None:
        """Tell the calls that use an entry, or a view of it, where it lies."""
        pending = [number]
        for entry in pending:
            pointer = address(self.entries[entry])
            for call, position in self._users.get(entry, ()):
                self._arguments[call][position] = pointer
            for reshaped in self._views.get(entry, ()):
                self.entries[reshaped] = self.entries[entry].reshape(self.specs[reshaped].shape)
                pending.append(reshaped)

    def write(self, number: int, value: Array) -> None:
        """Copy an array into an entry; an entry that was bound to an array gets memory of its own again."""
        if self._shared[number]:
            self._shared[number] = False
            if self.graph.entries[number].storage in self._storage:
                self.entries[number] = self._own(number)
            else:
                self.entries[number] = aligned_empty(self.specs[number].shape, self.specs[number].dtype)
            self._point(number)
        np.copyto(self.entries[number], value)

    def share(self, name: str, value: Array) -> None:
        """Use an array as a param; raises FrontendError for one of another shape or dtype."""
        number = self.graph.rows[self.argument_of[name]]
        array = self.checked(number, name, value)
        self.params.add(name)
        if is_aligned(cast(Tensor, array)):
            self.bind(number, cast(Tensor, array))
            return
        copy = aligned_empty(array.shape, array.dtype)
        np.copyto(copy, array)
        self.bind(number, copy)

    def checked(self, number: int, name: str, value: object) -> Array:
        """Return `value` as an array that fits an entry; raises FrontendError for another shape or dtype."""
        spec = self.specs[number]
        return accepted([TensorSpec(name, spec.shape, spec.dtype)], [value])[0]

    def argument(self, key: str | int) -> tuple[int, str]:
        """Return the entry and name of an argument, by name or position; raises FrontendError for an unknown one."""
        if isinstance(key, str):
            if key not in self.argument_of:
                raise FrontendError(f"Could not find '{key}' in graph's inputs")
            return self.graph.rows[self.argument_of[key]], key
        position = _checked_index(key, len(self.graph.arguments), "input")
        node = self.graph.arguments[position]
        return self.graph.rows[node], self.graph.nodes[node].name

    def head(self, index: int) -> int:
        """The entry of an output of the graph."""
        return self.graph.entry(self.graph.heads[_checked_index(index, len(self.graph.heads), "output")])


def _checked_index(index: int, count: int, what: str) -> int:
    if not 0 <= index < count:
        raise FrontendError(expectation(what, f"a number below {count}" if count else "none at all", str(index)))
    return index
