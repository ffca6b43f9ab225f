"""From expressions of the te language to the scalar ops in the body of a te.compute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import cast

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap

from ...dialects import te
from ...dialects.affine import is_long, substitute
from ...dialects.element_types import DTYPES, bit_width, is_integer, stored_type
from ...dialects.sizes import SizeExpr
from ...dialects.sizes.kernel import affine_map, lifted
from ...dialects.tir import CallExternOp, DotBf16Op, JoinBytesOp, WidenPairsOp
from ...dialects.tir.lanes import scalar_type as lane_type
from ...provenance.builder import LocatedBuilder
from ...support.dtypes import BOOL, bits, fail, is_float, is_unsigned
from .expr import (
    Axis,
    Binary,
    Call,
    CallExtern,
    Cast,
    Compare,
    Const,
    Expr,
    Joint,
    Not,
    Read,
    Reinterpret,
    Select,
    SizeNumber,
    Var,
    combines_axes,
)
from .extents import Sizes, size_in, size_of
from .index_forms import IndexForms
from .intrinsics import lowered_intrinsic
from .lanes import Let
from .operators import BITS, FLOATS, INTEGERS, MATH, PREDICATES, UNSIGNED
from .tensor import Tensor, tensor_of
from .walks import children, operands_first, rebuilt, substitution


def number_attribute(value: float, type_: Attribute) -> Attribute:
    """The attribute of a number of a scalar type."""
    if is_integer(type_) or type_ == te.INDEX:
        # Numbers above the middle of an unsigned range are stored as the signed ones of the same bits.
        width = 64 if type_ == te.INDEX else bit_width(type_)
        wrapped = int(value) - (1 << width) if width > 1 and int(value) >= 1 << (width - 1) else int(value)
        return IntegerAttr(wrapped, cast(IntegerType, type_))
    return FloatAttr(float(value), cast(AnyFloat, type_))


def scalar_type(dtype: str) -> Attribute:
    """The type of a dtype's values; raises ScheduleError for one of vectors, which only statements have."""
    if dtype not in DTYPES:
        fail(f"te: expected a dtype of scalars, got {dtype}; vectorize a loop")
    return stored_type(DTYPES[dtype])


@lru_cache(1024)
def _pick(dims: tuple[int, ...]) -> tuple[AffineMap, tuple[int, ...]]:
    """The map to `dims` over just those, and which they are in order."""
    used = sorted(set(dims))
    return affine_map(len(used), tuple(AffineDimExpr(used.index(dim)) for dim in dims)), tuple(used)


