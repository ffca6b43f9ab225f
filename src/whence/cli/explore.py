"""`whence explore`: all that became of a model, in one document."""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from whence.cli.common import add_model, compile_model
from whence.cli.inputs import add_inputs, inputs_of
from whence.cli.options import TARGET, Subparsers, amount, command, new_file, opt_level
from whence.reading.models import model_path
from whence.support.errors import PipelineError

if TYPE_CHECKING:
    from whence.explorer.references import References
    from whence.explorer.session.document import Session
    from whence.exploring.measuring import Wishes
    from whence.planning.artifact import Artifact


def add(commands: Subparsers) -> None:
    """Add the subcommand."""
    about = "Compile a model, and take down all that became of it: every stage, the ledger, kernels, machine code."
    examples = ("light_resnet50 -o session.json.gz", "resnet.tar -o session.json")
    parser = command(commands, "explore", "the whole compilation as one document", about, examples)
    add_model(parser)
    add_inputs(parser)
    _add_output(parser)
    _add_measurements(parser)
    parser.set_defaults(command=_explore)


def _add_output(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where the document goes."""
    about = "write the session document; in gzip where the name ends in .gz"
    parser.add_argument("-o", "--output", type=new_file, metavar="FILE", help=about)


def _add_measurements(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what a run is to tell."""
    group = parser.add_argument_group("measurements")
    group.add_argument("--no-times", action="store_true", help="do not run the model to measure layers and lines")
    group.add_argument("--seconds", type=amount, default=1.0, metavar="S", help="how long to sample (default 1)")
    group.add_argument("--tensors", action="store_true", help="statistics of the values of layers")
    about = "the same, held against onnxruntime's or LiteRT's values of the model"
    group.add_argument("--reference", action="store_true", help=about)


def _wishes(args: argparse.Namespace) -> Wishes:
    from whence.explorer.references import of_module, of_runtime
    from whence.exploring.measuring import Wishes

    def reference(artifact: Artifact, inputs: Mapping[str, Any]) -> References:
        return of_runtime(model_path(args.model), args.signature, inputs) or of_module(artifact, inputs)

    seconds = 0.0 if args.no_times else args.seconds
    return Wishes(seconds, args.tensors or args.reference, reference if args.reference else None)


def _explore(args: argparse.Namespace) -> int:
    from whence.explorer.session.file import write

    if args.output is None:
        raise PipelineError("whence explore: expected -o FILE, got none")
    write(args.output, recorded(args))
    return 0


def recorded(args: argparse.Namespace) -> Session:
    """The session of the model that the arguments stand for; errors as `compile_model`."""
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
    chosen = args.input is not None or args.fill_mode is not None or args.seed is not None
    return session_of(compiled, watch, origin, inputs_of(args, compiled.inputs) if chosen else None, _wishes(args))
