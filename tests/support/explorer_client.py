"""A client of the Explorer's server."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from whence.exploring.server import Server


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
        try:
            while line := response.readline().decode().rstrip("\n") or " ":
                if line.startswith("event: "):
                    name = line.removeprefix("event: ")
                elif line.startswith("data: "):
                    yield name, cast("dict[str, Any]", json.loads(line.removeprefix("data: ")))
        finally:
            connection.close()

    def until(self, *names: str) -> tuple[str, dict[str, Any]]:
        """Wait for a state."""
        return next((name, state) for name, state in self.events() if name in names)
