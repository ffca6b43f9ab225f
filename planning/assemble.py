"""From the fused relay module to a program: every tensor of `@main` gets its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, cast

from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.ir import Attribute, SSAValue

from ..dialects.element_types import numpy_dtype
from ..dialects.relay.constants import pool_of
from ..dialects.relay.core import CallOp, ConstantOp, FuncOp
from ..dialects.relay.index_bounds import index_bounds_of
from ..dialects.relay.signature import element_of, shape_of
from ..dialects.relay.size_ranges import narrowed_of, ranges_of, required_of, symbols_in
from ..dialects.sizes import Size, product
from ..dialects.sizes.types import is_open
from ..lowering.kernel.sizes import sizes_of
from ..provenance.diagnostics import message, places
from ..provenance.span import layer_names
from ..runtime.program import program
from ..runtime.program.index_bounds import IndexBound
from ..runtime.program.program import Copy, KernelEntry, Program, Site, Slot
from ..runtime.program.random_state import is_state
from ..runtime.program.sizes import SizedSpec
from ..runtime.values.open_specs import OPEN
from ..runtime.values.tensors import TensorSpec, lasting
from ..support.dtypes import Array
from ..support.errors import PipelineError
from .artifact import Assembly, Call, KernelCode
from .lifetimes import Step
from .placing import Placed, placed
from .pools import Pools
from .size_values import SizeValues


def assemble(
    module: ModuleOp,
    kernels: Sequence[KernelCode],
    kernel_of: Mapping[str, int],
    input_names: Sequence[str] = (),
    output_names: Sequence[str] = (),
    pools: Pools | None = None,
    kernel_sizes: Mapping[str, tuple[int, ...]] = MappingProxyType({}),
) -> Assembly:
    """The program of `@main`, which must hold constants, calls of primitive functions and a return.

    Where shapes have symbols, places of tensors are formulas of them. `kernel_of` maps a primitive function's name to
    an index into `kernels`. Inputs without a name in `input_names` are called by their name hint or `input<k>`, outputs
    `output<k>`. Parameters are made whole, contiguous and aligned. `pools` says how intermediate tensors and workspaces
    of known sizes are placed; without it, the best plan is taken. `kernel_sizes` has the numbers that a function of
    known sizes gives for those of its kernel.

    Raises PipelineError when `@main` is missing, holds something else or calls a function without a kernel, when the
    pools are too small, for shapes that say nothing of an extent, and for sizes that no input tells.
    """
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    if (main := functions.get("main")) is None:
        raise PipelineError(message("assemble", "a function @main", ", ".join(functions) or "no function"))
    params = _Params(module)
    slots: dict[SSAValue, Slot] = {argument: Slot("io", k) for k, argument in enumerate(main.block.args)}
    calls: list[CallOp] = []
    for op in main.block.ops:
        if isinstance(op, ConstantOp):
            slots[op.result] = params.slot(op)
        elif isinstance(op, CallOp):
            calls.append(op)
        elif op is not main.return_op:
            raise PipelineError(message("assemble", "constants and calls in @main", op.name, op.location))

    values = SizeValues(symbols_in(main), ranges_of(main))
    specs = _Specs(values)
    arguments, returned, end = tuple(main.block.args), tuple(main.return_op.values), main.return_op.location
    inputs = _with_layers(
        tuple(
            specs.of(x, _name_at(input_names, k) or x.name_hint or f"input{k}", x.location)
            for k, x in enumerate(arguments)
        ),
        main,
    )
    outputs = tuple(specs.of(value, _name_at(output_names, k) or f"output{k}", end) for k, value in enumerate(returned))

    # A call's result is written in place where it is returned first; whatever else is returned is copied.
    copied: list[tuple[SSAValue, Slot]] = []
    for k, value in enumerate(returned):
        target = Slot("io", len(inputs) + k)
        if slots.setdefault(value, target) != target:
            copied.append((value, target))
    outside = {id(value) for value in slots}
    steps = [_step(op, kernels[_kernel_index(op, kernel_of)], specs) for op in calls]
    arena = placed(steps, outside, values, pools)
    for op in calls:
        for value in op.outputs:
            if value not in slots:
                slots[value] = Slot("arena", arena.buffers[id(value)])

    into = _Into(kernels, kernel_of, functions, slots, specs, kernel_sizes)
    assembled = tuple(into.call(op, number, arena) for number, op in enumerate(calls))
    copies = tuple(Copy(slots[value], target, values.quantity(specs.bytes_of(value), end)) for value, target in copied)
    for size, location in required_of(main) if values.symbols else ():
        values.require(size, location)
    indices = tuple(
        IndexBound(
            bound.input,
            tuple(values.quantity(n, bound.location) for n in bound.extents),
            places(bound.location),
            bound.ignored,
        )
        for bound in index_bounds_of(main)
    )
    sizes = None
    if values.symbols:
        sizes = values.done([shape_of(x) for x in arguments], [spec.name for spec in inputs], arena.end)
    entries = tuple(
        KernelEntry(kernel.symbol, tuple(Site(*site) for site in kernel.sites), kernel.tiles) for kernel in kernels
    )
    runs = tuple(call.run for call in assembled)
    random = next((slot.place for key, slot in params.by_key.items() if is_state(key)), None)
    done = Program(
        calls=runs,
        copies=copies,
        kernels=entries,
        inputs=inputs,
        outputs=outputs,
        arena_bytes=arena.plan.arena_bytes,
        sizes=sizes,
        indices=indices,
        random=random,
    )
    return Assembly(done, tuple(params.arrays), assembled, arena.plan, end, tuple(values.located()))


def _with_layers(specs: tuple[TensorSpec, ...], main: FuncOp) -> tuple[TensorSpec, ...]:
    """Specifications of inputs that know the layers which take no other extents, where the model says others."""
    by = {position: places(location) for position, location in narrowed_of(main).items()}
    if not by:
        return specs
    rows = (tuple(by.get((k, axis), ()) for axis in range(len(spec.shape))) for k, spec in enumerate(specs))
    return tuple(replace(spec, layers=row) for spec, row in zip(specs, rows, strict=True))


def _name_at(names: Sequence[str], k: int) -> str:
    return names[k] if k < len(names) else ""


def _kernel_index(op: CallOp, kernel_of: Mapping[str, int]) -> int:
    name = op.callee.string_value()
    if name not in kernel_of:
        raise PipelineError(message("assemble", f"a kernel for @{name}", "none", op.location))
    return kernel_of[name]


def _step(op: CallOp, kernel: KernelCode, specs: _Specs) -> Step[Size]:
    return Step(
        tuple(map(id, op.arguments)),
        tuple((id(v), specs.bytes_of(v)) for v in op.outputs),
        kernel.workspace,
        op.callee.string_value(),
        op.location,
    )


@dataclass(frozen=True)
class _Into:
    """The context in which calls of `@main` become calls of kernels."""

    kernels: Sequence[KernelCode]
    kernel_of: Mapping[str, int]
    functions: Mapping[str, FuncOp]
    slots: Mapping[SSAValue, Slot]
    specs: _Specs
    kernel_sizes: Mapping[str, tuple[int, ...]]

    def call(self, op: CallOp, number: int, arena: Placed) -> Call:
        """Call `number`, with places for all that it reads and writes."""
        name, kernel = op.callee.string_value(), _kernel_index(op, self.kernel_of)
        scratch, function = arena.workspaces[number], self.functions.get(name)
        locations = () if function is None else self.specs.layers_of(function)
        values = self.specs.values
        sizes: Sequence[Size] = self.kernel_sizes.get(name, ())
        if function is not None and not sizes and values.symbols:
            sizes = sizes_of(function)
        run = program.Call(
            kernel=kernel,
            inputs=tuple(self.slots[value] for value in op.arguments),
            outputs=tuple(self.slots[value] for value in op.outputs),
            workspace=None if scratch is None else Slot("arena", scratch),
            results=tuple(self.specs.of(value, value.name_hint or "", op.location) for value in op.outputs),
            name=name,
            layers=layer_names(op.location),
            places=tuple(map(places, locations)) if self.kernels[kernel].sites else (),
            sizes=tuple(values.quantity(size, op.location) for size in sizes),
        )
        return Call(run, locations, op.location)


class _Specs:
    """Specifications of values, and their bytes; one computation per type where no size is open."""

    def __init__(self, values: SizeValues) -> None:
        self.values = values
        self.known: dict[Attribute, tuple[tuple[int, ...], Any, int]] = {}
        self.layers: dict[FuncOp, tuple[LocationAttr, ...]] = {}

    def of(self, value: SSAValue, name: str, location: LocationAttr) -> TensorSpec:
        """Raises PipelineError unless all extents are numbers or sizes."""
        if is_open(value.type):
            expected = "tensors of known or symbolic shape in @main"
            raise PipelineError(message("assemble", expected, str(value.type), location))
        if not self.values.symbols:
            return TensorSpec(name, *self._of(value)[:2])
        sizes = cast("Sequence[Size]", shape_of(value))
        return SizedSpec(
            name,
            tuple(size if isinstance(size, int) else OPEN for size in sizes),
            numpy_dtype(element_of(value)),
            tuple(self.values.quantity(size, location) for size in sizes),
            tuple(map(str, sizes)),
        )

    def bytes_of(self, value: SSAValue) -> Size:
        """The bytes of a tensor."""
        if self.values.symbols:
            return product(shape_of(value)) * numpy_dtype(element_of(value)).itemsize
        return self._of(value)[2]

    def layers_of(self, function: FuncOp) -> tuple[LocationAttr, ...]:
        """The locations of the ops of a primitive function."""
        if function not in self.layers:
            self.layers[function] = tuple(op.location for op in function.block.ops)
        return self.layers[function]

    def _of(self, value: SSAValue) -> tuple[tuple[int, ...], Any, int]:
        if (facts := self.known.get(value.type)) is None:
            shape, dtype = tuple(shape_of(value)), numpy_dtype(element_of(value))
            facts = self.known[value.type] = (shape, dtype, TensorSpec("", shape, dtype).nbytes)
        return facts


class _Params:
    """The parameters so far; constants with one key share a slot."""

    def __init__(self, module: ModuleOp):
        self.module = module
        self.arrays: list[Array] = []
        self.by_key: dict[str, Slot] = {}

    def slot(self, op: ConstantOp) -> Slot:
        key = op.key.data if op.key is not None else None
        if key is not None and key in self.by_key:
            return self.by_key[key]
        slot = Slot("param", len(self.arrays))
        self.arrays.append(lasting(op.value(self.module)))
        if key is not None:
            pool_of(self.module).share(key, self.arrays[-1])
            self.by_key[key] = slot
        return slot
