# pyright: basic, reportMissingImports=false
"""A graph that Whence computes: compiled by its first call, and again when weights have other values."""

from __future__ import annotations

import operator
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from threading import Lock
from typing import Any

import torch
from torch.fx import GraphModule

from whence.compiler.compile import compile
from whence.executables.executable import Executable
from whence.frontends.torch.captured import Captured
from whence.support.errors import FrontendError, FrontendWarning, WhenceError
from whence.torch.graphs import Prepared, prepared
from whence.torch.options import Options
from whence.torch.tensors import array_of, tensor_of

_OFTEN = 3
"""The changes after which a weight is read at every call instead of packed anew."""
_version: Callable[[torch.Tensor], int] = operator.attrgetter("_version")
_pointer: Callable[[torch.Tensor], int] = torch.Tensor.data_ptr


class Weights:
    """The values of a graph's weights when it was compiled, and the means to see that they are others now.

    A tensor's version counts writes to it, and its address is another one after `p.data = values`.
    """

    def __init__(self, positions: Sequence[int], args: Sequence[Any]):
        self.positions = tuple(positions)
        # One more makes the result a tuple in any case.
        self._take = operator.itemgetter(*self.positions, *self.positions[:1]) if positions else None
        tensors = self._take(args) if self._take is not None else ()
        self.versions = list(map(_version, tensors))
        self.pointers = list(map(_pointer, tensors))
        # What is alive gives its address to nobody else.
        self.alive = [tensor.detach() for tensor in tensors]

    def same(self, args: Sequence[Any]) -> bool:
        """Return whether weights have the values that they had."""
        if self._take is None:
            return True
        tensors = self._take(args)
        return list(map(_version, tensors)) == self.versions and list(map(_pointer, tensors)) == self.pointers

    def changed(self, args: Sequence[Any]) -> list[int]:
        """The positions of those that have other values."""
        before = zip(self.positions, self.versions, self.pointers, strict=False)
        return [at for at, version, pointer in before if (args[at]._version, args[at].data_ptr()) != (version, pointer)]


class Program:
    """An executable, and what of a graph's arguments and results it takes and gives."""

    def __init__(self, prepared: Prepared, weights: Weights, executable: Executable | None):
        self.weights, self.executable = weights, executable
        self._inputs = [(item.position, item.order, item.number) for item in prepared.inputs]
        self._outputs = prepared.outputs
        self._direct = all(item.result == at and not item.number for at, item in enumerate(prepared.outputs))
        self._orders = [item.order for item in prepared.outputs]

    def __call__(self, args: Sequence[Any]) -> list[Any]:
        if self.executable is None:
            results: Any = ()
        else:
            results = self.executable(
                *[_number(args[at]) if number else array_of(args[at], order) for at, order, number in self._inputs]
            )
            if not isinstance(results, tuple):
                results = (results,)
        if self._direct:
            return [tensor_of(*pair) for pair in zip(results, self._orders, strict=True)]
        tensors: dict[int, torch.Tensor] = {}
        leaving: list[Any] = []
        for item in self._outputs:
            if item.result < 0:
                leaving.append(args[item.position] if item.position >= 0 else item.constant)
            elif item.number:
                leaving.append(results[item.result].item())
            else:
                if item.result not in tensors:
                    tensors[item.result] = tensor_of(results[item.result], item.order)
                leaving.append(tensors[item.result])
        return leaving


def _number(value: int) -> Any:
    import numpy as np

    return np.asarray(value, np.int64)


class Compiled:
    """A graph of tensors, as a function of its arguments in order.

    bindable: the arguments that are weights. names: those that arguments have for users.
    """

    def __init__(self, graph: GraphModule, bindable: Collection[int], names: Mapping[int, str], options: Options):
        self.graph, self.options, self.names = graph, options, names
        self._bindable = frozenset(bindable) if options.weights == "bound" else frozenset[int]()
        self._changes: Counter[int] = Counter()
        self._program: Program | None = None
        self._refused = False
        self._lock = Lock()
        self.compilations = 0
        """How often it was compiled."""

    @property
    def executable(self) -> Executable | None:
        """The compiled model; None before the first call, and where eager PyTorch runs the graph."""
        return self._program.executable if self._program is not None else None

    def __call__(self, args: Sequence[Any]) -> Sequence[Any]:
        program = self._program
        if program is None or not program.weights.same(args):
            if self._refused:
                return self.graph(*args)
            with self._lock:
                program = self._current(args)
            if program is None:
                return self.graph(*args)
        return program(args)

    def repack(self) -> None:
        """Have the next call read the weights anew."""
        with self._lock:
            self._program = None

    def _current(self, args: Sequence[Any]) -> Program | None:
        """The program for the weights as they are now; None where there is none."""
        program = self._program
        if program is not None:
            if program.weights.same(args):
                return program
            self._changes.update(program.weights.changed(args))
        try:
            self._program = self._made(args)
        except WhenceError as error:
            if self.options.fallback == "error":
                raise
            self._program, self._refused = None, True
            text = f"torch.compile: a graph of {len(self.graph.graph.nodes)} nodes runs in eager PyTorch: {error}"
            warnings.warn(FrontendWarning(text), stacklevel=2)
        return self._program

    def _made(self, args: Sequence[Any]) -> Program:
        bound = [at for at in self._bindable if self._changes[at] < _OFTEN and not args[at].is_inference()]
        ready = prepared(self.graph, bound, self.names)
        weights = Weights(sorted(bound), args)
        if not ready.computes:
            return Program(ready, weights, None)
        targets = {name: self.names.get(at, name) for name, at in ready.weights.items()}
        values = {targets[name]: array_of(args[at]) for name, at in ready.weights.items()}
        captured = Captured(ready.graph, values, targets)
        executable = self._executable(captured)
        self.compilations += 1
        return Program(ready, weights, executable)

    def _executable(self, captured: Captured) -> Executable:
        options = self.options
        arguments: dict[str, Any] = {
            "target": options.target,
            "opt_level": options.opt_level,
            "threads": torch.get_num_threads() if options.threads is None else options.threads,
            "precision": options.precision,
            "tuned": options.tuned,
            "audit": options.audit,
        }
        source: Any = captured
        try:
            return compile(source, tier=options.tier, **arguments)
        except FrontendError:
            if options.tier != "symbolic":
                raise
            return compile(source, tier="auto", **arguments)
