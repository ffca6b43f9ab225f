"""Sessions of schedules: every level of the kernel, a film, times, and several side by side."""

from __future__ import annotations

import pytest

import whence
from whence import te
from whence.explorer.session.check import check
from whence.explorer.session.document import Session
from whence.explorer.session.text import text_of_stage
from whence.exploring.measuring import Wishes
from whence.exploring.record import record
from whence.support.errors import WhenceError
from whence.te.schedule.schedule import Schedule


def _schedules() -> dict[str, Schedule]:
    a, b = te.placeholder((32, 32), name="a"), te.placeholder((32, 32), name="b")
    k = te.reduce_axis((0, 32), name="k")
    c = te.compute((32, 32), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="c")
    d = te.compute((32, 32), lambda i, j: c[i, j] + 1, name="d")
    plain, tiled = te.create_schedule(d), te.create_schedule(d)
    tiled[d].tile(d.op.axis[0], d.op.axis[1], 8, 8)
    tiled[c].compute_at(tiled[d], tiled[d].leaf_iter_vars[1])
    return {"plain": plain, "tiled": tiled}


def _texts(session: Session, kernel: int) -> dict[str, list[str]]:
    stages = session.kernels[kernel].stages
    return {session.stages[stage].level: text_of_stage(session, stage) for stage in stages}


def test_each_schedule_is_a_program_with_all_levels():
    schedules = _schedules()
    session = record(schedules)
    check(session)
    assert [program.name for program in session.programs] == ["plain", "tiled"]
    for number, schedule in enumerate(schedules.values()):
        texts = _texts(session, number)
        assert list(texts) == ["te", "schedule", "tir", "llvm", "asm"]
        assert any('te.compute "c"' in line for line in texts["te"])
        assert "\n".join(texts["tir"]) == whence.build_schedule(schedule, threads=1).tir
    assert sum("schedule.split" in line for line in _texts(session, 1)["schedule"]) == 2


def test_stages_are_the_layers_and_lead_to_their_lines():
    session = record(_schedules()["tiled"])
    layers = dict(zip(session.layers.name, session.layers.type, strict=True))
    assert layers == {"a": "placeholder", "b": "placeholder", "c": "compute", "d": "compute"}
    row = session.layers.name.index("c")
    (line,) = (line for layer, line in zip(session.leads.layer, session.leads.tir, strict=True) if layer == row)
    text = _texts(session, 0)["tir"]
    assert "c" in text[line - 1] or "fma" in text[line - 1]
    assert session.calls[0].flops >= 2 * 32**3
    te_line = next(line for layer, line in zip(session.leads.layer, session.leads.te, strict=True) if layer == row)
    assert 'te.compute "c"' in _texts(session, 0)["te"][te_line - 1]


def test_the_film_has_a_frame_for_each_primitive():
    schedule = _schedules()["tiled"]
    session = record(schedule)
    (film,) = session.schedules
    assert len(film.frames) == len(schedule.primitives) + 1
    assert record(schedule, wishes=Wishes(films="none")).schedules == []


def test_times_are_those_of_each_program():
    session = record(_schedules(), wishes=Wishes(seconds=0.1))
    check(session)
    assert [times.program for times in session.times] == [0, 1]
    assert all(len(times.calls) == 1 and times.calls[0] > 0 for times in session.times)
    names = session.layers.name
    for times in session.times:
        assert sum(seconds for _, seconds, _ in times.layers) == pytest.approx(sum(times.calls))
        assert all(seconds == 0 for row, seconds, _ in times.layers if row >= 0 and names[row] in "ab")


def test_sizes_that_a_call_decides_are_refused():
    n = te.var("n")
    x = te.placeholder((n,), name="x")
    schedule = te.create_schedule(te.compute((n,), lambda i: x[i] * 2, name="y"))
    with pytest.raises(WhenceError, match="expected known sizes"):
        record(schedule)
