"""The pictures of docs/explorer.md, and of what each view has to show: `pytest tests/browser --pictures` takes them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

Show = Callable[[str], Path]
Take = Callable[[str], None]
_PICTURE = re.compile(r"!\[[^]]*\]\(([^)]+)\)")
_LARGEST = 150_000
_WIDE: list[dict[str, object]] = [{"viewport": {"width": 1280, "height": 640}}]
wide = pytest.mark.parametrize("context", _WIDE, ids=["wide"], indirect=True)


def _pane(page: Page, number: int) -> Locator:
    return page.locator("[data-test=pane]").nth(number)


def _level(page: Page, number: int, level: str) -> None:
    """Show a level in a pane, and wait for it."""
    _pane(page, number).locator("[data-test=level]").select_option(level)
    if level not in ("graph", "calls"):
        _pane(page, number).locator("[data-row]").first.wait_for()


def _only(page: Page, *levels: str) -> None:
    """Show panes of these levels, and no others."""
    while page.locator("[data-test=pane]").count() > len(levels):
        page.locator("[data-test=close]").last.click()
    while page.locator("[data-test=pane]").count() < len(levels):
        page.locator("[data-test=split]").last.click()
    for number, level in enumerate(levels):
        _level(page, number, level)


def _row(page: Page, number: int, text: str) -> Locator:
    """The first line of a pane that has a text."""
    return _pane(page, number).locator("[data-row]", has_text=text).first


@wide
def test_verdict(page: Page, report: Show, picture: Take):
    """The five lines about a pinned layer, with links to its calls, layers and lines."""
    report("twins")
    _only(page, "relay", "tir", "asm")
    page.evaluate("const { app } = window.whence; app.pin([app.model.document.layers.name.indexOf('conv1')])")
    verdict = page.locator("[data-test=verdict]")
    assert verdict.locator("dt").all_text_contents() == ["time", "where", "bound by", "lines", "to try"]
    verdict.locator("[data-about=lines] button").first.click()
    picture("verdict")


@wide
def test_entrance(page: Page, report: Show, picture: Take):
    """The model as a graph with the properties of a layer beside Relay, in colours of layers."""
    report("int8")
    _only(page, "graph", "relay")
    page.locator("[data-test=find-node]").fill("pointwise0")
    page.locator("[data-test=found-node]").first.click()
    page.keyboard.press("Enter")
    properties = page.locator("[data-test=properties]")
    assert all(word in properties.inner_text() for word in ("CONV_2D", "pointwise0", "stride"))
    page.locator("[data-test=find-node]").fill("")
    picture("entrance")


@wide
def test_text_mapping(page: Page, report: Show, picture: Take):
    """A click on a layer marks its lines at every level, and no others."""
    report("int8")
    _only(page, "model", "relay", "tir")
    _row(page, 0, "depthwise0").click()
    for number in (1, 2):
        _pane(page, number).locator("[data-row][data-pin=A]").nth(3).wait_for()
    assert "instructions" in page.locator("#lineage").inner_text()
    picture("mapping")


@wide
def test_two_pins(page: Page, report: Show, picture: Take):
    """Lines that serve both of two pinned layers have both marks."""
    report("twins")
    _only(page, "model", "relay", "tir", "asm")
    _row(page, 0, "conv1").click()
    _row(page, 0, "relu1").click(modifiers=["Shift"])
    _pane(page, 1).locator("[data-pin=AB]").first.wait_for()
    picture("pins")


@wide
def test_why(page: Page, report: Show, picture: Take):
    """A line says which pass made it, of what, and by which line of its source."""
    report("twins")
    _only(page, "relay", "tir")
    _row(page, 0, "relay.call @fused_nn_contrib").click()
    page.keyboard.press("w")
    text = page.locator("[data-test=dock]").inner_text()
    assert "relay-fuse-ops" in text
    assert "passes/relay/fuse_ops.py:" in text
    assert all(layer in text for layer in ("conv1", "bn1", "relu1"))
    picture("why")


@wide
def test_where(page: Page, report: Show, picture: Take):
    """A layer that vanished says who took it away, and what it went into."""
    report("twins")
    _only(page, "model", "relay")
    _row(page, 0, "bn1").click()
    page.keyboard.press("g")
    text = page.locator("[data-test=dock]").inner_text()
    assert "relay-simplify-inference" in text
    assert "relay-fold-scale-axis" in text
    picture("where")


@wide
def test_difference(page: Page, report: Show, picture: Take):
    """A batch norm unpacked: one op is gone, others are new and name the layer."""
    report("twins")
    _only(page, "relay")
    stages = _pane(page, 0).locator("[data-test=stage]")
    (name,) = [text for text in stages.locator("option").all_text_contents() if "simplify-inference" in text]
    stages.select_option(label=name)
    page.keyboard.press("d")
    gone = page.locator("text=/relay.nn.batch_norm/").first
    gone.wait_for()
    picture("difference")


@wide
def test_calls(page: Page, report: Show, picture: Take):
    """The graph of kernel calls: each box with its number, kernel and type."""
    report("twins")
    _only(page, "calls", "tir")
    picture("calls")


@wide
def test_answer(page: Page, report: Show, picture: Take):
    """A query in the palette, its table in the dock, and the lines of the answer lit up."""
    report("int8")
    _only(page, "tir", "asm")
    page.keyboard.press("Control+k")
    page.locator("[data-test=palette-field]").fill("lines where (opcode~vpmadd or opcode~vpdpb) and layer=pointwise1")
    page.locator("[data-test=palette-hit][data-kind=query]").wait_for()
    page.keyboard.press("Enter")
    page.locator("[data-test=answer-table] tbody tr").nth(3).wait_for()
    page.locator("[data-test=pane][data-level=asm] [data-row][data-pin=A]").first.wait_for()
    picture("answer")


def test_every_picture_is_shown_and_there():
    root = Path(__file__).parents[2]
    pages = [root / "README.md", *(root / "docs").glob("*.md")]
    shown = {
        (page.parent / path).resolve()
        for page in pages
        for path in re.findall(r"!\[[^]]*\]\(([^)]+)\)", page.read_text())
    }
    assert shown == {*(root / "docs" / "pictures").iterdir()}
    assert all(path.stat().st_size < _LARGEST for path in shown)
