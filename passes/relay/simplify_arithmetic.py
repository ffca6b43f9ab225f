"""Patterns that make one operation with a constant of several, and cheap operations of dear ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp, i1
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.element_types import element_type, is_small, numpy_dtype
from ...dialects.relay.canonicalization.casts import FLOATS
from ...dialects.relay.canonicalization.constant_operands import (
    constant_value,
    erase_unused,
    is_any_open,
    is_at_hand,
    one_number,
    sole_user,
)
from ...dialects.relay.core import ConstantOp
from ...dialects.relay.creation import FullLikeOp, FullOp, OnesOp, ZerosOp
from ...dialects.relay.elementwise import (
    AddOp,
    Binary,
    DivideOp,
    MultiplyOp,
    OnesLikeOp,
    PowerOp,
    RsqrtOp,
    SqrtOp,
    ZerosLikeOp,
)
from ...dialects.relay.evaluation import evaluate, operands_of
from ...dialects.relay.numerics import is_float
from ...dialects.relay.operator import element_of
from ...provenance.rewrite import stands_for
from ...support.dtypes import Array

Linear: TypeAlias = AddOp | MultiplyOp


@dataclass
class DoubleOnce(RewritePattern):
    """x + x is 2 * x."""

    module: ModuleOp

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AddOp, rewriter: PatternRewriter, /) -> None:
        element = element_of(op.lhs)
        if op.lhs is not op.rhs or element == i1 or is_small(element) or isinstance(op.lhs.owner, ConstantOp):
            return
        two = ConstantOp.of(np.array(2, numpy_dtype(element)), self.module, "two")
        rewriter.replace(op, [two, MultiplyOp(op.lhs, two.result)])


class MultiplyByRsqrt(RewritePattern):
    """y / sqrt(x) is y * rsqrt(x); a square root that others read stays."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DivideOp, rewriter: PatternRewriter, /) -> None:
        root = op.rhs.owner
        if isinstance(root, SqrtOp) and sole_user(op.rhs) is op:
            inverse = stands_for(RsqrtOp(root.data), op, root)
            rewriter.replace(op, [inverse, stands_for(MultiplyOp(op.lhs, inverse), op)])
            rewriter.erase(root)


@dataclass
class UseOneNumber(RewritePattern):
    """An operand that is one number everywhere, and of the result's shape, is that number, a scalar."""

    module: ModuleOp

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, Binary) or is_any_open(op):
            return
        for index, operand in enumerate(op.operands):
            owner, other = operand.owner, op.operands[1 - index]
            if not isinstance(owner, FullOp | FullLikeOp | OnesOp | OnesLikeOp | ZerosOp | ZerosLikeOp):
                continue
            if operand.type != other.type or (value := one_number(operand, self.module)) is None:
                continue
            number = stands_for(ConstantOp.of(value.copy(), self.module, "number"), owner)
            operands = [number.result if i == index else value for i, value in enumerate(op.operands)]
            rewriter.replace(op, [number, stands_for(type(op)(*operands), op)])
            erase_unused([operand], rewriter)
            return


def _parts(op: Operation, module: ModuleOp) -> tuple[SSAValue, SSAValue] | None:
    """The data and the constant of an addition or multiplication of one constant."""
    if not isinstance(op, Linear):
        return None
    left, right = (is_at_hand(value.owner, module) for value in op.operands)
    if left == right:
        return None
    return (op.rhs, op.lhs) if left else (op.lhs, op.rhs)


def _combined(kind: type[Operation], a: Array, b: Array) -> Array | None:
    """`a + b` or `a * b`; None where a number is lost that was not before, or the result is larger than both."""
    (result,) = evaluate(cast("type[Linear]", kind)(*operands_of([a, b])), [a, b])
    if result.size > max(a.size, b.size):
        return None
    if is_float(a.dtype):
        if not np.isfinite(result).all():
            return None
        if kind is MultiplyOp:
            tiny = 2.0 ** FLOATS[element_type(a.dtype)].least
            wide = np.abs(result.astype(np.float64))
            if ((wide < tiny) & (np.not_equal(a, 0) & np.not_equal(b, 0))).any():
                return None
    return result


@dataclass
class _OnConstants(RewritePattern):
    module: ModuleOp

    def value(self, constant: SSAValue) -> Array:
        array = constant_value(constant, self.module)
        assert array is not None
        return array

    def constant(self, array: Array, *made_of: SSAValue) -> ConstantOp:
        owners = [value.owner for value in made_of if isinstance(value.owner, ConstantOp)]
        hint = next((owner.hint for owner in owners if owner.key is not None), "const")
        return ConstantOp.of(array, self.module, hint)


