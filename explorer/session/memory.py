"""The memory plan of a program, as blocks of a session."""

from __future__ import annotations

from ...planning.artifact import Artifact
from ..memory import memory_report
from .builder import Builder
from .document import Memory


def add_memory(builder: Builder, artifact: Artifact, program: int) -> None:
    """Append what lies in a program's arena, and when.

    Of a program with open sizes a sentence is noted instead: `open_memory.at_sizes` makes one for some sizes of it.
    """
    session = builder.session
    if (sizes := artifact.program.sizes) is not None:
        title = f"{session.programs[program].name} has no times, memory and tensors"
        session.made_by.notes.append(f"{title}: its sizes are open, and none were chosen (--sizes {sizes.least})")
        return
    report = memory_report(artifact)
    workspace = max((life.bytes for life in report.lives if life.kind == "workspace"), default=0)
    memory = Memory(program, report.info.workspace_bytes, report.info.constant_bytes, workspace)
    for life in report.lives:
        memory.name.append(life.name)
        memory.kind.append(life.kind)
        memory.offset.append(life.offset)
        memory.size.append(life.bytes)
        memory.first.append(life.first)
        memory.last.append(life.last)
        memory.set.append(builder.set_of(life.layers))
    session.memory.append(memory)
