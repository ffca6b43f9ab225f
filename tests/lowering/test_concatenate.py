"""Concatenations of many parts: right numbers, and work that grows as the number of parts does."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest
from onnx import helper
from reference_runtime import onnxruntime_outputs
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.ir import Attribute

import whence
from whence.dialects.relay.core import FuncOp, ReturnOp
from whence.dialects.relay.elementwise import ReluOp
from whence.dialects.relay.transform import ConcatenateOp
from whence.lowering.kernel.record import Kernel
from whence.provenance.builder import LocatedBuilder
from whence.provenance.span import layer_location


def network(extents: list[int], axis: int) -> ModuleOp:
    """The relu of tensors of 3 x 5, but for these extents along the axis, one after the other."""

    def type_of(extent: int) -> TensorType[Attribute]:
        return TensorType(f32, [extent if k == axis else wide for k, wide in enumerate((3, 5))])

    location = layer_location("joined", "net", 0)
    main = FuncOp("main", [type_of(extent) for extent in extents], [type_of(sum(extents))], location=location)
    for argument in main.block.args:
        argument.location = location
    builder = LocatedBuilder(main.block, location)
    joined = builder.add(ConcatenateOp(*main.block.args, axis=axis))
    with builder.located(layer_location("relu", "net", 1)):
        builder.add(ReturnOp(builder.add(ReluOp(joined.result)).result))
    return ModuleOp([main])


@pytest.mark.parametrize(("count", "axis"), [(8, 1), (9, 0), (37, 1)])
def test_many_parts(count: int, axis: int):
    rng = np.random.default_rng(count)
    extents = [int(extent) for extent in rng.integers(1, 4, count)]
    parts = [rng.standard_normal((extent, 5) if axis == 0 else (3, extent)).astype(np.float32) for extent in extents]
    exe = whence.compile(network(extents, axis), threads=1)
    np.testing.assert_array_equal(exe(*parts), np.maximum(np.concatenate(parts, axis), 0))
    assert exe.coverage()["tir"] == 1


@pytest.mark.parametrize(
    ("axis", "dtype"),
    [(0, "float32"), (1, "bool"), (-1, "float16")],
)
def test_unequal_parts_as_onnxruntime_joins_them(axis: int, dtype: str):
    rng = np.random.default_rng(axis + 1)
    shapes = [[4, 3, 5] for _ in range(19)]
    for shape in shapes:
        shape[axis] = int(rng.integers(1, 40))
    parts = [(rng.standard_normal(shape) * 3).astype(dtype) for shape in shapes]
    number = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    names = [f"x{index}" for index in range(len(parts))]
    inputs = [helper.make_tensor_value_info(name, number, shape) for name, shape in zip(names, shapes, strict=True)]
    output = helper.make_tensor_value_info("y", number, None)
    graph = helper.make_graph([helper.make_node("Concat", names, ["y"], axis=axis)], "joined", inputs, [output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (expected,) = onnxruntime_outputs(model, dict(zip(names, parts, strict=True)))
    got = whence.compile(model, threads=1)(*parts)
    np.testing.assert_array_equal(got, expected, strict=True)


def _kernels(extents: list[int]) -> tuple[Kernel, ...]:
    return cast("tuple[Kernel, ...]", whence.compile(network(extents, 1), threads=1).artifact.kernels)


def test_equal_parts_are_joined_by_few_kernels():
    """Thousands of parts compile as fast as dozens."""
    assert len(_kernels([1] * 512)) <= 3
    assert len(_kernels([1] * 100)) <= 5


def test_each_part_gets_vectors_of_its_own():
    """No element is chosen among the parts as the kernel runs."""
    (kernel,) = _kernels([40, 50, 37, 64])
    assert "arith.select" not in kernel.tir
    assert " if [" not in kernel.tir
    stores = [line for line in kernel.tir.splitlines() if "store %" in line]
    assert len(stores) >= 4
    assert all("vector<" in line for line in stores)
