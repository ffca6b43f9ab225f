"""What TFLite models keep from call to call, and their signatures, against LiteRT."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter
from random_tflite import CASES
from tflite_builder import Array, Net, litert, random_inputs, tflite

import whence
from whence.dialects.relay.interpret import evaluate_module
from whence.explorer.litert import litert_tensors
from whence.frontends.tflite import from_tflite
from whence.support.errors import FrontendError, PipelineError

X = np.array([1, 2, 3], np.float32)


def handle(net: Net, name: str = "sum") -> int:
    made = net.tensor(f"handle{len(net.tensors)}", [], "resource")
    net.op("VAR_HANDLE", [], [made], "VarHandleOptions", container=b"", sharedName=name.encode())
    return made


def counter(initial: bool = True, chosen: bool = False, computed: bool = False) -> Net:
    """Adds its input to a variable, in a branch if `chosen`; it begins with 1, 2, 3, which are `computed` from
    what another variable has."""
    net = Net()
    p = net.input("p", [1], "bool") if chosen else -1
    x = net.input("x", [3])
    if initial:
        first = net.subgraph()
        value = begun(first) if computed else first.const("first", X)
        first.op("ASSIGN_VARIABLE", [handle(first), value], [], "AssignVariableOptions")
        net.op("CALL_ONCE", [], [], "CallOnceOptions", initSubgraphIndex=first.finish())
    found = net.tensor("found", [3])
    if not chosen:
        grown(net, x, found)
    else:
        branches: list[int] = []
        for way in (True, False):
            inner = net.subgraph()
            given, left = inner.input("given", [3]), inner.tensor("left", [3])
            if way:
                grown(inner, given, left)
            else:
                inner.op("READ_VARIABLE", [handle(inner)], [left], "ReadVariableOptions")
            inner.outputs = [left]
            branches.append(inner.finish())
        net.op("IF", [p, x], [found], "IfOptions", thenSubgraphIndex=branches[0], elseSubgraphIndex=branches[1])
    net.outputs = [found]
    return net


def begun(net: Net) -> int:
    """1, 2, 3, as twice what half of it is."""
    kept = handle(net, "half")
    net.op("ASSIGN_VARIABLE", [kept, net.const("half", X / 2)], [], "AssignVariableOptions")
    half, found = net.tensor("read", [3]), net.tensor("begun", [3])
    net.op("READ_VARIABLE", [kept], [half], "ReadVariableOptions")
    net.op("ADD", [half, half], [found], "AddOptions")
    return found


def grown(net: Net, x: int, found: int) -> None:
    old, kept = net.tensor("old", [3]), handle(net)
    net.op("READ_VARIABLE", [kept], [old], "ReadVariableOptions")
    net.op("ADD", [old, x], [found], "AddOptions")
    net.op("ASSIGN_VARIABLE", [kept, found], [], "AssignVariableOptions")


def calls(data: bytes, inputs: dict[str, Array], count: int) -> list[Array]:
    exe = whence.compile(data, threads=1)
    return [np.asarray(next(iter(exe.run(inputs).values()))) for _ in range(count)]


@pytest.mark.parametrize(("chosen", "computed"), [(False, True), (True, False)])
def test_a_variable_keeps_its_value(chosen: bool, computed: bool):
    data, inputs = counter(chosen=chosen, computed=computed).build(), {"x": X}
    if chosen:
        inputs["p"] = np.array([True])
    for count, found in enumerate(calls(data, inputs, 3), 1):
        np.testing.assert_array_equal(found, litert(data, inputs, calls=count)[0])
        np.testing.assert_array_equal(found, (count + 1) * X)


@pytest.mark.parametrize("name", ["SVDF", "SVDF quantized", "UNIDIRECTIONAL_SEQUENCE_RNN"])
def test_a_recurrent_layer_goes_on_where_it_was(name: str):
    rng = np.random.default_rng(6)
    data = CASES[name](rng)
    inputs = random_inputs(data, rng)
    for count, found in enumerate(calls(data, inputs, 2), 1):
        np.testing.assert_allclose(found, litert(data, inputs, calls=count)[0], rtol=1e-5, atol=1e-5)


def test_a_model_begins_anew_after_a_reset():
    exe: Any = whence.compile(counter().build(), threads=1)
    assert [spec.name for spec in (*exe.inputs, *exe.outputs)] == ["x", "found"]
    first = exe(X)
    exe(X)
    np.testing.assert_array_equal(exe.state["sum"], 3 * X)
    exe.reset()
    np.testing.assert_array_equal(exe(X), first)
    with pytest.raises(FrontendError, match="unknown input 'sum', which is kept"):
        exe.run({"x": X, "sum": X})


def test_a_module_finds_variables_as_they_are_at_first():
    module = from_tflite(counter().build())
    for _ in range(2):
        np.testing.assert_array_equal(np.asarray(evaluate_module(module, [X])[0], np.float32), 2 * X)


def test_a_variable_without_a_value_is_refused_as_litert_does():
    data = counter(initial=False).build()
    with pytest.raises(RuntimeError, match="variable != nullptr"):
        litert(data, {"x": X})
    with pytest.raises(FrontendError, match="READ_VARIABLE: expected a variable that has a value, got one without"):
        from_tflite(data)


def signed() -> bytes:
    """A sum whose second signature swaps names and calls its output as a tensor in it is called."""
    net = Net()
    a, b, mid, out = net.input("a", [3]), net.input("b", [3]), net.tensor("mid", [3]), net.tensor("out", [3])
    net.op("SUB", [a, b], [mid], "SubOptions")
    net.op("EXP", [mid], [out], "ExpOptions")
    net.outputs = [out]
    model: Any = tflite.ModelT.InitFromObj(tflite.Model.GetRootAsModel(net.build(), 0))
    definitions: list[Any] = []
    for key, inputs, outputs in (
        ("serving_default", {"first": a, "second": b}, {"result": out}),
        ("swapped", {"b": a, "a": b}, {"mid": out}),
    ):
        made: Any = tflite.SignatureDefT()
        made.signatureKey, made.subgraphIndex = key.encode(), 0
        for side, names in (("inputs", inputs), ("outputs", outputs)):
            entries: list[Any] = []
            setattr(made, side, entries)
            for name, at in names.items():
                entry: Any = tflite.TensorMapT()
                entry.name, entry.tensorIndex = name.encode(), at
                entries.append(entry)
        definitions.append(made)
    model.signatureDefs = definitions
    builder: Any = flatbuffers.Builder(0)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


@pytest.mark.parametrize("key", ["serving_default", "swapped"])
def test_a_signature_names_inputs_and_outputs(key: str, tmp_path: Path):
    data = signed()
    judge: Any = Interpreter(model_content=data)
    runner: Any = judge.get_signature_runner(key)
    exe = whence.compile(data, signature=key, threads=1)
    names = [spec.name for spec in exe.inputs]
    assert set(names) == set(runner.get_input_details())
    inputs = dict(zip(names, (X, 0.5 * X), strict=True))
    expected = runner(**inputs)
    found = exe.run(inputs)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-5)
    assert "out" in exe.layers
    (tmp_path / "signed.tflite").write_bytes(data)
    between: Any = litert_tensors(tmp_path / "signed.tflite", inputs, key)
    np.testing.assert_allclose(between["out"], next(iter(expected.values())), rtol=1e-5)


def test_a_signature_that_there_is_not_is_refused():
    with pytest.raises(FrontendError, match="a signature among serving_default, swapped, got 'other'"):
        whence.compile(signed(), signature="other")
    with pytest.raises(PipelineError, match="signature: expected a TFLite or saved model"):
        whence.compile("light_squeezenet", signature="serving_default")
