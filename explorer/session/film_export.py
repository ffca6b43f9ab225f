"""Films as files: a layer's way through the passes, or a kernel's schedule, as an animated SVG."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count as numbers

from ...support.errors import PipelineError, expectation
from ..report import count, seconds
from .animation import Line, Scene, animated
from .difference import line_keys
from .document import Schedule, Session
from .text import calls_of, column, layers_of_lines, text_of_stage
from .views.choice import Choice, kernel_of, layer_of, missing, names_of, rows_of
from .views.film import tree_lines

_VALUE = re.compile(r"%[\w.]+")
_MOST = 44
"""The most lines of a scene."""


def film_svg(session: Session, choice: Choice) -> str:
    """Return the way of `choice.layer` through the passes of a level, relay by default, or of the whole program.

    With a kernel and neither layer nor level: the film of its schedule. Raises PipelineError for a layer that no line
    of the level serves, and for a kernel without a film.
    """
    if choice.kernel is not None and choice.layer is None and choice.level is None:
        kernel = kernel_of(session, choice)
        film = next((film for film in session.schedules if film.kernel == kernel), None)
        if film is None:
            raise missing(session, "a schedule of this kernel")
        return animated(f"{session.made_by.model}: the schedule of {session.kernels[kernel].symbol}", _frames(film))
    about = "the program" if choice.layer is None else session.layers.name[layer_of(session, choice)]
    return animated(f"{session.made_by.model}: {about} through the passes", _ways(session, choice))


def _ways(session: Session, choice: Choice) -> list[Scene]:
    """Return a scene for each stage in which the lines of the layer, and of what it merges with, changed."""
    rows = frozenset[int]() if choice.layer is None else rows_of(session, layer_of(session, choice))
    stages = _stages(session, choice, rows)
    ops = _ops(session, stages, rows)
    colours: dict[int, int] = {}
    scenes: list[Scene] = []
    passed: list[int] = []
    for stage in stages:
        passed.append(stage)
        lines = _lines(session, stage, rows, ops, colours)
        if not lines or (scenes and lines == scenes[-1].lines):
            continue
        made, used = _traces(session, passed)
        before = {line.key for line in scenes[-1].lines} if scenes else set[Hashable]()
        after = {line.key for line in lines}
        came = {key: source for key in after - before if (source := _reached(key, made, before)) is not None}
        went = {key: target for key in before - after if (target := _reached(key, used, after)) is not None}
        scenes.append(Scene(session.stages[stage].name, lines, came, went))
        passed = []
    if not scenes:
        name = repr(choice.layer) if choice.layer is not None else "none"
        raise PipelineError(expectation("--layer", f"a layer of lines of {choice.level or 'relay'}", name))
    return scenes


def _stages(session: Session, choice: Choice, rows: frozenset[int]) -> list[int]:
    """Return the stages of the level: of one program, or of the kernel in which the layer does most."""
    level = choice.level or "relay"
    kernel = kernel_of(session, choice)
    if kernel < 0 and not any(stage.level == level and stage.kernel < 0 for stage in session.stages):
        calls = [call for call in session.calls if not rows or rows & set(session.sets[call.set])]
        spent = {
            number: taken
            for times in session.times
            for number, taken in zip(calls_of(session, times.program), times.calls, strict=True)
        }
        work = {call.kernel: (spent.get(number, 0.0), call.flops) for number, call in enumerate(session.calls)}
        kernel = max((call.kernel for call in calls), key=work.__getitem__, default=-1)
    stages = [n for n, stage in enumerate(session.stages) if stage.level == level and stage.kernel == kernel]
    if rows:
        serving = (n for n in stages if any(rows & set(served) for served in layers_of_lines(session, n)))
        program = next((session.stages[n].program for n in serving), None)
    else:
        program = session.stages[stages[0]].program if stages else None
    stages = [n for n in stages if session.stages[n].program == program]
    if not stages:
        raise missing(session, f"stages of {level}" + (" that serve the layer" if rows else ""))
    return stages


def _ops(session: Session, stages: Iterable[int], rows: frozenset[int]) -> set[int]:
    """Return the ops that ever serve the layer, those that one of these was made of, and, in relay, all next to them.

    Relay names values alike in all stages, so the ops that make and read the layer's values are found by their names.
    """
    ops: set[int] = set()
    near: set[int] = set()
    for stage in stages:
        texts, of_line = text_of_stage(session, stage), column(session.stages[stage].body.ops)
        own = [bool(rows & set(served)) for served in layers_of_lines(session, stage)]
        ops |= {op for op, serves in zip(of_line, own, strict=True) if serves and op >= 0}
        if session.stages[stage].level != "relay":
            continue
        names = [_VALUE.findall(text.partition(" : ")[0]) for text in texts]
        makers = {text.partition(" = ")[0].strip(): line for line, text in enumerate(texts) if " = " in text}
        for line, used in enumerate(names):
            for maker in {makers[name] for name in used if name in makers}:
                if own[line] != own[maker]:
                    near.add(of_line[maker if own[line] else line])
    merged = zip(session.events.sources, session.events.targets, strict=True)
    return (ops | near - {-1}).union(*(sources for sources, targets in merged if not ops.isdisjoint(targets)))


def _lines(session: Session, stage: int, rows: frozenset[int], ops: set[int], colours: dict[int, int]) -> list[Line]:
    texts, of_line = text_of_stage(session, stage), column(session.stages[stage].body.ops)
    serving = layers_of_lines(session, stage)
    lines: list[Line] = []
    for key, number in line_keys(texts, of_line).items():
        if rows and of_line[number] not in ops:
            continue
        own = [row for row in serving[number] if row in rows]
        colour = -1
        if serving[number]:
            colour = colours.setdefault(own[0] if own else serving[number][0], len(colours))
        lines.append(Line(key, texts[number], colour, names_of(session, serving[number], 2), bool(own)))
    if len(lines) > _MOST:
        more = Line("more", f"⋯ {count(len(lines) - _MOST + 1, 'more line')}")
        lines = [*lines[: _MOST - 1], more]
    margin = min((len(line.text) - len(line.text.lstrip()) for line in lines), default=0)
    return [line if line.key == "more" else replace(line, text=line.text[margin:]) for line in lines]


Steps = Mapping[int, Sequence[int]]


def _traces(session: Session, stages: Sequence[int]) -> tuple[Steps, Steps]:
    """Return for ops what they were made of, and what was made of them, by the passes that ended at stages."""
    made: dict[int, Sequence[int]] = {}
    used: dict[int, Sequence[int]] = {}
    events = session.events
    for run, sources, targets in zip(events.run, events.sources, events.targets, strict=True):
        if run >= 0 and session.passes[run].changed and session.passes[run].stage in stages:
            made |= dict.fromkeys(targets, sources)
            used |= dict.fromkeys(sources, targets)
    return made, used


def _reached(key: Hashable, steps: Steps, keys: set[Hashable]) -> Hashable | None:
    """Return the key of the nearest op of `keys`, over ops that no scene shows."""
    if not (isinstance(key, tuple) and isinstance(key[0], int)):
        return None
    waiting = [key[0]]
    for op in waiting:
        if op != key[0] and (op, 0) in keys:
            return op, 0
        waiting += [step for step in steps.get(op, ()) if step not in waiting]
    return None


def _frames(film: Schedule) -> list[Scene]:
    """Return a scene for each frame: the tree of stages, and the loops below it."""
    fresh = numbers()
    loops: list[tuple[int, str]] = []
    colours: dict[str, int] = {}
    scenes: list[Scene] = []
    for frame in film.frames:
        before = dict(loops)
        for first, removed, texts in frame.tir:
            loops[first : first + removed] = [(next(fresh), text) for text in texts]
        loops = _matched(before, loops)
        lines: list[Line] = []
        for stage in (film.stages[row] for row in frame.tree):
            colour = colours.setdefault(stage.label, len(colours))
            texts = list(tree_lines(stage, ""))
            for (_, nth), number in line_keys([text.split("  #")[0] for text in texts], [-1] * len(texts)).items():
                key = (stage.label, texts[number].split("  #")[0] if number else "", nth)
                lines.append(Line(key, texts[number], colour, "", stage.label in frame.changed))
        lines += [Line("gap", ""), *(Line(number, text) for number, text in loops[:_MOST])]
        if len(loops) > _MOST:
            lines.append(Line("more", f"⋯ {count(len(loops) - _MOST, 'more line')}"))
        cost = f", estimated {seconds(frame.cost.seconds)}" if frame.cost is not None else ""
        title = f"{frame.primitive or 'before any primitive'}{cost}{f', {frame.at}' if frame.at else ''}"
        scenes.append(Scene(title, lines))
    return scenes


def _matched(before: Mapping[int, str], loops: Iterable[tuple[int, str]]) -> list[tuple[int, str]]:
    """Return loops in which a new line has the number of a gone one that says the same, as one in another loop does."""
    loops = list(loops)
    gone: defaultdict[str, list[int]] = defaultdict(list)
    for number in reversed([*(before.keys() - dict(loops).keys())]):
        gone[before[number].strip()].append(number)
    return [
        (gone[text.strip()].pop() if number not in before and gone.get(text.strip()) else number, text)
        for number, text in loops
    ]
