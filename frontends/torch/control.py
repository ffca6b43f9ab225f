"""Makes branches and loops, the steps whose bodies are regions of their own.

A graph that a node runs sees outer values, and has the node's operands as inputs. Outer values that it writes to are
results of the step, too, and a loop carries them.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from ...runtime.interpreting.flow import Region, Step
from .calls import Call
from .contents import Contents, Joined
from .places import Outer
from .schema import Argument, Graph, Name, Node, TensorMeta
from .tensors import dtype_of


@dataclass(eq=False)
class Body:
    """The region of a graph that a node runs."""

    region: Region
    results: list[str]
    """Its results, before they are read."""
    written: dict[str, str]
    """Outer value that it, or an earlier iteration, writes to -> the value's contents at the end."""


Bodies = dict[str, Body]


@dataclass(eq=False)
class Control:
    """A node that chooses between graphs or repeats them. `names` are those of outer values."""

    builder: Contents
    node: Node
    names: Mapping[str, str]
    outer: Outer
    call: Call

    def fail(self, expected: str, actual: str) -> NoReturn:
        raise self.builder.fail(f"{self.node.where} ('{self.call.layer}')", expected, actual)

    def add(self) -> list[str]:
        """Add the steps of the node; return the names of its results."""
        return CONTROL[self.node.target](self)

    # Arguments.

    def graphs(self, count: int) -> list[Graph]:
        graphs = [value for value in self.node.arguments.values() if isinstance(value, Graph)]
        if len(graphs) != count:
            self.fail(f"{count} graphs to run", str(len(graphs)))
        return graphs

    def operands(self, count: int) -> list[Argument]:
        """Return the arguments that are not graphs; lists at the end may be left out."""
        values = [value for value in self.node.arguments.values() if not isinstance(value, Graph)]
        return [*values, *[()] * (count - len(values))][:count]

    def several(self, value: Argument) -> list[str]:
        """Return the values in an argument that is a list."""
        return [self.value(item) for item in (value if isinstance(value, tuple) else (value,))]

    def value(self, value: Argument) -> str:
        """Return the value of an argument; a number becomes a constant."""
        if isinstance(value, Name):
            return self.builder.resolved(value.name, self.names, self.node.where)
        if not isinstance(value, bool | int | float):
            self.fail("tensors and numbers for its graphs", repr(value))
        return self.builder.constant(value, f"{self.node.name}:number")

    def read(self, names: Sequence[str]) -> list[str]:
        return [self.builder.read(name, self.call.layer) for name in names]

    # Bodies.

    def body(
        self,
        graph: Graph,
        role: str,
        operands: Sequence[str] = (),
        around: Sequence[str] = (),
        changed: Sequence[str] = (),
    ) -> Body:
        """Return the region of a graph.

        operands: the initial values of the graph's first inputs, which are inputs of the region; "" for an input
        without an outer value. around: the outer values of its other inputs.
        changed: outer values that an earlier iteration may have written to, which are inputs of the region, too.
        """
        builder = self.builder
        if len(graph.inputs) != len(operands) + len(around):
            self.fail(f"{len(operands) + len(around)} inputs of its graph '{role}'", str(len(graph.inputs)))
        inputs = [value.name if isinstance(value, Name) else "" for value in graph.inputs]
        arguments = [builder.fresh(name or self.node.name) for name in inputs[: len(operands)]]
        states = {root: builder.fresh(root) for root in changed}
        region = Region((*arguments, *states.values()), (), [], {}, builder.region)
        outer_current, versions = builder.current, dict(builder.version)
        with builder.inside(region):
            for name, input_name, initial in zip(arguments, inputs, operands, strict=False):
                builder.define(name)
                if input_name in graph.tensors:
                    builder.metas[name] = graph.tensors[input_name]
                if initial:
                    builder.entered[name] = initial
            for root, name in states.items():
                versions[root] = builder.version[root] = versions.get(root, 0) + 1
                builder.current[root] = builder.current[name] = (name, versions[root])
                if root in builder.metas:
                    builder.metas[name] = builder.metas[root]
            inner = {name: value_name for name, value_name in zip(inputs, (*arguments, *around), strict=True) if name}
            names = ChainMap(inner, dict(self.names))
            builder.nodes(graph, names, self.outer.inside(self.node, role))
            results: list[str] = []
            for value in flat(graph.outputs):
                named = isinstance(value, Name)
                results.append(builder.resolved(value.name, names, graph.where) if named else self.value(value))
            region.outputs = tuple(self.read(results))
            written = [
                root for root, at in builder.version.items() if root in outer_current and at != versions.get(root, 0)
            ]
            return Body(region, results, {root: builder.current[root][0] for root in (*changed, *written)})

    def leave(
        self,
        kind: str,
        inputs: Sequence[str],
        bodies: Bodies,
        sources: Sequence[Body],
        changed: Sequence[str],
        kept: int = 0,
        attributes: Mapping[str, Any] | None = None,
    ) -> list[str]:
        """Add a step; return the names of its results.

        sources: the bodies that results may come from. changed: outer values that the step changes, which are results,
        too, before the last `kept` results.
        """
        builder = self.builder
        names = [name for group in self.node.outputs for name in group]
        counts = {len(body.results) for body in sources}
        if len(counts) > 1 or len(names) > min(counts):
            self.fail(f"{len(names)} results of each graph", ", ".join(map(str, sorted(counts))))
        outputs = [builder.unused(name, self.names, self.node.where) if name else "" for name in names]
        outputs += [""] * (min(counts) - len(outputs))
        new_names = [builder.fresh(f"{root}@{builder.version.get(root, 0) + 1}") for root in changed]
        for root, name in zip(changed, new_names, strict=True):
            version = builder.version[root] = builder.version.get(root, 0) + 1
            builder.current[root] = builder.current[name] = (name, version)
        self._join(outputs, sources)
        first = len(outputs) - kept
        all_outputs = (*outputs[:first], *new_names, *outputs[first:])
        call = replace(self.call, metas=[builder.metas.get(name) for name in all_outputs])
        regions = {role: body.region for role, body in bodies.items()}
        builder.steps.append(Step(tuple(inputs), all_outputs, call.layer, kind, regions, attributes or {}, call))
        return outputs[: len(names)]

    def _join(self, outputs: Sequence[str], sources: Sequence[Body]) -> None:
        """Record the results that may be the same tensor as an outer value, or as each other."""
        builder = self.builder
        roots = [[builder.root(name) for name in body.results] for body in sources]
        for at, name in enumerate(outputs):
            if not name:
                continue
            builder.define(name)
            own_roots = [body[at] for body in roots]
            own_roots += [builder.root(builder.entered[root]) for root in own_roots if root in builder.entered]
            others = {root: builder.version.get(root, 0) for root in own_roots if root in builder.current}
            if others or any(body.count(body[at]) > 1 for body in roots):
                builder.joined[name] = Joined(others)

    # Kinds.

    def choose(self) -> list[str]:
        """`cond(condition, true, false, operands)`."""
        condition, operands = self.operands(2)
        chosen = self.read([self.value(condition)])
        around = self.several(operands)
        then, other = self.graphs(2)
        bodies = {
            "then_branch": self.body(then, "true", (), around),
            "else_branch": self.body(other, "false", (), around),
        }
        changed = list(dict.fromkeys(root for body in bodies.values() for root in body.written))
        current = self.builder.current
        for body in bodies.values():
            body.region.outputs += tuple(body.written.get(root, current[root][0]) for root in changed)
        return self.leave("If", chosen, bodies, [*bodies.values()], changed)

    def iterate(self) -> list[str]:
        """`while_loop(condition, body, carried, others)`."""
        condition, repeated = self.graphs(2)
        carried, others = (self.several(value) for value in self.operands(2))

        def attempt(changed: Sequence[str]) -> Bodies:
            condition_body = self.body(condition, "cond", carried, others, changed)
            if condition_body.written.keys() - set(changed) or len(condition_body.results) != 1:
                self.fail("a condition of one result that writes to nothing around it", "another")
            return {"cond": condition_body, "body": self.body(repeated, "body", carried, others, changed)}

        return self._looped("While", self.read(carried), attempt, len(carried))

    def count(self) -> list[str]:
        """`loop(trips, condition, body, carried)`: the body takes the iteration number and the carried values, and
        returns a condition and new carried values."""
        (repeated,) = self.graphs(1)
        trips, condition, operands = self.operands(3)
        carried = self.several(operands)
        first = self.read([self.value(trips), self.value(condition)])

        def attempt(changed: Sequence[str]) -> Bodies:
            body = self.body(repeated, "body", ("", *carried), (), changed)
            number, *rest = body.region.inputs
            body.region.inputs = (number, self.builder.fresh(f"{self.node.name}:condition"), *rest)
            del body.results[:1]
            return {"body": body}

        return self._looped("Loop", [*first, *self.read(carried)], attempt, len(carried))

    def scan(self) -> list[str]:
        """`scan(body, carried, scanned, others)`."""
        (body,) = self.graphs(1)
        return self._scanned(body, *(self.several(value) for value in self.operands(3)))

    def map(self) -> list[str]:
        """`map(body, scanned, others)`."""
        (body,) = self.graphs(1)
        return self._scanned(body, [], *(self.several(value) for value in self.operands(2)))

    def _scanned(self, repeated: Graph, carried: list[str], scanned: list[str], others: list[str]) -> list[str]:
        def attempt(changed: Sequence[str]) -> Bodies:
            body = self.body(repeated, "body", (*carried, *scanned), others, changed)
            first, behind = len(carried), len(carried) + len(scanned)
            names = body.region.inputs
            body.region.inputs = (*names[:first], *names[behind:], *names[first:behind])
            return {"body": body}

        return self._looped("Scan", self.read([*carried, *scanned]), attempt, len(carried), len(scanned))

    def _looped(
        self, kind: str, inputs: list[str], attempt: Callable[[Sequence[str]], Bodies], carried: int, scanned: int = 0
    ) -> list[str]:
        """Add a loop, whose bodies are rebuilt until all outer values that they write to are carried, too."""
        builder = self.builder
        changed: list[str] = []
        while True:
            lost_count = len(builder.lost)
            bodies = attempt(changed)
            body = bodies["body"]
            new_changes = [root for root in body.written if root not in changed]
            if not new_changes and len(builder.lost) == lost_count:
                break
            changed += new_changes
        kept = len(body.results) - carried
        if kept < 0 or (kept and kind != "Scan"):
            self.fail(f"{carried} results of its body", str(len(body.results)))
        written = [body.written[root] for root in changed]
        outputs, first = body.region.outputs, len(body.region.outputs) - kept
        body.region.outputs = (*outputs[:first], *written, *outputs[first:])
        initial = [builder.current[root][0] for root in changed]
        first = len(inputs) - scanned
        attributes: dict[str, Any] = {}
        if kind == "Scan":
            scan_types = [self._open_type(name) for name in body.results[carried:]]
            attributes = {"num_scan_inputs": scanned, "batched": False, "scan_types": scan_types}
        all_inputs = [*inputs[:first], *initial, *inputs[first:]]
        return self.leave(kind, all_inputs, bodies, [body], changed, kept, attributes)

    def _open_type(self, name: str) -> tuple[tuple[int, ...], Any]:
        """Return the shape and dtype of a result after zero iterations: an unknown extent is 0."""
        meta = self.builder.metas.get(name, TensorMeta(7, (), ()))
        shape = tuple(size if isinstance(size, int) else 0 for size in meta.sizes)
        return shape, dtype_of(meta.dtype, f"result '{name}' of '{self.call.layer}'")


def flat(values: Sequence[Argument]) -> list[Argument]:
    """Return arguments with the items of lists in the place of the lists."""
    items: list[Argument] = []
    for value in values:
        items += value if isinstance(value, tuple) else (value,)
    return items


_HIGHER = "torch.ops.higher_order."
CONTROL: Mapping[str, Callable[[Control], list[str]]] = {
    f"{_HIGHER}cond": Control.choose,
    f"{_HIGHER}while_loop": Control.iterate,
    f"{_HIGHER}scan": Control.scan,
    f"{_HIGHER}map": Control.map,
    f"{_HIGHER}map_impl": Control.map,
    "whence.loop": Control.count,
}
"""Operator -> the method that adds its steps. `whence.loop` is TorchScript's `prim::Loop`."""
