"""Expressions of vectors, of as many lanes as their dtypes say, in tir: `A[i, T.Ramp(0, 1, 8)] + T.Broadcast(x, 8)`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import DenseArrayBase, DenseIntOrFPElementsAttr, VectorType, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from ...dialects import te, tir
from ...dialects.sizes.kernel import affine_map
from ...dialects.tir.lanes import CompareOp, SelectOp
from ...provenance.builder import LocatedBuilder
from ...support.dtypes import BOOL, element_of, fail, is_float, is_unsigned, lanes_of
from .expr import Binary, Broadcast, Compare, Const, Expr, Joint, Not, Read, Reinterpret, Select, Var, binary
from .extents import Sizes
from .lanes import Progression, Progressions, Shuffle, progression, vector_access
from .operators import PREDICATES
from .scalars import conversion, number_attribute, scalar_type
from .script_scalars import TirEmitter, inside
from .tensor import Tensor, tensor_of


def vector_type(dtype: str) -> Attribute:
    """The type of a dtype's values, with lanes or without."""
    element = scalar_type(element_of(dtype))
    return element if lanes_of(dtype) == 1 else VectorType(element, [lanes_of(dtype)])


def attribute_of(values: Sequence[Any], dtype: str) -> Attribute:
    """The attribute of the numbers of a vector, or of one number."""
    if lanes_of(dtype) == 1:
        return number_attribute(values[0], scalar_type(dtype))
    type_ = cast("VectorType[Any]", vector_type(dtype))
    if is_float(dtype):
        return DenseIntOrFPElementsAttr.from_list(type_, [float(value) for value in values])
    numbers = [cast(Any, number_attribute(value, type_.element_type)).value.data for value in values]
    return DenseIntOrFPElementsAttr.from_list(type_, numbers)


def numbers_of(expr: Expr) -> list[Any] | None:
    """The numbers of the lanes of a vector, or the one of a scalar, if they are known."""
    match expr:
        case Const():
            return [expr.value]
        case Broadcast(value=Const(value=number)):
            return [number] * expr.lanes
        case Shuffle(vectors=parts, indices=indices) if all(isinstance(part, Const) for part in (*parts, *indices)):
            numbers = [cast(Const, part).value for part in parts]
            return [numbers[int(cast(Const, index).value)] for index in indices]
        case _:
            return None


