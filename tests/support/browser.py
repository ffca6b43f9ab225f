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
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page, Request

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_ARGUMENTS = [
    "--no-sandbox",  # Tests may run as root.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]
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
