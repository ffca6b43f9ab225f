"""The use of memory by a compiled model: its values, their lifetimes and their layers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import accumulate
from math import prod

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Operation

from ..dialects.element_types import numpy_dtype
from ..dialects.relay.core import ConstantOp, FuncOp
from ..planning.artifact import Artifact, Call
from ..planning.graph import graph_plan
from ..planning.memory import MemoryInfo
from ..provenance.span import layer_names, leaves
from ..runtime.program.graph import Graph, Ref
from ..runtime.values.tensors import ALIGNMENT
from .layers import Layer, functions, owners, snapshot
from .report import count, percent, some, table

_SHOWN = 12
"""The number of rows of a table that are printed."""


@dataclass(frozen=True)
class Life:
    """Something in the arena: an intermediate tensor, or a kernel's workspace."""

    name: str
    """The node that makes it."""
    kind: str
    """`tensor` or `workspace`."""
    layers: LocationAttr
    """The layers whose output a tensor is, or the layers that the call of a workspace serves."""
    bytes: int
    offset: int
    """In bytes of the arena."""
    first: int
    """The number of the call that writes it."""
    last: int
    """The number of the last call that uses it."""
    storage: int = -1
    """The storage id of the graph; -1 for a workspace."""


@dataclass(frozen=True)
class Storage:
    """A block of the graph executor's plan, by TVM's storage id."""

    id: int
    bytes: int
    kind: str
    """`input`, `parameter` or `tensor`."""
    lives: tuple[tuple[str, int, int], ...]
    """Its contents in turn: node, number of the first and of the last call. Arguments live all the time."""


@dataclass(frozen=True)
class LayerMemory:
    """The memory of a layer. A parameter or tensor of several layers is shared out evenly over them."""

    layer: str
    type: str
    parameters: float
    """Bytes of parameters."""
    activations: float
    """Bytes of intermediate tensors and outputs that it makes."""
    at_peak: float
    """The bytes of those that live when most memory is used."""


@dataclass(frozen=True)
class MemoryReport:
    """Bytes that a model takes, and what for."""

    info: MemoryInfo
    calls: tuple[str, ...]
    """The nodes in the order in which they run."""
    lives: tuple[Life, ...]
    live_bytes: tuple[int, ...]
    """Per call what lives then, each life rounded up to 64 bytes."""
    peak_call: int
    """The number of the call at which most lives; -1 for a program without calls."""
    storages: tuple[Storage, ...]
    layers: tuple[LayerMemory, ...]
    """Most first."""

    def __str__(self) -> str:
        info = self.info
        rows = [
            ("arena", info.workspace_bytes, f"one per concurrent run, planned by {info.algorithm}"),
            ("peak", info.peak_bytes, self._peak()),
            ("inputs, outputs", info.io_bytes, "the caller's"),
            ("parameters", info.constant_bytes, "shared by all runs"),
            (
                "graph executor",
                sum(storage.bytes for storage in self.storages if storage.kind == "tensor"),
                self._blocks(),
            ),
        ]
        parts = [table(rows, ("", "bytes", ""), indent="")]
        if self.peak_call >= 0:
            alive = sorted(self.at(self.peak_call), key=lambda life: -life.bytes)
            header = ("bytes", "offset", "calls", "", "node", "layers")
            lines = [
                (
                    life.bytes,
                    life.offset,
                    f"{life.first}..{life.last}",
                    life.kind,
                    life.name,
                    some(layer_names(life.layers), 3),
                )
                for life in alive[:_SHOWN]
            ]
            parts.append(f"at the peak, call {self.peak_call}\n{table(lines, header, indent='')}{_more(len(alive))}")
        total = sum(layer.parameters for layer in self.layers) or 1
        lines = [
            (
                round(layer.parameters),
                percent(layer.parameters / total),
                round(layer.activations),
                round(layer.at_peak),
                layer.layer,
                layer.type,
            )
            for layer in self.layers[:_SHOWN]
        ]
        header = ("parameters", "share", "activations", "at peak", "layer", "type")
        parts.append(f"by layer, in bytes\n{table(lines, header, indent='')}{_more(len(self.layers))}")
        parts.append("what several layers share is divided evenly")
        return "\n\n".join(parts)

    def at(self, call: int) -> list[Life]:
        """Return the buffers that live at a call."""
        return [life for life in self.lives if life.first <= call <= life.last]

    def _peak(self) -> str:
        return f"while {self.calls[self.peak_call]} runs" if self.peak_call >= 0 else ""

    def _blocks(self) -> str:
        number = sum(storage.kind == "tensor" for storage in self.storages)
        return f"{count(number, 'block')} for {count(len(self.lives), 'life').replace('lifes', 'lives')}"


def _more(number: int) -> str:
    return f"\nand {number - _SHOWN} more" if number > _SHOWN else ""


def memory_report(artifact: Artifact) -> MemoryReport:
    """Return what the memory of a model is for."""
    plan = graph_plan(artifact)
    nodes = {call: node for node, call in plan.calls.items()}
    names = tuple(nodes[number] for number in range(len(artifact.calls)))
    producers = _makers(artifact)
    lives = _lives(artifact, names, producers, plan.graph)
    changes = [0] * (len(names) + 1)
    for life in lives:
        changes[life.first] += _rounded(life.bytes)
        changes[life.last + 1] -= _rounded(life.bytes)
    live = tuple(accumulate(changes))[:-1]
    peak = max(range(len(live)), key=live.__getitem__, default=-1)
    return MemoryReport(
        info=MemoryInfo.of(artifact),
        calls=names,
        lives=lives,
        live_bytes=live,
        peak_call=peak,
        storages=_storages(plan.graph),
        layers=_layers(artifact, producers, lives, peak),
    )


