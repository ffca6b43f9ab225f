"""Registered functions that relay programs call, which fill tensors that are given to them."""

from __future__ import annotations

from collections.abc import Generator
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.printer import Printer

import whence
from whence import WhenceError, relay
from whence.contrib import graph_executor
from whence.dialects.located_parser import LocatedParser
from whence.explorer.references import of_module
from whence.reading.textio import context
from whence.runtime.values.registry import remove_global_func
from whence.support.errors import FrontendError, PipelineError, TextError

RNG = np.random.default_rng(0)
A, B = RNG.standard_normal((4, 8)).astype("float32"), RNG.standard_normal(8).astype("float32")
MATRIX = relay.TensorType((4, 8))


def _scaled(x: Any, y: Any, out: Any) -> None:
    np.copyto(np.asarray(out), np.asarray(x) * 3 + np.asarray(y))


def _sorted(x: Any, values: Any, order: Any) -> None:
    np.copyto(np.asarray(values), np.sort(x, axis=1))
    np.copyto(np.asarray(order), np.argsort(x, axis=1))


def _total(*tensors: Any) -> None:
    np.asarray(tensors[-1])[()] = sum(float(np.sum(tensor)) for tensor in tensors[:-1])


def _changes_its_input(x: Any, out: Any) -> None:
    x[0] = 1


FUNCTIONS = {"scaled": _scaled, "sorted": _sorted, "total": _total, "input": _changes_its_input}


@pytest.fixture(autouse=True)
def functions() -> Generator[None]:
    for name, function in FUNCTIONS.items():
        whence.register_func(f"test.packed.{name}", function)
    yield
    for name in FUNCTIONS:
        remove_global_func(f"test.packed.{name}")


def called(name: str, args: list[Any], out_ty: Any) -> Any:
    return relay.call_dps_packed(f"test.packed.{name}", args, out_ty)


def scaled() -> Any:
    x, y = relay.var("x", shape=(4, 8)), relay.var("y", shape=(8,))
    call = relay.set_span(called("scaled", [relay.set_span(relay.exp(x), "first"), y], MATRIX), "mine")
    return whence.IRModule({"main": relay.Function([x, y], relay.set_span(relay.nn.relu(call), "last"))})


WANTED = np.maximum(np.exp(A) * 3 + B, 0)


@pytest.mark.parametrize("kind", ["graph", "aot", "vm", "debug"])
def test_executors_call_functions(kind: str):
    got = relay.create_executor(kind, scanned := scaled()).evaluate()(A, B)
    np.testing.assert_allclose(got.numpy(), WANTED, rtol=1e-5, atol=1e-6)
    assert "call_dps_packed" in scanned.astext()


def test_a_graph_calls_functions():
    module = graph_executor.GraphModule(relay.build(scaled(), target="llvm")["default"](whence.cpu()))
    module.set_input("x", A)
    module.set_input("y", B)
    module.run()
    np.testing.assert_allclose(module.get_output(0).numpy(), WANTED, rtol=1e-5, atol=1e-6)


def test_a_function_is_a_kernel_with_the_layer_of_the_call():
    exe = whence.compile(scaled(), audit=True)
    np.testing.assert_allclose(exe(A, B), WANTED, rtol=1e-5, atol=1e-6)
    shown = str(exe.where("mine"))
    assert "in python_test_packed_scaled\n  relay   relay.call_dps_packed\n  run by  python" in shown
    assert "mine" in str(exe.why("python_test_packed_scaled"))


def test_several_results():
    x = relay.var("x", shape=(4, 8))
    values, order = called("sorted", [x], [MATRIX, relay.TensorType((4, 8), "int32")])
    exe = whence.compile(whence.IRModule({"main": relay.Function([x], relay.Tuple([relay.exp(values), order]))}))
    got = exe(A)
    np.testing.assert_allclose(got[0], np.exp(np.sort(A, axis=1)), rtol=1e-5)
    np.testing.assert_array_equal(got[1], np.argsort(A, axis=1))


