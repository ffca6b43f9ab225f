"""Files of tuning records: lines there and back, writers side by side, hostile lines, and which record counts."""

from __future__ import annotations

import json
import logging
import os
import random
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tuning_records import HERE, record

from whence.lowering.llvm_to_native.target import Target
from whence.lowering.relay_to_te.strategies import strategy, unregister_schedule
from whence.support.errors import FrontendError, PipelineError
from whence.support.machine import Machine
from whence.tuning.record import BadLine, compiler_key, machine_key, record_of, target_text
from whence.tuning.records import Records, append


def changed(whence: dict[str, Any] | None = None, **fields: Any) -> str:
    """A line of which some values are others."""
    row = json.loads(record().line)
    row["whence"] |= whence or {}
    return json.dumps(row | fields)


def test_a_record_is_a_line_and_back():
    full = record(
        decisions={"vectors": 2, "rows": 4},
        protocol={"alternations": 21, "cache": "rotating"},
        context={"load": 0.5},
        seed=7,
        layers=("conv 1", "höhe\n\u2028\ud800"),
        ablation={"rows": 1.01},
        target="llvm -mcpu=znver4",
        task="fused_nn_dense",
        args=(["TENSOR", [1, 64], "float32"],),
        index=12,
        all_cost=0.25,
        timestamp=1.5e9,
    )
    assert "\n" not in full.line
    assert record_of(full.line) == full
    row = json.loads(full.line)
    assert row["input"] == ["llvm -mcpu=znver4", "fused_nn_dense", [["TENSOR", [1, 64], "float32"]], {}]
    entity = [["rows", "ot", 4], ["vectors", "ot", 2]]
    assert row["config"] == {"index": 12, "code_hash": None, "entity": entity}
    assert row["result"] == [[8e-4, 8.1e-4], 0, 0.25, 1.5e9]
    assert row["version"] == 0.2


@pytest.mark.parametrize(
    "fields",
    [{"ratio": float("nan")}, {"costs": (float("inf"),)}, {"costs": ()}, {"protocol": {"x": object()}}, {"ratio": 0.0}],
)
def test_what_no_line_has_is_not_written(tmp_path: Path, fields: dict[str, Any]):
    path = tmp_path / "t.jsonl"
    with pytest.raises(PipelineError, match="record of tuning: expected what a line of JSON says, got "):
        append(path, [record(), record(**fields)])
    assert not path.exists()


AUTOTVM = (
    '{"input": ["llvm -keys=cpu", "dense_nopack.x86", [["TENSOR", [1, 64], "float32"]], {}], "config": {"index": 7, '
    '"code_hash": null, "entity": [["tile_ic", "sp", [-1, 16]], ["unroll_kw", "ot", true]]}, '
    '"result": [[0.001], 0, 1.2, 1.6e9], "version": 0.2, "tvm_version": "0.14.0"}'
)
BAD = {
    record().line[:-20]: "broken",
    '{"a": 1}{"b"': "broken",
    "[" * 100_000: "broken",
    '{"whence": ' + "9" * 10_000 + "}": "broken",
    changed(version=0.1): "of another version",
    changed({"v": 2}): "of another version",
    changed({"v": True, "ratio": []}): "incomplete",
    AUTOTVM: "of AutoTVM",
    '{"i": [["[\\"f\\"]"], [[], []]], "r": [[0.1], 0, 1.0, 2], "v": "v0.6"}': "of auto_scheduler",
    '[0, [[[], []], [0.001], {"kind": "llvm"}, []]]': "of meta_schedule",
    '["123", "abc"]': "of meta_schedule",
    "17": "of another program",
    "null": "of another program",
    "{}": "of another program",
    '{"whence": 5}': "incomplete",
    '{"whence": {}}': "incomplete",
    changed({"ratio": -1.0}): "incomplete",
    changed({"ratio": True}): "incomplete",
    changed({"context": {"load": 0.5}}).replace("0.5", "1e999"): "broken",
    changed({"context": {"load": 0.5}}).replace("0.5", "NaN"): "broken",
    changed({"interval": [1.0]}): "incomplete",
    changed({"decisions": {"rows": 1 << 70}}): "incomplete",
    changed({"decisions": {"rows": "4"}}): "incomplete",
    changed({"decisions": {"rows": 5}}): "of two different decisions",
    changed({"decisions": {"\x1b[2Jrows": 4}}): "incomplete",
    changed({"facts": {}}): "incomplete",
    changed({"workload": ["w"]}): "incomplete",
    changed({"workload": "w" * 100_000}): "incomplete",
    changed({"kind": "loser"}): "of no measured candidate",
    changed(result=[[1e9], 4, 10.0, 0]): "of no measured candidate",
    changed(result=[[], 0, 10.0, 0]): "of no measured candidate",
    changed(input="x"): "incomplete",
}


