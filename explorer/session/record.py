"""Programs as rows of a session document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from ...dialects import te
from ...planning.artifact import Artifact, Snapshot
from ...provenance.ledger import Ledger
from ...runtime.interpreting.flow import Region
from ...runtime.program.sizes import sizes_text
from ...runtime.values.open_specs import OpenSpec
from ..code import compiler_of, kernel_of, work_of
from ..layers import functions, owners
from ..open_memory import at_sizes
from ..results import imported_values
from ..times import shares
from .builder import Builder
from .courses import add_course
from .document import Call, Graph, Program
from .flow_graph import module_graph, step_graph, value_types
from .graphs import call_graph
from .kernels import add_kernel
from .layer_graph import layer_graph
from .memory import add_memory
from .watching import IMPORTED, Watched, relay_course


@dataclass(frozen=True)
class Recorded:
    """The positions of a program's rows."""

    program: int
    calls: range
    """The rows in `Session.calls`, in the order of the artifact's calls."""
    kernels: list[int]
    """Kernel number of the artifact -> row."""


def record_program(
    builder: Builder,
    artifact: Artifact,
    watched: Watched | None,
    name: str,
    kind: str,
    about: str,
    sizes: Mapping[str, int] | None = None,
    expressions: te.FuncOp | None = None,
) -> Recorded:
    """Append a compiled program: stages, passes, events, kernels and calls.

    watched: what was seen of its compilation; None: there are only the modules that the artifact holds. sizes: of a
    program for all sizes those that its memory is shown for. expressions: what its only kernel computes, located at
    slots, where no module says so.
    """
    session = builder.session
    program = len(session.programs)
    opened = artifact.program.sizes
    chosen: Mapping[str, int] = sizes if opened is not None and sizes else {}
    session.programs.append(Program(name, kind, about, opened.least if opened is not None else "", sizes_text(chosen)))
    if artifact.snapshots:
        builder.describe_layers(artifact)
    course = watched.relay if watched is not None else relay_course(_kept(artifact.snapshots), artifact.ledger)
    values = imported_values(artifact.snapshots[0].module, artifact.ledger) if artifact.snapshots else None
    add_course(builder, course, "relay", program, -1, builder.set_of, values)
    first = len(session.kernels)
    fused = functions(artifact.snapshots[-1].module) if artifact.snapshots else {}
    served = {call.kernel: fused.get(call.name) for call in reversed(artifact.calls)}
    for number in range(len(artifact.kernels)):
        kernel = kernel_of(artifact, number)
        func = served.get(number) or expressions
        row = add_kernel(builder, kernel, compiler_of(kernel), program, func, watched)
        if (applied := artifact.tuned.get(kernel.symbol)) is not None:
            row.tuned = applied.about
    calls = range(len(session.calls), len(session.calls) + len(artifact.calls))
    owner = owners(artifact)
    for number, call in zip(calls, artifact.calls, strict=True):
        layers = [builder.set_of(layer) for layer in call.layers]
        work = work_of(artifact, call)
        flops, moved = sum(flops for flops, _ in work), sum(moved for _, moved in work)
        parts = shares(artifact, call, owner).items()
        builder.work[number] = {
            builder.layer(layer.leaf): share * (flops + moved) for layer, share in parts if layer is not None
        }
        location = builder.set_of(call.location)
        session.calls.append(
            Call(
                name=call.name,
                program=program,
                kernel=first + call.kernel,
                layers=layers,
                set=location,
                flops=flops,
                bytes=moved,
            )
        )
    if artifact.snapshots:
        _add_graph(builder, layer_graph(builder, artifact, program))
        session.graphs.append(call_graph(builder, artifact, program))
        add_memory(builder, at_sizes(artifact, chosen) if chosen else artifact, program)
    return Recorded(program, calls, list(range(first, len(session.kernels))))


def record_module(builder: Builder, module: ModuleOp, name: str, about: str) -> None:
    """Append a program of the language, which an interpreter runs, as it stands: its text and its graph."""
    program = _interpreted(builder, name, about)
    builder.describe_ops(module)
    add_course(builder, relay_course([(IMPORTED, module)], Ledger()), "relay", program, -1, builder.set_of)
    _add_graph(builder, module_graph(builder, module, program))


def record_steps(
    builder: Builder, region: Region, inputs: Sequence[OpenSpec], compiled: Iterable[Artifact], name: str, about: str
) -> None:
    """Append the graph of a program that an interpreter runs step by step.

    inputs: of the program. compiled: the programs of its stretches, which tell the types of values.
    """
    program = _interpreted(builder, name, about)
    builder.describe_steps(region)
    _add_graph(builder, step_graph(builder, region, inputs, value_types(compiled), program))


def _interpreted(builder: Builder, name: str, about: str) -> int:
    builder.session.programs.append(Program(name, "interpreted", about))
    return len(builder.session.programs) - 1


def _add_graph(builder: Builder, graph: Graph) -> None:
    """Append a graph; it is that of the sources that have none."""
    graphs = builder.session.graphs
    graphs.append(graph)
    for source in builder.session.sources:
        source.graph = len(graphs) - 1 if source.graph < 0 else source.graph


def _kept(snapshots: tuple[Snapshot, ...]) -> list[tuple[str, ModuleOp]]:
    return [(snapshot.stage if position else IMPORTED, snapshot.module) for position, snapshot in enumerate(snapshots)]
