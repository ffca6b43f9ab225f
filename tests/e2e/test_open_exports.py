"""Exported networks that take any sizes are compiled once; `tests/support/open_exports.py` runs them at all sizes."""

from __future__ import annotations

import pytest
from open_exports import FOLDER, NETWORKS, run


@pytest.mark.parametrize("name", NETWORKS)
def test_one_compilation_serves_all_sizes(name: str):
    # Of hundreds of sentences every 60th, of the others every fifth.
    every = 60 if "bert" in name else 5
    assert run(name, lambda number: number % every == every - 1, steps=12) >= 4


def test_all_of_them_are_run():
    assert {network.file for network in NETWORKS.values()} == {path.name for path in FOLDER.glob("*.onnx")}
