"""The harness notices what a page must not do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from browser import Watched, leaves_the_machine

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.mark.parametrize("url", ["file:///a", "data:text/html,a", "http://127.0.0.1:80/a", "blob:http://localhost:1/a"])
def test_addresses_of_this_machine(url: str):
    assert not leaves_the_machine(url)


@pytest.mark.parametrize("url", ["https://example.test/a", "ws://example.test/", "http://127.0.0.1.example.test/"])
def test_addresses_elsewhere(url: str):
    assert leaves_the_machine(url)


def test_a_page_is_shown(page: Page):
    page.set_content("<title>A</title><button>b</button>")
    page.get_by_role("button", name="b").click()
    assert page.title() == "A"


def test_complaints_are_noticed(page: Page, watched: Watched):
    page.set_content(
        '<img src="http://example.test/a.png"><script>console.error("ouch"); setTimeout(() => nothing())</script>'
    )
    page.wait_for_timeout(100)
    for pattern in ("request that leaves .*example.test/a.png", "ouch", "nothing is not defined", "net::ERR"):
        watched.expect(pattern)
    assert not watched.complaints
