"""Packages of others extend whence-opt by an entry point; a broken one is one error that names it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from whence.reading.textio import read_module


class Done(NamedTuple):
    code: int
    out: str
    err: str


Tool = Callable[..., Done]

CODE = """
from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.universe import Universe

from whence.dialects.relay.elementwise import ReluOp
from whence.provenance.rewrite import rewrite


@irdl_op_definition
class GateOp(IRDLOperation):
    name = "gates.gate"
    data = operand_def(TensorType)
    result = result_def(TensorType)
    assembly_format = "$data attr-dict `:` type($data) `->` type($result)"


class ReluToGate(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReluOp, rewriter: PatternRewriter, /) -> None:
        rewriter.replace(op, GateOp(operands=[op.data], result_types=[op.result.type]))


@dataclass(frozen=True)
class GatesPass(ModulePass):
    name = "relay-to-gates"

    def apply(self, ctx, op):
        rewrite(op, [ReluToGate()])


GATES = Universe(
    all_dialects={"gates": lambda: Dialect("gates", [GateOp])},
    all_passes={"relay-to-gates": lambda: GatesPass, "gates-broken": lambda: 1 / 0},
)
CODE = ""
CLASH = Universe(all_passes={"relay-fuse-ops": lambda: GatesPass})
"""
MODULE = """\
relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
  %0 = relay.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32> loc("act")
  %1 = gates.gate %0 : tensor<4xf32> -> tensor<4xf32> loc("gate")
  relay.return %1 : tensor<4xf32> loc("end")
} loc("main")
"""
CANNOT = """\
whence-opt: error: pipeline "dce,gates-broken", column 5: gates-broken: cannot be loaded: \
ZeroDivisionError: division by zero
"""
Install = Callable[[str], Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Install a package `gates` whose entry point is given, and return a module of its dialect."""

    def put(entry_point: str) -> Path:
        info = tmp_path / "gates-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: gates\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[xdsl.universe]\ngates = {entry_point}\n")
        (tmp_path / "gates_package.py").write_text(CODE)
        (tmp_path / "m.mlir").write_text(MODULE)
        monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
        monkeypatch.delitem(sys.modules, "gates_package", raising=False)
        return tmp_path / "m.mlir"

    return put


def test_a_pass_and_a_dialect_of_another_package(whence_opt: Tool, install: Install):
    module = install("gates_package:GATES")
    done = whence_opt(module, "-p", "relay-to-gates", "--print-debuginfo", "--audit")
    assert done.code == 0, done.err
    assert done.out.count("gates.gate") == 2
    assert '%0 = gates.gate %x : tensor<4xf32> -> tensor<4xf32> loc("act")' in done.out
    assert "relay-to-gates" in whence_opt("--list-passes").out.splitlines()
    assert len(list(read_module(module).walk())) == 5


@pytest.mark.parametrize(
    ("entry_point", "text"),
    [
        (
            "gates_package:NONE",
            "entry point gates = gates_package:NONE (package gates) of group xdsl.universe: ",
        ),
        ("no_such_package:X", "expected a universe, got ModuleNotFoundError: No module named 'no_such_package'"),
        ("gates_package:CODE", "expected a universe, got a str"),
        ("gates_package:CLASH", "group xdsl.universe: Duplicate definition of relay-fuse-ops in ['gates', 'whence']"),
    ],
)
def test_a_broken_package_is_one_error(whence_opt: Tool, install: Install, entry_point: str, text: str):
    done = whence_opt(install(entry_point))
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("whence-opt: error: ")
    assert done.err.count("\n") == 1
    assert text in done.err


def test_a_pass_that_cannot_be_loaded_is_one_error(whence_opt: Tool, install: Install):
    done = whence_opt(install("gates_package:GATES"), "-p", "dce,gates-broken")
    assert done == (1, "", CANNOT)
