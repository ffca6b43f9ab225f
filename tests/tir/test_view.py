"""Kernels as statements, and the ops of those again."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from xdsl.dialects import arith

import whence
from whence import relay, te, tir
from whence.dialects.tir import ForOp, LoadOp, PrimFuncOp, StoreOp
from whence.kernels import build_prim_func
from whence.kernels.building import parsed_prim_func
from whence.lowering.kernel.record import Kernel
from whence.relay.testing import mobilenet
from whence.tir.function import PrimFunc

RANDOM = np.random.default_rng(11)


def again(op: PrimFuncOp) -> PrimFunc:
    """The function of the statements that stand for an op."""
    func = PrimFunc.of(op)
    return func.with_body(func.body)


def outputs(op: PrimFuncOp) -> list[bytes]:
    """The results of a kernel on arrays that depend on its arguments alone."""
    function = build_prim_func(op)
    draw = np.random.default_rng(3)
    arrays = [
        (draw.random(shape) * 40 - 8 if dtype.kind == "f" else draw.integers(0, 100, shape)).astype(dtype)
        for _, shape, dtype in function.arguments[: function.inputs]
    ]
    found = function(*arrays)
    return [np.asarray(array).tobytes() for array in (found if isinstance(found, tuple) else (found,))]


def check(op: PrimFuncOp) -> None:
    """The ops of the statements are as those before, located alike, and compute the same bits."""
    new = again(op).op
    if not op.size_names:
        assert outputs(op) == outputs(new)
    # Arithmetic of indices that was one of numbers stays so.
    settled = again(new).op
    assert str(again(settled).op) == str(settled)
    for before, after in ((StoreOp, StoreOp), (ForOp, ForOp), (LoadOp, LoadOp)):
        kinds = [Counter(str(each.location) for each in func.walk() if isinstance(each, before)) for func in (op, new)]
        assert set(kinds[0]) == set(kinds[1]), after.name
    assert not [each.name for each in new.walk() if str(each.location) == "loc(unknown)"]


def scheduled() -> dict[str, te.Schedule]:
    """Schedules whose loops have guards, buffers of their own, sums, reads of indices and several outputs."""
    n = 37
    A, B = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    product = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    tiled = te.create_schedule(product.op)
    cache = tiled.cache_write(product, "local")
    x, y, xi, yi = tiled[product].tile(product.op.axis[0], product.op.axis[1], 8, 8)
    tiled[cache].compute_at(tiled[product], y)
    tiled[product].parallel(x)
    tiled[product].unroll(xi)
    tiled[product].pragma(yi, "note", 3)
    index = te.placeholder((n,), "int32", name="I")
    taken = te.compute((n,), lambda i: A[te.max(0, te.min(index[i], n - 1)), i] * 2.0, name="T")
    picked = te.compute((n,), lambda i: te.if_then_else(i > 3, taken[i] + taken[i - 3], te.exp(taken[i])), name="P")
    u8 = te.placeholder((n,), "uint8", name="U")
    words = te.compute((n,), lambda i: (u8[i].astype("int32") * 3 // 7 + i % 5).astype("uint8") >> 1, name="W")
    flags = te.compute((n,), lambda i: te.all(u8[i] > 40, i < 20), name="F")
    return {
        "tiled": tiled,
        "taken": te.create_schedule(picked.op),
        "words": te.create_schedule([words.op, flags.op]),
    }


@pytest.mark.parametrize("name", scheduled())
@pytest.mark.parametrize("simple", [True, False])
def test_kernels_of_schedules_are_as_their_statements(name: str, simple: bool) -> None:
    check(whence.kernels.lower(scheduled()[name], simple_mode=simple))


def test_kernels_of_a_network_are_as_their_statements() -> None:
    mod, params = mobilenet.get_workload(batch_size=1, num_classes=10, image_shape=(3, 32, 32))
    with whence.PassContext(opt_level=3):
        kernels = relay.build(mod, "native", params=params).executable.artifact.kernels
    assert len(kernels) > 20
    for kernel in kernels[::4]:
        assert isinstance(kernel, Kernel)
        check(parsed_prim_func(kernel.tir))


def test_open_sizes_are_variables() -> None:
    n = te.var("n")
    A = te.placeholder((n, 4), name="A")
    B = te.compute((n, 4), lambda i, j: A[n - 1 - i, j] + 1.0, name="B")
    op = whence.kernels.lower(te.create_schedule(B.op), simple_mode=True)
    check(op)
    loop = PrimFunc.of(op).body
    assert isinstance(loop, tir.For)
    assert str(loop.extent) == "n"


def test_a_value_gets_a_name_where_its_buffer_is_written_first() -> None:
    op = parsed_prim_func(
        """
        tir.prim_func @swap(%x: !tir.buffer<2xi32>, %y: !tir.buffer<2xi32>) outputs 2 {
          tir.for %i in 2 {
            %a = tir.load %x[%i] : !tir.buffer<2xi32> -> i32
            %b = tir.load %y[%i] : !tir.buffer<2xi32> -> i32
            tir.store %b, %x[%i] : i32, !tir.buffer<2xi32>
            tir.store %a, %y[%i] : i32, !tir.buffer<2xi32>
          }
        }"""
    )
    loop = PrimFunc.of(op).body
    assert isinstance(loop, tir.For)
    let = loop.body
    assert isinstance(let, tir.LetStmt)
    # b is read right before x is written, and x is what it does not read.
    assert isinstance(let.body, tir.SeqStmt)
    assert [str(each.value) for each in let.body.seq] == ["y[i]", "a"]


def test_conditions_are_those_of_the_source() -> None:
    op = parsed_prim_func(
        """
        tir.prim_func @f(%x: !tir.buffer<100xi32>) outputs 1 {
          tir.for %i in 13 {
            tir.for %j in 8 {
              tir.if likely [99 - (%i * 8 + %j), %j - 2, %i - %j, 4 - 3 * %i + 3 * %j] >= 0 {
                %c = arith.constant 1 : i32
                tir.store %c, %x[%i * 8 + %j] : i32, !tir.buffer<100xi32>
              }
            }
          }
        }"""
    )
    outer = PrimFunc.of(op).body
    assert isinstance(outer, tir.For)
    inner = outer.body
    assert isinstance(inner, tir.For)
    branch = inner.body
    assert isinstance(branch, tir.IfThenElse)
    assert str(branch.condition) == "T.likely(i * 8 + j < 100 and j >= 2 and j <= i and i * 3 <= j * 3 + 4)"
    assert str(again(again(op).op).op) == str(again(op).op)


def test_each_part_of_a_value_keeps_its_place() -> None:
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] * 2.0, name="B")
    C = te.compute((8,), lambda i: B[i] + 1.0, name="C")
    s = te.create_schedule(C.op)
    s[B].compute_inline()
    op = whence.kernels.lower(s, simple_mode=True)
    places = {
        kind: {str(each.location) for func in (op, again(op).op) for each in func.walk() if isinstance(each, kind)}
        for kind in (arith.MulfOp, arith.AddfOp)
    }
    assert [len(found) for found in places.values()] == [1, 1]
    assert '"B"' in places[arith.MulfOp].pop()
    assert '"C"' in places[arith.AddfOp].pop()
