"""What the page asks of schedules is answered: loops and next primitives of a text, and what it brings."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest
from explorer_client import Client
from small_session import small_session

import whence
from whence import te
from whence.explorer.session.document import Session
from whence.explorer.session.schedules import film
from whence.exploring.schedules import measured_schedule, schedule_loops
from whence.exploring.warm import Warm
from whence.support.machine import Machine


def scheduled(session: Session) -> Session:
    """Give the last film of a session a schedule that can be built."""
    A, B = (te.placeholder((32, 32), name=name) for name in "AB")
    k = te.reduce_axis((0, 32), name="k")
    C = te.compute((32, 32), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C)
    s[C].split(C.op.axis[1], 16)
    session.schedules[0] = film(s, Machine.x86(512), 1, 0)
    return session


@pytest.fixture
def served(client: Client) -> Client:
    session = client.server.site.store.get(0).session
    scheduled(session)
    session.made_by.target, session.made_by.threads = "native", 1
    return client


def chosen(client: Client, call: str) -> tuple[str, Any]:
    """The text of the schedule with a primitive of the last frame appended."""
    (schedule, *_) = client.server.site.store.get(0).session.schedules
    primitive = next(each for each in schedule.frames[-1].next if each.call == call)
    return "\n".join([*schedule.text.split("\n")[:-1], *primitive.lines, "}"]), schedule


def test_details_of_a_text(served: Client):
    text, schedule = chosen(served, 's["C"].reorder(k, j.inner)')
    answer = served.ask("POST", "/schedule/loops", {"schedule": 0, "text": text})
    assert answer.status == 200
    assert any("tir.for %j.inner" in line for line in answer.json["tir"])
    answer = served.ask("POST", "/schedule/next", {"schedule": 0, "text": text})
    assert 's["C"].vectorize(j.inner)' in [primitive["call"] for primitive in answer.json["next"]]
    same = served.ask("POST", "/schedule/next", {"schedule": 0, "text": schedule.text}).json
    assert [primitive["call"] for primitive in same["next"]] == [each.call for each in schedule.frames[-1].next]


def test_a_text_is_measured_beside_the_default(served: Client):
    text, _ = chosen(served, 's["C"].reorder(k, j.inner)')
    answer = served.ask("POST", "/schedule/measure", {"schedule": 0, "text": text})
    assert answer.status == 200
    assert answer.json["equal"] is True
    assert 0 < answer.json["after"] < 10
    assert 0 < answer.json["before"] < 10


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"schedule": 9, "text": ""}, "number of a schedule"),
        ({"schedule": "0", "text": ""}, "number of a schedule"),
        ({"schedule": 0}, "expected a text"),
        ({"schedule": 0, "text": "te.func"}, "<schedule>:1:8"),
        ({"schedule": 0, "text": "", "session": 7}, "session"),
    ],
)
def test_what_is_no_schedule_is_refused_in_a_sentence(served: Client, body: dict[str, Any], words: str):
    for path in ("/schedule/loops", "/schedule/next"):
        answer = served.ask("POST", path, body)
        assert answer.status == 400
        assert words in answer.json["error"]


def test_a_process_says_what_is_wrong_with_a_schedule():
    session = scheduled(small_session())
    session.made_by.target = "native"
    text = session.schedules[0].text
    with closing(Warm()) as warm, pytest.raises(whence.WhenceError, match="expected a factor of at least 1, got 0"):
        measured_schedule(warm, session, 0, text.replace("factor 16", "factor 0"))
    other = text.replace("tensor<32x32xf32>", "tensor<32x16xf32>")
    with pytest.raises(whence.WhenceError, match="schedule: "):
        schedule_loops(session, 0, other)
    assert schedule_loops(session, 0, text)["error"] == ""
