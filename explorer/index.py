"""The tables that answers about a compiled model are looked up in: made in one walk, for one question or for all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Operation

from ..dialects.relay.core import CallOp, ConstantOp, FuncOp
from ..lowering.kernel.record import Kernel
from ..passes.functions import COMPILER, text_of
from ..planning.artifact import Artifact
from ..provenance.ledger import Entry
from ..provenance.span import layer_names, leaves
from ..support.errors import FrontendError
from .code import kernel_of, llvm_lines, machine_lines, stages_of
from .layers import Layer, all_leaves, functions, layers_of, op_types, owners, snapshot, unknown


@dataclass(frozen=True)
class Param:
    """A constant of the compiled model that carries a layer."""

    name: str
    type: str
    calls: tuple[str, ...]
    """The calls that read it."""


@dataclass(frozen=True)
class KernelParts:
    """For each slot of a kernel, the lines and instructions that serve it."""

    stages: Mapping[int, tuple[str, ...]]
    lines: Mapping[int, Sequence[int]]
    text: Sequence[str]
    """The lines from line 1 on."""
    llvm: Counter[int]
    """LLVM instructions by line, and below machine instructions: all, and those whose line is inferred."""
    native: Counter[int]
    inferred: Counter[int]
    totals: tuple[int, int]
    """All LLVM instructions, and all machine instructions."""

    @staticmethod
    def of(kernel: Kernel, func: FuncOp) -> KernelParts:
        """func: a primitive function that the kernel computes."""
        lines: dict[int, list[int]] = {}
        for number, behind in enumerate(kernel.lines, 1):
            for slot in behind:
                lines.setdefault(slot, []).append(number)
        llvm, native = llvm_lines(kernel), machine_lines(kernel)
        inferred = machine_lines(kernel, exact=False)
        totals = llvm.total(), native.total()
        return KernelParts(
            stages=stages_of(func),
            lines=lines,
            text=kernel.tir.splitlines(),
            llvm=llvm,
            native=native,
            inferred=inferred,
            totals=totals,
        )


class Index:
    """The layers of a compiled model, and where they went; all tables are made when they are first needed."""

    def __init__(self, artifact: Artifact):
        self.artifact = artifact
        self._parts: dict[int, KernelParts] = {}
        self._ops: dict[str, tuple[Operation, ...]] = {}
        self._into: dict[int, tuple[str, ...]] = {}
        """By the identity of an entry of the ledger, which the artifact keeps."""

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """Return the result of `layers_of`."""
        return layers_of(self.artifact)

    @cached_property
    def types(self) -> Mapping[LocationAttr, str]:
        """Return the result of `op_types`."""
        return op_types(self.artifact)

    @cached_property
    def owners(self) -> Mapping[LocationAttr, Layer]:
        """Return the result of `owners`."""
        return owners(self.artifact)

    @cached_property
    def leaves(self) -> Mapping[Layer, Sequence[LocationAttr]]:
        """Layer -> its leaf, and those of its tensors."""
        of_layer: dict[Layer, list[LocationAttr]] = {}
        for leaf, layer in self.owners.items():
            of_layer.setdefault(layer, []).append(leaf)
        return of_layer

    @cached_property
    def functions(self) -> Mapping[str, FuncOp]:
        """The functions of the fused module by name."""
        return functions(snapshot(self.artifact, "fused"))

    @cached_property
    def slots(self) -> Mapping[LocationAttr, Mapping[int, Sequence[int]]]:
        """Leaf -> number of a call -> the slots that serve it there."""
        serving: dict[LocationAttr, dict[int, list[int]]] = {}
        for number, call in enumerate(self.artifact.calls):
            for slot, location in enumerate(call.layers):
                for leaf in leaves(location):
                    serving.setdefault(leaf, {}).setdefault(number, []).append(slot)
        return serving

    @cached_property
    def params(self) -> Mapping[LocationAttr, Sequence[Param]]:
        """Leaf -> the constants of the fused module that carry it; those that external compilers took included."""
        carrying: dict[LocationAttr, list[Param]] = {}
        for name, func in self.functions.items():
            if name == "main" or text_of(func, COMPILER):
                for op in func.block.ops:
                    if isinstance(op, ConstantOp):
                        param = Param(_name(op), str(op.result.type), (name,) if name != "main" else _readers(op))
                        for leaf in leaves(op.location):
                            carrying.setdefault(leaf, []).append(param)
        return carrying

    @cached_property
    def positions(self) -> Mapping[int, int]:
        """Identity of a call -> its number."""
        return {id(call): number for number, call in enumerate(self.artifact.calls)}

    @cached_property
    def _named(self) -> Mapping[str, Sequence[Layer]]:
        named: dict[str, list[Layer]] = {}
        for layer in self.layers:
            named.setdefault(layer.name, []).append(layer)
        return named

    @cached_property
    def _tensors(self) -> Sequence[Layer]:
        return [Layer.of(leaf) for leaf in all_leaves(self.artifact)]

    def find(self, name: str) -> tuple[Layer, ...]:
        """The layers called `name` (names need not be unique), or else the tensors, or what the source calls so.

        Raises FrontendError for an unknown name.
        """
        if matches := self._named.get(name):
            return tuple(matches)
        if tensors := tuple(layer for layer in self._tensors if layer.name == name):
            return tensors
        aliases = self.artifact.ledger.aliases
        # Keras has slashes in the paths of its variables, and dots between the same names elsewhere.
        if called := aliases.get(name) or aliases.get(name.replace("/", ".")):
            own = {layer.leaf: layer for layer in self.layers}
            return tuple(own.get(leaf) or Layer.of(leaf) for leaf in called)
        tensors = [*(layer.name for layer in self._tensors), *aliases]
        raise FrontendError(unknown("layer", name, [layer.name for layer in self.layers], tensors))

    def into(self, entry: Entry) -> Sequence[str]:
        """The names of the layers that what came of an event serves."""
        if id(entry) not in self._into:
            self._into[id(entry)] = unique_names(entry.after)
        return self._into[id(entry)]

    def ops(self, function: str) -> Sequence[Operation]:
        """The ops of a function of the fused module, by slot."""
        if function not in self._ops:
            self._ops[function] = tuple(self.functions[function].block.ops)
        return self._ops[function]

    def parts(self, kernel: int, function: str) -> KernelParts:
        """The parts of kernel number `kernel`, which computes a function of the fused module."""
        if kernel not in self._parts:
            self._parts[kernel] = KernelParts.of(kernel_of(self.artifact, kernel), self.functions[function])
        return self._parts[kernel]


def unique_names(locations: Iterable[LocationAttr]) -> tuple[str, ...]:
    """The names of the layers behind several locations, each once, in order."""
    return tuple(dict.fromkeys(name for location in locations for name in layer_names(location)))


def _readers(op: ConstantOp) -> tuple[str, ...]:
    """The functions whose calls read a constant."""
    users = [use.operation for use in op.result.uses]
    return tuple(user.callee.string_value() for user in users if isinstance(user, CallOp))


def _name(op: ConstantOp) -> str:
    return op.key.data if op.key is not None else (op.result.name_hint or "literal")
