"""The page runs jobs: pipelines as chips and as text, by mouse and by keys, cancel, errors in place, other models."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser import Watched
from explorer_client import Client, serving
from recorded_sessions import recorded

from whence.exploring.request import Request

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with serving(tmp_path) as client:
        yield client


def _part(page: Page, name: str) -> Locator:
    return page.locator(f"[data-test={name}]")


def _open(page: Page, client: Client) -> None:
    page.goto(client.server.address)
    _part(page, "dock-run").wait_for()
    page.keyboard.press("r")
    _part(page, "chip").first.wait_for()


def _passes(page: Page) -> list[str | None]:
    return [chip.get_attribute("data-pass") for chip in _part(page, "chip").all()]


def _titled(page: Page, name: str) -> None:
    from playwright.sync_api import expect

    expect(page).to_have_title(re.compile(f"^{re.escape(name)} "))


def test_chips_are_edited_by_keys_and_the_text_follows(page: Page, client: Client):
    _open(page, client)
    text = _part(page, "pipeline-text")
    text.fill('relay-a,relay-b{x="1,2" y=3}, relay-c')
    assert _passes(page) == ["relay-a", 'relay-b{x="1,2" y=3}', "relay-c"]
    _part(page, "chip").first.focus()
    page.keyboard.press("Alt+ArrowRight")
    assert text.input_value() == 'relay-b{x="1,2" y=3},relay-a,relay-c'
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Delete")
    assert text.input_value() == 'relay-b{x="1,2" y=3},relay-a'
    _part(page, "pass-name").fill("relay-d")
    page.keyboard.press("Enter")
    assert _passes(page)[-1] == "relay-d"
    _part(page, "remove-pass").first.click()
    assert text.input_value() == "relay-a,relay-d"
    _part(page, "chip").first.drag_to(_part(page, "chip").nth(1))
    assert text.input_value() == "relay-d,relay-a"
    _part(page, "reset-pipeline").click()
    assert _passes(page) == client.ask("GET", "/sessions").json["sessions"][0]["pipeline"]


def test_a_run_leads_to_its_session_with_the_pins_and_the_dock(page: Page, client: Client):
    _open(page, client)
    assert "token" not in page.url
    page.locator("[data-test=text] [data-row]").first.click()
    _part(page, "pipeline-text").fill("relay-legalize,relay-fuse-ops")
    _part(page, "run-pipeline").click()
    page.wait_for_url("**/?session=2#*")
    _titled(page, "light_squeezenet")
    _part(page, "sessions").wait_for()
    assert _passes(page) == ["relay-legalize", "relay-fuse-ops"]
    assert _part(page, "session").count() == 1
    page.reload()
    assert _part(page, "sessions").inner_text().splitlines()[1].startswith("without")
    _part(page, "session").click()
    page.wait_for_url("**/?session=1*")
    _titled(page, "m.onnx")


@pytest.mark.parametrize("context", [{"viewport": {"width": 1280, "height": 640}}], indirect=True)
def test_a_bad_text_has_a_mark_below_it(page: Page, tmp_path: Path, watched: Watched, picture: Callable[[str], None]):
    with serving(tmp_path, session=recorded("twins")) as client:
        _misspell(page, client)
        picture("run")
    watched.expect("400")


def _misspell(page: Page, client: Client) -> None:
    _open(page, client)
    text = _part(page, "pipeline-text")
    text.fill(text.input_value().replace("relay-fuse-ops", "relay-fuse-opx"))
    _part(page, "run-pipeline").click()
    _part(page, "pipeline-error").get_by_text("unknown pass").wait_for()
    lines = _part(page, "pipeline-error").inner_text().splitlines()
    assert lines[0][lines[1].index("^") :].startswith("relay-fuse-opx")
    assert "did you mean relay-fuse-ops" in lines[1]
    chosen = "e => e.value.slice(e.selectionStart, e.selectionEnd)"
    assert _part(page, "pipeline-text").evaluate(chosen) == "relay-fuse-opx"


def test_cancel_stops_within_a_second_or_so_and_the_page_goes_on(page: Page, tmp_path: Path):
    with serving(tmp_path, "stubborn.onnx") as client:
        _open(page, client)
        _part(page, "pipeline-text").fill("relay-fuse-ops")
        _part(page, "run-pipeline").click()
        _part(page, "progress-words").get_by_text("stubborn").wait_for()
        assert _part(page, "run-pipeline").is_disabled()
        _part(page, "cancel").click()
        _part(page, "outcome").get_by_text("Cancelled.").wait_for(timeout=3000)
        assert _part(page, "progress").is_hidden()
        assert _part(page, "run-pipeline").is_enabled()


def test_what_failed_is_shown_with_what_there_is_of_it(page: Page, tmp_path: Path):
    with serving(tmp_path, "failing.onnx") as client:
        _open(page, client)
        _part(page, "pipeline-text").fill("relay-fuse-ops")
        _part(page, "run-pipeline").click()
        assert _part(page, "failed-message").inner_text() == "relu: expected a, got b (layer 'r')"
        assert _part(page, "failed-layer").inner_text() == "r"
        assert _part(page, "failed-command").inner_text() == "whence-opt m -p relay-x"
        _part(page, "so-far").click()
        page.wait_for_url("**/?session=2*")
        _titled(page, "so far")


def test_a_model_is_sent_and_a_text_is_compiled(page: Page, client: Client, tmp_path: Path):
    _open(page, client)
    _part(page, "models").locator("summary").click()
    _part(page, "model-file").set_input_files({"name": "ü <b>.onnx", "mimeType": "", "buffer": b"model"})
    _part(page, "send-model").click()
    page.wait_for_url("**/?session=2#*")
    assert (tmp_path / "upload0.onnx").read_bytes() == b"model"
    _part(page, "models").locator("summary").click()
    _part(page, "relay-text").fill("def @main() { 1 }")
    _part(page, "compile-text").click()
    page.wait_for_url("**/?session=3#*")
    assert (tmp_path / "text1.relay").read_text() == "def @main() { 1 }"


def test_the_first_session_is_waited_for(page: Page, tmp_path: Path, watched: Watched):
    with serving(tmp_path, empty=True) as client:
        page.goto(client.server.address.replace("#token=", "#token=x"))
        page.locator("[data-test=failure]", has_text="expected the token").wait_for()
        watched.expect("403")
        page.goto("about:blank")
        page.goto(client.server.address)
        _part(page, "waiting").wait_for()
        client.server.site.jobs.start(Request("light_squeezenet"), "")
        page.locator("[data-test=text] [data-row]").first.wait_for()
        _titled(page, "light_squeezenet")
