"""The names of Python in a top-down overview of TVM: each works in a flow with a checked value, or is refused with the
reason. Names of C++ (macros, registries of handles) have none here; what they register is reached by the functions.
"""

# pyright: basic

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from overview_flows import FLOWS, computed, evaluated, floats, run, uses

import whence
from whence import relay, te, tir
from whence.contrib import graph_executor
from whence.dialects.relay.interpret import evaluate_module
from whence.driver import tvmc
from whence.relay.testing.temp_op_attr import TempOpAttr

tvm: Any = whence
ops: Any = relay
RNG = np.random.default_rng(153)


@uses("_ffi", "_ffi.register_func", "_ffi.get_global_func", "_ffi._init_api", "runtime.PackedFunc")
def test_functions_by_name() -> None:
    @tvm._ffi.register_func("overview.scale", override=True)
    def scale(x: Any, factor: float) -> Any:
        return tvm.nd.array(x.numpy() * factor)

    function = tvm._ffi.get_global_func("overview.scale")
    assert isinstance(function, tvm.runtime.PackedFunc)
    np.testing.assert_array_equal(function(tvm.nd.array(np.ones(3)), 2.5).numpy(), np.full(3, 2.5))
    api = type(sys)("overview_api")
    sys.modules["overview_api"] = api
    tvm._ffi._init_api("overview", "overview_api")
    np.testing.assert_array_equal(api.scale(tvm.nd.array(np.ones(2)), 3.0).numpy(), [3, 3])


@uses("relay._transform.SimplifyExpr", "ir", "relay.transform", "transform")
def test_passes_by_name() -> None:
    x = ops.var("x", shape=(4,))
    mod = tvm.IRModule.from_expr(ops.Function([x], ops.reshape(ops.reshape(x, (2, 2)), (4,))))
    for make in (tvm.get_global_func("relay._transform.SimplifyExpr"), relay.transform.SimplifyExpr):
        simple = make()(relay.transform.InferType()(mod))
        assert simple.astext().count("reshape(") < 2
    assert tvm.transform.Sequential([relay.transform.InferType()])(mod).astext().count("reshape(") == 2
    assert tvm.ir.structural_equal(mod["main"], mod["main"])


@uses("runtime", "runtime.Object", "nd.NDArray", "runtime.DataType", "runtime.DataTypeCode")
def test_objects_of_the_runtime() -> None:
    assert isinstance(ops.var("x"), tvm.runtime.Object)
    array = tvm.nd.array(np.arange(3, dtype=np.int8))
    assert isinstance(array, tvm.nd.NDArray)
    code = tvm.runtime.DataTypeCode
    for text, kind, bits, lanes in (
        ("float32", code.FLOAT, 32, 1),
        ("int8x4", code.INT, 8, 4),
        ("bool", code.UINT, 1, 1),
        ("bfloat16", code.BFLOAT, 16, 1),
        ("handle", code.HANDLE, 64, 1),
    ):
        dtype = tvm.runtime.DataType(text)
        assert (dtype, dtype.type_code, dtype.bits, dtype.lanes) == (text, kind, bits, lanes)
    assert tvm.runtime.DataType("int8x4").itemsize == 4
    with pytest.raises(whence.FrontendError, match="DataType: expected a dtype such as float32 or int8x4, got 'real'"):
        tvm.runtime.DataType("real")


@uses("driver.tvmc", "tvmc.load", "tvmc.compile", "tvmc.run", "tvmc.tune", "TVMCModel", "TVMCPackage")
def test_driver() -> None:
    x = ops.var("x", shape=(32, 16))
    w = floats(48, 16)
    model = tvmc.TVMCModel(tvm.IRModule.from_expr(ops.Function([x], ops.nn.dense(x, ops.const(w)))))
    folder = tvm.contrib.utils.tempdir()
    model.save(folder.relpath("net.tar"))
    loaded = tvmc.load(folder.relpath("net.tar"))
    records = tvmc.tune(loaded, tuning_records=folder.relpath("log.json"), trials=1)
    package = tvm.driver.tvmc.compile(loaded, tuning_records=records, package_path=folder.relpath("lib.tar"))
    data = floats(32, 16)
    result = tvmc.run(tvmc.TVMCPackage(package.package_path), inputs={"x": data}, repeat=1, number=1)
    np.testing.assert_allclose(result.get_output("output_0"), data @ w.T, rtol=1e-4, atol=1e-5)
    folder.remove()


