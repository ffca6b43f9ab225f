"""What TVM's users call, with TVM's names, orders of parameters and defaults."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whence
from whence import relay
from whence.relay import analysis, testing
from whence.support.errors import PipelineError, WhenceError

ops: Any = relay
transform: Any = relay.transform
VERSION = '#[version = "0.0.5"]\n'
X = relay.var("x", shape=(1, 16))


def test_operators_that_a_callback_wants_are_not_merged() -> None:
    once = ops.nn.relu(X) + ops.const(1.0)
    twice = ops.nn.relu(X) + ops.const(1.0)
    func = relay.Function([X], once + twice)

    def is_add(call: Any) -> bool:
        return call.op.name == "add" and len(call.args) == 2

    merged = testing.run_opt_pass(func, transform.EliminateCommonSubexpr())
    kept = testing.run_opt_pass(func, transform.EliminateCommonSubexpr(is_add))
    assert analysis.list_op_freqs(merged) == {"nn.relu": 1, "add": 2}
    assert analysis.list_op_freqs(kept) == {"nn.relu": 1, "add": 3}


def test_fusion() -> None:
    stopped = relay.Function([X], ops.exp(ops.annotation.stop_fusion(ops.tanh(X))))
    fused = testing.run_opt_pass(stopped, transform.FuseOps())
    assert str(fused).count("Primitive=1") == 2
    assert "stop_fusion" not in str(fused)
    chain = relay.Function([X], ops.exp(ops.tanh(X)))
    assert [
        str(testing.run_opt_pass(chain, transform.FuseOps(fuse_opt_level=level))).count("Primitive=1")
        for level in (0, 2)
    ] == [2, 1]
    x = np.ones((1, 16), np.float32)
    module = relay.IRModule.from_expr(stopped).module
    np.testing.assert_allclose(whence.compile(module)(x), np.exp(np.tanh(x)), rtol=1e-5)


def test_scales_move_forward_or_backward() -> None:
    factor, weight = ops.const(np.full(16, 2, np.float32)), ops.const(np.ones((16, 16), np.float32))
    scaled = relay.Function([X], ops.nn.dense(X * factor, weight) * factor)
    for name in ("ForwardFoldScaleAxis", "BackwardFoldScaleAxis"):
        made = testing.run_opt_pass(scaled, getattr(transform, name)())
        assert analysis.list_op_freqs(made)["multiply"] == 1
    assert "multiply" not in analysis.list_op_freqs(testing.run_opt_pass(scaled, transform.FoldScaleAxis()))
    with pytest.raises(PipelineError, match="direction both, forward or backward, got up"):
        transform.FoldScaleAxis(direction="up")(relay.IRModule.from_expr(scaled))


def test_functions_that_an_entry_reaches_stay() -> None:
    one = relay.Function([X], X)
    mod = relay.IRModule({"main": one, "f": relay.Function([X], X), "g": relay.Function([X], X)})
    kept = transform.RemoveUnusedFunctions(["f", "g"])(mod)
    assert [var.name_hint for var in kept.get_global_vars()] == ["f", "g"]
    assert [var.name_hint for var in transform.RemoveUnusedFunctions()(mod).get_global_vars()] == ["main"]


def same(found: Any, wanted: str) -> bool:
    return analysis.structural_equal(found, relay.parse(VERSION + wanted))


def test_what_a_function_reads_is_not_computed_in_it() -> None:
    before = """
    def @main() {
      let %x = 1 + 1;
      let %f = fn (%y: int) -> int { let %z = %y + %y; %x + %z };
      (%f(2), %f(3))
    }"""
    after = """
    def @main() -> (int32, int32) {
      let %x = 1 + 1;
      let %f = fn (%y: int32) { %x + (%y + %y) };
      (%f(2), %f(3))
    }"""
    made = transform.DeadCodeElimination(inline_once=True)(relay.parse(VERSION + before))
    assert same(made, after)
    assert not same(made, after.replace("%x + (%y", "(1 + 1) + (%y"))


def test_constants_leave_lets_and_quantised_ones_stay() -> None:
    text = "def @main(%x: float) { let %a = 1f; let %b = %a + %a; let %c = %b + %x; %c }"
    assert same(
        transform.FoldConstant()(relay.parse(VERSION + text)), "def @main(%x: float32) { let %c = 2f + %x; %c }"
    )
    quantised = relay.Function([], ops.qnn.op.quantize(ops.const(np.ones(3, np.float32)), ops.const(1.0), ops.const(0)))
    assert "qnn.quantize" in str(testing.run_opt_pass(quantised, transform.FoldConstant()))
    assert "qnn.quantize" not in str(testing.run_opt_pass(quantised, transform.FoldConstant(fold_qnn=True)))


def test_types_with_holes() -> None:
    text = """
    type List[A] { Cons(A, List[A]), Nil }
    def @pair(%x: float) -> (_, int32) { (%x * 2f, 1) }
    def @main(%r: ref(_), %f: fn (_) -> float32) -> List[_] { ref_write(%r, (1, 2f)); %f(%r); Cons(1, Nil) }"""
    mod = relay.parse(VERSION + text)
    typed = str(transform.InferType()(mod))
    assert "%r: ref((int32, float32))" in typed
    assert "-> List[int32]" in typed
    for bad in ("type T { C((_, int32)) }", "def @main(%x: Tensor[(_, 3), float32]) { %x }"):
        with pytest.raises(WhenceError):
            relay.parse(VERSION + bad)


def test_data_types_in_a_module() -> None:
    mod = relay.IRModule()
    box: Any = relay.GlobalTypeVar("box")
    a: Any = relay.TypeVar("a")
    put = relay.Constructor("put", [a], box)
    mod[box] = relay.TypeData(box, [a], [put])
    x = relay.Var("x", a)
    mod["wrap"] = relay.Function([x], put(x), box(a), [a])
    number = relay.scalar_type("int32")
    mod["main"] = relay.Function([], relay.GlobalVar("wrap")(relay.const(0, number)))
    assert mod[box].constructors == [put]
    assert transform.InferType()(mod)["main"].checked_type == relay.FuncType([], box(number))


def test_binding() -> None:
    x, y = relay.var("x", "float32"), relay.var("y", "float32")
    func = relay.Function([x, y], x - y)
    bound = relay.bind(func, {x: relay.const(1.0)})
    assert analysis.structural_equal(bound, relay.Function([y], relay.const(1.0) - y))
    assert analysis.structural_equal(
        relay.build_module.bind_params_by_name(func, {"y": np.float32(2)}), relay.Function([x], x - relay.const(2.0))
    )


def test_passes_on_expressions() -> None:
    @transform.function_pass(opt_level=1)
    def negated(func: Any, mod: Any, ctx: Any) -> Any:
        assert mod["main"] is func
        return relay.Function(func.params, ops.negative(func.body))

    @transform.module_pass(opt_level=1)
    def doubled(mod: Any, ctx: Any) -> Any:
        return relay.IRModule({"main": relay.Function(mod["main"].params, mod["main"].body + mod["main"].body)})

    before = relay.IRModule.from_expr(relay.Function([X], X))
    after = transform.Sequential([negated, doubled])(before)
    assert analysis.structural_equal(before["main"], relay.Function([X], X))
    minus = ops.negative(X)
    assert analysis.structural_equal(after["main"], testing.run_infer_type(relay.Function([X], minus + minus)))
    assert repr(negated) == "Run Function pass: negated at the optimization level 1"

    @transform.function_pass(opt_level=0)
    def nothing(func: Any, mod: Any, ctx: Any) -> Any:
        return None

    with pytest.raises(PipelineError, match="expected it to return a function, got NoneType"):
        nothing(before)


def test_layouts_as_a_table() -> None:
    x, w = relay.var("x", shape=(1, 4, 6, 6)), relay.var("w", shape=(4, 4, 3, 3))
    conv = relay.Function([x, w], ops.nn.relu(ops.nn.conv2d(x, w)))
    made = str(testing.run_opt_pass(conv, transform.ConvertLayout({"nn.conv2d": ["NHWC", "default"]})))
    assert 'data_layout="NHWC", kernel_layout="HWIO"' in made
    assert "padding=[0, 0, 0, 0]" in made


OUT: dict[str, tuple[tuple[int, ...], tuple[int, ...], str, dict[str, Any]]] = {
    "dense": ((3, 20), (17, 20), "dense", {}),
    "conv": ((1, 8, 5, 5), (16, 8, 3, 3), "conv2d", {}),
    "depthwise": ((1, 8, 5, 5), (8, 1, 3, 3), "conv2d", {"groups": 8}),
    "transposed": ((1, 4, 4, 4), (4, 3, 3, 3), "conv2d_transpose", {"strides": (2, 2)}),
}


@pytest.mark.parametrize("name", OUT)
@pytest.mark.parametrize("level", [0, 3])
def test_products_in_a_wider_dtype(name: str, level: int) -> None:
    shape, weights, op, attributes = OUT[name]
    rng = np.random.default_rng(1)
    x, w = rng.integers(0, 256, shape).astype(np.uint8), rng.integers(-128, 128, weights).astype(np.int8)

    def module(*dtypes: str) -> Any:
        params = [relay.var(n, shape=s, dtype=d) for n, s, d in zip("xw", (shape, weights), dtypes, strict=True)]
        product = getattr(ops.nn, op)(*params, out_dtype="int32", **attributes)
        return relay.IRModule.from_expr(relay.Function(params, product))

    found: Any = whence.compile(module("uint8", "int8"), opt_level=level)(x, w)
    wide = relay.create_executor("debug", module("int32", "int32")).evaluate()
    np.testing.assert_array_equal(found, wide(x.astype(np.int32), w.astype(np.int32)))
    assert found.dtype == np.int32


def test_inputs_of_the_machine_by_name() -> None:
    x, y = relay.var("x", "float32"), relay.var("y", "float32")
    machine = relay.vm.VirtualMachine(relay.vm.compile(relay.IRModule.from_expr(relay.Function([x, y], x - y))))
    machine.set_input("main", y=np.float32(1), x=np.float32(3))
    assert machine.run() == 2
    machine.set_input("main", np.float32(5), y=np.float32(1))
    assert machine.run() == 4


def test_executables_of_the_machine() -> None:
    text = """
    def @twice(%f: fn (Tensor[(4), float32]) -> Tensor[(4), float32], %x: Tensor[(4), float32]) { %f(%f(%x)) }
    def @main(%x: Tensor[(4), float32], %c: bool) {
      if (%c) { @twice(fn (%y: Tensor[(4), float32]) { %y * %y }, %x) } else { %x }
    }"""
    exe = relay.vm.compile(relay.parse(VERSION + text), "llvm")
    assert exe.globals == ["twice", "main"]
    assert exe.get_function_params("main") == ["x", "c"]
    assert "invoke_closure" in exe.bytecode.split("VM Function[1]: main(x, c)")[0]
    assert 'Globals (#2): [("twice", 0), ("main", 1)]' in exe.stats
    code, lib = exe.save()
    x = np.array([1, 2, 3, 4], np.float32)
    for loaded in (relay.vm.Executable.load_exec(code, lib), relay.vm.Executable.load_exec(code)):
        machine = whence.runtime.vm.VirtualMachine(loaded, whence.cpu())
        machine.set_input("main", x, True)
        machine.invoke_stateful("main")
        (found,) = machine.get_outputs()
        np.testing.assert_array_equal(np.asarray(found.numpy()), np.power(x, 4))
        assert machine.get_num_outputs() == 1
    with pytest.raises(WhenceError):
        relay.vm.Executable.load_exec(b"\xff")


def test_results_answer_to_numpy() -> None:
    x = relay.var("x", shape=(2,))
    pair = relay.create_executor("vm").evaluate(relay.Function([x], relay.Tuple([x, x + x])))(np.ones(2, np.float32))
    assert [one.numpy().tolist() for one in pair] == [[1, 1], [2, 2]]
    constant: Any = relay.const(1)
    assert constant.data.numpy() == 1
    mod = relay.parse(VERSION + "type L { C(int32, L), N } def @main() { C(1, C(2, N)) }")
    found = relay.create_executor("vm", mod).evaluate()()
    assert (found.constructor.name_hint, int(found.fields[0].numpy()), found.fields[1].tag) == ("C", 1, 0)


def test_patterns_by_a_star_import() -> None:
    scope: dict[str, Any] = {}
    exec("from whence.relay.dataflow_pattern import *", scope)
    assert scope["is_op"]("add")(scope["wildcard"](), scope["wildcard"]()).match(X + X)


def test_passes_on_one_expression() -> None:
    three = ops.add(relay.const(1), relay.const(2))
    folded: Any = transform.FoldConstantExpr(three, relay.IRModule())
    assert int(folded.data) == 3
    assert isinstance(transform.ToANormalFormExpr(three), relay.Let)
    func = relay.Function([X], X + (relay.const(1.0) + relay.const(2.0)))
    assert analysis.list_op_freqs(transform.FoldConstantExpr(func, relay.IRModule())) == {"add": 1}


def test_options_that_there_are_not() -> None:
    with pytest.raises(AttributeError, match="Invalid config option 'no' candidates are"):
        transform.PassContext(config={"no": 1})
