"""A session in parts: the head without texts, and texts on demand."""

from __future__ import annotations

import json
from dataclasses import asdict

from small_session import small_session

from whence.explorer.session.document import DOCUMENT
from whence.explorer.session.parts import head, schedule_part, stage_part
from whence.explorer.session.verdicts import verdicts


def test_the_parts_are_the_document():
    session = small_session()
    document = json.loads(head(session))
    assert [stage["body"] for stage in document["stages"]] == [None] * len(session.stages)
    assert [film["frames"] for film in document["schedules"]] == [None]
    for row, stage in zip(document["stages"], session.stages, strict=True):
        row["body"] = json.loads(stage_part(stage))
    for row, film in zip(document["schedules"], session.schedules, strict=True):
        row["frames"] = json.loads(schedule_part(film))
    assert document.pop("verdicts") == json.loads(DOCUMENT.text(verdicts(session)))
    assert document == json.loads(json.dumps(asdict(session)))
