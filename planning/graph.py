"""A compiled model as a graph: TVM's nodes and names, with the storage ids of a plan of its own."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects.builtin import StringAttr

from ..dialects.relay.core import FuncOp
from ..dialects.relay.operator import Operator
from ..lowering.kernel.record import Kernel
from ..runtime.program.graph import NOP, Entry, Graph, Node, Ref
from ..runtime.program.program import Slot
from ..runtime.program.random_state import STATE
from ..runtime.program.sizes import SizedSpec
from ..runtime.values.tensors import TensorSpec
from ..support.dtypes import Array
from .artifact import Artifact, Call
from .storage import storage_ids

_HASH = re.compile(r"_[0-9a-f]{8}$")
_VIEWS = frozenset(
    f"relay.{name}" for name in ("reshape", "contrib_reverse_reshape", "squeeze", "expand_dims", "nn.batch_flatten")
)
"""Operators whose result has the elements of their argument in the same order."""


@dataclass(frozen=True)
class GraphPlan:
    """A graph, and what its names stand for."""

    graph: Graph
    params: dict[str, Array]
    """Argument -> its value."""
    functions: dict[str, int]
    """Function -> the number of its kernel."""
    calls: dict[str, int]
    """Node -> the number of the call that it is."""
    sizes: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    """Function -> the sizes that its kernel is called with, of a program with numbers for all sizes."""


def graph_plan(artifact: Artifact, name: str = "default") -> GraphPlan:
    """The graph of a compiled model.

    Its inputs come first, then calls in their order, each after the constants that it is the first to read: `p0`, `p1`
    and so on. A function is `tvmgen_<name>_fused_<operators>`, a node the function, both with a number where the name
    is taken. A call that changes nothing but the shape of what another call made is a node `reshape_nop`.
    Of a program for all sizes entries have -1 and the texts of sizes, and storage ids that say nothing.
    """
    return _Builder(artifact, name).plan()


class _Builder:
    def __init__(self, artifact: Artifact, name: str):
        self.artifact = artifact
        self.prefix = f"tvmgen_{name}_"
        self.nodes: list[Node] = []
        self.specs: list[tuple[TensorSpec, ...]] = []
        self.places: dict[Slot, Ref] = {}
        """The last write of each slot."""
        self.names = _Names()
        self.params: dict[str, Array] = {}
        self.functions: dict[tuple[int, tuple[int, ...]], str] = {}
        """By kernel, and the sizes that it is called with."""
        self.function_names = _Names()
        self.calls: dict[str, int] = {}
        self.attributes: dict[str, dict[str, str]] = {}
        self.fused = {
            op.sym_name.data: op
            for snapshot in artifact.snapshots
            if snapshot.stage == "fused"
            for op in snapshot.module.ops
            if isinstance(op, FuncOp)
        }

    def plan(self) -> GraphPlan:
        program = self.artifact.program
        for position, spec in enumerate(program.inputs):
            self._argument(spec.name, spec, Slot("io", position))
        for position, call in enumerate(self.artifact.calls):
            self._call(position, call)
        heads: list[Ref] = []
        copied = {copy.target: copy.source for copy in program.copies}
        for position, spec in enumerate(program.outputs, len(program.inputs)):
            slot = copied.get(Slot("io", position), Slot("io", position))
            heads.append(self._ref(slot, spec))
        sizes = [[spec.nbytes for spec in specs] for specs in self.specs]
        storages = storage_ids(self.nodes, sizes, heads)
        specs = [spec for specs in self.specs for spec in specs]
        entries = tuple(
            Entry(s.shape, s.dtype.name, number, texts=s.texts if isinstance(s, SizedSpec) else ())
            for s, number in zip(specs, storages, strict=True)
        )
        arguments = tuple(position for position, node in enumerate(self.nodes) if node.is_argument)
        graph = Graph(tuple(self.nodes), arguments, tuple(heads), entries)
        kernels = {name: kernel for (kernel, _), name in self.functions.items()}
        sizes = {name: sizes for (_, sizes), name in self.functions.items()}
        return GraphPlan(graph, self.params, kernels, self.calls, sizes)

    def _argument(self, name: str, spec: TensorSpec, slot: Slot) -> Ref:
        self.nodes.append(Node("null", self.names.fresh(name)))
        self.specs.append((spec,))
        self.places[slot] = Ref(len(self.nodes) - 1)
        return self.places[slot]

    def _ref(self, slot: Slot, spec: TensorSpec | None = None) -> Ref:
        """Return the node that lies in a slot; a constant gets its node when it is first asked for."""
        if slot in self.places:
            return self.places[slot]
        array = self.artifact.params[slot.place]
        state = slot.at == self.artifact.program.random
        ref = self._argument(STATE if state else f"p{len(self.params)}", TensorSpec("", array.shape, array.dtype), slot)
        self.params[self.nodes[-1].name] = array
        return ref

    def _call(self, position: int, call: Call) -> None:
        inputs = tuple(self._ref(slot) for slot in call.run.inputs)
        view = len(inputs) == 1 and not self.nodes[inputs[0].node].is_argument and self._is_view(call)
        function = NOP if view else self._function(call)
        attrs = {
            "num_outputs": str(len(call.run.outputs)),
            "num_inputs": str(len(inputs)),
            "flatten_data": "0",
            "func_name": function,
            "hash": _hash(self._kernel(call.kernel)),
        }
        name = self.names.fresh("reshape_nop" if view else function)
        self.nodes.append(Node("tvm_op", name, inputs, attrs | self._layouts(call.name)))
        self.specs.append(call.run.results)
        self.calls[name] = position
        for index, slot in enumerate(call.run.outputs):
            self.places[slot] = Ref(len(self.nodes) - 1, index)

    def _kernel(self, number: int) -> Kernel:
        return cast(Kernel, self.artifact.kernels[number])

    def _function(self, call: Call) -> str:
        # Where sizes are open, all calls of a kernel are of one function.
        key = call.kernel, tuple(size for size in call.run.sizes if isinstance(size, int))
        if key not in self.functions:
            plain = _HASH.sub("", self._kernel(call.kernel).symbol).removeprefix("tvmgen_default_")
            self.functions[key] = self.function_names.fresh(self.prefix + plain)
        return self.functions[key]

    def _is_view(self, call: Call) -> bool:
        function = self.fused.get(call.name)
        if function is None:
            return False
        names = [op.name for op in function.block.ops if isinstance(op, Operator)]
        return bool(names) and _VIEWS.issuperset(names) and len(call.run.outputs) == 1

    def _layouts(self, function: str) -> dict[str, str]:
        """The layouts that the operators of a primitive function name."""
        if function not in self.attributes:
            layouts: dict[str, str] = {}
            for op in self.fused[function].block.ops if function in self.fused else ():
                for name, value in op.properties.items():
                    if "layout" in name and isinstance(value, StringAttr):
                        layouts.setdefault(name, value.data)
            self.attributes[function] = layouts
        return self.attributes[function]


class _Names:
    """Names, each given once."""

    def __init__(self) -> None:
        self.taken: set[str] = set()
        self.numbers: dict[str, int] = {}

    def fresh(self, name: str) -> str:
        """The name, or the first of `<name>_1`, `<name>_2` .. that is free."""
        unique = name
        while unique in self.taken:
            self.numbers[name] = self.numbers.get(name, 0) + 1
            unique = f"{name}_{self.numbers[name]}"
        self.taken.add(unique)
        return unique


def _hash(kernel: Kernel) -> str:
    """16 digits that tell functions apart."""
    # Without the symbol, which changes with the compiler.
    text = kernel.te.replace(kernel.symbol, "") or kernel.symbol
    return hashlib.sha256(text.encode()).hexdigest()[:16]
