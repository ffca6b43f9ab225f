"""The subgraphs of a model as regions of steps: calls are put in their place, branches and loops are bodies.

A layer is called what its outputs are, joined by ", "; one of a subgraph that another operator runs `<outer>/<inner>`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from math import prod

import numpy as np

from ...provenance.diagnostics import message
from ...provenance.span import layer_location
from ...runtime.flow import Region, Step
from ...support.dtypes import Array
from ...support.errors import FrontendError
from ..importing import importer
from .model import ModelFile, OperatorInfo, Subgraph, TensorInfo
from .values import constant, dtype_of

CONTROL = {"IF": "If", "WHILE": "While"}
CALL = "CALL"
_MOST = 1_000_000
"""Steps of a program: calls of calls may be many more than operators."""
_DEEPEST = 200
"""Subgraphs around a subgraph: each is part of the names inside."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Node(importer.Node):
    """What a step was in the model."""

    operator: OperatorInfo
    inputs: Sequence[TensorInfo | None]
    outputs: Sequence[TensorInfo]
    intermediates: Sequence[TensorInfo | None]


class Constants(Mapping[str, Array]):
    """The tensors of a subgraph that have values in the file, decoded when they are asked for.

    State that an operator keeps from call to call begins as zeros.
    """

    def __init__(self, model: ModelFile):
        self.model = model
        self.infos: dict[str, TensorInfo] = {}
        self.decoded: dict[str, Array] = {}

    def __getitem__(self, name: str) -> Array:
        if name not in self.decoded:
            info = self.infos[name]
            found = constant(self.model, info)
            self.decoded[name] = np.zeros(info.shape, dtype_of(info)) if found is None else found
        return self.decoded[name]

    def __contains__(self, name: object) -> bool:
        return name in self.infos

    def __iter__(self) -> Iterator[str]:
        yield from self.infos

    def __len__(self) -> int:
        return len(self.infos)


@dataclass(eq=False)
class Instance:
    """A subgraph that somebody runs."""

    graph: Subgraph
    names: Sequence[str]
    """Of its tensors, by their numbers; no two are the same."""
    outer: str
    """What is before the names of its layers."""
    index: int | None
    """The operator of the main graph that runs it; None of that graph."""


def _names(graph: Subgraph, outer: str) -> list[str]:
    names: list[str] = []
    seen: set[str] = set()
    for info in graph.tensors:
        name = outer + (info.name or f"tensor_{info.index}")
        while name in seen:
            name = f"{name}_{info.index}"
        seen.add(name)
        names.append(name)
    return names