def _rounded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _makers(artifact: Artifact) -> list[tuple[LocationAttr, ...]]:
    """Per call and output, the location of the op whose result it is: not all that were fused before it."""
    fused = functions(snapshot(artifact, "fused"))
    return [_returned(fused[call.name], call) for call in artifact.calls]


def _returned(function: FuncOp, call: Call) -> tuple[LocationAttr, ...]:
    slots = {op: slot for slot, op in enumerate(function.block.ops)}
    locations: list[LocationAttr] = []
    for value in function.return_op.values:
        slot = slots.get(value.owner) if isinstance(value.owner, Operation) else None
        locations.append(call.layers[slot] if slot is not None else call.location)
    return tuple(locations)


def _lives(
    artifact: Artifact, names: tuple[str, ...], producers: list[tuple[LocationAttr, ...]], graph: Graph
) -> tuple[Life, ...]:
    program = artifact.program
    numbers = {node.name: number for number, node in enumerate(graph.nodes)}
    current: dict[int, int] = {}
    lives: list[Life] = []
    for number, call in enumerate(program.calls):
        for slot in call.inputs:
            if slot.kind == "arena":
                lives[current[slot.place]] = _until(lives[current[slot.place]], number)
        for index, (slot, spec) in enumerate(zip(call.outputs, call.results, strict=True)):
            if slot.kind == "arena":
                storage = graph.entries[graph.entry(Ref(numbers[names[number]], index))].storage
                behind = producers[number][index]
                current[slot.place] = len(lives)
                lives.append(
                    Life(
                        name=names[number],
                        kind="tensor",
                        layers=behind,
                        bytes=spec.nbytes,
                        offset=slot.place,
                        first=number,
                        last=number,
                        storage=storage,
                    )
                )
        if call.workspace is not None:
            size, behind = artifact.kernels[call.kernel].workspace, artifact.calls[number].location
            lives.append(
                Life(
                    name=names[number],
                    kind="workspace",
                    layers=behind,
                    bytes=size,
                    offset=call.workspace.place,
                    first=number,
                    last=number,
                )
            )
    for copy in program.copies:
        if copy.source.kind == "arena":
            lives[current[copy.source.place]] = _until(lives[current[copy.source.place]], len(names) - 1)
    return tuple(lives)


def _until(life: Life, call: int) -> Life:
    return replace(life, last=call)


def _storages(graph: Graph) -> tuple[Storage, ...]:
    """The blocks of the graph executor, by number."""
    steps = {node: step for step, node in enumerate(graph.calls)}
    end = len(steps) - 1
    last: dict[int, int] = {}
    for node, entry in enumerate(graph.nodes):
        for ref in entry.inputs:
            last[graph.entry(ref)] = steps[node]
    for head in graph.heads:
        last[graph.entry(head)] = end
    read = {ref.node for node in graph.nodes for ref in node.inputs}
    lives: dict[int, list[tuple[str, int, int]]] = {}
    kinds: dict[int, str] = {}
    for node, entry in enumerate(graph.nodes):
        for number in graph.entries_of(node):
            storage = graph.entries[number].storage
            first = 0 if entry.is_argument else steps[node]
            until = end if entry.is_argument else max(last.get(number, first), first)
            lives.setdefault(storage, []).append((entry.name, first, until))
            kinds.setdefault(storage, _kind(entry.name, entry.is_argument, node in read))
    sizes = graph.storage_sizes()
    return tuple(Storage(number, sizes[number], kinds[number], tuple(lives[number])) for number in sorted(lives))


def _kind(name: str, argument: bool, read: bool) -> str:
    if not argument:
        return "tensor"
    return "parameter" if name[:1] == "p" and name[1:].isdecimal() and read else "input"


def _layers(
    artifact: Artifact, producers: list[tuple[LocationAttr, ...]], lives: tuple[Life, ...], peak: int
) -> tuple[LayerMemory, ...]:
    owner = owners(artifact)
    parameters: dict[Layer | None, float] = {}
    activations: dict[Layer | None, float] = {}
    at_peak: dict[Layer | None, float] = {}
    seen: set[str] = set()
    for op in functions(snapshot(artifact, "fused"))["main"].block.ops:
        if isinstance(op, ConstantOp) and (op.key is None or op.key.data not in seen):
            seen.update([op.key.data] if op.key is not None else [])
            _share(parameters, op.location, _size(op), owner)
    living = {(life.first, life.offset) for life in lives if life.kind == "tensor" and life.first <= peak <= life.last}
    for number, call in enumerate(artifact.program.calls):
        for location, slot, spec in zip(producers[number], call.outputs, call.results, strict=True):
            _share(activations, location, spec.nbytes, owner)
            if slot.kind == "arena" and (number, slot.place) in living:
                _share(at_peak, location, spec.nbytes, owner)
    rows = [
        LayerMemory(
            layer.name if layer is not None else "no known layer",
            layer.type if layer is not None else "",
            parameters.get(layer, 0.0),
            activations.get(layer, 0.0),
            at_peak.get(layer, 0.0),
        )
        for layer in dict.fromkeys((*parameters, *activations))
    ]
    return tuple(sorted(rows, key=lambda row: (-row.parameters, -row.activations)))


def _size(op: ConstantOp) -> int:
    """The bytes of a constant."""
    kind = op.result.type
    return prod(kind.get_shape()) * numpy_dtype(kind.element_type).itemsize


def _share(
    table: dict[Layer | None, float], location: LocationAttr, size: int, owner: Mapping[LocationAttr, Layer]
) -> None:
    """Divide bytes over the layers of a location."""
    behind = tuple(dict.fromkeys(owner.get(leaf) for leaf in leaves(location))) or (None,)
    for layer in behind:
        table[layer] = table.get(layer, 0.0) + size / len(behind)
