"""`whence profile`: where time goes within kernels, line by line."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from whence.cli.common import Subparsers, add_call, add_model, compile_model
from whence.cli.inputs import add_inputs, inputs_of, static

if TYPE_CHECKING:
    from whence.executable import Executable
    from whence.explorer.samples import Samples
    from whence.explorer.times import Times

_EPILOG = """\
examples:
  whence profile light_resnet50
  whence profile light_resnet50 --kernel fused_nn_softmax --asm
  whence profile model.onnx --folded stacks.txt --chrome-trace trace.json --node-data times.json
"""


def add(commands: Subparsers) -> None:
    """Add the subcommand."""
    about = "Run a model while a timer samples the program counter: the time of layers, kernel calls and lines of TIR."
    parser = commands.add_parser("profile", help="where time goes, by line", description=about, prog="whence profile")
    parser.epilog, parser.formatter_class = _EPILOG, argparse.RawDescriptionHelpFormatter
    add_model(parser)
    add_inputs(parser)
    add_call(parser)
    parser.add_argument("--asm", action="store_true", help="with --kernel: its assembly instead of its TIR")
    parser.add_argument("--threads", type=int, metavar="N", help="threads to run on (default: all usable CPUs)")
    parser.add_argument("--seconds", type=float, default=1.0, metavar="S", help="how long to sample (default 1)")
    parser.add_argument("--period", type=float, default=250, metavar="US", help="between samples (default 250)")
    parser.add_argument("--print-top", type=int, default=10, metavar="N", help="how many rows (default 10)")
    parser.add_argument("--folded", type=Path, metavar="FILE", help="write stacks for flame graphs")
    parser.add_argument("--chrome-trace", type=Path, metavar="FILE", help="write a trace of kernels and layers")
    parser.add_argument("--node-data", type=Path, metavar="FILE", help="write times of nodes for Model Explorer")
    parser.add_argument("--json", action="store_true", help="print layers, calls and lines as JSON")
    parser.set_defaults(command=_profile)


def _profile(args: argparse.Namespace) -> int:
    from whence.explorer.hot import annotated_assembly, annotated_tir, hot_table
    from whence.explorer.layer_table import layer_times
    from whence.support.errors import PipelineError

    if args.asm and args.kernel is None:
        raise PipelineError("--asm: expected --kernel beside it, got none")
    compiled, _ = compile_model(args, args.threads)
    executable = static(compiled, "profile")
    inputs = inputs_of(args, executable.inputs)
    samples = executable.sample(inputs, args.seconds, args.period * 1e-6)
    times = executable.times(inputs, samples=samples)
    _write(args, executable, samples, times)
    if args.kernel is not None:
        show = annotated_assembly if args.asm else annotated_tir
        print(show(samples, args.kernel, args.call))
    elif args.json:
        print(json.dumps(_data(executable, samples, times), ensure_ascii=False))
    else:
        print(layer_times(executable.artifact, times, args.print_top))
        print(f"\n{hot_table(samples, args.print_top)}")
    return 0


def _write(args: argparse.Namespace, executable: Executable, samples: Samples, times: Times) -> None:
    from whence.explorer.exports import chrome_trace, folded_stacks, node_data
    from whence.planning.graph import graph_plan
    from whence.support.files import write_text

    if args.folded is not None:
        write_text(args.folded, folded_stacks(samples))
    if args.chrome_trace is not None:
        write_text(args.chrome_trace, chrome_trace(executable.artifact, times))
    if args.node_data is not None:
        calls = graph_plan(executable.artifact).calls
        write_text(args.node_data, node_data([(node, times.calls[call]) for node, call in calls.items()]))


def _data(executable: Executable, samples: Samples, times: Times) -> dict[str, object]:
    from whence.explorer.hot import hot_lines

    artifact = executable.artifact
    return {
        "layers": [
            {
                "layer": one.layer.name if one.layer is not None else None,
                "seconds": one.seconds,
                "estimated": one.estimated,
                "calls": list(one.calls),
            }
            for one in times.ranked(artifact)
        ],
        "calls": [
            {"call": call.name, "seconds": taken, "samples": samples.calls[number].total}
            for number, (call, taken) in enumerate(zip(artifact.calls, times.calls, strict=True))
        ],
        "lines": [
            {
                "call": artifact.calls[one.call].name,
                "line": one.line,
                "samples": one.samples,
                "tir": one.text,
                "layers": list(one.layers),
            }
            for one in hot_lines(samples)
        ],
        "samples": samples.total,
        "runs": samples.runs,
    }
