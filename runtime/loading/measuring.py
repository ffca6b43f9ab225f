"""Measurement, in this process, of candidates for a kernel beside the default one: first results, then times.

A job is a sealed package of a `JobHead`. The object of each of its codes is the part `code N`. The part `pool` is the
object of the thread pool, and the params are the inputs. `measuring_slot.py` starts processes for this.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from math import ceil
from typing import Any, cast

import numpy as np

from ...support.dtypes import Array
from ...support.errors import PipelineError, WhenceError, expectation
from ..program.memory import RefusedMemory
from ..program.program import REFUSED, Code
from ..program.threads import ThreadPool
from ..program.timing import grown
from ..values.tensors import ALIGNMENT, Tensor, address, lasting_empty
from .agreement import adversarial, difference
from .disturbance import Disturbance
from .elf import Elf
from .guarded import Guarded
from .link import link
from .machine_facts import kind_of, machine_facts, spelled
from .opened import linked_pool
from .outcomes import Failed, JobHead, Measured, Outcome
from .package import Package

POOL, CODE = "pool", "code "
"""Parts of a job: the thread pool's object, and, with its number, that of the default kernel (0) or of a candidate."""
_FILLS = 0xFF, 0x5A
"""The bytes that fill outputs and workspaces before a call with the first and with the second set of inputs. Floats of
the first are NaN, and an element that a kernel never writes is wrong with one of them."""
_COPIES = 4096
"""The maximal number of copies of weights; so many copies of even small weights exceed the first cache."""
_REPEATS = 4
"""The maximal number of alternations of a candidate that are repeated because others disturbed them."""
_PART = 0.6
"""The part of its time after which a candidate gets no further alternation."""
_IDLE = 200
"""The number of empty calls, whose mean is the cost of a call."""

Call = Callable[..., None]


class Kernel:
    """A linked kernel, and its arguments: one tuple for each copy of the weights."""

    def __init__(self, code: Code, symbol: str, arguments: Sequence[tuple[int, ...]], pointers: int):
        """pointers: the number of arguments before the sizes."""
        self._code = code
        sizes = len(arguments[0]) - pointers - 2
        kinds = [*[ctypes.c_void_p] * pointers, *[ctypes.c_int64] * sizes, *[ctypes.c_void_p] * 2]
        self.call: Call = ctypes.CFUNCTYPE(None, *kinds)(code[symbol])
        self.arguments = arguments

    def batch(self, number: int, turn: int, clock: Callable[[], float]) -> float:
        """Return the seconds of `number` calls by a clock, the first with copy number `turn` of the weights."""
        call, copies = self.call, len(self.arguments)
        order = [self.arguments[step % copies] for step in range(turn, turn + number)]
        if number > 1:
            # This call evicts what ran before from the nearest caches.
            call(*self.arguments[(turn - 1) % copies])
        start = clock()
        for arguments in order:
            call(*arguments)
        return clock() - start


