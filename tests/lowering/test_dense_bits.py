"""Weights of 2, 4 and 8 bits (MatMulNBits): numbers as onnxruntime has them, and kernels that read them as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from compiled_kernels import kernels_of
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

import whence
from whence.support.errors import FrontendError

Array = NDArray[Any]


def network(
    rows: int | str,
    depth: int,
    columns: int,
    *,
    bits: int = 4,
    block: int = 32,
    more: str = "",
    half: bool = False,
    level: int = 0,
) -> onnx.ModelProto:
    """more: "z" for zero points, "b" for a bias, "g" for groups of columns; level: 4 to round data to int8."""
    rng = np.random.default_rng(depth + columns)
    blocks, dtype = -(-depth // block), np.float16 if half else np.float32
    arrays: dict[str, Array] = {
        "w": rng.integers(0, 256, (columns, blocks, block * bits // 8)).astype(np.uint8),
        "s": (rng.random(columns * blocks) / 99 + 0.001).astype(dtype),
        "z": rng.integers(0, 256, columns * -(-blocks * bits // 8)).astype(np.uint8),
        "g": rng.permutation(np.arange(depth) // block).astype(np.int32),
        "b": rng.standard_normal(columns).astype(dtype),
    }
    given = ["x", "w", "s", *(name if name in more else "" for name in "zgb")]
    while not given[-1]:
        given.pop()
    sizes = {"N": columns, "K": depth, "bits": bits, "block_size": block, "accuracy_level": level}
    make: Any = helper
    node = make.make_node("MatMulNBits", given, ["y"], "fc", domain="com.microsoft", **sizes)
    type_ = TensorProto.FLOAT16 if half else TensorProto.FLOAT
    ends = [[make.make_tensor_value_info(n, type_, [rows, k])] for n, k in (("x", depth), ("y", columns))]
    weights = [numpy_helper.from_array(arrays[name], name) for name in given[1:] if name]
    graph = make.make_graph([node], "net", *ends, weights)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, ir_version=9, opset_imports=opsets)


def agree(
    model: onnx.ModelProto, rows: int, depth: int, compiled: Any = None, half: bool = False, most: float = 1e-5
) -> None:
    x = np.random.default_rng(rows).standard_normal((rows, depth)).astype(np.float16 if half else np.float32)
    (y,) = (compiled or whence.compile(model)).run({"x": x}).values()
    runtime: Any = onnxruntime
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (right,) = session.run(None, {"x": x})
    assert y.dtype == right.dtype
    assert np.abs(y.astype("f8") - right).max() <= (2e-3 if half else most) * np.ptp(right.astype("f8"))


@pytest.mark.parametrize("rows", [1, 3, 40])
@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize(
    ("depth", "columns", "block", "more"),
    [(256, 128, 32, ""), (256, 100, 16, "z"), (200, 77, 64, "zb"), (384, 7, 128, "b")],
)
def test_numbers(rows: int, bits: int, depth: int, columns: int, block: int, more: str) -> None:
    agree(network(rows, depth, columns, bits=bits, block=block, more=more), rows, depth)


@pytest.mark.parametrize("rows", [1, 3, 8, 40])
@pytest.mark.parametrize(
    ("depth", "columns", "block", "more"),
    [(256, 128, 32, ""), (512, 100, 16, "z"), (200, 77, 64, "zb"), (384, 7, 128, "b"), (512, 48, 256, "z")],
)
def test_numbers_of_data_in_int8(rows: int, depth: int, columns: int, block: int, more: str) -> None:
    agree(network(rows, depth, columns, block=block, more=more, level=4), rows, depth, most=1e-6)


@pytest.mark.parametrize(("bits", "more"), [(2, ""), (2, "z"), (8, ""), (8, "z")])
def test_numbers_of_data_in_int8_and_other_bits(bits: int, more: str) -> None:
    for rows in (1, 9):
        agree(network(rows, 256, 80, bits=bits, more=more, level=4), rows, 256, most=1e-6)


def test_the_error_of_data_in_int8_has_a_bound() -> None:
    """Data are off by half a step of their block at most, a 254th part of the largest."""
    rows, depth, columns, block = 5, 320, 64, 32
    model = network(rows, depth, columns, block=block, level=4)
    packed, scales = (numpy_helper.to_array(array) for array in model.graph.initializer)
    numbers = np.stack([packed & 15, packed >> 4], axis=-1).reshape(columns, -1, block).astype("f8") - 8
    weight = numbers * scales.reshape(columns, -1, 1)
    x = np.random.default_rng(1).standard_normal((rows, depth)).astype(np.float32) ** 3
    x[0, :block], x[1] = 0, 0
    y = whence.compile(model).run({"x": x})["y"]
    blocks = x.reshape(rows, -1, block).astype("f8")
    exact = np.einsum("mbk,nbk->mn", blocks, weight)
    bound = np.abs(blocks).max(-1) / 254 @ np.abs(weight).sum(-1).T
    assert (np.abs(y - exact) <= bound + 1e-5).all()
    assert not y[1].any()


def test_the_largest_sums_of_data_in_int8() -> None:
    """All products of a block have one sign and are the largest there are."""
    for bits, lowest in ((2, 0), (4, 0), (8, 0), (4, 15)):
        model = network(2, 512, 32, bits=bits, block=256, level=4)
        packed = model.graph.initializer[0]
        fill = np.full(packed.dims, lowest * 0x11 if lowest else 0, np.uint8)
        packed.CopyFrom(numpy_helper.from_array(fill, "w"))
        x = np.ones((2, 512), np.float32)
        x[1] = -1
        middle = 1 << (bits - 1)
        scales = numpy_helper.to_array(model.graph.initializer[1]).reshape(32, 2).astype("f8")
        exact = np.outer([256, -256], scales.sum(-1)) * (lowest - middle)
        assert np.abs(whence.compile(model).run({"x": x})["y"] - exact).max() <= 1e-6 * np.abs(exact).max()


def test_columns_in_groups_of_any_order() -> None:
    agree(network(3, 64, 96, more="g"), 3, 64)


@pytest.mark.parametrize("rows", [1, 20])
@pytest.mark.parametrize("level", [0, 4])
def test_numbers_of_float16(rows: int, level: int) -> None:
    agree(network(rows, 128, 64, more="z", half=True, level=level), rows, 128, half=True)


@pytest.mark.parametrize("opt_level", [0, 4])
@pytest.mark.parametrize("level", [0, 4])
def test_numbers_at_other_levels(opt_level: int, level: int) -> None:
    model = network(5, 96, 48, more="z", level=level)
    agree(model, 5, 96, whence.compile(model, opt_level=opt_level), most=1e-6)


@pytest.mark.parametrize("level", [0, 4])
def test_numbers_of_open_rows(level: int) -> None:
    model = network("rows", 128, 64, more="z", level=level)
    compiled = whence.compile(model)
    for rows in (1, 2, 33):
        agree(model, rows, 128, compiled, most=1e-6)


@pytest.mark.parametrize("level", [0, 4])
def test_one_of_open_rows_has_code_of_its_own(level: int) -> None:
    (kernel,) = kernels_of(whence.compile(network("rows", 128, 64, level=level)))
    assert "tir.if [s0 - 2] >= 0 {" in kernel.tir


def test_rows_of_many_numbers_are_made_floats_by_each_tile() -> None:
    model = network(30, 4608, 64, more="z")
    agree(model, 30, 4608)
    (kernel,) = kernels_of(whence.compile(model))
    assert "weights" not in kernel.tir


def test_a_kernel_reads_the_bits_of_the_file() -> None:
    model = network(1, 1024, 512)
    compiled = whence.compile(model, target="llvm -mcpu=x86-64-v4")
    assert sum(array.nbytes for array in compiled.artifact.params) == 1024 * 512 // 2 + 1024 * 512 // 32 * 4
    (kernel,) = kernels_of(compiled)
    # Four bits are looked up in a register; of rows that fill no tile, no weight is stored as a float.
    assert "vpermps" in kernel.assembly or "vpermd" in kernel.assembly
    assert "weights" not in kernel.tir
    many = whence.compile(network(64, 1024, 512), target="llvm -mcpu=x86-64-v4")
    assert any("weights" in kernel.tir for kernel in kernels_of(many))


@pytest.mark.parametrize("rows", [1, 16])
def test_a_kernel_multiplies_bytes_by_bits(rows: int) -> None:
    model = network(rows, 1024, 512, level=4)
    for target, instruction in (
        ("cascadelake", "vpdpbusd"),
        ("skylake-avx512", "vpmaddubsw"),
        ("haswell", "vpmaddubsw"),
    ):
        compiled = whence.compile(model, target=f"llvm -mcpu={target}")
        assert sum(array.nbytes for array in compiled.artifact.params) == 1024 * 512 // 2 + 1024 * 512 // 32 * 4
        (kernel,) = kernels_of(compiled)
        assert f"{instruction}\t" in kernel.assembly
        assert ("vpdpbusd" in kernel.assembly) == (target == "cascadelake")


def test_aarch64_multiplies_bytes_by_bits() -> None:
    target = "llvm -mtriple=aarch64-linux-gnu -mcpu={}"
    for cpu, has in (("neoverse-n1", True), ("generic", False), ("generic -mattr=+dotprod", True)):
        (kernel,) = kernels_of(whence.compile(network(8, 256, 64, level=4), target=target.format(cpu)))
        assert ("sdot\t" in kernel.assembly) == has


@pytest.mark.parametrize("target", ["llvm -mcpu=x86-64", "llvm -mtriple=riscv64-linux-gnu -mattr=+v"])
def test_data_stay_floats_on_machines_that_multiply_no_bytes(target: str) -> None:
    rounded, exact = (kernels_of(whence.compile(network(4, 64, 64, level=n), target=target))[0] for n in (4, 0))
    assert rounded.tir == exact.tir


def test_words_of_8_bits_are_multiplied_in_pairs() -> None:
    (kernel,) = kernels_of(whence.compile(network(4, 128, 64, bits=8, level=4), target="llvm -mcpu=haswell"))
    assert "vpmaddwd\t" in kernel.assembly
    assert "vpmaddubsw" not in kernel.assembly


def test_a_weight_that_is_too_short() -> None:
    model = network(1, 64, 32)
    model.graph.initializer[1].CopyFrom(numpy_helper.from_array(np.ones(5, np.float32), "s"))
    with pytest.raises(FrontendError, match=r"expected 32 x 2 scales, got shape \[5\].*'fc'"):
        whence.compile(model)
