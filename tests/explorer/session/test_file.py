"""Session documents as files: round trips, and files that are none."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_session import small_session

from whence.explorer.session import file
from whence.explorer.session.file import from_json, read, to_json, write
from whence.support.errors import FrontendError, PipelineError


@pytest.mark.parametrize("name", ["session.json", "session.json.gz"])
def test_what_is_written_is_read(tmp_path: Path, name: str):
    path = tmp_path / name
    write(path, small_session())
    assert read(path) == small_session()
    first = path.read_bytes()
    write(path, small_session())
    assert path.read_bytes() == first
    assert first.startswith(b"\x1f\x8b" if name.endswith(".gz") else b'{"whence_session":3,')


def test_a_session_is_plain_json_and_back():
    assert from_json(json.loads(json.dumps(to_json(small_session())))) == small_session()


def test_names_of_any_letters_survive(tmp_path: Path):
    session = small_session()
    session.layers.name[0] = "<script>\x00\u202e\ud800\n" + "x" * 10_000
    write(tmp_path / "s.json", session)
    assert read(tmp_path / "s.json") == session


def test_unknown_keys_are_ignored():
    data = to_json(small_session())
    assert from_json({**data, "later": [1], "made_by": {**data["made_by"], "later": None}}) == small_session()


def test_a_failed_write_leaves_the_old_file(tmp_path: Path):
    path = tmp_path / "s.json"
    write(path, small_session())
    first = path.read_bytes()
    session = small_session()
    session.tensors[0].mean[0] = float("nan")
    with pytest.raises(PipelineError, match="expected finite numbers"):
        write(path, session)
    assert path.read_bytes() == first


def _set(*keys: Any) -> Callable[[dict[str, Any]], None]:
    *path, last, value = keys

    def change(data: Any) -> None:
        for key in path:
            data = data[key]
        if value == "gone":
            del data[last]
        else:
            data[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (_set("stages", 3, "body", "sets", 0, "x"), 'stages[3].body.sets: expected whole numbers, got "x"'),
        (_set("stages", 3, "lines", True), "stages[3].lines: expected a whole number, got true"),
        (_set("sets", 2, 0, 1.0), "sets[2]: expected whole numbers, got 1.0"),
        (_set("sets", 2, 0, 10**30), "sets[2]: expected whole numbers, got a number that is too large"),
        (_set("layers", "name", 1, None), "layers.name: expected texts, got null"),
        (_set("layers", "name", "gone"), "layers.name: expected texts, got nothing"),
        (_set("stages", 2, "diff", "new", {}), "stages[2].diff.new: expected whole numbers, got an object"),
        (_set("stages", 2, "level", "glsl"), "stages[2].level: expected one of python, model, relay, te"),
        (_set("stages", 1, "body", "edits", 0, [1]), "stages[1].body.edits[0]: expected a list of 3, got a list"),
        (_set("times", 0, "layers", 1, 2, 0), "times[0].layers[1][2]: expected a truth value, got 0"),
        (_set("memory", 0, None), "memory[0]: expected an object, got null"),
        (_set("made_by", "libraries", "xdsl", 5), "made_by.libraries: expected a text, got 5"),
        (_set("made_by", "compile_seconds", "9" * 900), 'made_by.compile_seconds: expected a number, got "999'),
        (_set("tensors", 0, "mean", 0, float("inf")), "tensors[0].mean: expected numbers, got Infinity"),
        (_set("comparison", "gone"), "comparison: expected an object, got nothing"),
        (_set("whence_session", 2), "expected a session document of version 3, got version 2"),
        (_set("whence_session", "gone"), "expected a session document, got other JSON"),
    ],
)
def test_a_wrong_type_is_named_with_its_path(change: Callable[[dict[str, Any]], None], text: str):
    data = json.loads(json.dumps(to_json(small_session())))
    change(data)
    with pytest.raises(FrontendError) as caught:
        from_json(data, "session.json")
    assert str(caught.value).startswith("session.json: ")
    assert text in str(caught.value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "expected JSON"),
        (b"{", "expected JSON"),
        (b"[1, 2]", "got other JSON"),
        (b"[" * 1_000_000, "lists in lists"),
        (b'{"a":' * 1_000_000, "lists in lists"),
        (b'{"whence_session": NaN}', "the number NaN"),
        (b"1" * 5_000, "expected JSON"),
        (b"\xff\xfe\x00", "expected JSON"),
        (b"\x1f\x8b\x00\x00", "expected gzip"),
        (gzip.compress(b"{}" * 99, mtime=0)[:-9], "expected gzip"),
    ],
)
def test_what_is_no_document_is_refused_in_a_sentence(tmp_path: Path, data: bytes, text: str):
    path = tmp_path / "bad.json"
    path.write_bytes(data)
    with pytest.raises(FrontendError, match=text) as caught:
        read(path)
    assert str(caught.value).startswith("bad.json: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_that_unpacks_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bool):
    monkeypatch.setattr(file, "LIMIT", 1000)
    data = b" " * 100_000
    (tmp_path / "zeros").write_bytes(gzip.compress(data) if packed else data)
    with pytest.raises(FrontendError, match="expected at most 1000 bytes of JSON, got more"):
        read(tmp_path / "zeros")


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(FrontendError, match="no such file"):
        read(tmp_path / "none.json")
