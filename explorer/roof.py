"""The roof over a kernel call: the least CPU time that cores need for its operations and its bytes.

Data that the call before wrote is as near as the cache that holds all that the call touches; a weight was last read in
the run before, so it is as near as the cache that holds the whole model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from ..lowering.relay_to_te.cost import Rates
from ..planning.artifact import Artifact, Call
from ..support.machine import Machine
from .code import kernel_of, work_of
from .session.bounds import Roof, Term
from .shares import Shares
from .times import Times

PRODUCTS = "products"
MEMORY = "memory"
_FLOAT = 4
_PARALLEL = "tir.for parallel"
_AT_ONCE = {
    "vpdpbusd": ("byte products", 4),
    "tir.dot4": ("byte products", 4),
    "dpbf16ps": ("bf16 products", 2),
    ".pmadd": ("pairs of products", 2),
    "tir.dot2 ": ("pairs of products", 2),
}
"""Instruction or op of vectors -> the name of what it does, and the products that it sums in the time of one of floats;
pairs of bfloat16 without an instruction are products of floats."""
_KINDS = {
    "bf16": ('tir.tile_dot "bf16"', "tir.dot2_bf16", "dpbf16ps"),
    "u8s8": ('tir.tile_dot "u8s8"', "tir.dot4", "vpdpbusd"),
}
"""Kind of a product of tiles -> what is such a product, by tiles or by vectors."""
_TILES = {"bf16": 10, "u8s8": 32}
"""Kind of a product of tiles -> how often it is as fast as that of floats, where nobody measured it."""


class Traffic(NamedTuple):
    """Bytes that a call reads and writes, each once."""

    weights: float
    inputs: float
    outputs: float


class Start(NamedTuple):
    """CPU seconds that calls take before any work."""

    call: float = 0.0
    fork: float = 0.0
    """The same, of a call that wakes the threads."""


def roof(tir: str, operations: float, traffic: Traffic, model_bytes: int, machine: Machine, rates: Rates) -> Roof:
    """Return the roof over a call of a kernel on a machine.

    model_bytes: all that a run of the model touches.
    """
    name, rate = _products(tir, machine, rates)
    moved: dict[str, tuple[float, float]] = {}
    for size, among in (
        (traffic.weights, max(model_bytes, sum(traffic))),
        (traffic.inputs + traffic.outputs, sum(traffic)),
    ):
        if size:
            level, speed = _level(among, machine, rates)
            moved[level] = moved.get(level, (0.0, speed))[0] + size, speed
    return Roof(Term(name, operations, rate), [Term(level, size, speed) for level, (size, speed) in moved.items()])


def _level(among: float, machine: Machine, rates: Rates) -> tuple[str, float]:
    """The cache that holds so many bytes, and the bytes that a core gets from it in a second."""
    for name, size, rate in (
        ("L1", machine.l1, rates.loads * machine.vector_bytes),
        ("L2", machine.l2, rates.l2),
        ("L3", machine.l3, rates.l3),
    ):
        if among <= size:
            return name, rate
    return MEMORY, rates.memory if rates.threads == 1 else min(rates.memory, rates.shared_memory / rates.threads)


def _products(tir: str, machine: Machine, rates: Rates) -> tuple[str, float]:
    """The most operations of a kernel in a second: by tiles where the machine has such, whatever the kernel uses."""
    floats = 2 * machine.lanes(_FLOAT) * rates.products
    has = {"bf16": machine.amx_bf16, "u8s8": machine.amx_int8}
    for kind, words in _KINDS.items():
        if has[kind] and any(word in tir for word in words):
            return f"{kind} tiles", rates.tiles.get(kind, _TILES[kind] * floats)
    name, count = next((named for word, named in _AT_ONCE.items() if word in tir), (PRODUCTS, 1))
    return name, count * floats


def roofs(artifact: Artifact, rates: Rates, start: Start = Start()) -> list[Roof]:
    """Return the roof over each call of an artifact of known sizes, by the rates of a core."""
    params = sum(array.nbytes for array in artifact.params)
    run_bytes = artifact.program.arena_bytes
    assert isinstance(run_bytes, int)
    return [_roof(artifact, call, params + run_bytes, rates, start) for call in artifact.calls]


def _roof(artifact: Artifact, call: Call, model_bytes: int, rates: Rates, start: Start) -> Roof:
    tir = kernel_of(artifact, call.kernel).tir
    operations = sum(operations for operations, _ in work_of(artifact, call))
    least = roof(tir, operations, _traffic(artifact, call), model_bytes, artifact.target.hardware, rates)
    return replace(least, start=start.fork if _PARALLEL in tir else start.call)


def _traffic(artifact: Artifact, call: Call) -> Traffic:
    # What computes nothing has what it writes in its work, too: as much as it reads.
    reads = sum(size if operations else size / 2 for operations, size in work_of(artifact, call))
    held = sum(artifact.params[slot.place].nbytes for slot in call.run.inputs if slot.kind == "param")
    # A call reads only some rows of a look-up table.
    weights = min(held, reads)
    return Traffic(weights, reads - weights, sum(spec.nbytes for spec in call.run.results))


def layer_roofs(times: Times, roofs: Sequence[Roof]) -> Shares:
    """Return the roof of each layer in seconds: a layer has the part of a call's roof that it has of its time."""
    seconds: Shares = {}
    for roof, spent, parts in zip(roofs, times.calls, times.layers, strict=True):
        for layer, part in parts.items():
            seconds[layer] = seconds.get(layer, 0.0) + (roof.seconds * part / spent if spent else 0.0)
    return seconds
