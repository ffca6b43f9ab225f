"""Gradients agree with differences of values, in float64, for every operator that has a rule."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from gradient_checks import Array, Make, case, check, distinct, floats, module_of, positive
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from whence.dialects.relay import (
    OPERATORS,
    collapse,
    convolution,
    creation,
    logic,
    loss,
    matmul,
    normalization,
    pooling,
    rearrange,
)
from whence.dialects.relay import elementwise as e
from whence.dialects.relay import reduce as r
from whence.dialects.relay import transform as t
from whence.dialects.relay.indexing import OneHotOp
from whence.dialects.relay.interpret import evaluate_module
from whence.dialects.relay.operator import Operator
from whence.dialects.relay.traits import Flat
from whence.passes.pipelines import run_passes
from whence.passes.relay.analysis.traversal import functions_of
from whence.passes.relay.first_order_gradient import FirstOrderGradientPass, gradient
from whence.passes.relay.gradients.table import RULES

Parse = Callable[[str], ModuleOp]


UNARY: dict[type[Operator], Callable[..., Array]] = {
    op: positive if op in (e.LogOp, e.Log2Op, e.Log10Op, e.Log1pOp, e.SqrtOp, e.RsqrtOp) else floats
    for op in OPERATORS
    if issubclass(op, e.Unary) and op.RESULT is None and (op in RULES or op.has_trait(Flat))
    if op not in (e.AcoshOp, e.CastOp, e.ClipOp, e.LogicalNotOp)
}


def test_flat_operators_have_one_operand() -> None:
    several = [op.name for op in OPERATORS if op.has_trait(Flat) and len(op.get_irdl_definition().operands) > 1]
    assert several == []


@pytest.mark.parametrize("op", UNARY, ids=lambda op: op.name)
def test_unary(op: type[Operator]) -> None:
    arrays = [UNARY[op](2, 3) * 0.9]
    check(module_of(op, arrays), arrays)


@pytest.mark.parametrize(
    "op",
    [e.AddOp, e.SubtractOp, e.MultiplyOp, e.DivideOp, e.PowerOp, e.MaximumOp, e.MinimumOp, e.Atan2Op, e.HypotOp],
    ids=lambda op: op.name,
)
@pytest.mark.parametrize("shapes", [((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (4, 1, 3))], ids=str)
def test_binary(op: type[Operator], shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    arrays = [positive(*shapes[0]), positive(*shapes[1]) + 0.05]
    check(module_of(op, arrays), arrays)


INDICES = np.array([[0, 2], [2, 5]], np.int32)
IMAGE = distinct(1, 2, 5, 4)
CASES = [
    case("acosh", e.AcoshOp, positive(3) + 1.5),
    case("clip", e.ClipOp, dict(a_min=-0.33, a_max=0.42), distinct(4, 5)),
    case("cast", e.CastOp, dict(dtype="float64"), floats(3)),
    case("cast_like", e.CastLikeOp, floats(3), np.zeros(2)),
    case("where", logic.WhereOp, np.array([[True], [False]]), floats(2, 3), floats(3)),
    case("sum", r.SumOp, dict(axis=[1]), floats(2, 3, 2)),
    case("sum of all", r.SumOp, floats(2, 3)),
    case("mean but", r.MeanOp, dict(axis=[1], exclude=True), floats(2, 3, 2)),
    case("mean kept", r.MeanOp, dict(axis=[0, 2], keepdims=True), floats(2, 3, 2)),
    case("max", r.MaxOp, dict(axis=[1]), distinct(3, 4)),
    case("min", r.MinOp, dict(axis=[0], keepdims=True), distinct(3, 4)),
    case("prod", r.ProdOp, dict(axis=[1]), positive(3, 4)),
    case("reshape", t.ReshapeOp, dict(newshape=[3, -1]), floats(2, 3)),
    case("squeeze", t.SqueezeOp, dict(axis=[1]), floats(2, 1, 3)),
    case("expand_dims", t.ExpandDimsOp, dict(axis=1, num_newaxis=2), floats(2, 3)),
    case("batch_flatten", t.BatchFlattenOp, floats(2, 3, 2)),
    case("transpose", t.TransposeOp, dict(axes=[2, 0, 1]), floats(2, 3, 4)),
    case("transpose all", t.TransposeOp, floats(2, 3, 4)),
    case("broadcast_to", t.BroadcastToOp, dict(shape=[4, 2, 3]), floats(2, 1)),
    case("broadcast_to_like", rearrange.BroadcastToLikeOp, floats(2, 1), floats(4, 2, 3)),
    case("collapse_sum_like", collapse.CollapseSumLikeOp, floats(4, 2, 3), floats(2, 1)),
    case("collapse_sum_to", collapse.CollapseSumToOp, dict(shape=[3]), floats(4, 2, 3)),
    case("concatenate", t.ConcatenateOp, dict(axis=-1), floats(2, 3), floats(2, 1)),
    case("split", rearrange.SplitOp, dict(indices_or_sections=[1, 3], axis=1), floats(2, 5)),
    case("stack", rearrange.StackOp, dict(axis=1), floats(2, 3), floats(2, 3)),
    case("strided_slice", t.StridedSliceOp, dict(begin=[1, 0], end=[4, 7], strides=[1, 3]), floats(5, 8)),
    case("backwards", t.StridedSliceOp, dict(begin=[-1], end=[0], strides=[-2]), floats(6)),
    case("pad", t.PadOp, dict(pad_width=[1, 0, 2, 1]), floats(2, 3), floats()),
    case("take axis", t.TakeOp, dict(axis=1), floats(2, 4, 3), INDICES),
    case("take wrap", t.TakeOp, dict(axis=0, mode="wrap"), floats(4, 3), INDICES - 1),
    case("reverse", rearrange.ReverseOp, dict(axis=[1]), floats(2, 3)),
    case("layout_transform", t.LayoutTransformOp, dict(src_layout="NC", dst_layout="NC2c"), floats(3, 4)),
    case("full_like", creation.FullLikeOp, floats(2, 3), floats()),
    case("full", creation.FullOp, dict(shape=[2, 3], dtype="float64"), floats()),
    case("reshape_like", rearrange.ReshapeLikeOp, floats(2, 3), floats(3, 2)),
    case("one_hot", OneHotOp, dict(depth=4, axis=0, dtype="float64"), np.array([[0, 3], [5, 1]]), floats(), floats(1)),
    case("softmax", normalization.SoftmaxOp, dict(axis=1), floats(2, 3, 2)),
    case("log_softmax", normalization.LogSoftmaxOp, dict(axis=-1), floats(2, 3)),
    case("dropout", normalization.DropoutOp, floats(2, 3)),
    case("cross_entropy", loss.CrossEntropyOp, positive(3, 4), positive(3, 4)),
    case("cross_entropy_with_logits", loss.CrossEntropyWithLogitsOp, floats(3, 4), positive(3, 4)),
    case("dense", matmul.DenseOp, floats(3, 4), floats(2, 4)),
    *[
        case(f"matmul {a} {b}", matmul.MatmulOp, dict(transpose_a=a, transpose_b=b), x, y)
        for a, x in ((False, floats(3, 4)), (True, floats(4, 3)))
        for b, y in ((False, floats(4, 2)), (True, floats(2, 4)))
    ],
    case("batch_matmul", matmul.BatchMatmulOp, floats(2, 3, 4), floats(1, 2, 4)),
    case(
        "batch_matmul turned",
        matmul.BatchMatmulOp,
        dict(transpose_a=True, transpose_b=False),
        floats(1, 4, 3),
        floats(2, 4, 2),
    ),
    case("bias_add", matmul.BiasAddOp, floats(2, 3, 2), floats(3)),
    case("conv2d", convolution.Conv2DOp, floats(2, 2, 5, 4), floats(3, 2, 2, 3)),
    case(
        "conv2d strided",
        convolution.Conv2DOp,
        dict(strides=(2, 3), padding=(1, 0, 2, 1), dilation=(1, 2)),
        floats(1, 2, 6, 8),
        floats(2, 2, 3, 2),
    ),
    case(
        "conv2d in groups",
        convolution.Conv2DOp,
        dict(groups=2, padding=(1, 1)),
        floats(1, 4, 3, 3),
        floats(6, 2, 3, 3),
    ),
    case("max_pool2d", pooling.MaxPool2DOp, dict(pool_size=(2, 2), strides=(2, 2)), IMAGE),
    case(
        "max_pool2d over edges",
        pooling.MaxPool2DOp,
        dict(pool_size=(3, 2), strides=(2, 1), padding=(1, 0, 1, 1), ceil_mode=True),
        IMAGE,
    ),
    case("avg_pool2d", pooling.AvgPool2DOp, dict(pool_size=(2, 2), strides=(2, 2)), IMAGE),
    case(
        "avg_pool2d over edges",
        pooling.AvgPool2DOp,
        dict(pool_size=(3, 2), strides=(2, 2), padding=(1, 1, 1, 0), ceil_mode=True, count_include_pad=True),
        IMAGE,
    ),
    case("avg_pool2d inside", pooling.AvgPool2DOp, dict(pool_size=(3, 3), strides=(2, 2), padding=(1, 1)), IMAGE),
    case("global_avg_pool2d", pooling.GlobalAvgPool2DOp, IMAGE),
    case("global_max_pool2d", pooling.GlobalMaxPool2DOp, IMAGE),
]


@pytest.mark.parametrize(("make", "arrays"), CASES)
def test_operators(make: Make, arrays: list[Array]) -> None:
    check(module_of(make, arrays), arrays)


T = "tensor<2x3xf64>"


@pytest.mark.parametrize("name", ["less_equal", "not_equal", "greater"])
def test_no_gradient_goes_through_a_comparison(parse: Parse, name: str) -> None:
    module = parse(f"""
      relay.func @main(%x: {T}, %y: {T}) -> ({T}) {{
        %c = relay.{name} %x, %y : ({T}, {T}) -> tensor<2x3xi1>
        %f = relay.cast %c {{dtype = "float64"}} : (tensor<2x3xi1>) -> {T}
        %z = relay.multiply %f, %x : ({T}, {T}) -> {T}
        relay.return %z : {T}
      }}""")
    x, y = floats(2, 3), floats(2, 3)
    run_passes(module, [FirstOrderGradientPass()], audit=True)
    _, (dx, dy) = evaluate_module(module, [x, y])
    np.testing.assert_array_equal(dx, getattr(np, name)(x, y))
    assert not dy.any()


def test_values_that_are_read_twice_and_tuples(parse: Parse) -> None:
    module = parse(f"""
      relay.func @main(%x: {T}, %p: tuple<{T}, tensor<3xf64>>, %n: tensor<2xi32>, %u: {T}) -> ({T}, {T}) {{
        %a = relay.tuple_get_item %p[0] : tuple<{T}, tensor<3xf64>>
        %b = relay.tuple_get_item %p[1] : tuple<{T}, tensor<3xf64>>
        %y = relay.let pure {{
          %s = relay.multiply %x, %a : ({T}, {T}) -> {T}
          %e = relay.exp %s : ({T}) -> {T}
          %y = relay.add %e, %b : ({T}, tensor<3xf64>) -> {T}
          relay.yield %y : {T}
        }}
        %r = relay.ref_create %y : {T} -> !relay.ref<{T}>
        %v = relay.ref_read %r : !relay.ref<{T}> -> {T}
        %z = relay.multiply %v, %x : ({T}, {T}) -> {T}
        relay.return %z, %y : {T}, {T}
      }}""")
    x, a, b, u = floats(2, 3), floats(2, 3), floats(3), floats(2, 3)
    run_passes(module, [FirstOrderGradientPass()], audit=True)
    module.verify()
    (first, second), (dx, dp, dn, du) = evaluate_module(module, [x, (a, b), np.zeros(2, np.int32), u])
    power = np.exp(x * a)
    np.testing.assert_allclose(first, (power + b) * x)
    np.testing.assert_allclose(second, power + b)
    np.testing.assert_allclose(dx, power * a * x + power + b + power * a)
    np.testing.assert_allclose(dp[0], (x + 1) * power * x)
    np.testing.assert_allclose(dp[1], np.sum(x + 1, axis=0))
    assert not dn.any()
    assert not du.any()


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (
            f"%i = relay.if %c : tensor<i1> -> {T} {{ relay.yield %x : {T} }} else {{ relay.yield %x : {T} }}",
            "relay.if: expected operators and tuples only on the way of a gradient",
        ),
        (f"%i = relay.sort %x : ({T}) -> {T}", "relay.sort: expected an operator with a gradient"),
    ],
)
def test_what_has_no_gradient_is_named(parse: Parse, body: str, error: str) -> None:
    module = parse(f"relay.func @main(%x: {T}, %c: tensor<i1>) -> ({T}) {{\n{body}\nrelay.return %i : {T}\n}}")
    with pytest.raises(VerifyException) as caught:
        gradient(functions_of(module)["main"], module)
    assert str(caught.value).startswith(error)
