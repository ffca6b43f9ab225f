"""The registry of schedules: which row is picked, what shapes the cache key, and that results stay right."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper, numpy_helper, parser

import whence
from whence import te
from whence.lowering.kernel.record import Kernel
from whence.lowering.relay_to_te.schedules.common import Scheduling
from whence.lowering.relay_to_te.strategies import outside_fingerprint
from whence.support.errors import PipelineError, ScheduleError
from whence.te.schedule.stage import Stage


def layer(rows: int) -> tuple[ModelProto, Any]:
    weight = np.random.default_rng(0).standard_normal((40, 64), dtype=np.float32)
    graph = helper.make_graph(
        [parser.parse_node("Y = MatMul(X, W)")],
        "layer",
        [helper.make_tensor_value_info("X", 1, (rows, 40))],
        [helper.make_tensor_value_info("Y", 1, (rows, 64))],
        [numpy_helper.from_array(weight, "W")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), weight


def plain(work: Scheduling, stage: Stage) -> None:
    work.vectorize(stage, stage.leaf[1])


def run(rows: int) -> Kernel:
    """The kernel of a layer whose result agrees with numpy."""
    model, weight = layer(rows)
    exe = whence.compile(model, threads=1)
    x = np.random.default_rng(1).standard_normal((rows, 40), dtype=np.float32)
    np.testing.assert_allclose(np.asarray(exe(x)), x @ weight, rtol=1e-4, atol=1e-4)
    (kernel,) = exe.artifact.kernels
    assert isinstance(kernel, Kernel)
    return kernel


@pytest.fixture(autouse=True)
def tidy() -> Generator[None]:
    yield
    for line in outside_fingerprint().splitlines():
        whence.unregister_schedule(line.split()[0])


def test_the_highest_level_whose_predicate_holds_counts():
    assert 'dense_pack = "dense"' in run(3).schedule
    whence.register_schedule(whence.Strategy("low", "dense_pack", plain, plevel=5))
    assert 'dense_pack = "dense"' in run(3).schedule
    whence.strategy(tag="dense_pack", when=lambda stage, _: stage.compute.shape[0] == 3, plevel=11, name="high")(plain)
    assert 'dense_pack = "high"' in run(3).schedule
    assert 'dense_pack = "dense"' in run(4).schedule
    whence.unregister_schedule("high")
    assert 'dense_pack = "dense"' in run(3).schedule


def test_of_equals_the_last_registered_counts():
    whence.strategy(tag="dense_pack", name="first")(plain)
    whence.strategy(tag="dense_pack", name="second")(plain)
    assert 'dense_pack = "second"' in run(3).schedule
    # Registered again, it is the last.
    whence.strategy(tag="dense_pack", name="first")(plain)
    assert 'dense_pack = "first"' in run(3).schedule


def test_what_a_row_does_is_part_of_the_fingerprint():
    def made(width: int) -> str:
        def schedule(work: Scheduling, stage: Stage) -> None:
            stage.split(stage.leaf[1], width)

        whence.strategy(tag="dense_pack", name="made")(schedule)
        return outside_fingerprint()

    assert made(4) == made(4)
    assert made(4) != made(8)
    assert made(8) in outside_fingerprint()


def test_a_stage_without_a_row_of_its_own_is_injective():
    @whence.strategy(tag="", plevel=12)
    def everything(work: Scheduling, stage: Stage) -> None:
        stage.parallel(stage.leaf[0])

    graph = helper.make_graph(
        [parser.parse_node("Y = Relu(X)")],
        "relu",
        [helper.make_tensor_value_info("X", 1, (3, 5))],
        [helper.make_tensor_value_info("Y", 1, (3, 5))],
    )
    exe = whence.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9))
    (kernel,) = exe.artifact.kernels
    assert isinstance(kernel, Kernel)
    assert 'relu = "everything"' in kernel.schedule
    x = np.random.default_rng(2).standard_normal((3, 5), dtype=np.float32)
    np.testing.assert_array_equal(np.asarray(exe(x)), np.maximum(x, 0))


def test_bad_rows():
    with pytest.raises(ScheduleError, match="expected a row with a name, got ''"):
        whence.register_schedule(whence.Strategy("", "dense", plain))
    with pytest.raises(ScheduleError, match="expected a function of two arguments for when of 'x'"):
        whence.register_schedule(whence.Strategy("x", "dense", plain, when=lambda stage: True))  # pyright: ignore[reportArgumentType]
    with pytest.raises(ScheduleError, match=r"expected a registered row \(none\), got 'x'"):
        whence.unregister_schedule("x")


def test_a_c_function_that_there_is_not_is_named_with_its_layer():
    a, b = te.placeholder((8,), name="a"), te.placeholder((8,), name="b")
    add = te.compute((8,), lambda i: a[i] + b[i], name="add")

    def call(ins: Sequence[Any], outs: Sequence[Any]) -> Any:
        return te.call_extern("int32", "no_such_add", ins[0], ins[1], outs[0])

    absent = te.decl_tensor_intrin(add.op, call, name="absent")

    def schedule(work: Scheduling, stage: Stage) -> None:
        stage.tensorize(stage.leaf[-1], absent)

    graph = helper.make_graph(
        [parser.parse_node("X = Add(P, Q)")],
        "sum",
        [helper.make_tensor_value_info(name, 1, (8,)) for name in "PQ"],
        [helper.make_tensor_value_info("X", 1, (8,))],
    )
    graph.node[0].name = "the_sum"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    whence.register_schedule(whence.Strategy("absent", "", schedule, plevel=20))
    exe = whence.compile(model, threads=1)
    with pytest.raises(PipelineError, match=r"got 'no_such_add', which this process does not have \(layer 'the_sum'"):
        exe(np.zeros(8, np.float32), np.zeros(8, np.float32))
