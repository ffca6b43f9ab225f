"""An animated SVG of texts: lines that stay move to their new place, new ones fade in, and what is gone fades out.

Lines have identities. The animation is CSS without a script; a viewer without animations, and one whose user asks for
reduced motion, shows the last scene.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from ...support.names import shown

_HUES = ("#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7", "#6b6b6b")
"""The colours of layers, as the page has them."""
_HOLD, _MOVE = 2.0, 0.5
"""Seconds for which a scene stands, and before that for which lines move."""
_LINE, _LETTER, _TOP, _EDGE = 19, 7.83, 78, 14
"""Pixels: the height of a line, the width of a letter, the first line, and the margin."""
_LONGEST = 132
"""Letters of a line that are shown."""
_STYLE = """
svg{--back:#fff;--text:#16202a;--dim:#55616d;--line:#c9d0d6;--accent:#00629b;--tint:.13}
@media (prefers-color-scheme:dark){svg{--back:#14181c;--text:#e6eaee;--dim:#a3aeb9;--line:#3b444d;--accent:#6cb8ee}}
text{font:13px "DejaVu Sans Mono",ui-monospace,Menlo,Consolas,monospace;fill:var(--text);white-space:pre}
.title{font:600 15px system-ui,"DejaVu Sans",sans-serif}.scene{font:14px system-ui,"DejaVu Sans",sans-serif}
.about,.number{fill:var(--dim)}.about{font-size:11px}.back{fill:var(--back)}.tint{opacity:var(--tint)}
.strong text:first-of-type{font-weight:700}.track{fill:var(--line)}.done{fill:var(--accent)}
@media (prefers-reduced-motion:reduce){*{animation:none!important}}
"""


@dataclass(frozen=True)
class Line:
    """A line of a scene."""

    key: Hashable
    """Its identity in all scenes."""
    text: str
    colour: int = -1
    """The number of its colour; -1 for none."""
    about: str = ""
    """A remark on its right."""
    strong: bool = False


@dataclass(frozen=True)
class Scene:
    """A text as it is for a while."""

    title: str
    lines: Sequence[Line]
    came: Mapping[Hashable, Hashable] = field(default_factory=dict[Hashable, Hashable])
    """New line -> the line of the scene before that it comes out of."""
    went: Mapping[Hashable, Hashable] = field(default_factory=dict[Hashable, Hashable])
    """Line of the scene before that is gone -> the line that it goes into."""


@dataclass
class _Shown:
    """A line with one text, from the scene in which that appears on."""

    line: Line
    start: int
    begin: int
    """The row that it comes from."""
    rows: list[int] = field(default_factory=list[int])
    """Its row in each of its scenes."""
    end: int = -1
    """The row that it leaves for; -1 for a line that stays to the end."""


def animated(title: str, scenes: Sequence[Scene]) -> str:
    """Return the scenes, one after another and over again, as an SVG in its own colours, light or dark."""
    total = len(scenes) * (_HOLD + _MOVE)
    lines = [line for scene in scenes for line in scene.lines]
    letters = max([60, len(title), *(len(_cut(line.text)) + len(line.about) + 4 for line in lines)])
    width = round(letters * _LETTER + 2 * _EDGE + 40)
    height = _TOP + _LINE * max([1, *(len(scene.lines) for scene in scenes)]) + _EDGE
    style, parts = [_STYLE], list[str]()
    for number, shown_line in enumerate(_shown_lines(scenes)):
        parts.append(_line(shown_line, f"l{number}", len(scenes), width))
        style.append(_motion(shown_line, f"l{number}", len(scenes), total))
    for number, scene in enumerate(scenes):
        last = number == len(scenes) - 1
        parts.append(
            f'<text class="scene" id="s{number}" x="{_EDGE}" y="46"{"" if last else _HIDDEN}>{number + 1} of '
            f"{len(scenes)}: {_html(scene.title)}</text>"
        )
        begin, end = 100 * number / len(scenes), 100 * (number + 1) / len(scenes)
        steps = [(0, 1 if number == 0 else 0), (begin, 1), (100 if last else end, 1 if last else 0)]
        frames = "".join(f"{at:.3f}%{{opacity:{opacity}}}" for at, opacity in steps)
        style.append(_rule(f"s{number}", frames, total, "step-end"))
    style.append(_rule("done", "0%{transform:scaleX(0)}", total, "linear"))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            f'role="img" aria-label="{_html(title)}" xml:space="preserve"><title>{_html(title)}</title>',
            f"<style>{''.join(style)}</style>",
            f'<rect class="back" width="{width}" height="{height}"/>',
            f'<text class="title" x="{_EDGE}" y="24">{_html(title)}</text>',
            f'<rect class="track" x="{_EDGE}" y="56" width="{width - 2 * _EDGE}" height="3"/>',
            f'<g transform="translate({_EDGE} 0)"><rect class="done" id="done" y="56" width="{width - 2 * _EDGE}" '
            'height="3"/></g>',
            *parts,
            "</svg>",
            "",
        ]
    )


_HIDDEN = ' opacity="0"'


def _shown_lines(scenes: Sequence[Scene]) -> list[_Shown]:
    """Return the lines of all scenes; a line whose text changes is another one at the same place."""
    done: list[_Shown] = []
    now: dict[Hashable, _Shown] = {}
    before: dict[Hashable, int] = {}
    for number, scene in enumerate(scenes):
        rows = {line.key: row for row, line in enumerate(scene.lines)}
        for key in [key for key in now if key not in rows]:
            shown_line = now.pop(key)
            shown_line.end = rows.get(scene.went.get(key), shown_line.rows[-1])
            done.append(shown_line)
        for line in scene.lines:
            row, old = rows[line.key], now.get(line.key)
            if old is not None and old.line == line:
                old.rows.append(row)
                continue
            begin = before.get(line.key if old is not None else scene.came.get(line.key), row)
            if old is not None:
                old.end = row
                done.append(old)
            now[line.key] = _Shown(line, number, begin, [row])
        before = rows
    return [*done, *now.values()]


def _line(shown_line: _Shown, name: str, scenes: int, width: int) -> str:
    """A line as it is in the last scene."""
    line, row = shown_line.line, shown_line.rows[-1]
    hidden = _HIDDEN if shown_line.start + len(shown_line.rows) < scenes else ""
    strong = ' class="strong"' if line.strong else ""
    colour = _HUES[line.colour % len(_HUES)]
    boxes = (
        f'<rect class="tint" x="{_EDGE}" y="-14" width="{width - 2 * _EDGE}" height="{_LINE}" fill="{colour}"/>'
        f'<rect x="{_EDGE}" y="-14" width="5" height="{_LINE}" fill="{colour}"/>'
        if line.colour >= 0
        else ""
    )
    about = f'<text class="about" x="{width - _EDGE - 4}" text-anchor="end">{_html(line.about)}</text>'
    return (
        f'<g id="{name}" transform="translate(0 {_y(row)})"{hidden}><g{strong}>{boxes}<text x="{_EDGE + 14}">'
        f"{_html(_cut(line.text))}</text>{about if line.about else ''}</g></g>"
    )


def _motion(shown_line: _Shown, name: str, scenes: int, total: float) -> str:
    """The rule of an element: where it is and when; "" for one that never moves."""
    frames = list(_frames(shown_line, scenes))
    if len({state for _, state in frames}) == 1:
        return ""
    text = "".join(f"{100 * at / total:.3f}%{{{state}}}" for at, state in frames)
    return _rule(name, text, total, "ease-in-out")


def _frames(shown_line: _Shown, scenes: int) -> Iterator[tuple[float, str]]:
    """The moments at which an element begins or ends to move, and its state there."""
    step, start = _HOLD + _MOVE, shown_line.start
    last = first = _state(shown_line.rows[0], 1)
    if start:
        yield from ((0.0, _state(shown_line.begin, 0)), (start * step, _state(shown_line.begin, 0)))
        yield start * step + _MOVE, first
    else:
        yield 0.0, first
    for number, row in enumerate(shown_line.rows[1:], start + 1):
        if (state := _state(row, 1)) != last:
            yield from ((number * step, last), (number * step + _MOVE, state))
            last = state
    end = start + len(shown_line.rows)
    if end < scenes:
        gone = _state(shown_line.end, 0)
        yield from ((end * step, last), (end * step + _MOVE, gone))
        last = gone
    yield scenes * step, last


def _state(row: int, opacity: int) -> str:
    return f"transform:translateY({_y(row)}px);opacity:{opacity}"


def _rule(name: str, frames: str, total: float, timing: str) -> str:
    return f"#{name}{{animation:{name} {total:g}s {timing} infinite}}@keyframes {name}{{{frames}}}\n"


def _y(row: int) -> int:
    return _TOP + 14 + row * _LINE


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _html(text: str) -> str:
    return escape(shown(text))
