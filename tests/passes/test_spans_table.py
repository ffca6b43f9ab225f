"""The table of docs/relay-passes.md is what the passes do."""

from __future__ import annotations

import re
from pathlib import Path

from spans_table import PAGE, page, table

from whence.passes.registry import PASSES


def test_the_page_has_the_table_as_it_is() -> None:
    text = PAGE.read_text()
    assert text == page(text), "python tests/support/spans_table.py writes it anew"


def test_every_relay_pass_has_a_row() -> None:
    rows = table()
    for row in PASSES:
        assert (f"| `{row.name}` | {row.tvm} |" in rows) == row.name.startswith("relay-")


def test_every_pass_has_a_filecheck_that_shows_locations() -> None:
    shown: set[str] = set()
    for file in (Path(__file__).parents[1] / "filecheck").rglob("*.mlir"):
        text = file.read_text()
        if re.search(r"// [A-Z]+(-[A-Z]+)?:.*(loc\(|\(layer ')", text):
            runs = re.findall(r"RUN:(.*(?:--print-debuginfo|--verify-diagnostics).*)", text)
            shown.update(name for run in runs for name in re.findall(r"[a-z0-9]+(?:-[a-z0-9]+)+", run))
    assert [row.name for row in PASSES if row.name not in shown] == []
