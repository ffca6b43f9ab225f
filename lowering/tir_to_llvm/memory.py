"""Buffers, loads and stores."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, i1, i8, i32
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.affine import Linear
from ...dialects.tir import AllocOp, IndexOp, LoadOp, StoreOp, TileLoadOp, TileStoreOp, buffer_of, element_bytes
from ...dialects.tir.masked import MaskedLoadOp, MaskedStoreOp
from ...dialects.tir.prefetch import PrefetchOp
from ...provenance.diagnostics import fail
from .arithmetic import resize
from .context import Handler, Lowering
from .frame import Place
from .indexing import Indices, alignment
from .types import (
    element,
    is_integer,
    lanes,
    like,
    memory_type,
    number_attribute,
    numbers_attribute,
    register_type,
    vector_type,
)

SPARE = 128
"""Bytes behind a local buffer of a size that only a call knows: whole vectors at its end lie in what is its own."""
Touched: TypeAlias = LoadOp | StoreOp | MaskedLoadOp | MaskedStoreOp | PrefetchOp | TileLoadOp | TileStoreOp


class Access:
    """A point of a buffer, or a vector that starts there."""

    def __init__(self, ctx: Lowering, op: Touched, indices: Indices):
        type_ = buffer_of(op.buffer)
        self.ctx = ctx
        self.place: Place = ctx.frame.places[op.buffer]
        self.form: Linear = indices.offset(type_, op.map.data)
        self.element: Attribute = memory_type(type_.element_type)
        self.align: int = alignment(self.form, element_bytes(type_.element_type), aligned=self.place.aligned)
        self.step: int = op.step
        self.bytes = element_bytes(type_.element_type)
        self._indices = indices

    def pointer(self) -> SSAValue:
        return self._indices.address(self.place.pointer, self.form, self.element)

    def lane(self, first: SSAValue, number: int) -> SSAValue:
        """The address of the lane `number` of a vector with gaps."""
        return self.ctx.gep(first, self.ctx.index(number * self.step), self.element) if number else first

    def read(self, type_: Attribute) -> SSAValue:
        """The value, of the LLVM type `type_`."""
        ctx, pointer = self.ctx, self.pointer()
        if self.element == i8 and element(type_) == i32:
            # Words of neighbouring bytes lie there as they are; which lie close together `tir-lower-intrin` sees to.
            return ctx.load(pointer, type_, self.align)
        stored = like(type_, self.element)
        if vector_type(type_) is None or self.step == 1:
            value = ctx.load(pointer, stored, self.align)
        elif self.step == 0:
            value = ctx.splat(ctx.load(pointer, self.element, self.bytes), stored)
        elif self.step == 2 and lanes(type_) > 2:
            value = self._every_other(pointer, stored)
        else:
            value = ctx.poison(stored)
            for lane in range(lanes(type_)):
                scalar = ctx.load(self.lane(pointer, lane), self.element, self.bytes)
                value = ctx.insert(value, scalar, lane)
        return ctx.icmp("ne", value, ctx.number(0, stored)) if element(type_) == i1 else value

    def _every_other(self, pointer: SSAValue, stored: Attribute) -> SSAValue:
        """The elements 0, 2, 4, ..: those of two neighbouring vectors, of which the second ends with the last one."""
        ctx, count = self.ctx, lanes(stored)
        second = ctx.gep(pointer, ctx.index(count - 1), self.element)
        halves = (ctx.load(pointer, stored, self.bytes), ctx.load(second, stored, self.bytes))
        return ctx.shuffle(*halves, every_other(count), stored)

    def write(self, value: SSAValue) -> None:
        ctx, type_, pointer = self.ctx, value.type, self.pointer()
        if element(type_) == i1:
            value = ctx.value(llvm.ZExtOp, (value,), like(type_, i8))
        if vector_type(type_) is None or self.step == 1:
            ctx.store(value, pointer, self.align)
            return
        for lane in range(lanes(type_)):
            ctx.store(ctx.extract(value, lane, self.element), self.lane(pointer, lane), self.bytes)


def every_other(count: int) -> list[int]:
    """The places of elements 0, 2, 4, .. in two vectors, of which the second ends with the last one."""
    return [2 * lane if 2 * lane < count else 2 * lane + 1 for lane in range(count)]


def _load(ctx: Lowering, op: Operation) -> None:
    assert isinstance(op, LoadOp)
    indices = Indices(ctx, op.indices)
    type_ = register_type(op.result.type)
    read: Callable[[], SSAValue] = lambda: Access(ctx, op, indices).read(type_)  # noqa: E731
    condition = indices.guard(op.guard.data) if op.guard is not None else True
    if condition is True:
        ctx.set(op.result, read())
        return
    assert op.otherwise is not None
    otherwise = ctx.constant(constant_of(op, op.otherwise, type_), type_)
    if condition is False:
        ctx.set(op.result, otherwise)
        return
    inside, after = ctx.new_block(), ctx.new_block(type_)
    ctx.branch_if(condition, inside, after, passed=((), (otherwise,)))
    ctx.start(inside)
    ctx.branch(after, read())
    ctx.start(after)
    ctx.set(op.result, after.args[0])


def constant_of(op: Operation, value: Attribute, type_: Attribute) -> Attribute:
    """A value of tir as a constant of an LLVM type; a scalar fills all lanes of a vector."""
    match value:
        case IntegerAttr():
            return number_attribute(value.value.data, type_)
        case FloatAttr():
            return number_attribute(value.value.data, type_)
        case DenseIntOrFPElementsAttr():
            return value
        case _:
            fail(op, "a number as else value", str(value))


def _store(ctx: Lowering, op: Operation) -> None:
    assert isinstance(op, StoreOp)
    if op.step == 0 and vector_type(op.value.type) is not None:
        fail(op, "a stride other than 0", "0")
    Access(ctx, op, Indices(ctx, op.indices)).write(ctx.get(op.value))


def _prefetch(ctx: Lowering, op: Operation) -> None:
    assert isinstance(op, PrefetchOp)
    pointer = Access(ctx, op, Indices(ctx, op.indices)).pointer()
    # A read, of data.
    numbers = [ctx.constant(IntegerAttr(value, i32), i32) for value in (0, op.locality.value.data, 1)]
    ctx.intrinsic("llvm.prefetch.p0", (pointer, *numbers), None)


def _alloc(ctx: Lowering, op: Operation) -> None:
    assert isinstance(op, AllocOp)
    type_ = buffer_of(op.result)
    stored = memory_type(type_.element_type)
    if not type_.is_static:
        pointer = ctx.take(type_.nbytes + (SPARE if type_.scope.data == "local" else 0))
    elif type_.scope.data == "local":
        pointer = ctx.alloca(stored, cast(int, type_.size))
    else:
        if ctx.frame.function is not ctx.functions[0]:
            fail(op, "a global buffer outside of parallel loops", "one inside")
        offset, ctx.workspace = ctx.workspace, ctx.workspace + (cast(int, type_.nbytes) + 63) // 64 * 64
        base = ctx.frame.entry.args[-2]
        with ctx.hoisted(ctx.frame.scopes[0]):
            pointer = ctx.gep(base, ctx.index(offset), i8) if offset else base
    ctx.frame.places[op.result] = Place(pointer, aligned=True)


def _index(ctx: Lowering, op: Operation) -> None:
    assert isinstance(op, IndexOp)
    indices = Indices(ctx, op.indices)
    type_ = register_type(op.result.type)
    value = indices.value(indices.form(op.map.data.results[0]))
    if not is_integer(element(type_)):
        fail(op, "an index or integer as result", str(op.result.type))
    value = resize(ctx, value, element(type_))
    if (vector := vector_type(type_)) is not None:
        value = ctx.splat(value, type_)
        if step := op.stride.value.data:
            ramp = numbers_attribute([step * lane for lane in range(lanes(vector))], vector)
            value = ctx.value(llvm.AddOp, (value, ctx.constant(ramp, type_)), type_)
    ctx.set(op.result, value)


MEMORY: dict[type[Operation], Handler] = {
    LoadOp: _load,
    StoreOp: _store,
    PrefetchOp: _prefetch,
    AllocOp: _alloc,
    IndexOp: _index,
}
