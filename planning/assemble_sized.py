"""From the fused relay module to a program that takes any sizes: places of tensors are formulas of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, LocationAttr, ModuleOp
from xdsl.ir import SSAValue

from ..dialects.element_types import numpy_dtype
from ..dialects.relay.core import CallOp, ConstantOp, FuncOp
from ..dialects.relay.index_bounds import index_bounds_of
from ..dialects.relay.open_extents import is_open
from ..dialects.relay.signature import element_of, shape_of
from ..dialects.relay.size_ranges import ranges_of, required_of, symbols_in
from ..dialects.sizes import Ranges, Size, SizeExpr, bounds, product
from ..lowering.kernel.sizes import sizes_of
from ..provenance.diagnostics import message, places
from ..provenance.span import fuse, layer_names
from ..runtime import program
from ..runtime.index_bounds import IndexBound
from ..runtime.program import Copy, KernelEntry, Program, Site, Slot
from ..runtime.sizes import SizedSpec
from ..runtime.tensors import ALIGNMENT
from ..support.errors import PipelineError
from .artifact import Assembly, Call, KernelCode
from .assemble import Params, kernel_index, name_at, with_layers
from .lifetimes import Plan
from .size_values import Formula, Group, SizeValues
from .symbolic_plan import Groups, Use, plan_groups

ALGORITHM = "symbolic"
"""What the plan of a program with sizes is called."""


@dataclass(frozen=True)
class SizedAssembly:
    """A program with sizes, and what its code computes of them."""

    assembly: Assembly
    formulas: tuple[Formula, ...]
    """Of the values behind the symbols."""


def assemble_sized(
    module: ModuleOp,
    kernels: Sequence[KernelCode],
    kernel_of: Mapping[str, int],
    input_names: Sequence[str] = (),
    output_names: Sequence[str] = (),
) -> SizedAssembly:
    """As `assemble.assemble`, of a `@main` with symbolic shapes.

    Raises PipelineError also for shapes that say nothing of an extent, and for sizes that no input tells.
    """
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    if (main := functions.get("main")) is None:
        raise PipelineError(message("assemble", "a function @main", ", ".join(functions) or "no function"))
    params, calls = Params(module), list[CallOp]()
    slots: dict[SSAValue, Slot] = {argument: Slot("io", k) for k, argument in enumerate(main.block.args)}
    for op in main.block.ops:
        if isinstance(op, ConstantOp):
            slots[op.result] = params.slot(op)
        elif isinstance(op, CallOp):
            calls.append(op)
        elif op is not main.return_op:
            raise PipelineError(message("assemble", "constants and calls in @main", op.name, op.location))

    values = SizeValues(symbols_in(main), ranges_of(main))
    arguments, returned = tuple(main.block.args), tuple(main.return_op.values)
    given = tuple(
        _spec(values, value, name_at(input_names, k) or value.name_hint or f"input{k}", value.location)
        for k, value in enumerate(arguments)
    )
    inputs = with_layers(given, main)
    end = main.return_op.location
    outputs = tuple(_spec(values, v, name_at(output_names, k) or f"output{k}", end) for k, v in enumerate(returned))
    copied: list[tuple[SSAValue, Slot]] = []
    for k, value in enumerate(returned):
        target = Slot("io", len(inputs) + k)
        if slots.setdefault(value, target) != target:
            copied.append((value, target))

    outside = {id(value) for value in slots}
    groups = plan_groups([_use(op, kernels[kernel_index(op, kernel_of)]) for op in calls], outside, values.ranges)
    starts, arena = _placed(groups, values)
    for op in calls:
        for value in op.outputs:
            if value not in slots:
                slots[value] = Slot("arena", starts[groups.buffers[id(value)]])

    layers = {name: tuple(op.location for op in function.block.ops) for name, function in functions.items()}
    known: list[Call] = []
    for op, scratch in zip(calls, groups.workspaces, strict=True):
        name, kernel = op.callee.string_value(), kernel_index(op, kernel_of)
        run = program.Call(
            kernel,
            tuple(slots[value] for value in op.arguments),
            tuple(slots[value] for value in op.outputs),
            Slot("arena", starts[scratch]) if scratch is not None else None,
            tuple(_spec(values, value, value.name_hint or "", op.location) for value in op.outputs),
            name,
            layer_names(op.location),
            tuple(map(places, layers[name])) if kernels[kernel].sites else (),
            tuple(values.number(size, op.location) for size in sizes_of(functions[name])),
        )
        known.append(Call(run, layers[name], op.location))
    copies = [Copy(slots[value], target, values.number(_bytes(value), end)) for value, target in copied]
    entries = tuple(KernelEntry(kernel.symbol, tuple(Site(*site) for site in kernel.sites)) for kernel in kernels)
    for size, location in required_of(main):
        values.require(size, location)
    indices = tuple(
        IndexBound(
            one.input, tuple(values.number(n, one.location) for n in one.extents), places(one.location), one.ignored
        )
        for one in index_bounds_of(main)
    )
    sizes = values.done([shape_of(value) for value in arguments], [spec.name for spec in inputs], arena)
    most = _most(groups, values.ranges)
    done = Program(tuple(call.run for call in known), tuple(copies), entries, inputs, outputs, most, sizes, indices)
    plan = Plan({}, (-1,) * len(calls), most, 0, ALGORITHM, ())
    return SizedAssembly(Assembly(done, tuple(params.arrays), tuple(known), plan, end), tuple(values.located()))


def _spec(values: SizeValues, value: SSAValue, name: str, location: LocationAttr) -> SizedSpec:
    """Raises PipelineError unless all extents are numbers or sizes."""
    if is_open(value.type):
        raise PipelineError(
            message("assemble", "tensors of known or symbolic shape in @main", str(value.type), location)
        )
    sizes = cast("Sequence[Size]", shape_of(value))
    return SizedSpec(
        name,
        tuple(size if isinstance(size, int) else DYNAMIC_INDEX for size in sizes),
        numpy_dtype(element_of(value)),
        tuple(values.number(size, location) if isinstance(size, SizeExpr) else -1 for size in sizes),
        tuple(map(str, sizes)),
    )


def _bytes(value: SSAValue) -> Size:
    return product(shape_of(value)) * numpy_dtype(element_of(value)).itemsize


def _use(op: CallOp, kernel: KernelCode) -> Use:
    return Use(
        tuple(map(id, op.arguments)), tuple((id(v), _bytes(v)) for v in op.outputs), kernel.workspace, op.location
    )


def _most(groups: Groups, ranges: Ranges) -> int:
    """The bytes of the arena for the largest sizes in range; 0 where one of them has no bound."""
    total = 0
    for place in groups.places:
        highest = [bounds(size, ranges)[1] for size in place.sizes.values()]
        known = [high for high in highest if high is not None]
        if len(known) < len(highest):
            return 0
        total += -(-max(known) // ALIGNMENT) * ALIGNMENT
    return total


def _placed(groups: Groups, values: SizeValues) -> tuple[list[int], int]:
    """The numbers of the values at which each group starts, and at which the last one ends."""
    starts: list[int] = []
    end = values.number(0, fuse(location for place in groups.places[:1] for location in place.locations))
    for place in groups.places:
        starts.append(end)
        location = fuse(dict.fromkeys(place.locations))
        members = tuple(values.number(size, location) for size in place.sizes.values())
        end = values.end_of(Group(end, members), location)
    return starts, end
