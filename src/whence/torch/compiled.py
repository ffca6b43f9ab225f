# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""A graph that Whence computes: compiled by its first call, and again when weights have other values."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from threading import Lock
from typing import Any
from weakref import ref

import torch
from torch.fx import GraphModule

from whence.compiler.compile import compile
from whence.executables.executable import Executable
from whence.frontends.torch.captured import Captured
from whence.support.errors import FrontendError, PipelineError, WhenceError
from whence.torch.graphs import Prepared, prepared
from whence.torch.options import Options
from whence.torch.tensors import array_of, tensor_of

Runs = Callable[[Sequence[Any]], Sequence[Any]]
"""A function of the arguments of a graph."""
_OFTEN = 3
"""The changes after which a weight is read at every call instead of packed anew."""
_MOST = 64
"""The greatest number of programs of one graph for different weights; beyond it, weights are read at every call."""
_version: Callable[[torch.Tensor], int] = operator.attrgetter("_version")
_pointer: Callable[[torch.Tensor], int] = torch.Tensor.data_ptr

Places = tuple[int, ...]
"""The addresses of weights, which tell weights of one module from those of another."""


class Weights:
    """Values that weights have while their versions are these: torch counts the writes to a tensor."""

    def __init__(self, tensors: Sequence[torch.Tensor]):
        self.versions = list(map(_version, tensors))
        self._pointers = list(map(_pointer, tensors))
        self._tensors = [ref(tensor) for tensor in tensors]
        # Memory that is in use is given to nobody else.
        self._alive = [tensor.detach() for tensor in tensors]

    def moved(self) -> list[int]:
        """The numbers of those whose tensors have gone, or have other memory since: `p.data = values`."""
        pairs = zip(self._tensors, self._pointers, strict=True)
        return [at for at, (tensor, pointer) in enumerate(pairs) if _gone(tensor(), pointer)]


def _gone(tensor: torch.Tensor | None, pointer: int) -> bool:
    return tensor is None or tensor.data_ptr() != pointer


class Program:
    """An executable, and the arguments and results of a graph that are its inputs and outputs."""

    def __init__(
        self, prepared: Prepared, weights: Weights, executable: Executable | None = None, source: Captured | None = None
    ):
        self.weights, self.executable, self.source = weights, executable, source
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

    Weights are packed into programs, one for each module whose forward the graph is. A weight that changes often is
    read at every call instead.

    bindable: the arguments that are weights. names: the user's names of arguments.
    refused: returns a function that runs a graph that does not compile, for the error.
    """

    def __init__(
        self,
        graph: GraphModule,
        bindable: Collection[int],
        names: Mapping[int, str],
        options: Options,
        refused: Callable[[WhenceError], Runs],
    ):
        self.graph, self.options, self.names = graph, options, names
        self._refused = refused
        self._otherwise: Runs | None = None
        self._lock = Lock()
        self._changes: Counter[int] = Counter()
        self.compilations = 0
        """The number of times that it was compiled."""
        self._bind(bindable if options.weights == "bound" else ())

    def _bind(self, positions: Collection[int]) -> None:
        """Have programs keep the values of the weights at these positions."""
        self._bound = tuple(sorted(positions))
        self._prepared: Prepared | None = None
        self._programs: dict[Places, Program] = {}
        # One more makes the result a tuple in any case.
        self._weights: Callable[[Sequence[Any]], tuple[torch.Tensor, ...]] = (
            operator.itemgetter(*self._bound, self._bound[0]) if self._bound else _none
        )

    @property
    def programs(self) -> list[tuple[Captured, Executable]]:
        """Return graphs and their programs: none before the first call, and none where eager PyTorch runs the graph."""
        pairs = ((program.source, program.executable) for program in self._programs.values())
        return [(source, executable) for source, executable in pairs if source is not None and executable is not None]

    def __call__(self, args: Sequence[Any]) -> Sequence[Any]:
        try:
            weights = self._weights(args)
            program = self._programs.get(tuple(map(_pointer, weights)))
            if program is not None and list(map(_version, weights)) != program.weights.versions:
                program = None
        except RuntimeError:  # of inference tensors nobody counts the writes
            program = None
        if program is None:
            with self._lock:
                program = self._current(args)
            if program is None:
                assert self._otherwise is not None
                return self._otherwise(args)
        return program(args)

    def repack(self) -> None:
        """Have the next call read the weights anew."""
        with self._lock:
            self._programs = {}

    def _current(self, args: Sequence[Any]) -> Program | None:
        """Return the program for the current weights; None if there is none."""
        if self._otherwise is not None:
            return None
        if uncounted := [at for at in self._bound if args[at].is_inference()]:
            self._bind(set(self._bound) - set(uncounted))
        weights = self._weights(args)
        places, versions = tuple(map(_pointer, weights)), list(map(_version, weights))
        program = self._programs.get(places)
        if program is not None:
            if program.weights.versions == versions:
                return program
            pairs = zip(self._bound, versions, program.weights.versions, strict=False)
            self._changes.update(at for at, now, before in pairs if now != before)
        for other, stale in list(self._programs.items()):
            if moved := stale.weights.moved():
                self._changes.update({self._bound[at % len(self._bound)] for at in moved})
                self._programs = {key: kept for key, kept in self._programs.items() if key != other}
        often = {at for at in self._bound if self._changes[at] >= _OFTEN}
        if often or len(self._programs) >= _MOST:
            self._bind(set(self._bound) - (often or set(self._bound)))
            weights = self._weights(args)
            places = tuple(map(_pointer, weights))
        try:
            program = self._made(args, Weights(weights))
        except WhenceError as error:
            if self.options.fallback == "error" or isinstance(error, PipelineError):
                raise
            self._programs, self._otherwise = {}, self._refused(error)
            return None
        self._programs = {**self._programs, places: program}
        return program

    def _made(self, args: Sequence[Any], weights: Weights) -> Program:
        if self._prepared is None:
            self._prepared = prepared(self.graph, self._bound, self.names)
        ready = self._prepared
        if not ready.computes:
            return Program(ready, weights)
        targets = {name: self.names.get(at, name) for name, at in ready.weights.items()}
        values = {targets[name]: array_of(args[at]) for name, at in ready.weights.items()}
        source = Captured(ready.graph, values, targets)
        executable = self._executable(source)
        self.compilations += 1
        return Program(ready, weights, executable, source)

    def _executable(self, source: Any) -> Executable:
        options = self.options
        arguments: dict[str, Any] = {
            "target": options.target,
            "opt_level": options.opt_level,
            "threads": torch.get_num_threads() if options.threads is None else options.threads,
            "precision": options.precision,
            "tuned": options.tuned,
            "audit": options.audit,
        }
        try:
            return compile(source, tier=options.tier, **arguments)
        except FrontendError as error:
            if not str(error).startswith('tier "symbolic"'):
                raise
            # Where one program for all sizes cannot be, there is one for each.
            return compile(source, tier="auto", **arguments)


def _none(args: Sequence[Any]) -> tuple[torch.Tensor, ...]:
    return ()
