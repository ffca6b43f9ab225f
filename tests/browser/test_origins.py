"""The docks that say why a line is here and where a layer went, and the lineage above them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from browser import show_last_relay
from recorded_sessions import recorded

from whence.explorer.report_file import write_report
from whence.explorer.session.document import Session
from whence.explorer.session.text import column, text_of_stage

if TYPE_CHECKING:
    from playwright.sync_api import Page


def _show(page: Page, session: Session, folder: Path) -> None:
    write_report(session, folder / "report.html")
    page.goto((folder / "report.html").as_uri())
    page.locator("[data-test=text] [data-row]").first.wait_for()
    page.locator("[data-test=level]").first.select_option("model")
    page.locator("[data-level=model] [data-row]").first.wait_for()
    show_last_relay(page)


def _history(session: Session, op: int) -> list[int]:
    """The events that made an op, and what it was made of: a plain walk of the ledger, backwards."""
    events, wanted, history = session.events, {op: len(session.events.pass_name)}, set[int]()
    waiting = [op]
    while waiting:
        current = waiting.pop()
        limit = wanted[current]
        steps = [(session.ops.copied_from[current], min(limit, session.ops.copied_at[current]))]
        for number in range(limit):
            if current in events.targets[number]:
                history.add(number)
                steps += [(source, number) for source in events.sources[number]]
        for source, bound in steps:
            if source >= 0 and wanted.get(source, -1) < bound:
                wanted[source] = bound
                waiting.append(source)
    return sorted(history)


def test_why_lists_the_events_that_made_an_op(page: Page, tmp_path: Path):
    session = recorded("twins")
    _show(page, session, tmp_path)
    relay = page.locator("[data-level=relay]")
    stage = int(relay.get_attribute("data-stage") or "")
    lines, ops = text_of_stage(session, stage), column(session.stages[stage].body.ops)
    relay.locator(".row", has_text=re.compile(r"▸ \d+ constants")).click()
    for words in ("relay.nn.contrib_conv2d_NCHWc", "relay.nn.relu", "relay.constant @bias"):
        line = next(number for number, text in enumerate(lines) if words in text)
        page.keyboard.press("Escape")
        relay.locator(".scroller").evaluate("(element, line) => { element.scrollTop = 18 * (line - 5) }", line)
        relay.locator(f'[data-row="{line}"]').click()
        page.keyboard.press("w")
        expected = _history(session, ops[line])
        assert expected
        events = page.locator("[data-test=why] [data-event]")
        events.nth(len(expected) - 1).wait_for()
        assert events.evaluate_all("rows => rows.map(row => Number(row.dataset.event))") == expected
        text = page.locator("[data-test=why]").inner_text()
        assert lines[line].strip() in text
        for event in expected:
            assert session.events.pattern[event] in text
            assert session.events.pattern_at[event] in text
            assert session.passes[session.events.run[event]].source in text


def test_lines_of_python_stand_with_their_layer(page: Page, tmp_path: Path):
    session = recorded("twins")
    lines = ["net.py:7  return relu(self.conv(x))", "net.py:12  x = <self.block>(x)"]
    session.layers.code[session.layers.name.index("conv1")] = lines
    _show(page, session, tmp_path)
    page.locator("[data-level=model] .row", has_text="conv1").first.click()
    page.keyboard.press("g")
    assert page.locator("[data-test=where] [data-test=lines]").inner_text().splitlines() == lines
    page.locator("[data-level=model] .row", has_text="relu1").first.click()
    page.locator("[data-test=where] h3", has_text="relu1").wait_for()
    assert page.locator("[data-test=where] [data-test=lines]").count() == 0


def test_a_layer_that_vanished_is_told(page: Page, tmp_path: Path):
    _show(page, recorded("twins"), tmp_path)
    page.locator("[data-level=model] .row", has_text="dropout").click()
    page.keyboard.press("g")
    answer = page.locator("[data-test=where]")
    answer.locator("[data-vanished]").wait_for()
    assert "inference lets the data through" in answer.inner_text()
    assert "passes/relay/simplify_inference.py:" in answer.inner_text()
    assert "no relay op is left" in page.locator("[data-test=lineage]").inner_text()


def test_a_batch_norm_went_into_other_layers(page: Page, tmp_path: Path):
    _show(page, recorded("twins"), tmp_path)
    page.locator("[data-level=model] .row", has_text="bn1").click()
    page.keyboard.press("g")
    answer = page.locator("[data-test=where]")
    answer.locator("[data-event]").first.wait_for()
    assert not answer.locator("[data-vanished]").count()
    fold = answer.locator("[data-event]", has_text="relay-fold-scale-axis").filter(has_text="conv1").first
    fold.locator("button.layer", has_text="conv1").first.click()
    assert page.locator("[data-test=crumb-model]").inner_text().startswith("conv1")


def test_each_step_of_the_lineage_opens_its_level(page: Page, tmp_path: Path):
    session = recorded("twins")
    _show(page, session, tmp_path)
    page.locator("[data-level=model] .row", has_text="conv2").click()
    page.locator("[data-test=crumb-asm]").wait_for()
    for level in ("te", "tir", "llvm", "asm", "relay", "model"):
        page.locator(f"[data-test=crumb-{level}]").click()
        cursor = page.locator(f"[data-level={level}] [data-cursor]")
        cursor.wait_for()
        assert cursor.get_attribute("data-pin") == "A", level
    page.locator("[data-test=crumb-loops]").click()
    loop = page.locator("[data-level=tir] [data-cursor]")
    assert "for" in loop.locator(".code").inner_text()


def test_lost_provenance_says_who_lost_it(page: Page, tmp_path: Path):
    session = recorded("twins")
    stage = next(number for number, stage in enumerate(session.stages) if stage.level == "relay")
    lost = len(session.layers.name)
    entries: list[object] = ["relay-launder", "lost", "", 0, 0, "", lost, []]
    for values, value in zip(vars(session.layers).values(), entries, strict=True):
        values.append(value)
    session.sets.append([lost])
    sets = column(session.stages[stage].body.sets)
    line = next(number for number, value in enumerate(sets) if value > 0)
    sets[line : line + 2] = [len(session.sets) - 1, 0]
    session.stages[stage].body.sets = [part for value in sets for part in (value, 1)]
    _show(page, session, tmp_path)
    relay = page.locator("[data-level=relay]")
    relay.locator("[data-test=stage]").select_option(str(stage))
    row = relay.locator(f'[data-row="{line}"]')
    assert row.get_attribute("data-lost") == "relay-launder"
    assert row.locator(".sign").inner_text() == "!"
    assert "no pass says" in (relay.locator(f'[data-row="{line + 1}"]').get_attribute("data-lost") or "")
    row.click()
    page.keyboard.press("w")
    page.locator("[data-test=why] .lost").wait_for()
    assert "lost by relay-launder" in page.locator("[data-test=why]").inner_text()
    assert "lost by relay-launder" in page.locator("[data-test=lineage]").inner_text()


def test_why_of_a_layer_begins_with_the_op_of_its_output(page: Page, tmp_path: Path):
    session = recorded("twins")
    _show(page, session, tmp_path)
    stage = max(k for k, row in enumerate(session.stages) if row.level == "relay" and row.kernel < 0)
    body, layer = session.stages[stage].body, session.layers.name.index("relu1")
    ops, sets = column(body.ops), column(body.sets)
    (output,) = (line - 1 for line, row in body.outputs if row == layer)
    first = next(n for n, number in enumerate(sets) if number >= 0 and layer in session.sets[number] and ops[n] >= 0)
    assert session.ops.name[ops[first]] != session.ops.name[ops[output]]
    page.locator("[data-level=model] [data-row]", has_text="relu1").first.click()
    page.keyboard.press("w")
    title = page.locator("[data-test=why] h4").first
    title.wait_for()
    assert session.ops.name[ops[output]].removeprefix("relay.") in title.inner_text()
