"""Points that are equal however they are written."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from ....dialects.affine import Range, linear, substitute
from ....dialects.sizes.kernel import lifted


def canonical(values: Sequence[SSAValue], ranges: Sequence[Range], *maps: Sequence[AffineExpr]) -> Hashable:
    """A key of expressions over `values`, which lie in `ranges`: the same for any order of values and terms."""
    used = set[int]().union(*(linear(expr, tuple(ranges)).expr.used_dims() for map in maps for expr in map))
    order = sorted(used, key=lambda i: id(values[i]))
    dims: list[AffineExpr] = [AffineDimExpr(order.index(i)) if i in used else _any(r) for i, r in enumerate(ranges)]
    extents = tuple(ranges[i] for i in order)
    lines = [[linear(substitute(expr, dims), extents) for expr in map] for map in maps]
    forms = tuple(tuple((frozenset(line.terms), line.constant) for line in map) for map in lines)
    return tuple(values[i] for i in order), forms


def _any(range: Range) -> AffineExpr:
    """Some value of it: where any will do."""
    return lifted(range[0])
