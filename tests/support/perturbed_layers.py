"""One weight changed: what differs in the artifact, and in the values between layers, has to be that layer's.

    network = Network(path, graph, {"x": array})
    assert_attributed(network, "conv1.weight")

A model is compiled as it is and with other numbers in one weight. Attribution is true if

- of the constants of the program exactly those differ whose locations name the weight of a layer that reads it, and no
  kernel differs;
- of the values that the debugger sees, on the same inputs, exactly those of the layers that read the weight, and of
  what is downstream of them in the graph of the file, differ.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from layer_graphs import LayerGraph
from numpy.typing import NDArray
from xdsl.dialects.builtin import LocationAttr, ModuleOp, NameLoc

import whence
from whence.compiler.formats import read_model
from whence.dialects.relay.core import ConstantOp
from whence.explorer.layers import functions, snapshot
from whence.explorer.value_walk import Walked, walk_values
from whence.frontends.importing.whole_models import import_model
from whence.lowering.kernel.printing import printed
from whence.lowering.kernel.slots import anonymous
from whence.provenance.span import leaves
from whence.support.context import PassContext

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Network:
    """A model, its graph as its file has it, and inputs, whose shapes those that it leaves open get."""

    source: Path | bytes
    graph: LayerGraph
    inputs: Mapping[str, Array]
    apart: bool = False
    """True for a kernel per operator: then all layers have values to be seen."""

    @cached_property
    def original(self) -> Compiled:
        """The network as it is."""
        return self.compiled({})

    @cached_property
    def weights(self) -> tuple[str, ...]:
        """The names of the weights of more than eight elements, not all the same.

        Others may be numbers in the code of kernels, or go: a bias of zeros adds nothing.
        """
        constants = read_model(self.source).region.constants
        return tuple(name for name in constants if constants[name].size > 8 and np.ptp(constants[name]))

    def compiled(self, changed: Mapping[str, Array]) -> Compiled:
        """Compile it with other values of some weights."""

        def read(*arguments: Any, **options: Any) -> Any:
            model = read_model(*arguments, **options)
            model.region.constants = Changed(model.region.constants, changed)
            return model

        shapes = {name: array.shape for name, array in self.inputs.items()}
        with (
            patch("whence.compiler.load.read_model", read),
            warnings.catch_warnings(),
            PassContext(config={"relay.FuseOps.max_depth": 1} if self.apart else {}),
        ):
            warnings.simplefilter("ignore")
            exe = whence.compile(self.source, threads=1, audit=True, shapes=shapes)
            return Compiled(exe, constants_of(import_model(read(self.source), shapes)), self.inputs)

    def perturbed(self, weight: str) -> Compiled:
        """Compile it with other numbers of the same kind in a weight."""
        return self.compiled({weight: other_numbers(read_model(self.source).region.constants[weight])})


class Changed(Mapping[str, Array]):
    """The constants of a model, some of them others."""

    def __init__(self, constants: Mapping[str, Array], changed: Mapping[str, Array]):
        self.constants, self.changed = constants, changed

    def __getitem__(self, name: str) -> Array:
        return self.changed[name] if name in self.changed else self.constants[name]

    def __contains__(self, name: object) -> bool:
        return name in self.constants

    def __iter__(self) -> Iterator[str]:
        return iter(self.constants)

    def __len__(self) -> int:
        return len(self.constants)


def other_numbers(array: Array) -> Array:
    """Other numbers, each different, of the dtype and about the size of those of an array."""
    rng = np.random.default_rng(5)
    if array.dtype.kind in "iu":
        # Every number moves, and none leaves the range that there was.
        low, high = int(array.min()), int(array.max())
        step = rng.integers(1, high - low + 1, array.shape) if high > low else 1
        return ((array.astype(np.int64) - low + step) % (high - low + 1) + low).astype(array.dtype)
    spread = float(np.std(array.astype(np.float64))) + 0.05
    factor = rng.uniform(0.3, 0.9, array.shape) * rng.choice([-1, 1], array.shape)
    moved = array.astype(np.float64) + spread * factor
    # What was positive may be a variance or a scale.
    return (np.abs(moved) + 0.01 * spread if (array > 0).all() else moved).astype(array.dtype)


class Constant(NamedTuple):
    """A constant of a main function."""

    leaves: frozenset[LocationAttr]
    array: Array


def constants_of(module: ModuleOp) -> list[Constant]:
    """The constants of the main function, in order."""
    ops = [op for op in functions(module)["main"].block.ops if isinstance(op, ConstantOp)]
    return [Constant(frozenset(leaves(op.location)), op.value(module)) for op in ops]


@dataclass(frozen=True, eq=False)
class Compiled:
    """A compiled network."""

    exe: whence.Executable
    imported: list[Constant]
    """The constants of the module before any pass."""
    inputs: Mapping[str, Array]

    @cached_property
    def constants(self) -> list[Constant]:
        """The constants of the program."""
        return constants_of(snapshot(self.exe.artifact, "fused"))

    def code(self) -> list[tuple[str, bytes]]:
        """The function that each kernel is made of, and its object."""
        module = snapshot(self.exe.artifact, "fused")
        texts = [printed(anonymous(func)) for name, func in functions(module).items() if name != "main"]
        return [*((text, b"") for text in texts), *((k.symbol, k.object) for k in self.exe.artifact.kernels)]

    @cached_property
    def values(self) -> dict[tuple[str, int], Array]:
        """Layer and number of its output -> its value, of those that are somewhere in memory."""
        values: dict[tuple[str, int], Array] = {}

        def visit(value: Walked) -> None:
            values[value.layer.name, value.output] = np.array(value.array)

        walk_values(self.exe.artifact, self.exe.runner, self.exe.pool, dict(self.inputs), visit)
        return values


def differing(before: list[Constant], after: list[Constant]) -> set[int]:
    """The numbers of the constants that differ; they stand in the same order, at the same locations."""
    assert [constant.leaves for constant in before] == [constant.leaves for constant in after]
    pairs = enumerate(zip(before, after, strict=True))
    return {number for number, (a, b) in pairs if a.array.tobytes() != b.array.tobytes()}


def wrong_constants(before: Compiled, after: Compiled, weight: str, readers: set[str]) -> list[str]:
    """Complaints about the artifact: constants that differ and do not name the weight, or name it and do not differ.

    readers: the layers that read the weight, by the graph.
    """
    imported = [before.imported[number] for number in differing(before.imported, after.imported)]
    moved = frozenset[LocationAttr]().union(*(constant.leaves for constant in imported))
    wrong = [f"a weight at {leaf}" for leaf in moved if not _names(leaf, weight, readers)]
    if not moved:
        wrong.append("no constant of the import differs")
    fused, changed = before.constants, differing(before.constants, after.constants)
    named = {number for number, constant in enumerate(fused) if constant.leaves & moved}
    shown = {number: sorted(map(str, constant.leaves)) for number, constant in enumerate(fused)}
    wrong += [f"constant {k} at {shown[k]} differs" for k in sorted(changed - named)]
    wrong += [f"constant {k} at {shown[k]} names the weight and does not differ" for k in sorted(named - changed)]
    params = zip(before.exe.artifact.params, after.exe.artifact.params, strict=True)
    if not any(not np.array_equal(a, b, equal_nan=True) for a, b in params):
        wrong.append("no parameter of the program differs")
    if before.code() != after.code():
        wrong.append("a kernel differs")
    return wrong


def _names(leaf: LocationAttr, weight: str, readers: set[str]) -> bool:
    """Return whether a leaf is a weight's: called as the weight is, or `<layer>.<weight>` of a layer that reads it."""
    assert isinstance(leaf, NameLoc)
    name = leaf.desc.data
    return name == weight or name in readers or any(name.startswith(f"{reader}.") for reader in readers)


