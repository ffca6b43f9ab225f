"""Graphs of programs that an interpreter runs: branches and bodies of loops are groups.

A step with bodies is a box behind them, which reads what they give: the chosen branch's values, or those after the last
iteration. The values that enter an iteration are boxes, too, which read those that enter the first one.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence

from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.relay.binding import IfOp
from ...dialects.relay.core import CallOp, ConstantOp, FuncOp
from ...dialects.relay.data_types import TypeDataOp
from ...frontends.importing.node import node_of
from ...planning.artifact import Artifact
from ...provenance.ledger import LayerValue
from ...provenance.numbers import Value, value_of
from ...provenance.span import layer_names
from ...runtime.interpreting.flow import CARRIED, Region, Step
from ...runtime.values.open_specs import OpenSpec
from ..layers import functions, scope_of
from ..report import some
from .boxes import Box, Read, drawn
from .builder import Builder
from .document import Graph
from .layer_graph import extents_text, type_text

_BRANCHES = {"then_branch": "then", "else_branch": "else"}


def value_types(artifacts: Iterable[Artifact]) -> dict[LayerValue, str]:
    """Return the types of the layers' values in compiled programs, those of the first program that has a layer."""
    types: dict[LayerValue, str] = {}
    for artifact in artifacts:
        main = functions(artifact.snapshots[0].module)["main"]
        by_value: dict[Value | None, str] = {
            value_of(value): type_text(value.type) for op in main.block.ops for value in op.results
        }
        for layer, value in artifact.ledger.gives.items():
            if value in by_value:
                types.setdefault(layer, by_value[value])
    return types


def step_graph(
    builder: Builder,
    region: Region,
    inputs: Sequence[OpenSpec],
    types: Mapping[LayerValue, str],
    program: int,
) -> Graph:
    """Return the graph of a region of steps. types: of values, as far as they are known."""
    steps = _Steps(builder, types)
    names: ChainMap[str, Read] = ChainMap()
    for spec in inputs:
        text = str(spec).removesuffix(f" '{spec.name}'")
        names[spec.name] = Read(steps.add(Box(spec.name, "input", 0, [text])), text, 0)
    steps.region(region, names, "", "")
    for name in region.outputs:
        source = names.get(name)
        box = Box(name, "output", steps.boxes[source.source].set if source else 0, [source.text] if source else [])
        box.inputs = [source] if source else []
        steps.add(box)
    return drawn("model", "model", program, steps.boxes)


class _Steps:
    """The boxes of steps, in order."""

    def __init__(self, builder: Builder, types: Mapping[LayerValue, str]):
        self.boxes: list[Box] = []
        self._builder = builder
        self._types = types

    def add(self, box: Box) -> int:
        """Append a box; return its number."""
        self.boxes.append(box)
        return len(self.boxes) - 1

    def region(self, region: Region, names: ChainMap[str, Read], scope: str, outer: str) -> None:
        """Add the steps of a region. scope: the groups around it. outer: the layer whose body it is."""
        for step in region.steps:
            node = node_of(step)
            name = node.layer.removeprefix(f"{outer}/") if outer else node.layer
            around = _joined(scope, scope_of(name, node.module))
            if step.bodies:
                around = _joined(around, name.rpartition("/")[2])
            box = Box(node.op_type, "node", self._builder.set_of(node.leaf), [name], around)
            box.attributes = [("name", node.layer)]
            box.inputs, given = self._bodies(step, names, around)
            for read in dict.fromkeys(step.inputs):
                if read and read not in names and (array := region.constant(read)) is not None:
                    box.about.append("x".join(map(str, array.shape)) or "1 number")
                    box.attributes.append((read, f"{array.dtype}[{', '.join(map(str, array.shape))}]"))
            number = self.add(box)
            for index, output in enumerate(step.outputs):
                text = self._types.get((node.leaf, index), "") or (given[index] if index < len(given) else "")
                names[output] = Read(number, text, index)

    def _bodies(self, step: Step, names: ChainMap[str, Read], scope: str) -> tuple[list[Read], list[str]]:
        """Add the bodies of a step.

        Return what it reads itself, which is what no body gets, and what bodies give; and the types of its first
        outputs, as far as bodies tell them.
        """
        first = int(step.kind == "If" or bool(step.attributes.get("batched")))
        entering = step.inputs[first:]
        reads: list[Read] = []
        given: list[str] = []
        passed = 0
        for key, body in step.bodies.items():
            within = names.new_child()
            around = _joined(scope, _BRANCHES.get(key, key)) if len(step.bodies) > 1 else scope
            passed = max(passed, len(body.inputs))
            for position, name in enumerate(body.inputs):
                source = names.get(entering[position]) if position < len(entering) else None
                box = Box(name, "input", self._builder.set_of(node_of(step).leaf), scope=around)
                box.inputs = [source] if source is not None else []
                within[name] = Read(self.add(box), source.text if source is not None else "", 0)
            self.region(body, within, around, node_of(step).layer)
            reads += [within[name] for name in body.outputs if name in within]
            texts = [within[name].text if name in within else "" for name in body.outputs]
            leaving = CARRIED[step.kind][2] if step.kind in CARRIED else 0
            given = texts[leaving : leaving + step.carried] if step.kind in CARRIED else texts
        own = [*step.inputs[:first], *entering[passed:]]
        return [*(names[name] for name in own if name in names), *dict.fromkeys(reads)], given


