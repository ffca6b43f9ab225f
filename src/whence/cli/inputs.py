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

FILLS = ("ramp", "zeros", "ones", "random")


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """What a model is run on."""
    group = parser.add_argument_group("inputs")
    about = ".npz with the inputs by name"
    group.add_argument("-i", "--inputs", "--input", dest="input", type=Path, metavar="FILE", help=about)
    about = "what inputs hold that no file gives: 0, 1/n, 2/n, .. (ramp), zeros, ones or random numbers"
    group.add_argument("--fill-mode", choices=FILLS, help=about)
    group.add_argument("--seed", type=int, metavar="N", help="random inputs from this seed (--fill-mode random)")


def check_inputs(args: argparse.Namespace) -> None:
    """Raises PipelineError for options of `add_inputs` that do not fit together."""
    if args.seed is not None:
        if args.input is not None:
            raise PipelineError("--seed: expected no --input beside it, got both")
        if args.fill_mode not in (None, "random"):
            raise PipelineError(f"--seed: expected --fill-mode random beside it, got {args.fill_mode}")
    if args.fill_mode is not None and args.input is not None:
        raise PipelineError("--fill-mode: expected no --input beside it, got both")


def inputs_of(args: argparse.Namespace, specs: Sequence[TensorSpec]) -> dict[str, Array]:
    """The arrays that `add_inputs`' arguments stand for, by name."""
    import numpy as np

    from whence.cli.arrays import default_inputs, named, random_inputs, read_arrays

    check_inputs(args)
    if args.input is not None:
        return named(read_arrays(args.input), specs)
    if args.seed is not None or args.fill_mode == "random":
        return random_inputs(specs, args.seed or 0)
    ramp = default_inputs(specs)
    if args.fill_mode in ("zeros", "ones"):
        fill = np.zeros_like if args.fill_mode == "zeros" else np.ones_like
        return {name: fill(array) for name, array in ramp.items()}
    return ramp


def static(compiled: Executable, what: str, *, sizes: bool = False) -> Executable:
    """`compiled`, if it is one native call; raises PipelineError for a model that the call decides.

    sizes: whether it may be a program for all sizes.
    """
    from whence.interpreted import InterpretedExecutable

    if isinstance(compiled, InterpretedExecutable) or (compiled.artifact.program.sizes is not None and not sizes):
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
