"""Targets, compilation, and the lines of machine instructions."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any, cast

import llvmlite.binding as llvm
import pytest

from whence.lowering.llvm_to_native.assembly import compact, instructions, line_coverage
from whence.lowering.llvm_to_native.compile import Native, compile_text
from whence.lowering.llvm_to_native.target import Target, check_runs_here
from whence.lowering.tir_to_llvm.convert import LLVMKernel
from whence.support.errors import PipelineError

Compiled = Callable[..., tuple[LLVMKernel, Native]]
X86 = "x86_64" in str(cast(Any, llvm).get_process_triple())
TILE = """
tir.prim_func @tile(%a: !tir.buffer<ROWSx768xf32>, %b: !tir.buffer<768x{n}xf32>,
                    %c: !tir.buffer<ROWSx768xf32>) outputs 1 {
  %acc = tir.alloc : !tir.buffer<ROWSx{n}xf32, local>
  %zero = arith.constant dense<0.0> : vector<WxT>
  tir.for unrolled %i in ROWS {
    tir.for unrolled %j in 2 {
      tir.store %zero, %acc[%i, %j * W] : vector<WxT>, !tir.buffer<ROWSx{n}xf32, local>
    }
  }
  tir.for %k in 768 {
    tir.for unrolled %i in ROWS {
      %x = tir.load %a[%i, %k] : !tir.buffer<ROWSx768xf32> -> f32
      %xv = vector.broadcast %x : f32 to vector<WxT>
      tir.for unrolled %j in 2 {
        %w = tir.load %b[%k, %j * W] : !tir.buffer<768x{n}xf32> -> vector<WxT>
        %s = tir.load %acc[%i, %j * W] : !tir.buffer<ROWSx{n}xf32, local> -> vector<WxT>
        %r = math.fma %xv, %w, %s : vector<WxT>
        tir.store %r, %acc[%i, %j * W] : vector<WxT>, !tir.buffer<ROWSx{n}xf32, local>
      }
    }
  }
  tir.for unrolled %i in ROWS {
    tir.for unrolled %j in 2 {
      %s = tir.load %acc[%i, %j * W] : !tir.buffer<ROWSx{n}xf32, local> -> vector<WxT>
      tir.store %s, %c[%i, %j * W] : vector<WxT>, !tir.buffer<ROWSx768xf32>
    }
  }
}"""


@pytest.mark.skipif(not X86, reason="x86 code")
@pytest.mark.parametrize(
    ("target", "rows", "width", "register"),
    [("llvm -mcpu=skylake-avx512 -mattr=+avx512f,+fma", 12, 16, "zmm"), ("llvm -mcpu=haswell", 6, 8, "ymm")],
)
def test_a_register_tile_stays_in_registers(compiled: Compiled, target: str, rows: int, width: int, register: str):
    text = TILE.replace("ROWS", str(rows)).replace("WxT", f"{width}xf32").replace("* W", f"* {width}")
    _, native = compiled(text.replace("{n}", str(2 * width)), Target.parse(target))
    found = instructions(native.assembly)
    fmas = [one.text for one in found if one.text.startswith("vfmadd")]
    assert len(fmas) == 2 * rows
    assert all(register in text for text in fmas)
    assert not [one.text for one in found if "(%rsp" in one.text or "(%rbp" in one.text]
    loop = native.assembly.split(".LBB", 1)[1].split("jne")[0]
    assert len(re.findall(r"vmovups|vmovaps", loop)) <= 2, "the accumulators are loaded in the loop"
    fma_line = next(number for number, line in enumerate(text.strip().splitlines(), 1) if "math.fma" in line)
    # The signature takes one line more in the text above than as printed.
    assert {one.line for one in found if one.exact and one.text.startswith("vfmadd")} == {fma_line - 1}


def test_nearly_all_instructions_have_a_line_or_set_up_for_one(compiled: Compiled):
    _, native = compiled(
        """
        tir.prim_func @softmax(%x: !tir.buffer<8x64xf32>, %o: !tir.buffer<8x64xf32>) outputs 1 {
          %low = arith.constant -3.0e38 : f32
          %zero = arith.constant 0.0 : f32
          tir.for parallel %i in 8 {
            %m = tir.alloc : !tir.buffer<2xf32, local>
            tir.store %low, %m[0] : f32, !tir.buffer<2xf32, local>
            tir.store %zero, %m[1] : f32, !tir.buffer<2xf32, local>
            tir.for %j in 4 {
              %a = tir.load %x[%i, %j * 16] : !tir.buffer<8x64xf32> -> vector<16xf32>
              %b = vector.reduction <maximumf>, %a : vector<16xf32> into f32
              %c = tir.load %m[0] : !tir.buffer<2xf32, local> -> f32
              %d = arith.maximumf %b, %c : f32
              tir.store %d, %m[0] : f32, !tir.buffer<2xf32, local>
            }
            %max = tir.load %m[0] : !tir.buffer<2xf32, local> -> f32
            %maxes = vector.broadcast %max : f32 to vector<16xf32>
            tir.for %j in 4 {
              %a = tir.load %x[%i, %j * 16] : !tir.buffer<8x64xf32> -> vector<16xf32>
              %b = arith.subf %a, %maxes : vector<16xf32>
              %c = math.exp %b : vector<16xf32>
              tir.store %c, %o[%i, %j * 16] : vector<16xf32>, !tir.buffer<8x64xf32>
            }
          }
        }"""
    )
    code = instructions(native.assembly, lambda line: "softmax")
    assert len(code) > 60
    # The rest are constants of exp outside the loop, zeros, and copies, of which LLVM says nothing.
    assert sum(one.exact for one in code) / len(code) >= 0.7
    assert sum(one.line > 0 for one in code) / len(code) >= 0.99


LISTING = """
\t.text
\t.globl\tf
f:
.Lfunc_begin0:
\t.file\t1 "f.tir"
\t.loc\t1 3 1 prologue_end
\tpushq\t%rbx
\t.loc\t1 0 0 is_stmt 0
\timulq\t%rax, %rcx             # it computes
\tvbroadcastss\t.LCPI0_0(%rip), %zmm1
.LBB0_1:
\txorl\t%eax, %eax
\t.loc\t1 4 1
\tvmulps\t(%rdi,%rax), %zmm1, %zmm0
\t.loc\t1 0 1
\tpopq\t%rbx
\tretq
.Lfunc_end0:
\t.size\tf, .Lfunc_end0-f
g:
\tretq
\t.section\t.rodata.cst4,"aM",@progbits,4
.LCPI0_0:
\t.long\t0x3f800000
\t.section\t.debug_str
\t.asciz\t"x"
"""


def test_instructions_of_a_listing():
    found = instructions(LISTING, lambda line: {3: "ab", 4: "b"}[line])
    assert found == [
        ("f", "pushq %rbx", 3, True),
        ("f", "imulq %rax, %rcx", 0, False),
        ("f", "vbroadcastss .LCPI0_0(%rip), %zmm1", 4, False),
        ("f", "xorl %eax, %eax", 4, False),
        ("f", "vmulps (%rdi,%rax), %zmm1, %zmm0", 4, True),
        ("f", "popq %rbx", 3, False),
        ("f", "retq", 3, False),
        ("g", "retq", 0, False),
    ]
    assert line_coverage(LISTING) == (2, 8)


SET_UP = """
f:
\t.loc\t1 3 1
\tvmovups\t(%rdi), %ymm0
\t.loc\t1 0 1
{set_up}
\t.loc\t1 4 1
\tvaddps\t%ymm0, %ymm1, %ymm1
\t.loc\t1 5 1
\tvmulps\t{reader}, %ymm1, %ymm1
"""


def set_up_line(set_up: str, reader: str, layers: str) -> int:
    """The line of the first instruction that sets up; layers are those of lines 3, 4 and 5."""
    text = SET_UP.format(set_up="\n".join(f"\t{one}" for one in set_up.split("; ")), reader=reader)
    return instructions(text, lambda line: layers.split()[line - 3])[1].line


@pytest.mark.parametrize(
    ("set_up", "reader", "layers", "line"),
    [
        ("vbroadcastss .LCPI0_0(%rip), %ymm2", "%ymm2", "a b c", 5),
        ("vmovaps %ymm0, %ymm2", "%ymm2", "a b c", 5),
        ("vxorps %xmm1, %xmm1, %xmm1", "%ymm0", "a b c", 4),
        ("vmovups %ymm0, 64(%rsp)", "64(%rsp)", "a b c", 5),
        ("vmovups %ymm0, 64(%rsp)", "32(%rsp)", "a b c", 0),
        ("movq %rdi, 8(%rsp); movq 8(%rsp), %rax", "(%rax)", "a b c", 5),
        ("movq %rdi, 8(%rsp); pushq %rcx; movq 16(%rsp), %rax", "(%rax)", "a b c", 5),
        # A value that is read for two layers is neither's, but of a line that has both.
        ("vbroadcastss .LCPI0_0(%rip), %ymm0", "%ymm0", "a b c", 0),
        ("vbroadcastss .LCPI0_0(%rip), %ymm0", "%ymm0", "a b bc", 5),
        # What is written over is read by nobody behind.
        ("vmovaps %ymm0, %ymm2; vxorps %xmm2, %xmm2, %xmm2", "%ymm2", "a b c", 0),
        ("movl $7, %eax; movl $8, %eax; vmovd %eax, %xmm2", "%ymm2", "a b c", 0),
        ("movl $7, %eax; kmovd %eax, %k1; vmovaps %ymm0, %ymm2 {%k1}", "%ymm2", "a b c", 5),
        ("vmovaps %ymm0, %ymm2; vmovaps %ymm1, %ymm2 {%k1} {z}", "%ymm2", "a b c", 0),
        ("vmovaps %ymm0, %ymm2; vmovaps %ymm1, %ymm2 {%k1}", "%ymm2", "a b c", 5),
        ("jmp .LBB0_1", "%ymm0", "a b c", 0),
        # Both ways count.
        ("vmovaps %ymm0, %ymm2; jne .LBB0_9; vxorps %xmm2, %xmm2, %xmm2", "%ymm2", "a b c", 0),
        # LLVM merged what computes.
        ("vaddps %ymm0, %ymm0, %ymm2", "%ymm2", "a b c", 0),
    ],
)
def test_set_up_has_the_line_of_what_reads_it(set_up: str, reader: str, layers: str, line: int):
    assert set_up_line(set_up, reader, layers) == line


def test_readers_are_found_over_branches():
    text = """