@pytest.mark.parametrize("kind", ["graph", "vm", "debug"])
def test_scalars_constants_and_operands_that_are_one_value(kind: str):
    x = relay.var("x", shape=(4, 8))
    constant = relay.const(np.arange(5, dtype="float32"))
    number = relay.TensorType(())
    body = relay.Tuple([called("total", [x, constant, x], number), called("total", [], number)])
    module = whence.IRModule({"main": relay.Function([x], body)})
    got = relay.create_executor(kind, module).evaluate()(A)
    np.testing.assert_allclose(got[0].numpy(), 2 * A.sum() + 10, rtol=1e-5)
    assert got[1].numpy() == 0


def test_branches_call_functions():
    x, choice = relay.var("x", shape=(4, 8)), relay.var("choice", shape=(), dtype="bool")
    y = relay.var("y", shape=(8,))
    body = relay.If(choice, called("scaled", [x, y], MATRIX), relay.exp(x))
    exe = whence.compile(whence.IRModule({"main": relay.Function([choice, x, y], body)}))
    assert exe.choice.kind == "virtual machine"
    np.testing.assert_allclose(exe(True, A, B), A * 3 + B, rtol=1e-6)
    np.testing.assert_allclose(exe(False, A, B), np.exp(A), rtol=1e-5)


def test_texts_round_trip():
    module = scaled()
    again = relay.parse(module.astext())
    np.testing.assert_allclose(whence.compile(again)(A, B), WANTED, rtol=1e-5, atol=1e-6)
    for generic in (False, True):
        stage, texts = module.module, list[str]()
        for _ in range(2):
            stream = StringIO()
            Printer(stream, print_debuginfo=True, print_generic_format=generic).print_op(stage)
            texts.append(stream.getvalue())
            stage = LocatedParser(context(), texts[-1], "again.mlir").parse_module()
            stage.verify()
        assert texts[0] == texts[1]
        np.testing.assert_allclose(whence.compile(stage)(A, B), WANTED, rtol=1e-5, atol=1e-6)


def test_comparisons_and_bisect_call_functions():
    exe = whence.compile(scaled())
    inputs = {"x": A, "y": B}
    values: Any = of_module(exe.artifact, inputs).tensors
    np.testing.assert_allclose(values["mine"], np.exp(A) * 3 + B, rtol=1e-5, atol=1e-6)
    assert exe.compare(inputs, values).first is None
    assert not whence.bisect(scaled().module, inputs, {"output0": WANTED}).found


TEXT = """
@R.function
def main(x: R.Tensor((4, 8), "float32")):
    with R.dataflow():
        lv = R.call_dps_packed("test.packed.sorted", x, out_ty=[R.Tensor((4, 8), "float32"), R.Tensor((4, 8), "int32")])
        lv1 = lv[1]
        R.output(lv1)
    return lv1
"""


def test_relax_texts_call_functions():
    module = relay.IRModule.from_expr(whence.script.from_source(TEXT, file="net.py"))
    np.testing.assert_array_equal(whence.compile(module)(A), np.argsort(A, axis=1))
    for version in ("0.27", "0.19"):
        text = module.script(version)
        assert 'R.call_dps_packed("test.packed.sorted", (x,), out_' in text
        back = whence.script.from_source(text)
        assert back.script(version) == text
        np.testing.assert_array_equal(whence.compile(back)(A), np.argsort(A, axis=1))


