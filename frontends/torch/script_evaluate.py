# pyright: basic, reportMissingImports=false
"""Evaluates a TorchScript graph to calls with known arguments, in the form of exported programs.

A graph is run like Python, with tensors that have types but no elements (torch's fake tensors): lists, tuples,
attributes, sizes and the branches that they decide disappear, and the types of all tensors become known. A number that
depends on elements stays a value that a call computes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from ...support.errors import FrontendError
from ..importing.frames import user_frames
from .schema import Argument, Name, Node, ScalarType, TensorMeta, Unread
from .script_names import Names, frames_of
from .script_numbers import LISTS, NUMBERS, PLAIN
from .script_values import TORCH_CODES, Number, Tensor, computed_in, leaves_of, meta_of

_KNOWN = 1024
"""The greatest number of elements of a tensor that is computed from the program's constants."""
_OWN_SPACES = ("_operator.", "math.", "torch.", "whence.")
"""The prefixes of operators outside of `torch.ops`."""
_MOST = 1_000_000
"""The greatest number of nodes of a program, whose loops are unrolled."""
_DEFAULTED = ("layout", "device", "pin_memory", "memory_format", "non_blocking", "generator", "requires_grad")
"""Arguments that do not affect values."""


class Signature(NamedTuple):
    """The signature of an operator in its schema."""

    name: str
    overload: str
    arguments: Sequence[tuple[str, str, bool]]
    """Name, type, and whether it is keyword-only."""
    defaults: Mapping[str, Any]
    """Optional argument -> its default."""
    tensors: bool
    """True if a result is a tensor."""

    def is_default(self, name: str, value: Any) -> bool:
        """Return whether an argument equals its default or does not affect values."""
        if name in _DEFAULTED:
            return True
        default = self.defaults.get(name)
        return type(value) is type(default) and value == default

    @property
    def target(self) -> str:
        return f"{self.name.replace('::', '.')}.{self.overload or 'default'}"


@cache
def signature_of(text: str) -> Signature:
    """Return the signature in the text of a schema."""
    schema = import_module("torch")._C.parse_schema(text)
    arguments = [(item.name, str(item.real_type), item.kwarg_only) for item in schema.arguments]
    defaults = {item.name: item.default_value for item in schema.arguments if item.has_default_value()}
    tensors = any("Tensor" in str(item.type) for item in schema.returns)
    return Signature(schema.name, schema.overload_name, arguments, defaults, tensors)


class Tables(NamedTuple):
    """The evaluation of nodes other than calls of converted operators."""

    own: Mapping[str, Callable[[Evaluation, Any], list[Any]]]
    """Kind of a node that is not a call -> its results."""
    asking: Mapping[str, Callable[..., Any]]
    """Kind of a node that asks for a tensor's type or only element -> the answer."""
    rewritten: Mapping[str, Callable[[Evaluation, Any, Signature, Sequence[Any]], Any]]
    """Target of a call that becomes other calls, or none -> the result."""
    renamed: Mapping[str, str]
    """Overload that only TorchScript has -> the overload in exported programs."""


