"""Accesses of vectors in a script: of neighbours, of elements apart, and under masks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from typing import cast as typed

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Attribute

from whence.dialects import tir
from whence.script.vectors import Lanes, cast, identity, is_vector, joint, lifted, numbers, numbers_in, place, ramp
from whence.support.dtypes import BOOL, element_of, fail, lanes_of
from whence.te.language.expr import Expr, Joint, constant, convert
from whence.te.language.statements import Buffer, BufferStore, Evaluate, Stmt, load


def _access(buffer: Any, indices: Sequence[Any]) -> tuple[list[Expr], int, int]:
    """The operands of an access of a vector, its stride and its lanes; only the last index may have lanes."""
    if not isinstance(buffer, Buffer):
        fail("expected a buffer")
    if len(indices) != len(buffer.shape):
        fail(f"expected {len(buffer.shape)} indices of {buffer.name}, got {len(indices)}")
    *outer, last = indices
    if any(map(is_vector, outer)):
        fail(f"expected lanes in the last index of {buffer.name} alone; T.decl_buffer makes a flat view of a buffer")
    if not isinstance(last, Lanes):
        broadcasted = last.op if isinstance(last, Joint) else None
        if not isinstance(broadcasted, vector.BroadcastOp | arith.ConstantOp) or (
            isinstance(broadcasted, arith.ConstantOp) and len(set(numbers_in(broadcasted))) != 1
        ):
            fail(f"expected a T.Ramp or T.Broadcast as index of {buffer.name}, as there are no gathers")
        base = last.parts[0] if last.parts else constant(numbers_in(typed(Any, broadcasted))[0], element_of(last.dtype))
        last = Lanes(base, 0, lanes_of(last.dtype))
    parts = [buffer.data, *(place(convert(index)) for index in (*outer, last.base))]
    return parts, last.stride, last.lanes


def _properties(parts: Sequence[Expr], stride: int) -> dict[str, Attribute]:
    return {"map": identity(len(parts) - 1), "stride": IntegerAttr(stride, i64)}


def loaded(buffer: Any, indices: Sequence[Any]) -> Expr:
    """The elements at indices of which the last has lanes."""
    parts, stride, lanes = _access(buffer, indices)
    return joint(tir.LoadOp, f"{buffer.dtype}x{lanes}", *parts, **_properties(parts, stride))


def stored(buffer: Any, indices: Sequence[Any], value: Any) -> Stmt:
    """The store of a vector."""
    parts, stride, lanes = _access(buffer, indices)
    value = cast(f"{buffer.dtype}x{lanes}", value)
    op = tir.StoreOp.create(properties=_properties(parts, stride))
    return Evaluate(Joint("handle", op, (value, *parts)))


def masked_load(dtype: str, buffer: Any, indices: Sequence[Any], mask: Any) -> Expr:
    """`T.masked_load`: lanes that are not set are 0."""
    parts, stride, lanes = _access(buffer, indices)
    zeros = typed(Any, typed(Joint, numbers([0] * lanes, f"{element_of(dtype)}x{lanes}")).op).value
    properties = {**_properties(parts, stride), "otherwise": zeros}
    return joint(tir.MaskedLoadOp, dtype, lifted(mask, f"{BOOL}x{lanes}"), *parts, **properties)


def masked_store(buffer: Any, value: Any, indices: Sequence[Any], mask: Any) -> Stmt:
    """`T.masked_store`: lanes that are not set stay as they are."""
    parts, stride, lanes = _access(buffer, indices)
    value = cast(f"{buffer.dtype}x{lanes}", value)
    op = tir.MaskedStoreOp.create(properties=_properties(parts, stride))
    return Evaluate(Joint("handle", op, (value, lifted(mask, f"{BOOL}x{lanes}"), *parts)))


def vload(buffer: Any, begin: Any, dtype: str | None) -> Expr:
    """`buffer.vload`: neighbours from a point on."""
    if not isinstance(buffer, Buffer):
        fail("expected a buffer before .vload")
    point = typed("list[Any]", begin if isinstance(begin, list) else [begin])
    if dtype is None or lanes_of(dtype) == 1:
        return load(buffer, point)
    return loaded(buffer, [*point[:-1], ramp(convert(point[-1]), 1, lanes_of(dtype))])


def vstore(buffer: Any, begin: Any, value: Any) -> Stmt:
    """`buffer.vstore`: neighbours from a point on."""
    if not isinstance(buffer, Buffer):
        fail("expected a buffer before .vstore")
    point = typed("list[Any]", begin if isinstance(begin, list) else [begin])
    if not is_vector(value):
        return BufferStore(buffer, value, point)
    return stored(buffer, [*point[:-1], ramp(convert(point[-1]), 1, lanes_of(value.dtype))], value)
