"""The parts that subcommands share: model options, compiling with progress."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from whence.cli.answers import answer
from whence.cli.inputs import add_sizes, at_sizes, check_sizes, inputs_of
from whence.cli.options import OPT_LEVEL, TARGET, add_passes, opt_level, pass_context
from whence.reading.models import EXPORTED, model_path
from whence.support.errors import PipelineError

if TYPE_CHECKING:
    from whence.executables.executable import Executable
    from whence.explorer.times import Times
    from whence.planning.artifact import Artifact
    from whence.planning.usmp import PoolInfo
    from whence.support.context import Option
    from whence.support.instrument import PassInstrument


_LAYOUT_OPS = ("nn.conv2d", "qnn.conv2d")


def add_model(parser: argparse.ArgumentParser) -> None:
    """The model, and how it is compiled."""
    about = "an .onnx, .tflite, .keras, .pt2, .mlir or .relay file, one that `whence compile` wrote (.tar, .so, .o), "
    about += "or the name of a shipped model such as light_resnet50"
    parser.add_argument("model", help=about)
    about = f"0 to 4 (default {OPT_LEVEL})"
    parser.add_argument("-O", "--opt-level", type=int, choices=range(5), metavar="L", help=about)
    about = 'shapes of inputs that the model leaves open, such as "data:[1,3,224,224] mask:[1,16]"'
    parser.add_argument("--input-shapes", metavar="SHAPES", help=about)
    about = "the signature of a TFLite model; it names inputs and outputs"
    parser.add_argument("--signature", metavar="KEY", help=about)
    about = f'the machine to compile for: "{TARGET}" (the default), "llvm -mcpu=.. -mattr=..", "onnxruntime, llvm"'
    parser.add_argument("--target", help=about)
    about = "bring operators to this data layout first"
    parser.add_argument("--desired-layout", choices=("NCHW", "NHWC"), help=about)
    about = f"the operators that --desired-layout applies to (default {' '.join(_LAYOUT_OPS)})"
    parser.add_argument("--desired-layout-ops", nargs="+", metavar="OP", help=about)
    about = "the type in which convolutions and matrix products multiply: f32, f16, bf16, or auto for the fastest "
    about += "(default: the model's, or f32 if that is as fast)"
    parser.add_argument("--precision", metavar="P", help=about)
    about = "compute convolutions and matrix products on halves: --precision f16, by tvmc's name"
    parser.add_argument("--mixed-precision", dest="precision", action="store_const", const="f16", help=about)
    about = "a file, or a folder of files, with records of tuning, which choose schedules"
    parser.add_argument("--tuned", "--tuning-records", metavar="PATH", help=about)
    about = "the library that computes operators without support here: onnxruntime or reference (ONNX), torch (PyTorch)"
    parser.add_argument("--fallback", metavar="LIBRARY", help=about)
    about = "the relay passes to run instead of those of the level, in the form of `whence-opt -p`"
    parser.add_argument("--passes", metavar="PIPELINE", help=about)
    add_passes(parser)


def _desired_layouts(args: argparse.Namespace) -> str:
    """The layouts that `add_model`'s arguments ask for, as `relay-convert-layout` has them."""
    if args.desired_layout is None:
        if args.desired_layout_ops is not None:
            raise PipelineError("--desired-layout-ops: expected --desired-layout beside it, got none")
        return ""
    requested: list[str] = args.desired_layout_ops or list(_LAYOUT_OPS)
    return ";".join(f"{name}:{args.desired_layout}" for text in requested for name in text.split(",") if name)


