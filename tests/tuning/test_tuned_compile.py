"""Compiling with records of tuning: the decided code, the same results, on every way to a program."""

from __future__ import annotations

import logging
import re
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn, cast

import numpy as np
import onnx.parser
import pytest
from numpy.typing import NDArray
from tuning_records import HERE, winners

import whence
from whence import relay
from whence.executables.apart import CompiledApart
from whence.executables.restoring import read_artifact
from whence.executables.sized import SizedExecutable
from whence.lowering.kernel.record import Kernel
from whence.lowering.kernel.tuned import TUNED, Applied
from whence.lowering.llvm_to_native.target import Target
from whence.relay.module import IRModule
from whence.support.errors import FrontendError, PipelineError
from whence.tuning.record import point_of
from whence.tuning.records import Records, append

Array = NDArray[Any]
RNG = np.random.default_rng(3)
IMAGE = RNG.standard_normal((1, 3, 12, 12)).astype(np.float32)
SHAPES = (32, 3, 3, 3), (40, 32), (10, 40)
KERNEL, HIDDEN, WEIGHT = (RNG.normal(0, 0.2, shape).astype(np.float32) for shape in SHAPES)


def network() -> IRModule:
    """A convolution, a mean, two dense layers and a softmax."""
    x = relay.var("x", shape=IMAGE.shape)
    y = relay.nn.relu(relay.nn.conv2d(x, relay.const(KERNEL), kernel_size=(3, 3), channels=32, padding=(1, 1)))
    y = relay.nn.dense(relay.nn.batch_flatten(relay.nn.global_avg_pool2d(y)), relay.const(HIDDEN))
    return IRModule.from_expr(relay.Function([x], relay.nn.softmax(relay.nn.dense(y, relay.const(WEIGHT)))))


