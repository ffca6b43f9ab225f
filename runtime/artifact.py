"""What a compilation leaves behind: kernels, the program that calls them, parameters, and where all of it came from."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from io import StringIO
from typing import Literal, NamedTuple, Protocol

from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.printer import Printer

from ..planning.lifetimes import Plan
from ..provenance.ledger import Ledger
from ..support.dtypes import Array
from .tensors import TensorSpec


class KernelCode(Protocol):
    """What the runtime needs of a `lowering.kernel.Kernel`."""

    @property
    def symbol(self) -> str:
        """Name of `void @symbol(ptr inputs..., ptr outputs..., ptr workspace, ptr pool)`."""
        ...

    @property
    def object(self) -> bytes:
        """Object file that defines the symbol."""
        ...

    @property
    def workspace(self) -> int:
        """Bytes of scratch it wants; 0: it takes null."""
        ...


class Slot(NamedTuple):
    """Where a tensor lies: number `at` of the inputs and outputs, number `at` of the parameters, or arena byte `at`."""

    kind: Literal["io", "param", "arena"]
    at: int


@dataclass(frozen=True)
class Call:
    """One kernel call of the main program."""

    kernel: int
    """Index into the artifact's kernels."""
    inputs: tuple[Slot, ...]
    outputs: tuple[Slot, ...]
    workspace: Slot | None
    results: tuple[TensorSpec, ...]
    """What the outputs are."""
    layers: tuple[LocationAttr, ...]
    """Per op of the primitive function's block (a kernel's "slot") its location: twins share code, not layers."""
    location: LocationAttr
    name: str
    """The primitive function's."""


class Copy(NamedTuple):
    """An output that is an input, a parameter or another output of the program: its bytes are copied at the end."""

    source: Slot
    target: Slot
    nbytes: int
    location: LocationAttr


@dataclass(frozen=True)
class Program:
    """The main function, ready to be compiled or stepped through: calls in order, then copies."""

    calls: tuple[Call, ...]
    copies: tuple[Copy, ...]
    params: tuple[Array, ...]
    """C-contiguous at 64-byte boundaries; never written."""
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    plan: Plan


@dataclass(frozen=True)
class Snapshot:
    """A relay module as it was after a stage; the module must not change any more (hand in a clone)."""

    stage: str
    module: ModuleOp

    @cached_property
    def text(self) -> str:
        """The module printed with locations; printed when first looked at."""
        out = StringIO()
        Printer(out, print_debuginfo=True).print_op(self.module)
        return out.getvalue()


@dataclass(frozen=True)
class Artifact(Program):
    """A compiled model: what `executor.Runner` runs."""

    kernels: tuple[KernelCode, ...]
    """Unique; their symbols differ."""
    main: bytes
    """Object file that defines `whence_main` (see main_program.py)."""
    ledger: Ledger = field(default_factory=Ledger)
    snapshots: tuple[Snapshot, ...] = ()
    main_assembly: str = ""
    """What `main` was assembled from; its `.loc` lines number the calls, then the copies, from 1."""

    @staticmethod
    def of(
        program: Program,
        kernels: tuple[KernelCode, ...],
        main: bytes,
        ledger: Ledger | None = None,
        snapshots: tuple[Snapshot, ...] = (),
        main_assembly: str = "",
    ) -> Artifact:
        """The artifact of an assembled program."""
        return Artifact(
            **vars(program),
            kernels=kernels,
            main=main,
            ledger=ledger or Ledger(),
            snapshots=snapshots,
            main_assembly=main_assembly,
        )
