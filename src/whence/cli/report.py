"""`whence report`: a compilation as one file to send, optionally without the model."""

from __future__ import annotations

import argparse
from pathlib import Path

from whence.cli.answers import answer
from whence.cli.common import add_model
from whence.cli.explore import DOCUMENTS, add_measurements, answers_of, session_of_arguments
from whence.cli.inputs import add_inputs
from whence.cli.options import Subparsers, add_json, command, new_file


def add(commands: Subparsers) -> None:
    """Add the subcommand."""
    about = "Compile a model, and write the whole compilation into one file to send: a page that opens without a "
    about += "network, or the session document if the name ends in .json or .json.gz."
    examples = (
        "light_resnet50 -o resnet.html",
        "model.onnx --strip            # without weights, and with hashes instead of names",
        "session.json.gz --strip -o stripped.json.gz",
    )
    parser = command(commands, "report", "the whole compilation as one file to send", about, examples)
    add_model(parser)
    add_inputs(parser)
    about = "the file to write (default: report.html)"
    parser.add_argument("-o", "--output", type=new_file, default=Path("report.html"), metavar="FILE", help=about)
    about = "leave out values, and replace the names of layers, tensors, functions and files by hashes"
    parser.add_argument("--strip", action="store_true", help=about)
    add_measurements(parser)
    add_json(parser)
    parser.set_defaults(command=_report)


def _report(args: argparse.Namespace) -> int:
    from whence.explorer.report_file import write_report
    from whence.explorer.session.file import write
    from whence.explorer.session.strip import stripped

    session = session_of_arguments(args)
    if args.strip:
        session = stripped(session)
    if args.output.name.endswith(DOCUMENTS):
        write(args.output, session)
    else:
        write_report(session, args.output)
    size = args.output.stat().st_size
    answer(
        args,
        lambda: {"file": args.output, "bytes": size, **answers_of(session)},
        lambda: f"wrote {args.output} ({size} bytes)",
    )
    return 0
