"""`whence tvm-check`: the names of a program written for TVM that Whence lacks."""

from __future__ import annotations

import argparse
from pathlib import Path

from whence.cli.answers import answer
from whence.cli.options import Subparsers, add_json, command


def add(commands: Subparsers) -> None:
    """Add the subcommand."""
    about = (
        "Read a program that imports tvm, without running it, and list the names, arguments and targets that Whence "
        "lacks, with the nearest of ours. Exits with 1 if there are any."
    )
    parser = command(commands, "tvm-check", "list what a TVM program would miss", about, ("script.py", "*.py --json"))
    parser.add_argument("scripts", nargs="+", type=Path, metavar="SCRIPT", help="a Python file")
    add_json(parser)
    parser.set_defaults(command=_tvm_check)


def _tvm_check(args: argparse.Namespace) -> int:
    from whence.reading.tvm_script import check_script

    reports = [check_script(path) for path in args.scripts]
    answer(args, lambda: reports, lambda: "\n".join(map(str, reports)))
    return int(any(report.findings for report in reports))
