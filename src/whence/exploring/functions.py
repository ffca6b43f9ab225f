"""Sessions of schedules: each is a program that calls one kernel, whose film has a frame for each primitive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from xdsl.dialects.builtin import LocationAttr

from whence.dialects import te
from whence.executables.executable import Executable
from whence.explorer.session.block_films import block_film
from whence.explorer.session.budget import Budget
from whence.explorer.session.builder import Builder
from whence.explorer.session.document import Session
from whence.explorer.session.films import Schedule as Film
from whence.explorer.session.record import record_program
from whence.explorer.session.schedules import Detail, Films, film
from whence.exploring.measuring import Wishes, measure
from whence.exploring.origin import Origin
from whence.kernels.building import build_prim_func, build_schedule, only_kernel
from whence.kernels.function_files import artifact_of
from whence.lowering.kernel.printing import printed
from whence.lowering.kernel.record import Kernel
from whence.lowering.kernel.slots import slot_location
from whence.lowering.kernel.work import Work, stages_work
from whence.planning.artifact import Artifact
from whence.provenance.span import fuse, leaves
from whence.support.errors import PipelineError, expectation
from whence.support.machine import Machine
from whence.te.blocks.schedule import BlockSchedule
from whence.te.schedule.schedule import Schedule

_SECONDS = 5.0
"""The CPU seconds that the film of a schedule may take."""
_DETAILS: dict[Films, Detail] = {"hot": "last", "all": "all"}


def schedules_session(
    schedules: Mapping[str, Schedule | BlockSchedule], wishes: Wishes, *, target: str = "native", threads: int = 1
) -> Session:
    """Return the session of schedules by name, which stay as they are; errors as `build_schedule`."""
    origin = Origin("schedule", "whence explore", target, kind="te")
    builder = Builder(origin.made_by(threads), origin.kind)
    session, programs = builder.session, list[tuple[int, Executable]]()
    for name, schedule in schedules.items():
        artifact = _artifact(schedule, target, threads)
        about = f"a schedule of {len(schedule.primitives)} primitives"
        expressions = _at_slots(schedule, artifact) if isinstance(schedule, Schedule) else None
        row = record_program(builder, artifact, None, name, "static", about, expressions=expressions)
        (kernel,) = row.kernels
        for leaf in artifact.calls[0].layers:
            stage = builder.layer(leaf)
            session.layers.kind[stage] = "layer"
            is_compute = isinstance(schedule, BlockSchedule) or leaf in _work(schedule)
            session.layers.type[stage] = "compute" if is_compute else "placeholder"
        if (detail := _DETAILS.get(wishes.films)) is not None:
            session.kernels[kernel].schedule = len(session.schedules)
            session.schedules.append(_film(schedule, artifact.target.hardware, threads, kernel, detail))
        programs.append((row.program, Executable(artifact, threads)))
    if wishes.measured:
        measure(builder, programs, None, wishes, whole=True)
    return builder.finish()


def _film(schedule: Schedule | BlockSchedule, machine: Machine, threads: int, kernel: int, detail: Detail) -> Film:
    if isinstance(schedule, BlockSchedule):
        return block_film(schedule, kernel)
    return film(schedule, machine, threads, kernel, detail, Budget(_SECONDS))


def _artifact(schedule: Schedule | BlockSchedule, target: str, threads: int) -> Artifact:
    """Return the program of one call of a schedule's kernel, with the texts of both, and the work of each stage."""
    if isinstance(schedule, BlockSchedule):
        artifact = artifact_of(build_prim_func(only_kernel(schedule.module), target=target, threads=threads))
        (call,), (kernel,) = artifact.calls, artifact.kernels
        assert isinstance(kernel, Kernel)
        named = replace(kernel, schedule=printed(schedule.sequence), work=((0, 0),) * len(call.layers))
        return replace(artifact, kernels=(named,))
    if schedule.open is not None:
        expected, names = "known sizes (`create_schedule(.., sizes={..})`)", ", ".join(schedule.open.names)
        raise PipelineError(expectation("explore", expected, f"sizes that a call decides ({names})"))
    artifact = artifact_of(build_schedule(schedule, target=target, threads=threads))
    *before, sequence = schedule.module().ops
    (call,), (kernel,) = artifact.calls, artifact.kernels
    assert isinstance(kernel, Kernel)
    work = _work(schedule)
    named = replace(
        kernel,
        te="\n".join(map(printed, before)),
        schedule=printed(sequence),
        work=tuple(tuple(work.get(leaf, (0, 0))) for leaf in call.layers),
    )
    return replace(artifact, kernels=(named,))


def _work(schedule: Schedule) -> dict[LocationAttr, Work]:
    """Return the work of each stage that computes, by its leaf."""
    return {leaf: amount for where, amount in stages_work(schedule.snapshot(0).func) for leaf in leaves(where)}


def _at_slots(schedule: Schedule, artifact: Artifact) -> te.FuncOp:
    """Return the tensor expressions, located at the slots of the kernel that computes them."""
    slots = {leaf: slot_location(slot) for slot, leaf in enumerate(artifact.calls[0].layers)}
    func = next(op for op in schedule.module().ops if isinstance(op, te.FuncOp))
    for op in func.walk():
        op.location = fuse([slots[leaf] for leaf in leaves(op.location) if leaf in slots])
    return func