@uses("topi", "topi.asinh", "te.asinh", "tir.asinh", "tir.op", "tir.call_intrin", "relay.asinh")
def test_asinh_on_all_levels() -> None:
    x = floats(5) * 10
    A = te.placeholder((5,), name="A")
    B = tvm.topi.asinh(A)
    np.testing.assert_allclose(tvm.build(te.create_schedule(B.op), [A, B])(x), np.arcsinh(x), rtol=1e-6)
    for function in (te.asinh, tir.asinh, tir.op.asinh, lambda a: tir.call_intrin(a.dtype, "tir.asinh", a)):
        np.testing.assert_allclose(computed(function, x), np.arcsinh(x), rtol=1e-6)
    np.testing.assert_allclose(run(ops.asinh(ops.var("x", shape=(5,))), x=x), np.arcsinh(x), rtol=1e-6)


@uses("ir.register_intrin_lowering", "ir.register_op_attr", "tir.call_pure_extern", "call_llvm_pure_intrin")
def test_rules_of_intrinsics() -> None:
    tvm.ir.register_op_attr("tir.overview", "TCallEffectKind", tir.CallEffectKind.Pure)
    tvm.ir.register_intrin_lowering(
        "tir.overview", "llvm", f=lambda op: tir.call_pure_extern("float32", "cosf", op.args[0])
    )
    x = floats(6)
    got = computed(lambda a: tir.call_intrin("float32", "tir.overview", a), x)
    tvm.ir.remove_intrin_lowering("tir.overview")
    np.testing.assert_allclose(got, np.cos(x), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(computed(lambda a: tir.call_llvm_pure_intrin("float32", "llvm.fabs", a), x), abs(x))


@uses("call_llvm_intrin", "tir.sin", "tir.cos")
def test_functions_of_numbers() -> None:
    x = floats(6)
    np.testing.assert_allclose(computed(lambda a: tir.sin(a) + tir.cos(a), x), np.sin(x) + np.cos(x), rtol=1e-4)
    np.testing.assert_array_equal(computed(lambda a: tir.call_llvm_intrin("float32", "llvm.floor", a), x), np.floor(x))


@uses("tir.call_extern", "tvm_call_packed", "tvm_call_cpacked", "tvm_call_packed_lowered", "tvm_call_cpacked_lowered")
def test_calls_from_kernels() -> None:
    tvm.register_func("overview.twice", lambda x, y: tvm.nd.array(x.numpy() * 2).copyto(y), override=True)
    A, x = te.placeholder((4,), name="A"), floats(4)
    for call in (tir.call_packed, tir.call_cpacked, tir.call_packed_lowered, tir.call_cpacked_lowered):
        B = te.extern(A.shape, [A], lambda ins, outs: call("overview.twice", ins[0], outs[0]), name="B")  # noqa: B023
        np.testing.assert_array_equal(tvm.build(te.create_schedule(B.op), [A, B])(x), x * 2)
    C = te.extern(
        A.shape,
        [A],
        lambda ins, outs: tir.call_extern("handle", "memcpy", outs[0].access_ptr("w"), ins[0].access_ptr("r"), 16),
        name="C",
    )
    np.testing.assert_array_equal(tvm.build(te.create_schedule(C.op), [A, C])(x), x)


@uses("driver.build", "target.build.llvm", "target.Target", "driver.schedule_to_module", "binds", "lower", "IRModule")
def test_building() -> None:
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    s, x = te.create_schedule(B.op), floats(8)
    mod = tvm.lower(s, [A, B], binds={A: tir.decl_buffer((8,), name="A")})
    target = tvm.target.Target("llvm")
    assert isinstance(mod, tvm.IRModule)
    for module in (mod, tvm.driver.build_module.schedule_to_module(s, [A, B])):
        for build in (tvm.build, tvm.driver.build_module.build):
            np.testing.assert_allclose(build(module, target=target)(x), x + 1)
        np.testing.assert_allclose(tvm.get_global_func("target.build.llvm")(module, target)(x), x + 1)
    np.testing.assert_allclose(tvm.build({target: mod})(x), x + 1)


@uses("tir.decl_buffer", "tir.Buffer", "tir.PrimFunc", "te.create_prim_func", "tir.IndexMap", "tir.IterVar", "BaseFunc")
def test_functions_of_loops() -> None:
    X, Y = (tir.decl_buffer((4,), name=name) for name in "XY")
    assert isinstance(X, tir.Buffer)
    i = tir.Var("i")
    func = tir.PrimFunc([X, Y], tir.For(i, 0, 4, tir.ForKind.SERIAL, tir.BufferStore(Y, X[i] * 3.0, [i])))
    x = floats(4)
    np.testing.assert_allclose(tvm.build(func)(x), x * 3)
    A = te.placeholder((4, 6), name="A")
    B = te.compute((4, 6), lambda i, j: A[i, j] - 1.0, name="B")
    linked, a = te.create_prim_func([A, B]), floats(4, 6)
    assert isinstance(linked, tir.PrimFunc)
    np.testing.assert_allclose(tvm.build(linked)(a), a - 1)
    index_map = tir.IndexMap.from_func(lambda i, j: [j, i])
    assert [value.value for value in index_map.map_indices([3, 5])] == [5, 3]
    assert isinstance(te.reduce_axis((0, 4), "k"), tir.IterVar)
    assert isinstance(ops.Function([], ops.const(1.0)), tvm.ir.BaseFunc)


_ARITHMETIC: dict[str, Any] = {
    "tir.Add": np.add,
    "tir.Sub": np.subtract,
    "tir.Mul": np.multiply,
    "tir.Div": np.divide,
    "tir.Min": np.minimum,
    "tir.Max": np.maximum,
}
_COMPARED: dict[str, Any] = {
    **{"tir.EQ": np.equal, "tir.NE": np.not_equal, "tir.LT": np.less},
    **{"tir.LE": np.less_equal, "tir.GT": np.greater, "tir.GE": np.greater_equal},
}


@uses(*_ARITHMETIC, *_COMPARED, "tir.Mod", "tir.And", "tir.Or", "tir.Not", "tir.Select", "ir.PrimExpr", "ir.BaseExpr")
def test_operators_as_nodes() -> None:
    x, y = floats(40), floats(40)
    y[::4] = x[::4]
    for name, reference in _ARITHMETIC.items():
        kind = getattr(tir, name[4:])
        np.testing.assert_allclose(computed(kind, x, y), reference(x, y), rtol=1e-6, err_msg=name)
    for name, reference in _COMPARED.items():
        kind = getattr(tir, name[4:])
        chosen = computed(lambda a, b: tir.Select(kind(a, b), 1.0, 0.0), x, y)  # noqa: B023
        np.testing.assert_array_equal(chosen, reference(x, y), err_msg=name)
    m, n = (RNG.integers(-9, 10, 40).astype(np.int32) for _ in range(2))
    n[n == 0] = 4
    np.testing.assert_array_equal(computed(tir.Mod, m, n), np.fmod(m, n))

    def between(a: Any, b: Any) -> Any:
        both, either = tir.And(a > 0.0, b > 0.0), tir.Or(a > 0.0, b > 0.0)
        assert all(isinstance(node, kind) for node, kind in ((both, tir.And), (either, tir.Or), (a + b, tir.Add)))
        assert all(isinstance(node, each) for node in (both, a) for each in (tvm.ir.PrimExpr, tvm.ir.BaseExpr))
        return tir.Select(tir.And(either, tir.Not(both)), 1.0, 0.0)

    np.testing.assert_array_equal(computed(between, x, y), (x > 0) != (y > 0))


@uses("tir.IntImm", "tir.FloatImm", "tir.StringImm", "tir.Cast", "tir.Reduce", "tir.Call", "tir.Any")
def test_other_nodes() -> None:
    x = floats(4, 3)
    four, half = tir.IntImm("int32", 4), tir.FloatImm("float32", 0.5)
    assert (four.value, half.value, tir.StringImm("s").value) == (4, 0.5, "s")
    np.testing.assert_allclose(computed(lambda a: tir.Cast("int32", a * half) * four, x), np.trunc(x / 2) * 4)
    assert isinstance(te.exp(te.var("v", "float32")), tir.Call)
    A, k = te.placeholder((4, 3), name="A"), te.reduce_axis((0, 3), "k")
    B = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="B")
    assert isinstance(B.op.body[0], tir.Reduce)
    np.testing.assert_allclose(tvm.build(te.create_schedule(B.op), [A, B])(x), x.sum(1), rtol=1e-5, atol=1e-6)
    open_rows = ops.var("x", shape=(tir.Any(), 3))
    np.testing.assert_allclose(
        evaluated(ops.Function([open_rows], ops.exp(open_rows)), x).numpy(), np.exp(x), rtol=1e-5
    )


