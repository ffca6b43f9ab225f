"""What a deployed model needs is apart from the compiler: numpy, ml_dtypes and three files of support."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
RUNTIME = ROOT / "runtime"
MODULES = [".".join(path.relative_to(RUNTIME).with_suffix("").parts) for path in sorted(RUNTIME.rglob("*.py"))]

_IMPORT = """
import sys
from importlib import import_module
BARRED = {"xdsl", "llvmlite", "onnx"}
class Bar:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in BARRED:
            raise ImportError(f"{name} is barred")
sys.meta_path.insert(0, Bar())
for name in sys.argv[1:]:
    import_module("whence.runtime." + name)
print(*sorted(name for name in sys.modules if name.startswith("whence.")))
"""


def test_all_modules_import_without_the_compiler():
    names = [name for name in MODULES if not name.endswith("__init__")]
    done = subprocess.run([sys.executable, "-c", _IMPORT, *names], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    support = {f"whence.support{name}" for name in ("", ".dtypes", ".errors", ".names")}
    found = set(done.stdout.split())
    assert {f"whence.runtime.{name}" for name in names} <= found
    assert {name for name in found if not name.startswith("whence.runtime.")} <= {"whence.runtime", *support}


def test_what_is_barred_would_be_seen():
    script = _IMPORT.replace("whence.runtime.", "whence.planning.")
    done = subprocess.run([sys.executable, "-c", script, "artifact"], capture_output=True, text=True, check=False)
    assert done.returncode
    assert "xdsl is barred" in done.stderr
