"""The page can be seen and used: by light, in the dark, enlarged, in a small window, without a mouse."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser import audit, walk
from recorded_sessions import kept, recorded

from whence.explorer.report_file import write_report

if TYPE_CHECKING:
    from playwright.sync_api import Page

_LOOKS: dict[str, dict[str, object]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "forced colours": {"forced_colors": "active"},
    "200 %": {"viewport": {"width": 640, "height": 400}, "device_scale_factor": 2},
    "small window": {"viewport": {"width": 1024, "height": 700}},
}


@pytest.mark.parametrize("context", list(_LOOKS.values()), ids=list(_LOOKS), indirect=True)
def test_nothing_overlaps_and_all_can_be_read(page: Page, report: Callable[[str], Path]):
    report("twins")
    wrong = {"as it opens": audit(page)}
    page.locator("[data-row]").nth(2).click()
    page.locator("[data-row]").nth(4).click(modifiers=["Shift"])
    page.locator("[data-row]").nth(6).hover()
    wrong["with pins"] = audit(page)
    for dock in page.locator("[data-test^=dock-]").all():
        dock.click()
        wrong[dock.text_content() or ""] = audit(page)
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    wrong["help"] = audit(page)
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    wrong["palette"] = audit(page)
    found = {when: [*chain(*kinds.values())] for when, kinds in wrong.items()}
    assert {when: sentences for when, sentences in found.items() if sentences} == {}


def test_the_keyboard_reaches_everything(page: Page, report: Callable[[str], Path]):
    report("twins")
    page.locator("[data-row]").nth(2).click()
    stops = walk(page)
    assert not [stop for stop in stops if stop.startswith("*")]
    reached = " ".join(stops)
    assert all(name in reached for name in ("level", "stage", "text", "split", "close", "dock-"))


@pytest.mark.parametrize("context", [{"viewport": {"width": 375, "height": 700}}], indirect=True)
def test_a_narrow_page_shows_one_pane_at_a_time_and_moves_only_down(page: Page):
    page.goto(kept("twins.html", lambda path: write_report(recorded("twins"), path)).as_uri())
    tabs, panes = page.locator("[data-test=pane-tab]"), page.locator("[data-test=pane]:visible")
    tabs.filter(has_text="relay").click()
    assert [pane.get_attribute("data-level") for pane in panes.all()] == ["relay"]
    panes.locator("[data-row]:has(.bar)").nth(2).click()
    tabs.filter(has_text="tir").click()
    assert [pane.get_attribute("data-level") for pane in panes.all()] == ["tir"]
    panes.locator("[data-pin=A]").first.wait_for()
    wrong = {"pinned": [*chain(*audit(page).values())]}
    for dock in page.locator("[data-test^=dock-]").all():
        dock.click()
        wrong[dock.text_content() or ""] = [*chain(*audit(page).values())]
        assert page.evaluate("document.documentElement.scrollWidth") == 375
    assert {when: sentences for when, sentences in wrong.items() if sentences} == {}


def test_the_list_of_passes_keeps_its_head(page: Page, report: Callable[[str], Path]):
    report("twins")
    page.locator("[data-test=dock-passes]").click()
    page.locator(".pass-list").evaluate("list => { list.scrollTop = list.scrollHeight; }")
    top, head, last = page.evaluate("""() => [".pass-list", ".passes th", ".passes tbody tr:last-child"].map(
        name => document.querySelector(name).getBoundingClientRect().top)""")
    assert head == pytest.approx(top, abs=1)
    assert last > head
    assert page.locator(".pass-list").evaluate("list => list.scrollTop") > 0
