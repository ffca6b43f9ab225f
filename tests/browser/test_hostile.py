"""Names are text, wherever they are: nothing of a model or a session runs, is fetched, or changes the page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hostile_names import HOSTILE, model_of, poisoned
from small_session import small_session

from whence.explorer.report_file import write_report
from whence.exploring.record import record

if TYPE_CHECKING:
    from playwright.sync_api import Page

_STRANGERS = """() => {
  const kinds = ["img", "iframe", "object", "link", "base", "meta", "a[href]", "form", "script:not([id])"];
  return [...document.body.querySelectorAll(kinds.join())].map(element => element.outerHTML.slice(0, 200));
}"""
_LEVELS = ("model", "relay", "tir")


def _visit(page: Page, path: Path) -> None:
    """Open the report and in it every dock and some levels, hover and pin; it stays the page that it was."""
    page.on("dialog", lambda dialog: pytest.fail(f"a dialog says {dialog.message}"))
    page.goto(path.as_uri())
    page.locator("[data-test=text] [data-row]").first.wait_for()
    before = page.title()
    for level in _LEVELS:
        page.locator("[data-test=level]").first.select_option(level)
        page.locator("[data-row]").nth(2).hover()
        page.locator("[data-row]").nth(2).click()
    for dock in page.locator("[data-test^=dock-]").all():
        if dock.is_enabled():
            dock.click()
    page.keyboard.press("Control+k")
    assert page.evaluate(_STRANGERS) == []
    assert page.title() == before != "owned"


@pytest.mark.parametrize("name", ["".join(HOSTILE.values()), HOSTILE["prototype"]], ids=["all", "prototype"])
def test_names_of_a_session_are_text(page: Page, name: str, tmp_path: Path):
    write_report(poisoned(small_session(), name), tmp_path / "report.html")
    _visit(page, tmp_path / "report.html")


def test_names_of_a_model_are_text(page: Page, tmp_path: Path):
    name = "".join(text for kind, text in HOSTILE.items() if kind not in ("long", "lone surrogate"))
    write_report(record(model_of(name), threads=1), tmp_path / "report.html")
    _visit(page, tmp_path / "report.html")
    page.locator("[data-test=level]").first.select_option("model")
    page.locator("[data-test=text] [data-row]", has_text=HOSTILE["script"]).first.wait_for()
