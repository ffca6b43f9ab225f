"""Makes branches and loops, the steps whose bodies are regions of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn, Protocol

from ...runtime.interpreting.flow import Region, Step
from ...support.errors import FrontendError
from ..importing.constants import Constants
from .graphs import Graph, NodeInfo
from .layer_names import LayerNames
from .restored import Key
from .scopes import IFS, IS_NUMBER, TRUTH, WHILES, Handle, Instance, Node, Scope, Value
from .variables import written


class Builder(Protocol):
    """The part of the region builder that control flow needs."""

    file: str
    names: LayerNames
    places: dict[str, tuple[str, int]]
    changing: set[Graph]

    def bodies(self, node: NodeInfo) -> Mapping[str, Graph]:
        """Return the graphs that a node runs, by attribute."""
        ...

    def run(self, node: NodeInfo, layer: str, names: Sequence[str]) -> list[Graph]:
        """Return the graphs at attributes that the node must have."""
        ...

    def called(
        self, graph: Graph, layer: str, operands: Sequence[Value], instance: Instance, scope: Scope
    ) -> list[Value]:
        """Add the steps of a graph that a layer runs with values; return its results."""
        ...

    def leave(self, node: NodeInfo, instance: Instance, results: Sequence[Value]) -> None:
        """Record the values on the edges that leave a node."""
        ...

    def tensor(self, value: Value, scope: Scope, reader: str) -> str:
        """Return the name of a tensor, or of a variable's current value."""
        ...

    def variable(self, key: Key, scope: Scope, reader: str) -> str:
        """Return the name of a variable's value."""
        ...

    def step_node(
        self, op: str, layer: str, node: NodeInfo, attributes: Mapping[str, Any] | None = None, outputs: int = 1
    ) -> Node:
        """Return the node that a step comes from."""
        ...


