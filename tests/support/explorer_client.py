"""A server of the Explorer whose jobs are stand-ins, and a client of it."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import job_stand_in
from small_session import small_session

from whence.explorer.session.document import Session
from whence.exploring.jobs import Limits
from whence.exploring.request import Request
from whence.exploring.server import Server, running
from whence.exploring.site import new_site

_PATIENCE = 60.0


@dataclass
class Answer:
    """An answer of the server."""

    status: int
    headers: Mapping[str, str]
    data: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.data)


@dataclass
class Client:
    """Asks a server as a program would that has the token."""

    server: Server

    @property
    def port(self) -> int:
        return self.server.guard.port

    def ask(self, method: str, path: str, body: object = None, **headers: str | None) -> Answer:
        """Ask, with other headers where they are not None; a body that is no bytes is sent as JSON."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else None
        sent = {"X-Whence-Token": self.server.guard.token, **({"Content-Type": "application/json"} if data else {})}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}  # type: ignore[reportAssignmentType]
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        host = {name: value for name, value in sent.items() if name == "Host"}
        connection.putrequest(method, path, skip_host=bool(host), skip_accept_encoding=True)
        for name, value in sent.items():
            if value is not None:
                connection.putheader(name, value)
        if data is not None and "Content-Length" not in sent:
            connection.putheader("Content-Length", str(len(data)))
        connection.endheaders(data)
        response = connection.getresponse()
        answer = Answer(response.status, dict(response.headers), response.read())
        connection.close()
        return answer

    def events(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The states of the jobs, the present one first."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request("GET", "/events", headers={"X-Whence-Token": self.server.guard.token})
        response, name = connection.getresponse(), ""
        end = time.monotonic() + _PATIENCE
        try:
            while line := response.readline().decode().rstrip("\n") or " ":
                assert time.monotonic() < end, "expected the state that a test waits for"
                if line.startswith("event: "):
                    name = line.removeprefix("event: ")
                elif line.startswith("data: "):
                    yield name, cast("dict[str, Any]", json.loads(line.removeprefix("data: ")))
        finally:
            connection.close()

    def until(self, *names: str) -> tuple[str, dict[str, Any]]:
        """Wait for a state."""
        return next((name, state) for name, state in self.events() if name in names)


@contextmanager
def serving(
    folder: Path, model: str = "light_squeezenet", *, empty: bool = False, session: Session | None = None
) -> Generator[Client]:
    """Give a client of a server with one session, or none, of which jobs see this model: its name says what they do."""
    site = new_site([job_stand_in.__file__], folder, Limits(seconds=20))
    if not empty:
        site.store.add(session or small_session(), Request(model), "")
    server = Server(site)
    with running(server):
        yield Client(server)
