"""From the fused relay module to a program: every tensor of `@main` gets its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

from xdsl.dialects.builtin import LocationAttr, ModuleOp, TensorType
from xdsl.ir import Attribute, SSAValue

from ..dialects.element_types import numpy_dtype
from ..dialects.relay.core import CallOp, ConstantOp, FuncOp
from ..dialects.relay.index_bounds import index_bounds_of
from ..dialects.relay.size_ranges import narrowed_of
from ..provenance.diagnostics import message, places
from ..provenance.span import layer_names
from ..runtime import program
from ..runtime.index_bounds import IndexBound
from ..runtime.program import Copy, KernelEntry, Program, Site, Slot
from ..runtime.tensors import TensorSpec, lasting
from ..support.dtypes import Array
from ..support.errors import PipelineError
from .artifact import Assembly, Call, KernelCode
from .lifetimes import Lifetimes, Step
from .plan import plan_lifetimes
from .pools import Pools, plan_in_pools

SpecT = TypeVar("SpecT", bound=TensorSpec)


def assemble(
    module: ModuleOp,
    kernels: Sequence[KernelCode],
    kernel_of: Mapping[str, int],
    input_names: Sequence[str] = (),
    output_names: Sequence[str] = (),
    pools: Pools | None = None,
) -> Assembly:
    """The program of `@main`, which must hold constants, calls of primitive functions and a return, with static shapes.

    `kernel_of` maps a primitive function's name to an index into `kernels`. Inputs without a name in `input_names` are
    called by their name hint or `input<k>`, outputs `output<k>`. Parameters are made whole, contiguous and aligned.
    `pools` says how intermediate tensors and workspaces are placed; without it, the best plan is taken.

    Raises PipelineError when `@main` is missing, holds something else or calls a function without a kernel, and when
    the pools are too small.
    """
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    if (main := functions.get("main")) is None:
        raise PipelineError(message("assemble", "a function @main", ", ".join(functions) or "no function"))
    params = Params(module)
    slots: dict[SSAValue, Slot] = {argument: Slot("io", k) for k, argument in enumerate(main.block.args)}
    calls: list[CallOp] = []
    for op in main.block.ops:
        if isinstance(op, ConstantOp):
            slots[op.result] = params.slot(op)
        elif isinstance(op, CallOp):
            calls.append(op)
        elif op is not main.return_op:
            raise PipelineError(message("assemble", "constants and calls in @main", op.name, op.location))

    specs = _Specs()
    arguments = enumerate(main.block.args)
    named = (specs.of(x, name_at(input_names, k) or x.name_hint or f"input{k}") for k, x in arguments)
    inputs = with_layers(tuple(named), main)
    returned = tuple(main.return_op.values)
    outputs = tuple(specs.of(value, name_at(output_names, k) or f"output{k}") for k, value in enumerate(returned))

    # A call's result is written in place where it is returned first; whatever else is returned is copied.
    copied: list[tuple[SSAValue, Slot]] = []
    for k, value in enumerate(returned):
        target = Slot("io", len(inputs) + k)
        if slots.setdefault(value, target) != target:
            copied.append((value, target))
    outside = {id(value) for value in slots}
    lifetimes = Lifetimes.of([_step(op, kernels[kernel_index(op, kernel_of)], specs) for op in calls], outside)
    if pools is not None and pools.algorithm is not None:
        placed = plan_in_pools(lifetimes, pools)
    else:
        placed = plan_lifetimes(lifetimes)
    for op in calls:
        for value in op.outputs:
            if value not in slots:
                slots[value] = Slot("arena", placed.offsets[id(value)])

    layers = {name: tuple(op.location for op in function.block.ops) for name, function in functions.items()}
    known = tuple(
        _call(op, kernel_index(op, kernel_of), kernels, slots, workspace, specs, layers)
        for op, workspace in zip(calls, placed.workspaces, strict=True)
    )
    done = Program(
        tuple(call.run for call in known),
        tuple(Copy(slots[value], target, outputs[target.at - len(inputs)].nbytes) for value, target in copied),
        tuple(KernelEntry(kernel.symbol, tuple(Site(*site) for site in kernel.sites)) for kernel in kernels),
        inputs,
        outputs,
        placed.arena_bytes,
        indices=tuple(
            IndexBound(one.input, tuple(map(int, one.extents)), places(one.location), one.ignored)
            for one in index_bounds_of(main)
        ),
    )
    return Assembly(done, tuple(params.arrays), known, placed, main.return_op.location)


def with_layers(specs: tuple[SpecT, ...], main: FuncOp) -> tuple[SpecT, ...]:
    """Specifications of inputs that know the layers which take no other extents, where the model says others."""
    by = {place: places(location) for place, location in narrowed_of(main).items()}
    if not by:
        return specs
    rows = (tuple(by.get((k, axis), ()) for axis in range(len(spec.shape))) for k, spec in enumerate(specs))
    return tuple(replace(spec, layers=row) for spec, row in zip(specs, rows, strict=True))


def name_at(names: Sequence[str], k: int) -> str:
    return names[k] if k < len(names) else ""


def kernel_index(op: CallOp, kernel_of: Mapping[str, int]) -> int:
    name = op.callee.string_value()
    if name not in kernel_of:
        raise PipelineError(message("assemble", f"a kernel for @{name}", "none", op.location))
    return kernel_of[name]


def _step(op: CallOp, kernel: KernelCode, specs: _Specs) -> Step:
    return Step(
        tuple(map(id, op.arguments)),
        tuple((id(v), specs.of(v, "").nbytes) for v in op.outputs),
        kernel.workspace,
        op.callee.string_value(),
        op.location,
    )


def _call(
    op: CallOp,
    kernel: int,
    kernels: Sequence[KernelCode],
    slots: Mapping[SSAValue, Slot],
    workspace: int,
    specs: _Specs,
    layers: Mapping[str, tuple[LocationAttr, ...]],
) -> Call:
    name = op.callee.string_value()
    locations = layers.get(name, ())
    run = program.Call(
        kernel,
        tuple(slots[value] for value in op.arguments),
        tuple(slots[value] for value in op.outputs),
        Slot("arena", workspace) if workspace >= 0 else None,
        tuple(specs.of(value, value.name_hint or "") for value in op.outputs),
        name,
        layer_names(op.location),
        tuple(map(places, locations)) if kernels[kernel].sites else (),
    )
    return Call(run, locations, op.location)


class _Specs:
    """Specifications of values; one computation per tensor type."""

    def __init__(self) -> None:
        self.known: dict[Attribute, tuple[tuple[int, ...], Any]] = {}

    def of(self, value: SSAValue, name: str) -> TensorSpec:
        """Raises PipelineError unless the value is a tensor of static shape."""
        if (found := self.known.get(value.type)) is None:
            tensor = cast("TensorType[Attribute]", value.type)
            static = isinstance(value.type, TensorType) and -1 not in tensor.get_shape()
            if not static:
                raise PipelineError(message("assemble", "tensors of static shape in @main", str(tensor)))
            found = self.known[tensor] = (tuple(tensor.get_shape()), numpy_dtype(tensor.element_type))
        return TensorSpec(name, *found)


class Params:
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
            self.by_key[key] = slot
        return slot
