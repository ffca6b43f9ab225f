"""A line of LLVM's is believed where what stands there can have made the instruction."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from onnx import helper

import whence
from whence.explorer.code import kernel_of, machine_code
from whence.explorer.coverage import coverage
from whence.lowering.llvm_to_native.assembly import instructions
from whence.lowering.llvm_to_native.fitting import fits
from whence.lowering.llvm_to_native.target import Target

pytestmark = pytest.mark.skipif("x86_64" not in Target.native().triple, reason="code for x86-64")

OPS = {
    "load": "%1 = load <4 x float>, ptr %0, align 4",
    "store": "store <4 x float> %1, ptr %0, align 4",
    "masked store": "call void @llvm.masked.store.v4f32.p0(<4 x float> %1, ptr %0, i32 4, <4 x i1> %2)",
    "address": "%1 = getelementptr float, ptr %0, i64 %2",
    "sum": "%1 = add <4 x i32> %0, %0",
    "product": "%1 = mul i64 %0, %0",
    "least": "%1 = call i64 @llvm.smin.i64(i64 %0, i64 7)",
    "float sum": "%1 = fadd <4 x float> %0, %0",
    "fma": "%1 = call <4 x float> @llvm.fma.v4f32(<4 x float> %0, <4 x float> %0, <4 x float> %0)",
    "conversion": "%1 = fptosi <4 x float> %0 to <4 x i32>",
    "broadcast": "%1 = shufflevector <4 x float> %0, <4 x float> %0, <4 x i32> zeroinitializer",
    "branch": "br i1 %0, label %b1, label %b2",
    "call": "call void @other(ptr %0)",
}
ADDRESSED = {"load", "store", "masked store", "address", "product", "least", "conversion", "branch"}


@pytest.mark.parametrize(
    ("instruction", "makers"),
    [
        ("vaddps %zmm0, %zmm1, %zmm2", {"float sum", "fma", "conversion"}),
        ("vfmadd231ps (%rdi,%rax), %zmm1, %zmm2", {"float sum", "fma", "conversion"}),
        ("vpaddd %zmm0, %zmm1, %zmm2", {"sum", "product", "least", "conversion", "broadcast"}),
        ("leaq 4(%rax,%rcx), %rdx", ADDRESSED | {"sum", "broadcast"}),
        ("imulq %rcx, %rdx", ADDRESSED),
        ("cmpq %rcx, %rdx", {"least", "conversion", "broadcast", "branch"}),
        ("cmovlq %rcx, %rdx", {"least", "conversion", "broadcast", "branch"}),
        ("vmovups (%rdi,%rax), %zmm0", {"load", "conversion", "broadcast"}),
        ("vmovups %zmm0, (%rdi,%rax)", {"store", "masked store"}),
        ("addl %ecx, (%rdi)", {"store", "masked store"}),
        ("jne .LBB0_1", {"least", "branch"}),
        # Copies, constants, spills and the frame are at any line.
        ("vmovaps %zmm0, %zmm1", set(OPS)),
        ("vbroadcastss .LCPI0_0(%rip), %zmm0", set(OPS)),
        ("xorl %eax, %eax", set(OPS)),
        ("vpxor %xmm0, %xmm0, %xmm0", set(OPS)),
        ("movq %rax, 16(%rsp)", set(OPS)),
        ("subq $64, %rsp", set(OPS)),
        # Code for another machine.
        ("add x0, x1, x2", set(OPS)),
    ],
)
def test_an_instruction_fits_what_can_become_it(instruction: str, makers: set[str]):
    numbers = {name: number for number, name in enumerate(OPS, 1)}
    module = "\n".join(f"  {OPS[name]}, !dbg !{10 + number}" for name, number in numbers.items())
    places = "\n".join(f"!{10 + n} = !DILocation(line: {n}, column: 1, scope: !3)" for n in numbers.values())
    text = f"{module}\n{places}\n"
    # What a call becomes is not known.
    assert {name for name, line in numbers.items() if fits(text, line, instruction)} == makers | {"call"}
    assert fits(text, len(OPS) + 1, instruction), "a line without ops"


def test_a_load_at_the_line_of_a_store_is_inferred():
    """LLVM gives the loads of unrolled copies the line of the store."""
    node = helper.make_node("Gather", ["table", "indices"], ["y"], name="embed")
    types = {"table": (1, (9, 32)), "indices": (7, (3,)), "y": (1, (3, 32))}
    values = {name: helper.make_tensor_value_info(name, *type_) for name, type_ in types.items()}
    graph = helper.make_graph([node], "gather", [values["table"], values["indices"]], [values["y"]])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    exe = whence.compile(model, threads=1)
    kernel = kernel_of(exe.artifact, 0)
    tir = kernel.tir.splitlines()
    counts: Counter[str] = Counter()
    for said, shown in zip(instructions(kernel.assembly), machine_code(kernel), strict=True):
        assert shown.text == said.text
        assert shown.line == said.line or not said.line
        # Read from the TIR, not from the IR of LLVM that decides.
        if re.match(r"v?mov\w+ -?\w*\(%r(?!sp)", said.text) and said.line:
            loads = "tir.load" in tir[said.line - 1]
            counts[f"{'exact' if shown.exact else 'inferred'} at a {'load' if loads else 'store'}"] += 1
    assert set(counts) == {"exact at a load", "inferred at a store"}
    levels = coverage(exe.artifact)
    exact = sum(one.exact for one in instructions(kernel.assembly)) / len(machine_code(kernel))
    assert levels["native"] < exact
    assert levels["native"] + levels["native_inferred"] > exact
