"""`whence why`: the layers and passes behind a kernel or a line of it."""

from __future__ import annotations

import argparse

from whence.cli.answers import answer, print_json
from whence.cli.common import Subparsers, add_call, add_model, add_times, calls_data, print_calls, questioned
from whence.cli.options import add_json, command
from whence.support.errors import PipelineError


def add(commands: Subparsers) -> None:
    """Add the subcommand."""
    about = "Why is this kernel, or this line of its TIR, here? Without --kernel: list the kernel calls."
    examples = (
        "light_resnet50",
        "resnet.tar --kernel fused_nn_softmax --line 3",
        "light_resnet50 --kernel 0 --times --json",
    )
    parser = command(commands, "why", "the layers and passes behind a kernel", about, examples)
    add_model(parser)
    add_call(parser)
    parser.add_argument("--line", type=int, metavar="N", help="a line of the kernel's TIR")
    add_times(parser)
    add_json(parser)
    parser.set_defaults(command=_why)


def _why(args: argparse.Namespace) -> int:
    from whence.cli.timing import measure
    from whence.explorer.why import why

    if args.times and args.line is not None:
        raise PipelineError("--times: expected no --line beside it, as what is measured is a kernel")
    compiled = questioned(args, args.kernel)
    times = measure(compiled) if args.times else None
    if args.kernel is None:
        if args.json:
            print_json(calls_data(compiled.artifact, times))
        else:
            print_calls(compiled.artifact, times)
        return 0
    found = why(compiled.artifact, args.kernel, args.line, args.call, times)
    answer(args, lambda: found, lambda: str(found))
    return 0
