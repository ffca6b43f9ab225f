"""Films of schedules: a frame per primitive, what it changed, where it was issued, and what may come next."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import whence
from whence import te
from whence.explorer.schedule.diff import diff
from whence.explorer.session.budget import Budget
from whence.explorer.session.costs import CostModel
from whence.explorer.session.films import Frame, LoopRow, Schedule, TreeStage
from whence.explorer.session.line_edits import edited, edits_between
from whence.explorer.session.next_primitives import next_primitives
from whence.explorer.session.schedules import Detail, film, frame_loops, frame_next, kernel_schedule
from whence.kernels import compare_schedules, read_schedule
from whence.lowering.kernel.printing import printed
from whence.lowering.te_to_tir.lower import lower_schedule
from whence.support.context import PassContext
from whence.support.machine import Machine
from whence.te.schedule.schedule import Schedule as TeSchedule

MACHINE = Machine.x86(512)


@cache
def product() -> TeSchedule:
    """A product of matrices and an addition, tiled; its primitives know their lines."""
    with PassContext(config={"te.keep_primitive_lines": True}):
        A, B = (te.placeholder((64, 64), name=name) for name in "AB")
        k = te.reduce_axis((0, 64), name="k")
        C = te.compute((64, 64), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
        D = te.compute((64, 64), lambda i, j: C[i, j] + 1.0, name="D")
        s = te.create_schedule(D)
        i, j = D.op.axis
        _, columns, _, inner = s[D].tile(i, j, 8, 32)
        s[C].compute_at(s[D], columns)  # the line that a frame tells
        s[D].vectorize(inner)
    return s


@cache
def shown() -> Schedule:
    return film(product(), MACHINE, 2)


def tree(schedule: Schedule, frame: Frame) -> dict[str, TreeStage]:
    return {schedule.stages[index].label: schedule.stages[index] for index in frame.tree}


def loops(stage: TreeStage) -> list[str]:
    """The lines of its loops, as a schedule shows them."""

    def line(loop: LoopRow) -> str:
        kind = [] if loop.kind == "serial" else [loop.kind]
        inside = [f"computes {', '.join(loop.computes)}"] if loop.computes else []
        marks = ", ".join([*kind, *loop.notes, *inside])
        return f"{'  ' * (loop.depth + 1)}for {loop.name} in {loop.extent}" + (f"  # {marks}" if marks else "")

    return [line(loop) for loop in stage.loops]


def test_there_are_as_many_frames_as_the_record_is_long() -> None:
    frames = shown().frames
    assert len(frames) == len(product().schedule_record)
    assert [frame.primitive.partition("schedule.")[2].split(" ")[0] for frame in frames] == [
        "",
        *product().primitive_record[1:],
    ]
    lines = [line.strip() for line in str(product().sequence).splitlines()]
    assert all(frame.primitive in lines for frame in frames[1:])


def test_a_frame_is_the_snapshot_of_its_number() -> None:
    for number, (frame, snapshot) in enumerate(zip(shown().frames, product().schedule_record, strict=True)):
        text = "\n".join(" ".join(line.split()) for line in str(snapshot).splitlines())
        for stage in tree(shown(), frame).values():
            assert f"stage {stage.label} ({stage.scope})" in text
            for line in loops(stage):
                assert " ".join(line.split()) in text, (number, line)


def test_what_a_primitive_changed_is_marked() -> None:
    record = product().schedule_record
    for frame, before, after in zip(shown().frames[1:], record, record[1:], strict=False):
        assert {stage.label for stage in diff(before, after).stages} <= set(frame.changed)
    split, _, swap, place, marked = shown().frames[1:]
    assert (split.changed, swap.changed, marked.changed) == (["D"], ["D"], ["D"])
    assert place.changed == ["C", "D"]
    assert tree(shown(), place)["C"].place == "@ D.j.outer"
    assert tree(shown(), place)["D"].loops[1].computes == ["C"]
    assert shown().frames[0].changed == []


def test_frames_tell_the_line_that_issued_their_primitive() -> None:
    with open(__file__) as file:
        line = 1 + next(i for i, text in enumerate(file) if text.endswith("# the line that a frame tells\n"))
    assert shown().frames[4].at == f"test_schedules.py:{line}"
    assert shown().frames[0].at == ""
    plain = film(read_schedule(shown().text), MACHINE, detail="trees")
    assert all(frame.at == "" for frame in plain.frames)


def test_loops_of_a_frame_are_edits_to_those_before() -> None:
    lines: list[str] = []
    for number, frame in enumerate(shown().frames):
        lines = edited(lines, frame.tir)
        assert "\n".join(lines) == printed(lower_schedule(product().snapshot(number)))
        assert frame.error == ""


def test_a_buffer_that_is_not_placed_yet_is_shown_though_it_could_not_run() -> None:
    A = te.placeholder((1 << 18,), name="A")
    B = te.compute(A.shape, lambda i: A[i] + 1.0, name="B")
    C = te.compute(A.shape, lambda i: B[i] * 2.0, name="C")
    s = te.create_schedule(C)
    s[B].set_scope("local")
    s[B].compute_at(s[C], s[C].split(C.op.axis[0], 64)[0])
    frames = film(s, MACHINE, detail="loops").frames
    assert [frame.error for frame in frames] == [""] * 4
    with pytest.raises(whence.ScheduleError, match="at most 262144 bytes"):
        lower_schedule(s.snapshot(1))


def test_what_cannot_be_carried_out_says_why() -> None:
    A = te.placeholder((8,), name="A")
    B = te.compute(A.shape, lambda i: A[i] + 1.0, name="B")
    C = te.compute(A.shape, lambda i: B[i] * 2.0, name="C")
    D = te.compute(A.shape, lambda i: B[i] * C[i], name="D")
    s = te.create_schedule(D)
    s[B].compute_at(s[C], C.op.axis[0])
    last = film(s, MACHINE).frames[-1]
    assert "read out" in last.error
    assert (last.tir[0][1] > 0, last.tir[0][2], last.cost) == (True, [], None)


def test_next_primitives_apply() -> None:
    text = shown().text.splitlines()
    tried = 0
    for frame in shown().frames[::2]:
        assert 3 <= len(frame.next) <= 12
        seconds = [primitive.cost.seconds for primitive in frame.next if primitive.cost is not None]
        assert seconds == sorted(seconds)
        for primitive in frame.next[::3]:
            chosen = read_schedule("\n".join([*text[: frame.lines], *primitive.lines, "}"]))
            assert len(chosen.primitives) > len(read_schedule("\n".join([*text[: frame.lines], "}"])).primitives)
            lower_schedule(chosen)
            tried += 1
    assert tried > 8


def test_chosen_text_computes_the_same() -> None:
    text, frame = shown().text.splitlines(), shown().frames[-1]
    parallel = next(primitive for primitive in frame.next if ".parallel(" in primitive.call)
    chosen = "\n".join([*text[: frame.lines], *parallel.lines, "}"])
    compared = compare_schedules(shown().text, chosen, threads=1)
    assert compared.equal
    assert compared.error == 0.0
    assert 0.05 < compared.ratio < 20
    a, b = np.random.default_rng(0).standard_normal((2, 64, 64)).astype(np.float32)
    np.testing.assert_allclose(whence.build_schedule(read_schedule(chosen))(a, b), a @ b + 1, rtol=1e-4, atol=1e-4)


def test_other_results_are_told() -> None:
    other = shown().text.replace("arith.constant 1.0", "arith.constant 1.5")
    compared = compare_schedules(shown().text, other, threads=1)
    assert not compared.equal
    assert compared.error == pytest.approx(0.5, rel=1e-3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("schedule.sequence @main {\n}", "expected one te.func and one schedule.sequence, got 0 and 1"),
        ("te.func", "<schedule>:1:"),
        ("vectorize %k", "vectorize"),
    ],
)
def test_text_that_is_no_schedule(text: str, message: str) -> None:
    if text.startswith("vectorize"):
        text = shown().text.removesuffix("}") + '  %C_1 = schedule.stage "C"\n'
        text += "  %x, %y, %z = schedule.axes %C_1 : 3\n  schedule.vectorize %z\n}"
    with pytest.raises(whence.WhenceError, match=message):
        read_schedule(text)


def test_a_schedule_of_another_function_is_refused() -> None:
    A = te.placeholder((8,), name="A")
    B = te.compute(A.shape, lambda i: A[i] + 1.0, name="B")
    with pytest.raises(whence.ScheduleError, match="expected one of Function"):
        compare_schedules(product(), te.create_schedule(B))


def test_details_are_made_of_the_text_alone() -> None:
    read = read_schedule(shown().text)
    lines: list[str] = []
    for number, frame in enumerate(shown().frames[:3]):
        lines = edited(lines, frame.tir)
        assert frame_loops(read, number) == (lines, "")
        assert frame_next(read, number, MACHINE, 2) == frame.next


def test_kernels_tell_the_strategy_that_scheduled_them() -> None:
    module = whence.relay.fromtext(
        """#[version = "0.0.5"]
        def @main(%x: Tensor[(8, 64), float32], %w: Tensor[(32, 64), float32]) { nn.dense(%x, %w, units=None) }"""
    )
    artifact = whence.compile(module).artifact
    assert artifact is not None
    (call,) = artifact.calls
    from whence.explorer.layers import functions, snapshot

    schedule = kernel_schedule(functions(snapshot(artifact, "fused"))[call.name], "k", artifact.target.hardware)
    frames = film(schedule, artifact.target.hardware, detail="trees").frames
    assert len(frames) > 5
    assert all(frame.at.startswith("lowering/relay_to_te/") for frame in frames[1:])
    assert any(frame.at.startswith("lowering/relay_to_te/schedules/dense.py:") for frame in frames)
    assert {slot for stage in film(schedule, MACHINE, detail="trees").stages for slot in stage.slots} == {0}


def test_costs_follow_the_schedule() -> None:
    seconds = [frame.cost.seconds if frame.cost is not None else 0.0 for frame in shown().frames]
    assert all(second > 0 for second in seconds)
    by_call = {primitive.call: primitive for primitive in shown().frames[0].next}
    threaded = by_call['s["C"].parallel(i)'].cost
    first = shown().frames[0].cost
    assert threaded is not None
    assert first is not None
    assert threaded.seconds < 0.7 * first.seconds
    assert first.flops == 64 * 64 * 64 * 2 + 64 * 64
    # A, B and D once; C stays in the cache.
    assert first.bytes == 3 * 64 * 64 * 4


def test_edits_make_the_other_text() -> None:
    random = np.random.default_rng(3)
    for _ in range(50):
        old, new = (["abcd"[int(i)] for i in random.integers(0, 4, int(size))] for size in random.integers(0, 12, 2))
        assert edited(old, edits_between(old, new)) == new


class Clock:
    """A second passes whenever somebody looks."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


