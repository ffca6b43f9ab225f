"""A report of the gallery: where its model comes from, and what its tour shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import chdir
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from whence.explorer.peer import onnxruntime_times
from whence.explorer.session.document import Session
from whence.explorer.session.places import Step, with_tour
from whence.exploring.measuring import Wishes
from whence.exploring.record import record
from whence.te.schedule.schedule import Schedule

Steps = Callable[[Session], Sequence[Step]]
"""Makes the steps of a tour from what was recorded, as names and times depend on it."""

Model: TypeAlias = "Path | str | Mapping[str, Schedule]"
_TIMES = Wishes(seconds=1.0)


@dataclass(frozen=True)
class Entry:
    """A report, and its card."""

    name: str
    """The name of the file, without its ending."""
    title: str
    about: str
    """A sentence about the model."""
    make: Callable[[Path], Model]
    """Writes the model into a folder; returns its file, the name of a shipped one, or schedules by name."""
    question: str
    """The title of the tour."""
    steps: Steps
    inputs: Callable[[], Mapping[str, Any]] | None = None
    wishes: Wishes = _TIMES
    beside: bool = False
    """Measure onnxruntime, too."""


def recorded(entry: Entry, folder: Path) -> Session:
    """Return the session of an entry, with its tour; its model is written into a folder."""
    model = entry.make(folder)
    wishes = entry.wishes
    if entry.beside and isinstance(model, Path):
        wishes = replace(wishes, peer=partial(onnxruntime_times, model))
    inputs = entry.inputs() if entry.inputs is not None else None
    # As a user would call it, beside the model and its sources.
    with chdir(folder):
        session = record(model.name if isinstance(model, Path) else model, inputs, wishes)
    return with_tour(session, entry.question, entry.steps(session))
