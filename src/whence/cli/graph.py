"""`whence graph`: the compiled graph, for other tools and for people."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection
from typing import TYPE_CHECKING

from whence.cli.common import add_model, compile_model
from whence.cli.inputs import native, static
from whence.cli.options import Subparsers, add_output, command
from whence.reading.models import model_path
from whence.support.errors import PipelineError

if TYPE_CHECKING:
    from whence.explorer.session.document import Graph

_FORMATS = {"json": "tvm", "dot": "dot", "svg": "svg"}
"""Suffix -> the default format."""


def add(commands: Subparsers) -> None:
    """Add the subcommand."""
    about = "Write the graph of a compiled model: nodes are kernel calls, each with the layers that it serves."
    examples = (
        "light_resnet50 -o resnet.svg",
        "resnet.tar -o graph.json          # TVM's graph JSON, which Netron opens",
        "resnet.tar --format model-explorer -o explorer.json",
    )
    parser = command(commands, "graph", "write the compiled graph", about, examples)
    add_model(parser)
    add_output(parser, "the file to write (default: standard output)")
    about = "default: what the file's suffix says, else TVM's JSON"
    parser.add_argument("--format", choices=("tvm", "dot", "svg", "model-explorer"), help=about)
    parser.add_argument("--json", action="store_true", help="the same as --format tvm")
    parser.add_argument("--params", action="store_true", help="draw parameters, too")
    parser.set_defaults(command=_graph)


def _format(args: argparse.Namespace) -> str:
    """Return the format to write; raises PipelineError where options and suffix leave it open or disagree."""
    suffix = args.output.suffix[1:] if args.output is not None else "json"
    meant = _FORMATS.get(suffix)
    if args.json and (args.format not in (None, "tvm") or meant not in (None, "tvm")):
        raise PipelineError(f"--json: expected TVM's graph JSON to be asked for, got {args.format or args.output}")
    form = "tvm" if args.json else args.format or meant
    if form is None:
        raise PipelineError(f"-o {args.output}: expected a file in .json, .dot or .svg, or --format beside it")
    return form


def _graph(args: argparse.Namespace) -> int:
    from whence.executables.origins import origins
    from whence.explorer.session.model_graph import graph_dot, graph_svg, model_explorer, plan_graph
    from whence.planning.graph import graph_plan
    from whence.support.files import write_text

    form = _format(args)
    compiled, _ = compile_model(args)
    # TVM's JSON has numbers only.
    artifact = (static if form == "tvm" else native)(compiled, "graph").artifact
    plan, title = graph_plan(artifact), model_path(args.model).name

    def graph(hidden: Collection[str] = () if args.params else tuple(plan.params)) -> Graph:
        return plan_graph(plan, origins(artifact, plan), hidden)

    match form:
        case "tvm":
            text = plan.graph.to_json(indent=2) + "\n"
        case "dot":
            text = graph_dot(graph())
        case "svg":
            text = graph_svg(graph(), title)
        case _:
            text = model_explorer({"main": graph(())}, title) + "\n"
    if args.output is None:
        sys.stdout.write(text)
    else:
        write_text(args.output, text)
    return 0
