"""Templates by AutoTVM's names: their knobs, measured, logged, and applied, beside numpy."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whence
from whence import autotvm, te
from whence.autotvm.measure.measure import MeasureErrorNo
from whence.autotvm.task.entities import SplitSpace, VirtualAxis
from whence.autotvm.task.space import FallbackConfigEntity, InstantiationError
from whence.autotvm.task.task import FlopCalculationError
from whence.support.errors import PipelineError, ScheduleError

SIZES = (12, 20, 16)


def in_vectors(entity: Any) -> bool:
    return entity.size[-1] % 4 == 0


@autotvm.template("tests/product")
def tiled(m: int, n: int, k: int) -> Any:
    """A product with a tile, an order and marks to choose."""
    A, B = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    r = te.reduce_axis((0, k), name="r")
    C = te.compute((m, n), lambda i, j: te.sum(A[i, r] * B[r, j], axis=r), name="C")
    s = te.create_schedule(C.op)
    (y, x), (k_axis,) = s[C].op.axis, s[C].op.reduce_axis
    cfg = autotvm.get_config()
    cfg.define_split("rows", y, num_outputs=3)
    cfg.define_split("columns", x, num_outputs=2, filter=in_vectors)
    cfg.define_reorder("order", [k_axis, y, x], "all")
    cfg.define_annotate("marks", [y, x], "try_unroll_vec")
    cfg.define_knob("steps", [4, 1, 2])
    yo, ym, yi = cfg["rows"].apply(s, C, y)
    xo, xi = cfg["columns"].apply(s, C, x)
    ro, ri = s[C].split(k_axis, cfg["steps"].val)
    s[C].reorder(yo, xo, ym, ro)
    inner = cfg["order"].apply(s, C, [ri, yi, xi])
    marked = [axis for axis in inner if axis is not ri]
    cfg["marks"].apply(s, C, marked, axis_lens=[4, 4], max_unroll=16, cfg=cfg)
    return s, [A, B, C]


@pytest.fixture(scope="module")
def task() -> Any:
    return autotvm.task.create("tests/product", args=SIZES, target="llvm")


def divisors(number: int) -> list[int]:
    return [each for each in range(1, number + 1) if number % each == 0]


def test_the_space_of_a_template_is_the_product_of_its_knobs(task: Any):
    m, n, _ = SIZES
    rows = [[-1, a, b] for a, b in product(divisors(m), repeat=2) if m % (a * b) == 0]
    space = task.config_space
    assert [entity.size for entity in space.space_map["rows"].entities] == rows
    assert [entity.size for entity in space.space_map["columns"].entities] == [[-1, 4], [-1, 20]]
    assert n == 20
    assert space.dims == [len(rows), 2, 6, 5, 3]
    assert len(space) == space.range_length == len(rows) * 2 * 6 * 5 * 3
    for index in (0, 1, 77, len(space) - 1):
        assert space.knob2point(space.point2knob(index)) == index
        assert space.index_of_entity(space.get(index)) == index
    assert task.flop == 2 * np.prod(SIZES)
    with pytest.raises(ScheduleError, match=f"configuration: expected a valid one of {len(space)}, got -1"):
        space.get(-1)


def test_knobs_are_those_of_the_compiler(task: Any):
    space, knobs = task.config_space, {knob.name: knob for knob in task.config_space.space.knobs}
    assert knobs["columns"].candidates == (4, 20)
    assert (knobs["steps"].candidates, knobs["steps"].default) == ((1, 2, 4), 4)
    assert knobs["order"].candidates == tuple(range(6))
    points = space.space.points()
    assert len({space.index_of(points.decisions(point)) for point in range(len(points))}) == len(space)
    config = space.get(space.index_of({"columns": 20, "steps": 1}))
    schedule, _ = task.instantiate(config)
    text = [line.strip() for line in str(schedule.sequence).splitlines() if "knob" in line]
    assert '%columns = schedule.knob "columns" in [4, 20] {decision = 20, made_for = 20}' in text
    assert '%steps = schedule.knob "steps" in [1, 2, 4] {decision = 1, made_for = 1}' in text
    assert schedule.snapshot().sequence.is_structurally_equivalent(schedule.sequence)


def test_configurations_compute_what_numpy_does(task: Any):
    m, n, k = SIZES
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((m, k), np.float32), rng.standard_normal((k, n), np.float32)
    refused = 0
    for index in rng.choice(len(task.config_space), 12, replace=False):
        try:
            function = whence.build(*task.instantiate(task.config_space.get(int(index))))
        except ScheduleError:
            refused += 1
            continue
        np.testing.assert_allclose(function(a, b), a @ b, rtol=1e-4, atol=1e-4)
    assert refused < 12


def test_a_filter_of_several_knobs_holds_in_all_forms(task: Any):
    space = autotvm.task.create("tests/product", args=SIZES, target="llvm").config_space

    def kept(entity: Any) -> bool:
        return entity["rows"].size[2] * entity["columns"].size[1] >= 48

    space.multi_filter(filter=kept)
    valid = [index for index in range(space.range_length) if kept(task.config_space.get(index))]
    assert 0 < len(space) == len(valid) < space.range_length
    assert [config.index for config in space] == valid
    points = space.space.points()
    assert sorted(space.index_of(points.decisions(point)) for point in range(len(points))) == valid
    assert space.get_next_index(valid[0]) == valid[1]
    assert space.get_next_index(valid[1], -1) == valid[0]
    assert space.random_walk(valid[0]) in valid


def test_tuning_logs_and_history_give_the_best(task: Any, tmp_path: Path):
    log, results = tmp_path / "log.json", list[Any]()
    option = autotvm.measure_option("local", autotvm.LocalRunner(repeat=1))
    tuner = autotvm.tuner.XGBTuner(task)
    tuner.tune(
        6,
        option,
        callbacks=[autotvm.callback.log_to_file(log), lambda _, inputs, outcomes: results.extend(outcomes)],
    )
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert len(lines) == len(results) == 6
    right = [result for result in results if not result.error_no]
    assert right
    best = min(right, key=lambda result: result.costs[0])
    assert tuner.best_measure_pair is not None
    assert tuner.best_measure_pair[1] == best
    assert tuner.best_flops == task.flop / best.costs[0]
    assert lines[0]["input"][1:] == ["tests/product", list(SIZES), {}]
    with autotvm.apply_history_best(log) as history:
        assert history.query(task.target, task.workload) == tuner.best_config
        schedule, arguments = tiled(*SIZES)
    made = whence.build(schedule, arguments)
    a, b = (np.random.default_rng(1).random(shape, np.float32) for shape in ((12, 16), (16, 20)))
    np.testing.assert_allclose(made(a, b), a @ b, rtol=1e-5)
    assert str(schedule.sequence) == str(task.instantiate(tuner.best_config)[0].sequence)
    with autotvm.apply_history_best(log):
        other, _ = tiled(8, 20, 16)
    assert "knob" in str(other.sequence)


def test_lines_of_logs_are_measured_first(task: Any):
    space = task.config_space
    rows = [(7, 0.5, 0), (400, 0.1, 0), (9, 1e9, 4), (31, 0.2, 0)]
    history = [
        (autotvm.MeasureInput(task.target, task, space.get(index)), autotvm.MeasureResult((cost,), error, 0, 0))
        for index, cost, error in rows
    ]
    lines = [autotvm.record.encode(*pair) for pair in history]
    seen: list[int] = []
    for name in ("RandomTuner", "GridSearchTuner", "GATuner", "XGBTuner"):
        tuner = getattr(autotvm.tuner, name)(task)
        tuner.load_history(pair for line in lines if (pair := autotvm.record.decode(line)))
        option = {"builder": Nothing(), "runner": Counting(seen := [])}
        tuner.tune(5, option)
        assert seen[:3] == [400, 31, 7]
        assert len(set(seen)) == 5


class Nothing(autotvm.measure.Builder):
    """Builds nothing."""

    def build(self, measure_inputs: Any) -> Any:
        return [None for _ in measure_inputs]


class Counting(autotvm.measure.Runner):
    """Makes up the seconds of a configuration of its number."""

    def __init__(self, seen: list[int]):
        super().__init__()
        self.seen = seen

    def run(self, measure_inputs: Any, build_results: Any) -> Any:
        self.seen += [each.config.index for each in measure_inputs]
        return [autotvm.MeasureResult((1.0 + each.config.index % 13,), 0, 0, 0) for each in measure_inputs]


@pytest.mark.parametrize("name", ["RandomTuner", "GridSearchTuner", "GATuner", "XGBTuner"])
def test_a_tuner_visits_each_configuration_once(name: str):
    space = (task := autotvm.task.create("tests/product", args=(4, 20, 4), target="llvm")).config_space
    space.multi_filter(filter=lambda entity: entity["order"].perm[0] == 0 and entity["steps"].val == 1)
    seen: list[int] = []
    tuner = getattr(autotvm.tuner, name)(task)
    tuner.tune(10_000, {"builder": Nothing(), "runner": Counting(seen)})
    assert sorted(seen) == [config.index for config in space]
    assert not tuner.has_next()
    assert tuner.best_config is not None
    assert tuner.best_config.index % 13 == min(index % 13 for index in seen)


def test_a_wrong_candidate_is_told_from_right_ones(task: Any):
    @autotvm.template("tests/racy")
    def racy(n: int) -> Any:
        A = te.placeholder((n,), name="A")
        r = te.reduce_axis((0, n), name="r")
        cfg = autotvm.get_config()
        cfg.define_knob("off", [0, 1])
        cfg.define_knob("refused", [0, 1])
        if cfg["refused"].val:
            cfg.raise_error("never this one")
        C = te.compute((4,), lambda i: te.sum(A[r] + float(cfg["off"].val), axis=r), name="C")
        return te.create_schedule(C.op), [A, C]

    assert racy.__name__ == "racy"
    task = autotvm.task.create("tests/racy", args=(64,), target="llvm")
    option = autotvm.measure_option(autotvm.LocalBuilder(), autotvm.LocalRunner(repeat=1))
    outcomes: list[Any] = []
    tuner = autotvm.tuner.GridSearchTuner(task)
    tuner.tune(4, option, callbacks=[lambda _, inputs, results: outcomes.extend(results)])
    refused = MeasureErrorNo.INSTANTIATION_ERROR
    assert [outcome.error_no for outcome in outcomes] == [0, MeasureErrorNo.WRONG_ANSWER, refused, refused]
    with pytest.raises(InstantiationError, match="template 'tests/racy': never this one"):
        task.instantiate(task.config_space.get(2))


def test_what_cannot_be_is_refused(task: Any):
    with pytest.raises(PipelineError, match=r"autotvm task: expected a template among .*tests/product.*, got 'none'"):
        autotvm.task.create("none", args=(), target="llvm")
    with pytest.raises(PipelineError, match="measure_option: expected a runner, or 'local', got 'rpc'"):
        autotvm.measure_option("local", "rpc")
    with pytest.raises(PipelineError, match="XGBTuner: expected TVM's defaults"):
        autotvm.tuner.XGBTuner(task, optimizer="other")
    with pytest.raises(PipelineError, match="RandomTuner: expected a range within 0 to"):
        autotvm.tuner.RandomTuner(task, range_idx=(0, 10**9))
    with pytest.raises(ScheduleError, match="define_split: expected policy factors, power2"):
        SplitSpace(VirtualAxis(8), "some")
    with pytest.raises(ScheduleError, match="knob 'none': expected at least one value, got none"):
        autotvm.ConfigSpace().define_knob("none", [])
    with pytest.raises(ScheduleError, match="expected a knob among none, got 'rows'"):
        autotvm.ConfigSpace()["rows"]
    A = te.placeholder((4,), name="A")
    copy = te.create_schedule(te.compute((4,), lambda i: A[i], name="B").op)
    with pytest.raises(FlopCalculationError, match="compute_flop: expected arithmetic on elements"):
        autotvm.task.compute_flop(copy)


def test_a_template_without_a_log_takes_the_first_values_or_its_own():
    seen: list[Any] = []

    @autotvm.template("tests/fallback")
    def asked() -> Any:
        cfg = autotvm.get_config()
        seen.append(cfg)
        cfg.define_split("tile", cfg.axis(60), num_outputs=3)
        assert cfg["tile"].size == [-1, 1, 1]
        cfg.fallback_split("tile", [-1, 7, 4])

    asked()
    assert seen[0].is_fallback
    assert isinstance(seen[0], FallbackConfigEntity)
    assert seen[0]["tile"].size == [3, 5, 4]
