"""Runs a program that takes any sizes: they are read off the arrays, and one native call computes with them."""

from __future__ import annotations

import ctypes
import struct
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from threading import Lock
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ..support.dtypes import Array
from ..support.errors import FrontendError
from .bounds import BoundErrors
from .executor import Runner, Visit
from .external import ExternalFunctions
from .index_bounds import IndexBound, check_indices
from .memory import RefusedMemory, asked_for, refused
from .program import ENTRY, SIZES_ENTRY, Call, Code, Copy, Program, Slot
from .sizes import SizedSpec, Sizes
from .tensors import Arguments, Tensor, address, check_inputs, lasting_empty, readable, shape_of
from .threads import ThreadPool

KEPT = 1024
"""For how many shapes of inputs what follows from them is kept; those not met for longest go first."""


@dataclass(frozen=True)
class Known:
    """What follows from the shapes of inputs."""

    symbols: tuple[int, ...]
    values: npt.NDArray[np.int64]
    address: int
    arena_bytes: int
    output_bytes: int
    arguments: Arguments
    indices: tuple[IndexBound, ...]


class SizedRunner(Runner):
    """A loaded program with sizes. Safe to use from several threads at once: every run has an arena of its own.

    An arena is as large as the largest run so far took it, and kept; where all sizes have bounds, as large as any run
    may take it from the first one on.
    """

    def __init__(
        self,
        program: Program,
        params: Sequence[Array],
        code: Code,
        bounds: BoundErrors | None = None,
        externals: ExternalFunctions | None = None,
    ):
        super().__init__(program, params, code, bounds, externals)
        assert program.sizes is not None
        self.sizes: Sizes = program.sizes
        self._specs = cast("tuple[SizedSpec, ...]", program.inputs)
        self._given = (bounds, externals)
        prototype = ctypes.CFUNCTYPE(None, ctypes.c_char_p, *[ctypes.c_void_p] * 4)
        self._sized_main = prototype(code[ENTRY])
        self._derive = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code[SIZES_ENTRY])
        self._pack_io = struct.Struct(f"{len(program.inputs) + len(program.outputs)}P").pack
        self._known: OrderedDict[tuple[tuple[int, ...], ...], Known] = OrderedDict()
        self._lock = Lock()
        self._memory = RefusedMemory(code)

    def run(self, inputs: Sequence[Array] | Mapping[str, object], pool: ThreadPool) -> list[Tensor]:
        if self._bounds is not None:
            with self._bounds.lock:
                return self.walk(inputs, pool, _ignore)
        return self._run(inputs, pool.handle)

    def launch(self, arrays: Sequence[Array], pool: ThreadPool, handle: int) -> list[Tensor]:
        return self.run(arrays, pool) if self._bounds is not None else self._run(arrays, handle)

    def met(self, inputs: Sequence[Array] | Mapping[str, object]) -> tuple[Sequence[Array], Known]:
        """The inputs in order, and what follows from their shapes.

        Raises FrontendError when these are not what the program takes.
        """
        arrays, known = self._met(inputs)
        if arrays is not None and known is not None:
            return arrays, known
        arrays = self._arrays(inputs)
        return arrays, self._for(arrays)

    def run_met(self, arrays: Sequence[Array], known: Known, pool: ThreadPool) -> list[Tensor]:
        """As `run`, for what `met` gave."""
        return self.launch_met(arrays, known, pool, pool.handle)

    def launch_met(self, arrays: Sequence[Array], known: Known, pool: ThreadPool, handle: int) -> list[Tensor]:
        """As `launch`, for what `met` gave."""
        return self.run(arrays, pool) if self._bounds is not None else self._launch(arrays, known, handle)

    def _met(self, inputs: Sequence[Array] | Mapping[str, object]) -> tuple[Sequence[Array] | None, Known | None]:
        """The inputs in order where they are arrays, and what is known of their shapes."""
        given = self._in_order(inputs)
        if given is None or not all(isinstance(array, np.ndarray) for array in given):
            return None, None
        arrays = cast("Sequence[Array]", given)
        return arrays, self._known.get(tuple([array.shape for array in arrays]))

    def _run(self, inputs: Sequence[Array] | Mapping[str, object], handle: int) -> list[Tensor]:
        return self._launch(*self.met(inputs), handle)

    def _launch(self, arrays: Sequence[Array], known: Known, handle: int) -> list[Tensor]:
        addresses = known.arguments.ready(arrays)
        if addresses is None:
            # They are not as kernels read them, or of other dtypes.
            arrays = self._arrays(arrays)
            addresses = [address(array) for array in arrays]
        check_indices(known.indices, self._specs, arrays)
        arena = self._arena_of(known.arena_bytes)
        try:
            outputs, places = known.arguments.outputs()
        except (MemoryError, ValueError) as error:
            raise refused(known.output_bytes, "outputs") from error
        refusals = self._memory.count
        self._sized_main(
            self._pack_io(*addresses, *places), self._params_address, arena[1], handle or None, known.address
        )
        self._arenas.append(arena)
        self._memory.check(refusals)
        if self._externals is not None:
            self._externals.check()
        return outputs

    def _arena_of(self, size: int) -> tuple[Tensor, int]:
        """Memory of at least that many bytes for one run, and its address."""
        try:
            arena = self._arenas.pop()
        except IndexError:
            arena = None
        if arena is None or arena[0].nbytes < size:
            del arena
            memory = self._new_arena(max(1, size))
            return memory, address(memory)
        return arena

    def _new_arena(self, size: int) -> Tensor:
        """Memory for any run, where sizes have bounds and there is so much; else of `size` bytes."""
        if self.program.arena_bytes > size:
            try:
                return lasting_empty((self.program.arena_bytes,), np.uint8)
            except (MemoryError, ValueError):
                # Bounds may be further than any run goes.
                pass
        with asked_for(size, "intermediate tensors"):
            return lasting_empty((size,), np.uint8)

    def _arrays(self, inputs: Sequence[Array] | Mapping[str, object]) -> list[Array]:
        """The inputs in order, of the right dtypes and ranks, such as kernels can read."""
        if not isinstance(inputs, Mapping):
            if len(inputs) != len(self._specs):
                expected = ", ".join(map(str, self._specs)) or "none"
                raise FrontendError(f"inputs: expected {len(self._specs)} ({expected}), got {len(inputs)}")
            inputs = {spec.name: value for spec, value in zip(self._specs, inputs, strict=True)}
        # An extent that is open fits every extent of what is given.
        met = [_fitting(spec, inputs.get(spec.name)) for spec in self._specs]
        return [readable(array) for array in check_inputs(met, inputs)]

    def _for(self, arrays: Sequence[Array]) -> Known:
        key = tuple([array.shape for array in arrays])
        with self._lock:
            if (known := self._known.get(key)) is not None:
                self._known.move_to_end(key)
                return known
        values = np.zeros(self.sizes.count, np.int64)
        symbols = self.sizes.read(self._specs, arrays)
        values[: len(symbols)] = symbols
        self._derive(address(values))
        numbers: list[int] = values.tolist()
        self.sizes.check(self._specs, arrays, numbers)
        kinds = [
            [(cast(SizedSpec, spec).extents(numbers), spec.dtype) for spec in specs]
            for specs in (self.program.inputs, self.program.outputs)
        ]
        written = sum(prod(shape) * dtype.itemsize for shape, dtype in kinds[1])
        arena = numbers[self.sizes.arena]
        indices = tuple(bound.at(numbers) for bound in self.program.indices)
        known = Known(tuple(symbols), values, address(values), arena, written, Arguments(*kinds), indices)
        with self._lock:
            self._known[key] = known
            if len(self._known) > KEPT:
                self._known.popitem(last=False)
        return known

    def at(self, inputs: Sequence[Array] | Mapping[str, object]) -> tuple[Runner, list[Array]]:
        """What runs the program for the sizes of these inputs only, kernel by kernel; and the inputs in order."""
        arrays = self._arrays(inputs)
        numbers: list[int] = self._for(arrays).values.tolist()
        return Runner(_program_for(self.program, numbers), self.params, self._code, *self._given), arrays

    def walk(self, inputs: Sequence[Array] | Mapping[str, object], pool: ThreadPool, visit: Visit) -> list[Tensor]:
        runner, arrays = self.at(inputs)
        return runner.walk(arrays, pool, visit)

    def profile(
        self, inputs: Sequence[Array] | Mapping[str, object], pool: ThreadPool, repeat: int = 10
    ) -> npt.NDArray[np.float64]:
        runner, arrays = self.at(inputs)
        return runner.profile(arrays, pool, repeat)


