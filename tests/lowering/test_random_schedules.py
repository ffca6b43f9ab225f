"""Random primitives on the stages of small networks: whatever a schedule does, the numbers stay."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from whence.dialects.relay import elementwise as ew
from whence.dialects.relay import nn
from whence.dialects.relay import transform as tr
from whence.dialects.relay.core import FuncOp
from whence.lowering.relay_to_te.lower import lower_function
from whence.passes.relay.evaluate import evaluate_module
from whence.provenance.diagnostics import ScheduleError
from whence.te.schedule import Schedule, Stage

Array = NDArray[Any]
Dice = random.Random
EXTENTS = (1, 2, 3, 5, 7, 8, 13, 16)
CASES = 60


class Setup:
    """A network to schedule: `net` of `make_net` on arrays of drawn shapes."""

    def __init__(self, dice: Dice, make_net: Callable[..., Any]):
        self.dice = dice
        self._numbers = np.random.default_rng(dice.randrange(1 << 30))
        self._make_net = make_net

    def extent(self) -> int:
        return self.dice.choice(EXTENTS)

    def normal(self, *shape: int) -> Array:
        return self._numbers.standard_normal(shape).astype(np.float32)

    def on(self, *arrays: Array) -> Any:
        self.arrays = arrays
        self.net = self._make_net(*arrays)
        return self.net


def dense(setup: Setup) -> Any:
    m, n, k = setup.extent(), setup.extent(), setup.extent()
    net = setup.on(setup.normal(m, k), setup.normal(n, k), setup.normal(n))
    x, weight, bias = net.inputs
    return net.add(ew.ReluOp, net.add(nn.BiasAddOp, net.add(nn.DenseOp, x, weight), bias))


def two_dense(setup: Setup) -> Any:
    m, *widths = (setup.extent() for _ in range(4))
    net = setup.on(setup.normal(m, widths[0]), setup.normal(widths[1], widths[0]), setup.normal(widths[2], widths[1]))
    x, first, second = net.inputs
    return net.add(nn.DenseOp, net.add(ew.ReluOp, net.add(nn.DenseOp, x, first)), second)


def batch_matmul(setup: Setup) -> Any:
    m, n, k = setup.extent(), setup.extent(), setup.extent()
    net = setup.on(setup.normal(2, m, k), setup.normal(2, k, n))
    return net.add(nn.BatchMatmulOp, *net.inputs, transpose_b=False)


def convolution(setup: Setup) -> Any:
    dice = setup.dice
    inputs, outputs, kernel = dice.choice((1, 3, 4, 8)), dice.choice((1, 4, 5, 8)), dice.choice((1, 2, 3))
    height, width = dice.randint(5, 9), dice.randint(5, 9)
    pads = tuple(dice.randint(0, 2) for _ in range(4))
    strides, dilation = dice.choice(((1, 1), (2, 1), (2, 2))), dice.choice(((1, 1), (1, 2)))
    net = setup.on(setup.normal(1, inputs, height, width), setup.normal(outputs, inputs, kernel, kernel))
    result = net.add(nn.Conv2DOp, *net.inputs, strides=strides, padding=pads, dilation=dilation)
    return net.add(ew.TanhOp, result) if dice.random() < 0.5 else result


def depthwise(setup: Setup) -> Any:
    channels = setup.dice.choice((1, 3, 8))
    net = setup.on(setup.normal(1, channels, 5, 7), setup.normal(channels, 1, 3, 3))
    pads = tuple(setup.dice.randint(0, 2) for _ in range(4))
    return net.add(ew.ReluOp, net.add(nn.Conv2DOp, *net.inputs, padding=pads, groups=channels))


def pooling(setup: Setup) -> Any:
    dice = setup.dice
    net = setup.on(setup.normal(1, dice.choice((1, 3, 8)), dice.randint(3, 9), dice.randint(3, 9)))
    return net.add(
        dice.choice((nn.MaxPool2DOp, nn.AvgPool2DOp)),
        *net.inputs,
        pool_size=(3, dice.choice((2, 3))),
        strides=dice.choice(((1, 1), (2, 2), (1, 3))),
        padding=tuple(dice.randint(0, 1) for _ in range(4)),
        ceil_mode=dice.random() < 0.5,
    )


def softmax(setup: Setup) -> Any:
    shape = [setup.extent() for _ in range(setup.dice.randint(1, 3))]
    net = setup.on(setup.normal(*shape))
    kind = setup.dice.choice((nn.SoftmaxOp, nn.LogSoftmaxOp))
    return net.add(kind, *net.inputs, axis=setup.dice.randrange(len(shape)))


def elementwise(setup: Setup) -> Any:
    rows, columns = setup.extent(), setup.extent()
    net = setup.on(setup.normal(rows, columns), setup.normal(columns), setup.normal(rows, 1))
    x, y, z = net.inputs
    product = net.add(ew.MultiplyOp, net.add(ew.TanhOp, net.add(ew.AddOp, x, y)), z)
    return net.add(ew.AddOp, product, net.add(ew.ReluOp, x))


def padding(setup: Setup) -> Any:
    net = setup.on(setup.normal(setup.extent(), setup.extent()))
    widths = tuple(setup.dice.randint(0, 3) for _ in range(4))
    positive = net.add(ew.AbsOp, *net.inputs)
    return net.add(ew.NegativeOp, net.add(tr.PadOp, positive, np.array(-1.5, np.float32), pad_width=widths))


def reduction(setup: Setup) -> Any:
    net = setup.on(setup.normal(*(setup.extent() for _ in range(3))))
    axes = tuple(sorted(setup.dice.sample(range(3), setup.dice.randint(1, 3))))
    kind = setup.dice.choice((tr.MeanOp, tr.MaxOp))
    return net.add(kind, net.add(ew.AbsOp, *net.inputs), axis=axes, keepdims=setup.dice.random() < 0.5)


def movement(setup: Setup) -> Any:
    a, b, c = setup.extent(), setup.extent(), setup.extent()
    net = setup.on(setup.normal(a, b, c))
    turned = net.add(tr.TransposeOp, net.add(ew.NegativeOp, *net.inputs), axes=(2, 0, 1))
    return net.add(ew.AbsOp, net.add(tr.ReshapeOp, turned, newshape=(b * c, a)))


def joining(setup: Setup) -> Any:
    rows = setup.extent()
    net = setup.on(setup.normal(rows, setup.extent()), setup.normal(rows, setup.extent()))
    x, y = net.inputs
    return net.add(ew.ReluOp, net.add(tr.ConcatenateOp, net.add(ew.AbsOp, x), y, axis=1))


def gathering(setup: Setup) -> Any:
    net = setup.on(setup.normal(7, setup.extent()), np.array([3, 1, -2, 9]))
    x, indices = net.inputs
    return net.add(ew.ExpOp, net.add(tr.TakeOp, net.add(ew.AbsOp, x), indices, axis=0))


def local_response(setup: Setup) -> Any:
    net = setup.on(setup.normal(1, setup.extent(), 3, 5))
    return net.add(nn.LRNOp, *net.inputs, size=3, alpha=0.1)


FAMILIES = (
    *(dense, two_dense, batch_matmul, convolution, convolution, depthwise, pooling, softmax),
    *(elementwise, padding, reduction, movement, joining, gathering, local_response),
)


class Player:
    """Applies drawn primitives to a schedule."""

    def __init__(self, schedule: Schedule, dice: Dice):
        self.schedule, self.dice = schedule, dice
        often = [self.split, self.reorder, self.compute_at, self.vectorize, self.fuse]
        self.moves = [*often, *often, self.split, self.compute_at, self.unroll, self.parallel, self.compute_inline]
        self.moves += [self.compute_root, self.cache_write, self.set_scope]

    def play(self, turns: int) -> None:
        for _ in range(turns if self.looped() else 0):
            before = str(self.schedule.sequence)
            try:
                self.dice.choice(self.moves)(self.dice.choice(self.looped()))
            except ScheduleError:
                assert str(self.schedule.sequence) == before, "a refused primitive left a trace"

    def looped(self) -> list[Stage]:
        """The stages with loops: not the ones that compute a single element."""
        return [stage for stage in self.schedule.stages if stage.leaf]

    def split(self, stage: Stage) -> None:
        axis = self.dice.choice(stage.leaf)
        if self.dice.random() < 0.7:
            stage.split(axis, self.dice.choice((*EXTENTS, 4)))
        else:
            stage.split(axis, nparts=self.dice.randint(1, 5))

    def reorder(self, stage: Stage) -> None:
        stage.reorder(*self.dice.sample(stage.leaf, self.dice.randint(1, len(stage.leaf))))

    def fuse(self, stage: Stage) -> None:
        start = self.dice.randrange(len(stage.leaf))
        stage.fuse(*stage.leaf[start : start + self.dice.randint(2, 3)])

    def vectorize(self, stage: Stage) -> None:
        stage.vectorize(self.dice.choice(stage.leaf[-2:]))

    def unroll(self, stage: Stage) -> None:
        stage.unroll(self.dice.choice([axis for axis in stage.leaf if axis.extent <= 16] or stage.leaf))

    def parallel(self, stage: Stage) -> None:
        stage.parallel(self.dice.choice(stage.leaf[:2]))

    def compute_at(self, stage: Stage) -> None:
        used = {use.operation.parent_op() for use in stage.compute.result.uses}
        readers = [reader for reader in self.looped() if reader.compute in used] or self.looped()
        host = self.dice.choice(readers if self.dice.random() < 0.85 else self.looped())
        stage.compute_at(host, self.dice.choice(host.leaf))

    def compute_inline(self, stage: Stage) -> None:
        stage.compute_inline()

    def compute_root(self, stage: Stage) -> None:
        stage.compute_root()

    def cache_write(self, stage: Stage) -> None:
        self.schedule.cache_write(stage, self.dice.choice(("local", "global")))

    def set_scope(self, stage: Stage) -> None:
        stage.set_scope(self.dice.choice(("local", "global")))


@pytest.mark.parametrize("seed", range(CASES))
def test_a_schedule_changes_no_numbers(seed: int, make_net: Callable[..., Any], run_schedule: Callable[..., Any]):
    dice = Dice(seed)
    setup = Setup(dice, make_net)
    result = dice.choice(FAMILIES)(setup)
    module = setup.net.finish(result)
    (want,) = evaluate_module(module, setup.arrays)
    # Some schedules cannot be carried out, which shows when they are lowered: then another is tried.
    for _ in range(20):
        (func,) = (op for op in module.ops if isinstance(op, FuncOp))
        schedule = Schedule(lower_function(func))
        Player(schedule, dice).play(dice.randint(0, 20))
        out = np.full(want.shape, np.nan, np.float32)
        try:
            run_schedule(schedule, *setup.arrays, out)
        except ScheduleError:
            continue
        np.testing.assert_allclose(out, np.asarray(want, np.float32), rtol=1e-4, atol=1e-5)
        return
    pytest.fail("20 schedules were refused")
