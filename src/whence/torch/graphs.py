# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Graphs of `aot_autograd`: their layers and lines, and the arguments and results that a program has."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node

from whence.frontends.importing.frames import frames_in, user_frames

Order = tuple[int, ...]
"""The axes of a tensor in another order."""


def lift_constants(graph: GraphModule) -> list[torch.Tensor]:
    """Make the graph's own tensors its last inputs, in place, and return these."""
    constants: list[torch.Tensor] = []
    nodes = list(graph.graph.nodes)
    last = [node for node in nodes if node.op == "placeholder"][-1:]
    for node in nodes:
        value = getattr(graph, node.target, None) if node.op == "get_attr" and "." not in node.target else None
        if not isinstance(value, torch.Tensor):
            continue
        with graph.graph.inserting_after(last[0]) if last else graph.graph.inserting_before(nodes[0]):
            lifted = graph.graph.placeholder(node.name)
        lifted.meta = dict(node.meta)
        node.replace_all_uses_with(lifted)
        graph.graph.erase_node(node)
        last = [lifted]
        constants.append(value)
    if constants:
        graph.recompile()
    return constants


def set_views_apart(graph: GraphModule) -> list[Node]:
    """Make results that share memory views of one tensor, in place; return the nodes of these views.

    In eager torch, a view shows writes to its tensor, so that a copy would not do.
    """
    leave = graph.graph.output_node()
    results = [node for node in leave.args[0] if isinstance(node, Node) and tensors_in(node.meta.get("val"))]
    placeholders = graph.graph.find_nodes(op="placeholder")
    holders = Counter(key for node in {*results, *placeholders} for key in _storages(node))
    apart: list[Node] = []
    views: dict[Node, Node] = {}
    for node in results:
        if node in views or node.op == "placeholder" or holders[next(iter(_storages(node)))] < 2:
            continue
        chain = [node]
        while (base := _whole(chain[-1])) is not None:
            chain.append(base)
        last = chain.pop()
        for view in reversed(chain):
            if view not in views:
                with graph.graph.inserting_before(leave):
                    views[view] = graph.graph.node_copy(
                        view, lambda other, base=_whole(view): views.get(other, other) if other is base else other
                    )
                apart.append(views[view])
        views.setdefault(last, last)
    if apart:
        leave.args = (tuple(views.get(node, node) if isinstance(node, Node) else node for node in leave.args[0]),)
        graph.graph.eliminate_dead_code()
        graph.recompile()
    return apart


def _storages(node: Node) -> set[int]:
    """Numbers that identify the memory of a node's tensors."""
    return {tensor.untyped_storage()._cdata for tensor in tensors_in(node.meta.get("val"))}


def _whole(node: Node) -> Node | None:
    """The argument that the node's result is a view of; None if the result has memory of its own."""
    if node.op != "call_function":
        return None
    own = _storages(node)
    return next((other for other in node.all_input_nodes if own & _storages(other)), None)


def tensors_in(value: Any) -> list[torch.Tensor]:
    """Return the tensors among the results of a node."""
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for item in value for tensor in tensors_in(item)] if isinstance(value, list | tuple) else []


# Layers.


def note_layers(graph: GraphModule) -> None:
    """Give the nodes of a graph, and of graphs in it, the paths of modules that users know, in place."""
    for inner in graph.modules():
        if isinstance(inner, GraphModule):
            for node in inner.graph.nodes:
                modules = {}
                for at, (path, kind) in enumerate((node.meta.pop("nn_module_stack", None) or {}).values()):
                    name = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"
                    modules[str(at)] = (module_path(path), name)
                kept = {key: node.meta[key] for key in ("val", "stack_trace", "desc") if key in node.meta}
                node.meta = {**kept, "nn_module_stack": modules}


def module_path(source: str) -> str:
    """The path of a module or tensor that Dynamo calls `L['self']._modules['body'].0`: `body.0`."""
    path = re.sub(r"^[LG]\[['\"][^'\"]*['\"]\]", "", source)
    path = re.sub(r"\._(?:modules|parameters|buffers)\[", "[", path)
    path = re.sub(r"\[['\"]?([^'\"\]]*)['\"]?\]", r".\1", path)
    return re.sub(r"[,;]", "_", path.strip("."))


