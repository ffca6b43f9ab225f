"""The passes that are not part of the default pipeline, on random kernels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_random_kernels import Draw, Kernels, kernels, run
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, UnitAttr, f32, i32
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from whence.dialects import tir
from whence.passes.tir import (
    common_subexpr_elimination,
    flatten_buffer,
    hoist_if_then_else,
    inject_double_buffer,
    instrument_bound_checkers,
    loop_partition,
    remove_no_op,
    rewrite_unsafe_select,
    simplify,
    storage_rewrite,
    verify_memory,
)

SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large)
Pass = Callable[[tir.PrimFuncOp], None]


def partition(func: tir.PrimFuncOp) -> None:
    """Every branch counts as the guard of an uneven split."""
    for op in func.walk():
        if isinstance(op, tir.IfOp):
            op.properties["likely"] = UnitAttr()
    loop_partition.run(func, const_loops=True)


def double(func: tir.PrimFuncOp) -> None:
    """Every buffer is marked."""
    for op in func.walk():
        if isinstance(op, tir.AllocOp):
            op.attributes["double_buffer"] = UnitAttr()
    inject_double_buffer.run(func)


PASSES: dict[str, tuple[Pass, ...]] = {
    "loop-partition": (partition,),
    "loop-partition, simplify": (partition, simplify.run),
    "common-subexpr-elimination": (common_subexpr_elimination.run,),
    "hoist-if-then-else": (hoist_if_then_else.run,),
    "storage-rewrite": (storage_rewrite.run,),
    "flatten-buffer, storage-rewrite": (flatten_buffer.run, storage_rewrite.run),
    "inject-double-buffer": (double,),
    "inject-double-buffer, simplify, flatten-buffer": (double, simplify.run, flatten_buffer.run),
    "rewrite-unsafe-select": (rewrite_unsafe_select.run,),
    "instrument-bound-checkers": (instrument_bound_checkers.run,),
    "all": (
        instrument_bound_checkers.run,
        partition,
        simplify.run,
        flatten_buffer.run,
        storage_rewrite.run,
        hoist_if_then_else.run,
        common_subexpr_elimination.run,
        remove_no_op.run,
    ),
}


def check(func: tir.PrimFuncOp, passes: tuple[Pass, ...]) -> None:
    module = ModuleOp([func])
    module.verify()
    before = module.clone()
    with np.errstate(all="ignore"):
        expected = run(func)
        for one in passes:
            one(func)
        module.verify()
        found = run(func)
    for a, b in zip(expected, found, strict=True):
        if not np.array_equal(a, b, equal_nan=True):
            np.testing.assert_array_equal(b, a, err_msg=f"{before}\n{module}")


@pytest.mark.parametrize("name", PASSES)
@settings(max_examples=5, deadline=None, suppress_health_check=SLOW)
@given(func=kernels())
def test_same_results(name: str, func: tir.PrimFuncOp) -> None:
    check(func, PASSES[name])


@st.composite
def chains(draw: Draw) -> tir.PrimFuncOp:
    """Kernels of several stages, each of which reads some of those before, and writes a buffer of its own."""
    builder = Kernels(draw)
    size = builder.pick(4, 6)
    func = tir.PrimFuncOp("f", [tir.BufferType.of([size], f32), tir.BufferType.of([size], f32)], 1)
    source, out = func.block.args
    earlier: list[SSAValue] = [source]
    for stage in range(builder.pick(2, 3, 5)):
        extent = builder.pick(size, size, size + 2)
        alloc = tir.AllocOp(tir.BufferType.of([extent], f32, builder.pick("local", "global")))
        func.block.add_op(alloc)
        loop = tir.ForOp.make(size, builder.pick("serial", "serial", "parallel"))
        func.block.add_op(loop)
        reads = [earlier[-1], builder.pick(*earlier)]
        lane = AffineExpr.dimension(0)
        loads = [
            tir.LoadOp.make(buffer, AffineMap(1, 0, (builder.pick(lane, lane, lane * -1 + (size - 1)),)), [loop.var])
            for buffer in reads
        ]
        for load in loads:
            loop.block.add_op(load)
        total = arith.AddfOp(loads[0].result, loads[1].result)
        loop.block.add_op(total)
        loop.block.add_op(tir.StoreOp.make(total.result, alloc.result, AffineMap(1, 0, (lane,)), [loop.var]))
        if stage and builder.pick(True, False):
            again = tir.LoadOp.make(alloc.result, AffineMap(1, 0, (lane,)), [loop.var])
            loop.block.add_op(again)
            loop.block.add_op(tir.StoreOp.make(again.result, out, AffineMap(1, 0, (lane,)), [loop.var]))
        earlier.append(alloc.result)
    last = tir.ForOp.make(size)
    func.block.add_op(last)
    load = tir.LoadOp.make(earlier[-1], AffineMap.identity(1), [last.var])
    last.block.add_op(load)
    last.block.add_op(tir.StoreOp.make(load.result, out, AffineMap.identity(1), [last.var]))
    return func


@st.composite
def tiles(draw: Draw) -> tir.PrimFuncOp:
    """A loop that fills a buffer, perhaps in two steps, and then uses it."""
    builder = Kernels(draw)
    passes, width = builder.pick(1, 2, 3, 5), builder.pick(1, 4)
    shape = [passes, width]
    func = tir.PrimFuncOp("f", [tir.BufferType.of(shape, f32)] * 2, 1)
    source, out = func.block.args
    loop = tir.ForOp.make(passes, "serial", "i")
    func.block.add_op(loop)
    tile = tir.AllocOp(tir.BufferType.of([width], f32, "local"))
    loop.block.add_op(tile)
    plane, lane = AffineMap.identity(2), AffineMap(2, 0, (AffineExpr.dimension(1),))

    def nest(read: SSAValue, point: AffineMap, write: SSAValue, where: AffineMap) -> None:
        inner = tir.ForOp.make(width, "serial", "j")
        loop.block.add_op(inner)
        load = tir.LoadOp.make(read, point, [loop.var, inner.var])
        number = arith.IndexCastOp(loop.var, i32)
        value = arith.SIToFPOp(number, f32)
        total = arith.AddfOp(load.result, value.result)
        ops = [load, number, value, total, tir.StoreOp.make(total.result, write, where, [loop.var, inner.var])]
        inner.block.add_ops(ops)

    nest(source, plane, tile.result, lane)
    if builder.pick(True, False):
        nest(tile.result, lane, tile.result, lane)
    nest(tile.result, lane, builder.pick(out, out, source), plane)
    nest(tile.result, AffineMap(2, 0, (AffineExpr.dimension(1) * -1 + (width - 1),)), out, plane)
    return func


@settings(max_examples=20, deadline=None, suppress_health_check=SLOW)
@given(func=tiles())
def test_double_buffers_keep_results(func: tir.PrimFuncOp) -> None:
    check(func, (double, simplify.run))


@settings(max_examples=25, deadline=None, suppress_health_check=SLOW)
@given(func=chains())
def test_shared_storage_keeps_results(func: tir.PrimFuncOp) -> None:
    assert verify_memory.errors_of(func) == []
    check(func, (storage_rewrite.run,))


@settings(max_examples=8, deadline=None, suppress_health_check=SLOW)
@given(func=kernels())
def test_nothing_is_wrong_with_kernels_that_run(func: tir.PrimFuncOp) -> None:
    assert verify_memory.errors_of(func) == []
