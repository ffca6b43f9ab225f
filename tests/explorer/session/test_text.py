"""Readers of a session document."""

from __future__ import annotations

from small_session import small_session

from whence.explorer.session.text import column, layers_of_lines, text_of_stage


def test_a_stage_is_its_base_and_edits():
    session = small_session()
    assert text_of_stage(session, 2) == ["%0 = fused(%x)", "%1 = fused(%0)"]
    session.stages[2].body.edits = [(1, 1, ["a", "b"]), (0, 1, []), (2, 0, ["c"])]
    assert text_of_stage(session, 2) == ["a", "b", "c", "%2 = nn.conv2d(%1)", "%3 = nn.relu(%2)"]


def test_a_column_has_a_value_per_line():
    assert column([7, 2, 3, 1]) == [7, 7, 3]
    assert column([]) == []


def test_layers_of_a_kernels_lines_are_those_of_its_calls():
    session = small_session()
    assert layers_of_lines(session, 2) == [(0, 1), (2, 3)]
    assert layers_of_lines(session, 5, call=0) == [(0, 4, 1), (0, 4), (1,)]
    assert layers_of_lines(session, 5, call=1) == [(2, 3), (2,), (3,)]
    assert layers_of_lines(session, 7) == [(0, 4, 2), (1, 3), ()]
