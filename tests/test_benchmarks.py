"""What the tables and charts of benchmarks are computed from."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
RATIOS = {("a", 1): 1.25, ("a", 2): 0.8, ("b<c", 1): 1.0, ("b<c", 2): 0.01}


@pytest.fixture(autouse=True)
def from_benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)  # pyright: ignore[reportUnknownMemberType]


def rows() -> list[dict[str, Any]]:
    return [
        {"network": name, "threads": threads, "class": "f32", "wall": ratio, "cpu": ratio, "right": ratio > 0.1}
        for (name, threads), ratio in RATIOS.items()
    ]


def test_bars_of_a_chart_begin_at_one():
    chart: Any = import_module("beside.chart")
    svg = ElementTree.fromstring(chart.chart(rows()))
    space = "{http://www.w3.org/2000/svg}"
    lines = {line.get("x1") for line in svg.iter(f"{space}line") if line.get("stroke") == "#222"}
    (one,) = (float(x) for x in lines if x is not None)
    bars = [
        (float(bar.attrib["x"]), float(bar.attrib["width"])) for bar in svg.iter(f"{space}rect") if "x" in bar.attrib
    ]
    assert len(bars) == len(RATIOS)
    for (left, width), ratio in zip(bars, RATIOS.values(), strict=True):
        assert (left if ratio >= 1 else left + width) == pytest.approx(one, abs=0.1)
    # Opposite ratios are as long as each other, and one that has no room is cut off at the edge.
    assert bars[0][1] == pytest.approx(bars[1][1], abs=0.2)
    texts = [text.text or "" for text in svg.iter(f"{space}text")]
    assert {"a", "b<c", "1.25", "0.80", "1.00", "0.01 wrong"} <= set(texts)
    plain = min(
        float(text.attrib["x"]) for text in svg.iter(f"{space}text") if re.fullmatch(r"[\d.]+", text.text or "")
    )
    assert 0 < bars[3][0] <= plain + 10


def test_outputs_may_be_as_far_off_as_those_of_peers():
    networks: Any = import_module("networks")
    assert networks.limit("f32", [0.0, 1e-6]) == 1e-4
    assert networks.limit("f32", [0.0, 2e-3]) == pytest.approx(3e-3)
    assert networks.limit("f32", [0.0, float("inf")]) == 1e-4
    a, b = np.array([0.0, 1.0]), np.array([0.0, 2.0])
    assert networks.off([a], [b]) == 0.5


def test_nodes_of_a_peer_count_for_the_layers_that_they_fuse():
    losses: Any = import_module("beside.losses")
    calls = [losses.Loss(name, "", 1.0, 0.5, "products") for name in ("/a/Conv_1", "/a/Conv_12", "/Gemm")]
    owner = {"/a/Conv_1": 0, "/a/Clip_2": 0, "/a/Conv_12": 1, "/Gemm": 2}
    nodes = [("/a/Clip_2_output_0_nchwc", 1), ("ReorderOutput", 2), ("/a/Conv_12", 4), ("/Gemm/MatMulAddFusion", 8)]
    losses._add_peer(calls, owner, nodes)
    assert [call.peer for call in calls] == [3, 4, 8]
    assert [call.lost for call in calls] == [0.5] * 3
