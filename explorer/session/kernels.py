"""Kernels as rows of a session document: their texts from te to assembly, line by line, with slots for layers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import LocationAttr, StringAttr

from ...dialects import te
from ...dialects.relay.core import FuncOp
from ...lowering.kernel.printing import print_with_lines
from ...lowering.kernel.record import Kernel
from ...lowering.kernel.slots import anonymous, slots_of
from ...lowering.llvm_to_native.assembly import LOCATION
from ...lowering.llvm_to_native.perf_map import functions
from ...lowering.relay_to_te.lower import lower_function
from ..code import llvm_line_numbers, machine_code
from .builder import Builder
from .courses import add_course
from .document import Body, Level, Stage
from .document import Kernel as Row
from .kept import KernelRows, add_rows, rows_of
from .text import runs_of
from .texts import Text
from .watching import Course, Watched

_VALUE = re.compile(r"%[\w.$-]+")
_STAGE = re.compile(r'stage "([^"]+)"')


class Slots:
    """The distinct slot sets of a kernel."""

    def __init__(self) -> None:
        self.rows: list[list[int]] = []
        self._index: dict[tuple[int, ...], int] = {}

    def of(self, slots: Sequence[int]) -> int:
        """The index of a slot set."""
        key = tuple(slots)
        if key not in self._index:
            self._index[key] = len(self.rows)
            self.rows.append(list(key))
        return self._index[key]

    def of_location(self, location: LocationAttr) -> int:
        return self.of(slots_of(location))


def add_kernel(
    builder: Builder,
    kernel: Kernel,
    compiler: str,
    program: int,
    func: FuncOp | te.FuncOp | None,
    watched: Watched | None,
) -> Row:
    """Append a kernel and its stages; return its row.

    func: a primitive function that it computes, or its tensor expressions, located at slots. watched: what was seen of
    the program; its rows of the kernel are kept.
    """
    if compiler:
        row = _row(kernel.symbol, compiler)
        row.program = program
        builder.session.kernels.append(row)
        return row
    rows = watched.kept.get(kernel.symbol) if watched is not None else None
    if rows is None:
        course = watched.kernels.get(kernel.symbol) if watched is not None else None
        rows = _rows(Builder(builder.session.made_by), kernel, func, course)
        if watched is not None and course is not None and func is not None:
            watched.keeper.keep_rows(kernel, rows)
    return add_rows(builder, rows, program)


def _row(symbol: str, compiler: str = "", refusal: str = "") -> Row:
    return Row(
        symbol=symbol,
        program=0,
        compiler=compiler,
        slots=[],
        stages=[],
        schedule=-1,
        bytes=0,
        instructions=0,
        tuned="",
        refusal=refusal,
    )


def course_rows(builder: Builder, symbol: str, course: Course) -> KernelRows:
    """Return the rows of a kernel of which there is no code; builder: a new one."""
    slots, row = Slots(), _row(symbol)
    row.slots = slots.rows
    builder.session.kernels.append(row)
    row.stages += add_course(builder, course, "tir", 0, 0, slots.of_location)
    return rows_of(builder)


def _rows(builder: Builder, kernel: Kernel, func: FuncOp | te.FuncOp | None, course: Course | None) -> KernelRows:
    """Return the rows of a kernel, as a session without others has them; builder: a new one."""
    slots, row, texts = Slots(), _row(kernel.symbol, refusal=kernel.refusal), _Texts(builder)
    row.slots = slots.rows
    builder.session.kernels.append(row)
    lowered = lower_function(anonymous(func)) if isinstance(func, FuncOp) else func
    # A kernel of statements has no tensor expressions.
    expressions = [_te(texts, kernel, lowered, slots)] if kernel.te else []
    row.stages += [*expressions, _schedule(texts, kernel, lowered, slots)]
    row.stages += add_course(builder, course, "tir", 0, 0, slots.of_location) if course is not None else []
    if course is None:
        row.stages.append(texts.add("lowered", "tir", kernel.tir.split("\n"), map(slots.of, kernel.lines)))
    behind = [slots.of(line) for line in kernel.lines]
    row.stages += [_llvm(texts, kernel, behind), _assembly(texts, kernel, behind)]
    row.instructions = len(machine_code(kernel))
    row.bytes = sum(function.size for function in functions(kernel.object))
    return rows_of(builder)


@dataclass(frozen=True)
class _Texts:
    """Appends stages of the kernel of a builder for one, of which there is the text alone."""

    builder: Builder

    def add(
        self,
        name: str,
        level: Level,
        lines: list[str],
        sets: Iterable[int],
        ops: Iterable[int] | None = None,
        tir: Iterable[int] = (),
        exact: Iterable[int] = (),
    ) -> int:
        """Append a stage; columns have a number per line. Return its index."""
        body = Body(
            base=-1,
            edits=[(0, 0, lines)],
            sets=runs_of(sets),
            ops=runs_of(ops if ops is not None else [-1] * len(lines)),
            outputs=[],
            tir=runs_of(tir),
            exact=runs_of(exact),
        )
        return self.builder.stage(
            Stage(
                name=name,
                level=level,
                program=0,
                kernel=0,
                before=-1,
                lines=len(lines),
                diff=None,
                body=body,
            )
        )


def _te(texts: _Texts, kernel: Kernel, lowered: te.FuncOp | None, slots: Slots) -> int:
    lines = kernel.te.split("\n")
    if lowered is not None:
        lowered.sym_name = StringAttr(kernel.symbol)
        text = Text.of(*print_with_lines(lowered))
        if text.lines == lines:
            sets = (slots.of_location(where) if where is not None else -1 for where in text.locations)
            return texts.add("lowered", "te", lines, sets)
    return texts.add("lowered", "te", lines, [-1] * len(lines))


def _schedule(texts: _Texts, kernel: Kernel, lowered: te.FuncOp | None, slots: Slots) -> int:
    """The primitives: each is about the te stage that its first operand comes of."""
    lines = kernel.schedule.split("\n")
    ops = lowered.block.ops if lowered is not None else ()
    of_stage = {op.label.data: slots_of(op.location) for op in ops if isinstance(op, te.ComputeOp)}
    of_value: dict[str, tuple[int, ...]] = {}
    sets: list[int] = []
    for line in lines:
        results, _, primitive = line.rpartition(" = schedule.")
        values = _VALUE.findall(primitive)
        behind = of_value.get(values[0]) if values else None
        if (stage := _STAGE.match(primitive)) is not None:
            behind = of_stage.get(stage[1])
        of_value |= dict.fromkeys(_VALUE.findall(results), behind or ())
        sets.append(slots.of(behind) if behind else -1)
    return texts.add("scheduled", "schedule", lines, sets)


def _llvm(texts: _Texts, kernel: Kernel, behind: Sequence[int]) -> int:
    """LLVM's text: an instruction says by its debug location of which line of tir it is."""
    numbers = llvm_line_numbers(kernel)
    return texts.add("converted", "llvm", kernel.llvm.split("\n"), _sets(numbers, behind), None, numbers)


def _assembly(texts: _Texts, kernel: Kernel, behind: Sequence[int]) -> int:
    """Instructions and labels; what `.loc` directives say is in the columns."""
    lines = [text for text in kernel.assembly.splitlines() if not LOCATION.match(text)]
    code = iter(machine_code(kernel))
    rows = [next(code) if text.startswith("\t") else None for text in lines]
    numbers = [row.line if row is not None else 0 for row in rows]
    exact = [int(row is None or row.exact) for row in rows]
    sets = [-1 if row is None else number for row, number in zip(rows, _sets(numbers, behind), strict=True)]
    return texts.add("compiled", "asm", lines, sets, None, numbers, exact)


def _sets(numbers: Sequence[int], behind: Sequence[int]) -> list[int]:
    """The slot sets of lines of tir, -1 for line 0."""
    return [behind[number - 1] if 0 < number <= len(behind) else -1 for number in numbers]