class Bench:
    """Buffers for the kernels of a job, the default kernel, and its results for the inputs.

    Raises PipelineError for a job for another kind of machine, and for a default kernel that writes beside its
    outputs; FrontendError for damaged objects.
    """

    def __init__(self, package: Package, disturbance: Disturbance):
        self._head = head = package.about(JobHead)
        here = machine_facts()
        if kind_of(head.machine) != kind_of(here):
            raise PipelineError(expectation("measuring", f"kernels for {spelled(here)}", spelled(head.machine)))
        self.protocol = head.protocol
        self._package, self._disturbance = package, disturbance
        # The CPU time of a single thread excludes the time that others use its processor.
        self._clock = time.thread_time if self.protocol.threads == 1 else time.perf_counter
        self._pool = ThreadPool(linked_pool(package.part(POOL)), self.protocol.threads)
        self._refused = RefusedMemory(Code({REFUSED: self._pool.code.refused}))
        inputs = package.params()
        self._weights = frozenset(head.weights)
        # The inputs of the job come last, because times are for them.
        self._trials = [self._harder(inputs), inputs]
        kinds = [(array.shape, array.dtype) for array in inputs] + list(head.outputs)
        scratch = max(code.workspace for code in head.codes)
        buffers = [Guarded(kind, number) for number, kind in enumerate([*kinds, ((scratch,), np.dtype(np.uint8))])]
        self._inputs, self._outputs = buffers[: len(inputs)], buffers[len(inputs) : -1]
        self._workspace = buffers[-1]
        self._held: list[Array | None] = [None] * len(inputs)
        self._copies: list[Array] = []
        self._pointers = self._rotated()
        self._turn = 0
        self._idle = self._idle_seconds()
        self._default = self._kernel(0)
        self._expected = [self._results(self._default, trial) for trial in range(len(self._trials))]
        self._number = self._grown(self._default)

    def measured(self, candidate: int) -> Outcome:
        """Verify and time a candidate, by its number from 0 on."""
        start = time.perf_counter()
        try:
            kernel = self._kernel(candidate + 1)
            for trial in range(len(self._trials)):
                if reason := self._wrong(kernel, trial):
                    return Failed("wrong", reason)
            outcome = self._timed(kernel, start + self.protocol.seconds * _PART)
        except WhenceError as error:
            return Failed("error", str(error))
        if reason := self._differences(len(self._trials) - 1):
            return Failed("wrong", f"after {self._turn} calls: {reason}")
        return outcome

    def _harder(self, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """Return inputs that test a kernel harder; weights stay as they are."""
        return tuple(
            array if number in self._weights else adversarial(array, number) for number, array in enumerate(inputs)
        )

    def _rotated(self) -> list[tuple[int, ...]]:
        """Return the addresses of inputs and outputs, once for each copy of the weights."""
        inputs = [buffer.address for buffer in self._inputs]
        outputs = [buffer.address for buffer in self._outputs]
        sizes = {number: _padded(self._inputs[number].bytes.size) for number in sorted(self._weights)}
        total = sum(sizes.values())
        count = max(1, min(ceil(self.protocol.rotate_bytes / total), _COPIES)) if total else 1
        rows = [(*inputs, *outputs)]
        if count == 1:
            return rows
        memory = lasting_empty(((count - 1) * total,), np.uint8)
        self._copies.append(memory)
        at = 0
        for _ in range(count - 1):
            addresses = list(inputs)
            for number, size in sizes.items():
                weight = _bytes(self._trials[0][number])
                memory[at : at + weight.size] = weight
                addresses[number] = address(memory) + at
                at += size
            rows.append((*addresses, *outputs))
        return rows

    def _kernel(self, number: int) -> Kernel:
        code = self._head.codes[number]
        name = f"candidate {number - 1}" if number else "default kernel"
        elf = Elf.of(bytes(self._package.part(f"{CODE}{number}")), name)
        linked = link([elf], [code.symbol], self._pool.code.imports)
        common = (*code.sizes, self._workspace.address, self._pool.handle)
        return Kernel(linked, code.symbol, [(*row, *common) for row in self._pointers], len(self._pointers[0]))

    def _results(self, kernel: Kernel, trial: int) -> list[Guarded]:
        """Return the outputs of the default kernel, write-protected."""
        self._run(kernel, trial)
        if fault := self._strayed(trial):
            raise PipelineError(expectation("default kernel", "one that writes its outputs alone", f"one that {fault}"))
        kept: list[Guarded] = []
        for output in self._outputs:
            copy = Guarded((output.array.shape, output.array.dtype))
            copy.bytes[...] = output.bytes
            copy.writable(False)
            kept.append(copy)
        return kept

    def _run(self, kernel: Kernel, trial: int) -> None:
        for number, array in enumerate(self._trials[trial]):
            # A kernel that changed its inputs has failed, so that inputs in place are intact.
            if self._held[number] is not array:
                self._inputs[number].array[...] = self._held[number] = array
        for buffer in (*self._outputs, self._workspace):
            buffer.bytes[...] = _FILLS[trial]
        count = self._refused.count
        kernel.call(*kernel.arguments[0])
        self._refused.check(count)

    def _wrong(self, kernel: Kernel, trial: int) -> str:
        """Run a kernel and return the reason why it is wrong; "" if nothing shows that it is."""
        self._run(kernel, trial)
        return self._differences(trial)

    def _differences(self, trial: int) -> str:
        if fault := self._strayed(trial):
            return fault
        for number, (output, expected) in enumerate(zip(self._outputs, self._expected[trial], strict=True)):
            if differences := difference(expected.array, output.array):
                return f"output {number}: {differences}"
        return ""

    def _strayed(self, trial: int) -> str:
        """Name the memory that a kernel wrote without permission; "" if there is none."""
        buffers = {
            **{f"input {number}": buffer for number, buffer in enumerate(self._inputs)},
            **{f"output {number}": buffer for number, buffer in enumerate(self._outputs)},
            "the workspace": self._workspace,
        }
        for name, buffer in buffers.items():
            if not buffer.intact():
                return f"writes beside {name}"
        for number, (buffer, array) in enumerate(zip(self._inputs, self._trials[trial], strict=True)):
            if not np.array_equal(buffer.bytes, _bytes(array)):
                return f"changes input {number}"
        return ""

    def _timed(self, kernel: Kernel, end: float) -> Measured:
        """Alternate the default and a candidate; no more alternations begin after `end`."""
        number = self._grown(kernel)
        pairs, disturbed, repeats = list[tuple[float, float]](), 0, _REPEATS
        while len(pairs) < self.protocol.pairs:
            before = self._disturbance.read()
            pair = self._pair(kernel, number, bool(len(pairs) % 2))
            was_disturbed = self._disturbance.between(before, self._disturbance.read())
            late = time.perf_counter() > end
            if was_disturbed and repeats and not late:
                repeats -= 1
                continue
            pairs.append(pair)
            disturbed += was_disturbed
            if late:
                break
        defaults, seconds = zip(*pairs, strict=True)
        ratios = tuple(default / own for default, own in pairs)
        return Measured(ratios, float(np.median(defaults)), float(np.median(seconds)), disturbed)

    def _pair(self, kernel: Kernel, number: int, turned: bool) -> tuple[float, float]:
        """Return the seconds of a call of the default and of a kernel, which comes first when `turned`."""
        if turned:
            own, default = self._seconds(kernel, number), self._seconds(self._default, self._number)
        else:
            default, own = self._seconds(self._default, self._number), self._seconds(kernel, number)
        return default, own

    def _seconds(self, kernel: Kernel, number: int) -> float:
        """Return the mean seconds of a call in a batch, without Python's time for a call."""
        seconds = kernel.batch(number, self._turn, self._clock) / number
        self._turn += number
        return max(seconds - self._idle, seconds / 100)

    def _grown(self, kernel: Kernel) -> int:
        """Return a number of calls of a kernel that takes as long as a batch has to."""
        number, least = 1, self.protocol.batch_seconds
        while (seconds := kernel.batch(number, self._turn, self._clock)) < least:
            self._turn += number
            number = grown(number, seconds, least)
        return number

    def _idle_seconds(self) -> float:
        """Return the seconds of an empty call; 0 if the pool has no idle loop to call."""
        if not self._pool.code.spin:
            return 0.0
        count = len(self._pointers[0]) + 2
        code = Code({"spin": self._pool.code.spin})
        idle = Kernel(code, "spin", [(0,) * count], count - 2)
        return min(idle.batch(_IDLE, 0, self._clock) for _ in range(5)) / _IDLE


def _bytes(array: Array) -> Tensor:
    """Return the bytes of an array in the order of its elements."""
    return cast(Any, np.ascontiguousarray(array)).reshape(-1).view(np.uint8)


def _padded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
