"""The view of a schedule: a film with a frame per primitive."""

from __future__ import annotations

from collections.abc import Iterator

from ....support.errors import PipelineError, expectation
from ....support.names import shown
from ...report import count, seconds, table
from ..document import Schedule, Session
from ..films import Cost, TreeStage
from ..text import applied
from .choice import Choice, kernel_of, missing


def schedule(session: Session, choice: Choice) -> str:
    """The film of a kernel's schedule, a frame per primitive; or of one frame, by `--stage`, the tree and the loops.

    Without a kernel: which kernels have films.
    """
    chosen = kernel_of(session, choice)
    films = [film for film in session.schedules if chosen in (-1, film.kernel)]
    if not films:
        raise missing(session, "schedules" if chosen < 0 else "a schedule of this kernel")
    if chosen < 0:
        rows = [(film.kernel, session.kernels[film.kernel].symbol, count(len(film.frames), "frame")) for film in films]
        return table(rows, ("", "kernel", "film"))
    (film, *_) = films
    if choice.stage is None:
        return "\n".join(line for number in range(len(film.frames)) for line in _short(film, number))
    last = len(film.frames) - 1
    if not choice.stage.isdecimal() or int(choice.stage) > last:
        raise PipelineError(expectation("--stage", f"a frame from 0 to {last}", repr(choice.stage)))
    return "\n".join(_long(film, int(choice.stage)))


def _short(film: Schedule, number: int) -> Iterator[str]:
    """A frame in a line, and what it changed below."""
    frame = film.frames[number]
    about = [shown(frame.at), _cost(frame.cost), frame.error and f"no loops: {shown(frame.error)}"]
    yield f"{number}: {shown(frame.primitive) or 'no primitive yet'}  {', '.join(filter(None, about))}".rstrip(" ,")
    for stage in (film.stages[row] for row in frame.tree):
        if stage.label in frame.changed:
            yield from tree_lines(stage, "  ")


def _long(film: Schedule, number: int) -> Iterator[str]:
    frame = film.frames[number]
    yield f"frame {number} of {len(film.frames) - 1}: {shown(frame.primitive) or 'no primitive yet'}"
    yield from (f"  {key}: {text}" for key, text in (("at", shown(frame.at)), ("estimate", _cost(frame.cost))) if text)
    for stage in (film.stages[row] for row in frame.tree):
        yield from tree_lines(stage, "  ", " (changed)" if stage.label in frame.changed else "")
    if frame.error:
        yield f"no loops: {shown(frame.error)}"
    else:
        lines: list[str] = []
        for earlier in film.frames[: number + 1]:
            lines = applied(earlier.tir, lines)
        yield from ("loops", *(f"  {shown(line)}" for line in lines))
    if frame.next:
        rows = [(each.call, _cost(each.cost)) for each in frame.next]
        yield f"{count(len(rows), 'primitive')} may follow\n{table(rows)}"


def tree_lines(stage: TreeStage, indent: str, mark: str = "") -> Iterator[str]:
    """The lines of a stage in a tree: its place, and its loops below.

    mark: what the first line ends with.
    """
    where = ", ".join(filter(None, (stage.place, stage.scope, stage.storage)))
    yield f"{indent}{shown(stage.label)}: {shown(where)}{mark}"
    for loop in stage.loops:
        notes = [loop.kind if loop.kind != "serial" else "", "reduced" if loop.reduce else "", *loop.notes]
        about = ", ".join(shown(note) for note in notes if note)
        loops = f"{'  ' * (loop.depth + 1)}for {shown(loop.name)} in {shown(loop.extent)}"
        yield f"{indent}{loops}{f'  # {about}' if about else ''}"


def _cost(cost: Cost | None) -> str:
    return f"{seconds(cost.seconds)}, {cost.flops} FLOPs, {cost.bytes} bytes" if cost is not None else ""
