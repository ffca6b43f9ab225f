"""Records of block schedules by TVM's names: its traces are replayed, and ours are read again, as JSON and Python."""

# pyright: reportUnknownLambdaType=false

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from block_kernels import check_values, scheduled
from xdsl.ir import Block, Operation

from whence import te, tir
from whence.dialects.tir import BlockOp, ForOp, IfOp, prim_funcs
from whence.support.errors import ScheduleError
from whence.te.blocks.schedule import BlockSchedule
from whence.te.blocks.trace import Trace

TRACES: list[dict[str, Any]] = [
    json.loads(line) for line in (Path(__file__).parent / "golden" / "traces.jsonl").read_text().splitlines()
]
"""Traces that TVM 0.27 made of random primitives, each with the name of the kernel and the nests that TVM made."""
MARKS = {"serial": "", "parallel": "p", "vectorized": "v", "unrolled": "u"}


def nest(op: Operation) -> str:
    """`8(4p(C))`: loops with their extents and marks, and blocks by their names."""
    match op:
        case ForOp():
            return f"{op.trip_count}{MARKS[op.kind.data]}({nests(op.block)})"
        case BlockOp():
            inside = " ".join(filter(None, (nests(region.block) for region in op.regions if region.blocks)))
            return op.label.data + (f"[{inside}]" if inside else "")
        case IfOp():
            return nests(op.block)
        case _:
            return ""


def nests(block: Block) -> str:
    return " ".join(filter(None, map(nest, block.ops)))


def kernel(schedule: BlockSchedule) -> str:
    return nests(next(iter(prim_funcs(schedule.module))).block)


def applied(entry: dict[str, Any]) -> BlockSchedule:
    schedule = scheduled(entry["name"])
    Trace.apply_json_to_schedule(entry["trace"], schedule)
    return schedule


@pytest.mark.parametrize("number", range(len(TRACES)))
def test_traces_of_tvm_are_replayed(number: int):
    entry = TRACES[number]
    schedule = applied(entry)
    assert kernel(schedule) == entry["nest"]
    if number % 8 == 0:
        check_values(entry["name"], schedule)
    text = json.dumps(schedule.trace.as_json())
    again = scheduled(entry["name"])
    Trace.apply_json_to_schedule(text, again)
    assert str(again.module) == str(schedule.module)
    assert json.dumps(again.trace.as_json()) == text


@pytest.mark.parametrize("number", range(0, len(TRACES), 3))
def test_python_makes_the_same_schedule(number: int):
    entry = TRACES[number]
    schedule = applied(entry)
    for text, name in ((schedule.as_python(), "apply_schedule"), (str(schedule.trace), "apply_trace")):
        names: dict[str, Any] = {"te": te, "tir": tir}
        exec(text, names)
        again = scheduled(entry["name"])
        names[name](again)
        assert str(again.module) == str(schedule.module)
        assert str(again.sequence) == str(schedule.sequence)


def tiled() -> BlockSchedule:
    s = scheduled("MM")
    i, j, k = s.get_loops("C")
    outer, _ = s.split(i, [None, s.knob("rows", (2, 4, 8), 4)])
    s.split(k, s.sample_perfect_tile(k, 2, decision=[3, 2]))
    s.annotate(outer, "step", s.sample_categorical([9, 1], [0.25, 0.75], decision=1))
    s.get_consumers("C")
    s.enter_postproc()
    s.unroll(j)
    return s


def test_the_names_of_both_versions():
    s = tiled()
    newest, oldest = s.trace.as_json(), s.trace.as_json(version="0.14")
    assert [entry[0] for entry in newest[0][:4]] == ["GetSBlock", "GetLoops", "SampleCategorical", "Split"]
    assert [entry[0] for entry in oldest[0][:2]] == ["GetBlock", "GetLoops"]
    assert (newest[0][3][2], oldest[0][3][2]) == ([1, 0], [1])
    assert newest[1] == [[2, 1], [4, [3, 2]], [6, 1]]
    again = scheduled("MM")
    Trace.apply_json_to_schedule(oldest, again)
    assert str(again.module) == str(s.module)
    with pytest.raises(ScheduleError, match=r"as_json: expected a version among 0\.27, 0\.14, got '1\.0'"):
        s.trace.as_json(version="1.0")


