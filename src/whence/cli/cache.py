"""`whence cache`: how large the kernel cache is, where it lies, and how it is emptied."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from whence.cli.answers import answer
from whence.cli.options import Subparsers, add_json, command
from whence.support.errors import PipelineError


@dataclass(frozen=True)
class CacheReport:
    """The contents of the kernel cache; sizes in bytes."""

    folder: str
    files: int
    bytes: int
    bound: int
    """0 for none."""
    cleared: bool

    def __str__(self) -> str:
        label = "removed" if self.cleared else "size"
        bound = f"{self.bound / 2**20:.0f} MiB" if self.bound else "none"
        rows = (
            ("folder", self.folder),
            (label, f"{self.bytes / 2**20:.1f} MiB in {self.files} files"),
            ("bound", bound),
        )
        return "\n".join(f"{name:8}{value}" for name, value in rows)


def add(commands: Subparsers) -> None:
    """Add the subcommand."""
    about = "Show the kernel cache: its folder (WHENCE_CACHE_DIR), its size, and its bound (WHENCE_CACHE_MB, in MiB)."
    parser = command(commands, "cache", "show or clear the kernel cache", about, ("", "--clear", "--json"))
    parser.add_argument("--clear", action="store_true", help="remove all kernels from it, and the TIR beside them")
    add_json(parser)
    parser.set_defaults(command=_cache)


def _cache(args: argparse.Namespace) -> int:
    from whence.lowering.cache import default_folder
    from whence.lowering.cache_folder import Untrusted, clear, entries, limit_bytes, opened

    folder = default_folder()
    if folder is None:
        raise PipelineError("cache: expected a folder, got none: WHENCE_CACHE_DIR is empty")
    try:
        with opened(folder) as descriptor:
            files = clear(descriptor) if args.clear else entries(descriptor)
    except FileNotFoundError:
        files = []
    except Untrusted as error:
        raise PipelineError(f"cache: {folder} is not used: {error}") from error
    report = CacheReport(str(folder), len(files), sum(entry.size for entry in files), limit_bytes(), args.clear)
    answer(args, lambda: report, lambda: str(report))
    return 0
