"""The time of layers as text."""

from __future__ import annotations

from ..planning.artifact import Artifact
from .report import count, percent, some, table
from .times import Times


def layer_times(artifact: Artifact, times: Times, top: int) -> str:
    """The layers that take longest, and below what is measured of that and what is estimated."""
    ranked = times.ranked(artifact)
    sampled = any(times.sampled)
    guessed = sampled and any(one.estimated for one in ranked)
    rows: list[tuple[object, ...]] = []
    for one in ranked[:top]:
        name, kind = (one.layer.name, one.layer.type) if one.layer is not None else ("no known layer", "")
        estimated = percent(one.estimated / one.seconds) if one.estimated and one.seconds else ""
        cells = (f"{1e3 * one.seconds:.3f}", percent(one.seconds / times.total))
        rows.append((*cells, *((estimated,) if guessed else ()), name, kind, some(one.calls, 1)))
    rest = f"; {count(len(ranked) - top, 'more layer')}" if len(ranked) > top else ""
    header = ("ms", "share", *(("estimated",) if guessed else ()), "layer", "type", "kernel")
    about = "a kernel's time is measured, that of each layer in it "
    about += "told by samples" if sampled else "estimated from work"
    if guessed:
        about += ", estimated from work where there are too few"
    return f"{table(rows, header, indent='')}\n{about}{rest}"
