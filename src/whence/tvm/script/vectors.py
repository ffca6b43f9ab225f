"""Vectors of a script: ramps, broadcasts, shuffles, masked accesses and intrinsics, as expressions that hold an op.

The inverse of `tir/script_vectors.py`, by whose tables the operators and intrinsics are chosen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from typing import cast as typed

from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import (
    AffineMapAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    StringAttr,
    VectorType,
    i64,
)
from xdsl.dialects.vector import CombiningKindAttr, CombiningKindFlag
from xdsl.ir import Attribute, Operation
from xdsl.ir.affine import AffineDimExpr, AffineMap

from whence.dialects import tir
from whence.dialects.tir.lanes import CompareOp, SelectOp
from whence.support.dtypes import BOOL, NAMES, bits, element_of, fail, is_float, is_unsigned, lanes_of
from whence.te.language.expr import Binary, Cast, Const, Expr, Joint, Read, Var, binary, constant, convert
from whence.te.language.operators import FLOATS, INTEGERS, MATH, PREDICATES, UNSIGNED
from whence.te.language.scalars import scalar_type
from whence.te.language.walks import children
from whence.tir.script_vectors import LLVM, REDUCTIONS

_INDEX = IndexType()
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


@dataclass(frozen=True)
class Lanes:
    """`lanes` numbers from `base` on, `stride` apart, as indices are written."""

    base: Expr
    stride: int
    lanes: int

    @property
    def dtype(self) -> str:
        return f"{self.base.dtype}x{self.lanes}"

    def value(self) -> Expr:
        """The numbers as a vector."""
        if self.stride == 0:
            return broadcast(self.base, self.lanes)
        properties: dict[str, Attribute] = {"map": identity(1), "stride": IntegerAttr(self.stride, i64)}
        made = tir.IndexOp.create(result_types=[VectorType(_INDEX, [self.lanes])], properties=properties)
        index = Joint(f"int64x{self.lanes}", made, (place(self.base),))
        return joint(tir.CastOp, self.dtype, index, kind=StringAttr("index_cast"))


def is_dtype(name: str) -> bool:
    """Return whether a name is that of a dtype, of vectors included."""
    matched = _LANES.fullmatch(name)
    return name in NAMES or (matched is not None and matched[1] in NAMES and 2 <= int(matched[2]) <= 4096)


def is_vector(value: Any) -> bool:
    """Return whether a value has several lanes."""
    return isinstance(value, Lanes) or (isinstance(value, Expr) and lanes_of(value.dtype) > 1)


def type_of(dtype: str) -> Attribute:
    """The type of a dtype's values; raises ScheduleError for an unknown dtype."""
    if not is_dtype(dtype):
        fail(f"expected a dtype, got {dtype!r}")
    element = scalar_type(element_of(dtype))
    return element if lanes_of(dtype) == 1 else VectorType(element, [lanes_of(dtype)])


def joint(kind: type[Operation], dtype: str, /, *parts: Expr, **properties: Attribute) -> Joint:
    if is_float(element_of(dtype)) and kind in _ROUNDED:
        properties["fastmath"] = arith.FastMathFlagsAttr("none")
    return Joint(dtype, kind.create(result_types=[type_of(dtype)], properties=properties), parts)


def identity(count: int) -> AffineMapAttr:
    return AffineMapAttr(AffineMap(count, 0, tuple(map(AffineDimExpr, range(count)))))


def place(index: Expr) -> Expr:
    """An expression as an operand that is an index."""
    return Cast("index", index)


def _whole(value: Any, what: str) -> int:
    value = value.value if isinstance(value, Const) else value
    if not isinstance(value, int) or isinstance(value, bool):
        fail(f"expected a number as {what}, got {value}")
    return value


# Making vectors


def ramp(base: Expr, stride: Any, lanes: Any) -> Lanes:
    """`T.Ramp`; raises ScheduleError if stride or lanes are no numbers, or the lanes too few."""
    return Lanes(base, _whole(stride, "the stride"), _count(lanes))