f:
\t.loc\t1 0 1
\tvbroadcastss\t.LCPI0_0(%rip), %zmm0
\tvbroadcastss\t.LCPI0_1(%rip), %zmm1
\txorl\t%ecx, %ecx
\tjmp\t.LBB0_2
.LBB0_1:
\t.loc\t1 3 1
\tvaddps\t%zmm1, %zmm2, %zmm2
.LBB0_2:
\t.loc\t1 4 1
\tvmulps\t%zmm0, %zmm2, %zmm2
\t.loc\t1 5 1
\tincq\t%rcx
\tcmpq\t%rcx, %rdx
\tjne\t.LBB0_1
\tretq
"""
    layers = {3: "a", 4: "b", 5: "ab"}
    assert [one.line for one in instructions(text, layers.__getitem__)][:4] == [4, 3, 5, 4]


def test_a_compact_listing_says_the_same():
    small = compact(LISTING)
    assert instructions(small) == instructions(LISTING)
    assert "rodata" not in small
    assert "prologue_end" not in small


def test_native_target_is_the_host_unless_the_environment_says_another(monkeypatch: pytest.MonkeyPatch):
    target = Target.native()
    assert target is Target.native()
    assert target == Target.parse("native")
    assert Target.detected().cpu == cast(Any, llvm).get_host_cpu_name()
    assert ("+avx512f" in target.features) == (target.vector_bits == 512)
    assert target.machine() is target.machine()
    monkeypatch.delenv("WHENCE_MACHINE", raising=False)
    assert Target.native() is Target.detected()
    monkeypatch.setenv("WHENCE_MACHINE", "llvm -mcpu=x86-64")
    assert Target.parse("native") == Target.parse("llvm -mcpu=x86-64")
    assert Target.parse("llvm -mcpu=native").cpu == Target.detected().cpu
    for text, error in (
        ("llvm -mtriple=riscv64-linux-gnu", "WHENCE_MACHINE: expected code that runs on this .* got code for riscv"),
        ("fast", 'target: expected "native" or "llvm'),
    ):
        monkeypatch.setenv("WHENCE_MACHINE", text)
        with pytest.raises(PipelineError, match=error):
            Target.native()


def test_what_a_cpu_is_known_to_have_must_be_here(monkeypatch: pytest.MonkeyPatch):
    here = Target("x86_64-linux-gnu", "icelake-server", "+avx512f,+avx512vnni")
    monkeypatch.setattr(Target, "detected", lambda: here)
    check_runs_here(Target("x86_64-linux-gnu", "icelake-server"))
    check_runs_here(Target("x86_64-linux-gnu", "haswell"))
    for cpu, features, lacks in (
        ("sapphirerapids", "", "+avx512fp16, +amx-tile, +amx-bf16, +amx-int8"),
        ("sapphirerapids", "-amx-tile", "+avx512fp16"),
        ("znver4", "", "+avx512bf16"),
    ):
        with pytest.raises(PipelineError, match=rf"got code that needs {re.escape(lacks)}; it can be looked at"):
            check_runs_here(Target("x86_64-linux-gnu", cpu, features))


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("llvm", 128),
        ("llvm -mcpu=haswell", 256),
        ("llvm -mcpu=skylake", 256),
        ("llvm -mcpu=skylake-avx512", 512),
        ("llvm -mcpu=skylake-avx512 -mattr=-avx512f", 256),
        ("llvm -mattr=+avx2,+fma", 256),
        ("llvm -mattr=+avx512f", 512),
        ("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=znver3", 256),
    ],
)
@pytest.mark.skipif(not X86, reason="x86 targets")
def test_vector_width(text: str, bits: int):
    assert Target.parse(text).vector_bits == bits


def test_key_tells_targets_apart():
    keys = {Target.parse(text).key for text in ("native", "llvm", "llvm -mattr=+fma")}
    assert len(keys) == 3
    assert all(".".join(map(str, cast(Any, llvm).llvm_version_info)) in key for key in keys)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r'expected "native" or "llvm'),
        ("cuda", r"got 'cuda'"),
        ("native -mcpu=x", r'expected "native"'),
        ("llvm -O3", r"expected -mtriple=, -mcpu= or -mattr=, got '-O3'"),
        ("llvm -mattr=avx2", r"expected features that begin with \+ or -, got avx2"),
        ("llvm -mcpu=nosuch", r"expected a processor that this LLVM knows as -mcpu, got nosuch"),
        ("llvm -mattr=+avx2,+nosuch", r"expected a feature that this LLVM knows as -mattr, got \+nosuch"),
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=i686", r"expected a processor with 64-bit code as -mcpu, got i686"),
        ("llvm -mtriple=x86_64-linux-gnu -mattr=-sse2", r"expected the features that all x86-64 has, got -sse2"),
        ("llvm -mtriple=nonsense", r"expected a triple that this LLVM knows, got nonsense"),
    ],
)
def test_bad_targets(text: str, message: str, capfd: pytest.CaptureFixture[str]):
    for _ in range(2):
        with pytest.raises(PipelineError, match=message):
            Target.parse(text)
    assert capfd.readouterr().err == ""


def test_bad_text_is_a_pipeline_error():
    with pytest.raises(PipelineError, match="llvm: expected a valid module, got LLVM IR parsing error"):
        compile_text("define void @f( {", Target.native())


def test_an_object_and_its_assembly():
    native = compile_text("define i32 @f(i32 %x) {\n  %y = mul i32 %x, 3\n  ret i32 %y\n}", Target.native())
    assert native.object.startswith(b"\x7fELF") or sys.platform != "linux"
    assert native.assembly.splitlines()[0] == "f:"


HOISTED = """
define void @f(ptr noalias %a, ptr noalias %b, i64 %n) !dbg !3 {
entry:
  br label %body, !dbg !5
body:
  %v1_ = phi i64 [ 0, %entry ], [ %v4_, %body ], !dbg !5
  %v2_ = load float, ptr %a, !dbg !6
  %v3_ = getelementptr float, ptr %b, i64 %v1_, !dbg !7
  store float %v2_, ptr %v3_, !dbg !7
  %v4_ = add i64 %v1_, 1, !dbg !5
  %v5_ = icmp slt i64 %v4_, %n, !dbg !5
  br i1 %v5_, label %body, label %after, !dbg !5
after:
  ret void, !dbg !5
}
!llvm.dbg.cu = !{!1}
!llvm.module.flags = !{!8}
!0 = !DIFile(filename: "f.tir", directory: "")
!1 = distinct !DICompileUnit(language: DW_LANG_C99, file: !0, emissionKind: LineTablesOnly)
!2 = !DISubroutineType(types: !{})
!3 = distinct !DISubprogram(name: "f", scope: !0, file: !0, line: 1, type: !2, spFlags: DISPFlagDefinition, unit: !1)
!5 = !DILocation(line: 2, column: 1, scope: !3)
!6 = !DILocation(line: 3, column: 1, scope: !3)
!7 = !DILocation(line: 4, column: 1, scope: !3)
!8 = !{i32 2, !"Debug Info Version", i32 3}
"""


def test_what_moves_out_of_a_loop_keeps_its_line():
    found = instructions(compile_text(HOISTED, Target.native()).assembly)
    load = next(one for one in found if "(%rdi)" in one.text)
    assert (load.line, load.exact) == (3, True)


def test_llvmlite_is_imported_when_first_needed():
    code = (
        "import sys, whence.lowering.llvm_to_native.emit, whence.lowering.llvm_to_native.compile;"
        "sys.exit('llvmlite' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


NEST = """
tir.prim_func @nest(%x: !tir.buffer<6272xf32>, %o: !tir.buffer<6272xf32>) outputs 1 {
  tir.for %i in 7 {
    tir.for %j in 4 {
      tir.for %k in 14 {
        tir.for %l in 16 {
          %a = tir.load %x[%l mod 4 * 1568 + %i * 224 + %j * 56 + %k * 4 + %l floordiv 4]
            : !tir.buffer<6272xf32> -> f32
          tir.store %a, %o[%i * 896 + %j * 224 + %k * 16 + %l] : f32, !tir.buffer<6272xf32>
        }
      }
    }
  }
}"""


def test_no_address_loses_its_line(compiled: Compiled):
    """What moves with an outer loop only is computed in it, in the form that LLVM would give it."""
    _, native = compiled(NEST)
    lines = instructions(native.assembly, lambda line: "copy")
    # What loops begin with is not said.
    assert {one.text.split()[0] for one in lines if not one.exact} <= {"xorl", "movq", "movl"}
    assert all(one.line for one in lines)
