"""Damaged documents are found: every number and every column of one, changed in turn, and documents made to harm."""

from __future__ import annotations

import json
import re
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest
from damaged_sessions import faults
from small_session import small_session

from whence.explorer.session.check import check
from whence.explorer.session.file import from_json, to_json
from whence.support.errors import FrontendError

FREE = re.compile(
    r"made_by\.(opt_level|threads)|comparison\.other\..*|comparison\.layers\[\]\.second|layers\.ordinal\[\]"
    r"|kernels\[\]\.(bytes|instructions|knobs\.points)|times\[\]\.(outside|threads\[\])|calls\[\]\.(flops|bytes)|graphs\[\]\.nodes\.(flops|bytes)\[\]"
    r"|schedules\[\]\.stages\[\]\.(loops\[\]\.depth|slots\[\])|graphs\[\]\.(nodes\.[xy]|edges\.(path\[\]|output))\[\]|schedules\[\]\.frames\[\].*cost\.(flops|bytes)"
    r"|times\[\]\.(runs|lines\[\]\.samples\[\]|timeline\.thread\[\])|memory\[\]\.(arena|parameters|workspace)"
    r"|tensors\[\]\.(shape\[\]\[\]|nan\[\]|infinite\[\]|histogram\[\]\[\])"
    r"|comparison\.layers\[\]\.(instructions|bytes)\[\]"
)
"""Whole numbers that may be as large as they like."""
LISTS = re.compile(
    r"sources|layers\.code\[\]|programs|schedules|times|memory|tensors|comparison\.layers|comparison\.departure\.\w+|made_by\.notes|sets\[\]|passes"
    r"|kernels\[\]\.(slots(\[\])?|stages)|stages\[\]\.(diff\.\w+|body\.(outputs|exact|tir))|events\.(sources|targets)\[\]"
    r"|graphs(\[\]\.nodes\.attributes\[\])?|calls|comparison\.layers\[\]\.\w+|tensors\[\]\.(shape|sample)\[\]"
    r"|schedules\[\]\.(arguments|stages\[\]\..+|frames(\[\]\..+)?)|times\[\]\.(layers|lines|parts\[\])"
    r"|times\[\]\.(threads|walls|roofs\[\]\.bytes)|tours(\[\]\.steps)?"
)
"""Lists that may be shorter, as long as nothing points behind their ends."""


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Path without numbers, container and key of each element of a document, lists included."""
    keyed = isinstance(value, dict)
    items: Any = cast("dict[str, Any]", value).items() if keyed else enumerate(value)
    for key, element in items:
        at = f"{path}.{key}" if keyed else f"{path}[]"
        yield at.removeprefix("."), value, key
        if isinstance(element, dict | list):
            yield from _leaves(element, at)


def _copy() -> Any:
    return json.loads(json.dumps(to_json(small_session())))


def _refused(document: Any) -> bool:
    try:
        from_json(document)
    except FrontendError as error:
        return "\n" not in str(error) and len(str(error)) < 250
    return False


def _damaged(damage: Callable[[Any], Any], applies: Callable[[str, Any], bool]) -> Iterator[str]:
    """The paths at which a damage is not found."""
    document = _copy()
    for path, container, key in list(_leaves(document)):
        value = container[key]
        if applies(path, value):
            container[key] = damage(value)
            if not _refused(document):
                yield path
            container[key] = value


def test_no_number_may_be_far_too_large():
    def applies(path: str, value: Any) -> bool:
        return type(value) is int and not FREE.fullmatch(path)

    assert set(_damaged(lambda value: 10**9, applies)) == set()


def test_no_number_may_be_negative_where_it_counts():
    signed = re.compile(
        r"made_by\.(opt_level|threads)|comparison\.other\..*|tensors\[\]\.(minimum|maximum|mean)\[\]"
        r"|graphs\[\]\.(nodes\.[xy]\[\]|edges\.path\[\]\[\])|tensors\[\]\.sample\[\]\[\]"
    )

    def applies(path: str, value: Any) -> bool:
        return type(value) in (int, float) and not signed.fullmatch(path)

    assert set(_damaged(lambda value: -7, applies)) == set()


def test_no_number_may_be_something_else():
    def number(path: str, value: Any) -> bool:
        return type(value) in (int, float, bool)

    def whole(path: str, value: Any) -> bool:
        return type(value) is int and not path.startswith("graphs[].nodes.")

    others: tuple[Any, ...] = ("1", None, [], {}, float("nan"), float("inf"))
    assert {path for other in others for path in _damaged(lambda value, other=other: other, number)} == set()
    assert set(_damaged(lambda value: 10**30, whole)) == set()


def test_no_column_may_lack_a_row():
    def applies(path: str, value: Any) -> bool:
        return isinstance(value, list) and value != [] and not LISTS.fullmatch(path)

    assert set(_damaged(lambda value: value[:-1], applies)) == set()


def test_columns_may_not_have_more_rows():
    def applies(path: str, value: Any) -> bool:
        columns = r"(layers|ops|events|graphs\[\]\.(nodes|edges)|memory\[\]|tensors\[\]|times\[\]\.timeline)\.\w+"
        return isinstance(value, list) and bool(re.fullmatch(columns, path))

    assert set(_damaged(lambda value: [*value, value[0]], applies)) == set()


def _change(path: str, value: Any) -> Any:
    document = _copy()
    target = document
    *steps, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    for step in steps:
        target = target[step]
    target[last] = value
    return document


FAULTS: list[tuple[str, Any, str]] = [
    ("stages.3.body.sets", [0, 10**9], "counts that add up to 2 lines, got 1000000000"),
    ("stages.3.body.sets", [0, 1, 1, 0, 1, 1], "counts of at least 1, got 0"),
    ("stages.3.body.sets", [0, 3, 1, -1], "counts of at least 1, got -1"),
    ("stages.3.body.sets", [0, 1, 1], "pairs of a value and a count, got 3 numbers"),
    ("stages.3.body.sets", [0, 1, 3, 1], "values from -1 to 2, got 3"),
    ("stages.6.body.tir", [4, 2], "values from 0 to 3, got 4"),
    ("stages.7.body.exact", [2, 3], "values from 0 to 1, got 2"),
    ("stages.3.lines", 10**9, "stages[3].lines: expected 2 lines as its text has, got 1000000000"),
    ("stages.2.body.edits", [[0, 5, []]], "expected lines of the 4 that there are, got 5 from 0"),
    ("stages.2.body.edits", [[5, 0, []]], "expected lines of the 4 that there are, got 0 from 5"),
    ("stages.2.body.edits", [[0, -1, []]], "expected lines of the 4 that there are, got -1 from 0"),
    ("stages.1.body.base", 2, "stages[1].body.base: expected an earlier stage or -1, got 2"),
    ("stages.1.body.base", 1, "stages[1].body.base: expected an earlier stage or -1, got 1"),
    ("stages.2.before", 2, "stages[2].before: expected an earlier stage or -1, got 2"),
    ("stages.2.before", 0, "stages[2].before: expected a stage of level relay, got model"),
    ("stages.2.body.outputs", [[3, 1]], "expected one of 2 lines and 6 layers, got 3 and 1"),
    ("layers.owner", [1, 0, 2, 3, 0, 5], "layers.owner[0]: expected a row that owns itself, got 1"),
    ("ops.copied_from", [1, 2, 0, *[-1] * 6], "ops.copied_from[0]: expected a chain that ends, got one that goes"),
    ("ops.copied_from", [0, *[-1] * 8], "ops.copied_from[0]: expected a chain that ends"),
    ("graphs.0.edges.target", [1, 2, 3, 3], "edges[3]: expected an edge forwards between 5 nodes, got 3 to 3"),
    ("graphs.0.nodes.x", [], "graphs[0].nodes.x: expected 5 rows as in label, got 0"),
    ("kernels.0.stages", [1], "kernels[0].stages: expected stages of this kernel, got stage 1"),
    ("kernels.0.slots", [[0], [1], [2]], "calls[0].layers: expected layers of the 3 slots of its kernel, got 2"),
    ("sets.0", [1], "sets: expected an empty set first, got others"),
    ("sets.3", [6], "sets[3][0]: expected an index into 6 layers, got 6"),
    ("times.0.calls", [1.0], "times[0].calls: expected 2 rows as the program has calls, got 1"),
    ("times.0.timeline.end", [0.002, 0.001], "times[0].timeline[1]: expected an end after the beginning"),
    ("memory.0.size", [256, 512], "expected a block in an arena of 512 bytes, got bytes 256 to 768"),
    ("tensors.0.histogram", [[1], []], "tensors[0].histogram[0]: expected 32 numbers, got 1"),
    ("tensors.0.sample", [[0.0] * 31, []], "tensors[0].sample[0]: expected 32 numbers, got 31"),
    ("tensors.0.shape", [[5], [64]], "tensors[0].sample[0]: expected 5 numbers, got 32"),
    ("graphs.0.edges.path", [], "graphs[0].edges.path: expected 4 rows, as nodes have positions, got 0"),
    ("schedules.0.frames.1.tree", [2], "frames[1].tree: expected indexes into 2 stages"),
    ("schedules.0.frames.1.lines", 9, "frames[1].lines: expected at most 3 lines, got 9"),
    ("schedules.0.stages.0.loops.0.variable", 1, "stages[0]: expected indexes into 1 variables, got 1 to 1"),
]


@pytest.mark.parametrize(("path", "value", "text"), FAULTS)
def test_a_fault_is_named_with_its_path(path: str, value: Any, text: str):
    with pytest.raises(FrontendError) as caught:
        from_json(_change(path, value), "s.json")
    assert str(caught.value).startswith("s.json: ")
    assert text in str(caught.value)


def test_what_passes_the_check_is_taken_by_all_that_reads_documents():
    # A sample of another length, a layer whose name is a level, edges without paths; then some at random.
    wrong = {seed: faults(seed) for seed in (7, 86, 1041, *range(10_000, 10_025))}
    assert {seed: texts for seed, texts in wrong.items() if texts} == {}
    assert sum(texts is not None for texts in wrong.values()) > 10


def test_columns_of_positions_may_be_empty_together():
    session = small_session()
    nodes = session.graphs[0].nodes
    nodes.x = nodes.y = nodes.width = nodes.height = []
    check(session)


@pytest.mark.parametrize("name", ["\x1b[2J", "\u202e", "x" * 100_000])
def test_a_title_is_shown_as_text(name: str):
    with pytest.raises(FrontendError) as caught:
        from_json(_change("sets.3", [6]), name[:100])
    assert str(caught.value).isprintable()


def test_a_document_made_to_harm_takes_no_memory():
    edits = [[0, 0, ["x"]]] * 1000
    documents = [
        _change("stages.3.body.sets", [0, 2**52]),
        _change("stages.3.lines", 2**52),
        _change("kernels.0.slots", [[2**52]]),
        _change("stages.0.body.edits", edits),
        _change("schedules.0.frames.0.tir", [[0, 0, ["x"]], [2**52, 1, []]]),
    ]
    tracemalloc.start()
    try:
        assert all(map(_refused, documents))
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()