def changed_layers(before: Compiled, after: Compiled) -> set[str]:
    """The layers that have a value in memory which differs."""
    assert before.values.keys() == after.values.keys()
    pairs = ((layer, before.values[layer, k], after.values[layer, k]) for layer, k in before.values)
    return {layer for layer, a, b in pairs if a.tobytes() != b.tobytes()}


def wrong_layers(before: Compiled, after: Compiled, graph: LayerGraph, readers: set[str]) -> list[str]:
    """Complaints about values: of layers that differ and are not downstream, or are and do not differ."""
    seen = {layer for layer, _ in before.values}
    expected, changed = graph.downstream(readers) & seen, changed_layers(before, after)
    wrong = [f"layer '{layer}' differs, which is not downstream" for layer in sorted(changed - expected)]
    wrong += [f"layer '{layer}' is downstream and does not differ" for layer in sorted(expected - changed)]
    return wrong


def complaints(network: Network, weight: str, after: Compiled) -> list[str]:
    """Complaints about a network in which one weight differs."""
    layers = network.graph.readers(weight)
    assert layers, f"no layer reads {weight}"
    wrong = wrong_constants(network.original, after, weight, layers)
    return [*wrong, *wrong_layers(network.original, after, network.graph, layers)]


def assert_attributed(network: Network, weight: str) -> None:
    """Change a weight, and complain of whatever differs that should not, or does not and should."""
    wrong = complaints(network, weight, network.perturbed(weight))
    assert not wrong, f"{weight}, which {sorted(network.graph.readers(weight))} read: {'; '.join(wrong)}"
