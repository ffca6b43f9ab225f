"""Random small kernels give the same results before and after each pass, in an interpreter that knows no pass."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, cast

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, ModuleOp, VectorType, f32, i32
from xdsl.dialects.vector import BroadcastOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineExpr, AffineMap

from whence.dialects import tir
from whence.dialects.tir import lanes as tir_lanes
from whence.dialects.tir.masked import MaskedLoadOp, MaskedStoreOp, MaskOp
from whence.passes.tir import flatten_buffer, pipeline, remove_no_op, simplify, unroll, vectorize

Value = Any
"""A number, or a numpy array with one per lane."""

# An interpreter


def lane_count(type: Attribute) -> int:
    return cast(VectorType[Attribute], type).get_shape()[0] if isinstance(type, VectorType) else 0


def number(attribute: Attribute, type: Attribute) -> Value:
    if (values := getattr(attribute, "get_values", None)) is not None:
        return np.array(values(), np.float32 if "f32" in str(type) else np.int64)
    data = cast(FloatAttr | IntegerAttr, attribute).value.data
    return np.float32(data) if isinstance(attribute, FloatAttr) else np.int64(data)


COMPARISONS: dict[str, Callable[[Value, Value], Value]] = {"ogt": np.greater, "olt": np.less, "slt": np.less}


def select(condition: Value, first: Value, second: Value) -> Value:
    return np.where(condition, first, second) if np.ndim(condition) else first if condition else second


BINARY: dict[str, Callable[[Value, Value], Value]] = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.maximumf": np.maximum,
    "arith.addi": np.add,
    "arith.andi": np.logical_and,
    "arith.xori": np.logical_xor,
}


Step = Callable[[], None]


_FORMS = {
    AffineBinaryOpKind.Add: "({} + {})",
    AffineBinaryOpKind.Mul: "({} * {})",
    AffineBinaryOpKind.Mod: "({} % {})",
    AffineBinaryOpKind.FloorDiv: "({} // {})",
    AffineBinaryOpKind.CeilDiv: "-(-{} // {})",
}


def python_of(expr: AffineExpr) -> str:
    if isinstance(expr, AffineBinaryOpExpr):
        return _FORMS[expr.kind].format(python_of(expr.lhs), python_of(expr.rhs))
    return str(expr)


@cache
def calculation(affine: AffineMap) -> Callable[..., list[int]]:
    """The function of ints that a map is: a tree that is walked for each element takes most of a run."""
    names = ", ".join(f"d{number}" for number in range(affine.num_dims))
    return eval(f"lambda {names}: [{', '.join(map(python_of, affine.results))}]")


class Interpreter:
    """Runs one kernel; every element that is touched must be there.

    An op is read once, and becomes a step, which runs as often as the op does.
    """

    def __init__(self, func: tir.PrimFuncOp, arrays: Sequence[np.ndarray]):
        self.values: dict[SSAValue, Value] = {}
        self.steps: dict[Block, list[Step]] = {}
        for argument, array in zip(func.block.args, arrays, strict=True):
            assert tir.buffer_of(argument).size == array.size
            self.values[argument] = array.reshape(-1).copy()
        self.run(func.block)
        self.arrays = [self.values[argument] for argument in func.block.args]

    def run(self, block: Block) -> None:
        if block not in self.steps:
            self.steps[block] = [self.step(op) for op in block.ops]
        for step in self.steps[block]:
            step()

    def point(self, map: AffineMap, indices: Sequence[SSAValue]) -> Callable[[], list[int]]:
        values, function, indices = self.values, calculation(map), tuple(indices)
        return lambda: function(*[int(values[index]) for index in indices])

    def holds(self, map: AffineMap, indices: Sequence[SSAValue]) -> Callable[[], bool]:
        point = self.point(map, indices)
        return lambda: all(value >= 0 for value in point())

    def some(self, op: MaskedLoadOp | MaskedStoreOp) -> Callable[[], tuple[Value, Value]]:
        """The lanes that take part, and the places of those, each of which must be there."""
        values, mask, step, point = self.values, op.mask, op.step, self.point(op.map.data, op.indices)
        size = math.prod(tir.buffer_of(op.buffer).get_shape())
        strides = tir.buffer_of(op.buffer).strides

        def taken() -> tuple[Value, Value]:
            running = np.flatnonzero(values[mask])
            places = sum(x * stride for x, stride in zip(point(), strides, strict=True)) + step * running
            assert np.all((places >= 0) & (places < size)), str(op)
            return running, places

        return taken

    def elements(self, op: tir.LoadOp | tir.StoreOp, type: Attribute) -> Callable[[], Value]:
        """The place, or the places of the lanes, that an access touches."""
        shape, point = tir.buffer_of(op.buffer).get_shape(), self.point(op.map.data, op.indices)
        strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
        lanes, size = op.step * np.arange(lane_count(type)), tir.buffer_of(op.buffer).size

        def touched() -> Value:
            indices = point()
            assert all(0 <= x < extent for x, extent in zip(indices, shape, strict=True)), (str(op), indices)
            flat = sum(x * stride for x, stride in zip(indices, strides, strict=True))
            if not lanes.size:
                return flat
            places = flat + lanes
            assert places.min() >= 0
            assert places.max() < size
            return places

        return touched

    def sets(self, result: SSAValue, function: Callable[..., Value], *operands: SSAValue) -> Step:
        """The step that gives a result what a function makes of operands."""
        values = self.values

        def step() -> None:
            values[result] = function(*[values[operand] for operand in operands])

        return step

    def loop(self, op: tir.ForOp) -> Step:
        values, var, count, block = self.values, op.var, op.trip_count, op.block

        def step() -> None:
            for i in range(count):
                values[var] = i
                self.run(block)

        return step

    def branch(self, op: tir.IfOp) -> Step:
        holds, block = self.holds(op.guard.data, op.indices), op.block
        orelse = op.orelse.block if op.orelse is not None else None

        def step() -> None:
            if holds():
                self.run(block)
            elif orelse is not None:
                self.run(orelse)

        return step

    def load(self, op: tir.LoadOp) -> Callable[[Value], Value]:
        elements = self.elements(op, op.result.type)
        if op.guard is None:
            return lambda buffer: buffer[elements()]
        assert op.otherwise is not None
        holds, otherwise = self.holds(op.guard.data, op.indices), number(op.otherwise, op.result.type)
        return lambda buffer: buffer[elements()] if holds() else otherwise

    def store(self, op: tir.StoreOp) -> Step:
        values, buffer, value, elements = self.values, op.buffer, op.value, self.elements(op, op.value.type)

        def step() -> None:
            places = elements()
            assert np.size(np.unique(places)) == np.size(values[value])
            values[buffer][places] = values[value]

        return step

    def masked_load(self, op: MaskedLoadOp) -> Callable[[Value], Value]:
        some = self.some(op)
        lanes, otherwise = lane_count(op.result.type), number(op.otherwise, op.result.type)

        def load(buffer: Value) -> Value:
            running, places = some()
            result = np.full(lanes, otherwise)
            result[running] = buffer[places]
            return result

        return load

    def masked_store(self, op: MaskedStoreOp) -> Step:
        values, buffer, value, some = self.values, op.buffer, op.value, self.some(op)

        def step() -> None:
            running, places = some()
            assert np.unique(places).size == places.size
            values[buffer][places] = values[value][running]

        return step

    def mask(self, op: MaskOp) -> Callable[[], Value]:
        lane, steps = np.arange(lane_count(op.result.type)), list(op.by_lane)
        point = self.point(op.map.data, op.indices)

        def mask() -> Value:
            bits = [first + step * lane >= 0 for first, step in zip(point(), steps, strict=True)]
            return np.all(bits, axis=0) if bits else lane >= 0

        return mask

    def index(self, op: tir.IndexOp) -> Callable[[], Value]:
        lanes, point = lane_count(op.result.type), self.point(op.map.data, op.indices)
        steps = op.stride.value.data * np.arange(lanes)
        return lambda: point()[0] + steps if lanes else point()[0]

    def step(self, op: Operation) -> Step:
        """What running an op is."""
        match op:
            case tir.ForOp():
                return self.loop(op)
            case tir.IfOp():
                return self.branch(op)
            case tir.AllocOp():
                size = op.result.type.size
                return self.sets(op.result, lambda: np.full(size, np.nan, np.float32))
            case tir.LoadOp():
                return self.sets(op.result, self.load(op), op.buffer)
            case tir.StoreOp():
                return self.store(op)
            case MaskOp():
                return self.sets(op.result, self.mask(op))
            case MaskedLoadOp():
                return self.sets(op.result, self.masked_load(op), op.buffer)
            case MaskedStoreOp():
                return self.masked_store(op)
            case tir.IndexOp():
                return self.sets(op.result, self.index(op))
            case arith.ConstantOp():
                constant = number(op.value, op.result.type)
                return self.sets(op.result, lambda: constant)
            case BroadcastOp():
                return self.sets(op.vector, partial(np.full, lane_count(op.vector.type)), op.source)
            case arith.CmpfOp():
                name = arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]
                return self.sets(op.result, COMPARISONS[name], op.lhs, op.rhs)
            case tir_lanes.CompareOp():
                return self.sets(op.result, COMPARISONS[op.predicate.data], op.first, op.second)
            case arith.SelectOp() | tir_lanes.SelectOp():
                return self.sets(op.results[0], select, *op.operands)
            case arith.IndexCastOp():
                return self.sets(op.result, lambda value: value, op.input)
            case arith.SIToFPOp():
                return self.sets(op.result, np.float32, op.input)
            case tir_lanes.CastOp():
                floats = op.kind.data == "sitofp"
                cast_ = partial(np.asarray, dtype=np.float32) if floats else lambda value: value
                return self.sets(op.result, cast_, op.source)
            case _:
                a, b = op.operands
                return self.sets(op.results[0], BINARY[op.name], a, b)


# A generator

Draw = Callable[[st.SearchStrategy[Any]], Any]


LOOPS = [
    *[(4, "vectorized"), (8, "vectorized")] * 4,
    *[
        (3, "vectorized"),
        (5, "vectorized"),
        (19, "vectorized"),
        (1, "serial"),
        (0, "serial"),
        (3, "serial"),
        (3, "serial"),
        (2, "unrolled"),
    ],
]


@dataclass
class Kernels:
    """Builds a random kernel over one integer input, two float inputs, one output and one local buffer."""

    draw: Draw
    vars: list[tuple[SSAValue, int]] = field(default_factory=lambda: list[tuple[SSAValue, int]]())
    tame: bool = False
    """Whether the innermost variable only moves along the last dimension, as in code that is meant for vectors."""

    def pick(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def build(self) -> tir.PrimFuncOp:
        self.tame = self.pick(True, False)
        shapes = [[self.pick(2, 3, 8)], [self.pick(3, 8), self.pick(4, 8)], [self.pick(5, 16)], [4, self.pick(8, 16)]]
        types = [tir.BufferType.of(shape, i32 if not i else f32) for i, shape in enumerate(shapes)]
        func = tir.PrimFuncOp("f", types, 1)
        local = tir.AllocOp(tir.BufferType.of([self.pick(4, 16), 2], f32, "local"))
        func.block.add_op(local)
        self.table, *self.inputs, self.output = func.block.args
        self.local = local.result
        # A stage writes the local buffer whole, so that no run reads what nobody wrote.
        rows, columns = cast("tuple[int, ...]", tir.buffer_of(self.local).get_shape())
        self.loop(func.block, rows, "serial", lambda outer: self.loop(outer, columns, "serial", self.fill))
        for _ in range(self.draw(st.integers(1, 2))):
            self.statement(func.block, 0)
        return func

    def fill(self, block: Block) -> None:
        map = AffineMap.identity(2)
        block.add_op(tir.StoreOp.make(self.value(block, 1), self.local, map, [var for var, _ in self.vars]))

    def loop(self, block: Block, extent: int, kind: str, body: Callable[[Block], None]) -> None:
        loop = tir.ForOp.make(extent, kind, "ijkl"[len(self.vars)])
        block.add_op(loop)
        self.vars.append((loop.var, extent))
        body(loop.block)
        self.vars.pop()

    def statement(self, block: Block, depth: int) -> None:
        kind = self.pick("for", "for", "if", "store", "store") if 0 < depth < 4 else "for" if not depth else "store"
        if kind == "for":
            extent, words = self.pick(*LOOPS)
            self.loop(block, extent, words, lambda inner: self.statements(inner, depth + 1))
        elif kind == "if":
            guard = [self.lane(self.index()) + self.pick(-3, -1, 0, 0, 5) for _ in range(self.pick(1, 2))]
            op = tir.IfOp.make(self.map(guard), self.indices, orelse=self.pick(True, False))
            block.add_op(op)
            self.statements(op.block, depth + 1)
            if op.orelse is not None:
                self.statements(op.orelse.block, depth + 1)
        else:
            value = self.value(block, self.pick(0, 1, 2))
            buffer = self.pick(self.output, self.local)
            block.add_op(tir.StoreOp.make(value, buffer, self.inside(buffer), self.indices))

    def statements(self, block: Block, depth: int) -> None:
        for _ in range(self.pick(1, 1, 2)):
            self.statement(block, depth)

    @property
    def indices(self) -> list[SSAValue]:
        return [var for var, _ in self.vars]

    def map(self, exprs: Sequence[AffineExpr]) -> AffineMap:
        return AffineMap(len(self.vars), 0, tuple(exprs))

    def index(self) -> AffineExpr:
        """A random affine expression of the loop variables."""
        total = AffineExpr.constant(self.pick(0, 0, 1, 3))
        for i in range(len(self.vars) - self.tame):
            total = total + AffineExpr.dimension(i) * self.pick(0, 1, 1, 2, 4, 8, -1)
        factor = self.pick(2, 4, 8)
        return self.pick(
            total, total, total, total // factor, total % factor, (total // factor) * factor + total % factor
        )

    def lane(self, expr: AffineExpr) -> AffineExpr:
        """Where the innermost variable has no part in `expr`, the same or one that differs by it."""
        if not self.tame or not self.vars:
            return expr
        return expr + AffineExpr.dimension(len(self.vars) - 1) * self.pick(0, 0, 1, 1, -1, 2)

    def values_of(self, expr: AffineExpr) -> list[int]:
        ranges = [range(max(1, extent)) for _, extent in self.vars]
        return [expr.eval(point, ()) for point in itertools.product(*ranges)]

    def inside(self, buffer: SSAValue) -> AffineMap:
        """Indices that are in the buffer at every point."""
        exprs: list[AffineExpr] = []
        for extent in (shape := cast("tuple[int, ...]", tir.buffer_of(buffer).get_shape())):
            expr = self.index()
            if self.tame and self.vars and len(exprs) == len(shape) - 1 and self.vars[-1][1] <= extent:
                lane = AffineExpr.dimension(len(self.vars) - 1)
                reverse = lane * -1 + (self.vars[-1][1] - 1)
                exprs.append(self.pick(*[lane] * 12, reverse, reverse, lane // 2, expr % extent))
                continue
            values = self.values_of(expr)
            exprs.append(expr if min(values) >= 0 and max(values) < extent else expr % extent)
        return self.map(exprs)

    def value(self, block: Block, depth: int) -> SSAValue:
        if depth:
            a, b = self.value(block, depth - 1), self.value(block, depth - 1)
            kind = self.pick(arith.AddfOp, arith.MulfOp, arith.SubfOp, arith.MaximumfOp, arith.SelectOp)
            if kind is arith.SelectOp:
                condition = arith.CmpfOp(a, b, self.pick("ogt", "olt"))
                block.add_op(condition)
                op: Operation = arith.SelectOp(condition.result, a, b)
            else:
                op = kind(a, b)
            block.add_op(op)
            return op.results[0]
        return self.pick(self.load, self.load, self.guarded, self.gathered, self.counted, self.constant)(block)

    def add(self, block: Block, op: Operation) -> SSAValue:
        block.add_op(op)
        return op.results[0]

    def constant(self, block: Block) -> SSAValue:
        return self.add(block, arith.ConstantOp(FloatAttr(self.pick(0.0, 2.0, -3.0), f32)))

    def load(self, block: Block) -> SSAValue:
        buffer = self.pick(*self.inputs, self.output)
        return self.add(block, tir.LoadOp.make(buffer, self.inside(buffer), self.indices))

    def guarded(self, block: Block) -> SSAValue:
        buffer = self.pick(*self.inputs)
        exprs: list[AffineExpr] = []
        guard: list[AffineExpr] = []
        for extent in cast("tuple[int, ...]", tir.buffer_of(buffer).get_shape()):
            expr = self.index() + self.pick(-2, 0, 1)
            if len(exprs) == len(tir.buffer_of(buffer).shape) - 1:
                expr = self.lane(expr)
            exprs.append(expr)
            guard += [expr, expr * -1 + (extent - 1)]
        op = tir.LoadOp.make(
            buffer, self.map(exprs), self.indices, guard=self.map(guard), otherwise=FloatAttr(7.0, f32)
        )
        return self.add(block, op)

    def gathered(self, block: Block) -> SSAValue:
        """An element whose place is read from the table."""
        place = self.add(block, tir.LoadOp.make(self.table, self.inside(self.table), self.indices))
        index = self.add(block, arith.IndexCastOp(place, IndexType()))
        buffer = self.inputs[1]
        extent = cast(int, tir.buffer_of(buffer).size)
        count = len(self.vars)
        expr = (AffineExpr.dimension(count) + self.index()) % extent
        return self.add(block, tir.LoadOp.make(buffer, AffineMap(count + 1, 0, (expr,)), [*self.indices, index]))

    def counted(self, block: Block) -> SSAValue:
        index = self.add(block, tir.IndexOp.make(self.map([self.index()]), self.indices))
        if self.vars and self.pick(True, False):
            index = self.pick(*self.indices)
        return self.add(block, arith.SIToFPOp(self.add(block, arith.IndexCastOp(index, i32)), f32))


@st.composite
def kernels(draw: Draw) -> tir.PrimFuncOp:
    return Kernels(draw).build()


def run(func: tir.PrimFuncOp) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    arrays = [
        random.integers(0, 3, type_.size).astype(np.int32)
        if (type_ := tir.buffer_of(argument)).element_type == i32
        else random.integers(-8, 8, type_.size).astype(np.float32)
        for argument in func.block.args
    ]
    return Interpreter(func, arrays).arrays


PASSES: dict[str, Callable[[tir.PrimFuncOp], object]] = {
    "simplify": simplify.run,
    "vectorize": vectorize.run,
    "unroll": unroll.run,
    "flatten-buffer": flatten_buffer.run,
    "remove-no-op": remove_no_op.run,
    "pipeline": pipeline.run_tir_passes,
}


def combined(func: tir.PrimFuncOp) -> None:
    """All of them, unrolled loops written out, and simplified again at the end."""
    for name in ("unroll", "flatten-buffer", "simplify", "vectorize", "remove-no-op", "simplify"):
        PASSES[name](func)


@settings(max_examples=10, deadline=None, suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large))
@given(func=kernels())
def test_same_results(func: tir.PrimFuncOp) -> None:
    module = ModuleOp([func])
    module.verify()
    with np.errstate(all="ignore"):
        expected = run(func)
        for name, apply in {**PASSES, "combined": combined}.items():
            changed = module.clone()
            copy = changed.body.block.first_op
            assert isinstance(copy, tir.PrimFuncOp)
            apply(copy)
            changed.verify()
            for a, b in zip(expected, run(copy), strict=True):
                # A message that nobody reads is not to be printed: that takes a tenth of the time.
                if not np.array_equal(a, b, equal_nan=True):
                    np.testing.assert_array_equal(b, a, err_msg=f"{name}\n{module}\n{changed}")
