"""`whence bench`: how long a run takes."""

from __future__ import annotations

import argparse
import time

from whence.cli.answers import answer
from whence.cli.common import add_model, check_uncompiled, compile_model
from whence.cli.inputs import add_inputs, check_inputs, inputs_of
from whence.cli.options import Subparsers, add_json, add_threads, add_timing, command
from whence.reading.models import EXPORTED, model_path


def add(commands: Subparsers) -> None:
    """Add the subcommand."""
    about = "Measure runs, and print mean, median, max, min and deviation in milliseconds."
    examples = ("light_resnet50", "resnet.tar --threads 1 --repeat 20 --number 5", "model.onnx -i x.npz --json")
    parser = command(commands, "bench", "measure a model", about, examples)
    add_model(parser)
    add_inputs(parser)
    add_threads(parser)
    add_timing(parser, repeat=10, number=1)
    about = "pass inputs by name and return new arrays in every run, as in a caller's program"
    parser.add_argument("--end-to-end", action="store_true", help=about)
    add_json(parser)
    parser.set_defaults(command=_bench)


def _bench(args: argparse.Namespace) -> int:
    from whence.runtime.loading.loaded import load_module
    from whence.runtime.program.threads import thread_count
    from whence.runtime.program.timing import Timing

    check_inputs(args)
    timing = Timing(args.number, args.repeat, args.min_repeat_ms)
    path, start = model_path(args.model), time.perf_counter()
    if path.suffix in EXPORTED:
        # As where it is shipped to: without the compiler.
        check_uncompiled(args, path)
        compiled = load_module(path, threads=args.threads)
    else:
        compiled, _ = compile_model(args, args.threads, kept=True)
    took = time.perf_counter() - start
    inputs = inputs_of(args, compiled.inputs)
    arrays = [inputs[spec.name] for spec in compiled.inputs]
    result = timing.measure((lambda: compiled.run(inputs)) if args.end_to_end else (lambda: compiled(*arrays)))
    data = {
        "model": args.model,
        "ready_seconds": took,
        "threads": thread_count(args.threads),
        "seconds": list(result.results),
    }
    data |= {name: getattr(result, name) for name in ("mean", "median", "max", "min", "std")}
    answer(args, lambda: data, lambda: str(result))
    return 0
