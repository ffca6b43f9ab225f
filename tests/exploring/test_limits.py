"""What a server takes has bounds, every request has an answer, and a file that was sent is whole or not there."""

from __future__ import annotations

import errno
import http.client
import socket
import time
from collections.abc import Generator
from contextlib import ExitStack, closing, contextmanager
from io import BytesIO
from pathlib import Path
from typing import cast

import pytest
from explorer_client import Client
from hostile_requests import answers
from small_session import small_session

from whence.exploring import connections, orders, store, uploads
from whence.exploring.connections import Connections
from whence.exploring.guard import Refusal
from whence.exploring.store import Store
from whence.exploring.uploads import Uploads


def test_hostile_requests_have_a_status_each(client: Client):
    codes = {number: code for number, _, code in answers(client, 0, 120)}
    assert [number for number, code in codes.items() if code in (0, 500)] == []
    assert {200, 400, 403, 404, 415} <= set(codes.values())


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"text": "\ud800"}, "half a letter"),
        ({"options": {"target": "a\0b"}}, "without NUL"),
        ({"options": {"target": "x" * 100_000}}, "at most 32768 letters"),
        ({"model": "x" * 5000}, "File name too long"),
        ({"pipeline": ",".join(["relay-legalize"] * 1001)}, "at most 1000 passes"),
        ({"pipeline": "x" * 100_000}, "at most 1000 passes in 32768 letters"),
    ],
)
def test_a_request_that_no_process_could_take_is_refused_with_the_reason(
    client: Client, body: dict[str, object], text: str
):
    answer = client.ask("POST", "/run", body)
    assert answer.status == 400
    assert text in answer.json["error"]
    assert client.server.site.jobs.current is None


def test_an_error_that_nobody_foresaw_is_an_answer(client: Client, monkeypatch: pytest.MonkeyPatch):
    def broken() -> None:
        raise RuntimeError("no list")

    monkeypatch.setattr(client.server.site.orders, "passes", broken)
    answer = client.ask("GET", "/passes")
    assert (answer.status, answer.json["error"]) == (500, "expected an answer, got RuntimeError: no list")


def test_the_body_of_a_request_that_takes_none_is_no_request(client: Client):
    inner = b"GET /nothing HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % client.port
    with socket.create_connection(("127.0.0.1", client.port), timeout=10) as connection:
        head = b"GET /app/main.js HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: %d\r\n\r\n" % (
            client.port,
            len(inner),
        )
        connection.sendall(head + inner)
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.count(b"HTTP/1.1 ") == 1


def test_a_schedule_may_be_as_long_as_the_one_of_the_session_and_some_lines(client: Client):
    for text in ("x\n" * 600, "x" * 1_000_000):
        answer = client.ask("POST", "/schedule/loops", {"schedule": 0, "text": text})
        assert answer.status == 413
        assert "lines" in answer.json["error"]


