"""`whence memory`: what the memory of a model is for."""

from __future__ import annotations

import argparse

from whence.cli.answers import answer
from whence.cli.common import add_memory, add_model, compile_model
from whence.cli.inputs import static
from whence.cli.options import Subparsers, add_json, command, new_file
from whence.models import model_path


def add(commands: Subparsers) -> None:
    """Add the subcommand."""
    about = "What is the memory of a model for? The arena and what lies in it when, parameters and tensors by layer."
    examples = ("light_resnet50", "resnet.tar --svg memory.svg", "model.onnx --usmp hill_climb --json")
    parser = command(commands, "memory", "what memory is used for", about, examples)
    add_model(parser)
    parser.add_argument("--svg", type=new_file, metavar="FILE", help="draw what lies in the arena, over time")
    add_memory(parser)
    add_json(parser)
    parser.set_defaults(command=_memory)


def _memory(args: argparse.Namespace) -> int:
    from whence.explorer.memory import memory_report
    from whence.explorer.memory_picture import memory_svg
    from whence.support.files import write_text

    compiled, _ = compile_model(args)
    report = memory_report(static(compiled, "memory").artifact)
    if args.svg is not None:
        write_text(args.svg, memory_svg(report, model_path(args.model).name))
    answer(args, lambda: report, lambda: str(report))
    return 0