@pytest.mark.parametrize(("line", "reason"), BAD.items(), ids=range(len(BAD)))
def test_a_line_that_is_no_record(line: str, reason: str):
    with pytest.raises(BadLine) as caught:
        record_of(line)
    assert str(caught.value) == reason


def test_a_damaged_line_is_a_record_that_can_be_written_or_none():
    line, rng = record(layers=("a",), context={"load": 0.5}).line.encode(), random.Random(0)
    whole = 0
    for _ in range(3000):
        damaged = bytearray(line)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(damaged))
            damaged[at : at + rng.randint(0, 12)] = bytes(
                rng.choices(b'{}[]",:0123456789eE-.nulltrue\xff', k=rng.randint(0, 3))
            )
        try:
            kept = record_of(bytes(damaged))
        except BadLine:
            continue
        whole += 1
        assert record_of(kept.line) == kept
    assert 0 < whole < 1500


def test_bad_lines_are_skipped_and_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    path = tmp_path / "t.jsonl"
    lines = [
        b"\xff\xfe\0",
        *(line.encode() for line in BAD),
        b"",
        b"  ",
        b'"' + b"x" * (1 << 20),
        record().line.encode(),
    ]
    other = record(machine="pdp11").line.encode()
    path.write_bytes(b"\n".join([*lines, other, other, record().line.encode()[:50]]))
    with caplog.at_level(logging.WARNING):
        records = Records.load(path)
    assert len(records) == 3
    assert records.other_machine == 2
    assert records.skipped == len(BAD) + 3
    assert records.reasons["broken"] == 6 + 2
    assert records.reasons["too long"] == 1
    assert records.reasons["of AutoTVM"] == 1
    (message,) = caplog.messages
    assert message.startswith(f"{path}: 3 records, {records.skipped} lines skipped (8 broken, ")
    assert "), 2 of another machine; TVM's records are of its own schedules" in message


