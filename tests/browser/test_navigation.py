"""Navigation: every way to pin leads to the layer's own kernel and brings it into view; Back and Forward restore."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect
from recorded_sessions import recorded

from whence.explorer.session.leads import line_of, serving
from whence.explorer.session.text import text_of_stage

if TYPE_CHECKING:
    from playwright.sync_api import Page

    Report = Callable[[str], Path]

MODELS = ["twins", "transformer", "int8", "relay", "trees"]
_PANES = """levels => {
  const { app } = window.whence;
  const [first] = app.state.get("panes");
  const stage = (level) =>
    level === "graph" || level === "calls" ? -1 : app.model.lastStage(level, level === "tir" ? 0 : -1);
  app.state.set({
    panes: levels.map((level, k) => ({ ...first, id: k + 1, level, top: 0, stage: stage(level) })),
    focus: 1,
  });
}"""
_UNSEEN = """() => {
  const { app } = window.whence;
  return [...document.querySelectorAll("[data-pane]")].flatMap(pane => {
    const { level } = pane.dataset;
    const view = app.view(Number(pane.dataset.pane));
    if (view.sees) return view.sees() ? [] : [level];
    const { top, bottom } = pane.querySelector(".scroller").getBoundingClientRect();
    const boxes = [...pane.querySelectorAll(".row[data-pin]")].map(row => row.getBoundingClientRect());
    return boxes.some(box => box.top >= top - 0.5 && box.bottom <= bottom + 0.5) ? [] : [level];
  });
}"""
"""The levels of panes in which no line or box of the pin is wholly in view."""
_STATE = """() => {
  const { state } = window.whence.app;
  return {
    panes: state.get("panes").map(({ level, stage, call, from }) => [level, stage, call, from ?? -1]),
    pins: state.get("pins").map(pin => pin && [pin.rows, pin.at]),
    dock: state.get("dock"),
  };
}"""


def _panes(page: Page, *levels: str) -> None:
    page.evaluate(_PANES, list(levels))
    for level in levels:
        ready = "[data-items]" if level in ("graph", "calls") else "[data-row]"
        page.locator(f"[data-level={level}] {ready}").first.wait_for()


def _in_list(page: Page, name: str) -> None:
    _panes(page, "model", "graph", "relay", "tir")
    line = page.evaluate(
        """async name => {
          const { app } = window.whence;
          const { model } = app;
          const { layers, sources } = model.document;
          const { stage } = sources[layers.source[layers.name.indexOf(name)]];
          app.setPane(1, { stage });
          const { set } = await model.columns(stage);
          return set.findIndex((_, line) => model.layersOfLine(stage, line).some(row => model.layerName(row) === name));
        }""",
        name,
    )
    page.locator("[data-level=model] .scroller").evaluate("(element, to) => { element.scrollTop = 18 * to }", line)
    page.locator(f'[data-level=model] [data-row="{line}"]').click()


def _in_relay(page: Page, name: str) -> None:
    row = page.evaluate("name => window.whence.app.model.document.layers.name.indexOf(name)", name)
    _panes(page, "graph", "calls", "relay", "tir")
    line = page.evaluate(
        """async row => {
          const { model } = window.whence.app;
          const stage = model.lastStage("relay", -1);
          const { lines } = await model.stage(stage);
          await model.columns(stage);
          // Constants are folded into one row.
          return lines.findIndex((text, line) =>
            line > 1 && model.layersOfLine(stage, line).includes(row) && !text.includes("relay.constant"));
        }""",
        row,
    )
    page.evaluate(
        """line => {
          const { app } = window.whence;
          app.view(app.state.get("panes").find(({ level }) => level === "relay").id).reveal(line);
        }""",
        line,
    )
    page.locator(f'[data-level=relay] [data-row="{line}"]').click()


def _in_palette(page: Page, name: str) -> None:
    _panes(page, "graph", "calls", "relay", "tir")
    page.keyboard.press("Control+k")
    page.locator("[data-test=palette-field]").fill(name)
    page.locator("[data-test=palette-hit][data-kind=layer]").first.click()


def _in_graph(page: Page, name: str) -> None:
    _panes(page, "graph", "calls", "relay", "tir")
    page.locator("[data-level=graph] [data-test=find-node]").fill(name)
    names = page.locator("[data-level=graph] [data-test=found-node]")
    names.filter(has_text=re.compile(rf"{re.escape(name)}$")).first.click()
    page.locator("[data-level=graph] [data-test=graph-nodes]").focus()
    page.keyboard.press("Enter")


def _in_times(page: Page, name: str) -> None:
    _panes(page, "graph", "calls", "relay", "tir")
    page.evaluate("() => window.whence.app.openDock('time')")
    cell = page.locator("td:first-child", has_text=re.compile(rf"^{re.escape(name)}$"))
    page.locator("[data-test=time-layers] tbody tr", has=cell).first.click()


def _in_origins(page: Page, name: str) -> None:
    _panes(page, "graph", "calls", "relay", "tir")
    page.evaluate(
        "name => { const { app } = window.whence; app.pin([app.model.document.layers.name.indexOf(name)]); }", name
    )
    page.keyboard.press("g")
    page.locator("[data-test=where] h3 button.layer").first.click()


WAYS = {
    way.__name__.removeprefix("_in_"): way
    for way in (_in_list, _in_relay, _in_palette, _in_graph, _in_times, _in_origins)
}


@pytest.mark.parametrize("name", MODELS)
def test_every_way_to_pin_leads_to_the_own_kernel_in_view(page: Page, report: Report, name: str):
    report(name)
    session = recorded(name)
    names, kinds = session.layers.name, session.layers.kind
    served = [row for row, kind in enumerate(kinds) if kind == "layer" and serving(session.leads, {row})]
    several = [row for row in served if len(serving(session.leads, {row})) > 1] or served
    wrong: list[object] = []
    for row in (several[0], several[-1], served[-1]):
        for title, way in WAYS.items():
            if title == "times" and not session.times:  # Of a program for all sizes there are none.
                continue
            way(page, names[row])
            label = page.evaluate("() => window.whence.app.state.get('pins')[0]?.label")
            page.locator("[data-test=crumb-asm]").wait_for()
            page.wait_for_timeout(150)
            pins: list[Any] = page.evaluate(_STATE)["pins"]
            rows = set(pins[0][0]) if pins[0] else set[int]()
            first = serving(session.leads, rows)[0] if rows else -1
            stage = int(page.locator("[data-level=tir]").get_attribute("data-stage") or "-1")
            unseen = page.evaluate(_UNSEEN)
            if row not in rows or session.stages[stage].kernel != session.calls[first].kernel or unseen:
                wrong.append((names[row], title, label, unseen))
            page.keyboard.press("Escape")
            page.evaluate("() => { const { app } = window.whence; app.unpin(); app.openDock(''); }")
    assert wrong == []


def test_crumbs_lead_to_the_hottest_line_and_tell_the_time(page: Page, report: Report):
    report("transformer")
    session = recorded("transformer")
    row = next(row for row, kind in enumerate(session.layers.type) if kind == "MatMul")
    _in_palette(page, session.layers.name[row])
    call = serving(session.leads, {row})[0]
    time = page.locator("[data-test=crumb-call-time]")
    expect(time).to_contain_text(" of ")
    (times,) = session.times
    assert f"of {1e6 * times.calls[call]:.1f}" in time.inner_text()
    for level in ("tir", "asm"):
        page.locator(f"[data-test=crumb-{level}]").click()
        line = line_of(session.leads, {row}, call, level) - 1
        expect(page.locator(f"[data-level={level}] [data-cursor]")).to_have_attribute("data-row", str(line))
    other = serving(session.leads, {row})[1]
    page.get_by_label("Call of pin A").select_option(str(other))
    assert page.evaluate("() => window.whence.app.state.get('pins')[0].at.call") == other
    kernel = session.calls[other].kernel
    for level in ("tir", "asm"):
        page.locator(f"[data-test=crumb-{level}]").click()
        stage = int(page.locator(f"[data-level={level}]").first.get_attribute("data-stage") or "-1")
        assert session.stages[stage].kernel == kernel


def test_a_click_on_a_call_opens_its_schedule(page: Page, report: Report):
    report("twins")
    session = recorded("twins")
    _panes(page, "calls", "tir")
    nodes = page.locator("[data-level=calls] [data-test=graph-nodes]")
    for call in range(len(session.calls)):
        schedule = session.kernels[session.calls[call].kernel].schedule
        page.locator("[data-test=find-node]").fill(session.calls[call].name)
        name = re.escape(session.calls[call].name)
        page.locator("[data-test=found-node]").filter(has_text=re.compile(rf"{name}$")).first.click()
        nodes.focus()
        page.keyboard.press("Enter")
        assert page.evaluate("() => window.whence.app.state.get('pins')[0].at.call") == call
        expect(page.locator("[data-test=film-kernel]")).to_have_value(str(schedule))
    page.keyboard.press("Control+k")
    page.locator("[data-test=palette-field]").fill("pool")
    page.locator("[data-test=palette-hit][data-kind=layer]").first.click()
    (pool,) = [call for call in session.calls if "pool" in call.name]
    expect(page.locator("[data-test=film-kernel]")).to_have_value(str(session.kernels[pool.kernel].schedule))


def test_back_and_forward_over_thirty_steps(page: Page, report: Report):
    report("transformer")
    page.wait_for_timeout(300)
    rng = random.Random(4)
    layers = [row for row, kind in enumerate(recorded("transformer").layers.kind) if kind == "layer"]
    steps: list[Callable[[], object]] = [
        lambda: page.evaluate("row => window.whence.app.pin([row])", rng.choice(layers)),
        lambda: page.evaluate("row => window.whence.app.pin([row], 1)", rng.choice(layers)),
        lambda: page.evaluate("id => window.whence.app.openDock(id)", rng.choice(["time", "why", "where", "passes"])),
        lambda: page.keyboard.press(rng.choice("jk.,")),
        lambda: page.evaluate("call => window.whence.app.pinCall(call)", rng.randrange(20)),
    ]
    states = [page.evaluate(_STATE)]
    while len(states) <= 30:
        rng.choice(steps)()
        page.wait_for_timeout(220)
        state = page.evaluate(_STATE)
        if state != states[-1]:
            states.append(state)
        if len(states) == 15:  # Neither scrolling, nor sizes, nor the pointer are steps.
            length = page.evaluate("() => history.length")
            page.locator(".scroller").first.evaluate("element => element.scrollTop += 90")
            page.locator("[role=separator][aria-orientation=vertical]").first.focus()
            page.keyboard.press("ArrowRight")
            page.locator("[data-row]").first.hover()
            page.evaluate("() => document.activeElement.blur()")
            page.wait_for_timeout(500)
            assert page.evaluate("() => history.length") == length
    for way, expected in (("back", states[-2::-1]), ("forward", states[1:])):
        for state in expected:
            page.evaluate(f"() => history.{way}()")
            page.wait_for_timeout(120)
            assert page.evaluate(_STATE) == state


@pytest.mark.parametrize(
    "context", [{"viewport": {"width": width, "height": 800}} for width in (1280, 1900)], indirect=True
)
def test_the_first_view_is_the_model_and_its_hottest_loop(page: Page, report: Report):
    report("transformer")
    session = recorded("transformer")
    width = page.viewport_size["width"] if page.viewport_size else 0
    levels = page.locator("[data-pane]").evaluate_all("panes => panes.map(pane => pane.dataset.level)")
    assert levels == ["graph", "relay", "tir", "asm"][: 4 if width >= 1800 else 3]
    relay = page.locator("[data-level=relay]")
    stage = session.stages[int(relay.get_attribute("data-stage") or "-1")]
    assert (stage.name, stage.before) == ("imported", -1)
    assert relay.locator(".row", has_text="relay.constant").count() == 0
    constants = sum("relay.constant" in text for text in text_of_stage(session, session.stages.index(stage)))
    relay.locator(".row", has_text=f"▸ {constants} constants").click()
    assert relay.locator(".row", has_text="relay.constant").count() > 3
    (times,) = session.times
    of_kernel = [0.0] * len(session.kernels)
    for call, seconds in zip(session.calls, times.calls, strict=True):
        of_kernel[call.kernel] += seconds
    tir = page.locator("[data-level=tir]")
    shown = session.stages[int(tir.get_attribute("data-stage") or "-1")]
    assert of_kernel[shown.kernel] == max(of_kernel)
    assert "math.fma" in tir.inner_text()


def test_the_first_view_of_control_flow_has_the_program_that_calls_most(page: Page, report: Report):
    report("loops")
    session = recorded("loops")
    calls = [sum(call.program == number for call in session.calls) for number in range(len(session.programs))]
    assert calls[0] == 0
    panes: list[tuple[str, int, int, int]] = page.evaluate(_STATE)["panes"]
    assert [level for level, *_ in panes] == ["graph", "relay", "tir"]
    assert {session.stages[stage].program for _, stage, _, _ in panes[1:]} == {calls.index(max(calls))}
    programs = page.locator("[data-test=program]")
    assert programs.locator("option").first.inner_text() == "main: interpreted"
    assert programs.get_attribute("title") == session.programs[0].about
    assert "expected steps that shapes decide" in session.programs[0].about
    assert (programs.bounding_box() or {"width": 1e9})["width"] < 420


def test_a_pin_of_another_program_shows_that(page: Page, report: Report):
    """Each body of control flow is a program of its own."""
    report("loops")
    session = recorded("loops")
    for row, kind in enumerate(session.layers.kind):
        calls = serving(session.leads, {row})
        if kind != "layer" or not calls:
            continue
        page.evaluate("row => window.whence.app.pin([row])", row)
        page.wait_for_timeout(200)
        panes: list[tuple[str, int, int, int]] = page.evaluate(_STATE)["panes"]
        programs = {session.stages[stage].program for _, stage, _, _ in panes if stage >= 0}
        assert programs == {session.calls[calls[0]].program}
        assert page.evaluate(_UNSEEN) == []


def test_focus_returns_after_the_palette(page: Page, report: Report):
    report("twins")
    focused = "() => document.activeElement.closest('[data-pane]')?.dataset.level ?? document.activeElement.tagName"
    page.locator("[data-level=tir] [data-test=text]").focus()
    for leave in ("Escape", "Enter"):
        page.keyboard.press("Control+k")
        page.locator("[data-test=palette-field]").fill("bn1")
        page.locator("[data-test=palette-hit]").first.wait_for()
        page.keyboard.press(leave)
        expect(page.locator("[data-test=palette]")).not_to_be_visible()
        assert page.evaluate(focused) == "tir"
