"""Execution of a program: one native call per inference, or kernel by kernel with times and tensors."""

from __future__ import annotations

import ctypes
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ...support.dtypes import Array
from ...support.errors import FrontendError, PipelineError, expectation
from ..values.tensors import Tensor, address, aligned_empty, lasting_empty, readable
from .bounds import BoundErrors, checked_access
from .external import ExternalFunctions
from .index_bounds import check_indices
from .inputs import accepted
from .known import Known, KnownShapes
from .memory import RefusedMemory, asked_for, refused
from .program import ENTRY, Call, Code, Program, Slot
from .random_state import WORDS, RandomState
from .returned import ReturnedMemory
from .threads import ThreadPool

Visit = Callable[[Call, float, list[Tensor]], None]
"""Callback of `Runner.walk` after each kernel: the call, CPU seconds, its outputs (views, gone after the visit)."""

Read = Callable[[Slot, int], Tensor]
"""A function that returns so many bytes of a slot as a view, which is gone after the visit."""
Enter = Callable[[Call, Read], None]
"""Callback of `Runner.walk` before each kernel: the call, and a way to read its inputs."""

_IDLE_CALLS = 50
"""The number of empty calls, of which the shortest tells the cost of a call."""

Native = tuple[Callable[..., None], "list[int | None]"]
"""A function and its arguments."""


