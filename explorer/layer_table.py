"""The time of layers as text."""

from __future__ import annotations

from ..planning.artifact import Artifact
from .report import count, percent, some, table
from .shares import Shares
from .times import Times


def layer_times(artifact: Artifact, times: Times, top: int, roofs: Shares | None = None) -> str:
    """Return the layers that take longest; the line below the table says which times are measured.

    roofs: the least seconds of each layer, shown as a share of its time.
    """
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
        roof = percent(roofs[layer_time.layer] / layer_time.seconds) if roofs and layer_time.seconds else ""
        optional = (*((roof,) if roofs else ()), *((estimated,) if guessed else ()))
        rows.append((*cells, *optional, name, kind, some(layer_time.calls, 1)))
    rest = f"; {count(len(ranked) - top, 'more layer')}" if len(ranked) > top else ""
    optional = (*(("roof",) if roofs else ()), *(("estimated",) if guessed else ()))
    header = ("ms", "share", *optional, "layer", "type", "kernel")
    about = "a kernel's time is measured, CPU time of all threads, that of each layer in it "
    about += "told by samples" if sampled else "estimated from work"
    if guessed:
        about += ", estimated from work where there are too few"
    if roofs:
        about += "; roof: the part of it that a core needs at least"
    return f"{table(rows, header, indent='')}\n{about}{rest}"
