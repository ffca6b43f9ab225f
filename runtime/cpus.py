"""How many CPUs this process may use: those it is bound to, and the quota of its control groups."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")


def available_cpus(groups: Path = _GROUPS, own: Path = _OWN) -> int:
    """At least 1: the CPUs of the affinity mask, at most what the control groups grant, rounded up.

    groups: where control groups are mounted; own: the file that names this process's.
    """
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([bound, *(math.ceil(quota) for quota in _quotas(groups, own))]))


def _quotas(groups: Path, own: Path) -> Iterator[float]:
    """The CPUs that each group around this process grants."""
    for folder in _folders(groups, own):
        unified = _words(folder / "cpu.max")
        limits = unified if unified else [*_words(folder / "cpu.cfs_quota_us"), *_words(folder / "cpu.cfs_period_us")]
        # `max` or -1: no limit.
        if len(limits) == 2 and limits[0].isdecimal() and limits[1].isdecimal() and int(limits[1]):
            yield int(limits[0]) / int(limits[1])


def _folders(groups: Path, own: Path) -> Iterator[Path]:
    """The folders of the groups that this process is in, inner ones first; inside a container perhaps the root only."""
    seen: set[Path] = set()
    for line in _lines(own):
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and "cpu" not in controllers.split(","):
            continue
        root = groups / controllers if controllers else groups
        inner = root / path.lstrip("/")
        for folder in (inner, *inner.parents):
            if not folder.is_relative_to(root):
                break
            if folder not in seen:
                seen.add(folder)
                yield folder


def _words(path: Path) -> list[str]:
    lines = _lines(path)
    return lines[0].split() if lines else []


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except (OSError, UnicodeDecodeError):  # no such system
        return []
