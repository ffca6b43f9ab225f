"""The parts of a deployed model, as plain data: its calls, in order, and where every tensor of them lies."""

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
"""The symbol of what computes the values of a program with sizes.

`void @whence_sizes(ptr values)`: `values` is an array of i64, of which the first ones, the symbols, are given and the
others are written. Its `@whence_main` takes the same array behind its other arguments.
"""

PARALLEL_FOR = "whence_parallel_for"
"""The symbol through which kernels reach the thread pool."""

ALLOC_REFUSED = "whence_alloc_refused"
"""`void (i64 bytes)`: what a kernel of open sizes calls, before it returns, where it gets no memory."""
REFUSED = "whence_refused"
"""Two i64: how often that happened, and how many bytes were asked for last."""


class Slot(NamedTuple):
    """Where a tensor lies: input or output number `at`, parameter number `at`, or arena byte `at`."""

    kind: Literal["io", "param", "arena"]
    at: Number

    @property
    def place(self) -> int:
        """`at`, where no size decides it."""
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
    """The symbol of a kernel and what it can report."""

    symbol: str
    """Name of `void @symbol(ptr inputs..., ptr outputs..., i64 sizes..., ptr workspace, ptr pool)`."""
    sites: tuple[Site, ...] = ()
    """By the numbers that it reports; none when it tests nothing."""


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
    """The primitive function's."""
    layers: tuple[str, ...] = ()
    """The names of the layers that it serves."""
    places: tuple[tuple[str, ...], ...] = ()
    """Per slot of a kernel that tests its accesses, the layers behind it as an error names them."""
    sizes: tuple[Number, ...] = ()
    """The sizes that the kernel takes."""


class Copy(NamedTuple):
    """An output that is an input, a parameter or another output of the program: its bytes are copied at the end."""

    source: Slot
    target: Slot
    nbytes: Number


@dataclass(frozen=True)
class Program:
    """The main function, ready to be stepped through: calls in order, then copies."""

    calls: tuple[Call, ...]
    copies: tuple[Copy, ...]
    kernels: tuple[KernelEntry, ...]
    inputs: tuple[Spec, ...]
    outputs: tuple[Spec, ...]
    arena_bytes: int
    """The bytes that a run needs for intermediate tensors and workspaces. With sizes a value says it; this is its
    bound, or 0."""
    sizes: Sizes | None = None
    """The sizes of arrays that the program takes."""
    indices: tuple[IndexBound, ...] = ()
    """The inputs whose indices every call checks."""
    random: int | None = None
    """The parameter that is the state of its random numbers, if it draws any."""

    @property
    def checked(self) -> bool:
        """Return whether some kernel tests its accesses."""
        return any(kernel.sites for kernel in self.kernels)

    def at(self, values: Values) -> Program:
        """The program for these values of its sizes: numbers everywhere."""
        assert self.sizes is not None

        def specs(those: Iterable[TensorSpec]) -> tuple[TensorSpec, ...]:
            return tuple(closed(spec, values) for spec in those)

        def call(original: Call) -> Call:
            return replace(
                original,
                inputs=tuple(slot.known(values) for slot in original.inputs),
                outputs=tuple(slot.known(values) for slot in original.outputs),
                workspace=None if original.workspace is None else original.workspace.known(values),
                results=specs(original.results),
                sizes=tuple(number(size, values) for size in original.sizes),
            )

        return Program(
            tuple(map(call, self.calls)),
            tuple(
                Copy(copy.source.known(values), copy.target.known(values), number(copy.nbytes, values))
                for copy in self.copies
            ),
            self.kernels,
            specs(self.inputs),
            specs(self.outputs),
            values[self.sizes.arena],
            indices=tuple(bound.known(values) for bound in self.indices),
            random=self.random,
        )


@dataclass(frozen=True)
class Code:
    """The addresses of linked code. It is mapped as long as this object lives: whoever keeps an address keeps it."""

    addresses: dict[str, int]
    """By symbol."""
    alive: object = None
    """The object that keeps the code where it is."""

    def __getitem__(self, symbol: str) -> int:
        return self.addresses[symbol]
