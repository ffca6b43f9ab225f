"""Panes show the lines of a session, and light up what belongs together."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest
from browser import show_last_relay
from recorded_sessions import recorded
from synthetic_sessions import session as synthetic
from traced_network import traced_network

from whence import te
from whence.explorer.report_file import write_report
from whence.explorer.session.document import Body, Program, Session
from whence.explorer.session.judgement import Answer, Verdict
from whence.explorer.session.text import column, layers_of_lines, text_of_stage
from whence.exploring.measuring import Wishes
from whence.exploring.record import record

if TYPE_CHECKING:
    from playwright.sync_api import FloatRect, Locator, Page

Open = Callable[[Session], None]
_WIDE = pytest.mark.parametrize("context", [{"viewport": {"width": 1900, "height": 2400}}], indirect=True)
"""A window in which whole texts of small models are in view."""
_STATE = """() => [...document.querySelectorAll("[data-pane]")].map(pane => [
  pane.dataset.level,
  pane.dataset.stage,
  pane.querySelector(".scroller").scrollTop,
  pane.getBoundingClientRect().width,
  [...pane.querySelectorAll("[data-pin]")].map(row => row.dataset.row + row.dataset.pin).sort(),
])"""


@pytest.fixture
def show(page: Page, tmp_path: Path) -> Open:
    """Write the report of a session and open it."""

    def show(session: Session) -> None:
        write_report(session, tmp_path / "report.html")
        page.goto((tmp_path / "report.html").as_uri())
        page.locator("[data-test=text] [data-row]").first.wait_for()
        page.locator("[data-test=level]").first.select_option("model")
        page.locator("[data-level=model] [data-row]").first.wait_for()
        show_last_relay(page)

    return show


def _pane(page: Page, level: str) -> Locator:
    return page.locator(f"[data-level={level}]").first


def _row(page: Page, level: str, line: int) -> Locator:
    return _pane(page, level).locator(f'[data-row="{line}"]')


def _rows(page: Page, level: str, mark: str) -> list[int]:
    return sorted(_pane(page, level).locator(mark).evaluate_all("rows => rows.map(row => Number(row.dataset.row))"))


def _box(element: Locator) -> FloatRect:
    box = element.bounding_box()
    assert box
    return box


def _kin(session: Session, page: Page, level: str, layers: set[int]) -> list[int]:
    """The lines of a pane that serve one of some layers, as the document has them, and that have a row."""
    shown = set(_rows(page, level, "[data-row]"))
    return [line for line in _kin_of_stage(session, page, level, layers) if line in shown]


def _kin_of_stage(session: Session, page: Page, level: str, layers: set[int]) -> list[int]:
    stage = int(_pane(page, level).get_attribute("data-stage") or "")
    return [line for line, rows in enumerate(layers_of_lines(session, stage)) if layers & set(rows)]


def _line_of(session: Session, page: Page, level: str, words: str) -> tuple[int, set[int]]:
    """The first line of a pane's stage that has some words, and its layers."""
    stage = int(_pane(page, level).get_attribute("data-stage") or "")
    line = next(line for line, text in enumerate(text_of_stage(session, stage)) if words in text)
    return line, set(layers_of_lines(session, stage)[line])


@_WIDE
def test_hover_lights_up_the_kin_in_all_panes(page: Page, show: Open):
    session = recorded("twins")
    show(session)
    for words in ("conv1", "relu2", "pool"):
        line, layers = _line_of(session, page, "model", words)
        _row(page, "model", line).hover()
        for level in ("model", "relay", "tir", "asm"):
            assert _rows(page, level, "[data-kin]") == _kin(session, page, level, layers), (words, level)
    _row(page, "relay", 0).hover()
    assert page.locator("[data-kin]").count() == 0


