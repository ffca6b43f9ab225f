"""The configuration of a model as layers and their calls, in both forms that Keras has written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import ml_dtypes
import numpy as np

from ...support.errors import FrontendError
from ..importing.results import Stated
from .archive import Config
from .nests import entries_of, items_of, leaves, replaced, whole

SEQUENTIAL, FUNCTIONAL = ("Sequential",), ("Functional", "Model")
MODELS = (*SEQUENTIAL, *FUNCTIONAL)
INPUT = "InputLayer"
OPERATIONS = "keras.src.ops"
"""The module of operations that were called outside of layers."""
DTYPES = {
    **{name: np.dtype(name) for name in ("float16", "float32", "float64", "bool", "int8", "int16", "int32", "int64")},
    **{name: np.dtype(name) for name in ("uint8", "uint16", "uint32")},
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
}
"""Keras's name of an element type -> its dtype."""


@dataclass(frozen=True)
class Tensor:
    """An output of a call in the configuration."""

    layer: str
    call: int
    index: int


@dataclass(frozen=True, eq=False)
class Call:
    """One call of a layer: its arguments, in which a tensor of the model is a Tensor."""

    arguments: Sequence[Any]
    keywords: Mapping[str, Any]

    def argument(self, index: int, name: str) -> Any:
        """Return the argument at an index or of a name; None where it is left out."""
        return self.arguments[index] if index < len(self.arguments) else self.keywords.get(name)

    def tensors(self) -> Iterator[Tensor]:
        yield from tensors_in([*self.arguments, *self.keywords.values()])


@dataclass(eq=False)
class Layer:
    """A layer of a model."""

    name: str
    kind: str
    """The name of its class."""
    config: Config
    module: str = ""
    package: str = ""
    """The name that its class is registered under, if it is not a class of Keras."""
    calls: list[Call] = field(default_factory=list[Call])

    @property
    def is_model(self) -> bool:
        return self.kind in MODELS and isinstance(self.config.get("layers"), list)

    @property
    def is_operation(self) -> bool:
        """Return whether it is an operation of `keras.ops` that was called outside of layers."""
        return self.module.startswith(OPERATIONS)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names that you may call its class by: its registered name and its own."""
        if self.is_operation:
            return f"keras.ops.{self.kind}", self.kind
        return (self.package, self.kind) if self.package else (self.kind,)


@dataclass(eq=False)
class Graph:
    """A model: its layers by name, and its inputs and outputs, in Keras's nests."""

    name: str
    layers: dict[str, Layer]
    inputs: Any
    outputs: Any
    stated: Mapping[Tensor, Stated]
    """The types of the tensors that calls read, as files of Keras 3 state them."""


def tensors_in(nest: Any) -> Iterator[Tensor]:
    """Yield the tensors in a nest of lists and maps, in order."""
    return leaves(nest, Tensor)


