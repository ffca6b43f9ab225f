"""Answers to queries beside numpy over the raw document, `whence where`, the profile and the audit."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
import pytest
from explored_models import twins
from recorded_sessions import recorded, session_file
from small_session import small_session
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnknownLoc
from xdsl.passes import ModulePass

import whence
from whence.cli.main import main
from whence.dialects.relay.elementwise import ReluOp
from whence.explorer.session.comparison import compare_sessions
from whence.explorer.session.document import Session
from whence.explorer.session.query.answer import Answer, answer
from whence.explorer.session.query.language import DEEPEST, LONGEST, QueryError
from whence.explorer.session.query.rows import Value
from whence.explorer.session.query.schema import CHANGES, SUBJECTS, UNITS
from whence.explorer.session.text import text_of_stage
from whence.exploring.record import record
from whence.passes.pipelines import relay_pipeline
from whence.provenance.walk import walk


def raw(name: str) -> dict[str, Any]:
    """Return a recorded session as plain JSON."""
    return cast("dict[str, Any]", json.loads(session_file(name).read_text()))


def by_name(result: Answer, column: str) -> dict[str, Value]:
    """Return the first column of an answer -> another one."""
    at = [each.name for each in result.columns].index(column)
    return {", ".join(cast("tuple[str, ...]", row[0])): row[at] for row in result.rows}


def expanded(runs: list[int]) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.repeat(np.array(runs[::2], np.int64), runs[1::2])


def test_time_by_scope_is_the_sum_of_raw_times():
    data = raw("transformer")
    layers = data["layers"]
    rows, seconds = zip(*[row[:2] for row in data["times"][0]["layers"] if row[0] >= 0], strict=True)
    owners = np.array(layers["owner"])[list(rows)]
    scopes, types = np.array(layers["scope"])[owners], np.array(layers["type"])[owners]
    result = answer(recorded("transformer"), "time where op=MatMul by scope")
    matmul = types == "MatMul"
    expected = {scope: np.array(seconds)[matmul & (scopes == scope)].sum() for scope in set(scopes[matmul])}
    assert by_name(result, "time") == pytest.approx(expected)
    assert len(expected) > 4
    assert by_name(result, "part") == pytest.approx({k: v / sum(expected.values()) for k, v in expected.items()})
    for scope, (row, own) in zip(by_name(result, "time"), zip(result.rows, result.layers, strict=True), strict=True):
        assert (
            row[-1]
            == len(own)
            == sum(t == "MatMul" and s == scope for t, s in zip(layers["type"], layers["scope"], strict=True))
        )


def test_time_adds_up_to_that_of_the_calls():
    session = recorded("int8")
    total = sum(sum(times.calls) for times in session.times)
    for query in ("time by kind", "time of calls by program", "time of kernels by compiler"):
        assert sum(
            cast(float, value) for value in by_name(answer(session, query), "time").values() if value
        ) == pytest.approx(total)


def test_the_exact_part_of_instructions_is_that_of_the_raw_columns():
    data = raw("twins")
    own = {row: np.zeros(2, np.int64) for row in range(len(data["layers"]["name"]))}
    for number, kernel in enumerate(data["kernels"]):
        body = next(data["stages"][k]["body"] for k in kernel["stages"] if data["stages"][k]["level"] == "asm")
        sets, exact = expanded(body["sets"]), expanded(body["exact"])
        for value in set(sets.tolist()) - {-1}:
            lists = [
                data["sets"][call["layers"][slot]]
                for call in data["calls"]
                if call["kernel"] == number
                for slot in kernel["slots"][value]
            ]
            for row in {data["layers"]["owner"][row] for rows in lists for row in rows}:
                own[row] += (int((sets == value).sum()), int(exact[sets == value].sum()))
    names = data["layers"]["name"]
    expected = {names[row]: exact / total for row, (total, exact) in own.items() if total}
    session = recorded("twins")
    assert by_name(answer(session, "layers where instructions show layer, exact"), "exact") == pytest.approx(expected)
    limit = sorted(expected.values())[len(expected) // 2]
    some = answer(session, f"layers where exact<{float(limit)!r} show layer, exact")
    assert set(by_name(some, "exact")) == {name for name, part in expected.items() if part < limit}
    assert some.rows


def test_lines_of_a_layer_are_those_of_whence_where():
    executable = whence.compile(twins())
    session = record(twins())
    for layer in ("conv1", "bn2", "relu1", "pool"):
        parts = executable.where(layer).kernels
        asm = answer(session, f"lines where level=asm and layer={layer} and opcode by kernel")
        tir = answer(session, f"lines where level=tir and layer={layer}")
        assert sorted(cast(int, row[1]) for row in asm.rows) == sorted({part.native[0] for part in parts} - {0}), layer
        assert {line for places in tir.places for _, line in places} == {n - 1 for part in parts for n, _ in part.lines}


def test_opcodes_are_the_words_of_the_listing():
    session = recorded("twins")
    result = answer(session, "lines where level=asm and opcode~vmov")
    listings = [text_of_stage(session, k) for k, stage in enumerate(session.stages) if stage.level == "asm"]
    expected = [line.strip() for listing in listings for line in listing if re.match(r"\tvmov", line)]
    at = [column.name for column in result.columns].index("text")
    assert [cast("tuple[str]", row[at])[0] for row in result.rows] == expected
    assert len(expected) > 20


def test_dtypes_are_those_of_relay():
    session = recorded("int8")
    result = answer(session, "layers where dtype=int8 and op=CONV_2D show layer, dtype, output")
    assert {cast("tuple[str]", row[0])[0] for row in result.rows} == {"conv", "pointwise0", "pointwise1"}
    assert not answer(session, "layers where dtype=float64").rows
    assert {"float32"} == {
        text
        for row in answer(recorded("twins"), "layers where kind=layer show dtype").rows
        for text in cast("tuple[str, ...]", row[0])
    }


def test_loops_are_those_of_the_text():
    session = recorded("int8")
    result = answer(session, "loops by kind")
    later = {stage.before for stage in session.stages}
    last = [k for k, stage in enumerate(session.stages) if stage.level == "tir" and k not in later]
    found = [
        match
        for k in last
        for match in re.findall(r"^ *tir\.for (?:(\w+) )?%", "\n".join(text_of_stage(session, k)), re.M)
    ]
    assert {cast("tuple[str]", row[0])[0]: row[1] for row in result.rows} == Counter(word or "serial" for word in found)
    # An outermost loop has the samples of all that is in it.
    for row in answer(session, "loops where depth=0 and samples show kernel, line, samples").rows:
        line, samples = row[1:]
        kernel = cast("tuple[str]", row[0])[0]
        end = answer(
            session,
            f"loops where depth=0 and kernel={kernel} and line>{line} order line up show line",
        )
        until = cast(float, end.rows[0][0]) if end.rows else 1e9
        inside = answer(
            session,
            f"samples of lines where level=tir and kernel={kernel} and line>={line} and line<{until}",
        )
        assert cast(int, samples) <= sum(cast(float, row[-2]) for row in inside.rows if row[-2])


def test_new_and_gone_ops_are_the_difference_of_the_texts():
    session = recorded("twins")
    differences: dict[str, Counter[str]] = defaultdict(Counter)
    for k, stage in enumerate(session.stages):
        if stage.level == "relay" and stage.before >= 0:
            differences[stage.name].update(op_names(session, k))
            differences[stage.name].subtract(op_names(session, stage.before))
    for name, expected in differences.items():
        new, gone = (by_name(answer(session, f"ops {word} after {name} by op"), "rows") for word in ("new", "gone"))
        for op in new.keys() | gone.keys():
            assert cast(int, new.get(op, 0)) - cast(int, gone.get(op, 0)) == expected[op.removeprefix("relay.")], (
                name,
                op,
            )
    assert len(differences) > 3


def op_names(session: Session, k: int) -> Counter[str]:
    """Return the names of ops in the text of a stage of relay, each as often as it is there."""
    text = "\n".join(text_of_stage(session, k))
    return Counter(re.findall(r"^ *(?:%[^=]*= )?(?:relay\.)?([\w.]+)", text, re.MULTILINE))


@dataclass(frozen=True)
class Launder(ModulePass):
    """A pass from elsewhere that forgets where each relu is from."""

    name: ClassVar[str] = "launder"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in walk(op):
            if isinstance(each, ReluOp):
                each.location = UnknownLoc()


def test_lost_ops_are_those_that_a_pass_laundered():
    pipeline = relay_pipeline(3)
    at = next(n for n, each in enumerate(pipeline) if each.name == "relay-fuse-ops")
    session = record(twins(), pipeline=[*pipeline[:at], Launder(), *pipeline[at:]])
    lost = answer(session, "ops lost after launder")
    assert len(lost.rows) == 2
    assert {cast("tuple[str]", row[0])[0].removeprefix("relay.") for row in lost.rows} == {"nn.relu"}
    assert not answer(session, "ops lost after relay-fuse-ops").rows
    assert answer(session, "layers where kind=lost").rows
    assert answer(session, "lines lost where level=asm").rows
    (count,) = by_name(answer(session, "passes where pass=launder"), "lost").values()
    assert count == 2
    # The view of the ledger says the same.
    assert "launder" in whence.Exploration(session).text("lost")


def test_nothing_is_lost_where_the_audit_finds_nothing():
    for name in ("twins", "int8", "transformer"):
        assert not answer(recorded(name), "ops lost").rows
        assert not answer(recorded(name), "lines lost").rows


def test_a_comparison_has_the_times_of_both():
    session, other = recorded("twins"), recorded("twins")
    for times in other.times:
        times.layers = [(row, 3 * spent, guess) for row, spent, guess in times.layers]
    session.comparison = compare_sessions(session, other)
    result = answer(session, "time against old by layer")
    here = {session.layers.name[row]: spent for row, spent, _ in session.times[0].layers if row >= 0}
    assert {name: value for name, value in by_name(result, "time").items() if value} == pytest.approx(
        {k: v for k, v in here.items() if v}
    )
    assert all(value == pytest.approx(1 / 3) for value in by_name(result, "ratio").values() if value)
    differences = [abs(cast(float, value)) for value in by_name(result, "difference").values() if value is not None]
    assert differences == sorted(differences, reverse=True)
    with pytest.raises(QueryError, match="--compare OTHER"):
        answer(recorded("twins"), "time against old")


def test_errors_point_at_the_place():
    with pytest.raises(QueryError) as caught:
        answer(small_session(), "time by scop")
    first, query, marks, about = str(caught.value).splitlines()
    assert first == "query: expected a column of layers, got 'scop'"
    assert query[marks.index("^") :] == "scop"
    assert "did you mean scope" in about
    assert "instructions" in about
    with pytest.raises(QueryError, match=f"at most {LONGEST} letters"):
        answer(small_session(), "layers where " + "(" * LONGEST)
    with pytest.raises(QueryError, match=f"at most {DEEPEST} parentheses"):
        answer(small_session(), "layers where " + "not " * 200)


def test_names_steer_no_terminal():
    session = small_session()
    session.layers.name[0] = "\x1b[2J\u202e"
    assert "\x1b" not in str(answer(session, "layers"))
    with pytest.raises(QueryError) as caught:
        answer(session, "layers where \x1b[2J")
    assert "\x1b" not in str(caught.value)


def test_patterns_cost_no_more_than_the_text():
    """A pattern with many stars meets a line on which a regular expression would never end."""
    session = small_session()
    session.stages[1].body.edits = [(0, 0, ["a" * 200_000] * 4)]
    assert not answer(session, f"lines after imported where text~{'a*' * 450}b").rows


def test_the_command_and_python_answer_alike(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    exploration = whence.Exploration(small_session())
    path = str(tmp_path / "net.json")
    exploration.write(path)
    query = "time where op=Conv by scope"
    for arguments in (["explore", path, "--text", "query", query], ["explore", "--text", "query", path, query]):
        assert not main(arguments)
        printed = capsys.readouterr().out
        assert printed == f"{exploration.query(query)}\n" == f"{exploration.text('query', query=query)}\n"
        assert "2.50 ms" in f"{exploration.query('time by op')}"
    for arguments, complaint in (
        (["--text", "query"], "expected a query after it"),
        (["--text", "summary", query], "expected --text query before a query"),
        ([query], "expected --text query before a query"),
        (["--text", "query", "tim"], "did you mean time?"),
    ):
        assert main(["explore", path, *arguments]) == 1
        assert complaint in capsys.readouterr().err


def test_an_answer_is_of_the_session_as_a_whole():
    session: Session = recorded("twins")
    assert whence.Exploration(session).query("layers").count == sum(
        owner == row for row, owner in enumerate(session.layers.owner)
    ) - session.layers.kind.count("model")


def test_the_page_of_docs_names_all_there_is():
    text = (Path(__file__).parents[3] / "docs" / "queries.md").read_text()
    rows = {
        row[0]: re.findall(r"`(\w+)`", row[1]) for row in re.findall(r"^\| `(\w+)` \| (.*) \|$", text, re.MULTILINE)
    }
    tables = {
        name: [column.name for column in subject.columns] for name, subject in SUBJECTS.items() if name != "compared"
    }
    assert {name: rows.get(name) for name in tables} == tables
    assert all(f"`{unit}`" in text for unit in UNITS)
    assert all(f"`{word}`" in text for word in CHANGES)
