"""All operators that FakeQuantizationToInteger has rules for, against the floats that they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import i8

from whence import ir, relay
from whence.dialects.element_types import numpy_dtype
from whence.dialects.relay.interpret import evaluate_module
from whence.dialects.relay.operator import element_of
from whence.passes.pipelines import run_passes
from whence.passes.relay.fake_quantization_to_integer import FakeQuantizationToIntegerPass
from whence.relay import transform
from whence.relay.op import register_fake_quantization_to_integer, register_optional_fake_quantization_to_integer
from whence.support.dtypes import limits
from whence.support.errors import PipelineError
from whence.syntax.relay.expr import Expr
from whence.syntax.relay.nodes import free_vars
from whence.syntax.relay.op_attrs import reset_op_attr

RNG = np.random.default_rng(0)


def var(name: str, *shape: int, dtype: str = "int8") -> relay.Var:
    return relay.var(name, shape=shape or (1, 4, 8, 8), dtype=dtype)


def dq(x: Expr, scale: Any = 0.05, zero: int = 3, axis: int = -1) -> Expr:
    return relay.qnn.op.dequantize(x, relay.const(np.asarray(scale, np.float32)), relay.const(zero), axis=axis)


def q(x: Expr, scale: float = 0.04, zero: int = -5, dtype: str = "int8") -> Expr:
    return relay.qnn.op.quantize(x, relay.const(np.float32(scale)), relay.const(zero), out_dtype=dtype)


def pool(kind: str, rank: int) -> Any:
    return getattr(relay.nn, f"adaptive_{kind}_pool{rank}d")


def transposed(data_layout: str, kernel_layout: str, out_layout: str, **attributes: Any) -> Expr:
    """A transposed convolution from 4 channels of 5 x 6 to 6, of 3 x 2 elements."""
    extents = {"N": 1, "C": 4, "H": 5, "W": 6}
    kernel = {"I": 4, "O": 6, "H": 3, "W": 2}
    data = dq(var("x", *(extents[axis] for axis in data_layout)))
    weight = dq(var("w", *(kernel[axis] for axis in kernel_layout)), 0.02, 4)
    layouts = {"data_layout": data_layout, "kernel_layout": kernel_layout, "out_layout": out_layout}
    sizes: dict[str, Any] = {"channels": 6, "kernel_size": (3, 2), **attributes}
    return relay.nn.conv2d_transpose(data, weight, (2, 1), (1, 0, 0, 1), **sizes, **layouts)


def normal(*shape: int) -> Expr:
    return relay.const(RNG.standard_normal(shape, np.float32))


X, Y = dq(var("x")), dq(var("y"), 0.03, -7)
CONV = relay.nn.conv2d(X, dq(var("w", 6, 4, 3, 3), 0.02, 0), kernel_size=(3, 3), channels=6)
SCALES = RNG.random(6).astype(np.float32) * 0.05 + 0.01
PER_CHANNEL = relay.nn.conv2d(X, dq(var("w", 6, 4, 3, 3), SCALES, 0, 0), kernel_size=(3, 3), channels=6)
BIASED = relay.nn.bias_add(PER_CHANNEL, normal(6))
SPLIT = relay.split(X, 2, 1)
PADDING = [[0, 0], [0, 0], [1, 1], [1, 1]]
BETWEEN = dq(relay.qnn.op.requantize(var("x"), *map(relay.const, (np.float32(0.05), 3, np.float32(0.07), 1))), 0.07, 1)
UNSIGNED = var("u", 3, 5, dtype="uint8")

REGIONS: dict[str, tuple[Expr, set[str]]] = {
    "relu": (q(relay.nn.relu(X)), {"cast", "maximum", "qnn.requantize"}),
    "relu6": (q(relay.clip(relay.nn.relu(X), 0.0, 6.0)), {"cast", "maximum", "clip", "qnn.requantize"}),
    "leaky relu": (q(relay.nn.leaky_relu(X, 0.1)), {"qnn.leaky_relu"}),
    "function": (q(relay.abs(X)), {"qnn.abs"}),
    "other dtype": (q(relay.tanh(dq(UNSIGNED))), {"cast", "take"}),
    "hardswish": (
        q(X * relay.clip(X + relay.const(3.0), 0.0, 6.0) / relay.const(6.0)),
        {"reinterpret", "cast", "take"},
    ),
    "function with a number of four axes": (
        q(relay.tanh(X * relay.const(np.full((1, 1, 1, 1), 0.3, np.float32)))),
        {"reinterpret", "cast", "take"},
    ),
    "add": (q(X + Y), {"qnn.add"}),
    "subtract a constant": (q(X - normal(4, 1, 1)), {"qnn.subtract"}),
    "multiply": (q(X * Y), {"qnn.mul"}),
    "minimum": (q(relay.minimum(X, Y)), {"minimum", "qnn.requantize"}),
    "maximum of a constant": (q(relay.maximum(X, relay.const(0.3))), {"maximum", "qnn.requantize"}),
    "max": (q(relay.max(X, axis=1)), {"max", "qnn.requantize"}),
    "mean": (q(relay.mean(X, axis=[2, 3]), 0.01), {"cast", "subtract", "sum", "qnn.requantize"}),
    "averages": (
        q(relay.nn.avg_pool2d(X, (3, 3), padding=(1, 1), layout="NHWC")),
        {"cast", "subtract", "multiply", "nn.avg_pool2d", "qnn.requantize"},
    ),
    "adaptive averages": (
        q(relay.nn.adaptive_avg_pool2d(X, (3, 3))),
        {"cast", "subtract", "multiply", "nn.adaptive_avg_pool2d", "qnn.requantize"},
    ),
    "padding": (q(relay.nn.pad(X, PADDING, 1.3)), {"nn.pad", "qnn.requantize"}),
    "concatenate": (q(relay.concatenate([X, Y], 1)), {"concatenate", "qnn.requantize"}),
    "split": (q(relay.nn.relu(SPLIT[1])), {"split", "cast", "maximum", "qnn.requantize"}),
    "broadcast": (q(relay.broadcast_to(dq(var("x", 1, 4)), (3, 4))), {"broadcast_to", "qnn.requantize"}),
    "moves": (
        q(relay.transpose(relay.reshape(relay.nn.space_to_depth(X, 2), (4, 64)), [1, 0])),
        {"nn.space_to_depth", "reshape", "transpose", "qnn.requantize"},
    ),
    "convolution": (q(relay.nn.relu(CONV), 0.3), {"qnn.conv2d", "cast", "maximum", "qnn.requantize"}),
    "per channel": (q(relay.clip(BIASED, 0.0, 6.0)), {"qnn.conv2d", "add", "clip", "qnn.requantize"}),
    **{
        f"transposed convolution {' '.join(layouts)}": (
            q(transposed(*layouts, output_padding=(1, 0)), 0.3),
            {"qnn.conv2d_transpose", "qnn.requantize"},
        )
        for layouts in (("NCHW", "IOHW", ""), ("NHWC", "HWIO", ""), ("NHWC", "OIHW", "NCHW"), ("NCHW", "HWOI", "NHWC"))
    },
    "batched product": (
        q(relay.nn.batch_matmul(dq(var("a", 2, 3, 16)), dq(var("b", 2, 5, 16), 0.02, 4)), 0.3),
        {"qnn.batch_matmul", "qnn.requantize"},
    ),
    "resized between pixels": (
        q(relay.image.resize2d(X, (13, 5), method="linear"), 0.05, 3),
        {"cast", "subtract", "multiply", "image.resize2d", "qnn.requantize"},
    ),
    "resized to whole pixels": (
        q(relay.image.resize2d(X, (16, 16), method="nearest_neighbor")),
        {"image.resize2d", "qnn.requantize"},
    ),
    **{
        f"adaptive pools of {rank} axes": (
            q(pool("avg", rank)(pool("max", rank)(dq(var("x", 1, 3, *(9,) * rank)), (5,) * rank), (2,) * rank)),
            {
                f"nn.adaptive_max_pool{rank}d",
                "cast",
                "subtract",
                "multiply",
                f"nn.adaptive_avg_pool{rank}d",
                "qnn.requantize",
            },
        )
        for rank in (1, 2, 3)
    },
    "greatest": (q(relay.topk(X, 3, -1, "values")), {"topk", "qnn.requantize"}),
    "least and all": (q(relay.topk(X, 0, 1, "values", True)), {"topk", "qnn.requantize"}),
    "requantized between": (q(relay.nn.relu(BETWEEN)), {"cast", "maximum", "qnn.requantize"}),
}


def compared(region: Expr, **options: Any) -> tuple[float, set[str]]:
    """The greatest difference that the pass makes, and the operators that it leaves."""
    params = free_vars(region)
    before = transform.FoldTuples()(relay.IRModule.from_expr(relay.Function(params, region)))
    after = transform.DeadCodeElimination()(transform.FakeQuantizationToInteger(**options)(before))
    given: list[Any] = []
    for param in params:
        type_: Any = param.type_annotation
        dtype: Any = numpy_dtype(type_.element_type)
        low, high = limits(dtype.name)
        given.append(RNG.integers(int(low), int(high) + 1, type_.get_shape(), dtype))
    found, wanted = (evaluate_module(mod.module, given)[0].astype(np.float64) for mod in (after, before))
    return float(np.abs(found - wanted).max()), set(relay.analysis.list_op_freqs(after))


@pytest.mark.parametrize("name", REGIONS)
def test_regions_are_computed_on_integers(name: str) -> None:
    region, wanted = REGIONS[name]
    difference, operators = compared(region, hard_fail=True)
    assert operators == wanted
    assert difference <= 1


SELECTIONS = {
    "tile": relay.tile(X, (2, 1, 1, 1)),
    "take": relay.take(X, relay.const(np.array([3, 0])), axis=1),
    "max": relay.max(X, axis=1),
    "nn.adaptive_max_pool2d": relay.nn.adaptive_max_pool2d(X, (3, 3)),
    "nn.depth_to_space": relay.nn.depth_to_space(X, 2),
    "image.resize2d": relay.image.resize2d(X, (16, 16), method="nearest_neighbor"),
}


@pytest.mark.parametrize("name", SELECTIONS)
def test_what_selects_elements_does_so_on_integers_in_every_program(name: str) -> None:
    module = relay.IRModule.from_expr(SELECTIONS[name]).module.clone()
    data = RNG.integers(-128, 128, (1, 4, 8, 8), np.int8)
    before = evaluate_module(module, [data])[0]
    run_passes(module, [FakeQuantizationToIntegerPass()], audit=True)
    (moved,) = (op for op in module.walk() if op.name == f"relay.{name}")
    assert element_of(moved.operands[0]) == i8
    np.testing.assert_array_equal(evaluate_module(module, [data])[0], before)


def test_sums_of_products_are_rescaled_per_channel() -> None:
    """As a program, too, where a requantisation is written as arithmetic."""
    mod = transform.FakeQuantizationToInteger()(relay.IRModule.from_expr(q(relay.clip(BIASED, 0.0, 6.0))))
    given = [RNG.integers(-128, 128, shape, np.int8) for shape in ((1, 4, 8, 8), (6, 4, 3, 3))]
    plain = transform.QnnCanonicalize()(mod)
    found, wanted = (evaluate_module(one.module, given)[0] for one in (plain, mod))
    np.testing.assert_array_equal(found, wanted)


def test_what_there_is_no_rule_for() -> None:
    region = q(relay.nn.softmax(X), 0.01)
    assert compared(region)[1] == {"qnn.dequantize", "nn.softmax", "qnn.quantize"}
    with pytest.raises(PipelineError, match=r"expected operators that there is a rule for, got nn.softmax"):
        compared(region, hard_fail=True)


def test_clips_that_no_quantisation_follows() -> None:
    assert compared(relay.clip(X, 0.0, 3.0))[1] == {"qnn.dequantize", "clip"}
    difference, operators = compared(relay.exp(relay.clip(X, 0.0, 1.0)), use_qat=True)
    assert operators == {"clip", "qnn.dequantize", "exp"}
    assert difference <= np.exp(1.0) * 0.05


def test_indices_of_the_greatest_are_those_of_the_integers() -> None:
    whole = relay.topk(X, 2, 1, "both")
    region = relay.Tuple([q(whole[0]), whole[1]])
    before = relay.IRModule.from_expr(relay.Function(free_vars(region), region))
    after = transform.FakeQuantizationToInteger(hard_fail=True)(before)
    assert set(relay.analysis.list_op_freqs(after)) == {"topk", "qnn.requantize"}
    data = RNG.integers(-128, 128, (1, 4, 8, 8), np.int8)
    run = [relay.create_executor("debug", mod).evaluate()(data) for mod in (before, after)]
    (wanted, places), (values, same_places) = ([np.asarray(one).astype(int) for one in results] for results in run)
    assert np.abs(values - wanted).max() <= 1
    np.testing.assert_array_equal(same_places, places)


def test_softmax_on_integers_is_asked_for() -> None:
    region = q(relay.nn.softmax(X, axis=1), 1 / 256, -128)
    assert compared(region)[1] == {"qnn.dequantize", "nn.softmax", "qnn.quantize"}
    difference, operators = compared(region, hard_fail=True, optional_qnn_ops=["nn.softmax"])
    assert operators == {"qnn.softmax"}
    assert difference <= 16


def test_a_users_rule_that_is_asked_for() -> None:
    def rule(call: Any, types: Any) -> Any:
        known = types[call.args[0]]
        return [relay.reverse(call.args[0], 1), ir.TensorAffineType(known.scale, known.zero_point, known.dtype)]

    region = q(relay.nn.softmax(X, axis=1))
    try:
        register_optional_fake_quantization_to_integer("nn.softmax", rule)
        assert "nn.softmax" in compared(region)[1]
        assert compared(region, optional_qnn_ops=["nn.softmax"])[1] == {"reverse", "qnn.requantize"}
    finally:
        reset_op_attr("nn.softmax", "FTVMOptionalFakeQuantizationToInteger")


def test_a_users_rule_that_fails_is_an_error_if_that_is_asked_for() -> None:
    def rule(call: Any, types: Any) -> Any:
        raise NotImplementedError("not for bytes")

    region = q(relay.nn.relu(CONV), 0.3)
    before = set(relay.analysis.list_op_freqs(relay.IRModule.from_expr(relay.Function(free_vars(region), region))))
    try:
        register_fake_quantization_to_integer("nn.conv2d", rule)
        assert compared(region)[1] == before
        with pytest.raises(PipelineError, match="expected an answer, got NotImplementedError: not for bytes"):
            compared(region, hard_fail=True)
    finally:
        reset_op_attr("nn.conv2d", "FTVMFakeQuantizationToInteger")
