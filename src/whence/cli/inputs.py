"""The arguments that say what a model is run on."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from whence.support.errors import PipelineError

if TYPE_CHECKING:
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