def _count(lanes: Any) -> int:
    count = _whole(lanes, "the lanes")
    if not 2 <= count <= 4096:
        fail(f"expected 2 to 4096 lanes, got {count}")
    return count


def broadcast(value: Expr, lanes: Any) -> Expr:
    """A number in all lanes."""
    count = _count(lanes)
    if lanes_of(value.dtype) > 1:
        fail(f"expected a number to broadcast, got {value.dtype}")
    dtype = f"{value.dtype}x{count}"
    return (
        numbers([value.value] * count, dtype) if isinstance(value, Const) else joint(vector.BroadcastOp, dtype, value)
    )


def numbers(values: Sequence[Any], dtype: str) -> Expr:
    type_ = typed("VectorType[Any]", type_of(dtype))
    element = element_of(dtype)
    if is_float(element):
        data = DenseIntOrFPElementsAttr.from_list(type_, [float(value) for value in values])
    else:
        width = 1 << bits(element) if element != BOOL else 2
        numbers = [int(value) % width for value in values]
        signed = [number - width if number * 2 >= width and element != BOOL else number for number in numbers]
        data = DenseIntOrFPElementsAttr.from_list(type_, signed)
    return joint(arith.ConstantOp, dtype, value=data)


def shuffle(parts: Sequence[Expr], lanes: Sequence[Any]) -> Expr:
    """`T.Shuffle`: lanes of the parts in a row; one lane is a number."""
    places = [_whole(lane, "a lane") for lane in lanes]
    if not parts or len({element_of(part.dtype) for part in parts}) != 1:
        fail("expected parts of one dtype in T.Shuffle")
    widths = [lanes_of(part.dtype) for part in parts]
    if not places or not all(0 <= place < sum(widths) for place in places):
        fail(f"expected lanes below {sum(widths)} in T.Shuffle, got {places}")
    element = element_of(parts[0].dtype)
    dtype = element if len(places) == 1 else f"{element}x{len(places)}"
    if len(places) == 1:
        for part, width in zip(parts, widths, strict=True):
            if places[0] < width:
                return part if width == 1 else _lane(part, places[0])
            places = [places[0] - width]
    if all(isinstance(part, Const) for part in parts):
        return numbers([typed(Const, parts[place]).value for place in places], dtype)
    if len(parts) == 1 or (len(parts) == 2 and widths[0] == widths[1] > 1):
        pair = parts if len(parts) == 2 else (parts[0], parts[0])
        return joint(vector.ShuffleOp, dtype, *pair, mask=DenseArrayBase.from_list(i64, places))
    moved = [lane for lane, place in enumerate(places) if lane != place]
    if len(parts) == 2 and widths == [len(places), 1] and [places[lane] for lane in moved] == [len(places)]:
        return _with_lane(parts[0], moved[0], parts[1])
    singles = [
        part if width == 1 else _lane(part, lane)
        for part, width in zip(parts, widths, strict=True)
        for lane in range(width)
    ]
    total: Expr = joint(vector.BroadcastOp, dtype, singles[places[0]])
    for lane, place in enumerate(places[1:], start=1):
        total = _with_lane(total, lane, singles[place])
    return total


def _with_lane(value: Expr, lane: int, number: Expr) -> Expr:
    return joint(vector.InsertOp, value.dtype, number, value, static_position=DenseArrayBase.from_list(i64, [lane]))


def _lane(value: Expr, lane: int) -> Expr:
    return joint(
        vector.ExtractOp, element_of(value.dtype), value, static_position=DenseArrayBase.from_list(i64, [lane])
    )


# Arithmetic


