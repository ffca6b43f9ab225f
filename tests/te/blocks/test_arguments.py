"""Arguments that primitives do not take: one clear error each, before anything changes."""
# pyright: reportUnknownLambdaType=false, reportArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from block_kernels import check_values, scheduled

from whence.dialects.tir import prim_funcs
from whence.kernels.building import parsed_prim_func
from whence.support.errors import ScheduleError
from whence.te.blocks.schedule import BlockSchedule


def loop(s: BlockSchedule, number: int = 0) -> Any:
    return s.get_loops("C")[number]


def gone(s: BlockSchedule) -> object:
    """A loop of a copy that was inlined."""
    copy = s.cache_read("C", 0, "local")
    i = s.get_loops(copy)[0]
    s.compute_inline(copy)
    return s.unroll(i)


MISUSES: list[tuple[str, Callable[[BlockSchedule], object], str]] = [
    ("a loop of another schedule", lambda s: s.unroll(loop(scheduled("MM"))), "a loop of this schedule, got one of a"),
    (
        "a block of another",
        lambda s: s.compute_inline(scheduled("MM").get_sblock("C")),
        "a block of this schedule, got",
    ),
    ("one of them", lambda s: s.reorder(loop(s), loop(scheduled("MM"), 1)), "a loop of this schedule, got one of an"),
    ("a loop of what was inlined", gone, "expected a loop that is there, got one that compute_inline did away with"),
    ("a list of loops", lambda s: s.split(s.get_loops("C"), [None, 2]), r"a loop of the schedule, got \[LoopRV"),
    ("a name for a loop", lambda s: s.unroll("C"), "a loop of the schedule, got 'C'"),
    ("a number for a block", lambda s: s.compute_inline(0), "a block of the schedule, got 0"),
    ("a name in another case", lambda s: s.get_sblock("c"), r'(?s)there are C, E.*get_sblock\("C"\)'),
    (
        "a scope in another case",
        lambda s: s.cache_read("C", 0, "LOCAL"),
        r'(?s)got LOCAL.*s\.cache_read\("C", 0, "local"',
    ),
    (
        "the scope of an output",
        lambda s: s.set_scope("E", 0, "local"),
        r'would work: s\.cache_write\("E", 0, "local"\)',
    ),
    ("a bool as a factor", lambda s: s.split(loop(s), [True, None]), "split: expected an int as factor 0, got True"),
    ("a float as a factor", lambda s: s.split(loop(s), [None, 2.0]), "an int as factor 1, got 2.0"),
    ("a text as a factor", lambda s: s.split(loop(s), ["2", None]), "an int as factor 0, got '2'"),
    ("a text for factors", lambda s: s.split(loop(s), "24"), "split: expected a list of factors, got '24'"),
    ("a number for factors", lambda s: s.split(loop(s), 4), "split: expected factors of type"),
    ("factors of 0", lambda s: s.split(loop(s), [0, 0]), "positive factors, got 0 at position 0"),
    ("a huge factor", lambda s: s.split(loop(s), [None, 1 << 70]), "split: expected integers of 64 bits, got 118"),
    ("a text as a part", lambda s: s.loop_partition(loop(s), ["a"]), "loop_partition: expected an int as factor 0"),
    ("a huge note", lambda s: s.annotate("C", "k", 1 << 80), "annotate: expected integers of 64 bits, got 120"),
    ("a table as a note", lambda s: s.annotate("C", "k", {1: 2}), "annotate: expected strings as keys of a dictionary"),
    (
        "a loop as a note",
        lambda s: s.annotate("C", "k", loop(s)),
        "numbers, strings, lists and dictionaries, got LoopRV",
    ),
    ("half a letter", lambda s: s.annotate("C", "k", ["\ud800"]), r"a text of whole letters, got '\\ud800'"),
    ("a number as a key", lambda s: s.annotate("C", 5, 1), "annotate: expected a text as ann_key, got 5"),
    ("a bool as a buffer", lambda s: s.cache_read("C", True, "local"), r"reads \(0 A, 1 B\), got True"),
    (
        "a text for consumers",
        lambda s: s.cache_read("C", 0, "local", "C"),
        "a list of blocks as consumer_blocks, got 'C'",
    ),
    ("consumers of others", lambda s: s.cache_read("C", 0, "local", ["E"]), "expected consumers that read A, got E"),
    (
        "a consumer that there is not",
        lambda s: s.cache_read("C", 0, "local", ["Q"]),
        r"would work: s.get_sblock\(\"C\"\)$",
    ),
    (
        "a layout of nothing",
        lambda s: s.transform_layout("C", "C", lambda i, j: None),
        "transform_layout: expected an exp",
    ),
    (
        "a product of indices",
        lambda s: s.transform_layout("C", "C", lambda i, j: [i * j]),
        "transform_layout: expected an",
    ),
    ("indices below 0", lambda s: s.transform_layout("C", "C", lambda i, j: [i - 1, j]), "got -1 to 6 of i0 - 1"),
    ("a bool as padding", lambda s: s.transform_layout("C", "C", lambda i, j: [j, i], True), "as pad_value, got True"),
    ("a text as an axis", lambda s: s.rfactor(loop(s, 2), "0"), "rfactor: expected an int as factor_axis, got '0'"),
    ("a bool as an axis", lambda s: s.rfactor(loop(s, 2), True), "rfactor: expected an int as factor_axis, got True"),
    ("padding by halves", lambda s: s.pad_einsum("C", [1.5, 1, 1]), "an int as padding 0, got 1.5"),
    (
        "no likelihood",
        lambda s: s.sample_categorical([1, 2], [float("nan"), 1]),
        r"for each of \[1, 2\], got \[nan, 1.0",
    ),
    ("a bool as a decision", lambda s: s.sample_categorical([1, 2], [0.5, 0.5], True), "an int as decision, got True"),
    ("a text as a tile", lambda s: s.sample_perfect_tile(loop(s), 2, decision="24"), "an int as decision, got '2'"),
    ("a text as a seed", lambda s: s.seed("x"), "seed: expected an int as seed, got 'x'"),
    ("less than none", lambda s: s.snapshot(-1), "snapshot: expected a count from 0 to 0, got -1"),
    ("more than there are", lambda s: s.snapshot(9), "snapshot: expected a count from 0 to 0, got 9"),
]


