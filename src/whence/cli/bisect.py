"""`whence bisect`: which pass makes the numbers wrong."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from whence.cli.answers import answer
from whence.cli.common import Progress, add_model
from whence.cli.inputs import add_inputs, inputs_of
from whence.cli.options import TARGET, Subparsers, add_json, amount, command, opt_level, pass_context
from whence.reading.models import EXPORTED
from whence.support.errors import PipelineError, expectation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from xdsl.dialects.builtin import ModuleOp

    from whence.compiler.bisection import Bisection
    from whence.runtime.values.tensors import TensorSpec
    from whence.support.dtypes import Array


def add(commands: Subparsers) -> None:
    """Add the subcommand."""
    about = "Run the model after each pass, and name the pass, pattern and layer where the result first departs from a "
    about += "reference. Exit code 1 when one departs."
    examples = ("model.onnx --seed 0", "model.onnx --input in.npz --ref out.npz --rtol 1e-4")
    parser = command(commands, "bisect", "find the pass that makes results wrong", about, examples)
    add_model(parser)
    add_inputs(parser)
    about = ".npz with the expected outputs by name (default: those of onnxruntime, LiteRT or, for other files, numpy)"
    parser.add_argument("--ref", type=Path, metavar="FILE", help=about)
    about = "the tolerance, relative to an output's largest number (default 1e-3)"
    parser.add_argument("--rtol", type=amount, default=1e-3, metavar="X", help=about)
    parser.add_argument("--atol", type=amount, default=1e-6, metavar="X", help="the absolute tolerance (default 1e-6)")
    about = "run operators in numpy instead of native code"
    parser.add_argument("--numpy", action="store_true", help=about)
    add_json(parser)
    parser.set_defaults(command=_bisect)


def _bisect(args: argparse.Namespace) -> int:
    from whence.compiler.bisection import bisect, signature
    from whence.lowering.llvm_to_native.target import Target
    from whence.reading.models import model_path
    from whence.reading.pipeline_text import parse_passes
    from whence.universe import multiverse

    path = model_path(args.model)
    if path.suffix in EXPORTED:
        raise PipelineError(f"bisect: expected a model that is not compiled yet, got {path}")
    module = _module(args, path)
    inputs, outputs = signature(module)
    arrays = inputs_of(args, inputs)
    expected, source = _expected(args, path, module, arrays, outputs)
    progress = Progress()
    with pass_context(args):
        try:
            bisection = bisect(
                module,
                arrays,
                expected,
                opt_level=opt_level(args),
                target=Target.parse(args.target or TARGET),
                passes=parse_passes(args.passes, multiverse().all_passes) if args.passes is not None else None,
                rtol=args.rtol,
                atol=args.atol,
                engine="numpy" if args.numpy else None,
                progress=progress,
            )
        finally:
            progress.end()
    answer(args, lambda: {"reference": source, **_data(bisection)}, lambda: f"{bisection}\nreference: {source}")
    return 1 if bisection.found else 0


def _module(args: argparse.Namespace, path: Path) -> ModuleOp:
    """Return the module of a model. Raises PipelineError if values decide its steps."""
    import whence
    from whence.executables.virtual_machine import first_step
    from whence.frontends.importing.tensor import Undecided

    expected = "a model whose steps follow from its inputs' shapes (whence run takes any)"
    try:
        module = whence.load(path, args.input_shapes, args.signature)
    except Undecided as error:
        raise PipelineError(expectation("bisect", expected, f"one in which values decide: {error}")) from error
    if first_step(module) is not None:
        raise PipelineError(expectation("bisect", expected, "one with control flow, or functions as values"))
    return module


def _expected(
    args: argparse.Namespace,
    path: Path,
    module: ModuleOp,
    inputs: Mapping[str, Array],
    outputs: Sequence[TensorSpec],
) -> tuple[Mapping[str, Array], str]:
    """Return the expected outputs of the model, and the name of their source."""
    from whence.cli.references import of_file
    from whence.explorer.references import NUMPY, of_runtime

    if args.ref is not None:
        references = of_file(args.ref, path, args.signature, outputs)
    else:
        references = of_runtime(path, args.signature, inputs)
    if references is not None:
        return references.tensors, references.source
    from whence.compiler.bisection import evaluated

    return evaluated(module, inputs), NUMPY


def _data(bisection: Bisection) -> dict[str, object]:
    return {
        "passes": [
            {
                "pass": result.name,
                "changed": result.changed,
                "absolute": result.difference.error if result.difference is not None else None,
                "relative": result.difference.relative if result.difference is not None else None,
                "right": result.difference.right if result.difference is not None else True,
            }
            for result in bisection.passes
        ],
        "engine": bisection.engine,
        "pass": bisection.pass_name or None,
        "layer": bisection.layer or None,
        "absolute": bisection.layer_difference.error if bisection.layer_difference is not None else None,
        "relative": bisection.layer_difference.relative if bisection.layer_difference is not None else None,
        "patterns": list(bisection.patterns),
    }
