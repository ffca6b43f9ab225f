"""relay-to-mixed-precision: which operators compute on halves, what they compute, and where casts stand."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from relay_nets import Net, evaluated, layers, main_of, names

import whence
from whence.dialects.element_types import DTYPES, numpy_dtype
from whence.dialects.relay import elementwise as e
from whence.dialects.relay import nn
from whence.dialects.relay import transform as t
from whence.dialects.relay.core import CallOp, FuncOp, ReturnOp
from whence.dialects.relay.operator import Operator, element_of
from whence.passes.relay.fold_constant import FoldConstantPass
from whence.passes.relay.to_mixed_precision import ToMixedPrecisionPass
from whence.passes.runner import run_passes
from whence.provenance.span import layer_location
from whence.support.context import PassContext
from whence.support.errors import PipelineError

F = np.float32
RNG = np.random.default_rng(2)


def normal(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(F)


def dtypes(net: Net) -> list[tuple[str, str]]:
    """Operator and dtype of its result, casts left out."""
    by_type = {type_: name for name, type_ in DTYPES.items()}
    return [
        (op.name.removeprefix("relay."), by_type[element_of(op.results[0])])
        for op in main_of(net.module).block.ops
        if isinstance(op, Operator) and not isinstance(op, e.CastOp)
    ]


def mixed(net: Net, **options: Any) -> None:
    given: dict[str, Any] = {"missing_op_mode": 0, **options}
    run_passes(net.module, [ToMixedPrecisionPass(**given)], audit=True)
    net.module.verify()


def network(net: Net) -> None:
    (x,) = net.inputs
    x = net(nn.BiasAddOp, net(nn.Conv2DOp, x, net.random(8, 4, 3, 3) / F(6)), net.random(8))
    x = net(e.ReluOp, net(nn.BatchNormOp, x, net.random(8), net.random(8), net.random(8), net.positive(8)))
    y = net(t.MeanOp, x, axis=(2, 3))
    z = net(nn.DenseOp, y, net.random(5, 8))
    net.finish(net(nn.SoftmaxOp, net(e.AddOp, z, net.random(5))))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_network(dtype: str) -> None:
    """Lists as TVM's; the numbers within what the dtype can tell apart, compiled as well as in numpy."""
    net = Net(normal(1, 4, 6, 6))
    network(net)
    expected = evaluated(net)
    mixed(net, mixed_precision_type=dtype, keep_orig_output_dtype=True)
    assert dtypes(net) == [
        *(("nn.conv2d", dtype), ("nn.bias_add", dtype), ("nn.batch_norm", dtype), ("nn.relu", dtype)),
        *(("mean", "float32"), ("nn.dense", dtype), ("add", dtype), ("nn.softmax", "float32")),
    ]
    step = 2**-6 if dtype == "bfloat16" else 2**-9
    np.testing.assert_allclose(evaluated(net)[0], expected[0], atol=4 * step)
    compiled = whence.compile(net.module, threads=1)(net.arrays[0])
    np.testing.assert_allclose(compiled, expected[0], atol=4 * step)
    assert not np.array_equal(evaluated(net)[0], expected[0])


def test_a_product_is_that_of_halves_summed_in_float32() -> None:
    net = Net(normal(3, 200))
    weight = net.random(4, 200)
    net.finish(net(nn.DenseOp, net.inputs[0], weight))
    mixed(net)
    halves = (array.astype(np.float16).astype(F) for array in (net.arrays[0], weight))
    x, w = halves
    assert np.array_equal(evaluated(net)[0], (x @ w.T).astype(np.float16))


def test_results_are_halves_unless_they_are_to_be_kept() -> None:
    def result(**options: Any) -> Any:
        net = Net(normal(2, 4))
        net.finish(net(nn.DenseOp, net.inputs[0], net.random(4, 4)))
        mixed(net, **options)
        return element_of(main_of(net.module).function_type.outputs.data[0])

    assert result() == DTYPES["float16"]
    assert result(mixed_precision_type="bfloat16") == DTYPES["bfloat16"]
    assert result(keep_orig_output_dtype=True) == DTYPES["float32"]
    with PassContext(config={"relay.ToMixedPrecision.keep_orig_output_dtype": True}):
        assert result() == DTYPES["float32"]
        assert result(keep_orig_output_dtype=False) == DTYPES["float16"]


