"""What a deployed model needs is apart from the compiler: numpy, ml_dtypes and nine files of support."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
RUNTIME = ROOT / "runtime"
MODULES = [".".join(path.relative_to(RUNTIME).with_suffix("").parts) for path in sorted(RUNTIME.rglob("[!_]*.py"))]

_IMPORT = """
import os, sys
from importlib import import_module
BARRED = {"xdsl", "llvmlite", "onnx"}
class Bar:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in BARRED:
            raise ImportError(f"{name} is barred")
sys.meta_path.insert(0, Bar())
import ml_dtypes, numpy
for module in sys.argv[1:]:
    # Each in a process of its own, which begins with the libraries alone.
    if not (child := os.fork()):
        import_module("whence.runtime." + module)
        print(module, *sorted(name for name in sys.modules if name.startswith("whence.")), flush=True)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit(f"{module} cannot be imported")
"""


def test_each_module_imports_without_the_compiler():
    done = subprocess.run([sys.executable, "-c", _IMPORT, *MODULES], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    names = "codec doors dtypes errors files hints machine module_names names rooms supervising".split()
    support = {"whence.support", *(f"whence.support.{name}" for name in names)}
    allowed = {"whence.runtime", *support}
    imported = [line.split() for line in done.stdout.splitlines()]
    assert [module for module, *_ in imported] == MODULES
    for module, *found in imported:
        assert f"whence.runtime.{module}" in found
        assert {name for name in found if not name.startswith("whence.runtime.")} <= allowed, module


def test_what_is_barred_would_be_seen():
    script = _IMPORT.replace("whence.runtime.", "whence.planning.")
    done = subprocess.run([sys.executable, "-c", script, "artifact"], capture_output=True, text=True, check=False)
    assert done.returncode
    assert "xdsl is barred" in done.stderr