@dataclass(frozen=True, eq=False)
class Control:
    """A node that chooses between graphs or repeats them.

    Its results are tensors and the variables that it passes through; the variables that it changes come after them.
    """

    builder: Builder
    node: NodeInfo
    layer: str
    operands: Sequence[Value]
    """Its inputs."""
    instance: Instance
    scope: Scope

    def add(self) -> None:
        """Add its steps, and record the values on the edges that leave it."""
        self.builder.leave(self.node, self.instance, self._loop() if self.node.op in WHILES else self._branches())

    def _fail(self, expected: str, branch_results: str) -> NoReturn:
        raise FrontendError(f"{self.builder.file}: node '{self.layer}': expected {expected}, got {branch_results}")

    def _branches(self) -> list[Value]:
        """Add a choice between two branches by a condition, or between several by a number."""
        if not self.operands:
            self._fail("a condition", "none")
        chooser = self.builder.tensor(self.operands[0], self.scope, self.layer)
        if self.node.op in IFS:
            branches = self.builder.run(self.node, self.layer, ("then_branch", "else_branch"))
            condition = self._derived(TRUTH, chooser, self.scope)
        else:
            branches = list(self.builder.bodies(self.node).values())
            if not branches:
                self._fail("branches", "none")
            if len(branches) == 1:
                return self.builder.called(branches[0], self.layer, self.operands[1:], self.instance, self.scope)
            condition = self._derived(IS_NUMBER, chooser, self.scope, 0)
        return self._choice(condition, branches, 0, chooser, self.scope, self.layer)

    def _derived(self, kind: str, source: str, scope: Scope, number: int = 0) -> str:
        """Add the step that computes a condition from an input of the node."""
        name = self.builder.names.named(f"{self.layer}:condition", "", "")
        step_node = replace(self.builder.step_node(kind, self.layer, self.node), number=number)
        scope.region.steps.append(Step((source,), (name,), self.layer, "", {}, {}, step_node))
        return name

    def _choice(
        self, condition: str, branches: Sequence[Graph], at: int, chooser: str, scope: Scope, name: str
    ) -> list[Value]:
        """Add an If between the first branch and all others, whose results are called `name`."""
        operands = self.operands[1:]
        changed: list[Key] = []
        for branch in branches:
            changed += [key for key in self._written(branch, operands) if key not in changed]
        bodies: dict[str, Region] = {}
        branch_results: list[list[Value]] = []
        for role, chosen in (("then_branch", branches[:1]), ("else_branch", branches[1:])):
            inner = self._inside(scope)
            if len(chosen) == 1:
                results = self.builder.called(chosen[0], self.layer, operands, self.instance, inner)
            else:
                inner_condition = self._derived(IS_NUMBER, chooser, inner, at + 1)
                inner_name = self.builder.names.named(f"{self.layer}:others", "", "")
                results = self._choice(inner_condition, chosen, at + 1, chooser, inner, inner_name)
            tensors = [value for value in results if isinstance(value, str)]
            inner.region.outputs = (*tensors, *(self.builder.variable(key, inner, self.layer) for key in changed))
            bodies[role] = inner.region
            branch_results.append(results)
        if len(branch_results[0]) != len(branch_results[1]) or any(
            x != y for x, y in zip(*branch_results, strict=True) if isinstance(x, Handle) or isinstance(y, Handle)
        ):
            self._fail("branches with as many results, and the same variables", "others")
        return self._placed("If", (condition,), branch_results[0], changed, bodies, scope, name)

    def _loop(self) -> list[Value]:
        """Add a loop, whose condition and body take all carried values and all variables that the loop changes."""
        graphs = dict(zip(("cond", "body"), self.builder.run(self.node, self.layer, ("cond", "body")), strict=True))
        changed: list[Key] = []
        for graph in graphs.values():
            changed += [key for key in self._written(graph, self.operands) if key not in changed]
        carried = [value for value in self.operands if isinstance(value, str)]
        carried += [self.builder.variable(key, self.scope, self.layer) for key in changed]
        bodies = {role: self._body(role, graph, changed) for role, graph in graphs.items()}
        return self._placed("While", tuple(carried), self.operands, changed, bodies, self.scope, self.layer)

    def _body(self, role: str, graph: Graph, changed: Sequence[Key]) -> Region:
        """Return the region of a loop's condition or body."""
        if len(self.operands) != len(graph.arguments):
            self._fail(f"{len(graph.arguments)} inputs of '{graph.name}'", str(len(self.operands)))
        named = self.builder.names.named
        arguments: list[Value] = [
            value if isinstance(value, Handle) else named(f"{self.layer}/{role}/{argument}", "", "")
            for value, argument in zip(self.operands, graph.arguments, strict=True)
        ]
        states = {key: named(f"{self.layer}/{role}/{key[1]}", "", "") for key in changed}
        inner = self._inside(self.scope, (*(v for v in arguments if isinstance(v, str)), *states.values()))
        self.builder.places |= dict.fromkeys(inner.region.inputs, (self.layer, self.node.index))
        inner.current |= states
        results = self.builder.called(graph, self.layer, arguments, self.instance, inner)
        if role == "cond":
            if len(results) != 1:
                self._fail("one result of the condition", str(len(results)))
            inner.region.outputs = (self.builder.tensor(results[0], inner, self.layer),)
            return inner.region
        pairs = list(zip(self.operands, results, strict=False))
        handles = [(x, y) for x, y in pairs if isinstance(x, Handle) or isinstance(y, Handle)]
        if len(results) != len(self.operands) or any(x != y for x, y in handles):
            self._fail(f"{len(self.operands)} results of the body, and the same variables", f"{len(results)} or others")
        tensors = [value for value in results if isinstance(value, str)]
        inner.region.outputs = (*tensors, *(self.builder.variable(key, inner, self.layer) for key in changed))
        return inner.region

    def _written(self, graph: Graph, operands: Sequence[Value]) -> dict[Key, None]:
        """Return the variables that a graph changes."""
        if graph not in self.builder.changing:
            return {}
        pairs = zip(graph.arguments, operands, strict=False)
        handles = {name: value.key for name, value in pairs if isinstance(value, Handle)}
        return written(graph, handles, self.builder.bodies)

    def _inside(self, scope: Scope, inputs: tuple[str, ...] = ()) -> Scope:
        """Return the scope of a body."""
        constants = Constants()
        return Scope(Region(inputs, (), [], constants, scope.region), constants, dict(scope.current))

    def _placed(
        self,
        kind: str,
        inputs: tuple[str, ...],
        results: Sequence[Value],
        changed: Sequence[Key],
        bodies: Mapping[str, Region],
        scope: Scope,
        name: str,
    ) -> list[Value]:
        """Add a step, record the values of variables after it, and return its results."""
        values: list[Value] = []
        names: list[str] = []
        for result in results:
            if isinstance(result, str):
                names.append(name if not names else f"{name}:{len(names)}")
                result = names[-1]
            values.append(result)
        for key in changed:
            names.append(self.builder.names.named(f"{name}:{key[1]}", "", ""))
            scope.current[key] = names[-1]
        step_node = self.builder.step_node(self.node.op, self.layer, self.node, self.node.attributes, len(names))
        scope.region.steps.append(Step(inputs, tuple(names), self.layer, kind, bodies, {}, step_node))
        return values
