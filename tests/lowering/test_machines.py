"""Machines that a user declares: one record decides vectors, registers and masks, down to the instructions."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import onnx.parser
import pytest
from onnx import ModelProto, numpy_helper

import whence
from whence.compiler.load import load
from whence.lowering.llvm_to_native.target import Target
from whence.lowering.relay_to_te.convert_relay_to_te import ConvertRelayToTePass
from whence.passes.runner import run_passes
from whence.support.errors import PipelineError
from whence.support.machine import WIDEST
from whence.target import Machine, register_machine

AVX = ("avx512f", "avx512vl", "avx512bw", "avx512dq", "avx2", "fma")
FOUR = Machine("test-four-wide", 128, 16, frozenset(["sse4.2"]), triple="x86_64-unknown-linux-gnu")
AVX10 = Machine(
    "test-avx10-256",
    vector_bits=256,
    vector_registers=32,
    features=frozenset(AVX),
    mask_registers=True,
    pmaddwd=8,
    triple="x86_64-unknown-linux-gnu",
    cpu="x86-64-v3",
)
SVE = Machine(
    "test-sve-256",
    vector_bits=256,
    vector_registers=32,
    features=frozenset(["sve"]),
    mask_registers=True,
    triple="aarch64-unknown-linux-gnu",
    cpu="neoverse-v1",
)
RNG = np.random.default_rng(5)
WEIGHT = RNG.standard_normal((13, 19)).astype(np.float32)


def _dense() -> ModelProto:
    model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["": 13]>
net (float[7, 19] x) => (float[7, 13] y) { a = Gemm <transB = 1> (x, w) y = Relu (a) }""")
    model.graph.initializer.append(numpy_helper.from_array(WEIGHT, "w"))
    return model


def _compiled(model: ModelProto, machine: Machine) -> tuple[Any, str, str]:
    """The program, its TIR and its assembly."""
    compiled: Any = whence.compile(model, target=f"llvm -mcpu={register_machine(machine).name}")
    kernels: list[Any] = list(compiled.artifact.kernels)
    return compiled, "\n".join(kernel.tir for kernel in kernels), "\n".join(kernel.assembly for kernel in kernels)


@pytest.mark.parametrize(
    ("machine", "lanes", "has", "lacks"),
    [
        (FOUR, 4, r"%xmm\d", r"%ymm|%zmm|%k[0-7]"),
        (AVX10, 8, r"\{%k[1-7]\}", r"%zmm"),
        (SVE, 8, r"\bz\d+\.s.*\n", r"%"),
    ],
    ids=["four-wide", "avx10", "sve"],
)
def test_code_is_made_of_what_the_record_says(machine: Machine, lanes: int, has: str, lacks: str):
    program, tir, assembly = _compiled(_dense(), machine)
    assert max(int(count) for count in re.findall(r"vector<(\d+)xf32>", tir)) == lanes
    assert re.search(has, assembly)
    assert not re.search(lacks, assembly)
    native = Target.native()
    if machine.triple.startswith("x86") and native.triple.startswith("x86"):
        words = {f"+{word}" for word in machine.features}
        if words <= set(native.features.split(",")):
            x = RNG.standard_normal((7, 19)).astype(np.float32)
            np.testing.assert_allclose(program(x), np.maximum(x @ WEIGHT.T, 0), rtol=1e-5, atol=1e-5)


def test_masks_decide_how_a_rest_of_bytes_is_stored():
    """37 bytes are 32 and a masked vector, or 32, 4 and 1 where masks have no registers."""
    model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["": 14]>
