"""Writes reports and the page that leads to them."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from gallery.entry import Entry, recorded
from gallery.page import Card, index
from whence.explorer.report_file import write_report
from whence.support.errors import WhenceError


def write_gallery(entries: Sequence[Entry], folder: Path) -> list[tuple[Entry, str]]:
    """Write reports and the page into a folder; return the entries without a report, and why."""
    folder.mkdir(parents=True, exist_ok=True)
    cards: list[Card] = []
    missing: list[tuple[Entry, str]] = []
    for entry in entries:
        begin = time.perf_counter()
        with tempfile.TemporaryDirectory() as models:
            try:
                session = recorded(entry, Path(models))
            except WhenceError as error:
                missing.append((entry, str(error)))
                print(f"{entry.name:20}{error}", flush=True)
                continue
        report = folder / f"{entry.name}.html"
        write_report(session, report)
        cards.append(Card(entry, session, report.stat().st_size))
        seconds = time.perf_counter() - begin
        print(f"{entry.name:20}{report.stat().st_size / 1e6:6.1f} MB {seconds:6.1f} s", flush=True)
    (folder / "index.html").write_text(index(cards, missing))
    return missing
