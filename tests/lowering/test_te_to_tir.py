"""Schedules become loops that compute the same: regions, guards, buffers, locations, and whatever a dice roll does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import Builtin
from xdsl.ir import Operation
from xdsl.parser import Parser

from whence.dialects import te, tir
from whence.lowering.te_to_tir.lower import lower_schedule
from whence.provenance.span import layer_location, layer_names
from whence.support.errors import ScheduleError
from whence.te.schedule.schedule import Schedule

Array = NDArray[Any]
Run = Callable[..., tir.PrimFuncOp]


def schedule_of(text: str) -> Schedule:
    """A schedule of a te.func in text; every compute is located at a layer of its label."""
    context = Context()
    for dialect in (Builtin, te.Te, arith.Arith, math.Math):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    func = module.body.block.first_op
    assert isinstance(func, te.FuncOp)
    func.detach()
    for number, compute in enumerate(func.computes):
        for op in compute.walk():
            op.location = layer_location(compute.label.data, "net", number)
    func.location = func.return_op.location = layer_location("f", "net", 99)
    return Schedule(func)


def ops(func: Operation, kind: type[Operation]) -> list[Any]:
    return [op for op in func.walk() if isinstance(op, kind)]


def normal(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def close(got: Array, want: Array) -> None:
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


NEGATE = """
te.func @f(%a: tensor<13xf32>) -> (tensor<13xf32>) {
  %b = te.compute "b" (%i in 13) : tensor<13xf32> {
    %x = te.read %a[%i] : tensor<13xf32>
    %y = arith.negf %x : f32
    te.yield %y : f32
  }
  te.return %b : tensor<13xf32>
}"""

MATMUL = """
te.func @f(%a: tensor<5x7xf32>, %b: tensor<7x13xf32>) -> (tensor<5x13xf32>) {
  %c = te.compute "c" (%i in 5, %j in 13) sum(%k in 7) : tensor<5x13xf32> {
    %x = te.read %a[%i, %k] : tensor<5x7xf32>
    %y = te.read %b[%k, %j] : tensor<7x13xf32>
    %p = arith.mulf %x, %y : f32
    te.yield %p : f32
  }
  %d = te.compute "d" (%i in 5, %j in 13) : tensor<5x13xf32> {
    %x = te.read %c[%i, %j] : tensor<5x13xf32>
    %y = math.absf %x : f32
    te.yield %y : f32
  }
  te.return %d : tensor<5x13xf32>
}"""

BLUR = """
te.func @f(%a: tensor<16x16xf32>) -> (tensor<16x16xf32>) {
  %pad = te.compute "pad" (%i in 18, %j in 18) : tensor<18x18xf32> {
    %x = te.read %a[%i - 1, %j - 1] else 0.0 : f32 : tensor<16x16xf32>
    te.yield %x : f32
  }
  %sum = te.compute "sum" (%y in 16, %x in 16) sum(%ky in 3, %kx in 3) : tensor<16x16xf32> {
    %v = te.read %pad[%y + %ky, %x + %kx] : tensor<18x18xf32>
    te.yield %v : f32
  }
  te.return %sum : tensor<16x16xf32>
}"""


def blurred(a: Array) -> Array:
    padded = np.pad(a, 1)
    return np.sum([padded[y : y + 16, x : x + 16] for y in range(3) for x in range(3)], axis=0)


@pytest.mark.parametrize(("factor", "guards"), [(4, 1), (13, 0), (1, 0), (20, 0), (12, 1)])
def test_an_uneven_split_is_guarded_once(run_schedule: Run, factor: int, guards: int):
    s, a, out = schedule_of(NEGATE), normal(13), np.zeros(13, np.float32)
    outer, _ = s["b"].split(s["b"].axes[0], factor)
    s["b"].parallel(outer)
    assert len(ops(run_schedule(s, a, out), tir.IfOp)) == guards
    np.testing.assert_array_equal(out, -a)


def test_two_uneven_splits_of_one_axis_guard_what_runs_past(run_schedule: Run):
    s, a, out = schedule_of(NEGATE), normal(13), np.zeros(13, np.float32)
    outer, inner = s["b"].split(s["b"].axes[0], 6)
    s["b"].split(inner, 4)
    s["b"].split(outer, nparts=2)
    (branch,) = ops(run_schedule(s, a, out), tir.IfOp)
    assert len(branch.guard.data.results) == 3
    np.testing.assert_array_equal(out, -a)


def test_an_uneven_split_of_a_reduction_guards_the_update_alone(run_schedule: Run):
    s, a, b, out = schedule_of(MATMUL), normal(5, 7), normal(7, 13), np.zeros((5, 13), np.float32)
    s["c"].split(s["c"].reduce_axes[0], 4)
    func = run_schedule(s, a, b, out)
    (branch,) = ops(func, tir.IfOp)
    assert [len(ops(op, tir.StoreOp)) for op in (branch, func)] == [1, 3]
    close(out, np.abs(a @ b))


def test_a_summed_product_is_a_fused_multiply_add(run_schedule: Run):
    s, a, b, out = schedule_of(MATMUL), normal(5, 7), normal(7, 13), np.zeros((5, 13), np.float32)
    func = run_schedule(s, a, b, out)
    assert len(ops(func, math.FmaOp)) == 1
    assert not ops(func, arith.MulfOp)
    close(out, np.abs(a @ b))


@pytest.mark.parametrize(("position", "shape"), [(0, (3, 18)), (1, (3, 3)), (2, (1, 3)), (3, (1, 1))])
def test_compute_at_computes_the_halo_of_one_pass(run_schedule: Run, position: int, shape: tuple[int, ...]):
    s, a, out = schedule_of(BLUR), normal(16, 16), np.zeros((16, 16), np.float32)
    s["pad"].compute_at(s["sum"], s["sum"].leaf[position])
    func = run_schedule(s, a, out)
    (buffer,) = [tir.buffer_of(op.result) for op in ops(func, tir.AllocOp)]
    assert tuple(buffer.get_shape()) == shape
    close(out, blurred(a))


def test_compute_at_a_tile_of_uneven_size(run_schedule: Run):
    s, a, out = schedule_of(BLUR), normal(16, 16), np.zeros((16, 16), np.float32)
    y, x = s["sum"].axes
    y_outer, x_outer, y_inner, _ = s["sum"].tile(y, x, 5, 6)
    s["pad"].compute_at(s["sum"], x_outer)
    s["sum"].parallel(y_outer)
    s["pad"].vectorize(s["pad"].axes[1])
    s["sum"].unroll(y_inner)
    func = run_schedule(s, a, out)
    (buffer,) = [tir.buffer_of(op.result) for op in ops(func, tir.AllocOp)]
    assert (tuple(buffer.get_shape()), buffer.scope.data) == ((7, 8), "local")
    close(out, blurred(a))


@pytest.mark.parametrize("after", ["split", "fuse", "split, fuse"])
def test_what_was_computed_at_a_loop_follows_it(run_schedule: Run, after: str):
    """After a split at the inner loop, after a fuse at the fused one."""
    s, a, out = schedule_of(BLUR), normal(16, 16), np.zeros((16, 16), np.float32)
    blur = s["sum"]
    y, x = blur.axes
    s["pad"].compute_at(blur, y)
    if "split" in after:
        _, y = blur.split(y, 4)
    if "fuse" in after:
        blur.fuse(y, x)
    func = run_schedule(s, a, out)
    assert next(loop.var.name_hint for loop in ops(func, tir.ForOp)) == ("y.outer" if "split" in after else "y.x.fused")
    close(out, blurred(a))


def test_a_register_tile(run_schedule: Run):
    s, a, b, out = schedule_of(MATMUL), normal(5, 7), normal(7, 13), np.zeros((5, 13), np.float32)
    host, cache = s["d"], s["c"]
    cache.set_scope("local")
    i, j = host.axes
    _, j_outer, _, j_inner = host.tile(i, j, 2, 8)
    host.vectorize(j_inner)
    cache.compute_at(host, j_outer)
    cache.reorder(*cache.reduce_axes, *cache.axes)
    cache.vectorize(cache.axes[1])
    func = run_schedule(s, a, b, out)
    assert [tuple(tir.buffer_of(op.result).get_shape()) for op in ops(func, tir.AllocOp)] == [(2, 8)]
    close(out, np.abs(a @ b))


def test_cache_write_computes_into_a_buffer_of_its_own(run_schedule: Run):
    s, a, out = schedule_of(BLUR), normal(16, 16), np.zeros((16, 16), np.float32)
    cache = s.cache_write(s["sum"], "local")
    s["pad"].compute_inline()
    cache.compute_at(s["sum"], s["sum"].axes[0])
    func = run_schedule(s, a, out)
    (alloc,) = ops(func, tir.AllocOp)
    buffer = tir.buffer_of(alloc.result)
    assert (alloc.result.name_hint, buffer.scope.data, buffer.get_shape()) == ("sum.local", "local", (1, 16))
    close(out, blurred(a))


def chain(extent: int, *labels: str) -> str:
    """A te.func of stages that negate one another."""
    names = ["a", *labels]
    stages = [
        f"""%{label} = te.compute "{label}" (%i in {extent}) : tensor<{extent}xf32> {{
          %x = te.read %{source}[%i] : tensor<{extent}xf32>
          %y = arith.negf %x : f32
          te.yield %y : f32
        }}"""
        for source, label in zip(names, labels, strict=False)
    ]
    body = "\n".join(stages)
    type_ = f"tensor<{extent}xf32>"
    return f"te.func @f(%a: {type_}) -> ({type_}) {{ {body} te.return %{labels[-1]} : {type_} }}"


def test_a_buffer_in_a_parallel_loop_has_to_fit_the_stack():
    s = schedule_of(chain(140_000, "b", "c"))
    outer, _ = s["c"].split(s["c"].axes[0], nparts=2)
    s["c"].parallel(outer)
    s["b"].compute_at(s["c"], outer)
    text = r"at most 262144 bytes per pass of a parallel loop, got 280000 \(stage 'b', layer 'b', net node 0\)"
    with pytest.raises(ScheduleError, match=text):
        lower_schedule(s)


def test_what_is_computed_at_an_inlined_stage_is_refused():
    s = schedule_of(chain(8, "b", "c", "d"))
    s["b"].compute_at(s["c"], s["c"].axes[0])
    s["c"].compute_inline()
    with pytest.raises(ScheduleError, match="stage 'b' is computed inside 'c', which is inlined"):
        lower_schedule(s)


def test_what_is_computed_inside_a_stage_is_read_there_alone():
    s = schedule_of(chain(8, "b", "c", "d"))
    read = s["c"].compute.reads[0]
    s["d"].compute.reads[0].operands[0] = read.tensor
    s["b"].compute_at(s["c"], s["c"].axes[0])
    with pytest.raises(ScheduleError, match="stage 'b' is computed inside 'c', but read outside by 'd'"):
        lower_schedule(s)


def test_what_is_computed_inside_a_stage_is_read_by_it():
    s = schedule_of(chain(8, "b", "c", "d"))
    s["c"].compute.reads[0].operands[0] = s.func.block.args[0]
    s["b"].compute_at(s["c"], s["c"].axes[0])
    with pytest.raises(ScheduleError, match="stage 'b' is computed inside 'c', which does not read it"):
        lower_schedule(s)


def test_what_is_read_is_computed_before():
    s = schedule_of(chain(8, "b", "c", "d"))
    outer, inner = s["d"].split(s["d"].axes[0], 4)
    s["c"].compute_at(s["d"], outer)
    s["b"].compute_at(s["d"], inner)
    with pytest.raises(ScheduleError, match="stage 'b' is computed after 'c', which reads it"):
        lower_schedule(s)


def test_nested_regions_of_a_chain(run_schedule: Run):
    s, a, out = schedule_of(chain(30, "b", "c", "d")), normal(30), np.zeros(30, np.float32)
    outer, _ = s["d"].split(s["d"].axes[0], 8)
    s["c"].compute_at(s["d"], outer)
    s["c"].split(s["c"].axes[0], 3)
    s["b"].compute_at(s["c"], s["c"].leaf[0])
    func = run_schedule(s, a, out)
    shapes = {tir.buffer_of(op.result).get_shape() for op in ops(func, tir.AllocOp)}
    assert shapes == {(8,), (3,)}
    np.testing.assert_array_equal(out, -a)


@pytest.mark.parametrize(("first", "second"), [("%i", "%i + 2"), ("%i + 2", "%i"), ("%i + 1", "5 - %i")])
def test_two_reads_need_what_covers_both(run_schedule: Run, first: str, second: str):
    s = schedule_of(f"""
