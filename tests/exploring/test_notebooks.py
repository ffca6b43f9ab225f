"""Texts that notebooks show, and sessions in the hands of a user."""

from __future__ import annotations

import random
from html.parser import HTMLParser
from pathlib import Path

import pytest
from small_session import named_session, small_session

import whence
from whence import te
from whence.explorer.report_file import report
from whence.exploring.exploration import Exploration
from whence.support.errors import FrontendError, PipelineError
from whence.support.markup import folded, html_table, preformatted

HOSTILE = "</pre><script>alert(1)</script>\"'&\u202e"


TAGS = {"pre", "table", "thead", "tbody", "tr", "th", "td", "details", "summary"}


class _Tags(HTMLParser):
    def __init__(self, text: str):
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_session_is_the_offline_page_in_a_frame():
    session = named_session(HOSTILE)
    html = _Tags(Exploration(session)._repr_html_())  # pyright: ignore[reportPrivateUsage]
    ((tag, attributes),) = html.tags
    assert tag == "iframe"
    assert attributes["srcdoc"] == report(session)
    assert "Content-Security-Policy" in (attributes["srcdoc"] or "")


def test_a_schedule_and_a_compiled_model_are_small_and_escaped():
    x = te.placeholder((4, 8), name="x")
    y = te.compute((4, 8), lambda i, j: x[i, j] * 2, name="y")
    schedule = te.create_schedule(y.op)
    schedule[y].vectorize(y.op.axis[1])
    shown = _Tags(schedule._repr_html_())  # pyright: ignore[reportPrivateUsage]
    assert "for j in 8  # vectorized" in shown.text
    assert "schedule.vectorize" in shown.text
    text = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2, 3), float32]) { nn.relu(%x) }'
    executable = whence.compile(whence.parser.fromtext(text))
    html = executable._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert {tag for tag, _ in _Tags(html).tags} <= TAGS
    assert "one program of 1 kernels" in html
    assert "float32" in html
    assert len(html) < 2000


def test_a_large_session_is_a_summary_and_a_schedule_is_its_text():
    session = small_session()
    session.stages[0].body.edits = [(0, 0, [f"{HOSTILE} {random.Random(0).randbytes(1_000_000).hex()}"] * 4)]
    html = Exploration(session)._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert len(html) < 10_000
    assert [tag for tag, _ in _Tags(html).tags] == ["pre"]
    assert "whence explore net.html opens that" in html
    assert "2 kernel calls" in html
    x = te.placeholder((4,), name="x")
    schedule = te.create_schedule(te.compute((4,), lambda i: x[i] * 2, name="y").op)
    assert repr(schedule) == str(schedule)
    assert "for i in 4" in repr(schedule)


def test_pieces_are_escaped():
    pieces = preformatted(HOSTILE) + html_table([[HOSTILE, 1]], [HOSTILE]) + folded(HOSTILE, "")
    assert pieces.count("&lt;/pre&gt;&lt;script&gt;") == 4
    assert {tag for tag, _ in _Tags(pieces).tags} <= TAGS
    assert "\u202e" not in pieces


def test_an_exploration_is_checked_written_asked_and_stripped(tmp_path: Path):
    one = Exploration(small_session())
    one.check()
    one.write(tmp_path / "s.json.gz")
    assert Exploration.read(tmp_path / "s.json.gz").session == one.session
    one.report(tmp_path / "s.html")
    assert (tmp_path / "s.html").read_text().startswith("<!doctype html>")
    assert "serves conv2" in one.text("why", kernel="fused_1", line=2)
    assert one.export("dot", level="model").startswith("digraph")
    assert "conv2" not in one.stripped().text("summary")
    with pytest.raises(PipelineError, match="view: expected one of summary, verdict, model"):
        one.text("picture")
    one.session.sets[3] = [77]
    with pytest.raises(FrontendError, match=r"session: sets\[3\]\[0\]: expected an index into 6 layers, got 77"):
        one.check()


def test_a_model_is_explored():
    text = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2, 3), float32]) { nn.relu(%x) }'
    exploration = whence.explore(whence.parser.fromtext(text))
    exploration.check()
    assert "1 kernel call" in exploration.text("summary")