def lifted(value: Any, dtype: str) -> Expr:
    """A value as a vector of a dtype's lanes: a number is in all of them."""
    if isinstance(value, Lanes):
        value = value.value()
    if not isinstance(value, Expr):
        value = convert(value) if isinstance(value, bool) else constant(value, element_of(dtype))
    if lanes_of(value.dtype) == 1:
        return broadcast(value, lanes_of(dtype))
    if lanes_of(value.dtype) != lanes_of(dtype):
        fail(f"expected {lanes_of(dtype)} lanes, got {value.dtype}")
    return value


def _pair(a: Any, b: Any) -> tuple[Expr, Expr]:
    wide = next(value for value in (a, b) if is_vector(value))
    return lifted(a, wide.dtype), lifted(b, wide.dtype)


def operate(op: str, a: Any, b: Any) -> Any:
    """The result of an operator of Python on vectors, lane by lane."""
    for one, other, is_left in ((a, b, True), (b, a, False)):
        if isinstance(one, Lanes) and not is_vector(other):
            if op == "add" or (op == "sub" and is_left):
                return Lanes(binary(op, one.base, other), one.stride, one.lanes)
            if op == "mul" and isinstance(other, int | Const):
                return Lanes(binary(op, one.base, other), one.stride * _whole(other, "a factor"), one.lanes)
    left, right = _pair(a, b)
    if left.dtype != right.dtype:
        fail(f"expected vectors of one dtype, got {left.dtype} and {right.dtype}")
    element = element_of(left.dtype)
    op = "div" if op == "/" else op
    if op == "floormod":
        return operate("sub", left, operate("mul", operate("floordiv", left, right), right))
    if op == "mul" and is_float(element) and _is_minus_one(right):
        return negative(left)
    kind = (FLOATS if is_float(element) else UNSIGNED if is_unsigned(element) else INTEGERS).get(op)
    if kind is None or (element == BOOL and op not in ("and", "or", "xor")):
        fail(f"expected an operator of {left.dtype}, got {op}")
    return joint(kind, left.dtype, left, right)


def _is_minus_one(value: Expr) -> bool:
    op = value.op if isinstance(value, Joint) else None
    return isinstance(op, arith.ConstantOp) and set(numbers_in(op)) == {-1.0}


def numbers_in(op: arith.ConstantOp) -> list[Any]:
    return list(typed("DenseIntOrFPElementsAttr[Any]", op.value).get_values())


def negative(value: Expr) -> Expr:
    """The negative of each lane."""
    if is_float(element_of(value.dtype)):
        return joint(arith.NegfOp, value.dtype, value)
    return operate("sub", lifted(0, value.dtype), value)


def compared(op: str, a: Any, b: Any) -> Expr:
    """The comparison of each lane; that of indices is a mask."""
    wide = next(value for value in (a, b) if is_vector(value))
    if op == "ge" and isinstance(a, Lanes) and _is_zero(b):
        properties: dict[str, Attribute] = {
            "map": identity(1),
            "steps": DenseArrayBase.from_list(i64, [a.stride]),
        }
        return joint(tir.MaskOp, f"{BOOL}x{a.lanes}", place(a.base), **properties)
    left, right = _pair(a, b)
    if left.dtype != right.dtype:
        fail(f"expected vectors of one dtype, got {left.dtype} and {right.dtype}")
    element = element_of(left.dtype)
    if element == BOOL and op == "ne":
        return joint(arith.XOrIOp, left.dtype, left, right)
    of_floats, of_signed, of_unsigned = PREDICATES[op]
    word = of_floats if is_float(element) else of_unsigned if is_unsigned(element) else of_signed
    return joint(CompareOp, f"{BOOL}x{lanes_of(wide.dtype)}", left, right, predicate=StringAttr(word))


def _is_zero(value: Any) -> bool:
    op = value.op if isinstance(value, Joint) else None
    return isinstance(op, arith.ConstantOp) and set(numbers_in(op)) == {0}


