"""A real browser for tests and benchmarks: Debian's Chromium, driven by playwright.

It reaches this machine only, and `Watched` lists what a page should not do: errors in the console or of scripts, and
requests for anything outside of this machine.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page, Request

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_ARGUMENTS = [
    "--no-sandbox",  # Tests may run as root.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]
_AUDIT = Path(__file__).with_name("page_audit.js")
_FOCUS = """() => {
  const element = document.activeElement;
  if (!element || element === document.body) return "";
  const style = getComputedStyle(element);
  const shown = style.outlineStyle !== "none" || style.boxShadow !== "none";
  const all = [...document.querySelectorAll("*")];
  const name = element.getAttribute("data-test") || element.getAttribute("aria-label") || element.textContent.trim();
  return `${shown ? "" : "*"}${element.tagName.toLowerCase()} ${all.indexOf(element)} ${name.slice(0, 40)}`;
}"""
HOLD = """() => {
  const animate = Element.prototype.animate;
  Element.prototype.animate = function (...given) {
    const animation = animate.apply(this, given);
    animation.pause();
    return animation;
  };
}"""
"""A script after which each animation stays at its beginning."""
_HERE = {"127.0.0.1", "localhost", "[::1]"}
_OFFLINE = {"file", "data", "blob", "about"}


def chromium() -> str | None:
    """Return the path of Chromium, or None where there is none."""
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


def missing() -> str:
    """Return the reason why no browser can be driven here, or ""."""
    if not chromium():
        return "Chromium is not installed: run `make test-browser`"
    return "" if find_spec("playwright") else "playwright is not installed: run `make test-browser`"


@contextmanager
def launched() -> Generator[Browser]:
    """Give a browser without a window, and end it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=_ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


def leaves_the_machine(url: str) -> bool:
    """Return whether a request for an address would leave this machine."""
    parts = urlsplit(url)
    return parts.scheme not in _OFFLINE and parts.netloc.rpartition("@")[2].partition(":")[0] not in _HERE


class Watched:
    """A page's complaints, in order; a test takes away the ones that it means to cause."""

    def __init__(self, page: Page):
        self.complaints: list[str] = []
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.complaints.append(f"error of a script: {error}"))
        page.on("request", self._requested)

    def expect(self, pattern: str) -> None:
        """Take away the complaints that match a regular expression; there has to be one."""
        left = [text for text in self.complaints if not re.search(pattern, text)]
        assert len(left) < len(self.complaints), f"no complaint matches {pattern!r}: {self.complaints}"
        self.complaints = left

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type} in the console: {message.text}")

    def _requested(self, request: Request) -> None:
        if leaves_the_machine(request.url):
            self.complaints.append(f"request that leaves the machine: {request.url}")


def show_last_relay(page: Page) -> None:
    """Show relay after its last pass where the page shows it as it was imported."""
    stages = page.locator("[data-level=relay] [data-test=stage]").first
    if stages.is_visible():
        stages.select_option(index=stages.locator("option").count() - 1)
    page.locator("[data-level=relay] [data-row]").first.wait_for()


def audit(page: Page) -> dict[str, list[str]]:
    """Return what is wrong with how a page looks: blocks that overlap, text of little contrast, controls without
    a name or role, each as sentences.
    """
    return page.evaluate(_AUDIT.read_text())


def walk(page: Page, key: str = "Tab", limit: int = 200) -> list[str]:
    """Return what a key moves the focus to, until all had it; a * stands before an element that does not show it."""
    page.evaluate("() => document.activeElement?.blur()")
    stops: list[str] = []
    for _ in range(limit):
        page.keyboard.press(key)
        stop = page.evaluate(_FOCUS)
        if not stop or stop in stops:
            return stops
        stops.append(stop)
    raise AssertionError(f"the focus is still on its way after {limit} keys: {stops}")
