"""`whence memory`: the use of memory by a model."""

from __future__ import annotations

import argparse

from whence.cli.answers import answer
from whence.cli.common import add_memory, add_model, compile_model
from whence.cli.inputs import add_sizes, named_sizes, native
from whence.cli.options import Subparsers, add_json, command, new_file
from whence.reading.models import model_path
from whence.support.errors import PipelineError, expectation


def add(commands: Subparsers) -> None:
    """Add the subcommand."""
    about = "Show the use of memory: the arena with its values over time, parameters, and tensors by layer."
    examples = (
        "light_resnet50",
        "resnet.tar --svg memory.svg",
        "model.onnx --usmp hill_climb --json",
        "bert.onnx --sizes batch=1,seq=128",
    )
    parser = command(commands, "memory", "show the use of memory", about, examples)
    add_model(parser)
    parser.add_argument("--svg", type=new_file, metavar="FILE", help="draw the arena over time")
    add_sizes(parser)
    add_memory(parser)
    add_json(parser)
    parser.set_defaults(command=_memory)


def _memory(args: argparse.Namespace) -> int:
    from whence.explorer.memory import memory_report
    from whence.explorer.memory_picture import memory_svg
    from whence.explorer.open_memory import open_memory_report
    from whence.support.files import write_text

    at = named_sizes(args)
    compiled, _ = compile_model(args)
    artifact, title = native(compiled, "memory").artifact, model_path(args.model).name
    if artifact.program.sizes is None:
        if at is not None:
            raise PipelineError(expectation("--sizes", "a program for all sizes", "one of fixed shapes"))
        report = drawn = memory_report(artifact)
    else:
        report = open_memory_report(artifact, at)
        drawn, named = report.numbers, [f"{name} = {value}" for name, value in (report.at or {}).items()]
        title = ", ".join([title, *named])
    if args.svg is not None:
        if drawn is None:
            raise PipelineError(expectation("--svg", "--sizes, or bounds of all sizes, beside it", "neither"))
        write_text(args.svg, memory_svg(drawn, title))
    answer(args, lambda: report, lambda: str(report))
    return 0
