"""Makes steps of the calls of layers, each after those that it reads; the steps of inner models replace their calls.

A layer keeps the name that its author gave it: `conv`, in an inner model `outer/conv`; its second call is `conv#1`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from ...provenance.span import layer_location
from ...runtime.interpreting.flow import Region, Step
from ..importing.constants import Constants, held
from ..importing.results import Stated
from .archive import Saved
from .context import Node, Reference
from .execution_order import execution_order, removals
from .kept_states import InputInfo, KeptStates, is_stateful
from .layers import INPUT, Call, Graph, Layer, Reader, Tensor, tensors_in
from .masks import OWNERS, Masks
from .nests import entries_of, items_of, leaves, replaced, whole
from .noise import trains_otherwise
from .rows import Carried
from .weights import Attributed, Named, Place, Store, Variables

AnswerT = TypeVar("AnswerT")
_DEEPEST = 64
"""The greatest depth of models inside each other; each lengthens the names inside."""
_MOST = 1_000_000
"""The greatest number of steps, which nested models that call each other twice double again and again."""


@dataclass(eq=False)
class Instance:
    """A model that is called."""

    graph: Graph
    scope: str
    """The prefix of the names of its layers."""
    home: str
    """The scope without the numbers of calls, because all calls of a layer share its weights."""
    position: Place
    depth: int
    unmasked: frozenset[str] = frozenset()
    """The names of inputs whose masks were taken off before the call."""


@dataclass(frozen=True, eq=False)
class Reading:
    """A call and the tensors that it reads."""

    call: Call
    name_of: Callable[[Tensor], str]
    mask_of: Callable[[Tensor], str | None]
    """The name of the mask that a tensor has when the call runs; None without one."""
    stated: Sequence[Stated]
    """The types of its outputs that are read, where the file states them."""


class Builder:
    """Makes the steps of a model."""

    def __init__(
        self,
        saved: Saved,
        variables: Callable[[Layer], Sequence[Variables]],
        masks: Callable[[Layer], Masks],
        carried: Callable[[Layer], Carried | None],
        keep: bool,
    ):
        """Begin with a file. The callbacks describe a layer by its configuration.

        variables, carried: the weights and states of a layer; raise ValueError for a nonsensical configuration.
        keep: whether states of layers are inputs and outputs of the program; else each of its calls begins anew.
        """
        self.saved, self.file = saved, saved.file
        self.reader = Reader(saved.file)
        self.store: Store = Named(saved.weights) if saved.legacy else Attributed(saved.weights)
        self.constants = Constants()
        self.variables, self.masks, self.carried = variables, masks, carried
        self.steps: list[Step] = []
        self.inputs: dict[str, InputInfo] = {}
        self._names: set[str] = set()
        self.kept, self.keep = KeptStates(saved.file), keep
        self._in_order = is_stateful(saved.config)
        self._calls = 0
        self._mask_of: dict[str, str] = {}
        """Tensor -> its mask, by names."""

    def main(self, model: Layer) -> Region:
        """Return the region of the outermost model."""
        graph = self.reader.graph(model)
        inputs = [self._input(graph, tensor) for tensor in tensors_in(graph.inputs)]
        self.inputs = {info.name: info for info in inputs}
        self._names |= set(self.inputs)
        input_names = [info.name for info in inputs]
        outputs = self._run(Instance(graph, "", "", Place((), _siblings(graph)), 0), input_names)
        names = tuple(leaves(outputs, str))
        if not names:
            raise self.reader.fail(model.name, "a model with at least one output", "none")
        if self.keep:
            self.inputs |= {info.name: info for info in self.kept.inputs}
            input_names += [state.name for state in self.kept.states]
            names = (*names, *(state.next for state in self.kept.states))
        else:
            self.constants.sources |= {state.name: held(state.initial) for state in self.kept.states}
        return Region(tuple(input_names), names, _read(self.steps, names), self.constants)

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

    def _run(self, instance: Instance, input_names: Sequence[str]) -> Any:
        """Add the steps of a model whose inputs have these names; return the nest of its outputs."""
        graph = instance.graph
        if instance.depth > _DEEPEST:
            raise self.reader.fail(graph.name, f"at most {_DEEPEST} models inside each other", "more")
        entries = list(tensors_in(graph.inputs))
        if len(entries) != len(input_names):
            raise self.reader.fail(instance.scope.rstrip("/"), f"{len(entries)} inputs", str(len(input_names)))
        results: dict[tuple[str, int], list[str]] = {
            (entry.layer, 0): [name] for entry, name in zip(entries, input_names, strict=True)
        }
        output_counts = _counts(graph)

        def name_of(tensor: Tensor) -> str:
            names = results[tensor.layer, tensor.call]
            if tensor.index >= len(names):
                owner = instance.scope + tensor.layer
                raise self.reader.fail(owner, f"an output {tensor.index}", f"{len(names)} outputs")
            return names[tensor.index]

        removed = removals(graph, self._takers(graph))
        order = execution_order(graph) if removed or self._in_order else {}
        calls = self._ordered(graph, set(results))
        if self._in_order:
            # The second call of a stateful layer continues from the call that Keras runs first.
            calls = sorted(calls, key=lambda call: order.get((call[0].name, call[1]), len(order)))
        for layer, at in calls:
            call, run_time = layer.calls[at], order.get((layer.name, at), 0)

            def mask_of(tensor: Tensor, run_time: int = run_time) -> str | None:
                tensor_name = name_of(tensor)
                is_removed = tensor_name in instance.unmasked or removed.get(tensor, run_time) < run_time
                return None if is_removed else self._mask_of.get(tensor_name)

            name = f"{layer.name}#{at}" if at else layer.name
            if call.keywords.get("training") is True and (layer.is_model or trains_otherwise(layer.kind, layer.config)):
                output_counts = f"a {layer.kind} called for inference"
                raise self.reader.fail(instance.scope + name, output_counts, "a call with training=True")
            if layer.is_model:
                inner = self.reader.graph(layer)
                position = instance.position.inside(layer.name, _siblings(inner))
                scope, home = f"{instance.scope}{name}/", f"{instance.home}{layer.name}/"
                nest = call.arguments[0] if call.arguments else call.keywords.get("inputs")
                if any(True for _ in tensors_in(call.keywords.get("mask"))):
                    raise self.reader.fail(instance.scope + name, "a model called without a mask of its own", "one")
                tensors = self._matched(inner, nest)
                unmasked = frozenset(name_of(tensor) for tensor in tensors if mask_of(tensor) is None)
                inside = Instance(inner, scope, home, position, instance.depth + 1, unmasked)
                outputs = self._run(inside, [name_of(tensor) for tensor in tensors])
                results[layer.name, at] = list(leaves(outputs, str))
            else:
                outputs_read = (Tensor(layer.name, at, k) for k in range(output_counts[layer.name, at]))
                stated = [graph.stated.get(tensor, Stated()) for tensor in outputs_read]
                reading = Reading(call, name_of, mask_of, stated)
                results[layer.name, at] = self._step(instance, layer, name, reading)
        return self._named(graph, results)

    def _matched(self, inner: Graph, nest: Any) -> list[Tensor]:
        """Return the arguments for the inputs of a called model, in their order; those in a map match by name."""
        by_name, declared = entries_of(nest), entries_of(inner.inputs)
        if by_name is not None:
            names = [tensor.layer for tensor in tensors_in(inner.inputs)] if declared is None else list(declared)
            if set(names) == set(by_name):
                return list(tensors_in([by_name[name] for name in names]))
        return list(tensors_in(nest))

    def _named(self, graph: Graph, results: Mapping[tuple[str, int], list[str]]) -> Any:
        """Return the outputs of a model as the names of tensors."""

        def name_of(tensor: Tensor) -> str:
            names = results.get((tensor.layer, tensor.call), [])
            if tensor.index >= len(names):
                missing_output = f"{tensor.layer}:{tensor.call}:{tensor.index}"
                raise self.reader.fail(graph.name, "outputs of its layers", missing_output)
            return names[tensor.index]

        return replaced(graph.outputs, Tensor, name_of)

    def _ordered(self, graph: Graph, inputs_of: set[tuple[str, int]]) -> Iterator[tuple[Layer, int]]:
        """Yield the calls of a model, each after those whose results it reads, else in the order of the file."""
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

    def _takers(self, graph: Graph) -> dict[tuple[str, int], list[Tensor]]:
        """Return the tensors that each call takes the masks off, by a layer of its own or of an inner model."""
        takers: dict[tuple[str, int], list[Tensor]] = {}
        for layer in graph.layers.values() if self.saved.major >= 3 else ():
            inner = self.reader.graph(layer) if layer.is_model else None
            inside = {} if inner is None else removals(inner, self._takers(inner))
            for at, call in enumerate(layer.calls):
                if inner is not None:
                    nest = call.arguments[0] if call.arguments else call.keywords.get("inputs")
                    pairs = zip(tensors_in(inner.inputs), self._matched(inner, nest), strict=False)
                    read = [tensor for entry, tensor in pairs if entry in inside]
                else:
                    values = (call.argument(position, owner) for position, owner in enumerate(OWNERS))
                    read = list(tensors_in(list(values))) if self.masks(layer).takes else []
                if read:
                    takers[layer.name, at] = read
        return takers

    def _step(self, instance: Instance, layer: Layer, name: str, reading: Reading) -> list[str]:
        """Add the step of a call, and a step for the mask of its output; return the names of its outputs."""
        call, name_of = reading.call, reading.name_of
        full = instance.scope + name
        inputs: list[str] = []

        def referred(tensor: Tensor) -> Reference:
            inputs.append(name_of(tensor))
            return Reference(len(inputs) - 1)

        positional = replaced(list(call.arguments), Tensor, referred)
        by_name = replaced(dict(call.keywords), Tensor, referred)
        masks = self.masks(layer)

        def masked(tensor: Tensor) -> Reference | None:
            mask = reading.mask_of(tensor)
            if mask is None:
                return None
            inputs.append(mask)
            return Reference(len(inputs) - 1)

        for argument, nest in self._populated(call, masks):
            filled = replaced(nest, Tensor, masked)
            if any(True for _ in leaves(filled, Reference)):
                by_name[argument] = filled
        carried = self._of_layer(instance, layer, self.carried)
        states = range(len(inputs), len(inputs) + (0 if carried is None else len(carried.widths)))
        if carried is not None:
            inputs += self.kept.read(instance.home + layer.name, carried, layer.config, self.inputs)
        weights: dict[str, int] = {}
        for weight, full_name in self._weights(instance, layer):
            weights[weight] = len(inputs)
            inputs.append(full_name)
        index, self._calls = self._calls, self._calls + 1
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
            results=reading.stated,
            states=states,
        )
        results = len(reading.stated) if carried is None else carried.results + len(carried.widths)
        names = [full, *(f"{full}:{at}" for at in range(1, results))]
        if carried is not None:
            self.kept.write(instance.home + layer.name, names[carried.results :])
        self._claim(full, names)
        self.steps.append(Step(tuple(inputs), tuple(names), full, source=node))
        own_masks = [reading.mask_of(tensor) for tensor in tensors_in(_first(call))]
        if masks.computed is not None and masks.condition(layer.config, [mask is not None for mask in own_masks]):
            mask = f"{full}.mask"
            self._claim(full, [mask])
            self.steps.append(Step(tuple(inputs), (mask,), full, source=replace(node, is_mask=True, results=())))
            self._mask_of[names[0]] = mask
        own = call.keywords.get("mask") if "mask" in masks.reads else None
        explicit = next(tensors_in(own), None)
        kept = name_of(explicit) if explicit is not None else own_masks[0] if own_masks else None
        if kept is not None:
            self._mask_of |= dict.fromkeys(names[: masks.kept(layer.config)], kept)
        return names

    def _claim(self, layer: str, names: Sequence[str]) -> None:
        """Reserve names of tensors; raises FrontendError for a name that is taken."""
        for name in names:
            if name in self._names:
                raise self.reader.fail(layer, "layers of different names", f"two tensors called '{name}'")
            self._names.add(name)

    def _populated(self, call: Call, masks: Masks) -> Iterator[tuple[str, Any]]:
        """Yield the arguments in which Keras passes masks to a call, each with the tensors that the masks belong to.

        Since Keras 3 `mask` is given only where no other argument has tensors.
        """
        first, *others = [*call.arguments, *call.keywords.values()] or [None]
        for argument, at in masks.reads.items():
            if call.argument(at, argument) is not None:
                continue
            if argument != "mask":
                owner = argument.removesuffix("_mask")
                yield argument, call.argument(OWNERS.index(owner), owner)
            elif self.saved.major < 3 or not any(True for _ in tensors_in(others)):
                yield argument, first

    def _of_layer(self, instance: Instance, layer: Layer, question: Callable[[Layer], AnswerT]) -> AnswerT:
        """Return a callback's answer about a layer; raises FrontendError for a nonsensical configuration."""
        try:
            return question(layer)
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            expected = f"the configuration of a {layer.kind}"
            raise self.reader.fail(instance.home + layer.name, expected, str(error)) from error

    def _weights(self, instance: Instance, layer: Layer) -> Iterator[tuple[str, str]]:
        """Yield the names of a layer's weights in the layer and in the whole model."""
        variables = self._of_layer(instance, layer, self.variables)
        for weight, dataset in self.store.find(instance.position, layer.name, variables).items():
            full = f"{instance.home}{layer.name}.{weight}"
            self.constants.sources[full] = partial(self.saved.weights.array, dataset, f"weight '{full}'")
            yield weight, full


def _first(call: Call) -> Any:
    """Return the first argument of a call."""
    return next(iter((*call.arguments, *call.keywords.values())), None)


def _read(steps: Sequence[Step], outputs: Sequence[str]) -> list[Step]:
    """Return the steps without those of unread masks."""
    read, kept = set(outputs), list[Step]()
    for step in reversed(steps):
        if not (isinstance(step.source, Node) and step.source.is_mask and step.outputs[0] not in read):
            read.update(step.inputs)
            kept.append(step)
    return kept[::-1]


def _siblings(graph: Graph) -> tuple[tuple[str, str], ...]:
    return tuple((layer.name, layer.kind) for layer in graph.layers.values() if not layer.is_operation)


def _counts(graph: Graph) -> dict[tuple[str, int], int]:
    """Return the number of outputs of each call that are read."""
    counts = {(layer.name, at): 1 for layer in graph.layers.values() for at in range(len(layer.calls))}
    calls = [call for layer in graph.layers.values() for call in layer.calls]
    for tensor in [*(t for call in calls for t in call.tensors()), *tensors_in(graph.outputs)]:
        key = tensor.layer, tensor.call
        counts[key] = max(counts.get(key, 1), tensor.index + 1)
    return counts
