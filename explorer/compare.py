"""A model against a reference, tensor by tensor: the first layer that departs, and by how much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..planning.artifact import Artifact
from ..runtime.program.executor import Runner
from ..runtime.program.threads import ThreadPool
from ..runtime.values.moves import moved
from ..support.dtypes import Array
from ..support.errors import FrontendError, expectation
from .difference import ATOL, RTOL, Difference, difference
from .layers import Layer, owners
from .report import count, some, table
from .value_walk import Walked, walk_values


@dataclass(frozen=True)
class LayerDifference:
    """A tensor that a layer gives, against the reference."""

    layer: Layer
    tensor: str
    """The reference's name of it."""
    call: str
    """The kernel call that makes it."""
    difference: Difference


@dataclass(frozen=True)
class Comparison:
    """All tensors that could be compared, in the order in which they are made."""

    differences: tuple[LayerDifference, ...]
    unseen: tuple[Layer, ...]
    """Layers of the reference that leave no tensor in memory: what reads them is in the same kernel."""

    @property
    def first(self) -> LayerDifference | None:
        """The first that departs."""
        return next((entry for entry in self.differences if not entry.difference.right), None)

    def __str__(self) -> str:
        rows = [
            (
                entry.layer.name,
                entry.tensor,
                f"{entry.difference.error:.3g}",
                f"{entry.difference.relative:.3g}",
                "" if entry.difference.right else "DEPARTS",
                entry.call,
            )
            for entry in self.differences
        ]
        lines = [table(rows, ("layer", "tensor", "absolute", "relative", "", "kernel call"), indent="")]
        if self.unseen:
            lines.append(f"{count(len(self.unseen), 'layer')} of the reference inside kernels, not seen")
        if (first := self.first) is None:
            lines.append(f"no departure in {count(len(self.differences), 'tensor')}")
        else:
            where = f" at {list(first.difference.index)}" if first.difference.index else ""
            lines.append(f"first departure: layer {first.layer}, tensor {first.tensor}, by {first.difference}{where}")
        return "\n".join(lines)


def compare(
    artifact: Artifact,
    runner: Runner,
    pool: ThreadPool,
    inputs: Mapping[str, Array],
    reference: Mapping[str, Array],
    tensors: Mapping[str, Sequence[str]] | None = None,
    *,
    rtol: float = RTOL,
    atol: float = ATOL,
) -> Comparison:
    """Compare what kernel calls make with the tensors of a reference.

    reference: arrays by name. tensors: the names of what each layer gives, in order; without it a layer's name is that
    of its tensor. Kernels may have tensors in other layouts, which are undone. Raises FrontendError when the reference
    has none of the tensors.
    """
    owner = owners(artifact)
    names = {owner[leaf]: (tensors or {}).get(owner[leaf].name, (owner[leaf].name,)) for leaf in owner}
    if not any(name in reference for group in names.values() for name in group):
        expected = "tensors of the model" + (f", such as '{next(iter(names.values()))[0]}'" if names else "")
        raise FrontendError(expectation("reference", expected, some(list(map(repr, reference)), 4) or "none"))
    differences: list[LayerDifference] = []
    seen: set[Layer] = set()

    def visit(value: Walked) -> None:
        group = names[value.layer]
        name = group[value.output] if value.output < len(group) else ""
        if (expected := reference.get(name)) is None:
            return
        if expected.size != value.array.size:
            size = str(expected.size)
            raise FrontendError(expectation(f"reference '{name}'", f"{value.array.size} elements", size))
        array = moved(value.array, value.move)
        if array.shape == expected.shape:
            seen.add(value.layer)
            gap = difference(np.array(array), expected, rtol, atol, step=True)
            differences.append(LayerDifference(value.layer, name, value.call, gap))

    walk_values(artifact, runner, pool, inputs, visit)
    asked = {layer for layer, group in names.items() if any(name in reference for name in group)}
    unseen = sorted(asked - seen, key=lambda layer: (layer.file, layer.node))
    return Comparison(tuple(differences), tuple(unseen))
