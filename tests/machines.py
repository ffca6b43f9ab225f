"""The tests of what compiles, as on machines of each class: run where this machine can run their code, else looked at.

    python tests/machines.py [CLASS ..]

A class that cannot run here has the networks of the zoo compiled for it, and the tests that look at its code. Prints a
line for each class, and exits with 1 when something fails.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "support"))

import pytest
from zoo import SMALL

import whence
from whence.lowering.llvm_to_native.target import MACHINE_VARIABLE, Target, check_runs_here
from whence.support.errors import PipelineError, WhenceError

MACHINES = {
    "avx2": "haswell",
    "avx512": "skylake-avx512",
    "vnni": "icelake-server",
    "bf16": "znver4",
    "fp16": "sapphirerapids -mattr=-amx-tile",
    "amx": "sapphirerapids",
}
"""Class -> LLVM's name of a CPU of it, and which of its features to leave alone."""
HERE = Path(__file__).parent
FOLDERS = [str(HERE / name) for name in ("lowering", "passes", "planning", "e2e", "explorer", "filecheck", "tuning")]
LOOKS = [str(HERE / "lowering" / name) for name in ("test_inner_loops.py", "test_pairs.py", "test_machine.py")]
"""Tests that look at code for machines by their names."""


def looked_at(target: str) -> list[str]:
    """Compile the zoo for a target that cannot run here; return the networks that it fails for."""
    failed: list[str] = []
    for name, make in SMALL.items():
        try:
            whence.compile(make()[0], target=target)
        except WhenceError as error:
            print(f"{name}: {error}", flush=True)
            failed.append(name)
    return failed


def passes(name: str) -> bool:
    """Run the tests as on a class of machines."""
    target = f"llvm -mcpu={MACHINES[name]}"
    try:
        check_runs_here(Target.parse(target))
    except PipelineError as error:
        print(f"== {name} is looked at: {error}", flush=True)
        cpu = MACHINES[name].partition(" ")[0]
        return not looked_at(target) and pytest.main(["-q", *LOOKS, "-k", f"{name} or {cpu}"]) == 0
    print(f"== {name} is run as {target}", flush=True)
    command = [sys.executable, "-m", "pytest", "-q", *FOLDERS]
    return subprocess.run(command, env=os.environ | {MACHINE_VARIABLE: target}, check=False).returncode == 0


def main(names: Sequence[str]) -> int:
    """Return 1 if something fails as on one of these classes, of all by default."""
    if unknown := [name for name in names if name not in MACHINES]:
        print(f"expected classes among {', '.join(MACHINES)}, got {', '.join(unknown)}", file=sys.stderr)
        return 2
    failed = [name for name in names or MACHINES if not passes(name)]
    print(f"failed: {', '.join(failed)}" if failed else "all classes pass")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
