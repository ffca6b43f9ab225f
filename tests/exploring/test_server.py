"""The server answers its own page, and nobody else."""

from __future__ import annotations

import gzip
import http.client
import json
import re
from dataclasses import replace

import pytest
from explorer_client import Client
from small_session import small_session

from whence.explorer.session.parts import head, stage_part
from whence.explorer.session.query.part import tables_part
from whence.exploring.guard import BODY_LIMIT, UPLOAD_LIMIT


def test_the_page_and_its_files_come_out_of_a_table(client: Client):
    page = client.ask("GET", "/", X_Whence_Token=None)
    assert (page.status, page.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    for path in re.findall(r'(?:src|href)="(/[^"]+)"', page.data.decode()):
        assert client.ask("GET", path, X_Whence_Token=None).status == 200
    imports = json.loads(re.findall(r'<script type="importmap">(.*?)</script>', page.data.decode())[0])["imports"]
    assert client.ask("GET", imports["whence/main"]).headers["Content-Type"] == "text/javascript; charset=utf-8"
    for path in ("/app/", "/app", "/app/../x", "/app/%2e%2e/x", "/app//main.js", "/etc/passwd", "/app/types.d.ts"):
        assert client.ask("GET", path).status == 404, path


def test_every_answer_forbids_what_a_page_could_be_made_to_do(client: Client):
    for path in ("/", "/app/main.js", "/session/head", "/nothing"):
        headers = client.ask("GET", path).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'self' 'sha256-")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *(("GET", path) for path in ("/session/head", "/session/stage/0", "/sessions", "/events", "/passes")),
        *(("GET", "/export/1/json"), ("POST", "/run"), ("POST", "/upload"), ("DELETE", "/run/1")),
        *(("POST", "/schedule/loops"), ("POST", "/schedule/next"), ("POST", "/schedule/measure")),
    ],
)
def test_without_the_token_there_is_nothing(client: Client, method: str, path: str):
    for headers in ({"X_Whence_Token": None}, {"X_Whence_Token": "x" * 43}, {"X_Whence_Token": "é"}):
        headers = {name: value and value.encode().decode("latin-1") for name, value in headers.items()}
        assert client.ask(method, path, {} if method == "POST" else None, **headers).status == 403
    cookie = f"whence-{client.port}={'x' * 43}"
    assert client.ask(method, path, {} if method == "POST" else None, X_Whence_Token=None, Cookie=cookie).status == 403


def test_the_token_is_exchanged_for_a_cookie_that_scripts_and_other_sites_cannot_use(client: Client):
    assert client.ask("POST", "/login", {"token": "wrong"}, X_Whence_Token=None).status == 403
    assert client.ask("POST", "/login", {"token": 1}, X_Whence_Token=None).status == 403
    answer = client.ask("POST", "/login", {"token": client.server.guard.token}, X_Whence_Token=None)
    cookie = answer.headers["Set-Cookie"]
    assert cookie.endswith("; Path=/; HttpOnly; SameSite=Strict")
    assert client.ask("GET", "/sessions", X_Whence_Token=None, Cookie=cookie.partition(";")[0]).status == 200


@pytest.mark.parametrize(
    "host", ["evil.test", "evil.test:{port}", "127.0.0.1", "localhost:1", "127.0.0.1.evil.test:{port}"]
)
def test_other_names_of_this_machine_are_refused(client: Client, host: str):
    for method, path in (("GET", "/"), ("GET", "/session/head"), ("POST", "/run")):
        body: object = {} if method == "POST" else None
        assert client.ask(method, path, body, Host=host.format(port=client.port)).status == 403
    assert client.ask("GET", "/session/head", Host=f"localhost:{client.port}").status == 200