@uses("tir.Ramp", "tir.Broadcast", "tir.Shuffle")
def test_vectors_as_nodes() -> None:
    steps = tir.Ramp(tir.IntImm("int32", 3), 2, 4)
    assert (steps.dtype, steps.base.value, steps.stride.value, steps.lanes) == ("int32x4", 3, 2, 4)
    same = tir.Broadcast(tir.FloatImm("float32", 1.5), 4)
    assert (same.dtype, same.value.value) == ("float32x4", 1.5)
    mixed = tir.Shuffle([steps], [tir.IntImm("int32", 2)])
    assert isinstance(mixed, tir.Shuffle)
    assert tvm.ir.structural_equal(steps + steps, steps + steps)
    assert not tvm.ir.structural_equal(steps, tir.Ramp(tir.IntImm("int32", 3), 1, 4))


@uses("te.placeholder", "te.compute", "PlaceholderOp", "ComputeOp", "te.Schedule", "te.Stage", "te.create_schedule")
def test_computes() -> None:
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i] * A[i], name="B")
    s = te.create_schedule(B.op)
    assert isinstance(s, te.Schedule)
    assert isinstance(s[B], te.Stage)
    assert isinstance(A.op, te.PlaceholderOp)
    assert isinstance(B.op, te.ComputeOp)
    x = floats(4)
    np.testing.assert_allclose(tvm.build(s, [A, B])(x), x * x, rtol=1e-6)


