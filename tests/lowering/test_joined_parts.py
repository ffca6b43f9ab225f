"""Loops of concatenations and of blocks that become other blocks: one nest for each operand, of vectors."""

from __future__ import annotations

import re

import numpy as np
import onnx.parser
import pytest
from reference_runtime import onnxruntime_outputs

import whence
from whence import relay
from whence.lowering.kernel.record import Kernel

AVX512 = "llvm -mcpu=skylake-avx512"


def model(body: str, inputs: str, output: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": 17]> net ({inputs}) => ({output}) {{ {body} }}"""
    )


def only_kernel(source: onnx.ModelProto) -> Kernel:
    (kernel,) = whence.compile(source, threads=1, target=AVX512).artifact.kernels
    assert isinstance(kernel, Kernel)
    return kernel


def agrees(source: onnx.ModelProto) -> None:
    draw = np.random.default_rng(3)
    feeds = {
        value.name: draw.standard_normal([dim.dim_value for dim in value.type.tensor_type.shape.dim]).astype(np.float32)
        for value in source.graph.input
    }
    wanted = onnxruntime_outputs(source, feeds)
    for threads in (1, 2):
        results = whence.compile(source, threads=threads).run(feeds).values()
        for result, expected in zip(results, wanted, strict=True):
            np.testing.assert_allclose(result, expected, rtol=2e-5, atol=2e-5)


PARTS = model(
    "[join] J = Concat<axis=1>(a, b) [act] y = Relu(J)",
    "float[2,24,19,20] a, float[2,7,19,20] b",
    "float[2,31,19,20] y",
)
TURNED = model(
    "[join] J = Concat<axis=1>(a, b) [turn] T = Transpose<perm=[0, 2, 1]>(J) [join2] y = Concat<axis=1>(T, c)",
    "float[1,40,350] a, float[1,24,350] b, float[1,33,64] c",
    "float[1,383,64] y",
)
ROWS = model("[join] y = Concat<axis=0>(a, b, c)", "float[30,605] a, float[3,605] b, float[9,605] c", "float[42,605] y")


@pytest.mark.parametrize("source", [PARTS, TURNED, ROWS])
def test_numbers(source: onnx.ModelProto):
    agrees(source)


def test_each_operand_has_loops_of_its_own():
    tir = only_kernel(PARTS).tir
    loads = re.findall(r"(tir\.\w*load) .*%(p\d)\[.*vector<16xf32>", tir)
    assert loads
    assert {name for _, name in loads} == {"p0", "p1"}
    assert "arith.select" not in tir
    assert " if [" not in tir


def test_threads_share_what_is_not_joined():
    images = model("y = Concat<axis=1>(a, b)", "float[8,24,19,20] a, float[8,7,19,20] b", "float[8,31,19,20] y")
    assert len(re.findall("tir.for parallel", only_kernel(images).tir)) == 1
    # Where all is joined, each operand is shared out.
    assert len(re.findall("tir.for parallel", only_kernel(ROWS).tir)) == 3


def test_what_is_read_in_another_order_stands_alone():
    schedule = only_kernel(TURNED).schedule
    assert schedule.count("schedule.compute_inline") == 0
    tir = only_kernel(TURNED).tir
    assert len(re.findall(r"= tir\.alloc", tir)) == 2


def test_small_concatenations_are_inlined():
    small = model(
        "J = Concat<axis=1>(a, b) y = Transpose<perm=[1, 0]>(J)", "float[3,4] a, float[3,5] b", "float[9,3] y"
    )
    assert "schedule.compute_inline" in only_kernel(small).schedule
    agrees(small)


def test_blocks_of_another_size_are_read_in_runs():
    x = relay.var("x", shape=(1, 6, 20, 20, 24))
    blocks = relay.layout_transform(x, "NCHW24c", "NCHW16c")
    module = relay.IRModule.from_expr(relay.Function([x], relay.nn.relu(blocks)))
    (kernel,) = whence.compile(module, threads=1, target=AVX512).artifact.kernels
    assert isinstance(kernel, Kernel)
    assert "tir.load %p0" in kernel.tir
    assert not re.findall(r"tir\.load .* -> f32", kernel.tir)
    image = np.random.default_rng(2).standard_normal((1, 6, 20, 20, 24), np.float32)
    plain = image.transpose(0, 1, 4, 2, 3).reshape(1, 9, 16, 20, 20)
    np.testing.assert_array_equal(whence.compile(module)(image), np.maximum(plain.transpose(0, 1, 3, 4, 2), 0))
