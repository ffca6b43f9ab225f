"""The dock of verdicts: it opens with a pin, says what the document says, and its links lead there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from recorded_sessions import recorded

from whence.explorer.session.verdicts import verdicts

if TYPE_CHECKING:
    from playwright.sync_api import Page

Show = Callable[[str], Path]


def _said(page: Page) -> list[str]:
    return page.locator("[data-test=verdict] dd").all_text_contents()


def _pin(page: Page, row: int) -> None:
    page.evaluate("row => window.whence.app.pin([row])", row)
    page.locator("[data-test=verdict] dd").first.wait_for()


def test_the_verdict_opens_with_a_pin_and_is_that_of_the_document(page: Page, report: Show):
    report("twins")
    run, *layers = verdicts(recorded("twins"))
    assert page.locator("[data-test=verdict]").count() == 0
    assert page.locator("[role=tab]").first.text_content() == "Verdict"
    for each in layers:
        _pin(page, each.layer)
        assert _said(page) == [answer.text for answer in each.answers]
    page.keyboard.press("Escape")
    assert _said(page) == [answer.text for answer in run.answers]


def test_who_closes_the_verdict_is_not_shown_it_again(page: Page, report: Show):
    report("twins")
    _, first, second, *_ = verdicts(recorded("twins"))
    _pin(page, first.layer)
    page.locator("[data-test=dock-verdict]").click()
    page.evaluate("row => window.whence.app.pin([row])", second.layer)
    assert page.locator("[data-test=verdict]").count() == 0


def test_links_open_lines_and_pin_layers(page: Page, report: Show):
    report("twins")
    _, first, *_ = verdicts(recorded("twins"))
    _pin(page, first.layer)
    (lines,) = [answer for answer in first.answers if answer.about == "lines"]
    _, _, stage, line, _ = next(phrase for phrase in lines.phrases if phrase[3])
    page.locator("[data-about=lines] button").first.click()
    shown = page.locator(f"[data-test=pane] [data-row='{line - 1}']")
    shown.first.wait_for()
    assert page.evaluate("window.whence.app.pane().stage") == stage
    (calls,) = [answer for answer in first.answers if answer.about == "where"]
    other = next(layer for _, layer, *_ in calls.phrases if layer >= 0)
    name = recorded("twins").layers.name[other]
    page.locator("[data-about=where] button", has_text=name).first.click()
    assert page.locator("[data-test=verdict] h3").first.text_content() == name
