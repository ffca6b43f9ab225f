"""Docks of data: time, timeline, memory, tensors and comparison, by mouse and by keys, in all looks."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx.parser
import pytest
from browser import audit
from explored_models import twins
from explorer_client import serving
from recorded_sessions import kept

from whence.explorer.references import References, of_module
from whence.explorer.report_file import write_report
from whence.explorer.session.comparison import compare_sessions
from whence.explorer.session.document import Session
from whence.explorer.session.file import read, write
from whence.explorer.session.tensors import first_departure
from whence.exploring.measuring import Wishes
from whence.exploring.record import record
from whence.planning.artifact import Artifact

if TYPE_CHECKING:
    from playwright.sync_api import Page

_DOCKS = ("time", "timeline", "memory", "tensors", "compare")
_LOOKS: dict[str, dict[str, object]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "forced colours": {"forced_colors": "active"},
    "200 %": {"viewport": {"width": 640, "height": 400}, "device_scale_factor": 2},
}
_HUES = """(canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const counts = { slower: 0, faster: 0 };
  for (let i = 0; i < data.length; i += 4) {
    if (data[i] > data[i + 2] + 100) counts.slower++;
    if (data[i + 2] > data[i] + 100) counts.faster++;
  }
  return counts;
}"""
"""How many pixels of a canvas are of the hue of slower, and of faster layers."""


def reference(artifact: Artifact, inputs: Mapping[str, Any]) -> References:
    """Values of which the last is wrong."""
    references = of_module(artifact, inputs)
    name = list(references.tensors)[-1]
    return references._replace(tensors={**references.tensors, name: np.add(references.tensors[name], 1)})


def _write(path: Path) -> None:
    wishes = Wishes(0.05, True, reference, films="none")
    session = record(twins(), wishes=wishes)
    session.comparison = compare_sessions(session, record(twins(), wishes=wishes, opt_level=0))
    write(path, session)


def session() -> Session:
    return read(kept("measured.json", _write))


@pytest.fixture
def shown(page: Page) -> Session:
    """The session, and its report on the page."""
    document = session()
    page.goto(kept("measured.html", lambda path: write_report(document, path)).as_uri())
    page.locator("[data-row]").first.wait_for()
    return document


def pinned(page: Page) -> str:
    return page.locator("[data-test=lineage]").first.text_content() or ""


def test_time_is_sorted_and_a_row_pins_its_layer(page: Page, shown: Session):
    page.locator("[data-test=dock-time]").click()
    (times,) = shown.times
    rows = page.locator("[data-test=time-layers] tbody tr")
    assert rows.count() == len(times.layers)
    shares = rows.locator("td:nth-child(4)").all_text_contents()
    assert sum(float(share.split()[0]) for share in shares) == pytest.approx(100, abs=1)
    longest = max(times.layers, key=lambda layer: layer[1])[0]
    name = shown.layers.name[longest]
    assert name in (rows.first.text_content() or "")
    rows.first.click()
    assert name in pinned(page)
    assert rows.first.get_attribute("data-pin") == "A"
    page.get_by_role("button", name="operator").click()
    operators = rows.locator("td:nth-child(2)").all_text_contents()
    assert operators == sorted(operators)
    assert page.locator("[data-test=time-layers] th[aria-sort]").count() == 1
    page.locator("[data-test=time-rows]").select_option("calls")
    assert page.locator("[data-test=time-calls] tbody tr").count() == len(times.calls)


def test_rows_are_walked_and_pinned_by_keys(page: Page, shown: Session):
    page.locator("[data-test=dock-time]").click()
    rows = page.locator("[data-test=time-layers] tbody tr")
    rows.first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert rows.nth(1).get_attribute("data-pin") == "A"
    assert rows.nth(1).get_attribute("data-kin") == ""
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Shift+Enter")
    assert rows.nth(2).get_attribute("data-pin") == "B"


@pytest.mark.parametrize("dock", ["timeline", "memory"])
def test_plots_are_walked_and_pinned(page: Page, shown: Session, dock: str):
    page.locator(f"[data-test=dock-{dock}]").click()
    plot, said = page.locator(f"[data-test={dock}-plot]"), page.locator(f"[data-test={dock}-plot-said]")
    plot.focus()
    page.keyboard.press("ArrowRight")
    rows = shown.calls[shown.times[0].timeline.call[0]].set if dock == "timeline" else shown.memory[0].set[0]
    first = shown.layers.name[shown.sets[rows][0]]
    assert first in (said.text_content() or "")
    assert plot.get_attribute("aria-valuetext") == said.text_content()
    page.keyboard.press("Enter")
    assert first in pinned(page)
    page.keyboard.press("+")
    page.keyboard.press("0")
    box = plot.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] - 20, box["y"] + box["height"] / 2)
    assert re.search("thread|tensor|Click", said.text_content() or "")


def test_a_part_of_the_timeline_is_summed(page: Page, shown: Session):
    page.locator("[data-test=dock-timeline]").click()
    plot, said = page.locator("[data-test=timeline-plot]"), page.locator("[data-test=timeline-plot-said]")
    line = shown.times[0].timeline
    mine = [row for row, thread in enumerate(line.thread) if thread == 0]
    plot.focus()
    for _ in range(mine[1] + 1):
        page.keyboard.press("Shift+ArrowRight")
    text = said.text_content() or ""
    assert "2 calls; at work thread 0 " in text
    longer = max(mine[:2], key=lambda row: line.end[row] - line.begin[row])
    assert shown.layers.name[shown.sets[shown.calls[line.call[longer]].set][0]] in text.partition("longest ")[2]
    page.keyboard.press("ArrowRight")
    assert "at work" not in (said.text_content() or "")
    box = plot.bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 3
    page.mouse.move(box["x"] + 80, y)
    page.mouse.down()
    page.mouse.move(box["x"] + 200, y)
    page.mouse.move(box["x"] + box["width"] - 1, y)
    page.mouse.up()
    assert f"{len(mine)} calls; at work thread 0 " in (said.text_content() or "")
    assert page.locator("[data-test=lineage]").count() == 0


def test_the_first_layer_that_departs_is_at_the_top(page: Page, shown: Session):
    page.locator("[data-test=dock-tensors]").click()
    (tensors,) = shown.tensors
    row = first_departure(tensors)
    name = shown.layers.name[tensors.layer[row]]
    verdict = page.locator("[data-test=first-departure]")
    assert name in (verdict.text_content() or "")
    rows = page.locator("[data-test=tensors-table] tbody tr")
    assert rows.count() == len(tensors.name)
    assert rows.nth(row).get_attribute("class") == "departing"
    assert rows.locator("svg[role=img]").count() == len(tensors.name)
    verdict.get_by_role("button").click()
    assert name in pinned(page)


def test_the_largest_difference_is_first(page: Page, shown: Session):
    page.locator("[data-test=dock-compare]").click()
    assert shown.comparison is not None
    assert shown.comparison.noise > 0
    assert shown.comparison.headline
    for place in ("headline", "compare-headline"):
        assert page.locator(f"[data-test={place}]").text_content() == shown.comparison.headline
    names = page.locator("[data-test=compare-table] tbody tr td:first-child").all_text_contents()
    assert names == [layer.name for layer in shown.comparison.layers]
    gaps = [abs(layer.seconds[0] - layer.seconds[1]) for layer in shown.comparison.layers]
    assert gaps == sorted(gaps, reverse=True)
    page.locator("[data-test=compare-table] tbody tr").first.click()
    assert names[0] in pinned(page)
    page.get_by_role("button", name="layer", exact=True).click()
    assert page.locator("[data-test=compare-table] tbody tr td:first-child").all_text_contents() == sorted(names)


def test_the_first_difference_leads_to_what_its_pass_changed(page: Page, shown: Session):
    assert shown.comparison is not None
    first = shown.comparison.departure
    assert first is not None
    assert first.side == "here"
    page.locator("[data-test=headline]").click()
    link = page.locator("[data-test=departure]")
    assert link.text_content() == f"{first.level} {first.name}"
    link.click()
    pane = page.evaluate("whence.app.state.get('panes').find((pane) => pane.level === 'diff')")
    assert (pane["from"], pane["stage"]) == (shown.stages[first.stage].before, first.stage)


def test_the_graph_shows_what_is_slower_and_what_is_faster(page: Page, tmp_path: Path):
    document = session()
    assert document.comparison is not None
    seconds = {"conv1": (2.0, 1.0), "conv2": (1.0, 2.0)}
    layers = [replace(layer, seconds=seconds.get(layer.name, (1.0, 1.0))) for layer in document.comparison.layers]
    document.comparison = replace(document.comparison, layers=layers)
    write_report(document, tmp_path / "changed.html")
    page.goto((tmp_path / "changed.html").as_uri())
    page.locator("[data-row]").first.wait_for()
    assert page.locator("[data-test=heat-legend]").is_hidden()
    page.locator("[data-test=heat]").select_option("change")
    assert "slower" in (page.locator("[data-test=heat-legend]").text_content() or "")
    page.locator("[data-test=graph][data-heat=change]").first.wait_for()
    canvas = page.locator("canvas.graph-canvas").first
    counts = canvas.evaluate(_HUES)
    assert all(counts.values()), counts
    for way in ("slower", "faster"):
        bar = page.locator(f".text-pane .heat i[data-change={way}]").first
        bar.wait_for()
        assert way in (bar.locator("..").get_attribute("title") or "")
        assert (bar.bounding_box() or {"width": 0})["width"] > 1


def test_pictures_of_the_docks(page: Page, shown: Session, picture: Callable[[str], None]):
    for dock in _DOCKS:
        page.locator(f"[data-test=dock-{dock}]").click()
        rows = page.locator("[data-test=dock] tbody tr")
        plots = page.locator("[data-test=dock] canvas")
        (plots if plots.count() else rows).first.focus()
        page.keyboard.press("ArrowRight" if plots.count() else "ArrowDown")
        page.keyboard.press("Enter")
        picture(dock)


@pytest.mark.parametrize("context", list(_LOOKS.values()), ids=list(_LOOKS), indirect=True)
def test_docks_of_data_can_be_read(page: Page, shown: Session):
    wrong: dict[str, list[str]] = {}
    for dock in _DOCKS:
        page.locator(f"[data-test=dock-{dock}]").click()
        wrong[dock] = [sentence for sentences in audit(page).values() for sentence in sentences]
        if (row := page.locator("[data-test=dock] tbody tr")).count():
            row.first.click()
            wrong[f"{dock}, pinned"] = [sentence for sentences in audit(page).values() for sentence in sentences]
    assert {when: sentences for when, sentences in wrong.items() if sentences} == {}


def _sized(sizes: dict[str, int] | None = None) -> Session:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float[n,8] x) => (float[n,8] y) {a = Relu(x) y = Tanh(a)}'
    )
    document = record(model, wishes=Wishes(0.01, tensors=True, films="none", sizes=sizes))
    document.made_by.command = "whence explore 'n t.onnx' --no-times"
    return document


def test_programs_whose_sizes_are_open_keep_their_tabs_and_say_how_to_measure(page: Page, tmp_path: Path):
    write_report(_sized(), tmp_path / "open.html")
    page.goto((tmp_path / "open.html").as_uri())
    for dock in ("time", "memory", "tensors"):
        page.locator(f"[data-test=dock-{dock}]").click()
        part = page.locator(f"[data-test={dock}-sizes]")
        assert "are open" in (part.text_content() or "")
        part.locator("input").fill("n=5")
        more = " --tensors" if dock == "tensors" else ""
        assert part.locator("code").text_content() == f"whence explore 'n t.onnx' --sizes n=5{more}"
        assert not any(audit(page).values())


def test_a_server_measures_at_other_sizes(page: Page, tmp_path: Path):
    with serving(tmp_path, session=_sized({"n": 4})) as client:
        page.goto(client.server.address)
        page.locator("[data-test=dock-tensors]").click()
        part = page.locator("[data-test=tensors-sizes]")
        assert "Measured at n=4." in (part.text_content() or "")
        assert page.locator("[data-test=tensors-table] tbody tr").count() == 1
        part.locator("input").fill("n=7")
        part.get_by_role("button", name="Measure at n=7").click()
        page.wait_for_url("**session=2**")
        request = client.server.site.store.get(2).request
        assert request is not None
        assert request.options == {"sizes": ("n=7",), "tensors": ("",)}
