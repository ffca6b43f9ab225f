"""Makes regions of steps of a model's subgraphs, with calls inlined, and bodies for branches and loops.

A layer has the names of its outputs, joined by ", "; a layer in a subgraph that an operator runs is `<outer>/<inner>`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from math import prod
from typing import cast

from ...provenance.diagnostics import message
from ...provenance.span import layer_location
from ...runtime.interpreting.flow import Region, Step
from ...support.dtypes import Array
from ...support.errors import FrontendError
from ..importing.constants import Constants, held
from ..importing.custom import NO_CUSTOM_OPS, CustomOps
from ..importing.node import Node as ModelNode
from ..importing.state import State
from .model import ModelFile, OperatorInfo, Signature, Subgraph, TensorInfo
from .values import constant
from .variables import (
    ASSIGN,
    HANDLE,
    ONCE,
    READ,
    Key,
    handle,
    operands,
    run_by,
    run_once,
    variables,
    written_tensors,
    zeros,
)

CONTROL = {"IF": "If", "WHILE": "While"}
CALL, COMPOSITE = "CALL", "STABLEHLO_COMPOSITE"
_MOST = 1_000_000
"""The greatest number of steps of a program, which nested calls multiply."""
_DEEPEST = 200
"""The greatest number of subgraphs around a subgraph; each lengthens the names inside."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Node(ModelNode):
    """The operator of the model that a step comes from."""

    operator: OperatorInfo
    inputs: Sequence[TensorInfo | None]
    outputs: Sequence[TensorInfo]
    intermediates: Sequence[TensorInfo | None]
    body: str = ""
    """The only operator of the subgraph that combines two elements, if the operator has such a subgraph."""


def operator_name(operator: OperatorInfo) -> str:
    """Return the name of an operator, without `CUSTOM `."""
    return operator.op.removeprefix("CUSTOM ")


def decoder(model: ModelFile, info: TensorInfo) -> Callable[[], Array]:
    """Return the decoder of a tensor; a tensor without values in the file is the initial value of a variable."""

    def decode() -> Array:
        array = constant(model, info)
        return zeros(info) if array is None else array

    return decode


@dataclass(eq=False)
class Instance:
    """A subgraph that an operator runs, or the main one."""

    graph: Subgraph
    names: Sequence[str]
    """The names of its tensors, by index, without duplicates."""
    outer: str
    """The prefix of the names of its layers."""
    index: int | None
    """The index of the operator of the main graph that runs it; None for the main graph."""
    handles: dict[int, Key]
    """Tensor -> the variable that it stands for."""


def _names(graph: Subgraph, outer: str, reserved: Mapping[str, int] | None = None) -> list[str]:
    """Return distinct names of tensors; `reserved` maps a name to the index of its tensor."""
    reserved_indices = reserved or {}
    names: list[str] = []
    seen: set[str] = set()
    for info in graph.tensors:
        name = outer + (info.name or f"tensor_{info.index}")
        while name in seen or reserved_indices.get(name, info.index) != info.index:
            name = f"{name}_{info.index}"
        seen.add(name)
        names.append(name)
    return names


@dataclass(eq=False)
class Scope:
    """The variables of a region under construction."""

    current: dict[Key, str]
    """The name of each variable's value at this point."""
    left: Sequence[Key] = ()
    """The variables whose last values are outputs."""


