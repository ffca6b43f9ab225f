"""The views of a session document as text."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from small_session import named_session, small_session

from whence.explorer.session.difference import Pair, difference
from whence.explorer.session.document import Body, Diff, LineTimes
from whence.explorer.session.history import history_of_layer, history_of_op
from whence.explorer.session.views import VIEWS
from whence.explorer.session.views.choice import Choice
from whence.support.errors import PipelineError

Golden = Callable[[str, str], None]

ASKED = {
    "verdict": [Choice(), Choice(layer="block/conv1"), Choice(layer="relu2")],
    "stage": [Choice(), Choice(stage="imported"), Choice(kernel="fused_1"), Choice(kernel="0", level="asm")],
    "diff": [Choice(stage="2"), Choice(stage="imported", against="fuse-ops", full=True)],
    "why": [Choice(stage="2", line=2), Choice(kernel="0", line=2), Choice(level="asm", line=2)],
    "where": [Choice(layer="conv2"), Choice(layer="4")],
    "lineage": [Choice(layer="block/conv1"), Choice(layer="relu2", kernel="fused_1")],
    "passes": [Choice(), Choice(full=True), Choice(kernel="0")],
    "kernels": [Choice(), Choice(kernel="fused_conv_relu")],
    "query": [Choice(query="time by scope")],
    "schedule": [Choice(), Choice(kernel="0"), Choice(kernel="0", stage="0")],
}
"""View -> what it is asked for; other views are asked for everything."""


def test_every_view_shows_what_is_in_the_document(golden: Golden):
    parts: list[str] = []
    for name, view in VIEWS.items():
        for choice in ASKED.get(name, [Choice()]):
            options = {key: value for key, value in vars(choice).items() if value}
            parts.append(f"--text {name} {' '.join(f'--{k} {v}' for k, v in options.items())}".rstrip())
            parts.append(view(small_session(), choice) + "\n")
    golden("views.txt", "\n".join(parts))


@pytest.mark.parametrize("view", VIEWS)
def test_names_are_shown_as_text(view: str):
    session = named_session("\x1b[2J\u202e\n\t\0<b>")
    for choice in ASKED.get(view, [Choice()]):
        if not {choice.kernel, choice.layer, choice.stage} & {"fused_1", "fused_conv_relu", "block/conv1"}:
            assert all(line.isprintable() for line in VIEWS[view](session, choice).split("\n"))


@pytest.mark.parametrize(
    ("view", "choice", "text"),
    [
        ("stage", Choice(stage="nothing"), "--stage: expected a stage: m.onnx, imported, fuse-ops"),
        ("stage", Choice(stage="99"), "--stage: expected a stage"),
        ("stage", Choice(level="spirv"), "--level: expected a level: model, relay, te, schedule, tir, llvm"),
        ("stage", Choice(kernel="9"), "--kernel: expected a kernel: fused_0, fused_1, got '9'"),
        ("diff", Choice(stage="1"), "diff: expected a stage that came of another, got relay 1: imported"),
        ("why", Choice(stage="1"), "--line: expected a line of 1 to 4 of relay 1: imported, got none"),
        ("why", Choice(stage="1", line=5), "--line: expected a line of 1 to 4 of relay 1: imported, got 5"),
        ("where", Choice(), "--layer: expected the name of a layer, got none"),
        ("lineage", Choice(layer="conv9"), "--layer: expected a layer: block/conv1"),
        ("schedule", Choice(kernel="0", stage="2"), "--stage: expected a frame from 0 to 1, got '2'"),
    ],
)
def test_what_there_is_not_is_said(view: str, choice: Choice, text: str):
    with pytest.raises(PipelineError) as caught:
        VIEWS[view](small_session(), choice)
    assert text in str(caught.value)


@pytest.mark.parametrize("view", ["times", "lines", "timeline", "memory", "tensors", "compare", "schedule", "model"])
def test_what_was_not_recorded_is_said(view: str):
    session = small_session()
    session.times, session.memory, session.tensors, session.schedules, session.graphs = [], [], [], [], []
    session.comparison = None
    session.made_by.notes = ["nothing was run"]
    with pytest.raises(PipelineError, match=r"got one without \(nothing was run\)"):
        VIEWS[view](session, Choice())


def test_a_timeline_of_any_length_is_drawn():
    session = small_session()
    session.times[0].timeline.begin, session.times[0].timeline.end = [0.0, 1e308], [1e308, 1.5e308]
    assert "|=" in VIEWS["timeline"](session, Choice())


def test_samples_of_one_level_are_all_there_are():
    session = small_session()
    session.times[0].lines.append(LineTimes(0, 7, [1], [40]))
    assert VIEWS["lines"](session, Choice()) == VIEWS["lines"](small_session(), Choice())
    assert VIEWS["lines"](session, Choice(level="asm")).startswith("  100 %  fused_0")


def _stage(ops: list[int], texts: list[str]) -> Body:
    runs = [number for op in ops for number in (op, 1)]
    return Body(-1, [(0, 0, texts)], [0, len(texts)], runs, [], [], [])


def test_lines_are_the_same_where_their_ops_are():
    session = small_session()
    session.stages[1].body = _stage([0, 1, 2, -1, 3], ["%0 = a", "%1 = b", "%2 = c", "}", "%3 = d"])
    session.stages[2].body = _stage([2, 1, 4, -1, 3], ["%0 = c", "%1 = b", "%2 = e", "}", "%7 = d"])
    session.stages[2].diff = Diff([4], [0], [3], [1])
    assert difference(session, 1, 2).pairs == [
        Pair(0, -1, "gone"),
        Pair(1, -1, "moved"),
        Pair(2, 0, "same"),
        Pair(-1, 1, "moved"),
        Pair(-1, 2, "new"),
        Pair(3, 3, "same"),
        Pair(4, 4, "changed"),
    ]
    assert {pair.kind for pair in difference(session, 1, 1).pairs} == {"same"}


def test_the_history_of_a_copy_is_that_of_its_original_until_then():
    session = small_session()
    assert history_of_op(session, 4) == [0, 1]
    session.ops.copied_from[6], session.ops.copied_at[6] = 4, 2
    assert history_of_op(session, 6) == [0, 1]
    session.ops.copied_at[6] = 1
    assert history_of_op(session, 6) == []
    session.events.sources[1] = [4]
    assert history_of_op(session, 4) == [1]
    assert history_of_layer(session, {2}) == [2, 3]
