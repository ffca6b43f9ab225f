"""Stack traces beside a saved model: nodes stand at the lines of Python that made them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import whence
from whence.frontends.importing.frames import Frame, user_frames
from whence.frontends.tensorflow.debug_info import DebugInfo
from whence.frontends.tensorflow.messages import message, parse
from whence.support.errors import FrontendError

DATA = Path(__file__).parent / "data"
SITE = "/env/lib/python3.11/site-packages"
MAIN, NET, INNER = Frame("main.py", 40, "<module>"), Frame("net.py", 7, "call", "x @ w"), Frame("net.py", 9, "call")
LIBRARY = Frame(f"{SITE}/tensorflow/python/framework/ops.py", 900, "op")
KERAS = Frame(f"{SITE}/keras/src/layers/core/dense.py", 150, "call")


def written(path: Path, traces: dict[str, list[Frame]], numbered: bool = True) -> DebugInfo:
    info: Any = message("GraphDebugInfo")
    for number, (name, frames) in enumerate(traces.items(), 1):
        trace = info.traces_by_id[number] if numbered else info.traces[name]
        if numbered:
            info.name_to_trace_id[name] = number
        for at in frames:
            if at.file not in info.files:
                info.files.append(at.file)
            key = len(info.frames_by_id) + 1
            frame = info.frames_by_id[key] if numbered else trace.file_line_cols.add()
            frame.file_index, frame.line = list(info.files).index(at.file), at.line
            frame.func, frame.code = at.function, at.code
            if numbered:
                trace.frame_id.append(key)
    path.write_bytes(info.SerializeToString())
    return DebugInfo(path)


@pytest.mark.parametrize("numbered", [True, False])
def test_calls_are_those_of_the_user(tmp_path: Path, numbered: bool):
    """What led to a function, the call that saved the model, is no call of its nodes."""
    info = written(
        tmp_path / "info.pb",
        {
            "a@f": [MAIN, NET, LIBRARY],
            "b@f": [MAIN, NET, KERAS, INNER, LIBRARY],
            "c@f": [MAIN, KERAS, LIBRARY],
            "d@g": [MAIN],
            "e@h": [MAIN, Frame(f"{SITE}/timm/mlp.py", 4, "call")],
        },
        numbered,
    )
    library = LIBRARY._replace(file="tensorflow/python/framework/ops.py")
    assert info.frames("f") == {"a": (NET,), "b": (INNER, NET), "c": (library,)}
    assert info.frames("g") == {"d": (MAIN,)}
    assert info.frames("h") == {"e": (Frame("timm/mlp.py", 4, "call"), MAIN)}
    assert info.frames("nothing") == {}


def test_libraries_are_no_files_of_users():
    assert user_frames([NET, KERAS, LIBRARY]) == (NET,)
    own = Frame("/home/me/keras/mine.py", 3, "f")
    assert user_frames([own, KERAS]) == (own,)


def test_frames_that_are_not_there_are_none(tmp_path: Path):
    path = tmp_path / "info.pb"
    written(path, {"a@f": [NET], "b@f": [Frame("x\n.py", 3, "f"), Frame("", 4, "f")]})
    info = parse("GraphDebugInfo", path.read_bytes(), "info")
    info.traces_by_id[1].frame_id.append(99)
    info.name_to_trace_id["c@f"] = 98
    info.frames_by_id[2].file_index = 1 << 30
    path.write_bytes(info.SerializeToString())
    assert DebugInfo(path).frames("f") == {"a": (NET,)}


def test_a_saved_model_with_traces(tmp_path: Path):
    folder = Path(shutil.copytree(DATA / "counting_saved", tmp_path / "saved"))
    saved = parse("SavedModel", (folder / "saved_model.pb").read_bytes(), "saved")
    functions = [f for f in saved.meta_graphs[0].graph_def.library.function if len(f.node_def) > 3]
    traces = {
        f"{node.name}@{function.signature.name}": [MAIN, Frame("counting.py", 10 + at, "call"), LIBRARY]
        for function in functions
        for at, node in enumerate(function.node_def)
    }
    (folder / "debug").mkdir()
    written(folder / "debug" / "saved_model_debug_info.pb", traces)
    lines = {name.partition("@")[0]: frames[1].line for name, frames in traces.items()}
    locations = {str(op.location) for op in whence.load(folder, {"x": (2, 4)}).walk()}
    assert f'loc("truediv"("counting.py":{lines["truediv"]}:0))' in locations
    (folder / "debug" / "saved_model_debug_info.pb").write_bytes(b"\xff\xff")
    with pytest.raises(FrontendError, match=r"debug_info.pb: expected a GraphDebugInfo, got bytes that are none"):
        whence.load(folder, {"x": (2, 4)})