te.func @f(%a: tensor<9xf32>) -> (tensor<6xf32>) {{
  %b = te.compute "b" (%i in 9) : tensor<9xf32> {{
    %x = te.read %a[%i] : tensor<9xf32>
    %y = arith.negf %x : f32
    te.yield %y : f32
  }}
  %c = te.compute "c" (%i in 6) : tensor<6xf32> {{
    %x = te.read %b[{first}] : tensor<9xf32>
    %y = te.read %b[{second}] : tensor<9xf32>
    %z = arith.subf %x, %y : f32
    te.yield %z : f32
  }}
  te.return %c : tensor<6xf32>
}}""")
    a, out, i = normal(9), np.zeros(6, np.float32), np.arange(6)
    outer, _ = s["c"].split(s["c"].axes[0], 2)
    s["b"].compute_at(s["c"], outer)
    func = run_schedule(s, a, out)
    at = {"%i": i, "%i + 1": i + 1, "%i + 2": i + 2, "5 - %i": 5 - i}
    np.testing.assert_array_equal(out, a[at[second]] - a[at[first]])
    # Two of a pass of 2 and the distance; all of it where the distance varies.
    (buffer,) = [tir.buffer_of(op.result) for op in ops(func, tir.AllocOp)]
    assert buffer.get_shape() == ((9,) if "-" in second else (4,))


def test_shared_loops_are_located_at_all_their_stages():
    s = schedule_of(chain(32, "b", "c"))
    outer, _ = s["c"].split(s["c"].axes[0], 8)
    s["b"].compute_at(s["c"], outer)
    func = lower_schedule(s)
    places = [layer_names(loop.location) for loop in ops(func, tir.ForOp)]
    assert places == [("c", "b"), ("b",), ("c",)]
    assert [layer_names(store.location) for store in ops(func, tir.StoreOp)] == [("b",), ("c",)]


def test_inlined_stages_are_located_in_their_readers():
    s = schedule_of(chain(32, "b", "c"))
    s["b"].compute_inline()
    func = lower_schedule(s)
    assert [layer_names(op.location) for op in ops(func, arith.NegfOp)] == [("b",), ("c",)]
    assert [layer_names(op.location) for op in ops(func, tir.StoreOp)] == [("c", "b")]


@pytest.mark.parametrize(
    ("reducer", "dtype", "reference"),
    [
        ("sum", "float32", np.sum),
        ("prod", "float32", np.prod),
        ("max", "float32", np.max),
        ("min", "float32", np.min),
        ("prod", "int32", np.prod),
        ("max", "int8", np.max),
        ("min", "int8", np.min),
        ("max", "uint8", np.max),
        ("min", "uint8", np.min),
    ],
)
def test_reducers(run_schedule: Run, reducer: str, dtype: str, reference: Callable[..., Array]):
    element = {"float32": "f32", "int32": "i32", "int8": "i8", "uint8": "ui8"}[dtype]
    scalar = element.lstrip("u")
    s = schedule_of(f"""
te.func @f(%a: tensor<6x5x{element}>) -> (tensor<6x{element}>) {{
  %b = te.compute "b" (%i in 6) {reducer}(%k in 5) : tensor<6x{element}> {{
    %x = te.read %a[%i, %k] : tensor<6x5x{element}>
    te.yield %x : {scalar}
  }}
  te.return %b : tensor<6x{element}>
}}""")
    rng = np.random.default_rng(0)
    wide = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, (6, 5)) if dtype != "float32" else normal(6, 5)
    a, out = wide.astype(dtype), np.zeros(6, dtype)
    run_schedule(s, a, out)
    np.testing.assert_allclose(out, reference(a, axis=1).astype(dtype), rtol=1e-5)
