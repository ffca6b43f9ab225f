"""Running a graph node by node: steps, breakpoints, and tensors that you inspect or inject."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from ...support.dtypes import Array
from ...support.errors import FrontendError, expectation
from ...support.names import shown
from ..program.factory import Origin
from ..program.graph_executor import GraphExecutor
from ..values.moves import Move, moved, moved_back
from ..values.tensors import Tensor

Bad: TypeAlias = Literal["NaN", "Inf"]


class Stop(NamedTuple):
    """A node that has just run."""

    place: int
    """Its number among the nodes."""
    node: str
    layers: tuple[str, ...]
    outputs: tuple[Tensor, ...]
    """Copies of its outputs."""

    def __str__(self) -> str:
        layers = f" (layers {', '.join(map(shown, self.layers))})" if self.layers else ""
        shapes = ", ".join(f"{array.dtype.name}{list(array.shape)}" for array in self.outputs)
        return f"node {self.place} '{shown(self.node)}'{layers} -> {shapes}"


@dataclass(frozen=True)
class Finding:
    """The first node whose output is not finite, although its inputs are."""

    stop: Stop
    output: int
    kind: Bad
    count: int
    """The number of elements that are not finite."""
    index: tuple[int, ...]
    """The index of the first of them."""

    def data(self) -> dict[str, object]:
        """Return everything except the tensors, for programs."""
        node = {"node": self.stop.node, "place": self.stop.place, "layers": self.stop.layers}
        return {**node, "output": self.output, "kind": self.kind, "count": self.count, "index": self.index}

    def __str__(self) -> str:
        where = f" at {list(self.index)}" if self.index else ""
        return f"{self.kind} in output {self.output} of {self.stop}: {self.count} elements, the first{where}"


class Stepper:
    """A run of a graph that stops at breakpoints.

    origins: the layers behind the nodes. A name is that of a node, or else of a layer, and means all nodes that serve
    it.
    """

    def __init__(self, executor: GraphExecutor, origins: Mapping[str, Origin]):
        self.executor = executor
        self.origins = origins
        self.breaks: set[int] = set()
        self._injected: dict[int, list[Array | None]] = {}
        self._order = executor.graph.calls
        self._next = 0

    def reset(self) -> None:
        """Return to the start, before the first node; breakpoints and injected tensors stay."""
        self._next = 0

    @property
    def done(self) -> bool:
        return self._next >= len(self._order)

    def layers(self, place: int) -> tuple[str, ...]:
        """Return the layers behind a node."""
        return self.origins.get(self.executor.graph.nodes[place].name, Origin()).layers

    def gives(self, position: int) -> tuple[str, ...]:
        """Return the layers whose value a node computes."""
        return self.origins.get(self.executor.graph.nodes[position].name, Origin()).results

    def places(self, name: str | int) -> list[int]:
        """Return the nodes with a name or number; raises FrontendError if there are none."""
        nodes = self.executor.graph.nodes
        if isinstance(name, int):
            if not 0 <= name < len(nodes):
                raise FrontendError(expectation("debugger", f"a node below {len(nodes)}", str(name)))
            return [name]
        named = [position for position, node in enumerate(nodes) if node.name == name]
        positions = named or [
            position for position in self._order if name in (*self.layers(position), *self.gives(position))
        ]
        if not positions:
            raise FrontendError(f"Could not find a node named {shown(name)} in this graph, nor a layer")
        return positions

    def value_of(self, name: str | int) -> int:
        """Return the node that computes the value of a node or layer, by name or number.

        Raises FrontendError if there is none, as for a layer in the middle of a kernel.
        """
        positions = self.places(name)
        nodes = self.executor.graph.nodes
        if isinstance(name, int) or nodes[positions[0]].name == name:
            return positions[0]
        for position in positions:
            if name in self.gives(position):
                return position
        last = nodes[positions[-1]].name
        others = [layer for layer in self.layers(positions[-1]) if layer != name]
        expected = f"a tensor of layer '{shown(name)}'"
        role = f"together with {', '.join(map(shown, others))}" if others else "as a step on the way"
        if results := self.gives(positions[-1]):
            role = f"on the way to the value of {', '.join(map(shown, results))}"
        actual = f"none: node '{last}' computes it {role} (PassContext config relay.FuseOps.max_depth=1 parts them)"
        raise FrontendError(expectation("debugger", expected, actual))

    def move(self, name: str | int) -> Move:
        """Return the move of a layer's value from its stored layout to the model's; none for a node, whose value is as
        its kernel stores it.
        """
        node = self.executor.graph.nodes[self.value_of(name)].name
        origin = self.origins.get(node, Origin())
        return dict(zip(origin.results, origin.moves, strict=True)).get(str(name), ()) if name != node else ()

    def shown(self, name: str | int, array: Tensor) -> Tensor:
        """Return the value of a layer in the model's layout, or that of a node as its kernel stores it."""
        move = self.move(name)
        return np.array(moved(array, move), order="C") if move else array

    def break_at(self, name: str | int) -> None:
        """Stop after a node, by name or number, or after every node that serves a layer."""
        self.breaks.update(self.places(name))

    def clear(self) -> None:
        """Forget breakpoints and injected tensors."""
        self.breaks.clear()
        self._injected.clear()

    def inject(self, name: str | int, value: Array, output: int = 0) -> None:
        """Replace a node's output by a tensor, in this run and later ones, until `clear`.

        The tensor must have the dtype and shape of the node's output, or of the layer's in the model; raises
        FrontendError otherwise.
        """
        position = self.value_of(name)
        graph = self.executor.graph
        move = self.move(name)
        stored = graph.entries[graph.rows[position]].shape
        if move and not output and np.shape(value) == moved(np.empty(stored, bool), move).shape:
            value = moved_back(np.asarray(value), move, stored)
        if not 0 <= output < graph.nodes[position].outputs:
            raise FrontendError(
                expectation(
                    f"node '{graph.nodes[position].name}'",
                    f"an output below {graph.nodes[position].outputs}",
                    str(output),
                )
            )
        number = graph.rows[position] + output
        array = self.executor.checked(number, graph.nodes[position].name, value)
        self._injected.setdefault(position, [None] * graph.nodes[position].outputs)[output] = array
        if position < (self._order[self._next] if not self.done else len(graph.nodes)):
            np.copyto(self.executor.entries[number], array)

    def step(self) -> Stop | None:
        """Run the next node; None when all have run."""
        if self.done:
            return None
        if self._next == 0:
            self.executor.begin()
        position = self._order[self._next]
        self._next += 1
        self.executor.run_node(position)
        for number, value in zip(
            self.executor.graph.entries_of(position), self._injected.get(position, ()), strict=False
        ):
            if value is not None:
                np.copyto(self.executor.entries[number], value)
        if self.done:
            self.executor.end()
        outputs = tuple(np.array(array) for array in self.outputs(position))
        return Stop(position, self.executor.graph.nodes[position].name, self.layers(position), outputs)

    def outputs(self, place: int) -> list[Tensor]:
        """Return the tensors of a node, which a run overwrites."""
        return [self.executor.entries[number] for number in self.executor.graph.entries_of(place)]

    def resume(self, visit: Callable[[Stop], object] | None = None) -> Stop | None:
        """Continue up to a breakpoint; None when all nodes have run. visit: called after each node."""
        while (stop := self.step()) is not None:
            if visit is not None:
                visit(stop)
            if stop.place in self.breaks:
                return stop
        return None

    def first_bad(self) -> Finding | None:
        """Continue to the first node whose output has NaN or Inf; arguments that have any count first.

        None when all numbers are finite, as integers always are.
        """
        graph = self.executor.graph
        if self._next == 0:
            for position in graph.arguments:
                stop = Stop(position, graph.nodes[position].name, self.layers(position), tuple(self.outputs(position)))
                if (finding := not_finite(stop)) is not None:
                    return finding
        while (stop := self.step()) is not None:
            if (finding := not_finite(stop)) is not None:
                return finding
        return None


def not_finite(stop: Stop) -> Finding | None:
    """Return a finding about the first output of a node that is not finite; None when all are."""
    for output, array in enumerate(stop.outputs):
        if not is_floating(array):
            continue
        bad = ~np.isfinite(array)
        if bad.any():
            nan = np.isnan(array)
            mask = nan if nan.any() else bad
            first = tuple(int(axis[0]) for axis in np.nonzero(mask)) if array.ndim else ()
            return Finding(stop, output, "NaN" if nan.any() else "Inf", int(bad.sum()), first)
    return None


def is_floating(array: Array) -> bool:
    """Return whether an array holds floats, including those of ml_dtypes."""
    return array.dtype.kind == "f" or "float" in array.dtype.name