def test_followers() -> None:
    """They follow halves, constants and arguments; one operand in float32 that was computed holds them."""
    net = Net(normal(2, 4), normal(2, 4))
    x, y = net.inputs
    of_arguments = net(e.AddOp, x, y)
    computed = net(e.ExpOp, x)
    held = net(e.MultiplyOp, of_arguments, computed)
    followed = net(e.MultiplyOp, of_arguments, np.array(2, F))
    whole = net(t.TakeOp, followed, np.array([1, 0], np.int64))
    integers = net(e.CastOp, held, dtype="int32")
    net.finish(held, whole, net(e.AddOp, integers, integers))
    mixed(net)
    assert dtypes(net) == [
        *(("add", "float16"), ("exp", "float32"), ("multiply", "float32"), ("multiply", "float16")),
        *(("take", "float16"), ("add", "int32")),
    ]


def test_a_cast_serves_all_who_ask_and_names_them() -> None:
    net = Net(normal(2, 4))
    (x,) = net.inputs
    made = [net(nn.DenseOp, x, net.random(4, 4)) for _ in range(3)]
    net.finish(*[net(e.ExpOp, value) for value in (made[0], made[0], made[1])])
    mixed(net)
    found = layers(net.module)["cast"]
    assert ("layer1", "layer2", "layer3") in found  # of the input
    assert ("layer4", "layer5") in found  # of the first product
    assert ("layer6",) in found


def test_what_is_no_operator_reads_what_it_did() -> None:
    """A call gets float32, and a function that is called returns it."""
    net = Net(normal(2, 4))
    (x,) = net.inputs
    made = net(nn.DenseOp, x, net.random(4, 4))
    call = CallOp("helper", [made], [made.type])
    call.location = layer_location("call", "net", 9)
    net.func.block.add_op(call)
    net.finish(net(nn.DenseOp, call.outputs[0], net.random(4, 4)), x)
    helper = FuncOp("helper", [made.type], [made.type], location=layer_location("helper", "net", 10))
    scaled = e.MultiplyOp(helper.block.args[0], helper.block.args[0], location=layer_location("inner", "net", 11))
    end = ReturnOp(scaled)
    end.location = helper.block.args[0].location = helper.location
    helper.block.add_ops([scaled, end])
    net.module.body.block.add_op(helper)
    expected = evaluated(net)
    mixed(net)
    assert call.operand_types == call.result_types == (made.type,)
    assert helper.function_type.outputs.data[0] == made.type
    np.testing.assert_allclose(evaluated(net)[0].astype(F), expected[0], rtol=0.02, atol=0.05)


def test_operators_in_no_list() -> None:
    def made() -> Net:
        net = Net(normal(2, 4))
        net.finish(net(e.SinOp, net(nn.DenseOp, net.inputs[0], net.random(4, 4))))
        return net

    net = made()
    mixed(net, missing_op_mode=2)
    assert dtypes(net)[-1] == ("sin", "float32")
    with pytest.warns(UserWarning, match="no list names them: sin"):
        mixed(made(), missing_op_mode=1)
    with pytest.raises(Exception, match=r"relay.sin: expected an operator that a list names.*layer2"):
        mixed(made())
    net = made()
    mixed(net, follow=("sin",), never=("nn.dense",))
    assert dtypes(net) == [("nn.dense", "float32"), ("sin", "float32")]
    net = made()
    mixed(net, follow=("sin",))
    assert dtypes(net) == [("nn.dense", "float16"), ("sin", "float16")]


def test_doubles_and_halves_that_were_there() -> None:
    net = Net(normal(2, 4).astype(np.float64), normal(2, 4).astype(np.float16))
    x, y = net.inputs
    net.finish(net(nn.DenseOp, x, x), net(e.ExpOp, y), net(e.CastOp, y, dtype="float64"))
    mixed(net, keep_orig_output_dtype=True)
    assert dtypes(net) == [("nn.dense", "float64"), ("exp", "float32")]
    assert [array.dtype for array in evaluated(net)] == [np.float64, np.float16, np.float64]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"mixed_precision_type": "float64"}, "expected mixed-precision-type float16 or bfloat16, got 'float64'"),
        ({"missing_op_mode": 3}, "expected missing-op-mode 0, 1 or 2, got 3"),
    ],
)
def test_bad_options(options: dict[str, Any], text: str) -> None:
    net = Net(normal(2))
    net.finish(net(e.ReluOp, net.inputs[0]))
    with pytest.raises(PipelineError, match=text):
        mixed(net, **options)


def test_constants_fold_into_halves() -> None:
    net = Net(normal(2, 4))
    net.finish(net(nn.DenseOp, net.inputs[0], net.random(4, 4)))
    mixed(net, mixed_precision_type="bfloat16")
    run_passes(net.module, [FoldConstantPass()], audit=True)
    assert names(net.module) == ["cast", "nn.dense"]
    assert numpy_dtype(DTYPES["bfloat16"]) == ml_dtypes.bfloat16
