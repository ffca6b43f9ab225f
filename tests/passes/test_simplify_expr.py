"""relay-simplify-expr, rewrite by rewrite: what is left, which layers it names, and the same numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from relay_nets import Net, check, layers, names
from xdsl.ir import SSAValue

from whence.dialects.element_types import DTYPES, numpy_dtype
from whence.dialects.relay import elementwise as e
from whence.dialects.relay import nn
from whence.dialects.relay import transform as t
from whence.dialects.relay.canonicalization.casts import is_exact
from whence.dialects.relay.collapse import CollapseSumLikeOp
from whence.dialects.relay.creation import FullLikeOp, FullOp, OnesOp, ZerosOp
from whence.dialects.relay.qnn import DequantizeOp
from whence.dialects.relay.rearrange import BroadcastToLikeOp, ReshapeLikeOp
from whence.dialects.relay.reduce import ArgMaxOp, ArgMinOp
from whence.dialects.relay.shapes import ContribReverseReshapeOp
from whence.dialects.relay.sorting import ArgsortOp
from whence.passes.relay.simplify_expr import SimplifyExprPass
from whence.passes.relay.simplify_expr_post_alter_op import SimplifyExprPostAlterOpPass

Array = npt.NDArray[Any]
Build = Callable[[Net, SSAValue], SSAValue]
F = np.float32
RNG = np.random.default_rng(5)
A, B = RNG.standard_normal((3, 1)).astype(F), RNG.standard_normal((4,)).astype(F)


def simplified(x: Array, build: Build, one: Any = None, tolerance: float = 1e-5) -> list[str]:
    """What is left of `build` on an input, after the pass was held against the numbers."""
    net = Net(x)
    net.finish(build(net, net.inputs[0]))
    check(net, one or SimplifyExprPass(), tolerance=tolerance)
    return names(net.module)


X = RNG.standard_normal((2, 3, 4)).astype(F)


def scalar(value: float, dtype: Any = F) -> Array:
    return np.array(value, dtype)


CASES: dict[str, tuple[Build, list[str]]] = {
    "zeros_like": (lambda n, x: n(e.MaximumOp, x, n(e.ZerosLikeOp, n(e.ExpOp, x))), ["maximum"]),
    "ones_like": (lambda n, x: n(e.PowerOp, n(e.OnesLikeOp, x), x), ["power"]),
    "full_like": (lambda n, x: n(e.MinimumOp, n(FullLikeOp, x, scalar(0.25)), x), ["minimum"]),
    "reshape_like": (lambda n, x: n(ReshapeLikeOp, x, np.zeros((6, 4), F)), ["reshape"]),
    "collapse_sum_like": (lambda n, x: n(CollapseSumLikeOp, x, np.zeros((3, 1), F)), ["collapse_sum_to"]),
    "broadcast_to_like": (lambda n, x: n(BroadcastToLikeOp, x, np.zeros((5, 2, 3, 4), F)), ["broadcast_to"]),
    "cast_like": (lambda n, x: n(e.CastLikeOp, x, np.zeros(1, np.int8)), ["cast"]),
    "cast_like of the same": (lambda n, x: n(e.TanhOp, n(e.CastLikeOp, x, np.zeros(1, F))), ["tanh"]),
    "x + x": (lambda n, x: n(e.AddOp, x, x), ["multiply"]),
    "1 / sqrt": (lambda n, x: n(e.DivideOp, scalar(1), n(e.SqrtOp, n(e.ExpOp, x))), ["exp", "rsqrt"]),
    "2 / sqrt": (lambda n, x: n(e.DivideOp, scalar(2), n(e.SqrtOp, n(e.ExpOp, x))), ["exp", "rsqrt", "multiply"]),
    "x + zeros": (lambda n, x: n(e.TanhOp, n(e.AddOp, x, n(ZerosOp, shape=(3, 4), dtype="float32"))), ["tanh"]),
    "x * ones": (lambda n, x: n(e.TanhOp, n(e.MultiplyOp, n(OnesOp, shape=(4,), dtype="float32"), x)), ["tanh"]),
    "x - full": (
        lambda n, x: n(e.TanhOp, n(e.SubtractOp, x, n(FullOp, scalar(0), shape=(4,), dtype="float32"))),
        ["tanh"],
    ),
    "zeros - x": (lambda n, x: n(e.SubtractOp, n(ZerosOp, shape=(4,), dtype="float32"), x), ["zeros", "subtract"]),
    "x + larger zeros": (
        lambda n, x: n(e.AddOp, x, n(ZerosOp, shape=(5, 2, 3, 4), dtype="float32")),
        ["zeros", "add"],
    ),
    "reverse reshape": (
        lambda n, x: n(ContribReverseReshapeOp, n(t.ReshapeOp, x, newshape=(6, 4)), newshape=(-1, 2)),
        ["reshape"],
    ),
    "x + a + b": (lambda n, x: n(e.AddOp, n(e.AddOp, x, A), A), ["add"]),
    "a * x * b * c": (
        lambda n, x: n(e.MultiplyOp, n(e.MultiplyOp, n(e.MultiplyOp, scalar(0.5), x), B), scalar(3)),
        ["multiply"],
    ),
    "constants that grow": (lambda n, x: n(e.MultiplyOp, n(e.MultiplyOp, x, A), B), ["multiply", "multiply"]),
    "(x + a) * b": (lambda n, x: n(e.MultiplyOp, n(e.AddOp, x, A), scalar(3)), ["multiply", "add"]),
    "((x * a + b) * c + d) * e": (
        lambda n, x: n(
            e.MultiplyOp,
            n(e.AddOp, n(e.MultiplyOp, n(e.AddOp, n(e.MultiplyOp, x, scalar(2)), B), scalar(5)), B),
            scalar(0.5),
        ),
        ["multiply", "add"],
    ),
    "clip to everything": (lambda n, x: n(e.TanhOp, n(e.ClipOp, x, a_min=-np.inf, a_max=np.inf)), ["tanh"]),
    "square of a sum": (
        lambda n, x: n(
            e.AddOp,
            n(e.AddOp, n(e.MultiplyOp, x, x), n(e.MultiplyOp, n(e.MultiplyOp, x, y := n(e.TanhOp, x)), scalar(2))),
            n(e.MultiplyOp, y, y),
        ),
        ["tanh", "add", "multiply"],
    ),
    "square of a sum, by powers": (
        lambda n, x: n(
            e.AddOp,
            n(e.AddOp, n(e.PowerOp, x, scalar(2)), n(e.PowerOp, y := n(e.TanhOp, x), scalar(2))),
            n(e.AddOp, n(e.MultiplyOp, x, y), n(e.MultiplyOp, y, x)),
        ),
        ["tanh", "add", "multiply"],
    ),
    "no square": (
        lambda n, x: n(
            e.AddOp,
            n(e.AddOp, n(e.MultiplyOp, x, x), n(e.MultiplyOp, n(e.MultiplyOp, x, y := n(e.TanhOp, x)), scalar(3))),
            n(e.MultiplyOp, y, y),
        ),
        ["multiply", "tanh", "multiply", "multiply", "add", "multiply", "add"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_rewrites(case: str) -> None:
    build, expected = CASES[case]
    assert simplified(X, build) == expected


BIG, TINY = scalar(1e30), scalar(1e-30)


OUT_OF_RANGE: list[tuple[float, Build]] = [
    (1e-30, lambda n, x: n(e.MultiplyOp, n(e.MultiplyOp, x, BIG), BIG)),
    (1e30, lambda n, x: n(e.MultiplyOp, n(e.MultiplyOp, x, TINY), TINY)),
    (-3e38, lambda n, x: n(e.AddOp, n(e.AddOp, x, scalar(3e38)), scalar(3e38))),
    (-1e30, lambda n, x: n(e.MultiplyOp, n(e.AddOp, x, BIG), BIG)),
    (1.0, lambda n, x: n(e.MultiplyOp, n(e.AddOp, x, scalar(1)), scalar(np.inf))),
]


@pytest.mark.parametrize(("x", "build"), OUT_OF_RANGE)
def test_constants_that_leave_the_range_stay_apart(x: float, build: Build) -> None:
    assert len(simplified(np.full((2,), x, F), build, tolerance=1e-6)) == 2


def test_what_others_read_is_not_computed_twice() -> None:
    net = Net(X)
    shifted = net(e.AddOp, net.inputs[0], A)
    root = net(e.SqrtOp, net(e.ExpOp, net.inputs[0]))
    net.finish(shifted, root, net(e.MultiplyOp, shifted, scalar(2)), net(e.DivideOp, shifted, root))
    before = names(net.module)
    check(net, SimplifyExprPass())
    assert names(net.module) == before


TRANSPOSED: dict[str, tuple[Sequence[str | tuple[int, ...]], list[str]]] = {
    "back where it was": (["NCHW>NHWC", "NHWC>NCHW"], []),
    "three moves": ([(0, 2, 3, 1), "NHWC>HWCN", (3, 0, 1, 2)], ["transpose"]),
    "into blocks": ([(0, 2, 3, 1), "NHWC>NCHW4c"], ["layout_transform"]),
    "into blocks and out": (["NCHW>NCHW4c", "NCHW4c>NCHW"], []),
    "out another way": (["NCHW>NCHW4c", "NCHW4c>NHWC"], ["transpose"]),
    "other blocks": (["NCHW>NCHW4c", "NCHW4c>NCHW2c"], ["layout_transform"]),
    "blocks moved": (["NCHW>NCHW4c", (4, 0, 1, 2, 3)], ["layout_transform"]),
    "all blocks": (["NCHW>NCHW8c", "NCHW8c>NHWC"], ["transpose"]),
}


@pytest.mark.parametrize("case", TRANSPOSED)
def test_moves(case: str) -> None:
    steps, expected = TRANSPOSED[case]

    def build(n: Net, x: SSAValue) -> SSAValue:
        for step in steps:
            if isinstance(step, str):
                src, _, dst = step.partition(">")
                x = n(t.LayoutTransformOp, x, src_layout=src, dst_layout=dst)
            else:
                x = n(t.TransposeOp, x, axes=step)
        return n(e.TanhOp, x)

    x = RNG.standard_normal((2, 8, 3, 5)).astype(F)
    assert simplified(x, build) == [*expected, "tanh"]


def casts(*dtypes: str) -> Build:
    def build(n: Net, x: SSAValue) -> SSAValue:
        for dtype in dtypes:
            x = n(e.CastOp, x, dtype=dtype)
        return n(e.NegativeOp, x)

    return build


@pytest.mark.parametrize(
    ("start", "dtypes", "left"),
    [
        ("int8", ("int16", "int32", "float32"), 1),
        ("int8", ("int16", "int32", "int8"), 0),
        ("int8", ("int32", "int16", "int64", "int16"), 1),
        ("int64", ("int32", "int64"), 2),
        ("int32", ("float32", "int32"), 2),
        ("int8", ("uint8", "int32"), 2),
        ("uint8", ("float16", "int32"), 1),
        ("float32", ("bfloat16", "float32"), 2),
        ("float16", ("float32", "float64", "int32"), 1),
        ("float16", ("bfloat16", "float32"), 2),
        ("bool", ("float32", "int8"), 1),
    ],
)
def test_casts(start: str, dtypes: Sequence[str], left: int) -> None:
    x = (RNG.standard_normal(50) * 100).astype(numpy_dtype(DTYPES[start]))
    for one in (SimplifyExprPass(), SimplifyExprPostAlterOpPass()):
        assert simplified(x, casts(*dtypes), one, tolerance=0) == ["cast"] * left + ["negative"]


@pytest.mark.parametrize(
    ("start", "clip", "dtypes", "left"),
    [
        ("int32", (0, 255), ("uint8", "int32"), ["clip"]),
        ("int32", (0, 256), ("uint8", "int32"), ["clip", "cast", "cast"]),
        ("int32", (-128, 127), ("int8", "float32"), ["clip", "cast"]),
        ("float32", (0, 255), ("uint8", "float32"), ["clip", "cast", "cast"]),
        ("int8", (-128, 127), (), []),
        ("uint8", (0, 254), (), ["clip"]),
    ],
)
def test_casts_behind_clips(start: str, clip: tuple[int, int], dtypes: Sequence[str], left: list[str]) -> None:
    x = (RNG.standard_normal(50) * 100).astype(start)
    low, high = map(float, clip)
    assert simplified(x, lambda n, x: casts(*dtypes)(n, n(e.ClipOp, x, a_min=low, a_max=high)), tolerance=0) == [
        *left,
        "negative",
    ]


COMMON = [name for name in DTYPES if not name.startswith(("float8", "float4", "int4", "uint4", "int2", "uint2"))]


@pytest.mark.parametrize("source", COMMON)
def test_exact_casts_bring_every_number_back(source: str) -> None:
    """Numbers at the edges of what a dtype can tell apart, there and back; those that are lost make a cast inexact."""
    made = numpy_dtype(DTYPES[source])
    edges: list[float] = [0.0, 1.0]
    if source.startswith(("int", "uint")):
        info = np.iinfo(source)
        edges = [info.min, info.max, info.max - 1, *(n for n in (2**10 + 1, 2**24 + 1) if n <= info.max)]
    elif source != "bool":
        edges = [1 + 2.0**-7, 1 + 2.0**-10, 1 + 2.0**-23, 1 + 2.0**-52, 1e-7, 6e4, 1e38, 1e-45, 1e300, 0.1]
    with np.errstate(all="ignore"):
        x = np.array(edges, made)
        for target in COMMON:
            there = x.astype(numpy_dtype(DTYPES[target]))
            back = there.astype(made)
            same = there.astype(object) == x.astype(object) if "float" not in source + target else back == x
            kept = bool(np.all(same | (x != x)))
            assert is_exact(DTYPES[source], DTYPES[target]) <= kept, target


@pytest.mark.parametrize("cls", [ArgMaxOp, ArgMinOp, ArgsortOp])
@pytest.mark.parametrize(("scale", "changes"), [(0.1, True), (-0.1, False), ([0.1, 0.2, 0.3, 0.4], False)])
def test_order_of_quantised_numbers(cls: Any, scale: Any, changes: bool) -> None:
    x = RNG.integers(-128, 128, (3, 4)).astype(np.int8)
    axis = {"axis": 1} if cls is ArgsortOp else {"axis": (1,)}

    def build(n: Net, x: SSAValue) -> SSAValue:
        return n(cls, n(DequantizeOp, x, np.array(scale, F), np.array(3, np.int32), axis=1), **axis)

    assert len(simplified(x, build, tolerance=0)) == (1 if changes else 2)


def test_layers_of_a_factor_that_moves_in_front_of_a_term() -> None:
    """The product stands for the multiplication, the sum for the addition, the new term for both and the constants."""
    net = Net(X)
    net.finish(net(e.MultiplyOp, net(e.AddOp, net.inputs[0], A), scalar(3)))
    check(net, SimplifyExprPass())
    assert layers(net.module) == {
        "multiply": [("layer2",)],
        "add": [("layer1",)],
        "constant": [("layer2.p1",), ("layer2", "layer1", "layer2.p1", "layer1.p1")],
    }


@pytest.mark.parametrize("kind", [e.MultiplyOp, e.AddOp, e.CastOp, t.TransposeOp])
def test_long_chains(kind: Any) -> None:
    """1,200 in a row, more than the recursion limit, become one."""
    net = Net(X[0])
    value, half = net.inputs[0], net.constant(scalar(1.0001), "half")
    for index in range(1_200):
        if kind is e.CastOp:
            value = net(kind, value, dtype="float64" if index % 2 == 0 else "float32")
        else:
            value = net(kind, value) if kind is t.TransposeOp else net(kind, value, half)
    net.finish(net(e.TanhOp, value))
    SimplifyExprPass().apply(None, net.module)  # type: ignore[arg-type]
    assert len(names(net.module)) <= 2


@pytest.mark.parametrize("batches", [(6, 6), (1, 6)])
def test_products_keep_the_batches_that_reshapes_took_apart(batches: tuple[int, int]) -> None:
    net = Net(RNG.standard_normal((2, 3, 4, 5) if batches[0] > 1 else (1, 1, 4, 5)).astype(F))
    left = net(t.ReshapeOp, net.inputs[0], newshape=(batches[0], 4, 5))
    right = net(t.ReshapeOp, net.random(2, 3, 5, 7), newshape=(batches[1], 5, 7))
    product = net(nn.BatchMatmulOp, left, right, transpose_b=False)
    net.finish(net(e.TanhOp, net(t.ReshapeOp, product, newshape=(2, 3, 4, 7))))
    check(net, SimplifyExprPass())
    assert names(net.module) == ["nn.batch_matmul", "tanh"]


@pytest.mark.parametrize("case", ["rows", "another reader", "no reshape"])
def test_products_whose_batches_stay_together(case: str) -> None:
    net = Net(RNG.standard_normal((2, 3, 4, 5)).astype(F))
    x = net.inputs[0]
    left = net(t.ReshapeOp, x, newshape=(6, 4, 5))
    right = (
        net.random(6, 5, 7) if case == "no reshape" else net(t.ReshapeOp, net.random(2, 3, 5, 7), newshape=(6, 5, 7))
    )
    product = net(nn.BatchMatmulOp, left, right, transpose_b=False)
    apart = net(t.ReshapeOp, product, newshape=(6, 2, 2, 7) if case == "rows" else (2, 3, 4, 7))
    net.finish(net(e.TanhOp, apart), *([net(e.ExpOp, product)] if case == "another reader" else []))
    check(net, SimplifyExprPass())
    assert names(net.module).count("reshape") == (2 if case == "no reshape" else 3)
