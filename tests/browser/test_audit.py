"""The audit of looks notices what it is for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from browser import audit, walk

if TYPE_CHECKING:
    from playwright.sync_api import Page


def _shown(page: Page, body: str) -> dict[str, list[str]]:
    page.set_content(f'<!doctype html><html lang="en"><title>t</title><body>{body}</body></html>')
    return audit(page)


def test_nothing_is_wrong_with_a_plain_page(page: Page):
    assert _shown(page, "<button>One</button> <label>Two <input></label>") == {
        "overlaps": [],
        "contrast": [],
        "names": [],
    }


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        ('<button>a</button><button style="position: absolute; left: 0; top: 0">b</button>', "overlaps", "overlaps"),
        ('<button style="position: absolute; left: 1250px; width: 90px">a</button>', "overlaps", "leaves the window"),
        ('<p style="color: #888">a</p>', "contrast", "3.54"),
        ('<div style="background: #0004"><p style="opacity: 0.5">a</p></div>', "contrast", "contrast"),
        ("<button></button>", "names", "no name"),
        ('<input placeholder="a">', "names", "no name"),
        ('<div tabindex="0">a</div>', "names", "no role"),
        (
            '<div style="height: 40px; overflow: auto"><p style="height: 300px">a</p></div>',
            "names",
            "keys do not reach",
        ),
        ('<div role="grid"><div tabindex="-1"><div role="row">a</div></div></div>', "names", "which has none"),
        ('<div aria-labelledby="x">a</div>', "names", "aria-labelledby names x"),
    ],
)
def test_what_is_wrong_is_named(page: Page, body: str, kind: str, words: str):
    wrong = _shown(page, body)
    assert any(words in sentence for sentence in wrong[kind]), wrong


def test_what_is_scrolled_away_overlaps_nothing(page: Page):
    tall = '<button style="display: block; height: 300px">a</button>'
    wrong = _shown(page, f'<div style="height: 50px; overflow: auto">{tall}{tall}</div><button>b</button>')
    assert wrong["overlaps"] == []


def test_the_keyboard_goes_everywhere(page: Page):
    _shown(page, '<button>a</button><input aria-label="b"><button style="outline: none">c</button>')
    stops = walk(page)
    assert [stop.rpartition(" ")[2] for stop in stops] == ["a", "b", "c"]
    assert [stop.startswith("*") for stop in stops] == [False, False, True]
