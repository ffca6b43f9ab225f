"""The folder of the kernel cache: what may be trusted in it, how large it is, and what goes when it is full."""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

SOURCES = "tir"
"""The folder in it of the printed TIR of kernels, for debuggers."""
TEMPORARY = ".tmp"
LIMIT = 1024
"""MiB of files in a cache where WHENCE_CACHE_MB does not say it."""
_KEPT = 0.8
"""The part of the limit that stays when the folder is full, so that not each new file makes one go."""
_ABANDONED = 3600.0
"""Seconds after which nobody writes a file that has no name yet."""
_OURS = re.compile(r"[0-9a-f]{64}|.+\.tir")


class Untrusted(Exception):
    """A folder that others can write to, or that is not ours."""


class Entry(NamedTuple):
    """A file of the cache."""

    folder: str
    """"" or SOURCES."""
    name: str
    size: int
    used: float
    """When it was read or written last."""


def limit_bytes() -> int:
    """Return the number of bytes that the files of a cache may have; 0 for any number."""
    text = os.environ.get("WHENCE_CACHE_MB", "")
    return (int(text) if text.isascii() and text.isdecimal() else LIMIT) << 20


@contextmanager
def opened(folder: Path) -> Generator[int]:
    """A descriptor of a folder that only we can write to; what is found through it cannot be exchanged by others.

    Raises OSError when there is no such folder, Untrusted when it is not ours alone.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if problem := doubt(os.fstat(descriptor)):
            raise Untrusted(problem)
        yield descriptor
    finally:
        os.close(descriptor)


def doubt(status: os.stat_result) -> str:
    """Why a folder or file may not be what we wrote; "" when it is ours alone to write."""
    if status.st_uid != os.geteuid():
        return f"it belongs to user {status.st_uid}"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"others may write to it (mode {stat.S_IMODE(status.st_mode):o})"
    return ""


def entries(folder: int) -> list[Entry]:
    """The files of a cache, those not used for longest first; what killed writers left is taken away."""
    listed = list(_files("", folder))
    with _sources(folder) as inner:
        if inner is not None:
            listed += _files(SOURCES, inner)
    return sorted(listed, key=lambda entry: entry.used)


def trim(folder: int, most: int) -> None:
    """Remove the files not used for longest where there are more than `most` bytes."""
    files = entries(folder)
    size = sum(entry.size for entry in files)
    if not most or size <= most:
        return
    with _sources(folder) as inner:
        for entry in files:
            if size <= most * _KEPT:
                break
            parent = inner if entry.folder else folder
            if parent is not None:
                with suppress(FileNotFoundError):
                    os.unlink(entry.name, dir_fd=parent)
                size -= entry.size


def clear(folder: int) -> list[Entry]:
    """Remove all files of a cache; returns them. What we did not write stays."""
    files = entries(folder)
    with _sources(folder) as inner:
        for entry in files:
            parent = inner if entry.folder else folder
            if parent is not None:
                with suppress(FileNotFoundError):
                    os.unlink(entry.name, dir_fd=parent)
    return files


def _files(name: str, folder: int) -> Iterator[Entry]:
    """The files in one folder that we wrote."""
    for file in os.listdir(folder):
        with suppress(FileNotFoundError):
            status = os.stat(file, dir_fd=folder, follow_symlinks=False)
            if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
                continue
            if file.startswith(".") and file.endswith(TEMPORARY):
                if time.time() - status.st_mtime > _ABANDONED:
                    os.unlink(file, dir_fd=folder)
            elif _OURS.fullmatch(file):
                yield Entry(name, file, status.st_size, status.st_mtime)


@contextmanager
def _sources(folder: int) -> Generator[int | None]:
    """The folder of sources in a cache; None where there is none of ours."""
    try:
        descriptor = os.open(SOURCES, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
    except OSError:
        yield None
        return
    try:
        yield None if doubt(os.fstat(descriptor)) else descriptor
    finally:
        os.close(descriptor)