def argument_name(source: str) -> str:
    """The name of an argument that Dynamo calls `L['x']` or `L['args'][0]`, or the path of a module's tensor."""
    if re.search(r"\._(?:modules|parameters|buffers)\[", source):
        return module_path(source)
    return "_".join(re.findall(r"\w+", source)[1:])


def layer_of(node: Node) -> str:
    """The layer that a node is, as the frontend calls it."""
    modules = list(node.meta.get("nn_module_stack", {}).values())
    path = modules[-1][0] if modules else ""
    return f"{path}/{node.name}" if path else node.name


def line_of(node: Node) -> tuple[str, int] | None:
    """Return the file and line of the user's own code that called a node; None if they are unknown."""
    frames = user_frames(frames_in(node.meta.get("stack_trace") or ""))
    return (frames[0].file, frames[0].line) if frames else None


# Programs.


@dataclass(frozen=True)
class Input:
    """An input of a program: which argument of the graph it is."""

    position: int
    order: Order | None = None
    """The order of its axes in memory, where it is not its own."""
    number: bool = False
    """True if the argument is a number, which the program takes as a tensor."""


@dataclass(frozen=True)
class Output:
    """A result of a graph: a result of its program, one of its arguments, or a constant."""

    result: int = -1
    position: int = -1
    constant: int | float | bool | None = None
    order: Order | None = None
    """The order that the axes of the program's result get."""
    number: bool = False
    """True if it is a number."""


@dataclass(eq=False)
class Prepared:
    """A graph as a program takes it."""

    graph: GraphModule
    inputs: list[Input] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    weights: dict[str, int] = field(default_factory=dict)
    """Placeholder that has one value in every call -> which argument it is."""

    @property
    def computes(self) -> bool:
        """False if all results are arguments and constants."""
        return any(output.result >= 0 for output in self.outputs)


def prepared(graph: GraphModule, bound: Collection[int], names: Mapping[int, str]) -> Prepared:
    """Return a copy of a graph whose placeholders are tensors, all its own, and whose tensors lie in row-major order.

    bound: the arguments that are weights, which keep their values. names: the user's names of arguments.
    """
    copy = Graph()
    copy.output(copy.graph_copy(graph.graph, {}))
    result = Prepared(GraphModule(graph, copy))
    placeholders = copy.find_nodes(op="placeholder")
    for position, node in enumerate(placeholders):
        if position in names:
            node._rename(_identifier(names[position]))
    for position, node in enumerate(placeholders):
        if position in bound:
            result.weights[node.name] = position
        elif isinstance(node.meta["val"], torch.Tensor):
            result.inputs.append(Input(position, _reordered_input(copy, node)))
    for position, node in enumerate(placeholders):
        if not isinstance(node.meta["val"], torch.Tensor):
            _number(copy, node, placeholders, position, result)
    _leave(copy, graph.graph.output_node(), placeholders, result)
    for node in copy.find_nodes(op="placeholder"):
        if not node.users and node.name not in result.weights:
            _drop(copy, node, placeholders, result)
    return result


def _identifier(name: str) -> str:
    return re.sub(r"\W+", "_", name).strip("_") or "input"


def _reordered_input(graph: Graph, node: Node) -> Order | None:
    """Have a tensor whose axes lie in another order in memory be one in row-major order; return that order."""
    if not node.users or (order := memory_order(node.meta["val"])) is None:
        return None
    reader = next(iter(node.users))
    with graph.inserting_before(reader):
        back = _permuted(graph, node, _inverse(order), reader)
    back.meta["val"] = node.meta["val"]
    node.replace_all_uses_with(back, delete_user_cb=lambda user: user is not back)
    node.meta["val"] = node.meta["val"].permute(order)
    return order


