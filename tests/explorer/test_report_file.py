"""The report is one file that needs nothing else, and in which names are text."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hostile_names import HOSTILE
from small_session import named_session, small_session

from whence.explorer.report_file import report, write_report
from whence.explorer.session import blocks
from whence.explorer.session.file import read
from whence.explorer.session.parts import head, stage_part
from whence.explorer.session.query.part import tables_part
from whence.support.errors import FrontendError, PipelineError


class Elements(HTMLParser):
    """The elements of a report, as a parser of HTML finds them: tag, attributes and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[tuple[str, dict[str, str | None], str]] = []
        self.inside = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.rows.append((tag, dict(attrs), ""))
        self.inside = True

    def handle_endtag(self, tag: str) -> None:
        self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            tag, attributes, text = self.rows[-1]
            self.rows[-1] = tag, attributes, text + data

    def block(self, name: str) -> str:
        """Return the text of the element with an id."""
        (text,) = (text for _, attributes, text in self.rows if attributes.get("id") == name)
        return text


def test_blocks_are_the_parts_of_the_session():
    session = small_session()
    elements = Elements(report(session))
    assert gzip.decompress(base64.b64decode(elements.block("session-head"))).decode() == head(session)
    for number, stage in enumerate(session.stages):
        packed = base64.b64decode(elements.block(f"stage-{number}"))
        assert gzip.decompress(packed).decode() == stage_part(stage)
    tables = gzip.decompress(base64.b64decode(elements.block("tables"))).decode()
    assert tables == tables_part(session)
    assert json.loads(gzip.decompress(base64.b64decode(elements.block("schedule-0"))))[1]["at"] == "schedules/x.py:8"


def test_the_policy_allows_what_is_there_and_nothing_else():
    elements = Elements(report(small_session()))
    (policy,) = (str(at["content"]) for _, at, _ in elements.rows if at.get("http-equiv") == "Content-Security-Policy")
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split(";")}
    assert rules["default-src"] == ["'none'"]
    assert "unsafe" not in policy
    inline = [
        (tag, text) for tag, at, text in elements.rows if tag == "style" or at.get("type") in ("module", "importmap")
    ]
    assert len(inline) == 3
    for tag, text in inline:
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in rules["style-src" if tag == "style" else "script-src"]


def test_nothing_is_fetched():
    elements = Elements(report(small_session()))
    addresses = [at.get(name) for name in ("src", "href") for _, at, _ in elements.rows if name in at]
    assert addresses == ["data:,"], "an icon, which browsers ask servers for else"
    modules: dict[str, str] = json.loads(next(text for _, at, text in elements.rows if at.get("type") == "importmap"))[
        "imports"
    ]
    for name, address in modules.items():
        text = base64.b64decode(address.removeprefix("data:text/javascript;base64,")).decode()
        names = re.findall(r'^import (?:[^;"]* from )?"([^"]+)";', text, re.MULTILINE)
        assert set(names) <= modules.keys(), name
        assert not re.search(r"https?://(?!www\.w3\.org/)", text), name


def test_equal_sessions_make_equal_files(tmp_path: Path):
    for name in ("a.html", "b.html"):
        write_report(small_session(), tmp_path / name)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    with pytest.raises(PipelineError, match=r"nothing/a\.html: cannot be written"):
        write_report(small_session(), tmp_path / "nothing" / "a.html")


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_report_is_read_back(kind: str, tmp_path: Path):
    session = named_session(HOSTILE[kind])
    write_report(session, tmp_path / "report.html")
    assert read(tmp_path / "report.html") == session


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ('id="session-head"', 'id="head"', "expected a report of whence explore, got HTML without a session"),
        ('id="stage-2"', 'id="stage-x"', "expected a report with its part stage-2, got one without"),
        ('id="stage-2">H4', 'id="stage-2">', "report.html: stage-2: expected base64, got"),
        ('id="stage-2">H4sI', 'id="stage-2">AAAA', "report.html: expected gzip, got a damaged file"),
    ],
)
def test_a_damaged_report_is_refused_in_a_sentence(old: str, new: str, text: str, tmp_path: Path):
    html = report(small_session())
    assert old in html
    (tmp_path / "report.html").write_text(html.replace(old, new))
    with pytest.raises(FrontendError, match=re.escape(text)):
        read(tmp_path / "report.html")


def test_a_report_that_unpacks_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_report(small_session(), tmp_path / "report.html")
    monkeypatch.setattr(blocks, "LIMIT", 5000)
    with pytest.raises(FrontendError, match="expected at most 5000 bytes of JSON, got more"):
        read(tmp_path / "report.html")


@pytest.mark.parametrize("kind", HOSTILE)
def test_names_are_text(kind: str, tmp_path: Path):
    name = HOSTILE[kind]
    write_report(named_session(name), tmp_path / "report.html")
    elements = Elements((tmp_path / "report.html").read_text())
    wanted = Elements(report(small_session()))
    assert [(tag, at) for tag, at, _ in elements.rows] == [(tag, at) for tag, at, _ in wanted.rows]
    document = json.loads(gzip.decompress(base64.b64decode(elements.block("session-head"))))
    assert document["layers"]["name"][0] == document["calls"][0]["name"] == name
    (title,) = (text for tag, _, text in elements.rows if tag == "title")
    assert title.isprintable()
