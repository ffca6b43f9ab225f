"""Modules of kernels: made by `lower`, changed by passes on statements, and built."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whence
from whence import relay, te, tir
from whence.support.errors import PipelineError, ScheduleError

RANDOM = np.random.default_rng(17)
N = 24


def shifted(name: str = "B", by: float = 1.0) -> tuple[te.Schedule, list[te.Tensor]]:
    A = te.placeholder((N,), name="A")
    B = te.compute((N,), lambda i: A[i] * 2.0 + by, name=name)
    return te.create_schedule(B.op), [A, B]


def eights(stmt: tir.Stmt) -> list[tir.For]:
    """The loops whose extents are multiples of 8."""
    found: list[tir.For] = []

    def look(node: Any) -> None:
        if isinstance(node, tir.For) and isinstance(node.extent, tir.IntImm) and node.extent.value % 8 == 0:
            found.append(node)

    tir.stmt_functor.post_order_visit(stmt, look)
    return found


@tir.transform.prim_func_pass(opt_level=0)
def vectorize(func: tir.PrimFunc, mod: whence.IRModule, ctx: whence.PassContext) -> tir.PrimFunc:
    """Split loops, and make vectors of their inner ones."""
    loops = eights(func.body)

    def split(loop: Any) -> Any:
        if not any(loop is each for each in loops):
            return None
        outer, inner = te.var(f"{loop.loop_var.name}.outer"), te.var(f"{loop.loop_var.name}.inner")
        body = tir.stmt_functor.substitute(loop.body, {loop.loop_var: outer * 8 + inner})
        lanes = tir.For(inner, 0, 8, tir.ForKind.VECTORIZED, body)
        return tir.For(outer, 0, loop.extent.value // 8, tir.ForKind.SERIAL, lanes)

    return func.with_body(tir.stmt_functor.ir_transform(func.body, None, split, ["tir.For"]))


def test_lower_gives_a_module_of_statements() -> None:
    schedule, arguments = shifted()
    mod = whence.lower(schedule, arguments, name="plus")
    assert isinstance(mod, whence.IRModule)
    assert [each.name_hint for each in mod.get_global_vars()] == ["plus"]
    func = mod["plus"]
    assert isinstance(func, tir.PrimFunc)
    assert func.attrs["global_symbol"] == "plus"
    assert [str(param) for param in func.params] == ["A", "B"]
    assert [buffer.shape for buffer in func.buffer_map.values()] == [(N,), (N,)]
    loop = func.body
    assert isinstance(loop, tir.For)
    store = loop.body
    assert isinstance(store, tir.BufferStore)
    assert isinstance(store.value, tir.Add)
    assert str(store.value) == "A[i] * T.float32(2) + T.float32(1)"
    assert str(mod).startswith("tir.prim_func @plus(%A: ")
    x = RANDOM.random(N, dtype=np.float32)
    np.testing.assert_allclose(whence.build(mod)(x), x * 2 + 1, rtol=1e-6)


def test_a_pass_on_statements_keeps_the_layers() -> None:
    schedule, arguments = shifted()
    mod = vectorize(whence.lower(schedule, arguments, simple_mode=True))
    text = str(mod)
    assert "tir.for vectorized %i.inner in 8" in text
    assert "%A[%i.outer * 8 + %i.inner]" in text
    assert all('"B"(' in str(op.location) for op in mod["main"].op.walk())
    x = RANDOM.random(N, dtype=np.float32)
    np.testing.assert_allclose(whence.build(mod)(x), x * 2 + 1, rtol=1e-6)
    assert repr(vectorize) == "Run Function pass: vectorize at the optimization level 0"


def test_a_pass_on_statements_is_one_of_lowering() -> None:
    schedule, arguments = shifted()
    assert "vector<8xf32>" not in str(whence.lower(schedule, arguments))
    with whence.PassContext(config={"tir.add_lower_pass": [(1, vectorize), (3, tir.transform.Simplify())]}):
        mod = whence.lower(schedule, arguments)
        built = whence.build(schedule, arguments)
    assert "vector<8xf32>" in str(mod)
    x = RANDOM.random(N, dtype=np.float32)
    np.testing.assert_allclose(built(x), x * 2 + 1, rtol=1e-6)


def test_two_passes_on_statements_are_not_one_kernel() -> None:
    """Code of one pass is not found in the cache for another of the same name."""

    def scaled(factor: float) -> Any:
        def change(node: Any) -> Any:
            return tir.BufferStore(node.buffer, node.value * factor, node.indices)

        @tir.transform.prim_func_pass(opt_level=0, name="scaled")
        def scale(func: tir.PrimFunc, mod: object, ctx: object) -> tir.PrimFunc:
            return func.with_body(tir.stmt_functor.ir_transform(func.body, None, change, ["tir.BufferStore"]))

        return scale

    x = relay.var("x", shape=(N,))
    mod = whence.IRModule.from_expr(relay.nn.relu(x))
    values = RANDOM.random(N, dtype=np.float32)
    for factor in (2.0, 3.0):
        with whence.PassContext(config={"tir.add_lower_pass": [(0, scaled(factor))]}):
            np.testing.assert_allclose(whence.compile(mod).run({"x": values}).popitem()[1], values * factor, rtol=1e-6)


def test_a_module_holds_functions_of_both_levels() -> None:
    schedule, arguments = shifted()
    kernel = whence.lower(schedule, arguments)["main"]
    x = relay.var("x", shape=(N,))
    mod = whence.IRModule.from_expr(relay.nn.relu(relay.nn.relu(x)))
    mod["plus"] = kernel
    assert [each.name_hint for each in mod.functions] == ["main", "plus"]
    assert "plus" in mod
    assert "nn.relu(%0)" in str(mod)
    assert "tir.prim_func @plus(" in str(mod)
    after = whence.transform.Sequential([whence.transform.EliminateCommonSubexpr(), tir.transform.Apply(seen)])(mod)
    assert isinstance(after["main"], relay.Function)
    assert after["plus"].attrs["seen"] == 1
    assert "seen" not in mod["plus"].attrs
    values = RANDOM.random(N, dtype=np.float32)
    np.testing.assert_allclose(whence.build(after)(values), values * 2 + 1, rtol=1e-6)
    after.update({"twice": kernel})
    del after["plus"]
    assert [each.name_hint for each in after.get_global_vars()] == ["main", "twice"]
    assert [op.name for op in after.module.ops] == ["relay.func", "tir.prim_func"]


def test_functions_of_a_module_of_ops_are_taken_out() -> None:
    for gone, kept in (("main", "plus"), ("plus", "main")):
        mod = whence.IRModule.from_expr(relay.nn.relu(relay.var("x", shape=(N,))))
        mod["plus"] = whence.lower(*shifted())["main"]
        of_ops = whence.IRModule.of(mod.module.clone())
        del of_ops[gone]
        assert [each.name_hint for each in of_ops.get_global_vars()] == [kept]
        assert len(list(of_ops.module.ops)) == 1


def seen(func: tir.PrimFunc) -> tir.PrimFunc:
    return func.with_attr("seen", 1)


def test_several_kernels_are_built_together() -> None:
    kernels = {name: whence.lower(*shifted(by=by))["main"] for name, by in (("one", 1.0), ("two", 2.0))}
    values = RANDOM.random(N, dtype=np.float32)
    built: Any = whence.build(whence.IRModule(kernels))
    for name, by in (("one", 1.0), ("two", 2.0)):
        np.testing.assert_allclose(built[name](values), values * 2 + by, rtol=1e-6)
    assert [name in built.get_source() for name in ("@one(", "@two(")] == [True, True]
    with pytest.raises(PipelineError, match="expected a function among one, two, got 'three'"):
        built["three"]
    by_target: Any = whence.build({"llvm": whence.IRModule({"main": kernels["one"]})})
    np.testing.assert_allclose(by_target(values), values * 2 + 1, rtol=1e-6)
    with pytest.raises(PipelineError, match="expected a module with kernels, got none"):
        whence.build(whence.IRModule({}))
    with pytest.raises(PipelineError, match="expected no args beside"):
        whence.build({"llvm": whence.IRModule(kernels)}, [1])  # pyright: ignore


def test_attributes_that_no_op_holds_stay() -> None:
    target = object()
    mod = whence.lower(*shifted())

    def note(func: tir.PrimFunc) -> tir.PrimFunc:
        return func.with_attr({"target": target, "bits": 32})

    noted = tir.transform.Apply(note)(mod)
    assert noted["main"].attrs["target"] is target
    simple = tir.transform.Simplify()(noted)
    assert simple["main"].get_attr("target") is target
    assert simple["main"].attrs["bits"] == 32
    assert "target" not in simple["main"].without_attr("target").attrs


def test_create_prim_func_is_a_kernel_of_statements() -> None:
    _, tensors = shifted()
    func = te.create_prim_func(tensors)
    assert isinstance(func.body, tir.For)
    A = te.placeholder((N,), name="X")
    outer = te.extern_primfunc([A], func)
    values = RANDOM.random(N, dtype=np.float32)
    np.testing.assert_allclose(whence.build(te.create_schedule(outer.op))(values), values * 2 + 1, rtol=1e-6)


@pytest.mark.parametrize("dtype", [None, "int32", "int64"])
def test_indices_of_any_width_give_the_same_values(dtype: str | None) -> None:
    """Open sizes, a reduction, and a value that is made of an axis."""
    n = te.var("n")
    A, k = te.placeholder((n, 6), name="A"), te.reduce_axis((0, 6), name="k")
    S = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="S")
    B = te.compute((n,), lambda i: S[i] + (i * 3).astype("float32"), name="B")
    func = te.create_prim_func([A, B], dtype)
    loop = te.create_prim_func(shifted()[1], dtype).body
    assert isinstance(loop, tir.For)
    assert loop.loop_var.dtype == "int32"
    for count in (1, 7):
        values = RANDOM.random((count, 6), dtype=np.float32)
        np.testing.assert_allclose(whence.build(func)(values), values.sum(1) + np.arange(count) * 3, rtol=1e-6)


def test_indices_are_of_int32_or_int64() -> None:
    _, tensors = shifted()
    for dtype in ("int16", "float32", "uint64"):
        with pytest.raises(ScheduleError, match=f"create_prim_func: expected indices of int32 or int64, got {dtype}"):
            te.create_prim_func(tensors, index_dtype_override=dtype)


def test_what_a_pass_gives_is_checked() -> None:
    mod = whence.lower(*shifted())
    with pytest.raises(PipelineError, match="expected it to return a PrimFunc for @main, got int"):
        tir.transform.Apply(lambda func: 3)(mod)  # pyright: ignore
    with pytest.raises(PipelineError, match="expected no args beside functions"):
        whence.lower(mod, [1])
    i = tir.Var("i")
    buffer = tir.decl_buffer((4,), name="X")
    with pytest.raises(ScheduleError, match="expected a buffer for each parameter, got none for k"):
        _ = tir.PrimFunc([tir.Var("k", "float32"), buffer], tir.For(i, 0, 4, 0, tir.BufferStore(buffer, 1.0, [i]))).op


def test_statements_of_a_schedule_become_a_kernel() -> None:
    schedule, tensors = shifted()
    bounds = te.schedule.InferBound(schedule)
    stmt = te.schedule.ScheduleOps(schedule, bounds)
    assert isinstance(stmt, tir.For)
    func = te.schedule.SchedulePostProcToPrimFunc(tensors, stmt, None)
    values = RANDOM.random(N, dtype=np.float32)
    np.testing.assert_allclose(whence.build(func)(values), values * 2 + 1, rtol=1e-6)
    with pytest.raises(ScheduleError, match="expected buffers of the statements, got C"):
        te.schedule.SchedulePostProcToPrimFunc([te.placeholder((2,), name="C")], stmt)
