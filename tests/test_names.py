"""Modules under the names that programs know: those of before, and TVM's."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

import whence


@pytest.mark.parametrize(
    ("name", "home"),
    [
        ("whence.executable", "whence.executables.executable"),
        ("whence.building", "whence.planning.build"),
        ("whence.textio", "whence.reading.textio"),
        ("whence.executors", "whence.relay.executors"),
        ("whence.tvm.relay.op", "whence.relay.op"),
        ("whence.tvm.nd", "whence.nd"),
    ],
)
def test_a_module_is_one_under_all_its_names(name: str, home: str):
    assert import_module(name) is import_module(home)


def test_tvm_is_a_module_of_all_its_names():
    from whence import tvm

    assert tvm.relay is whence.relay
    assert tvm.IRModule is whence.IRModule
    with pytest.raises(AttributeError, match="has no attribute 'tpu'"):
        _ = tvm.tpu


def test_a_module_that_there_is_not_is_not_found():
    with pytest.raises(ModuleNotFoundError, match=r"whence\.tvm\.nothing"):
        import_module("whence.tvm.nothing")


def test_former_names_cost_nothing_before_they_are_used():
    script = "import sys, whence; print(*[name for name in sys.modules if name.startswith('whence.')])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {"whence.support", "whence.support.module_names", "whence.support.rooms"}


def test_modules_of_newer_releases_are_those_of_before():
    script = (
        "from whence.testing import as_tvm; as_tvm()\n"
        "import tvm, whence\n"
        "from tvm import tirx\n"
        "from tvm.tirx.function import PrimFunc\n"
        "from tvm.script.parser import ir as I, relax as R, tirx as T\n"
        "assert tirx is tvm.tir is whence.tirx and PrimFunc is whence.tir.PrimFunc\n"
        "assert T is whence.script.tir and R is whence.script.relax and I is whence.script.ir"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