def test_requests_that_work_have_turns(client: Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(orders, "_PATIENCE", 0.01)
    turns = client.server.site.orders._turns  # pyright: ignore[reportPrivateUsage]
    with turns, turns:
        assert client.ask("GET", "/export/1/json").status == 503
        assert client.ask("POST", "/schedule/loops", {"schedule": 0, "text": "x"}).status == 503
    assert client.ask("GET", "/export/1/json").status == 200


# Files that are sent


class _Torn(BytesIO):
    """A stream that fails, or ends, after its data."""

    error: Exception | None = None

    def read(self, size: int | None = -1, /) -> bytes:
        if not (data := super().read(size)) and self.error is not None:
            raise self.error
        return data


@pytest.mark.parametrize(
    ("error", "expected"),
    [(None, Refusal), (OSError(errno.ENOSPC, "no space"), Refusal), (TimeoutError(), TimeoutError)],
)
def test_half_an_upload_does_not_stay(tmp_path: Path, error: Exception | None, expected: type[Exception]):
    sent, stream = Uploads(tmp_path), _Torn(b"half")
    stream.error = error
    with pytest.raises(expected):
        sent.take(stream, 8, "m.onnx")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(Refusal):
        sent.path(0)
    number = sent.take(BytesIO(b"all of it"), 9, "m.onnx")["upload"]
    assert sent.path(number).read_bytes() == b"all of it"


def test_a_full_disk_is_an_answer_and_leaves_no_model(client: Client, monkeypatch: pytest.MonkeyPatch):
    headers = {"Content_Type": "application/octet-stream", "X_Whence_Name": "m.onnx"}

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space")

    with monkeypatch.context() as patched:
        patched.setattr(uploads, "open", full, raising=False)
        assert client.ask("POST", "/upload", b"model", **headers).status == 507
    assert client.ask("POST", "/run", {"upload": 0}).status == 400


def test_all_uploads_and_texts_together_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(uploads, "MOST_BYTES", 10)
    sent = Uploads(tmp_path)
    sent.take(BytesIO(b"12345"), 5, "m.onnx")
    with pytest.raises(Refusal):
        sent.write("123456", ".relay")
    with pytest.raises(Refusal):  # it takes no room
        sent.take(BytesIO(b"1"), 5, "m.onnx")
    sent.write("12345", ".relay")
    monkeypatch.setattr(uploads, "MOST_FILES", 3)
    with pytest.raises(Refusal):
        sent.write("", ".relay")


# Sessions


def test_the_oldest_sessions_are_dropped_with_their_parts():
    kept = Store()
    for number in range(1, store.MOST + 4):
        assert kept.add(small_session(), None, "") == number
        kept.part(number, "head", 0)
    assert [each.number for each in kept.all()] == list(range(4, store.MOST + 4))
    assert {key[0] for key in kept._parts} == set(range(4, store.MOST + 4))  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(KeyError):
        kept.part(3, "head", 0)


def test_parts_are_packed_once_and_kept_up_to_a_number_of_bytes(monkeypatch: pytest.MonkeyPatch):
    kept = Store()
    kept.add(small_session(), None, "")
    head, *stages = [kept.part(1, "head", 0), *(kept.part(1, "stage", number) for number in range(4))]
    assert kept.part(1, "head", 0) is head
    monkeypatch.setattr(store, "MOST_BYTES", len(head) + len(stages[3]))
    packed = kept.part(1, "stage", 4)
    parts = kept._parts  # pyright: ignore[reportPrivateUsage]
    assert sum(map(len, parts.values())) <= store.MOST_BYTES
    assert parts[1, "stage", 4] is packed
    assert (1, "stage", 0) not in parts


# Connections


@contextmanager
def _connected(client: Client) -> Generator[http.client.HTTPConnection]:
    with closing(http.client.HTTPConnection("127.0.0.1", client.port, timeout=10)) as connection:
        connection.connect()
        yield connection


def _status(client: Client, connection: http.client.HTTPConnection) -> int:
    connection.request("GET", "/sessions", headers={"X-Whence-Token": client.server.guard.token})
    response = connection.getresponse()
    response.read()
    return response.status


def test_strangers_give_way_to_others_and_who_has_the_token_stays(client: Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connections, "STRANGERS", 3)
    with ExitStack() as stack:
        known = stack.enter_context(_connected(client))
        assert _status(client, known) == 200
        strangers = [stack.enter_context(_connected(client)) for _ in range(10)]
        assert client.ask("GET", "/sessions").status == 200
        assert cast("socket.socket", strangers[0].sock).recv(1) == b""
        assert _status(client, known) == 200


def test_without_room_there_is_an_answer_too(client: Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connections, "MOST", 2)
    with _connected(client) as first, _connected(client) as second:
        assert [_status(client, connection) for connection in (first, second)] == [200, 200]
        assert client.ask("GET", "/sessions").status == 503
    end = time.monotonic() + 10
    while len(client.server.connections) and time.monotonic() < end:
        time.sleep(0.01)
    assert client.ask("GET", "/sessions").status == 200


def test_strangers_are_counted_by_age():
    pairs = [socket.socketpair() for _ in range(connections.STRANGERS + 2)]
    ours = [pair[0] for pair in pairs]
    counted = Connections()
    for connection in ours[:-1]:
        assert counted.add(connection)
    assert len(counted) == connections.STRANGERS
    assert pairs[0][1].recv(1) == b""
    counted.trust(ours[1])
    assert counted.add(ours[-1])
    assert len(counted) == connections.STRANGERS + 1
    counted.remove(ours[1])
    counted.remove(ours[1])
    assert len(counted) == connections.STRANGERS
    for pair in pairs:
        for end in pair:
            end.close()