def _permuted(graph: Graph, node: Node, order: Order, layer: Node) -> Node:
    """A node that puts axes in another order and belongs to the layer of another node."""
    result = graph.call_function(torch.ops.aten.permute.default, (node, list(order)))
    result.meta = {**layer.meta, "val": node.meta["val"].permute(order)}
    return result


def _number(graph: Graph, node: Node, placeholders: Sequence[Node], position: int, result: Prepared) -> None:
    """Have a size be read off an input that has it, and any other number be a tensor."""
    value = node.meta["val"]
    if not node.users:
        return
    expression = value.node.expr if isinstance(value, torch.SymInt) else None
    reader = next(iter(node.users))
    for other in placeholders:
        sizes = other.meta["val"].size() if isinstance(other.meta["val"], torch.Tensor) else ()
        for axis, size in enumerate(sizes):
            if expression is not None and isinstance(size, torch.SymInt) and size.node.expr == expression:
                with graph.inserting_before(reader):
                    read = graph.call_function(torch.ops.aten.sym_size.int, (other, axis))
                read.meta = {**reader.meta, "val": value}
                node.replace_all_uses_with(read)
                return
    with graph.inserting_before(reader):
        item = graph.call_function(torch.ops.aten._local_scalar_dense.default, (node,))
    item.meta = {**reader.meta, "val": value}
    node.replace_all_uses_with(item, delete_user_cb=lambda user: user is not item)
    with value.node.shape_env.ignore_fresh_unbacked_symbols(), torch._subclasses.FakeTensorMode() as mode:
        node.meta["val"] = mode.from_tensor(torch.zeros((), dtype=torch.int64))
    result.inputs.append(Input(position, number=True))


def _leave(graph: Graph, original: Node, placeholders: Sequence[Node], result: Prepared) -> None:
    """Determine the origin of each result, and let the graph return each computed result once."""
    positions = {node: position for position, node in enumerate(placeholders)}
    (leave,) = graph.find_nodes(op="output")
    before = original.args[0]
    numbers: dict[Node, int] = {}
    values: list[Node] = []
    originals = [node for node in original.graph.nodes if node.op == "placeholder"]
    for node, origin in zip(leave.args[0], before, strict=True):
        if not isinstance(node, Node):
            result.outputs.append(Output(constant=node))
        elif origin.op == "placeholder":
            result.outputs.append(Output(position=originals.index(origin)))
        elif node in positions:
            result.outputs.append(Output(position=positions[node]))
        else:
            tensor = isinstance(node.meta["val"], torch.Tensor)
            order = memory_order(node.meta["val"]) if tensor else None
            if node not in numbers:
                numbers[node] = len(values)
                with graph.inserting_before(leave):
                    values.append(node if order is None else _permuted(graph, node, order, node))
            back = None if order is None else _inverse(order)
            result.outputs.append(Output(numbers[node], order=back, number=not tensor))
    leave.args = (tuple(values),)


def _drop(graph: Graph, node: Node, placeholders: Sequence[Node], result: Prepared) -> None:
    position = list(placeholders).index(node)
    result.inputs = [item for item in result.inputs if item.position != position]
    graph.erase_node(node)


def memory_order(value: torch.Tensor) -> Order | None:
    """The axes of a dense tensor from the outermost in memory on; None if that is their own order, or none is dense."""
    if any(_hint(number) is None for number in (*value.size(), *value.stride())):
        return None
    sizes, strides = ([_hint(size) or 0 for size in part] for part in (value.size(), value.stride()))
    order = sorted(range(len(sizes)), key=lambda axis: (-strides[axis], axis))
    count = 1
    for axis in reversed(order):
        if sizes[axis] != 1 and strides[axis] != count:
            return None
        count *= sizes[axis]
    moved = [axis for axis in order if sizes[axis] != 1]
    return None if moved == sorted(moved) else tuple(order)


def _hint(size: Any) -> int | None:
    """Return a size as a number, its value in the call for which the graph was captured."""
    return size if isinstance(size, int) else size.node.hint if size.node.has_hint() else None


def _inverse(order: Order) -> Order:
    return tuple(order.index(axis) for axis in range(len(order)))
