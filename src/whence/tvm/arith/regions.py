"""Regions of buffers that loops reach."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whence.arith.forms import Forms, Range
from whence.arith.int_set import EvalSet, IntervalSet
from whence.arith.iter_affine import Domain, detect_iter_map
from whence.arith.iter_map import IterSumExpr
from whence.te.language import expr as language
from whence.te.language.expr import Expr, ExprLike, Read, Var, binary, constant, convert
from whence.te.language.statements import Buffer, BufferStore, For, Stmt, exprs_in, stmts_in
from whence.te.language.walks import walk


def estimate_region_strict_bound(
    region: Sequence[language.Range], var_dom: Domain, predicate: ExprLike = True
) -> list[IntervalSet] | None:
    """Return the intervals that iterations reach in each dimension, all of whose points they reach; None if unknown.

    region: a range for each iteration.
    """
    result = detect_iter_map([one.min for one in region], var_dom, predicate)
    if len(result.indices) != len(region):
        return None
    found: list[IntervalSet] = []
    for index, one in zip(result.indices, region, strict=True):
        interval = _reached(index, convert(one.extent, index.dtype))
        if interval is None:
            return None
        found.append(interval)
    return found


def estimate_region_lower_bound(
    region: Sequence[language.Range], var_dom: Domain, predicate: ExprLike = True
) -> list[IntervalSet] | None:
    """Return intervals that iterations reach for sure: those that they reach exactly; None if unknown."""
    return estimate_region_strict_bound(region, var_dom, predicate)


def estimate_region_upper_bound(
    region: Sequence[language.Range], var_dom: Domain, predicate: ExprLike = True
) -> list[IntervalSet]:
    """Return intervals outside of which no iteration reaches a dimension: the exact ones where they are known."""
    found: list[IntervalSet] = []
    for one in region:
        exact = estimate_region_strict_bound([one], var_dom, predicate)
        if exact is not None:
            found += exact
            continue
        low = convert(one.min)
        high = Forms().simplify(binary("sub", binary("add", low, one.extent), 1))
        found.append(IntervalSet(EvalSet(low, var_dom).min_value, EvalSet(high, var_dom).max_value))
    return found


def domain_touched(stmt: Stmt, buffer: Buffer, consider_loads: bool, consider_stores: bool) -> list[Range]:
    """Return the range of each dimension of a buffer that statements read or write; [] if they do neither."""
    loops: dict[Any, IntervalSet] = {}
    touched: list[IntervalSet] = []
    stack: list[Stmt | Var] = [stmt]
    while stack:
        one = stack.pop()
        if isinstance(one, Var):
            del loops[one]
            continue
        points = [
            read.indices for read in walk(list(exprs_in(one))) if isinstance(read, Read) and read.buffer is buffer
        ]
        points = points if consider_loads else []
        if isinstance(one, BufferStore) and one.buffer is buffer and consider_stores:
            points.append(tuple(one.indices))
        for point in points:
            reached = [EvalSet(index, loops) for index in point]
            touched = [_both(a, b) for a, b in zip(touched, reached, strict=True)] if touched else reached
        if isinstance(one, For):
            last = binary("sub", binary("add", one.min, one.extent), 1)
            loops[one.loop_var] = IntervalSet(EvalSet(one.min, loops).min_value, EvalSet(last, loops).max_value)
            stack.append(one.loop_var)
        stack += stmts_in(one)
    forms = Forms()
    ends = [(forms.simplify(one.min_value), binary("add", one.max_value, 1)) for one in touched]
    return [Range.from_min_extent(low, forms.simplify(binary("sub", end, low))) for low, end in ends]


def _both(a: IntervalSet, b: IntervalSet) -> IntervalSet:
    forms = Forms()
    ends = (binary("min", a.min_value, b.min_value), binary("max", a.max_value, b.max_value))
    return IntervalSet(*map(forms.simplify, ends))


def _reached(index: IterSumExpr, extent: Expr) -> IntervalSet | None:
    """The numbers from an index on, `extent` for each of its values; None where there may be gaps."""
    forms = Forms()
    low, most = index.base, binary("sub", extent, 1)
    if not index.args:
        return IntervalSet(forms.simplify(low), forms.simplify(binary("add", low, most)))
    split = index.args[0]
    least, greatest = forms.bounds(split.scale)
    step = split.scale if least > 0 else binary("mul", split.scale, constant(-1, index.dtype))
    if (least <= 0 <= greatest) or forms.bounds(binary("sub", extent, step))[0] < 0:
        return None
    span = binary("mul", binary("sub", split.extent, 1), split.scale)
    ends = (low, binary("add", low, span)) if least > 0 else (binary("add", low, span), low)
    return IntervalSet(forms.simplify(ends[0]), forms.simplify(binary("add", ends[1], most)))
