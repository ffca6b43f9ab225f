"""Lines that LLVM's passes drop, given back by name; and the line that a function begins with, not inherited."""

from __future__ import annotations

import re

import pytest

from whence.lowering.llvm_to_native.assembly import compact, instructions, without_inherited_lines
from whence.lowering.llvm_to_native.compile import compile_text
from whence.lowering.llvm_to_native.kept_lines import lines_of, with_lines
from whence.lowering.llvm_to_native.line_table import line_table
from whence.lowering.llvm_to_native.target import Target

WRITTEN = """
define void @f(ptr %v1_) !dbg !3 {
  %v2_ = alloca float, !dbg !5
  %v21_ = load float, ptr %v1_, !dbg !6
  ret void, !dbg !7
}
!3 = distinct !DISubprogram(name: "f")
!5 = !DILocation(line: 2, column: 1, scope: !3)
!6 = !DILocation(line: 3, column: 1, scope: !3)
!7 = !DILocation(line: 4, column: 1, scope: !3)
"""
OPTIMISED = """
define void @f(ptr %v1_) !dbg !3 {
  %v2_1 = phi float [ 0.0, %a ], [ 1.0, %b ]
  %v2_.sroa.3 = phi float [ 0.0, %a ], [ 1.0, %b ], !dbg !8
  %v21_.promoted = load float, ptr %v1_
  %v2_.i = load float, ptr %v1_
  %3 = load float, ptr %v1_
  ret void, !dbg !8
}
!3 = distinct !DISubprogram(name: "f")
!5 = !DILocation(line: 2, column: 1, scope: !3)
!8 = !DILocation(line: 0, scope: !3)
"""


def shown_lines(text: str) -> list[int]:
    """The line of each instruction of a module, 0 without one."""
    lines = {
        number: int(line) for number, line in re.findall(r"^!(\d+) = !DILocation\(line: (\d+)", text, re.MULTILINE)
    }
    rows = [row for row in text.splitlines() if row.startswith("  ")]
    return [lines[attached[1]] if (attached := re.search(r"!dbg !(\d+)", row)) else 0 for row in rows]


def test_a_copy_has_the_line_of_what_it_copies_and_no_other():
    """`%v2_1` is a copy of `%v2_`; without the last character it would have the name of `%v21`."""
    # What was inlined, and what LLVM made, has no name of this function.
    assert shown_lines(with_lines(OPTIMISED, lines_of(WRITTEN))) == [2, 2, 3, 0, 0, 4]


def test_the_return_of_several_has_no_line():
    twice = WRITTEN.replace("  ret void, !dbg !7\n", "  ret void, !dbg !7\n  ret void, !dbg !6\n")
    assert shown_lines(with_lines(OPTIMISED, lines_of(twice)))[-1] == 0


BEGIN = """
f:
.Lfunc_begin0:
\t.loc\t1 7 0
\t.cfi_startproc
\tpushq\t%rbp
\t.cfi_def_cfa_offset 16
\tmovq\t%rsp, %rbp
\t.cfi_def_cfa_register %rbp
\tandq\t$-64, %rsp
\tsubq\t$128, %rsp
\tvbroadcastss\t.LCPI0_0(%rip), %zmm0
.Ltmp0:
\t.loc\t1 8 1 prologue_end
\tvmovups\t%zmm0, (%rdi)
\t.loc\t1 7 1
\tretq
"""


def test_only_the_frame_has_the_line_of_the_function():
    code = instructions(compact(without_inherited_lines(BEGIN)))
    assert [(one.line, one.exact) for one in code] == [(7, True)] * 4 + [(8, False), (8, True), (7, True)]
    # It is in the text that the object is made of, and after that once.
    assert without_inherited_lines(without_inherited_lines(BEGIN)) == without_inherited_lines(BEGIN)


HOISTED = """
define void @f(ptr noalias %v1_, i64 %v2_) !dbg !3 {
entry:
  br label %body, !dbg !5
body:
  %v3_ = phi i64 [ 0, %entry ], [ %v7_, %body ], !dbg !5
  %v4_ = getelementptr <4 x float>, ptr %v1_, i64 %v3_, !dbg !6
  %v5_ = load <4 x float>, ptr %v4_, !dbg !6
  %v6_ = fadd <4 x float> %v5_, splat (float 1.5), !dbg !7
  store <4 x float> %v6_, ptr %v4_, !dbg !6
  %v7_ = add i64 %v3_, 1, !dbg !5
  %v8_ = icmp slt i64 %v7_, %v2_, !dbg !5
  br i1 %v8_, label %body, label %after, !dbg !5
after:
  ret void, !dbg !4
}
!llvm.dbg.cu = !{!1}
!llvm.module.flags = !{!8}
!0 = !DIFile(filename: "f.tir", directory: "")
!1 = distinct !DICompileUnit(language: DW_LANG_C99, file: !0, emissionKind: LineTablesOnly)
!2 = !DISubroutineType(types: !{})
!3 = distinct !DISubprogram(name: "f", file: !0, line: 1, scopeLine: 1, type: !2, spFlags: DISPFlagDefinition, unit: !1)
!4 = !DILocation(line: 1, column: 1, scope: !3)
!5 = !DILocation(line: 2, column: 1, scope: !3)
!6 = !DILocation(line: 3, column: 1, scope: !3)
!7 = !DILocation(line: 4, column: 1, scope: !3)
!8 = !{i32 2, !"Debug Info Version", i32 3}
"""


@pytest.mark.skipif("x86_64" not in Target.native().triple, reason="code for x86-64")
def test_a_constant_before_a_loop_has_no_line_in_the_object():
    native = compile_text(HOISTED, Target.native())
    constants = [one for one in instructions(native.assembly) if ".LCPI" in one.text]
    assert {(one.line, one.exact) for one in constants} == {(4, False)}
    assert 0 in line_table(native.object).lines
