"""Inputs for the run of a package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from whence.reading.arrays import default_inputs, random_inputs
from whence.runtime.values.tensors import TensorSpec
from whence.support.dtypes import Array
from whence.support.errors import PipelineError, expectation

FILLS = ("random", "zeros", "ones", "ramp")


def filled(specs: Sequence[TensorSpec], arrays: Mapping[str, Array], mode: str, seed: int) -> dict[str, Array]:
    """Return the inputs, with generated values for missing ones. Values without an input stay, and are an error later.

    Raises PipelineError for another mode, FrontendError for open shapes that nothing was given for.
    """
    if mode not in FILLS:
        raise PipelineError(expectation("fill_mode", f"one of {', '.join(FILLS)}", repr(mode)))
    rest = [spec for spec in specs if spec.name not in arrays]
    values = random_inputs(rest, seed) if mode == "random" else default_inputs(rest)
    if mode in ("zeros", "ones"):
        fill = np.zeros_like if mode == "zeros" else np.ones_like
        values = {name: fill(array) for name, array in values.items()}
    return {**values, **arrays}