class Runner:
    """A loaded program. Safe to use from several threads at once: every run has an arena of its own.

    A program with sizes reads them off the arrays. Its arena grows to the size of the largest run so far; if all sizes
    have bounds, it has the size of the largest possible run from the start.

    params: the parameters in order, C-contiguous at 64-byte boundaries.
    code: the linked `ENTRY` and kernels by their symbols; it and the parameters live as long as the runner.
    bounds: the object that kernels report to, if the program tests its accesses.
    externals: the kernels that others run, if there are any.
    Raises PipelineError for a program that reads parameters but gets none.
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
        pointers = 3 if program.sizes is None else 4
        self._main = ctypes.CFUNCTYPE(None, ctypes.c_char_p, *[ctypes.c_void_p] * pointers)(code[ENTRY])
        self._pack = struct.Struct(f"{len(program.inputs) + len(program.outputs)}P").pack
        self._random = program.random
        self.random: RandomState | None = None
        """The state of its random numbers, if it draws any."""
        if self._random is not None:
            self.random = RandomState.of(self.params[self._random])
        self._params = np.array([address(array) for array in self.params], np.uint64)
        self._params_address = address(self._params)
        self._names = tuple(spec.name for spec in program.inputs)
        self._shapes = KnownShapes(program, code) if program.sizes is not None else None
        self._fixed = Known.of(program) if program.sizes is None else None
        # Only kernels of open sizes ask for memory.
        self._memory = RefusedMemory(code) if program.sizes is not None else None
        self._arenas: list[tuple[Tensor, int]] = []
        self._returned = ReturnedMemory()

    def run(self, inputs: Sequence[Array] | Mapping[str, object], pool: ThreadPool) -> list[Tensor]:
        """Return the outputs, in fresh 64-byte aligned arrays, for inputs in order or by name.

        Inputs are copied only where they are not contiguous, or not aligned to 4 bytes and their element.
        Raises FrontendError when the model does not accept them. A model built with bound checkers runs kernel by
        kernel, and raises WhenceError after the first kernel that would have left a buffer. A failure of an external
        kernel raises WhenceError after the run.
        """
        if self._bounds is not None:
            with self._bounds.lock:
                results = self.walk(inputs, pool, _ignore)
                if self.random is not None:
                    self.random.advance()
                return results
        return self._launched(inputs, self._fixed, pool.handle)

    def launch(
        self, arrays: Sequence[Array], pool: ThreadPool, handle: int, known: Known | None = None
    ) -> list[Tensor]:
        """Run inputs in order with a pool whose handle the caller has read, which takes as long as a kernel.

        known: the result of `met` for the inputs.
        """
        if self._bounds is not None:
            return self.run(arrays, pool)
        return self._launched(arrays, known or self._fixed, handle)

    def run_into(self, arrays: Sequence[Array], given: Mapping[int, Tensor], pool: ThreadPool) -> list[Tensor]:
        """Return the outputs for inputs that the program accepts, of which those by number are in `given` memory."""
        return self._launched(arrays, self.known(arrays), pool.handle, given)

    def known(self, arrays: Sequence[Array]) -> Known:
        """Return the facts that follow from the shapes of inputs that the program has accepted, but for their sizes.

        Raises FrontendError when it does not accept these.
        """
        if self._shapes is not None:
            return self._shapes.of(arrays)
        assert self._fixed is not None
        return self._fixed

    def latest_sizes(self) -> dict[str, int] | None:
        """Return the sizes of the last call, by name; None for a program without sizes, or before a call."""
        known = self._shapes.latest() if self._shapes is not None else None
        if known is None or self.program.sizes is None:
            return None
        return dict(zip(self.program.sizes.symbols, known.symbols, strict=True))

    def met(self, inputs: Sequence[Array] | Mapping[str, object]) -> tuple[Sequence[Array], Known]:
        """Return the inputs in order, and the facts that follow from their shapes.

        Raises FrontendError when the program does not accept them.
        """
        if self._shapes is None:
            assert self._fixed is not None
            return self._checked(inputs), self._fixed
        arrays = self._in_order(inputs)
        if arrays is not None and all(isinstance(array, np.ndarray) for array in arrays):
            arrays = cast("Sequence[Array]", arrays)
            if (known := self._shapes.find(arrays)) is not None:
                return arrays, known
        checked = self._checked(inputs)
        return checked, self._shapes.of(checked)

    def takes(self, arrays: Sequence[Array]) -> bool:
        """Return True if the program takes arrays of these sizes; their number and dtypes must be right."""
        try:
            self.met(arrays)
        except FrontendError:
            return False
        return True

    def at(self, inputs: Sequence[Array] | Mapping[str, object]) -> tuple[Runner, list[Array]]:
        """Return a runner of the program for the sizes of these inputs, to run kernel by kernel, and them in order."""
        arrays = self._checked(inputs)
        if self._shapes is None:
            runner, indices = self, self.program.indices
        else:
            known = self._shapes.of(arrays)
            program = self.program.at(known.values.tolist())
            runner, indices = Runner(program, self.params, self._code, self._bounds, self._externals), known.indices
            runner.share(self.random)
        check_indices(indices, self.program.inputs, arrays)
        runner._show_state()
        return runner, arrays

    def share(self, state: RandomState | None) -> None:
        """Draw from another state from now on, if the program draws random numbers and `state` is not None."""
        if self.random is not None and state is not None:
            self.random = state

    def _show_state(self) -> None:
        """Let kernels that are called one by one draw the numbers of the next run, however often they are called."""
        if self._random is not None and self.random is not None:
            state = aligned_empty((WORDS,), np.uint32)
            state[...] = self.random.current()
            self.params = (*self.params[: self._random], state, *self.params[self._random + 1 :])

    def _launched(
        self,
        inputs: Sequence[Array] | Mapping[str, object],
        known: Known | None,
        handle: int,
        given: Mapping[int, Tensor] | None = None,
    ) -> list[Tensor]:
        if known is None:
            inputs, known = self.met(inputs)
        arrays = self._in_order(inputs)
        if arrays is None or (addresses := known.arguments.ready(arrays)) is None:
            # Kernels cannot read them in place, or they have other dtypes.
            arrays = self._checked(inputs)
            addresses = [address(array) for array in arrays]
        if known.indices:
            check_indices(known.indices, self.program.inputs, cast("Sequence[Array]", arrays))
        arena = self._take_arena(known.arena_bytes)
        try:
            self._returned.expect(known.output_bytes)
            outputs, output_addresses = known.arguments.outputs(self._returned.take, given)
        except (MemoryError, ValueError) as error:
            raise refused(known.output_bytes, "outputs") from error
        io, params = self._pack(*addresses, *output_addresses), self._params_address
        if self._random is not None and self.random is not None:
            # Each run has a state of its own, as it has an arena.
            state, table = self.random.advance(), self._params.copy()
            table[self._random], params = address(state), address(table)
        if (memory := self._memory) is None:
            self._main(io, params, arena[1], handle or None)
            self._arenas.append(arena)
        else:
            refusals = memory.count
            self._main(io, params, arena[1], handle or None, known.address)
            self._arenas.append(arena)
            memory.check(refusals)
        if self._externals is not None:
            self._externals.check()
        return outputs

    def walk(
        self,
        inputs: Sequence[Array] | Mapping[str, object],
        pool: ThreadPool,
        visit: Visit,
        enter: Enter | None = None,
    ) -> list[Tensor]:
        """Run kernel by kernel from Python, over the memory plan of `run`; `visit` sees every call.

        enter: sees every call beforehand, and its inputs, which it may overwrite.
        """
        runner, arrays = self.at(inputs)
        with pool.clock() as clock:
            return runner._walked(arrays, pool, visit, enter, clock)

    def _walked(
        self,
        arrays: Sequence[Array],
        pool: ThreadPool,
        visit: Visit,
        enter: Enter | None,
        clock: Callable[[], float],
    ) -> list[Tensor]:
        outputs, block = self._outputs(), self._take_arena(self.program.arena_bytes)
        io, arena, handle = [*arrays, *outputs], block[0], pool.handle or None

        def read(slot: Slot, size: int) -> Tensor:
            if slot.kind == "arena":
                return arena[slot.place : slot.place + size]
            memory = io[slot.place] if slot.kind == "io" else self.params[slot.place]
            return np.ascontiguousarray(memory).reshape(-1).view(np.uint8)[:size]

        for call in self.program.calls:
            if enter is not None:
                enter(call, read)
            function, arguments = self._native(call, io, arena, handle)
            start = clock()
            function(*arguments)
            seconds = clock() - start
            if self._bounds is not None:
                self._bounds.check(call.name, checked_access(call, self.program.kernels[call.kernel]))
            if self._externals is not None:
                self._externals.check()
            views: list[Tensor] = []
            for slot, spec in zip(call.outputs, call.results, strict=True):
                at = slot.place
                memory = io[at] if slot.kind == "io" else arena[at : at + spec.nbytes]
                views.append(memory.view(spec.dtype).reshape(spec.shape))
            visit(call, seconds, views)
        for copy in self.program.copies:
            ctypes.memmove(
                self._address(copy.target, io, arena), self._address(copy.source, io, arena), cast(int, copy.nbytes)
            )
        self._arenas.append(block)
        return outputs

    def profile(
        self, inputs: Sequence[Array] | Mapping[str, object], pool: ThreadPool, repeat: int = 10
    ) -> npt.NDArray[np.float64]:
        """Measure the CPU seconds per run and call of all threads that work on it, by `ThreadPool.clock`.

        The result has shape (repeat, calls). The time of an empty call, Python's and the clock's, is subtracted.
        """
        runner, arrays = self.at(inputs)
        natives, block, _io = runner._natives(arrays, pool)
        seconds = np.zeros((repeat, len(natives)))
        with pool.clock() as clock:
            for row in seconds:
                for column, (function, arguments) in enumerate(natives):
                    start = clock()
                    function(*arguments)
                    row[column] = clock() - start
            counts = [len(arguments) for _, arguments in natives]
            idle = {count: self._idle(count, pool, clock) for count in set(counts)}
        seconds = np.maximum(seconds - [idle[count] for count in counts], 0)
        runner._arenas.append(block)
        if self._externals is not None:
            self._externals.check()
        return seconds

    def _idle(self, count: int, pool: ThreadPool, clock: Callable[[], float]) -> float:
        """Return the seconds of an empty call with so many arguments; 0 if the pool has no idle loop to call."""
        if not pool.code.spin:
            return 0.0
        spin: Any = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * count)(pool.code.spin)
        least = float("inf")
        for _ in range(_IDLE_CALLS):
            start = clock()
            spin(*[None] * count)
            least = min(least, clock() - start)
        return least

    def repeat(
        self,
        inputs: Sequence[Array] | Mapping[str, object],
        pool: ThreadPool,
        mark: npt.NDArray[np.int64],
        more: Callable[[int], bool],
    ) -> tuple[int, list[float]]:
        """Run call by call as long as `more` is true of the number of runs so far.

        While a call runs, `mark[0]` is its number; between runs it is -1. Returns the number of runs, and the CPU
        seconds that each call took in all of them, as `profile` measures them.
        """
        runner, arrays = self.at(inputs)
        natives, block, _io = runner._natives(arrays, pool)
        runs, seconds = 0, [0.0] * len(natives)
        with pool.clock() as clock:
            while more(runs):
                for number, (function, arguments) in enumerate(natives):
                    mark[0] = number
                    start = clock()
                    function(*arguments)
                    seconds[number] += clock() - start
                mark[0] = -1
                runs += 1
        runner._arenas.append(block)
        if self._externals is not None:
            self._externals.check()
        return runs, seconds

    def timeline(self, inputs: Sequence[Array] | Mapping[str, object], pool: ThreadPool) -> list[tuple[float, float]]:
        """Return begin and end of each call of one run, in seconds of wall-clock time from the start of the run."""
        runner, arrays = self.at(inputs)
        natives, block, _io = runner._natives(arrays, pool)
        times: list[tuple[float, float]] = []
        origin = time.perf_counter()
        for function, arguments in natives:
            start = time.perf_counter()
            function(*arguments)
            times.append((start - origin, time.perf_counter() - origin))
        runner._arenas.append(block)
        if self._externals is not None:
            self._externals.check()
        return times

    @property
    def code(self) -> Code:
        """The linked functions."""
        return self._code

    def _outputs(self) -> list[Tensor]:
        assert self._fixed is not None
        return self._fixed.arguments.outputs()[0]

    def _natives(
        self, arrays: Sequence[Array], pool: ThreadPool
    ) -> tuple[list[Native], tuple[Tensor, int], list[Array]]:
        """Return every call as a function and its arguments, and the arena and arrays that must outlive them."""
        io, block = [*arrays, *self._outputs()], self._take_arena(self.program.arena_bytes)
        return [self._native(call, io, block[0], pool.handle or None) for call in self.program.calls], block, io

    def _in_order(self, inputs: Sequence[Array] | Mapping[str, object]) -> Sequence[object] | None:
        """Return the value of each input, in order; None if the inputs need a full check."""
        if len(inputs) != len(self._names):
            return None
        if isinstance(inputs, tuple | list):
            return tuple(inputs)
        # Another mapping may make up values for keys that it does not hold.
        if type(inputs) is not dict:
            return None
        by_name = cast("dict[str, object]", inputs)
        try:
            return [by_name[name] for name in self._names]
        except KeyError:
            return None

    def _checked(self, inputs: Sequence[Array] | Mapping[str, object]) -> list[Array]:
        """Return the inputs in order, in a form that kernels can read.

        Raises FrontendError when the model does not accept them.
        """
        return [readable(array) for array in accepted(self.program.inputs, inputs)]

    def _take_arena(self, size: int) -> tuple[Tensor, int]:
        """Return memory of at least so many bytes for one run, and its address."""
        # list.pop and append are atomic, so this needs no lock. At most as many arenas exist as runs were concurrent.
        try:
            arena = self._arenas.pop()
        except IndexError:
            arena = None
        if arena is None or arena[0].nbytes < size:
            del arena
            # The block is never empty, because only the address of a non-empty array is found fast.
            memory = self._new_arena(max(1, size))
            return memory, address(memory)
        return arena

    def _new_arena(self, size: int) -> Tensor:
        """Return memory for any run, if sizes have bounds and the system grants it; else `size` bytes."""
        if self.program.arena_bytes > size:
            try:
                return lasting_empty((self.program.arena_bytes,), np.uint8)
            except (MemoryError, ValueError):
                # The bounds may be far beyond what any run needs.
                pass
        with asked_for(size, "intermediate tensors"):
            return lasting_empty((size,), np.uint8)

    def _address(self, slot: Slot, io: Sequence[Array], arena: Array) -> int:
        match slot.kind:
            case "io":
                return address(io[slot.place])
            case "param":
                return address(self.params[slot.place])
            case "arena":
                return address(arena) + slot.place

    def _native(self, call: Call, io: Sequence[Array], arena: Array, handle: int | None) -> Native:
        arguments: list[int | None] = [self._address(slot, io, arena) for slot in (*call.inputs, *call.outputs)]
        arguments += cast("tuple[int, ...]", call.sizes)
        arguments.append(self._address(call.workspace, io, arena) if call.workspace is not None else None)
        arguments.append(handle)
        symbol = self.program.kernels[call.kernel].symbol
        prototype: Any = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arguments))
        return prototype(self._code[symbol]), arguments


def _ignore(call: Call, seconds: float, outputs: list[Tensor]) -> None:
    """Visit a call and do nothing."""
