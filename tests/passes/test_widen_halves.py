"""relay-widen-halves: float16 models compute in float32, no farther from exact numbers than they were."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from compiled_kernels import kernels_of
from xdsl.dialects.builtin import ModuleOp
from zoo import SMALL

import whence
from whence.compiler.compile import Precision
from whence.passes.relay.widen_halves import WidenHalvesPass
from whence.passes.runner import run_passes
from whence.support.errors import PipelineError
from whence.target import Machine, register_machine


def session(model: onnx.ModelProto, inputs: dict[str, Any]) -> list[Any]:
    runtime: Any = onnxruntime
    return runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, inputs)


def test_a_network_of_float16_is_as_near_to_exact_numbers_as_onnxruntime() -> None:
    model, inputs = SMALL["bert_f16"]()
    # The same weights in float64, computed by onnx's reference.
    wide = onnx.ModelProto.FromString(model.SerializeToString())
    for tensor in [*wide.graph.initializer]:
        if tensor.data_type == onnx.TensorProto.FLOAT16:
            tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor).astype("f4"), tensor.name))
    for node in wide.graph.node:
        for attribute in node.attribute:
            if attribute.t.data_type == onnx.TensorProto.FLOAT16:
                attribute.t.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(attribute.t).astype("f4")))
            if node.op_type == "Cast" and attribute.i == onnx.TensorProto.FLOAT16:
                attribute.i = onnx.TensorProto.FLOAT
    for value in [*wide.graph.input, *wide.graph.output, *wide.graph.value_info]:
        if value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT16:
            value.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    feeds = {name: x.astype("f4") if x.dtype == np.float16 else x for name, x in inputs.items()}
    exact, theirs = session(wide, feeds), session(model, inputs)
    ours = list(whence.compile(model).run(inputs).values())
    for a, b, right in zip(ours, theirs, exact, strict=True):
        assert a.dtype == b.dtype
        errors = [float(np.abs(x.astype("f8") - right).max()) for x in (a, b)]
        assert errors[0] <= 1.1 * errors[1]


def product(rows: int, depth: int, columns: int) -> tuple[onnx.ModelProto, Any, Any]:
    """A product by a constant weight of float16; its operands."""
    model = onnx.parser.parse_model(f"""
        <ir_version: 8, opset_import: ["": 13]>
        net (float16[{rows}, {depth}] x) => (float16[{rows}, {columns}] y) <float16[{depth}, {columns}] w> {{
          [fc] y = MatMul (x, w) }}""")
    rng = np.random.default_rng(0)
    x, weight = (rng.standard_normal(shape).astype("f2") for shape in ((rows, depth), (depth, columns)))
    model.graph.initializer.append(onnx.numpy_helper.from_array(weight, "w"))
    return model, x, weight


def test_kernels_convert_no_operand_in_their_loops_of_products() -> None:
    model, x, weight = product(64, 128, 96)
    compiled = whence.compile(model, target="llvm -mcpu=x86-64-v4")
    (kernel,) = [kernel for kernel in kernels_of(compiled) if "vfmadd" in kernel.assembly]
    assert "vcvtph2ps" not in kernel.assembly
    (y,) = whence.compile(model).run({"x": x}).values()
    assert y.dtype == np.float16
    assert np.abs(y - x.astype("f8") @ weight.astype("f8")).max() <= 0.02


def test_a_machine_of_float16_sums_in_it_on_request_only() -> None:
    """Looked at on a machine that has such instructions, and run where float16 is computed in their place."""
    model, x, weight = product(64, 1024, 96)
    precisions: tuple[Precision | None, ...] = (None, "f32", "f16", "auto")
    for precision in precisions:
        compiled = whence.compile(model, target="llvm -mcpu=sapphirerapids -mattr=-amx-bf16", precision=precision)
        text = "".join(kernel.assembly for kernel in kernels_of(compiled))
        assert set(re.findall(r"\svfn?m\w+(ps|ph)\s", text)) == {"ph" if precision in ("f16", "auto") else "ps"}
    machine = Machine("sums-of-halves", 128, 16, fma_f16=True, triple="x86_64-unknown-linux-gnu", cpu="x86-64")
    target = f"llvm -mcpu={register_machine(machine).name}"
    (ours,) = whence.compile(model, target=target).run({"x": x}).values()
    (short,) = whence.compile(model, target=target, precision="f16").run({"x": x}).values()
    (theirs,) = session(model, {"x": x})
    exact = x.astype("f8") @ weight.astype("f8")
    errors = [float(np.abs(y.astype("f8") - exact).max()) for y in (ours, short, theirs)]
    assert errors[0] <= 1.1 * errors[2]
    assert errors[1] >= 2 * errors[2]


def test_a_wrong_option_is_an_error() -> None:
    with pytest.raises(PipelineError, match="float16 of 0 or 1, got 2"):
        run_passes(ModuleOp([]), [WidenHalvesPass(float16=2)])