class ScalarEmitter(IndexForms):
    """Emits scalar ops at the builder's place; each node becomes one op, however often it is used.

    tensors: the values that reads refer to. indices: index values, which the dims of `axes` stand for.
    """

    def __init__(
        self,
        builder: LocatedBuilder,
        tensors: Mapping[Tensor, SSAValue],
        sizes: Sizes,
        stage: str,
        axes: Sequence[Axis] = (),
        indices: Sequence[SSAValue] = (),
        scalars: Mapping[Var, SSAValue] | None = None,
    ):
        self.builder = builder
        self.tensors = tensors
        super().__init__(stage, axes, sizes, scalars or {})
        self.indices: list[SSAValue] = list(indices)
        self.scalars = scalars or {}
        self.done: dict[int, SSAValue] = {}
        self.numbers: dict[int, SSAValue] = {}
        self.places: tuple[dict[int, AffineExpr], dict[int, AffineExpr]] = ({}, {})
        """Indices by their expressions; those of reads that may lie outside apart."""

    def _add(self, op: Operation) -> SSAValue:
        return self.builder.add(op).results[0]

    def make(self, kind: type[Operation], *operands: SSAValue) -> SSAValue:
        """An op whose result has the type of its operands."""
        type_ = operands[0].type
        plain = is_integer(element := lane_type(type_)) or isinstance(element, IndexType)
        flags = {} if plain else {"fastmath": arith.FastMathFlagsAttr("none")}
        return self._add(kind.create(operands=operands, result_types=[type_], properties=flags))

    def number(self, value: float, type_: Attribute) -> SSAValue:
        attribute = number_attribute(value, type_)
        return self._add(arith.ConstantOp.create(properties={"value": attribute}, result_types=[type_]))

    # Index expressions

    def index(self, expr: Expr, guarded: bool = False) -> AffineExpr:
        """Return `expr` as an index; a part that is not affine becomes an index operand. guarded: as in `value`."""
        self.kept.append(expr)
        for node in operands_first([expr], done := self.places[guarded], self._summands):
            done[id(node)] = self._index(node, done, guarded)
        return done[id(expr)]

    def _summands(self, expr: Expr) -> Sequence[Expr]:
        """Return the operands of a sum that is not affine; its affine part stays affine, for the lanes of a vector."""
        sum_ = isinstance(expr, Binary) and expr.op in ("add", "sub") and not expr.over_axes
        return children(expr) if sum_ and not is_unsigned(expr.dtype) and self.affine(expr) is None else ()

    def _index(self, expr: Expr, done: Mapping[int, AffineExpr], guarded: bool) -> AffineExpr:
        if (affine := self.affine(expr)) is not None:
            return affine
        if self._summands(expr):
            assert isinstance(expr, Binary)
            total = done[id(expr.a)] + done[id(expr.b)] * (1 if expr.op == "add" else -1)
            if not is_long(total):
                return total
        value = self._index_number(expr) if expr.over_axes else self.value(expr, guarded)
        if not isinstance(value.type, IndexType):
            if is_unsigned(expr.dtype) and bits(expr.dtype) < 64:
                value = self._cast(value, expr.dtype, "int64")
            value = self._add(arith.IndexCastOp(value, te.INDEX))
        self.indices.append(value)
        return AffineDimExpr(len(self.indices) - 1)

    def _index_number(self, expr: Expr) -> SSAValue:
        """The value, an `index`, of arithmetic of axes and whole numbers."""
        for node in operands_first([expr], self.numbers, lambda e: () if self._is_index(e) else children(e)):
            self.numbers[id(node)] = self._new_index_number(node)
        return self.numbers[id(expr)]

    def _is_index(self, expr: Expr) -> bool:
        return isinstance(expr, Const) or self.affine(expr) is not None

    def _new_index_number(self, expr: Expr) -> SSAValue:
        if isinstance(expr, Const):
            return self.number(expr.value, te.INDEX)
        if (affine := self.affine(expr)) is not None:
            return self.index_value(affine)
        assert isinstance(expr, Binary)
        return self._binary(expr, self.numbers[id(expr.a)], self.numbers[id(expr.b)])

    def access(self, exprs: Sequence[AffineExpr]) -> tuple[AffineMap, list[SSAValue]]:
        """A map over just the index values that `exprs` use."""
        if all(isinstance(expr, AffineDimExpr) for expr in exprs):
            map, used = _pick(tuple(cast(AffineDimExpr, expr).position for expr in exprs))
            return map, [self.indices[dim] for dim in used]
        used = sorted(set[int]().union(*(expr.used_dims() for expr in exprs)))
        dims: list[AffineExpr] = [AffineConstantExpr(0)] * len(self.indices)
        for position, dim in enumerate(used):
            dims[dim] = AffineDimExpr(position)
        map = affine_map(len(used), tuple(substitute(expr, dims) for expr in exprs))
        return map, [self.indices[dim] for dim in used]

    # Values

    def value(self, expr: Expr, guarded: bool = False) -> SSAValue:
        """The value of `expr`. guarded: it may be evaluated where its reads lie outside; they give 0 there."""
        self.kept.append(expr)
        # Operands first, without recursion: a concatenation of many tensors is a deep expression.
        stack = [(expr, guarded)]
        while stack:
            node, inner = stack[-1]
            if id(node) * 2 + inner in self.done:
                stack.pop()
            elif missing := [o for o in self._operands(node, inner) if id(o[0]) * 2 + o[1] not in self.done]:
                stack += reversed(missing)
            else:
                self.done[id(node) * 2 + inner] = self._located(node, inner)
        return self.done[id(expr) * 2 + guarded]

    def _operands(self, expr: Expr, guarded: bool) -> list[tuple[Expr, bool]]:
        """The expressions whose values the op of `expr` takes, and whether they are guarded."""
        match expr:
            case Select():
                inner = guarded or expr.guarded
                return [(expr.condition, guarded), (expr.true_value, inner), (expr.false_value, inner)]
            case Read() | Let():
                return []
            case Binary() if expr.over_axes:
                return []
            case Compare() if combines_axes(expr):
                return []
            case _:
                return [(child, guarded) for child in children(expr)]

    def _located(self, expr: Expr, guarded: bool) -> SSAValue:
        if expr.location is None:
            return self._value(expr, guarded)
        with self.builder.located(expr.location):
            return self._value(expr, guarded)

    def _value(self, expr: Expr, guarded: bool) -> SSAValue:
        match expr:
            case Const():
                return self.number(expr.value, scalar_type(expr.dtype))
            case Var():
                if expr in self.scalars:
                    return self.scalars[expr]
                value = size_of(expr, self.sizes)
                if isinstance(value, SizeExpr):
                    return self._add(arith.IndexCastOp(self.index_value(lifted(value)), scalar_type(expr.dtype)))
                return self.number(value, scalar_type(expr.dtype))
            case SizeNumber():
                return self._size_number(expr)
            case Axis() | Binary() if expr.over_axes:
                return self._add(arith.IndexCastOp(self._index_number(expr), scalar_type(expr.dtype)))
            case Read():
                return self.read(expr, guarded)
            case Binary():
                return self._binary(expr, self.value(expr.a, guarded), self.value(expr.b, guarded))
            case Compare():
                if combines_axes(expr):
                    a, b = self._index_number(expr.a), self._index_number(expr.b)
                else:
                    a, b = self.value(expr.a, guarded), self.value(expr.b, guarded)
                kind = arith.CmpfOp if is_float(expr.a.dtype) else arith.CmpiOp
                return self._add(kind(a, b, PREDICATES[expr.op][_sort(expr.a.dtype)]))
            case Not():
                a = self.value(expr.a, guarded)
                return self._add(arith.XOrIOp(a, self.number(1, a.type)))
            case Select():
                condition = self.value(expr.condition, guarded)
                inner = guarded or expr.guarded
                then, otherwise = self.value(expr.true_value, inner), self.value(expr.false_value, inner)
                return self._add(arith.SelectOp(condition, then, otherwise))
            case Cast():
                return self._cast(self.value(expr.a, guarded), expr.a.dtype, expr.dtype)
            case Reinterpret():
                return self._reinterpret(self.value(expr.a, guarded), scalar_type(expr.dtype))
            case Joint(op="fma"):
                a, b, c = (self.value(part, guarded) for part in expr.parts)
                return self._add(math.FmaOp(a, b, c))
            case Let():
                return self.value(rebuilt(expr.body, substitution({expr.var: expr.value})), guarded)
            case Joint(op=str() as name):
                kind = {"dot2_bf16": DotBf16Op, "join_bytes": JoinBytesOp, "widen_pairs": WidenPairsOp}.get(name)
                if kind is None:
                    fail(f"'{self.stage}': expected scalars, got {expr}; vectorize a loop")
                parts = [self.value(part, guarded) for part in expr.parts]
                return self._add(kind.create(operands=parts, result_types=[scalar_type(expr.dtype)]))
            case (Call() | CallExtern()) as call if (lowered := lowered_intrinsic(call)) is not None:
                return self.value(lowered, guarded)
            case Call():
                a = self.value(expr.a, guarded)
                if expr.name == "likely":
                    return a
                if expr.name == "negative":
                    return self.make(arith.NegfOp, a)
                if expr.name == "abs":
                    return self.make(math.AbsIOp if not is_float(expr.dtype) else math.AbsFOp, a)
                return self.make((MATH | BITS)[expr.name], a)
            case CallExtern():
                arguments = [self.value(argument, guarded) for argument in expr.arguments]
                return self._add(CallExternOp(expr.callee, arguments, [scalar_type(expr.dtype)]))
            case _:
                fail(f"te.compute '{self.stage}': expected an expression of numbers, got {type(expr).__name__}")

    def _size_number(self, expr: SizeNumber) -> SSAValue:
        """A size as a number of some dtype."""
        if isinstance(size := size_in(expr.value, self.sizes), int):
            return self.number(size, scalar_type(expr.dtype))
        index = self.index_value(lifted(size))
        if not is_float(expr.dtype):
            return self._add(arith.IndexCastOp(index, scalar_type(expr.dtype)))
        return self._cast(self._add(arith.IndexCastOp(index, scalar_type("int64"))), "int64", expr.dtype)

    def index_value(self, expr: AffineExpr) -> SSAValue:
        """An index as a number."""
        return self._add(te.IndexOp.make(*self.access([expr])))

    def read(self, expr: Read, guarded: bool) -> SSAValue:
        """An element of a tensor. guarded: 0 where it lies outside, unless the read says another number."""
        tensor = self.tensors[tensor_of(expr)]
        point = [self.index(index, guarded) for index in expr.indices]
        otherwise = None
        if expr.otherwise is not None or guarded:
            number = 0 if expr.otherwise is None else expr.otherwise.value
            otherwise = number_attribute(number, scalar_type(expr.dtype))
        return self._add(te.ReadOp.make(tensor, *self.access(point), otherwise))

    def _binary(self, expr: Binary, a: SSAValue, b: SSAValue) -> SSAValue:
        table = (FLOATS, INTEGERS, UNSIGNED)[_sort(expr.dtype)]
        if (kind := table[expr.op]) is not None:
            return self.make(kind, a, b)
        sub, mul = table["sub"], table["mul"]
        assert sub is not None
        assert mul is not None
        if is_float(expr.dtype):
            rounding = math.TruncOp if expr.op == "truncdiv" else math.FloorOp
            quotient = self.make(rounding, self.make(arith.DivfOp, a, b))
        else:
            quotient = self.make(arith.FloorDivSIOp, a, b)
        return self.make(sub, a, self.make(mul, quotient, b)) if expr.op == "floormod" else quotient

    def _reinterpret(self, value: SSAValue, target: Attribute) -> SSAValue:
        if value.type == target:
            return value
        return self._add(arith.BitcastOp.create(operands=[value], result_types=[target]))

    def _cast(self, value: SSAValue, source: str, dtype: str) -> SSAValue:
        target = scalar_type(dtype)
        if dtype == BOOL:
            if source == BOOL:
                return value
            zero = self.number(0, value.type)
            return self._add(arith.CmpfOp(value, zero, "une") if is_float(source) else arith.CmpiOp(value, zero, "ne"))
        if value.type == target:
            return value
        kind = conversion(source, dtype)
        if kind is None:
            return self._cast(self._cast(value, source, "float32"), "float32", dtype)
        return self._add(kind.create(operands=[value], result_types=[target]))


def conversion(source: str, dtype: str) -> type[Operation] | None:
    """The op that makes numbers of one dtype, whose type is another, of another one, which is not bool.

    None between float16 and bfloat16; float32 holds both.
    """
    from_int, to_int = not is_float(source), not is_float(dtype)
    if from_int and to_int:
        widen = arith.ExtUIOp if is_unsigned(source) else arith.ExtSIOp
        return arith.TruncIOp if bits(dtype) < bits(source) else widen
    if from_int:
        return arith.UIToFPOp if is_unsigned(source) else arith.SIToFPOp
    if to_int:
        return arith.FPToUIOp if is_unsigned(dtype) else arith.FPToSIOp
    if bits(dtype) == bits(source):
        return None
    return arith.ExtFOp if bits(dtype) > bits(source) else arith.TruncFOp


def _sort(dtype: str) -> int:
    return 0 if is_float(dtype) else 2 if is_unsigned(dtype) else 1
