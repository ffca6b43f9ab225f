"""The row of a tour: from step to step, there and back, and none where there is no tour."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser import audit
from playwright.sync_api import expect
from recorded_sessions import kept, recorded

from whence.explorer.report_file import write_report
from whence.explorer.session.places import Step, with_tour

if TYPE_CHECKING:
    from playwright.sync_api import Page

STEPS: list[Step] = [
    ("The whole model.", {}),
    ("A batch norm is nine operations.", {"panes": ("diff:simplify-inference", "relay:imported"), "layer": "bn1"}),
    ("It ends in a convolution.", {"panes": ("relay", "tir", "asm"), "layer": "conv2", "dock": "verdict"}),
    ("Time by operator.", {"panes": ("relay",), "query": "time by op"}),
]
_SHOWN = """() => {
  const { state } = window.whence.app;
  const levels = state.get("panes").map(pane => pane.level);
  return [levels, state.get("pins").map(pin => pin?.label ?? ""), state.get("dock")];
}"""
PLACES = [
    [["graph", "relay", "tir"], ["", ""], ""],
    [["diff", "relay"], ["bn1", ""], ""],
    [["relay", "tir", "asm"], ["conv2", ""], "verdict"],
    [["relay"], ["", ""], "answer"],
]


def _toured(path: Path) -> None:
    write_report(with_tour(recorded("twins"), "Where is my batch norm?", STEPS), path)


@pytest.fixture
def toured(page: Page) -> Page:
    """A report with a tour, before its first step."""
    page.goto(kept("toured.html", _toured).as_uri())
    page.locator("[data-test=tour-start]").wait_for()
    _ready(page)
    return page


def _ready(page: Page) -> None:
    """Wait for the panes of the first step, which a narrow page shows one by one."""
    page.locator("[data-level=graph] [data-items]").first.wait_for()
    page.locator("[data-level=relay] [data-row]").first.wait_for(state="attached")


def _at(page: Page, step: int) -> None:
    """Hold the page to a step of the tour."""
    expect(page.locator("[data-test=tour-step]")).to_have_text(f"{step + 1} of {len(STEPS)}")
    expect(page.locator("[data-test=tour-text]")).to_have_text(STEPS[step][0])
    levels, pins, dock = page.evaluate(_SHOWN)
    assert (levels, dock) == (PLACES[step][0], PLACES[step][2])
    # An answer pins its layers once it is there.
    assert dock == "answer" or pins == PLACES[step][1]
    expect(page.locator("[data-test=verdict]")).to_have_count(int(dock == "verdict"))


def test_steps_lead_forth_and_back(toured: Page):
    back, forth = toured.locator("[data-test=tour-back]"), toured.locator("[data-test=tour-next]")
    toured.locator("[data-test=tour-start]").click()
    _at(toured, 0)
    expect(back).to_be_disabled()
    forth.click()
    _at(toured, 1)
    toured.keyboard.press(">")
    _at(toured, 2)
    toured.locator("[data-level=tir] [data-row][data-pin=A]").first.wait_for()
    forth.click()
    _at(toured, 3)
    expect(forth).to_be_disabled()
    toured.locator("[data-test=answer-table] tbody tr").first.wait_for()
    back.click()
    _at(toured, 2)
    toured.keyboard.press("<")
    _at(toured, 1)


def test_steps_are_places_of_the_history_and_of_a_link(toured: Page):
    toured.locator("[data-test=tour-start]").click()
    toured.keyboard.press(">")
    _at(toured, 1)
    toured.keyboard.press(">")
    _at(toured, 2)
    toured.go_back()
    _at(toured, 1)
    toured.go_forward()
    _at(toured, 2)
    toured.reload()
    _at(toured, 2)


def test_who_strays_goes_on_where_the_tour_was(toured: Page):
    toured.locator("[data-test=tour-start]").click()
    toured.keyboard.press(">")
    _at(toured, 1)
    toured.keyboard.press("x")
    toured.keyboard.press("Escape")
    toured.keyboard.press(">")
    _at(toured, 2)


def test_a_tour_ends(toured: Page):
    toured.locator("[data-test=tour-start]").click()
    _at(toured, 0)
    toured.locator("[data-test=tour-end]").click()
    expect(toured.locator("[data-test=tour-step]")).to_be_hidden()
    expect(toured.locator("[data-test=tour-start]")).to_be_visible()


def test_a_session_without_tours_has_no_row(page: Page, report: Callable[[str], Path]):
    report("twins")
    expect(page.locator("#tour")).to_be_hidden()


@pytest.mark.parametrize(
    "context", [{"viewport": {"width": 375, "height": 700}}, {"color_scheme": "dark"}], indirect=True
)
def test_the_row_can_be_read_everywhere(toured: Page):
    wrong = [*chain(*audit(toured).values())]
    toured.locator("[data-test=tour-start]").click()
    _at(toured, 0)
    _ready(toured)
    wrong += chain(*audit(toured).values())
    assert wrong == []
    assert toured.evaluate("document.documentElement.scrollWidth <= innerWidth")
