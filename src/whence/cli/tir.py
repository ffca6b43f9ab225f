"""`whence tir`: the loops of a kernel, the layers of each line beside it."""

from __future__ import annotations

import argparse

from whence.cli.answers import answer
from whence.cli.common import add_call, add_model, check_kernel, print_calls, questioned
from whence.cli.options import Subparsers, add_json, command


def add(commands: Subparsers) -> None:
    """Add the subcommand."""
    about = "The TIR of a kernel, each line with its number, its machine instructions and the layers that it serves."
    about += " Without --kernel: list the kernel calls."
    examples = (
        "light_resnet50",
        "resnet.tar --kernel fused_nn_softmax",
        "light_resnet50 --kernel 0 --json",
    )
    parser = command(commands, "tir", "the loops of a kernel", about, examples)
    add_model(parser)
    add_call(parser)
    add_json(parser)
    parser.set_defaults(command=_tir)


def _tir(args: argparse.Namespace) -> int:
    from whence.explorer.loops import loops

    check_kernel(args)
    compiled = questioned(args, args.kernel)
    if args.kernel is None:
        print_calls(args, compiled.artifact)
    else:
        kernel_loops = loops(compiled.artifact, args.kernel, args.call)
        answer(args, lambda: kernel_loops, lambda: str(kernel_loops))
    return 0
