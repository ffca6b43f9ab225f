"""The parts in which a page loads a session: the head at once, bodies of stages and films of schedules on demand."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

from .document import Schedule, Session, Stage


def head(session: Session) -> str:
    """Return the document as JSON, without the bodies of stages and the frames of schedules, which are null."""
    stages = [_without(stage, "body") for stage in session.stages]
    films = [_without(film, "frames") for film in session.schedules]
    return _json({**_fields(session), "stages": stages, "schedules": films})


def stage_part(stage: Stage) -> str:
    """Return the body of a stage as JSON."""
    return _json(stage.body)


def schedule_part(schedule: Schedule) -> str:
    """Return the frames of a schedule as JSON."""
    return _json(schedule.frames)


def _without(row: Stage | Schedule, name: str) -> dict[str, Any]:
    return {**_fields(row), name: None}


def _fields(row: Any) -> dict[str, Any]:
    return {field.name: getattr(row, field.name) for field in fields(row)}


def _json(value: Any) -> str:
    """Return JSON in ASCII: dataclasses are objects; equal values give equal texts."""
    return json.dumps(value, default=_fields, separators=(",", ":"), allow_nan=False)
