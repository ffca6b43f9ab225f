"""What each condition of a primitive is for: kernels of which it is the one that keeps the values."""
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from legality_kernels import results, scheduled

from whence.kernels.building import parsed_prim_func
from whence.support.errors import ScheduleError
from whence.te.blocks.schedule import BlockSchedule
from whence.te.blocks.tensorize import is_registered, register


def loop(s: BlockSchedule, block: str, number: int) -> Any:
    return s.get_loops(block)[number]


def split_mixed(s: BlockSchedule) -> Any:
    """A loop of data and terms, in which another of terms is."""
    i, k = s.get_loops("Z")
    outer, inner = s.split(k, [None, 2])
    return s.fuse(i, outer), inner


def in_threads(s: BlockSchedule, block: str, then: Callable[[Any], object]) -> object:
    """Do something with the loop around a block, which is parallel."""
    i = loop(s, block, 0)
    s.parallel(i)
    return then(i)


def in_part(s: BlockSchedule, then: Callable[[], object]) -> object:
    """Do something behind an uneven split of the last block."""
    s.split(loop(s, "Z", 0), [None, 3])
    return then()


def second_part(s: BlockSchedule) -> object:
    """A block of a part of a sum, in which not all of a row is."""
    i, k = s.get_loops("Z")
    _, part = s.loop_partition(s.fuse(i, k), [1, None])
    return s.blockize(part)


