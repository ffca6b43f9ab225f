"""`whence where`: the fate of a layer, or of all layers."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from whence.cli.answers import answer
from whence.cli.common import add_model, add_times, called, measured
from whence.cli.inputs import add_inputs
from whence.cli.options import Subparsers, add_json, command
from whence.support.errors import PipelineError

if TYPE_CHECKING:
    from whence.explorer.layers import Layer


def add(commands: Subparsers) -> None:
    """Add the subcommand."""
    about = "Show what a layer became, from relay to machine code. Without --layer: list the layers."
    examples = ("light_resnet50 --layer n0", "resnet.tar --all", "light_resnet50 --all --times --json")
    parser = command(commands, "where", "what became of a layer", about, examples)
    add_model(parser)
    add_inputs(parser)
    parser.add_argument("--layer", metavar="NAME", help="the name of a layer or tensor of the model")
    parser.add_argument("--all", action="store_true", help="print a line per layer with its ops at each level")
    add_times(parser)
    add_json(parser)
    parser.set_defaults(command=_where)


def _where(args: argparse.Namespace) -> int:
    from whence.executables.interpreted import InterpretedExecutable
    from whence.explorer.layers import layers_of
    from whence.explorer.overview import overview, overview_of
    from whence.explorer.where import where

    if args.all and args.layer is not None:
        raise PipelineError("--all: expected no --layer beside it, got both")
    if args.layer is not None and not args.times and args.sizes is None:
        fate = called(args).where(args.layer)
        answer(args, lambda: fate, lambda: str(fate))
        return 0
    program = called(args)
    if isinstance(program, InterpretedExecutable) and not args.times and args.sizes is None:
        answers = program.wheres()
        if args.all:
            summary = overview_of(answers)
            answer(args, lambda: summary, lambda: str(summary))
        else:
            layers = [layer for fate in answers for layer in fate.layers]
            answer(args, lambda: layers, lambda: _listed(layers))
        return 0
    compiled = program.part(args.layer)
    artifact = compiled.artifact
    times = measured(args, compiled)
    if args.layer is not None:
        fate = where(artifact, args.layer, times)
        answer(args, lambda: fate, lambda: str(fate))
    elif args.all or times is not None:
        summary = overview(artifact, times)
        answer(args, lambda: summary, lambda: str(summary))
    else:
        layers = layers_of(artifact)
        answer(args, lambda: layers, lambda: _listed(layers))
    return 0


def _listed(layers: Sequence[Layer]) -> str:
    from whence.explorer.report import table

    return table([(layer.name, layer.type, layer.origin) for layer in layers], indent="")
