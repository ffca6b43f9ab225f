"""The page that leads to the reports: a card for each, with the time of its calls as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape

from gallery.entry import Entry
from gallery.facts import total
from whence.explorer.report import seconds
from whence.explorer.session.address import read_address, write_address
from whence.explorer.session.document import Session

_WIDTH, _HEIGHT = 240, 64
_FEWEST, _BARS = 24, 80
_STYLE = """
:root { color-scheme: light dark; --back: light-dark(#fff, #14181c); --raised: light-dark(#f3f5f7, #1e242a);
  --line: light-dark(#c9d0d6, #3b444d); --text: light-dark(#16202a, #e6eaee); --dim: light-dark(#55616d, #a3aeb9);
  --accent: light-dark(#00629b, #6cb8ee); }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1500px; padding: 16px; background: var(--back); color: var(--text);
  font: 15px/1.45 system-ui, "DejaVu Sans", sans-serif; }
h1 { margin: 0 0 4px; font-size: 22px; }
h2 { margin: 0; font-size: 17px; }
p { margin: 0; }
.dim { color: var(--dim); }
ul { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(300px, 100%), 1fr)); gap: 16px; margin: 16px 0;
  padding: 0; list-style: none; }
li { display: flex; flex-direction: column; gap: 8px; padding: 16px; background: var(--raised);
  border: 1px solid var(--line); border-radius: 8px; }
a { color: var(--accent); }
svg { width: 100%; height: 64px; }
rect { fill: var(--accent); }
.tour { margin-top: auto; padding-top: 8px; border-top: 1px solid var(--line); }
"""


@dataclass(frozen=True)
class Card:
    """A report as the page shows it."""

    entry: Entry
    session: Session
    size: int
    """Bytes of the report."""


def index(cards: Sequence[Card], missing: Sequence[tuple[Entry, str]]) -> str:
    """Return the page as HTML; missing: entries without a report, and why."""
    head = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>Whence: a gallery</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<style>{_STYLE}</style>\n</head>\n<body>\n<h1>Whence: a gallery</h1>\n"
    )
    about = "Models of all kinds, compiled and measured on this machine: each report is one file, and each has a tour."
    rows = [_card(card) for card in cards]
    rows += [f"<li><h2>{escape(entry.title)}</h2><p>{escape(why)}</p></li>" for entry, why in missing]
    return f'{head}<p class="dim">{about}</p>\n<ul>\n{"".join(rows)}</ul>\n</body>\n</html>\n'


def _card(card: Card) -> str:
    entry, session = card.entry, card.session
    file = f"{entry.name}.html"
    (tour,) = session.tours
    start = write_address(replace(read_address(tour.steps[0].address), tour=(0, 0)))
    layers = sum(kind == "layer" for kind in session.layers.kind)
    facts = [_count(layers, "layer"), _count(len(session.kernels), "kernel"), f"{card.size / 1e6:.1f} MB"]
    if session.times:
        facts.insert(2, f"{seconds(total(session))} CPU")
    return (
        f'<li>\n<h2><a href="{file}">{escape(entry.title)}</a></h2>\n<p>{escape(entry.about)}</p>\n{_picture(session)}'
        f'<p class="dim">{escape(" · ".join(facts))}</p>\n'
        f'<p class="tour">Tour: <a href="{file}{start}">{escape(tour.title)}</a> '
        f'<span class="dim">{len(tour.steps)} steps</span></p>\n</li>\n'
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _picture(session: Session) -> str:
    """Return the time of calls in the order of the run, as bars; of many calls several are one bar."""
    spent = [taken for times in session.times for taken in times.calls]
    if not spent:
        return ""
    each = -(-len(spent) // _BARS)
    bars = [sum(spent[first : first + each]) for first in range(0, len(spent), each)]
    width, most = _WIDTH / max(len(bars), _FEWEST), max(bars) or 1.0
    drawn = "".join(
        f'<rect x="{number * width:.1f}" y="{_HEIGHT * (1 - bar / most):.1f}" width="{width * 0.8:.1f}" '
        f'height="{_HEIGHT * bar / most:.1f}"/>'
        for number, bar in enumerate(bars)
    )
    title = f"Time of {len(spent)} kernel calls, from the first to the last"
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none" role="img" aria-label="{title}">'
        f"<title>{title}</title>{drawn}</svg>\n"
    )
