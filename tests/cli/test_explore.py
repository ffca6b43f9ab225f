"""`whence explore`: the document of a model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from whence.explorer.session.file import read


class Done(NamedTuple):
    code: int
    out: str
    err: str


Tool = Callable[..., Done]


def test_the_document_of_a_model_is_written(whence: Tool, tiny: Path, tmp_path: Path):
    done = whence("explore", tiny, "-o", tmp_path / "tiny.json.gz", "--no-times", "-O", 2)
    assert done.code == 0, done.err
    session = read(tmp_path / "tiny.json.gz")
    assert (session.made_by.model, session.made_by.opt_level) == ("tiny.onnx", 2)
    assert session.made_by.compile_seconds > 0
    assert [name for name, kind in zip(session.layers.name, session.layers.kind, strict=True) if kind == "layer"] == [
        "dense",
        "act",
    ]
    assert not session.times


def test_a_run_tells_times_and_values(whence: Tool, tiny: Path, tmp_path: Path):
    done = whence("explore", tiny, "-o", tmp_path / "tiny.json", "--seconds", 0.05, "--reference")
    assert done.code == 0, done.err
    session = read(tmp_path / "tiny.json")
    (times,), (tensors,) = session.times, session.tensors
    assert len(times.calls) == len(session.calls)
    assert tensors.reference == "onnxruntime"
    assert all(0 <= error <= most for error, most in zip(tensors.error, tensors.tolerance, strict=True))


def test_a_compiled_file_is_explored_with_what_it_has(whence: Tool, tiny: Path, tmp_path: Path):
    assert whence("compile", tiny, "-o", tmp_path / "tiny.tar").code == 0
    done = whence("explore", tmp_path / "tiny.tar", "-o", tmp_path / "tiny.json", "--no-times")
    assert done.code == 0, done.err
    assert [program.kind for program in read(tmp_path / "tiny.json").programs] == ["exported"]
