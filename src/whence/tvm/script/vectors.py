"""Vectors of a script: what te has no expression for is one that holds an op, masked accesses and intrinsics.

The inverse of `tir/script_vectors.py`, by whose tables the intrinsics are chosen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from typing import cast as typed

from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import AffineMapAttr, IntegerAttr, i64
from xdsl.dialects.vector import CombiningKindAttr, CombiningKindFlag
from xdsl.ir import Attribute, Operation
from xdsl.ir.affine import AffineDimExpr, AffineMap

from whence.dialects import tir
from whence.support.dtypes import BOOL, NAMES, element_of, fail, is_float, lanes_of
from whence.te.language.expr import Binary, Broadcast, Cast, Const, Expr, Joint, convert
from whence.te.language.lanes import Ramp, Shuffle, vector_access
from whence.te.language.math import select
from whence.te.language.operators import FLOATS, MATH
from whence.te.language.statements import Buffer, Evaluate, Stmt
from whence.te.language.vectors import attribute_of, numbers_of, vector_type
from whence.tir.script_vectors import LLVM, REDUCTIONS
from whence.tir.structure import first_mismatch

_LANES = re.compile(r"(\w+)x(\d{1,4})")
_ROUNDED = frozenset(
    (
        *(kind for kind in FLOATS.values() if kind is not None),
        *MATH.values(),
        arith.NegfOp,
        math.AbsFOp,
        math.FmaOp,
        arith.MaxnumfOp,
        arith.MinnumfOp,
    )
)
"""Ops of floats that may say how exact they are."""


def is_dtype(name: str) -> bool:
    """Return whether a name is that of a dtype, of vectors included."""
    matched = _LANES.fullmatch(name)
    return name in NAMES or (matched is not None and matched[1] in NAMES and 2 <= int(matched[2]) <= 4096)


def is_vector(value: Any) -> bool:
    """Return whether a value has several lanes."""
    return isinstance(value, Expr) and lanes_of(value.dtype) > 1


def _joint(kind: type[Operation], dtype: str, /, *parts: Expr, **properties: Attribute) -> Joint:
    if not is_dtype(dtype):
        fail(f"expected a dtype, got {dtype!r}")
    if is_float(dtype) and kind in _ROUNDED:
        properties["fastmath"] = arith.FastMathFlagsAttr("none")
    return Joint(dtype, kind.create(result_types=[vector_type(dtype)], properties=properties), parts)


# Making vectors


def _whole(value: Any, what: str) -> int:
    value = value.value if isinstance(value, Const) else value
    if not isinstance(value, int) or isinstance(value, bool):
        fail(f"expected a number as {what}, got {value}")
    return value


def _count(lanes: Any) -> int:
    count = _whole(lanes, "the lanes")
    if not 2 <= count <= 4096:
        fail(f"expected 2 to 4096 lanes, got {count}")
    return count


def ramp(base: Expr, stride: Any, lanes: Any) -> Expr:
    """`T.Ramp`; raises ScheduleError if the lanes are no number, or too few."""
    return Ramp(base, stride, _count(lanes))


def broadcast(value: Expr, lanes: Any) -> Expr:
    """`T.Broadcast`; raises ScheduleError for a value of several lanes."""
    if is_vector(value):
        fail(f"expected a number of one lane in T.Broadcast, got {value.dtype}")
    return Broadcast(value, _count(lanes))


def shuffle(parts: Sequence[Expr], lanes: Sequence[Any]) -> Expr:
    """`T.Shuffle`; one lane of a number is that number."""
    places = [_whole(lane, "a lane") for lane in lanes]
    return parts[0] if len(parts) == 1 and places == [0] and not is_vector(parts[0]) else Shuffle(parts, places)


def choice(condition: Any, value: Any, otherwise: Any) -> Expr:
    """`T.Select`; of what a masked load reads, and numbers where its mask is not set, it is one load."""
    load = value.op if isinstance(value, Joint) else None
    numbers = numbers_of(otherwise) if is_vector(otherwise) else None
    if not isinstance(load, tir.MaskedLoadOp) or numbers is None or first_mismatch(value.parts[0], condition):
        return select(condition, value, otherwise)
    properties = {**load.properties, "otherwise": attribute_of(numbers, value.dtype)}
    made = tir.MaskedLoadOp.create(result_types=load.result_types, properties=properties)
    return Joint(value.dtype, made, value.parts)


# Masked accesses


def _place(buffer: Any, indices: Sequence[Any]) -> tuple[list[Expr], dict[str, Attribute], int]:
    """The operands of an access of a vector that say where, its properties, and its lanes."""
    if not isinstance(buffer, Buffer):
        fail("expected a buffer")
    if len(indices) != len(buffer.shape):
        fail(f"expected {len(buffer.shape)} indices of {buffer.name}, got {len(indices)}")
    lanes = max((lanes_of(convert(index).dtype) for index in indices), default=1)
    point, stride = vector_access(buffer.name, [convert(index) for index in indices])
    count = len(point)
    identity = AffineMapAttr(AffineMap(count, 0, tuple(map(AffineDimExpr, range(count)))))
    properties: dict[str, Attribute] = {"map": identity, "stride": IntegerAttr(stride, i64)}
    return [buffer.data, *(Cast("index", index) for index in point)], properties, lanes


def masked_load(dtype: str, buffer: Any, indices: Sequence[Any], mask: Any) -> Expr:
    """`T.masked_load`: lanes that are not set are 0."""
    parts, properties, lanes = _place(buffer, indices)
    zeros = attribute_of([0] * lanes, f"{element_of(dtype)}x{lanes}")
    return _joint(
        tir.MaskedLoadOp, dtype, convert(mask).astype(f"{BOOL}x{lanes}"), *parts, **properties, otherwise=zeros
    )


def masked_store(buffer: Any, value: Any, indices: Sequence[Any], mask: Any) -> Stmt:
    """`T.masked_store`: lanes that are not set stay as they are."""
    parts, properties, lanes = _place(buffer, indices)
    value = convert(value).astype(f"{buffer.dtype}x{lanes}")
    op = tir.MaskedStoreOp.create(properties=properties)
    return Evaluate(Joint("handle", op, (value, convert(mask).astype(f"{BOOL}x{lanes}"), *parts)))


# Intrinsics


_INTRINSICS = {name: op for op, name in reversed(LLVM.items())}
_KINDS: dict[str, type[Operation]] = {
    op.name: op
    for module in (arith, math)
    for op in vars(module).values()
    if isinstance(op, type) and issubclass(op, Operation) and hasattr(op, "name")
}


def intrinsic(dtype: str, name: str, operands: Sequence[Expr]) -> Expr:
    """`T.call_llvm_pure_intrin`; raises ScheduleError for an intrinsic that no op of ours is."""
    short = name.removeprefix("llvm.")
    if short.startswith("vector.reduce."):
        return _reduced(dtype, short.removeprefix("vector.reduce."), operands)
    if short == "arithmetic.fence" and len(operands) == 1:
        # Products and sums are not joined here.
        return operands[0]
    if short == "fma" and lanes_of(dtype) == 1:
        return Joint(dtype, "fma", tuple(operands))
    if short in ("maximum", "minimum") and lanes_of(dtype) == 1:
        return Binary(short[:3], *operands)
    if short not in _INTRINSICS:
        fail(f"expected an intrinsic among {', '.join(f'llvm.{one}' for one in sorted(_INTRINSICS))}, got {name}")
    return _joint(_KINDS[_INTRINSICS[short]], dtype, *operands)


def _reduced(dtype: str, name: str, operands: Sequence[Expr]) -> Expr:
    kinds = {each: kind for kind, names in REDUCTIONS.items() for each in names if each}
    if name not in kinds or not operands:
        fail(f"expected a reduction among {', '.join(sorted(kinds))}, got {name}")
    *start, lanes = operands
    kind = typed(Any, CombiningKindAttr)(CombiningKindFlag(kinds[name]))
    return _joint(vector.ReductionOp, dtype, lanes, *start, kind=kind, fastmath=arith.FastMathFlagsAttr("none"))