_BINARY = {
    "max": "max",
    "min": "min",
    "truncdiv": "truncdiv",
    "truncmod": "truncmod",
    "floordiv": "floordiv",
    "floormod": "floormod",
    "bitwise_and": "and",
    "bitwise_or": "or",
    "bitwise_xor": "xor",
    "shift_left": "shl",
    "shift_right": "shr",
    "And": "and",
    "Or": "or",
    "Add": "add",
    "Sub": "sub",
    "Mul": "mul",
    "Div": "div",
    "pow": "pow",
    "power": "pow",
    "atan2": "atan2",
    "copysign": "copysign",
}


def called(word: str, values: Sequence[Any]) -> Expr:
    """A function of T on vectors; raises ScheduleError for one that has no vectors."""
    if word == "Select" and len(values) == 3:
        condition, *sides = values
        dtype = next(side.dtype for side in (*sides, condition) if is_vector(side))
        sides = [lifted(side, dtype) for side in sides]
        condition = lifted(condition, sides[0].dtype)
        if (made := _masked(condition, *sides)) is not None:
            return made
        return joint(SelectOp, sides[0].dtype, condition, *sides)
    if word == "if_then_else" and len(values) == 3:
        return _guarded(*values)
    if word == "Not" and len(values) == 1:
        return joint(arith.XOrIOp, values[0].dtype, values[0], lifted(True, values[0].dtype))
    if word in _BINARY and len(values) == 2:
        return operate(_BINARY[word], *values)
    if len(values) == 1 and is_float(element_of(values[0].dtype)):
        kind = math.AbsFOp if word in ("fabs", "abs") else MATH.get(word)
        if kind is not None:
            return joint(kind, values[0].dtype, values[0])
    fail(f"expected a function of vectors, got T.{word} of {len(values)} values")


def _masked(mask: Expr, value: Expr, otherwise: Expr) -> Expr | None:
    """A masked load whose other lanes are numbers, if a choice between two values is that."""
    load_ = value.op if isinstance(value, Joint) else None
    numbers = otherwise.op if isinstance(otherwise, Joint) else None
    if not isinstance(load_, tir.MaskedLoadOp) or not isinstance(numbers, arith.ConstantOp):
        return None
    if not _is_same(typed(Joint, value).parts[0], mask):
        return None
    properties = {**load_.properties, "otherwise": numbers.value}
    made = tir.MaskedLoadOp.create(result_types=load_.result_types, properties=properties)
    return Joint(value.dtype, made, typed(Joint, value).parts)


def _is_same(a: Expr, b: Expr) -> bool:
    """Return whether two expressions are computed alike."""
    stack = [(a, b)]
    while stack:
        one, other = stack.pop()
        if one is other:
            continue
        if type(one) is not type(other) or isinstance(one, Var) or len(children(one)) != len(children(other)):
            return False
        ops = [getattr(each, "op", None) for each in (one, other)]
        if isinstance(ops[0], Operation) and isinstance(ops[1], Operation):
            if type(ops[0]) is not type(ops[1]) or ops[0].properties != ops[1].properties:
                return False
        elif ops[0] != ops[1] or getattr(one, "value", None) != getattr(other, "value", None):
            return False
        if isinstance(one, Read) and isinstance(other, Read) and one.tensor is not other.tensor:
            return False
        stack += zip(children(one), children(other), strict=True)
    return True


