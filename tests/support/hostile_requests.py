"""Hostile requests to a server of the Explorer: each is answered with a status, and none with 500.

    python tests/support/hostile_requests.py [--count 2000] [--seed 0]

Request k has seed SEED + k. Prints each that has no status or 500, and how many had which; the exit code is 1 when
there is one.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import socket
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from explorer_client import Client, serving

from whence.explorer.session.document import Session
from whence.exploring.request import Request

_STRINGS = (
    *("", "0", "x", "../../etc/passwd", "/", "C:\\x", "a\0b", "\0", "\ud800", "\udfff\ud800", "é\u202e", "\x1b[2J"),
    *("x" * 300, "x" * 5000, "a/" * 3000, "x" * 200_000, "light_squeezenet", "m.onnx", "relay-legalize", "--job=x"),
    *("relay-legalize," * 2000, "{" * 5000, '"' * 3001, "relay-fuse-ops{max-depth=" + "9" * 5000 + "}", ".relay"),
)
_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2**31, 2**63, -(2**63), 10**300, 0.5, -0.0, 1e308, float("nan"), float("inf")),
    *([], {}, [[]], [None], [True], {"": ""}, ["x"] * 3000, {"\ud800": "\0"}),
)
_PATHS = (
    *("/", "/login", "/sessions", "/session/head", "/session/stage/0", "/session/1/head", "/session/1/schedule/0"),
    *("/passes", "/run", "/run/1", "/schedule/loops", "/schedule/next", "/schedule/measure"),
    *("/upload", "/export/1/json"),
    *("/app/main.js", "/export/0/report", "/session/999999/stage/999999", "/session/stage/٣", "/%00", "//", "*"),
    *("/run?x=1", "/é"),
)
_TEXTS = (b"[" * 100_000, b'{"a":' * 50_000, b"null", b'"x"', b"{}}", b"\xff\xfe{}", b'{"a":1' + b"0" * 5000)
_MORE = (b"Cookie", b"Origin", b"If-None-Match", b"Accept-Encoding", b"Transfer-Encoding", b"Sec-Fetch-Site", b"Expect")
_KEYS = {
    "/login": ("token",),
    "/run": ("session", "pipeline", "model", "upload", "text", "suffix", "options", "more"),
    "/schedule/loops": ("session", "schedule", "text"),
    "/schedule/next": ("session", "schedule", "text"),
}
_OPTIONS = ("opt-level", "target", "passes", "seed", "no-times", "films", "input", "job", "-o", "")


def _value(rng: random.Random) -> Any:
    return rng.choice(_STRINGS) if rng.random() < 0.6 else rng.choice(_VALUES)


def _object(rng: random.Random, keys: tuple[str, ...]) -> dict[str, Any]:
    body = {key: _value(rng) for key in keys if rng.random() < 0.4}
    if "options" in body and rng.random() < 0.8:
        body["options"] = {rng.choice(_OPTIONS): _value(rng) for _ in range(3)}
    return body


def _body(rng: random.Random, path: str) -> bytes:
    match rng.randrange(6):
        case 0:
            return rng.randbytes(rng.choice((0, 1, 300, 70_000)))
        case 1:
            return rng.choice(
                (b"[" * 100_000, b'{"a":' * 50_000, b"null", b'"x"', b"{}}", b"\xff\xfe{}", b'{"a":1' + b"0" * 5000)
            )
        case _:
            return json.dumps(_object(rng, _KEYS.get(path, _KEYS["/run"]))).encode()


def _headers(rng: random.Random, client: Client, body: bytes) -> Iterator[tuple[bytes, bytes]]:
    odd = (b"", b"0", b"-1", b"x", b"9" * 400, b"\xff\x80", b"x" * 60_000, b"=;=;", b"a, b", b"\x00")
    host, token = f"127.0.0.1:{client.port}".encode(), client.server.guard.token.encode()
    usual = {
        b"Host": host,
        b"X-Whence-Token": token,
        b"Content-Type": rng.choice((b"application/json", b"application/octet-stream")),
        b"Content-Length": str(len(body)).encode(),
        b"X-Whence-Name": rng.choice((b"m.onnx", b"\xff.onnx", b"../m.tflite", b"x" * 5000 + b".relay", b"m.exe")),
    }
    for name, value in usual.items():
        if rng.random() < 0.98:
            yield name, rng.choice(odd) if rng.random() < 0.03 else value
    for _ in range(rng.choice((0,) * 8 + (1, 3, 200))):
        yield rng.choice(_MORE), rng.choice(odd)


def request(rng: random.Random, client: Client) -> bytes:
    """Return the bytes of a request; its answer ends with the connection."""
    path = rng.choice((*_PATHS, *_KEYS, *_KEYS))
    method = rng.choice(("GET",) * 4 + ("POST",) * 8 + ("DELETE", "PUT", "HEAD", "\x16\x03"))
    if rng.random() < 0.03:
        path = "/" + "x" * rng.choice((5000, 70_000))
    version = rng.choice(("HTTP/1.1",) * 12 + ("HTTP/1.0", "HTTP/0.9", "HTTP/2.0", "HTTP/x", "ICY", ""))
    body = _body(rng, path) if method != "GET" or rng.random() < 0.2 else b""
    lines = [f"{method} {path} {version}".rstrip().encode("utf-8", "surrogatepass")]
    lines += [name + b": " + value for name, value in _headers(rng, client, body)]
    return b"\r\n".join([*lines, b"Connection: close", b"", body])


def status(client: Client, data: bytes) -> int:
    """Send a request, and return the status of its answer; 0: none."""
    with socket.create_connection(("127.0.0.1", client.port), timeout=30) as connection:
        try:
            connection.sendall(data)
            # Who asks has said all.
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            # It is answered before it is read.
            pass
        answer = b""
        try:
            while len(answer) < 12 and (piece := connection.recv(65536)):
                answer += piece
        except ConnectionError:
            pass
    return int(answer[9:12]) if answer[:7] == b"HTTP/1." and answer[9:12].isdigit() else 0


def _start(request: Request, about: str, base: Session | None = None) -> int:
    """Begin no process, but refuse what could be none's arguments, as the system does."""
    assert all(b"\0" not in (word := os.fsencode(each)) and len(word) < 1 << 17 for each in request.words())
    return 1


def answers(client: Client, seed: int, count: int) -> Iterator[tuple[int, bytes, int]]:
    """Give the seed, the bytes and the status of requests."""
    client.server.site.jobs.start = _start
    for number in range(seed, seed + count):
        data = request(random.Random(f"request {number}"), client)
        yield number, data, status(client, data)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    counts: Counter[int] = Counter()
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as client:
        for number, data, code in answers(client, args.seed, args.count):
            counts[code] += 1
            if code in (0, 500):
                print(f"seed {number}: {code or 'no status'}: {data[:300]!r}", flush=True)
            if not (number - args.seed + 1) % 500:
                print(f"{number - args.seed + 1} requests", flush=True)
        assert client.ask("GET", "/session/head").status == 200
    print(", ".join(f"{code}: {number}" for code, number in sorted(counts.items())))
    return 1 if counts[0] or counts[500] else 0


if __name__ == "__main__":
    sys.exit(main())
