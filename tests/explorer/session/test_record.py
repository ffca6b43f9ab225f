"""Columns of a recorded compilation against what other tables say of the same model."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from onnx import ModelProto
from xdsl.parser import Parser

import whence
from whence.explorer.code import assembly_runs, kernel_of, llvm_lines, machine_code
from whence.explorer.layers import snapshot
from whence.explorer.results import results
from whence.explorer.session.check import check
from whence.explorer.session.document import Session, Stage
from whence.explorer.session.file import from_json, to_json
from whence.explorer.session.text import column, layers_of_lines, text_of_stage
from whence.explorer.session.watching import Watch
from whence.exploring.origin import Origin
from whence.exploring.record import session_of
from whence.lowering.llvm_to_native.assembly import LOCATION
from whence.lowering.llvm_to_native.line_table import line_table
from whence.passes.runner import pass_context
from whence.provenance.span import leaf_name, leaves
from whence.provenance.walk import walk
from whence.support.context import PassContext

HOUSE = Path(__file__).parents[3]


class Recorded(NamedTuple):
    executable: whence.Executable
    session: Session

    def stages(self, level: str, kernel: int = -1) -> list[tuple[int, Stage]]:
        """The stages of a level with their indexes."""
        pairs = enumerate(self.session.stages)
        return [(k, stage) for k, stage in pairs if stage.level == level and stage.kernel == kernel]

    def last(self, level: str, kernel: int = -1) -> tuple[int, Stage]:
        return self.stages(level, kernel)[-1]

    def after(self, name: str) -> tuple[int, Stage]:
        """The stage of relay after a pass."""
        return next((k, stage) for k, stage in self.stages("relay") if stage.name == name)

    def names(self, rows: list[int]) -> list[str]:
        return [self.session.layers.name[row] for row in rows]

    def ops(self, rows: list[int]) -> list[str]:
        return [self.session.ops.name[row].removeprefix("relay.") for row in rows]


@pytest.fixture(scope="module")
def recorded(source: ModelProto) -> Recorded:
    watch = Watch()
    with PassContext.current().at_level(3, [watch]):
        # Options of passes depend on the machine, so it is one by name.
        executable = whence.compile(source, target="llvm -mtriple=x86_64-linux-gnu -mcpu=cascadelake")
    return Recorded(executable, session_of(executable, watch, Origin("twins.onnx", "whence explore twins.onnx")))


def test_the_document_is_whole_and_goes_through_json(recorded: Recorded):
    check(recorded.session)
    assert from_json(to_json(recorded.session)) == recorded.session


def test_a_batch_norm_is_gone_and_what_it_became_is_new_and_its(recorded: Recorded):
    _, stage = recorded.after("relay-simplify-inference")
    session, diff = recorded.session, stage.diff
    assert diff is not None
    assert Counter(recorded.ops(diff.gone)) == {"nn.batch_norm": 2, "nn.dropout": 1}
    new = set(diff.new)
    events = session.events
    unpacked = [k for k, pattern in enumerate(events.pattern) if pattern == "UnpackBatchNorm"]
    for number, event in enumerate(unpacked, 1):
        assert recorded.ops(events.sources[event]) == ["nn.batch_norm"]
        assert set(events.sources[event]) <= set(diff.gone)
        targets = events.targets[event]
        assert len(targets) == 13
        assert set(targets) <= new
        assert f"bn{number}" in recorded.names(session.sets[events.before[event]])
        assert {tuple(recorded.names(session.sets[session.ops.set[row]])) for row in targets} == {(f"bn{number}",)}
        new -= set(targets)
    assert not new
    # What reads the results of those that went reads others now, and is the same op.
    assert Counter(recorded.ops(diff.changed)) == {"nn.relu": 2, "nn.conv2d": 1}
    assert diff.moved == []


def test_an_op_that_stays_has_one_row_in_all_stages(recorded: Recorded):
    rows = [
        {row for row in column(stage.body.ops) if row >= 0 and recorded.ops([row]) == ["nn.global_avg_pool2d"]}
        for _, stage in recorded.stages("relay")[:4]
    ]
    assert len(rows[0]) == 1
    assert rows == [rows[0]] * 4


def test_lines_of_relay_name_their_ops_and_layers(recorded: Recorded):
    for k, stage in recorded.stages("relay"):
        for text, row in zip(text_of_stage(recorded.session, k), column(stage.body.ops), strict=True):
            if row < 0:
                assert text.strip() in ("}", "") or text.startswith("builtin.module")
            else:
                assert recorded.session.ops.name[row] in text


def test_the_last_text_of_relay_reads_as_the_module_that_was_compiled(recorded: Recorded):
    k, stage = recorded.last("relay")
    read = Parser(pass_context(), "\n".join(text_of_stage(recorded.session, k))).parse_module()
    read.verify()
    fused = list(walk(snapshot(recorded.executable.artifact, "fused")))
    assert [op.name for op in walk(read)] == [op.name for op in fused]
    assert [len(op.operands) for op in walk(read)] == [len(op.operands) for op in fused]
    located = [set(map(leaf_name, leaves(op.location))) for op in fused if op.name != "builtin.module"]
    rows, sets = column(stage.body.ops), column(stage.body.sets)
    assert [
        set(recorded.names(recorded.session.sets[s])) for op, s in zip(rows, sets, strict=True) if op >= 0
    ] == located


def test_outputs_of_layers_are_marked_where_their_values_are(recorded: Recorded):
    session = recorded.session
    _, first = recorded.stages("relay")[0]
    rows = column(first.body.ops)
    marked = {(recorded.ops([rows[line - 1]])[0], session.layers.name[layer]) for line, layer in first.body.outputs}
    assert ("nn.bias_add", "conv1") in marked
    assert ("nn.conv2d", "conv1") not in marked
    _, last = recorded.last("relay")
    layers = {session.layers.name[layer] for _, layer in last.body.outputs}
    values = results(recorded.executable.artifact).values()
    assert {leaf_name(leaf) for value in values for leaf, _ in value} <= layers


def test_texts_of_kernels_are_those_of_the_artifact(recorded: Recorded):
    session = recorded.session
    for row, kernel in enumerate(session.kernels):
        record = kernel_of(recorded.executable.artifact, row)
        assert kernel.symbol == record.symbol
        assembly = "\n".join(line for line in record.assembly.splitlines() if not LOCATION.match(line))
        expected = {"te": record.te, "schedule": record.schedule, "tir": record.tir, "llvm": record.llvm}
        for level, text in {**expected, "asm": assembly}.items():
            assert "\n".join(text_of_stage(session, recorded.last(level, row)[0])) == text
        assert [session.stages[k].level for k in kernel.stages][:3] == ["te", "schedule", "tir"]


def test_lines_of_tir_serve_the_layers_that_why_tells(recorded: Recorded):
    session = recorded.session
    for number, call in enumerate(session.calls):
        k, _ = recorded.last("tir", call.kernel)
        for line, rows in enumerate(layers_of_lines(session, k, number), 1):
            answer = recorded.executable.why(call.name, line).line
            assert answer is not None
            assert dict(answer.layers)[call.name] == tuple(dict.fromkeys(recorded.names(list(rows))))


def test_te_and_schedule_lines_have_the_slots_of_their_operators(recorded: Recorded):
    session = recorded.session
    for row, kernel in enumerate(session.kernels):
        for level, word in (("te", "te.compute"), ("schedule", "schedule.stage")):
            k, stage = recorded.last(level, row)
            sets = column(stage.body.sets)
            lines = [line for line, text in enumerate(text_of_stage(session, k)) if word in text]
            assert lines
            assert all(sets[line] >= 0 and kernel.slots[sets[line]] for line in lines)


def test_instructions_have_the_lines_of_the_objects_own_table(recorded: Recorded):
    session, exact_runs = recorded.session, 0
    for row, kernel in enumerate(session.kernels):
        record = kernel_of(recorded.executable.artifact, row)
        code = machine_code(record)
        k, stage = recorded.last("asm", row)
        lines = text_of_stage(session, k)
        tir, exact = column(stage.body.tir), column(stage.body.exact)
        places = [line for line, text in enumerate(lines) if text.startswith("\t")]
        assert [tir[line] for line in places] == [one.line for one in code]
        assert [bool(exact[line]) for line in places] == [one.exact for one in code]
        assert kernel.instructions == len(code)
        table, runs = line_table(record.object), assembly_runs(record)
        assert runs is not None
        shown = -1
        for number, text in enumerate(record.assembly.splitlines()):
            shown += not LOCATION.match(text)
            if (run := runs.get(number)) is not None:
                # A line in the table is inferred where its op cannot have made the instruction.
                assert table.lines[run] in ({tir[shown]} if exact[shown] else {0, tir[shown]})
                exact_runs += exact[shown]
    assert exact_runs > 10


def test_llvm_instructions_have_the_lines_of_their_debug_locations(recorded: Recorded):
    for row in range(len(recorded.session.kernels)):
        _, stage = recorded.last("llvm", row)
        lines = Counter(line for line in column(stage.body.tir) if line)
        expected = llvm_lines(kernel_of(recorded.executable.artifact, row))
        assert lines == Counter({line: count for line, count in expected.items() if line})


def test_events_belong_to_runs_of_passes_and_tell_where_patterns_are_written(recorded: Recorded):
    session, events = recorded.session, recorded.session.events
    assert "SinkLayouts" in events.pattern
    assert "Vectorize" in events.pattern
    for run, name, pattern, at in zip(events.run, events.pass_name, events.pattern, events.pattern_at, strict=True):
        assert session.passes[run].name == name
        file, line = at.split(":")
        assert pattern in (HOUSE / file).read_text().splitlines()[int(line) - 1]
    for run in session.passes:
        file, line = run.source.split(":")
        assert (HOUSE / file).read_text().splitlines()[int(line) - 1].startswith("class ")
        assert run.seconds >= 0
        assert run.changed == (session.stages[run.stage].name == run.name and run.changed)
    relay = [run.name for run in session.passes if run.kernel < 0]
    assert relay[0] == "relay-remove-unused-functions"
    assert [run.spec for run in session.passes if run.name == "relay-alter-op-layout"] == [
        "relay-alter-op-layout{bytes=4}"
    ]


def test_a_pass_that_changes_nothing_makes_no_stage(recorded: Recorded):
    session = recorded.session
    idle = [run for run in session.passes if not run.changed]
    assert idle
    assert not {run.name for run in idle if run.kernel < 0} & {stage.name for _, stage in recorded.stages("relay")}
    changing = [run for run in session.passes if run.changed and run.kernel < 0]
    assert [stage.name for _, stage in recorded.stages("relay")] == ["imported", *(run.name for run in changing)]


def test_layers_are_those_of_the_source_and_tensors_have_owners(recorded: Recorded):
    layers = recorded.session.layers
    rows = [row for row, kind in enumerate(layers.kind) if kind == "layer"]
    assert tuple(layers.name[row] for row in rows) == recorded.executable.layers
    assert layers.type[rows[1]] == "Conv"
    tensors = {layers.name[row]: layers.name[layers.owner[row]] for row, k in enumerate(layers.kind) if k == "tensor"}
    assert tensors["conv1.w1"] == "conv1"
    (source,) = recorded.session.sources
    lines = text_of_stage(recorded.session, source.stage)
    assert lines[1] == f"{layers.ordinal[rows[1]]} Conv conv1"
    assert len(lines) == len(rows)