@dataclass(eq=False)
class Builder:
    """Makes regions of subgraphs."""

    model: ModelFile

    def __post_init__(self) -> None:
        self.file = self.model.file
        self.count = 0
        self._pending: list[tuple[Region, Instance, frozenset[int]]] = []
        self.infos: dict[str, TensorInfo] = {}
        """Of the tensors of the main graph."""

    def main(self, index: int = 0) -> Region:
        """The region of a subgraph and, in it, those that it runs."""
        graph = self.model.subgraph(index)
        instance = Instance(graph, _names(graph, ""), "", None)
        self.infos = dict(zip(instance.names, graph.tensors, strict=True))
        region = self._region(instance, frozenset())
        while self._pending:
            self._fill(*self._pending.pop())
        return region

    def _region(self, instance: Instance, running: frozenset[int]) -> Region:
        """The region of an instance, whose steps come later. `running` are the subgraphs around it."""
        graph, names = instance.graph, instance.names
        if len(running) > _DEEPEST:
            raise self.model.fail(f"subgraphs inside at most {_DEEPEST} others", f"subgraph {graph.index} inside more")
        if graph.index in running:
            raise self.model.fail("subgraphs that do not run themselves", f"subgraph {graph.index} '{graph.name}'")
        inputs = tuple(names[at] for at in graph.inputs)
        outputs = tuple(names[at] for at in graph.outputs)
        region = Region(inputs, outputs, [], dict[str, Array]())
        self._pending.append((region, instance, running | {graph.index}))
        return region

    def _fill(self, region: Region, instance: Instance, running: frozenset[int]) -> None:
        """The steps of a region, those of subgraphs that it calls in their place."""
        constants = Constants(self.model)
        region.constants = constants
        known = set(region.inputs)
        inside = set(running)
        stack: list[tuple[Instance, Iterator[OperatorInfo], list[Step] | None]] = []
        stack.append((instance, iter(instance.graph.operators), None))
        self._constants(instance, constants, known)
        while stack:
            current, operators, renamed = stack[-1]
            operator = next(operators, None)
            if operator is None:
                stack.pop()
                if renamed is not None:
                    inside.discard(current.graph.index)
                    region.steps += renamed
                    known.update(name for step in renamed for name in step.outputs)
                continue
            node = self._node(current, operator)
            step = self._step(node, current, inside)
            missing = [name for name in step.inputs if name and name not in known]
            if missing:
                got = f"'{missing[0]}', which no operator before makes"
                raise FrontendError(message(node.op_type, "an input, a constant or a result", got, node.leaf))
            self.count += 1
            if self.count > _MOST:
                raise self.model.fail(f"at most {_MOST} steps", "subgraphs that call others more often")
            if operator.op == CALL:
                graph = self._called(node, "Subgraph")
                if graph.index in inside:
                    raise self.model.fail("subgraphs that do not run themselves", f"subgraph {graph.index}")
                if len(inside) > _DEEPEST:
                    raise self.model.fail(f"subgraphs inside at most {_DEEPEST} others", f"subgraph {graph.index}")
                inside.add(graph.index)
                called = Instance(graph, _names(graph, f"{node.layer}/"), f"{node.layer}/", node.index)
                region.steps += self._passed(node, step.inputs, [called.names[at] for at in graph.inputs])
                self._constants(called, constants, known)
                known.update(called.names[at] for at in graph.inputs)
                back = self._passed(node, [called.names[at] for at in graph.outputs], step.outputs)
                stack.append((called, iter(graph.operators), back))
                continue
            region.steps.append(step)
            known.update(step.outputs)
        if lost := [name for name in region.outputs if name not in known]:
            raise self.model.fail(f"operators that make the output '{lost[0]}'", "none")

    def _constants(self, instance: Instance, constants: Constants, known: set[str]) -> None:
        """Add the tensors of an instance that need no operator."""
        graph = instance.graph
        made = {at for operator in graph.operators for at in operator.outputs} | set(graph.inputs)
        for name, info in zip(instance.names, graph.tensors, strict=True):
            if info.index in made:
                continue
            if info.is_variable or not prod(info.shape) or self.model.raw(info.buffer) is not None:
                constants.infos[name] = info
                known.add(name)

    def _passed(self, node: Node, inputs: Sequence[str], outputs: Sequence[str]) -> list[Step]:
        """Values under other names."""
        if len(inputs) != len(outputs):
            raise FrontendError(
                message(node.op_type, f"{len(outputs)} values for a subgraph", str(len(inputs)), node.leaf)
            )
        return [
            Step((source,), (target,), node.layer, "", source=_renaming(node))
            for source, target in zip(inputs, outputs, strict=True)
        ]

    def _node(self, instance: Instance, operator: OperatorInfo) -> Node:
        tensors, names = instance.graph.tensors, instance.names
        layer = ", ".join(names[at] for at in operator.outputs) or f"{instance.outer}{operator.op}_{operator.index}"
        index = operator.index if instance.index is None else instance.index
        return Node(
            op_type=operator.op,
            leaf=layer_location(layer, self.file, index),
            layer=layer,
            index=index,
            operator=operator,
            inputs=[tensors[at] if at >= 0 else None for at in operator.inputs],
            outputs=[tensors[at] for at in operator.outputs],
            intermediates=[tensors[at] if at >= 0 else None for at in operator.intermediates],
        )

    def _step(self, node: Node, instance: Instance, running: AbstractSet[int]) -> Step:
        operator = node.operator
        kind = CONTROL.get(operator.op, "")
        bodies: dict[str, Region] = {}
        if kind:
            roles = {"If": ("then_branch", "else_branch"), "While": ("cond", "body")}[kind]
            options = {"If": ("Then", "Else"), "While": ("Cond", "Body")}[kind]
            for role, option in zip(roles, options, strict=True):
                graph = self._called(node, f"{option}SubgraphIndex")
                inner = Instance(graph, _names(graph, f"{node.layer}/"), f"{node.layer}/", node.index)
                bodies[role] = self._region(inner, frozenset(running))
                self._agree(node, bodies[role], role)
        inputs = tuple(instance.names[at] if at >= 0 else "" for at in operator.inputs)
        outputs = tuple(instance.names[at] for at in operator.outputs)
        return Step(inputs, outputs, node.layer, kind, bodies, {}, node)

    def _agree(self, node: Node, body: Region, role: str) -> None:
        """Complain when a body takes or leaves another number of values than its operator."""
        taken = len(node.inputs) - (node.op_type == "IF")
        left = 1 if role == "cond" else len(node.outputs)
        if (len(body.inputs), len(body.outputs)) != (taken, left):
            found = f"{len(body.inputs)} and {len(body.outputs)}"
            raise FrontendError(message(node.op_type, f"a {role} of {taken} inputs, {left} outputs", found, node.leaf))

    def _called(self, node: Node, option: str) -> Subgraph:
        options = node.operator.options
        if not hasattr(options, option):
            raise FrontendError(message(node.op_type, f"options with {option}", "none", node.leaf))
        return self.model.subgraph(getattr(options, option)())


def _renaming(node: Node) -> Node:
    return Node(
        op_type=RENAMING,
        leaf=node.leaf,
        layer=node.layer,
        index=node.index,
        operator=node.operator,
        inputs=node.inputs,
        outputs=node.outputs,
        intermediates=(),
    )


RENAMING = "a call's value"
"""What hands a value into a subgraph that is called, or out of it."""
