"""The work of passes on a program and its kernels, taken down while they run: texts as edits, no copies of modules."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from time import perf_counter

from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.ir import Operation

from ...lowering.kernel.record import Kernel
from ...planning.snapshots import kernel_in
from ...provenance.ledger import Ledger, current_ledger
from ...support.instrument import PassInfo, PassInstrument
from .document import Edit
from .kept import KeptKernels, KernelRows
from .states import Difference, Ops
from .texts import EMPTY, Print, StagePrinter, Text, edits_of, pairs_of, plain_print

IMPORTED = "imported"
"""The stage of a program before the first pass."""
LOWERED = "lowered"
"""The stage of a kernel before the first pass."""


@dataclass(frozen=True)
class Draft:
    """A stage, before layers and ops have rows."""

    name: str
    lines: int
    edits: list[Edit]
    """To the stage before."""
    locations: list[tuple[LocationAttr | None, int]]
    ops: list[tuple[int, int]]
    difference: Difference | None
    entries: int
    """The number of entries of the ledger by then."""


@dataclass(frozen=True)
class Ran:
    """A run of a pass."""

    info: PassInfo
    stage: int
    """The number of the draft after it."""
    changed: bool
    entries: tuple[int, int]
    """The numbers of the entries of the ledger that it wrote: from, to."""


@dataclass
class Course:
    """The stages of a program, or of a kernel, one after the other."""

    printer: Print
    first: str
    """The name of the stage before the first pass."""
    ledger: Ledger | None = None
    ops: Ops = field(default_factory=Ops)
    text: Text = EMPTY
    drafts: list[Draft] = field(default_factory=list[Draft])
    runs: list[Ran] = field(default_factory=list[Ran])

    def look(self, stage: str, root: Operation) -> bool:
        """Add a stage if anything is different; return whether anything is."""
        difference = self.ops.update(root)
        if self.drafts and not difference:
            return False
        text = self.printer(root, (*difference.changed, *difference.gone))
        edits = edits_of(self.text, text)
        entries = len(self.ledger.entries) if self.ledger is not None else 0
        first = not self.drafts
        self.drafts.append(
            Draft(
                name=stage,
                lines=len(text.lines),
                edits=edits,
                locations=pairs_of(text.locations),
                ops=pairs_of(text.ops),
                difference=None if first else difference,
                entries=entries,
            )
        )
        self.text = text
        return True

    def close(self) -> None:
        """Forget all that only a further stage would need: as much as the module itself takes."""
        self.ops.close()
        self.text, self.printer = EMPTY, plain_print


@dataclass
class Watched:
    """The observed compilation of one program."""

    relay: Course
    keeper: KeptKernels
    """Has the kernels that were recorded before."""
    kernels: dict[str, Course] = field(default_factory=dict[str, Course])
    """Symbol -> what was seen now."""
    kept: dict[str, KernelRows] = field(default_factory=dict[str, KernelRows])
    """Symbol -> what was recorded before."""


class Watch(PassInstrument):
    """Takes down what passes do in its scope, program by program."""

    every_kernel = True

    def __init__(self, keeper: KeptKernels | None = None) -> None:
        """keeper: has the kernels that were recorded before; by default it looks into the kernel cache."""
        self.keeper = keeper or KeptKernels()
        self.programs: dict[int, Watched] = {}
        """By the identity of the ledger, which the course of relay keeps."""
        self.seconds = 0.0
        """The time that watching took."""
        self._current: Watched | None = None
        self._running: list[tuple[Course | None, int]] = []
        """The course of each running pass, and the number of entries at its beginning."""

    def of(self, ledger: Ledger) -> Watched | None:
        """Return the observed compilation of the program whose passes wrote a ledger."""
        return self.programs.get(id(ledger))

    def knows(self, kernel: object) -> bool:
        start = perf_counter()
        assert isinstance(kernel, Kernel)
        rows = self.keeper.rows(kernel) if self._current is not None else None
        if rows is not None and self._current is not None:
            self._current.kept[kernel.symbol] = rows
        self.seconds += perf_counter() - start
        return rows is not None

    def run_before_pass(self, mod: object, info: PassInfo) -> None:
        start = perf_counter()
        assert isinstance(mod, Operation)
        # Passes that a pass runs itself are part of it.
        course = self._course(mod) if not self._running else None
        if course is not None:
            if not course.drafts:
                course.look(course.first, mod)
            self._running.append((course, len(course.ledger.entries) if course.ledger is not None else 0))
        else:
            self._running.append((None, 0))
        self.seconds += perf_counter() - start

    def run_after_pass(self, mod: object, info: PassInfo) -> None:
        start = perf_counter()
        assert isinstance(mod, Operation)
        course, begin = self._running.pop()
        if course is not None:
            changed = course.look(info.name, mod)
            end = len(course.ledger.entries) if course.ledger is not None else 0
            course.runs.append(Ran(info, len(course.drafts) - 1, changed, (begin, end)))
        self.seconds += perf_counter() - start

    def _course(self, mod: Operation) -> Course | None:
        ledger = current_ledger()
        if not (kernel := kernel_in(mod)):
            if ledger is None:
                return None
            if id(ledger) not in self.programs:
                self.programs[id(ledger)] = Watched(Course(StagePrinter(), IMPORTED, ledger), self.keeper)
            self._current = self.programs[id(ledger)]
            return self._current.relay
        if self._current is None:
            return None
        return self._current.kernels.setdefault(kernel, Course(plain_print, LOWERED, ledger))


def relay_course(stages: Iterable[tuple[str, ModuleOp]], ledger: Ledger) -> Course:
    """The course of a program of which modules were kept."""
    course = Course(StagePrinter(), IMPORTED, ledger)
    for name, module in stages:
        course.look(name, module)
    return course
