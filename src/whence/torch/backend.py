# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""The backend of `torch.compile`: Dynamo's graph becomes one of ATen operators, which the frontend's tables read."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any
from weakref import WeakSet, ref

import torch
from torch._decomp import core_aten_decompositions
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.eval_frame import innermost_backend
from torch._export.utils import _is_preservable_cia_op
from torch.fx import GraphModule

from whence.executables.executable import Executable
from whence.frontends.torch.captured import Captured
from whence.frontends.torch.load import supported
from whence.support.errors import FrontendError, FrontendWarning
from whence.torch.compiled import Compiled
from whence.torch.composites import whole
from whence.torch.decompositions import RULES
from whence.torch.graphs import argument_name, lift_constants, note_layers, set_views_apart
from whence.torch.options import Options
from whence.torch.partition import operator_name, split, without_support

_numbers = count()


class Capture:
    """A graph of Dynamo's: its parts, and the call of `torch.compile` that requested it."""

    def __init__(self, requester: Any, owner: Any):
        self._requester = ref(requester) if requester is not None else None
        self._owner = ref(owner) if isinstance(owner, torch.nn.Module) else None
        self.parts: list[Compiled] = []
        self.number = next(_numbers)

    def belongs(self, requester: Any, model: Any) -> bool:
        """Return whether this call of `torch.compile`, or an equal one for the same module, led to it."""
        own = self._requester() if self._requester is not None else None
        if own is not None and (own is requester or own != requester):
            return own is requester
        # Dynamo lets what says the same share its graphs, also after it has gone itself.
        owner = self._owner() if self._owner is not None else None
        return isinstance(model, torch.nn.Module) and any(owner is module for module in model.modules())


_captures: WeakSet[Capture] = WeakSet()


def backend(
    graph: GraphModule,
    example_inputs: Sequence[Any],
    *,
    options: Mapping[str, Any] | None = None,
    mode: str | None = None,
) -> Callable[..., Any]:
    """Return a function for a graph that Dynamo captured; `torch.compile(model, backend="whence")` calls this.

    options: those of `torch.compile`, see docs/pytorch.md. Inference only: where gradients are asked for, the graph
    runs in eager PyTorch, with a warning. Raises PipelineError for unknown options, and FrontendError for operators
    without support if the option `fallback` is "error".
    """
    wanted = Options.of(options, mode)
    if _asks_for_gradients(graph, example_inputs):
        reason = "whence compiles inference; wrap in torch.no_grad()"
        if wanted.fallback == "error":
            raise FrontendError(f"torch.compile: expected a call without gradients, got one with: {reason}")
        warnings.warn(FrontendWarning(f"torch.compile: eager PyTorch runs the model: {reason}"), stacklevel=2)
        return graph.forward
    caller = sys._getframe(1).f_locals.get("self")
    capture = Capture(caller if type(caller).__name__ == "_TorchCompileWrapper" else None, _owner())
    placeholders = graph.graph.find_nodes(op="placeholder")
    names = {at: argument_name(_source(node)) or node.name for at, node in enumerate(placeholders)}
    weights = {at for at, value in enumerate(example_inputs) if _is_weight(value)}

    def inference(inner: GraphModule, _inputs: Sequence[Any]) -> Callable[..., Any]:
        return _compiled(inner, names, weights, wanted, capture)

    rows, decompositions = _tables()
    with whole(rows):
        compiler = aot_autograd(fw_compiler=inference, inference_compiler=inference, decompositions=decompositions)
        return compiler(graph, example_inputs)


def executables(model: Any) -> list[Executable]:
    """The compiled graphs of what `torch.compile(.., backend="whence")` returned, in the order of their capture.

    Each answers `why`, `where` and all else that `whence.compile` returns does. There are as many as calls have made:
    graphs that only eager PyTorch runs have none.
    """
    return [executable for part in _parts(model) for _, executable in part.programs]


def sources(model: Any) -> list[Captured]:
    """The graphs of `executables`, in order, as `whence.explore` and `whence.compile` take models."""
    return [source for part in _parts(model) for source, _ in part.programs]


def repack(model: Any) -> None:
    """Have the next call read all weights anew, after writes that torch does not count: by numpy, or to `p.data`."""
    for part in _parts(model):
        part.repack()


