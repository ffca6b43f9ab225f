# pyright: basic, reportMissingImports=false
"""Reads TorchScript in memory, traced or scripted, as an exported program; torch itself reads files."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from ...support.dtypes import Array
from ...support.errors import FrontendError, OperatorsMissing
from ...support.files import write_text
from ..importing.constants import Constants
from .convert import CONVERTERS
from .schema import Argument, Graph, InputSpec, Name, OutputSpec, Program
from .script_evaluate import Evaluation
from .script_inputs import Spec, Structure, dtype_named
from .script_names import Names, nodes_in
from .script_nodes import TABLES
from .script_values import Member, Number, Tensor, array_of, leaves_of
from .views import functional

MEMORY = "<memory>"


@dataclass(frozen=True)
class Options:
    """Arguments of `relay.frontend.from_pytorch` beside the inputs."""

    friendly: bool = False
    scopes: bool = False
    custom: Mapping[str, Callable[..., Any]] = field(default_factory=dict)

    def converted(self, target: str) -> bool:
        """Return whether an operator is converted, by its target."""
        return any(name in CONVERTERS for name in (target, functional(target))) or self.function(target) is not None

    def function(self, target: str) -> Callable[..., Any] | None:
        """Return the user's function for an operator; one in place may have the name of its functional form."""
        return self.custom.get(kind_of(target)) or self.custom.get(kind_of(functional(target)))


@dataclass(frozen=True, eq=False)
class Script:
    """A graph that was read."""

    program: Program
    tensors: Mapping[str, Array]
    weights: frozenset[str]
    """The names of the tensors that the module has."""
    leaves: Mapping[str, str]
    """Tensor of the module -> its name after that of a layer; a tensor with its own full name is left out."""
    separator: str
    """The mark between layer and tensor."""


def kind_of(target: str) -> str:
    """Return TorchScript's name of an operator, without its overload: `aten::add` for `aten.add.Tensor`."""
    space, _, name = target.rpartition(".")[0].partition(".")
    return f"{space}::{name}"


def is_script(model: Any) -> bool:
    """Return whether a model is TorchScript, a module or a function."""
    torch: Any = import_module("torch")
    return isinstance(model, torch.jit.ScriptModule | torch.jit.ScriptFunction)


def graph_of(module: Any) -> tuple[Any, Sequence[Any]]:
    """Return a copy of the graph of a module or function, with calls of other modules inlined, and its inputs.

    Raises FrontendError for other objects.
    """
    if not is_script(module):
        raise FrontendError(f"expected the result of torch.jit.trace or torch.jit.script, got {type(module).__name__}")
    torch: Any = import_module("torch")
    graph = module.graph.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch._C._jit_pass_inline(graph)
    inputs = list(graph.inputs())
    return graph, inputs[1:] if isinstance(module, torch.jit.ScriptModule) else inputs


def write_graph(graph: Any, options: Options, folder: str) -> None:
    """Write a graph to `tvm_exported_c_graph_<time>.txt` in a folder, each line after the name of its layer."""
    names = Names(graph, friendly=options.friendly, scopes=options.scopes)
    lines = [f"{names.layer(node)}: {str(node).rstrip()}" for node in nodes_in(graph)]
    path = Path(folder) / f"tvm_exported_c_graph_{datetime.now():%Y_%m_%d_%H_%M_%S}.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, "\n".join(lines))


def traced_specs(inputs: Sequence[Any]) -> list[tuple[str, Structure]]:
    """Return the name and traced type of each input; raises FrontendError for an input without one."""
    specs: list[tuple[str, Structure]] = []
    for value in inputs:
        type_ = value.type()
        name = value.debugName().partition(".")[0]
        if type_.kind() != "TensorType" or type_.sizes() is None or type_.dtype() is None:
            raise FrontendError(
                f"input '{name}': expected the shape of a traced module, got {type_}; give shapes by "
                f"relay.frontend.from_pytorch(module, [('{name}', shape)])"
            )
        specs.append((name, Spec(tuple(type_.sizes()), dtype_named(str(type_.dtype()), ""))))
    return specs


def read_script(module: Any, specs: Sequence[tuple[str, Structure]], graph: Any, options: Options) -> Script:
    """Read a graph for inputs of known types.

    Raises OperatorsMissing, which names all operators without a converter, and FrontendError for unsupported nodes.
    """
    torch: Any = import_module("torch")
    names = Names(graph, friendly=options.friendly, scopes=options.scopes)
    evaluation = Evaluation(MEMORY, module, names, TABLES, options.converted, options.function)
    values = list(graph.inputs())
    if isinstance(module, torch.jit.ScriptModule):
        evaluation.env[values.pop(0).debugName()] = Member(module, "")
    inputs: list[Tensor] = []
    for value, (name, structure) in zip(values, specs, strict=True):
        evaluation.env[value.debugName()] = _input(evaluation, name, structure, inputs)
    try:
        results = evaluation.block(graph)
    except FrontendError:
        _refuse(evaluation)
        raise
    _refuse(evaluation)
    return _program(evaluation, inputs, results, options)