@uses("te.extern", "ExternOp", "te.scan", "ScanOp", "te.hybrid", "HybridOp")
def test_further_operations() -> None:
    A, x = te.placeholder((3, 4), name="A"), floats(3, 4)
    tvm.register_func("overview.negative", lambda a, b: tvm.nd.array(-a.numpy()).copyto(b), override=True)
    E = te.extern((3, 4), [A], lambda ins, outs: te.call_packed("overview.negative", ins[0], outs[0]), name="E")
    state = te.placeholder((3, 4))
    S = te.scan(
        te.compute((1, 4), lambda _, i: A[0, i]),
        te.compute((3, 4), lambda t, i: state[t - 1, i] + A[t, i]),
        state,
        inputs=[A],
    )

    @te.hybrid.script
    def doubled(a):  # type: ignore[no-untyped-def]
        b = output_tensor((3, 4), "float32")  # noqa: F821  # pyright: ignore[reportUndefinedVariable]
        for i in range(3):
            for j in range(4):
                b[i, j] = a[i, j] + a[i, j]
        return b

    H: Any = doubled(A)
    for tensor, kind, expected in ((E, te.ExternOp, -x), (S, te.ScanOp, x.cumsum(0)), (H, te.HybridOp, x + x)):
        assert isinstance(tensor.op, kind)
        np.testing.assert_allclose(tvm.build(te.create_schedule(tensor.op), [A, tensor])(x), expected, rtol=1e-5)