def module_graph(builder: Builder, module: ModuleOp, program: int) -> Graph:
    """Return the graph of a program of the language: `@main`, and beside it a group for each other function."""
    ops = _Ops(builder)
    for name, func in sorted(functions(module).items(), key=lambda item: item[0] != "main"):
        if func.primitive is None:
            ops.function(func, "" if name == "main" else name)
    return drawn("model", "model", program, ops.boxes)


class _Ops:
    """The boxes of ops, in order."""

    def __init__(self, builder: Builder):
        self.boxes: list[Box] = []
        self._builder = builder
        self._sources: dict[SSAValue, Read] = {}

    def function(self, func: FuncOp, scope: str) -> None:
        """Add a function, and a box for each of its results."""
        self._block(func.block, scope)
        for index, value in enumerate(func.return_op.operands):
            self._box(f"output {index}", "output", func.return_op.location, scope, [value], [type_text(value.type)])

    def _box(
        self,
        label: str,
        kind: str,
        location: LocationAttr,
        scope: str,
        reads: Iterable[SSAValue],
        about: Sequence[str] = (),
    ) -> int:
        box = Box(label, kind, self._builder.set_of(location), list(about), scope)
        reads = list(dict.fromkeys(reads))
        box.about += [extents_text(value.type) for value in reads if isinstance(value.owner, ConstantOp)]
        box.inputs = [self._sources[value] for value in reads if value in self._sources]
        self.boxes.append(box)
        return len(self.boxes) - 1

    def _block(self, block: Block, scope: str) -> Sequence[SSAValue]:
        """Add the ops of a block; return what its last one gives."""
        for index, argument in enumerate(block.args):
            label, text = argument.name_hint or f"input {index}", type_text(argument.type)
            number = self._box(label, "input", argument.location, scope, [], [text])
            self._sources[argument] = Read(number, text, 0)
        last = block.last_op
        for op in block.ops:
            if op is not last and not isinstance(op, ConstantOp | TypeDataOp):
                self._op(op, scope)
        return last.operands if last is not None else ()

    def _op(self, op: Operation, scope: str) -> None:
        name = op.name.removeprefix("relay.")
        reads = list(op.operands)
        around = _joined(scope, f"{name} {len(self.boxes)}") if op.regions else scope
        labels = ("then", "else") if isinstance(op, IfOp) else tuple(map(str, range(len(op.regions))))
        for label, region in zip(labels, op.regions, strict=True):
            inside = _joined(around, label) if len(op.regions) > 1 else around
            for block in region.blocks:
                reads += self._block(block, inside)
        label = f"@{op.callee.string_value()}" if isinstance(op, CallOp) else name
        number = self._box(label, "node", op.location, around, reads, [some(layer_names(op.location), 2)])
        for index, value in enumerate(op.results):
            self._sources[value] = Read(number, type_text(value.type), index)


def _joined(scope: str, inner: str) -> str:
    return "/".join(filter(None, (scope, inner)))
