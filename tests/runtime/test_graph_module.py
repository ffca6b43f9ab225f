"""The graph executor against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from strict_graph import check_graph

import whence
from whence import relay
from whence.contrib import graph_executor
from whence.relay.build_module import GraphExecutorFactoryModule
from whence.runtime import load_param_dict, save_param_dict
from whence.runtime.program.factory import GraphExecutorFactory
from whence.runtime.values.ndarray import empty
from whence.support.errors import FrontendError, PipelineError

Array = npt.NDArray[Any]
_RNG = np.random.default_rng(5)
W, B = _RNG.standard_normal((8, 4), np.float32), _RNG.standard_normal(8, np.float32)


def network() -> Any:
    """Two outputs; the second is the first seen with another shape, after what makes memory worth sharing."""
    x, w, b = relay.var("x", shape=(2, 4)), relay.var("w", shape=(8, 4)), relay.var("b", shape=(8,))
    hidden = relay.nn.relu(relay.nn.bias_add(relay.nn.dense(x, w), b))
    soft = relay.nn.softmax(hidden)
    again = relay.nn.softmax(soft)
    flat = relay.reshape(again, (16,))
    return relay.IRModule.from_expr(relay.Function([x, w, b], relay.Tuple([again, flat])))


def by_numpy(x: Array) -> Array:
    hidden = np.maximum(x @ W.T + B, 0)
    for _ in range(2):
        hidden = np.exp(hidden) / np.exp(hidden).sum(1, keepdims=True)
    return hidden


@pytest.fixture(scope="module")
def lib() -> GraphExecutorFactoryModule:
    return relay.build(network(), "llvm", params={"w": W, "b": B})


@pytest.fixture
def x() -> Array:
    return np.random.default_rng(1).standard_normal((2, 4), np.float32)


def module_of(lib: GraphExecutorFactory) -> graph_executor.GraphModule:
    return graph_executor.GraphModule(lib["default"](whence.cpu()))


def test_it_computes_what_numpy_does(lib: GraphExecutorFactoryModule, x: Array):
    module = module_of(lib)
    module.set_input("x", whence.nd.array(x))
    module.run()
    assert module.get_num_outputs() == 2
    np.testing.assert_allclose(module.get_output(0).numpy(), by_numpy(x), rtol=1e-5)
    np.testing.assert_allclose(module.get_output(1, empty((16,))).numpy(), by_numpy(x).ravel(), rtol=1e-5)
    other = -x
    module.run(x=other)
    np.testing.assert_allclose(module.get_output(0), by_numpy(other), rtol=1e-5)
    np.testing.assert_allclose(module.run_from_inputs("x", x)[1], by_numpy(x).ravel(), rtol=1e-5)


def test_the_graph_is_what_the_format_says(lib: GraphExecutorFactoryModule):
    graph = check_graph(lib.get_graph_json())
    names = [node["name"] for node in graph["nodes"]]
    assert names[0] == "x"
    assert names[-1] == "reshape_nop"
    assert [name for name in names if name.startswith("p")] == ["p0", "p1"]
    softmax = [node for node in graph["nodes"] if "softmax" in node["name"]]
    assert [node["name"] for node in softmax] == [
        "tvmgen_default_fused_nn_softmax",
        "tvmgen_default_fused_nn_softmax_1",
    ]
    assert {node["attrs"]["func_name"] for node in softmax} == {"tvmgen_default_fused_nn_softmax"}


def test_the_build_unpacks(lib: GraphExecutorFactoryModule, x: Array):
    text, library, params = lib
    assert text == lib.graph_json == lib["get_graph_json"]()
    module = graph_executor.create(text, library, whence.cpu())
    module.load_params(save_param_dict(params))
    module.run(x=x)
    np.testing.assert_allclose(module.get_output(0), by_numpy(x), rtol=1e-5)
    metadata = lib.function_metadata
    assert set(metadata) == {*library.functions, "__tvm_main__"}
    assert metadata["__tvm_main__"].constant_sizes["llvm"] == sum(value.nbytes for value in params.values())
    assert "tir.for" in metadata["tvmgen_default_fused_nn_softmax"].tir_primfuncs["llvm"]


def test_spans_do_not_change_the_graph(lib: GraphExecutorFactoryModule):
    with whence.PassContext(config={"relay.frontend.fill_span": False, "ir.enable_si_builder": False}):
        assert relay.build(network(), params={"w": W, "b": B}).graph_json == lib.graph_json


def test_another_name_of_the_module():
    lib = relay.build(network(), params={"w": W, "b": B}, mod_name="net")
    assert "tvmgen_net_fused_nn_softmax" in lib.graph_json
    assert isinstance(lib["net"](whence.cpu()), graph_executor.GraphModule)
    with pytest.raises(PipelineError, match=r"expected a function among net, debug_create.*got 'default'"):
        lib["default"]


def test_inputs_are_known_and_checked(lib: GraphExecutorFactoryModule, x: Array):
    module = module_of(lib)
    assert module.get_input_info() == ({"x": (2, 4)}, {"x": "float32"})
    assert (module.get_num_inputs(), module.get_input_index("x"), module.get_input_index("no")) == (3, 0, -1)
    module.set_input(0, x, no=3)
    np.testing.assert_array_equal(module.get_input("x"), x)
    with pytest.raises(FrontendError, match="Could not find 'no' in graph's inputs"):
        module.set_input("no", x)
    with pytest.raises(FrontendError, match=r"expected float32\[2, 4\] 'x', got float32\[4, 2\]"):
        module.set_input("x", x.T.copy())
    with pytest.raises(FrontendError, match=r"expected float32\[2, 4\] 'x', got int32\[2, 4\]"):
        module.set_input("x", x.astype(np.int32))
    with pytest.raises(FrontendError, match="output: expected a number below 2, got 2"):
        module.get_output(2)
    with pytest.raises(PipelineError, match=r"expected contrib.debugger"):
        module.debug_get_output(0, empty((2, 4)))


def test_arrays_are_used_where_they_are(lib: GraphExecutorFactoryModule, x: Array):
    module = module_of(lib)
    given, first, second = whence.nd.array(x), empty((2, 8)), empty((16,))
    module.set_input_zero_copy("x", given)
    module.set_output_zero_copy(0, first)
    module.set_output_zero_copy(1, second)
    module.run()
    np.testing.assert_allclose(first, by_numpy(x), rtol=1e-5)
    np.testing.assert_allclose(second, by_numpy(x).ravel(), rtol=1e-5)
    given[...] = x = -x
    module.run()
    np.testing.assert_allclose(first, by_numpy(x), rtol=1e-5)
    np.testing.assert_array_equal(module.get_output(1), second)
    module.set_input("x", 2 * x)
    np.testing.assert_array_equal(given, x)
    unaligned = np.frombuffer(bytearray(72), np.float32, 8, 4).reshape(2, 4)
    with pytest.raises(FrontendError, match="expected a contiguous array at a 64-byte boundary"):
        module.set_input_zero_copy("x", unaligned)


def test_params_are_shared_and_not_written(lib: GraphExecutorFactoryModule, x: Array):
    one, other = module_of(lib), module_of(lib.remove_params())
    assert set(other.get_input_info()[0]) == {"x", "p0", "p1"}
    other.share_params(one, save_param_dict(lib.get_params()))
    assert np.shares_memory(other.get_input("p0"), one.get_input("p0"))
    other.run(x=x)
    np.testing.assert_allclose(other.get_output(0), by_numpy(x), rtol=1e-5)
    before = lib.params["p1"].copy()
    other.set_input("p1", np.zeros_like(before))
    np.testing.assert_array_equal(lib.params["p1"], before)
    one.run(x=x)
    np.testing.assert_allclose(one.get_output(0), by_numpy(x), rtol=1e-5)


def test_benchmark_has_a_summary(lib: GraphExecutorFactoryModule, x: Array):
    module = module_of(lib)
    result = module.benchmark(whence.cpu(), number=2, repeat=3, x=x)
    assert len(result.results) == 3
    assert result.min <= result.median <= result.max
    lines = str(result).splitlines()
    assert lines[0] == "Execution time summary:"
    assert lines[1].split()[:2] == ["mean", "(ms)"]
    np.testing.assert_allclose(module.get_output(0), by_numpy(x), rtol=1e-5)
    assert len(module.benchmark(whence.cpu(), end_to_end=True, number=1, repeat=2).results) == 2
    with pytest.raises(PipelineError, match="number: expected at least 1, got 0"):
        module.benchmark(whence.cpu(), number=0)


def test_control_flow_is_for_the_virtual_machine():
    x = relay.var("x", shape=(2,))
    c = relay.var("c", shape=(), dtype="bool")
    mod = relay.IRModule.from_expr(relay.Function([c, x], relay.If(c, x, x + x)))
    with pytest.raises(PipelineError, match=r'without control flow in executor "graph" \(executor "vm" runs all\)'):
        relay.build(mod)


def test_a_library_without_a_function_is_refused(lib: GraphExecutorFactoryModule):
    text = lib.graph_json.replace('"func_name":"tvmgen_default_fused_nn_softmax"', '"func_name":"other"')
    with pytest.raises(FrontendError, match=r"expected a function of the library .*, got 'other'"):
        graph_executor.create(text, lib, whence.cpu())
    with pytest.raises(PipelineError, match="expected a library with the graph's functions, got int"):
        graph_executor.create(text, 3, whence.cpu())  # pyright: ignore[reportArgumentType]
    with pytest.raises(PipelineError, match="expected the CPU as device, got gpu"):
        graph_executor.create(text, lib, "gpu")  # pyright: ignore[reportArgumentType]


def test_params_as_tvm_writes_them():
    whole = bytes.fromhex(
        "b79c04054f8de5f7 0000000000000000 0100000000000000 0100000000000000 78 0100000000000000"
        "3fa1b496f0405edd 0000000000000000 01000000 00000000 01000000 02 20 0100 0200000000000000 0800000000000000"
        "0000803f 0000803f"
    )
    assert len(whole) == 97
    assert save_param_dict({"x": np.ones(2, np.float32)}) == whole
    np.testing.assert_array_equal(load_param_dict(bytearray(whole))["x"], [1, 1])
