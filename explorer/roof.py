"""The roof over a kernel call: the least CPU time that a core needs for its operations and its bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..planning.artifact import Artifact, Call
from .code import kernel_of, work_of
from .probe import Probe
from .shares import Shares
from .times import Times

_AT_ONCE = {"vpdpbusd": 4, "tir.dot4": 4, "dpbf16ps": 2, ".pmadd": 2, "tir.dot2 ": 2}
"""Instruction or op of vectors -> the products that it sums in the time of one of floats; pairs of bfloat16 without an
instruction are products of floats."""
_KINDS = {
    "bf16": ('tir.tile_dot "bf16"', "tir.dot2_bf16", "dpbf16ps"),
    "u8s8": ('tir.tile_dot "u8s8"', "tir.dot4", "vpdpbusd"),
}
"""Kind of a product of tiles -> what is such a product, by tiles or by vectors."""


@dataclass(frozen=True)
class Roof:
    """The least CPU seconds of a call; data that is in a cache may take less."""

    seconds: float
    bound: str
    """`ops` or `bytes`: the work that takes this long."""


def roofs(artifact: Artifact, probe: Probe) -> list[Roof]:
    """Return the roof over each call of the artifact, by the rates that the probe measured."""
    return [_roof(artifact, call, probe) for call in artifact.calls]


def _roof(artifact: Artifact, call: Call, probe: Probe) -> Roof:
    kernel, work = kernel_of(artifact, call.kernel), work_of(artifact, call)
    operations = sum(operations for operations, _ in work) / _rate(kernel.tir, probe)
    moved = sum(size for _, size in work) / probe.bytes
    return Roof(operations, "ops") if operations >= moved else Roof(moved, "bytes")


def _rate(tir: str, probe: Probe) -> float:
    """The most operations of a kernel in a second: by tiles where the machine has such, whatever the kernel uses."""
    for kind, words in _KINDS.items():
        if kind in probe.tiles and any(word in tir for word in words):
            return probe.tiles[kind]
    return probe.operations * next((count for word, count in _AT_ONCE.items() if word in tir), 1)


def layer_roofs(times: Times, roofs: Sequence[Roof]) -> Shares:
    """Return the roof of each layer in seconds: a layer has the part of a call's roof that it has of its time."""
    seconds: Shares = {}
    for roof, spent, parts in zip(roofs, times.calls, times.layers, strict=True):
        for layer, part in parts.items():
            seconds[layer] = seconds.get(layer, 0.0) + (roof.seconds * part / spent if spent else 0.0)
    return seconds
