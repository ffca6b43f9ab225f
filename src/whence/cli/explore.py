"""`whence explore`: all that became of a model, in one document."""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from whence.cli.common import add_model, compile_model
from whence.cli.inputs import add_inputs, inputs_of
from whence.cli.options import TARGET, Subparsers, command, new_file, opt_level
from whence.reading.models import model_path
from whence.support.errors import PipelineError

if TYPE_CHECKING:
    from whence.explorer.session.document import Session


def add(commands: Subparsers) -> None:
    """Add the subcommand."""
    about = "Compile a model, and take down all that became of it: every stage, the ledger, kernels, machine code."
    examples = ("light_resnet50 -o session.json.gz", "resnet.tar -o session.json")
    parser = command(commands, "explore", "the whole compilation as one document", about, examples)
    add_model(parser)
    add_inputs(parser)
    _add_output(parser)
    parser.set_defaults(command=_explore)


def _add_output(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where the document goes."""
    about = "write the session document; in gzip where the name ends in .gz"
    parser.add_argument("-o", "--output", type=new_file, metavar="FILE", help=about)


def _explore(args: argparse.Namespace) -> int:
    from whence.explorer.session.file import write

    if args.output is None:
        raise PipelineError("whence explore: expected -o FILE, got none")
    write(args.output, recorded(args))
    return 0


def recorded(args: argparse.Namespace) -> Session:
    """The session of the model that the arguments stand for; errors as `compile_model`."""
    from whence.executables.interpreted import InterpretedExecutable
    from whence.explorer.session.watching import Watch
    from whence.exploring.record import Origin, session_of

    path, watch = model_path(args.model), Watch()
    compiled, seconds = compile_model(args, instruments=[watch])
    origin = Origin(
        path.name,
        f"whence explore {args.model}",
        args.target or TARGET,
        opt_level(args),
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        seconds=seconds - watch.seconds,
    )
    inputs: Mapping[str, Any] | None = None
    if isinstance(compiled, InterpretedExecutable) and (args.input or args.fill_mode):
        inputs = inputs_of(args, compiled.inputs)
    return session_of(compiled, watch, origin, inputs)