@pytest.mark.parametrize("detail", ["trees", "loops", "last", "all"])
def test_a_film_that_takes_too_long_has_its_beginning_and_its_end(detail: Detail):
    s = product()
    whole = film(s, MACHINE, 2, detail=detail)
    short = film(s, MACHINE, 2, detail=detail, budget=Budget(9.0, Clock()))
    assert 2 <= len(short.frames) < len(whole.frames)
    assert short.frames[0].tir == whole.frames[0].tir
    last, end = short.frames[-1], whole.frames[-1]
    assert (last.lines, last.cost, last.error, short.text) == (end.lines, end.cost, end.error, whole.text)
    assert [short.stages[row] for row in last.tree] == [whole.stages[row] for row in end.tree]
    primitives = [[each for frame in of.frames for each in frame.primitive.split("; ")] for of in (short, whole)]
    assert primitives[0] == primitives[1]
    assert "; " in last.primitive
    assert not last.loaded or last.next == end.next
    texts: list[list[str]] = [[], []]
    for number, of in enumerate((short, whole)):
        for frame in of.frames:
            texts[number] = edited(texts[number], frame.tir)
    assert texts[0] == texts[1]


def test_next_primitives_are_tried_as_long_as_there_is_time() -> None:
    s = product()
    model, count = CostModel(MACHINE, 2), len(s.primitives)
    every, complete = next_primitives(s, count, model)
    some, more = next_primitives(s, count, model, Budget(3.0, Clock()))
    assert complete
    assert not more
    assert 0 < len(some) < len(every)
