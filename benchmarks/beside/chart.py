"""A chart of how networks compare: the time of the best peer divided by ours, as bars from 1 on.

    python benchmarks/beside/chart.py ROWS.json CHART.svg

ROWS.json is what `benchmarks/networks.py --json` wrote.
"""

from __future__ import annotations

import json
import sys
from html import escape
from math import ceil, floor, log2
from pathlib import Path
from statistics import geometric_mean
from typing import Any

Row = dict[str, Any]

_LABELS, _PLOT, _NUMBERS, _MARGIN = 170, 560, 44, 16
"""Widths of the columns of a chart, and what is left around them, in pixels."""
_BAR, _GAP, _HEAD, _TITLE = 9, 6, 26, 58
"""Heights: of a bar, between networks, of the name of a class, and above everything."""
_AHEAD, _BEHIND = ("#2b6cb0", "#63a4e0", "#9cc7ef"), ("#c05621", "#e38b52", "#f2b48c")
"""Colours of bars right and left of 1, by the number of threads."""
_STYLE = (
    "text{font:11px sans-serif;fill:#222}.small{font-size:9px}.title{font:bold 14px sans-serif}.head{font-weight:bold}"
)


_MOST = 2
"""The largest power of 2 that has room, lest one network leaves none to the others; longer bars are cut off."""


def _ticks(ratios: list[float]) -> list[float]:
    """Roots of powers of 2 around all ratios, as far as there is room."""
    low, high = floor(min(-0.5, *map(log2, ratios))), ceil(max(0.5, *map(log2, ratios)))
    return [2 ** (number / 2) for number in range(2 * max(low, -_MOST), 2 * min(high, _MOST) + 1)]


def chart(rows: list[Row], clock: str = "wall") -> str:
    """Return an SVG of the ratios of a clock, `wall` or `cpu`; networks in the order of the rows, class by class."""
    rows = [row for row in rows if clock in row]
    if not rows:
        raise SystemExit("a chart needs a network that we and a peer have run")
    threads = sorted({row["threads"] for row in rows})
    ticks = _ticks([row[clock] for row in rows])
    scale = _PLOT / log2(ticks[-1] / ticks[0])

    def x(ratio: float) -> float:
        return _MARGIN + _LABELS + scale * log2(min(max(ratio, ticks[0]), ticks[-1]) / ticks[0])

    marks, y = list[str](), float(_TITLE)
    for kind in dict.fromkeys(row["class"] for row in rows):
        of_kind = [row for row in rows if row["class"] == kind]
        means = ", ".join(
            f"{geometric_mean([row[clock] for row in of_kind if row['threads'] == count]):.2f} with {_counted(count)}"
            for count in threads
            if any(row["threads"] == count for row in of_kind)
        )
        y += _HEAD
        marks.append(_text(_MARGIN, y - 8, f"{kind}: {means}", "head"))
        for name in dict.fromkeys(row["network"] for row in of_kind):
            bars = sorted((row for row in of_kind if row["network"] == name), key=lambda row: row["threads"])
            marks.append(_text(_MARGIN, y + len(bars) * _BAR / 2 + 4, name))
            for row in bars:
                marks.append(_bar(x(1.0), x(row[clock]), y, row, row[clock], threads.index(row["threads"])))
                y += _BAR
            y += _GAP
    grid = [_line(x(tick), y, tick) for tick in ticks if tick != 1] + [_line(x(1.0), y, 1.0)]
    width, height = 2 * _MARGIN + _LABELS + _PLOT + _NUMBERS, y + _MARGIN
    title = "The time of the best peer divided by ours" + (", CPU time" if clock == "cpu" else "")
    said = "right of 1 we are faster; above each other: " + ", ".join(map(_counted, threads))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
            f'viewBox="0 0 {width:g} {height:g}">',
            f"<style>{_STYLE}</style>",
            '<rect width="100%" height="100%" fill="white"/>',
            _text(_MARGIN, _MARGIN + 8, title, "title"),
            _text(_MARGIN, _MARGIN + 24, said),
            *grid,
            *marks,
            "</svg>\n",
        ]
    )


def _counted(threads: int) -> str:
    return f"{threads} thread{'s' * (threads != 1)}"


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    of = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{of} text-anchor="{anchor}">{escape(text)}</text>'


def _line(x: float, bottom: float, tick: float) -> str:
    stroke = 'stroke="#222" stroke-width="1.5"' if tick == 1 else 'stroke="#ddd"'
    line = f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_TITLE}" y2="{bottom:.1f}" {stroke}/>'
    return line + _text(x, _TITLE - 4, f"{tick:.3g}", "small", "middle")


def _bar(origin: float, end: float, y: float, row: Row, ratio: float, shade: int) -> str:
    colours = _AHEAD if ratio >= 1 else _BEHIND
    left, width = min(origin, end), max(abs(end - origin), 0.5)
    label = f"{ratio:.2f}" + ("" if row.get("right", True) else " wrong")
    spot, anchor = (end + 3, "start") if ratio >= 1 else (end - 3, "end")
    fill = colours[min(shade, len(colours) - 1)]
    rect = f'<rect x="{left:.1f}" y="{y:.1f}" width="{width:.1f}" height="{_BAR - 1}" fill="{fill}"/>'
    return rect + _text(spot, y + _BAR - 2, label, "small", anchor)


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(chart(json.loads(Path(sys.argv[1]).read_text())))
