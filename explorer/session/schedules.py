"""Films of schedules: a frame for each primitive, with the stages, the loops, the cost, and what may come next.

A film needs the te function and its sequence of primitives alone, and keeps both as text: any frame can be made again
from a document, without the model (`frame_loops`, `frame_next`). Trees and costs are recorded first; loops and next
primitives take longer, and are left to that where the reader asks for them. As each frame has all stages anew, a film
of many primitives has a budget: when three fifths of it are spent, frames have no details, and later what is left of
the schedule is one frame.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Literal, NamedTuple, TypeAlias

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from ...dialects import schedule as ops
from ...dialects.relay.core import FuncOp
from ...dialects.sizes import Size
from ...lowering.kernel.printing import print_with_lines, printed
from ...lowering.kernel.record import Kernel
from ...lowering.kernel.slots import anonymous
from ...lowering.relay_to_te.lower import lower_function
from ...lowering.relay_to_te.strategy import plain_schedule, schedule_function
from ...lowering.te_to_tir.lower import lower_schedule
from ...planning.artifact import Artifact, Call
from ...support.context import PassContext
from ...support.errors import ScheduleError
from ...support.garbage import fewer_collections
from ...support.machine import Machine
from ...te.schedule.bounds import Bounds, infer_bounds
from ...te.schedule.itervar import IterVar
from ...te.schedule.replay import apply_steps
from ...te.schedule.schedule import Schedule
from ...te.schedule.stage_state import StageState
from ..layers import functions
from .budget import UNLIMITED, Budget
from .costs import CostModel
from .document import Session
from .films import Frame, NextPrimitive, TreeStage
from .films import Schedule as Film
from .kept import KeptKernels
from .line_edits import edits_between
from .next_primitives import next_primitives
from .trees import Forester, arguments_of

Detail: TypeAlias = Literal["trees", "loops", "last", "all"]
"""The details of frames: stages and costs, also loops, also next primitives in the last frame, or in all frames."""
Films: TypeAlias = Literal["none", "hot", "all"]
"""The kernels of which films are made in detail; without any there are no films."""
_FRAMES = 48
"""Frames with loops, of the kernels that do most: each takes 6 ms, and one with next primitives 50 ms."""
_ASKED = 10.0
"""CPU seconds for the details of a frame that somebody asks for."""
_ENDS = 1
"""Kernels whose last frames have next primitives."""
_SECONDS: dict[Films, tuple[float, float]] = {"none": (0.0, 0.0), "hot": (3.0, 0.005), "all": (20.0, 0.05)}
"""The CPU seconds that films may take, and those that each has for each of its primitives besides."""
_DETAILED, _FRAMED = 0.6, 0.8
"""The parts of a budget after which frames have no details, and after which there is one more frame, the last."""


class Details(NamedTuple):
    """The parts of a frame that are made when they are asked for."""

    tir: list[str]
    """The lines of its loops; none where there is an error."""
    error: str
    next: list[NextPrimitive]


class Recipe(NamedTuple):
    """A schedule as text."""

    text: str
    header: int
    """The line on which its sequence begins."""
    lines: dict[Operation, int]
    """The line of each op of its sequence."""


def recipe(schedule: Schedule) -> Recipe:
    """Return a whole schedule as text: the contents of `Schedule.module`, without the module around it."""
    *before, sequence = schedule.module().ops
    head = "".join(f"{printed(op)}\n" for op in before)
    text, lines = print_with_lines(sequence)
    above = head.count("\n")
    assert isinstance(sequence, ops.SequenceOp)
    copies = zip(schedule.sequence.block.ops, sequence.block.ops, strict=True)
    return Recipe(head + text, above + 1, {op: lines[copy] + above for op, copy in copies})


def film(
    schedule: Schedule,
    machine: Machine,
    threads: int = 1,
    kernel: int = -1,
    detail: Detail = "all",
    budget: Budget = UNLIMITED,
) -> Film:
    """The film of a schedule, which stays as it is.

    Where the schedule knows by which lines of Python its primitives were issued (`te.keep_primitive_lines`), the frames
    have them.
    """
    written = recipe(schedule)
    model = CostModel(machine, threads)
    now = schedule.snapshot(0)
    forester = Forester(now)
    issued = schedule.record.lines or {}
    result = Film(kernel, written.text, arguments_of(now.func), [], [])
    rows: dict[str, tuple[TreeStage, int]] = {}
    loops: list[str] = []
    begin, cost, details = written.header, None, Details([], "", [])
    text = written.text.splitlines()
    with closing(apply_steps(now, schedule.sequence, schedule.intrinsics)) as steps:
        for number, last in enumerate(steps):
            final = number == len(schedule.primitives)
            if number and not final and not budget.lasts(_FRAMED):
                continue
            last_line = begin if last is None else written.lines[last]
            done = [
                op for op, line in written.lines.items() if begin < line <= last_line and isinstance(op, ops.Primitive)
            ]
            # The appended text repeats ops that only name parts of the schedule.
            end = max((written.lines[op] for op in done), default=begin)
            bounds, extents = _bounds(now)
            before = rows
            rows = {}
            for label, row in forester.rows(extents).items():
                if label in before and before[label][0] == row:
                    rows[label] = before[label]
                else:
                    rows[label] = row, len(result.stages)
                    result.stages.append(row)
            in_time = budget.lasts(_DETAILED)
            complete = (detail == "all" and in_time) or (detail in ("all", "last") and final)
            changed = [label for label in before | rows if before.get(label) != rows.get(label)]
            if changed:
                cost = model(now, bounds) if bounds is not None else None
            if changed or complete:
                loops_too = detail != "trees" and (in_time or final)
                details, complete = _details(schedule, number, model, loops_too, complete, budget)
            frame = Frame(
                primitive="; ".join(text[written.lines[op] - 1].strip() for op in done),
                at=next((issued[op] for op in reversed(done) if op in issued), ""),
                lines=end,
                tree=[index for _, index in rows.values()],
                changed=changed if number else [],
                loaded=complete,
                tir=edits_between(loops, details.tir),
                error=details.error,
                cost=cost,
                next=details.next,
            )
            result.frames.append(frame)
            loops, begin = details.tir, end
    return result


def frame_loops(schedule: Schedule, number: int) -> tuple[list[str], str]:
    """The lines of the loops of frame `number` of a schedule's film, and the reason why there are none."""
    try:
        return printed(lower_schedule(schedule.snapshot(number), draft=True, own_layouts=True)).splitlines(), ""
    except ScheduleError as problem:
        return [], str(problem)


