"""Registers that instructions of x86-64 read and write."""

from __future__ import annotations

import pytest

from whence.lowering.llvm_to_native.registers import Cell, effect, sets_up


@pytest.mark.parametrize(
    ("text", "reads", "writes"),
    [
        ("movq %rdi, %rax", "di", "a"),
        ("movzbl %cl, %eax", "c", "a"),
        ("movl $7, 8(%rdi,%r9,4)", "di r9", ""),
        ("leaq 8(%rdi,%r9,4), %rbx", "di r9", "b"),
        ("addl %ecx, %r8d", "c r8", "r8 flags"),
        ("addq $64, (%rax)", "a", "flags"),
        ("imulq $12, %rdi, %rax", "di", "a flags"),
        ("imulq %rdi, %rax", "di a", "a flags"),
        ("mulq %rsi", "si a", "a d flags"),
        ("mulxq %rsi, %r9, %r10", "si d", "r9 r10"),
        ("idivq 8(%rdi)", "di a d", "a d flags"),
        ("cqto", "a", "d"),
        ("shrxq %rax, (%rdi), %rcx", "a di", "c"),
        ("cmpq %rax, %rdi", "a di", "flags"),
        ("cmovgeq %r15, %r14", "r15 r14 flags", "r14"),
        # The rest of the register stays.
        ("setg %bl", "b flags", "b"),
        ("jne .LBB0_1", "flags", ""),
        ("jmp .LBB0_1", "", ""),
        ("jmpq *%rax", "a", ""),
        ("pushq %rbx", "b sp", "sp"),
        ("popq %rbx", "sp", "b sp"),
        ("xorl %eax, %eax", "", "a flags"),
        ("xorl %ecx, %eax", "a c", "a flags"),
        ("vxorps %xmm3, %xmm3, %xmm7", "", "v7"),
        ("vpcmpeqd %ymm3, %ymm3, %ymm3", "", "v3"),
        ("vpternlogd $255, %zmm1, %zmm1, %zmm1", "", "v1"),
        ("vpternlogd $216, %zmm1, %zmm2, %zmm3", "v1 v2 v3", "v3"),
        ("vmulps .LCPI0_1(%rip){1to16}, %zmm17, %zmm4", "v17", "v4"),
        ("vfmadd231ps (%rdi,%rax), %zmm1, %zmm0", "di a v1 v0", "v0"),
        ("vmovups %zmm1, 64(%rax) {%k1}", "v1 a k1", ""),
        ("vmovaps %zmm1, %zmm0 {%k1}", "v1 v0 k1", "v0"),
        ("vmovaps %zmm1, %zmm0 {%k1} {z}", "v1 k1", "v0"),
        ("vcmpltps %zmm1, %zmm2, %k1 {%k2}", "v1 v2 k1 k2", "k1"),
        ("vcvtsi2ssl %eax, %xmm15, %xmm0", "a", "v0"),
        ("vsqrtss %xmm1, %xmm1, %xmm0", "v1", "v0"),
        ("vucomiss %xmm1, %xmm0", "v1 v0", "flags"),
        ("vgatherdps (%rdi,%zmm1,4), %zmm0 {%k1}", "di v1 v0 k1", "v0"),
        ("vzeroupper", "", ""),
        ("kmovd %eax, %k1", "a", "k1"),
        ("mulps %xmm1, %xmm0", "v1 v0", "v0"),
        ("movaps %xmm1, %xmm0", "v1", "v0"),
        ("movss %xmm1, %xmm0", "v1 v0", "v0"),
        ("movss .LCPI0_0(%rip), %xmm0", "", "v0"),
        ("sqrtps %xmm1, %xmm0", "v1", "v0"),
        ("lock xaddq %rax, (%rdi)", "a di", "a"),
        ("retq", "sp", ""),
    ],
)
def test_an_instruction(text: str, reads: str, writes: str):
    assert effect(text) == (set(reads.split()), set(writes.split()))


@pytest.mark.parametrize(
    ("text", "reads", "writes"),
    [
        ("movq %rdi, 8(%rsp)", {"di", "sp"}, {8}),
        ("vmovups (%rsp), %zmm0", {"sp", 0}, {"v0"}),
        ("vmovups -64(%rbp), %zmm0", {"bp", "bp-64"}, {"v0"}),
        # Of an array, anywhere.
        ("vmovups (%rsp,%rax,4), %zmm0", {"sp", "a"}, {"v0"}),
    ],
)
def test_cells_of_the_stack(text: str, reads: set[Cell], writes: set[Cell]):
    assert effect(text) == (reads, writes)


def test_a_call_reads_arguments_and_keeps_few_registers():
    reads, writes = effect("callq *%rax")
    assert {"di", "si", "d", "c", "r8", "r9", "a", "v0", "sp"} <= reads
    assert {"a", "r11", "v31", "k1"} <= writes
    assert not {"b", "bp", "r12", "r15"} & (reads | writes)


def test_what_sets_up():
    set_up = ["movq %rdi, %rax", "vmovups (%rdi), %zmm0", "vbroadcastss .LCPI0_0(%rip), %zmm0", "xorl %eax, %eax"]
    set_up += ["vxorps %xmm0, %xmm0, %xmm0", "shlq $4, %rax", "leaq 8(%rdi), %rax", "jmp .LBB0_1", "subq $64, %rsp"]
    computing = ["vaddps %zmm0, %zmm1, %zmm2", "mulss %xmm0, %xmm1", "callq free@PLT", "kandw %k1, %k2, %k1"]
    assert [text for text in [*set_up, *computing] if sets_up(text)] == set_up