def _guarded(condition: Any, value: Any, otherwise: Any) -> Expr:
    """A load that happens where conditions on indices hold, and else numbers."""
    load_ = value.op if isinstance(value, Joint) else None
    numbers = otherwise.op if isinstance(otherwise, Joint) else None
    if not isinstance(load_, tir.LoadOp) or not isinstance(numbers, arith.ConstantOp):
        fail("expected a load and numbers of vectors in T.if_then_else")
    guards: list[Expr] = []
    waiting = [condition]
    while waiting:
        match waiting.pop():
            case Binary(op="and", a=a, b=b):
                waiting += [b, a]
            case side if getattr(side, "op", "") == "ge":
                guards.append(binary("sub", side.a, side.b))
            case other:
                fail(f"expected conditions `x >= 0` of vectors in T.if_then_else, got {other}")
    parts = (*value.parts, *map(place, guards))
    count = len(parts) - 1
    dims = tuple(map(AffineDimExpr, range(count)))
    outer = len(value.parts) - 1
    properties = {
        **load_.properties,
        "map": AffineMapAttr(AffineMap(count, 0, dims[:outer])),
        "guard": AffineMapAttr(AffineMap(count, 0, dims[outer:])),
        "otherwise": numbers.value,
    }
    return Joint(value.dtype, tir.LoadOp.create(result_types=load_.result_types, properties=properties), parts)


def cast(dtype: str, value: Any) -> Expr:
    """Each lane as another dtype; raises ScheduleError for another number of lanes."""
    value = value.value() if isinstance(value, Lanes) else value
    if not isinstance(value, Expr):
        value = convert(value)
    if lanes_of(value.dtype) == 1 and lanes_of(dtype) > 1:
        value = broadcast(value, lanes_of(dtype))
    if lanes_of(value.dtype) != lanes_of(dtype):
        fail(f"expected {lanes_of(value.dtype)} lanes, got {dtype}")
    source, target = element_of(value.dtype), element_of(dtype)
    if source == target:
        return value
    if (
        isinstance(value, Joint)
        and not is_float(source)
        and not is_float(target)
        and bits_of(source) == bits_of(target)
    ):
        return Joint(dtype, value.op, value.parts)
    kind = _conversion(source, target)
    if kind in (arith.ExtFOp, arith.TruncFOp):
        return joint(kind, dtype, value)
    # Those of arith take scalars only.
    return joint(tir.CastOp, dtype, value, kind=StringAttr(kind.name.removeprefix("arith.")))


def bits_of(element: str) -> int:
    """The bits of a dtype, 1 of a bool."""
    return 1 if element == BOOL else bits(element)


def _conversion(source: str, target: str) -> type[Operation]:
    wider, unsigned = bits_of(target) > bits_of(source), is_unsigned(source) or source == BOOL
    if is_float(source):
        if is_float(target):
            return arith.ExtFOp if wider else arith.TruncFOp
        return arith.FPToUIOp if is_unsigned(target) else arith.FPToSIOp
    if is_float(target):
        return arith.UIToFPOp if unsigned else arith.SIToFPOp
    if target == BOOL:
        fail(f"expected a comparison that makes bools, got a cast of {source}")
    return (arith.ExtUIOp if unsigned else arith.ExtSIOp) if wider else arith.TruncIOp


def reinterpret(dtype: str, value: Any) -> Expr:
    """The bits of a vector as another dtype."""
    value = value.value() if isinstance(value, Lanes) else value
    return joint(arith.BitcastOp, dtype, value)


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
    if short == "fma" and lanes_of(dtype) == 1:
        return Joint(dtype, "fma", tuple(operands))
    if short in ("maximum", "minimum") and lanes_of(dtype) == 1:
        return Binary(short[:3], *operands)
    if short not in _INTRINSICS:
        fail(f"expected an intrinsic among {', '.join(f'llvm.{one}' for one in sorted(_INTRINSICS))}, got {name}")
    return joint(_KINDS[_INTRINSICS[short]], dtype, *operands)


def _reduced(dtype: str, name: str, operands: Sequence[Expr]) -> Expr:
    kinds = {each: kind for kind, names in REDUCTIONS.items() for each in names if each}
    if name not in kinds or not operands:
        fail(f"expected a reduction among {', '.join(sorted(kinds))}, got {name}")
    *start, lanes = operands
    kind = typed(Any, CombiningKindAttr)(CombiningKindFlag(kinds[name]))
    return joint(vector.ReductionOp, dtype, lanes, *start, kind=kind, fastmath=arith.FastMathFlagsAttr("none"))