def runner_of(program: Program) -> type[Runner]:
    """What runs a program."""
    return Runner if program.sizes is None else SizedRunner


def _fitting(spec: SizedSpec, given: object) -> SizedSpec:
    """What an input is expected to be, with the extents of what is given where sizes are open, or layers take no other.

    Of these `Sizes.check` says which layers.
    """
    shape = shape_of(given)
    if len(shape) != len(spec.shape):
        return spec
    layers = spec.layers or ((),) * len(shape)
    fitting = [m if at >= 0 or by else n for n, m, at, by in zip(spec.shape, shape, spec.places, layers, strict=True)]
    return replace(spec, shape=tuple(fitting))


def _program_for(program: Program, values: Sequence[int]) -> Program:
    """The program with numbers in the place of values."""
    sizes = program.sizes
    assert sizes is not None

    def slot(one: Slot) -> Slot:
        return Slot("arena", values[one.at]) if one.kind == "arena" else one

    def call(one: Call) -> Call:
        return replace(
            one,
            inputs=tuple(map(slot, one.inputs)),
            outputs=tuple(map(slot, one.outputs)),
            workspace=None if one.workspace is None else slot(one.workspace),
            results=tuple(_closed(spec, values) for spec in one.results),
            sizes=tuple(values[at] for at in one.sizes),
        )

    return Program(
        tuple(map(call, program.calls)),
        tuple(Copy(slot(one.source), slot(one.target), values[one.nbytes]) for one in program.copies),
        program.kernels,
        tuple(_closed(spec, values) for spec in program.inputs),
        tuple(_closed(spec, values) for spec in program.outputs),
        values[sizes.arena],
        indices=tuple(bound.at(values) for bound in program.indices),
    )


def _closed(spec: Any, values: Sequence[int]) -> SizedSpec:
    shape = cast(SizedSpec, spec).extents(values)
    return SizedSpec(spec.name, shape, spec.dtype, (-1,) * len(shape), tuple(map(str, shape)))


def _ignore(call: Call, seconds: float, outputs: list[Tensor]) -> None:
    """A visit to nobody."""