class VectorEmitter(TirEmitter):
    """An emitter of expressions, some of which have lanes."""

    def __init__(
        self,
        builder: LocatedBuilder,
        tensors: Mapping[Tensor, SSAValue],
        sizes: Sizes,
        stage: str,
        indices: Sequence[SSAValue],
        scalars: Mapping[Var, SSAValue],
    ):
        super().__init__(builder, tensors, sizes, stage, (), indices, scalars)
        self._progressions: Progressions = {}

    def _operands(self, expr: Expr, guarded: bool) -> list[tuple[Expr, bool]]:
        if isinstance(expr, Shuffle):
            return [] if numbers_of(expr) else [(part, guarded) for part in expr.vectors]
        if lanes_of(expr.dtype) == 1:
            return super()._operands(expr, guarded)
        is_one = numbers_of(expr) or self._steps(expr) or (isinstance(expr, Compare) and self._room(expr))
        return [] if is_one else super()._operands(expr, guarded)

    def _steps(self, expr: Expr) -> Progression | None:
        """The form of integers that grow by as much from lane to lane."""
        if is_float(expr.dtype) or (found := progression(expr, self._progressions)) is None or not found.stride:
            return None
        return found

    def _value(self, expr: Expr, guarded: bool) -> SSAValue:
        if isinstance(expr, Shuffle):
            return self._shuffled(expr)
        if lanes_of(expr.dtype) == 1:
            return super()._value(expr, guarded)
        if (numbers := numbers_of(expr)) is not None:
            return self._numbers(numbers, expr.dtype)
        if (found := self._steps(expr)) is not None:
            map_, operands = self.access([self.index(found.base)])
            places = tir.IndexOp.make(map_, operands, VectorType(te.INDEX, [lanes_of(expr.dtype)]), found.stride)
            return self._lanewise("index_cast", self._add(places), vector_type(expr.dtype))
        match expr:
            case Broadcast():
                value = self.value(expr.value, guarded)
                return self._made(vector.BroadcastOp, expr.dtype, value)
            case Joint(op="ramp"):
                return self._ramp(expr)
            case Compare():
                return self._compared(expr)
            case Not():
                return self.make(
                    arith.XOrIOp, self.value(expr.a), self._numbers([True] * lanes_of(expr.dtype), expr.dtype)
                )
            case Select():
                return self._picked(expr, guarded)
            case Reinterpret():
                return self._reinterpret(self.value(expr.a, guarded), vector_type(expr.dtype))
            case Binary(op="mul", b=Broadcast(value=Const(value=-1.0))) if is_float(expr.dtype):
                return self.make(arith.NegfOp, self.value(expr.a, guarded))
            case _:
                return super()._value(expr, guarded)

    def _made(self, kind: type[Operation], dtype: str, *operands: SSAValue, **properties: Attribute) -> SSAValue:
        return self._add(kind.create(operands=operands, result_types=[vector_type(dtype)], properties=properties))

    def _numbers(self, numbers: Sequence[Any], dtype: str) -> SSAValue:
        return self._made(arith.ConstantOp, dtype, value=attribute_of(numbers, dtype))

    def _ramp(self, expr: Joint) -> SSAValue:
        """The sum of the base and multiples of a stride that is no number."""
        base, stride = (self._made(vector.BroadcastOp, expr.dtype, self.value(part)) for part in expr.parts)
        steps = self.make(arith.MuliOp, stride, self._numbers(range(lanes_of(expr.dtype)), expr.dtype))
        return self.make(arith.AddiOp, base, steps)

    def _compared(self, expr: Compare) -> SSAValue:
        element = element_of(expr.a.dtype)
        if element == BOOL and expr.op == "ne":
            return self.make(arith.XOrIOp, self.value(expr.a), self.value(expr.b))
        if (room := self._room(expr)) is not None:
            map_, operands = self.access([self.index(room.base)])
            return self._add(tir.MaskOp.make(map_, operands, [room.stride], lanes_of(expr.dtype)))
        of_floats, of_signed, of_unsigned = PREDICATES[expr.op]
        word = of_floats if is_float(element) else of_unsigned if is_unsigned(element) else of_signed
        return self._add(CompareOp.make(word, self.value(expr.a), self.value(expr.b)))

    def _room(self, expr: Compare) -> Progression | None:
        """The index that is at least 0 in the lanes where a comparison holds, if it grows evenly from lane to lane."""
        if expr.op not in ("lt", "le", "gt", "ge") or is_float(expr.a.dtype) or is_unsigned(expr.a.dtype):
            return None
        small, large = (expr.a, expr.b) if expr.op in ("lt", "le") else (expr.b, expr.a)
        low, high = (progression(side, self._progressions) for side in (small, large))
        if low is None or high is None or low.stride == high.stride:
            return None
        room = binary("sub", high.base, low.base)
        return Progression(binary("sub", room, 1) if expr.op in ("lt", "gt") else room, high.stride - low.stride)

    def _picked(self, expr: Select, guarded: bool) -> SSAValue:
        condition = self.value(expr.condition, guarded)
        inner = guarded or expr.guarded
        sides = [self.value(side, inner) for side in (expr.true_value, expr.false_value)]
        if lanes_of(expr.condition.dtype) == 1:
            condition = self._made(vector.BroadcastOp, f"{BOOL}x{lanes_of(expr.dtype)}", condition)
        return self._add(SelectOp.make(condition, *sides))

    def _lanewise(self, kind: str, value: SSAValue, target: Attribute) -> SSAValue:
        return self._add(tir.CastOp.make(kind, value, target))

    def _cast(self, value: SSAValue, source: str, dtype: str) -> SSAValue:
        if lanes_of(dtype) == 1:
            return super()._cast(value, source, dtype)
        target = vector_type(dtype)
        if value.type == target:
            return value
        if element_of(dtype) == BOOL:
            zeros = self._numbers([0] * lanes_of(source), source)
            return self._add(CompareOp.make("une" if is_float(source) else "ne", value, zeros))
        kind = conversion(element_of(source), element_of(dtype))
        if kind is None:
            middle = f"float32x{lanes_of(dtype)}"
            return self._cast(self._cast(value, source, middle), middle, dtype)
        if kind in (arith.ExtFOp, arith.TruncFOp):
            return self._made(kind, dtype, value)
        # Those of arith take scalars only.
        return self._lanewise(kind.name.removeprefix("arith."), value, target)

    # Shuffles

    def _shuffled(self, expr: Shuffle) -> SSAValue:
        places = [index.value if isinstance(index, Const) else None for index in expr.indices]
        parts, widths = expr.vectors, [lanes_of(part.dtype) for part in expr.vectors]
        lanes = [int(place) for place in places if place is not None]
        if len(lanes) != len(places):
            fail(f"'{self.stage}': expected numbers as lanes of a T.Shuffle, got {expr}")
        if (numbers := numbers_of(expr)) is not None and len(lanes) > 1:
            return self._numbers(numbers, expr.dtype)
        singles = [(part, lane) for part, width in zip(parts, widths, strict=True) for lane in range(width)]
        if len(lanes) == 1:
            return self._lane(*singles[lanes[0]])
        if len(set(widths)) == 1 and len(parts) <= 2 and widths[0] > 1:
            mask = DenseArrayBase.from_list(i64, lanes)
            return self._made(vector.ShuffleOp, expr.dtype, *(self.value(parts[side]) for side in (0, -1)), mask=mask)
        moved = [lane for lane, place in enumerate(lanes) if lane != place]
        if len(parts) == 2 and widths == [len(lanes), 1] and [lanes[lane] for lane in moved] == [len(lanes)]:
            return self._with_lane(self.value(parts[0]), moved[0], self.value(parts[1]))
        total = self._made(vector.BroadcastOp, expr.dtype, self._lane(*singles[lanes[0]]))
        for lane, place in enumerate(lanes[1:], start=1):
            total = self._with_lane(total, lane, self._lane(*singles[place]))
        return total

    def _with_lane(self, value: SSAValue, lane: int, number: SSAValue) -> SSAValue:
        position = DenseArrayBase.from_list(i64, [lane])
        properties = {"static_position": position}
        return self._add(
            vector.InsertOp.create(operands=[number, value], result_types=[value.type], properties=properties)
        )

    def _lane(self, part: Expr, lane: int) -> SSAValue:
        value = self.value(part)
        if lanes_of(part.dtype) == 1:
            return value
        position = DenseArrayBase.from_list(i64, [lane])
        return self._made(vector.ExtractOp, element_of(part.dtype), value, static_position=position)

    # Accesses

    def place(self, name: str, indices: Sequence[Expr], guarded: bool = False) -> tuple[list[AffineExpr], int]:
        """The point of an access, of a vector that of its first lane, and the distance of its lanes."""
        point, stride = vector_access(name, indices)
        return [self.index(index, guarded) for index in point], stride

    def read(self, expr: Read, guarded: bool) -> SSAValue:
        width = lanes_of(expr.dtype)
        if width == 1:
            return super().read(expr, guarded)
        point, stride = self.place(expr.tensor.name, expr.indices, guarded)
        buffer = self.tensors[tensor_of(expr)]
        guards: list[AffineExpr] = []
        if guarded:
            ends = (point, [*point[:-1], point[-1] + stride * (width - 1)])
            guards = [guard for end in ends for guard in inside(affine_map(len(self.indices), tuple(end)), buffer)]
        return self.load(expr, point, guards, [0] * width, stride)

    def load(
        self, read: Read, point: Sequence[AffineExpr], guards: Sequence[AffineExpr], numbers: Sequence[Any], stride: int
    ) -> SSAValue:
        """The element, or the vector of elements, at a point; numbers where one of the guards is negative."""
        map_, operands = self.access([*point, *guards])
        where = affine_map(map_.num_dims, map_.results[: len(point)])
        guard = affine_map(map_.num_dims, map_.results[len(point) :]) if guards else None
        otherwise = attribute_of(numbers, read.dtype)
        type_ = vector_type(read.dtype)
        buffer = self.tensors[tensor_of(read)]
        made = tir.LoadOp.make(buffer, where, operands, type=type_, guard=guard, otherwise=otherwise, stride=stride)
        return self._add(made)
