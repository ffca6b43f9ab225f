"""Loads and stores of some lanes: LLVM's masked ones where lanes are neighbours, else gathers and scatters.

Every other element is loaded with two masked loads of neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr, i1, i8, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects import llvm_ext
from ...dialects.affine import below, hull, linear_bounds
from ...dialects.sizes.kernel import at_least
from ...dialects.tir import buffer_of, element_bytes
from ...dialects.tir.masked import MaskedLoadOp, MaskedStoreOp, MaskOp
from ...provenance.diagnostics import fail
from ..llvm_to_native.text import suffix, type_text
from .arithmetic import select
from .context import Handler, Lowering
from .indexing import Indices
from .memory import SPARE, Access, constant_of, every_other
from .types import PTR, element, lanes, like, numbers_attribute, register_type, vector_type

_SMALL = (-(1 << 31), (1 << 31) - 1)


def _mask(ctx: Lowering, op: Operation) -> None:
    """Per condition one comparison: what holds in the first lane is at least what the lanes take off it."""
    assert isinstance(op, MaskOp)
    indices = Indices(ctx, op.indices)
    count = lanes(op.result.type)
    mask: SSAValue | None = None
    for expr, step in zip(op.map.data.results, op.by_lane, strict=True):
        form = indices.form(expr)
        ends = linear_bounds(form, indices.ranges)
        low, high = hull(ends)
        reach = abs(step) * count
        fits = _SMALL[0] < low - reach and high + reach <= _SMALL[1]
        first = indices.value(form)
        if not fits and not (isinstance(ends[0], int) and isinstance(ends[1], int)):
            # Beyond what the lanes take off all numbers are alike, but for their sign where it is nothing.
            first = ctx.extreme("smin", ctx.extreme("smax", first, ctx.index(-reach - 1)), ctx.index(reach))
            fits = True
        scalar: Attribute = i32 if fits else i64
        if fits:
            first = ctx.value(llvm.TruncOp, (first,), i32)
        wide = like(op.result.type, scalar)
        vector = vector_type(wide)
        assert vector is not None
        offsets = ctx.constant(numbers_attribute([-step * lane for lane in range(count)], vector), wide)
        holds = ctx.icmp("sge", ctx.splat(first, wide), offsets)
        mask = holds if mask is None else ctx.value(llvm.AndOp, (mask, holds), holds.type)
    ctx.set(op.result, mask if mask is not None else ctx.number(1, op.result.type))


class _Lanes:
    """The addresses of an access's lanes, and the LLVM intrinsic that reads or writes them."""

    def __init__(self, ctx: Lowering, op: MaskedLoadOp | MaskedStoreOp, type_: Attribute):
        access = Access(ctx, op, Indices(ctx, op.indices))
        self.stored = like(type_, access.element)
        self.near = access.step == 1
        self.pointer = access.pointer()
        align = access.align if self.near else access.bytes
        self.align = ctx.constant(IntegerAttr(align, i32), i32)
        name = suffix(type_text(self.stored))
        self.name = f"{name}.p0" if self.near else f"{name}.v{lanes(type_)}p0"
        if not self.near:
            self.pointer = self._spread(ctx, access)

    def _spread(self, ctx: Lowering, access: Access) -> SSAValue:
        indices = vector_type(like(self.stored, i64))
        assert indices is not None
        ramp = numbers_attribute([access.step * lane for lane in range(lanes(indices))], indices)
        operands = (self.pointer, ctx.constant(ramp, indices))
        addresses = like(self.stored, PTR)
        return ctx.value(llvm_ext.AddressesOp, operands, addresses, {"element": access.element})


def _private(ctx: Lowering, op: MaskedLoadOp | MaskedStoreOp, count: int) -> bool:
    """Return whether all lanes lie in one local buffer of this function, so that those masked out may be touched.

    A whole vector is what LLVM keeps in a register; a masked access would keep the buffer in memory, and a load after a
    masked store wait until that is there.
    """
    buffer, indices = buffer_of(op.buffer), Indices(ctx, op.indices)
    owner, spare = ctx.frame.places[op.buffer].pointer.owner, 0
    if isinstance(owner, llvm.CallOp) and buffer.scope.data == "local":
        spare = SPARE // element_bytes(buffer.element_type)
    elif not isinstance(owner, llvm.AllocaOp):
        return False
    low, high = linear_bounds(indices.offset(buffer, op.map.data), indices.ranges)
    return op.step == 1 and at_least(low, 0) and below(high + count - 1, buffer.size + spare)


def _load(ctx: Lowering, op: Operation) -> None:
    assert isinstance(op, MaskedLoadOp)
    type_, mask = register_type(op.result.type), ctx.get(op.mask)
    otherwise = ctx.constant(constant_of(op, op.otherwise, type_), type_)
    if _private(ctx, op, lanes(type_)):
        ctx.set(op.result, select(ctx, mask, Access(ctx, op, Indices(ctx, op.indices)).read(type_), otherwise))
        return
    is_bool = element(type_) == i1
    if op.step == 2 and lanes(type_) > 2 and not is_bool:
        ctx.set(op.result, _every_other(ctx, Access(ctx, op, Indices(ctx, op.indices)), mask, otherwise))
        return
    access = _Lanes(ctx, op, type_)
    passed = ctx.number(0, access.stored) if is_bool else otherwise
    name = f"llvm.masked.{'load' if access.near else 'gather'}.{access.name}"
    value = ctx.intrinsic(name, (access.pointer, access.align, mask, passed), access.stored).results[0]
    if is_bool:
        value = select(ctx, mask, ctx.icmp("ne", value, ctx.number(0, access.stored)), otherwise)
    ctx.set(op.result, value)


def _every_other(ctx: Lowering, access: Access, mask: SSAValue, otherwise: SSAValue) -> SSAValue:
    """Load the elements 0, 2, 4, .. that a mask says as `Access.read` does; no other element is touched."""
    stored, count = otherwise.type, lanes(otherwise.type)
    name = f"llvm.masked.load.{suffix(type_text(stored))}.p0"
    align, none = ctx.constant(IntegerAttr(access.bytes, i32), i32), ctx.number(0, mask.type)
    pointer = access.pointer()

    def half(first: int) -> SSAValue:
        wanted = [place // 2 if place % 2 == 0 else count for place in range(first, first + count)]
        some = ctx.shuffle(mask, none, wanted, mask.type)
        at = ctx.gep(pointer, ctx.index(first), access.element) if first else pointer
        return ctx.intrinsic(name, (at, align, some, otherwise), stored).results[0]

    return ctx.shuffle(half(0), half(count - 1), every_other(count), stored)


def _store(ctx: Lowering, op: Operation) -> None:
    assert isinstance(op, MaskedStoreOp)
    if op.step == 0:
        fail(op, "a stride other than 0", "0")
    value, mask = ctx.get(op.value), ctx.get(op.mask)
    if _private(ctx, op, lanes(value.type)):
        access = Access(ctx, op, Indices(ctx, op.indices))
        access.write(select(ctx, mask, value, access.read(value.type)))
        return
    target = _Lanes(ctx, op, value.type)
    if element(value.type) == i1:
        value = ctx.value(llvm.ZExtOp, (value,), like(value.type, i8))
    name = f"llvm.masked.{'store' if target.near else 'scatter'}.{target.name}"
    ctx.intrinsic(name, (value, target.pointer, target.align, mask), None)


MASKED: Mapping[type[Operation], Handler] = {MaskOp: _mask, MaskedLoadOp: _load, MaskedStoreOp: _store}