class MultiplyFirst(_OnConstants):
    """(x + a) * b is x * b + a * b, for constants a and b: the product may meet another."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MultiplyOp, rewriter: PatternRewriter, /) -> None:
        if (outer := _parts(op, self.module)) is None:
            return
        total, factor = outer
        added = total.owner
        if not isinstance(added, AddOp) or sole_user(total) is not op or (inner := _parts(added, self.module)) is None:
            return
        data, term = inner
        product = _combined(MultiplyOp, self.value(term), self.value(factor))
        if product is None:
            return
        scaled = stands_for(MultiplyOp(data, factor), op)
        made_of = [value.owner for value in (factor, term) if isinstance(value.owner, ConstantOp)]
        shift = stands_for(self.constant(product, term, factor), op, added, *made_of)
        rewriter.replace(op, [scaled, shift, stands_for(AddOp(scaled, shift), added)])
        erase_unused([total, term], rewriter)


class MergeConstants(_OnConstants):
    """x * a * b is x * (a * b), and x + a + b is x + (a + b), for constants a and b."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if (parts := _parts(op, self.module)) is None:
            return
        base, constant = parts
        array = self.value(constant)
        if self._joins(array, type(op), sole_user(op.results[0])):
            return
        row, constants = [op], [constant]
        while (inner := self._inner(op, base)) is not None:
            data, other = inner
            if (combined := _combined(type(op), self.value(other), array)) is None:
                break
            assert isinstance(base.owner, Operation)
            row.append(base.owner)
            constants.append(other)
            base, array = data, combined
        if len(row) == 1:
            return
        owners = [value.owner for value in constants if isinstance(value.owner, ConstantOp)]
        merged = stands_for(self.constant(array, *constants), *row, *owners)
        build = AddOp if isinstance(op, AddOp) else MultiplyOp
        before = list(op.operands)
        rewriter.replace(op, [merged, stands_for(build(base, merged), *row)])
        erase_unused([*before, *constants], rewriter)

    def _inner(self, op: Operation, base: SSAValue) -> tuple[SSAValue, SSAValue] | None:
        owner = base.owner
        alike = isinstance(owner, Operation) and type(owner) is type(op) and base.has_one_use()
        return _parts(owner, self.module) if alike and isinstance(owner, Operation) else None

    def _joins(self, array: Array, kind: type[Operation], user: Operation | None) -> bool:
        """Return whether the op behind takes this one in, with all before it."""
        if user is None or type(user) is not kind or (parts := _parts(user, self.module)) is None:
            return False
        return _combined(kind, array, self.value(parts[1])) is not None


class SquareOfSum(_OnConstants):
    """a * a + 2 * a * b + b * b is (a + b) * (a + b)."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AddOp, rewriter: PatternRewriter, /) -> None:
        terms: dict[frozenset[SSAValue], float] = {}
        stack, inside = [op.rhs, op.lhs], 0
        while stack:
            value = stack.pop()
            owner = value.owner
            if isinstance(owner, AddOp) and value.has_one_use() and inside < 2:
                inside += 1
                stack += [owner.rhs, owner.lhs]
            elif (monomial := self._monomial(value)) is None:
                return
            else:
                pair, count = monomial
                terms[pair] = terms.get(pair, 0) + count
        squares = [next(iter(pair)) for pair, count in terms.items() if len(pair) == 1 and count == 1]
        if len(terms) != 3 or len(squares) != 2 or terms.get(frozenset(squares)) != 2:
            return
        total = AddOp(*squares)
        if total.result.type == op.result.type and element_of(total.result) != i1:
            before = list(op.operands)
            rewriter.replace(op, [total, MultiplyOp(total, total)])
            erase_unused(before, rewriter)
        else:
            total.erase()

    def _monomial(self, value: SSAValue) -> tuple[frozenset[SSAValue], float] | None:
        """The two values that `value` is the product of, and how often."""
        value, count = self._without_number(value)
        match owner := value.owner:
            case MultiplyOp():
                (left, once), (right, again) = map(self._without_number, owner.operands)
                return frozenset((left, right)), count * once * again
            case PowerOp() if self._number(owner.rhs) == 2:
                return frozenset((owner.lhs,)), count
            case _:
                return None

    def _without_number(self, value: SSAValue) -> tuple[SSAValue, float]:
        """Return the value that one number multiplies, and that number."""
        if isinstance(owner := value.owner, MultiplyOp):
            for operand, other in ((owner.lhs, owner.rhs), (owner.rhs, owner.lhs)):
                number = self._number(operand) if isinstance(operand.owner, ConstantOp) else None
                if number is not None:
                    return other, number
        return value, 1.0

    def _number(self, value: SSAValue) -> float | None:
        number = one_number(value, self.module)
        return None if number is None else cast(float, number.item())
