"""The results of a compilation: a program with its code and parameters, and where all of it came from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from io import StringIO
from typing import Protocol

from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.printer import Printer

from ..lowering.kernel.tuned import Applied
from ..lowering.llvm_to_native.target import Target
from ..provenance.ledger import Ledger
from ..runtime.program import program
from ..runtime.program.program import Program
from ..runtime.values.tensors import TensorSpec
from ..support.dtypes import Array
from .lifetimes import Plan
from .size_values import Formula


class KernelCode(Protocol):
    """The part of a `lowering.kernel.Kernel` that planning and linking need."""

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

    @property
    def sizes(self) -> int:
        """The number of sizes that it takes behind its buffers."""
        ...

    @property
    def sites(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Per access that it tests: the buffer, and the slots of the ops that access it."""
        ...

    @property
    def tiles(self) -> bool:
        """Return whether its code multiplies tiles."""
        ...


@dataclass(frozen=True)
class Call:
    """One kernel call of the main program, and the layers behind it."""

    run: program.Call
    """The call as the runtime knows it."""
    layers: tuple[LocationAttr, ...]
    """Per op of the primitive function's block (a kernel's "slot") its location: twins share code, not layers."""
    location: LocationAttr

    @property
    def kernel(self) -> int:
        """Index into the artifact's kernels."""
        return self.run.kernel

    @property
    def name(self) -> str:
        """The primitive function's."""
        return self.run.name


@dataclass(frozen=True)
class Assembly:
    """The main function with every tensor in its place."""

    program: Program
    params: tuple[Array, ...]
    """C-contiguous at 64-byte boundaries; never written."""
    calls: tuple[Call, ...]
    """The calls of `program`, with their layers."""
    plan: Plan
    returned: LocationAttr
    """The location of the main function's results, for which copies are made."""
    formulas: tuple[Formula, ...]
    """The values that the program computes from its sizes, in order, behind the symbols."""

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        return self.program.inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        return self.program.outputs


@dataclass(frozen=True)
class Snapshot:
    """A module as it was after a stage; it must not change any more (hand in a clone)."""

    stage: str
    source: ModuleOp | Callable[[], ModuleOp]
    """The module, or a function that reads it when somebody first asks."""
    kernel: str = ""
    """The symbol of the kernel that it is of; "" for one of the whole model."""

    @cached_property
    def module(self) -> ModuleOp:
        return self.source if isinstance(self.source, ModuleOp) else self.source()

    @cached_property
    def text(self) -> str:
        """The module printed with locations; printed when first looked at."""
        out = StringIO()
        Printer(out, print_debuginfo=True).print_op(self.module)
        return out.getvalue()


@dataclass(frozen=True)
class Artifact(Assembly):
    """A compiled model; `loading.load` makes it run."""

    kernels: tuple[KernelCode, ...]
    """Unique; their symbols differ. In the order of `program.kernels`."""
    main: bytes
    """Object file that defines `whence_main` (see main_program.py)."""
    target: Target
    """The machine that the code is for."""
    ledger: Ledger
    snapshots: tuple[Snapshot, ...] = ()
    main_assembly: str = ""
    """The LLVM IR from which `main` was assembled; its `.loc` lines number the calls, then the copies, from 1."""
    passes: tuple[Snapshot, ...] = ()
    """The module, and each kernel, before the first pass and after every one, where that was asked for."""
    tuned: Mapping[str, Applied] = field(default_factory=dict[str, Applied])
    """Symbol of a kernel -> what tuning decided about it."""