def _parts(model: Any) -> list[Compiled]:
    # `module.compile()` keeps what was compiled in the module.
    requester = _requester(getattr(model, "_compiled_call_impl", None) or model)
    target = getattr(model, "_orig_mod", model)
    captures = sorted(
        (capture for capture in _captures if capture.belongs(requester, target)), key=lambda capture: capture.number
    )
    return [part for capture in captures for part in capture.parts]


def _asks_for_gradients(graph: GraphModule, inputs: Sequence[Any]) -> bool:
    """Return whether calls keep values for a backward pass: not where the model itself computes with no_grad."""
    if not any(value.requires_grad for value in inputs if isinstance(value, torch.Tensor)):
        return False
    enabled = torch.is_grad_enabled()
    for node in graph.graph.nodes:
        if node.target is torch._C._set_grad_enabled:
            enabled = bool(node.args[0])
        elif enabled and node.op not in ("placeholder", "get_attr", "output"):
            return True
    return False


def _requester(model: Any) -> Any:
    """The object that represents one call of `torch.compile`."""
    context = getattr(model, "dynamo_ctx", None)
    callback = getattr(context if context is not None else model, "callback", None)
    if callback is None:
        for cell in getattr(model, "__closure__", None) or ():
            callback = callback or getattr(cell.cell_contents, "callback", None)
    if callback is None:
        raise FrontendError(f"expected what torch.compile returned, got {type(model).__name__}")
    return innermost_backend(callback)


def _owner() -> Any:
    """The object whose method Dynamo captures."""
    from torch._dynamo.symbolic_convert import InstructionTranslator

    try:
        root = InstructionTranslator.current_tx().output.root_tx
        first = root.f_locals[root.f_code.co_varnames[0]]
    except (AttributeError, LookupError):
        return None
    return getattr(first, "__self__", first)


def _source(node: Any) -> str:
    """Return the Python expression of an input of Dynamo's graph, or ""."""
    name: Any = getattr(getattr(node, "_dynamo_source", None), "name", "")
    return str(name() if callable(name) else name)


def _is_weight(value: Any) -> bool:
    """Return whether an input is a parameter or a buffer of a module."""
    static = getattr(value, "_dynamo_static_input_type", None) is not None
    return isinstance(value, torch.nn.Parameter) or (isinstance(value, torch.Tensor) and static)


def _tables() -> tuple[list[Any], dict[Any, Any]]:
    """The composite operators that have rows and stay whole, and the decompositions of operators that have none."""
    rows = [op for op in _composites() if _is_preservable_cia_op(op)]
    rules = {**dict(core_aten_decompositions().items()), **RULES}
    decompositions = {op: rule for op, rule in rules.items() if not supported(operator_name(op))}
    return rows, decompositions


def _composites() -> list[Any]:
    from whence.frontends.torch.convert import CONVERTERS

    result = []
    for name in CONVERTERS:
        parts = name.split(".")
        if len(parts) == 3 and parts[0] in ("aten", "torchvision"):
            packet = getattr(getattr(torch.ops, parts[0]), parts[1], None)
            overload = getattr(packet, parts[2], None)
            result += [overload] if isinstance(overload, torch._ops.OpOverload) else []
    return result


def _compiled(
    graph: GraphModule, names: Mapping[int, str], weights: set[int], options: Options, capture: Capture
) -> Callable[..., Any]:
    """A function for a graph of ATen operators, in the calling convention of `aot_autograd`."""
    note_layers(graph)
    nodes = graph.graph.find_nodes(op="placeholder")
    origin = {at: getattr(node.meta.get("desc"), "idx", -1) for at, node in enumerate(nodes)}
    written = {getattr(getattr(item, "mutated_input", None), "idx", -1) for item in _results(graph)}
    constants = lift_constants(graph)
    fixed = range(len(nodes), len(nodes) + len(constants))
    bindable = {at for at, index in origin.items() if index in weights - written}.union(fixed)
    own = {at: names[index] for at, index in origin.items() if index in names}
    apart = {*set_views_apart(graph), *without_support(graph, options)}
    run = split(graph, bindable, own, options, capture.parts, apart)
    _captures.add(capture)

    def boxed(args: list[Any]) -> Sequence[Any]:
        values = [*args, *constants]
        args.clear()
        return run(values)

    boxed._boxed_call = True
    boxed.capture = capture
    return boxed


def _results(graph: GraphModule) -> Sequence[Any]:
    """The notes of `aot_autograd` on each result."""
    return graph.graph.output_node().meta.get("desc") or ()
