"""What the subcommands share: model options, compiling with progress."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Protocol

from whence.models import model_path
from whence.support.errors import PipelineError

if TYPE_CHECKING:
    from whence.executable import Executable
    from whence.explorer.times import Times
    from whence.planning.artifact import Artifact
    from whence.planning.usmp import PoolInfo


_LAYOUT_OPS = ("nn.conv2d", "qnn.conv2d")


class Parser(argparse.ArgumentParser):
    """An argument parser that raises PipelineError instead of printing its usage and exiting with 2."""

    def error(self, message: str) -> NoReturn:
        raise PipelineError(f"{message} ({self.prog} --help explains)")


class Subparsers(Protocol):
    """What a subcommand adds itself to."""

    def add_parser(self, name: str, *, help: str, description: str, prog: str) -> Parser: ...


def add_model(parser: argparse.ArgumentParser) -> None:
    """The model, and how it is compiled."""
    about = "an .onnx, .tflite, .mlir or .relay file, one that `whence compile` wrote (.tar, .so, .o), "
    about += "or the name of a shipped model such as light_resnet50"
    parser.add_argument("model", help=about)
    parser.add_argument(
        "-O", "--opt-level", type=int, default=3, choices=range(5), metavar="L", help="0 to 4 (default 3)"
    )
    about = 'shapes of inputs that the model leaves open, such as "data:[1,3,224,224] mask:[1,16]"'
    parser.add_argument("--input-shapes", metavar="SHAPES", help=about)
    about = "which signature of a TFLite model; inputs and outputs are called as it does"
    parser.add_argument("--signature", metavar="KEY", help=about)
    about = 'what code is made for: "native" (the default), "llvm -mcpu=.. -mattr=..", "onnxruntime, llvm"'
    parser.add_argument("--target", default="native", help=about)
    about = "bring operators to this data layout first"
    parser.add_argument("--desired-layout", choices=("NCHW", "NHWC"), help=about)
    about = f"which operators --desired-layout is for (default {' '.join(_LAYOUT_OPS)})"
    parser.add_argument("--desired-layout-ops", nargs="+", metavar="OP", help=about)


def _desired_layouts(args: argparse.Namespace) -> str:
    """The layouts that `add_model`'s arguments ask for, as `relay-convert-layout` has them."""
    if args.desired_layout is None:
        if args.desired_layout_ops is not None:
            raise PipelineError("--desired-layout-ops: expected --desired-layout beside it, got none")
        return ""
    given: list[str] = args.desired_layout_ops or list(_LAYOUT_OPS)
    return ";".join(f"{name}:{args.desired_layout}" for text in given for name in text.split(",") if name)


def add_call(parser: argparse.ArgumentParser) -> None:
    """Which kernel, and which call of it."""
    parser.add_argument("--kernel", metavar="K", help="the name of a kernel call, the symbol of a kernel, or its index")
    parser.add_argument("--call", metavar="NAME", help="the one call to answer for, of several that share the kernel")


def add_times(parser: argparse.ArgumentParser) -> None:
    """Whether kernels are measured."""
    about = "run the model on a ramp, and tell what kernels take, and layers by their work"
    parser.add_argument("--times", action="store_true", help=about)


def print_calls(artifact: Artifact, times: Times | None = None) -> None:
    """A line per kernel call, with what it took if that was measured."""
    from whence.explorer.layers import op_types
    from whence.explorer.report import percent, some, table
    from whence.provenance.span import layer_names, leaves

    types = op_types(artifact)
    rows: list[tuple[object, ...]] = []
    for place, call in enumerate(artifact.calls):
        known = [types[leaf] for leaf in leaves(call.location) if types.get(leaf)]
        row = (call.kernel, call.name, some(dict.fromkeys(known), 4), some(layer_names(call.location), 4))
        if times is not None:
            taken = times.calls[place]
            row = (f"{1e3 * taken:.3f}", percent(taken / times.total), *row)
        rows.append(row)
    header = ("kernel", "call", "types", "layers")
    print(table(rows, header if times is None else ("ms", "share", *header), indent=""))


