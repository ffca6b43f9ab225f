"""The configuration of a model as layers and their calls, in both forms that Keras has written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from ...support.errors import FrontendError
from .archive import Config

SEQUENTIAL, FUNCTIONAL = ("Sequential",), ("Functional", "Model")
MODELS = (*SEQUENTIAL, *FUNCTIONAL)
INPUT = "InputLayer"


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
    """The name that its class is registered under, where that is no class of Keras."""
    calls: list[Call] = field(default_factory=list[Call])

    @property
    def is_model(self) -> bool:
        return self.kind in MODELS and isinstance(self.config.get("layers"), list)

    @property
    def is_operation(self) -> bool:
        """Return whether it is an operation of `keras.ops` that was called outside of layers."""
        return self.module.startswith("keras.src.ops")


@dataclass(eq=False)
class Graph:
    """A model: its layers by name, and what its inputs and outputs are, in the nests that Keras has them in."""

    name: str
    layers: dict[str, Layer]
    inputs: Any
    outputs: Any


def tensors_in(nest: Any) -> Iterator[Tensor]:
    """The tensors in a nest of lists and maps, in order."""
    stack: list[Any] = [nest]
    while stack:
        match stack.pop():
            case Tensor() as tensor:
                yield tensor
            case list() | tuple() as items:
                stack.extend(reversed(cast("Sequence[Any]", items)))
            case dict() as entries:
                stack.extend(reversed(list(cast("dict[str, Any]", entries).values())))
            case _:
                pass


class Reader:
    """Reads the graphs of a file."""

    def __init__(self, file: str):
        self.file = file

    def fail(self, layer: str, expected: str, found: str) -> FrontendError:
        where = f"layer '{layer}': " if layer else ""
        return FrontendError(f"{self.file}: {where}expected {expected}, got {found}")

    def layer(self, entry: Any, position: str) -> Layer:
        """Return a layer of its entry in a configuration."""
        if not isinstance(entry, dict):
            raise self.fail("", f"a layer as {position}", repr(entry)[:60])
        entry = cast(Config, entry)
        kind, config = entry.get("class_name"), entry.get("config")
        if not isinstance(kind, str):
            raise self.fail("", f"a class_name of {position}", repr(kind)[:60])
        config = cast(Config, {} if config is None else config)
        if isinstance(config, list) and kind in SEQUENTIAL:
            config = {"layers": config}  # as the first versions of Keras wrote it
        if not isinstance(config, dict):
            raise self.fail("", f"a configuration of {position} ({kind})", type(config).__name__)
        name = entry.get("name") or config.get("name")
        if not isinstance(name, str) or not name:
            raise self.fail("", f"a name of {position} ({kind})", repr(name))
        module, package = entry.get("module"), entry.get("registered_name")
        module = module if isinstance(module, str) else ""
        kind = kind.rpartition(">")[2] if kind.startswith("keras") else kind
        return Layer(name, kind, config, module, package if isinstance(package, str) else "")

    def graph(self, layer: Layer) -> Graph:
        """Return what is in a model."""
        entries = layer.config.get("layers")
        if not isinstance(entries, list) or not entries:
            raise self.fail(layer.name, "layers of a model", "none")
        entries = cast("list[Any]", entries)
        layers: dict[str, Layer] = {}
        for at, entry in enumerate(entries):
            inner = self.layer(entry, f"layer {at} of '{layer.name}'")
            if inner.name in layers:
                raise self.fail(layer.name, "layers of different names", f"two called '{inner.name}'")
            layers[inner.name] = inner
        if layer.kind in SEQUENTIAL:
            return self._sequential(layer, layers)
        for inner, entry in zip(layers.values(), entries, strict=True):
            inner.calls = self._calls(inner, entry.get("inbound_nodes") or [])
        self._count_from_0(layers)
        places = {key: self._places(layer, key) for key in ("input_layers", "output_layers")}
        outputs = self._counted(layer, layers, places["output_layers"])
        return Graph(layer.name, layers, places["input_layers"], outputs)

    def _sequential(self, layer: Layer, layers: dict[str, Layer]) -> Graph:
        """A chain of layers, before which there is an input."""
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
        for before, name in zip(names, names[1:], strict=False):
            if layers[name].kind == INPUT:
                raise self.fail(layer.name, "one input at the start", f"another one, '{name}'")
            layers[name].calls = [Call([Tensor(before, 0, 0)], {})]
        return Graph(layer.name, layers, [Tensor(names[0], 0, 0)], Tensor(names[-1], 0, 0))

    # Calls.

    def _calls(self, layer: Layer, nodes: Any) -> list[Call]:
        if not isinstance(nodes, list):
            raise self.fail(layer.name, "a list of calls", type(nodes).__name__)
        calls: list[Call] = []
        for node in cast("list[Any]", nodes):
            if isinstance(node, dict):
                args, kwargs = node.get("args", []), node.get("kwargs", {})
                if not isinstance(args, list) or not isinstance(kwargs, dict):
                    raise self.fail(layer.name, "arguments of a call", repr(node)[:60])
                calls.append(Call(self._argument(layer, args), self._argument(layer, kwargs)))
            elif isinstance(node, list):
                calls.append(self._old_call(layer, cast("list[Any]", node)))
            else:
                raise self.fail(layer.name, "a call", repr(node)[:60])
        return calls

    def _old_call(self, layer: Layer, node: list[Any]) -> Call:
        """A call as Keras 2 wrote it: `[[layer, call, index, keywords], ..]`."""
        if node and isinstance(node[0], str):
            node = [node]
        tensors: list[Tensor] = []
        keywords: Config = {}
        for item in node:
            if not isinstance(item, list) or not 3 <= len(cast("list[Any]", item)) <= 4:
                raise self.fail(layer.name, "a tensor as [layer, call, index]", repr(item)[:60])
            tensors.append(self._tensor(layer, cast("list[Any]", item)[:3]))
            if len(cast("list[Any]", item)) == 4:
                more = cast("list[Any]", item)[3]
                if not isinstance(more, dict):
                    raise self.fail(layer.name, "arguments by name", repr(more)[:60])
                for key, value in cast(Config, more).items():
                    keywords[key] = self._old_keyword(layer, value)
        return Call([tensors[0] if len(tensors) == 1 else tensors], keywords)

    def _old_keyword(self, layer: Layer, value: Any) -> Any:
        """An argument by name, which may be a tensor `[layer, call, index]`, or a list of such."""
        if isinstance(value, list):
            items = cast("list[Any]", value)
            if len(items) == 3 and isinstance(items[0], str) and all(isinstance(n, int) for n in items[1:]):
                return Tensor(items[0], items[1], items[2])
            return [self._old_keyword(layer, item) for item in items]
        return value

    def _tensor(self, layer: Layer, place: Any) -> Tensor:
        match place:
            case [str(name), int(call), int(index)] if call >= 0 and index >= 0:
                return Tensor(name, call, index)
            case _:
                raise self.fail(layer.name, "a tensor as [layer, call, index]", repr(place)[:60])

    def _argument(self, layer: Layer, value: Any, depth: int = 0) -> Any:
        """An argument of a call, with Tensors in it, and Python's values in the place of their descriptions."""
        if depth > _DEEPEST:
            raise self.fail(layer.name, f"arguments nested at most {_DEEPEST} deep", "deeper ones")
        if isinstance(value, list):
            return [self._argument(layer, item, depth + 1) for item in cast("list[Any]", value)]
        if not isinstance(value, dict):
            return value
        entries = cast(Config, value)
        config = entries.get("config")
        match entries.get("class_name"):
            case "__keras_tensor__":
                history = config.get("keras_history") if isinstance(config, dict) else None
                return self._tensor(layer, history)
            case "__tuple__":
                return self._argument(layer, config if config is not None else entries.get("items", []), depth + 1)
            case "__slice__" if isinstance(config, dict):
                return slice(*(config.get(key) for key in ("start", "stop", "step")))
            case "__ellipsis__":
                return ...
            case "__numpy__" | "__tensor__" if isinstance(config, dict):
                return Numbers(config.get("value"), str(config.get("dtype", "float32")))
            case None:
                return {key: self._argument(layer, item, depth + 1) for key, item in entries.items()}
            case _:
                return value

    def _places(self, layer: Layer, key: str) -> Any:
        """The tensors of inputs or outputs: one `[layer, call, index]`, or a nest of them."""
        return self._nest(layer, key, layer.config.get(key), 0)

    def _nest(self, layer: Layer, key: str, nest: Any, depth: int) -> Any:
        if depth > _DEEPEST:
            raise self.fail(layer.name, f"{key} nested at most {_DEEPEST} deep", "deeper ones")
        if isinstance(nest, dict):
            return {name: self._nest(layer, key, item, depth + 1) for name, item in cast(Config, nest).items()}
        if isinstance(nest, list):
            items = cast("list[Any]", nest)
            if len(items) == 3 and isinstance(items[0], str):
                return self._tensor(layer, items)
            return [self._nest(layer, key, item, depth + 1) for item in items]
        raise self.fail(layer.name, f"{key} as [layer, call, index] or lists of them", repr(nest)[:60])

    # Calls of models are counted from 1 in some places: there is one of their own before.

    def _count_from_0(self, layers: dict[str, Layer]) -> None:
        """Have the calls of inner models counted from 0 where others read them."""
        late = {name for name, inner in layers.items() if inner.is_model and self._late(layers, name)}
        if not late:
            return

        def earlier(nest: Any) -> Any:
            match nest:
                case Tensor(layer, call, index) if layer in late:
                    return Tensor(layer, call - 1, index)
                case list() | tuple() as items:
                    return [earlier(item) for item in cast("Sequence[Any]", items)]
                case dict() as entries:
                    return {key: earlier(item) for key, item in cast(Config, entries).items()}
                case _:
                    return nest

        for inner in layers.values():
            inner.calls = [Call(earlier(call.arguments), earlier(call.keywords)) for call in inner.calls]

    def _late(self, layers: dict[str, Layer], name: str) -> bool:
        read = {tensor.call for inner in layers.values() for call in inner.calls for tensor in call.tensors()
                if tensor.layer == name}
        return bool(read) and max(read) >= len(layers[name].calls) and 0 not in read

    def _counted(self, layer: Layer, layers: dict[str, Layer], nest: Any) -> Any:
        match nest:
            case Tensor(name, call, index) if name in layers and layers[name].is_model:
                late = layers[name].kind in FUNCTIONAL or call >= len(layers[name].calls)
                return Tensor(name, call - 1, index) if late and call > 0 else nest
            case list() as items:
                return [self._counted(layer, layers, item) for item in cast("list[Any]", items)]
            case dict() as entries:
                return {key: self._counted(layer, layers, item) for key, item in cast(Config, entries).items()}
            case _:
                return nest


_DEEPEST = 64


@dataclass(frozen=True)
class Numbers:
    """Numbers that an argument is."""

    value: Any
    dtype: str
