"""`whence why`: the layers and passes behind a kernel or a line of it."""

from __future__ import annotations

import argparse

from whence.cli.common import Subparsers, add_call, add_model, add_times, print_calls, questioned
from whence.support.errors import PipelineError


def add(commands: Subparsers) -> None:
    """Add the subcommand."""
    about = "Why is this kernel, or this line of its TIR, here? Without --kernel: list the kernel calls."
    parser = commands.add_parser(
        "why", help="the layers and passes behind a kernel", description=about, prog="whence why"
    )
    add_model(parser)
    add_call(parser)
    parser.add_argument("--line", type=int, metavar="N", help="a line of the kernel's TIR")
    add_times(parser)
    parser.set_defaults(command=_why)


def _why(args: argparse.Namespace) -> int:
    from whence.cli.timing import measure
    from whence.explorer.why import why

    if args.times and args.line is not None:
        raise PipelineError("--times: expected no --line beside it, as what is measured is a kernel")
    compiled = questioned(args, args.kernel)
    times = measure(compiled) if args.times else None
    if args.kernel is None:
        print_calls(compiled.artifact, times)
    else:
        print(why(compiled.artifact, args.kernel, args.line, args.call, times))
    return 0
