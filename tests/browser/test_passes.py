"""Passes: the list with what each changed, keys that step, and the comparison of any two stages."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser import HOLD, show_last_relay
from playwright.sync_api import expect
from recorded_sessions import kept, recorded

from whence.explorer.report_file import write_report
from whence.exploring.record import record

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    Report = Callable[[str], Path]

_VECTOR = "tensor<2xf32>"
BATCH_NORM = f"""
relay.func @main(%x: tensor<1x2xf32> loc("x"), %v: {_VECTOR} loc("v")) -> (tensor<1x2xf32>) {{
  %0, %1, %2 = relay.nn.batch_norm %x, %v, %v, %v, %v
    : (tensor<1x2xf32>, {", ".join([_VECTOR] * 4)}) -> (tensor<1x2xf32>, {_VECTOR}, {_VECTOR})
    loc(fused["FusedBatchNorm", "Relu"])
  %y = relay.nn.relu %0 : (tensor<1x2xf32>) -> tensor<1x2xf32> loc("Relu")
  relay.return %y : tensor<1x2xf32> loc("Relu")
}} loc("main")
"""


def relay_pane(page: Page) -> Locator:
    pane = page.locator("[data-test=pane][data-level=relay]")
    pane.locator("[data-row]").first.click()
    page.keyboard.press("Escape")
    return pane


def test_keys_step_through_passes(page: Page, report: Report):
    report("twins")
    show_last_relay(page)
    session = recorded("twins")
    runs = [run for run in session.passes if run.kernel < 0]
    changed = [run.stage for run in runs if run.changed]
    pane = relay_pane(page)
    expect(pane).to_have_attribute("data-stage", str(changed[-1]))
    for stage in reversed(changed[:-1]):
        page.keyboard.press("k")
        expect(pane).to_have_attribute("data-stage", str(stage))
    at = next(k for k, (run, after) in enumerate(pairwise(runs)) if run.changed and not after.changed)
    for stage in changed[1 : changed.index(runs[at].stage) + 1]:
        page.keyboard.press("j")
        expect(pane).to_have_attribute("data-stage", str(stage))
    said = page.locator("[data-test=said]")
    page.keyboard.press("J")
    expect(said).to_have_text(f"{runs[at + 1].name}: changed nothing")
    expect(pane).to_have_attribute("data-stage", str(runs[at].stage))
    page.keyboard.press("K")
    expect(said).to_have_text(runs[at].name)


def test_passes_are_listed_with_what_they_changed(page: Page, report: Report):
    report("twins")
    session = recorded("twins")
    relay_pane(page)
    page.locator("[data-test=dock-passes]").click()
    runs = [k for k, run in enumerate(session.passes) if run.kernel < 0]
    for fold in page.locator("[data-test=unchanged][aria-expanded=false]").all():
        assert int(fold.inner_text().split()[1]) > 1
    while page.locator("[data-test=unchanged][aria-expanded=false]").count():
        page.locator("[data-test=unchanged][aria-expanded=false]").first.click()
    rows = page.locator("[data-test=passes] tr[data-run]")
    assert [int(row.get_attribute("data-run") or -1) for row in rows.all()] == runs
    for run in runs:
        row, diff = page.locator(f"tr[data-run='{run}']"), session.stages[session.passes[run].stage].diff
        wanted = {"new": 0, "gone": 0, "changed": 0, "moved": 0}
        if session.passes[run].changed and diff is not None:
            wanted = {kind: len(getattr(diff, kind)) for kind in wanted}
        assert {kind: int(row.locator(f"[data-kind={kind}]").inner_text() or 0) for kind in wanted} == wanted
        assert session.passes[run].source in row.inner_text()
    page.locator("[data-test=pass-filter]").fill("fuse-ops")
    assert rows.count() == 1
    rows.locator("[data-test=pass]").click()
    expect(rows).to_have_attribute("aria-current", "step")


def test_passes_of_kernels_are_listed(page: Page, report: Report):
    report("twins")
    page.locator("[data-test=dock-passes]").click()
    page.locator("[data-test=pane][data-level=tir] [data-row]").first.click()
    text = page.locator("[data-test=passes]").inner_text()
    assert "tir-vectorize" in text
    assert "relay-" not in text
    page.locator("[data-test=pass-unit]").select_option(label="program")
    assert "relay-fuse-ops" in page.locator("[data-test=passes]").inner_text()


@pytest.fixture
def batch_norm(page: Page) -> None:
    """Opens the report of one batch norm, which two layers of the model became."""

    def write(path: Path) -> None:
        source = path.with_name("batch_norm.mlir")
        source.write_text(BATCH_NORM)
        write_report(record(source), path)

    page.goto(kept("batch_norm.html", write).as_uri())
    page.locator("[data-test=text] [data-row]").first.wait_for()


def compare(page: Page, spec: str) -> Locator:
    """Open the difference that a pass made."""
    relay_pane(page)
    page.locator("[data-test=dock-passes]").click()
    page.get_by_role("button", name=f"compare before and after {spec}").first.click()
    pane = page.locator("[data-test=pane][data-level=diff]")
    pane.locator("[data-test=diff-counts] [data-kind]").first.wait_for()
    return pane


@pytest.mark.usefixtures("batch_norm")
def test_a_batch_norm_unpacked_names_both_layers(page: Page):
    pane = compare(page, "relay-simplify-inference")
    counts = pane.locator("[data-test=diff-counts]")
    new = int(counts.locator("[data-kind=new]").get_attribute("data-count") or 0)
    assert counts.locator("[data-kind=gone]").get_attribute("data-count") == "1"
    assert counts.locator("[data-kind=moved]").get_attribute("data-count") == "0"
    rows = pane.locator(".diff-row[data-kind=new]")
    assert rows.count() == new > 5
    gone = pane.locator(".diff-row[data-kind=gone]")
    assert "relay.nn.batch_norm" in gone.inner_text()
    for row in [*rows.all(), gone]:
        assert row.locator("[data-test=diff-layers]").inner_text() == "si=[FusedBatchNorm, Relu]"


@pytest.mark.parametrize("context", [{"viewport": {"width": 1280, "height": 800}}], indirect=True)
def test_a_difference_is_two_texts_side_by_side_where_they_fit_and_else_one(page: Page, report: Report):
    report("twins")
    page.evaluate("[0, 1].forEach(() => whence.app.addPane({ level: 'relay', stage: 0 }))")
    pane = compare(page, "relay-simplify-inference")
    halves = pane.locator(".diff-row[data-kind=changed]").first.locator(".half")
    expect(halves).to_have_count(2)
    both = [half.evaluate("half => [half.textContent, half.clientWidth]") for half in halves.all()]
    assert all(width > 320 for _, width in both)
    page.set_viewport_size({"width": 690, "height": 800})
    changed = pane.locator(".diff-row[data-kind=changed]")
    expect(changed.first.locator(".half.none")).to_be_hidden()
    shown = changed.locator(".half:visible")
    texts, sides = shown.all_text_contents(), [half.get_attribute("data-side") or "" for half in shown.all()]
    assert len(texts) == changed.count()
    assert texts.index(both[0][0]) < texts.index(both[1][0])
    assert sorted(sides) == ["0"] * (len(sides) // 2) + ["1"] * (len(sides) // 2)
    page.set_viewport_size({"width": 1280, "height": 800})
    expect(changed.first.locator(".half")).to_have_count(2)
    expect(changed.first.locator(".half.none")).to_have_count(0)


PLACES = """rows => rows.map(row => [
  row.querySelector(".code").textContent,
  Math.round(row.getBoundingClientRect().top),
])"""


@pytest.mark.parametrize("context", [{"reduced_motion": "no-preference"}], indirect=True)
@pytest.mark.usefixtures("batch_norm")
def test_a_batch_norm_is_seen_to_split(page: Page):
    pane = relay_pane(page)
    rows, leaving = pane.locator("[data-row]"), pane.locator("[data-leaving]")
    while pane.get_attribute("data-stage") != "0":
        page.keyboard.press("k")
    expect(leaving).to_have_count(0)
    before = dict(rows.evaluate_all(PLACES))
    norm = next(text for text in before if "nn.batch_norm" in text)
    page.evaluate(HOLD)
    page.keyboard.press("j")
    expect(leaving).to_have_count(1)
    assert "nn.batch_norm" in leaving.inner_text()
    after = dict(rows.evaluate_all(PLACES))
    new = {text: top for text, top in after.items() if "relay." in text and text not in before}
    assert len(new) > 5
    # They begin where the batch norm was, and the others where they were.
    assert {top for text, top in new.items() if "nn.relu" not in text} == {before[norm]}
    assert [after[text] for text in before if text in after] == [top for text, top in before.items() if text in after]
    assert all(
        length <= 250 for length in page.evaluate("document.getAnimations().map(a => a.effect.getTiming().duration)")
    )
    page.evaluate("document.getAnimations().forEach(animation => animation.finish())")
    expect(leaving).to_have_count(0)
    assert len({top for _, top in rows.evaluate_all(PLACES)}) == rows.count()


@pytest.mark.usefixtures("batch_norm")
def test_nothing_moves_where_no_motion_is_asked_for(page: Page):
    pane = relay_pane(page)
    page.evaluate(HOLD)
    page.keyboard.press("k")
    page.keyboard.press("j")
    expect(pane.locator("[data-row]").first).to_be_visible()
    assert page.evaluate("document.getAnimations().length") == 0


@pytest.mark.usefixtures("batch_norm")
def test_what_a_row_of_a_difference_serves_is_pinned(page: Page):
    pane = compare(page, "relay-simplify-inference")
    pane.locator(".diff-row[data-kind=new]").first.click()
    assert page.evaluate("() => window.whence.app.state.get('pins')[0].label") == "FusedBatchNorm, Relu"
    expect(pane.locator(".diff-row[data-kind=new]").first).to_have_attribute("data-pin", "A")


def test_any_two_stages_are_compared(page: Page, report: Report):
    report("twins")
    show_last_relay(page)
    relay_pane(page)
    page.keyboard.press("d")
    pane = page.locator("[data-test=pane][data-level=diff]")
    before = pane.locator("[data-test=diff-from]")
    stages = [value.get_attribute("value") or "" for value in before.locator("option").all()]
    before.select_option(stages[0])
    counts = pane.locator("[data-test=diff-counts] [data-kind=gone]")
    expect(counts).not_to_have_attribute("data-count", "0")
    forwards = pane.locator("[data-test=diff-counts]").inner_text()
    pane.locator("[data-test=diff-stage]").select_option(stages[0])
    expect(counts).to_have_attribute("data-count", "0")
    before.select_option(stages[-1])
    expect(counts).not_to_have_attribute("data-count", "0")
    backwards = pane.locator("[data-test=diff-counts]").inner_text()
    assert [int(word) for word in forwards.split() if word.isdigit()][:2] == [
        int(word) for word in backwards.split() if word.isdigit()
    ][1::-1]
    page.wait_for_timeout(300)  # The address follows the state a moment later.
    page.reload()
    expect(page.locator("[data-test=pane][data-level=diff] [data-test=diff-counts]")).to_have_text(
        backwards, use_inner_text=True
    )


def test_stretches_of_the_same_are_folded(page: Page, report: Report):
    report("transformer")
    pane = compare(page, "relay-fold-constant")
    pane.locator("[data-test=diff]").focus()
    fold = pane.locator("[data-test=diff-fold]").first
    for _ in range(20):
        if fold.count():
            break
        page.keyboard.press("PageDown")
    hidden = int(fold.inner_text().split()[1])
    before = int(pane.locator("[data-test=diff]").get_attribute("aria-rowcount") or 0)
    fold.click()
    expect(pane.locator("[data-test=diff]")).to_have_attribute("aria-rowcount", str(before + hidden - 1))
