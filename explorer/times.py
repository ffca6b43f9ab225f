"""What the layers of a compiled model take: measured times of its kernel calls, shared out by estimated work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import LocationAttr

from ..lowering.kernel.work import Work
from ..planning.artifact import Artifact, Call
from ..provenance.span import leaves
from .code import kernel_of
from .layers import Layer, owners

Shares = dict[Layer | None, float]
"""Layer -> its part of something; None: what no layer is known of."""


@dataclass(frozen=True)
class LayerTime:
    """What a layer takes in all kernel calls that serve it."""

    layer: Layer | None
    """None: what no layer is known of."""
    seconds: float
    calls: tuple[str, ...]


@dataclass(frozen=True)
class Times:
    """The seconds of each kernel call, in the order of `artifact.calls`, and the part of every layer in them."""

    calls: tuple[float, ...]
    layers: tuple[Shares, ...]
    """Per call the seconds of each layer; they add up to the call's."""

    @staticmethod
    def of(artifact: Artifact, calls: Sequence[float]) -> Times:
        """Measured seconds of the calls, shared out over their layers in proportion to estimated work."""
        owner = owners(artifact)
        parts = [
            {layer: share * taken for layer, share in shares(artifact, call, owner).items()}
            for call, taken in zip(artifact.calls, calls, strict=True)
        ]
        return Times(tuple(calls), tuple(parts))

    @property
    def total(self) -> float:
        """Seconds of all calls; 1 where they took none, so that a share of it is a number."""
        return sum(self.calls) or 1.0

    def ranked(self, artifact: Artifact) -> list[LayerTime]:
        """The time of every layer, longest first."""
        seconds: Shares = {}
        names: dict[Layer | None, list[str]] = {}
        for call, parts in zip(artifact.calls, self.layers, strict=True):
            for layer, taken in parts.items():
                seconds[layer] = seconds.get(layer, 0.0) + taken
                names.setdefault(layer, []).append(call.name)
        ranked = sorted(seconds, key=lambda layer: -seconds[layer])
        return [LayerTime(layer, seconds[layer], tuple(names[layer])) for layer in ranked]


def shares(artifact: Artifact, call: Call, owner: Mapping[LocationAttr, Layer]) -> Shares:
    """The fraction of a call's work that each of its layers is worth, as `lowering/kernel/work.py` estimates it.

    The fractions add up to 1. An op that several layers became is shared out evenly over them, and so is a call over
    its ops when there is no work in any. owner: as `owners` says.
    """
    work = [Work(*one).weight for one in kernel_of(artifact, call.kernel).work]
    total = sum(work)
    if not total:
        work, total = [1] * len(work), len(work)
    found: Shares = {}
    for weight, location in zip(work, call.layers, strict=True):
        behind = tuple(dict.fromkeys(owner.get(leaf) for leaf in leaves(location))) or (None,)
        for layer in behind:
            found[layer] = found.get(layer, 0.0) + weight / total / len(behind)
    return {layer: share for layer, share in found.items() if share or layer is not None}
