"""An exported program as a region of steps without side effects: writes make new values, views are made again of them.

A value that is written to gets a new name at each write. What it is a view of gets the changed part put back, by a
step that belongs to the write; other views of that are made again where they are read, by the view's own step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from ...provenance.diagnostics import message
from ...provenance.span import layer_location
from ...runtime.flow import Region, Step
from ...support.errors import FrontendError
from ..importing.frames import frames_location, user_frames
from .calls import At, Call, Constants, Operand, State, placed, values_in
from .places import layer_name
from .results import output_labels
from .schema import Argument, Graph, InputSpec, Name, Node, Program, TensorMeta
from .tensors import Tensors
from .views import VIEWS, functional, operator_of, written_by

_MOST = 1_000_000
"""Steps of a program: a graph that runs others twice may stand for many more nodes than it has."""
_IGNORED = frozenset({"aten._assert_tensor_metadata", "aten.requires_grad_"})
"""Operators that compute nothing, and say nothing that is not known."""


@dataclass(eq=False)
class Made:
    """The origin of a value that is a view."""

    whole: str
    node: Node
    call: Call
    names: Mapping[str, str]
    """The values that the node's arguments stand for."""
    output: tuple[int, int]
    """Which of the node's outputs it is: its number, and that among a list."""


@dataclass(eq=False)
class Builder:
    """Makes the region of a program.

    keep: whether tensors of the module that a call changes are inputs and outputs, to be kept for the next call.
    """

    program: Program
    tensors: Tensors
    file: str
    keep: bool = False
    states: list[State] = field(default_factory=list[State])
    inputs: dict[str, TensorMeta] = field(default_factory=dict[str, TensorMeta])
    """The types of the inputs of a call, in order."""
    outputs: dict[str, TensorMeta | None] = field(default_factory=dict[str, "TensorMeta | None"])
    changed: list[str] = field(default_factory=list[str])
    """Inputs of a call that the program writes to."""

    def __post_init__(self) -> None:
        self.steps: list[Step] = []
        self.metas: dict[str, TensorMeta] = {}
        self.made: dict[str, Made] = {}
        self.same: dict[str, str] = {}
        """A result of a write -> what was written to."""
        self.version: dict[str, int] = {}
        """The number of writes to a value that is no view."""
        self.current: dict[str, tuple[str, int]] = {}
        """The name of a value's contents, and the write that they come from."""
        self.counter = 0
        self.writes = False
        """True if anything is written to; else nobody asks what is a view."""

    def fail(self, where: str, expected: str, actual: str) -> FrontendError:
        return FrontendError(f"{self.file}: {where}: expected {expected}, got {actual}")

    # The whole program.

    def main(self) -> Region:
        program, graph = self.program, self.program.graph
        if len(program.inputs) != len(graph.inputs):
            raise self.fail("signature", f"{len(graph.inputs)} inputs", str(len(program.inputs)))
        constants = Constants(self.tensors)
        region = Region((), (), self.steps, constants)
        names = self._enter(graph, constants)
        written = self._written(graph)
        self.writes = _writes(graph)
        self._nodes(graph, names, 0)
        self._leave(region, names, constants, written)
        return region

    def _enter(self, graph: Graph, constants: Constants) -> dict[str, str]:
        """The inputs of the graph: its name for each -> the program's."""
        names: dict[str, str] = {}
        operand = (spec for spec in self.program.inputs if spec.kind == "user_input")
        reserved = {spec.value.name for spec in operand if isinstance(spec.value, Name)}
        for at, (spec, value) in enumerate(zip(self.program.inputs, graph.inputs, strict=True)):
            where = f"signature.input_specs[{at}]"
            name = self._input_name(spec, value, reserved)
            if name is None:
                continue
            if not isinstance(value, Name) or value.name in names:
                raise self.fail(f"graph.inputs[{at}]", "a value that no other input is", repr(value))
            names[value.name] = name
            meta = graph.tensors.get(value.name)
            if meta is not None:
                self.metas[name] = meta
            self._define(name)
            if spec.kind == "user_input":
                if meta is None:
                    raise self.fail(where, "a tensor", f"'{name}', a number that each call gives")
                self.inputs[name] = meta
            else:
                if spec.target not in self.tensors:
                    raise self.fail(where, f"a tensor '{spec.target}' in the archive", "none")
                constants.targets[name] = spec.target
        return names

    def _input_name(self, spec: InputSpec, value: Argument, reserved: set[str]) -> str | None:
        """The name of an input; None for one that has the same value in every call."""
        match spec.kind:
            case "user_input" if isinstance(spec.value, Name):
                return spec.value.name
            case "user_input" | "constant_input":
                return None
            case "parameter" | "buffer" | "tensor_constant":
                if spec.target and spec.target not in reserved:
                    reserved.add(spec.target)
                    return spec.target
                return spec.value.name if isinstance(spec.value, Name) else None
            case _:
                raise self.fail("signature", "inputs that are tensors", spec.kind)

    def _written(self, graph: Graph) -> dict[str, str]:
        """Of the outputs that replace a tensor of the module or an input, its name -> the new value."""
        outputs = self.program.outputs
        if len(outputs) != len(graph.outputs):
            raise self.fail("signature", f"{len(graph.outputs)} outputs", str(len(outputs)))
        return {
            spec.target: spec.value.name
            for spec in outputs
            if spec.kind.endswith("_mutation") and isinstance(spec.value, Name)
        }

    def _leave(self, region: Region, names: dict[str, str], constants: Constants, written: Mapping[str, str]) -> None:
        """Set the inputs, outputs and states of the region."""
        results = [spec.value for spec in self.program.outputs if not spec.kind.endswith("_mutation")]
        labels = output_labels(self.program.out_spec, len(results))
        outputs: list[str] = []
        for at, value in enumerate(results):
            if value is None:
                continue
            if isinstance(value, Name):
                inner = self._resolved(value.name, names, f"graph.outputs[{at}]")
                name = self.read(inner)
                meta = self.metas.get(inner)
            elif isinstance(value, bool | int | float):
                name, meta = self._fresh(f"output_{at}"), None
                constants.known[name] = np.asarray(value, np.float32 if isinstance(value, float) else None)
            else:
                raise self.fail(f"graph.outputs[{at}]", "a tensor or a number", repr(value))
            label = labels[at] or (value.name if isinstance(value, Name) else name)
            outputs.append(self._output(name, label, outputs, constants))
            self.outputs[outputs[-1]] = meta
        kept: list[State] = []
        for name, target in constants.targets.items():
            new = self._resolved(written[target], names, "signature") if target in written else ""
            after = self.read(new) if new else self.read(name)
            if after != name and self.keep:
                kept.append(State(name, after, self.tensors[target]))
        for name in self.inputs:
            if self.read(name) != name or name in written:
                self.changed.append(name)
        for state in kept:
            del constants.targets[state.name]
            if state.next in outputs or state.next in constants or state.next in self.inputs:
                state = replace(state, next=self._renamed(state.next, self._fresh(f"{state.name}:next")))
            self.states.append(state)
        region.inputs = (*self.inputs, *(state.name for state in self.states))
        region.outputs = (*outputs, *(state.next for state in self.states))

    def _output(self, name: str, label: str, outputs: Sequence[str], constants: Constants) -> str:
        """The name of an output, under which callers find it: no other has it."""
        if name == label and name not in outputs and name not in self.inputs and name not in constants:
            return name
        wanted, count = label, 0
        while wanted in outputs or wanted in self.inputs or wanted in constants or wanted in self.current:
            count += 1
            wanted = f"{label}_{count}"
        return self._renamed(name, wanted)

    def _renamed(self, name: str, wanted: str) -> str:
        """A value under another name."""
        maker = next((step for step in reversed(self.steps) if name in step.outputs), None)
        source = maker.source if maker is not None else None
        leaf = cast(Call, source).leaf if source is not None else layer_location(wanted, self.file, 0)
        layer = maker.layer if maker is not None else wanted
        index = cast(Call, source).index if source is not None else 0
        call = Call(op_type=RENAMING, leaf=leaf, layer=layer, index=index, arguments={"self": At(0)}, metas=[None])
        self.steps.append(Step((name,), (wanted,), layer, "", source=call, renames=True))
        self.current[wanted] = (wanted, 0)
        return wanted

    # Nodes.

    def _nodes(self, graph: Graph, names: dict[str, str], depth: int, outer: str = "") -> None:
        """The steps of a graph, whose values have the names in `names`; it gets those of results."""
        for at, node in enumerate(graph.nodes):
            self.counter += 1
            if self.counter > _MOST:
                raise self.fail(node.where, f"at most {_MOST} steps", "graphs that run others more often")
            if operator_of(node) in _IGNORED:
                continue
            if node.target in INLINED:
                self._inlined(node, names, depth)
                continue
            self._node(node, graph, names, at)

    def _inlined(self, node: Node, names: dict[str, str], depth: int) -> None:
        """The graph that a node runs, once and always, in its place."""
        graph = next((value for value in node.arguments.values() if isinstance(value, Graph)), None)
        if graph is None or depth > 50:
            raise self.fail(node.where, "a graph to run", "none" if graph is None else "graphs too deep in each other")
        values = list(node.arguments.values())
        operand: list[Argument] = []
        for value in values[values.index(graph) + 1 :]:
            operand += value if isinstance(value, tuple) else [value]
        if len(operand) < len(graph.inputs):
            raise self.fail(node.where, f"{len(graph.inputs)} values for its graph", str(len(operand)))
        inner: dict[str, str] = {}
        for wanted, value in zip(graph.inputs, operand, strict=False):
            if isinstance(wanted, Name) and isinstance(value, Name):
                inner[wanted.name] = self._resolved(value.name, names, node.where)
        self._nodes(graph, inner, depth + 1)
        results = [name for group in node.outputs for name in group]
        leaving: list[Argument] = []
        for value in graph.outputs:
            leaving += value if isinstance(value, tuple) else [value]
        if len(results) > len(leaving):
            raise self.fail(node.where, f"{len(results)} outputs of its graph", str(len(leaving)))
        for name, value in zip(results, leaving, strict=False):
            if name and isinstance(value, Name):
                names[name] = self._resolved(value.name, inner, node.where)

    def _node(self, node: Node, graph: Graph, names: dict[str, str], index: int) -> None:
        own = {name: self._resolved(name, names, node.where) for name in values_in(node.arguments)}
        results = [(at, inner, name) for at, group in enumerate(node.outputs) for inner, name in enumerate(group)]
        renamed = {name: self._unused(name, names, node.where) for _, _, name in results if name}
        for name, new in renamed.items():
            names[name] = new
            if name in graph.tensors:
                self.metas[new] = graph.tensors[name]
        target = written_by(node)
        call = self._call(node, index, own, renamed)
        if target is not None:
            value = cast(Name, node.arguments[target]).name
            self._write(node, call, own, own[value])
            for new in renamed.values():
                self.same[new] = own[value]
                self.current.setdefault(new, (new, 0))
            return
        outputs = tuple(renamed.get(name, "") for _, _, name in results)
        view = VIEWS.get(operator_of(node))
        self._step(call, own, node, outputs)
        for (at, inner, name), new in zip(results, outputs, strict=True):
            if not name:
                continue
            self._define(new)
            if self.writes and view is not None and isinstance(of := self._viewed(node, view.of), Name):
                if view.when(node, self.metas.get(own[of.name]), self.metas.get(new)):
                    self.made[new] = Made(own[of.name], node, call, own, (at, inner))
                    root = self._root(new)
                    self.current[new] = (new, self.version.get(root, 0))

    def _viewed(self, node: Node, of: str) -> Argument:
        """The argument that a result is a view of."""
        return node.arguments.get(of) or next(iter(node.arguments.values()), None)

    def _resolved(self, name: str, names: Mapping[str, str], where: str) -> str:
        if name not in names:
            raise self.fail(where, "a value that an input is or a node before gives", f"'{name}'")
        result = names[name]
        while result in self.same:
            result = self.same[result]
        return result

    def _unused(self, name: str, names: Mapping[str, str], where: str) -> str:
        """A name of the whole program for a value of a graph, where it must be new."""
        if name in names:
            raise self.fail(where, "names of values that differ", f"two called '{name}'")
        return self._fresh(name)

    def _fresh(self, name: str) -> str:
        wanted, count = name, 0
        while wanted in self.current or wanted in self.same:
            count += 1
            wanted = f"{name}:{count}"
        return wanted

    def _define(self, name: str) -> None:
        self.current[name] = (name, 0)

    def _call(self, node: Node, index: int, own: Mapping[str, str], renamed: Mapping[str, str]) -> Call:
        order = {name: at for at, name in enumerate(values_in(node.arguments))}
        layer = layer_name(node)
        frames = user_frames(node.frames)
        leaf = frames_location(layer, frames) if frames else layer_location(layer, self.file, index)
        metas = [self.metas.get(renamed.get(name, "")) for group in node.outputs for name in group]
        return Call(
            op_type=node.target.removeprefix("torch.ops."),
            leaf=leaf,
            layer=layer,
            index=frames[0].line if frames else index,
            frames=frames,
            arguments={key: placed(value, order) for key, value in node.arguments.items()},
            metas=metas,
        )

    def _step(self, call: Call, own: Mapping[str, str], node: Node, outputs: tuple[str, ...]) -> None:
        inputs = tuple(self.read(own[name]) for name in values_in(node.arguments))
        self.steps.append(Step(inputs, outputs, call.layer, "", source=call))

    # Writes, and views of what was written to.

    def _root(self, name: str) -> str:
        while name in self.made:
            name = self.made[name].whole
        return name

    def read(self, name: str) -> str:
        """The name of a value's contents now; a view of what was written to since is made again."""
        chain: list[str] = []
        version = self.version.get(self._root(name), 0)
        while name in self.made and self.current[name][1] != version:
            chain.append(name)
            name = self.made[name].whole
        for view in reversed(chain):
            view_of = self.made[view]
            group = [
                self._fresh(f"{view}@{version}") if (at, inner) == view_of.output else ""
                for at, inner in _places(view_of.node)
            ]
            new = next(filter(None, group))
            self.current[new] = (new, version)
            metas = [self.metas.get(view) if item else None for item in group]
            call = replace(view_of.call, metas=metas)
            # Its sizes are those it had; only the whole has new contents.
            values = values_in(view_of.node.arguments)
            whole = self._viewed(view_of.node, VIEWS[operator_of(view_of.node)].of)
            inputs = tuple(
                self.current[view_of.whole][0]
                if isinstance(whole, Name) and item == whole.name
                else self.read(view_of.names[item])
                for item in values
            )
            self.steps.append(Step(inputs, tuple(group), call.layer, "", source=call))
            self.current[view] = (new, version)
        return self.current[name][0] if not chain else self.current[chain[0]][0]

    def _write(self, node: Node, call: Call, own: Mapping[str, str], target: str) -> None:
        """The step that computes new contents, and those that put them into what the target is a view of."""
        chain = [target]
        while chain[-1] in self.made:
            chain.append(self.made[chain[-1]].whole)
        before = [self.read(name) for name in reversed(chain)][::-1]
        root = chain[-1]
        version = self.version.get(root, 0) + 1
        new = self._fresh(f"{target}@{version}")
        op_type = functional(call.op_type)
        meta = self.metas.get(target)
        step = replace(call, op_type=op_type, in_place=True, metas=[meta])
        self._step(step, own, node, (new,))
        self.current[new] = (new, version)
        contents = [new]
        for part, whole, old in zip(chain, chain[1:], before[1:], strict=False):
            view_of = self.made[part]
            view = VIEWS[operator_of(view_of.node)]
            _, inner = view_of.output
            if view.scattered is None:
                raise FrontendError(
                    message(
                        call.op_type,
                        "a write to a tensor, or to a part of one",
                        f"one to what {view_of.node.target} gives",
                        call.leaf,
                    )
                )
            scattered = view.scattered(view_of.node, inner)
            contents.append(self._put_back(call, scattered, view_of, old, contents[-1], whole, version))
        self.version[root] = version
        for name, value in zip(chain, contents, strict=True):
            self.current[name] = (value, version)

    def _put_back(
        self,
        call: Call,
        scattered: tuple[str, dict[str, Argument]],
        view_of: Made,
        old: str,
        part: str,
        whole: str,
        version: int,
    ) -> str:
        """The whole with a new part."""
        op_type, extra = scattered
        operand = values_in(extra)
        order = {name: at + 2 for at, name in enumerate(operand)}
        arguments: dict[str, Operand] = {"self": At(0), "src": At(1)}
        arguments |= {key: placed(value, order) for key, value in extra.items()}
        inputs = [old, part, *(self.read(view_of.names[name]) for name in operand)]
        new = self._fresh(f"{whole}@{version}")
        step = replace(call, op_type=op_type, arguments=arguments, metas=[self.metas.get(whole)], in_place=False)
        self.steps.append(Step(tuple(inputs), (new,), call.layer, "", source=step))
        self.current[new] = (new, version)
        return new


RENAMING = "a value under another name"
"""The kind of step that gives an output the name that callers know."""
INLINED = {"torch.ops.higher_order.wrap_with_set_grad_enabled", "torch.ops.higher_order.wrap_with_autocast"}
"""Operators that run a graph as it is: what they set is nothing to inference."""


def _writes(graph: Graph) -> bool:
    """Return whether a graph, or one that it runs, writes to values."""
    waiting = [graph]
    while waiting:
        for node in waiting.pop().nodes:
            if written_by(node) is not None:
                return True
            waiting += [value for value in node.arguments.values() if isinstance(value, Graph)]
    return False


def _places(node: Node) -> list[tuple[int, int]]:
    return [(at, inner) for at, group in enumerate(node.outputs) for inner, _ in enumerate(group)]
