"""The values of layers while a model runs, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from typing import NamedTuple

from ..planning.artifact import Artifact
from ..runtime.program import program
from ..runtime.program.executor import Runner
from ..runtime.program.threads import ThreadPool
from ..runtime.values.moves import Move
from ..runtime.values.tensors import Tensor
from ..support.dtypes import Array
from .layers import Layer, owners
from .results import results


class Walked(NamedTuple):
    """A tensor that a layer gives."""

    layer: Layer
    output: int
    """The number of the layer's output."""
    call: str
    """The kernel call that makes it."""
    array: Tensor
    """The tensor as the kernel stores it; invalid after the visit."""
    move: Move
    """The moves that bring it to the layout and shape of the model."""


def walk_values(
    artifact: Artifact,
    runner: Runner,
    pool: ThreadPool,
    inputs: Mapping[str, Array],
    visit: Callable[[Walked], None],
) -> None:
    """Run a program call by call, and visit each layer's value that a call makes."""
    owner, values, numbers = owners(artifact), results(artifact), count()

    def calls(call: program.Call, seconds: float, outputs: list[Tensor]) -> None:
        number = next(numbers)
        for output, array in enumerate(outputs):
            for (leaf, tensor), move in values.get((number, output), {}).items():
                visit(Walked(owner[leaf], tensor, call.name, array, move))

    runner.walk(inputs, pool, calls)