def add_call(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that select a kernel and a call of it."""
    parser.add_argument("--kernel", metavar="K", help="the name of a kernel call, the symbol of a kernel, or its index")
    parser.add_argument("--call", metavar="NAME", help="the call to answer for, if several share the kernel")


def check_kernel(args: argparse.Namespace, *options: str) -> None:
    """Raise PipelineError for options about a kernel without --kernel."""
    for name in ("call", *options):
        if getattr(args, name) and args.kernel is None:
            raise PipelineError(f"--{name}: expected --kernel beside it, got none")


def add_times(parser: argparse.ArgumentParser) -> None:
    """Add the option to measure kernels, and the sizes to measure them for."""
    about = "run the model, and print the time of kernels, and of layers by their work"
    parser.add_argument("--times", action="store_true", help=about)
    add_sizes(parser)


def measured(args: argparse.Namespace, compiled: Executable) -> Times | None:
    """Return the times of kernels and layers if the arguments of `add_times` ask for them."""
    from whence.cli.timing import measure

    if args.times:
        program = at_sizes(args, compiled, "--times")
        return measure(program, inputs_of(args, program.inputs))
    if args.sizes is not None:
        raise PipelineError("--sizes: expected --times beside it, got none")
    return None


def print_calls(args: argparse.Namespace, parts: Sequence[Executable], times: Times | None = None) -> None:
    """Print a line per kernel call of each part, with its time if that was measured, or data with --json."""
    artifacts = [part.artifact for part in parts]
    answer(
        args,
        lambda: [row for artifact in artifacts for row in _calls_data(artifact, times)],
        lambda: "\n\n".join(_calls_text(artifact, times) for artifact in artifacts),
    )


def _calls_text(artifact: Artifact, times: Times | None) -> str:
    from whence.explorer.layers import op_types
    from whence.explorer.report import percent, some, table
    from whence.provenance.span import layer_names, leaves

    types = op_types(artifact)
    rows: list[tuple[object, ...]] = []
    for number, call in enumerate(artifact.calls):
        kinds = [types[leaf] for leaf in leaves(call.location) if types.get(leaf)]
        row = (call.kernel, call.name, some(dict.fromkeys(kinds), 4), some(layer_names(call.location), 4))
        if times is not None:
            duration = times.calls[number]
            row = (f"{1e3 * duration:.3f}", percent(duration / times.total), *row)
        rows.append(row)
    header = ("kernel", "call", "types", "layers")
    return table(rows, header if times is None else ("ms", "share", *header), indent="")


def _calls_data(artifact: Artifact, times: Times | None) -> list[dict[str, object]]:
    from whence.provenance.span import layer_names

    rows: list[dict[str, object]] = []
    for number, call in enumerate(artifact.calls):
        row: dict[str, object] = {"kernel": call.kernel, "call": call.name, "layers": layer_names(call.location)}
        rows.append(row | ({"seconds": times.calls[number]} if times is not None else {}))
    return rows


class Shown(Protocol):
    """A receiver of a compilation's progress."""

    def __call__(self, what: str, done: int, total: int) -> None: ...

    def end(self) -> None:
        """The compilation ended, well or not."""
        ...


@dataclass
class Progress:
    """Progress of a compilation on stderr: one changing line on a terminal, else a line per stage."""

    width: int = 0
    stage: str = ""
    live: bool = field(default_factory=lambda: sys.stderr.isatty())

    def __call__(self, what: str, done: int, total: int) -> None:
        if self.live:
            text = f"compiling: {what} {done}/{total}"
            sys.stderr.write(f"\r{text.ljust(self.width)}")
            sys.stderr.flush()
            self.width = len(text)
        elif what != self.stage:
            self.stage = what
            print(f"compiling: {total} {what.removesuffix('s') if total == 1 else what}", file=sys.stderr)

    def end(self) -> None:
        """Take the changing line away."""
        if self.live and self.width:
            sys.stderr.write(f"\r{' ' * self.width}\r")
            sys.stderr.flush()


def add_memory(parser: argparse.ArgumentParser) -> None:
    """Add the options for the memory plan of a model."""
    parser.add_argument(
        "--usmp", metavar="NAME", help="plan memory by greedy_by_size, greedy_by_conflicts or hill_climb"
    )
    about = "a pool of memory, as large as needed or of BYTES; several are tried in order"
    parser.add_argument("--workspace-pool", action="append", default=[], metavar="NAME[:BYTES]", help=about)


def memory_options(args: argparse.Namespace) -> tuple[dict[str, Option], list[PoolInfo]]:
    """Options of PassContext, and pools, that `add_memory`'s arguments stand for; none for commands without them."""
    if not hasattr(args, "usmp"):
        return {}, []
    from whence.planning.usmp import PoolInfo

    config: dict[str, Option] = {}
    if args.usmp is not None:
        config = {"tir.usmp.enable": True, "tir.usmp.algorithm": args.usmp}
    pools: list[PoolInfo] = []
    for text in args.workspace_pool:
        name, colon, size = text.partition(":")
        if not name or (colon and not size.isdecimal()):
            raise PipelineError(f"--workspace-pool: expected NAME or NAME:BYTES, got {text!r}")
        pools.append(PoolInfo(name, int(size)) if colon else PoolInfo(name))
    return config, pools


_BEFORE = (
    *("opt_level", "target", "input_shapes", "desired_layout", "disabled_pass", "pass_config", "print_pass_times"),
    *("usmp", "workspace_pool", "no_fuse", "signature", "snapshot_dir", "passes", "precision", "tuned"),
    "fallback",
)
"""The options that shape a compilation."""


def compile_model(
    args: argparse.Namespace,
    threads: int | None = None,
    config: Mapping[str, Option] | None = None,
    *,
    snapshots: bool = False,
    instruments: Sequence[PassInstrument] = (),
    progress: Shown | None = None,
    kept: bool = False,
) -> tuple[Executable, float]:
    """Compile the model that `add_model`'s arguments name; return it, and the seconds that compilation took.

    config: options of the PassContext beside those in the arguments. snapshots: that of `whence.compile`.
    instruments: called around each pass. progress: called with the progress; by default the terminal shows it. kept: a
    model that was compiled before is read from the cache as a whole, since no command changes the compiler.
    Raises the errors of `whence.reading.models.model_path` and `whence.compile`.
    """
    import whence

    path, start = model_path(args.model), time.perf_counter()
    if path.suffix in EXPORTED:
        return _exported(args, path, threads), time.perf_counter() - start
    check_sizes(args, path)
    planning, pools = memory_options(args)
    progress = progress or Progress()
    with pass_context(args, {**planning, **(config or {})}, instruments):
        try:
            compiled = whence.compile(
                path,
                threads=threads,
                progress=progress,
                workspace_memory_pools=pools,
                snapshots=snapshots,
                cache="model" if kept else "kernels",
                **compile_options(args),
            )
        finally:
            progress.end()
    return compiled, time.perf_counter() - start


def compile_options(args: argparse.Namespace) -> dict[str, Any]:
    """The options of `whence.compile` that `add_model`'s arguments stand for."""
    return {
        "target": args.target or TARGET,
        "opt_level": opt_level(args),
        "input_shapes": args.input_shapes,
        "signature": args.signature,
        "desired_layouts": _desired_layouts(args),
        "pipeline": args.passes,
        "precision": args.precision,
        "tuned": args.tuned,
        "fallback": args.fallback,
    }


def check_uncompiled(args: argparse.Namespace, path: Path, but: Sequence[str] = ()) -> None:
    """Raise PipelineError for options that shape the compilation of a model, as `path` is none to be compiled.

    but: options that are taken all the same.
    """
    if late := [name for name in _BEFORE if name not in but and getattr(args, name, None) not in (None, False, [])]:
        option = f"--{late[0].replace('_', '-')}"
        raise PipelineError(f"{option}: expected a model that is not compiled yet, got {path}")


def _exported(args: argparse.Namespace, path: Path, threads: int | None) -> Executable:
    """A compiled model out of a file; errors as `check_uncompiled` and `read_executable`."""
    from whence.executables.restoring import read_executable

    check_uncompiled(args, path)
    return read_executable(path, threads)


def called(args: argparse.Namespace) -> Executable:
    """The model that `add_model`'s arguments stand for, ready for questions.

    One that a call decides is called, with the inputs that `add_inputs`' arguments stand for; one out of a file only
    if there are such arguments, as the file has its code.
    """
    from whence.executables.interpreted import InterpretedExecutable

    compiled, _ = compile_model(args)
    given = any(value is not None for value in (args.input, args.seed, args.fill_mode))
    if isinstance(compiled, InterpretedExecutable) and (given or not compiled.specializations):
        compiled.run(inputs_of(args, compiled.inputs))
    return compiled
