"""Candidates for a kernel beside the default one, in this process: first their results, then their times.

A job is a sealed package of a `JobHead`. The object of each of its codes is the part `code N`. The part `pool` is the
object of the thread pool, and the params are the inputs. `measuring_slot.py` has a process do this.
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
"""Parts of a job: the thread pool's object; with its number, that of the default kernel (0) and of each candidate."""
_FILLS = 0xFF, 0x5A
"""Bytes that outputs and workspaces are full of before a call with the first and with the second set of inputs. Of the
first ones floats are NaN; no element that is never written is right with both."""
_COPIES = 4096
"""The most copies of weights: as many small ones are found in no first cache."""
_REPEATS = 4
"""The most alternations of a candidate that are measured again, because others disturbed them."""
_PART = 0.6
"""The part of its time after which a candidate gets no further alternation."""
_IDLE = 200
"""Calls that do nothing, of which the mean tells what a call costs."""

Call = Callable[..., None]


class Kernel:
    """A linked kernel, and with which arguments it is called: as many tuples as there are copies of the weights."""

    def __init__(self, code: Code, symbol: str, arguments: Sequence[tuple[int, ...]], pointers: int):
        """pointers: how many of the arguments come before the sizes."""
        self._code = code
        sizes = len(arguments[0]) - pointers - 2
        kinds = [*[ctypes.c_void_p] * pointers, *[ctypes.c_int64] * sizes, *[ctypes.c_void_p] * 2]
        self.call: Call = ctypes.CFUNCTYPE(None, *kinds)(code[symbol])
        self.arguments = arguments

    def batch(self, number: int, turn: int, clock: Callable[[], float]) -> float:
        """Seconds of `number` calls by a clock, the first with the weights' copy number `turn`."""
        call, copies = self.call, len(self.arguments)
        order = [self.arguments[step % copies] for step in range(turn, turn + number)]
        if number > 1:
            # Whatever ran before left its own in the nearest caches.
            call(*self.arguments[(turn - 1) % copies])
        start = clock()
        for arguments in order:
            call(*arguments)
        return clock() - start