def expected() -> Array:
    padded = np.pad(IMAGE, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    mean = np.maximum(np.einsum("nchwij,ocij->nohw", windows, KERNEL), 0).mean((2, 3))
    scores = np.exp(mean @ HIDDEN.T @ WEIGHT.T)
    return scores / scores.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def default() -> whence.Executable:
    return whence.compile(network(), threads=1)


@pytest.fixture(scope="module")
def records(default: whence.Executable) -> Records:
    return Records(winners(default))


@pytest.fixture
def path(tmp_path: Path, records: Records) -> Path:
    append(tmp_path / "tuned.jsonl", records.records)
    return tmp_path / "tuned.jsonl"


def objects(executable: whence.Executable) -> list[tuple[str, bytes]]:
    return [(kernel.symbol, kernel.object) for kernel in executable.artifact.kernels]


def test_the_code_is_the_decided_one_and_computes_the_same(default: whence.Executable, path: Path, records: Records):
    tuned = whence.compile(network(), threads=1, tuned=path, audit=True)
    np.testing.assert_allclose(cast(Array, tuned(IMAGE)), expected(), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(cast(Array, tuned(IMAGE)), cast(Array, default(IMAGE)), rtol=1e-5, atol=1e-7)
    decided = sorted(record.point for record in records.records)
    assert len(decided) > 1
    assert sorted(point_of(applied.decisions) for applied in tuned.tuned.values()) == decided
    assert {applied.source for applied in tuned.tuned.values()} == {"exact"}
    kernels = {kernel.symbol: cast(Kernel, kernel) for kernel in tuned.artifact.kernels}
    plain = {call.name: cast(Kernel, default.artifact.kernels[call.kernel]) for call in default.artifact.calls}
    for call in tuned.artifact.calls:
        kernel = kernels[tuned.artifact.kernels[call.kernel].symbol]
        if kernel.symbol in tuned.tuned:
            assert kernel.decisions == tuned.tuned[kernel.symbol].decisions
            for name, number in kernel.decisions.items():
                assert re.search(rf'"{re.escape(name)}" in \[.*\] \{{decision = {number}\b', kernel.schedule)
            assert kernel.schedule.partition("{")[2] != plain[call.name].schedule.partition("{")[2]
    assert default.tuned == {}


def test_the_same_records_give_the_same_bits(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    results: list[tuple[list[tuple[str, bytes]], bytes, bytes]] = []
    monkeypatch.setenv("WHENCE_CACHE_DIR", str(tmp_path / "cache"))
    for _ in range(2):
        shutil.rmtree(tmp_path / "cache", ignore_errors=True)
        tuned = whence.compile(network(), threads=1, tuned=path)
        results.append((objects(tuned), tuned.artifact.main, cast(Array, tuned(IMAGE)).tobytes()))
    assert results[0] == results[1]
    assert objects(whence.compile(network(), threads=1, tuned=path)) == results[0][0]


def test_what_was_made_by_rule_is_not_found_in_its_place(default: whence.Executable, path: Path):
    """Decisions are part of the name under which a kernel is kept."""
    tuned = whence.compile(network(), threads=1, tuned=path)
    again = whence.compile(network(), threads=1)
    assert objects(again) == objects(default)
    assert not {symbol for symbol in tuned.tuned} & {symbol for symbol, _ in objects(again)}


def test_records_of_another_compiler_are_borrowed(default: whence.Executable):
    borrowed = whence.compile(network(), threads=1, tuned=Records(winners(default, compiler="older")))
    assert {applied.source for applied in borrowed.tuned.values()} == {"borrowed"}
    np.testing.assert_allclose(cast(Array, borrowed(IMAGE)), expected(), rtol=1e-4, atol=1e-6)


def test_the_knobs_of_a_kernel_are_asked_for_once(default: whence.Executable, monkeypatch: pytest.MonkeyPatch):
    """Whoever borrows needs them, which takes as long as a schedule; the cache keeps what they are."""
    records = Records(winners(default, compiler="older"))
    first = whence.compile(network(), threads=1, tuned=records)

    def refuse(*_: object) -> NoReturn:
        raise AssertionError("the space of a kernel was made again")

    monkeypatch.setattr("whence.lowering.kernel.space.kernel_space", refuse)
    again = whence.compile(network(), threads=1, tuned=records)
    assert again.tuned == first.tuned != {}


def test_records_of_an_unlike_machine_or_other_knobs_decide_nothing(default: whence.Executable):
    facts = HERE.hardware.facts | {"vector_bits": 64}
    for fields in ({"machine": "another", "facts": facts}, {"compiler": "older", "space": "others"}):
        records = Records([replace(record, **fields) for record in winners(default)])
        other = whence.compile(network(), threads=1, tuned=records)
        assert other.tuned == {}
        assert objects(other) == objects(default)


def test_decisions_that_no_knob_allows_are_left_out(default: whence.Executable, caplog: pytest.LogCaptureFixture):
    records = Records([replace(record, decisions={"rows": 1 << 40}) for record in winners(default)])
    with caplog.at_level(logging.WARNING):
        other = whence.compile(network(), threads=1, tuned=records)
    assert other.tuned == {}
    assert any("what was tuned, rows = 1099511627776, is left out" in message for message in caplog.messages)
    np.testing.assert_array_equal(cast(Array, other(IMAGE)), cast(Array, default(IMAGE)))


def test_records_of_the_scope_hold_for_what_is_compiled_in_it(default: whence.Executable, records: Records):
    token = TUNED.set(records)
    try:
        inside = whence.compile(network(), threads=1)
        without = whence.compile(network(), threads=1, tuned=Records())
    finally:
        TUNED.reset(token)
    assert len(inside.tuned) == len(records)
    assert without.tuned == {}
    assert whence.compile(network(), threads=1).tuned == {}


def test_tuning_begins_with_what_is_made_by_rule(records: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    class Stop(Exception): ...

    def check(compiled: whence.Executable) -> NoReturn:
        assert compiled.tuned == {}
        raise Stop

    monkeypatch.setattr("whence.compiler.tune._check", check)
    token = TUNED.set(records)
    try:
        with pytest.raises(Stop):
            whence.tune(network(), tmp_path, threads=1)
    finally:
        TUNED.reset(token)


def test_an_exported_file_keeps_the_code_and_says_so(path: Path, tmp_path: Path):
    tuned = whence.compile(network(), threads=1, tuned=path)
    tuned.export_library(tmp_path / "net.tar")
    artifact = read_artifact(tmp_path / "net.tar")
    assert artifact.tuned == tuned.tuned
    assert [kernel.object for kernel in artifact.kernels] == [kernel.object for kernel in tuned.artifact.kernels]
    module = whence.runtime.load_module(tmp_path / "net.tar")
    np.testing.assert_array_equal(module(IMAGE), cast(Array, tuned(IMAGE)))


def test_what_is_no_file_of_records_is_one_error(tmp_path: Path):
    with pytest.raises(FrontendError, match=r"none\.jsonl: expected a file of records of tuning, got No such file"):
        whence.compile(network(), tuned=tmp_path / "none.jsonl")
    with pytest.raises(PipelineError, match="compile: expected a file, a folder or Records as tuned, got 7"):
        whence.compile(network(), tuned=cast(Any, 7))


WIDE = ", ".join(map(str, RNG.standard_normal(24 * 40).astype(np.float32).tolist()))
OPEN = f"""<ir_version: 8, opset_import: ["": 18]> graph (float[n, 24] x) => (float[n, 40] y)
<float[24, 40] w = {{{WIDE}}}> {{ [product] p = MatMul (x, w)  [act] y = Relu (p) }}"""


def test_a_program_for_certain_sizes_that_another_process_compiles_is_tuned():
    model = onnx.parser.parse_model(OPEN)
    fixed = whence.compile(model, threads=1, input_shapes={"x": [6, 24]})
    records = Records(winners(fixed))
    assert len(records) == 1
    sized = whence.compile(model, threads=1, tuned=records)
    assert isinstance(sized, SizedExecutable)
    sized._often = 2  # pyright: ignore[reportPrivateUsage]
    x = RNG.standard_normal((6, 24)).astype(np.float32)
    first = cast(Array, sized(x)).copy()
    _wait(lambda: (sized(x), bool(sized.specializations))[1])
    (special,) = sized.specializations
    assert isinstance(special, CompiledApart)
    assert [applied.decisions for applied in special.tuned.values()] == [dict(records.records[0].decisions)]
    np.testing.assert_allclose(cast(Array, special(x)), first, rtol=1e-5, atol=1e-5)


def _wait(done: Callable[[], bool]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + 60
    while not done():
        assert time.monotonic() < end
        threading.Event().wait(0.02)


def test_programs_that_calls_decide_are_tuned():
    """Records of the scope hold beyond it for what a call compiles."""
    model = onnx.parser.parse_model(OPEN)
    records = Records(winners(whence.compile(model, threads=1, input_shapes={"x": [6, 24]})))
    token = TUNED.set(records)
    try:
        dynamic = whence.compile(model, threads=1, tier="static")
    finally:
        TUNED.reset(token)
    assert dynamic.tuned == {}
    dynamic(RNG.standard_normal((6, 24)).astype(np.float32))
    assert [applied.decisions for applied in dynamic.tuned.values()] == [dict(records.records[0].decisions)]


def test_an_operator_without_a_schedule_fails_as_it_does_without_records():
    """Records that need the space of a kernel ask for it; its errors are those of compiling it."""

    class Asks:
        def find(self, workload: str, target: Target, space: Callable[[], str]) -> Applied | None:
            space()
            raise AssertionError("the space of a kernel that has none")

        def lines(self) -> list[str]:
            return []

    x = relay.var("x", shape=(8, 8))
    module = IRModule.from_expr(relay.Function([x], relay.nn.relu(x)))

    def broken(work: Any, stage: Any) -> None:
        raise whence.ScheduleError("a schedule of a test")

    whence.strategy(tag="", plevel=100, name="broken")(broken)
    whence.strategy(tag="relu", plevel=100, name="broken relu")(broken)
    try:
        with pytest.raises(whence.ScheduleError, match="a schedule of a test"):
            whence.compile(module, tuned=Asks())
    finally:
        whence.unregister_schedule("broken")
        whence.unregister_schedule("broken relu")
