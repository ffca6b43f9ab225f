"""The gallery: its cheapest reports, the page that leads to them, and a model that fails."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from gallery.entry import Entry
from gallery.table import CHEAP, ENTRIES
from gallery.writing import write_gallery

from whence.explorer.session.address import read_address
from whence.explorer.session.file import read
from whence.exploring.measuring import Wishes


def _cheap() -> list[Entry]:
    return [replace(entry, wishes=replace(entry.wishes, seconds=0.05)) for entry in ENTRIES if entry.name in CHEAP]


def test_every_kind_of_network_has_a_report_of_its_own():
    assert len({entry.name for entry in ENTRIES}) == len(ENTRIES) == 12
    assert len({entry.question for entry in ENTRIES}) == 12


def test_reports_have_tours_and_the_page_leads_to_their_first_steps(tmp_path: Path):
    entries = _cheap()
    assert write_gallery(entries, tmp_path) == []
    page = (tmp_path / "index.html").read_text()
    assert "<script" not in page
    links = dict(re.findall(r'href="([\w.]+)#([\w-]+)"', page))
    assert sorted(links) == sorted(f"{entry.name}.html" for entry in entries)
    for entry in entries:
        session = read(tmp_path / f"{entry.name}.html")
        (tour,) = session.tours
        assert tour.title == entry.question
        assert len(tour.steps) >= 3
        first = read_address(tour.steps[0].address)
        assert read_address(links[f"{entry.name}.html"]) == replace(first, tour=(0, 0))
        assert f"Time of {sum(len(times.calls) for times in session.times)} kernel calls" in page


def test_a_model_that_fails_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    def nothing(folder: Path) -> Path:
        return folder / "nothing.onnx"

    wrong = replace(_cheap()[0], make=nothing, wishes=Wishes())
    ((entry, why),) = write_gallery([wrong], tmp_path)
    assert entry is wrong
    assert "nothing.onnx" in why
    assert why in capsys.readouterr().out
    assert "nothing.onnx" in (tmp_path / "index.html").read_text()
