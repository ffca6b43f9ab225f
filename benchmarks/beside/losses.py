"""Where a network loses time: each kernel call beside what the machine could do, and beside onnxruntime's nodes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import whence
from beside.runtimes import Feeds, Opened, feeds_of, onnxruntime
from whence.explorer.peer import call_of_nodes, node_times, owners_of_layers
from whence.explorer.probe import SHARED, Probe
from whence.explorer.roof import roofs
from whence.explorer.times import Times

_ROUNDS = 15
_WARM = 3
"""Runs before those that count."""
_SHOWN = 40


@dataclass
class Loss:
    """A kernel call, or nodes of the peer that have none."""

    layer: str
    """The layer that most of the time goes to."""
    kernel: str
    seconds: float
    roof: float
    """The least seconds for its work."""
    bound: str
    """The work that takes as long as the roof: `products`, or bytes by the cache that has them."""
    peer: float = 0.0
    """The seconds of the peer's nodes for these layers."""

    @property
    def lost(self) -> float:
        return self.seconds - self.roof


class Profiled:
    """onnxruntime with the times of its nodes: those of a run are read from a file when all is done."""

    def __init__(self, model: Path, feeds: Feeds, kind: str, folder: Path):
        self._opened: Opened = onnxruntime(str(model), feeds, kind, 1, profile=str(folder / "profile"))
        self.run = self._opened.run

    def nodes(self) -> list[tuple[str, float]]:
        """Return each node's name and median seconds, in the order in which they run."""
        path = Path(self._opened.handle.end_profiling())
        times = node_times(path)
        path.unlink()
        return times


def losses(model: Path, kind: str, folder: Path) -> tuple[list[Loss], Probe]:
    """Return the kernel calls of a network, those that lose most first. Its open sizes are those of its inputs.

    What is in a nearer cache than thought is read faster: a call may be below its roof.
    """
    feeds = feeds_of(model)
    shapes = {name: list(values.shape) for name, values in feeds.items()}
    compiled: Any = whence.compile(str(model), threads=1, input_shapes=None if kind == "tflite" else shapes)
    artifact = compiled.artifact
    probe = Probe()
    peer = None if kind == "tflite" else Profiled(model, feeds, kind, folder)
    columns: list[list[float]] = []
    for number in range(_WARM + _ROUNDS):
        seconds = compiled.profile(feeds, 1)[0].tolist()
        if number >= _WARM:
            columns.append(seconds)
        if peer is not None:
            peer.run()
    probe.again()
    times = Times.of(artifact, [median(column) for column in zip(*columns, strict=True)])
    rows: list[Loss] = []
    measured = zip(artifact.calls, times.calls, times.layers, roofs(artifact, probe.rates), strict=True)
    for call, seconds, parts, roof in measured:
        shares = {layer.name: share for layer, share in parts.items() if layer is not None}
        most = max(shares, key=lambda name: shares[name], default="")
        rows.append(Loss(most, call.name.removeprefix("tvmgen_default_fused_"), seconds, roof.seconds, roof.bound.name))
    if peer is not None:
        _add_peer(rows, owners_of_layers(times), peer.nodes())
    return sorted(rows, key=lambda row: -row.lost), probe


def _add_peer(rows: list[Loss], owner: dict[str, int], nodes: Iterable[tuple[str, float]]) -> None:
    """Add the times of nodes to the calls that serve their layers."""
    for number, seconds in call_of_nodes(owner, nodes):
        rows[number].peer += seconds


def print_losses(model: Path, kind: str, cache: Path) -> None:
    """Print the calls of a network, by what they lose."""
    os.environ["WHENCE_CACHE_DIR"] = str(cache / "whence")
    rows, probe = losses(model, kind, cache)
    levels = ", ".join(f"{name} {rate * 1e-9:.0f}" for name, rate in probe.bytes.items() if name != SHARED)
    print(f"roof of one thread: {probe.operations * 1e-9:.0f} GFLOP/s; in GB/s: {levels}")
    print(f"{'lost us':>10}{'ours us':>10}{'roof us':>10}{'of':>18}{'reached':>9}{'peer us':>10}  layer, kernel")
    for row in rows[:_SHOWN]:
        _show(row)
    if len(rows) > _SHOWN:
        _show(_sum(rows[_SHOWN:], f"{len(rows) - _SHOWN} others"))
    _show(_sum(rows, "all"))


def _sum(rows: list[Loss], name: str) -> Loss:
    seconds, roof, peer = (
        sum(column) for column in zip(*((row.seconds, row.roof, row.peer) for row in rows), strict=True)
    )
    return Loss(name, "", seconds, roof, "", peer)


def _show(row: Loss) -> None:
    numbers = "".join(f"{1e6 * seconds:10.1f}" for seconds in (row.lost, row.seconds, row.roof))
    reached = f"{row.roof / row.seconds:9.0%}" if row.seconds else f"{'':9}"
    print(f"{numbers}{row.bound:>18}{reached}{1e6 * row.peer:10.1f}  {row.layer}  {row.kernel}", flush=True)
