"""Runs of neighbouring elements that stages read where blocks of another size begin and end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd

from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineExpr

from ....dialects import te
from ....dialects.affine import Linear, flatten, linear, substitute
from ....dialects.sizes import product
from ....dialects.tir import UNBOUNDED
from ....te.schedule.bounds import readings
from ....te.schedule.stage import Stage
from ....te.schedule.stage_state import StageState
from .common import Scheduling, shape_of

_DIVISIONS = (AffineBinaryOpKind.FloorDiv, AffineBinaryOpKind.Mod)


def place(read: te.ReadOp, host: StageState, point: Sequence[AffineExpr]) -> Linear | None:
    """The place in memory, counted in elements, that a read has in the loops of a host that has its stage at a point.

    None where it is an index that is computed.
    """
    arguments = list(read.parent_op().block.args)
    if any(index not in arguments for index in read.indices):
        return None
    dims = [point[arguments.index(index)] for index in read.indices]
    extents = shape_of(read)
    strides = [product(extents[axis + 1 :]) for axis in range(len(extents))]
    index = flatten([substitute(expr, dims) for expr in read.map.data.results], strides)
    rank = len(host.compute.shape)
    beyond = max(index.used_dims(), default=0) + 1 - rank
    return linear(index, (*((0, extent - 1) for extent in host.compute.shape), *[UNBOUNDED] * max(0, beyond)))


def run_of(work: Scheduling, stage: Stage) -> int:
    """Return the elements along the last axis that all reads of a stage have beside each other; 0 where it is no matter.

    Blocks of 24 channels are read as blocks of 16 in runs of 8.
    """
    extent = stage.compute.shape[-1]
    if not isinstance(extent, int) or not any(_divides(read) for part in work.parts(stage) for read in part.compute.reads):
        return 0
    points = readings(work.schedule)
    run, last = 0, len(stage.compute.shape) - 1
    for part in work.parts(stage):
        axes = tuple(AffineDimExpr(axis) for axis in range(last + 1))
        places = [(host, point) for host, point in points[part] if host is stage] if part is not stage else [(stage, axes)]
        for read in part.compute.reads:
            for host, point in places:
                form = place(read, host, point)
                for size in _runs(form, last) if form is not None else ():
                    run = gcd(run, size)
    return gcd(run, extent)


def _divides(read: te.ReadOp) -> bool:
    return any(
        isinstance(part, AffineBinaryOpExpr) and part.kind in _DIVISIONS
        for expr in read.map.data.results
        for part in expr.dfs()
    )


def _runs(form: Linear, axis: int) -> Iterator[int]:
    """For each quotient or rest that an axis is part of: the length of the pieces in which it counts one by one."""
    for atom, _ in form.terms:
        if not isinstance(atom, AffineBinaryOpExpr) or axis not in atom.used_dims():
            continue
        if not isinstance(atom.rhs, AffineConstantExpr):
            yield 1
            continue
        inner = linear(atom.lhs, (UNBOUNDED,) * (max(atom.used_dims()) + 1))
        if not inner.plain or inner.coefficient(axis) != 1:
            yield 1
            continue
        others = [c for term, c in inner.terms if term != AffineDimExpr(axis)]
        yield gcd(atom.rhs.value, *others, inner.constant)
