"""The events of a loop nest: arithmetic, loads, stores, and the bytes that its loops touch and move between memories.

All estimates read them here: how the time of a kernel is shared out over layers, by which formula the tuner ranks
schedules, and what a frame of a schedule's film costs. Sizes that only a call decides count as their nominal number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import NamedTuple, cast

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineExpr

from ...dialects import te
from ...dialects.sizes.kernel import nominal
from ...dialects.sizes.types import extents_of
from ...dialects.tir import element_bytes
from .bounds import Bounds, composed
from .itervar import Fuse, IterVar, Split, Transform
from .stage_state import StageState

_ELEMENTARY = 16
"""Operations of an elementary function: reducing its argument, and a polynomial."""
_SHORT = (math.FmaOp, math.AbsFOp, math.AbsIOp, math.CeilOp, math.FloorOp, math.CopySignOp, math.SqrtOp)
"""Functions that a machine has instructions for."""


_CASTS = frozenset(
    f"arith.{name}" for name in ("extf", "extsi", "extui", "truncf", "trunci", "sitofp", "uitofp", "fptosi", "fptoui")
)


def operations_at_point(op: te.ComputeOp, *, casts: bool = True) -> int:
    """Scalar operations for one point of a compute: its element, and for a reduction combining that with what is.

    A multiply-add is two, an elementary function 16; index arithmetic is none. casts: count them, too.
    """
    at_point = _operations(op.block) - (0 if casts else sum(inner.name in _CASTS for inner in op.block.ops))
    if op.combiner is not None:
        at_point += sum(map(_cost, op.combiner.block.ops))
    elif op.reducer is not None:
        at_point += len(op.outputs)
    return at_point


def _operations(block: Block) -> int:
    """Return the operations of the ops that depend on an element of a tensor, and not only on indices."""
    read: set[SSAValue] = set()
    cost = 0
    for op in block.ops:
        if isinstance(op, te.ReadOp) or not read.isdisjoint(op.operands):
            read.update(op.results)
            cost += _cost(op)
    return cost


def _cost(op: Operation) -> int:
    if isinstance(op, te.ReadOp | te.IndexOp | te.YieldOp | arith.ConstantOp | arith.SelectOp):
        return 0
    return _ELEMENTARY if op.name.startswith("math.") and not isinstance(op, _SHORT) else 1


@dataclass(frozen=True)
class Access:
    """A tensor that a body reads or writes, and where, in terms of its axes."""

    tensor: SSAValue
    point: tuple[AffineExpr, ...]

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Extents of the tensor."""
        return tuple(map(nominal, extents_of(cast("TensorType[Attribute]", self.tensor.type))))

    @cached_property
    def width(self) -> int:
        """Bytes of an element."""
        return element_bytes(cast("TensorType[Attribute]", self.tensor.type).element_type)

    @property
    def tensor_bytes(self) -> int:
        """Bytes of the whole tensor."""
        return prod(self.shape) * self.width

    def elements(self, spans: Sequence[int]) -> int:
        """The distinct elements that are touched while axis i takes `spans[i]` values; at least as many as there are.

        Exact where no axis stands in two indices, and in each index the step of an axis is no more than what the axes
        of smaller steps cover, or they make no two equal sums.
        """
        used = set[int]().union(*(expr.used_dims() for expr in self.point))
        touched = prod(min(_values(expr, spans), extent) for expr, extent in zip(self.point, self.shape, strict=True))
        return min(touched, _points(used, spans))


def _points(dims: Iterable[int], spans: Sequence[int]) -> int:
    """The number of values that some dims take together; a dim past the axes is a number that is computed of them."""
    used = set(dims)
    return prod(spans) if any(dim >= len(spans) for dim in used) else prod(spans[dim] for dim in used)


def _values(expr: AffineExpr, spans: Sequence[int]) -> int:
    """The number of values of an index, while dim i takes `spans[i]` values from 0 on."""
    return min(span(expr, spans), _points(expr.used_dims(), spans))


