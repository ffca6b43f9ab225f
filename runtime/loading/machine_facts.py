"""Facts about this machine, found without a compiler: times measured on it hold for machines of the same kind."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ..program.cpus import cpu_features

_INFO = Path("/proc/cpuinfo")
_TOPOLOGY = Path("/sys/devices/system/cpu")
_NAMES = ("vendor_id", "model name", "cpu family", "model", "stepping", "cache size", "CPU implementer", "CPU part")
"""The lines of the system's description of a processor that identify its kind."""
KINDS = ("system", "machine", "processor", "features")
"""The facts that machines of one kind share."""


@cache
def machine_facts() -> Mapping[str, Any]:
    """Return the facts about this machine in JSON's types: `KINDS`, and the number of its processors."""
    return {
        "system": platform.system(),
        "machine": {"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine()),
        "processor": _processor(_INFO),
        "features": sorted(cpu_features()),
        "cores": os.cpu_count() or 1,
    }


def kind_of(facts: Mapping[str, Any]) -> tuple[object, ...]:
    """Return the facts that machines of one kind share; times on one hold for another."""
    system, machine, processor, features = (facts.get(name) for name in KINDS)
    return system, machine, processor, tuple(features or ())


def spelled(facts: Mapping[str, Any]) -> str:
    """Return a readable name of a machine."""
    name = str(facts.get("processor") or "unknown processor").partition(";")[0]
    return f"{name} ({facts.get('machine')}, {facts.get('system')})"


def _processor(path: Path) -> str:
    """Return the name and then the numbers of the first processor, as Linux lists them."""
    lines: dict[str, str] = {}
    try:
        for line in path.read_text().split("\n\n")[0].splitlines():
            name, _, value = line.partition(":")
            lines[name.strip()] = value.strip()
    except (OSError, UnicodeDecodeError):  # no such system
        return platform.processor()
    values = [lines[name] for name in _NAMES if name in lines]
    first = lines.get("model name", "")
    return "; ".join([first, *(value for value in values if value != first)] if first else values)


def in_core_order(cpus: Iterable[int], topology: Path = _TOPOLOGY) -> list[int]:
    """Return processors, first one of each physical core, then those that share a core with an earlier one.

    topology: the folder in which the system describes its processors.
    """
    ranks: list[tuple[int, int]] = []
    for cpu in sorted(cpus):
        path = topology / f"cpu{cpu}/topology/thread_siblings_list"
        ranks.append((_position(cpu, path), cpu))
    return [cpu for _, cpu in sorted(ranks)]


def _position(cpu: int, path: Path) -> int:
    """Return the position of a processor among those of its core, 0 for the first one."""
    try:
        words = path.read_text().strip().split(",")
        spans = [tuple(map(int, word.split("-"))) for word in words]
    except (OSError, ValueError):
        return 0
    siblings = [number for span in spans for number in range(span[0], span[-1] + 1)]
    return siblings.index(cpu) if cpu in siblings else 0
