"""`whence explore --text` and `--export`, of session files and of models."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_session import small_session

from whence.explorer.session.answers_data import answers_data
from whence.explorer.session.exports import EXPORTS
from whence.explorer.session.file import read, write
from whence.explorer.session.views import VIEWS
from whence.explorer.session.views.choice import Choice

Tool = Callable[..., Any]


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "session.json.gz"
    write(path, small_session())
    return path


def test_a_session_file_is_shown(whence: Tool, document: Path):
    done = whence("explore", document, "--text", "diff", "--stage", "fuse-ops", "--against", "imported", "--full")
    assert (done.code, done.err) == (0, "")
    assert done.out == VIEWS["diff"](small_session(), Choice("fuse-ops", "imported", full=True)) + "\n"
    done = whence("explore", document, "--text", "why", "--kernel", "fused_1", "--level", "tir", "--line", 2)
    assert "serves conv2" in done.out
    assert whence("explore", document, "--text", "where", "--layer", "conv2").out.startswith("conv2 (Conv, m.onnx")


def test_exports_are_printed_and_written(whence: Tool, document: Path, tmp_path: Path):
    assert whence("explore", document, "--export", "dot").out == EXPORTS["dot"](small_session(), Choice())
    done = whence("explore", document, "--export", "speedscope", "-o", tmp_path / "out.json")
    assert (done.code, done.out) == (0, "")
    assert json.loads((tmp_path / "out.json").read_text())["exporter"] == "whence"


def test_verdicts_are_printed_as_text_and_as_data(whence: Tool, document: Path):
    done = whence("explore", document, "--json")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out) == json.loads(json.dumps(answers_data(small_session())))
    done = whence("explore", document, "--text", "verdict", "--layer", "block/conv1")
    (first, *_) = json.loads(whence("explore", document, "--json").out)["layers"]
    assert first["layer"] == "block/conv1"
    assert all(text in done.out for text in first["answers"].values())


def test_a_model_is_recorded_first(whence: Tool, tiny: Path, tmp_path: Path):
    path = tmp_path / "tiny.json"
    done = whence("explore", tiny, "--no-times", "--text", "lineage", "--layer", "dense", "-o", path)
    assert done.code == 0
    assert done.out == VIEWS["lineage"](read(path), Choice(layer="dense")) + "\n"
    assert "asm" in done.out


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--text", "picture"), "--text: expected one of summary, verdict, model, passes"),
        (("--export", "png"), "--export: expected one of json, model-explorer"),
        (("--text", "summary", "--export", "dot"), "--export: expected no --text beside it, got both"),
        (("--text", "verdict", "--json"), "--json: expected no --text beside it, got both"),
        (("--layer", "conv1", "-o", "x.json"), "--layer: expected --text or --export beside it, got none"),
        (("--text", "where"), "--layer: expected the name of a layer, got none"),
        (("--text", "stage", "--opt-level", "2"), "--opt-level: expected a model that is not compiled yet"),
    ],
)
def test_options_that_make_no_sense_are_refused(whence: Tool, document: Path, words: tuple[str, ...], text: str):
    done = whence("explore", document, *words)
    assert done.code == 1
    assert text in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize("damage", [b"", b"{}", b"\x1f\x8b\0", b'{"whence_session": 7}'])
def test_a_file_that_is_no_session_is_an_error_in_one_line(whence: Tool, tmp_path: Path, damage: bytes):
    (tmp_path / "bad.json").write_bytes(damage)
    done = whence("explore", tmp_path / "bad.json", "--text", "summary")
    assert done.code == 1
    assert len(done.err.strip().splitlines()) == 1
    assert "bad.json: expected " in done.err