def calls_data(artifact: Artifact, times: Times | None = None) -> list[dict[str, object]]:
    """What `print_calls` tells, for programs."""
    from whence.provenance.span import layer_names

    rows: list[dict[str, object]] = []
    for place, call in enumerate(artifact.calls):
        row: dict[str, object] = {"kernel": call.kernel, "call": call.name, "layers": layer_names(call.location)}
        rows.append(row | ({"seconds": times.calls[place]} if times is not None else {}))
    return rows


@dataclass
class Progress:
    """Tells on stderr what is being compiled: one line that changes on a terminal, else a line per stage."""

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
            print(f"compiling: {total} {what}", file=sys.stderr)

    def end(self) -> None:
        """Take the changing line away."""
        if self.live and self.width:
            sys.stderr.write(f"\r{' ' * self.width}\r")
            sys.stderr.flush()


def add_memory(parser: argparse.ArgumentParser) -> None:
    """How the memory of a model is planned."""
    parser.add_argument(
        "--usmp", metavar="NAME", help="plan memory by greedy_by_size, greedy_by_conflicts or hill_climb"
    )
    about = "a pool of memory, as large as needed or of BYTES; several are tried in order"
    parser.add_argument("--workspace-pool", action="append", default=[], metavar="NAME[:BYTES]", help=about)


def memory_options(args: argparse.Namespace) -> tuple[dict[str, bool | int | str], list[PoolInfo]]:
    """Options of PassContext, and pools, that `add_memory`'s arguments stand for."""
    from whence.planning.usmp import PoolInfo

    config: dict[str, bool | int | str] = {}
    if args.usmp is not None:
        config = {"tir.usmp.enable": True, "tir.usmp.algorithm": args.usmp}
    pools: list[PoolInfo] = []
    for text in args.workspace_pool:
        name, colon, size = text.partition(":")
        if not name or (colon and not size.isdecimal()):
            raise PipelineError(f"--workspace-pool: expected NAME or NAME:BYTES, got {text!r}")
        pools.append(PoolInfo(name, int(size)) if colon else PoolInfo(name))
    return config, pools


def compile_model(
    args: argparse.Namespace, threads: int | None = None, pools: Sequence[PoolInfo] = ()
) -> tuple[Executable, float]:
    """The model that `add_model`'s arguments stand for, compiled, and the seconds that took.

    Errors as `whence.models.model_path` and `whence.compile`.
    """
    import whence

    progress = Progress()
    start = time.perf_counter()
    path = model_path(args.model)
    if path.suffix in EXPORTED:
        return _exported(args, path, threads), time.perf_counter() - start
    try:
        compiled = whence.compile(
            path,
            target=args.target,
            opt_level=args.opt_level,
            threads=threads,
            input_shapes=args.input_shapes,
            signature=args.signature,
            progress=progress,
            workspace_memory_pools=pools,
            desired_layouts=_desired_layouts(args),
        )
    finally:
        progress.end()
    return compiled, time.perf_counter() - start


EXPORTED = (".tar", ".so", ".o")
"""The files that hold a compiled model."""


def _exported(args: argparse.Namespace, path: Path, threads: int | None) -> Executable:
    """A compiled model out of a file. Raises PipelineError for options that come too late."""
    from whence.executable import Executable
    from whence.restoring import read_artifact

    for name in (
        "input_shapes",
        "signature",
        "desired_layout",
        "disabled_pass",
        "pass_config",
        "usmp",
        "workspace_pool",
    ):
        if getattr(args, name, None):
            option = name.replace("_", "-")
            raise PipelineError(f"--{option}: expected a model that is yet to be compiled, got {path}")
    return Executable(read_artifact(path), threads)


def called(args: argparse.Namespace) -> Executable:
    """The model that `add_model`'s arguments stand for, ready for questions.

    One that a call decides is called, with the inputs that it gets when none are given.
    """
    from whence.cli.arrays import default_inputs
    from whence.interpreted import InterpretedExecutable

    compiled, _ = compile_model(args)
    if isinstance(compiled, InterpretedExecutable):
        compiled.run(default_inputs(compiled.inputs))
    return compiled


def questioned(args: argparse.Namespace, name: str | None = None) -> Executable:
    """What answers about a kernel or layer of a name: the model; or the stretch that has it."""
    from whence.interpreted import InterpretedExecutable

    compiled = called(args)
    return compiled.part(name) if isinstance(compiled, InterpretedExecutable) else compiled