def frame_next(schedule: Schedule, number: int, machine: Machine, threads: int = 1) -> list[NextPrimitive]:
    """The primitives that may come after frame `number`: some ten times as long as the loops take."""
    return next_primitives(schedule, number, CostModel(machine, threads), Budget(_ASKED))[0]


def _bounds(schedule: Schedule) -> tuple[dict[StageState, Bounds] | None, Mapping[IterVar, Size]]:
    """The bounds of the stages, None where it cannot be carried out, and the extents of loops as far as known."""
    try:
        bounds = infer_bounds(schedule)
    except ScheduleError:
        return None, {}
    return bounds, {axis: extent for bound in bounds.values() for axis, extent in bound.extents.items()}


def _details(
    schedule: Schedule, number: int, model: CostModel, loops: bool, wanted: bool, budget: Budget
) -> tuple[Details, bool]:
    """The details of a frame, and whether all that were asked for are there."""
    text, error = frame_loops(schedule, number) if loops else ([], "")
    following, complete = next_primitives(schedule, number, model, budget) if wanted else ([], False)
    return Details(text, error, following), complete


def kernel_schedule(
    func: FuncOp, symbol: str, machine: Machine, decisions: Mapping[str, int] | None = None, *, plain: bool = False
) -> Schedule:
    """The schedule of a primitive function, as the kernel of that symbol has it, with the lines that made it.

    plain: it has the plain schedule. Where only a call knows how many rows a product has, it is that of many rows.
    """
    lowered = lower_function(anonymous(func))
    lowered.sym_name = StringAttr(symbol)
    with PassContext.current().with_options({"te.keep_primitive_lines": True}):
        return plain_schedule(lowered) if plain else schedule_function(lowered, machine, decisions=decisions)