def _refuse(evaluation: Evaluation) -> None:
    """Raise OperatorsMissing for all operators without a converter."""
    if evaluation.missing:
        calls = ", ".join(layers[0] for layers in evaluation.missing.values())
        text = f"The following operators are not implemented: {sorted(evaluation.missing)} (first called by {calls})"
        raise OperatorsMissing(text)


def _input(evaluation: Evaluation, name: str, structure: Structure, inputs: list[Tensor]) -> Any:
    """Return the value of an input; the items of a tuple or list are inputs `name_0`, `name_1` and so on."""
    if not isinstance(structure, Spec):
        items = [_input(evaluation, f"{name}_{at}", item, inputs) for at, item in enumerate(structure)]
        return items if isinstance(structure, list) else tuple(items)
    torch = evaluation.torch
    with evaluation.mode:
        fake = torch.empty(structure.shape, dtype=getattr(torch, structure.dtype))
    value = evaluation.tensor(name, fake)
    if value.name != name:
        raise FrontendError(f"input '{name}': expected names that differ, got two of it")
    inputs.append(value)
    return value


def _program(evaluation: Evaluation, inputs: Sequence[Tensor], results: Sequence[Any], options: Options) -> Script:
    targets, leaves = _weight_names(evaluation, options)
    separator = evaluation.names.separator
    specs = [InputSpec("parameter", Name(path), target) for path, target in targets.items()]
    specs += [InputSpec("tensor_constant", Name(name), name) for name in evaluation.constants]
    specs += [InputSpec("user_input", Name(value.name)) for value in inputs]
    outputs: list[Argument] = []
    value = results[0] if len(results) == 1 else tuple(results)
    for leaf in leaves_of(value):
        if isinstance(leaf, Tensor):
            outputs.append(Name(leaf.name))
        elif isinstance(leaf, Number):
            outputs.append(Name(leaf.name, number=True))
        else:
            outputs.append(leaf)
    graph = Graph(
        tuple(spec.value for spec in specs), tuple(outputs), evaluation.nodes, evaluation.metas, "the main graph"
    )
    program = Program(
        graph,
        specs,
        [OutputSpec("user_output", output) for output in outputs],
        {},
        (),
        json.dumps([1, _tree(value)]),
        evaluation.torch.__version__,
    )
    tensors = {targets[path]: tensor for path, tensor in evaluation.weights.items() if path in targets}
    arrays = {name: partial(array_of, tensor) for name, tensor in (tensors | evaluation.constants).items()}
    return Script(program, Constants(arrays), frozenset(tensors), leaves, separator)


def _tree(value: Any) -> dict[str, Any]:
    """Return the structure of results in torch's form."""
    if isinstance(value, dict):
        keys = [str(key) for key in value]
        return {"type": "builtins.dict", "context": json.dumps(keys), "children_spec": list(map(_tree, value.values()))}
    if isinstance(value, list | tuple):
        return {"type": "builtins.tuple", "context": "null", "children_spec": list(map(_tree, value))}
    return {"type": None, "context": None, "children_spec": []}


def _weight_names(evaluation: Evaluation, options: Options) -> tuple[dict[str, str], dict[str, str]]:
    """Return path of a tensor of the module -> its name, and its name -> the attribute's name.

    The name consists of the first layer that reads the tensor and the attribute; with scopes kept, it is the path.
    """
    if options.scopes:
        return {path: _friendly(path, options) for path in evaluation.weights}, {}
    separator = evaluation.names.separator
    leaves: dict[str, str] = {}
    names: dict[str, str] = {}
    for node in evaluation.nodes:
        leaf_paths: dict[str, str] = {}
        for path in _read(node.arguments.values()):
            if path not in evaluation.weights:
                continue
            leaf = leaves.get(path) or _leaf(path, separator)
            count = 0
            while leaf_paths.get(leaf, path) != path:
                count += 1
                leaf = f"{_leaf(path, separator)}_{count}"
            leaf_paths[leaf], leaves[path] = path, leaf
            names.setdefault(path, f"{node.name}{separator}{leaf}")
    for path in evaluation.weights:
        names.setdefault(path, _friendly(path, options))
    return names, {names[path]: leaf for path, leaf in leaves.items()}


def _leaf(path: str, separator: str) -> str:
    """Return the last attribute of a path, with the attribute before a number: `weights.1`."""
    parts = path.split(".")
    start = len(parts) - 1
    while start and parts[start].isdigit():
        start -= 1
    return separator.join(parts[start:])


def _friendly(path: str, options: Options) -> str:
    return path.replace(".", "_") if options.friendly else path


def _read(values: Any) -> Iterator[str]:
    """Yield the names of values among arguments and in the graphs among them."""
    for value in values:
        if isinstance(value, Name):
            yield value.name
        elif isinstance(value, tuple):
            yield from _read(value)
        elif isinstance(value, Graph):
            for node in value.nodes:
                yield from _read(node.arguments.values())
