"""The arguments for the inputs of a model."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from whence.cli.options import whole
from whence.support.errors import PipelineError, expectation

if TYPE_CHECKING:
    from whence.executables.executable import Executable
    from whence.runtime.values.tensors import TensorSpec
    from whence.support.dtypes import Array

FILLS = ("ramp", "zeros", "ones", "random")


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """Add the options for the inputs of a model."""
    group = parser.add_argument_group("inputs")
    about = ".npz with the inputs by name"
    group.add_argument("-i", "--inputs", "--input", dest="input", type=Path, metavar="FILE", help=about)
    about = "what inputs hold that no file gives: 0, 1/n, 2/n, .. (ramp), zeros, ones or random numbers"
    group.add_argument("--fill-mode", choices=FILLS, help=about)
    group.add_argument("--seed", type=whole(0), metavar="N", help="random inputs from this seed (--fill-mode random)")


def add_sizes(parser: argparse.ArgumentParser) -> None:
    """Add the option for the sizes of a program for all sizes."""
    about = "of a program for all sizes: the numbers for these, such as batch=1,seq=128"
    parser.add_argument("--sizes", metavar="SIZES", help=about)


def named_sizes(args: argparse.Namespace) -> dict[str, int] | None:
    """`--sizes batch=1,seq=128` as numbers by name, if given; raises PipelineError for another text."""
    if getattr(args, "sizes", None) is None:
        return None
    sizes: dict[str, int] = {}
    for part in args.sizes.split(","):
        name, _, number = (word.strip() for word in part.partition("="))
        if not name or not number.isdecimal():
            raise PipelineError(expectation("--sizes", "text such as batch=1,seq=128", repr(args.sizes)))
        sizes[name] = int(number)
    return sizes


def check_sizes(args: argparse.Namespace, path: Path) -> None:
    """Raise PipelineError for --sizes that the program of a model would not take; the model is imported for that."""
    if (sizes := named_sizes(args)) is None:
        return
    import warnings
    from contextlib import suppress

    import whence
    from whence.dialects.relay.size_ranges import main_of, symbols_in
    from whence.runtime.program.sizes import check_symbols
    from whence.support.errors import FrontendError, FrontendWarning

    # Warnings of the import are printed when the model is compiled.
    with suppress(FrontendError), warnings.catch_warnings():
        warnings.simplefilter("ignore", FrontendWarning)
        module = whence.load(path, args.input_shapes, args.signature)
        if symbols := symbols_in(main_of(module)):
            check_symbols("--sizes", symbols, sizes)


def at_sizes(args: argparse.Namespace, compiled: Executable, what: str) -> Executable:
    """Return `compiled`, if it is one native call; of a program for all sizes that for --sizes, or of the --input.

    Raises PipelineError as `native`, and where sizes are open.
    """
    sizes = named_sizes(args)
    program = native(compiled, what).artifact.program
    if program.sizes is None:
        if sizes is not None:
            raise PipelineError(expectation("--sizes", "a program for all sizes", "one of fixed shapes"))
        return compiled
    if (file := getattr(args, "input", None)) is not None:
        from whence.reading.arrays import named, read_arrays

        if sizes is not None:
            raise PipelineError("--sizes: expected no --input beside it, got both")
        return compiled.at(compiled.sizes_of(named(read_arrays(file), compiled.inputs)))
    if sizes is None:
        opened = ", ".join(map(str, compiled.inputs))
        raise PipelineError(expectation(what, f"sizes of the inputs (--sizes {program.sizes.least})", opened))
    return compiled.at(sizes)


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

    from whence.reading.arrays import default_inputs, named, random_inputs, read_arrays

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


def native(compiled: Executable, what: str) -> Executable:
    """`compiled`, if it is one native call; raises PipelineError, in the name of the layer, where a call decides."""
    from whence.executables.interpreted import InterpretedExecutable

    if isinstance(compiled, InterpretedExecutable):
        expected = "a model that is one native call (whence run, and the virtual machine, take any)"
        raise PipelineError(expectation(what, expected, f"one in which values decide: {compiled.decided}"))
    return compiled


def static(compiled: Executable, what: str) -> Executable:
    """Return the result of `native`, which must have fixed shapes."""
    if native(compiled, what).artifact.program.sizes is not None:
        opened = ", ".join(map(str, compiled.inputs))
        raise PipelineError(expectation(what, "a model of fixed shapes (--input-shapes fixes them)", opened))
    return compiled
