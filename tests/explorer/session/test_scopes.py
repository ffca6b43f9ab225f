"""Groups of nodes in order, and scopes that can be folded in any combination."""

from __future__ import annotations

import random
from collections.abc import Sequence
from graphlib import TopologicalSorter

import pytest

from whence.explorer.session.ordered_groups import groups_in_order
from whence.explorer.session.scopes import foldable_scopes


def chain(length: int) -> list[list[int]]:
    return [[node - 1] if node else [] for node in range(length)]


def test_a_group_that_others_need_between_its_parts_is_split():
    assert groups_in_order(chain(6), ["a", "b", "b", "a", "c", "c"]) == [[0], [1, 2], [3], [4, 5]]


def test_nodes_of_a_group_stand_together():
    assert groups_in_order(chain(4), ["a", "a", "b", "b"]) == [[0, 1], [2, 3]]
    assert groups_in_order([[], [], [0], [1]], ["a", "b", "a", "b"]) == [[0, 2], [1, 3]]


def test_nodes_of_no_group_are_alone_and_split_nothing():
    assert groups_in_order(chain(4), [None, "a", None, "a"]) == [[0], [1], [2], [3]]
    # Node 1 goes first, so that both nodes of `a` can follow.
    assert groups_in_order([[], [], [0, 1], [2]], ["a", None, "a", "b"]) == [[1], [0, 2], [3]]


def test_a_group_is_split_into_few_parts():
    # a0 -> b0 -> a1 and b1 -> a2: `a` waits for all of `b`, or `b` for all of `a`, but for one node.
    inputs: list[list[int]] = [[], [0], [1], [], [3]]
    groups = groups_in_order(inputs, ["a", "b", "a", "b", "a"])
    assert len(groups) == 3


def test_a_long_chain_is_put_in_order_quickly():
    assert len(groups_in_order(chain(8000), [str(number // 2) for number in range(8000)])) == 4000


def folded(scopes: Sequence[str], inputs: Sequence[Sequence[int]], closed: set[str]) -> dict[str, set[str]]:
    """The graph in which these scopes are folded: node -> those that it reads."""

    def shown(node: int) -> str:
        parts = scopes[node].split("/")
        paths = ("/".join(parts[: length + 1]) for length in range(len(parts)))
        return next((path for path in paths if path in closed), f"node {node}")

    graph: dict[str, set[str]] = {}
    for node, sources in enumerate(inputs):
        own = shown(node)
        graph.setdefault(own, set()).update(shown(source) for source in sources if shown(source) != own)
    return graph


@pytest.mark.parametrize("seed", range(40))
def test_whatever_is_folded_there_is_no_cycle(seed: int):
    rng = random.Random(seed)
    inputs = [sorted({rng.randrange(node) for _ in range(rng.randint(0, 2))}) if node else [] for node in range(40)]
    given = ["/".join(rng.choice("abc") for _ in range(rng.randint(0, 3))) for _ in inputs]
    scopes = foldable_scopes(given, inputs)
    plain = ["/".join(part.partition(" ")[0] for part in scope.split("/")) for scope in scopes]
    assert plain == given
    paths = sorted({"/".join(scope.split("/")[:depth]) for scope in scopes for depth in (1, 2, 3)} - {""})
    for _ in range(30):
        closed = set(rng.sample(paths, rng.randint(1, len(paths))))
        list(TopologicalSorter(folded(scopes, inputs, closed)).static_order())


def test_scopes_that_fold_keep_their_names():
    scopes = ["", "a/b", "a/b", "a/c", "d", ""]
    assert foldable_scopes(scopes, chain(6)) == scopes


def test_parts_are_numbered_in_order_at_their_level_only():
    scopes = foldable_scopes(["net/a", "net/b", "net/a", "net/a", ""], chain(5))
    assert scopes == ["net/a (1)", "net/b", "net/a (2)", "net/a (2)", ""]


def test_a_scope_as_deep_as_a_long_graph_ends():
    deep = "a/" * 20000
    assert foldable_scopes([deep, f"{deep}b", ""], chain(3))[1].count("/") == 20000