net (uint8[37] x) => (uint8[37] y) { y = Add (x, x) }""")
    stores = {masks: _compiled(model, replace(AVX10, mask_registers=masks))[1] for masks in (True, False)}
    assert "tir.masked_store" in stores[True]
    assert "tir.masked_store" not in stores[False]


def test_a_target_names_a_record_and_may_add_to_it():
    register_machine(AVX10)
    target = Target.parse("llvm -mcpu=test-avx10-256 -mattr=+avx512vnni")
    assert (target.triple, target.cpu) == (AVX10.triple, "x86-64-v3")
    assert target.features.endswith(",+fma,+avx512vnni")
    assert target.hardware is AVX10
    elsewhere = register_machine(replace(AVX10, mask_registers=False))
    assert Target.parse("llvm -mcpu=test-avx10-256").key != target.key
    assert Target.parse("llvm -mcpu=test-avx10-256").hardware is elsewhere


def test_masks_are_a_fact_of_their_own():
    assert WIDEST.mask_registers
    assert not replace(WIDEST, mask_registers=False).mask_registers
    assert not Machine.x86(256).mask_registers
    assert Machine.of("x86_64-linux", "znver4").mask_registers
    assert not Machine.of("x86_64-linux", "znver4", "-avx512f").mask_registers
    assert replace(WIDEST, mask_registers=False).text != WIDEST.text


def test_features_and_names_say_which_products_of_tiles_there_are():
    def tiles(cpu: str, features: str = "") -> tuple[bool, bool, bool]:
        machine = Machine.of("x86_64-linux", cpu, features)
        return machine.amx_bf16, machine.amx_int8, machine.tiles

    assert tiles("sapphirerapids") == tiles("emeraldrapids") == tiles("graniterapids-d") == (True, True, True)
    assert tiles("znver5") == tiles("icelake-server") == tiles("") == (False, False, False)
    assert tiles("sapphirerapids", "-amx-bf16") == (False, True, True)
    assert tiles("sapphirerapids", "-amx-int8") == (True, False, True)
    assert tiles("sapphirerapids", "-amx-tile") == (False, False, False)
    assert tiles("x86-64-v4", "+amx-tile,+amx-int8") == (False, True, True)
    assert tiles("x86-64-v4", "+amx-tile,+amx-bf16,-amx-bf16") == (False, False, False)


def test_code_with_tiles_is_other_code_and_needs_their_instructions():
    machines = [Machine.of("x86_64-linux", "sapphirerapids", features) for features in ("", "-amx-bf16", "-amx-tile")]
    assert len({machine.text for machine in machines}) == 3
    assert [[word for word in machine.instructions if "amx" in word] for machine in machines] == [
        ["amx-tile", "amx-bf16", "amx-int8"],
        ["amx-tile", "amx-int8"],
        [],
    ]
    assert [Machine.of_facts(machine.facts) for machine in machines] == machines


def test_a_record_is_the_same_from_its_facts():
    """Another process that compiles for it gets these."""
    assert Machine.of_facts(json.loads(json.dumps(SVE.facts))) == SVE


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (replace(FOUR, name="two words"), "expected a name of letters, digits, '.', '_' and '-', got two words"),
        (replace(FOUR, vector_bits=96), "machine test-four-wide: expected vector_bits that are a power of 2"),
        (replace(FOUR, vector_registers=2), "expected vector_registers of at least 8, got 2"),
        (replace(FOUR, l2=1), "expected positive caches l1 <= l2 <= l3, got "),
        (replace(FOUR, features=frozenset(["+sse4.2"])), "expected features without + or -, got "),
    ],
)
def test_a_record_that_makes_no_sense_is_one_error(wrong: Machine, text: str):
    with pytest.raises(PipelineError, match=re.escape(text)):
        register_machine(wrong)


def test_features_that_llvm_does_not_know_are_one_error():
    register_machine(replace(FOUR, features=frozenset(["no-such"])))
    with pytest.raises(PipelineError, match="expected a feature that this LLVM knows as -mattr, got"):
        Target.parse("llvm -mcpu=test-four-wide")
    register_machine(FOUR)


@pytest.mark.parametrize("name", ["haswell", "native"])
def test_a_record_takes_no_name_that_is_there(name: str):
    with pytest.raises(PipelineError, match=rf"machine {name}: expected a name that is no CPU of LLVM's, got {name}"):
        register_machine(replace(FOUR, name=name))
    assert Target.parse("llvm -mcpu=haswell").hardware.vector_bits == 256


def test_functions_that_are_not_fused_are_not_passed_over():
    module = load(_dense())
    with pytest.raises(PipelineError, match=r"convert-relay-to-te: expected a primitive function, .*, got none of 1"):
        run_passes(module, [ConvertRelayToTePass()])
