"""The layers of a compiled model, found again by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import LocationAttr, ModuleOp

from ..dialects.relay.core import FuncOp
from ..dialects.relay.operator import Operator
from ..planning.artifact import Artifact
from ..provenance.lost import is_lost
from ..provenance.span import leaf_name, leaves, positions
from ..support.errors import FrontendError
from ..support.identity import while_alive
from ..support.names import did_you_mean, shown

_PLACE = re.compile(r":\d+:\d+$")
"""The end of a place in a text, which stands for a name."""


@dataclass(frozen=True)
class Layer:
    """A node of the source model."""

    name: str
    file: str
    node: int
    leaf: LocationAttr

    type: str = ""
    """The source's name of its operator, `Conv`; of a layer from text, its relay operators."""
    module: str = field(default="", compare=False)
    """The path of the module it is of, `layer1.0.conv`, where the source says so."""

    def __hash__(self) -> int:
        # Hashing a location costs more than finding two layers of one name and number different.
        return hash((self.name, self.node))

    @staticmethod
    def of(leaf: LocationAttr, type: str = "", module: str = "") -> Layer:
        """The layer of a leaf; of one without a place, `file` is empty and `node` -1."""
        file, line = next((at[:2] for at in positions(leaf)), ("", -1))
        return Layer(leaf_name(leaf), file, line, leaf, type, module)

    @property
    def place(self) -> str:
        """`model.onnx:4`: the file, and the number of the node in it."""
        return f"{self.file}:{self.node}" if self.file else ""

    @property
    def origin(self) -> str:
        """`layer1.0.conv, net.py:12`: the module, if there is one, and the place."""
        return ", ".join(filter(None, (self.module, self.place)))

    def __str__(self) -> str:
        about = shown(", ".join(filter(None, (self.type, self.origin))))
        return shown(self.name) + (f" ({about})" if about else "")


def unique_leaves(locations: Iterable[LocationAttr]) -> tuple[LocationAttr, ...]:
    """The leaves of several locations, each once, in order."""
    return tuple(dict.fromkeys(leaf for location in locations for leaf in leaves(location)))


def snapshot(artifact: Artifact, stage: str) -> ModuleOp:
    """The module as it was after a stage; raises FrontendError when the artifact does not hold it."""
    for candidate in artifact.snapshots:
        if candidate.stage == stage:
            return candidate.module
    if not artifact.snapshots:
        raise FrontendError("artifact: expected a model, got a function alone, which no relay module is kept of")
    kept = ", ".join(candidate.stage for candidate in artifact.snapshots)
    raise FrontendError(f"artifact: expected a snapshot of stage '{stage}', got {kept}")


def functions(module: ModuleOp) -> dict[str, FuncOp]:
    """The relay functions of a module by name."""
    return {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}


def all_leaves(artifact: Artifact) -> tuple[LocationAttr, ...]:
    """Every leaf of the imported model: layers and tensors, those that left no op included. A function has stages."""
    if not artifact.snapshots:
        return unique_leaves(layer for call in artifact.calls for layer in call.layers)
    collected: list[LocationAttr] = []
    for func in functions(snapshot(artifact, "relay")).values():
        collected.extend(argument.location for argument in func.block.args)
        collected.extend(op.location for op in func.block.ops)
    for entry in artifact.ledger.entries:
        collected.extend(entry.before)
    return unique_leaves(collected)


@while_alive
def op_types(artifact: Artifact) -> dict[LocationAttr, str]:
    """Leaf -> the type of its operator: the source's name of it, else the relay operators that it was imported as."""
    names_of: dict[LocationAttr, dict[str, None]] = {}
    for op in snapshot(artifact, "relay").walk() if artifact.snapshots else ():
        if isinstance(op, Operator):
            for leaf in leaves(op.location):
                names_of.setdefault(leaf, {})[op.name.removeprefix("relay.")] = None
    return {leaf: ", ".join(names) for leaf, names in names_of.items()} | artifact.ledger.op_types


def layers_of(artifact: Artifact) -> tuple[Layer, ...]:
    """The layers of the imported model, in the order of the source. Its tensors are none."""
    return tuple(dict.fromkeys(sorted(owners(artifact).values(), key=lambda layer: (layer.file, layer.node))))


@while_alive
def owners(artifact: Artifact) -> dict[LocationAttr, Layer]:
    """Leaf of a layer or of a tensor -> the layer; in time linear in the number of leaves.

    A tensor is called `<layer>.<tensor>`, or stands at the place of the one operator that reads it first.
    """
    types, modules = op_types(artifact), artifact.ledger.modules
    layers = [
        Layer.of(leaf, types.get(leaf, ""), modules.get(leaf, "")) for leaf in all_leaves(artifact) if not is_lost(leaf)
    ]
    at: dict[tuple[str, int], dict[str, Layer]] = {}
    for layer in layers:
        at.setdefault((layer.file, layer.node), {}).setdefault(layer.name, layer)
    named = artifact.ledger.op_types
    alone: dict[tuple[str, int], Layer | None] = {}
    for layer in layers:
        if layer.leaf in named:
            key = layer.file, layer.node
            alone[key] = None if key in alone else layer
    return {
        layer.leaf: _owner(layer, at[layer.file, layer.node], alone.get((layer.file, layer.node)), layer.leaf in named)
        for layer in layers
    }


def _owner(layer: Layer, beside: Mapping[str, Layer], alone: Layer | None, operator: bool) -> Layer:
    """The layer at the same place of which the name is the first part, up to a dot.

    Without one, what is no operator's belongs to the one operator that is there `alone`; else it is the layer itself.
    """
    dots = (dot for dot, letter in enumerate(layer.name) if letter == ".")
    owner = next((beside[layer.name[:dot]] for dot in dots if layer.name[:dot] in beside), None)
    return owner or (layer if operator or alone is None else alone)


def scope_of(name: str, module: str = "") -> str:
    """The name scope of a layer: `layer1/block0` of `/layer1/block0/conv`, or of `layer1.block0.conv`.

    module: the path of the module it is of, where the source says so, which is the scope then.
    """
    if module:
        return module.replace(".", "/")
    if _PLACE.search(name):
        return ""
    separator = "/" if "/" in name else "."
    return "/".join(filter(None, name.split(separator)[:-1]))


def unknown(kind: str, name: str, known: Sequence[str], aliases: Sequence[str] = ()) -> str:
    """The complaint about a name that is none of `known`, with the nearest of them and of other names."""
    near = did_you_mean(name, dict.fromkeys((*known, *aliases)))
    return f"unknown {kind} '{shown(name)}': expected one of {len(known)}{shown(near)}"
