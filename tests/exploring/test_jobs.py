"""Jobs run one at a time, in processes that end when they should."""

from __future__ import annotations

import os
import re
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from explorer_client import Client

from whence.cli.main import main
from whence.explorer.session.views.choice import Choice
from whence.exploring import jobs
from whence.exploring.jobs import Job, Limits
from whence.exploring.request import FLAGS, OPTIONS, Request


def _run(client: Client, **body: Any) -> int:
    answer = client.ask("POST", "/run", body)
    assert answer.status == 202, answer.data
    return answer.json["job"]


def _upload(client: Client, name: str) -> int:
    headers = {"Content_Type": "application/octet-stream", "X_Whence_Name": name}
    return client.ask("POST", "/upload", b"model", **headers).json["upload"]


def _process(client: Client) -> Job:
    job = client.server.site.jobs.current
    assert job is not None
    return job


def test_a_job_tells_its_progress_and_leaves_a_session(client: Client):
    number = _run(client, pipeline="relay-legalize,relay-fuse-ops")
    status, state = client.until("finished", "failed")
    assert (status, state["job"], state["session"]) == ("finished", number, 2)
    sessions = client.ask("GET", "/sessions").json["sessions"]
    assert [row["number"] for row in sessions] == [1, 2]
    assert sessions[1]["pipeline"] == ["relay-legalize", "relay-fuse-ops"]
    assert "with relay-legalize" in sessions[1]["about"]
    assert client.ask("GET", "/session/head").json["comparison"]["other"]["model"] == "m.onnx"
    assert client.ask("GET", "/session/head").json["made_by"]["model"] == "light_squeezenet"
    assert client.ask("GET", "/session/1/head").json["made_by"]["model"] == "m.onnx"


def test_a_second_job_is_refused_while_one_runs_and_cancel_ends_even_a_stubborn_one(client: Client, tmp_path: Path):
    (tmp_path / "stubborn.onnx").touch()
    number = _run(client, model=str(tmp_path / "stubborn.onnx"))
    next(state for _, state in client.events() if state.get("what") == "stubborn")
    process = _process(client).process
    assert client.ask("POST", "/run", {"model": "light_squeezenet"}).status == 409
    assert client.ask("DELETE", f"/run/{number + 1}").status == 404
    begin = time.monotonic()
    assert client.ask("DELETE", f"/run/{number}").status == 200
    assert client.until("cancelled")[1]["job"] == number
    assert time.monotonic() - begin < 2
    assert process.poll() is not None
    assert client.ask("DELETE", f"/run/{number}").status == 404
    _run(client, model="light_squeezenet")
    assert client.until("finished", "failed")[0] == "finished"


def test_a_job_that_has_not_begun_is_cancelled_and_the_next_one_runs(client: Client):
    number = _run(client)
    assert client.ask("DELETE", f"/run/{number}").status == 200
    assert client.until("cancelled")[1]["job"] == number
    _run(client)
    assert client.until("finished", "failed")[0] == "finished"


def test_a_job_that_takes_too_long_is_ended(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "stubborn.onnx").touch()
    monkeypatch.setattr(client.server.site.jobs, "limits", Limits(seconds=0.2))
    _run(client, model=str(tmp_path / "stubborn.onnx"))
    assert client.until("failed")[1]["failure"]["message"] == "expected at most 0.2 s, got more"


def test_a_failing_job_has_its_reason_and_what_there_is(client: Client, tmp_path: Path):
    for name in ("failing.onnx", "crash.onnx", "damaged.onnx"):
        (tmp_path / name).touch()
    _run(client, model=str(tmp_path / "failing.onnx"))
    state = client.until("failed")[1]
    assert state["failure"]["layer"] == "r"
    assert state["failure"]["command"] == "whence-opt m -p relay-x"
    assert client.ask("GET", f"/session/{state['session']}/head").json["made_by"]["model"] == "so far"
    _run(client, model=str(tmp_path / "crash.onnx"))
    state = client.until("failed")[1]
    assert state["session"] == 0
    assert state["failure"]["message"] == "expected the compiler to end well, got signal SIGSEGV"
    assert state["failure"]["command"] == f"whence explore {tmp_path}/crash.onnx"
    _run(client, model=str(tmp_path / "damaged.onnx"))
    assert "expected a session document" in client.until("failed")[1]["failure"]["message"]


