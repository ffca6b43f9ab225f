"""The line table of an object against what binutils reads."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from whence.lowering.llvm_to_native.compile import compile_text
from whence.lowering.llvm_to_native.line_table import LineTable, line_table, rows
from whence.lowering.llvm_to_native.target import Target

_LLVM = """
define i64 @f(i64 %a, i64 %b) !dbg !4 {
  %c = mul i64 %a, %b, !dbg !5
  %d = udiv i64 %c, 7, !dbg !6
  %e = call i64 @g(i64 %d), !dbg !7
  ret i64 %e, !dbg !8
}
define i64 @h(i64 %a) !dbg !9 {
  %c = add i64 %a, 3, !dbg !10
  %d = mul i64 %c, %c, !dbg !12
  %e = udiv i64 %d, 7, !dbg !13
  ret i64 %e, !dbg !12
}
declare i64 @g(i64)
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "f.tir", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 2, !"Dwarf Version", i32 $VERSION}
!4 = distinct !DISubprogram(name: "f", file: !1, line: 1, unit: !0, type: !11)
!5 = !DILocation(line: 2, column: 1, scope: !4)
!6 = !DILocation(line: 300, column: 1, scope: !4)
!7 = !DILocation(line: 0, scope: !4)
!8 = !DILocation(line: 5, column: 1, scope: !4)
!9 = distinct !DISubprogram(name: "h", file: !1, line: 100000, unit: !0, type: !11)
!10 = !DILocation(line: 100001, column: 1, scope: !9)
!11 = !DISubroutineType(types: !{null})
!12 = !DILocation(line: 100041, column: 1, scope: !9)
!13 = !DILocation(line: 99991, column: 1, scope: !9)
"""


@pytest.mark.skipif(not shutil.which("objdump"), reason="no objdump")
@pytest.mark.parametrize("version", [3, 4, 5])
def test_rows_are_those_of_binutils(version: int, tmp_path: Path):
    data = compile_text(_LLVM.replace("$VERSION", str(version)), Target.native()).object
    path = tmp_path / "f.o"
    path.write_bytes(data)
    command = ["objdump", "--dwarf=decodedline", str(path)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^\S+\s+(\d+|-)\s+(0x[0-9a-f]+|0)\b", text, re.MULTILINE)
    expected = [(int(at, 16), -1 if line == "-" else int(line)) for line, at in found]
    assert [(row.offset, row.line) for row in rows(data)] == expected
    assert {line for _, line in expected} >= {2, 300, 0, 99991, 100001, 100041, -1}


def test_an_offset_leads_to_its_run():
    table = LineTable(((1, 0), (1, 4), (1, 9), (2, 0), (2, 3)), (7, 0, -1, 8, -1))
    assert [table.run(1, offset) for offset in (0, 3, 4, 8, 9, 50)] == [0, 0, 1, 1, -1, -1]
    assert (table.run(2, 2), table.run(2, 3), table.run(0, 0), table.run(3, 0)) == (3, -1, -1, -1)


def test_other_files_have_no_lines():
    assert rows(b"MZ") == []
    assert line_table(b"").run(1, 0) == -1
