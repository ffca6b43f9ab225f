"""The time of every kernel call of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import LocationAttr

from whence.executables.executable import Executable
from whence.executables.interpreted import InterpretedExecutable
from whence.executables.sized import SizedExecutable
from whence.explorer.layers import Layer, owners
from whence.explorer.times import shares
from whence.lowering.llvm_to_native.thread_pool import thread_pool
from whence.planning.artifact import Artifact
from whence.runtime.debugger.report import CLOCK, Metric, Report
from whence.runtime.interpreting.flow import Stretch
from whence.runtime.program.program import Call
from whence.runtime.values.tensors import TensorSpec


def profiled(executable: Executable, name: str, arguments: Sequence[Any]) -> Report:
    """Return the calls of one run of a function with their times, CPU time of all threads.

    The total includes what an interpreter does between them, which belongs to no call.
    """
    calls: list[tuple[Artifact, int, float]] = []
    with thread_pool(executable.threads).clock() as clock:
        start = clock()
        _run(executable, name, arguments, calls)
        return _report(calls, clock() - start)


def _run(executable: Executable, name: str, arguments: Sequence[Any], calls: list[tuple[Artifact, int, float]]) -> None:
    """Run a function, and add its calls."""
    if isinstance(executable, InterpretedExecutable):

        def visit(stretch: Stretch, call: Call, duration: float) -> None:
            part = stretch.report
            assert isinstance(part, Executable)
            # Frequent sizes have a program of their own.
            artifact = (part.last if isinstance(part, SizedExecutable) else part).artifact
            calls.append((artifact, _place(artifact, call), duration))

        executable.invoke(name, *arguments, visit=visit)
    else:
        names = [spec.name for spec in executable.inputs]
        seconds = executable.profile(dict(zip(names, arguments, strict=True)), 1)[0]
        calls += [(executable.artifact, place, float(duration)) for place, duration in enumerate(seconds)]


def _place(artifact: Artifact, call: Call) -> int:
    return next(number for number, entry in enumerate(artifact.calls) if entry.run.name == call.name)


def _report(calls: Sequence[tuple[Artifact, int, float]], whole: float) -> Report:
    known: dict[int, Mapping[LocationAttr, Layer]] = {}
    metrics: list[dict[str, Metric]] = []
    layers: list[tuple[tuple[str, float], ...]] = []
    for artifact, number, duration in calls:
        owner = known.setdefault(id(artifact), owners(artifact))
        call = artifact.calls[number]
        parts = shares(artifact, call, owner)
        layers.append(tuple(("" if layer is None else layer.name, part) for layer, part in parts.items()))
        specs = call.run.results
        metrics.append(
            {
                "Name": call.name,
                "Duration (us)": duration * 1e6,
                "Percent": duration / whole * 100,
                "Device": "cpu0",
                "Count": 1,
                "Argument Shapes": ", ".join(map(_shape, specs)),
            }
        )
    total: dict[str, Metric] = {"Duration (us)": whole * 1e6, "Percent": 100.0, "Device": "cpu0", "Count": 1}
    return Report(tuple(metrics), {"CPU": total}, {"Executor": "VM", "Clock": CLOCK}, tuple(layers))


def _shape(spec: TensorSpec) -> str:
    return f"{spec.dtype}[{', '.join(map(str, spec.shape))}]"
