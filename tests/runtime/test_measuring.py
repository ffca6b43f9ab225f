"""The parts of measuring: memory with guards, comparisons of results, disturbances, and what times become."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import ml_dtypes
import numpy as np
import pytest
from planted_kernels import QUICK, product_job

from whence.runtime.loading.agreement import adversarial, difference
from whence.runtime.loading.disturbance import Disturbance, Reading
from whence.runtime.loading.guarded import Guarded
from whence.runtime.loading.machine_facts import in_core_order
from whence.runtime.loading.measuring import Bench, Kernel
from whence.runtime.loading.outcomes import Measured
from whence.runtime.loading.package import Package
from whence.runtime.loading.sealed import unsealed
from whence.runtime.program.program import Code
from whence.support.dtypes import Array

_FLOATS = [np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]


@pytest.mark.parametrize("dtype", _FLOATS, ids=lambda dtype: dtype.name)
def test_rounding_is_no_difference_and_more_is(dtype: np.dtype[np.generic]):
    generator = np.random.default_rng(0)
    exact = generator.standard_normal((7, 33))
    expected = exact.astype(dtype)
    epsilon = float(cast(Any, ml_dtypes).finfo(dtype).eps)
    assert difference(expected, (exact * (1 + epsilon)).astype(dtype)) == ""
    wrong = expected.copy()
    wrong[3, 5] += 0.5
    assert difference(expected, wrong).startswith("1 of 231 elements differ: expected ")
    assert difference(expected, wrong).endswith(" at [3, 5]")


@pytest.mark.parametrize("dtype", _FLOATS, ids=lambda dtype: dtype.name)
def test_nan_and_infinities_equal_themselves_alone(dtype: np.dtype[np.generic]):
    special = np.array([np.nan, np.inf, -np.inf, 1.0, 0.0]).astype(dtype)
    assert difference(special, special.copy()) == ""
    for place, value in ((0, 1.0), (0, np.inf), (1, -np.inf), (1, 1.0), (2, np.nan), (3, np.nan), (4, np.inf)):
        other = special.copy()
        other[place] = value
        assert difference(special, other).startswith("1 of 5 elements differ")


def test_small_numbers_beside_large_ones_may_differ_by_what_these_round():
    expected = np.array([1000.0, 0.001], np.float32)
    assert difference(expected, np.array([1000.0, 0.002], np.float32)) == ""
    assert difference(expected, np.array([1000.0, 0.02], np.float32)) != ""


@pytest.mark.parametrize("array", [np.arange(5, dtype=np.int64), np.array([True, False]), np.array(3, np.uint8)])
def test_other_dtypes_are_equal_bit_by_bit(array: Array):
    other = array.copy()
    assert difference(array, other) == ""
    other[...] = np.logical_not(array) if array.dtype == np.bool_ else cast(Any, other) + np.ones((), array.dtype)
    assert "elements differ" in difference(array, other)
    assert adversarial(array, 0) is array


@pytest.mark.parametrize("dtype", _FLOATS, ids=lambda dtype: dtype.name)
def test_adversarial_numbers_are_large_negative_and_zero(dtype: np.dtype[np.generic]):
    tried = adversarial(np.ones((50, 20), dtype), 3)
    assert tried.shape == (50, 20)
    assert tried.dtype == dtype
    numbers = tried.astype(np.float64)
    assert np.isfinite(numbers).all()
    assert numbers.max() > 8
    assert numbers.min() < -8
    assert (numbers == 0).any()
    np.testing.assert_array_equal(tried.view(np.uint8), adversarial(np.zeros((50, 20), dtype), 3).view(np.uint8))
    assert (tried != adversarial(np.ones((50, 20), dtype), 4)).any()


@pytest.mark.parametrize("size", [0, 1, 4096, 5000, (1 << 21) + 64])
def test_guards_lie_around_an_array(size: int):
    guarded = [Guarded(((size,), np.dtype(np.uint8)), number) for number in range(15)]
    assert [buffer.address % 64 for buffer in guarded] == [0] * 15
    assert len({buffer.address % 4096 for buffer in guarded}) > 10
    for buffer in guarded[:3]:
        buffer.array[...] = 7
        assert buffer.intact()
        assert buffer.bytes.size == size
    whole = guarded[1]._bytes  # pyright: ignore[reportPrivateUsage]
    begin = guarded[1].address - int(whole.ctypes.data)
    for place in (begin - 1, begin + size):
        kept = int(whole[place])
        whole[place] = 1
        assert not guarded[1].intact()
        whole[place] = kept
        assert guarded[1].intact()


def test_others_are_seen_by_switches_and_ticks(tmp_path: Path):
    stat = tmp_path / "stat"
    stat.write_text("cpu  9 9 9 9\ncpu0 10 20 30 1000 50 1 2 3 9 9\ncpu1 5 5 5 5 5 5 5 5 5 5\ncpu2 1 1 1 9 9 1 1 1\n")
    tick = Disturbance(frozenset())._tick  # pyright: ignore[reportPrivateUsage]
    busy = [Disturbance(frozenset(cpus), stat).read().busy for cpus in ((0,), (0, 2), ())]
    assert busy == pytest.approx([66 * tick, 72 * tick, 0])
    both = Disturbance(frozenset((0, 1)), stat)
    start = Reading(5, 10.0, 2.0, 100.0)
    assert not both.between(start, Reading(5, 10.3 + 2 * tick, 2.2, 101.0))
    assert both.between(start, Reading(5, 10.45 + 2 * tick, 2.2, 101.0))
    # A short time is less than a tick of each processor.
    assert not both.between(start, Reading(5, 10.0 + 2 * tick, 2.0, 100.004))
    assert both.between(start, Reading(6, 10.0, 2.0, 100.004))
    assert not both.between(start, Reading(6, 10.0, 2.0, 100.15))


def test_one_processor_of_each_core_comes_first(tmp_path: Path):
    for cpu, siblings in {0: "0-1", 1: "0-1", 2: "2,5", 5: "2,5"}.items():
        folder = tmp_path / f"cpu{cpu}/topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(f"{siblings}\n")
    assert in_core_order({5, 2, 1, 0, 7}, tmp_path) == [0, 2, 7, 1, 5]


class _Quiet(Disturbance):
    """Disturbances at the alternations of these numbers."""

    def __init__(self, *numbers: int):
        super().__init__(frozenset())
        self.numbers, self.asked = numbers, -1

    def between(self, before: Reading, after: Reading) -> bool:
        self.asked += 1
        return self.asked in self.numbers


def _timed(monkeypatch: pytest.MonkeyPatch, disturbance: Disturbance, threads: int = 2) -> tuple[Measured, list[str]]:
    """Measure three alternations where the default takes 3 us a call, the candidate 2 and a call itself 1.

    Also returns the kernels that batches were of, from the first that is long enough for the candidate on.
    """
    order: list[str] = []
    seconds = {"idle": 1e-6, "default": 4e-6, "candidate": 3e-6}
    names: dict[int, str] = {}
    clocks: set[Callable[[], float]] = set()

    def batch(kernel: Kernel, number: int, turn: int, clock: Callable[[], float]) -> float:
        clocks.add(clock)
        if id(kernel) not in names:
            names[id(kernel)] = list(seconds)[len(names)]
        order.append(names[id(kernel)])
        return seconds[names[id(kernel)]] * number

    kept: list[Kernel] = []
    monkeypatch.setattr(Kernel, "batch", batch)
    monkeypatch.setattr(Kernel, "__init__", _keeping(kept, Kernel.__init__))
    job = product_job("good", protocol=replace(QUICK, batch_seconds=1e-3, threads=threads)).packed()
    bench = Bench(Package.of(unsealed(memoryview(job), "job"), "job"), disturbance)
    order.clear()
    outcome = bench.measured(0)
    assert isinstance(outcome, Measured)
    assert clocks == {time.perf_counter if threads > 1 else time.thread_time}
    return outcome, order[order.index("default") - 1 :]


def _keeping(kept: list[Kernel], start: Callable[..., None]) -> Callable[..., None]:
    """Return a constructor that keeps what it makes, so that each has a number of its own."""

    def init(kernel: Kernel, *arguments: object) -> None:
        kept.append(kernel)
        start(kernel, *arguments)

    return init


def test_default_and_candidate_take_turns_and_calls_are_free(monkeypatch: pytest.MonkeyPatch):
    outcome, order = _timed(monkeypatch, _Quiet())
    assert outcome.ratios == pytest.approx((1.5, 1.5, 1.5))
    assert (outcome.default_seconds, outcome.seconds) == pytest.approx((3e-6, 2e-6))
    assert outcome.disturbed == 0
    monkeypatch.undo()
    assert _timed(monkeypatch, _Quiet(), 1)[0].ratios == pytest.approx((1.5, 1.5, 1.5))
    assert order[1:] == ["default", "candidate", "candidate", "default", "default", "candidate"]


def test_disturbed_alternations_are_repeated_and_then_kept(monkeypatch: pytest.MonkeyPatch):
    outcome, order = _timed(monkeypatch, _Quiet(0, 2))
    assert (len(outcome.ratios), outcome.disturbed) == (3, 0)
    assert order[1:] == [*["default", "candidate"] * 2, *["candidate", "default"] * 2, "default", "candidate"]
    monkeypatch.undo()
    outcome, order = _timed(monkeypatch, _Quiet(*range(20)))
    assert (len(outcome.ratios), outcome.disturbed) == (3, 3)
    assert len(order) == 1 + 2 * (3 + 4)


def test_calls_go_round_the_copies_of_weights():
    calls: list[tuple[int, ...]] = []
    copies = [(number, 0, 0) for number in range(3)]
    kernel = Kernel(Code({"spin": 1}), "spin", copies, 1)
    kernel.call = lambda *arguments: calls.append(arguments)
    ticks = iter((10.0, 12.5))
    assert kernel.batch(5, 4, lambda: next(ticks)) == 2.5
    # One goes before, which no time is taken of.
    assert [first for first, *_ in calls] == [0, 1, 2, 0, 1, 2]
    calls.clear()
    kernel.batch(1, 2, lambda: 0.0)
    assert calls == [(2, 0, 0)]
