"""The parts of a deployed model, as plain data: its calls, in order, and the places of all their tensors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from ..values.tensors import TensorSpec
from .index_bounds import IndexBound
from .sizes import Number, Sizes, Spec, Values, closed, number

ENTRY = "whence_main"
"""The symbol of the compiled program.

`void @whence_main(ptr io, ptr params, ptr arena, ptr pool)`: `io` is an array of pointers, inputs then outputs;
`params` one of parameters; `arena` a 64-byte aligned block of `arena_bytes`; `pool` a thread pool's handle or null.
"""

SIZES_ENTRY = "whence_sizes"
"""The symbol of the function that computes the values of a program with sizes.

`void @whence_sizes(ptr values)`: `values` is an array of i64; the function reads the first ones, the symbols, and
writes the others. `@whence_main` then takes the same array after its other arguments.
"""

PARALLEL_FOR = "whence_parallel_for"
"""The symbol through which kernels reach the thread pool."""

ALLOC_REFUSED = "whence_alloc_refused"
"""`void (i64 bytes)`: the function that a kernel of open sizes calls before it returns because it got no memory."""
TILES_ALLOWED = "whence_tiles_allowed"
"""`i32 ()`: the function that kernels with tiles and vectors ask, 1 if the process may use tiles, else 0."""
NEED_TILES = "whence_need_tiles"
"""`void ()`: the function that the program of kernels with tiles calls first, which ends a process that may not use
them; whoever can raise an error has asked before (see tiles.py)."""
REFUSED = "whence_refused"
"""Two i64: the number of such calls, and the bytes of the last one."""


class Slot(NamedTuple):
    """The place of a tensor: input or output number `at`, parameter number `at`, or arena byte `at`."""

    kind: Literal["io", "param", "arena"]
    at: Number

    @property
    def place(self) -> int:
        """`at`, which no size decides."""
        assert isinstance(self.at, int)
        return self.at

    def known(self, values: Values) -> Slot:
        """The slot for values of the sizes."""
        return Slot(self.kind, number(self.at, values))


class Site(NamedTuple):
    """An access that a kernel tests as it runs: the buffer, and the slots of the ops that access it."""

    buffer: str
    slots: tuple[int, ...]


@dataclass(frozen=True)
class KernelEntry:
    """The symbol of a kernel and the accesses that it can report."""

    symbol: str
    """Name of `void @symbol(ptr inputs..., ptr outputs..., i64 sizes..., ptr workspace, ptr pool)`."""
    sites: tuple[Site, ...] = ()
    """The accesses by the numbers that it reports; none if it tests nothing."""
    tiles: bool = False
    """True if its code multiplies tiles."""


@dataclass(frozen=True)
class Call:
    """A kernel call."""

    kernel: int
    """Index into the program's kernels."""
    inputs: tuple[Slot, ...]
    outputs: tuple[Slot, ...]
    workspace: Slot | None
    results: tuple[Spec, ...]
    """The specs of the outputs."""
    name: str
    """The name of the primitive function."""
    layers: tuple[str, ...] = ()
    """The names of the layers that it serves."""
    places: tuple[tuple[str, ...], ...] = ()
    """For each slot of a kernel that tests its accesses, the layers behind it as an error names them."""
    sizes: tuple[Number, ...] = ()
    """The sizes that the kernel takes."""


class Copy(NamedTuple):
    """An output that is an input, a parameter or another output of the program: its bytes are copied at the end."""

    source: Slot
    target: Slot
    nbytes: Number


@dataclass(frozen=True)
class Program:
    """The main function in steps: calls in order, then copies."""

    calls: tuple[Call, ...]
    copies: tuple[Copy, ...]
    kernels: tuple[KernelEntry, ...]
    inputs: tuple[Spec, ...]
    outputs: tuple[Spec, ...]
    arena_bytes: int
    """The bytes that a run needs for intermediate tensors and workspaces; with sizes, the bound of that value, or 0."""
    sizes: Sizes | None = None
    """The sizes of arrays that the program takes."""
    indices: tuple[IndexBound, ...] = ()
    """The inputs whose indices every call checks."""
    random: int | None = None
    """The parameter that holds the state of its random numbers, if it draws any."""

    @property
    def checked(self) -> bool:
        """Return whether some kernel tests its accesses."""
        return any(kernel.sites for kernel in self.kernels)

    @property
    def tiles(self) -> bool:
        """Return whether some kernel multiplies tiles."""
        return any(kernel.tiles for kernel in self.kernels)

    def at(self, values: Values) -> Program:
        """Return the program for these values of its sizes: a static program."""
        assert self.sizes is not None

        def static_specs(specs: Iterable[TensorSpec]) -> tuple[TensorSpec, ...]:
            return tuple(closed(spec, values) for spec in specs)

        def static_call(call: Call) -> Call:
            return replace(
                call,
                inputs=tuple(slot.known(values) for slot in call.inputs),
                outputs=tuple(slot.known(values) for slot in call.outputs),
                workspace=None if call.workspace is None else call.workspace.known(values),
                results=static_specs(call.results),
                sizes=tuple(number(size, values) for size in call.sizes),
            )

        return Program(
            calls=tuple(map(static_call, self.calls)),
            copies=tuple(
                Copy(copy.source.known(values), copy.target.known(values), number(copy.nbytes, values))
                for copy in self.copies
            ),
            kernels=self.kernels,
            inputs=static_specs(self.inputs),
            outputs=static_specs(self.outputs),
            arena_bytes=values[self.sizes.arena],
            indices=tuple(bound.known(values) for bound in self.indices),
            random=self.random,
        )


@dataclass(frozen=True)
class Code:
    """The addresses of linked code, mapped as long as this object lives: keep it as long as you keep an address."""

    addresses: dict[str, int]
    """Symbol -> address."""
    alive: object = None
    """The object that keeps the code mapped."""

    def __getitem__(self, symbol: str) -> int:
        return self.addresses[symbol]
