"""Records as a search would write them, made up: every kernel of a model decided otherwise than by rule."""

from __future__ import annotations

from typing import Any

from whence.executables.executable import Executable
from whence.explorer.layers import snapshot
from whence.lowering.kernel.printing import printed
from whence.lowering.kernel.slots import anonymous
from whence.lowering.kernel.space import kernel_space
from whence.lowering.kernel.tuned import workload_key
from whence.lowering.llvm_to_native.target import Target
from whence.planning.kernels import primitive_functions
from whence.tuning.record import Record, compiler_key, machine_key

HERE = Target.native()


def record(kind: Any = "winner", decisions: dict[str, int] | None = None, **fields: Any) -> Record:
    """A record of this machine and compiler, unless `fields` say otherwise."""
    known: dict[str, Any] = {
        "workload": "w",
        "space": "s",
        "machine": machine_key(HERE.hardware, HERE),
        "facts": HERE.hardware.facts,
        "compiler": compiler_key(),
        "ratio": 1.25,
        "interval": (1.2, 1.3),
        "default_seconds": 1e-3,
        "costs": (8e-4, 8.1e-4),
    }
    return Record(kind=kind, decisions={"rows": 4} if decisions is None else decisions, **(known | fields))


def winners(executable: Executable, **fields: Any) -> list[Record]:
    """Winners for the kernels of a compiled model that have knobs: of each the last point of its space."""
    records: dict[str, Record] = {}
    for func in primitive_functions(snapshot(executable.artifact, "fused")):
        copy = anonymous(func)
        space = kernel_space(copy, HERE.hardware)
        points = space.points()
        if len(points) > 1:
            key = workload_key(printed(copy))
            decisions = points.decisions(len(points) - 1)
            records[key] = record(decisions=decisions, workload=key, space=space.key, **fields)
    return list(records.values())
