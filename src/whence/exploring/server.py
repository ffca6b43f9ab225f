"""The server of the Explorer: this machine only, every path in a table, every request checked before it is answered."""

from __future__ import annotations

import gzip
import json
import re
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from whence.exploring.connections import Connections
from whence.exploring.guard import (
    BODY_LIMIT,
    BYTES,
    JSON,
    LOGIN_LIMIT,
    UPLOAD_LIMIT,
    Guard,
    Refusal,
    body_object,
    length_of,
)
from whence.exploring.site import Site
from whence.support.supervising import reason, supervised

_HEARTBEAT = 15.0
_LINGER = 0.5
"""Seconds in which another piece of an unread body has to come."""
_SAFE = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class Server(ThreadingHTTPServer):
    """A server of one site on a port of this machine."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    """Connections that wait for the thread that accepts them."""

    def __init__(self, site: Site, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.site = site
        self.guard = Guard(self.server_address[1])
        self.connections = Connections()
        self.stopped = threading.Event()
        """Set when the server has stopped answering."""
        self.failure = ""
        """The reason, where that is an error."""

    @property
    def address(self) -> str:
        """The address to open, with the token after the `#`, which browsers do not send."""
        return f"http://127.0.0.1:{self.server_address[1]}/#token={self.guard.token}"

    def ended(self, error: BaseException | None) -> None:
        """Release the threads that wait for the end of this server."""
        self.failure = reason(error) if error is not None else ""
        self.stopped.set()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection in a thread of its own, or that there is no room for it."""
        if self.connections.add(request):
            super().process_request(request, client_address)
            return
        with suppress(OSError):
            request.sendall(_NO_ROOM)
        self.shutdown_request(request)

    def shutdown_request(self, request: Any) -> None:
        self.connections.remove(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of connections that the other side gave up."""


@contextmanager
def running(server: Server) -> Generator[None]:
    """A scope in which a server answers; after it the jobs are ended, too."""
    thread = supervised(partial(server.serve_forever, 0.1), server.ended)
    try:
        yield
    finally:
        server.site.jobs.close()
        server.site.feed.close()
        server.shutdown()
        server.server_close()
        thread.join()


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server_version, sys_version = "Whence", ""
    timeout = 60
    server: Server  # pyright: ignore[reportIncompatibleVariableOverride]

    _begun = False
    """True once an answer has begun."""
    _refused = False
    """True once a request is refused, whose body may be unread."""

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing, so that the terminal stays clean."""

    def do_GET(self) -> None:
        self._answer("GET")

    def do_POST(self) -> None:
        self._answer("POST")

    def do_DELETE(self) -> None:
        self._answer("DELETE")

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer a request that cannot be read, as all others are answered."""
        self._refuse(Refusal(code, message or HTTPStatus(code).phrase))

    def send_response(self, code: int, message: str | None = None) -> None:
        self._begun = True
        # To requests of 0.9 an answer would have no status.
        self.request_version = self.protocol_version
        super().send_response(code, message)

    def finish(self) -> None:
        """End the connection, after reading the body for a moment, as the system would otherwise drop the answer."""
        super().finish()
        if self._refused:
            with suppress(OSError):
                self.connection.shutdown(socket.SHUT_WR)
                self.connection.settimeout(_LINGER)
                left = BODY_LIMIT
                while left > 0 and (data := self.connection.recv(1 << 16)):
                    left -= len(data)

    def _answer(self, method: str) -> None:
        """Answer a request; an unexpected error has an answer, too."""
        self._begun = False
        if method != "POST" and (self.headers.get("Content-Length") or self.headers.get("Transfer-Encoding")):
            # A body that nobody reads is no request.
            self.close_connection = True
        try:
            self._route(method, self.path.partition("?")[0])
        except Refusal as refusal:
            self._refuse(refusal)
        except TimeoutError:
            self._refuse(Refusal(408, "expected the whole body in time"))
        except ConnectionError:
            self.close_connection = True
        except Exception as error:
            self._refuse(Refusal(500, f"expected an answer, got {reason(error)}"))

    def _route(self, method: str, path: str) -> None:
        self.server.guard.check_host(self.headers)
        self.server.guard.check_origin(self.headers)
        if method == "GET" and (file := self.server.site.page.files.get(path)) is not None:
            self._send(file.text.encode(), file.kind, tag=str(hash(file)))
            return
        for verb, pattern, handle in _ROUTES:
            if verb == method and (match := re.fullmatch(pattern, path, re.ASCII)):
                if handle is not Handler.login:
                    self.server.guard.check_known(self.headers)
                    self.server.connections.trust(self.connection)
                handle(self, *match.groups())
                return
        raise Refusal(404, "expected a path of this server")

    def _refuse(self, refusal: Refusal) -> None:
        self.close_connection = self._refused = True
        if not self._begun:
            with suppress(OSError):
                self._send_json({"error": refusal.reason, **refusal.more}, refusal.status)

    # Answers

    def login(self) -> None:
        self.server.guard.check_token(self._json_body(LOGIN_LIMIT).get("token"))
        self._send(b"{}", JSON, more={"Set-Cookie": self.server.guard.cookie()})

    def sessions(self) -> None:
        self._send_json(self.server.site.orders.sessions())

    def part(self, number: str, kind: str, index: str | None = None) -> None:
        try:
            session = self.server.site.store.get(int(number)).number
            packed = self.server.site.store.part(session, kind, int(index or 0))
        except LookupError:
            raise Refusal(404, "expected a part of a session that is kept") from None
        self._send(packed, JSON, tag=f"{session}-{kind}-{index}", packed=True)

    def head(self) -> None:
        self.part("0", "head")

    def last_part(self, kind: str, index: str) -> None:
        self.part("0", kind, index)

    def passes(self) -> None:
        self._send_json(self.server.site.orders.passes())

    def events(self) -> None:
        self.send_response(HTTPStatus.OK)
        self._headers({"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
        self.close_connection = True
        for event in self.server.site.feed.listen(_HEARTBEAT):
            self.wfile.write(event)

    def run(self) -> None:
        self._send_json(self.server.site.orders.run(self._json_body()), 202)

    def schedule(self, what: str) -> None:
        orders = self.server.site.orders
        answers = {"loops": orders.schedule_loops, "next": orders.schedule_next, "measure": orders.measure_schedule}
        self._send_json(answers[what](self._json_body()))

    def cancel(self, number: str) -> None:
        self.server.site.jobs.cancel(int(number))
        self._send_json({})

    def upload(self) -> None:
        length = length_of(self.headers, BYTES, UPLOAD_LIMIT)
        self._send_json(self.server.site.uploads.take(self.rfile, length, self.headers.get("X-Whence-Name", "")), 201)

    def export(self, number: str, kind: str) -> None:
        name, data = self.server.site.orders.export(int(number), kind)
        self._send(data, BYTES, more={"Content-Disposition": f'attachment; filename="{name}"'})

    # Reading and writing

    def _json_body(self, limit: int = BODY_LIMIT) -> dict[str, object]:
        length = length_of(self.headers, JSON, limit)
        data = self.rfile.read(length)
        if len(data) < length:
            raise Refusal(400, "expected the whole body")
        return body_object(data)

    def _send_json(self, value: object, status: int = 200) -> None:
        self._send(json.dumps(value).encode(), JSON, status)

    def _send(
        self,
        data: bytes,
        kind: str,
        status: int = 200,
        *,
        tag: str = "",
        packed: bool = False,
        more: dict[str, str] | None = None,
    ) -> None:
        """Answer with data, which is in gzip already if it is packed; tag: it changes with the data."""
        headers = {"Content-Type": kind, "Cache-Control": "no-cache" if tag else "no-store", **(more or {})}
        if tag:
            headers["ETag"] = f'"{self.server.guard.version}-{tag}"'
            if self.headers.get("If-None-Match") == headers["ETag"]:
                self.send_response(HTTPStatus.NOT_MODIFIED)
                self._headers(headers)
                return
        if packed and "gzip" in self.headers.get("Accept-Encoding", ""):
            headers["Content-Encoding"] = "gzip"
        elif packed:
            data = gzip.decompress(data)
        self.send_response(status)
        self._headers({**headers, "Content-Length": str(len(data))})
        self.wfile.write(data)

    def _headers(self, headers: dict[str, str]) -> None:
        policy = {"Content-Security-Policy": self.server.site.page.policy}
        for name, value in {**headers, **_SAFE, **policy}.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()


_NO_ROOM = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_NUMBER = r"(\d{1,6})"
_ROUTES: tuple[tuple[str, str, Callable[..., None]], ...] = (
    ("POST", "/login", Handler.login),
    ("GET", "/sessions", Handler.sessions),
    ("GET", "/session/head", Handler.head),
    ("GET", f"/session/(stage|schedule)/{_NUMBER}", Handler.last_part),
    ("GET", f"/session/{_NUMBER}/(head|tables)", Handler.part),
    ("GET", f"/session/{_NUMBER}/(stage|schedule)/{_NUMBER}", Handler.part),
    ("GET", "/passes", Handler.passes),
    ("GET", "/events", Handler.events),
    ("POST", "/run", Handler.run),
    ("DELETE", f"/run/{_NUMBER}", Handler.cancel),
    ("POST", "/schedule/(loops|next|measure)", Handler.schedule),
    ("POST", "/upload", Handler.upload),
    ("GET", f"/export/{_NUMBER}/([a-z-]+)", Handler.export),
)
"""Method, path, answer; all but the first ask for the token."""
