"""Knobs of reductions, rows, elementwise stages, concatenations and attention: every point of a space is right."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from knob_values import check_free_knobs
from numpy.typing import NDArray

from whence.dialects.relay.core import FuncOp
from whence.dialects.relay.elementwise import AddOp, TanhOp
from whence.dialects.relay.interpret import evaluate_module
from whence.dialects.relay.matmul import BatchMatmulOp
from whence.dialects.relay.normalization import LayerNormOp, SoftmaxOp
from whence.dialects.relay.pooling import GlobalAvgPool2DOp
from whence.dialects.relay.reduce import MaxOp, MeanOp, SumOp
from whence.dialects.relay.transform import ConcatenateOp, PadOp, TransposeOp
from whence.lowering.llvm_to_native.target import Target
from whence.lowering.relay_to_te.cost import Rates
from whence.lowering.relay_to_te.knobs import Points, Space
from whence.lowering.relay_to_te.lower import lower_function
from whence.lowering.relay_to_te.strategy import schedule_function, space_of
from whence.lowering.te_to_tir.lower import lower_schedule
from whence.support.machine import WIDEST, Machine

Array = NDArray[Any]
Build = Callable[[Any], Any]
"""A net with inputs -> the value of its result."""
HOST = Target.native().hardware
POINTS = 3
"""Points of a case that are compiled and run."""


def single(kind: Any, **attributes: Any) -> Build:
    return lambda net: net.add(kind, *net.inputs, **attributes)


def attention(net: Any) -> Any:
    q, k, v = net.inputs
    return net.add(BatchMatmulOp, net.add(SoftmaxOp, net.add(BatchMatmulOp, q, k, transpose_b=0)), v, transpose_b=0)


def joined(net: Any) -> Any:
    a, b, c = net.inputs
    return net.add(AddOp, net.add(ConcatenateOp, a, b, axis=1), c)


CASES: dict[str, tuple[Build, list[tuple[int, ...]], set[str]]] = {
    "rows": (single(MeanOp, axis=[1]), [(24, 192)], {"accumulators", "parallel"}),
    "ragged rows": (single(MaxOp, axis=[1]), [(60, 149)], {"accumulators", "unrolled", "parallel"}),
    "rows of odd vectors": (single(SumOp, axis=[1]), [(30, 200)], {"accumulators", "lanes"}),
    "short rows": (single(SumOp, axis=[2]), [(24, 12, 9)], {"rows"}),
    "columns": (single(SumOp, axis=[0]), [(24, 192)], {"columns", "steps", "parallel"}),
    "ragged columns": (single(MaxOp, axis=[1]), [(6, 32, 33)], {"steps"}),
    "pool": (single(GlobalAvgPool2DOp), [(4, 24, 7, 7)], {"accumulators", "unrolled"}),
    "softmax": (single(SoftmaxOp), [(4, 12, 96)], {"in_registers", "rows", "accumulators"}),
    "ragged softmax": (single(SoftmaxOp), [(40, 133)], {"in_registers", "accumulators", "unrolled"}),
    "softmax of odd vectors": (single(SoftmaxOp), [(40, 200)], {"in_registers", "accumulators", "lanes"}),
    "long softmax": (single(SoftmaxOp), [(4, 1056)], {"accumulators"}),
    "layer norm": (single(LayerNormOp), [(12, 192), (192,), (192,)], {"rows", "accumulators"}),
    "elementwise": (lambda net: net.add(TanhOp, net.add(AddOp, *net.inputs)), [(24, 96), (24, 96)], {"unrolled"}),
    "broadcast": (single(AddOp), [(6, 20, 64), (20, 1)], {"parallel", "unrolled"}),
    "padded": (single(PadOp, pad_width=[0, 0, 1, 1, 2, 2]), [(8, 20, 36), ()], {"parallel"}),
    "transpose": (single(TransposeOp, axes=[0, 2, 1]), [(3, 96, 40)], {"rows", "columns", "rows_inside"}),
    "ragged transpose": (single(TransposeOp, axes=[1, 0]), [(45, 61)], {"rows"}),
    "concatenation": (joined, [(1, 32, 8, 8), (1, 16, 8, 8), (48, 1, 1)], {"shares"}),
    "concatenation of rows": (joined, [(24, 3, 5, 9), (24, 4, 5, 9), (7, 1, 9)], {"fused"}),
    "attention": (attention, [(3, 48, 24), (3, 24, 80), (3, 80, 24)], {"block", "rows", "in_registers"}),
    "attention of odd sizes": (attention, [(2, 26, 9), (2, 9, 70), (2, 70, 11)], {"rows"}),
}


def space(make_net: Any, build: Build, shapes: list[tuple[int, ...]], machine: Machine) -> Space:
    return space_of(lower_function(function(make_net, build, arrays(shapes))), machine)


@cache
def points_here(make_net: Any, name: str) -> Points:
    """The points of a case on this machine."""
    build, shapes, _ = CASES[name]
    return space(make_net, build, shapes, HOST).points()


def arrays(shapes: list[tuple[int, ...]], dtype: str = "float32") -> list[Array]:
    draw = np.random.default_rng(7)
    return [draw.standard_normal(shape).astype(dtype) for shape in shapes]


def function(make_net: Any, build: Build, inputs: list[Array]) -> FuncOp:
    """The function of a net."""
    net = make_net(*inputs)
    net.finish(build(net))
    return net.func


def result_of(make_net: Any, build: Build, inputs: list[Array]) -> Array:
    """The result of a net in numpy."""
    net = make_net(*inputs)
    (wanted,) = evaluate_module(net.finish(build(net)), inputs)
    return wanted


@pytest.mark.parametrize("name", CASES)
def test_points_are_right(name: str, make_net: Any, run_schedule: Any):
    build, shapes, names = CASES[name]
    # Machines without registers of masks have fewer knobs.
    assert names <= {knob.name for knob in space(make_net, build, shapes, WIDEST).knobs}
    points = points_here(make_net, name)
    assert len(points) > 1
    draw = np.random.default_rng(len(points))
    wanted = result_of(make_net, build, arrays(shapes))
    for point in draw.choice(len(points), min(POINTS, len(points)), replace=False):
        inputs = arrays(shapes)
        func = function(make_net, build, inputs)
        decisions = points.decisions(point)
        result = np.zeros_like(wanted)
        run_schedule(schedule_function(lower_function(func), HOST, decisions=decisions), *inputs, result)
        np.testing.assert_allclose(result, wanted, rtol=2e-5, atol=2e-5, err_msg=f"{name} {decisions}")


@pytest.mark.parametrize("name", CASES)
def test_other_decisions_in_the_text_are_other_schedules(name: str, make_net: Any):
    build, shapes, _ = CASES[name]
    check_free_knobs(lambda: lower_function(function(make_net, build, arrays(shapes))), WIDEST)


@pytest.mark.parametrize("machine", [Machine.x86(128), Machine.x86(256)], ids=lambda machine: str(machine.vector_bits))
def test_points_of_other_machines_are_schedules(machine: Machine, make_net: Any):
    draw = np.random.default_rng(machine.vector_bits)
    for build, shapes, _ in CASES.values():
        points = space(make_net, build, shapes, machine).points()
        for point in draw.choice(len(points), 1):
            func = function(make_net, build, arrays(shapes))
            lower_schedule(schedule_function(lower_function(func), machine, decisions=points.decisions(point)))


@pytest.mark.parametrize("name", CASES)
def test_costs_tell_points_apart(name: str, make_net: Any):
    points = points_here(make_net, name)
    costs = points.costs(Rates(threads=2))
    assert np.isfinite(costs).all()
    assert (costs > 0).all()
    assert costs.min() < costs.max()


def test_knobs_of_a_kernel_are_the_same_at_all_points(make_net: Any):
    for name, (build, shapes, _) in CASES.items():
        points = points_here(make_net, name)
        func = function(make_net, build, arrays(shapes))
        there = schedule_function(lower_function(func), HOST, decisions=points.decisions(len(points) - 1))
        assert str(there.sequence).count("schedule.knob") == len(points.space.knobs)


def test_small_kernels_have_no_knobs(make_net: Any):
    assert not space(make_net, single(SoftmaxOp), [(4, 8)], HOST).knobs
    assert not space(make_net, single(AddOp), [(8, 16), (8, 16)], HOST).knobs
