"""Affine index expressions as i64 arithmetic.

An expression is brought to its linear form and summed from the outermost loop inwards, as a number or onto an address;
each partial sum is computed in the outermost loop in which it is constant, once. LLVM would find that too, but would
drop the source lines on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import gcd

from xdsl.dialects import llvm
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)

from ...dialects.affine import Linear, Range, bounds, linear, linear_bounds
from ...dialects.sizes import Size, same
from ...dialects.sizes.kernel import at_least, coefficients, negative, size_of
from ...dialects.tir import BufferType, index_ranges
from ...dialects.tir.index_maps import flat_index
from .context import Lowering
from .frame import Scope


class Indices:
    """The index operands of one op, and the arithmetic on them."""

    operands: Sequence[SSAValue]
    ranges: tuple[Range, ...]

    def __init__(self, ctx: Lowering, operands: Sequence[SSAValue]):
        self.operands = tuple(operands)
        self.ranges = tuple(index_ranges(self.operands))
        self._ctx = ctx

    def form(self, expr: AffineExpr) -> Linear:
        return linear(expr, self.ranges)

    def offset(self, type_: BufferType, map: AffineMap) -> Linear:
        """The number of the element at the point `map` of a buffer."""
        return self.form(flat_index(map.results, type_.strides))

    def value(self, form: Linear) -> SSAValue:
        """The value of a linear form."""
        return self._along(None, form, None) if form.terms else self._ctx.size(form.constant)

    def address(self, base: SSAValue, form: Linear, element: Attribute) -> SSAValue:
        """The address of the element number `form` of the buffer at `base`.

        An address from the outermost loop on: LLVM would take apart a sum that only an address is made of, and drop
        the lines of its parts.
        """
        return self._along(base, form, element) if form.terms or not same(form.constant, 0) else base

    def _along(self, total: SSAValue | None, form: Linear, element: Attribute | None) -> SSAValue:
        """`total` plus a linear form, each part where its depth begins; with `element`, an address and elements."""
        scopes = self._ctx.frame.scopes
        groups: dict[int, list[tuple[AffineExpr, Size]]] = {}
        for atom, factor in form.terms:
            groups.setdefault(self._depth(atom), []).append((atom, factor))
        scope: Scope | None = None
        for depth in sorted(groups):
            scope = scopes[depth] if depth < len(scopes) else None
            total = self._partial(scope, total, groups[depth], element)
        assert total is not None
        if same(form.constant, 0):
            return total
        key = (element, total, form.constant)
        return self._once(scope, key, lambda: self._plus(total, self._ctx.size(form.constant), element))

    def _plus(self, total: SSAValue, number: SSAValue, element: Attribute | None) -> SSAValue:
        return self._ctx.plus(total, number) if element is None else self._ctx.gep(total, number, element)

    def _partial(
        self,
        scope: Scope | None,
        outer: SSAValue | None,
        terms: Sequence[tuple[AffineExpr, Size]],
        element: Attribute | None,
    ) -> SSAValue:
        """`outer` plus the terms of one depth, computed in its scope."""

        def make() -> SSAValue:
            total = outer
            for atom, factor in terms:
                term = self._term(scope, atom, factor)
                total = term if total is None else self._plus(total, term, element)
            assert total is not None
            return total

        return self._once(scope, (element, outer, tuple([(self._identity(a), f) for a, f in terms])), make)

    def _once(self, scope: Scope | None, key: object, make: Callable[[], SSAValue]) -> SSAValue:
        """Return the result of `make`, computed at the start of a scope and once in it, or here."""
        if scope is None:
            return make()
        if (value := self._ctx.known(scope.known, key)) is None:
            with self._ctx.hoisted(scope):
                value = scope.known[key] = make()
        return value

    def _term(self, scope: Scope | None, atom: AffineExpr, factor: Size) -> SSAValue:
        identity = self._identity(atom)
        if isinstance(atom, AffineDimExpr):
            value = self._ctx.get(self.operands[atom.position])
        else:
            value = self._once(scope, identity, lambda: self._atom(atom))
        if same(factor, 1):
            return value
        return self._once(scope, (identity, factor), lambda: self._ctx.times(value, self._ctx.size(factor)))

    def _identity(self, atom: AffineExpr) -> object:
        """Return a key by which equal atoms are equal in another op: the loops instead of their positions."""
        if isinstance(atom, AffineDimExpr):
            return self.operands[atom.position]
        return (atom, *[self.operands[dim] for dim in sorted(atom.used_dims())])

    def _depth(self, atom: AffineExpr) -> int:
        """The scope that an atom is constant in; past the last one if it is computed in the code."""
        frame = self._ctx.frame
        here = len(frame.scopes)
        return max([frame.depths.get(self.operands[dim], here) for dim in atom.used_dims()], default=0)

    def _atom(self, atom: AffineExpr) -> SSAValue:
        """A division or modulo."""
        match atom:
            case AffineBinaryOpExpr(kind=kind, lhs=lhs, rhs=rhs):
                value = self.value(self.form(lhs))
                positive = at_least(bounds(lhs, self.ranges)[0], 0)
                by = (
                    self._ctx.index(rhs.value)
                    if isinstance(rhs, AffineConstantExpr)
                    else self._ctx.divisor(size_of(rhs))
                )
                divide = self._ctx.floordiv if kind is AffineBinaryOpKind.FloorDiv else self._ctx.floormod
                return divide(value, by, positive=positive)
            case _:
                raise ValueError(f"not an atom: {atom}")

    def guard(self, map: AffineMap) -> SSAValue | bool:
        """Return whether all results are at least 0, as an i1; True or False where the ranges decide it."""
        forms = [
            form for expr in map.results if not at_least(linear_bounds(form := self.form(expr), self.ranges)[0], 0)
        ]
        if any(negative(linear_bounds(form, self.ranges)[1]) for form in forms):
            return False
        if not forms:
            return True
        ctx, scopes = self._ctx, self._ctx.frame.scopes
        depth = max((self._depth(atom) for form in forms for atom, _ in form.terms), default=0)
        values = [self.value(form) for form in forms]

        def test() -> SSAValue:
            # A sign bit in the disjunction is a sign bit somewhere.
            signs = reduce(lambda lhs, rhs: ctx.value(llvm.OrOp, (lhs, rhs), i64), values)
            return ctx.icmp("sge", signs, ctx.index(0))

        return self._once(scopes[depth] if depth < len(scopes) else None, ("guard", *values), test)


def alignment(form: Linear, element: int, *, aligned: bool) -> int:
    """The bytes that divide the address of an element of `element` bytes, in a buffer `aligned` to 64 bytes."""
    if not aligned:
        return element
    numbers = (
        number for size in (form.constant, *(factor for _, factor in form.terms)) for number in coefficients(size)
    )
    return gcd(64, *(number * element for number in numbers))
