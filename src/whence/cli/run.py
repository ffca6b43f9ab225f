"""`whence run`: compile a model, run it, check it, and say where the time went."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from whence.cli.common import Subparsers, add_memory, add_model, compile_model, memory_options
from whence.models import model_path

if TYPE_CHECKING:
    from whence.cli.checks import Check
    from whence.executable import Executable
    from whence.interpreted import InterpretedExecutable
    from whence.support.dtypes import Array

_TOP = 10


def add(commands: Subparsers) -> None:
    """Add the subcommand."""
    about = "Compile a model, run it, compare it with a reference, and show what each level holds and each layer takes."
    parser = commands.add_parser("run", help="compile, run and check a model", description=about, prog="whence run")
    add_model(parser)
    parser.add_argument("--input", type=Path, metavar="FILE", help=".npz with the inputs by name (default: a ramp)")
    parser.add_argument("--seed", type=int, metavar="N", help="random inputs from this seed instead")
    parser.add_argument("--check", type=Path, metavar="FILE", help=".npz or .pb with the expected outputs")
    parser.add_argument("--threads", type=int, metavar="N", help="threads to run on (default: all usable CPUs)")
    parser.add_argument("--profile", action="store_true", help="the time of every kernel call, too")
    add_memory(parser)
    parser.set_defaults(command=_run)


def _run(args: argparse.Namespace) -> int:
    from statistics import median

    from whence.cli.arrays import default_inputs, named, random_inputs, read_arrays
    from whence.cli.checks import check, reference
    from whence.cli.timing import run_times
    from whence.explorer.report import count, seconds
    from whence.interpreted import InterpretedExecutable
    from whence.lowering.external.registry import split_target
    from whence.lowering.llvm_to_native.target import Target
    from whence.planning.loading import check_runs_here
    from whence.support.context import PassContext
    from whence.support.errors import PipelineError
    from whence.support.names import shown

    if args.input is not None and args.seed is not None:
        raise PipelineError("--seed: expected no --input beside it, got both")
    if args.threads is not None and args.threads < 1:
        raise PipelineError(f"--threads: expected at least 1, got {args.threads}")
    check_runs_here(Target.parse(split_target(args.target)[1]))
    path = model_path(args.model)
    given = read_arrays(args.input) if args.input is not None else None
    config, pools = memory_options(args)
    with PassContext(config=config):
        compiled, took = compile_model(args, args.threads, pools)
    if given is not None:
        inputs = named(given, compiled.inputs)
    elif args.seed is not None:
        inputs = random_inputs(compiled.inputs, args.seed)
    else:
        inputs = default_inputs(compiled.inputs)
    expected = reference(compiled.outputs, path, args.check, given is None and args.seed is None)

    if isinstance(compiled, InterpretedExecutable):
        return _run_open(compiled, path, inputs, expected, took)
    artifact = compiled.artifact
    kernels = f"{count(len(artifact.calls), 'kernel call')}, {count(len(artifact.kernels), 'distinct kernel')}"
    print(f"{shown(path.name)}: {count(len(compiled.layers), 'layer')}, {kernels}\n")
    print(_levels(compiled))
    outputs, times = run_times(compiled, inputs)
    checks = check(outputs, expected)
    print(f"\ncompiled in {seconds(took)}")
    print(f"memory: {compiled.memory}")
    print(f"ran in {seconds(median(times))} (median of {len(times)}; {seconds(min(times))} to {seconds(max(times))})")
    _print_checks(checks)
    if artifact.calls:
        print(f"\n{_times(compiled, inputs, median(times), args.profile)}")
    return 0 if all(one.right for one in checks) else 1


def _print_checks(checks: Sequence[Check]) -> None:
    from whence.support.names import shown

    for one in checks:
        print(f"checked {shown(str(one))}")
    if not checks:
        print("not checked: no reference (--check FILE)")


def _run_open(
    compiled: InterpretedExecutable, path: Path, inputs: Mapping[str, Array], expected: Mapping[str, Array], took: float
) -> int:
    """A model that the call decides: what it was specialised for."""
    import time
    from statistics import median

    from whence.cli.checks import check
    from whence.cli.timing import run_times
    from whence.explorer.report import count, seconds
    from whence.support.names import shown

    start = time.perf_counter()
    compiled.run(inputs)
    first = time.perf_counter() - start
    outputs, times = run_times(compiled, inputs)
    checks = check(outputs, expected)
    ran = (
        f"{len(compiled.last)} stretch{'es' * (len(compiled.last) != 1)}, {count(len(compiled.kernels), 'kernel call')}"
    )
    print(f"{shown(path.name)}: {count(len(compiled.layers), 'layer')}; the call decides: {ran}\n")
    for line in compiled.report().splitlines():
        print(shown(line))
    print(f"\nimported in {seconds(took)}, compiled within the first call, {seconds(first)}")
    print(f"ran in {seconds(median(times))} (median of {len(times)}; {seconds(min(times))} to {seconds(max(times))})")
    _print_checks(checks)
    return 0 if all(one.right for one in checks) else 1


def _levels(compiled: Executable) -> str:
    from whence.dialects.relay.operator import Operator
    from whence.explorer.code import MainCode, kernel_of, machine_code
    from whence.explorer.layers import snapshot
    from whence.explorer.report import percent, table

    artifact = compiled.artifact
    kernels = [kernel_of(artifact, index) for index in range(len(artifact.kernels))]
    relay = {
        stage: sum(isinstance(op, Operator) for op in snapshot(artifact, stage).walk()) for stage in ("relay", "fused")
    }
    known = compiled.coverage()
    rows = [
        ("relay, imported", relay["relay"], "operators", ""),
        ("relay, fused", relay["fused"], "operators", "relay"),
    ]
    rows += [(level, sum(kernel.ops[level] for kernel in kernels), "ops", level) for level in ("te", "tir", "llvm")]
    native = len(MainCode.of(artifact).instructions) + sum(len(machine_code(kernel)) for kernel in kernels)
    rows.append(("native", native, "instructions", "native"))
    shown = [(name, number, unit, percent(known[level]) if level else "") for name, number, unit, level in rows]
    # Beside what the object's own line table tells, what only the code around does.
    shown[-1] = (*shown[-1][:3], f"{shown[-1][3]}, inferred {percent(known['native_inferred'])}")
    return table(shown, ("level", "", "", "know their layers"), indent="")


def _times(compiled: Executable, inputs: Mapping[str, Array], run: float, everything: bool) -> str:
    """What layers take; with `everything`, sampled, every kernel call and the hottest lines, too."""
    from whence.cli.timing import call_times
    from whence.explorer.hot import hot_table
    from whence.explorer.layer_table import layer_times
    from whence.explorer.report import percent, some, table
    from whence.lowering.llvm_to_native.sampler import can_sample
    from whence.provenance.span import layer_names

    artifact = compiled.artifact
    samples = compiled.sample(inputs) if everything and can_sample() else None
    times = call_times(compiled, inputs, run, samples)
    parts = [layer_times(artifact, times, _TOP)]
    if everything:
        per_call = [
            (f"{1e3 * taken:.3f}", percent(taken / times.total), call.name, some(layer_names(call.location), 3))
            for call, taken in zip(artifact.calls, times.calls, strict=True)
        ]
        parts.append(table(per_call, ("ms", "share", "kernel call", "layers"), indent=""))
    if samples is not None:
        parts.append(hot_table(samples, _TOP))
    return "\n\n".join(parts)
