"""What a deployed model needs is apart from the compiler: numpy, ml_dtypes and two files of support."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = [path.stem for path in sorted((ROOT / "runtime").glob("*.py")) if path.stem != "__init__"]

_IMPORT = """
import sys
from importlib import import_module
BARRED = {"xdsl", "llvmlite", "onnx"}
class Bar:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in BARRED:
            raise ImportError(f"{name} is barred")
sys.meta_path.insert(0, Bar())
import_module("whence.runtime." + sys.argv[1])
print(*sorted(name for name in sys.modules if name.startswith("whence.")))
"""


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_without_the_compiler(module: str):
    done = subprocess.run([sys.executable, "-c", _IMPORT, module], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    allowed = {"whence.support", "whence.support.errors", "whence.support.dtypes", "whence.runtime"}
    found = set(done.stdout.split())
    assert f"whence.runtime.{module}" in found
    assert {name for name in found if not name.startswith("whence.runtime.")} <= allowed


def test_what_is_barred_would_be_seen():
    script = _IMPORT.replace("whence.runtime.", "whence.planning.")
    done = subprocess.run([sys.executable, "-c", script, "artifact"], capture_output=True, text=True, check=False)
    assert done.returncode
    assert "xdsl is barred" in done.stderr
