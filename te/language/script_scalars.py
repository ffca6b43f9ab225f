"""Scalar expressions of a hybrid script in tir, and conditions on loop variables as guards."""

from __future__ import annotations

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ...dialects import tir
from ...dialects.sizes.kernel import affine_map, lifted
from .expr import Binary, Call, Compare, Expr, Not, Read
from .scalars import ScalarEmitter, number_attribute, scalar_type
from .tensor import tensor_of


class TirEmitter(ScalarEmitter):
    """An emitter like that of a compute, with loads from buffers and index values of tir."""

    def read(self, expr: Read, guarded: bool) -> SSAValue:
        buffer = self.tensors[tensor_of(expr)]
        point = [self.index(index, guarded) for index in expr.indices]
        map, operands = self.access(point)
        if not guarded:
            return self.builder.add(tir.LoadOp.make(buffer, map, operands)).result
        guard = affine_map(map.num_dims, inside(map, buffer))
        zero = number_attribute(0, scalar_type(expr.dtype))
        return self.builder.add(tir.LoadOp.make(buffer, map, operands, guard=guard, otherwise=zero)).result

    def index_value(self, expr: AffineExpr) -> SSAValue:
        return self.builder.add(tir.IndexOp.make(*self.access([expr]))).result


def inside(map: AffineMap, buffer: SSAValue) -> tuple[AffineExpr, ...]:
    """Expressions of which one is negative where a point lies outside of a buffer."""
    shape = tir.buffer_of(buffer).get_shape()
    room = [at * -1 + lifted(extent - 1) for at, extent in zip(map.results, shape, strict=True)]
    return (*map.results, *room)


_NEGATED = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}
_MANY = 16
"""More alternatives than a condition has that somebody wrote."""


def alternatives_of(emitter: ScalarEmitter, test: Expr, negated: bool = False) -> list[list[AffineExpr]] | None:
    """Lists of expressions, of which in one all are at least 0 where a condition holds.

    None for a condition that is not made of comparisons of loop variables, or of too many.
    """
    match test:
        case Call(name="likely", a=inner):
            return alternatives_of(emitter, inner, negated)
        case Not(a=inner):
            return alternatives_of(emitter, inner, not negated)
        case Binary(op="and" | "or" as op):
            left, right = (alternatives_of(emitter, side, negated) for side in (test.a, test.b))
            if left is None or right is None:
                return None
            either = (op == "or") != negated
            joined = [*left, *right] if either else [[*a, *b] for a in left for b in right]
            return joined if len(joined) <= _MANY else None
        case Compare(op="ne" | "eq" as op) if (op == "ne") != negated:
            sides = (Compare(side, test.a, test.b) for side in ("lt", "gt"))
            guards = [guards_of(emitter, side) for side in sides]
            return None if None in guards else [guard for guard in guards if guard is not None]
        case Compare() if negated:
            guards = guards_of(emitter, Compare(_NEGATED[test.op], test.a, test.b))
        case _:
            guards = None if negated else guards_of(emitter, test)
    return None if guards is None else [guards]


def guards_of(emitter: ScalarEmitter, test: Expr) -> list[AffineExpr] | None:
    """Expressions that are all at least 0 where a condition on loop variables holds; None for any other one."""
    if isinstance(test, Call) and test.name == "likely":
        return guards_of(emitter, test.a)
    if isinstance(test, Binary) and test.op == "and":
        left, right = guards_of(emitter, test.a), guards_of(emitter, test.b)
        return None if left is None or right is None else [*left, *right]
    if not isinstance(test, Compare):
        return None
    a, b = emitter.affine(test.a), emitter.affine(test.b)
    if a is None or b is None or test.op == "ne":
        return None
    below, above = b + a * -1, a + b * -1
    return {"le": [below], "lt": [below - 1], "ge": [above], "gt": [above - 1], "eq": [below, above]}[test.op]
