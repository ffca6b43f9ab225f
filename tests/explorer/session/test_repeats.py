"""Blocks of graphs without names."""

from __future__ import annotations

from itertools import pairwise

from whence.explorer.session.repeats import repeated_blocks


def network(*blocks: str) -> tuple[list[str], list[list[int]]]:
    """Operators in a row; one in capitals reads the value before its block, too."""
    labels: list[str] = []
    inputs: list[list[int]] = []
    for block in blocks:
        start = len(labels) - 1
        for word in block.split():
            inputs.append([len(labels) - 1] if labels else [])
            if word.isupper() and start >= 0:
                inputs[-1].append(start)
            labels.append(word.lower())
    return labels, inputs


def groups(scopes: list[str]) -> list[str]:
    return list(dict.fromkeys(scopes))


def test_residual_blocks_in_a_row_are_a_group_of_groups():
    labels, inputs = network("stem", *["conv clip conv ADD"] * 4, "pool")
    scopes = repeated_blocks(labels, inputs)
    assert groups(scopes) == [
        "",
        *(f"4 x conv, clip, add/conv, clip, add {turn}" for turn in (1, 2, 3, 4)),
    ]
    assert scopes[0] == scopes[-1] == ""
    assert [scopes.count(scope) for scope in groups(scopes)] == [2, 4, 4, 4, 4]


def test_blocks_of_a_chain_have_at_least_three_nodes():
    scopes = repeated_blocks(*network("stem", *["depth relu point relu"] * 3, "pool"))
    assert groups(scopes)[1] == "3 x depth, relu, point/depth, relu, point 1"
    assert groups(repeated_blocks(*network("stem", *["conv relu"] * 3, "pool"))) == [""]


def test_blocks_differ_by_operators_and_by_edges():
    for other in ("conv tanh conv ADD", "conv clip CONV add"):
        scopes = repeated_blocks(*network("stem", "conv clip conv ADD", other))
        assert groups(scopes) == [""]


def test_large_blocks_that_stand_apart_are_groups_too():
    scopes = repeated_blocks(*network("stem", "conv clip conv ADD", "pool", "conv clip conv ADD", "flatten"))
    assert groups(scopes) == ["", "conv, clip, add #1", "conv, clip, add #2"]


def test_what_all_blocks_read_does_not_join_them():
    labels, inputs = network("mask", "stem", *["scores softmax product ADD"] * 60, "pool")
    for node, label in enumerate(labels):
        if label == "scores":
            inputs[node].append(0)
    scopes = repeated_blocks(labels, inputs)
    assert {scope.partition("/")[0] for scope in scopes} == {"", "60 x scores, softmax, product"}


def test_blocks_are_named_by_the_operators_with_the_most_work():
    labels, inputs = network("stem", *["a b c d E"] * 2)
    work = [0 if label in "ab" else 10 for label in labels]
    assert groups(repeated_blocks(labels, inputs, work))[1] == "2 x c, d, e/c, d, e 1"


def test_the_shortest_blocks_repeat_not_the_stages_that_have_them():
    stage = ["conv clip CONV", *["conv clip conv ADD"] * 3]
    scopes = repeated_blocks(*network("stem", *stage, *stage, "pool"))
    outer = {scope.partition("/")[0] for scope in scopes}
    assert {"3 x conv, clip, add", "3 x conv, clip, add #2"} <= outer
    assert not any(name.startswith("2 x") for name in outer)


def test_equal_names_are_told_apart():
    blocks = ["conv clip conv ADD"] * 2
    scopes = repeated_blocks(*network("stem", *blocks, "pool", "norm", "tanh", *blocks))
    assert {scope.partition("/")[0] for scope in scopes} == {"", "2 x conv, clip, add", "2 x conv, clip, add #2"}


def test_nothing_and_one_node():
    assert repeated_blocks([], []) == []
    assert repeated_blocks(["a"], [[]]) == [""]


def test_scopes_are_runs_of_nodes():
    scopes = repeated_blocks(*network("stem", *["conv clip conv ADD"] * 3, *["norm relu conv ADD"] * 3))
    starts = [after for before, after in pairwise(scopes) if before != after]
    assert len(starts) == len(set(starts))
