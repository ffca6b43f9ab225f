"""The times of the layers of a compiled model: CPU times of its kernel calls, shared out by samples or by work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import LocationAttr

from ..lowering.kernel.work import Work
from ..planning.artifact import Artifact, Call
from .code import work_of
from .layers import Layer, owners
from .samples import Samples, layer_shares
from .shares import Shares


@dataclass(frozen=True)
class LayerTime:
    """The CPU time of a layer in all kernel calls that serve it."""

    layer: Layer | None
    """None for time without a known layer."""
    seconds: float
    calls: tuple[str, ...]
    estimated: float = 0.0
    """The part of the seconds that is an estimate."""


@dataclass(frozen=True)
class Times:
    """The CPU seconds of each kernel call, in the order of `artifact.calls`, and the part of every layer in them.

    They are those of all threads that work on the call, as `ThreadPool.clock` has them: what else the machine does is
    not in them. On an idle machine they are what one thread takes by the clock on the wall; of several threads they are
    the sum.
    """

    calls: tuple[float, ...]
    layers: tuple[Shares, ...]
    """Per call the seconds of each layer; they add up to the call's."""
    sampled: tuple[bool, ...] = ()
    """Per call whether samples tell the parts of its layers; else they are estimates, unless there is one layer."""

    @staticmethod
    def of(artifact: Artifact, calls: Sequence[float], samples: Samples | None = None) -> Times:
        """Measured seconds of the calls, shared out over their layers by samples, or else by estimated work."""
        owner = owners(artifact)
        parts: list[Shares] = []
        sampled: list[bool] = []
        for number, (call, spent) in enumerate(zip(artifact.calls, calls, strict=True)):
            fractions = samples.shares(number, owner) if samples is not None else None
            sampled.append(fractions is not None)
            if fractions is None:
                fractions = shares(artifact, call, owner)
            parts.append({layer: share * spent for layer, share in fractions.items()})
        return Times(tuple(calls), tuple(parts), tuple(sampled))

    def estimated(self, call: int) -> bool:
        """Return whether the parts of a call's layers are estimates."""
        return len(self.layers[call]) > 1 and not (self.sampled and self.sampled[call])

    @property
    def total(self) -> float:
        """Seconds of all calls; 1 where they took none, so that a share of it is a number."""
        return sum(self.calls) or 1.0

    def ranked(self, artifact: Artifact) -> list[LayerTime]:
        """The time of every layer, longest first."""
        seconds: Shares = {}
        estimated: Shares = {}
        names: dict[Layer | None, list[str]] = {}
        for number, (call, parts) in enumerate(zip(artifact.calls, self.layers, strict=True)):
            for layer, spent in parts.items():
                estimated[layer] = estimated.get(layer, 0.0) + self.estimated(number) * spent
                seconds[layer] = seconds.get(layer, 0.0) + spent
                names.setdefault(layer, []).append(call.name)
        ranked = sorted(seconds, key=lambda layer: -seconds[layer])
        return [LayerTime(layer, seconds[layer], tuple(names[layer]), estimated[layer]) for layer in ranked]


def shares(artifact: Artifact, call: Call, owner: Mapping[LocationAttr, Layer]) -> Shares:
    """The fraction of a call's work that each of its layers is worth, as `lowering/kernel/work.py` estimates it.

    The fractions add up to 1. An op that several layers became is shared out evenly over them, and so is a call over
    its ops when there is no work in any. owner: as `owners` says.
    """
    work = [Work(*row).weight for row in work_of(artifact, call)]
    total = sum(work)
    if not total:
        work, total = [1] * len(work), len(work)
    return layer_shares(call, [weight / total for weight in work], owner)
