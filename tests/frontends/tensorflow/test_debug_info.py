"""Stack traces beside a saved model: nodes stand at the lines of Python that made them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import whence
from whence.frontends.importing.frames import user_line
from whence.frontends.tensorflow.debug_info import DebugInfo
from whence.frontends.tensorflow.messages import message, parse
from whence.support.errors import FrontendError

DATA = Path(__file__).parent / "data"
SITE = "/env/lib/python3.11/site-packages"
MAIN, NET = ("main.py", 40, "<module>"), ("net.py", 7, "call")
LIBRARY = (f"{SITE}/tensorflow/python/framework/ops.py", 900, "op")
KERAS = (f"{SITE}/keras/src/layers/core/dense.py", 150, "call")


def written(path: Path, traces: dict[str, list[tuple[str, int, str]]], numbered: bool = True) -> DebugInfo:
    info: Any = message("GraphDebugInfo")
    for at, (name, frames) in enumerate(traces.items()):
        trace = info.traces_by_id[at + 1] if numbered else info.traces[name]
        if numbered:
            info.name_to_trace_id[name] = at + 1
        for file, line, function in frames:
            if file not in info.files:
                info.files.append(file)
            number = len(info.frames_by_id) + 1
            frame = info.frames_by_id[number] if numbered else trace.file_line_cols.add()
            frame.file_index, frame.line, frame.func = list(info.files).index(file), line, function
            if numbered:
                trace.frame_id.append(number)
    path.write_bytes(info.SerializeToString())
    return DebugInfo(path)


@pytest.mark.parametrize("numbered", [True, False])
def test_the_line_is_the_innermost_of_the_user(tmp_path: Path, numbered: bool):
    """What led to a function, the call that saved the model, is the line of no node of it."""
    info = written(
        tmp_path / "info.pb",
        {
            "a@f": [MAIN, NET, LIBRARY],
            "b@f": [MAIN, NET, KERAS, ("net.py", 9, "call"), LIBRARY],
            "c@f": [MAIN, KERAS, LIBRARY],
            "d@g": [MAIN],
            "e@h": [MAIN, (f"{SITE}/timm/mlp.py", 4, "call")],
        },
        numbered,
    )
    assert info.lines("f") == {
        "a": ("net.py", 7),
        "b": ("net.py", 9),
        "c": ("tensorflow/python/framework/ops.py", 900),
    }
    assert info.lines("g") == {"d": ("main.py", 40)}
    assert info.lines("h") == {"e": ("timm/mlp.py", 4)}
    assert info.lines("nothing") == {}


def test_libraries_are_no_lines_of_users():
    assert user_line([NET, KERAS, LIBRARY]) == ("net.py", 7)
    assert user_line([("/home/me/keras/mine.py", 3, "f"), KERAS]) == ("/home/me/keras/mine.py", 3)


def test_frames_that_are_not_there_are_none(tmp_path: Path):
    path = tmp_path / "info.pb"
    written(path, {"a@f": [NET], "b@f": [("x\n.py", 3, "f"), ("", 4, "f")]})
    info = parse("GraphDebugInfo", path.read_bytes(), "info")
    info.traces_by_id[1].frame_id.append(99)
    info.name_to_trace_id["c@f"] = 98
    info.frames_by_id[2].file_index = 1 << 30
    path.write_bytes(info.SerializeToString())
    assert DebugInfo(path).lines("f") == {"a": ("net.py", 7)}


def test_a_saved_model_with_traces(tmp_path: Path):
    folder = Path(shutil.copytree(DATA / "counting_saved", tmp_path / "saved"))
    saved = parse("SavedModel", (folder / "saved_model.pb").read_bytes(), "saved")
    functions = [f for f in saved.meta_graphs[0].graph_def.library.function if len(f.node_def) > 3]
    traces = {
        f"{node.name}@{function.signature.name}": [MAIN, ("counting.py", 10 + at, "call"), LIBRARY]
        for function in functions
        for at, node in enumerate(function.node_def)
    }
    (folder / "debug").mkdir()
    written(folder / "debug" / "saved_model_debug_info.pb", traces)
    lines = {name.partition("@")[0]: frames[1][1] for name, frames in traces.items()}
    locations = {str(op.location) for op in whence.load(folder, {"x": (2, 4)}).walk()}
    assert f'loc("truediv"("counting.py":{lines["truediv"]}:0))' in locations
    (folder / "debug" / "saved_model_debug_info.pb").write_bytes(b"\xff\xff")
    with pytest.raises(FrontendError, match=r"debug_info.pb: expected a GraphDebugInfo, got bytes that are none"):
        whence.load(folder, {"x": (2, 4)})
