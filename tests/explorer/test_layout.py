"""Places of the nodes of graphs."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from time import process_time

import pytest

from whence.explorer.layout import GAP, HEIGHT, Layout, box_width, layered


def graph(nodes: int, seed: int) -> list[list[int]]:
    """Nodes that read up to three of those before them, near ones as a rule."""
    rng = random.Random(seed)
    return [
        sorted({max(0, node - 1 - int(rng.expovariate(0.2))) for _ in range(rng.randint(0, 3))}) if node else []
        for node in range(nodes)
    ]


def overlaps(layout: Layout, widths: list[float]) -> int:
    rows: dict[int, list[tuple[float, float]]] = {}
    for x, row, width in zip(layout.x, layout.row, widths, strict=True):
        rows.setdefault(row, []).append((x - width / 2, x + width / 2))
    return sum(b[0] - a[1] < GAP - 1e-6 for row in rows.values() for a, b in pairwise(sorted(row)))


@pytest.mark.parametrize("seed", range(8))
def test_boxes_of_a_row_do_not_overlap_and_edges_go_down(seed: int):
    inputs = graph(120, seed)
    rng = random.Random(seed)
    widths = [box_width("m" * rng.randint(1, 60)) for _ in inputs]
    layout = layered(inputs, widths)
    assert overlaps(layout, widths) == 0
    assert all(layout.row[source] < layout.row[target] for target, sources in enumerate(inputs) for source in sources)
    assert all(w / 2 <= x <= layout.width - w / 2 for x, w in zip(layout.x, widths, strict=True))
    assert layout.rows == max(layout.row) + 1


def test_a_chain_is_straight_and_an_input_stands_above_its_reader():
    layout = layered([[], [0], [1], [], [2, 3]], [80.0] * 5)
    assert layout.row == [0, 1, 2, 2, 3]
    assert len({round(x, 6) for x in layout.x[:2]}) == 1


def test_what_is_loose_stands_just_above_its_first_reader():
    inputs = [[], [0], [1], [], [3], [2, 4]]
    assert layered(inputs, [80.0] * 6).row == [0, 1, 2, 0, 1, 3]
    assert layered(inputs, [80.0] * 6, [node in (3, 4) for node in range(6)]).row == [0, 1, 2, 1, 2, 3]


def test_an_edge_over_rows_goes_round_their_boxes():
    layout = layered([[], [0], [1], [2], [0, 3]], [80.0] * 5)
    way = layout.way(0, 4)
    assert len(way) == 8
    assert [y for _, y in way] == sorted(y for _, y in way)
    assert way[0] == (layout.x[0], layout.top(0) + HEIGHT)
    assert way[-1] == (layout.x[4], layout.top(4))
    for x, _ in way[1:-1]:
        assert all(abs(x - layout.x[node]) >= 40 + GAP - 1e-6 for node in (1, 2, 3))


def test_readers_of_one_node_stand_in_the_order_of_those_before_them():
    inputs = [[], [], [], [2], [1], [0]]
    layout = layered(inputs, [80.0] * 6)
    by_x = sorted((0, 1, 2), key=layout.x.__getitem__)
    assert [inputs[node][0] for node in sorted((3, 4, 5), key=layout.x.__getitem__)] == by_x


def test_nothing_is_laid_out():
    assert layered([], []).rows == 0


def test_time_grows_with_the_graph():
    def seconds(nodes: int) -> float:
        inputs, widths = [[max(0, n - 1), 0] if n else [] for n in range(nodes)], [80.0] * nodes
        start = process_time()
        layered(inputs, widths)
        return process_time() - start

    small = min(seconds(1500) for _ in range(3))
    assert seconds(6000) < 12 * small


def test_edges_over_many_rows_do_not_take_up_more_than_the_graph():
    layout = layered([[0] if n == 1 else [n - 1, 0] if n else [] for n in range(400)], [80.0] * 400)
    assert sum(map(len, layout.bends.values())) <= 3 * 400
    assert Counter(layout.row) == Counter(range(400))
