"""SIBuilder on loops, stores and scalar expressions; the cases of TVM's own tests for PrimExpr and Stmt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import UNKNOWN_LOC, FloatAttr, LocationAttr, f32
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from whence.dialects.tir import BlockOp, BufferType, ForOp, IfOp, InitOp, LoadOp, PrimFuncOp, StoreOp
from whence.provenance.si_builder import SIBuilder
from whence.provenance.span import SequentialSpan, layer_location

HERE = AffineMap(1, 0, (AffineDimExpr(0),))
NEW = layer_location("new", "m.onnx", 9)


def at(name: str) -> LocationAttr:
    return layer_location(name, "m.onnx", 0)


def collected(entry: SSAValue | Operation, inputs: Sequence[SSAValue | Operation] = ()) -> list[str]:
    span = SIBuilder(entry, inputs).create_span()
    assert isinstance(span, SequentialSpan)
    return [one.source_name.name for one in span.spans if one.source_name]


class Kernel(NamedTuple):
    """`for i: out[i] = max(((a[i] + b[i]) + 1) + 2, 100); if i >= 0: out[i] = a[i]`."""

    func: PrimFuncOp
    loop: ForOp
    a: LoadOp
    b: LoadOp
    x: arith.AddfOp
    add1: arith.AddfOp
    add2: arith.AddfOp
    z: arith.MaximumfOp
    store: StoreOp
    branch: IfOp
    second: StoreOp

    @property
    def buffers(self) -> Sequence[SSAValue]:
        return self.func.block.args

    def locate(self) -> None:
        for name in ("loop", "a", "b", "x", "add1", "add2", "z", "store", "branch", "second"):
            getattr(self, name).location = at(name)

    def located(self) -> set[Operation]:
        """The ops filled with NEW."""
        return {op for op in self.func.walk() if op.location == NEW}


@pytest.fixture
def kernel() -> Kernel:
    buffer = BufferType.of([4], f32)
    func = PrimFuncOp("f", [buffer] * 3, 1)
    first, second, out = func.block.args
    loop = ForOp.make(4)
    a, b = (LoadOp.make(source, HERE, [loop.var]) for source in (first, second))
    one, two, hundred = (arith.ConstantOp(FloatAttr(value, f32)) for value in (1.0, 2.0, 100.0))
    x = arith.AddfOp(a.result, b.result)
    add1 = arith.AddfOp(x, one)
    add2 = arith.AddfOp(add1, two)
    z = arith.MaximumfOp(add2, hundred)
    store = StoreOp.make(z.result, out, HERE, [loop.var])
    branch = IfOp.make(HERE, [loop.var])
    last = StoreOp.make(a.result, out, HERE, [loop.var])
    branch.block.add_op(last)
    loop.block.add_ops([a, b, one, two, hundred, x, add1, add2, z, store, branch])
    func.block.add_op(loop)
    return Kernel(func, loop, a, b, x, add1, add2, z, store, branch, last)


def test_an_expression_is_collected_down_to_its_input(kernel: Kernel):
    kernel.locate()
    assert collected(kernel.z.result, [kernel.x.result]) == ["z", "add2", "add1", "x"]
    assert collected(kernel.z.result, [kernel.a.result]) == ["z", "add2", "add1", "x", "a", "b"]


def test_a_statement_comes_before_its_expression(kernel: Kernel):
    kernel.locate()
    kernel.add1.location = kernel.add2.location = UNKNOWN_LOC
    assert collected(kernel.store, [kernel.x.result]) == ["store", "z", "x"]


def test_nested_statements_are_collected_in_order(kernel: Kernel):
    kernel.locate()
    expected = ["loop", "store", "z", "add2", "add1", "x", "a", "b", "branch", "second"]
    assert collected(kernel.loop) == expected


def test_a_statement_as_input_ends_the_walk(kernel: Kernel):
    kernel.locate()
    assert collected(kernel.loop, [kernel.store]) == ["loop", "store", "branch", "second", "a"]
    assert collected(kernel.loop, [kernel.store, kernel.branch]) == ["loop", "store", "branch"]


def test_filling_an_expression_leaves_what_lies_beyond_the_input(kernel: Kernel):
    before = str(kernel.func)
    SIBuilder(NEW).recursively_fill_span(kernel.z.result, [kernel.x.result])
    one, two, hundred = (op for op in kernel.loop.block.ops if isinstance(op, arith.ConstantOp))
    assert kernel.located() == {kernel.z, kernel.add2, kernel.add1, one, two, hundred}
    assert [op.location for op in (kernel.x, kernel.a, kernel.b)] == [UNKNOWN_LOC] * 3
    assert str(kernel.func) == before


def test_filling_a_statement_fills_its_expressions(kernel: Kernel):
    kernel.locate()
    inputs = [*kernel.buffers, kernel.loop.var, kernel.x.result]
    SIBuilder(NEW).recursively_fill_span(kernel.store, inputs)
    assert {kernel.store, kernel.z, kernel.add1, kernel.add2} < kernel.located()
    kept = [op.location for op in (kernel.x, kernel.a, kernel.b, kernel.branch, kernel.loop)]
    assert kept == [at(name) for name in ("x", "a", "b", "branch", "loop")]
    assert [value.location for value in kernel.func.block.args] == [UNKNOWN_LOC] * 3
    assert kernel.loop.var.owner is kernel.loop.block
    assert kernel.loop.block.args[0].location == UNKNOWN_LOC


def test_filling_statements_leaves_the_statement_that_is_input(kernel: Kernel):
    kernel.locate()
    SIBuilder(NEW).recursively_fill_span(kernel.loop, [*kernel.buffers, kernel.store])
    assert kernel.located() == {kernel.loop, kernel.branch, kernel.second, kernel.a}
    assert kernel.store.location == at("store")
    assert kernel.z.location == at("z")


def test_filling_a_loop_reaches_all_of_it(kernel: Kernel):
    kernel.locate()
    SIBuilder(NEW).recursively_fill_span(kernel.loop, kernel.buffers)
    assert kernel.located() == set(kernel.loop.walk())
    assert kernel.func.location == UNKNOWN_LOC


@pytest.fixture
def block() -> tuple[BlockOp, InitOp, StoreOp, StoreOp]:
    """`block {init {out[v] = 0}; out[v] = 0}` with its init and its stores, each located by its name."""
    buffer = BufferType.of([4], f32)
    func = PrimFuncOp("f", [buffer], 1)
    loop, zero = ForOp.make(4), arith.ConstantOp(FloatAttr(0.0, f32))
    made = BlockOp.make("B", [("reduce", 4)], HERE, [loop.var])
    init = InitOp.make()
    stores = [StoreOp.make(zero.result, func.block.args[0], HERE, [made.block.args[0]]) for _ in range(2)]
    init.block.add_op(stores[0])
    made.block.add_ops([init, stores[1]])
    loop.block.add_op(made)
    func.block.add_ops([zero, loop])
    for op, name in zip((made, init, *stores), ("block", "init", "first", "body"), strict=True):
        op.location = at(name)
    return made, init, stores[0], stores[1]


def test_the_init_of_a_block_comes_before_its_body(block: tuple[BlockOp, InitOp, StoreOp, StoreOp]):
    assert collected(block[0]) == ["block", "init", "first", "body"]
    assert collected(block[0], [block[1]]) == ["block", "init", "body"]


def test_filling_a_block_leaves_the_init_that_is_input(block: tuple[BlockOp, InitOp, StoreOp, StoreOp]):
    made, init, first, body = block
    SIBuilder(NEW).recursively_fill_span(made, [init])
    assert [made.location, body.location] == [NEW, NEW]
    assert [init.location, first.location] == [at("init"), at("first")]
