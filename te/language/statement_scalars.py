"""Scalar expressions of statements in tir, whose variables are those of loops and blocks."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any, Protocol, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from ...dialects.affine import Range, bounds, simplify
from ...dialects.sizes.kernel import affine_map, at_least
from ...provenance.builder import LocatedBuilder
from .expr import Binary, Cast, Expr, Joint, Read, Select, Var
from .extents import Sizes
from .scalars import scalar_type
from .script_scalars import guards_of, inside
from .tensor import Tensor, tensor_of
from .vectors import VectorEmitter, numbers_of


class Names(Protocol):
    """The meanings of the names in a statement."""

    tensors: dict[Tensor, SSAValue]
    handles: dict[Var, SSAValue]
    loops: dict[Var, AffineExpr]
    limits: list[Range]
    """The smallest and the largest value of each index."""
    indices: list[SSAValue]
    values: dict[Var, SSAValue]


class StatementEmitter(VectorEmitter):
    """Expressions whose variables are loops'."""

    def __init__(self, builder: LocatedBuilder, sizes: Sizes, name: str, names: Names):
        super().__init__(builder, names.tensors, sizes, name, names.indices, names.values)
        self._loops = dict(names.loops)
        self._limits = list(names.limits)
        self._handles = names.handles

    def _form(self, expr: Expr) -> AffineExpr | None:
        if isinstance(expr, Var) and expr in self._loops:
            return self._loops[expr]
        return super()._form(expr)

    def _ranges(self) -> list[Range]:
        return self._limits

    def _value(self, expr: Expr, guarded: bool) -> SSAValue:
        match expr:
            case Var() if expr in self._loops:
                index = self.index_value(self._loops[expr])
            case Binary() if (form := self._sum(expr)) is not None:
                index = self.index_value(form)
            case Select(true_value=Read() as read) if guards := self._guards(expr):
                return self._guarded_load(read, guards, numbers_of(expr.false_value) or [])
            case Joint(op=Operation()):
                result = self.copied(expr).results[0]
                if not isinstance(result.type, IndexType):
                    return result
                index = result
            case _:
                return super()._value(expr, guarded)
        return self.builder.add(arith.IndexCastOp(index, scalar_type(expr.dtype))).result

    def _sum(self, expr: Expr) -> AffineExpr | None:
        """The index that, cut to the dtype, has the bits of arithmetic of loops, if an expression is such."""
        if not isinstance(expr, Binary) or expr.op not in ("add", "sub", "mul"):
            return None
        form = self.affine(expr)
        return form if form is not None and form.used_dims() else None

    def _guards(self, expr: Expr) -> list[AffineExpr] | None:
        """The guards under which an expression is an element, and elsewhere a number, if it is such a one."""
        match expr:
            case Select(guarded=True, true_value=Read(otherwise=None)) if numbers_of(expr.false_value) is not None:
                return guards_of(self, expr.condition)
            case _:
                return None

    def _guarded_load(self, read: Read, guards: Sequence[AffineExpr], numbers: Sequence[Any]) -> SSAValue:
        """The element where the guards hold and the point is inside, the number elsewhere; of a vector as it says."""
        point, stride = self.place(read.tensor.name, read.indices)
        outside: list[AffineExpr] = []
        if len(numbers) == 1:
            sides = inside(affine_map(len(self.indices), tuple(point)), self.tensors[tensor_of(read)])
            known = {str(simplify(guard, self._limits)) for guard in guards}
            outside = [side for side in sides if not self._holds(side, known)]
        with self.builder.located(read.location or self.builder.location):
            return self.load(read, point, [*guards, *outside], numbers, stride)

    def _holds(self, side: AffineExpr, known: Set[str]) -> bool:
        """Return whether a side is at least 0 in all iterations, or one of the known guards."""
        if not side.used_dims() <= set(range(len(self._limits))):
            # An index that is a value, which may be anything.
            return False
        return at_least(bounds(side, self._limits)[0], 0) or str(simplify(side, self._limits)) in known

    def _operands(self, expr: Expr, guarded: bool) -> list[tuple[Expr, bool]]:
        if isinstance(expr, Joint) and isinstance(expr.op, Operation):
            return [(part, guarded) for part in expr.parts if not self._is_place(part)]
        if self._guards(expr) or self._sum(expr) is not None:
            return []
        return super()._operands(expr, guarded)

    def _is_place(self, part: Expr) -> bool:
        """Return whether a part of a copy is a buffer or an index."""
        return (isinstance(part, Var) and part in self._handles) or (isinstance(part, Cast) and part.dtype == "index")

    def copied(self, expr: Joint) -> Operation:
        """The copy of an op that an expression holds, of its operands."""
        op = cast(Operation, expr.op)
        return self.builder.add(
            type(op).create(
                operands=[self._operand(part) for part in expr.parts],
                result_types=op.result_types,
                properties=dict(op.properties),
                attributes=dict(op.attributes),
            )
        )

    def _operand(self, part: Expr) -> SSAValue:
        match part:
            case Var() if part in self._handles:
                return self._handles[part]
            case Cast(dtype="index", a=a):
                form = self.index(a)
                return self.indices[form.position] if isinstance(form, AffineDimExpr) else self.index_value(form)
            case _:
                return self.value(part)
