"""The stages that a scan runs, one row at a time, and its loops over time."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import NoReturn, Protocol

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from ...dialects import te, tir
from ...dialects.affine import ZERO, Range, below, bounds, linear
from ...dialects.sizes import Size, proves, same
from ...dialects.sizes.kernel import at_least, lifted
from ...provenance.builder import LocatedBuilder
from ...provenance.diagnostics import describe
from ...support.errors import ScheduleError
from ...te.schedule.itervar import IterVar, Split
from ...te.schedule.relations import Interval, axis_values, last_of, loop_extents
from ...te.schedule.stage_state import StageState
from .bodies import room


class Host(Protocol):
    """The surroundings of the loops: dim i of every expression is `vars[i]`, which lies in `ranges[i]`."""

    builder: LocatedBuilder
    vars: list[SSAValue]
    ranges: list[Range]
    around: list[AffineExpr]

    def access(self, exprs: list[AffineExpr]) -> tuple[AffineMap, list[SSAValue]]: ...


@contextmanager
def steps(host: Host, stage: StageState, scan: te.ScanOp) -> Generator[None]:
    """The loops over the steps of a scan as its stage has them, at the builder's location.

    Inside, `around` ends in the step. The threads around have no loops: what is bound to them has, in each step.
    """
    depth, block = len(host.vars), host.builder.block
    extents = loop_extents(stage, [Interval(ZERO, axis.extent) for axis in stage.axes])
    leaves: dict[IterVar, AffineExpr] = {}
    for axis in stage.leaf:
        if axis.sort != "ordered":
            continue
        loop = tir.ForOp.make(extents[axis], axis.kind, axis.name)
        loop.attributes.update(axis.hints)
        host.builder.add(loop)
        host.builder.block = loop.block
        leaves[axis] = AffineDimExpr(len(host.vars))
        host.vars.append(loop.var)
        host.ranges.append((0, last_of(extents[axis])))
    values = axis_values(stage, extents, leaves)
    guards = [
        room(values[relation.parent], extents[relation.parent])
        for relation in stage.relations
        if isinstance(relation, Split)
        and not below(bounds(values[relation.parent], host.ranges)[1], extents[relation.parent])
    ]
    if guards:
        branch = host.builder.add(tir.IfOp.make(*host.access(guards), likely=True))
        host.builder.block = branch.block
    host.around.append(values[stage.axes[0]] + lifted(scan.first))
    yield
    del host.vars[depth:], host.ranges[depth:], host.around[-1]
    host.builder.block = block


def _fail(scan: te.ScanOp, text: str) -> NoReturn:
    where = describe(scan.location)
    raise ScheduleError(f"te.scan '{scan.label.data}': {text}" + (f" ({where})" if where else ""))


def scan_bodies(func: te.FuncOp) -> dict[te.ComputeOp, te.ScanOp]:
    """The computes that run inside the loop over time of each scan: the updates, and what of them depends on states.

    Raises ScheduleError when such a compute is read outside, reads another time than it may, or scans nest.
    """
    bodies: dict[te.ComputeOp, te.ScanOp] = {}
    scans = [op for op in func.block.ops if isinstance(op, te.ScanOp)]
    if not scans:
        return bodies
    depends: dict[SSAValue, te.ScanOp] = {state: scan for scan in scans for state in scan.states}
    for op in func.block.ops:
        if isinstance(op, te.ComputeOp):
            for read in op.reads:
                if (scan := depends.get(read.tensor)) is None:
                    continue
                if depends.setdefault(op.results[0], scan) is not scan:
                    _fail(scan, f"stage '{op.label.data}' reads the states of another scan, too")
                depends.update((result, scan) for result in op.results)
    for scan in scans:
        stack = [update.owner for update in scan.updates]
        while stack:
            op = stack.pop()
            assert isinstance(op, te.ComputeOp)
            if op not in bodies:
                bodies[op] = scan
                _check_stage(scan, op)
                stack.extend(
                    read.tensor.owner
                    for read in op.reads
                    if depends.get(read.tensor) is scan and isinstance(read.tensor.owner, te.ComputeOp)
                )
            elif bodies[op] is not scan:
                _fail(scan, f"stage '{op.label.data}' belongs to another scan, too")
    for value, scan in depends.items():
        _check_uses(scan, value, bodies)
    for compute, scan in bodies.items():
        for result in compute.results:
            _check_uses(scan, result, bodies)
    return bodies


def _check_stage(scan: te.ScanOp, compute: te.ComputeOp) -> None:
    """Each row of a stage may be computed on its own, in the order of time."""
    if not compute.shape or compute.shape[0] != scan.steps:
        _fail(scan, f"stage '{compute.label.data}' needs {scan.steps} steps first, got shape {compute.shape}")


def _check_uses(scan: te.ScanOp, value: SSAValue, bodies: Mapping[te.ComputeOp, te.ScanOp]) -> None:
    for use in value.uses:
        match use.operation:
            case te.ReadOp() as read:
                compute = read.parent_op()
                assert isinstance(compute, te.ComputeOp)
                if bodies.get(compute) is not scan:
                    _fail(scan, f"stage '{compute.label.data}' reads it step by step but is no part of the update")
                _check_time(scan, compute, read, state=value in scan.states)
            case te.ScanOp() as other if other is scan and value in (*scan.states, *scan.updates):
                pass
            case Operation() as other:
                _fail(scan, f"a stage of the update is used as a whole by {other.name}; use the scan's result")


def _check_time(scan: te.ScanOp, compute: te.ComputeOp, read: te.ReadOp, *, state: bool) -> None:
    """A state is read at most as many steps back as there are rows in the init; other stages at the same step."""
    name = compute.axes[0]
    extents = (*compute.shape, *compute.reduce_shape)
    position: dict[SSAValue, int] = {argument: i for i, argument in enumerate(compute.block.args)}
    ranges = tuple((0, extents[position[i]] - 1) if i in position else (-(1 << 62), 1 << 62) for i in read.indices)
    time = next((i for i, index in enumerate(read.indices) if index is name), None)
    expr = read.map.data.results[0]
    back = linear(expr - AffineExpr.dimension(time), ranges) if time is not None else None
    if back is None or back.terms or not _is_time(-back.constant, scan.first, state=state):
        wanted = f"1 to {scan.first} steps back" if state else "at the same step"
        _fail(scan, f"stage '{compute.label.data}' must read it {wanted}, got index {expr} of {name.name_hint}")


def _is_time(back: Size, first: Size, *, state: bool) -> bool:
    """Return whether a stage may be read so many steps back."""
    return at_least(back, 1) and proves(back, "<=", first) if state else same(back, 0)
