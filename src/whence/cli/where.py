"""`whence where`: what became of a layer."""

from __future__ import annotations

import argparse

from whence.cli.common import Subparsers, add_model, compile_model


def add(commands: Subparsers) -> None:
    """Add the subcommand."""
    about = "What became of a layer, from relay to machine code? Without --layer: list the layers."
    parser = commands.add_parser("where", help="what became of a layer", description=about, prog="whence where")
    add_model(parser)
    parser.add_argument("--layer", metavar="NAME", help="the name of a layer or tensor of the model")
    parser.set_defaults(command=_where)


def _where(args: argparse.Namespace) -> int:
    from whence.explorer.layers import layers_of
    from whence.explorer.report import table

    compiled, _ = compile_model(args)
    if args.layer is None:
        print(table([(layer.name, layer.place) for layer in layers_of(compiled.artifact)], indent=""))
    else:
        print(compiled.where(args.layer))
    return 0
