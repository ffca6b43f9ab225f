"""The palette: everything is found by a few letters, and every action is reached; what is shown is copied."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
from playwright.sync_api import expect
from recorded_sessions import kept

from whence.explorer.report_file import write_report
from whence.exploring.record import record

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    Report = Callable[[str], Path]


def typed(page: Page, query: str) -> Locator:
    """Open the palette, type, and return the hits."""
    page.keyboard.press("Control+k")
    page.locator("[data-test=palette-field]").fill(query)
    return page.locator("[data-test=palette-hit]")


def test_a_layer_is_pinned(page: Page, report: Report):
    report("twins")
    hits = typed(page, "bn1")
    expect(hits.first).to_have_attribute("data-kind", "layer")
    page.keyboard.press("Enter")
    expect(page.locator("[data-test=palette]")).not_to_be_visible()
    typed(page, "bn2")
    page.keyboard.press("Shift+Enter")
    assert page.evaluate("() => window.whence.app.state.get('pins').map((pin) => pin.label)") == ["bn1", "bn2"]


@pytest.mark.parametrize(
    ("query", "kind", "level"),
    [
        ("%w1 = relay.constant", "op", "relay"),
        ("for parallel", "loop", "tir"),
        ("tvmgen_default_fused_nn_contrib", "kernel", "tir"),
        ("tir-vectorize", "pass", "tir"),
        ("tvmgen_default_fused_global", "symbol", ""),
    ],
)
def test_every_level_is_searched(page: Page, report: Report, query: str, kind: str, level: str):
    report("twins")
    hit = typed(page, query).and_(page.locator(f"[data-kind={kind}]")).first
    hit.click()
    expect(page.locator("[data-test=palette]")).not_to_be_visible()
    if level:
        focus = page.locator("[data-test=pane][data-focus]")
        expect(focus).to_have_attribute("data-level", level)


def test_every_action_is_reached(page: Page, report: Report):
    report("twins")
    page.locator("[data-test=pane][data-level=relay] [data-row]").nth(3).click()
    titles = page.evaluate(
        """() => {
          const { app } = window.whence;
          const rows = app.actions.list().filter(({ id, enabled }) => id !== "palette" && (enabled?.(app) ?? true));
          return rows.map(({ title }) => title);
        }"""
    )
    hits = typed(page, ">")
    assert len(titles) > 20
    assert [title for title in cast(list[str], titles) if not hits.filter(has_text=title).count()] == []
    typed(page, "> light or dark")
    page.keyboard.press("Enter")
    assert page.evaluate("() => window.whence.app.state.get('theme')") != "auto"


def test_arrows_and_escape(page: Page, report: Report):
    report("twins")
    hits = typed(page, "conv")
    expect(hits.first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    expect(hits.nth(1)).to_have_attribute("aria-selected", "true")
    active = page.locator("[data-test=palette-field]").get_attribute("aria-activedescendant")
    assert hits.nth(1).get_attribute("id") == active
    page.keyboard.press("Escape")
    expect(page.locator("[data-test=palette]")).not_to_be_visible()
    typed(page, "no such thing at all")
    expect(page.locator("[data-test=palette-count]")).to_have_text("0")


@pytest.mark.parametrize("context", [{"permissions": ["clipboard-read", "clipboard-write"]}], indirect=True)
def test_what_is_shown_is_copied_as_a_command(page: Page):
    def write(path: Path) -> None:
        source = path.with_name("relu.mlir")
        relu = "%y = relay.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>"
        source.write_text(
            f'relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {{\n{relu} loc("act")\n'
            'relay.return %y : tensor<4xf32> loc("act")\n} loc("main")\n'
        )
        write_report(record(source), path)

    path = kept("relu.html", write)
    page.goto(path.as_uri())
    page.locator("[data-test=pane][data-level=relay] [data-row]").nth(2).click()
    # The imported module is shown first, which no pass made.
    page.keyboard.press("j")

    def copied() -> str:
        return cast(str, page.evaluate("() => navigator.clipboard.readText()"))

    page.keyboard.press("c")
    expect(page.locator("[data-test=said]")).to_have_text("Copied.")
    model = path.with_name("relu.mlir")
    assert copied().startswith(f"whence-opt {model} -p 'relay-")
    page.keyboard.press("C")
    page.locator("[data-test=palette-hit]").filter(has_text="whence where").click()
    expect(page.locator("[data-test=palette]")).not_to_be_visible()
    assert copied() == f"whence where {model} --layer act"
    page.locator("[data-test=pane][data-level=tir] [data-row]").nth(1).click()
    page.keyboard.press("c")
    assert " --line 2" in copied()
