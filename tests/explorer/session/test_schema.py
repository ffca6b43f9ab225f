"""The schema and the TypeScript types of session documents are those of the dataclasses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from whence.explorer.session.schema import declarations, schema

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("docs/session.schema.json", json.dumps(schema(), indent=1) + "\n"),
        ("explorer/page/document.d.ts", declarations()),
    ],
)
def test_stored_ones_are_up_to_date(request: pytest.FixtureRequest, name: str, text: str):
    if request.config.getoption("--rewrite-golden"):
        (ROOT / name).write_text(text)
    assert (ROOT / name).read_text() == text, f"{name} differs: run with --rewrite-golden"


def test_every_class_is_described():
    document = schema()
    assert document["properties"]["stages"] == {"type": "array", "items": {"$ref": "#/$defs/Stage"}}
    assert all(each["description"] for each in document["$defs"].values())
    assert document["$defs"]["Stage"]["properties"]["diff"] == {"anyOf": [{"$ref": "#/$defs/Diff"}, {"type": "null"}]}
    assert "  /** file:line of the pass. */\n  source: string;" in declarations()