@uses("te.decl_tensor_intrin", "tensorize", "reorder", "fuse", "split", "tile")
def test_primitives_of_loops() -> None:
    A = te.placeholder((8, 16), name="A")
    B = te.compute((8, 16), lambda i, j: A[i, j] + 1.0, name="B")
    x = floats(8, 16)
    a = te.placeholder((4,), name="a")
    b = te.compute((4,), lambda i: a[i] + 1.0, name="b")
    calls: list[Any] = []

    @tvm.register_func("overview.more", override=True)
    def add_one(y: Any, x: Any) -> None:
        calls.append(x.shape)
        tvm.nd.array(x.numpy() + 1).copyto(y)

    buffers = {tensor: tir.decl_buffer((4,), offset_factor=1, strides=[1]) for tensor in (a, b)}
    more = te.decl_tensor_intrin(
        b.op, lambda ins, outs: te.call_packed("overview.more", outs[0], ins[0]), binds=buffers
    )

    def check(change: Callable[[Any, Any, Any], object], *marks: str) -> None:
        s = te.create_schedule(B.op)
        change(s[B], *B.op.axis)
        text = str(tvm.lower(s, [A, B]))
        assert all(mark in text for mark in marks)
        np.testing.assert_allclose(tvm.build(s, [A, B])(x), x + 1, rtol=1e-6)

    check(lambda s, i, j: s.split(j, 4), "in 4 ")
    check(lambda s, i, j: s.tensorize(s.split(j, 4)[1], more))
    assert calls == [(4,)] * 32
    check(lambda s, i, j: s.fuse(i, j), "in 128 ")
    check(lambda s, i, j: s.tile(i, j, 2, 8), "in 2 ", "in 8 ")
    check(lambda s, i, j: s.reorder(j, i), "in 16 ")


@uses("unroll", "parallel", "vectorize", "pragma")
def test_marks_of_loops() -> None:
    A = te.placeholder((8, 16), name="A")
    B = te.compute((8, 16), lambda i, j: A[i, j] * 2.0, name="B")
    x, texts = floats(8, 16), set()
    for change in (
        lambda s, i, j: s.unroll(j),
        lambda s, i, j: s.parallel(i),
        lambda s, i, j: s.vectorize(j),
        lambda s, i, j: s.pragma(i, "auto_unroll_max_step", 16),
    ):
        s = te.create_schedule(B.op)
        change(s[B], *B.op.axis)
        texts.add(str(s))
        np.testing.assert_allclose(tvm.build(s, [A, B])(x), x * 2, rtol=1e-6)
    assert len(texts) == 4


@uses("PrimType", "PointerType", "TupleType", "TypeVar", "GlobalTypeVar", "FuncType", "TensorType", "RelayRefType")
def test_types() -> None:
    ir = tvm.ir
    tensor = ir.TensorType((2, 3), "float32")
    assert (ir.PrimType("int32").dtype, ir.PointerType(ir.PrimType("int8"), "global").storage_scope) == (
        "int32",
        "global",
    )
    x = ops.var("x", shape=(2, 3))
    pair = ops.Function([x], ops.Tuple([x, ops.exp(x)]))
    typed = relay.transform.InferType()(tvm.IRModule.from_expr(pair))["main"].checked_type
    assert typed == ir.FuncType([tensor], ir.TupleType([tensor, tensor]))
    ref = relay.transform.InferType()(tvm.IRModule.from_expr(ops.Function([x], ops.RefRead(ops.RefCreate(x)))))
    assert ref["main"].checked_type.ret_type == tensor
    assert ir.RelayRefType(tensor) == ir.RelayRefType(ir.TensorType((2, 3), "float32"))
    a = ir.TypeVar("a")
    y = ops.var("y", a)
    identity = ops.Function([y], y, a, [a])
    (got,) = evaluate_module(
        tvm.IRModule.from_expr(ops.Function([x], ops.Call(identity, [x]))).module, [np.ones((2, 3))]
    )
    np.testing.assert_array_equal(got, np.ones((2, 3)))
    assert ir.GlobalTypeVar("List") == ir.GlobalTypeVar("List")


@uses("TypeConstraint", "IncompleteType", "BaseTensorType", "TypeKind", "TypeRelation")
def test_kinds_of_types() -> None:
    ir = tvm.ir
    assert isinstance(ir.TensorType((2,), "int8"), ir.BaseTensorType)
    assert ir.TypeKind.AdtHandle == 5
    assert issubclass(ir.TypeRelation, ir.TypeConstraint)
    x, y = ops.var("x", ir.IncompleteType()), ops.var("y", shape=(3,))
    mod = tvm.IRModule.from_expr(ops.Function([y], relay.Let(x, ops.exp(y), ops.add(x, y))))
    assert relay.transform.InferType()(mod)["main"].body.var.checked_type == ir.TensorType((3,), "float32")


