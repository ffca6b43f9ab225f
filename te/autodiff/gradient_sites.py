"""The points of a compute that read an element of a tensor: the index map of a read, solved for the compute's axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

from ...dialects.affine import Linear, Range, bounds, linear, simplify, substitute
from ...dialects.sizes import same
from ...dialects.sizes.kernel import affine_map, known
from ...support.dtypes import fail
from ..language.expr import Axis, Expr, Extent, compare, convert
from ..language.layouts import inverse_layout


@dataclass(frozen=True)
class Site:
    """The points that read element `t`: the axes in `values` have these, the others, `free`, any value.

    Dim i of the expressions is `t[i]`, those after are the compute's axes. Only where all of `zero` are 0 and all of
    `positive` at least 0 there is such a point.
    """

    values: dict[Axis, AffineExpr]
    free: list[Axis]
    zero: list[AffineExpr]
    positive: list[AffineExpr]


def number(extent: Extent) -> int:
    """A size that must be known; raises ScheduleError when it is not."""
    if not isinstance(extent, int):
        fail(f"te.gradient: expected sizes that are numbers, got {extent}")
    return extent


def solve(indices: Sequence[AffineExpr], shape: Sequence[int], axes: Sequence[Axis]) -> Site:
    """Return the points at which reads at `indices` (dims as in `Site`) of a tensor of `shape` meet each element."""
    rank = len(shape)
    starts = [number(axis.start) for axis in axes]
    ends = [start + number(axis.extent) - 1 for axis, start in zip(axes, starts, strict=True)]
    ranges: tuple[Range, ...] = (
        *((0, max(0, extent - 1)) for extent in shape),
        *((start, max(start, end)) for start, end in zip(starts, ends, strict=True)),
    )
    solutions: dict[int, AffineExpr] = {}
    zero: list[AffineExpr] = []
    # One value: nothing to look for.
    for dim, (low, high) in enumerate(ranges[rank:], rank):
        if low == high:
            solutions[dim] = AffineConstantExpr(low)
    if (inverse := _inverse(indices, rank, ranges)) is not None:
        solutions |= inverse
        zero += [_replaced(expr, solutions, ranges) - AffineDimExpr(i) for i, expr in enumerate(indices)]
    else:
        for i, expr in enumerate(indices):
            form = linear(_replaced(expr, solutions, ranges), ranges)
            dim = _solvable(form, rank, ranges)
            if dim is None:
                zero.append(form.expr - AffineDimExpr(i))
                continue
            factor = known(form.coefficient(dim) or 0)
            others = Linear.of({atom: c for atom, c in form.terms if atom != AffineDimExpr(dim)}, form.constant)
            rest = (AffineDimExpr(i) - others.expr) * (1 if factor > 0 else -1)
            if abs(factor) > 1:
                zero.append(rest % abs(factor))
                rest = rest // abs(factor)
            solutions = {
                known: substitute(value, _with(len(ranges), {dim: rest})) for known, value in solutions.items()
            }
            zero = [substitute(value, _with(len(ranges), {dim: rest})) for value in zero]
            solutions[dim] = rest
    values = {dim: simplify(value, ranges) for dim, value in solutions.items()}
    positive: list[AffineExpr] = []
    for dim, value in values.items():
        low, high = bounds(value, ranges)
        positive += [value - ranges[dim][0]] if low < ranges[dim][0] else []
        positive += [value * -1 + ranges[dim][1]] if high > ranges[dim][1] else []
    zero = [expr for expr in (simplify(expr, ranges) for expr in zero) if expr != AffineConstantExpr(0)]
    free = [axis for dim, axis in enumerate(axes, rank) if dim not in values]
    return Site({axes[dim - rank]: value for dim, value in values.items()}, free, zero, positive)


def _with(count: int, solved: dict[int, AffineExpr]) -> list[AffineExpr]:
    return [solved.get(dim, AffineDimExpr(dim)) for dim in range(count)]


def _replaced(expr: AffineExpr, solved: dict[int, AffineExpr], ranges: Sequence[Range]) -> AffineExpr:
    return simplify(substitute(expr, _with(len(ranges), solved)), ranges)


def _inverse(indices: Sequence[AffineExpr], rank: int, ranges: Sequence[Range]) -> dict[int, AffineExpr] | None:
    """The axes that a read uses where it is a layout of them: `A[i * 4 + j]`, `A[i floordiv 4, i mod 4]`."""
    used = sorted(set[int]().union(*(expr.used_dims() for expr in indices)))
    if any(dim < rank or not same(ranges[dim][0], 0) for dim in used):
        return None
    dims: list[AffineExpr] = [AffineDimExpr(used.index(dim) if dim in used else 0) for dim in range(len(ranges))]
    layout = affine_map(len(used), tuple(substitute(expr, dims) for expr in indices))
    inverse = inverse_layout(layout, [known(ranges[dim][1] + 1) for dim in used])
    return None if inverse is None else dict(zip(used, inverse, strict=True))


def _solvable(form: Linear, rank: int, ranges: Sequence[Range]) -> int | None:
    """The axis of most values among those that an index moves with."""
    dims = [atom.position for atom, _ in form.terms if isinstance(atom, AffineDimExpr) and atom.position >= rank]
    dims = [dim for dim in dims if form.coefficient(dim) is not None]
    return max(dims, key=lambda dim: ranges[dim][1] - ranges[dim][0], default=None)


def expression(expr: AffineExpr, dims: Sequence[Expr]) -> Expr:
    """An affine expression of the te language."""
    match expr:
        case AffineConstantExpr():
            return convert(expr.value)
        case AffineDimExpr():
            return dims[expr.position]
        case AffineBinaryOpExpr():
            a, b = expression(expr.lhs, dims), expression(expr.rhs, dims)
            match expr.kind:
                case AffineBinaryOpKind.Add:
                    return a + b
                case AffineBinaryOpKind.Mul:
                    return a * b
                case AffineBinaryOpKind.FloorDiv:
                    return a // b
                case _:
                    return a % b
        case _:
            fail(f"te.gradient: expected an affine expression, got {expr}")


def conditions(site: Site, dims: Sequence[Expr]) -> list[Expr]:
    """Return the conditions that hold where there is a point."""
    conditions: list[Expr] = [compare("eq", expression(expr, dims), 0) for expr in site.zero]
    return conditions + [compare("ge", expression(expr, dims), 0) for expr in site.positive]
