"""The arguments that say what a model is run on."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from whence.support.errors import PipelineError

if TYPE_CHECKING:
    from collections.abc import Callable

    from onnx import ModelProto

    from whence.executable import Executable
    from whence.runtime.tensors import TensorSpec
    from whence.support.dtypes import Array


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """The inputs of a run."""
    parser.add_argument(
        "-i", "--input", type=Path, metavar="FILE", help=".npz with the inputs by name (default: a ramp)"
    )
    parser.add_argument("--seed", type=int, metavar="N", help="random inputs from this seed instead")


def inputs_of(args: argparse.Namespace, specs: Sequence[TensorSpec]) -> dict[str, Array]:
    """The inputs that `add_inputs`' arguments stand for; names that are none of a file's are left out.

    Raises PipelineError for a file and a seed at once, FrontendError for what is no file of arrays.
    """
    from whence.cli.arrays import default_inputs, named, random_inputs, read_arrays

    if args.input is not None and args.seed is not None:
        raise PipelineError("--seed: expected no --input beside it, got both")
    if args.input is not None:
        return named(read_arrays(args.input), specs)
    return random_inputs(specs, args.seed) if args.seed is not None else default_inputs(specs)


def static(compiled: Executable, what: str) -> Executable:
    """`compiled`, if it is one native call; raises PipelineError for a model that the call decides."""
    from whence.interpreted import InterpretedExecutable

    if isinstance(compiled, InterpretedExecutable):
        raise PipelineError(
            f"{what}: expected a model of fixed shapes and without control flow, got one that a call decides "
            "(--input-shapes fixes shapes)"
        )
    return compiled


def references_of(
    given: Path | None, model: Path, inputs: Mapping[str, Array], specs: Sequence[TensorSpec]
) -> tuple[dict[str, Array], dict[str, tuple[str, ...]]]:
    """Reference tensors by name, and the names of those of each layer; of a file, else of onnxruntime.

    specs: the outputs of the model, for files that do not name theirs.
    Raises FrontendError when there is neither, PipelineError for a model that is no ONNX file and no file given.
    """
    from whence.cli.arrays import named, read_arrays

    onnx_model = model.suffix == ".onnx"
    if given is None and not onnx_model:
        raise PipelineError("expected a file of reference tensors for a model that is no .onnx file, got none")
    tensors: dict[str, tuple[str, ...]] = {}
    source = None
    if onnx_model:
        import onnx

        from whence.explorer.reference import layer_tensors

        source = cast("Callable[[Path], ModelProto]", onnx.load)(model)
        tensors = layer_tensors(source)
    if given is not None:
        return named(read_arrays(given), specs), tensors
    from whence.explorer.reference import onnxruntime_tensors

    assert source is not None
    return onnxruntime_tensors(source, inputs), tensors
