"""The graph: layers and calls as boxes, folded by scope, walked with keys, found, pinned, and hot."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser import audit
from playwright.sync_api import expect
from recorded_sessions import kept, recorded
from synthetic_sessions import graph, session

from whence.explorer.report_file import write_report

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    Report = Callable[[str], Path]


def shown(page: Page, kind: str = "graph") -> Locator:
    """Show a graph in the first pane, and return the pane once the graph is laid out."""
    pane = page.locator("[data-test=pane]").first
    pane.locator("[data-test=level]").select_option(kind)
    pane.locator("[data-test=graph][data-items]").wait_for()
    return pane


def synthetic(page: Page, nodes: int) -> None:
    """Open the report of a graph of that many nodes, in scopes of 30 and of 300."""

    def write(path: Path) -> None:
        large = session(100, nodes)
        large.graphs.append(graph(nodes))
        write_report(large, path)

    page.goto(kept(f"graph-{nodes}.html", write).as_uri())
    page.locator("[data-test=text] [data-row]").first.wait_for()


def items(pane: Locator) -> int:
    return int(pane.locator("[data-test=graph]").get_attribute("data-items") or 0)


@pytest.mark.parametrize(("kind", "level"), [("graph", "model"), ("calls", "calls")])
def test_every_node_is_a_box_but_weights(page: Page, report: Report, kind: str, level: str):
    report("twins")
    pane = shown(page, kind)
    drawn = next(drawn for drawn in recorded("twins").graphs if drawn.level == level)
    readers = [drawn.edges.source.count(node) for node in range(len(drawn.nodes.kind))]
    boxes = [k for k, kind in enumerate(drawn.nodes.kind) if kind != "constant" or readers[k] > 1]
    assert items(pane) == len(boxes)
    edges = {(a, b) for a, b in zip(drawn.edges.source, drawn.edges.target, strict=True) if a in boxes}
    expect(pane.locator("[data-test=graph]")).to_have_attribute("data-edges", str(len(edges)))


def test_arrows_walk_along_edges_and_enter_pins(page: Page, report: Report):
    report("twins")
    pane = shown(page)
    nodes = pane.locator("[data-test=graph-nodes]")
    nodes.focus()
    for name in ("conv1", "bn1"):
        page.keyboard.press("ArrowDown")
        expect(nodes).to_have_attribute("data-cursor", re.compile(rf"\b{name}$"))
    page.keyboard.press("ArrowUp")
    expect(nodes).to_have_attribute("data-cursor", re.compile(r"\bconv1$"))
    relay = page.locator("[data-test=pane][data-level=relay]")
    expect(relay.locator("[data-row][data-kin]").first).to_be_visible()
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Shift+Enter")
    expect(pane.locator("[data-test=graph]")).to_have_attribute("data-pinned", "1,1")
    pins = page.evaluate("() => window.whence.app.state.get('pins').map((pin) => pin.label)")
    assert pins == ["conv1", "bn1"]
    # What screen readers are told: the node, what it reads and what reads it.
    assert nodes.locator("[role=option]").all_inner_texts() == [
        "reads Conv conv1",
        "BatchNormalization bn1",
        "read by Relu relu1",
    ]
    active = nodes.get_attribute("aria-activedescendant")
    assert page.locator(f"#{active}").get_attribute("aria-selected") == "true"


def test_a_node_is_found_clicked_and_described(page: Page, report: Report):
    report("twins")
    pane = shown(page)
    page.keyboard.press("Control+f")
    page.keyboard.type("bn2")
    assert "bn2" in pane.locator("[data-test=found-node]").first.inner_text()
    page.keyboard.press("Enter")
    facts = pane.locator("[data-test=properties]")
    expect(facts).to_be_visible()
    text = facts.inner_text()
    for word in ("BatchNormalization", "bn2", "epsilon", "scale2", "float32[16]", "conv2", "relu2"):
        assert word in text
    page.keyboard.press("Escape")
    nodes = pane.locator("[data-test=graph-nodes]")
    nodes.click()
    expect(pane.locator("[data-test=graph]")).to_have_attribute("data-pinned", "1,0")
    assert page.evaluate("() => window.whence.app.state.get('pins')[0].label") == "bn2"
    facts.get_by_role("button", name="relu2").click()
    expect(nodes).to_have_attribute("data-cursor", re.compile("relu2$"))


def test_nodes_are_found_by_what_they_give_and_all_of_a_type_are_lit(page: Page, report: Report):
    report("twins")
    pane = shown(page)
    drawn = pane.locator("[data-test=graph]")
    pane.locator("[data-test=find-node]").fill("1x16x1x1")
    assert pane.locator("[data-test=found-node]").all_inner_texts() == [
        "GlobalAveragePool pool float32[1, 16, 1, 1]",
        "y pool float32[1, 16, 1, 1]",
    ]
    pane.locator("[data-test=find-node]").fill("conv2")
    page.keyboard.press("Enter")
    pane.locator("[data-test=all-of-type]").click()
    expect(drawn).to_have_attribute("data-same", "2")
    pane.locator("[data-test=tensor-of]").first.click()
    expect(drawn).to_have_attribute("data-tensor", re.compile(r"^\d+ 0$"))
    text = pane.locator("[data-test=properties]").inner_text()
    for word in ("float32[1, 16, 8, 8]", "4.1 kB", "range", "READ BY", "conv2"):
        assert word in text
    pane.get_by_role("button", name="close the properties").click()
    expect(drawn).to_have_attribute("data-same", "0")


def test_a_graph_goes_from_left_to_right_and_a_reload_keeps_that(page: Page, report: Report):
    report("twins")
    pane = shown(page)
    turn = pane.locator("[data-test=graph-left-to-right]")
    turn.click()
    expect(turn).to_have_attribute("aria-pressed", "true")
    nodes = pane.locator("[data-test=graph-nodes]")
    nodes.focus()
    for name in ("conv1", "bn1"):
        page.keyboard.press("ArrowRight")
        expect(nodes).to_have_attribute("data-cursor", re.compile(rf"\b{name}$"))
    page.reload()
    pane.locator("[data-test=graph][data-items]").wait_for()
    expect(turn).to_have_attribute("aria-pressed", "true")
    nodes.focus()
    page.keyboard.press("h")
    expect(turn).to_have_attribute("aria-pressed", "false")
    page.keyboard.press("Control+k")
    page.locator("[data-test=palette-field]").fill("> left to right")
    page.locator("[data-test=palette-hit]").first.click()
    expect(turn).to_have_attribute("aria-pressed", "true")


def test_hover_and_heat_reach_the_graph(page: Page, report: Report):
    report("twins")
    pane = shown(page)
    relay = page.locator("[data-test=pane][data-level=relay]")
    relay.locator("[data-row]").nth(4).hover()
    drawn = pane.locator("[data-test=graph]")
    expect(drawn).to_have_attribute("data-kin", re.compile("[1-9]"))
    page.locator("[data-test=heat]").select_option("flops")
    expect(drawn).to_have_attribute("data-heat", "flops")


def test_scopes_are_folded_and_unfolded(page: Page):
    synthetic(page, 900)
    pane = shown(page)
    folded = items(pane)
    assert folded < 100, "900 nodes are too many to be shown at once"
    pane.locator("[data-test=graph-fold-all]").click()
    drawn = pane.locator("[data-test=graph]")
    expect(drawn).to_have_attribute("data-items", "3")
    nodes = pane.locator("[data-test=graph-nodes]")
    nodes.focus()
    page.keyboard.press("Home")
    expect(nodes).to_have_attribute("data-cursor", "group stage0")
    page.keyboard.press("Space")
    expect(drawn).to_have_attribute("data-items", str(3 + 10))
    page.keyboard.press("Space")
    expect(drawn).to_have_attribute("data-items", "3")
    pane.locator("[data-test=graph-unfold-all]").click()
    expect(drawn).to_have_attribute("data-items", str(900 + 3 + 30))
    page.keyboard.press("Control+f")
    pane.locator("[data-test=graph-fold-all]").click()
    expect(drawn).to_have_attribute("data-items", "3")
    pane.locator("[data-test=find-node]").fill("conv777")
    page.keyboard.press("Enter")
    expect(nodes).to_have_attribute("data-cursor", re.compile("conv777$"))


def test_the_page_answers_while_a_large_graph_is_laid_out(page: Page):
    synthetic(page, 20_000)
    pane = shown(page)
    pane.locator("[data-test=graph-unfold-all]").click()
    assert items(pane) < 1000, "the layout goes on elsewhere"
    expect(pane.locator("[data-test=graph]")).to_have_attribute("data-items", re.compile(r"^2\d{4}$"), timeout=20_000)
    nodes = pane.locator("[data-test=graph-nodes]")
    box = nodes.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 100, box["y"] + 200)
    page.mouse.wheel(0, 3000)
    page.mouse.down()
    page.mouse.move(box["x"] + 100, box["y"] + 400, steps=5)
    page.mouse.up()
    expect(pane.locator("[data-test=graph]")).to_have_attribute("data-pinned", "0,0")


@pytest.mark.parametrize(
    "context",
    [{"color_scheme": "light"}, {"color_scheme": "dark"}, {"viewport": {"width": 640, "height": 400}}],
    indirect=True,
)
def test_graph_and_comparison_can_be_read(page: Page, report: Report):
    report("twins")
    pane = shown(page)
    pane.locator("[data-test=graph-nodes]").focus()
    page.keyboard.press("ArrowDown")
    wrong = {"graph": audit(page)}
    pane.locator("[data-test=find-node]").fill("conv")
    wrong["found"] = audit(page)
    page.keyboard.press("Escape")
    page.evaluate("() => window.whence.app.actions.run('difference', window.whence.app)")
    page.locator("[data-test=diff-counts] [data-kind]").first.wait_for()
    wrong["difference"] = audit(page)
    sentences = {when: [*chain(*kinds.values())] for when, kinds in wrong.items()}
    assert {when: some for when, some in sentences.items() if some} == {}