@pytest.mark.parametrize(("name", "status"), [("torn", "failed"), ("noisy", "finished")])
def test_lines_of_a_process_that_cannot_be_read_keep_nobody_waiting(
    client: Client, tmp_path: Path, name: str, status: str
):
    (tmp_path / f"{name}.onnx").touch()
    number = _run(client, model=str(tmp_path / f"{name}.onnx"))
    ended, state = client.until("finished", "failed")
    assert (ended, state["job"]) == (status, number)
    if name == "torn":
        assert state["failure"]["message"] == "expected the compiler to end well, got signal SIGKILL"
    assert _run(client, model="light_squeezenet") == number + 1
    client.until("finished")


def test_an_error_while_a_job_is_followed_is_its_end_and_the_next_one_begins(
    client: Client, monkeypatch: pytest.MonkeyPatch
):
    def broken(*_sessions: Any) -> None:
        raise RuntimeError("nothing to compare")

    with monkeypatch.context() as patched:
        patched.setattr(jobs, "compare_sessions", broken)
        _run(client)
        state = client.until("failed")[1]
    assert state["failure"]["message"] == "expected to follow the compiler, got RuntimeError: nothing to compare"
    _run(client)
    assert client.until("finished", "failed")[0] == "finished"


def test_a_server_that_ends_takes_its_job_along(client: Client, tmp_path: Path):
    (tmp_path / "stubborn.onnx").touch()
    _run(client, model=str(tmp_path / "stubborn.onnx"))
    next(state for _, state in client.events() if state.get("what") == "stubborn")
    process = _process(client).process
    client.server.site.jobs.close()
    assert process.poll() is not None
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
    assert client.ask("POST", "/run", {"model": "light_squeezenet"}).status == 409


def test_a_text_of_a_pipeline_is_read_before_anything_runs(client: Client):
    answer = client.ask("POST", "/run", {"pipeline": "relay-legalize,relay-nothing"})
    assert (answer.status, answer.json["column"]) == (400, 15)
    assert answer.json["error"].startswith("unknown pass 'relay-nothing'")
    bodies: tuple[dict[str, object], ...] = (
        {"pipeline": 3},
        {"more": 1},
        {"session": 9},
        {"session": "1"},
        {"options": []},
        {"options": {"--job": "x"}},
        {"options": {"job": "x"}},
        {"options": {"output": "x"}},
        {"options": {"target": {}}},
        {"options": {"target": [True]}},
        {"model": "/nothing"},
        {"upload": 0},
        {"upload": "../x"},
        {"text": 1},
        {"text": "x", "suffix": "/../x"},
    )
    for body in bodies:
        assert client.ask("POST", "/run", body).status == 400, body


def test_names_of_uploads_are_no_paths(client: Client, tmp_path: Path):
    number = _upload(client, "../../etc/cron.d/x.onnx")
    _run(client, upload=number)
    assert client.until("finished", "failed")[0] == "finished"
    assert client.ask("GET", "/session/head").json["made_by"]["model"] == str(tmp_path / "upload0.onnx")
    headers = {"Content_Type": "application/octet-stream", "X_Whence_Name": "x.sh"}
    assert client.ask("POST", "/upload", b"x", **headers).status == 400
    _run(client, text="def @main() { 1 }", suffix=".relay")
    assert client.until("finished", "failed")[0] == "finished"
    assert (tmp_path / "text1.relay").read_text() == "def @main() { 1 }"
    # Of another model nothing is compared with the session before.
    assert client.ask("GET", "/session/head").json["comparison"] is None
    assert client.ask("GET", "/session/2/head").json["comparison"] is None


def test_words_of_a_request_are_no_options_of_others():
    request = Request("-o", {"passes": ("--job=x",), "pass-config": ("a=1", "b=2")})
    assert request.words() == ["./-o", "--passes=--job=x", "--pass-config=a=1", "--pass-config=b=2"]
    assert request.changed({"passes": None, "opt-level": 2}).command() == (
        "whence explore ./-o --pass-config=a=1 --pass-config=b=2 --opt-level=2"
    )


def test_every_option_of_the_command_is_part_of_a_request_or_of_the_server(capsys: pytest.CaptureFixture[str]):
    """Else a job, and the command that is shown, would forget it."""
    with pytest.raises(SystemExit):
        main(["explore", "--help"])
    named = set(re.findall(r"(?<=--)[a-z][a-z-]+", capsys.readouterr().out.partition("examples:")[0]))
    # A query follows its view as a word.
    views = {"text", "export", "compare", *(field.name for field in fields(Choice))} - {"query"}
    server = {"help", "json", "output", "report", "port", "no-browser", "print-pass-times", "inputs"}
    other_names = {"tuning-records", "mixed-precision"}
    assert named == {*OPTIONS, *FLAGS, *views, *server, *other_names}
