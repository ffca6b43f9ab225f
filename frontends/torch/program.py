"""Makes a region of steps without side effects of an exported program, with regions for branches and loops."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

from ...provenance.span import layer_location
from ...runtime.interpreting.flow import Region, Step
from ...support.dtypes import Array
from ...support.errors import FrontendWarning
from ..importing.frames import frames_location
from ..importing.state import State
from .calls import At, Call, Operand, placed, values_in
from .contents import Contents, Made, viewed
from .control import CONTROL, Control, flat
from .expressions import lone_symbol
from .guards import GUARD, Extent, UnknownGuard, extents_in, parse_guard, placed_in
from .inputs import Symbol, limits_of, symbols_of
from .places import MAIN, Outer, frames_of, layer_name
from .results import output_labels, paths_of
from .schema import Argument, Graph, InputSpec, Name, Node, Program, TensorMeta
from .views import VIEWS, operator_of, written_by

_MOST = 1_000_000
"""The greatest number of steps of a program, which nested graphs multiply."""
_DEEPEST = 100
"""The greatest number of nodes and graphs around a node."""
IGNORED = frozenset({"aten._assert_tensor_metadata", "aten.requires_grad_"})
"""Operators that compute nothing and state nothing new."""


class Builder(Contents):
    """Makes the region of a program.

    keep: whether tensors of the module that a call changes are inputs and outputs, to be kept for the next call.
    named: extent of an argument -> the name of its `Dim`, for programs in memory.
    """

    def __init__(
        self,
        program: Program,
        tensors: Mapping[str, Array],
        file: str,
        keep: bool = False,
        named: Mapping[Extent, str] | None = None,
    ):
        super().__init__(file)
        self.program, self.tensors, self.keep = program, tensors, keep
        self.named = named or {}
        self.targets: dict[str, str] = {}
        """Value that is a tensor of the module -> the module's name."""
        self.states: list[State] = []
        self.inputs: dict[str, TensorMeta] = {}
        """The types of the inputs of a call, in order."""
        self.outputs: dict[str, TensorMeta | None] = {}
        self.changed: list[str] = []
        """Inputs of a call that the program writes to."""
        self.dims: dict[tuple[str, int], str] = {}
        """Input and axis -> the name of its `Dim`."""
        self.counter = 0
        self.writes = False
        """True if the program writes to values; else views need not be tracked."""

    # The whole program.

    def main(self) -> Region:
        program, graph = self.program, self.program.graph
        if len(program.inputs) != len(graph.inputs):
            raise self.fail("signature", f"{len(graph.inputs)} inputs", str(len(program.inputs)))
        names = self._enter(graph)
        written = self._written(graph)
        self.writes = _writes(graph)
        self._guard(graph)
        self.nodes(graph, names, MAIN)
        self._leave(self.region, names, written)
        return self.region

    def _enter(self, graph: Graph) -> dict[str, str]:
        """Add the inputs; return name of an input in the graph -> its name in the program."""
        names: dict[str, str] = {}
        user_inputs = (spec for spec in self.program.inputs if spec.kind == "user_input")
        reserved = {spec.value.name for spec in user_inputs if isinstance(spec.value, Name)}
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
            self.define(name)
            if spec.kind == "user_input":
                if meta is None and value.number:
                    meta = TensorMeta(value.element, (), ())
                if meta is None:
                    raise self.fail(where, "a tensor or a number", f"'{name}', of which nothing is known")
                self.inputs[name] = meta
            else:
                if spec.target not in self.tensors:
                    raise self.fail(where, f"a tensor '{spec.target}' in the archive", "none")
                self.targets[name] = spec.target
                self.constants.sources[name] = partial(self.tensors.__getitem__, spec.target)
        return names

    def _input_name(self, spec: InputSpec, value: Argument, reserved: set[str]) -> str | None:
        """Return the name of an input; None for an input that has the same value in every call."""
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
        """Return tensor of the module, or input, that an output replaces -> the new value."""
        outputs = self.program.outputs
        if len(outputs) != len(graph.outputs):
            raise self.fail("signature", f"{len(graph.outputs)} outputs", str(len(outputs)))
        return {
            spec.target: spec.value.name
            for spec in outputs
            if spec.kind.endswith("_mutation") and isinstance(spec.value, Name)
        }

    def _leave(self, region: Region, names: dict[str, str], written: Mapping[str, str]) -> None:
        """Set the inputs, outputs and states of the region."""
        results = [spec.value for spec in self.program.outputs if not spec.kind.endswith("_mutation")]
        labels = output_labels(self.program, len(results))
        outputs: list[str] = []
        for at, value in enumerate(results):
            if value is None or isinstance(value, str):
                continue
            if isinstance(value, Name):
                inner = self.resolved(value.name, names, f"graph.outputs[{at}]")
                name = self.read(inner)
                meta = self.metas.get(inner) or TensorMeta(value.element, (), ())
            elif isinstance(value, bool | int | float):
                meta = TensorMeta(12 if isinstance(value, bool) else 5 if isinstance(value, int) else 8, (), ())
                name = self.constant(value, f"output_{at}:number")
            else:
                raise self.fail(f"graph.outputs[{at}]", "a tensor or a number", repr(value))
            label = labels[at] or (value.name if isinstance(value, Name) else f"output_{at}")
            outputs.append(self._output(name, label, outputs))
            self.outputs[outputs[-1]] = meta
        kept: list[State] = []
        for name, target in self.targets.items():
            new = self.resolved(written[target], names, "signature") if target in written else ""
            contents = self.read(new) if new else self.read(name)
            if contents != name and self.keep:
                kept.append(State(name, contents, self.tensors[target]))
        for name in self.inputs:
            if self.read(name) != name or name in written:
                self.changed.append(name)
        for state in kept:
            del self.targets[state.name], self.constants.sources[state.name]
            if state.next in outputs or state.next in self.constants or state.next in self.inputs:
                state = replace(state, next=self._renamed(state.next, self.fresh(f"{state.name}:next")))
            self.states.append(state)
        region.inputs = (*self.inputs, *(state.name for state in self.states))
        region.outputs = (*outputs, *(state.next for state in self.states))

    def _output(self, name: str, label: str, outputs: Sequence[str]) -> str:
        """Return the unique public name of an output."""
        if name == label and name not in outputs and name not in self.inputs and name not in self.constants:
            return name
        unique, count = label, 0
        while unique in outputs or unique in self.inputs or unique in self.constants or unique in self.current:
            count += 1
            unique = f"{label}_{count}"
        return self._renamed(name, unique)

    def _renamed(self, name: str, new_name: str) -> str:
        """Add a step that renames a value; return the new name."""
        producer = next((step for step in reversed(self.steps) if name in step.outputs), None)
        source = producer.source if producer is not None else None
        leaf = cast(Call, source).leaf if source is not None else layer_location(new_name, self.file, 0)
        layer = producer.layer if producer is not None else new_name
        index = cast(Call, source).index if source is not None else 0
        call = Call(op_type=RENAMING, leaf=leaf, layer=layer, index=index, arguments={"self": At(0)}, metas=[None])
        self.steps.append(Step((name,), (new_name,), layer, "", source=call, renames=True))
        self.current[new_name] = (new_name, 0)
        return new_name

    # Guards.

    def _guard(self, graph: Graph) -> None:
        """Add the steps that check the exporter's assumptions about sizes and numbers, which name the steps."""
        specs = [spec for spec in self.program.inputs if spec.kind in ("user_input", "constant_input")]
        paths = paths_of(self.program, [spec.value.name if isinstance(spec.value, Name) else "" for spec in specs])
        for extent, dim_name in self.named.items():
            if extent.axis is not None and (name := paths.get(extent.path)):
                self.dims[name, extent.axis] = dim_name
        symbols = symbols_of(self.inputs, self.dims)
        for name, symbol in symbols.items():
            low, high = limits_of(self.program.ranges, name)
            tree = Extent(symbol.input, symbol.axis)
            if low > 1:
                self._check(f"{symbol.called} >= {low}", (">=", tree, low), {symbol.input: symbol.input})
            if high is not None:
                self._check(f"{symbol.called} <= {high}", ("<=", tree, high), {symbol.input: symbol.input})
            for number, size in graph.numbers.items():
                if number in self.inputs and size == self.inputs[symbol.input].sizes[symbol.axis]:
                    inputs = {number: number, symbol.input: symbol.input}
                    self._check(f"{number} == {symbol.called}", ("==", Extent(number, None), tree), inputs)
        for text in self.program.guards:
            try:
                tree = parse_guard(text)
            except UnknownGuard as error:
                expected = f"{self.file}: expected guards of sizes, got {text[:80]!r}, which is not checked: {error}"
                warnings.warn(FrontendWarning(expected[:300]), stacklevel=2)
                continue
            if all(paths.get(extent.path) for extent in extents_in(tree)):
                self._check(self._shown(text, paths, symbols), tree, paths)

    def _shown(self, text: str, paths: Mapping[str, str], symbols: Mapping[str, Symbol]) -> str:
        """Return a guard with the user's names of sizes."""

        def name(match: re.Match[str]) -> str:
            path, axis = match[1], match[2]
            if path not in paths or axis is None:
                return paths.get(path, path)
            sizes = self.inputs[paths[path]].sizes
            size = sizes[int(axis)] if int(axis) < len(sizes) else ""
            symbol = symbols.get((lone_symbol(size) or "") if isinstance(size, str) else "")
            return f"{paths[path]}.size({axis})" if symbol is None else symbol.called

        return re.sub(r"(L(?:\[[^\[\]]{1,99}\])+)(?:\.size\(\)\[(\d{1,3})\])?", name, text)

    def _check(self, text: str, tree: Any, paths: Mapping[str, str]) -> None:
        """Add the step that checks a guard."""
        inputs = list(dict.fromkeys(paths[extent.path] for extent in extents_in(tree)))
        order = {path: inputs.index(name) for path, name in paths.items() if name in inputs}
        condition = placed_in(tree, order)
        if not isinstance(condition, tuple) or not inputs:
            return
        layer = f"guard {text}"
        arguments: dict[str, Operand] = {"condition": condition, "text": text}
        call = Call(
            op_type=GUARD, leaf=layer_location(layer, self.file, 0), layer=layer, index=0, arguments=arguments, metas=[]
        )
        self.steps.append(Step(tuple(inputs), (), layer, "", source=call))

    # Nodes.

    def nodes(self, graph: Graph, names: MutableMapping[str, str], outer: Outer) -> None:
        """Add the steps of a graph, whose values have the names in `names`, and add the names of results to it."""
        for at, node in enumerate(graph.nodes):
            self.counter += 1
            if self.counter > _MOST:
                raise self.fail(node.where, f"at most {_MOST} steps", "graphs that run others more often")
            if operator_of(node) in IGNORED:
                continue
            if node.target in INLINED:
                self._inlined(node, names, outer)
            elif node.target in CONTROL:
                self._check_depth(outer, node)
                results = Control(self, node, names, outer, self._call(node, at, {}, {}, outer)).add()
                inner = (name for group in node.outputs for name in group)
                names.update((name, new) for name, new in zip(inner, results, strict=True) if name)
            else:
                self._node(node, graph, names, at, outer)

    def _check_depth(self, outer: Outer, node: Node) -> None:
        if len(outer.names) > _DEEPEST:
            raise self.fail(node.where, f"at most {_DEEPEST} graphs in each other", "more")

    def _inlined(self, node: Node, names: MutableMapping[str, str], outer: Outer) -> None:
        """Add the steps of the graph that a node runs once, unconditionally."""
        graph = next((value for value in node.arguments.values() if isinstance(value, Graph)), None)
        if graph is None:
            raise self.fail(node.where, "a graph to run", "none")
        self._check_depth(outer, node)
        values = list(node.arguments.values())
        operands = flat(values[values.index(graph) + 1 + (node.target in _LABELLED) :])
        if len(operands) < len(graph.inputs):
            raise self.fail(node.where, f"{len(graph.inputs)} values for its graph", str(len(operands)))
        inner: dict[str, str] = {}
        for parameter, value in zip(graph.inputs, operands, strict=False):
            if isinstance(parameter, Name) and isinstance(value, Name):
                inner[parameter.name] = self.resolved(value.name, names, node.where)
        if node.target in _LABELLED:
            outer = outer.inside(node, "")
        self.nodes(graph, inner, outer)
        results = [name for group in node.outputs for name in group]
        inner_results = flat(graph.outputs)
        if len(results) > len(inner_results):
            raise self.fail(node.where, f"{len(results)} outputs of its graph", str(len(inner_results)))
        for name, value in zip(results, inner_results, strict=False):
            if name and isinstance(value, Name):
                names[name] = self.resolved(value.name, inner, node.where)

    def _node(self, node: Node, graph: Graph, names: MutableMapping[str, str], index: int, outer: Outer) -> None:
        value_names = {name: self.resolved(name, names, node.where) for name in values_in(node.arguments)}
        results = [(at, inner, name) for at, group in enumerate(node.outputs) for inner, name in enumerate(group)]
        renamed = {name: self.unused(name, names, node.where) for _, _, name in results if name}
        for name, new in renamed.items():
            names[name] = new
            if name in graph.tensors:
                self.metas[new] = graph.tensors[name]
        target = written_by(node)
        call = self._call(node, index, value_names, renamed, outer)
        if target is not None:
            value = cast(Name, node.arguments[target]).name
            self.write(node, call, value_names, value_names[value])
            for new in renamed.values():
                self.same[new] = value_names[value]
                self.current.setdefault(new, (new, 0))
            return
        outputs = tuple(renamed.get(name, "") for _, _, name in results)
        view = VIEWS.get(operator_of(node))
        self.step(call, value_names, node, outputs)
        for (at, inner, name), new in zip(results, outputs, strict=True):
            if not name:
                continue
            self.define(new)
            if self.writes and view is not None and isinstance(of := viewed(node, view.of), Name):
                if view.when(node, self.metas.get(value_names[of.name]), self.metas.get(new)):
                    self.made[new] = Made(value_names[of.name], node, call, value_names, (at, inner))
                    root = self.root(new)
                    self.current[new] = (new, self.version.get(root, 0))

    def _call(self, node: Node, index: int, names: Mapping[str, str], renamed: Mapping[str, str], outer: Outer) -> Call:
        order = {name: at for at, name in enumerate(values_in(node.arguments))}
        layer, frames = layer_name(node, outer), frames_of(node, outer)
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
            operands=[self.metas.get(names.get(name, "")) for name in order],
        )


RENAMING = "a value under another name"
"""The kind of step that gives an output its public name."""
_LABELLED = {"torch.ops.higher_order.invoke_subgraph"}
"""Operators with a name after their graph."""
INLINED = {
    "torch.ops.higher_order.wrap_with_set_grad_enabled",
    "torch.ops.higher_order.wrap_with_autocast",
    *_LABELLED,
}
"""Operators that run a graph under settings that do not affect inference."""


def _writes(graph: Graph) -> bool:
    """Return whether a graph, or one that it runs, writes to values."""
    waiting = [graph]
    while waiting:
        for node in waiting.pop().nodes:
            if written_by(node) is not None:
                return True
            waiting += [value for value in node.arguments.values() if isinstance(value, Graph)]
    return False