@pytest.mark.parametrize("origin", ["http://evil.test", "null", "http://127.0.0.1:1", "https://127.0.0.1:{port}"])
def test_other_origins_are_refused(client: Client, origin: str):
    for method, path in (("POST", "/run"), ("POST", "/upload"), ("DELETE", "/run/1"), ("GET", "/session/head")):
        body: object = {} if method == "POST" else None
        assert client.ask(method, path, body, Origin=origin.format(port=client.port)).status == 403
    assert client.ask("GET", "/session/head", Origin=f"http://127.0.0.1:{client.port}").status == 200
    assert client.ask("GET", "/session/head", Sec_Fetch_Site="cross-site").status == 403
    assert client.ask("GET", "/session/head", Sec_Fetch_Site="same-site").status == 403


def test_bodies_have_a_type_a_length_and_a_limit(client: Client):
    assert client.ask("POST", "/run", {}, Content_Type="text/plain").status == 415
    assert client.ask("POST", "/run", {}, Content_Type=None).status == 415
    assert client.ask("POST", "/upload", b"x", Content_Type="text/plain", X_Whence_Name="a.onnx").status == 415
    for body in (b"[]", b"{", b"[" * 100_000, b"\xff"):
        assert client.ask("POST", "/run", body).status == 400
    for length, status in (("-1", 411), ("x", 411), (str(1 << 30), 413), ("9" * 400, 413)):
        assert client.ask("POST", "/run", b"{}", Content_Length=length).status == status
        assert _upload(client, length) == status
    assert client.ask("POST", "/run", b"{}", Content_Length=str(BODY_LIMIT + 1)).status == 413
    assert _upload(client, str(UPLOAD_LIMIT + 1)) == 413


def test_an_upload_of_a_gigabyte_is_refused_before_it_is_read(client: Client):
    """Nothing of it is sent here: the answer comes nevertheless."""
    assert _upload(client, str(1 << 30)) == 413


def _upload(client: Client, length: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=5)
    connection.putrequest("POST", "/upload")
    headers = {"X-Whence-Token": client.server.guard.token, "Content-Type": "application/octet-stream"}
    for name, value in {**headers, "X-Whence-Name": "m.onnx", "Content-Length": length}.items():
        connection.putheader(name, value)
    connection.endheaders()
    status = connection.getresponse().status
    connection.close()
    return status


def test_parts_are_those_of_the_session_in_gzip_and_are_asked_for_once(client: Client):
    session = small_session()
    plain = client.ask("GET", "/session/head")
    assert plain.data.decode() == head(session)
    packed = client.ask("GET", "/session/1/head", Accept_Encoding="gzip")
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.data) == plain.data
    assert client.ask("GET", "/session/stage/1").data.decode() == stage_part(session.stages[1])
    assert client.ask("GET", "/session/1/tables").data.decode() == tables_part(session)
    assert client.ask("GET", "/session/1/schedule/0").status == 200
    again = client.ask("GET", "/session/1/head", If_None_Match=packed.headers["ETag"])
    assert (again.status, again.data) == (304, b"")
    for path in ("/session/stage/999", "/session/2/head", "/session/stage/-1", "/session/stage/x", "/session/1/1/1"):
        assert client.ask("GET", path).status == 404, path


def test_files_to_keep(client: Client):
    answer = client.ask("GET", "/export/1/json")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="session.json"'
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.json["made_by"]["model"] == small_session().made_by.model
    for kind in client.ask("GET", "/passes").json["files"]:
        assert client.ask("GET", f"/export/1/{kind}").status == 200, kind
    assert client.ask("GET", "/export/0/report").data.startswith(b"<!doctype html>")
    for path in ("/export/1/passwd", "/export/1/", "/export/../json", "/export/1"):
        assert client.ask("GET", path).status == 404
    assert client.ask("GET", "/export/9/json").status == 400


def test_the_pipeline_of_a_session_is_of_the_relay_passes_of_its_main_program(client: Client):
    session = small_session()
    session.passes += [replace(session.passes[0], spec="tir-simplify", kernel=0), replace(session.passes[0], program=1)]
    client.server.site.store.add(session, None, "")
    rows = client.ask("GET", "/sessions").json["sessions"]
    assert rows[1]["pipeline"] == rows[0]["pipeline"] == ["fuse-ops", "infer-type", "tidy"]
