"""What a user may hand in, rightly and wrongly: inputs, options, numbers that are none."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, numpy_helper

import whence
from whence import relay
from whence.dialects.relay.core import FuncOp
from whence.dialects.relay.transform import LayoutTransformOp

Array = NDArray[Any]
X = np.random.default_rng(0).standard_normal((1, 3, 9, 7)).astype(np.float32)


@pytest.fixture
def exe(small_network: ModelProto) -> whence.Executable:
    return whence.compile(small_network, threads=1)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "name": (
        {"X": X},
        r"inputs: missing float32\[1, 3, 9, 7\] 'x'; unknown input 'X' \(did you mean x\?\); the inputs are x",
    ),
    "none": ({}, r"inputs: missing float32\[1, 3, 9, 7\] 'x'"),
    "one too many": ({"x": X, "y": X}, "inputs: unknown input 'y'; the inputs are x"),
    "shape": ({"x": X[0]}, r"inputs: expected float32\[1, 3, 9, 7\] 'x', got float32\[3, 9, 7\]"),
    "dtype": ({"x": X.astype(np.int32)}, r"inputs: expected float32\[1, 3, 9, 7\] 'x', got int32\[1, 3, 9, 7\]"),
    "text": ({"x": "picture"}, r"inputs: expected float32\[1, 3, 9, 7\] 'x', got a str that is no such array"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_inputs_are_one_error(exe: whence.Executable, case: str):
    inputs, text = WRONG[case]
    with pytest.raises(whence.FrontendError, match=f"^{text}$") as caught:
        exe.run(inputs)
    assert caught.value.__cause__ is None


def test_a_wrong_number_of_arrays(exe: whence.Executable):
    with pytest.raises(whence.FrontendError, match=r"^inputs: expected 1 \(float32\[1, 3, 9, 7\] 'x'\), got 2$"):
        exe(X, X)


def test_arrays_of_any_layout_give_the_same(exe: whence.Executable, onnxruntime: Any, small_network: ModelProto):
    (wanted,) = onnxruntime(small_network, {"x": X})
    fortran, strided = np.asfortranarray(X), np.repeat(X, 2, axis=3)[..., ::2]
    misaligned = np.frombuffer(b"\0" + X.tobytes(), np.uint8)[1:].view(np.float32).reshape(X.shape)
    for given in (X, fortran, strided, misaligned, X.tolist()):
        np.testing.assert_allclose(exe.run({"x": given})["y"], wanted, rtol=1e-5, atol=1e-6)


def weights(model: ModelProto, name: str, change: Callable[[Array], None]) -> ModelProto:
    """The model with one initializer changed."""
    for tensor in model.graph.initializer:
        if tensor.name == name:
            array = numpy_helper.to_array(tensor).copy()
            change(array)
            tensor.CopyFrom(numpy_helper.from_array(array, name))
    return model


def first_nan(array: Array) -> None:
    array[0] = np.nan


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("name", ["w1", "b2", "mean", "w3", "b3"])
def test_nan_weights(small_network: ModelProto, onnxruntime: Any, name: str, level: int):
    """NaN arises exactly where onnxruntime has it: in one class, or from there everywhere through the softmax."""
    model = weights(small_network, name, first_nan)
    (wanted,) = onnxruntime(model, {"x": X})
    assert np.isnan(wanted).any()
    result = whence.compile(model, opt_level=level, threads=1)(X)
    np.testing.assert_array_equal(np.isnan(result), np.isnan(wanted))


def test_infinite_inputs(exe: whence.Executable, onnxruntime: Any, small_network: ModelProto):
    x = X.copy()
    x[0, 0, 0, 0] = np.inf
    (wanted,) = onnxruntime(small_network, {"x": x})
    np.testing.assert_array_equal(np.isnan(exe(x)), np.isnan(wanted))


def fused(exe: whence.Executable) -> list[FuncOp]:
    """The primitive functions of a compiled model."""
    (module,) = [snapshot.module for snapshot in exe.artifact.snapshots if snapshot.stage == "fused"]
    return [op for op in module.ops if isinstance(op, FuncOp) and op.primitive is not None]


def test_a_disabled_pass_does_not_run(exe: whence.Executable, small_network: ModelProto):
    with whence.PassContext(disabled_pass=("AlterOpLayout",)):
        plain = whence.compile(small_network, threads=1)
    assert any(isinstance(op, LayoutTransformOp) or "NCHWc" in op.name for f in fused(exe) for op in f.walk())
    assert not any(isinstance(op, LayoutTransformOp) or "NCHWc" in op.name for f in fused(plain) for op in f.walk())
    np.testing.assert_allclose(plain(X), exe(X), rtol=1e-5, atol=1e-6)


def test_a_required_pass_runs_at_any_level(small_network: ModelProto):
    with whence.PassContext(required_pass=("relay-alter-op-layout",)):
        exe = whence.compile(small_network, opt_level=0, threads=1)
    assert any("NCHWc" in op.name for f in fused(exe) for op in f.walk())


def test_the_depth_of_fusion_is_an_option(exe: whence.Executable, small_network: ModelProto):
    with whence.PassContext(config={"relay.FuseOps.max_depth": 1}):
        single = whence.compile(small_network, threads=1)
    assert len(single.kernels) > len(exe.kernels)
    # An operator and the return each.
    assert {len(list(f.block.ops)) for f in fused(single)} <= {2, 3}
    np.testing.assert_allclose(single(X), exe(X), rtol=1e-5, atol=1e-6)


def test_wrong_options(small_network: ModelProto):
    with pytest.raises(whence.PipelineError, match="opt_level: expected 0-4, got 7"):
        whence.compile(small_network, opt_level=7)
    with pytest.raises(whence.PipelineError, match="Invalid config option 'fuse'"):
        whence.PassContext(config={"fuse": 1})
    with pytest.raises(whence.FrontendError, match=re.escape("nowhere.onnx")):
        whence.compile("nowhere.onnx")


def test_several_threads_of_the_caller(exe: whence.Executable):
    from concurrent.futures import ThreadPoolExecutor

    inputs = [np.full_like(X, number) for number in range(8)]
    wanted = [exe(x) for x in inputs]
    with ThreadPoolExecutor(4) as threads:
        for got, want in zip(threads.map(exe, inputs * 5), wanted * 5, strict=True):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("in_tuple", [False, True])
@pytest.mark.parametrize("names", [("x_0", "x_1"), ("x", "x"), ("x", "x_1", "x")])
def test_inputs_whose_names_are_alike_stay_apart(names: tuple[str, ...], in_tuple: bool):
    params = [relay.var(name, shape=(4,)) for name in names]
    difference = relay.subtract(params[0], params[-1])
    # A program that returns a tuple is one of the virtual machine.
    body = relay.Tuple([difference]) if in_tuple else difference
    exe = whence.compile(relay.IRModule.from_expr(relay.Function(params, body)))
    arrays = [np.full(4, 10.0**k, np.float32) for k in range(len(names))]
    assert len({spec.name for spec in exe.inputs}) == len(names)
    for result in (exe(*arrays), exe(**{spec.name: value for spec, value in zip(exe.inputs, arrays, strict=True)})):
        np.testing.assert_array_equal(result[0] if in_tuple else result, arrays[0] - arrays[-1])
