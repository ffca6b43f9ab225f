"""Continuations, call graphs, loops, JSON, and the machine that takes times."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from whence import ir, relay
from whence.relay import transform
from whence.relay.analysis import CallGraph
from whence.relay.loops import while_loop
from whence.relay.profiler_vm import VirtualMachineProfiler
from whence.relay.testing import run_infer_type
from whence.support.errors import FrontendError, PipelineError

X = relay.var("x", "float32")
R = relay.var("r")
RECURSIVE = """#[version = "0.0.5"]
def @sum(%n: int32) -> int32 { if (%n < 1) { 0 } else { @sum(%n - 1) + %n } }
def @twice(%n: int32) -> int32 { @sum(%n) + @sum(%n) }
def @main(%n: int32) -> int32 { @twice(%n) }
"""


def debug(mod: Any, *given: Any) -> Any:
    return relay.create_executor("debug", mod).evaluate()(*given)


CONTINUED: dict[str, Any] = {
    "operators": relay.Function([X], relay.exp(X) * X),
    "branches": relay.Function([X], relay.If(X < relay.const(0.0), relay.exp(X), X * X)),
    "references": relay.Function([X], relay.Let(R, relay.RefCreate(X * X), relay.RefRead(R))),
    "functions": relay.Function(
        [X],
        relay.Let(
            f := relay.var("f"), relay.Function([y := relay.var("y", "float32")], y + y), relay.Call(f, [f(X)]) * X
        ),
    ),
}


@pytest.mark.parametrize("name", CONTINUED)
def test_functions_with_continuations_and_back(name: str) -> None:
    function = run_infer_type(CONTINUED[name])
    continued = run_infer_type(transform.to_cps(function))
    assert continued.type_params == ["answer"]
    assert continued.checked_type.ret_type.name_hint == "answer"
    again = transform.un_cps(continued)
    assert run_infer_type(again).checked_type == function.checked_type
    for x in (np.float32(-0.5), np.float32(2.0)):
        np.testing.assert_allclose(
            debug(relay.IRModule.from_expr(again), x), debug(relay.IRModule.from_expr(function), x)
        )


def test_global_functions_with_continuations() -> None:
    mod = relay.parse(RECURSIVE)
    mod["main"] = transform.un_cps(transform.to_cps(mod["main"], mod))
    assert "sum_cps" in mod
    assert int(debug(mod, 5)) == 30


def test_what_has_no_continuation() -> None:
    with pytest.raises(PipelineError, match="expected a function whose last parameter is a continuation"):
        transform.un_cps(CONTINUED["operators"])


def test_who_calls_whom() -> None:
    graph = CallGraph(relay.parse(RECURSIVE))
    assert [graph.ref_count(name) for name in ("main", "twice", "sum")] == [0, 1, 3]
    assert [graph.global_call_count(name) for name in ("main", "twice", "sum")] == [1, 2, 1]
    assert graph.is_recursive("sum")
    assert not graph.is_recursive("twice")
    assert graph.order() == ["main", "twice", "sum"]
    assert graph.print_var("twice").splitlines() == [
        "Call graph node: twice, ref count = 1",
        "  call sum, ref count = 3",
    ]
    with pytest.raises(FrontendError, match="expected a function among sum, twice, main, got other"):
        graph.ref_count("other")


def test_loops() -> None:
    i, total = relay.var("i", "int32"), relay.var("total", "int32")

    def body(i: Any, total: Any) -> Any:
        return [i + relay.const(1), total + i]

    def cond(i: Any, _: Any) -> Any:
        return relay.less(i, relay.const(10))

    loop = while_loop(cond, [i, total], body)
    mod = relay.IRModule.from_expr(relay.Function([], relay.Call(loop, [relay.const(0), relay.const(0)])))
    assert [int(one) for one in debug(mod)] == [10, 45]


def test_json_keeps_what_it_is() -> None:
    weights = np.random.default_rng(0).standard_normal((3, 4), np.float32)
    shared = relay.nn.relu(relay.var("x", shape=(3, 4)) + relay.const(weights))
    function = relay.Function(relay.analysis.free_vars(shared), shared * shared)
    for node in (
        function,
        relay.IRModule.from_expr(function),
        relay.TensorType((2, relay.Any()), "int8"),
        relay.const(3),
    ):
        again: Any = ir.load_json(ir.save_json(node))
        assert ir.structural_equal(again, node)
    params: Any = ir.load_json(ir.save_json({"w": weights, "axes": [0, None, "C"]}))
    np.testing.assert_array_equal(params["w"].numpy(), weights)
    assert params["axes"] == [0, None, "C"]
    with pytest.raises(FrontendError, match="load_json: expected what save_json gave"):
        ir.load_json('{"root": 1, "nodes": []}')


def test_times_of_a_machine() -> None:
    x, c = relay.var("x", shape=(2, 4)), relay.var("c", "bool")
    mod = relay.IRModule.from_expr(relay.Function([x, c], relay.If(c, relay.tanh(x), x)))
    machine = VirtualMachineProfiler(relay.vm.compile(mod))
    report = machine.profile(np.ones((2, 4), np.float32), True)
    assert [(call["Name"], call["Argument Shapes"]) for call in report.calls] == [("fused_tanh", "float32[2, 4]")]
    assert list(report.by_layer()) == ["tanh_0"]
    assert not machine.profile(np.ones((2, 4), np.float32), False).calls
    assert machine.get_input_index("c") == 1
    machine.set_one_input("main", "c", True)
    given = np.zeros((2, 4), np.float32)
    machine.invoke_with_outputs("main", {"x": np.ones((2, 4), np.float32), "c": True}, [given])
    np.testing.assert_allclose(given, np.tanh(np.ones((2, 4))), rtol=1e-5)


@pytest.mark.parametrize(
    ("made", "shape"),
    [
        (relay.nn.global_avg_pool1d(relay.var("x", shape=(1, 4, 8))), (1, 4, 1)),
        (relay.nn.global_max_pool3d(relay.var("x", shape=(1, 4, 5, 6, 7))), (1, 4, 1, 1, 1)),
        (relay.reverse_reshape(relay.var("x", shape=(2, 3, 4)), (-1, 0)), (6, 4)),
    ],
)
def test_builders_of_other_names(made: Any, shape: tuple[int, ...]) -> None:
    assert run_infer_type(made).checked_type.concrete_shape == shape


def test_what_the_passes_of_a_level_make() -> None:
    weight = np.ones((3, 4), np.float32)
    x, w = relay.var("x", shape=(2, 4)), relay.var("w", shape=(3, 4))
    mod = relay.IRModule.from_expr(relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w))))
    found, params = relay.optimize(mod, "llvm", {"w": weight})
    assert "Primitive=1" in str(found)
    assert list(params) == ["w"]
    assert [param.name_hint for param in found["main"].params] == ["x"]
