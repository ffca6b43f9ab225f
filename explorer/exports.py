"""Measured times in the formats of other tools: Chrome traces, stacks of flame graphs, node data of Model Explorer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..planning.artifact import Artifact
from ..support.names import shown
from .hot import hot_lines
from .samples import Samples
from .times import Times

_COLOURS = ({"stop": 0, "bgColor": "#ffffff"}, {"stop": 0.5, "bgColor": "#fdae61"}, {"stop": 1, "bgColor": "#d7191c"})
NO_LAYER = "no known layer"
_SPEEDSCOPE = "https://www.speedscope.app/file-format-schema.json"
"""The name of its format, which it looks for in a file."""
Stack = tuple[tuple[str, ...], float]
"""Frames from the outermost on, and how much there was of it."""


@dataclass(frozen=True)
class Part:
    """The part of a layer in a call."""

    layer: str
    type: str
    seconds: float
    estimated: bool


@dataclass(frozen=True)
class TracedCall:
    """A kernel call and what it took."""

    name: str
    symbol: str
    seconds: float
    parts: Sequence[Part]


def traced_calls(artifact: Artifact, times: Times) -> list[TracedCall]:
    """Return the calls of a measured program."""
    calls: list[TracedCall] = []
    for number, (call, spent) in enumerate(zip(artifact.calls, times.calls, strict=True)):
        parts = [
            Part(layer.name, layer.type, seconds, times.estimated(number))
            if layer is not None
            else Part(NO_LAYER, "", seconds, times.estimated(number))
            for layer, seconds in times.layers[number].items()
        ]
        calls.append(TracedCall(call.name, artifact.kernels[call.kernel].symbol, spent, parts))
    return calls


def chrome_trace(calls: Iterable[TracedCall]) -> str:
    """A trace for chrome://tracing and Perfetto: the kernel calls one after the other, below each its layers.

    Where layers share a call, they stand in the order of the source, as long as their parts of it: what is interleaved
    in the kernel is drawn in a row.
    """
    events: list[dict[str, object]] = [
        {"name": "thread_name", "ph": "M", "pid": 1, "tid": tid, "args": {"name": name}}
        for tid, name in ((1, "kernels"), (2, "layers"))
    ]
    start = 0.0
    for call in calls:
        args = {"layers": [part.layer for part in call.parts], "symbol": call.symbol}
        events.append(_event(call.name, 1, start, call.seconds, args))
        at = start
        for part in call.parts:
            about = {"type": part.type, "estimated": part.estimated}
            events.append(_event(part.layer, 2, at, part.seconds, about))
            at += part.seconds
        start += call.seconds
    return json.dumps({"displayTimeUnit": "ns", "traceEvents": events})


def _event(name: str, tid: int, start: float, seconds: float, args: Mapping[str, object]) -> dict[str, object]:
    return {"name": name, "ph": "X", "pid": 1, "tid": tid, "ts": start * 1e6, "dur": seconds * 1e6, "args": args}


def sample_stacks(samples: Samples) -> list[Stack]:
    """Return the samples of lines: layers, the kernel call, the line of TIR."""
    stacks: list[Stack] = []
    for line in hot_lines(samples):
        source = f"{line.line}: {line.text}" if line.line else line.text
        layers = ", ".join(line.layers) or NO_LAYER
        stacks.append(((layers, samples.artifact.calls[line.call].name, source), line.samples))
    return stacks


def folded_stacks(stacks: Iterable[Stack]) -> str:
    """Stacks for flame graphs, `layers;kernel call;line of TIR count`, a line each."""
    return "".join(f"{';'.join(map(_frame, frames))} {count:.0f}\n" for frames, count in stacks)


def _frame(name: str) -> str:
    """A name without what ends a frame."""
    return shown(name).replace(";", ",")


def speedscope(stacks: Sequence[Stack], title: str, unit: str = "seconds") -> str:
    """A file for speedscope: each stack with its weight, in this unit (`none` for counts)."""
    frames: dict[str, int] = {}
    samples = [[frames.setdefault(name, len(frames)) for name in names] for names, _ in stacks]
    weights = [weight for _, weight in stacks]
    profile = {"type": "sampled", "name": title, "unit": unit, "startValue": 0, "endValue": sum(weights)}
    profile |= {"samples": samples, "weights": weights}
    shared = {"frames": [{"name": name} for name in frames]}
    data = {"$schema": _SPEEDSCOPE, "shared": shared, "profiles": [profile], "name": title, "exporter": "whence"}
    return json.dumps(data)


def node_data(times: Mapping[str, Iterable[tuple[str, float]]], name: str = "time (ms)") -> str:
    """Node data for Model Explorer: id of a graph -> ids and seconds of its nodes, shown in milliseconds."""
    return json.dumps({graph: _node_data(rows, name) for graph, rows in times.items()})


def _node_data(times: Iterable[tuple[str, float]], name: str) -> dict[str, object]:
    results = {node: {"value": seconds * 1e3} for node, seconds in times}
    return {"name": name, "results": results, "gradient": _COLOURS}