def span(expr: AffineExpr, spans: Sequence[int]) -> int:
    """Largest minus smallest value of an index, plus one, while dim i takes `spans[i]` values from 0 on."""
    match expr:
        case AffineDimExpr():
            # A dim past the axes stands for a computed index, which may be anything.
            return spans[expr.position] if expr.position < len(spans) else 1 << 30
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Add):
            return span(expr.lhs, spans) + span(expr.rhs, spans) - 1
        case AffineBinaryOpExpr(kind=kind, rhs=AffineConstantExpr(value=value)) if value:
            inner = span(expr.lhs, spans)
            if kind is AffineBinaryOpKind.Mul:
                return (inner - 1) * abs(value) + 1
            return min(inner, value) if kind is AffineBinaryOpKind.Mod else -(-(inner - 1) // value) + 1
        case AffineBinaryOpExpr():
            return max(span(expr.lhs, spans), span(expr.rhs, spans))
        case _:
            return 1


def touched_bytes(accesses: Iterable[Access], spans: Sequence[int]) -> dict[SSAValue, int]:
    """The bytes of each tensor that accesses touch while axis i takes `spans[i]` values."""
    touched: dict[SSAValue, int] = {}
    for access in accesses:
        size = access.elements(spans) * access.width
        touched[access.tensor] = min(touched.get(access.tensor, 0) + size, access.tensor_bytes)
    return touched


class Body(NamedTuple):
    """The events at one point of a compute, and of the computes that are inlined in it."""

    extents: tuple[int, ...]
    """The extents of its axes, reduce axes last."""
    operations: int
    """Scalar operations, as `operations_at_point` counts them."""
    reads: tuple[Access, ...]
    """The loads of elements from buffers; an element that is read twice at one point is loaded once."""
    writes: tuple[Access, ...]

    @property
    def points(self) -> int:
        """The number of times that it is evaluated."""
        return prod(self.extents)

    @property
    def bytes(self) -> int:
        """Bytes of all tensors that it touches: of each element once."""
        return sum(touched_bytes((*self.reads, *self.writes), self.extents).values())


def body_of(compute: te.ComputeOp, inlined: Callable[[te.ComputeOp], bool] = lambda producer: False) -> Body:
    """The body of a compute; `inlined` says of which computes it evaluates the elements instead of reading them."""
    axes = tuple(AffineDimExpr(i) for i in range(len(compute.block.args)))
    computed: dict[tuple[SSAValue, tuple[AffineExpr, ...]], int] = {}
    reads: dict[Access, None] = {}
    pending: list[tuple[te.ComputeOp, tuple[AffineExpr, ...]]] = [(compute, axes)]
    evaluated: set[tuple[te.ComputeOp, tuple[AffineExpr, ...]]] = {*pending}
    operations = 0
    while pending:
        part, point = pending.pop()
        operations += operations_at_point(part)
        for read in part.reads:
            at = composed(read, part, compute, point, computed)
            producer = read.tensor.owner
            if not isinstance(producer, te.ComputeOp) or not inlined(producer):
                reads[Access(read.tensor, at)] = None
            elif (producer, at) not in evaluated:
                evaluated.add((producer, at))
                pending.append((producer, at))
    writes = tuple(Access(output, axes[: len(compute.shape)]) for output in compute.outputs)
    extents = tuple(map(nominal, (*compute.shape, *compute.reduce_shape)))
    return Body(extents, operations, tuple(reads), writes)


class Nest:
    """The loops around the body of a stage, outermost first: those of its hosts, then its own."""

    def __init__(self, stage: StageState, bounds: Bounds, body: Body):
        self.stage, self.bounds, self.body = stage, bounds, body
        self.around = [nominal(last - first + 1) for first, last in bounds.ranges]
        self.own = list(stage.leaf)
        self.extents = [*self.around, *(nominal(bounds.extents[axis]) for axis in self.own)]
        self.kinds = [*(axis.kind for axis in bounds.around), *(axis.kind for axis in self.own)]
        self.extent = {axis: nominal(extent) for axis, extent in bounds.extents.items()}
        """The extents of all iteration variables of the stage."""

    @property
    def iterations(self) -> int:
        """The number of times that the body runs, including iterations that a tail skips."""
        return prod(self.extents)

    @property
    def operations(self) -> int:
        """Scalar operations of all iterations."""
        return self.iterations * self.body.operations

    def axis_spans(self, level: int) -> list[int]:
        """The values that each root axis takes while the loops from `level` on run, and those outside stand still."""
        inner = level - len(self.around)
        spans = self.own_spans(self.own[max(inner, 0) :])
        if inner >= 0:
            return spans
        moving = [extent if position >= level else 1 for position, extent in enumerate(self.around)]
        for position, interval in enumerate(self.bounds.region):
            wider = span(interval.start, moving) + spans[position] - 1
            spans[position] = min(wider, max(self.body.extents[position], spans[position]))
        return spans

    def own_spans(self, moving: Sequence[IterVar]) -> list[int]:
        """Return `axis_spans` while some of its own loops run."""
        extent = self.extent
        spans: dict[IterVar, int] = {axis: extent[axis] for axis in moving}
        for relation in reversed(self.stage.relations):
            match relation:
                case Split(parent=parent, outer=outer, inner=inner):
                    steps = spans.get(outer, 1)
                    wide = (steps - 1) * extent[inner] + spans.get(inner, 1)
                    spans[parent] = min(wide, extent[parent])
                case Fuse(outer=outer, inner=inner, fused=fused):
                    width = spans.get(fused, 1)
                    spans[inner] = min(width, extent[inner])
                    spans[outer] = min(-(-width // max(extent[inner], 1)), extent[outer])
                case Transform(originals=originals, transformed=transformed):
                    moves = any(spans.get(axis, 1) > 1 for axis in transformed)
                    spans.update((axis, extent[axis] if moves else 1) for axis in originals)
                case _:
                    pass
        return [spans.get(axis, 1) for axis in (*self.stage.axes, *self.stage.reduce_axes)]

    def touched(self, level: int) -> Mapping[SSAValue, int]:
        """The bytes of each tensor that the loops from `level` on touch while those outside stand still."""
        return touched_bytes((*self.body.reads, *self.body.writes), self.axis_spans(level))

    def traffic(self, cache: int, near: set[SSAValue]) -> int:
        """The bytes that pass between a cache of so many bytes and what is beyond it, of tensors that are not `near`.

        The cache keeps what the largest part of the loops that fits touches, and it is fetched as often as the loops
        outside change it.
        """
        level, touched = 0, self.touched(0)
        while level < len(self.extents) and sum(touched.values()) > cache:
            level += 1
            touched = self.touched(level)
        total = 0
        for tensor, size in touched.items():
            if tensor not in near:
                outer = level
                while outer > 0 and self.touched(outer - 1)[tensor] == size:
                    outer -= 1
                total += size * prod(self.extents[:outer])
        return total
