"""`whence tir`: the loops of a kernel, the layers of each line beside it."""

from __future__ import annotations

import argparse

from whence.cli.common import Subparsers, add_call, add_model, print_calls, questioned


def add(commands: Subparsers) -> None:
    """Add the subcommand."""
    about = "The TIR of a kernel, each line with its number, its machine instructions and the layers that it serves."
    about += " Without --kernel: list the kernel calls."
    parser = commands.add_parser("tir", help="the loops of a kernel", description=about, prog="whence tir")
    add_model(parser)
    add_call(parser)
    parser.set_defaults(command=_tir)


def _tir(args: argparse.Namespace) -> int:
    from whence.explorer.loops import loops

    compiled = questioned(args, args.kernel)
    if args.kernel is None:
        print_calls(compiled.artifact)
    else:
        print(loops(compiled.artifact, args.kernel, args.call))
    return 0