class Reader:
    """Reads the graphs of a file."""

    def __init__(self, file: str):
        self.file = file
        self._stated: dict[Tensor, Stated] = {}

    def fail(self, layer: str, expected: str, actual: str) -> FrontendError:
        where = f"layer '{layer}': " if layer else ""
        return FrontendError(f"{self.file}: {where}expected {expected}, got {actual}")

    def layer(self, entry: Any, position: str) -> Layer:
        """Return the layer that an entry of a configuration describes."""
        entries = entries_of(entry)
        if entries is None:
            raise self.fail("", f"a layer as {position}", repr(entry)[:60])
        kind, inner = entries.get("class_name"), entries.get("config")
        if not isinstance(kind, str):
            raise self.fail("", f"a class_name of {position}", repr(kind)[:60])
        if kind in SEQUENTIAL and items_of(inner) is not None:
            inner = {"layers": inner}  # The first versions of Keras wrote it without "layers".
        config = entries_of({} if inner is None else inner)
        if config is None:
            raise self.fail("", f"a configuration of {position} ({kind})", type(inner).__name__)
        name = entries.get("name") or config.get("name")
        if not isinstance(name, str) or not name:
            raise self.fail("", f"a name of {position} ({kind})", repr(name))
        module, package = entries.get("module"), entries.get("registered_name")
        called = any(entries_of(node) is not None for node in items_of(entries.get("inbound_nodes")) or ())
        if module is None and called and "trainable" not in config:
            module = OPERATIONS  # Keras 3 writes no modules in .h5 files, and no entry of layers for operations.
        return Layer(
            name,
            kind,
            config,
            module if isinstance(module, str) else "",
            package if isinstance(package, str) else "",
        )

    def graph(self, layer: Layer) -> Graph:
        """Return the graph of a layer that is a model."""
        entries = items_of(layer.config.get("layers"))
        if not entries:
            raise self.fail(layer.name, "layers of a model", "none")
        layers: dict[str, Layer] = {}
        for at, entry in enumerate(entries):
            inner = self.layer(entry, f"layer {at} of '{layer.name}'")
            if inner.name in layers:
                raise self.fail(layer.name, "layers of different names", f"two called '{inner.name}'")
            layers[inner.name] = inner
        if layer.kind in SEQUENTIAL:
            return self._sequential(layer, layers)
        self._stated = {}
        for inner, entry in zip(layers.values(), entries, strict=True):
            inner.calls = self._calls(inner, (entries_of(entry) or {}).get("inbound_nodes") or [])
        self._count_from_0(layers)
        places = {key: self._places(layer, key) for key in ("input_layers", "output_layers")}
        outputs = self._counted(layers, places["output_layers"])
        return Graph(layer.name, layers, places["input_layers"], outputs, self._stated)

    def _sequential(self, layer: Layer, layers: dict[str, Layer]) -> Graph:
        """Return a chain of layers, with an input in front."""
        first = next(iter(layers.values()))
        if first.kind != INPUT:
            shape = first.config.get("batch_input_shape") or layer.config.get("build_input_shape")
            dtype = first.config.get("dtype")
            config = {"batch_shape": shape, "dtype": dtype if isinstance(dtype, str) else "float32"}
            entry = Layer(f"{first.name}_input", INPUT, config)
            while entry.name in layers:
                entry.name += "_"
            layers = {entry.name: entry, **layers}
        names = list(layers)
        for before, name in pairwise(names):
            if layers[name].kind == INPUT:
                raise self.fail(layer.name, "one input at the start", f"another one, '{name}'")
            layers[name].calls = [Call([Tensor(before, 0, 0)], {})]
        return Graph(layer.name, layers, [Tensor(names[0], 0, 0)], Tensor(names[-1], 0, 0), {})

    # Calls.

    def _calls(self, layer: Layer, nodes: Any) -> list[Call]:
        calls: list[Call] = []
        rows = items_of(nodes)
        if rows is None:
            raise self.fail(layer.name, "a list of calls", type(nodes).__name__)
        for node in rows:
            entries, items = entries_of(node), items_of(node)
            if entries is not None:
                args, kwargs = items_of(entries.get("args", [])), entries_of(entries.get("kwargs", {}))
                if args is None or kwargs is None:
                    raise self.fail(layer.name, "arguments of a call", repr(node)[:60])
                keywords = {key: self._argument(layer, value) for key, value in kwargs.items()}
                calls.append(Call(self._argument(layer, args), keywords))
            elif items is not None:
                calls.append(self._old_call(layer, items))
            else:
                raise self.fail(layer.name, "a call", repr(node)[:60])
        return calls

    def _old_call(self, layer: Layer, node: list[Any]) -> Call:
        """Return a call in the form of Keras 2: `[[layer, call, index, keywords], ..]`."""
        if node and isinstance(node[0], str):
            node = [node]
        tensors: list[Tensor] = []
        keywords: Config = {}
        for item in node:
            entry = items_of(item)
            if entry is None or not 3 <= len(entry) <= 4:
                raise self.fail(layer.name, "a tensor as [layer, call, index]", repr(item)[:60])
            tensors.append(self._tensor(layer, entry[:3]))
            more = entries_of(entry[3]) if len(entry) == 4 else {}
            if more is None:
                raise self.fail(layer.name, "arguments by name", repr(entry[3])[:60])
            keywords |= {key: self._old_keyword(value) for key, value in more.items()}
        return Call([tensors[0] if len(tensors) == 1 else tensors], keywords)

    def _old_keyword(self, value: Any) -> Any:
        """Return an argument by name, which may be a tensor `[layer, call, index]` or a list of these."""
        match items_of(value):
            case [str(name), int(call), int(index)] if call >= 0 and 0 <= index < _MOST_OUTPUTS:
                return Tensor(name, call, index)
            case None:
                return value
            case items:
                return [self._old_keyword(item) for item in items]

    def _tensor(self, layer: Layer, entry: Any) -> Tensor:
        match entry:
            case [str(name), int(call), int(index)] if call >= 0 and 0 <= index < _MOST_OUTPUTS:
                return Tensor(name, call, index)
            case _:
                raise self.fail(layer.name, "a tensor as [layer, call, index]", repr(entry)[:60])

    def _argument(self, layer: Layer, value: Any, depth: int = 0) -> Any:
        """Return an argument of a call, with Tensors and values of Python in the place of their descriptions."""
        if depth > _DEEPEST:
            raise self.fail(layer.name, f"arguments nested at most {_DEEPEST} deep", "deeper ones")
        if (items := items_of(value)) is not None:
            return [self._argument(layer, item, depth + 1) for item in items]
        if (entries := entries_of(value)) is None:
            return value
        config = entries_of(entries.get("config")) or {}
        match entries.get("class_name"):
            case "__keras_tensor__":
                tensor = self._tensor(layer, config.get("keras_history"))
                self._stated[tensor] = _stated(config)
                return tensor
            case "__tuple__":
                return self._argument(layer, entries.get("items", entries.get("config", [])), depth + 1)
            case "__slice__":
                return slice(*(config.get(key) for key in ("start", "stop", "step")))
            case "__ellipsis__":
                return ...
            case "__numpy__" | "__tensor__":
                return Numbers(config.get("value"), str(config.get("dtype", "float32")))
            case None:
                return {key: self._argument(layer, item, depth + 1) for key, item in entries.items()}
            case kind:
                return Described(str(kind))

    def _places(self, layer: Layer, key: str) -> Any:
        """Return the tensors of inputs or outputs: one `[layer, call, index]`, or a nest of these."""
        return self._nest(layer, key, layer.config.get(key), 0)

    def _nest(self, layer: Layer, key: str, nest: Any, depth: int) -> Any:
        if depth > _DEEPEST:
            raise self.fail(layer.name, f"{key} nested at most {_DEEPEST} deep", "deeper ones")
        if (entries := entries_of(nest)) is not None:
            return {name: self._nest(layer, key, item, depth + 1) for name, item in entries.items()}
        if (items := items_of(nest)) is None:
            raise self.fail(layer.name, f"{key} as [layer, call, index] or lists of them", repr(nest)[:60])
        if len(items) == 3 and isinstance(items[0], str):
            return self._tensor(layer, items)
        return [self._nest(layer, key, item, depth + 1) for item in items]

    # Some files count the calls of models from 1, because Keras calls a model once as it builds it.

    def _count_from_0(self, layers: dict[str, Layer]) -> None:
        """Renumber the calls of inner models from 0 in the layers that read them."""
        late = {name for name, inner in layers.items() if inner.is_model and self._late(layers, name)}
        if not late:
            return

        def earlier(tensor: Tensor) -> Tensor:
            return Tensor(tensor.layer, tensor.call - 1, tensor.index) if tensor.layer in late else tensor

        for inner in layers.values():
            inner.calls = [
                Call(replaced(call.arguments, Tensor, earlier), replaced(call.keywords, Tensor, earlier))
                for call in inner.calls
            ]

    def _late(self, layers: dict[str, Layer], name: str) -> bool:
        read = {
            tensor.call
            for inner in layers.values()
            for call in inner.calls
            for tensor in call.tensors()
            if tensor.layer == name
        }
        return bool(read) and max(read) >= len(layers[name].calls) and 0 not in read

    def _counted(self, layers: dict[str, Layer], nest: Any) -> Any:
        """Return the outputs, in which the calls of inner models count from 0."""

        def own(tensor: Tensor) -> Tensor:
            layer = layers.get(tensor.layer)
            late = layer is not None and layer.is_model and tensor.call > 0
            if late and layer is not None and (layer.kind in FUNCTIONAL or tensor.call >= len(layer.calls)):
                return Tensor(tensor.layer, tensor.call - 1, tensor.index)
            return tensor

        return replaced(nest, Tensor, own)


def _stated(config: Config) -> Stated:
    """Return the type that a file states for a tensor."""
    items, dtype = items_of(config.get("shape")), config.get("dtype")
    shape = None if items is None else [whole(item) for item in items]
    return Stated(shape, DTYPES.get(dtype) if isinstance(dtype, str) else None)


_DEEPEST = 64
_MOST_OUTPUTS = 1 << 16
"""The greatest number of outputs of a call, which follows from the outputs that are read."""


@dataclass(frozen=True)
class Described:
    """An argument that is an object of a class that the importer does not know."""

    kind: str


@dataclass(frozen=True)
class Numbers:
    """An argument that is an array."""

    value: Any
    dtype: str
