"""`whence`: run a model, and explain the origin of everything in it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import cast

from whence.cli import (
    bench,
    bisect,
    cache,
    compile,
    completion,
    debug,
    explore,
    graph,
    memory,
    operators,
    profile,
    report,
    run,
    tir,
    tune,
    tvm_check,
    where,
    why,
)
from whence.cli.errors import guarded
from whence.cli.options import Parser, Subparsers

_EPILOG = """\
examples:
  whence compile light_resnet50 -o resnet.tar
  whence run resnet.tar
  whence bench resnet.tar --threads 1
  whence run model.onnx --input x.npz --check expected.npz --profile
  whence tune light_resnet50 --budget 2m -o tuned/
  whence profile light_resnet50
  whence debug light_resnet50 --watch n1 --nan
  whence bisect light_resnet50
  whence why light_resnet50 --kernel fused_nn_softmax --line 3
  whence where light_resnet50 --layer n0
  whence where light_resnet50 --all --times
  whence explore light_resnet50 -o session.json.gz
  whence report model.onnx --strip
  whence tir light_resnet50 --kernel fused_nn_softmax
  whence-opt light_resnet50 -p relay-simplify-inference --print-debuginfo
"""


def parser() -> Parser:
    """The command line."""
    top = Parser(
        "whence",
        description="Compiles neural networks for the CPU, and never forgets where an instruction came from.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"whence {version('whence-compiler')}")
    commands = cast(Subparsers, top.add_subparsers(title="commands", metavar="COMMAND"))
    for command in (
        compile,
        run,
        bench,
        tune,
        debug,
        profile,
        bisect,
        why,
        where,
        explore,
        report,
        tir,
        graph,
        memory,
        operators,
        tvm_check,
        cache,
        completion,
    ):
        command.add(commands)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""

    def body() -> int:
        top = parser()
        args = argparse.Namespace(parser=top)
        top.parse_args(sys.argv[1:] if argv is None else argv, args)
        command = cast("Callable[[object], int] | None", getattr(args, "command", None))
        if command is None:
            top.print_help(sys.stderr)
            return 1
        if sys.stdout.isatty():
            from shutil import get_terminal_size

            from whence.explorer.report import WIDTH

            WIDTH.set(get_terminal_size().columns)
        try:
            return command(args)
        finally:
            sys.stdout.flush()

    return guarded("whence", body)


if __name__ == "__main__":
    sys.exit(main())
