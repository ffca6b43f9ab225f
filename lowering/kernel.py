"""One primitive function through te, tir and llvm to machine code: the unit of compilation.

A kernel is lowered from a copy of its function whose ops are located at their *slot*, the op's place in the function.
So machine code, printed TIR and the line table know no layers; equal functions of any model share them, and every call
brings its own layers (slot -> location).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path

from xdsl.dialects.builtin import LocationAttr, NameLoc, NoneAttr, StringAttr
from xdsl.ir import Operation
from xdsl.printer import Printer

from ..dialects.relay.core import FuncOp
from ..dialects.relay.operator import Operator
from ..passes.tir.instrument_bound_checkers import sites_of
from ..passes.tir.pipeline import run_tir_passes
from ..provenance.audit import unlocated
from ..provenance.span import fuse, leaf_name, leaves
from ..support.context import PassContext
from .llvm_to_native.compile import Native, compile_text
from .llvm_to_native.emit import emit_module
from .llvm_to_native.target import Target
from .relay_to_te.lower import lower_function
from .relay_to_te.strategy import schedule_function
from .te_to_tir.lower import lower_schedule
from .tir_to_llvm.convert import convert


@cache
def compiler_fingerprint() -> str:
    """A hash of the sources that turn a function into code: a changed compiler must not find its old kernels."""
    digest = hashlib.sha256()
    root = Path(__file__).parent.parent
    for folder in ("dialects", "lowering", "passes", "provenance", "support", "te"):
        for path in sorted((root / folder).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


@dataclass(frozen=True)
class Draft:
    """A kernel before LLVM saw it: all that Python does; `finish` adds the machine code."""

    symbol: str
    workspace: int
    """Bytes of scratch memory that a call needs."""
    tir: str
    """The printed TIR, the source file of the debug info."""
    lines: tuple[tuple[int, ...], ...]
    """Per line of `tir` (line 1 first) the slots behind it."""
    te: str
    """The printed tensor expressions."""
    schedule: str
    """The printed schedule."""
    llvm: str
    """The LLVM IR before optimisation."""
    ops: dict[str, int]
    """Ops per level te, tir and llvm."""
    located: dict[str, int]
    """How many of those have a slot."""
    sites: tuple[tuple[str, tuple[int, ...]], ...]
    """Where accesses are tested as they run (see tir-instrument-bound-checkers): per number buffer and slots."""

    def finish(self, native: Native) -> Kernel:
        return Kernel(**vars(self), object=native.object, assembly=native.assembly)


@dataclass(frozen=True)
class Kernel(Draft):
    """Machine code of a primitive function and where each part of it came from."""

    object: bytes
    """ELF object defining `void @symbol(ptr inputs.., ptr outputs.., ptr workspace, ptr pool)`."""
    assembly: str
    """The machine code as text, with `.loc` directives that name lines of `tir`."""


def slot_location(slot: int) -> LocationAttr:
    return NameLoc(StringAttr(f"#{slot}"), NoneAttr())


def slots_of(location: LocationAttr) -> tuple[int, ...]:
    """The slots behind a location inside a kernel."""
    return tuple(int(leaf_name(leaf)[1:]) for leaf in leaves(location))


def anonymous(func: FuncOp) -> FuncOp:
    """A copy of a primitive function that knows no names: slots for locations, a symbol made of its operators."""
    copy = func.clone()
    slots: list[LocationAttr] = []
    for slot, op in enumerate(copy.block.ops):
        op.location = slot_location(slot)
        slots.append(op.location)
        for result in op.results:
            result.name_hint = None
    copy.location = fuse(slots)
    for argument in copy.block.args:
        argument.name_hint = None
        users = [use.operation.location for use in argument.uses]
        argument.location = fuse(users) if users else copy.location
    names = [op.name.removeprefix("relay.").replace(".", "_") for op in copy.block.ops if isinstance(op, Operator)]
    copy.sym_name = StringAttr("fused_" + "_".join(names)[:80])
    copy.attributes.clear()
    return copy


def printed(op: Operation) -> str:
    stream = StringIO()
    Printer(stream).print_op(op)
    return stream.getvalue()


def kernel_key(func: FuncOp, target: Target) -> str:
    """The cache key of an anonymous function: hex sha256 of all that shapes its code."""
    text = "\n".join((compiler_fingerprint(), target.key, PassContext.current().shapes_code(), printed(func)))
    return hashlib.sha256(text.encode()).hexdigest()


class _LineCounter(StringIO):
    """A stream that knows the line it is at."""

    line = 1

    def write(self, s: str, /) -> int:
        self.line += s.count("\n")
        return super().write(s)


class _LinePrinter(Printer):
    """Remembers the line on which each op starts."""

    def __init__(self, stream: _LineCounter):
        super().__init__(stream)
        self.counter = stream
        self.lines: dict[Operation, int] = {}

    def print_op(self, op: Operation) -> None:
        self.lines[op] = self.counter.line
        super().print_op(op)


def print_with_lines(op: Operation) -> tuple[str, dict[Operation, int]]:
    """The text of `op` and, for it and every op in it, the line (from 1) on which it starts."""
    stream = _LineCounter()
    printer = _LinePrinter(stream)
    printer.print_op(op)
    return stream.getvalue(), printer.lines


def line_table(text: str, lines: dict[Operation, int]) -> tuple[tuple[int, ...], ...]:
    """Per line of `text` the slots of the ops that start on it."""
    table: list[list[LocationAttr]] = [[] for _ in range(text.count("\n") + 1)]
    for op, line in lines.items():
        table[line - 1].append(op.location)
    return tuple(slots_of(fuse(locations)) for locations in table)


def _count(roots: Sequence[Operation]) -> tuple[int, int]:
    """Ops below the roots, roots included, and how many of them are located."""
    total = sum(1 for root in roots for _ in root.walk())
    return total, total - sum(len(unlocated(root)) for root in roots)


def draft_kernel(func: FuncOp, target: Target, key: str) -> Draft:
    """Lower an anonymous primitive function to LLVM text.

    Raises VerifyException when an operator has no lowering, ScheduleError when its schedule does not fit.
    """
    symbol = f"tvmgen_default_{func.sym_name.data}_{key[:8]}"
    te_func = lower_function(func)
    te_func.sym_name = StringAttr(symbol)
    te_text = printed(te_func)
    counts = {"te": _count([te_func])}
    schedule = schedule_function(te_func, target.hardware)
    tir_func = lower_schedule(schedule)
    run_tir_passes(tir_func)
    tir_text, lines = print_with_lines(tir_func)
    counts["tir"] = _count([tir_func])
    low = convert(tir_func, lines)
    counts["llvm"] = _count(list(low.module.body.block.ops))
    return Draft(
        symbol=symbol,
        workspace=low.workspace,
        tir=tir_text,
        lines=line_table(tir_text, lines),
        te=te_text,
        schedule=printed(schedule.sequence),
        llvm=emit_module(low.module, lines=low.lines, source=f"{symbol}.tir", target=target),
        ops={level: count[0] for level, count in counts.items()},
        located={level: count[1] for level, count in counts.items()},
        sites=tuple((site.buffer, tuple(int(slot[1:]) for slot in site.layers)) for site in sites_of(tir_func)),
    )


def lower_kernel(func: FuncOp, target: Target, key: str) -> Kernel:
    """Lower and compile an anonymous primitive function; errors as `draft_kernel`."""
    draft = draft_kernel(func, target, key)
    return draft.finish(compile_text(draft.llvm, target))