def test_good_files_are_read_without_a_word(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    append(tmp_path / "t.jsonl", [record(), record(machine="pdp11")])
    with caplog.at_level(logging.WARNING):
        assert str(Records.load(tmp_path / "t.jsonl")) == "2 records, 1 of another machine"
    assert caplog.messages == []


def test_a_folder_is_read_in_the_order_of_names(tmp_path: Path):
    append(tmp_path / "b.json", [record(seed=2), record(seed=3)])
    append(tmp_path / "a.jsonl", [record(seed=1)])
    (tmp_path / "notes.txt").write_text("no record")
    assert [each.seed for each in Records.load(tmp_path).records] == [1, 2, 3]


def test_what_cannot_be_read_is_one_error(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for path, reason in (
        (tmp_path / "none.jsonl", "expected a file of records of tuning, got No such file"),
        (tmp_path / "pipe", "expected a file of records of tuning, got a device or pipe"),
        (Path("/dev/zero"), "expected a file of records of tuning, got a device or pipe"),
        (tmp_path / "folder", "expected a file of records, or a folder with such in .json or .jsonl, got a folder"),
    ):
        with pytest.raises(FrontendError, match=f"{path}: {reason}"):
            Records.load(path)


def test_a_torn_line_does_not_take_the_next_along(tmp_path: Path):
    path = tmp_path / "t.jsonl"
    append(path, [record(seed=1), record(seed=2)])
    path.write_bytes(path.read_bytes()[:-30])
    append(path, [record(seed=3)])
    records = Records.load(path)
    assert [each.seed for each in records.records] == [1, 3]
    assert records.reasons == {"broken": 1}


WRITER = """
import json, sys
from whence.tuning.record import record_of
from whence.tuning.records import append
from dataclasses import replace
path, line, first, count = sys.argv[1:]
template = record_of(line)
print("ready", flush=True)
for number in range(int(first), int(first) + int(count)):
    append(path, [replace(template, seed=number, layers=("x" * (number * 37 % 9000),))])
    print(number, flush=True)
"""


def writer(path: Path, first: int, count: int) -> subprocess.Popen[str]:
    arguments = [str(path), record().line, str(first), str(count)]
    return subprocess.Popen([sys.executable, "-c", WRITER, *arguments], stdout=subprocess.PIPE, text=True)


def test_writers_side_by_side_lose_nothing(tmp_path: Path):
    path = tmp_path / "t.jsonl"
    writers = [writer(path, 1000 * number, 150) for number in (1, 2)]
    for process in writers:
        process.communicate()
        assert process.returncode == 0
    records = Records.load(path)
    assert records.skipped == 0
    assert {each.seed for each in records.records} == {1000 * number + i for number in (1, 2) for i in range(150)}


def test_a_killed_writer_loses_one_line_at_most(tmp_path: Path):
    path = tmp_path / "t.jsonl"
    process = writer(path, 0, 1_000_000)
    assert process.stdout is not None
    said = [process.stdout.readline() for _ in range(50)]
    os.kill(process.pid, signal.SIGKILL)
    said += process.communicate()[0].splitlines()
    append(path, [record(seed=-1)])
    records = Records.load(path)
    seeds = [each.seed for each in records.records]
    assert seeds[:-1] == list(range(len(seeds) - 1))
    assert seeds[-1] == -1
    written = len([word for word in said if word.strip().isdigit()])
    assert len(seeds) - 1 >= written
    assert records.skipped <= 1


def test_a_full_disk_is_one_error_and_leaves_no_half_line(tmp_path: Path):
    path = tmp_path / "t.jsonl"
    append(path, [record(seed=1)])
    before = path.read_bytes()
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) * 5 // 2, old[1]))
    try:
        with pytest.raises(PipelineError, match=f"{path}: cannot be written: File too large"):
            append(path, [record(seed=2), record(seed=3)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
    assert path.read_bytes() == before
    with pytest.raises(PipelineError, match="/dev/full: cannot be written: No space left on device"):
        append("/dev/full", [record()])


def test_a_folder_that_takes_no_files_is_one_error(tmp_path: Path):
    for path in (Path("/proc/self/tuned.jsonl"), tmp_path, tmp_path / "none" / "t.jsonl"):
        with pytest.raises(PipelineError, match=f"{path}: cannot be written: "):
            append(path, [record()])


def never() -> str:
    raise AssertionError("an exact record needs no schedule")


def other(**facts: Any) -> dict[str, Any]:
    """The fields of a record of a machine that differs from this one in facts."""
    machine = Machine.of_facts(HERE.hardware.facts | facts)
    return {"machine": machine_key(machine, HERE), "facts": machine.facts}


def test_an_exact_record_counts_before_a_borrowed_one():
    mine, theirs = record(timestamp=1.0), record(decisions={"rows": 8}, timestamp=2.0, compiler="older")
    applied = Records([theirs, mine]).find("w", HERE, never)
    assert applied is not None
    assert (applied.decisions, applied.source, applied.ratio) == ({"rows": 4}, "exact", 1.25)
    assert Records([theirs]).find("v", HERE, never) is None


def test_the_newest_counts_and_of_equals_the_last():
    records = [
        record(decisions={"rows": rows}, timestamp=time) for rows, time in ((1, 1.0), (2, 3.0), (3, 3.0), (4, 2.0))
    ]
    applied = Records(records).find("w", HERE, never)
    assert applied is not None
    assert applied.decisions == {"rows": 3}


def test_a_default_that_won_is_an_answer():
    applied = Records([record(decisions={}, ratio=1.0)]).find("w", HERE, never)
    assert applied is not None
    assert applied.text == ""


@pytest.mark.parametrize(
    ("fields", "source"),
    [
        ({"compiler": "older"}, "borrowed"),
        ({"compiler": "older", "space": "another"}, None),
        (other(name="elsewhere"), "borrowed"),
        (other(cores=64), "borrowed"),
        (other(features=["avx2"]), "borrowed"),
        (other(l2=HERE.hardware.l2 * 2), "borrowed"),
        (other(l2=HERE.hardware.l2 // 2), "borrowed"),
        (other(l2=HERE.hardware.l2 * 2 + 1), None),
        (other(l2=HERE.hardware.l2 // 2 - 1), None),
        (other(vector_bits=HERE.hardware.vector_bits * 2), None),
        (other(name="elsewhere") | {"space": "another"}, None),
        (other(name="elsewhere") | {"compiler": "older"}, "borrowed"),
        ({"kind": "trial"}, None),
    ],
)
def test_what_is_borrowed(fields: dict[str, Any], source: str | None):
    applied = Records([record(**fields)]).find("w", HERE, lambda: "s")
    assert (applied.source if applied is not None else None) == source


def test_of_what_is_borrowed_that_of_this_machine_counts_first():
    own = record(decisions={"rows": 1}, compiler="older", timestamp=1.0)
    records = [own, record(decisions={"rows": 2}, timestamp=2.0, **other(name="elsewhere"))]
    applied = Records(records).find("w", HERE, lambda: "s")
    assert applied is not None
    assert applied.decisions == {"rows": 1}


def test_the_compiler_is_another_one_with_other_schedules():
    before = compiler_key()

    @strategy(tag="dense", name="of a test")
    def schedule(work: Any, stage: Any) -> None: ...  # pyright: ignore[reportUnusedFunction]

    try:
        assert compiler_key() != before
    finally:
        unregister_schedule("of a test")
    assert compiler_key() == before


def test_another_process_gets_the_winners_as_lines():
    records = Records([record(), record("trial", {"rows": 2})])
    assert Records.of_lines(records.lines()).records == records.winners


@pytest.mark.parametrize("text", ["native", "llvm -mcpu=skylake-avx512", "llvm -mtriple=aarch64-unknown-linux-gnu"])
def test_a_target_is_written_as_autotvm_does(text: str):
    target = Target.parse(text)
    written = Target.parse(target_text(target))
    assert (written.triple, written.cpu) == (target.triple, target.cpu)
