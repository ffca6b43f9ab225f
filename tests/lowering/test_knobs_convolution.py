"""Every legal decision about a convolution or a pooling computes what numpy does."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from fenced_kernels import run_kernel
from knob_values import check_free_knobs
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.parser import Parser

from whence.dialects.relay import Relay
from whence.dialects.relay.core import FuncOp
from whence.lowering.kernel.few_rows import lower_scheduled
from whence.lowering.kernel.slots import anonymous
from whence.lowering.kernel.space import kernel_space
from whence.lowering.llvm_to_native.target import Target
from whence.lowering.relay_to_te.cost import Rates
from whence.lowering.relay_to_te.lower import lower_function
from whence.passes.tir.pipeline import run_tir_passes
from whence.support.machine import Machine

Array = NDArray[Any]
Shape = tuple[int, ...]

CONVOLUTION = "relay.nn.contrib_conv2d_NCHWc"
DEPTHWISE = "relay.nn.contrib_depthwise_conv2d_NCHWc"
WINOGRAD = "relay.nn.contrib_conv2d_winograd_without_weight_transform"
LAYOUTS = 'data_layout = "NCHW16c", kernel_layout = "OIHW{}i16o", out_layout = "NCHW16c"'


class Kernel(NamedTuple):
    op: str
    shapes: tuple[Shape, ...]
    """Of the operands, then of the result."""
    attributes: str
    stride: int = 1
    padding: int = 0
    window: int = 1
    knobs: tuple[str, ...] = ()

    @property
    def func(self) -> FuncOp:
        """The primitive function: the operator, and relu behind it."""
        types = [f"tensor<{'x'.join(map(str, shape))}xf32>" for shape in self.shapes]
        names = [f"%{number}" for number in range(len(types) - 1)]
        arguments = ", ".join(f"{name}: {type_}" for name, type_ in zip(names, types, strict=False))
        text = f"""relay.func primitive @kernel({arguments}) -> ({types[-1]}) {{
          %8 = {self.op} {", ".join(names)} {{{self.attributes}}} : ({", ".join(types[:-1])}) -> {types[-1]}
          %9 = relay.nn.relu %8 : ({types[-1]}) -> {types[-1]}
          relay.return %9 : {types[-1]}
        }}"""
        context = Context()
        for dialect in (Builtin, Relay):
            context.load_dialect(dialect)
        func = Parser(context, text).parse_module().body.block.first_op
        assert isinstance(func, FuncOp)
        return anonymous(func)


def convolution(size: int, ins: int, outs: int, window: int, stride: int, padding: int, *knobs: str) -> Kernel:
    made = (size + 2 * padding - window) // stride + 1
    weight = (outs, ins, window, window, 16, 16)
    attributes = f"padding = {[padding] * 4}, strides = {[stride] * 2}, {LAYOUTS.format(16)}"
    shapes = ((2, ins, size, size, 16), weight, (2, outs, made, made, 16))
    return Kernel(CONVOLUTION, shapes, attributes, stride, padding, window, ("blocks", "pixels", *knobs))


def depthwise(size: int, stride: int, padding: int) -> Kernel:
    made = (size + 2 * padding - 3) // stride + 1
    attributes = f"padding = {[padding] * 4}, strides = {[stride] * 2}, groups = 32, {LAYOUTS.format(1)}"
    shapes = ((2, 2, size, size, 16), (2, 1, 3, 3, 1, 16), (2, 2, made, made, 16))
    knobs = ("kept_rows", "pixels", "unrolled_terms", *(["padded_rows"] if padding else []))
    return Kernel(DEPTHWISE, shapes, attributes, stride, padding, 3, knobs)


def winograd(rows: int, columns: int, ins: int, outs: int, padding: int) -> Kernel:
    made = (rows + 2 * padding - 2, columns + 2 * padding - 2)
    attributes = f"padding = {[padding] * 4}, {LAYOUTS.format(16).replace('OIHW', 'HWOI')}"
    shapes = ((2, ins, rows, columns, 16), (4, 4, outs, ins, 16, 16), (2, outs, *made, 16))
    knobs = ("kept_rows", "rows", "kept_blocks", "shared_data", "blocks", "pixels")
    return Kernel(WINOGRAD, shapes, attributes, 1, padding, 3, knobs)


def pool(data: Shape, result: Shape, layout: str) -> Kernel:
    attributes = f'pool_size = [3, 3], strides = [2, 2], padding = [1, 1, 1, 1], layout = "{layout}"'
    return Kernel("relay.nn.max_pool2d", (data, result), attributes, 2, 1, 3, ("pixels", "unrolled_terms"))


KERNELS = {
    "1x1": convolution(6, 2, 4, 1, 1, 0, "kept_pixels", "kept_blocks", "unrolled_terms"),
    "1x1, steps": convolution(9, 2, 4, 1, 2, 0, "kept_rows", "kept_blocks", "unrolled_terms"),
    "3x3": convolution(9, 1, 4, 3, 1, 1, "kept_rows", "kept_blocks", "unrolled_terms"),
    "3x3, much padding": convolution(4, 1, 4, 3, 1, 1, "kept_rows", "kept_blocks", "unrolled_terms", "skip_padding"),
    "depthwise": depthwise(10, 1, 1),
    "depthwise, steps": depthwise(13, 2, 1),
    "depthwise, whole": depthwise(10, 1, 0),
    "winograd": winograd(8, 12, 2, 4, 1),
    "winograd, odd": winograd(13, 9, 1, 2, 1),
    "winograd, whole": winograd(14, 10, 2, 2, 0),
    "pool in blocks": pool((1, 2, 14, 14, 16), (1, 2, 7, 7, 16), "NCHW16c"),
    "pool": pool((1, 4, 36, 36), (1, 4, 18, 18), "NCHW"),
}


def windows(data: Array, kernel: Kernel, outside: float) -> Array:
    """Blocked data -> (n, c, y, x, lanes, ky, kx)."""
    pad = [(0, 0), (0, 0), (kernel.padding,) * 2, (kernel.padding,) * 2, *[(0, 0)] * (data.ndim - 4)]
    padded = np.pad(data, pad, constant_values=outside)
    view: Array = np.lib.stride_tricks.sliding_window_view(padded, (kernel.window,) * 2, axis=(2, 3))
    return view[:, :, :: kernel.stride, :: kernel.stride]


def expected(kernel: Kernel, *operands: Array) -> Array:
    if kernel.op in (CONVOLUTION, WINOGRAD):
        result = np.einsum("ncyxikl,ockliz->noyxz", windows(operands[0], kernel, 0), operands[1])
    elif kernel.op == DEPTHWISE:
        result = np.einsum("ncyxikl,cdkldi->ncyxi", windows(operands[0], kernel, 0), operands[1])
    else:
        result = windows(operands[0], kernel, -np.inf).max(axis=(-1, -2))
    return np.maximum(result, 0)


def output(kernel: Kernel, operands: list[Array], decisions: dict[str, int]) -> Array:
    """The result of a kernel, in three threads; operands and result lie between fences."""
    machine = Target.native().hardware
    _, func = lower_scheduled(lower_function(kernel.func), machine, decisions)
    func.verify()
    run_tir_passes(func, machine)
    return run_kernel(func, operands, [np.zeros(kernel.shapes[-1], np.float32)], 2)[0]


def sample(kernel: Kernel, machine: Machine, count: int) -> list[dict[str, int]]:
    """Some points of a space, the default and one with each value of the knobs of two among them."""
    points = kernel_space(kernel.func, machine).points()
    draw = np.random.default_rng(3)
    chosen = {0, *draw.choice(len(points), min(count, len(points)), replace=False).tolist()}
    for column in points.columns.values():
        if len(values := np.unique(column)) == 2:
            chosen |= {int(draw.choice(np.flatnonzero(column == value))) for value in values.tolist()}
    return [points.decisions(point) for point in sorted(chosen)]


@pytest.mark.parametrize("name", KERNELS)
def test_all_points_compute_the_same(name: str):
    kernel, draw = KERNELS[name], np.random.default_rng(5)
    operands = [draw.standard_normal(shape).astype(np.float32) for shape in kernel.shapes[:-1]]
    if kernel.op == WINOGRAD:
        ins, outs = kernel.shapes[0][1], kernel.shapes[-1][1]
        operands[1] = draw.standard_normal((outs, ins, 3, 3, 16, 16)).astype(np.float32)
    right = expected(kernel, *operands)
    if kernel.op == WINOGRAD:
        points = np.array([[2, 0, 0], [1, 1, 1], [1, -1, 1], [0, 0, 2]]) / 2
        operands[1] = np.einsum("ak,bl,ockliz->abociz", points, points, operands[1]).astype(np.float32)
    for decisions in sample(kernel, Target.native().hardware, 6):
        result = output(kernel, operands, decisions)
        np.testing.assert_allclose(result, right, rtol=1e-4, atol=1e-4, err_msg=str(decisions))


@pytest.mark.parametrize("name", KERNELS)
def test_other_decisions_in_the_text_are_other_schedules(name: str):
    free, _ = check_free_knobs(lambda: lower_function(KERNELS[name].func), Machine.x86(512))
    assert free or name == "pool"


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("bits", [128, 512])
def test_spaces_are_large_enough_and_not_too_large(name: str, bits: int):
    space = kernel_space(KERNELS[name].func, Machine.x86(bits))
    points = space.points()
    assert {knob.name for knob in space.knobs} >= set(KERNELS[name].knobs)
    assert 8 <= len(points) < 4000
    costs = points.costs(Rates())
    assert (costs > 0).all()
    assert len(np.unique(costs)) >= min(8, len(points) // 8)


def test_a_tile_of_one_sum_waits_for_it():
    points = kernel_space(KERNELS["3x3"].func, Machine.x86(512)).points()
    costs = points.costs(Rates())
    single = (points.columns["pixels"] == 1) & (points.columns["blocks"] == 1)
    assert costs[single].min() > 2 * costs.min()
