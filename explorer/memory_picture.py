"""The arena of a compiled model over time, as a picture: a bar for each thing that lies in it."""

from __future__ import annotations

from collections.abc import Sequence
from colorsys import hls_to_rgb
from html import escape
from zlib import crc32

from ..provenance.span import layer_names
from ..support.names import shortened, shown
from .memory import Life, MemoryReport
from .report import some

_WIDTH, _HEIGHT, _LEFT, _TOP, _BELOW = 1200, 560, 90, 40, 160
_LETTER, _LINE = 6.2, 12
"""Pixels of a letter and of a line of the small font."""
_STYLE = "text{font:11px sans-serif;fill:#222}.t{font-weight:bold;font-size:14px}.s{font-size:10px}.g{stroke:#ddd}"


def memory_svg(report: MemoryReport, title: str) -> str:
    """An SVG: calls from left to right, bytes of the arena from bottom to top, a bar per life with its layers, in the
    colour of the first; the line is what lives at each call. Whoever points at a bar sees all about it.
    """
    steps = max(len(report.calls), 1)
    arena = max(report.info.workspace_bytes, 1)
    across, up = (_WIDTH - _LEFT - 20) / steps, (_HEIGHT - _TOP - _BELOW) / arena
    bottom = _HEIGHT - _BELOW
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}"><style>{_STYLE}</style>',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
        f'<text class="t" x="{_LEFT}" y="22">{_text(title)}: arena of {_bytes(arena)} '
        f"over {len(report.calls)} kernel calls, {_bytes(report.info.peak_bytes)} live at the peak</text>",
    ]
    for quarter in range(5):
        y = bottom - quarter / 4 * arena * up
        parts.append(f'<line class="g" x1="{_LEFT}" x2="{_WIDTH - 20}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{_bytes(quarter * arena // 4)}</text>')
    parts += [_bar(life, across, up, bottom) for life in report.lives]
    points = [
        f"{_LEFT + (call + side) * across:.1f},{bottom - live * up:.1f}"
        for call, live in enumerate(report.live_bytes)
        for side in (0, 1)
    ]
    parts.append(f'<polyline points="{" ".join(points)}" fill="none" stroke="#000" stroke-width="1.5"/>')
    if report.peak_call >= 0:
        x = _LEFT + (report.peak_call + 0.5) * across
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{bottom}" stroke="#c00" stroke-dasharray="4 3"/>'
        )
        anchor = "end" if x > _WIDTH / 2 else "start"
        shift = -4 if anchor == "end" else 4
        parts.append(f'<text x="{x + shift:.1f}" y="{_TOP - 4}" text-anchor="{anchor}" fill="#c00">peak</text>')
    parts += _axis(report.calls, across, bottom)
    legend = "bars: what lies in the arena, by layer; grey: workspaces of kernels; line: bytes that live at each call"
    parts.append(f'<text class="s" x="{_WIDTH - 20}" y="{_HEIGHT - 6}" text-anchor="end">{legend}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _bar(life: Life, across: float, up: float, bottom: float) -> str:
    width, height = (life.last - life.first + 1) * across, max(life.bytes * up, 0.5)
    x, y = _LEFT + life.first * across, bottom - life.offset * up - height
    layers = some(layer_names(life.layers), 4) or "no known layer"
    about = (
        f"{layers}\n{life.kind} of {life.name}\n{life.bytes} bytes at {life.offset}, calls {life.first}..{life.last}"
    )
    shape = (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{_colour(life)}" '
        f'stroke="#fff" stroke-width="0.5"><title>{_text(about)}</title></rect>'
    )
    letters = int(width / _LETTER) - 1
    if height < _LINE or letters < 3:
        return shape
    label = shortened(layers, letters)
    return f'{shape}<text class="s" x="{x + 3:.1f}" y="{y + height / 2 + 4:.1f}">{_text(label)}</text>'


def _axis(calls: Sequence[str], across: float, bottom: float) -> list[str]:
    """The names of calls below, as many as there is room for."""
    every = max(1, -(-len(calls) * _LINE // max(int(across * len(calls)), 1)))
    parts: list[str] = []
    for number in range(0, len(calls), every):
        x = _LEFT + (number + 0.5) * across
        name = calls[number].removeprefix("tvmgen_default_fused_")
        label = f"{number} {name if len(name) <= 22 else name[:21] + '…'}"
        parts.append(
            f'<text class="s" text-anchor="end" transform="translate({x + 3:.1f},{bottom + 10}) rotate(-60)">'
            f"{_text(label)}</text>"
        )
    return parts


def _colour(life: Life) -> str:
    """Return the colour of a layer, always the same one; workspaces are grey."""
    if life.kind == "workspace":
        return "#c8c8c8"
    digest = crc32((layer_names(life.layers) or (life.name,))[0].encode())
    red, green, blue = hls_to_rgb(digest % 360 / 360, 0.72 + digest // 360 % 3 * 0.05, 0.55)
    return f"#{int(255 * red):02x}{int(255 * green):02x}{int(255 * blue):02x}"


def _bytes(size: int) -> str:
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} B"


def _text(text: str) -> str:
    return "\n".join(escape(shown(line)) for line in text.splitlines())
