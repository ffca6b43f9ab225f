"""Runs a program: one native call per inference, or kernel by kernel with times and tensors."""

from __future__ import annotations

import ctypes
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ..support.dtypes import Array
from ..support.errors import FrontendError, PipelineError, expectation
from .bounds import BoundErrors, checked_access
from .external import ExternalFunctions
from .index_bounds import check_indices
from .program import ENTRY, Call, Code, Program, Slot
from .tensors import Arguments, Tensor, address, check_inputs, lasting_empty, readable
from .threads import ThreadPool

Visit = Callable[[Call, float, list[Tensor]], None]
"""What `Runner.walk` calls after each kernel: the call, seconds, its outputs (views, gone after the visit)."""


class Runner:
    """A loaded program. Safe to use from several threads at once: every run has an arena of its own.

    params: the parameters in order, C-contiguous at 64-byte boundaries.
    code: the linked `ENTRY` and kernels by their symbols; kept, as the parameters are, as long as the runner.
    bounds: what the kernels report to, if the program tests its accesses.
    externals: the kernels that others run, if there are any.
    Raises PipelineError for a program that reads parameters when there are none.
    """

    program: Program
    params: tuple[Array, ...]

    def __init__(
        self,
        program: Program,
        params: Sequence[Array],
        code: Code,
        bounds: BoundErrors | None = None,
        externals: ExternalFunctions | None = None,
    ):
        self.program = program
        self.params = tuple(params)
        if not self.params and any(slot.kind == "param" for call in program.calls for slot in call.inputs):
            raise PipelineError(expectation("run", "a model with its parameters", "one exported without"))
        self._code = code
        self._bounds = bounds
        self._externals = externals
        # The program only reads its first argument, an array of pointers: bytes are the cheapest way to pass them.
        prototype = ctypes.CFUNCTYPE(None, ctypes.c_char_p, *[ctypes.c_void_p] * 3)
        self._main = prototype(self._code[ENTRY])
        self._pack = struct.Struct(f"{len(program.inputs) + len(program.outputs)}P").pack
        self._params = np.array([address(array) for array in self.params], np.uint64)
        self._params_address = address(self._params)
        self._names = tuple(spec.name for spec in program.inputs)
        self._arguments = Arguments(
            *([(s.shape, s.dtype) for s in specs] for specs in (program.inputs, program.outputs))
        )
        self._arenas: list[tuple[Tensor, int]] = []

    def run(self, inputs: Sequence[Array] | Mapping[str, object], pool: ThreadPool) -> list[Tensor]:
        """The outputs, in fresh 64-byte aligned arrays, for inputs in order or by name.

        Inputs are copied only where they are not contiguous, or not aligned to 4 bytes and their element.
        Raises FrontendError when they are not what the model takes. A model built with bound checkers is stepped
        through, and raises WhenceError after the first kernel that would have left a buffer. WhenceError is also what
        a failure of an external kernel becomes, after the run.
        """
        if self._bounds is not None:
            with self._bounds.lock:
                return self.walk(inputs, pool, _ignore)
        arrays = self._in_order(inputs)
        if arrays is None or (addresses := self._arguments.ready(arrays)) is None:
            arrays = self._checked(inputs)
            addresses = [address(array) for array in arrays]
        elif self.program.indices:
            check_indices(self.program.indices, self.program.inputs, cast("Sequence[Array]", arrays))
        return self._launched(addresses, pool.handle)

    def launch(self, arrays: Sequence[Array], pool: ThreadPool, handle: int) -> list[Tensor]:
        """As `run`, of inputs in order, for one who has read the handle of the pool; that takes as long as a kernel."""
        if self._bounds is not None or (addresses := self._arguments.ready(arrays)) is None:
            return self.run(arrays, pool)
        if self.program.indices:
            check_indices(self.program.indices, self.program.inputs, arrays)
        return self._launched(addresses, handle)

    def _launched(self, addresses: list[int], handle: int) -> list[Tensor]:
        outputs, places = self._arguments.outputs()
        arena = self._take_arena()
        self._main(self._pack(*addresses, *places), self._params_address, arena[1], handle or None)
        self._arenas.append(arena)
        if self._externals is not None:
            self._externals.check()
        return outputs

    def walk(self, inputs: Sequence[Array] | Mapping[str, object], pool: ThreadPool, visit: Visit) -> list[Tensor]:
        """As `run`, but kernel by kernel from Python, over the same memory plan; `visit` sees every call."""
        arrays, outputs = self._bind(inputs)
        io, taken = [*arrays, *outputs], self._take_arena()
        arena = taken[0]
        handle = pool.handle or None
        for call in self.program.calls:
            function, arguments = self._native(call, io, arena, handle)
            start = time.perf_counter()
            function(*arguments)
            seconds = time.perf_counter() - start
            if self._bounds is not None:
                self._bounds.check(call.name, checked_access(call, self.program.kernels[call.kernel]))
            if self._externals is not None:
                self._externals.check()
            views: list[Tensor] = []
            for slot, spec in zip(call.outputs, call.results, strict=True):
                memory = io[slot.at] if slot.kind == "io" else arena[slot.at : slot.at + spec.nbytes]
                views.append(memory.view(spec.dtype).reshape(spec.shape))
            visit(call, seconds, views)
        for copy in self.program.copies:
            ctypes.memmove(self._address(copy.target, io, arena), self._address(copy.source, io, arena), copy.nbytes)
        self._arenas.append(taken)
        return outputs

    def profile(
        self, inputs: Sequence[Array] | Mapping[str, object], pool: ThreadPool, repeat: int = 10
    ) -> npt.NDArray[np.float64]:
        """Seconds per run and call, shape (repeat, calls). Each includes about a microsecond of Python."""
        arrays, outputs = self._bind(inputs)
        io, taken = [*arrays, *outputs], self._take_arena()
        arena = taken[0]
        handle = pool.handle or None
        natives = [self._native(call, io, arena, handle) for call in self.program.calls]
        seconds = np.zeros((repeat, len(natives)))
        for row in seconds:
            for column, (function, arguments) in enumerate(natives):
                start = time.perf_counter()
                function(*arguments)
                row[column] = time.perf_counter() - start
        self._arenas.append(taken)
        if self._externals is not None:
            self._externals.check()
        return seconds

    def repeat(
        self,
        inputs: Sequence[Array] | Mapping[str, object],
        pool: ThreadPool,
        mark: npt.NDArray[np.int64],
        more: Callable[[int], bool],
    ) -> tuple[int, list[float]]:
        """Run call by call, `mark[0]` the number of the call while it runs and -1 between runs.

        Runs go on as long as `more`, of the runs so far, says so. Returns how many it were, and the seconds that each
        call took in all of them.
        """
        arrays, outputs = self._bind(inputs)
        io, taken = [*arrays, *outputs], self._take_arena()
        natives = [self._native(call, io, taken[0], pool.handle or None) for call in self.program.calls]
        runs, seconds, clock = 0, [0.0] * len(natives), time.perf_counter
        while more(runs):
            for number, (function, arguments) in enumerate(natives):
                mark[0] = number
                start = clock()
                function(*arguments)
                seconds[number] += clock() - start
            mark[0] = -1
            runs += 1
        self._arenas.append(taken)
        if self._externals is not None:
            self._externals.check()
        return runs, seconds

    @property
    def code(self) -> Code:
        """The linked functions."""
        return self._code

    def _bind(self, inputs: Sequence[Array] | Mapping[str, object]) -> tuple[list[Array], list[Tensor]]:
        return self._checked(inputs), self._arguments.outputs()[0]

    def _in_order(self, inputs: Sequence[Array] | Mapping[str, object]) -> Sequence[object] | None:
        """What was given for each input; None where that takes a closer look."""
        if len(inputs) != len(self._names):
            return None
        if isinstance(inputs, tuple | list):
            return tuple(inputs)
        # One of another kind may make up what it does not hold.
        if type(inputs) is not dict:
            return None
        given = cast("dict[str, object]", inputs)
        try:
            return [given[name] for name in self._names]
        except KeyError:
            return None

    def _checked(self, inputs: Sequence[Array] | Mapping[str, object]) -> list[Array]:
        """The inputs in order, such as kernels can read.

        Raises FrontendError when they are not what the model takes.
        """
        specs = self.program.inputs
        if not isinstance(inputs, Mapping):
            if len(inputs) != len(specs):
                expected = ", ".join(map(str, specs)) or "none"
                raise FrontendError(f"inputs: expected {len(specs)} ({expected}), got {len(inputs)}")
            inputs = {spec.name: value for spec, value in zip(specs, inputs, strict=True)}
        arrays = check_inputs(specs, inputs)
        check_indices(self.program.indices, specs, arrays)
        return [readable(array) for array in arrays]

    def _take_arena(self) -> tuple[Tensor, int]:
        """Memory for one run, and its address."""
        # list.pop and append are atomic: no lock. As many arenas exist as runs were ever concurrent.
        try:
            return self._arenas.pop()
        except IndexError:
            # Not empty, as only the address of what holds something is found fast.
            arena = lasting_empty((max(1, self.program.arena_bytes),), np.uint8)
            return arena, address(arena)

    def _address(self, slot: Slot, io: Sequence[Array], arena: Array) -> int:
        match slot.kind:
            case "io":
                return address(io[slot.at])
            case "param":
                return address(self.params[slot.at])
            case "arena":
                return address(arena) + slot.at

    def _native(
        self, call: Call, io: Sequence[Array], arena: Array, handle: int | None
    ) -> tuple[Callable[..., None], list[int | None]]:
        arguments: list[int | None] = [self._address(slot, io, arena) for slot in (*call.inputs, *call.outputs)]
        arguments += call.sizes
        arguments.append(self._address(call.workspace, io, arena) if call.workspace is not None else None)
        arguments.append(handle)
        symbol = self.program.kernels[call.kernel].symbol
        prototype: Any = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arguments))
        return prototype(self._code[symbol]), arguments


def _ignore(call: Call, seconds: float, outputs: list[Tensor]) -> None:
    """A visit to nobody."""
