"""The parts in which a page loads a session: the head at once, bodies of stages and films of schedules on demand."""

from __future__ import annotations

from typing import Any

from .document import DOCUMENT, Schedule, Session, Stage
from .verdicts import verdicts


def head(session: Session) -> str:
    """Return the document as JSON, with the verdicts on it as `verdicts`.

    The bodies of stages and the frames of schedules are null.
    """
    stages = [_without(stage, "body") for stage in session.stages]
    films = [_without(film, "frames") for film in session.schedules]
    return DOCUMENT.text({**vars(session), "stages": stages, "schedules": films, "verdicts": verdicts(session)})


def stage_part(stage: Stage) -> str:
    """Return the body of a stage as JSON."""
    return DOCUMENT.text(stage.body)


def schedule_part(schedule: Schedule) -> str:
    """Return the frames of a schedule as JSON."""
    return DOCUMENT.text(schedule.frames)


def _without(row: Stage | Schedule, name: str) -> dict[str, Any]:
    return {**vars(row), name: None}
