"""The ways to call a model: by name, in order, with the names of outputs, into arrays, and in a thread."""

from __future__ import annotations

import io
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import onnx.parser
import pytest

import whence
from whence.support.errors import FrontendError, PipelineError

TWO = """
<ir_version: 8, opset_import: ["": 18], producer_name: "maker", model_version: 3, doc_string: "two sums",
 metadata_props: ["stride": "32"]>
two (float[ROWS, 3] left, float[ROWS, 3] right) => (float[ROWS, 3] total, float[ROWS, 3] gap) {
    [add] total = Add (left, right)
    [sub] gap = Sub (left, right)
}
"""
LEFT = np.arange(6, dtype=np.float32).reshape(2, 3)
RIGHT = np.full((2, 3), 2, np.float32)
FEED: dict[str, Any] = {"left": LEFT, "right": RIGHT}
KINDS = ("static", "sized", "interpreted", "loaded")


@pytest.fixture(scope="module", params=KINDS)
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    kind = str(request.param)
    rows, tier = ("2", "auto") if kind in ("static", "loaded") else ("n", "static" if kind == "interpreted" else "auto")
    executable = whence.compile(onnx.parser.parse_model(TWO.replace("ROWS", rows)), tier=tier)
    if kind != "loaded":
        return executable
    path: Path = tmp_path_factory.mktemp("calls") / "two.tar"
    executable.export_library(path)
    return whence.runtime.load_module(path)


def test_outputs_come_by_name_in_order_or_as_asked(model: Any):
    np.testing.assert_equal(model.run(FEED), {"total": LEFT + RIGHT, "gap": LEFT - RIGHT})
    np.testing.assert_equal(model.run(None, FEED), [LEFT + RIGHT, LEFT - RIGHT])
    np.testing.assert_equal(model.run(["gap"], FEED), [LEFT - RIGHT])
    np.testing.assert_equal(model.run(["gap", "total", "gap"], FEED), [LEFT - RIGHT, LEFT + RIGHT, LEFT - RIGHT])
    for results in (model(LEFT, RIGHT), model(LEFT, right=RIGHT), model(right=RIGHT, left=LEFT)):
        np.testing.assert_equal(results, (LEFT + RIGHT, LEFT - RIGHT))


def test_names_that_there_are_not_bring_those_that_there_are(model: Any):
    with pytest.raises(FrontendError, match=r"unknown input 'Left' \(did you mean left\?\); the inputs are left, r"):
        model.run({"Left": LEFT, "right": RIGHT})
    with pytest.raises(FrontendError, match=r"unknown output 'gip' \(did you mean gap\?\); the outputs are total, gap"):
        model.run(["gip"], FEED)
    with pytest.raises(FrontendError, match="expected each of them once, got 'left' in order and by name"):
        model(LEFT, left=LEFT, right=RIGHT)
    with pytest.raises(FrontendError, match=r"expected 2 \(left, right\), got 3 in order and 1 by name"):
        model(LEFT, LEFT, LEFT, right=RIGHT)
    with pytest.raises(PipelineError, match=r"run: expected inputs by name, or names of outputs .*, got a list"):
        model.run(["gap"])


def test_outputs_are_written_to_arrays(model: Any):
    total, gap = np.zeros((2, 3), np.float32), np.zeros((3, 2), np.float32).T
    results = model(LEFT, RIGHT, out=(total, gap))
    assert results[0] is total
    assert results[1] is gap
    np.testing.assert_equal((total, gap), (LEFT + RIGHT, LEFT - RIGHT))
    both = model.run({"left": total, "right": RIGHT}, out={"total": total})
    assert both["total"] is total
    np.testing.assert_equal(both, {"total": LEFT + 2 * RIGHT, "gap": LEFT})


def test_arrays_that_outputs_do_not_fit(model: Any):
    kept = np.zeros((2, 3), np.float32)
    read_only = np.broadcast_to(np.float32(0), (2, 3))
    wrong: list[tuple[Any, str]] = [
        (
            {"total": kept, "gap": np.zeros((2, 3))},
            r"expected an array of float32\[2, 3\] to write output 'gap' to, got",
        ),
        ({"total": kept, "gap": read_only}, r"got float32\[2, 3\], read-only"),
        ({"total": kept, "gap": [[0] * 3] * 2}, "got a list"),
        ({"total": kept, "gaps": kept}, r"unknown output 'gaps' \(did you mean gap\?\)"),
    ]
    for out, text in wrong:
        with pytest.raises(FrontendError, match=f"^out: .*{text}"):
            model.run(FEED, out=out)
    with pytest.raises(FrontendError, match="out: expected 2 arrays, got 1"):
        model(LEFT, RIGHT, out=kept)
    assert not kept.any()


def test_a_run_in_a_thread_calls_back(model: Any):
    for feed, text in ((FEED, ""), ({"left": LEFT}, "inputs: missing float32")):
        done, got = Event(), list[Any]()

        def callback(*answer: Any, got: list[Any] = got, done: Event = done) -> None:
            got.extend(answer)
            done.set()

        model.run_async(["gap"], feed, callback, 7)
        assert done.wait(60)
        results, user_data, problem = got
        assert user_data == 7
        assert problem.startswith(text)
        np.testing.assert_equal(results, [] if text else [LEFT - RIGHT])


def test_inputs_and_outputs_in_the_words_of_onnxruntime(model: Any):
    first, _ = model.get_inputs()
    assert (first.name, first.type) == ("left", "tensor(float)")
    assert first.shape in ([2, 3], ["n", 3])
    assert [output.name for output in model.get_outputs()] == ["total", "gap"]


def test_what_the_file_says_of_the_model():
    meta = whence.compile(onnx.parser.parse_model(TWO.replace("ROWS", "2"))).get_modelmeta()
    assert (meta.producer_name, meta.graph_name, meta.version) == ("maker", "two", 3)
    assert meta.description == "two sums"
    assert meta.custom_metadata_map == {"stride": "32"}


def test_a_model_comes_as_bytes_of_any_kind():
    data = onnx.parser.parse_model(TWO.replace("ROWS", "2")).SerializeToString()
    for source in (data, bytearray(data), memoryview(data), io.BytesIO(data)):
        np.testing.assert_equal(whence.compile(source)(LEFT, RIGHT)[0], LEFT + RIGHT)
    with pytest.raises(PipelineError, match="source: expected a file opened for bytes, got one that gives str"):
        whence.compile(io.StringIO("graph"))  # pyright: ignore[reportArgumentType]
