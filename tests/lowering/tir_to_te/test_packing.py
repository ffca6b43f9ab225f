# pyright: reportUnknownLambdaType=false
"""Convolutions that somebody wrote as loops are computed in blocks of channels, where that takes less time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects.builtin import UnknownLoc

import whence
from whence import relay
from whence.dialects.te import FuncOp
from whence.kernels.building import scheduled
from whence.lowering.relay_to_te.packing import prepare
from whence.lowering.tir_to_te.raising import raised
from whence.provenance.span import leaves, positions

PLAIN = """
@T.prim_func
def f(a: T.Buffer(({n}, {i}, {h}, {w}), "{dtype}"), b: T.Buffer({weight}, "{dtype}"), c: T.Buffer({result}, "{dtype}")):
    for n, o, y, x in T.grid{result}:
        c[n, o, y, x] = T.{dtype}(0)
        for {loops} in T.grid({extents}):
            c[n, o, y, x] = c[n, o, y, x] + (
                a[n, k, y * {step} + p, x * {step} + q]
                * b[{at}]
            )
"""


def convolution(
    image: Sequence[int],
    filters: int,
    window: int,
    step: int = 1,
    *,
    kernel: str = "okpq",
    over: str = "kpq",
    dtype: str = "float32",
) -> str:
    """The loops of a convolution; kernel: the dimensions of the weight; over: the loops of the sum, outermost first."""
    n, i, h, w = image
    extents = {"o": filters, "k": i, "p": window, "q": window}
    out = [(extent - window) // step + 1 for extent in (h, w)]
    return PLAIN.format(
        n=n, i=i, h=h, w=w, dtype=dtype, step=step,
        weight=tuple(extents[letter] for letter in kernel),
        result=(n, filters, *out),
        loops=", ".join(over),
        extents=", ".join(str(extents[letter]) for letter in over),
        at=", ".join(kernel),
    )  # fmt: skip


def expected(data: NDArray[Any], weight: NDArray[Any], kernel: str, window: int, step: int) -> NDArray[Any]:
    views = np.lib.stride_tricks.sliding_window_view(data, (window, window), (2, 3))[:, :, ::step, ::step]
    return np.einsum(f"nkyxpq,{kernel}->noyx", views, weight, optimize=True)


def tags(func: FuncOp) -> list[str]:
    return [str(getattr(compute.attributes.get("tag"), "data", "")) for compute in func.computes]


CASES = [
    ((1, 16, 10, 12), 16, 3, 1, "okpq", "kpq", "float32"),
    ((2, 24, 9, 9), 48, 3, 2, "okpq", "pqk", "float32"),
    ((1, 3, 21, 21), 32, 7, 2, "okpq", "kpq", "float32"),
    ((3, 32, 8, 4), 32, 1, 1, "okpq", "kpq", "float32"),
    ((1, 32, 7, 5), 32, 1, 1, "okpq", "kpq", "float32"),
    ((1, 32, 9, 9), 64, 1, 2, "okpq", "kpq", "float32"),
    ((1, 16, 8, 8), 24, 3, 1, "pqko", "qpk", "float64"),
    ((1, 16, 12, 12), 32, 5, 1, "kpqo", "kqp", "float32"),
]


@pytest.mark.parametrize(("image", "filters", "window", "step", "kernel", "over", "dtype"), CASES)
def test_convolutions_are_packed_and_compute_the_same(
    image: Sequence[int], filters: int, window: int, step: int, kernel: str, over: str, dtype: str
) -> None:
    text = convolution(image, filters, window, step, kernel=kernel, over=over, dtype=dtype)
    func = whence.script.from_source(text).op
    assert tags(prepare(raised(func))) == ["", "", "conv2d_NCHWc", ""]
    rng = np.random.default_rng(0)
    extents = {"o": filters, "k": image[1], "p": window, "q": window}
    data, weight = (
        rng.standard_normal(shape).astype(dtype) for shape in (image, [extents[letter] for letter in kernel])
    )
    found = whence.build(func)(data, weight)
    np.testing.assert_allclose(found, expected(data, weight, kernel, window, step), rtol=1e-4, atol=1e-4)


def test_stages_that_pack_are_located_where_their_operand_is_read() -> None:
    text = convolution((1, 16, 10, 12), 16, 3)
    lines = text.splitlines()
    image, weight = (next(n for n, line in enumerate(lines, 1) if part in line) for part in ("a[n,", "* b[o"))
    func = prepare(raised(whence.script.from_source(text).op))
    packed_image, packed_weight, *_ = func.computes
    for compute, line in ((packed_image, image), (packed_weight, weight)):
        places = {place.line for op in compute.walk() for leaf in leaves(op.location) for place in positions(leaf)}
        assert places == {line}
    assert not any(isinstance(op.location, UnknownLoc) for op in func.walk())


@pytest.mark.parametrize(
    ("image", "filters", "window", "step"),
    [((1, 16, 9, 9), 10, 3, 1), ((1, 16, 9, 9), 18, 3, 1), ((1, 32, 8, 8), 16, 1, 1), ((1, 32, 9, 9), 32, 1, 2)],
)
def test_convolutions_that_packing_costs_more_stay(image: Sequence[int], filters: int, window: int, step: int) -> None:
    func = whence.script.from_source(convolution(image, filters, window, step)).op
    assert tags(prepare(raised(func))) == ["conv2d_nchw"]


def test_a_convolution_in_a_graph_is_packed_and_what_reads_it_ends_it() -> None:
    kernel = whence.script.from_source(convolution((1, 16, 10, 12), 32, 3))
    x, weight = relay.var("x", shape=(1, 16, 10, 12)), relay.var("weight", shape=(32, 16, 3, 3))
    main = relay.Function([x, weight], relay.nn.relu(relay.call_tir("f", [x, weight])))
    exe = whence.compile(whence.IRModule({"main": main, "f": kernel}))
    assert len(exe.artifact.kernels) == 1
    loops = exe.get_source(0, "tir")
    assert "c_NCHWc" in loops
    assert not re.search(r"%c(_\d+)? = tir.alloc", loops)
    rng = np.random.default_rng(0)
    data, numbers = (rng.standard_normal(s).astype(np.float32) for s in ((1, 16, 10, 12), (32, 16, 3, 3)))
    want = np.maximum(expected(data, numbers, "okpq", 3, 1), 0)
    np.testing.assert_allclose(exe(data, numbers), want, rtol=1e-4, atol=1e-4)


def test_the_strategy_of_a_packed_convolution_is_that_of_blocks() -> None:
    func = whence.script.from_source(convolution((1, 16, 10, 12), 32, 3)).op
    assert '"conv2d_NCHWc"' in str(scheduled(func).attributes["raised"])