def test_layouts_are_index_maps():
    s = scheduled("EW")
    s.transform_layout("Y", ("write", 0), lambda i, j: [i // 3, j, i % 3], pad_value=0.5)
    s.transform_block_layout("Z", lambda i, j: [j, i])
    text = json.dumps(s.trace.as_json())
    again = scheduled("EW")
    Trace.apply_json_to_schedule(text, again)
    assert str(again.module) == str(s.module)
    assert "5.000000e-01" in str(again.module)
    check_values("EW", again)
    layout = next(entry for entry in s.trace.as_json()[0] if entry[0] == "TransformLayout")
    graph = json.loads(layout[1][1])
    assert [node["type"] for node in graph["nodes"]].count("ir.Var") == 2
    assert graph["nodes"][graph["root_index"]]["type"] == "tirx.IndexMap"
    with pytest.raises(ScheduleError, match=r"as_json: expected version 0\.27 for index maps, got 0\.14"):
        s.trace.as_json(version="0.14")


def with_nodes(nodes: list[Any]) -> str:
    return json.dumps({"root_index": len(nodes) - 1, "nodes": nodes})


NOTHING = {"type": "None"}
VARIABLE: dict[str, Any] = {"type": "ir.Var", "data": {"name": 0}}
ROOT: dict[str, Any] = {"type": "tirx.IndexMap", "data": {"initial_indices": 2, "final_indices": 4}}


def array(*numbers: int) -> dict[str, Any]:
    return {"type": "ffi.Array", "data": list(numbers)}


def operator(name: str) -> dict[str, Any]:
    return {"type": f"prim.{name}", "data": {"a": 1, "b": 1}}


MAPS: list[tuple[str, str]] = [
    ("{", "an index map of TVM's nodes"),
    (with_nodes([]), "an index map of TVM's nodes"),
    (with_nodes([NOTHING]), "an index map of indices"),
    (with_nodes([array(1), VARIABLE]), "an index map of TVM's nodes"),
    (with_nodes([NOTHING, VARIABLE, array(1), operator("Mul"), array(3), ROOT]), "TVM's nodes"),
    (with_nodes([NOTHING, VARIABLE, array(), operator("Add"), array(3), ROOT]), "variables that are indices of"),
    (with_nodes([NOTHING, VARIABLE, array(1), operator("Min"), array(3), ROOT]), "sums, products and quotients"),
]


@pytest.mark.parametrize(("text", "message"), MAPS)
def test_index_maps_that_cannot_be_are_refused(text: str, message: str):
    entry = [[["GetSBlock", [], ["Y", "main"], ["b0"]], ["TransformLayout", ["b0", text], [0, 1, None, 0], []]], []]
    with pytest.raises(ScheduleError, match=f"trace: expected .*{message}"):
        Trace.apply_json_to_schedule(entry, scheduled("EW"))


def test_variables_of_a_block_in_another_order():
    s = scheduled("MM")
    s.reorder_block_iter_var("C", [2, 0, 1])
    assert '"C" (%vk : reduce 6, %vi : spatial 8, %vj : spatial 4) at [%k, %i, %j]' in str(s.module)
    check_values("MM", s)
    before = str(s.module)
    with pytest.raises(ScheduleError, match=r"expected each number below 3 once, got \[0, 0, 1\]"):
        s.reorder_block_iter_var("C", [0, 0, 1])
    assert str(s.module) == before


def test_a_split_or_fused_loop_loses_its_mark():
    s = scheduled("MM")
    i, j, k = s.get_loops("C")
    s.parallel(i)
    s.unroll(k)
    s.split(i, [None, 4])
    s.fuse(j, k)
    assert kernel(s) == "2(4(24(C))) 8(4(E))"
    check_values("MM", s)
    outer, inner = s.get_loops("E")
    s.annotate(outer, "note", 1)
    with pytest.raises(ScheduleError, match="expected a serial loop without notes, got i with notes note"):
        s.fuse(outer, inner)


def test_decisions_are_changed():
    s = tiled()

    def provider(inst: Operation, inputs: Any, attrs: Any, decision: Any) -> Any:
        assert (inst.name == "schedule.knob") == (len(attrs[0]) > 1 if isinstance(attrs[0], list) else False)
        return [1, 6] if isinstance(decision, list) else 0

    again = scheduled("MM")
    s.trace.apply_to_schedule(again, False, provider)
    assert kernel(again) == "4(2(4u(1(6(C))))) 8(4(E))"
    assert "step = 9" in str(again.module)
    check_values("MM", again)
    trace = s.trace
    knob = trace.insts[2]
    assert trace.decisions[knob] == trace.get_decision(knob) == 1
    other = scheduled("MM")
    trace.with_decision(knob, 2).apply_to_schedule(other, remove_postproc=True)
    assert kernel(other) == "1(8(4(3(2(C))))) 8(4(E))"
    with pytest.raises(ScheduleError, match="expected a position among \\[2, 4, 8\\], got 3"):
        trace.with_decision(knob, 3)
    with pytest.raises(ScheduleError, match="expected an instruction of the trace that decides"):
        trace.with_decision(trace.insts[0], 1)


def test_what_nothing_takes_is_left_out():
    simple = tiled().trace.simplified(remove_postproc=True)
    assert "get_consumers" not in str(simple)
    assert "postproc" not in str(simple)
    again = scheduled("MM")
    simple.apply_to_schedule(again, remove_postproc=False)
    assert kernel(again) == "2(4(4(3(2(C))))) 8(4(E))"


def test_samples_are_those_of_a_seed():
    def drawn(seed: int) -> list[int]:
        s = scheduled("SUM")
        s.seed(seed)
        _, k = s.get_loops("S")
        return [*s.sample_perfect_tile(k, 3, 4), s.sample_categorical([1, 2, 3], [0.2, 0.3, 0.5])]

    some = [drawn(seed) for seed in range(20)]
    assert some == [drawn(seed) for seed in range(20)]
    assert len({tuple(each) for each in some}) > 8
    assert all(a * b * c == 24 and c <= 4 for a, b, c, _ in some)


@pytest.mark.parametrize(
    ("decision", "factors"), [([2, 3, 4], [2, 3, 4]), ([1, 5, 2], [1, 12, 2]), ([9, 1, 7], [1, 1, 24])]
)
def test_decisions_of_tiles_are_repaired(decision: list[int], factors: list[int]):
    s = scheduled("SUM")
    assert list(map(int, s.sample_perfect_tile(s.get_loops("S")[1], 3, decision=decision))) == factors


WRONG: list[tuple[Any, str]] = [
    ("{", "trace: expected JSON, got"),
    ([[]], "trace: expected two lists, of instructions and of decisions"),
    ([["GetLoops"], []], "trace: expected a kind, inputs, attributes and outputs"),
    ([[["GetLoop", ["b0"], [], []]], []], "trace: expected a primitive that there is, got 'GetLoop'.*GetLoops"),
    ([[["GetLoops", ["b0"], [], []]], []], "trace: expected a value that an instruction before gave, got b0"),
    ([[["GetBlock", [], ["C"], ["b0"]]], []], "trace: GetSBlock: expected attributes name, func_name"),
    ([[["GetBlock", [], ["D", "main"], ["b0"]]], []], "expected one block of name 'D'"),
    ([[["GetBlock", [], ["C", "main"], ["b0", "b1"]]], []], "trace: GetBlock: expected 2 results, got 1"),
    ([[["Parallel", [], [], []]], []], "trace: Parallel: expected arguments that fit"),
    ([[["SampleCategorical", [], [], ["v0"]]], [[0, 1]]], "trace: SampleCategorical: expected arguments that fit"),
    ([[["SampleCategorical", [], [[1, 1], [1, 1]], ["v0"]]], [[0, 1]]], "expected different candidates"),
    ([[["SampleCategorical", [], [[1, 2], [1, 1]], ["v0"]]], [[0, "a"]]], "expected an int as decision, got 'a'"),
    ([[], [["a", 1]]], "trace: expected a number, got 'a'"),
]


@pytest.mark.parametrize(("entry", "message"), WRONG)
def test_records_that_cannot_be_are_refused(entry: Any, message: str):
    with pytest.raises(ScheduleError, match=message):
        Trace.apply_json_to_schedule(entry, scheduled("MM"))


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("sample_categorical", ([1, 1], [0.5, 0.5]), "expected different candidates, got \\[1, 1\\]"),
        ("sample_categorical", ([1, 2], [0.5]), "expected a likelihood for each"),
        ("sample_categorical", ([1, 2], [0.5, 0.5], 2), "expected a decision from 0 below 2, got 2"),
    ],
)
def test_samples_that_cannot_be_are_refused(name: str, arguments: Any, message: str):
    s = scheduled("MM")
    before = str(s.sequence)
    with pytest.raises(ScheduleError, match=message):
        getattr(s, name)(*arguments)
    assert str(s.sequence) == before