@_WIDE
def test_lines_of_a_kernel_are_linked_by_lines_of_tir(page: Page, show: Open):
    session = recorded("twins")
    show(session)
    stage = int(_pane(page, "asm").get_attribute("data-stage") or "")
    lines = column(session.stages[stage].body.tir)
    inferred = [line for line, exact in enumerate(column(session.stages[stage].body.exact)) if not exact]
    shown = set(_rows(page, "asm", "[data-row]"))
    middle = sorted(shown)[len(shown) // 2]
    chosen = next(line for line in range(middle, len(lines)) if lines[line] and line not in inferred)
    _row(page, "asm", chosen).hover()
    assert _rows(page, "tir", "[data-kin]") == [lines[chosen] - 1]
    same = [line for line, number in enumerate(lines) if number == lines[chosen]]
    assert _rows(page, "asm", "[data-kin]") == [line for line in same if line in shown]
    assert _rows(page, "asm", '[data-exact="0"]') == [line for line in inferred if line in shown]
    assert _rows(page, "relay", "[data-kin]")


@_WIDE
def test_two_pins_and_lines_of_both(page: Page, show: Open):
    session = recorded("twins")
    show(session)
    conv, first = _line_of(session, page, "model", "conv1")
    relu, second = _line_of(session, page, "model", "relu1")
    _row(page, "model", conv).click()
    _row(page, "model", relu).click(modifiers=["Shift"])
    for level in ("relay", "tir", "asm"):
        a, b = (set(_kin(session, page, level, layers)) for layers in (first, second))
        assert _rows(page, level, '[data-pin="AB"]') == sorted(a & b)
        assert _rows(page, level, '[data-pin="A"]') == sorted(a - b)
        assert _rows(page, level, '[data-pin="B"]') == sorted(b - a)
    assert _rows(page, "asm", '[data-pin="AB"]'), "the kernel fuses both"
    assert _row(page, "model", conv).get_attribute("aria-selected") == "true"
    strips = page.locator("[data-test=lineage]")
    assert [strips.nth(0).locator("b").inner_text(), strips.nth(1).locator("b").inner_text()] == ["A", "B"]
    page.keyboard.press("Escape")
    assert page.locator(".row[data-pin]").count() == 0


@_WIDE
def test_panes_of_kernels_follow_a_pin(page: Page, show: Open):
    session = recorded("twins")
    show(session)
    before = _pane(page, "asm").get_attribute("data-stage")
    line, layers = _line_of(session, page, "model", "pool")
    _row(page, "model", line).click()
    _pane(page, "asm").locator("[data-pin]").first.wait_for()
    assert _pane(page, "asm").get_attribute("data-stage") != before
    for level in ("tir", "asm"):
        assert _rows(page, level, '[data-pin="A"]') == _kin(session, page, level, layers)


def test_another_program_has_its_own_texts(page: Page, show: Open):
    session = synthetic(50)
    first = len(session.stages)
    session.programs.append(Program("second", "specialised", "n = 4"))
    session.kernels.append(replace(session.kernels[0], program=1, stages=[first + 1]))
    for level, kernel in (("relay", -1), ("tir", 1)):
        stage = next(stage for stage in session.stages if stage.level == level)
        session.stages.append(replace(stage, program=1, kernel=kernel))
    session.calls.append(replace(session.calls[0], program=1, kernel=1))
    show(session)
    relay = _pane(page, "relay").get_attribute("data-stage")
    page.locator("[data-test=program]").select_option(label="second: n = 4")
    assert _pane(page, "relay").get_attribute("data-stage") == str(first)
    assert _pane(page, "tir").get_attribute("data-stage") == str(first + 1)
    page.wait_for_timeout(300)
    page.reload()
    assert _pane(page, "relay").get_attribute("data-stage") == str(first)
    page.locator("[data-test=program]").select_option(index=0)
    assert _pane(page, "relay").get_attribute("data-stage") == relay


def test_reload_keeps_panes_pins_and_scroll(page: Page, show: Open):
    show(synthetic(3000))
    _row(page, "relay", 4).click()
    _row(page, "relay", 9).click(modifiers=["Shift"])
    page.keyboard.press("s")
    page.keyboard.press("3")
    page.locator("[role=separator][aria-orientation=vertical]").first.focus()
    page.keyboard.press("ArrowRight")
    page.locator("[data-pane]").nth(1).locator(".scroller").evaluate("element => element.scrollTop = 18 * 1000")
    page.wait_for_timeout(500)
    before = page.evaluate(_STATE)
    page.reload()
    page.locator("[data-test=lineage]").nth(1).wait_for()
    page.wait_for_timeout(300)
    after = page.evaluate(_STATE)
    assert len(after) == 4
    for old, new in zip(before, after, strict=True):
        assert (old[0], old[1]) == (new[0], new[1])
        assert abs(old[2] - new[2]) <= 18
        assert abs(old[3] - new[3]) <= 2
    assert any(pane[4] for pane in after)
    assert [pane[4] for pane in before] == [pane[4] for pane in after]


def test_marks_above_and_below_go_to_pinned_lines(page: Page, show: Open):
    session = synthetic(3000)
    show(session)
    _row(page, "relay", 4).click()
    stage = int(_pane(page, "relay").get_attribute("data-stage") or "")
    layers = set(layers_of_lines(session, stage)[4])
    kin = _kin_of_stage(session, page, "relay", layers)
    below = _pane(page, "relay").locator("[data-test=below]")
    seen = _rows(page, "relay", "[data-pin]")
    assert "A: " in below.inner_text()
    visible = [line for line in kin if line in seen]
    assert abs(int(re.findall(r"\d+", below.inner_text())[0]) - (len(kin) - len(visible))) <= 6
    below.click()
    following = next(line for line in kin if line > max(visible))
    assert _row(page, "relay", following).get_attribute("data-cursor") == ""
    assert _pane(page, "relay").locator("[data-test=above]").is_visible()


def test_filter_shows_pinned_lines_only(page: Page, show: Open):
    session = synthetic(3000)
    show(session)
    _row(page, "relay", 4).click()
    stage = int(_pane(page, "relay").get_attribute("data-stage") or "")
    kin = _kin_of_stage(session, page, "relay", set(layers_of_lines(session, stage)[4]))
    page.keyboard.press("f")
    assert _rows(page, "relay", "[data-row]") == kin[: len(_rows(page, "relay", "[data-row]"))]
    assert _pane(page, "relay").locator("[data-test=filtered]").inner_text() == f"{len(kin)} of 3,000 lines"
    page.keyboard.press("f")
    assert _row(page, "relay", 5).is_visible()


def test_search_goes_from_hit_to_hit(page: Page, show: Open):
    show(synthetic(3000))
    _row(page, "relay", 0).click()
    page.keyboard.press("/")
    page.keyboard.type("%2000 =")
    assert _row(page, "relay", 2000).get_attribute("data-hit") == ""
    assert _pane(page, "relay").locator(".count").inner_text() == "1 line"
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("%777 ")
    page.keyboard.press("Escape")
    assert page.locator("[data-hit]").count() == 0
    assert page.evaluate("() => document.activeElement.getAttribute('role')") == "grid"


def test_the_keyboard_does_all(page: Page, show: Open):
    session = recorded("twins")
    show(session)
    page.keyboard.press("[")
    page.keyboard.press("]")
    page.keyboard.press("Home")
    first, _ = _line_of(session, page, "model", "conv1")
    for _ in range(first):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Shift+Enter")
    assert _rows(page, "model", '[data-pin="A"]') == [first]
    assert _rows(page, "model", '[data-pin="B"]') == [first + 1]
    told = page.locator("[data-test=told]").inner_text()
    assert told.startswith("B: bn1")
    assert "instruction" in told
    panes = page.locator("[data-pane]").count()
    page.keyboard.press("s")
    assert page.locator("[data-pane]").count() == panes + 1
    page.keyboard.press("x")
    assert page.locator("[data-pane]").count() == panes
    page.keyboard.press("?")
    help = page.locator("[data-test=help]")
    assert help.locator("[data-action=why]").is_visible()
    page.keyboard.press("Escape")
    assert help.count() == 0
    assert _rows(page, "model", '[data-pin="A"]') == [first], "Escape closed the help only"


def test_outputs_of_layers_are_marked(page: Page, show: Open):
    session = recorded("twins")
    show(session)
    _pane(page, "relay").locator("[data-test=stage]").select_option(index=0)
    stage = int(_pane(page, "relay").get_attribute("data-stage") or "")
    outputs = {line - 1: session.layers.name[layer] for line, layer in session.stages[stage].body.outputs}
    line = next(line for line, name in outputs.items() if name == "relu1")
    sign = _row(page, "relay", line).locator(".sign")
    assert sign.inner_text() == "o"
    assert sign.get_attribute("data-output") == "relu1"


def test_long_lines_wrap_on_demand(page: Page, show: Open):
    show(recorded("twins"))
    row = _row(page, "relay", 1)
    assert _box(row)["height"] == 18
    page.locator("[data-level=relay] [data-test=wrap]").click()
    box = _box(row)
    assert box["height"] > 18
    assert _box(row.locator(".code"))["height"] <= box["height"] + 1
    assert _box(_row(page, "relay", 2))["y"] == box["y"] + box["height"]


def test_a_million_lines_can_be_scrolled(page: Page, show: Open):
    session = synthetic(10)
    (relay,) = (stage for stage in session.stages if stage.level == "relay")
    count = 1_200_000
    relay.lines = count
    relay.body = replace(
        relay.body,
        edits=[(0, 0, [f"line {number}" for number in range(count)])],
        sets=[1, count],
        ops=[-1, count],
        outputs=[],
    )
    show(session)
    scroller = _pane(page, "relay").locator(".scroller")
    scroller.evaluate("element => element.scrollTop = element.scrollHeight")
    _row(page, "relay", count - 1).wait_for()
    box, view = _box(_row(page, "relay", count - 1)), _box(scroller)
    assert view["y"] < box["y"] < view["y"] + view["height"]
    assert _pane(page, "relay").locator("[data-row]").count() < 80


_DAMAGES: dict[str, Callable[[Session], object]] = {
    "version 1": lambda session: setattr(session, "whence_session", 1),
    "columns of its layers differ in length": lambda session: session.layers.kind.pop(),
    "a set names a layer that is not there": lambda session: session.sets.append([10**9]),
    "stage 0 names a row that is not there": lambda session: setattr(session.stages[0], "lines", 10**9),
    "call 0 names a row that is not there": lambda session: setattr(session.calls[0], "kernel", -7),
    "an event names an op that is not there": lambda session: session.events.sources[0].append(99999),
}
_VERDICTS: dict[str, Verdict] = {
    "verdict 0 names a row that is not there": Verdict(0, 10**9, 0.0, 0.0, False, "", 0.0),
    "a verdict names a stage that is not there": Verdict(
        0, -1, 0.0, 0.0, False, "", 0.0, [Answer("lines").link("1", stage=10**9)]
    ),
}
_BODIES: dict[str, Body] = {
    "a column is shorter than its text": Body(-1, [], [1, 3], [], [], [], []),
    "a column is longer than its text": Body(-1, [], [1, 10**9], [], [], [], []),
    "texts are edits of each other": Body(1, [], [1, 50], [1, 50], [], [], []),
    "a text has another number of lines": Body(-1, [], [1, 50], [1, 50], [], [], []),
}


def _untouched(session: Session) -> None:
    del session


def test_a_damaged_document_is_told_in_one_sentence(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    cases = [(sentence, damage, list[Verdict]()) for sentence, damage in _DAMAGES.items()]
    cases += [(sentence, _untouched, [verdict]) for sentence, verdict in _VERDICTS.items()]
    for sentence, damage, verdicts in cases:
        session = recorded("twins")
        damage(session)
        # Only documents that pass the check are judged and have tables for queries.
        monkeypatch.setattr("whence.explorer.report_file.tables_part", Mock(return_value="{}"))
        monkeypatch.setattr("whence.explorer.session.parts.verdicts", Mock(return_value=verdicts))
        write_report(session, tmp_path / "report.html")
        page.goto((tmp_path / "report.html").as_uri())
        assert sentence in page.locator("[data-test=failure]").inner_text()


def test_a_damaged_text_is_told_in_its_pane(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("whence.explorer.report_file.tables_part", Mock(return_value="{}"))
    for sentence, body in _BODIES.items():
        session = synthetic(50)
        assert session.stages[1].level == "relay"
        session.stages[1].body = body
        write_report(session, tmp_path / "report.html")
        page.goto((tmp_path / "report.html").as_uri())
        _pane(page, "relay").locator(".message", has_text=sentence).wait_for()
        assert _row(page, "tir", 0).is_visible()


def test_a_line_of_python_lights_up_every_level(page: Page, tmp_path: Path):
    session = record(traced_network(tmp_path / "net.py"), wishes=Wishes(sources=True))
    write_report(session, tmp_path / "report.html")
    page.goto((tmp_path / "report.html").as_uri())
    page.locator("[data-test=level]").first.select_option("python")
    line, layers = _line_of(session, page, "python", "x = self.block(x)")
    assert {session.layers.name[row] for row in layers} == {"relu", "sigmoid"}
    _row(page, "python", line).hover()
    for level in ("python", "relay", "tir"):
        kin = _rows(page, level, "[data-kin]")
        assert kin == _kin(session, page, level, layers)
        assert kin
    _row(page, "python", line).click()
    assert page.evaluate("window.whence.app.state.get('pins')[0].label") == "relu, sigmoid"
    assert _rows(page, "relay", "[data-pin=A]") == _kin(session, page, "relay", layers)


def test_functions_begin_with_their_tensor_expressions(page: Page, tmp_path: Path):
    x = te.placeholder((64,), name="x")
    schedule = te.create_schedule(te.compute((64,), lambda i: x[i] * 2, name="y"))
    write_report(record(schedule), tmp_path / "function.html")
    page.goto((tmp_path / "function.html").as_uri())
    page.locator("[data-level=te] [data-row]:has(.bar)").first.wait_for()
    assert [pane[0] for pane in page.evaluate(_STATE)] == ["model", "te", "tir"]
