"""Random small kernels give the same results before and after each pass, in an interpreter that knows no pass."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tir_interpreter import Interpreter
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IndexType, ModuleOp, f32, i32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from whence.dialects import tir
from whence.passes.tir import flatten_buffer, pipeline, remove_no_op, simplify, unroll, vectorize

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
