"""The rows of a session document, each thing once: layers, sets of them, ops."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import LocationAttr, ModuleOp

from ...dialects.relay.core import FuncOp
from ...frontends.importing.node import node_of
from ...planning.artifact import Artifact
from ...provenance.lost import is_lost
from ...provenance.span import leaf_name, leaves, positions
from ...provenance.walk import walk
from ...runtime.interpreting.flow import Region
from ...support.names import shown
from ..layers import functions, op_types, owners, scope_of
from ..source_lines import source_lines
from .document import (
    VERSION,
    Body,
    Diff,
    Events,
    Layers,
    Level,
    MadeBy,
    Ops,
    Session,
    Source,
    Stage,
)
from .leads import add_leads
from .text import runs_of

_KINDS = {".onnx": "onnx", ".tflite": "tflite", ".relay": "relay", ".mlir": "mlir", ".tar": "tar"}


class Builder:
    """A session while it is made: what others append to is in `session`, and rows of what may recur are asked for."""

    def __init__(self, made_by: MadeBy, kind: str = "relay"):
        """Begin a session.

        kind: of sources whose names do not say it.
        """
        self._kind = kind
        self.session = Session(
            VERSION,
            made_by,
            sources=[],
            layers=Layers(),
            sets=[[]],
            programs=[],
            kernels=[],
            calls=[],
            stages=[],
            passes=[],
            ops=Ops(),
            events=Events(),
            graphs=[],
            schedules=[],
        )
        self.work: dict[int, dict[int, float]] = {}
        """Call -> layer -> operations and bytes of it in the call, estimated."""
        self._layers: dict[LocationAttr, int] = {}
        self._of_leaf: dict[int, tuple[LocationAttr, int]] = {}
        """By identity, as hashing a location costs more than the rest; holding it keeps its identity from reuse."""
        self._sets: dict[tuple[int, ...], int] = {(): 0}
        self._of_location: dict[int, tuple[LocationAttr, int]] = {}
        self._ops: dict[int, int] = {}
        self._sources: dict[str, int] = {}
        self.code: dict[tuple[str, int], str] = {}
        """File and line of what called a layer -> its text, as models quote it."""

    def layer(self, leaf: LocationAttr) -> int:
        """The row of the layer, tensor or lost mark of a leaf."""
        if (hit := self._of_leaf.get(id(leaf))) is None:
            hit = self._of_leaf[id(leaf)] = leaf, self._row(leaf)
        return hit[1]

    def _row(self, leaf: LocationAttr) -> int:
        if (row := self._layers.get(leaf)) is None:
            row = self._layers[leaf] = len(self._layers)
            at = next(iter(positions(leaf)), None)
            name, layers = leaf_name(leaf), self.session.layers
            layers.name.append(name)
            layers.kind.append("lost" if is_lost(leaf) else "unknown")
            layers.type.append("")
            layers.source.append(self.source(at.file) if at is not None else -1)
            layers.ordinal.append(at.line if at is not None else -1)
            layers.scope.append(scope_of(name))
            layers.owner.append(row)
            layers.code.append([])
        return row

    def leaves(self) -> Iterable[tuple[LocationAttr, int]]:
        """The leaves that have rows, and these."""
        return self._layers.items()

    def describe_layers(self, artifact: Artifact) -> None:
        """Add the layers and tensors of a program in the order of its source, and say what they are."""
        layers, types = self.session.layers, op_types(artifact)
        owner = owners(artifact)
        self.code |= artifact.ledger.code
        ordered = sorted(set(owner.values()), key=lambda layer: (layer.file, layer.node, layer.name))
        for layer in ordered:
            self.layer(layer.leaf)
        for leaf, layer in owner.items():
            row, of = self.layer(leaf), self.layer(layer.leaf)
            layers.owner[row] = of
            layers.kind[row] = "layer" if row == of else "tensor"
            layers.type[row] = types.get(leaf, "") or layers.type[row]
            layers.scope[row] = scope_of(layers.name[row], layer.module)
            if row == of:
                lines = source_lines(artifact.ledger, [leaf])
                layers.code[row] = [str(line) for first in lines for line in (first, *first.callers)]
        for func in functions(artifact.snapshots[0].module).values():
            for row in map(self.layer, leaves(func.location)):
                if layers.kind[row] == "unknown":
                    layers.kind[row] = "model"

    def describe_ops(self, module: ModuleOp) -> None:
        """Add the layers of a program that an interpreter runs: of each op that stands alone for some."""
        layers = self.session.layers
        for op in walk(module):
            is_function = isinstance(op, FuncOp)
            for row in map(self.layer, leaves(op.location)):
                if layers.kind[row] == "unknown" and not isinstance(op, ModuleOp):
                    layers.kind[row], layers.type[row] = (
                        ("model", "") if is_function else ("layer", op.name.partition(".")[2])
                    )

    def describe_steps(self, region: Region) -> None:
        """Add the layers of a program that an interpreter runs, those in bodies of steps, too."""
        layers, waiting = self.session.layers, [region]
        while waiting:
            for step in waiting.pop().steps:
                node = node_of(step)
                row = self.layer(node.leaf)
                layers.kind[row], layers.type[row] = "layer", node.op_type
                layers.scope[row] = scope_of(node.layer, node.module)
                waiting += step.bodies.values()

    def source(self, file: str) -> int:
        """The index of a source."""
        if (index := self._sources.get(file)) is None:
            index = self._sources[file] = len(self._sources)
            suffix = f".{file.rpartition('.')[2]}"
            self.session.sources.append(Source(file, _KINDS.get(suffix, self._kind), -1, -1))
        return index

    def set_of(self, location: LocationAttr) -> int:
        """The set of the layers behind a location."""
        hit = self._of_location.get(id(location))
        if hit is None:
            hit = self._of_location[id(location)] = location, self.set_of_rows(map(self.layer, leaves(location)))
        return hit[1]

    def set_of_rows(self, rows: Iterable[int]) -> int:
        """The set of some rows of layers."""
        key = tuple(dict.fromkeys(rows))
        if (index := self._sets.get(key)) is None:
            index = self._sets[key] = len(self._sets)
            self.session.sets.append(list(key))
        return index

    def op(self, number: int, name: str = "") -> int:
        """The row of the op of a number; -1 for number 0."""
        if not number:
            return -1
        row = self._ops.get(number)
        ops = self.session.ops
        if row is None:
            row = self._ops[number] = len(ops.name)
            ops.name.append(name)
            ops.set.append(-1)
            ops.copied_from.append(-1)
            ops.copied_at.append(0)
        elif name and not ops.name[row]:
            ops.name[row] = name
        return row

    def row_of_op(self, number: int) -> int | None:
        """The row of the op of a number, if it has one."""
        return self._ops.get(number)

    def stage(self, stage: Stage) -> int:
        """Append a stage; return its index."""
        self.session.stages.append(stage)
        return len(self.session.stages) - 1

    def text_stage(
        self, name: str, level: Level, program: int, kernel: int, lines: list[str], sets: Iterable[int]
    ) -> int:
        """Append a stage of which the whole text is there, and no op has a number."""
        sets = list(sets)
        body = Body(
            base=-1,
            edits=[(0, 0, lines)],
            sets=runs_of(sets),
            ops=runs_of([-1] * len(lines)),
            outputs=[],
            tir=[],
            exact=[],
        )
        return self.stage(
            Stage(
                name=name,
                level=level,
                program=program,
                kernel=kernel,
                before=-1,
                lines=len(lines),
                diff=None,
                body=body,
            )
        )

    def diff(self, new: Iterable[int], gone: Iterable[int], changed: Iterable[int], moved: Iterable[int]) -> Diff:
        """The difference of two stages, from the numbers of ops."""
        return Diff(*([self.op(number) for number in numbers] for numbers in (new, gone, changed, moved)))

    def finish(self) -> Session:
        """List the layers of each source, and where each leads; return the session."""
        layers = self.session.layers
        for index, source in enumerate(self.session.sources):
            rows = [row for row, of in enumerate(layers.source) if of == index and layers.kind[row] == "layer"]
            rows.sort(key=lambda row: layers.ordinal[row])
            lines = [f"{layers.ordinal[row]} {layers.type[row] or '?'} {shown(layers.name[row])}" for row in rows]
            sets = [self.set_of_rows([row]) for row in rows]
            source.stage = self.text_stage("layers", "model", -1, -1, lines or [""], sets or [-1])
        add_leads(self.session, self.work)
        return self.session
