"""`whence explore --text` and `--export`: a session document in the terminal, and in the formats of other tools."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from whence.cli.options import Parser, whole
from whence.support.errors import PipelineError, expectation

if TYPE_CHECKING:
    from whence.explorer.session.document import Session
    from whence.explorer.session.views.choice import Choice

_OPTIONS = ("stage", "against", "kernel", "level", "layer", "line", "query", "full")
"""The part of a view that was requested, like `Choice`."""


def add_views(parser: Parser) -> None:
    """Add the options that print a view of the session, or write an export of it."""
    group = parser.add_argument_group("views and exports")
    about = "print a view of the page: summary, passes, stage, diff, why, where .. (a wrong name lists them all), "
    about += 'or with --text query "time by op" the answer to a query'
    group.add_argument("--text", metavar="VIEW", help=about)
    parser.trailing = "query"
    about = "write to -o FILE, or print, what another tool reads, such as model-explorer, chrome-trace, speedscope, svg"
    group.add_argument("--export", metavar="KIND", help=about)
    group.add_argument("--stage", metavar="S", help="a stage by its number or name; of a schedule a frame")
    group.add_argument("--against", metavar="S", help="the stage at which a diff begins (default: the one before)")
    group.add_argument("--kernel", metavar="K", help="a kernel by its number or symbol, or a call of it by its name")
    group.add_argument("--level", metavar="L", help="python, model, relay, te, schedule, tir, llvm or asm")
    group.add_argument("--layer", metavar="NAME", help="a layer by its name")
    group.add_argument("--line", type=whole(1), metavar="N", help="a line of the stage")
    group.add_argument("--full", action="store_true", help="show what is otherwise folded or cut")


def check_views(args: argparse.Namespace) -> None:
    """Raise PipelineError for options that do not go together, before a model is compiled."""
    from whence.explorer.session.exports import EXPORTS
    from whence.explorer.session.views import VIEWS

    for name, table in (("text", VIEWS), ("export", EXPORTS)):
        value = getattr(args, name)
        if value is not None and value not in table:
            raise PipelineError(expectation(f"--{name}", f"one of {', '.join(table)}", repr(value)))
    if args.query is not None and args.text != "query":
        raise PipelineError(expectation("explore", "--text query before a query", repr(args.query)))
    if args.text is not None and args.export is not None:
        raise PipelineError(expectation("--export", "no --text beside it", "both"))
    if args.json and (other := "text" if args.text is not None else "export" if args.export is not None else ""):
        raise PipelineError(expectation("--json", f"no --{other} beside it", "both"))
    if args.text is None and args.export is None:
        for option in _options(args):
            raise PipelineError(expectation(f"--{option}", "--text or --export beside it", "none"))


def _options(args: argparse.Namespace) -> Iterable[str]:
    return (name for name in _OPTIONS if getattr(args, name) not in (None, False))


def print_view(args: argparse.Namespace, session: Session) -> None:
    """Print the requested view; raises PipelineError for a view that the session does not have."""
    from whence.explorer.session.views import VIEWS

    print(VIEWS[args.text](session, _choice(args)))


def write_export(args: argparse.Namespace, session: Session) -> None:
    """Write the export that is asked for to -o, or print it; errors as `print_view`."""
    from whence.explorer.session.exports import EXPORTS
    from whence.support.files import write_text

    text = EXPORTS[args.export](session, _choice(args))
    if args.output is None:
        sys.stdout.write(text)
    else:
        write_text(args.output, text)


def _choice(args: argparse.Namespace) -> Choice:
    from whence.explorer.session.views.choice import Choice

    return Choice(**{name: getattr(args, name) for name in _OPTIONS})
