"""`whence run`: compile a model, run it, check it, and show its times."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from whence.cli.answers import print_json
from whence.cli.common import add_memory, add_model, compile_model
from whence.cli.inputs import add_inputs, check_inputs, inputs_of
from whence.cli.options import TARGET, Subparsers, add_json, add_output, add_threads, add_timing, command, whole
from whence.reading.models import EXPORTED, SCRIPT, model_path

if TYPE_CHECKING:
    from whence.cli.checks import Check
    from whence.cli.scripts import ScriptProgram
    from whence.cli.timing import Runs
    from whence.executables.executable import Executable
    from whence.executables.interpreted import InterpretedExecutable
    from whence.kernels.functions import Function
    from whence.runtime.values.tensors import Tensor
    from whence.support.dtypes import Array

_TOP = 10
_SAMPLED = 0.5
"""Seconds."""


def add(commands: Subparsers) -> None:
    """Add the subcommand."""
    about = (
        "Compile a model, run it, compare it with a reference, and show each level and the time of layers. A .py file "
    )
    about += "is a kernel as TVMScript, whose inputs and outputs are its buffers."
    examples = (
        "light_resnet50",
        "resnet.tar -i x.npz -o y.npz --print-top 5",
        "model.onnx --input x.npz --check expected.npz --profile",
        "kernel.py -i x.npz -o y.npz --print-time",
        "model.onnx --fill-mode random --executor graph --print-time --repeat 10",
    )
    parser = command(commands, "run", "compile, run and check a model", about, examples)
    add_model(parser)
    add_inputs(parser)
    parser.add_argument("--check", type=Path, metavar="FILE", help=".npz or .pb with the expected outputs")
    add_output(parser, "save the outputs by name, as .npz")
    parser.add_argument("--print-top", type=whole(1), metavar="N", help="the N largest elements of each output")
    add_threads(parser)
    about = "native: one call for the whole model; graph: node by node, like TVM's graph executor (default native)"
    parser.add_argument("--executor", choices=("native", "graph"), default="native", help=about)
    parser.add_argument("--profile", action="store_true", help="also print the time of every kernel call")
    parser.add_argument("--print-time", action="store_true", help="a summary of times, of --repeat and --number")
    add_timing(parser, repeat=10, number=1)
    add_memory(parser)
    add_json(parser)
    parser.set_defaults(command=_run)


@dataclass(frozen=True)
class _Ran:
    """A model that was run."""

    args: argparse.Namespace
    path: Path
    compiled: Executable | ScriptProgram
    took: float
    """Seconds until it was ready."""
    inputs: Mapping[str, Array]
    outputs: Mapping[str, Array]
    times: Sequence[float]
    """Seconds of each run after the first."""
    checks: Sequence[Check]

    @property
    def code(self) -> int:
        """The exit code."""
        return 0 if all(checked.right for checked in self.checks) else 1


def _run(args: argparse.Namespace) -> int:
    from whence.cli.checks import check, reference
    from whence.cli.timing import run_times
    from whence.executables.executable import Executable
    from whence.executables.interpreted import InterpretedExecutable
    from whence.lowering.external.registry import split_target
    from whence.lowering.llvm_to_native.target import Target, check_runs_here
    from whence.support.errors import PipelineError

    check_inputs(args)
    path = model_path(args.model)
    check_runs_here(Target.parse(split_target(args.target or TARGET)[1]))
    if path.suffix == SCRIPT:
        from whence.cli.scripts import script_program

        compiled, took = script_program(args, path)
    else:
        compiled, took = compile_model(args, args.threads, kept=True)
    inputs = inputs_of(args, compiled.inputs)
    default = args.input is None and args.seed is None and args.fill_mode in (None, "ramp")
    expected = reference(compiled.outputs, path, args.check, default)
    first = 0.0
    if isinstance(compiled, InterpretedExecutable):
        if args.executor == "graph":
            raise PipelineError(
                "--executor graph: expected a model of fixed shapes, got one whose shapes a call decides"
            )
        start = time.perf_counter()
        compiled.run(inputs)
        first = time.perf_counter() - start
    outputs, times = run_times(_runner(compiled, args.executor), inputs)
    ran = _Ran(
        args,
        path,
        compiled=compiled,
        took=took,
        inputs=inputs,
        outputs=outputs,
        times=times,
        checks=check(outputs, expected),
    )
    match compiled:
        case InterpretedExecutable():
            _tell_open(ran, compiled, first)
        case Executable():
            _tell_static(ran, compiled)
        case _:
            _tell_script(ran, compiled.function)
    _save(args, outputs)
    return ran.code


def _tell_script(ran: _Ran, function: Function) -> None:
    """Print the report on the kernel of a script."""
    from whence.explorer.report import seconds
    from whence.support.names import shown

    if ran.args.json:
        print_json(_data(ran) | {"tuned": function.tuned})
        return
    print(f"{shown(ran.path.name)}: compiled in {seconds(ran.took)}")
    for name, applied in function.tuned.items():
        print(f"{shown(name)} tuned: {shown(applied.about)}")
    _print_run(ran)


def _tell_static(ran: _Ran, compiled: Executable) -> None:
    """Print the report on a model that is one native call."""
    from statistics import median

    from whence.explorer.open_memory import memory_at
    from whence.explorer.report import count, seconds, table
    from whence.support.names import shown

    args = ran.args
    artifact, levels = compiled.artifact, _levels(compiled)
    data = _data(ran) | {"layers_in_source": len(compiled.layers)}
    sizes = compiled.sizes_of(ran.inputs)
    memory = memory_at(artifact, sizes).info if sizes else compiled.memory
    data |= {"kernel_calls": len(artifact.calls), "kernels": len(artifact.kernels), "memory": memory}
    if sizes:
        data["sizes"] = sizes
    data["levels"] = [dict(zip(("level", "count", "unit", "located"), row, strict=True)) for row in levels]
    if not args.json:
        kernels = f"{count(len(artifact.calls), 'kernel call')}, {count(len(artifact.kernels), 'distinct kernel')}"
        print(f"{shown(ran.path.name)}: {count(len(compiled.layers), 'layer')}, {kernels}\n")
        print(table(levels, ("level", "", "", "know their layers"), indent=""))
        print(f"\n{'loaded' if ran.path.suffix in EXPORTED else 'compiled'} in {seconds(ran.took)}")
        at = ", ".join(f"{name} = {value}" for name, value in sizes.items())
        print(f"memory{' for ' if at else ''}{at}: {memory}")
        _print_run(ran)
    if artifact.calls:
        layers, text = _times(compiled, ran.inputs, median(ran.times), args.profile)
        data["layers"] = layers
        if not args.json:
            print(f"\n{text}")
    if args.json:
        print_json(data)


def _tell_open(ran: _Ran, compiled: InterpretedExecutable, first: float) -> None:
    """Print the report on a model that the call decides; first: seconds of the first call, which compiles."""
    from whence.explorer.report import count, seconds
    from whence.support.names import shown

    if ran.args.json:
        counts = {"layers_in_source": len(compiled.layers), "stretches": len(compiled.last)}
        print_json(_data(ran) | counts | {"first_call_seconds": first})
        return
    stretches = f"{len(compiled.last)} stretch{'es' * (len(compiled.last) != 1)}"
    kernels = f"{stretches}, {count(len(compiled.kernels), 'kernel call')}"
    print(f"{shown(ran.path.name)}: {count(len(compiled.layers), 'layer')}; the call decides: {kernels}\n")
    for line in compiled.report().splitlines():
        print(shown(line))
    print(f"\nimported in {seconds(ran.took)}, compiled within the first call, {seconds(first)}")
    _print_run(ran)


class _Graph:
    """A model run node by node."""

    def __init__(self, compiled: Executable):
        from whence.lowering.llvm_to_native.thread_pool import thread_pool
        from whence.planning.graph import graph_plan
        from whence.planning.loading import load_library
        from whence.runtime.program.graph_executor import GraphExecutor
        from whence.runtime.program.graph_module import GraphModule

        plan = graph_plan(compiled.artifact)
        library = load_library(compiled.artifact, plan, thread_pool(compiled.threads))
        self.names = [spec.name for spec in compiled.outputs]
        self.module = GraphModule(GraphExecutor(plan.graph, library, plan.params))

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Tensor]:
        """Output name -> a copy of its array."""
        self.module.run(**inputs)
        return {name: self.module.get_output(number).numpy() for number, name in enumerate(self.names)}


def _runner(compiled: Executable | ScriptProgram, executor: str) -> Runs:
    from whence.executables.executable import Executable

    return _Graph(compiled) if executor == "graph" and isinstance(compiled, Executable) else compiled


def _print_run(ran: _Ran) -> None:
    """Print the report on a run of any model."""
    from statistics import median

    from whence.explorer.report import seconds, table
    from whence.runtime.program.timing import Timing
    from whence.support.names import shown

    args, times = ran.args, ran.times
    print(f"ran in {seconds(median(times))} (median of {len(times)}; {seconds(min(times))} to {seconds(max(times))})")
    for checked in ran.checks:
        print(f"checked {shown(str(checked))}")
    if not ran.checks:
        print("not checked: no reference (--check FILE)")
    if args.print_time:
        runner = _runner(ran.compiled, args.executor)
        print(f"\n{Timing(args.number, args.repeat, args.min_repeat_ms).measure(lambda: runner.run(ran.inputs))}")
    if args.print_top is not None:
        for name, rows in _top(ran.outputs, args.print_top).items():
            print(f"\n{table(rows, (name, 'value'), indent='')}")


def _top(outputs: Mapping[str, Array], count: int) -> dict[str, list[tuple[str, float]]]:
    """Output -> its largest elements, each with its indices."""
    import numpy as np

    largest: dict[str, list[tuple[str, float]]] = {}
    for name, array in outputs.items():
        flat = array.astype(np.float64).ravel()
        order: list[int] = np.argsort(-flat, kind="stable")[:count].tolist()
        places = [", ".join(str(int(axis)) for axis in np.unravel_index(index, array.shape)) for index in order]
        largest[name] = [(indices, float(flat[at])) for indices, at in zip(places, order, strict=True)]
    return largest


def _data(ran: _Ran) -> dict[str, object]:
    """Return the --json report on a run of any model."""
    data: dict[str, object] = {
        "model": ran.path.name,
        "ready_seconds": ran.took,
        "run_seconds": list(ran.times),
        "checks": ran.checks,
        "outputs": {name: {"shape": array.shape, "dtype": array.dtype.name} for name, array in ran.outputs.items()},
    }
    if ran.args.print_top is not None:
        data["top"] = _top(ran.outputs, ran.args.print_top)
    return data


def _save(args: argparse.Namespace, outputs: Mapping[str, Array]) -> None:
    """Write the outputs where that is asked for."""
    if args.output is None:
        return
    import numpy as np

    from whence.support.files import replacing

    with replacing(args.output) as stream:
        np.savez(stream, **outputs)  # pyright: ignore[reportArgumentType]
    print(f"wrote {args.output}", file=sys.stderr)


def _levels(compiled: Executable) -> list[tuple[str, int, str, str]]:
    """Return rows of a level, its number of items, their unit, and the part of them that names its layers."""
    from whence.dialects.relay.operator import Operator
    from whence.explorer.code import MainCode, kernel_of, machine_code
    from whence.explorer.layers import snapshot
    from whence.explorer.report import percent

    artifact = compiled.artifact
    kernels = [kernel_of(artifact, index) for index in range(len(artifact.kernels))]
    relay = {
        stage: sum(isinstance(op, Operator) for op in snapshot(artifact, stage).walk()) for stage in ("relay", "fused")
    }
    fractions = compiled.coverage()
    rows = [
        ("relay, imported", relay["relay"], "operators", ""),
        ("relay, fused", relay["fused"], "operators", "relay"),
    ]
    rows += [(level, sum(kernel.ops[level] for kernel in kernels), "ops", level) for level in ("te", "tir", "llvm")]
    native = len(MainCode.of(artifact).instructions) + sum(len(machine_code(kernel)) for kernel in kernels)
    rows.append(("native", native, "instructions", "native"))
    shown = [
        (name, number, unit, percent(fractions[level]) if level in fractions else "")
        for name, number, unit, level in rows
    ]
    # Beside what the object's own line table tells, what only the code around does.
    if "native_inferred" in fractions:
        shown[-1] = (*shown[-1][:3], f"{shown[-1][3]}, inferred {percent(fractions['native_inferred'])}")
    return shown


def _times(
    compiled: Executable, inputs: Mapping[str, Array], run: float, everything: bool
) -> tuple[list[dict[str, object]], str]:
    """Return times of layers, as data and as text; with `everything`, sampled, kernel calls and hottest lines, too."""
    from whence.cli.timing import call_times
    from whence.explorer.hot import hot_table
    from whence.explorer.layer_table import layer_times
    from whence.explorer.report import percent, some, table
    from whence.lowering.llvm_to_native.sampler import can_sample
    from whence.provenance.span import layer_names

    artifact = compiled.artifact
    samples = compiled.sample(inputs, _SAMPLED) if everything and can_sample() else None
    times = call_times(compiled, inputs, run, samples)
    data: list[dict[str, object]] = [
        {"layer": entry.layer.name if entry.layer is not None else None, "seconds": entry.seconds, "calls": entry.calls}
        for entry in times.ranked(artifact)
    ]
    parts = [layer_times(artifact, times, _TOP)]
    if everything:
        per_call = [
            (f"{1e3 * duration:.3f}", percent(duration / times.total), call.name, some(layer_names(call.location), 3))
            for call, duration in zip(artifact.calls, times.calls, strict=True)
        ]
        parts.append(table(per_call, ("ms", "share", "kernel call", "layers"), indent=""))
    if samples is not None:
        parts.append(hot_table(samples, _TOP))
    return data, "\n\n".join(parts)
