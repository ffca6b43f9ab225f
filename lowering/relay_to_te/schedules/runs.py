"""Runs of neighbouring elements that stages read where blocks of another size begin and end."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import cast

from xdsl.ir import SSAValue
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


def place(part: StageState, read: te.ReadOp, host: StageState, point: Sequence[AffineExpr]) -> Linear | None:
    """The place in memory, in elements, of a read of a stage, in the loops of a host that has the stage at a point.

    None where an index is computed.
    """
    arguments: list[SSAValue] = list(part.compute.block.args)
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
    """Return the elements along the last axis that a stage reads beside each other, in all tensors; 0 for all of them.

    Blocks of 24 channels are read as blocks of 16 in runs of 8, and columns of a matrix one by one.
    """
    last = len(stage.compute.shape) - 1
    run, extent = block_of(work, stage, last), stage.compute.shape[last]
    return gcd(run, extent) if run and isinstance(extent, int) else run


def block_of(work: Scheduling, stage: Stage, axis: int) -> int:
    """Return the elements along an axis that a stage reads in steps of one size, in all tensors; 0 for all of them.

    Of 27 channels in blocks of 16 that are 16, the last of which are cut off.
    """
    points = readings(work.schedule)
    own = [(stage, tuple(AffineDimExpr(number) for number in range(len(stage.compute.shape))))]
    run = 0
    for part in work.parts(stage):
        for host, point in own if part is stage else points[part]:
            if host is stage:
                for read in part.compute.reads:
                    source = read.tensor.owner
                    if not isinstance(source, te.ComputeOp) or not work.schedule[source].inlined:
                        run = gcd(run, run_along(place(part, read, host, point), axis))
    return run


def divides(work: Scheduling, stage: Stage) -> bool:
    """Return whether a stage, or one that is inlined there, reads at quotients or rests of its axes."""
    return any(
        isinstance(part, AffineBinaryOpExpr) and part.kind in _DIVISIONS
        for inlined in work.parts(stage)
        for read in inlined.compute.reads
        for expr in read.map.data.results
        for part in expr.dfs()
    )


def run_along(form: Linear | None, axis: int) -> int:
    """Return the length of the pieces in which a place in memory counts an axis one by one; 0 where it always does."""
    if form is None:
        return 1
    step = form.coefficient(axis)
    if step is not None:
        return 0 if isinstance(step, int) and step in (0, 1) else 1
    run = 0
    for atom, _ in form.terms:
        if isinstance(atom, AffineBinaryOpExpr) and axis in atom.used_dims():
            run = gcd(run, _piece(atom, axis))
    return run


def _piece(atom: AffineBinaryOpExpr, axis: int) -> int:
    """Return how far an axis goes before a quotient or a rest of it changes otherwise than by one step."""
    if not isinstance(atom.rhs, AffineConstantExpr):
        return 1
    inner = linear(atom.lhs, (UNBOUNDED,) * (max(atom.used_dims()) + 1))
    if not inner.plain or inner.coefficient(axis) != 1:
        return 1
    others = [cast(int, c) for term, c in inner.terms if term != AffineDimExpr(axis)]
    return gcd(atom.rhs.value, *others, cast(int, inner.constant))
