"""The time of layers as text."""

from __future__ import annotations

from ..planning.artifact import Artifact
from .report import count, percent, some, table
from .times import Times


def layer_times(artifact: Artifact, times: Times, top: int) -> str:
    """The layers that take longest, and below what is measured of that and what is estimated."""
    ranked = times.ranked(artifact)
    sampled = any(times.sampled)
    guessed = sampled and any(layer_time.estimated for layer_time in ranked)
    rows: list[tuple[object, ...]] = []
    for layer_time in ranked[:top]:
        name, kind = (
            (layer_time.layer.name, layer_time.layer.type) if layer_time.layer is not None else ("no known layer", "")
        )
        estimated = (
            percent(layer_time.estimated / layer_time.seconds) if layer_time.estimated and layer_time.seconds else ""
        )
        cells = (f"{1e3 * layer_time.seconds:.3f}", percent(layer_time.seconds / times.total))
        rows.append((*cells, *((estimated,) if guessed else ()), name, kind, some(layer_time.calls, 1)))
    rest = f"; {count(len(ranked) - top, 'more layer')}" if len(ranked) > top else ""
    header = ("ms", "share", *(("estimated",) if guessed else ()), "layer", "type", "kernel")
    about = "a kernel's time is measured, CPU time of all threads, that of each layer in it "
    about += "told by samples" if sampled else "estimated from work"
    if guessed:
        about += ", estimated from work where there are too few"
    return f"{table(rows, header, indent='')}\n{about}{rest}"
