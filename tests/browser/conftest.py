"""What the tests in a browser share: one browser per worker, and pages that are watched.

They are skipped where there is no Chromium or no playwright. `--pictures` writes the pictures of docs/explorer.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
from browser import Watched, launched, missing
from children import share_children
from recorded_sessions import kept, recorded
from small_png import small_png

from whence.explorer.report_file import write_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

_PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
_SIZE = {"width": 1280, "height": 800}
_SECONDS = 20


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker("browser")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The browser of this worker."""
    if reason := missing():
        pytest.skip(reason)
    with launched() as browser:
        share_children()
        yield browser


@pytest.fixture
def context(browser: Browser, request: pytest.FixtureRequest) -> Iterator[BrowserContext]:
    """A fresh profile; a test may say `@pytest.mark.parametrize("context", [{..}], indirect=True)` for its options."""
    options = cast(dict[str, object], getattr(request, "param", {}))
    context = browser.new_context(**{"viewport": _SIZE, "reduced_motion": "reduce", **options})  # type: ignore[reportArgumentType]
    context.set_default_timeout(_SECONDS * 1000)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext) -> Page:
    """An empty page; `watched` is what the test has to hold it to."""
    return context.new_page()


@pytest.fixture(autouse=True)
def watched(request: pytest.FixtureRequest) -> Iterator[Watched | None]:
    """Fails a test whose page complains: errors and warnings in the console, requests that leave the machine."""
    if "page" not in request.fixturenames:
        yield None
        return
    watched = Watched(request.getfixturevalue("page"))
    yield watched
    assert not watched.complaints, "\n".join(watched.complaints)


@pytest.fixture
def report(page: Page) -> Callable[[str], Path]:
    """Show the report of a model of `recorded_sessions.MODELS`, and return its file."""

    def show(name: str) -> Path:
        path = kept(f"{name}.html", lambda path: write_report(recorded(name), path))
        page.goto(path.as_uri())
        page.locator("[data-test=text] [data-row]").first.wait_for()
        page.locator("[data-test=text]:not(:has([data-row]))").first.wait_for(state="detached")
        return path

    return show


@pytest.fixture
def picture(page: Page, request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Take a picture of the page for the docs: written with `--pictures`, else only asked to be there."""

    def take(name: str) -> None:
        path = _PICTURES / f"{name}.png"
        if request.config.getoption("--pictures"):
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(small_png(page.screenshot(animations="disabled", caret="hide")))
        assert path.exists(), f"{path} is missing: run pytest tests/browser --pictures"

    return take
