"""`whence tir`: the loops of a kernel, with the layers of each line."""

from __future__ import annotations

import argparse

from whence.cli.answers import answer
from whence.cli.common import add_call, add_model, called, check_kernel, print_calls
from whence.cli.inputs import add_inputs
from whence.cli.options import Subparsers, add_json, command


def add(commands: Subparsers) -> None:
    """Add the subcommand."""
    about = "Show the TIR of a kernel; each line has its number, its machine instructions and its layers."
    about += " Without --kernel: list the kernel calls."
    examples = (
        "light_resnet50",
        "resnet.tar --kernel fused_nn_softmax",
        "light_resnet50 --kernel 0 --json",
        "light_resnet50 --kernel 0 --emit opt.ll",
    )
    parser = command(commands, "tir", "the loops of a kernel", about, examples)
    add_model(parser)
    add_inputs(parser)
    add_call(parser)
    add_json(parser)
    about = "with --kernel: print its code as te, schedule, tir, ll (LLVM IR), opt.ll (after LLVM's passes) or s"
    parser.add_argument("--emit", metavar="FORMAT", help=about)
    parser.set_defaults(command=_tir)


def _tir(args: argparse.Namespace) -> int:
    from whence.explorer.loops import loops

    check_kernel(args, "emit")
    program = called(args)
    compiled = program.part(args.kernel)
    if args.kernel is None:
        print_calls(args, program.parts)
    elif args.emit is not None:
        code = compiled.get_source(args.kernel, args.emit)
        answer(args, lambda: {"format": args.emit, "code": code}, lambda: code)
    else:
        kernel_loops = loops(compiled.artifact, args.kernel, args.call)
        answer(args, lambda: kernel_loops, lambda: str(kernel_loops))
    return 0
