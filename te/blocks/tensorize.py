"""tensorize: the body of a block becomes the implementation of a registered intrinsic that computes the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr

from ...dialects.affine import flatten, linear
from ...dialects.sizes.kernel import affine_map
from ...dialects.tir import BlockOp, BufferType, DeclBufferOp, ForOp, IndexOp, LoadOp, PrimFuncOp, StoreOp, buffer_of
from ...dialects.tir.block import InitOp
from ...passes.tir.rewriting.ops import drop
from ...provenance.span import fuse as fused_location
from ...provenance.walk import walk
from ...support.errors import ScheduleError
from ...support.names import did_you_mean
from .bindings import Place, joined, replaced, resolved
from .state import State, refuse

NAME = "tensorize"


class TensorIntrin(NamedTuple):
    """A kernel of loops that says what an intrinsic computes, and the one that takes its place, of the same buffers."""

    name: str
    desc: PrimFuncOp
    impl: PrimFuncOp


_REGISTERED: dict[str, TensorIntrin] = {}


def register(name: str, desc: PrimFuncOp, impl: PrimFuncOp, *, override: bool = False) -> TensorIntrin:
    """Register an intrinsic. Raises ScheduleError for a known name without `override`, and for other buffers."""
    if name in _REGISTERED and not override:
        raise ScheduleError(f"TensorIntrin.register: expected a new name, or override, got {name}, which there is")
    types, own = ([argument.type for argument in func.block.args] for func in (desc, impl))
    if types != own:
        texts = [", ".join(map(str, each)) for each in (types, own)]
        raise ScheduleError(f"TensorIntrin.register: expected an implementation of {texts[0]}, got one of {texts[1]}")
    made = _REGISTERED[name] = TensorIntrin(name, desc.clone(), impl.clone())
    return made


def is_registered(name: str) -> bool:
    """Return whether there is an intrinsic of a name."""
    return name in _REGISTERED


def intrinsic(name: str) -> TensorIntrin:
    """The intrinsic of a name. Raises ScheduleError if there is none."""
    if name not in _REGISTERED:
        hint = did_you_mean(name, _REGISTERED)
        raise ScheduleError(f"tensorize: expected a registered intrinsic, got {name}{hint}")
    return _REGISTERED[name]


class _Program(NamedTuple):
    """Loops of several iterations in one another, and what the innermost does, without index values."""

    loops: list[ForOp]
    ops: list[Operation]


class _View(NamedTuple):
    """A buffer of the kernel, the point at which that of an intrinsic begins, and its strides there."""

    buffer: SSAValue
    point: Place
    strides: tuple[int, ...]


def tensorize(state: State, block: BlockOp, name: str) -> None:
    """Replace the body of a block, its start apart, by an intrinsic. Raises ScheduleError where they differ."""
    intrin = intrinsic(name)
    theirs, ours = _program(list(intrin.desc.block.ops), block), _program(list(block.block.ops), block)
    matching = _Matching(block, theirs, ours, name)
    matching.compare()
    views = {argument: matching.view(argument) for argument in intrin.desc.block.args}
    for op in list(block.block.ops):
        if not isinstance(op, InitOp):
            state.consume(NAME, *walk(op))
    for op in reversed([op for op in block.block.ops if not isinstance(op, InitOp)]):
        drop(op, NAME, f"{name} computes it")
    values: dict[SSAValue, SSAValue] = {}
    for argument, own in zip(intrin.desc.block.args, intrin.impl.block.args, strict=True):
        view, type_ = views[argument], buffer_of(argument)
        source = buffer_of(view.buffer)
        made = DeclBufferOp.make(
            view.buffer,
            affine_map(len(view.point.values), view.point.exprs),
            view.point.values,
            BufferType.of(type_.get_shape(), type_.element_type, source.scope.data),
            view.strides,
        )
        made.location = block.location
        made.result.name_hint = argument.name_hint
        block.block.add_op(made)
        values[own] = made.result
    for op in _statements(intrin.impl):
        clone = op.clone(values)
        values.update(zip(op.results, clone.results, strict=True))
        for inner in walk(clone):
            inner.location = fused_location([block.location, inner.location])
            if isinstance(inner, BlockOp):
                inner.properties["label"] = StringAttr(state.fresh(inner.label.data))
        block.block.add_op(clone)


def _statements(func: PrimFuncOp) -> list[Operation]:
    """The statements of a kernel, or of the block without variables that is all of it."""
    ops = list(func.block.ops)
    if len(ops) == 1 and isinstance(root := ops[0], BlockOp) and not root.block.args and not root.guards:
        return list(root.block.ops)
    return ops


def _program(ops: Sequence[Operation], block: BlockOp) -> _Program:
    loops: list[ForOp] = []
    while True:
        steps = [op for op in ops if not isinstance(op, IndexOp | ConstantOp | InitOp)]
        match steps:
            case [ForOp() as loop]:
                loops += [] if loop.trip_count == 1 else [loop]
                ops = list(loop.block.ops)
            case [BlockOp() as inner] if inner.init is None and not inner.guards:
                ops = list(inner.block.ops)
            case [BlockOp()]:
                remedy = "decompose_reduction before"
                refuse(NAME, "expected blocks without a start and conditions, got another", block, remedy=remedy)
            case _:
                return _Program(loops, steps)


class _Matching:
    """The body of a block beside the description of an intrinsic."""

    def __init__(self, block: BlockOp, theirs: _Program, ours: _Program, name: str) -> None:
        self.block, self.theirs, self.ours, self.name = block, theirs, ours, name
        self.values: dict[SSAValue, SSAValue] = {}
        self.accesses: dict[SSAValue, list[tuple[LoadOp | StoreOp, LoadOp | StoreOp]]] = {}
        counts = [[loop.trip_count for loop in program.loops] for program in (theirs, ours)]
        if counts[0] != counts[1]:
            self._differ(f"loops of {counts[0]}", f"loops of {counts[1]}")
        self.loops = {
            their.var: Place((AffineDimExpr(0),), (own.var,))
            for their, own in zip(theirs.loops, ours.loops, strict=True)
        }

    def _differ(self, expected: str, got: str) -> None:
        refuse(NAME, f"expected {expected}, as {self.name} has, got {got}", self.block)

    def compare(self) -> None:
        """Compare op by op. Raises ScheduleError at the first difference."""
        texts = [", ".join(op.name for op in program.ops) for program in (self.theirs, self.ours)]
        if texts[0] != texts[1]:
            self._differ(texts[0], texts[1])
        for their, own in zip(self.theirs.ops, self.ours.ops, strict=True):
            self._compare(their, own)
            self.values.update(zip(their.results, own.results, strict=True))

    def _compare(self, their: Operation, own: Operation) -> None:
        if isinstance(their, LoadOp | StoreOp) and isinstance(own, LoadOp | StoreOp):
            if "guard" in own.properties or "guard" in their.properties or (their.step, own.step) != (1, 1):
                self._differ("plain loads", "a load with a condition")
            if isinstance(their, StoreOp) and isinstance(own, StoreOp):
                self._same(their.value, own.value, own)
            self.accesses.setdefault(their.buffer, []).append((their, own))
            operands: list[tuple[SSAValue, SSAValue]] = []
        else:
            if their.properties != own.properties or their.regions or own.regions:
                self._differ(str(their), str(own))
            operands = list(zip(their.operands, own.operands, strict=True))
        if [result.type for result in their.results] != [result.type for result in own.results]:
            types = [", ".join(str(result.type) for result in op.results) for op in (their, own)]
            self._differ(f"{their.name} of {types[0]}", types[1])
        for left, right in operands:
            self._same(left, right, own)

    def _same(self, their: SSAValue, own: SSAValue, op: Operation) -> None:
        """Refuse a value that stands for another one."""
        if self.values.get(their) is own:
            return
        left, right = their.owner, own.owner
        if isinstance(left, ConstantOp) and isinstance(right, ConstantOp) and left.value == right.value:
            return
        if isinstance(left, IndexOp) and isinstance(right, IndexOp):
            if self._place(left) == self._own_place(right):
                return
        self._differ(f"another operand of {op.name}", "one computed in another way")

    def _place(self, op: LoadOp | StoreOp | IndexOp) -> Place:
        """Indices of the description, over our loops."""
        return replaced(resolved(Place(op.map.data.results, tuple(op.indices))), self.loops).simplified()

    def _own_place(self, op: LoadOp | StoreOp | IndexOp) -> Place:
        return resolved(Place(op.map.data.results, tuple(op.indices)), self.block)

    def view(self, argument: SSAValue) -> _View:
        """The part of our buffers that an argument of the intrinsic is."""
        pairs = self.accesses.get(argument, [])
        if not pairs:
            self._differ(f"accesses of {argument.name_hint}", "none")
        views = [self._view(their, own) for their, own in pairs]
        if any(view != views[0] for view in views):
            self._differ(f"{argument.name_hint} at one place", "accesses at several")
        return views[0]

    def _view(self, their: LoadOp | StoreOp, own: LoadOp | StoreOp) -> _View:
        inner = {loop.var for loop in self.ours.loops}
        theirs, ours = self._place(their), self._own_place(own)
        both = joined(theirs, ours)
        exprs, points = both.exprs[: len(theirs.exprs)], both.exprs[len(theirs.exprs) :]
        flat = linear(flatten(points, buffer_of(own.buffer).strides), both.ranges)
        factors: Mapping[AffineExpr, object] = dict(flat.terms)
        strides = [factors.get(expr, 1) for expr in exprs]
        rest = flatten(points, buffer_of(own.buffer).strides)
        for expr, stride in zip(exprs, strides, strict=True):
            if not isinstance(stride, int) or not isinstance(expr, AffineDimExpr | AffineConstantExpr):
                self._differ("indices that are loops", "others")
            else:
                rest = rest + expr * -stride
        left = Place((rest,), both.values).simplified()
        if set(left.values) & inner:
            self._differ("elements that move with its loops", "others")
        zero = {value: Place((AffineConstantExpr(0),), ()) for value in inner}
        return _View(own.buffer, replaced(ours, zero), tuple(stride for stride in strides if isinstance(stride, int)))
