"""The table of docs/relay-passes.md is what the passes do."""

from __future__ import annotations

from spans_table import PAGE, page, table

from whence.passes.registry import PASSES


def test_the_page_has_the_table_as_it_is() -> None:
    text = PAGE.read_text()
    assert text == page(text), "python tests/support/spans_table.py writes it anew"


def test_every_relay_pass_has_a_row() -> None:
    rows = table()
    for row in PASSES:
        assert (f"| `{row.name}` | {row.tvm} |" in rows) == row.name.startswith("relay-")
