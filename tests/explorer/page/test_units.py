"""The units of the page that need no browser: each .mjs file beside this one is a script of node:test."""

from __future__ import annotations

from pathlib import Path

import pytest
from node import node

SCRIPTS = sorted(Path(__file__).parent.glob("*.mjs"))


@pytest.mark.parametrize("script", SCRIPTS, ids=[script.stem for script in SCRIPTS])
def test_unit(script: Path):
    node(script)


def test_failures_are_noticed():
    with pytest.raises(AssertionError, match="1 == 2"):
        node(source="import test from 'node:test'; import assert from 'node:assert'; test(() => assert.equal(1, 2))")
