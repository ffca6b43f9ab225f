"""The uses of a build's result besides running it: files to ship, and the schedules of its nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from xdsl.dialects.builtin import StringAttr

from whence.planning.artifact import Artifact
from whence.planning.graph import GraphPlan, graph_plan
from whence.runtime.program.factory import Origin
from whence.runtime.program.graph import NOP
from whence.support.errors import PipelineError, expectation
from whence.te.schedule.schedule import Schedule


class BuildModule(NamedTuple):
    """Answers to TVM's questions to `lib.build_module`."""

    get_node_schedule: Callable[[int], Schedule]
    """The schedule of a node, as `node_schedule`."""


def export_artifact(
    artifact: Artifact,
    plan: GraphPlan | None,
    origins: Mapping[str, Origin] | None,
    path: Path,
    *,
    name: str = "default",
    params: bool = True,
    link: Callable[..., object] | None = None,
    addons: Sequence[Path] = (),
    options: Sequence[str] = (),
) -> None:
    """Write an artifact with where it came from; errors as `planning.export.export`."""
    from whence.planning.archive import archived
    from whence.planning.export import Contents, check_exportable, export

    check_exportable(artifact)
    if plan is None:
        plan = graph_plan(artifact, name)
    if origins is None:
        from whence.executables.origins import origins as origins_of

        origins = origins_of(artifact, plan)
    export(artifact, Contents(plan, name, origins, archived(artifact), params), path, link, addons, options)


def node_schedule(artifact: Artifact, plan: GraphPlan, index: int) -> Schedule:
    """Return the result of `Exporting.get_node_schedule`."""
    from whence.explorer.layers import functions, snapshot
    from whence.lowering.kernel.printing import printed
    from whence.lowering.kernel.record import Kernel
    from whence.lowering.relay_to_te.lower import lower_function
    from whence.lowering.relay_to_te.strategy import plain_schedule, schedule_function

    nodes, operation = plan.graph.nodes, "get_node_schedule"
    number: Any = index
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= index < len(nodes):
        raise PipelineError(expectation(operation, f"the number of a node, 0 to {len(nodes) - 1}", repr(index)))
    node, expected = nodes[index], "a node that calls a kernel"
    if node.is_argument:
        kind = "a parameter" if node.name in plan.params else "an input"
        raise PipelineError(expectation(operation, expected, f"node {index}, '{node.name}', {kind} of the graph"))
    if node.function == NOP:
        of = nodes[node.inputs[0].node].name
        actual = f"node {index}, '{node.name}', which is '{of}' seen with another shape and runs nothing"
        raise PipelineError(expectation(operation, expected, actual))
    call = artifact.calls[plan.calls[node.name]]
    kernel = artifact.kernels[call.kernel]
    func = lower_function(functions(snapshot(artifact, "fused"))[call.name])
    func.sym_name = StringAttr(kernel.symbol)
    decisions = kernel.decisions if isinstance(kernel, Kernel) else None
    if isinstance(kernel, Kernel) and kernel.refusal:
        schedule = plain_schedule(func)
    else:
        schedule = schedule_function(func, artifact.target.hardware, decisions=decisions)
    if isinstance(kernel, Kernel) and printed(schedule.sequence) != kernel.schedule:
        actual = "others, registered since"
        raise PipelineError(expectation(operation, f"the strategies that made '{node.name}'", actual))
    return schedule
