"""Rows of layers and sets of locations, of which the builder remembers those that it has seen."""

from __future__ import annotations

from collections.abc import Iterator
from weakref import ref

import pytest
from xdsl.dialects.builtin import ArrayAttr, FileLineColLoc, FusedLoc, IntAttr, NameLoc, NoneAttr, StringAttr

from whence.explorer.session.builder import Builder
from whence.explorer.session.document import MadeBy
from whence.provenance import span
from whence.provenance.span import fuse, leaf_name, leaves

COUNT = 300


def _leaf(number: int) -> NameLoc:
    return NameLoc(StringAttr(f"layer{number}"), FileLineColLoc(StringAttr("m.onnx"), IntAttr(number), IntAttr(0)))


def _builder() -> Builder:
    return Builder(MadeBy("1", "", "m.onnx", "", "native", 3, 1, "", {}, 0.0, []))


LEAVES = [_leaf(number) for number in range(COUNT)]


def _generations() -> Iterator[tuple[list[int], FusedLoc]]:
    """Give numbers and their fused location, of many that go together and leave their identities to others."""
    for step in range(1, 6):
        pairs = [[number, (number + step) % COUNT] for number in range(COUNT)]
        yield from [(pair, FusedLoc(ArrayAttr(LEAVES[number] for number in pair), NoneAttr())) for pair in pairs]


def test_locations_that_come_and_go_have_the_layers_of_their_own(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(span, "_CACHED_LEAVES", 0)  # which would keep them
    builder = _builder()
    for _ in range(3):
        for number in range(COUNT):
            assert builder.layer(_leaf(number)) == number
    for numbers, location in _generations():
        assert builder.session.sets[builder.set_of(location)] == numbers


def test_leaves_of_locations_that_come_and_go_are_their_own():
    for numbers, location in _generations():
        assert [leaf_name(leaf) for leaf in leaves(location)] == [f"layer{number}" for number in numbers]


def test_what_was_fused_lives_as_long_as_it_is_remembered_by_its_identity():
    location = FusedLoc(ArrayAttr(LEAVES[:2]), NoneAttr())
    alive = ref(location)
    fuse([location, LEAVES[2]])
    del location
    assert alive() is not None


def test_equal_locations_are_one_row_and_one_set():
    builder = _builder()
    assert builder.layer(_leaf(3)) == builder.layer(_leaf(3)) == 0
    assert builder.set_of(_leaf(3)) == builder.set_of(_leaf(3)) == 1
    assert builder.session.layers.name == ["layer3"]
    assert builder.session.layers.ordinal == [3]