class Bench:
    """Buffers for the kernels of a job, the default kernel, and what it made of the inputs.

    Raises PipelineError for a job of another kind of machine, and for a default kernel that leaves its outputs;
    FrontendError for damaged objects.
    """

    def __init__(self, package: Package, disturbance: Disturbance):
        self._head = head = package.about(JobHead)
        here = machine_facts()
        if kind_of(head.machine) != kind_of(here):
            raise PipelineError(expectation("measuring", f"kernels for {spelled(here)}", spelled(head.machine)))
        self.protocol = head.protocol
        self._package, self._disturbance = package, disturbance
        # What others take of a processor is no time of a single thread.
        self._clock = time.thread_time if self.protocol.threads == 1 else time.perf_counter
        self._pool = ThreadPool(linked_pool(package.part(POOL)), self.protocol.threads)
        self._refused = RefusedMemory(Code({REFUSED: self._pool.code.refused}))
        given = package.params()
        self._weights = frozenset(head.weights)
        # Those that were given last: times are for them.
        self._trials = [self._harder(given), given]
        kinds = [(array.shape, array.dtype) for array in given] + list(head.outputs)
        scratch = max(code.workspace for code in head.codes)
        buffers = [Guarded(kind, number) for number, kind in enumerate([*kinds, ((scratch,), np.dtype(np.uint8))])]
        self._inputs, self._outputs = buffers[: len(given)], buffers[len(given) : -1]
        self._workspace = buffers[-1]
        self._held: list[Array | None] = [None] * len(given)
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
                if why := self._wrong(kernel, trial):
                    return Failed("wrong", why)
            outcome = self._timed(kernel, start + self.protocol.seconds * _PART)
        except WhenceError as error:
            return Failed("error", str(error))
        if why := self._differences(len(self._trials) - 1):
            return Failed("wrong", f"after {self._turn} calls: {why}")
        return outcome

    def _harder(self, given: Sequence[Array]) -> tuple[Array, ...]:
        """Return inputs that try a kernel harder; weights are what they are."""
        return tuple(
            array if number in self._weights else adversarial(array, number) for number, array in enumerate(given)
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
            places = list(inputs)
            for number, size in sizes.items():
                weight = _bytes(self._trials[0][number])
                memory[at : at + weight.size] = weight
                places[number] = address(memory) + at
                at += size
            rows.append((*places, *outputs))
        return rows

    def _kernel(self, number: int) -> Kernel:
        code = self._head.codes[number]
        name = f"candidate {number - 1}" if number else "default kernel"
        elf = Elf.of(bytes(self._package.part(f"{CODE}{number}")), name)
        linked = link([elf], [code.symbol], self._pool.code.imports)
        rest = (*code.sizes, self._workspace.address, self._pool.handle)
        return Kernel(linked, code.symbol, [(*row, *rest) for row in self._pointers], len(self._pointers[0]))

    def _results(self, kernel: Kernel, trial: int) -> list[Guarded]:
        """Return the outputs of the default kernel, which nobody can write to."""
        self._run(kernel, trial)
        if why := self._strayed(trial):
            raise PipelineError(expectation("default kernel", "one that writes its outputs alone", f"one that {why}"))
        kept: list[Guarded] = []
        for output in self._outputs:
            copy = Guarded((output.array.shape, output.array.dtype))
            copy.bytes[...] = output.bytes
            copy.writable(False)
            kept.append(copy)
        return kept

    def _run(self, kernel: Kernel, trial: int) -> None:
        for number, array in enumerate(self._trials[trial]):
            # No kernel that goes on has changed them.
            if self._held[number] is not array:
                self._inputs[number].array[...] = self._held[number] = array
        for buffer in (*self._outputs, self._workspace):
            buffer.bytes[...] = _FILLS[trial]
        count = self._refused.count
        kernel.call(*kernel.arguments[0])
        self._refused.check(count)

    def _wrong(self, kernel: Kernel, trial: int) -> str:
        """Return why a kernel is wrong; "" if nothing shows that it is."""
        self._run(kernel, trial)
        return self._differences(trial)

    def _differences(self, trial: int) -> str:
        if why := self._strayed(trial):
            return why
        for number, (output, expected) in enumerate(zip(self._outputs, self._expected[trial], strict=True)):
            if why := difference(expected.array, output.array):
                return f"output {number}: {why}"
        return ""

    def _strayed(self, trial: int) -> str:
        """Return what a kernel wrote that it may not write; "" for nothing."""
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
        """Return the seconds of a call without what Python takes for it: the mean of a batch."""
        seconds = kernel.batch(number, self._turn, self._clock) / number
        self._turn += number
        return max(seconds - self._idle, seconds / 100)

    def _grown(self, kernel: Kernel) -> int:
        """Return how many calls of a kernel take as long as a batch has to."""
        number, least = 1, self.protocol.batch_seconds
        while (seconds := kernel.batch(number, self._turn, self._clock)) < least:
            self._turn += number
            number = grown(number, seconds, least)
        return number

    def _idle_seconds(self) -> float:
        """Return the seconds of a call that does nothing; 0 where there is no such function."""
        if not self._pool.code.spin:
            return 0.0
        count = len(self._pointers[0]) + 2
        code = Code({"spin": self._pool.code.spin})
        idle = Kernel(code, "spin", [(0,) * count], count - 2)
        return min(idle.batch(_IDLE, 0, self._clock) for _ in range(5)) / _IDLE


def _bytes(array: Array) -> Tensor:
    """The bytes of an array in the order of its elements."""
    return cast(Any, np.ascontiguousarray(array)).reshape(-1).view(np.uint8)


def _padded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