@uses("relay", "relay.Function", "relay.Constant", "relay.Tuple", "relay.Var", "relay.Let", "relay.Call", "relay.If")
def test_expressions_of_relay() -> None:
    x, y = relay.Var("x", tvm.ir.TensorType((3,), "float32")), ops.var("y", shape=(3,))
    c = relay.Constant(tvm.nd.array(np.full(3, 2, np.float32)))
    body = relay.Let(y, relay.Call(relay.op.get("exp"), [x]), relay.Tuple([y, ops.add(y, c)]))
    chosen = relay.If(ops.less(ops.sum(x), ops.const(0.0)), body, relay.Tuple([c, c]))
    data = -np.abs(floats(3))
    for given, expected in ((data, (np.exp(data), np.exp(data) + 2)), (-data, (np.full(3, 2), np.full(3, 2)))):
        for got, want in zip(evaluated(relay.Function([x], chosen), given), expected, strict=True):
            np.testing.assert_allclose(got.numpy(), want, rtol=1e-5)


@uses("relay.Op", "TupleGetItem", "RefCreate", "RefRead", "RefWrite", "ir.RelayExpr", "ir.Op")
def test_references_and_tuples() -> None:
    x, r = ops.var("x", shape=()), ops.var("r")
    written = relay.Let(ops.var("_"), relay.RefWrite(r, ops.multiply(relay.RefRead(r), x)), relay.RefRead(r))
    body = relay.TupleGetItem(relay.Tuple([x, relay.Let(r, relay.RefCreate(x), written)]), 1)
    assert isinstance(body, tvm.ir.RelayExpr)
    assert isinstance(relay.op.get("multiply"), tvm.ir.Op)
    assert relay.op.Op is tvm.ir.Op
    assert evaluated(relay.Function([x], body), np.float32(3)).numpy() == 9


@uses("MergeComposite", "PartitionGraph", "relay.op.contrib", "register_patterns", "partition_for", "dataflow_pattern")
def test_patterns_for_libraries() -> None:
    from whence.dataflow_pattern import is_op, wildcard

    table = [("overview.dense", is_op("nn.relu")(is_op("nn.dense")(wildcard(), wildcard())))]
    relay.op.contrib.register.register_pattern_table("overview", table=lambda: table)
    assert relay.op.contrib.get_pattern_table("overview") == table
    x, w = ops.var("x", shape=(2, 4)), ops.const(floats(3, 4))
    mod = tvm.IRModule.from_expr(ops.Function([x], ops.exp(ops.nn.relu(ops.nn.dense(x, w)))))
    passes = [
        relay.transform.MergeComposite(table),
        relay.transform.AnnotateTarget("overview"),
        relay.transform.MergeCompilerRegions(),
        relay.transform.PartitionGraph(),
    ]
    partitioned = tvm.transform.Sequential(passes)(mod)
    assert 'Compiler="overview"' in partitioned.astext(show_meta_data=False)
    data = floats(2, 4)
    outside = tvm.compile(mod.module, target="onnxruntime, llvm")
    np.testing.assert_allclose(outside(data), tvm.compile(mod.module)(data), rtol=1e-2, atol=1e-3)


@uses("FTVMCompute", "FTVMStrategy", "OpStrategy", "add_implementation", "strategy")
def test_strategies_of_operators() -> None:
    strategy = relay.op.OpStrategy()
    strategy.add_implementation(lambda attrs, inputs, out_type: [te.compute((3,), lambda i: inputs[0][i] * 7.0)], None)
    assert len(strategy.specializations) == 1
    x, data = ops.var("x", shape=(3,)), floats(3)
    with TempOpAttr("negative", "FTVMStrategy", lambda attrs, inputs, out_type, target: strategy):
        np.testing.assert_allclose(run(ops.negative(x), x=data), data * 7, rtol=1e-6)
    with TempOpAttr(
        "negative", "FTVMCompute", lambda attrs, inputs, out: [te.compute((3,), lambda i: inputs[0][i] * 5.0)]
    ):
        np.testing.assert_allclose(run(ops.negative(x), x=data), data * 5, rtol=1e-6)
    np.testing.assert_allclose(run(ops.negative(x), x=data), -data, rtol=1e-6)


