"""The in-process runner of `// RUN:` lines: what passes, what fails, and what a failure shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from whence.cli import opt

pytest_plugins = ["pytester"]

_PLUGIN = Path(__file__).parent / "filecheck" / "conftest.py"
_MODULE = """
// CHECK: arith.addi
// WRONG: arith.muli
// ERROR: unrecognized arguments: --nope
func.func @f(%x: i32) -> i32 {
  %0 = arith.addi %x, %x : i32
  func.return %0 : i32
}
"""


_PASSING = [
    "xdsl-opt %s | filecheck %s",
    "xdsl-opt %s -p canonicalize --print-op-generic | xdsl-opt | filecheck %s",
    "xdsl-opt < %s | filecheck %s",
    "xdsl-opt %s > %t && filecheck %s --input-file %t",
    "xdsl-opt %s > %t.mlir && xdsl-opt %t.mlir | filecheck %s",
    "not xdsl-opt --nope 2>&1 | filecheck %s --check-prefix=ERROR",
    "xdsl-opt %s | not filecheck %s --check-prefix=WRONG",
    "xdsl-opt %s | cat | filecheck %s",
    "cat %p/test0.mlir | xdsl-opt | filecheck '%s'",
    "(xdsl-opt %s; true) | filecheck %s",
    "xdsl-opt %s \\\n// RUN: | filecheck %s",
]

_FAILING = [
    "xdsl-opt %s | filecheck %s --check-prefix=WRONG",
    "not xdsl-opt %s",
    "xdsl-opt %p/missing.mlir | cat",
    "xdsl-opt --nope | true",
    "no-such-program %s",
    "false && xdsl-opt %s",
    "(exit 3)",
    "true\n// RUN: false",
]


def run(pytester: pytest.Pytester, heads: list[str]) -> tuple[dict[str, int], str]:
    """The outcomes of one test per head (the RUN lines), and what pytest printed."""
    pytester.makeconftest(_PLUGIN.read_text())
    pytester.makefile(".mlir", **{f"test{index}": head + _MODULE for index, head in enumerate(heads)})
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:xdist")
    return result.parseoutcomes(), result.stdout.str()


def test_lines_that_pass(pytester: pytest.Pytester):
    outcomes, text = run(pytester, [f"// RUN: {line}" for line in _PASSING])
    assert outcomes == {"passed": len(_PASSING)}, text


def test_lines_that_fail(pytester: pytest.Pytester):
    outcomes, text = run(pytester, ["", *(f"// RUN: {line}" for line in _FAILING)])
    assert outcomes == {"failed": 1 + len(_FAILING)}, text
    assert "expected a line `// RUN: ...`, found none" in text


def test_a_failure_shows_command_output_and_diagnosis(pytester: pytest.Pytester):
    _, text = run(pytester, ["// RUN: xdsl-opt %s | filecheck %s --check-prefix=WRONG"])
    assert "RUN: xdsl-opt " in text
    assert "%0 = arith.addi %x, %x : i32" in text
    assert 'Couldn\'t match "arith.muli"' in text
    assert "Traceback" not in text


def test_a_tool_that_breaks_down_refused_nothing(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch):
    def broken(_: list[str]) -> int:
        raise KeyError("a mistake of ours")

    monkeypatch.setattr(opt, "main", broken)
    outcomes, text = run(pytester, ["// RUN: not whence-opt %s"])
    assert outcomes == {"failed": 1}
    assert "a mistake of ours" in text
