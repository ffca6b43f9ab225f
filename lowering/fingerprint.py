"""The part that all cache keys share: the compiler that made the code, and the machine it is for."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

FOLDERS = ("dialects", "lowering", "passes", "provenance", "runtime", "support", "syntax", "te")
"""The folders that make up lowering, whole: passes are found by name as they run, which no import graph shows."""


@cache
def compiler_fingerprint() -> str:
    """A hash of the sources that turn a function into code: a changed compiler must not find its old kernels."""
    return fingerprint(Path(__file__).parents[1])


def fingerprint(root: Path, folders: Sequence[str] = FOLDERS) -> str:
    """The hash of the sources in folders of `root` and of what they stand on: about 20 ms."""
    from importlib.metadata import version

    digest = hashlib.sha256(f"xdsl {version('xdsl')} numpy {version('numpy')}".encode())
    for folder in folders:
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


def native_key(target: str, *parts: str) -> str:
    """The cache key (hex sha256) of what this compiler makes of `parts` for a target, which its `Target.key` names."""
    return hashlib.sha256("\n".join((compiler_fingerprint(), target, *parts)).encode()).hexdigest()