def test_builders_of_relax_call_functions():
    builder = whence.relax.BlockBuilder()
    x = whence.relax.Var("x", whence.relax.TensorStructInfo((4, 8), "float32"))
    types = [whence.relax.TensorStructInfo((4, 8), dtype) for dtype in ("float32", "int32")]
    with builder.function("main", [x]):
        call: Any = whence.relax.op.call_dps_packed("test.packed.sorted", (x,), types)
        builder.emit_func_output(builder.emit(call[0]))
    machine = whence.relax.VirtualMachine(whence.relax.build(builder.get()))
    np.testing.assert_array_equal(np.asarray(machine["main"](A)), np.sort(A, axis=1))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (('"test.packed.sorted"', "3"), "5:14: call_dps_packed: expected the name of a registered function, got int"),
        (
            ("out_ty=", "other="),
            "5:14: call_dps_packed: expected types of tensors .* as out_ty, got none",
        ),
        (('(4, 8), "int32"', "(4, 8)"), "5:14: call_dps_packed: .* as out_ty, got tensor<4x8xf32>, None"),
        (('R.Tensor((4, 8), "int32")', "3"), "5:14: call_dps_packed: expected types as out_ty, got int"),
    ],
)
def test_bad_calls_in_a_text(change: tuple[str, str], told: str):
    with pytest.raises(TextError, match=told):
        whence.script.from_source(TEXT.replace(*change), file="net.py")


def _with(name: str, out_ty: Any, count: int = 1) -> Any:
    x = relay.var("x", shape=(4, 8))
    call = relay.set_span(called(name, [x] * count, out_ty), "mine")
    return whence.IRModule({"main": relay.Function([x], relay.cast(call, "float32"))})


@pytest.mark.parametrize(
    ("name", "out_ty", "count", "told"),
    [
        ("gone", MATRIX, 1, "expected the name of a function that whence.register_func knows, got 'test.packed.gone'"),
        ("scaled", MATRIX, 1, "python_test_packed_scaled.* got TypeError: .* missing 1 required positional argument"),
        ("scaled", MATRIX, 3, "got TypeError: .* takes 3 positional arguments but 4 were given"),
        ("scaled", relay.TensorType((4, 9)), 2, r"got ValueError: .* shape \(4,8\) into shape \(4,9\)"),
        ("scaled", relay.TensorType((4, 8), "int8"), 2, "got TypeError: Cannot cast .* to dtype\\('int8'\\)"),
        ("input", MATRIX, 1, "got ValueError: assignment destination is read-only"),
    ],
)
def test_what_does_not_fit_is_one_error_with_the_layer(name: str, out_ty: Any, count: int, told: str):
    with pytest.raises(WhenceError, match=told + r".*\(layer 'mine'"):
        whence.compile(_with(name, out_ty, count))(A)


def test_open_sizes_are_refused_unless_they_are_given():
    x = relay.var("x", shape=("n", 8))
    y = relay.var("y", shape=(8,))
    call = relay.set_span(called("scaled", [x, y], relay.TensorType(("n", 8))), "mine")
    module = whence.IRModule({"main": relay.Function([x, y], call)})
    with pytest.raises(FrontendError, match=r"expected sizes that are numbers, for a packed function, .*'mine'"):
        whence.compile(module)
    np.testing.assert_allclose(whence.compile(module, shapes={"x": (4, 8)})(A, B), A * 3 + B, rtol=1e-6)


@pytest.mark.parametrize("suffix", [".so", ".tar", ".c"])
def test_such_a_program_is_not_exported(suffix: str, tmp_path: Path):
    exe = whence.compile(scaled())
    with pytest.raises(PipelineError, match=r"which python runs .*'mine'"):
        exe.export_library(tmp_path / f"net{suffix}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("attributes", "told"),
    [
        ('shape=[4, 8], dtype="float31"', "expected a dtype among"),
        ('shape=[4, 8, 4], ndims=[2, 2], dtype="float32, int32"', "of 3 extents, got ndims .2, 2."),
        ('shape=[4, 8], dtype="float32, int32"', "a dtype for each of 1 results"),
        ("shape=[4, 8]", "attribute dtype"),
    ],
)
def test_attributes_that_state_no_types(attributes: str, told: str):
    text = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(4, 8), float32]) {\n  %0 = (%x,);\n'
    text += f'  call_dps_packed(%0, callee="test.packed.scaled", {attributes})\n}}\n'
    with pytest.raises(WhenceError, match=told):
        whence.compile(relay.parse(text, "net.relay"))
