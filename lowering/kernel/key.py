"""The name under which a kernel is kept: a hash of all that shapes its code."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path

from ...dialects.relay.core import FuncOp
from ...support.context import PassContext
from ..llvm_to_native.target import Target
from ..relay_to_te.strategies import outside_fingerprint
from .printing import printed

FOLDERS = ("dialects", "lowering", "passes", "provenance", "runtime", "support", "te")
"""What lowering is made of, whole: passes are found by name as they run, which an import graph would not show."""


@cache
def compiler_fingerprint() -> str:
    """A hash of the sources that turn a function into code: a changed compiler must not find its old kernels."""
    return fingerprint(Path(__file__).parents[2])


def fingerprint(root: Path) -> str:
    """The hash of the sources below `root` and of what they stand on: about 20 ms."""
    digest = hashlib.sha256(f"xdsl {version('xdsl')} numpy {version('numpy')}".encode())
    for folder in FOLDERS:
        for path in sorted(_sources(os.path.join(root, folder))):
            with open(path, "rb") as file:
                content = file.read()
            # Names and lengths, so that text that moves to another file counts.
            digest.update(f"\0{os.path.relpath(path, root)} {len(content)}\0".encode())
            digest.update(content)
    return digest.hexdigest()


def _sources(folder: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _sources(entry.path)
            elif entry.name.endswith(".py"):
                yield entry.path


def code_key(target: Target, text: str) -> str:
    """The cache key (hex sha256) of what the compiler makes of `text` for a target."""
    parts = (
        compiler_fingerprint(),
        target.key,
        PassContext.current().shapes_code(),
        outside_fingerprint(),
        text,
    )
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def kernel_key(func: FuncOp, target: Target) -> str:
    """The cache key of an anonymous function."""
    return code_key(target, printed(func))
