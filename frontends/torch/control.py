"""Branches and loops of a program: steps whose bodies are regions of their own.

A graph that a node runs sees the values around it, and takes those that the node gives it. Values around it that it
writes to leave the step as results, too; a loop carries them.
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
    """The values that it leaves, before they are read."""
    written: dict[str, str]
    """Values around it that it writes to, or an iteration before may have -> what they contain in the end."""


Bodies = dict[str, Body]


@dataclass(eq=False)
class Control:
    """A node that chooses or repeats what graphs say. `names` are those of values around it."""

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
        """The arguments that are no graphs; lists at the end may be left out."""
        values = [value for value in self.node.arguments.values() if not isinstance(value, Graph)]
        return [*values, *[()] * (count - len(values))][:count]

    def several(self, value: Argument) -> list[str]:
        """The values that an argument lists."""
        return [self.value(item) for item in (value if isinstance(value, tuple) else (value,))]

    def value(self, value: Argument) -> str:
        """The value that an argument is; a number becomes a constant."""
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
        """The region of a graph.

        operands: of the graph's first inputs, which are inputs of the region, what they are at first; "" for one that
        is nothing around the node. around: the values that its other inputs are.
        changed: values around it that an iteration before may have written to, which are inputs of the region, too.
        """
        builder = self.builder
        if len(graph.inputs) != len(operands) + len(around):
            self.fail(f"{len(operands) + len(around)} inputs of its graph '{role}'", str(len(graph.inputs)))
        inputs = [value.name if isinstance(value, Name) else "" for value in graph.inputs]
        entering = [builder.fresh(name or self.node.name) for name in inputs[: len(operands)]]
        states = {root: builder.fresh(root) for root in changed}
        region = Region((*entering, *states.values()), (), [], {}, builder.region)
        around_it, versions = builder.current, dict(builder.version)
        with builder.inside(region):
            for name, wanted, first in zip(entering, inputs, operands, strict=False):
                builder.define(name)
                if wanted in graph.tensors:
                    builder.metas[name] = graph.tensors[wanted]
                if first:
                    builder.entered[name] = first
            for root, name in states.items():
                versions[root] = builder.version[root] = versions.get(root, 0) + 1
                builder.current[root] = builder.current[name] = (name, versions[root])
                if root in builder.metas:
                    builder.metas[name] = builder.metas[root]
            inner = {name: own for name, own in zip(inputs, (*entering, *around), strict=True) if name}
            names = ChainMap(inner, dict(self.names))
            builder.nodes(graph, names, self.outer.inside(self.node, role))
            results: list[str] = []
            for value in flat(graph.outputs):
                named = isinstance(value, Name)
                results.append(builder.resolved(value.name, names, graph.where) if named else self.value(value))
            region.outputs = tuple(self.read(results))
            written = [
                root for root, at in builder.version.items() if root in around_it and at != versions.get(root, 0)
            ]
            return Body(region, results, {root: builder.current[root][0] for root in (*changed, *written)})

    def leave(
        self,
        kind: str,
        inputs: Sequence[str],
        bodies: Bodies,
        leaving: Sequence[Body],
        changed: Sequence[str],
        kept: int = 0,
        attributes: Mapping[str, Any] | None = None,
    ) -> list[str]:
        """Add a step; return the names of its results.

        leaving: the bodies that results may come from. changed: values around the step that are others after it; these
        are results, too, before the last `kept` ones.
        """
        builder = self.builder
        names = [name for group in self.node.outputs for name in group]
        counts = {len(body.results) for body in leaving}
        if len(counts) > 1 or len(names) > min(counts):
            self.fail(f"{len(names)} results of each graph", ", ".join(map(str, sorted(counts))))
        outputs = [builder.unused(name, self.names, self.node.where) if name else "" for name in names]
        outputs += [""] * (min(counts) - len(outputs))
        after = [builder.fresh(f"{root}@{builder.version.get(root, 0) + 1}") for root in changed]
        for root, name in zip(changed, after, strict=True):
            version = builder.version[root] = builder.version.get(root, 0) + 1
            builder.current[root] = builder.current[name] = (name, version)
        self._join(outputs, leaving)
        first = len(outputs) - kept
        everything = (*outputs[:first], *after, *outputs[first:])
        call = replace(self.call, metas=[builder.metas.get(name) for name in everything])
        regions = {role: body.region for role, body in bodies.items()}
        builder.steps.append(Step(tuple(inputs), everything, call.layer, kind, regions, attributes or {}, call))
        return outputs[: len(names)]

    def _join(self, outputs: Sequence[str], leaving: Sequence[Body]) -> None:
        """Note which results may be, at a call, the same tensor as a value around the step, or as each other."""
        builder = self.builder
        roots = [[builder.root(name) for name in body.results] for body in leaving]
        for at, name in enumerate(outputs):
            if not name:
                continue
            builder.define(name)
            mine = [body[at] for body in roots]
            mine += [builder.root(builder.entered[root]) for root in mine if root in builder.entered]
            others = {root: builder.version.get(root, 0) for root in mine if root in builder.current}
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
        before = self.builder.current
        for body in bodies.values():
            body.region.outputs += tuple(body.written.get(root, before[root][0]) for root in changed)
        return self.leave("If", chosen, bodies, [*bodies.values()], changed)

    def iterate(self) -> list[str]:
        """`while_loop(condition, body, carried, others)`."""
        condition, repeated = self.graphs(2)
        carried, others = (self.several(value) for value in self.operands(2))

        def attempt(changed: Sequence[str]) -> Bodies:
            truth = self.body(condition, "cond", carried, others, changed)
            if truth.written.keys() - set(changed) or len(truth.results) != 1:
                self.fail("a condition of one result that writes to nothing around it", "another")
            return {"cond": truth, "body": self.body(repeated, "body", carried, others, changed)}

        return self._looped("While", self.read(carried), attempt, len(carried))

    def count(self) -> list[str]:
        """`loop(trips, condition, body, carried)`: the body takes the number of the iteration and what is carried, and
        leaves a condition and that."""
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
        """Add a loop, whose bodies are made again until all that they write to around them is carried, too."""
        builder = self.builder
        changed: list[str] = []
        while True:
            lost = len(builder.lost)
            bodies = attempt(changed)
            body = bodies["body"]
            more = [root for root in body.written if root not in changed]
            if not more and len(builder.lost) == lost:
                break
            changed += more
        kept = len(body.results) - carried
        if kept < 0 or (kept and kind != "Scan"):
            self.fail(f"{carried} results of its body", str(len(body.results)))
        written = [body.written[root] for root in changed]
        outputs, first = body.region.outputs, len(body.region.outputs) - kept
        body.region.outputs = (*outputs[:first], *written, *outputs[first:])
        before = [builder.current[root][0] for root in changed]
        first = len(inputs) - scanned
        attributes: dict[str, Any] = {}
        if kind == "Scan":
            left = [self._open_type(name) for name in body.results[carried:]]
            attributes = {"num_scan_inputs": scanned, "batched": False, "scan_types": left}
        entering = [*inputs[:first], *before, *inputs[first:]]
        return self.leave(kind, entering, bodies, [body], changed, kept, attributes)

    def _open_type(self, name: str) -> tuple[tuple[int, ...], Any]:
        """Return shape and dtype of a result after no iteration at all: an unknown extent is 0."""
        meta = self.builder.metas.get(name, TensorMeta(7, (), ()))
        shape = tuple(size if isinstance(size, int) else 0 for size in meta.sizes)
        return shape, dtype_of(meta.dtype, f"result '{name}' of '{self.call.layer}'")


def flat(values: Sequence[Argument]) -> list[Argument]:
    """The values of arguments some of which are lists."""
    result: list[Argument] = []
    for value in values:
        result += value if isinstance(value, tuple) else (value,)
    return result


_HIGHER = "torch.ops.higher_order."
CONTROL: Mapping[str, Callable[[Control], list[str]]] = {
    f"{_HIGHER}cond": Control.choose,
    f"{_HIGHER}while_loop": Control.iterate,
    f"{_HIGHER}scan": Control.scan,
    f"{_HIGHER}map": Control.map,
    f"{_HIGHER}map_impl": Control.map,
    "whence.loop": Control.count,
}
"""Operator -> what it becomes. `whence.loop` is TorchScript's `prim::Loop`."""