def add_schedules(
    session: Session, artifact: Artifact, kernels: Sequence[int], films: Films, keeper: KeptKernels
) -> None:
    """Append the films of a program's kernels; `kernels[i]` is the row of the artifact's kernel i.

    A kernel has none where its function is not known (exported files), or an external compiler's. keeper: has films
    that were made before, and takes new ones.
    """
    if films != "none" and artifact.snapshots:
        with fewer_collections():
            _add_films(session, artifact, kernels, films, keeper)


def _typical(artifact: Artifact, call: Call) -> int:
    kernel = artifact.kernels[call.kernel]
    return kernel.typical if isinstance(kernel, Kernel) else 0


def _add_films(session: Session, artifact: Artifact, kernels: Sequence[int], films: Films, keeper: KeptKernels) -> None:
    functions_by_name = functions(artifact.snapshots[-1].module)
    # A kernel for several sizes has the schedule of the typical one, which comes last here.
    ordered = sorted(reversed(artifact.calls), key=lambda call: call.run.sizes == (_typical(artifact, call),))
    served = {call.kernel: functions_by_name.get(call.name) for call in ordered}
    calls = Counter(call.kernel for call in artifact.calls)
    machine = artifact.target.hardware
    threads, left, detailed, shortened = session.made_by.threads or machine.cores, _FRAMES, 0, 0
    spare, each = _SECONDS[films]
    ours = [(number, kernel) for number, kernel in enumerate(artifact.kernels) if isinstance(kernel, Kernel)]
    ours.sort(key=lambda pair: -calls[pair[0]] * sum(map(sum, pair[1].work)))
    films_of: dict[int, Film] = {}
    for number, kernel in ours:
        func = served.get(number)
        if func is None or not kernel.schedule:
            continue
        detail: Detail = "all"
        if films == "hot":
            detail = "trees" if left <= 0 else "last" if detailed < _ENDS else "loops"
        about = f"film {detail} {threads}"
        result, cut = keeper.film(kernel, about), keeper.film(kernel, f"{about} cut")
        if result is None and cut is not None:
            result = cut
            shortened += 1
        if result is None:
            schedule = kernel_schedule(func, kernel.symbol, machine, kernel.decisions, plain=bool(kernel.refusal))
            if printed(schedule.sequence) != kernel.schedule:
                continue
            budget = Budget(spare + each * (len(schedule.primitives) + 1))
            result = film(schedule, machine, threads, -1, detail, budget)
            spare = max(0.0, min(spare, budget.seconds - budget.spent))
            whole = budget.lasts(_DETAILED)
            keeper.keep_film(kernel, about if whole else f"{about} cut", result)
            shortened += not whole
        left -= len(result.frames)
        detailed += detail != "trees"
        result.kernel = kernels[number]
        films_of[number] = result
    for number, result in sorted(films_of.items()):
        session.kernels[kernels[number]].schedule = len(session.schedules)
        session.schedules.append(result)
    if detailed < len(films_of) and films == "hot":
        text = f"the loops of each frame are there for the {detailed} of {len(films_of)} kernels that do most work"
        session.made_by.notes.append(f"Schedules: {text}; --films all records those of all.")
    if shortened:
        text = f"{shortened} of {len(films_of)} films are long; loops or frames of their last primitives are left out"
        session.made_by.notes.append(f"Schedules: {text}.")
