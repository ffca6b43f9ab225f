"""The debugger's table in TVM's form: a row for each output of a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...support.names import shortened, shown

_HEADER = ("Node Name", "Ops", "Time(us)", "Time(%)", "Shape", "Inputs", "Outputs", "Measurements(us)")
_TIMES = ("Start Time", "End Time")
_LAYERS = "Layers"
_LEAST = 16
"""The number of letters up to which names are never shortened."""


@dataclass(frozen=True)
class Row:
    """An output of a node, and the times of the node."""

    node: str
    function: str
    seconds: tuple[float, ...]
    """The seconds of each repeat."""
    shape: tuple[int, ...]
    inputs: int
    output: int
    """1 for the first output."""
    layers: tuple[str, ...] = ()
    started: str = ""
    """`15:24:44.177475`, for example, in the run that kept tensors."""
    ended: str = ""

    @property
    def mean(self) -> float:
        return sum(self.seconds) / len(self.seconds) if self.seconds else 0.0


def debug_table(
    rows: Sequence[Row],
    *,
    sort_by_time: bool = True,
    times: bool = False,
    layers: bool = False,
    width: int | None = None,
) -> str:
    """Return the table. times: with start and end of each node. layers: with the layers behind it.

    Sorted, it has the longest first and a last row with the total. Every line ends in two spaces, as in TVM.
    width: the letters of a line, for which long names are shortened; None for as many as it needs.
    """
    total = sum(row.mean for row in rows if row.output == 1)
    header = [*_HEADER[:4], *(_TIMES if times else ()), *_HEADER[4:], *((_LAYERS,) if layers else ())]
    lines = [header, ["-" * len(name) for name in header]]
    for row in sorted(rows, key=lambda row: -row.mean) if sort_by_time else rows:
        share = row.mean / total * 100 if total else 0.0
        measured = str([round(seconds * 1e6, 3) for seconds in row.seconds])
        cells = [shown(row.node), shown(row.function), str(round(row.mean * 1e6, 3)), str(round(share, 3))]
        cells += [row.started, row.ended] if times else []
        cells += [str(row.shape), str(row.inputs), str(row.output), measured]
        lines.append([*cells, *([shown(", ".join(row.layers))] if layers else [])])
    if sort_by_time:
        lines.append(["Total_time", "-", str(round(total * 1e6, 3)), *["-"] * (len(header) - 3)])
    return _aligned(lines, (0, 1, len(header) - 1) if layers else (0, 1), width)


def layer_table(times: Mapping[str, float], estimated: Mapping[str, float], width: int | None = None) -> str:
    """Return a table of the microseconds of layers and the estimated part; a last row has the sums.

    width: as in `debug_table`.
    """
    total = sum(times.values())
    lines = [["Layer", "Time(us)", "Time(%)", "Estimated(us)"]]
    lines.append(["-" * len(name) for name in lines[0]])
    for layer, microseconds in times.items():
        share = microseconds / total * 100 if total else 0.0
        part = estimated.get(layer, 0.0)
        cells = [str(round(microseconds, 3)), str(round(share, 3)), str(round(part, 3)) if part else "-"]
        lines.append([shown(layer) or "no known layer", *cells])
    lines.append(["Total_time", str(round(total, 3)), "-", str(round(sum(estimated.values()), 3))])
    return _aligned(lines, (0,), width)


def _aligned(lines: Sequence[Sequence[str]], named: Sequence[int], width: int | None) -> str:
    """Align the cells of lines. named: the columns of names, which share the rest of `width`."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    if width is not None:
        room = width - sum(size + 2 for index, size in enumerate(widths) if index not in named)
        letters = max(room // len(named) - 2, _LEAST)
        lines = [[shortened(cell, letters) if k in named else cell for k, cell in enumerate(line)] for line in lines]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("".join(cell.ljust(width + 2) for cell, width in zip(line, widths, strict=True)) for line in lines)
