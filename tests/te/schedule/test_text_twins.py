"""The kernels written by hand in tests/filecheck/language, and their twins in Python: one text, one lowering."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import pytest
import te_twins_loops
import te_twins_operators
import te_twins_primitives
import tir_twins
from text_twins import TWINS, Made
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.printer import Printer

from whence.cli import opt
from whence.dialects.schedule import SequenceOp, TensorIntrinOp
from whence.dialects.te import FuncOp
from whence.dialects.tir import PrimFuncOp
from whence.kernels import lower
from whence.passes.tir.pipeline import TIR_PIPELINE
from whence.reading.textio import context
from whence.te.schedule.schedule import Schedule

FOLDER = Path(__file__).parents[2] / "filecheck" / "language"
FILES = {path.stem: path for path in sorted(FOLDER.glob("*.mlir"))}
_FULL = ",".join(["convert-te-to-tir", *(name for name, _ in TIR_PIPELINE)])
_REGISTERED = (te_twins_loops, te_twins_operators, te_twins_primitives, tir_twins)


def _made(name: str) -> list[Made]:
    found = TWINS[name]()
    return found if isinstance(found, list) else [found]


def _text(ops: Sequence[Operation], located: bool) -> list[str]:
    """A module of `ops`, line by line."""
    out = StringIO()
    Printer(out, print_debuginfo=located).print_op(ModuleOp([op.clone() for op in ops]))
    return out.getvalue().splitlines()[1:-1]


def _parsed(name: str) -> list[Operation]:
    module = Parser(context(), FILES[name].read_text(), str(FILES[name])).parse_module()
    module.verify()
    return list(module.ops)


def _located(name: str) -> bool:
    return " loc(" in FILES[name].read_text()


def _printed_by_opt(name: str, passes: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What `whence-opt` prints for a file between the module's first and last line."""
    capsys.readouterr()
    words = [str(FILES[name]), "-p", passes, *(["--print-debuginfo"] if _located(name) else [])]
    assert opt.main(words) == 0
    return str(capsys.readouterr().out).rstrip().splitlines()[1:-1]


def _scheduled() -> list[str]:
    """The files that do not begin at TIR; nothing is parsed, for that is asked for by every collection of tests."""
    return [name for name in FILES if name in TWINS and "\ntir.prim_func" not in FILES[name].read_text()]


def test_every_file_has_a_twin():
    assert all(module.__doc__ for module in _REGISTERED)
    assert FILES.keys() == TWINS.keys()
    assert len(FILES) >= 32


@pytest.mark.parametrize("name", TWINS)
def test_python_says_what_the_text_says(name: str):
    ops: list[Operation] = []
    for made in _made(name):
        if isinstance(made, Schedule):
            ops += [intrin.declaration() for intrin in made.intrinsics.values()]
            # A schedule that does nothing is not written down.
            ops += [made.snapshot(0).func, *([made.sequence] if made.sequence.block.ops else [])]
        else:
            ops.append(made)
    assert "\n".join(_text(ops, _located(name))) == "\n".join(_text(_parsed(name), _located(name)))


@pytest.mark.parametrize("name", _scheduled())
def test_python_lowers_as_whence_opt_does(name: str, capsys: pytest.CaptureFixture[str]):
    for passes, simple_mode in (("convert-te-to-tir", True), (_FULL, False)):
        functions = [
            lower(made, made.func.sym_name.data, simple_mode=simple_mode)
            for made in _made(name)
            if isinstance(made, Schedule)
        ]
        expected = "\n".join(_printed_by_opt(name, passes, capsys))
        assert "\n".join(_text(functions, _located(name))) == expected


@pytest.mark.parametrize("name", FILES)
def test_files_are_small_and_say_what_they_show(name: str):
    text = FILES[name].read_text()
    lines = text.splitlines()
    assert lines[0].startswith("// RUN: whence-opt %s -p ")
    said = [line for line in lines if line.startswith("// ") and not line.startswith("// RUN") and "CHECK" not in line]
    assert any(line.endswith(".") for line in said), f"{name}: expected a sentence that says what it shows"
    assert len(lines) <= 160
    kinds = {type(op) for op in _parsed(name)}
    assert kinds <= {FuncOp, SequenceOp, TensorIntrinOp, PrimFuncOp}
