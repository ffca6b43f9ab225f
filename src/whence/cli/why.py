"""`whence why`: the layers and passes behind a kernel or one of its lines."""

from __future__ import annotations

import argparse

from whence.cli.answers import answer
from whence.cli.common import add_call, add_model, add_times, called, check_kernel, measured, print_calls
from whence.cli.inputs import add_inputs
from whence.cli.options import Subparsers, add_json, command, whole
from whence.support.errors import PipelineError


def add(commands: Subparsers) -> None:
    """Add the subcommand."""
    about = "Show the layers and passes behind a kernel or a line of its TIR. Without --kernel: list the kernel calls."
    examples = (
        "light_resnet50",
        "resnet.tar --kernel fused_nn_softmax --line 3",
        "light_resnet50 --kernel 0 --times --json",
        "light_resnet50 --all --json",
    )
    parser = command(commands, "why", "the layers and passes behind a kernel", about, examples)
    add_model(parser)
    add_inputs(parser)
    add_call(parser)
    parser.add_argument("--all", action="store_true", help="print the answers for all kernels, one after the other")
    parser.add_argument("--line", type=whole(1), metavar="N", help="a line of the kernel's TIR")
    add_times(parser)
    add_json(parser)
    parser.set_defaults(command=_why)


def _why(args: argparse.Namespace) -> int:
    from whence.explorer.why import why, why_all

    if args.times and args.line is not None:
        raise PipelineError("--times: expected no --line beside it, because it measures whole kernels")
    check_kernel(args, "line")
    if args.all and args.kernel is not None:
        raise PipelineError("--all: expected no --kernel beside it, got both")
    program = called(args)
    compiled = program.part(args.kernel)
    times = measured(args, compiled)
    if args.all:
        answers = list(why_all(compiled.artifact, times) if times is not None else program.whys())
        answer(args, lambda: answers, lambda: "\n\n".join(map(str, answers)))
        return 0
    if args.kernel is None:
        print_calls(args, program.parts if times is None else [compiled], times)
        return 0
    reasons = why(compiled.artifact, args.kernel, args.line, args.call, times)
    answer(args, lambda: reasons, lambda: str(reasons))
    return 0