@dataclass(eq=False)
class Evaluation:
    """One reading of a graph.

    member: the outermost module; None for a function. names: the names of the nodes.
    """

    file: str
    member: Any
    names: Names
    tables: Tables
    converted: Callable[[str], bool]
    """Returns whether an operator is converted, by its target."""
    custom: Callable[[str], object]
    """Returns the user's function for an operator, which takes all arguments."""
    nodes: list[Node] = field(default_factory=list)
    metas: dict[str, TensorMeta] = field(default_factory=dict)
    weights: dict[str, Any] = field(default_factory=dict)
    """The tensors of the module that the graph reads, by their paths."""
    constants: dict[str, Any] = field(default_factory=dict)
    """The tensors of the graph itself."""
    missing: dict[str, list[str]] = field(default_factory=dict)
    """Operator without a converter -> the layers that call it."""

    def __post_init__(self) -> None:
        self.torch: Any = import_module("torch")
        fakes: Any = import_module("torch._subclasses.fake_tensor")
        symbolic: Any = import_module("torch.fx.experimental.symbolic_shapes")
        self.unsupported = (NotImplementedError, fakes.UnsupportedOperatorException)
        self.mode = fakes.FakeTensorMode(shape_env=symbolic.ShapeEnv(), allow_non_fake_inputs=True)
        self.env: dict[str, Any] = {}
        self.used: set[str] = set()
        self.unknown: set[int] = set()
        """The storages of known tensors that an unknown value was written to."""
        self.tensors: dict[str, Tensor] = {}
        self.depth = 0
        """The number of graphs around the current node that a call decides about."""

    def fail(self, node: Any, expected: str, actual: str) -> FrontendError:
        return FrontendError(f"{node.kind()}: expected {expected}, got {actual} ({self.place(node)})")

    def place(self, node: Any) -> str:
        """Return the layer and line of a node, for errors."""
        calls = user_frames(frames_of(node))
        return self.names.layer(node) + (f" at {calls[0].file}:{calls[0].line}" if calls else "")

    # Values.

    def fresh(self, stem: str) -> str:
        name, count = stem, 0
        while name in self.used:
            count += 1
            name = f"{stem}:{count}"
        self.used.add(name)
        return name

    def extent(self) -> Any:
        """Return a symbol for an extent that depends on elements."""
        symbol = self.mode.shape_env.create_unbacked_symint()
        self.torch._check(symbol >= 0)
        return symbol

    def fake(self, tensor: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.mode.from_tensor(tensor.detach(), static_shapes=True)

    def tensor(self, name: str, fake: Any, real: Any = None) -> Tensor:
        """Return a new tensor under a unique name."""
        value = Tensor(self.fresh(name), fake, real)
        if fake is not None:
            self.metas[value.name] = meta_of(fake)
        return value

    def weight(self, path: str, tensor: Any) -> Tensor:
        """Return a tensor of the module."""
        if path not in self.tensors:
            self.weights[path] = tensor
            self.used.add(path)
            self.tensors[path] = Tensor(path, self.fake(tensor))
            self.metas[path] = meta_of(self.tensors[path].fake)
        return self.tensors[path]

    def constant(self, name: str, tensor: Any) -> Tensor:
        """Return a tensor of the graph itself."""
        value = self.tensor(name, self.fake(tensor), tensor.clone() if tensor.numel() <= _KNOWN else None)
        self.constants[value.name] = tensor
        return value

    def known(self, value: Tensor) -> Any:
        """Return the tensor with its elements; None if they are unknown."""
        real = value.real
        return None if real is None or real.untyped_storage().data_ptr() in self.unknown else real

    # Nodes.

    def block(self, block: Any) -> list[Any]:
        """Evaluate the nodes of a block; return its results."""
        for node in block.nodes():
            self.node(node)
        return [self.env[output.debugName()] for output in block.outputs()]

    def node(self, node: Any) -> None:
        if len(self.nodes) > _MOST:
            raise self.fail(node, f"at most {_MOST} calls", "loops that make more")
        handler = self.tables.own.get(node.kind())
        results = handler(self, node) if handler is not None else [self.operator(node)]
        outputs = list(node.outputs())
        if handler is None and len(outputs) != 1:
            results = list(results[0]) if isinstance(results[0], list | tuple) else []
        for output, value in zip(outputs, results, strict=False):
            self.env[output.debugName()] = value

    def inputs(self, node: Any) -> list[Any]:
        return [self.env[value.debugName()] for value in node.inputs()]

    def operator(self, node: Any) -> Any:
        """Return the result of a call of an operator, a tuple for several."""
        kind, values = node.kind(), self.inputs(node)
        if node.schema() == "(no schema)":
            if kind in PLAIN:
                return PLAIN[kind](*values)
            return self.unread(node)
        signature = signature_of(node.schema())
        computed = computed_in(values)
        if kind in LISTS and values and isinstance(values[0], list | tuple | dict | str):
            return self.plain(node, LISTS[kind], values)
        if kind in PLAIN and (not computed or kind in _IDENTITIES):
            return self.plain(node, PLAIN[kind], values)
        if kind in self.tables.asking and values and isinstance(values[0], Tensor):
            return self.tables.asking[kind](self, node, *values)
        if kind in NUMBERS and computed and all(isinstance(value, Number) for value in computed):
            return self.number(node, *NUMBERS[kind], values[:2])
        if not computed and not signature.tensors:
            return self.plain(node, self.function(signature), values)
        return self.call(node, signature, values)

    def function(self, signature: Signature) -> Any:
        space, _, name = signature.name.partition("::")
        return getattr(getattr(getattr(self.torch.ops, space), name), signature.overload or "default")

    def plain(self, node: Any, function: Callable[..., Any], values: Sequence[Any]) -> Any:
        try:
            return function(*values)
        except (ValueError, TypeError, LookupError, ArithmeticError, RuntimeError, AttributeError) as error:
            raise self.fail(node, "values that it takes", str(error).partition("\n")[0]) from error

    def number(self, node: Any, target: str, function: Callable[..., Any], values: Sequence[Any]) -> Any:
        """Return a number that a call computes from others."""
        symbols = [value.symbol if isinstance(value, Number) else value for value in values]
        result = function(*symbols)
        if isinstance(result, bool | int | float):
            return result
        arguments = {f"arg{at}": self.lowered(node, value, "Scalar") for at, value in enumerate(values)}
        value = Number(self.fresh(f"{self.names.own(node)}_0"), result)
        self.add(node, target, arguments, [[value.name]])
        return value

    def unread(self, node: Any) -> Any:
        """Record an operator without a converter; its results have the types in the graph."""
        self.missing.setdefault(node.kind(), []).append(self.place(node))
        results = tuple(self.typed(node, at, output) for at, output in enumerate(node.outputs()))
        return results[0] if len(results) == 1 else results

    def typed(self, node: Any, at: int, output: Any) -> Tensor:
        """Return a result of the type in the graph."""
        type_ = output.type()
        sizes = type_.sizes() if type_.kind() == "TensorType" else None
        fake = None
        if sizes is not None and type_.dtype() is not None and not str(type_.dtype()).startswith("torch.q"):
            with self.mode:
                fake = self.torch.empty_strided(sizes, type_.strides(), dtype=type_.dtype())
        return self.tensor(f"{self.names.own(node)}_{at}", fake)

    # Calls.

    def add(self, node: Any, target: str, arguments: Mapping[str, Argument], outputs: Sequence[Sequence[str]]) -> None:
        """Add a call at the layer and line of a node."""
        layer, where = self.names.layer(node), f"{self.file}: {self.names.own(node)}"
        target = target if target.startswith(_OWN_SPACES) else f"torch.ops.{target}"
        call = Node(layer, target, dict(arguments), outputs, (), frames=frames_of(node), where=where, numbered=True)
        self.nodes.append(call)

    def call(self, node: Any, signature: Signature, values: Sequence[Any]) -> Any:
        """Add a call that computes tensors; return its results."""
        if signature.target in self.tables.rewritten:
            return self.tables.rewritten[signature.target](self, node, signature, values)
        target = self.tables.renamed.get(signature.target, signature.target)
        if self.converted(target):
            return self.called(node, signature, values, self.types(node, signature, values))
        try:
            results = self.types(node, signature, values)
        except FrontendError:
            return self.unread(node)  # torch cannot infer its types either.
        self.missing.setdefault(node.kind(), []).append(self.place(node))
        return self.called(node, signature, (), results)

    def called(self, node: Any, signature: Signature, values: Sequence[Any], results: Any) -> Any:
        """Add a call whose results have the types that torch inferred."""
        target = self.tables.renamed.get(signature.target, signature.target)
        custom = self.custom(target) is not None
        arguments: dict[str, Argument] = {}
        for (name, kind, _), value in zip(signature.arguments, values, strict=False):
            if custom:
                arguments[name] = self.lowered(node, value, kind, name)
            elif value is not None and (computed_in(value) or not signature.is_default(name, value)):
                arguments[name] = self.lowered(node, value, kind, name)
        values_made: list[Any] = []
        outputs: list[list[str]] = []
        several = isinstance(results, tuple)
        for at, result in enumerate(results if several else (results,)):
            name_stem = f"{self.names.own(node)}_{at}"
            if isinstance(result, list | tuple):
                values_made.append([self.result(name_stem, item) for item in result])
            else:
                values_made.append(self.result(name_stem, result))
            outputs.append([item.name for item in leaves_of(values_made[-1])])
        self.add(node, target, arguments, outputs)
        return tuple(values_made) if several else values_made[0]

    def result(self, name: str, result: Any) -> Any:
        if isinstance(result.fake, self.torch.Tensor) or result.fake is None:
            return self.tensor(name, result.fake, result.real)
        return Number(self.fresh(name), result.fake)

    def types(self, node: Any, signature: Signature, values: Sequence[Any]) -> Any:
        """Return the results of a call: `Typed`, and lists and tuples of these."""
        computed = computed_in(values)
        function = self.function(signature)
        if any(isinstance(value, Tensor) and value.fake is None for value in computed):
            return self.typed_results(node)
        reals: Any = None
        if (
            not any(isinstance(value, Number) or self.known(value) is None for value in computed)
            and self.torch.Tag.nondeterministic_seeded not in function.tags
            and "empty" not in signature.name
            and not (self.depth and signature.name.endswith("_"))
        ):
            with self.torch.no_grad():
                reals = self.tried(node, signature, function, values, real=True)
            if reals is not None and any(
                isinstance(real, self.torch.Tensor) and real.numel() > _KNOWN for real in leaves_of(reals)
            ):
                reals = None
        elif signature.name.endswith("_"):
            for value in values[:1]:
                if isinstance(value, Tensor) and value.real is not None:
                    self.unknown.add(value.real.untyped_storage().data_ptr())
        with self.mode, self.torch.no_grad():
            fakes = self.tried(node, signature, function, values, real=False)
        if fakes is None:
            return self.typed_results(node)
        return _paired(fakes, reals)

    def typed_results(self, node: Any) -> Any:
        results = []
        for output in node.outputs():
            tensor = self.typed(node, 0, output)
            self.used.discard(tensor.name)
            results.append(Typed(tensor.fake))
        return results[0] if len(results) == 1 else tuple(results)

    def tried(self, node: Any, signature: Signature, function: Any, values: Sequence[Any], *, real: bool) -> Any:
        """Return torch's result for fake or known tensors; None where it has none."""
        positional, named = [], {}
        for (name, kind, by_name), value in zip(signature.arguments, values, strict=False):
            argument = self.passed(value, kind, real)
            if by_name:
                named[name] = argument
            else:
                positional.append(argument)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return function(*positional, **named)
        except self.unsupported:
            return None
        except RuntimeError as error:
            if isinstance(error, NotImplementedError):
                return None
            raise self.fail(node, "arguments that it takes", str(error).partition("\n")[0]) from error
        except (ValueError, TypeError, LookupError, AssertionError) as error:
            raise self.fail(node, "arguments that it takes", str(error).partition("\n")[0]) from error

    def passed(self, value: Any, kind: str, real: bool) -> Any:
        """Return a value as an argument of torch's function."""
        if isinstance(value, Tensor):
            return self.known(value) if real else value.fake
        if isinstance(value, Number):
            return value.symbol
        if isinstance(value, list | tuple):
            inner = kind.replace("List[", "", 1)
            return [self.passed(item, inner, real) for item in value]
        if isinstance(value, bool | int | float) and kind.startswith(("Tensor", "Optional[Tensor")):
            # The tracer made a tensor of this number; a scalar tensor promotes in the same way.
            return self.torch.tensor(value)
        return value

    def lowered(self, node: Any, value: Any, kind: str, name: str = "") -> Argument:
        """Return a value as the argument of a call."""
        if isinstance(value, Tensor):
            return Name(value.name)
        if isinstance(value, Number):
            return Name(value.name, number=True)
        if isinstance(value, list | tuple):
            inner = kind.replace("List[", "", 1)
            if "Tensor" in inner:
                items = [
                    self.constant(f"{self.names.own(node)}_{name}", self.torch.tensor(item))
                    if isinstance(item, bool | int | float)
                    else item
                    for item in value
                ]
                return tuple(self.lowered(node, item, inner) for item in items)
            return tuple(self.lowered(node, item, inner) for item in value)
        if isinstance(value, int) and not isinstance(value, bool) and ("ScalarType" in kind or name == "dtype"):
            return ScalarType(TORCH_CODES[value])
        if any(part in kind for part in ("Device", "Layout", "MemoryFormat", "Generator")):
            return Unread(kind, value)
        if value is None or isinstance(value, bool | int | float | complex | str):
            return value
        raise self.fail(node, f"a value of {kind}", type(value).__name__)


_IDENTITIES = {
    "aten::__is__",
    "aten::__isnot__",
    "aten::_unwrap_optional",
    "aten::cpu",
    "aten::cuda",
    "aten::warn",
    "prim::Print",
    "prim::data",
    "prim::device",
    "prim::is_cuda",
    "prim::is_quantized",
    "prim::is_sparse",
    "prim::requires_grad",
    "prim::unchecked_cast",
    "prim::unchecked_unwrap_optional",
}


@dataclass(frozen=True, eq=False)
class Typed:
    """A result of a call: a fake tensor or a symbol, and the tensor itself if it is known."""

    fake: Any
    real: Any = None


def _paired(fakes: Any, reals: Any) -> Any:
    if isinstance(fakes, list | tuple):
        each = reals if isinstance(reals, list | tuple) else [None] * len(fakes)
        pairs = [_paired(fake, real) for fake, real in zip(fakes, each, strict=True)]
        return tuple(pairs) if isinstance(fakes, tuple) else pairs
    return Typed(fakes, reals)
