"""`whence why`: the layers and passes behind a kernel or a line of it."""

from __future__ import annotations

import argparse

from whence.cli.common import Subparsers, add_model, compile_model


def add(commands: Subparsers) -> None:
    """Add the subcommand."""
    about = "Why is this kernel, or this line of its TIR, here? Without --kernel: list the kernel calls."
    parser = commands.add_parser(
        "why", help="the layers and passes behind a kernel", description=about, prog="whence why"
    )
    add_model(parser)
    parser.add_argument("--kernel", metavar="K", help="the name of a kernel call, the symbol of a kernel, or its index")
    parser.add_argument("--call", metavar="NAME", help="the one call to answer for, of several that share the kernel")
    parser.add_argument("--line", type=int, metavar="N", help="a line of the kernel's TIR")
    parser.set_defaults(command=_why)


def _why(args: argparse.Namespace) -> int:
    from whence.explorer.report import some, table
    from whence.explorer.why import why
    from whence.provenance.span import layer_names

    compiled, _ = compile_model(args)
    artifact = compiled.artifact
    if args.kernel is None:
        rows = [(call.kernel, call.name, some(layer_names(call.location), 4)) for call in artifact.calls]
        print(table(rows, ("kernel", "call", "layers"), indent=""))
        return 0
    answer = why(artifact, args.kernel, args.line, args.call)
    print(answer)
    return 0
