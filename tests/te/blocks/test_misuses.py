"""Mistakes in schedules of blocks: each error ends with a call that works, and changes no values, when made."""
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable

import pytest
from block_kernels import check_values, scheduled

from whence.support.errors import ScheduleError
from whence.te.blocks.schedule import BlockSchedule


def noted(s: BlockSchedule) -> object:
    """Split a loop with a note."""
    loop = s.get_loops("C")[0]
    s.annotate(loop, "note", 1)
    return s.split(loop, [None, 2])


def uneven(s: BlockSchedule) -> object:
    """Make a block of an uneven part."""
    return s.blockize(s.split(s.get_loops("Y")[0], [None, 4])[1])


MISUSES: list[tuple[str, str, Callable[[BlockSchedule], object]]] = [
    ("no such block", "MM", lambda s: s.get_sblock("D")),
    ("two open factors", "MM", lambda s: s.split(s.get_loops("C")[0], [None, None])),
    ("too small factors", "MM", lambda s: s.split(s.get_loops("C")[0], [2, 2])),
    ("a factor of 0", "MM", lambda s: s.split(s.get_loops("C")[0], [0, None])),
    ("no factors", "MM", lambda s: s.split(s.get_loops("C")[0], [])),
    ("split a loop with a note", "MM", noted),
    ("fuse over a loop", "MM", lambda s: s.fuse(s.get_loops("C")[0], s.get_loops("C")[2])),
    ("fuse two nests", "MM", lambda s: s.fuse(s.get_loops("C")[0], s.get_loops("E")[1])),
    ("reorder one twice", "MM", lambda s: s.reorder(*[s.get_loops("C")[0]] * 2)),
    ("reorder two nests", "MM", lambda s: s.reorder(s.get_loops("C")[0], s.get_loops("E")[1])),
    ("reorder a recurrence", "SCAN", lambda s: s.reorder(s.get_loops("next")[0], s.get_loops("first")[0])),
    ("a sum in threads", "MM", lambda s: s.parallel(s.get_loops("C")[2])),
    ("a sum in lanes", "MM", lambda s: s.vectorize(s.get_loops("C")[2])),
    ("a recurrence in threads", "SCAN", lambda s: s.parallel(s.get_loops("next")[0])),
    ("a recurrence in lanes", "SCAN", lambda s: s.vectorize(s.get_loops("next")[0])),
    ("threads of a GPU", "MM", lambda s: s.bind(s.get_loops("C")[2], "threadIdx.x")),
    ("inline a sum", "MM", lambda s: s.compute_inline("C")),
    ("inline an output", "MM", lambda s: s.compute_inline("E")),
    ("inline into a sum", "MM", lambda s: s.reverse_compute_inline("E")),
    ("an output in its producer", "MM", lambda s: s.compute_at("E", s.get_loops("C")[0])),
    ("a block in its own loop", "MM", lambda s: s.compute_at("C", s.get_loops("C")[0])),
    ("unfinished sums", "MM", lambda s: s.reverse_compute_at("E", s.get_loops("C")[2])),
    ("a start of no sum", "MM", lambda s: s.decompose_reduction("E", s.get_loops("E")[0])),
    ("a start in another nest", "MM", lambda s: s.decompose_reduction("C", s.get_loops("E")[0])),
    ("partial results of data", "SUM", lambda s: s.rfactor(s.get_loops("S")[0], 0)),
    ("an axis too far", "SUM", lambda s: s.rfactor(s.get_loops("S")[1], 5)),
    ("a buffer too far", "MM", lambda s: s.cache_read("C", 7, "local")),
    ("an unknown scope", "MM", lambda s: s.cache_read("C", 0, "l2")),
    ("a result too far", "MM", lambda s: s.cache_write("C", 3, "local")),
    ("the scope of an output", "MM", lambda s: s.set_scope("E", 0, "local")),
    ("a scope that there is not", "MM", lambda s: s.set_scope("C", 0, "l2")),
    ("several places", "STENCIL", lambda s: s.reindex("Z", ("read", 0))),
    ("a copy of other variables", "MM", lambda s: s.reindex_cache_read("C", "A", "shared", lambda i, j, k: (i, j, k))),
    ("a copy of two at one place", "MM", lambda s: s.reindex_cache_read("C", "A", "shared", lambda i, j, k: (i + k,))),
    ("the layout of an argument", "MM", lambda s: s.transform_layout("C", "A", lambda i, j: (j, i))),
    ("padding without a value", "MM", lambda s: s.transform_layout("C", "C", lambda i, j: (i // 3, j, i % 3))),
    ("two elements at one place", "MM", lambda s: s.transform_layout("C", "C", lambda i, j: (i // 2, j))),
    ("a variable lost", "EW", lambda s: s.transform_block_layout("Z", lambda i, j: (i,))),
    ("a short list", "MM", lambda s: s.pad_einsum("C", [3])),
    ("padding of no sum", "MM", lambda s: s.pad_einsum("E", [3, 3])),
    ("unequal nests", "STENCIL", lambda s: s.merge(s.get_loops("Y")[0], s.get_loops("Z")[0])),
    ("one in another", "MM", lambda s: s.merge(*s.get_loops("C")[:2])),
    ("a part as long as all", "MM", lambda s: s.loop_partition(s.get_loops("C")[0], [4, 4])),
    ("two open parts", "MM", lambda s: s.loop_partition(s.get_loops("C")[0], [None, None])),
    ("a block of an uneven part", "STENCIL", uneven),
    ("no such note", "MM", lambda s: s.unannotate("C", "note")),
]


@pytest.mark.parametrize(("name", "misuse"), [row[1:] for row in MISUSES], ids=[row[0] for row in MISUSES])
def test_an_error_ends_with_a_call_that_works(name: str, misuse: Callable[[BlockSchedule], object]):
    s = scheduled(name)
    with pytest.raises(ScheduleError) as error:
        misuse(s)
    before, done = str(s.module), len(s.primitives)
    lines = str(error.value).splitlines()
    assert len(lines) <= 6
    assert all(": expected " in lines[0] and ", got " in lines[0] for _ in lines[:1])
    sign, _, call = lines[-1].partition("would work: ")
    assert sign.isspace()
    eval(call, {"s": s})
    assert len(s.primitives) == done + (not call.startswith("s.get_"))
    assert (str(s.module) == before) == call.startswith("s.get_")
    check_values(name, s)


def test_a_schedule_that_explains_nothing_tries_nothing():
    s = scheduled("MM")
    s.explains = False
    with pytest.raises(ScheduleError) as error:
        s.parallel(s.get_loops("C")[2])
    assert "would work" not in str(error.value)
