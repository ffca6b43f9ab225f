"""Exported networks that take any sizes are compiled once; `tests/support/open_exports.py` runs all at all sizes."""

from __future__ import annotations

import pytest
from open_exports import FOLDER, NETWORKS, run


@pytest.mark.parametrize(("name", "every"), [("bert", 60), ("gpt2", 1), ("detector", 5), ("recogniser", 6)])
def test_one_compilation_serves_all_sizes(name: str, every: int):
    assert run(name, lambda number: number % every == every - 1, steps=8) >= 4


def test_all_of_them_are_run():
    assert {network.file for network in NETWORKS.values()} == {path.name for path in FOLDER.glob("*.onnx")}