@pytest.mark.parametrize(("misuse", "text"), [row[1:] for row in MISUSES], ids=[row[0] for row in MISUSES])
def test_what_is_no_argument_is_refused(misuse: Callable[[BlockSchedule], object], text: str):
    s = scheduled("MM")
    with pytest.raises(ScheduleError, match=text) as error:
        misuse(s)
    assert len(str(error.value).splitlines()) <= 6
    assert str(s.snapshot().module) == str(s.module)


def test_numbers_of_numpy_are_numbers():
    s = scheduled("MM")
    i, j, k = s.get_loops("C")
    s.split(i, np.array([2, 4]))
    s.loop_partition(j, [np.int32(1), None])
    s.split(k, [None, np.int64(2)])
    s.annotate("E", "note", np.float32(1.5))
    assert str(s.snapshot().module) == str(s.module)
    check_values("MM", s)


@pytest.mark.parametrize(
    "key", ["note", "", 'a "b" c', "label", "where", "kinds", "map", "kind", "extent", "a\nb", "ü"]
)
@pytest.mark.parametrize("value", [0, -1, 1.5, float("nan"), float("inf"), "a\nb\0", True, None, [1, [2, "x"]]])
def test_notes_are_read_again(key: str, value: object):
    s = scheduled("MM")
    for target in ("C", s.get_loops("E")[0]):
        s.annotate(target, key, value)
    (func,) = prim_funcs(s.module)
    assert str(parsed_prim_func(str(func))) == str(func)
    assert str(s.snapshot().module) == str(s.module)
    s.unannotate("C", key)
    check_values("MM", s)
