"""The record of the machine, what it decides of tiles, and objects for machines that are not this one."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper, numpy_helper, parser
from xdsl.dialects.builtin import TensorType, f32
from xdsl.utils.test_value import create_ssa_value

from whence.compiler.load import load
from whence.dialects.relay.core import FuncOp, ReturnOp
from whence.dialects.relay.transform import TransposeOp
from whence.lowering.cache import KernelCache
from whence.lowering.llvm_to_native.target import Target
from whence.lowering.relay_to_te.lower import lower_function
from whence.lowering.relay_to_te.schedules.tiles import pixel_tile, product_tile
from whence.lowering.relay_to_te.strategy import schedule_function
from whence.passes.pipelines import relay_pipeline, run_passes
from whence.planning.build import compile_kernels
from whence.support.machine import CHANNEL_BLOCK, Machine

ELF_MACHINE = {"aarch64": 183, "riscv64": 243, "x86_64": 62}


@pytest.mark.parametrize(
    ("text", "bits", "registers", "l1"),
    [
        ("llvm -mtriple=x86_64-unknown-linux-gnu", 128, 16, 32 << 10),
        ("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell", 256, 16, 32 << 10),
        ("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=znver3", 256, 16, 32 << 10),
        ("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=znver5", 512, 32, 48 << 10),
        ("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=sapphirerapids", 512, 32, 48 << 10),
        ("llvm -mtriple=aarch64-unknown-linux-gnu -mcpu=neoverse-n1", 128, 32, 64 << 10),
        ("llvm -mtriple=riscv64-unknown-linux-gnu", 32, 32, 32 << 10),
        ("llvm -mtriple=riscv64-unknown-linux-gnu -mattr=+m,+f,+d,+v", 128, 32, 32 << 10),
    ],
)
def test_machine_of_a_target(text: str, bits: int, registers: int, l1: int):
    machine = Target.parse(text).hardware
    assert (machine.vector_bits, machine.vector_registers, machine.l1) == (bits, registers, l1)


def test_the_host_knows_its_caches_and_cores():
    machine = Target.detected().hardware
    assert 4 << 10 <= machine.l1 <= machine.l2 <= machine.l3
    assert machine.cores >= 1
    assert Target.detected().features.split(",")[0][1:] != ""
    assert {f"+{feature}" for feature in machine.features} <= set(Target.detected().features.split(","))


@pytest.mark.parametrize("bits", [128, 256, 512])
@pytest.mark.parametrize("columns", [1, 3, 7, 13, 14, 27, 28, 55, 56, 111, 112])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_tiles_fit_the_registers(bits: int, columns: int, channels: int):
    machine = Machine.x86(bits)
    per_block = CHANNEL_BLOCK // machine.lanes()
    width, blocks = pixel_tile(columns, channels, per_block, machine, fused=True)
    # Sums, the weights of a step, one broadcast pixel.
    assert (width * blocks + blocks) * per_block + 1 <= machine.vector_registers
    assert channels % blocks == 0
    height, vectors = product_tile(columns, 4, machine)
    assert height * vectors + vectors < machine.vector_registers
    if columns >= 14 and channels == 4:
        assert width * blocks * per_block >= machine.vector_registers // 2
    if columns >= 14:
        assert machine.accumulators // 2 <= height * vectors <= machine.accumulators


@pytest.mark.parametrize("line", [32, 64, 128])
def test_tiles_of_a_transposition_are_cache_lines(line: int):
    transpose = TransposeOp(create_ssa_value(TensorType(f32, [256, 192])), axes=(1, 0))
    func = FuncOp("f", [transpose.operands[0].type], [transpose.results[0].type])
    transpose.operands = [func.block.args[0]]
    func.block.add_ops([transpose, ReturnOp(transpose.results[0])])
    schedule = schedule_function(lower_function(func), replace(Machine.x86(512), cache_line=line))
    assert schedule.stages[-1].leaf[-2].extent == line // 4


def test_the_pipeline_knows_the_machine():
    machine = Machine.x86(256)
    (one,) = [p for p in relay_pipeline(3, machine) if p.name == "relay-alter-op-layout"]
    assert getattr(one, "lanes") == machine.channel_block  # noqa: B009


def silent(what: str, done: int, total: int) -> None:
    """Progress that nobody watches."""


def network() -> tuple[ModelProto, Any]:
    random = np.random.default_rng(0)
    weights = [("W0", (16, 8, 3, 3)), ("W1", (16, 1, 3, 3)), ("W2", (16 * 36, 40))]
    nodes = (
        "A = Conv<kernel_shape=[3,3]>(X, W0); B = Relu(A)",
        "C = Conv<kernel_shape=[3,3], pads=[1,1,1,1], group=16>(B, W1)",
        "D = Flatten(C); E = MatMul(D, W2); Y = Softmax(E)",
    )
    graph = helper.make_graph(
        [parser.parse_node(node.strip()) for line in nodes for node in line.split(";")],
        "network",
        [helper.make_tensor_value_info("X", 1, (1, 8, 8, 8))],
        [helper.make_tensor_value_info("Y", 1, (1, 40))],
        [numpy_helper.from_array(random.standard_normal(shape).astype(np.float32), name) for name, shape in weights],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), random


@pytest.mark.parametrize(
    ("target", "instruction"),
    [
        ("-mtriple=aarch64-unknown-linux-gnu", "fmla"),
        ("-mtriple=riscv64-unknown-linux-gnu -mattr=+m,+a,+f,+d,+c", "fmadd.s"),
        ("-mtriple=riscv64-unknown-linux-gnu -mattr=+m,+a,+f,+d,+c,+v", "vfmacc.vf"),
        ("-mtriple=x86_64-unknown-linux-gnu -mcpu=znver5", "zmm"),
    ],
)
def test_objects_for_other_machines(target: str, instruction: str):
    """Emitted, not run: each is an ELF object of its machine, whose products are that machine's instructions."""
    machine = Target.parse(f"llvm {target}")
    module = load(network()[0])
    run_passes(module, relay_pipeline(3, machine.hardware))
    kernels, *_ = compile_kernels(module, machine, KernelCache(enabled=False), silent)
    architecture = machine.triple.partition("-")[0]
    for kernel in kernels:
        assert kernel.object[:4] == b"\x7fELF"
        assert struct.unpack_from("<H", kernel.object, 18)[0] == ELF_MACHINE[architecture]
        assert architecture == "x86_64" or "llvm.x86" not in kernel.llvm
    convolution = next(kernel for kernel in kernels if "conv2d_NCHWc" in kernel.symbol)
    assert instruction in convolution.assembly
