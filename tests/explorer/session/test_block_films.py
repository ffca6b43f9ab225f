"""Films and explanations of block schedules."""

from __future__ import annotations

from typing import Any

import numpy as np
from block_kernels import scheduled

import whence
from whence import te
from whence.explorer.session.block_films import block_film
from whence.support.context import PassContext
from whence.te.blocks.schedule import BlockSchedule


def tiled() -> BlockSchedule:
    with PassContext(config={"te.keep_primitive_lines": True}):
        s = scheduled("MM")
    i, j, k = s.get_loops("C")
    outer, inner = s.split(i, [None, s.knob("rows", (2, 4), 4)])
    s.reorder(outer, k, inner, j)
    s.vectorize(j)
    s.reverse_compute_at("E", outer)
    return s


def lines_after(film: Any, number: int) -> list[str]:
    """The text of a frame, by the edits of those up to it."""
    lines: list[str] = []
    for frame in film.frames[: number + 1]:
        for first, count, new in frame.tir:
            lines[first : first + count] = new
    return lines


def test_a_frame_for_each_primitive():
    s = tiled()
    film = block_film(s)
    assert [frame.primitive.partition("schedule.block.")[2].partition("(")[0] for frame in film.frames] == [
        "",
        "split",
        "reorder",
        "vectorize",
        "reverse_compute_at",
    ]
    assert film.text.splitlines()[-1] == "}"
    for number in range(len(film.frames)):
        assert "\n".join(lines_after(film, number)).strip() == str(s.snapshot(number).module).strip()
    assert [frame.changed for frame in film.frames] == [[], ["C"], ["C"], ["C"], ["E"]]
    assert all(frame.at.startswith("test_block_films.py:") for frame in film.frames[1:])
    last = film.stages[film.frames[3].tree[0]]
    assert [(loop.name, loop.extent, loop.kind, loop.reduce) for loop in last.loops] == [
        ("i.0", "2", "serial", False),
        ("k", "6", "serial", True),
        ("i.1", "4", "serial", False),
        ("j", "4", "vectorized", False),
    ]
    assert (last.reads, last.outputs) == (["A", "B"], ["float32[8, 4]"])
    assert film.frames[-1].lines == film.text.count("\n")


def test_an_explanation_has_times_and_loops():
    explained = te.explain(tiled(), threads=1)
    assert len(explained.steps) == 5
    assert all(step.measured for step in explained.steps)
    text = str(explained)
    assert "schedule @main" in text
    assert "for j in 4  # vectorized" in text
    assert "->" in text
    assert str(tiled().explain(measure=False)).count("measured none") == 5


def test_the_explorer_takes_block_schedules():
    exploration = whence.explore(tiled())
    (film,) = exploration.session.schedules
    assert len(film.frames) == 5
    assert "schedule.block.vectorize" in exploration.session.schedules[0].text
    both = whence.explore({"one": tiled(), "two": tiled()})
    assert len(both.session.schedules) == 2
    assert np.unique([film.kernel for film in both.session.schedules]).size == 2


def test_a_kernel_of_statements_has_no_stage_of_tensor_expressions():
    session = whence.explore(tiled()).session
    levels = [stage.level for stage in session.stages]
    assert "te" not in levels
    assert levels.count("schedule") == 1
    assert all(stage.lines for stage in session.stages)
