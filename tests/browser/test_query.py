"""Queries in the page: the palette asks, the tab answers, and what the answer is about lights up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import expect
from recorded_sessions import recorded

from whence.explorer.session.query.answer import answer

if TYPE_CHECKING:
    from playwright.sync_api import Page

    Report = Callable[[str], Path]

_LINES = "lines where opcode~vmov and layer=conv2"


def asked(page: Page, query: str) -> None:
    """Ask a query in the palette."""
    page.keyboard.press("Control+k")
    page.locator("[data-test=palette-field]").fill(query)
    hit = page.locator("[data-test=palette-hit]").first
    expect(hit).to_have_attribute("data-kind", "query")
    page.keyboard.press("Enter")


def test_the_palette_asks_and_the_tab_answers(page: Page, report: Report):
    report("twins")
    asked(page, "layers where op=conv show layer, op, instructions")
    rows = page.locator("[data-test=answer-table] tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("conv1")
    expect(rows.first).to_have_attribute("data-pin", "A")
    labels = page.evaluate("() => window.whence.app.state.get('pins')[0].rows")
    session = recorded("twins")
    assert [session.layers.name[row] for row in labels] == ["conv1", "conv2"]
    rows.nth(1).click()
    expect(rows.first).not_to_have_attribute("data-pin", "A")
    expect(rows.nth(1)).to_have_attribute("data-pin", "A")


def test_the_very_lines_of_an_answer_light_up(page: Page, report: Report):
    report("twins")
    asked(page, _LINES)
    expected = answer(recorded("twins"), _LINES)
    expect(page.locator("[data-test=answer-table] caption")).to_have_text(
        f"{len(expected.rows)} rows of {len(expected.rows)} lines"
    )
    page.wait_for_function("() => window.whence.app.state.get('pins')[0]?.lines")
    lines = page.evaluate(
        "() => [...window.whence.app.state.get('pins')[0].lines].map(([stage, lines]) => [stage, [...lines]])"
    )
    assert sorted((stage, line) for stage, own in lines for line in own) == [
        tuple(place) for (place,) in expected.places
    ]
    pane = page.locator("[data-test=pane][data-level=asm]")
    lit = pane.locator("[data-pin=A]")
    expect(lit.first).to_contain_text("vmov")
    assert all("vmov" in text for text in lit.all_inner_texts())
    # A reload has the same answer and the same light.
    page.wait_for_timeout(400)
    page.reload()
    expect(page.locator("[data-test=query-field]")).to_have_value(_LINES)
    expect(page.locator("[data-test=pane][data-level=asm] [data-pin=A]").first).to_contain_text("vmov")


def test_back_returns_to_the_query_before(page: Page, report: Report):
    report("twins")
    asked(page, _LINES)
    page.wait_for_function("() => window.whence.app.state.get('pins')[0]?.lines")
    page.wait_for_timeout(400)
    asked(page, "layers where op=conv show layer")
    expect(page.locator("[data-test=answer-table] tbody tr")).to_have_count(2)
    page.wait_for_timeout(400)
    page.go_back()
    expect(page.locator("[data-test=query-field]")).to_have_value(_LINES)
    page.wait_for_function("() => window.whence.app.state.get('pins')[0]?.lines")


def test_a_wrong_query_is_pointed_at(page: Page, report: Report):
    report("twins")
    page.keyboard.press("Control+k")
    page.locator("[data-test=palette-field]").fill("?time by scop")
    hit = page.locator("[data-test=palette-hit][data-kind=query]")
    expect(hit.locator("b")).to_have_text("scop")
    expect(hit).to_contain_text("expected a column of layers, got 'scop'")
    page.keyboard.press("Enter")
    error = page.locator("[data-test=query-error]")
    expect(error).to_contain_text("did you mean scope")
    message, query, marks = error.inner_text().splitlines()[:3]
    assert message.startswith("expected a column")
    assert query[marks.index("^") :] == "scop"
    assert marks.count("^") == 4
    field = page.locator("[data-test=query-field]")
    field.fill("time by scope")
    field.press("Enter")
    expect(error).to_be_hidden()
    expect(page.locator("[data-test=answer-table] tbody tr")).not_to_have_count(0)
