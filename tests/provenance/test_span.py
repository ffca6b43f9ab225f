"""Spans, sequences of them, their MLIR form, and fusing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    LocationAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
)

from whence.provenance.span import (
    SequentialSpan,
    SourceName,
    Span,
    fuse,
    layer_location,
    layer_names,
    leaves,
)

A, B, C = (layer_location(name, "m.onnx", index) for index, name in enumerate("abc"))


def fused(*locations: LocationAttr) -> FusedLoc:
    return FusedLoc(ArrayAttr(locations), NoneAttr())


def test_fuse_of_nothing_known_is_unknown():
    assert fuse([]) is UNKNOWN_LOC
    assert fuse([UNKNOWN_LOC, UNKNOWN_LOC]) is UNKNOWN_LOC


def test_fuse_of_one_is_that_one():
    assert fuse([UNKNOWN_LOC, A]) is A
    assert fuse([A, A]) is A
    assert fuse([A, layer_location("a", "m.onnx", 0)]) == A


def test_fuse_is_flat_ordered_and_keeps_the_first_of_equals():
    assert leaves(fuse([B, fused(A, fused(C, B)), A])) == (B, A, C)
    assert fuse([B, fused(A, C)]) == fused(B, A, C)


def test_fuse_gives_equal_inputs_the_same_object():
    assert fuse([A, B]) is fuse([A, B])
    assert fuse([A, B]) != fuse([B, A])


def test_fuse_of_many_layers():
    many = [layer_location(f"l{index}", "m.onnx", index) for index in range(500)]
    assert leaves(fuse(many)) == tuple(many)
    assert leaves(fuse([fuse(many), A])) == (*many, A)


def test_layers_of_one_name_are_told_apart():
    twin = layer_location("a", "m.onnx", 7)
    assert leaves(fuse([A, twin])) == (A, twin)
    assert layer_names(fuse([A, twin])) == ("a",)


def test_leaves_of_other_locations():
    at = FileLineColLoc(StringAttr("m.relay"), IntAttr(3), IntAttr(4))
    assert leaves(UNKNOWN_LOC) == ()
    assert leaves(at) == (at,)
    assert leaves(CallSiteLoc(A, fused(B, A))) == (A, B)
    assert layer_names(at) == ("m.relay:3:4",)


def test_layer_location_is_shared():
    assert layer_location("a", "m.onnx", 0) is A


def span_of(name: str, line: int, column: int, file: str) -> Span:
    return Span(SourceName(name), line, line, column, column, file)


numbers = st.integers(0, 9)
spans = st.builds(span_of, st.text("abc/:0", min_size=1), numbers, numbers, st.sampled_from(["", "m.onnx"]))


@given(spans)
def test_span_survives_the_way_through_a_location(span: Span):
    assert Span.of(span.location) == span


def test_span_of_a_place_in_a_text():
    span = Span(SourceName("m.relay"), 3, 3, 4, 4)
    assert isinstance(span.location, FileLineColLoc)
    assert Span.of(span.location) == span
    assert str(span) == "m.relay:3:4"
    assert Span(None, 3, 3, 4, 4, "m.relay").location == span.location


def test_span_of_a_bare_name_is_a_bare_name():
    assert Span(SourceName("a")).location == NameLoc(StringAttr("a"), NoneAttr())
    assert str(Span(SourceName("a"))) == "a:0:0"


def test_span_of_other_locations():
    assert Span.of(UNKNOWN_LOC) is None
    assert Span.of(fuse([A, B])) == SequentialSpan([A, B])
    assert Span.of(CallSiteLoc(A, B)) == SequentialSpan([A, B])


def test_merge_covers_both():
    name = SourceName("m")
    assert Span(name, 1, 2, 5, 6).merge(Span(name, 2, 4, 1, 3)) == Span(name, 1, 4, 1, 6)
    with pytest.raises(ValueError, match="expected spans of one source"):
        Span(name).merge(Span(SourceName("n")))


def test_sequence_flattens_and_keeps_order_and_duplicates():
    a, b = Span(SourceName("a")), Span(SourceName("b"))
    inner = SequentialSpan([a, b])
    assert SequentialSpan([b, inner, a]).spans == (b, a, b, a)
    assert SequentialSpan([a, SequentialSpan([inner, SequentialSpan([b])])]).spans == (a, a, b, b)


def test_sequence_of_locations():
    assert SequentialSpan([fused(A, B), UNKNOWN_LOC, A]).spans == (Span.of(A), Span.of(B), Span.of(A))


def test_sequence_may_be_empty():
    empty = SequentialSpan([])
    assert empty.spans == ()
    assert empty.location is UNKNOWN_LOC
    assert repr(empty) == "SequentialSpan([])"
    assert SequentialSpan([empty]) == empty


def test_sequences_are_equal_when_their_spans_are():
    a, b = Span(SourceName("a")), Span(SourceName("b"))
    assert SequentialSpan([a, b]) == SequentialSpan([SequentialSpan([a]), b])
    assert hash(SequentialSpan([a, b])) == hash(SequentialSpan([a, b]))
    assert SequentialSpan([a, b]) != SequentialSpan([b, a])
    assert SequentialSpan([a]) != SequentialSpan([a, a])
    assert SequentialSpan([a]) != a


def test_sequence_as_location_and_text():
    sequence = SequentialSpan([B, A, B])
    assert sequence.location == fuse([B, A])
    assert repr(sequence) == "SequentialSpan([ b:1:0, a:0:0, b:1:0 ])"