@uses("usmp", "WorkspaceMemoryPools", "PoolInfo")
def test_memory_pools() -> None:
    x = ops.var("x", shape=(4, 64))
    body = ops.nn.softmax(ops.nn.dense(ops.nn.softmax(x), ops.const(floats(64, 64))))
    properties = tvm.PoolInfoProperties(size_hint_bytes=1 << 14)
    pools = tvm.WorkspaceMemoryPools([tvm.WorkspacePoolInfo("sram", ["llvm"], properties)])
    assert isinstance(pools.pools[0], tvm.PoolInfo)
    data = floats(4, 64)
    with tvm.transform.PassContext(config={"tir.usmp.enable": True}):
        lib = relay.build(tvm.IRModule.from_expr(body), "llvm", workspace_memory_pools=pools)
    module = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    module.run(x=data)
    np.testing.assert_allclose(module.get_output(0).numpy(), run(body, x=data), rtol=1e-6)


@uses("autotvm", "auto_scheduler", "meta_schedule")
def test_tuners() -> None:
    x = ops.var("x", shape=(32, 64))
    mod = tvm.IRModule.from_expr(ops.Function([x], ops.nn.dense(x, ops.const(floats(48, 64)))))
    tasks = tvm.autotvm.task.extract_from_program(mod["main"], params={}, target="llvm")
    others, weights = tvm.auto_scheduler.extract_tasks(mod["main"], {}, "llvm")
    assert [task.name for task in tasks] == [task.name for task in others]
    assert weights == [1] * len(tasks)
    folder = tvm.contrib.utils.tempdir()
    records = tvm.meta_schedule.relay_integration.tune_relay(mod, {}, "llvm", folder.path, 1)
    lib = tvm.meta_schedule.relay_integration.compile_relay(records, mod, "llvm", {})
    module = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    data = floats(32, 64)
    module.run(x=data)
    np.testing.assert_allclose(module.get_output(0).numpy(), run(mod["main"], x=data), rtol=1e-4, atol=1e-4)
    folder.remove()


@uses("msc.MSCGraph")
def test_graphs_of_msc() -> None:
    x = ops.var("x", shape=(2, 8))
    mod = tvm.IRModule.from_expr(ops.Function([x], ops.nn.relu(ops.nn.dense(x, ops.const(floats(4, 8))))))
    msc = tvm.contrib.msc
    graph, weights = msc.from_relay(mod)
    back = msc.to_relay(msc.MSCGraph.from_json(graph.to_json()), weights)
    data = floats(2, 8)
    np.testing.assert_allclose(run(back["main"], x=data), run(mod["main"], x=data), rtol=1e-6)


_LOWERED = "relax.build does this when it compiles"
_PATTERNS = "relay.transform.MergeComposite does this"
_TUNED = "whence.tune measures, and its records are applied when a model is compiled"
_TARGETS = 'target: expected "native" or "llvm'
REFUSED: dict[str, tuple[str, str]] = {
    "FuseOpsByPattern": ("tvm.relax.transform.FuseOpsByPattern", _PATTERNS),
    "FCallTIRRewrite": ("tvm.relax.transform.CallTIRRewrite", _LOWERED),
    "MetaScheduleTuneIRMod": ("tvm.relax.transform.MetaScheduleTuneIRMod", _TUNED),
    "MetaScheduleTuneTIR": ("tvm.meta_schedule.tune_tir(None, 'llvm', '', 1)", "tune_tir: expected tensors with a"),
    "MetaScheduleApplyDatabase": ("relay.transform.MetaScheduleApplyDatabase", "in the scope of autotvm.apply_history"),
    "ir.ExternFunc": ("tvm.ir.ExternFunc", "functions from outside are called by te.call_extern and te.call_packed"),
    "relay.TempExpr": ("relay.TempExpr", "rewriters return expressions, so that none of them is temporary"),
    **{f"target.build.{kind}": (f"tvm.target.Target('{kind}')", _TARGETS) for kind in ("opencl", "stackvm")},
}
"""Name -> what asks for it, and the sentence that answers."""


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_why(name: str) -> None:
    text, sentence = REFUSED[name]
    with pytest.raises((AttributeError, whence.WhenceError)) as refusal:
        eval(text)
    assert sentence in str(refusal.value)


def test_how_many_names_work() -> None:
    assert not FLOWS.keys() & REFUSED.keys()
    assert len(FLOWS) >= 140
    assert len(FLOWS) + len(REFUSED) >= 153