@dataclass(eq=False)
class Builder:
    """Makes regions of subgraphs.

    keep: whether variables that a call changes are inputs and outputs of the main region, to be kept for the next call;
    else each call begins with their initial values.
    """

    model: ModelFile
    evaluated: Callable[[Builder, Region], Sequence[Array]]
    """Computes the outputs of a region without inputs."""
    keep: bool = False
    custom_ops: CustomOps = NO_CUSTOM_OPS

    def __post_init__(self) -> None:
        self.file = self.model.file
        self.count = 0
        self._pending: list[tuple[Region, Instance, frozenset[int], Scope]] = []
        self.infos: dict[str, TensorInfo] = {}
        """Tensor of the main graph -> its description."""
        self.states: list[State] = []
        """The states of the main region."""
        self.layers: dict[str, str] = {}
        """Name in a signature -> the tensor's name, which names layers."""
        self._empty: set[str] = set()
        """The names of initial values of variables that nothing initialises."""

    def main(self, index: int = 0, signature: Signature | None = None) -> Region:
        """Return the region of a subgraph and of those that it runs; a signature names its inputs and outputs."""
        graph = self.model.subgraph(index)
        reserved = {**signature.inputs, **signature.outputs} if signature is not None else {}
        instance = Instance(graph, _names(graph, "", reserved), "", None, {})
        self.infos = dict(zip(instance.names, graph.tensors, strict=True))
        by_key, initial = variables(self.model, graph, ()), self._initial(graph)
        scope = Scope({key: self._unused(variable.name) for key, variable in by_key.items()})
        kept = [key for key, variable in by_key.items() if variable.written and self.keep]
        scope.left = kept
        first = dict(scope.current)
        tensors = {(owner, at) for owner, at in by_key if isinstance(owner, int)}
        self._empty = {name for key, name in first.items() if key not in initial and key not in tensors}
        values = {key: initial[key] if key in initial else zeros(variable.info) for key, variable in by_key.items()}
        self.infos |= {first[key]: variable.info for key, variable in by_key.items()}
        region = self._region(instance, frozenset(), scope, [first[key] for key in kept])
        known = {first[key]: value for key, value in values.items() if key not in kept}
        region.constants = Constants({name: held(value) for name, value in known.items()})
        while self._pending:
            self._fill(*self._pending.pop())
        self.states = [State(first[key], scope.current[key], values[key]) for key in kept]
        if signature is not None:
            self._rename(region, instance, signature)
        return region

    def _initial(self, main: Subgraph) -> dict[Key, Array]:
        """Return the values that subgraphs called once give to variables; the others start as zeros."""
        values: dict[Key, Array] = {}
        for operator, graph in run_once(self.model, main):
            outer = f"{operator.op}_{operator.index}/"
            instance = Instance(graph, _names(graph, outer), outer, operator.index, {})
            by_key = variables(self.model, graph, ())
            scope = Scope({key: f"{outer}{variable.name}:variable" for key, variable in by_key.items()})
            scope.left = [key for key, variable in by_key.items() if variable.written]
            names = dict(scope.current)
            self._empty = {name for key, name in names.items() if key not in values}
            region = self._region(instance, frozenset(), scope)
            constants = {names[key]: held(value) for key, value in values.items() if key in names}
            region.outputs, region.constants = (), Constants(constants)
            while self._pending:
                self._fill(*self._pending.pop())
            values |= zip(scope.left, self.evaluated(self, region), strict=True)
        return values

    def _rename(self, region: Region, instance: Instance, signature: Signature) -> None:
        """Give inputs and outputs their names in a signature."""
        for named, is_input in ((signature.inputs, True), (signature.outputs, False)):
            indices = instance.graph.inputs if is_input else instance.graph.outputs
            public_names = {instance.names[at]: name for name, at in named.items() if at in indices}
            names = region.inputs if is_input else region.outputs
            changed = {name: public_names[name] for name in names if public_names.get(name, name) != name}
            steps: list[Step] = []
            for old, new in changed.items():
                self.infos[new] = self.infos[old]
                self.layers[new] = old
                source, target = (new, old) if is_input else (old, new)
                steps.append(Step((source,), (target,), old, "", source=self._alias(old), renames=True))
            new_names = tuple(changed.get(name, name) for name in names)
            if is_input:
                region.inputs, region.steps[:0] = new_names, steps
            else:
                region.outputs = new_names
                region.steps += steps

    def _alias(self, name: str) -> Node:
        """Return a node that gives a tensor of the main graph another name."""
        info = self.infos[name]
        return Node(
            op_type=RENAMING,
            leaf=layer_location(name, self.file, 0),
            layer=name,
            index=0,
            operator=OperatorInfo(0, RENAMING, 1, inputs=(), outputs=(), intermediates=(), options=None, custom=b""),
            inputs=[info],
            outputs=[info],
            intermediates=(),
        )

    def _unused(self, name: str) -> str:
        """Return a name that no tensor of the main graph has."""
        while name in self.infos and not self.infos[name].is_variable:
            name = f"{name}:variable"
        return name

    def _region(self, instance: Instance, running: frozenset[int], scope: Scope, states: Sequence[str] = ()) -> Region:
        """Return the region of an instance, whose steps are added later. `running` are the subgraphs around it.

        states: the names of variables that are inputs after the others.
        """
        graph, names = instance.graph, instance.names
        if len(running) > _DEEPEST:
            raise self.model.fail(f"subgraphs inside at most {_DEEPEST} others", f"subgraph {graph.index} inside more")
        if graph.index in running:
            raise self.model.fail("subgraphs that do not run themselves", f"subgraph {graph.index} '{graph.name}'")
        inputs = tuple(names[at] for at in graph.inputs if at not in instance.handles)
        outputs = tuple(names[at] for at in graph.outputs if not _is_handle(graph, at))
        region = Region((*inputs, *states), outputs, [], Constants())
        self._pending.append((region, instance, running | {graph.index}, scope))
        return region

    def _fill(self, region: Region, instance: Instance, running: frozenset[int], scope: Scope) -> None:
        """Add the steps of a region, with called subgraphs inlined."""
        constants = cast(Constants, region.constants)
        known = {*region.inputs, *constants, *scope.current.values()}
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
            self.count += 1
            if self.count > _MOST:
                raise self.model.fail(f"at most {_MOST} steps", "subgraphs that call others more often")
            node = self._node(current, operator)
            if operator.op in (HANDLE, READ, ASSIGN, ONCE):
                region.steps += self._moved(node, current, scope, known)
                continue
            step = self._step(node, current, inside, scope)
            missing = [name for name in step.inputs if name and name not in known]
            if missing:
                actual = f"'{missing[0]}', which no operator before makes"
                raise FrontendError(message(node.op_type, "an input, a constant or a result", actual, node.leaf))
            if operator.op in (CALL, COMPOSITE):
                graph = self._called(node, *run_by(operator) or ("Subgraph",))
                if graph.index in inside:
                    raise self.model.fail("subgraphs that do not run themselves", f"subgraph {graph.index}")
                if len(inside) > _DEEPEST:
                    raise self.model.fail(f"subgraphs inside at most {_DEEPEST} others", f"subgraph {graph.index}")
                inside.add(graph.index)
                callee = self._instance(node, graph, current)
                callee_inputs = [callee.names[at] for at in graph.inputs if at not in callee.handles]
                region.steps += self._passed(node, step.inputs, callee_inputs)
                self._constants(callee, constants, known)
                known.update(callee_inputs)
                callee_outputs = [callee.names[at] for at in graph.outputs if not _is_handle(graph, at)]
                results = self._passed(node, callee_outputs, step.outputs)
                stack.append((callee, iter(graph.operators), results))
                continue
            region.steps.append(step)
            known.update(step.outputs)
        region.outputs += tuple(scope.current[key] for key in scope.left)
        if undefined := [name for name in region.outputs if name not in known]:
            raise self.model.fail(f"operators that make the output '{undefined[0]}'", "none")

    def _instance(self, node: Node, graph: Subgraph, around: Instance) -> Instance:
        """Return the instance of a subgraph that an operator runs."""
        keys = (around.handles.get(at) for at in operands(node.operator))
        handles = {at: key for at, key in zip(graph.inputs, keys, strict=False) if key is not None}
        return Instance(graph, _names(graph, f"{node.layer}/"), f"{node.layer}/", node.index, handles)

    def _moved(self, node: Node, instance: Instance, scope: Scope, known: set[str]) -> list[Step]:
        """Return the steps for an operator on variables: values under other names."""
        operator = node.operator
        if operator.op == HANDLE:
            instance.handles |= dict.fromkeys(operator.outputs, handle(operator))
            return []
        if operator.op == ONCE:
            return []
        key = instance.handles.get(operator.inputs[0]) if operator.inputs else None
        if key is None or len(operator.inputs) != 1 + (operator.op == ASSIGN):
            raise FrontendError(message(node.op_type, "the handle of a variable", "another input", node.leaf))
        name = scope.current[key]
        if operator.op == READ:
            if name in self._empty:
                raise FrontendError(message(node.op_type, "a variable that has a value", "one without", node.leaf))
            steps = self._passed(node, [name], [instance.names[at] for at in operator.outputs])
            known.update(instance.names[at] for at in operator.outputs)
            return steps
        value = instance.names[operator.inputs[1]]
        if value not in known:
            actual = f"'{value}', which no operator before makes"
            raise FrontendError(message(node.op_type, "an input, a constant or a result", actual, node.leaf))
        scope.current[key] = value
        return []

    def _constants(self, instance: Instance, constants: Constants, known: set[str]) -> None:
        """Add the tensors of an instance that need no operator."""
        graph = instance.graph
        written = {at for operator in graph.operators for at in operator.outputs} | set(graph.inputs)
        for name, info in zip(instance.names, graph.tensors, strict=True):
            if info.index in written or name in constants or info.type == _RESOURCE:
                continue
            if info.is_variable and name in known:
                continue
            if info.is_variable or not prod(info.shape) or self.model.raw(info.buffer) is not None:
                constants.sources[name] = decoder(self.model, info)
                known.add(name)

    def _passed(self, node: Node, inputs: Sequence[str], outputs: Sequence[str]) -> list[Step]:
        """Return the steps that rename values."""
        if len(inputs) != len(outputs):
            raise FrontendError(
                message(node.op_type, f"{len(outputs)} values for a subgraph", str(len(inputs)), node.leaf)
            )
        return [
            Step((source,), (target,), node.layer, "", source=_renaming(node), renames=True)
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
            body=self._body(operator),
        )

    def _body(self, operator: OperatorInfo) -> str:
        """Return the operators of the subgraph of a reduction or scatter of StableHLO, which may have at most one."""
        name = {"STABLEHLO_SCATTER": "UpdateComputationSubgraphIndex"}.get(operator.op, "BodySubgraphIndex")
        if not operator.op.startswith("STABLEHLO_") or not hasattr(operator.options, name):
            return ""
        return ", ".join(inner.op for inner in self.model.subgraph(getattr(operator.options, name)()).operators)

    def _step(self, node: Node, instance: Instance, running: AbstractSet[int], scope: Scope) -> Step:
        operator, names = node.operator, instance.names
        kind = CONTROL.get(operator.op, "")
        inputs = [names[at] if at >= 0 else "" for at in operator.inputs if at not in instance.handles]
        outputs = [names[at] for at in operator.outputs if not _is_handle(instance.graph, at)]
        bodies: dict[str, Region] = {}
        if kind:
            roles = {"If": ("then_branch", "else_branch"), "While": ("cond", "body")}[kind]
            options = {"If": ("Then", "Else"), "While": ("Cond", "Body")}[kind]
            graphs = [self._called(node, f"{option}SubgraphIndex") for option in options]
            inner = [self._instance(node, graph, instance) for graph in graphs]
            operand_keys = [instance.handles.get(at) for at in operands(operator)]
            changed = dict.fromkeys(
                key
                for graph in graphs
                for key, variable in variables(self.model, graph, operand_keys).items()
                if variable.written
            )
            for role, inner_instance in zip(roles, inner, strict=True):
                states = {key: f"{inner_instance.outer}{role}:{at}" for at, key in enumerate(changed)}
                inner_scope = Scope({**scope.current, **states}, () if role == "cond" else list(changed))
                bodies[role] = self._region(inner_instance, frozenset(running), inner_scope, list(states.values()))
                self._agree(node, bodies[role], role, (len(inputs), len(outputs)), len(changed))
            inputs += [scope.current[key] for key in changed]
            for at, key in enumerate(changed):
                scope.current[key] = f"{node.layer}:{at}"
                outputs.append(scope.current[key])
            if kind == "While":
                kept = zip(operator.outputs, operand_keys, strict=False)
                instance.handles |= {at: key for at, key in kept if key is not None}
        for at, tensor in written_tensors(instance.graph, operator):
            key: Key = (instance.graph.index, tensor)
            inputs[at], scope.current[key] = scope.current[key], f"{node.layer}:{at}"
            outputs.append(scope.current[key])
        return Step(tuple(inputs), tuple(outputs), node.layer, kind, bodies, {}, node)

    def _agree(self, node: Node, body: Region, role: str, counts: tuple[int, int], states: int) -> None:
        """Raise FrontendError if a body has another number of inputs or outputs than its operator."""
        expected = counts[0] - (node.op_type == "IF"), 1 if role == "cond" else counts[1]
        actual = len(body.inputs) - states, len(body.outputs)
        if actual != expected:
            text = f"a {role} of {expected[0]} inputs, {expected[1]} outputs"
            raise FrontendError(message(node.op_type, text, f"{actual[0]} and {actual[1]}", node.leaf))

    def _called(self, node: Node, option: str) -> Subgraph:
        options = node.operator.options
        if not hasattr(options, option):
            raise FrontendError(message(node.op_type, f"options with {option}", "none", node.leaf))
        return self.model.subgraph(getattr(options, option)())


_RESOURCE = "RESOURCE"


def _is_handle(graph: Subgraph, at: int) -> bool:
    return graph.tensors[at].type == _RESOURCE


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
"""The kind of step that passes a value into a called subgraph, or out of it."""
