"""Real jobs: edited pipelines compile, and what fails fails again with the command that is shown."""

from __future__ import annotations

import shlex
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

import onnx
import pytest
from explorer_client import Client
from onnx import TensorProto, helper

from whence.cli import opt
from whence.cli.main import main
from whence.exploring.jobs import Jobs, Limits
from whence.exploring.request import Request

FAILING = 'relay-simplify-inference,relay-convert-layout{desired-layouts="nn.conv2d:FOO"},relay-fuse-ops'


def _model() -> onnx.ModelProto:
    x, w, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in (("x", [1, 2, 4, 4]), ("w", [3, 2, 3, 3]), ("y", [1, 3, 4, 4]))
    )
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], name="conv1", pads=[1] * 4, kernel_shape=[3, 3]),
        helper.make_node("Relu", ["a"], ["y"], name="relu1"),
    ]
    graph = helper.make_graph(nodes, "graph", [x, w], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


@pytest.fixture
def real(client: Client, tmp_path: Path) -> Client:
    """A client of a server that compiles, whose session is of a small network."""
    site = client.server.site
    (tmp_path / "net.onnx").write_bytes(_model().SerializeToString())
    program = ["-m", "whence", "explore"]
    site.jobs = site.orders.jobs = Jobs(program, site.store, site.feed, tmp_path, Limits(60.0), site.jobs.warm)
    site.store.add(site.store.get(1).session, Request(str(tmp_path / "net.onnx"), {"no-times": ("",)}), "")
    return client


def _failed(client: Client, **body: Any) -> tuple[dict[str, str], Any]:
    assert client.ask("POST", "/run", body).status == 202
    status, state = client.until("failed", "finished")
    assert status == "failed"
    head = client.ask("GET", f"/session/{state['session']}/head").json
    return state["failure"], head


def _again(command: str) -> str:
    """Run a command that is shown; it has to fail. Return its error."""
    program, *words = shlex.split(command)
    error = StringIO()
    with redirect_stderr(error):
        assert {"whence-opt": opt.main, "whence": main}[program](words) == 1
    return error.getvalue()


def test_an_edited_pipeline_compiles(real: Client):
    assert real.ask("POST", "/run", {"pipeline": "relay-simplify-inference,relay-fuse-ops{max-depth=1}"}).status == 202
    events = real.events()
    statuses = [next(events)[0]]
    while statuses[-1] == "running":
        statuses.append(next(events)[0])
    assert statuses[-1] == "finished"
    assert len(statuses) > 2
    head = real.ask("GET", "/session/head").json
    assert [run["spec"] for run in head["passes"] if run["kernel"] < 0] == [
        "relay-simplify-inference",
        "relay-fuse-ops{max_depth=1}",
    ]
    assert len(head["calls"]) == 2
    assert head["layers"]["type"][:2] == ["Conv", "Relu"]


def test_a_failing_pass_is_shown_with_the_program_so_far_and_fails_again(real: Client, tmp_path: Path):
    failure, head = _failed(real, pipeline=FAILING)
    assert failure["pass"] == "relay-convert-layout"
    assert "got FOO" in failure["message"]
    assert [stage["name"] for stage in head["stages"] if stage["level"] == "relay"] == ["imported"]
    assert [run["name"] for run in head["passes"]] == ["relay-simplify-inference"]
    assert failure["command"].startswith(f"whence-opt {tmp_path}/net.onnx -p ")
    assert "got FOO" in _again(failure["command"])


def test_what_fails_after_the_passes_names_operator_and_layer_and_fails_again(real: Client, tmp_path: Path):
    failure, head = _failed(real, pipeline="relay-legalize")
    assert (failure["op"], failure["layer"], failure["pass"]) == ("relay.nn.conv2d", "conv1", "")
    assert head["layers"]["name"][:2] == ["conv1", "relu1"]
    assert failure["command"].startswith(f"whence explore {tmp_path}/net.onnx --no-times --passes=relay-legalize -o ")
    assert "got relay.nn.conv2d" in _again(failure["command"].replace("session.json", str(tmp_path / "s.json")))


def test_a_bad_text_is_shown_with_its_line(real: Client):
    assert real.ask("POST", "/run", {"text": '#[version = "0.0.5"]\ndef @main(%x) {\n  nn.relu(%y)\n}'}).status == 202
    failure = real.until("failed", "finished")[1]["failure"]
    assert "nn.relu(%y)" in failure["message"]
    assert "^" in failure["message"]


def test_a_job_takes_no_more_memory_than_it_may(real: Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(real.server.site.jobs, "limits", Limits(60.0, 300 << 20))
    assert real.ask("POST", "/run", {}).status == 202
    status, state = real.until("failed", "finished")
    assert status == "failed", state
