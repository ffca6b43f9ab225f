"""`whence report`: one file to send, with and without what is secret in the model."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_session import small_session

from whence.explorer.session.file import read, write
from whence.explorer.session.strip import stripped

Tool = Callable[..., Any]


def _contents(path: Path) -> str:
    """The text of a report, its packed blocks unpacked."""
    text = path.read_text()
    blocks = re.findall(r'<script type="application/octet-stream"[^>]*>([^<]*)<', text)
    return "\n".join([text, *(gzip.decompress(base64.b64decode(block)).decode() for block in blocks)])


def test_a_report_without_its_model_says_nothing_of_it(whence: Tool, tiny: Path, tmp_path: Path):
    model = tmp_path / "zebra.onnx"
    model.write_bytes(tiny.read_bytes())
    whole, bare = tmp_path / "whole.html", tmp_path / "bare.html"
    assert whence("report", model, "--no-times", "-o", whole).code == 0
    done = whence("report", model, "--no-times", "--strip", "-o", bare)
    assert done.out == f"wrote {bare} ({bare.stat().st_size} bytes)\n"
    assert all(name in _contents(whole) for name in ("zebra", '"dense"', '"act"'))
    assert not [name for name in ("zebra", '"dense"', '"act"', "tvmgen") if name in _contents(bare)]
    assert '"Gemm"' in _contents(bare)


def test_the_verdicts_come_with_the_report(whence: Tool, tmp_path: Path):
    write(tmp_path / "session.json", small_session())
    done = whence("report", tmp_path / "session.json", "--strip", "-o", tmp_path / "out.html", "--json")
    data = json.loads(done.out)
    assert data["bytes"] == (tmp_path / "out.html").stat().st_size
    assert data["overview"]["kernels"] == 1
    # Without the names of the model, as the report.
    assert "conv1" not in done.out
    assert data["layers"][0]["share"] == 0.5


@pytest.mark.parametrize("name", ["out.json", "out.json.gz"])
def test_a_document_stays_a_document(whence: Tool, tmp_path: Path, name: str):
    write(tmp_path / "session.json", small_session())
    done = whence("report", tmp_path / "session.json", "--strip", "-o", tmp_path / name)
    assert done.code == 0
    assert read(tmp_path / name) == stripped(small_session())


def test_the_file_has_a_name_where_none_is_given(whence: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write(tmp_path / "session.json", small_session())
    monkeypatch.chdir(tmp_path)
    assert whence("report", "session.json").code == 0
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")
