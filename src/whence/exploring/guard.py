"""Access control of the server: only this machine's own page, with the secret of this server, may send requests."""

from __future__ import annotations

import hmac
import json
import re
import secrets
from dataclasses import dataclass, field
from email.message import Message
from http.cookies import CookieError, SimpleCookie
from typing import cast

BODY_LIMIT = 16 << 20
"""The most bytes of a JSON body."""
LOGIN_LIMIT = 1 << 12
"""The most bytes of a JSON body of a client without the token."""
UPLOAD_LIMIT = 512 << 20
"""The most bytes of a model."""
TOKEN_HEADER = "X-Whence-Token"
_HALF = re.compile("[\ud800-\udfff]")
JSON, BYTES = "application/json", "application/octet-stream"


@dataclass(frozen=True)
class Refusal(Exception):
    """A request that is not answered as it wishes."""

    status: int
    reason: str
    more: dict[str, int] = field(default_factory=dict[str, int])
    """The text beside the reason."""


@dataclass(frozen=True)
class Guard:
    """The secret of a server and the addresses that are its own."""

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    version: str = field(default_factory=lambda: secrets.token_hex(4))
    """The identifier of this server's answers, because another server may have used the port before."""

    @property
    def _hosts(self) -> tuple[str, ...]:
        return f"127.0.0.1:{self.port}", f"localhost:{self.port}"

    @property
    def _cookie(self) -> str:
        """The name of the cookie; browsers share cookies among the ports of a host."""
        return f"whence-{self.port}"

    def check_host(self, headers: Message) -> None:
        """Refuse requests for another name: a page elsewhere may have had its own name point here."""
        if headers.get("Host") not in self._hosts:
            raise Refusal(403, f"expected the host {self._hosts[0]}")

    def check_origin(self, headers: Message) -> None:
        """Refuse requests that pages of other origins make."""
        origin = headers.get("Origin")
        if origin is not None and origin not in [f"http://{host}" for host in self._hosts]:
            raise Refusal(403, "expected a request of the page itself")
        if headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
            raise Refusal(403, "expected a request of the page itself")

    def check_known(self, headers: Message) -> None:
        """Refuse requests without the token, which a header or the cookie brings."""
        try:
            cookie = SimpleCookie(headers.get("Cookie", "")).get(self._cookie)
        except CookieError:
            cookie = None
        self.check_token(headers.get(TOKEN_HEADER) or (cookie.value if cookie is not None else ""))

    def check_token(self, text: object) -> None:
        """Refuse a wrong token."""
        if not isinstance(text, str) or not hmac.compare_digest(text.encode(), self.token.encode()):
            raise Refusal(403, "expected the token of the address that `whence explore` printed")

    def cookie(self) -> str:
        """Return the header with which a browser stores the token, hidden from scripts and other sites."""
        return f"{self._cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"


def length_of(headers: Message, kind: str, limit: int) -> int:
    """Return the length of a body; refuses one of another content type, of unknown length, or beyond a limit."""
    content = headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if content != kind:
        raise Refusal(415, f"expected {kind}")
    length = headers.get("Content-Length", "")
    if headers.get("Transfer-Encoding") is not None or not (length.isascii() and length.isdecimal()):
        raise Refusal(411, "expected the length of the body")
    if len(length) > len(str(limit)) or int(length) > limit:
        raise Refusal(413, f"expected at most {limit} bytes")
    return int(length)


def json_object(data: bytes) -> dict[str, object]:
    """Return the JSON object in some bytes; refuses anything else."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise Refusal(400, "expected a JSON object")
    return cast("dict[str, object]", value)


def body_object(data: bytes) -> dict[str, object]:
    """Return the JSON object of a body; refuses anything else, and text that no file and no process could have."""
    value = json_object(data)
    if b"\\u" in data and _HALF.search(json.dumps(value, ensure_ascii=False)):
        raise Refusal(400, "expected text in Unicode, got half a letter")
    return value
