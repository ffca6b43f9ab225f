"""`whence tune`: faster kernels for a model, or a faster kernel of a script, found by measuring."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whence.cli.answers import answer
from whence.cli.common import add_model, compile_options
from whence.cli.inputs import add_inputs, check_inputs, inputs_of
from whence.cli.options import TARGET, Subparsers, add_json, add_threads, amount, command, pass_context, whole
from whence.support.errors import PipelineError, expectation

if TYPE_CHECKING:
    from whence.runtime.values.tensors import TensorSpec
    from whence.support.dtypes import Array
    from whence.tuning.report import Report
    from whence.tuning.tuner import State

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_BAR = 20


def add(commands: Subparsers) -> None:
    """Add the subcommand."""
    about = (
        "Measure other schedules of a model's kernels beside the default ones, and keep the faster ones. A .py file "
    )
    about += "is a kernel as TVMScript."
    examples = (
        "light_resnet50",
        "model.onnx --budget 2m -o tuned/",
        "model.onnx --trials 40 --seed 7 --threads 1 --json",
        "kernel.py --budget 1m -o tuned/",
        "model.onnx --scheduler tcp://192.168.1.10:8786",
    )
    parser = command(commands, "tune", "find faster schedules by measuring", about, examples)
    add_model(parser)
    add_inputs(parser)
    add_threads(parser)
    about = "the time for all of it, compiling included: 600, 10m or 1h (default 10m)"
    parser.add_argument("--budget", type=duration, default=600.0, metavar="TIME", help=about)
    about = "the maximal number of measured candidates per kernel (default 96)"
    parser.add_argument("--trials", type=whole(1), default=96, metavar="N", help=about)
    about = "the seed of the search (default 0): the same seed and measurements give the same decisions"
    parser.add_argument("--search-seed", type=whole(0), default=0, metavar="N", help=about)
    about = "seconds after which a candidate counts as hanging (default 10)"
    parser.add_argument("--timeout", type=amount, default=10.0, metavar="S", help=about)
    about = "the folder or file of the records; an existing one is continued (default tuned)"
    parser.add_argument("-o", "--output", type=Path, default=Path("tuned"), metavar="PATH", help=about)
    group = parser.add_argument_group("measuring on other machines")
    about = "the address of a dask scheduler, such as tcp://HOST:8786; each machine runs "
    about += "`dask worker tcp://HOST:8786 --nthreads 1 --resources measure=1`"
    group.add_argument("--scheduler", metavar="ADDRESS", help=about)
    for name, about in (
        ("ca-file", "the certificate of the authority that signed the others' (tls://HOST:8786)"),
        ("cert", "this side's certificate"),
        ("key", "its key"),
    ):
        group.add_argument(f"--tls-{name}", type=Path, metavar="FILE", help=about)
    add_json(parser)
    parser.set_defaults(command=_tune)


def duration(text: str) -> float:
    """The type of an option that is a time: 90, 90s, 10m or 1h, as seconds."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", text.strip())
    if match is None or match[2] not in _UNITS or float(match[1]) == 0:
        raise argparse.ArgumentTypeError(f"expected a time of more than 0, such as 90s, 10m or 1h, got {text!r}")
    return float(match[1]) * _UNITS[match[2]]


@dataclass
class Bar:
    """Progress of tuning on stderr: one changing line on a terminal, else a line per kernel."""

    width: int = 0
    kernel: int = 0
    stage: str = ""
    live: bool = field(default_factory=lambda: sys.stderr.isatty())

    def __call__(self, state: State) -> None:
        """Show a state."""
        if state.stage:
            text = f"{state.stage} .. {state.elapsed:.0f} s"
        else:
            done = round(_BAR * (state.number - 1) / state.kernels)
            text = f"[{'#' * done}{'.' * (_BAR - done)}] {state.number}/{state.kernels} {state.kernel}: "
            text += f"best {state.best:.3f}, {state.measured} measured, run {state.gained:.3f} times as fast, "
            text += f"{state.elapsed:.0f} s"
        if self.live:
            sys.stderr.write(f"\r{text[:160].ljust(self.width)}")
            sys.stderr.flush()
            self.width = min(160, len(text))
        elif (state.number, state.stage) != (self.kernel, self.stage):
            print(text, file=sys.stderr, flush=True)
        self.kernel, self.stage = state.number, state.stage

    def end(self) -> None:
        """Take the changing line away."""
        if self.live and self.width:
            sys.stderr.write(f"\r{' ' * self.width}\r")
            sys.stderr.flush()


def _security(args: argparse.Namespace) -> object:
    """Return the certificates that the arguments name. Raises PipelineError unless all three are given."""
    files = [args.tls_ca_file, args.tls_cert, args.tls_key]
    if not any(files):
        return None
    if not all(files) or args.scheduler is None:
        raise PipelineError("--tls-ca-file, --tls-cert, --tls-key: expected all three, and --scheduler tls://HOST:8786")
    from whence.tuning.connection import certificates

    return certificates(*map(str, files))


def _tune(args: argparse.Namespace) -> int:
    from whence.reading.models import EXPORTED, SCRIPT, model_path

    check_inputs(args)
    path = model_path(args.model)
    if path.suffix in EXPORTED:
        raise PipelineError(expectation("tune", "a model that is not compiled yet", str(path)))
    security, bar = _security(args), Bar()
    search = {
        "budget": args.budget,
        "trials": args.trials,
        "seed": args.search_seed,
        "threads": args.threads,
        "timeout": args.timeout,
        "prior": args.tuned,
        "progress": bar,
    }
    try:
        if path.suffix == SCRIPT:
            reports = [_tune_script(args, path, search)]
        else:
            reports = _tune_model(args, path, search | {"scheduler": args.scheduler, "security": security})
    finally:
        bar.end()
    answer(
        args, lambda: [report.data() for report in reports], lambda: "\n\n".join(report.text() for report in reports)
    )
    return 0


def _tune_model(args: argparse.Namespace, path: Path, search: Mapping[str, Any]) -> list[Report]:
    import whence

    options = compile_options(args)
    del options["tuned"]

    def inputs(specs: Sequence[TensorSpec]) -> dict[str, Array]:
        return inputs_of(args, specs)

    with pass_context(args, {}, ()):
        return whence.tune(path, args.output, inputs=inputs, **search, **options)


def _tune_script(args: argparse.Namespace, path: Path, search: Mapping[str, Any]) -> Report:
    """Tune the kernel of a script; errors as `script_kernel` and `tune_prim_func`."""
    from whence.cli.scripts import in_order, script_kernel
    from whence.kernels.tuning import tune_prim_func
    from whence.tuning.block_tasks import arguments_of

    if args.scheduler is not None:
        raise PipelineError(expectation("--scheduler", "a model", f"the script {path}"))
    kernel = script_kernel(args, path)
    specs, _ = arguments_of(kernel)
    inputs = in_order(inputs_of(args, specs), specs)
    tuned = tune_prim_func(kernel, args.output, target=args.target or TARGET, inputs=inputs, **search)
    return replace(tuned.report, model=path.name)
