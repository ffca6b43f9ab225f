"""How long a large schedule takes: a te graph of 60 stages with 300 primitives is built, scheduled and lowered.

    python benchmarks/schedule_time.py [BLOCKS ...]

A block is a residual network's: a padded convolution, a bias and relu, a 1x1 convolution, the mean of each channel, and
a gate, a matrix-vector product; 6 stages. Its schedule has 30 primitives of the record. Times are medians in a warm
process. `schedule` is from the expressions to the last primitive, `lower` from there to loops, `passes` all tir passes
on these. Twice the blocks should take twice the time.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any

from whence import te
from whence.kernels import lower
from whence.passes.tir.pipeline import run_tir_passes
from whence.te.language.tensor import Tensor
from whence.te.schedule.schedule import Schedule

BLOCKS = (10, 20)
STAGES = 6
PRIMITIVES = 30
REPEATS = 7


@dataclass(frozen=True)
class Block:
    """The tensors of a block: the weights, then the stages in order."""

    weights: tuple[Tensor, ...]
    pad: Tensor
    conv: Tensor
    relu: Tensor
    mix: Tensor
    mean: Tensor
    out: Tensor


def block(x: Tensor, number: int, channels: int, size: int) -> Block:
    """`out = x + mix * mean(mix)`, where mix is a 1x1 convolution of relu(conv3x3(x) + bias)."""
    n = str(number)
    kernel = te.placeholder((channels, channels, 3, 3), name=f"kernel{n}")
    bias = te.placeholder((channels,), name=f"bias{n}")
    square = te.placeholder((channels, channels), name=f"square{n}")

    def padded(c: Any, y: Any, x_: Any) -> Any:
        inside = te.all(y >= 1, y <= size, x_ >= 1, x_ <= size)
        return te.if_then_else(inside, x[c, y - 1, x_ - 1], 0.0)

    pad = te.compute((channels, size + 2, size + 2), padded, name=f"pad{n}")
    axes = [te.reduce_axis((0, extent), name=name) for name, extent in (("rc", channels), ("ry", 3), ("rx", 3))]
    rc, ry, rx = axes
    shape = (channels, size, size)
    conv = te.compute(
        shape, lambda f, y, x: te.sum(pad[rc, y + ry, x + rx] * kernel[f, rc, ry, rx], axis=axes), name=f"conv{n}"
    )
    relu = te.compute(shape, lambda f, y, x: te.maximum(conv[f, y, x] + bias[f], 0.0), name=f"relu{n}")
    k = te.reduce_axis((0, channels), name="k")
    mix = te.compute(shape, lambda f, y, x: te.sum(square[f, k] * relu[k, y, x], axis=k), name=f"mix{n}")
    u, v = te.reduce_axis((0, size), name="u"), te.reduce_axis((0, size), name="v")
    mean = te.compute((channels,), lambda f: te.sum(mix[f, u, v] * (1.0 / (size * size)), axis=[u, v]), name=f"mean{n}")
    out = te.compute(shape, lambda f, y, x_: x[f, y, x_] + mix[f, y, x_] * mean[f], name=f"out{n}")
    return Block((kernel, bias, square), pad, conv, relu, mix, mean, out)


def network(blocks: int, channels: int = 16, size: int = 28) -> tuple[list[Tensor], list[Block]]:
    """The arguments and the blocks, each of the result of the one before."""
    x = te.placeholder((channels, size, size), name="x")
    arguments, made = [x], list[Block]()
    for number in range(blocks):
        made.append(block(x, number, channels, size))
        arguments += made[-1].weights
        x = made[-1].out
    return arguments, made


def schedule_block(s: Schedule, b: Block) -> None:
    """30 primitives of the record."""
    relu, conv, pad = s[b.relu], s[b.conv], s[b.pad]
    f, _, x = relu.op.axis
    f_outer, _, _, x_inner = relu.tile(f, x, 4, 8)
    relu.vectorize(x_inner)
    relu.parallel(f_outer)
    conv.compute_at(relu, f_outer)
    f, y, x = conv.op.axis
    rc, ry, rx = conv.op.reduce_axis
    rc_outer, rc_inner = conv.split(rc, 4)
    x_outer, x_inner = conv.split(x, factor=8)
    conv.reorder(rc_outer, y, x_outer, rc_inner, ry, rx, f, x_inner)
    conv.vectorize(x_inner)
    conv.unroll(rx)
    conv.unroll(f)
    pad.compute_at(conv, rc_outer)
    pad.pragma(pad.op.axis[0], "auto_unroll_max_step", 16)

    mix = s[b.mix]
    cache = s.cache_write(b.mix, "local")
    f, y, x = mix.op.axis
    x_outer, x_inner = mix.split(x, factor=8)
    rows = mix.fuse(f, y)
    mix.parallel(rows)
    cache.compute_at(mix, x_outer)
    cache.vectorize(cache.op.axis[2])
    cache.unroll(cache.split(cache.op.reduce_axis[0], nparts=4)[1])

    mean = s[b.mean]
    mean.parallel(mean.split(mean.op.axis[0], nparts=4)[0])
    mean.unroll(mean.split(mean.op.reduce_axis[1], factor=4)[1])
    out = s[b.out]
    out.parallel(out.op.axis[0])
    out.vectorize(out.split(out.op.axis[2], factor=7)[1])


def scheduled(blocks: int, channels: int = 16, size: int = 28) -> Schedule:
    """The network of so many blocks with its schedule."""
    arguments, made = network(blocks, channels, size)
    s = te.create_schedule(made[-1].out, inputs=arguments)
    for one in made:
        schedule_block(s, one)
    return s


def measure(blocks: int) -> tuple[float, float, float]:
    """Seconds to schedule, to lower to loops, and to run the tir passes."""
    begin = perf_counter()
    schedule = scheduled(blocks)
    middle = perf_counter()
    func = lower(schedule, simple_mode=True)
    end = perf_counter()
    run_tir_passes(func)
    return middle - begin, end - middle, perf_counter() - end


def report(counts: Sequence[int]) -> None:
    """Print a line per number of blocks."""
    names = ("schedule", "lower", "passes", "sum")
    print(f"{'stages':>8}{'primitives':>12}{''.join(f'{name:>12}' for name in names)}{'per primitive':>16}")
    for blocks in counts:
        primitives = len(scheduled(blocks).primitive_record) - 1
        runs = [measure(blocks) for _ in range(REPEATS)]
        parts = [median(run[i] for run in runs) for i in range(3)]
        seconds = "".join(f"{part:10.3f} s" for part in (*parts, sum(parts)))
        print(f"{blocks * STAGES:8}{primitives:12}{seconds}{sum(parts) / primitives * 1e3:13.2f} ms")


if __name__ == "__main__":
    report([int(argument) for argument in sys.argv[1:]] or BLOCKS)
