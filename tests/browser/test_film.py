"""The film strip: as many frames as the record, arrows that step, marks of what changed, text that can be applied."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser import HOLD, Watched, audit
from playwright.sync_api import expect

import whence
from whence.explorer.report_file import write_report
from whence.explorer.session.document import Session
from whence.explorer.session.schedules import frame_loops
from whence.exploring.measuring import Wishes
from whence.exploring.record import record
from whence.exploring.server import Server, running
from whence.exploring.site import new_site
from whence.kernels import compare_schedules, read_schedule

if TYPE_CHECKING:
    from playwright.sync_api import Page

DENSE = """#[version = "0.0.5"]
def @main(%x: Tensor[(64, 64), float32], %w: Tensor[(64, 64), float32]) { nn.relu(nn.dense(%x, %w, units=None)) }"""


@pytest.fixture(scope="module")
def session() -> Session:
    return record(whence.relay.fromtext(DENSE), wishes=Wishes(films="all"), threads=1)


@pytest.fixture(scope="module")
def report(session: Session, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("film") / "report.html"
    write_report(session, path)
    return path


def opened(page: Page, report: Path) -> None:
    page.goto(report.as_uri())
    page.get_by_role("tab", name="Schedule").click()
    page.locator("[data-test=film-frame]").first.wait_for()


def selected(page: Page) -> int:
    return int(page.locator("[data-test=film-frame][aria-selected=true] b").inner_text())


def test_frames_are_those_of_the_record(page: Page, report: Path, session: Session):
    opened(page, report)
    (film,) = session.schedules
    record = read_schedule(film.text).schedule_record
    frames = page.locator("[data-test=film-frame]")
    assert frames.count() == len(film.frames) == len(record)
    page.locator("[data-test=film-view-text]").click()
    for number in (0, 3, len(record) - 1):
        frames.nth(number).click()
        about = page.locator("[data-test=film-about]")
        assert film.frames[number].at in about.inner_text()
        assert film.frames[number].primitive in about.inner_text()
        shown = page.locator("[data-test=film-picture] .film-line:not([data-sign='-'])").all_inner_texts()
        told = [line.partition("  layers:")[0].rstrip() for line in str(record[number]).splitlines()[1:]]
        assert [line[1:].rstrip() for line in shown] == told


def test_arrows_step_and_space_plays(page: Page, report: Path, session: Session):
    opened(page, report)
    last = len(session.schedules[0].frames) - 1
    strip = page.locator("[data-test=film-strip]")
    assert selected(page) == last
    strip.focus()
    for key, frame in (
        ("Home", 0),
        ("ArrowLeft", 0),
        ("ArrowRight", 1),
        ("ArrowRight", 2),
        ("ArrowLeft", 1),
        ("End", last),
    ):
        strip.press(key)
        assert selected(page) == frame
    strip.press("Home")
    strip.press(" ")
    assert selected(page) == 1  # reduced motion: one frame at a time
    assert "reduced motion" in page.locator("[data-test=said]").inner_text()


@pytest.mark.parametrize("context", [{"reduced_motion": "no-preference"}], indirect=True)
def test_a_film_plays(page: Page, report: Path):
    opened(page, report)
    strip = page.locator("[data-test=film-strip]")
    strip.press("Home")
    strip.press(" ")
    page.locator("[data-test=film-frame][aria-selected=true] b", has_text="2").wait_for()
    strip.press(" ")
    assert page.locator("[data-test=film-play]").inner_text() == "Play"


@pytest.mark.parametrize("context", [{"reduced_motion": "no-preference"}], indirect=True)
def test_frames_flow_into_each_other(page: Page, report: Path, session: Session):
    opened(page, report)
    number = next(n for n, frame in enumerate(session.schedules[0].frames) if "compute_at" in frame.primitive)
    (moved,) = (label for label in session.schedules[0].frames[number].changed if label == "dense")
    strip = page.locator("[data-test=film-strip]")
    for _ in range(len(session.schedules[0].frames) - number):
        strip.press("ArrowLeft")
    page.evaluate("Promise.all(document.getAnimations().map(animation => animation.finished)).then(() => null)")
    place = f"""() => {{
      const box = document.querySelector("[data-test=stage][data-label={moved}] > .box").getBoundingClientRect();
      const picture = document.querySelector("[data-test=film-picture]").getBoundingClientRect();
      return [box.x - picture.x, box.y - picture.y];
    }}"""
    before = page.evaluate(place)
    page.evaluate(HOLD)
    strip.press("ArrowRight")
    assert page.evaluate(place) == pytest.approx(before, abs=1.5)
    page.evaluate("document.getAnimations().forEach(animation => animation.finish())")
    expect(page.locator("[data-leaving]")).to_have_count(0)
    assert abs(page.evaluate(place)[1] - before[1]) > 20


def test_what_a_primitive_changed_is_marked(page: Page, report: Path, session: Session, picture: Callable[[str], None]):
    opened(page, report)
    (film,) = session.schedules
    number = next(n for n, frame in enumerate(film.frames) if "compute_at" in frame.primitive)
    page.locator("[data-test=film-frame]").nth(number).click()
    tree = page.locator("[data-test=film-picture]")
    marked = tree.locator("[data-test=stage][data-change=changed]")
    assert sorted(stage.get_attribute("data-label") or "" for stage in marked.all()) == sorted(
        film.frames[number].changed
    )
    assert tree.locator(".row-new").count() > 0
    assert tree.locator(".row-old [fill='url(#film-hatch)']").count() > 0
    loops = page.locator("[data-test=film-loops]")
    assert loops.locator("ins").count() > 0
    assert loops.locator("del").count() > 0
    for name in ("kDataPar", "kCommReduce", "kVectorized", "kUnrolled", "kParallelized"):
        assert name in page.locator("[data-test=film-legend]").inner_text()
    page.locator("#dock").evaluate("dock => dock.style.setProperty('--dock-height', '70vh')")
    picture("film")


IN_VIEW = """element => {
  const change = element.querySelector("ins, del, .row-new, .row-old") ?? element.querySelector("[data-change]");
  const [{ top, bottom }, view] = [change, element].map(each => each.getBoundingClientRect());
  return bottom > view.top && top < view.bottom && element.scrollHeight > element.clientHeight;
}"""


def test_a_frame_is_scrolled_to_what_changed(page: Page, report: Path, session: Session):
    opened(page, report)
    page.locator("#dock").evaluate("dock => dock.style.setProperty('--dock-height', '260px')")
    (film,) = session.schedules
    changing = [number for number, frame in enumerate(film.frames) if frame.changed and frame.tir]
    for name in ("film-loops", "film-picture"):
        area = page.locator(f"[data-test={name}]")
        for number in changing:
            area.evaluate("element => element.scrollTo(0, 0)")
            page.locator("[data-test=film-frame]").nth(number).click()
            page.locator("[data-leaving]").first.wait_for(state="detached")
            assert area.evaluate(IN_VIEW), (name, number)


def test_two_frames_are_compared(page: Page, report: Path, session: Session):
    opened(page, report)
    page.locator("[data-test=film-compare]").select_option("0")
    trees = page.locator("[data-test=film-picture] svg")
    assert trees.count() == 2
    above, below = trees.nth(0), trees.nth(1)
    assert above.locator(".row-new").count() == 0
    assert below.locator(".row-old").count() == 0
    assert above.locator("[data-change=was]").count() > 0
    assert below.locator("[data-change=changed]").count() == above.locator("[data-change=was]").count()


def test_diagrams(page: Page, report: Path, session: Session):
    opened(page, report)
    (film,) = session.schedules
    stages = [film.stages[index] for index in film.frames[-1].tree]
    page.locator("[data-test=film-view-variables]").click()
    clusters = page.locator("[data-test=variables]")
    assert [cluster.get_attribute("data-label") for cluster in clusters.all()] == [stage.label for stage in stages]
    for cluster, stage in zip(clusters.all(), stages, strict=True):
        assert cluster.locator(".variable").count() == len(stage.variables)
        assert cluster.locator(".tensor").count() == len(stage.relations)
    page.locator("[data-test=film-view-dataflow]").click()
    graph = page.locator("[data-test=film-picture] svg")
    assert graph.locator(".stage").count() == len(stages) + len(film.arguments)
    reads = sum(len(stage.reads) for stage in stages)
    outputs = sum(len(stage.outputs) for stage in stages) + len(film.arguments)
    assert graph.locator("path.edge").count() == reads + outputs


def test_a_chosen_primitive_makes_text_that_computes_the_same(page: Page, report: Path, session: Session):
    opened(page, report)
    (film,) = session.schedules
    frame = len(film.frames) - 2
    page.locator("[data-test=film-frame]").nth(frame).click()
    buttons = page.locator("button[data-test=film-next]")
    buttons.first.wait_for()
    assert buttons.all_inner_texts() == [primitive.call for primitive in film.frames[frame].next]
    buttons.first.click()
    text = page.locator("[data-test=film-text]").input_value()
    assert film.frames[frame].next[0].lines[-1] in text
    above = film.text.splitlines()[: film.frames[0].lines - 1]
    compared = compare_schedules(film.text, "\n".join([*above, text]), threads=1)
    assert compared.equal
    assert page.locator("[data-test=film-apply]").is_disabled()


def test_a_chosen_primitive_is_applied_and_measured(page: Page, session: Session, tmp_path: Path, watched: Watched):
    site = new_site(["false"], tmp_path)
    site.store.add(session, None, "")
    server = Server(site)
    with running(server):
        page.goto(server.address)
        page.get_by_role("tab", name="Schedule").click()
        page.locator("[data-test=film-frame]").nth(1).click()
        page.locator("button[data-test=film-next]").first.click()
        text = page.locator("[data-test=film-text]").input_value()
        assert session.schedules[0].frames[1].next[0].lines[-1] in text
        # The loops of the text as it is, against those of the frame.
        loops = page.locator("[data-test=film-loops]")
        loops.locator("ins").first.wait_for()
        film = session.schedules[0]
        above = film.text.splitlines()[: film.frames[0].lines - 1]
        lines, _ = frame_loops(read_schedule("\n".join([*above, text])), 2)
        assert loops.locator(".film-line:not([data-sign='-'])").all_inner_texts() == [
            f"{'+' if line.locator('ins').count() else ' '}{text}"
            for line, text in zip(loops.locator(".film-line:not([data-sign='-'])").all(), lines, strict=True)
        ]
        page.locator("[data-test=film-text]").press("End")
        page.locator("[data-test=film-text]").press_sequentially(" nonsense")
        page.locator("[data-test=film-result].error").wait_for()
        page.locator("[data-test=film-text]").fill(text)
        page.locator("[data-test=film-apply]").click()
        result = page.locator("[data-test=film-result]", has_text="results")
        result.wait_for(timeout=60_000)
        told = result.inner_text()
        assert "results equal" in told
        assert " before, " in told
        page.locator("[data-test=film-text]").fill("schedule.sequence @nothing {\n}")
        page.locator("[data-test=film-apply]").click()
        page.locator("[data-test=film-result].error", has_text="expected a sequence for").wait_for(timeout=60_000)
        watched.expect("status of 400")


@pytest.mark.parametrize("context", [{"color_scheme": scheme} for scheme in ("light", "dark")], indirect=True)
def test_a_film_can_be_read(page: Page, report: Path, session: Session):
    opened(page, report)
    number = next(n for n, frame in enumerate(session.schedules[0].frames) if "compute_at" in frame.primitive)
    page.locator("[data-test=film-frame]").nth(number).click()
    for view in ("tree", "text", "variables", "dataflow"):
        page.locator(f"[data-test=film-view-{view}]").click()
        wrong = audit(page)
        assert (wrong["contrast"], wrong["names"]) == ([], [])
        assert [pair for pair in wrong["overlaps"] if "graph" not in pair] == []
