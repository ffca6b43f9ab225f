"""Makes a region of steps of a model's graph, with calls inlined, and bodies for branches and loops."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from xdsl.dialects.builtin import NameLoc

from ...provenance.diagnostics import message
from ...provenance.span import layer_location
from ...runtime.interpreting.flow import Region, Step
from ...support.dtypes import Array
from ...support.errors import FrontendError
from ..importing.constants import Constants
from ..importing.custom import NO_CUSTOM_OPS, CustomOps
from ..importing.frames import frames_location
from ..importing.state import State
from ..importing.unsupported import Call, refuse
from .control import Control
from .graphs import Graph, NodeInfo, Ref
from .layer_names import LayerNames, scope_of
from .model_file import ModelFile
from .needed import needed_nodes
from .restored import CALLS, HANDLES, Key, variable_key
from .scopes import CONTROL, INPUTS, READS, RUN, SAME, Handle, Instance, Node, Scope, Value
from .values import RESOURCE, array_of, value_type
from .variables import ADDING, UPDATES, changing

_OF_TEXTS = ("Decode", "Encode", "Lookup", "Parse", "Regex", "String", "Substr", "AsString", "HashTable")
"""The prefixes of the names of operators on texts and image files."""
_AFTER_TEXTS = "texts and image files are decoded before the model: take the outputs of the part after that"
_DEEPEST = 100
"""The greatest number of calls around a call."""
_MOST, _MOST_CALLS = 20_000, 10
"""The greatest number of steps of a program, or per node of its file, whichever allows more."""


class Builder:
    """Makes regions of graphs.

    supported: the operators with converters.
    keep: whether variables that a call changes are inputs and outputs of the main region, to be kept for the next call.
    """

    def __init__(self, model: ModelFile, supported: Collection[str], keep: bool, custom_ops: CustomOps = NO_CUSTOM_OPS):
        self.model, self.file, self.supported, self.keep = model, model.file, supported, keep
        self.custom_ops = custom_ops
        self.names = LayerNames()
        self.constants: set[str] = set()
        """The names of constants and variables."""
        self.places: dict[str, tuple[str, int]] = {}
        """Input of the model or a body -> its layer, and the number of its node."""
        self.unsupported: list[Call] = []
        """The nodes of operators that nothing computes."""
        self.states: list[State] = []
        self.inputs: dict[str, NodeInfo] = {}
        """Input -> its placeholder."""
        self._first: dict[Key, tuple[str, NodeInfo]] = {}
        """Variable -> the name of its first value, and its node."""
        self._calls: dict[str, int] = {}
        """Function -> the number of nodes that call it."""
        self._count, self._most = 0, max(_MOST, _MOST_CALLS * model.count)
        self.changing: set[Graph] = set()
        """The graphs that assign to a variable, directly or in a graph that they run."""
        self._ordered: dict[Graph, list[NodeInfo]] = {}

    def main(self, inputs: Mapping[str, Ref], outputs: Mapping[str, Ref]) -> Region:
        """Return the region of the main graph; `inputs` and `outputs` name values in it.

        Other placeholders that the outputs need are inputs, too.
        """
        graph = replace(self.model.structured, results=tuple(outputs.values()))
        self.changing = changing(graph, self.bodies)
        self._count_calls(graph)
        constants = Constants()
        scope = Scope(Region((), (), [], constants), constants, {})
        instance = Instance(graph, {}, "", "", (graph,))
        for name in (*inputs, *outputs):
            self.names.reserve(name)
        for name, ref in inputs.items():
            if ref.name not in graph.nodes:
                raise FrontendError(f"{self.file}: input '{name}': expected a node of the graph, got '{ref.name}'")
            self._input(name, graph.nodes[ref.name], instance, scope)
        for node in self._needed(graph):
            if node.op in INPUTS and Ref(node.name) not in instance.values:
                self._input(node.name, node, instance, scope)
        # Layers that give outputs their names keep those.
        results = self._emit(instance, scope, set(outputs))
        self._complain()
        output_names: dict[str, str] = {}
        for (name, ref), value in zip(outputs.items(), results, strict=True):
            value = self.tensor(value, scope, ref.name)
            # States keep their names: they are outputs of their own.
            kept = value in scope.region.inputs or value in scope.current.values()
            if kept or value in output_names or value in self.constants:
                if value != name:
                    origin = graph.nodes[ref.name]
                    node = self.step_node("Identity", name, origin)
                    layer = instance.layers.get(ref.name, ref.name)
                    scope.region.steps.append(Step((value,), (name,), layer, "", {}, {}, node, renames=True))
            else:
                output_names[value] = name
        _rename(scope.region, {value: name for value, name in output_names.items() if value != name})
        scope.region.outputs = tuple(outputs)
        self._close(scope)
        return scope.region

    def _input(self, name: str, node: NodeInfo, instance: Instance, scope: Scope) -> None:
        instance.values[Ref(node.name)] = name
        instance.layers[node.name] = name
        self.names.reserve(name)
        self.inputs[name] = node
        self.places[name] = name, node.index
        scope.region.inputs += (name,)

    def _close(self, scope: Scope) -> None:
        """Make changed variables states if they are to be kept, and all other variables constants."""
        for key, (name, node) in self._first.items():
            if self.keep and scope.current.get(key, name) != name:
                last = scope.current[key]
                scope.region.inputs += (name,)
                scope.region.outputs += (last,)
                self.states.append(State(name, last, self._initial(key, node)))
            else:
                scope.constants.sources[name] = self._decoder(key, node)

    def _decoder(self, key: Key, node: NodeInfo) -> Callable[[], Array]:
        checkpoint, stored_key = self._stored(key, node)
        return lambda: checkpoint[stored_key]

    def _initial(self, key: Key, node: NodeInfo) -> Array:
        """Return the value of a variable in the checkpoint."""
        checkpoint, stored_key = self._stored(key, node)
        return checkpoint[stored_key]

    def _stored(self, key: Key, node: NodeInfo) -> tuple[Mapping[str, Array], str]:
        """Return the checkpoint, and the key of a variable in it. Raises FrontendError for a missing variable."""
        checkpoint = self.model.checkpoint
        wanted = self.model.keys.get(key, key[1])
        if checkpoint is None and self.model.signature is not None:
            wanted = f"a value of variable '{key[1]}' in variables/variables.index"
            raise FrontendError(f"{self.file}: node '{node.name}': expected {wanted}, got no such file")
        if checkpoint is None:
            result = f"{node.op} (node {node.name})"
            raise FrontendError(f"{self.file}: Graph is not frozen. Provide a frozen graph. Found operators [{result}]")
        if wanted not in checkpoint:
            what = f"a value of variable '{key[1]}'"
            raise FrontendError(f"{self.file}: node '{node.name}': expected {what} in the checkpoint, got none")
        return checkpoint, wanted

    def _complain(self) -> None:
        """Raise FrontendError about all unsupported operators at once."""
        texts = any(call.operator.startswith(_OF_TEXTS) for call in self.unsupported)
        refuse(self.file, "TensorFlow", self.unsupported, self.supported, instead=_AFTER_TEXTS if texts else "")

    # Nodes.

    def _needed(self, graph: Graph) -> list[NodeInfo]:
        """Return the nodes that the results of a graph need, in order."""
        if graph not in self._ordered:
            roots = [*(ref.name for ref in graph.results), *graph.controls]
            self._ordered[graph] = needed_nodes(graph, roots, self._acts, self.file)
        return self._ordered[graph]

    def _acts(self, node: NodeInfo) -> bool:
        """Return whether a node changes a variable."""
        return node.op in UPDATES or any(graph in self.changing for graph in self.bodies(node).values())

    def bodies(self, node: NodeInfo) -> dict[str, Graph]:
        """Return the graphs that a node runs, by attribute."""
        if node.bodies:
            return dict(node.bodies)
        graphs: dict[str, Graph] = {}
        for attribute in RUN.get(node.op, ()):
            value = node.attributes.get(attribute)
            for at, function in enumerate(
                [] if value is None else [value.func] if value.func.name else value.list.func
            ):
                where = f"node '{node.name}'"
                graphs[f"{attribute}{at or ''}"] = self.model.function(function.name, where)
        return graphs

    def _count_calls(self, graph: Graph) -> None:
        """Count the reachable nodes that call each function."""
        waiting, seen = [graph], {graph.name}
        while waiting:
            current = waiting.pop()
            for node in self._needed(current):
                for inner in self.bodies(node).values():
                    self._calls[inner.name] = self._calls.get(inner.name, 0) + 1
                    if inner.name not in seen:
                        seen.add(inner.name)
                        waiting.append(inner)

    def _emit(self, instance: Instance, scope: Scope, kept_names: set[str] | None = None) -> list[Value]:
        """Add the steps of a graph; return its results. Nodes among `kept_names` keep their names."""
        graph = instance.graph
        for node in self._needed(graph):
            self._count += 1
            if self._count > self._most:
                limit = f"at most {self._most} steps"
                raise FrontendError(f"{self.file}: expected {limit}, got functions that are called more often")
            if Ref(node.name) in instance.values:
                continue
            if kept_names is not None and node.name in kept_names:
                layer = node.name
            else:
                layer = self.names.named(node.name, instance.scope, instance.call)
            instance.layers[node.name] = layer
            self._add(node, layer, instance, scope)
        return [self._value(instance, ref, graph.name or "the graph") for ref in graph.results]

    def _value(self, instance: Instance, ref: Ref, reader: str) -> Value:
        if ref in instance.values:
            return instance.values[ref]
        if ref.name in instance.arguments and not ref.slot:
            return instance.arguments[ref.name]
        actual = f"'{ref.name}:{ref.slot}'"
        raise FrontendError(f"{self.file}: {reader}: expected an input that exists at inference, got {actual}")

    def tensor(self, value: Value, scope: Scope, reader: str) -> str:
        """Return the name of a tensor, or of a variable's current value."""
        return self.variable(value.key, scope, reader) if isinstance(value, Handle) else value

    def variable(self, key: Key, scope: Scope, reader: str) -> str:
        if key not in scope.current:
            if key not in self._first:
                raise FrontendError(f"{self.file}: node '{reader}': expected a variable of the model, got '{key[1]}'")
            scope.current[key] = self._first[key][0]
        return scope.current[key]

    def _add(self, node: NodeInfo, layer: str, instance: Instance, scope: Scope) -> None:
        """Add the steps of a node, and record the values on the edges that leave it."""
        operands = [self._value(instance, ref, f"node '{node.name}'") for ref in node.inputs]
        values = instance.values
        if node.op in HANDLES:
            key = variable_key(node)
            if key not in self._first:
                name = layer if key[1] == node.name else self.names.named(key[1], "", "")
                self._first[key] = name, node
                self.constants.add(name)
            values[Ref(node.name)] = Handle(key)
        elif node.op == "Const":
            scope.constants.sources[layer] = self._constant(node)
            self.constants.add(layer)
            values[Ref(node.name)] = layer
        elif node.op in INPUTS:
            raise FrontendError(f"{self.file}: node '{layer}': expected placeholders outside of functions, got one")
        elif node.op in CALLS:
            (inner,) = self.run(node, layer, ("f",))
            self.leave(node, instance, self.called(inner, layer, operands, instance, scope))
        elif node.op in CONTROL:
            Control(self, node, layer, operands, instance, scope).add()
        elif node.op in UPDATES:
            self._update(node, layer, operands, scope)
            if node.op in ("Assign", "AssignAdd", "AssignSub"):
                values[Ref(node.name)] = operands[0]
        elif self.custom_ops.has(node.op):
            self._operator(node, layer, operands, instance, scope)
        elif node.op in READS and operands:
            values[Ref(node.name)] = self.tensor(operands[0], scope, layer)
        elif node.op in SAME and operands and isinstance(operands[0], str) and operands[0] not in self.constants:
            step_node = self.step_node(node.op, layer, node, node.attributes)
            scope.region.steps.append(Step((operands[0],), (layer,), layer, "", {}, {}, step_node, renames=True))
            values[Ref(node.name)] = layer
        elif node.op in SAME and operands:
            # A constant keeps its name, a reference to a variable is read, and a resource is passed on.
            number = value_type(node.attributes["T"].type) if "T" in node.attributes else RESOURCE
            reads = number != RESOURCE
            values[Ref(node.name)] = self.tensor(operands[0], scope, layer) if reads else operands[0]
        else:
            self._operator(node, layer, operands, instance, scope)

    def _constant(self, node: NodeInfo) -> Callable[[], Array]:
        def decode() -> Array:
            if "value" not in node.attributes:
                raise FrontendError(f"{self.file}: node '{node.name}': expected a constant with a value, got none")
            return array_of(node.attributes["value"].tensor, f"{self.file}: node '{node.name}'")

        return decode

    def step_node(
        self, op: str, layer: str, node: NodeInfo, attributes: Mapping[str, Any] | None = None, outputs: int = 1
    ) -> Node:
        return Node(
            op_type=op,
            leaf=self._leaf(layer, node),
            layer=layer,
            index=node.index,
            frames=node.frames,
            attributes=attributes or {},
            outputs=outputs,
        )

    def _leaf(self, layer: str, node: NodeInfo) -> NameLoc:
        """Return the location of a layer: the calls that made its node, else the node's number in the file."""
        return frames_location(layer, node.frames) if node.frames else layer_location(layer, self.file, node.index)

    def _operator(
        self, node: NodeInfo, layer: str, operands: Sequence[Value], instance: Instance, scope: Scope
    ) -> None:
        if node.op not in self.supported and not self.custom_ops.has(node.op):
            self.unsupported.append(Call(node.op, layer))
        slots = instance.graph.slots.get(node.name, 1)
        names = [layer if slot == 0 else f"{layer}:{slot}" for slot in range(slots)]
        # Handles of tables and other resources are operands of unsupported operators only.
        inputs = () if self.unsupported else tuple(self.tensor(value, scope, layer) for value in operands)
        step_node = self.step_node(node.op, layer, node, node.attributes, slots)
        scope.region.steps.append(Step(inputs, tuple(names), layer, "", {}, {}, step_node))
        instance.values |= {Ref(node.name, slot): name for slot, name in enumerate(names)}

    # Functions.

    def run(self, node: NodeInfo, layer: str, names: Sequence[str]) -> list[Graph]:
        """Return the graphs at attributes that the node must have."""
        bodies = self.bodies(node)
        if missing := [name for name in names if name not in bodies]:
            raise FrontendError(f"{self.file}: node '{layer}': expected a function '{missing[0]}', got none")
        return [bodies[name] for name in names]

    def called(
        self, graph: Graph, layer: str, operands: Sequence[Value], instance: Instance, scope: Scope
    ) -> list[Value]:
        """Add the steps of a graph that a layer runs with values; return its results."""
        if graph in instance.running or len(instance.running) > _DEEPEST:
            actual = f"'{graph.name}' inside itself" if graph in instance.running else "more"
            raise FrontendError(f"{self.file}: node '{layer}': expected at most {_DEEPEST} calls inside, got {actual}")
        if len(operands) != len(graph.arguments):
            expected = f"{len(graph.arguments)} inputs of '{graph.name}'"
            raise FrontendError(f"{self.file}: node '{layer}': expected {expected}, got {len(operands)}")
        names = scope_of(layer, self._calls.get(graph.name, 0) <= 1)
        arguments = dict(zip(graph.arguments, operands, strict=True))
        return self._emit(Instance(graph, arguments, names, layer, (*instance.running, graph)), scope)

    def leave(self, node: NodeInfo, instance: Instance, results: Sequence[Value]) -> None:
        instance.values |= {Ref(node.name, slot): value for slot, value in enumerate(results)}

    def _update(self, node: NodeInfo, layer: str, operands: Sequence[Value], scope: Scope) -> None:
        """Record the value that a node assigns to a variable."""
        if len(operands) != 2 or not isinstance(operands[0], Handle):
            raise FrontendError(message(node.op, "a variable and a value", "others", self._leaf(layer, node)))
        value = self.tensor(operands[1], scope, layer)
        if node.op in ADDING:
            old_value = self.variable(operands[0].key, scope, layer)
            step_node = self.step_node(node.op, layer, node, node.attributes)
            scope.region.steps.append(Step((old_value, value), (layer,), layer, "", {}, {}, step_node))
            value = layer
        scope.current[operands[0].key] = value


def _rename(region: Region, names: Mapping[str, str]) -> None:
    """Rename values of a region and of the bodies in it."""
    waiting = [region] if names else []
    while waiting:
        current = waiting.pop()
        current.outputs = tuple(names.get(name, name) for name in current.outputs)
        for step in current.steps:
            step.inputs = tuple(names.get(name, name) for name in step.inputs)
            step.outputs = tuple(names.get(name, name) for name in step.outputs)
            waiting += step.bodies.values()