REFUSED: list[tuple[str, str, Callable[[BlockSchedule], object], str]] = [
    ("one too few", "HALVED", lambda s: s.split(loop(s, "Y", 0), [7, 1]), r"at least 8, got \[7, 1\] of 7"),
    ("open lanes", "OPEN", lambda s: s.vectorize(loop(s, "Z", 0)), "a loop of a known extent, got one of s0"),
    ("inlined before a change", "CHANGED", lambda s: s.compute_inline("Y"), "expected W to be complete before"),
    ("inlined over a change", "CHANGED_BEHIND", lambda s: s.compute_inline("Y"), "expected W to be complete before"),
    ("a gap", "GAPS", lambda s: s.cache_write("Y", 0, "local"), "stores all of Y, got one of parts"),
    ("from 1 on", "SHIFTED", lambda s: s.cache_write("Y", 0, "local"), "stores all of Y, got one of parts"),
    ("the last of a row", "LAST", lambda s: s.compute_inline("Y"), "a store to all of Y at distinct variables"),
    (
        "padding beside a statement",
        "STATEMENT",
        lambda s: s.decompose_padding("Z", loop(s, "Z", 0)),
        "loops without other statements around the block",
    ),
    (
        "threads that write one element",
        "HALVED",
        lambda s: in_threads(s, "Y", lambda i: s.reverse_compute_at("Z", i)),
        r"iterations i=0 and i=1 write %Z\[0\]",
    ),
    (
        "in a loop of threads around",
        "ROW",
        lambda s: in_threads(s, "Y", lambda _: s.reverse_compute_at("Z", loop(s, "Y", 1))),
        r"iterations i=0, j=0 and i=1, j=0 write %Z\[0\]",
    ),
    (
        "computed behind a change",
        "CHANGED_BEHIND",
        lambda s: s.compute_at("Y", loop(s, "Z", 0)),
        "expected W to be complete before",
    ),
    (
        "a sum that goes on",
        "GOES_ON",
        lambda s: s.compute_at("Y", loop(s, "Z", 0)),
        "does not begin with what is in Y",
    ),
    (
        "made before the old is read",
        "OLD",
        lambda s: s.reverse_compute_at("Z", loop(s, "Y", 0)),
        "expected Z to be unused from i on",
    ),
    (
        "inlined before the old is read",
        "OLD",
        lambda s: s.reverse_compute_inline("Z"),
        "expected Z to be unused before",
    ),
    (
        "made before a term is",
        "SIBLINGS",
        lambda s: s.reverse_compute_at("Z", loop(s, "Y", 1)),
        "expected W to be complete before",
    ),
    (
        "inlined before a term changes",
        "CHANGED_BEHIND",
        lambda s: s.reverse_compute_inline("Z"),
        "expected W to be complete before",
    ),
    (
        "of a part",
        "PART",
        lambda s: s.reverse_compute_at("Z", loop(s, "Y", 0)),
        "a producer that stores all of Y",
    ),
    ("inlined under a condition", "ROW", lambda s: part_of_y(s), "a block without a condition"),
    (
        "inlined where it may not be read",
        "FIRST",
        lambda s: s.compute_inline("Y"),
        "plain loads of Y, got one with a c",
    ),
    (
        "inlined into a part",
        "HALVED",
        lambda s: in_part(s, lambda: s.reverse_compute_inline("Z")),
        "run once at each element, without conditions",
    ),
    ("copied before it is made", "BESIDE", lambda s: s.cache_read("Z", 0, "local"), "complete before it is read first"),
    ("stored behind its reader", "BESIDE", lambda s: s.cache_write("Y", 0, "local"), "a read of it in the nest"),
    ("a copy of what goes on", "GOES_ON", lambda s: s.cache_write("Y", 0, "local"), "does not begin with what is in Y"),
    (
        "points in another order",
        "HALVED",
        lambda s: s.transform_block_layout("Z", lambda v: (v % 2, v // 2)),  # type: ignore[no-any-return]
        "points that run in any order",
    ),
    (
        "data and terms in one",
        "SUM",
        lambda s: s.transform_block_layout("Z", lambda v, r: (v * 12 + r,)),  # type: ignore[no-any-return]
        "variables of one kind",
    ),
    (
        "a layout of no loop",
        "TURNS",
        lambda s: s.transform_block_layout("zero", lambda: []),  # type: ignore[no-any-return]
        "loops that hold the block alone, got none",
    ),
    ("a factor without padding", "PRODUCT", lambda s: s.pad_einsum("Z", [1, 4]), "expected r in all factors"),
    ("padding of terms", "TERMS", lambda s: s.pad_einsum("Z", [3, 1]), r"a sum of products, got arith\.addf"),
    ("partial sums of both", "SUM", lambda s: s.rfactor(split_mixed(s)[1], 0), "got i_k.0_fused for both"),
    (
        "the start of both",
        "SUM",
        lambda s: s.decompose_reduction("Z", split_mixed(s)[0]),
        "loops of the reduction alone, got i_k.0_fused for both",
    ),
    (
        "the start of a sum that runs twice",
        "TWICE",
        lambda s: s.decompose_reduction("Z", loop(s, "Z", 0)),
        "run the block once at each point",
    ),
    (
        "the start of a sum that runs by either condition",
        "AGAIN",
        lambda s: s.decompose_reduction("Z", loop(s, "Z", 0)),
        "run the block once at each point",
    ),
    (
        "a start beside another writer",
        "DOUBLED",
        lambda s: s.decompose_reduction("Z", loop(s, "Z", 0)),
        "expected Z to be accessed by this block alone",
    ),
    (
        "a start that none has",
        "NEVER",
        lambda s: s.decompose_reduction("Z", loop(s, "Z", 0)),
        "the first term, r=0, first, got none of it",
    ),
    (
        "a start before terms that are lost",
        "BACK",
        lambda s: s.decompose_reduction("Z", loop(s, "Z", 1)),
        "the first term, r=0, first, got i=0, k=4 before i=0, k=5",
    ),
    (
        "a block that starts in between",
        "ROUND",
        lambda s: s.blockize(loop(s, "Z", 1)),
        "the first term, r=0, first, got i=0, k=0 before i=0, k=4",
    ),
    ("a block that begins between", "OFFSET", lambda s: s.blockize(loop(s, "Z", 1)), "whole parts of what is in j"),
    ("a block that ends between", "TEN", lambda s: s.blockize(loop(s, "Z", 1)), "whole parts of what is in j"),
    ("a block of a part of a sum", "SUM", second_part, "a reduction at each of 48 points, got 47 passes"),
    ("the row of the pass before", "BEFORE", lambda s: s.parallel(loop(s, "Z", 0)), "do not depend on each other"),
    ("an element of an earlier pass", "SOME", lambda s: s.parallel(loop(s, "Z", 0)), "do not depend on each other"),
    ("an element of no pass", "FROM_ONE", lambda s: s.parallel(loop(s, "Z", 0)), "do not depend on each other"),
    ("a turned row of a pass", "TURNED", lambda s: s.parallel(loop(s, "Z", 0)), "do not depend on each other"),
    ("a sum over passes", "PARTIAL", lambda s: s.parallel(loop(s, "Z", 0)), "do not depend on each other"),
    (
        "nests with another between",
        "THREE",
        lambda s: s.merge(loop(s, "Y", 0), loop(s, "Z", 0)),
        "expected i right behind i",
    ),
    (
        "the third of the first",
        "THREE",
        lambda s: s.merge(loop(s, "Y", 0), loop(s, "W", 0), loop(s, "Z", 0)),
        r"got iteration i=4 writes %Y\[4\] that i=3 reads",
    ),
    ("a copy from before the first", "FROM_BEHIND", lambda s: s.reindex("Z", ("read", 0)), r"in \[0, 8\) of dim 0"),
    ("two points of one element", "TWO_AT_ONE", lambda s: s.reindex("Y", ("write", 0)), "each element of Y at one"),
    (
        "a buffer of each pass",
        "SHARED",
        lambda s: s.reorder(loop(s, "Z", 1), loop(s, "Z", 0)),
        "no buffer that is allocated between the loops",
    ),
    ("two ways to combine", "TURNS", lambda s: s.reorder(*s.get_loops("sum")[::-1]), "an order that keeps all values"),
    ("a sum begun anew", "ANEW", lambda s: s.reorder(*s.get_loops("Z")[::-1]), "an order that keeps all values"),
    ("a term of the sum so far", "SQUARED", lambda s: s.reorder(*s.get_loops("Z")[::-1]), "an order that keeps all"),
    ("sums on the way", "PREFIX", lambda s: s.reorder(*s.get_loops("Z")[::-1]), "an order that keeps all values"),
]


def part_of_y(s: BlockSchedule) -> object:
    """Inline a block behind an uneven split."""
    s.split(loop(s, "Y", 0), [None, 3])
    return s.compute_inline("Y")


@pytest.mark.parametrize(("name", "call", "text"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_what_would_change_values_is_refused(name: str, call: Callable[[BlockSchedule], object], text: str):
    s = scheduled(name)
    with pytest.raises(ScheduleError, match=text):
        call(s)
    assert str(s.snapshot().module) == str(s.module)


def uneven_parts(s: BlockSchedule) -> None:
    """The start of a sum before uneven parts."""
    i, k = s.get_loops("Z")
    first, second = s.split(k, [3, 5])
    s.decompose_reduction("Z", first)
    s.unroll(second)
    s.parallel(i)


KEPT: list[tuple[str, str, Callable[[BlockSchedule], object]]] = [
    ("a number between loops", "BETWEEN", lambda s: s.reorder(*s.get_loops("Z")[::-1])),
    ("either condition in parts", "EITHER", lambda s: s.split(loop(s, "Z", 0), [None, 3])),
    ("a wider read behind a narrow one", "WIDER", lambda s: s.compute_at("Y", loop(s, "Z", 0))),
    ("a start before uneven parts", "SUM", uneven_parts),
    (
        "a start before passes of none",
        "SUM",
        lambda s: s.decompose_reduction("Z", s.split(loop(s, "Z", 1), [12, 2])[0]),
    ),
    (
        "a start before a loop of one term in parts",
        "ONE_TERM",
        lambda s: (s.split(loop(s, "Z", 1), [None, 5]), s.decompose_reduction("Z", loop(s, "Z", 0))),
    ),
    ("partial sums of uneven parts", "SUM", lambda s: in_part(s, lambda: s.rfactor(loop(s, "Z", 2), 0))),
    ("partial sums by an axis from behind", "SUM", lambda s: s.rfactor(loop(s, "Z", 1), -1)),
    ("two places of one buffer padded", "GRAM", lambda s: s.pad_einsum("Z", [1, 4, 5])),
    ("two places of one buffer padded alike", "GRAM", lambda s: s.pad_einsum("Z", [2, 1, 1])),
    ("a cache in a loop", "HALVED", lambda s: s.compute_at(s.cache_read("Z", 0, "local"), loop(s, "Z", 0))),
]


@pytest.mark.parametrize(("name", "call"), [row[1:] for row in KEPT], ids=[row[0] for row in KEPT])
def test_what_is_done_keeps_values(name: str, call: Callable[[BlockSchedule], object]):
    s = scheduled(name)
    call(s)
    for one, other in zip(results(scheduled(name).module), results(s.module), strict=True):
        np.testing.assert_array_equal(one, other)
    assert str(s.snapshot().module) == str(s.module)


def test_a_refused_primitive_leaves_the_handles_of_loops_that_it_took_away():
    s = scheduled("HALVED")
    own, i = loop(s, "Z", 0), loop(s, "Y", 0)
    s.parallel(i)
    with pytest.raises(ScheduleError, match="do not depend on each other"):
        s.reverse_compute_at("Z", i)
    s.unroll(own)
    assert "tir.for unrolled" in str(s.module)


COPY = """
tir.prim_func @main(%S: !tir.buffer<4xf32>, %T: !tir.buffer<4xf32>) outputs 1 {
  tir.for %i in 4 {
    %x = tir.load %S[%i] : !tir.buffer<4xf32> -> f32
    tir.store %x, %T[%i] : f32, !tir.buffer<4xf32>
  }
}"""


def test_an_intrinsic_of_elements_that_move_otherwise_is_refused():
    if not is_registered("legality.copy"):
        register("legality.copy", parsed_prim_func(COPY), parsed_prim_func(COPY))
    s = scheduled("SLOW")
    with pytest.raises(ScheduleError, match="expected elements that move with its loops, as"):
        s.tensorize(loop(s, "Z", 1), "legality.copy")
    assert str(s.snapshot().module) == str(s.module)
