"""`whence operators`: the operators of a format that Whence reads, with the inputs and attributes of each."""

from __future__ import annotations

import argparse

from whence.cli.answers import answer
from whence.cli.options import Subparsers, add_json, command


def add(commands: Subparsers) -> None:
    """Add the subcommand."""
    about = (
        "Show the operators of a format: inputs, where ? may be left out and * are many, then attributes with their "
        "defaults, and `..` for an operator that reads more, by what it finds."
    )
    examples = ("", "onnx", "onnx Conv LeakyRelu", "pytorch pool --json")
    parser = command(commands, "operators", "show the operators of a format", about, examples)
    parser.add_argument("format", nargs="?", help="the format; none for a count of each")
    parser.add_argument("names", nargs="*", metavar="NAME", help="an operator, or a part of names of operators")
    add_json(parser)
    parser.set_defaults(command=_operators)


def _operators(args: argparse.Namespace) -> int:
    from whence.reading.operators import FORMATS, operators

    if args.format is None:
        counts = {name: len(operators(name)) for name in FORMATS}
        answer(args, lambda: counts, lambda: "\n".join(f"{name:12}{count:4}" for name, count in counts.items()))
        return 0
    rows = operators(args.format, args.names)
    answer(args, lambda: rows, lambda: "\n".join(map(str, rows)))
    return 0
