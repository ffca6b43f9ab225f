"""Measured times in the formats of other tools: Chrome traces, folded stacks, node data of Model Explorer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from ..planning.artifact import Artifact
from ..support.names import shown
from .hot import hot_lines
from .samples import Samples
from .times import Times

_COLOURS = ({"stop": 0, "bgColor": "#ffffff"}, {"stop": 0.5, "bgColor": "#fdae61"}, {"stop": 1, "bgColor": "#d7191c"})


def chrome_trace(artifact: Artifact, times: Times) -> str:
    """A trace for chrome://tracing and Perfetto: the kernel calls one after the other, below each its layers.

    Where layers share a call, they stand in the order of the source, as long as their parts of it: what is interleaved
    in the kernel is drawn in a row.
    """
    events: list[dict[str, object]] = [
        {"name": "thread_name", "ph": "M", "pid": 1, "tid": tid, "args": {"name": name}}
        for tid, name in ((1, "kernels"), (2, "layers"))
    ]
    start = 0.0
    for number, (call, spent) in enumerate(zip(artifact.calls, times.calls, strict=True)):
        layers = [layer.name if layer is not None else "no known layer" for layer in times.layers[number]]
        args = {"layers": layers, "symbol": artifact.kernels[call.kernel].symbol}
        events.append(_event(call.name, 1, start, spent, args))
        at = start
        for layer, seconds in times.layers[number].items():
            name = layer.name if layer is not None else "no known layer"
            about = {"type": layer.type if layer is not None else "", "estimated": times.estimated(number)}
            events.append(_event(name, 2, at, seconds, about))
            at += seconds
        start += spent
    return json.dumps({"displayTimeUnit": "ns", "traceEvents": events}, ensure_ascii=False)


def _event(name: str, tid: int, start: float, seconds: float, args: Mapping[str, object]) -> dict[str, object]:
    return {"name": name, "ph": "X", "pid": 1, "tid": tid, "ts": start * 1e6, "dur": seconds * 1e6, "args": args}


def folded_stacks(samples: Samples) -> str:
    """Stacks for flame graphs, `layers;kernel call;line of TIR count`, a line each; the counts are samples."""
    lines: list[str] = []
    for line in hot_lines(samples):
        layers = ", ".join(line.layers) or "no known layer"
        source = f"{line.line}: {line.text}" if line.line else line.text
        stack = (layers, samples.artifact.calls[line.call].name, source)
        lines.append(f"{';'.join(_frame(name) for name in stack)} {line.samples}")
    return "\n".join(lines) + "\n" if lines else ""


def _frame(name: str) -> str:
    """A name without what ends a frame."""
    return shown(name).replace(";", ",")


def node_data(times: Sequence[tuple[str, float]], graph: str = "main", name: str = "time (ms)") -> str:
    """Node data for Model Explorer: milliseconds of nodes, given as id and seconds, of the graph of an id."""
    results = {node: {"value": seconds * 1e3} for node, seconds in times}
    return json.dumps({graph: {"name": name, "results": results, "gradient": _COLOURS}}, ensure_ascii=False)
