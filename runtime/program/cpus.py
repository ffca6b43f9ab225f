"""The CPUs of this process: their number by its mask and control groups, and their instructions."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from ...support.errors import PipelineError, expectation
from ...support.machine import Machine
from .tiles import tiles_allowed

_GROUPS = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")


def available_cpus(groups: Path = _GROUPS, own: Path = _OWN) -> int:
    """Return the number of CPUs in the affinity mask, capped by the quotas of control groups (rounded up); at least 1.

    groups: where control groups are mounted; own: the file that names this process's groups.
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
    """Yield the folders of this process's groups, inner ones first; a container may show only the root."""
    seen: set[Path] = set()
    for line in _lines(own):
        controllers, _, path = line.partition(":")[2].partition(":")
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


_X86 = (
    "sse3 ssse3 sse4.1 sse4.2 popcnt avx avx2 fma f16c bmi bmi2 lzcnt avx512f avx512bw avx512dq avx512vl avx512vnni "
    "avx512bf16 avx512vbmi avxvnni avx512fp16 amx-tile amx-int8 amx-bf16"
).split()
"""LLVM's names of the instructions that matter."""
_LINUX = {
    "sse3": "pni",
    "bmi": "bmi1",
    "lzcnt": "abm",
    "sse4.1": "sse4_1",
    "sse4.2": "sse4_2",
    "avxvnni": "avx_vnni",
    "avx512vnni": "avx512_vnni",
    "avx512bf16": "avx512_bf16",
    "avx512fp16": "avx512_fp16",
    "amx-tile": "amx_tile",
    "amx-int8": "amx_int8",
    "amx-bf16": "amx_bf16",
}
"""Linux's names of those that it calls otherwise."""
_BY_VECTOR = {256: "avx", 512: "avx512f"}


def check_machine(name: str, triple: str, cpu: str, features: str, vector_bits: int, *, tiles: bool) -> None:
    """Raise PipelineError for code that this machine cannot run: of another architecture, or with other instructions.

    name: the subject of the error. triple, cpu, features, vector_bits: the target of the code in LLVM's terms.
    tiles: if the code multiplies tiles; for other code they need not be there.
    """
    machine = triple.partition("-")[0]
    here = {"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())
    expected = f"code for {here}"
    if machine != here:
        raise PipelineError(expectation(name, expected, f"some for {machine}"))
    if machine != "x86_64":
        return
    required = [word[1:] for word in features.split(",") if word[:1] == "+" and word[1:] in _X86]
    required += Machine.of(triple, cpu, features).instructions
    if (vectors := _BY_VECTOR.get(vector_bits)) is not None:
        required.append(vectors)
    needed = [word for word in dict.fromkeys(required) if tiles or not word.startswith("amx")]
    available = cpu_features()
    if lacking := [word for word in needed if available and _LINUX.get(word, word) not in available]:
        raise PipelineError(expectation(name, f"{expected} as it is here", f"some that needs {', '.join(lacking)}"))
    if tiles and not tiles_allowed():
        where = f"{expected} without tiles, as Linux does not let this process use them"
        raise PipelineError(expectation(name, where, "some with tiles (AMX)"))


@cache
def cpu_features() -> frozenset[str]:
    """Return the processor's flags as Linux lists them; none where there is no Linux."""
    for line in _lines(Path("/proc/cpuinfo")):
        name, _, flags = line.partition(":")
        if name.strip() == "flags":
            return frozenset(flags.split())
    return frozenset()
