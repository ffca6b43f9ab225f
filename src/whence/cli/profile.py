"""`whence profile`: the time of layers and of lines in kernels."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from whence.cli.answers import answer
from whence.cli.common import add_call, add_model, check_kernel, compile_model
from whence.cli.inputs import add_inputs, add_sizes, at_sizes, check_inputs, inputs_of
from whence.cli.options import Subparsers, add_json, add_threads, amount, command, new_file, whole
from whence.support.errors import PipelineError, expectation

if TYPE_CHECKING:
    from whence.executables.executable import Executable
    from whence.executables.interpreted import InterpretedExecutable
    from whence.explorer.samples import Samples
    from whence.explorer.shares import Shares
    from whence.explorer.times import Times


def add(commands: Subparsers) -> None:
    """Add the subcommand."""
    about = "Run a model while a timer samples the program counter: the time of layers beside their roofs, of kernel "
    about += "calls, and of lines of TIR."
    examples = (
        "light_resnet50",
        "light_resnet50 --kernel fused_nn_softmax --asm",
        "model.onnx --folded stacks.txt --chrome-trace trace.json --node-data times.json",
    )
    parser = command(commands, "profile", "show where time goes, by layer and line", about, examples)
    add_model(parser)
    add_inputs(parser)
    add_sizes(parser)
    add_call(parser)
    parser.add_argument("--asm", action="store_true", help="with --kernel: its assembly instead of its TIR")
    add_threads(parser)
    parser.add_argument("--seconds", type=amount, default=1.0, metavar="S", help="how long to sample (default 1)")
    parser.add_argument("--period", type=amount, default=250, metavar="US", help="between samples (default 250)")
    parser.add_argument("--print-top", type=whole(1), default=10, metavar="N", help="how many rows (default 10)")
    parser.add_argument("--folded", type=new_file, metavar="FILE", help="write stacks for flame graphs")
    parser.add_argument("--chrome-trace", type=new_file, metavar="FILE", help="write a trace of kernels and layers")
    parser.add_argument("--node-data", type=new_file, metavar="FILE", help="write times of nodes for Model Explorer")
    add_json(parser)
    parser.set_defaults(command=_profile)


def _profile(args: argparse.Namespace) -> int:
    from whence.executables.interpreted import InterpretedExecutable
    from whence.explorer.calls import find_calls
    from whence.explorer.hot import annotated_assembly, annotated_tir, hot_table
    from whence.explorer.layer_table import layer_times
    from whence.explorer.probe import measured_rates
    from whence.explorer.roof import layer_roofs, roofs

    check_kernel(args, "asm")
    check_inputs(args)
    compiled, _ = compile_model(args, args.threads)
    if isinstance(compiled, InterpretedExecutable):
        return _profile_steps(args, compiled)
    executable = at_sizes(args, compiled, "profile")
    inputs = inputs_of(args, executable.inputs)
    if args.kernel is not None:
        find_calls(executable.artifact, args.kernel, args.call)
    samples = executable.sample(inputs, args.seconds, args.period * 1e-6)
    times = executable.times(inputs, samples=samples)
    _write(args, executable, samples, times)
    if args.kernel is not None:
        annotated = (annotated_assembly if args.asm else annotated_tir)(samples, args.kernel, args.call)
        answer(args, lambda: annotated, lambda: str(annotated))
        return 0

    artifact = executable.artifact
    least = layer_roofs(times, roofs(artifact, measured_rates(executable.pool.threads)))

    def text() -> str:
        layers = layer_times(artifact, times, args.print_top, least)
        return f"{layers}\n\n{hot_table(samples, args.print_top)}"

    answer(args, lambda: _data(executable, samples, times, least), text)
    return 0


def _profile_steps(args: argparse.Namespace, compiled: InterpretedExecutable) -> int:
    """Print the time of kernel calls and layers of one run of a model in which values decide."""
    from whence.executables.profiling import profiled
    from whence.explorer.report import percent, table

    for name in ("kernel", "folded", "chrome_trace", "node_data", "sizes"):
        if getattr(args, name) is not None:
            expected = f"no --{name.replace('_', '-')} with a model in which values decide"
            raise PipelineError(expectation("profile", expected, f"one: {compiled.decided}"))
    inputs = inputs_of(args, compiled.inputs)
    arguments = [inputs[spec.name] for spec in compiled.inputs]
    compiled.invoke("main", *arguments)
    report = profiled(compiled, "main", arguments)
    layers, total = report.by_layer(), sum(report.by_layer().values())

    def text() -> str:
        rows = [
            (f"{microseconds / 1e3:.3f}", percent(microseconds / total), layer or "no layer")
            for layer, microseconds in list(layers.items())[: args.print_top]
        ]
        return f"{table(rows, ('ms', 'share', 'layer'), indent='')}\n\n{report.table()}"

    answer(args, lambda: {"layers": layers, **json.loads(report.json())}, text)
    return 0


def _write(args: argparse.Namespace, executable: Executable, samples: Samples, times: Times) -> None:
    from whence.explorer.exports import chrome_trace, folded_stacks, node_data, sample_stacks, traced_calls
    from whence.planning.graph import graph_plan
    from whence.support.files import write_text

    if args.folded is not None:
        write_text(args.folded, folded_stacks(sample_stacks(samples)))
    if args.chrome_trace is not None:
        write_text(args.chrome_trace, chrome_trace(traced_calls(executable.artifact, times)))
    if args.node_data is not None:
        calls = graph_plan(executable.artifact).calls
        write_text(args.node_data, node_data({"main": [(node, times.calls[call]) for node, call in calls.items()]}))


def _data(executable: Executable, samples: Samples, times: Times, least: Shares) -> dict[str, object]:
    from whence.explorer.hot import hot_lines

    artifact = executable.artifact
    return {
        "layers": [
            {
                "layer": entry.layer.name if entry.layer is not None else None,
                "seconds": entry.seconds,
                "roof": least[entry.layer],
                "estimated": entry.estimated,
                "calls": list(entry.calls),
            }
            for entry in times.ranked(artifact)
        ],
        "calls": [
            {"call": call.name, "seconds": duration, "samples": samples.calls[number].total}
            for number, (call, duration) in enumerate(zip(artifact.calls, times.calls, strict=True))
        ],
        "lines": [
            {
                "call": artifact.calls[line.call].name,
                "line": line.line,
                "samples": line.samples,
                "tir": line.text,
                "layers": list(line.layers),
            }
            for line in hot_lines(samples)
        ],
        "samples": samples.total,
        "runs": samples.runs,
    }
