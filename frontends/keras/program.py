"""The calls of layers as steps, each after those that it reads; inner models are put in their place.

A layer is called what the user called it: `conv`, of an inner model `outer/conv`; a second call is `conv#1`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...provenance.span import layer_location
from ...runtime.flow import Region, Step
from .archive import Saved
from .context import Node, Reference
from .layers import INPUT, Graph, Layer, Reader, Tensor, tensors_in
from .nests import entries_of, items_of, leaves, replaced, whole
from .weights import Attributed, Constants, Named, Place, Store, Variables

_DEEPEST = 64
"""Models inside each other: each is part of the names inside."""
_MOST = 1_000_000
"""Steps of a program: models that call models twice double what a few lines stand for."""


@dataclass(frozen=True)
class InputInfo:
    """An input of the model: its shape, with None where that is open, and dtype."""

    name: str
    shape: tuple[int | None, ...]
    dtype: str


@dataclass(eq=False)
class Instance:
    """A model that is called."""

    graph: Graph
    scope: str
    """The prefix of the names of its layers."""
    home: str
    """The same, without the number of the call: weights are those of the layer."""
    position: Place
    depth: int


class Builder:
    """Makes the steps of a model."""

    def __init__(self, saved: Saved, variables: Callable[[Layer], Sequence[Variables]]):
        """variables: of a layer; raises ValueError for a configuration that makes no sense."""
        self.saved, self.file = saved, saved.file
        self.reader = Reader(saved.file)
        self.store: Store = Named(saved.weights) if saved.legacy else Attributed(saved.weights)
        self.constants = Constants(saved.weights)
        self.variables = variables
        self.steps: list[Step] = []
        self.inputs: dict[str, InputInfo] = {}
        self._names: set[str] = set()

    def main(self, model: Layer) -> Region:
        """Return the region of a model that is none of another's layers."""
        graph = self.reader.graph(model)
        inputs = [self._input(graph, tensor) for tensor in tensors_in(graph.inputs)]
        self.inputs = {info.name: info for info in inputs}
        self._names |= set(self.inputs)
        entering = [info.name for info in inputs]
        outputs = self._run(Instance(graph, "", "", Place((), _siblings(graph)), 0), entering)
        names = tuple(leaves(outputs, str))
        if not names:
            raise self.reader.fail(model.name, "a model with at least one output", "none")
        return Region(tuple(entering), names, self.steps, self.constants)

    def _input(self, graph: Graph, tensor: Tensor) -> InputInfo:
        layer = graph.layers.get(tensor.layer)
        if layer is None or layer.kind != INPUT:
            raise self.reader.fail(tensor.layer, "an InputLayer as input", "none" if layer is None else layer.kind)
        shape = layer.config.get("batch_shape", layer.config.get("batch_input_shape"))
        dtype = layer.config.get("dtype") or "float32"
        if layer.config.get("sparse") or layer.config.get("ragged"):
            raise self.reader.fail(layer.name, "a dense input", "a sparse or ragged one")
        extents = items_of(shape)
        if extents is None or any(n is not None and (whole(n) is None or n < 0) for n in extents):
            raise self.reader.fail(layer.name, "a shape of the input", repr(shape)[:60])
        if not isinstance(dtype, str):
            raise self.reader.fail(layer.name, "a dtype of the input", repr(dtype)[:60])
        return InputInfo(layer.name, tuple(extents), dtype)

    def _run(self, instance: Instance, entering: Sequence[str]) -> Any:
        """Add the steps of a model whose inputs are tensors of these names; return the nest of its outputs."""
        graph = instance.graph
        if instance.depth > _DEEPEST:
            raise self.reader.fail(graph.name, f"at most {_DEEPEST} models inside each other", "more")
        entries = list(tensors_in(graph.inputs))
        if len(entries) != len(entering):
            raise self.reader.fail(instance.scope.rstrip("/"), f"{len(entries)} inputs", str(len(entering)))
        results: dict[tuple[str, int], list[str]] = {
            (entry.layer, 0): [name] for entry, name in zip(entries, entering, strict=True)
        }
        wanted = _counts(graph)

        def name_of(tensor: Tensor) -> str:
            names = results[tensor.layer, tensor.call]
            if tensor.index >= len(names):
                owner = instance.scope + tensor.layer
                raise self.reader.fail(owner, f"an output {tensor.index}", f"{len(names)} outputs")
            return names[tensor.index]

        for layer, at in self._ordered(graph, set(results)):
            call = layer.calls[at]
            name = f"{layer.name}#{at}" if at else layer.name
            if layer.is_model:
                inner = self.reader.graph(layer)
                position = instance.position.inside(layer.name, _siblings(inner))
                scope, home = f"{instance.scope}{name}/", f"{instance.home}{layer.name}/"
                inside = Instance(inner, scope, home, position, instance.depth + 1)
                nest = call.arguments[0] if call.arguments else call.keywords.get("inputs")
                outputs = self._run(inside, [name_of(tensor) for tensor in self._matched(inner, nest)])
                results[layer.name, at] = list(leaves(outputs, str))
            else:
                results[layer.name, at] = self._step(
                    instance, layer, name, call.arguments, call.keywords, name_of, wanted[layer.name, at]
                )
        return self._named(graph, results)

    def _matched(self, inner: Graph, nest: Any) -> list[Tensor]:
        """The tensors that a call of a model gives to its inputs, in their order; those of a map by name."""
        by_name, own = entries_of(nest), entries_of(inner.inputs)
        if by_name is not None:
            names = [tensor.layer for tensor in tensors_in(inner.inputs)] if own is None else list(own)
            if set(names) == set(by_name):
                return list(tensors_in([by_name[name] for name in names]))
        return list(tensors_in(nest))

    def _named(self, graph: Graph, results: Mapping[tuple[str, int], list[str]]) -> Any:
        """The outputs of a model as the names of tensors."""

        def name_of(tensor: Tensor) -> str:
            names = results.get((tensor.layer, tensor.call), [])
            if tensor.index >= len(names):
                missing_output = f"{tensor.layer}:{tensor.call}:{tensor.index}"
                raise self.reader.fail(graph.name, "outputs of its layers", missing_output)
            return names[tensor.index]

        return replaced(graph.outputs, Tensor, name_of)

    def _ordered(self, graph: Graph, inputs_of: set[tuple[str, int]]) -> Iterator[tuple[Layer, int]]:
        """The calls of a model, each after those whose results it reads; in the order of the file where that is one."""
        calls = [(layer, at) for layer in graph.layers.values() for at in range(len(layer.calls))]
        keys = {(layer.name, at) for layer, at in calls} | inputs_of
        readers: dict[tuple[str, int], list[int]] = {}
        missing: list[int] = []
        for number, (layer, at) in enumerate(calls):
            needs = {(tensor.layer, tensor.call) for tensor in layer.calls[at].tensors()}
            if unknown := needs - keys:
                name, call = min(unknown)
                raise self.reader.fail(layer.name, "inputs from layers of the model", f"call {call} of '{name}'")
            needs -= inputs_of
            missing.append(len(needs))
            for need in needs:
                readers.setdefault(need, []).append(number)
        ready = [number for number in reversed(range(len(calls))) if not missing[number]]
        done = 0
        while ready:
            layer, at = calls[ready.pop()]
            done += 1
            if (layer.name, at) in inputs_of:
                continue
            yield layer, at
            freed: list[int] = []
            for number in readers.get((layer.name, at), []):
                missing[number] -= 1
                if not missing[number]:
                    freed.append(number)
            ready.extend(reversed(freed))
        if done < len(calls):
            waiting = next(layer.name for number, (layer, _) in enumerate(calls) if missing[number])
            raise self.reader.fail(waiting, "layers in some order", "ones that wait for each other")

    def _step(
        self,
        instance: Instance,
        layer: Layer,
        name: str,
        arguments: Sequence[Any],
        keywords: Mapping[str, Any],
        name_of: Callable[[Tensor], str],
        outputs: int,
    ) -> list[str]:
        """Add the step of a call; return the names of its outputs."""
        full = instance.scope + name
        inputs: list[str] = []

        def referred(tensor: Tensor) -> Reference:
            inputs.append(name_of(tensor))
            return Reference(len(inputs) - 1)

        positional = replaced(list(arguments), Tensor, referred)
        by_name = replaced(dict(keywords), Tensor, referred)
        weights: dict[str, int] = {}
        for weight, full_name in self._weights(instance, layer):
            weights[weight] = len(inputs)
            inputs.append(full_name)
        index = len(self.steps)
        if index >= _MOST:
            raise self.reader.fail(full, f"a program of at most {_MOST} steps", "more")
        node = Node(
            op_type=layer.kind,
            leaf=layer_location(full, self.file, index),
            layer=full,
            index=index,
            config=layer.config,
            arguments=positional,
            keywords=by_name,
            weights=weights,
            major=self.saved.major,
            is_layer=not layer.is_operation,
            names=layer.names,
        )
        names = [full, *(f"{full}:{at}" for at in range(1, outputs))]
        for output in names:
            if output in self._names:
                raise self.reader.fail(full, "layers of different names", f"two tensors called '{output}'")
            self._names.add(output)
        self.steps.append(Step(tuple(inputs), tuple(names), full, source=node))
        return names

    def _weights(self, instance: Instance, layer: Layer) -> Iterator[tuple[str, str]]:
        """The weights of a layer, by their names in the layer and in the whole model."""
        try:
            variables = self.variables(layer)
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            wanted = f"the configuration of a {layer.kind}"
            raise self.reader.fail(instance.home + layer.name, wanted, str(error)) from error
        for weight, dataset in self.store.find(instance.position, layer.name, variables).items():
            full = f"{instance.home}{layer.name}.{weight}"
            self.constants.datasets[full] = dataset
            yield weight, full


def _siblings(graph: Graph) -> tuple[tuple[str, str], ...]:
    return tuple((layer.name, layer.kind) for layer in graph.layers.values() if not layer.is_operation)


def _counts(graph: Graph) -> dict[tuple[str, int], int]:
    """The number of outputs of each call that are read."""
    counts = {(layer.name, at): 1 for layer in graph.layers.values() for at in range(len(layer.calls))}
    calls = [call for layer in graph.layers.values() for call in layer.calls]
    for tensor in [*(t for call in calls for t in call.tensors()), *tensors_in(graph.outputs)]:
        key = tensor.layer, tensor.call
        counts[key] = max(counts.get(key, 1), tensor.index + 1)
    return counts
