"""xDSL's own `canonicalize` on relay modules with a pool of weights: the same numbers, and true locations."""

from __future__ import annotations

import numpy as np
from relay_nets import Net, check, layers, main_of, names
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, UnitAttr
from xdsl.traits import ConstantLike
from xdsl.transforms.canonicalize import CanonicalizePass

from whence.dialects.relay import elementwise as e
from whence.dialects.relay import reduce as r
from whence.dialects.relay import transform as t
from whence.dialects.relay.core import ConstantOp
from whence.dialects.relay.nn import DropoutOp
from whence.passes.runner import run_passes


def test_weights_of_the_pool_fold():
    rng = np.random.default_rng(3)
    x, weight, bias = (rng.standard_normal(shape).astype(np.float32) for shape in ((5, 6), (5, 6), (5,)))
    net = Net(x)
    column = net(t.ReshapeOp, bias, newshape=(5, 1))
    product = net(e.MultiplyOp, net.inputs[0], net(e.NegativeOp, weight))
    back = net(t.TransposeOp, net(t.TransposeOp, product, axes=(1, 0)), axes=(1, 0))
    net.finish(net(e.SubtractOp, net(e.AddOp, back, column), np.zeros((1, 6), np.float32)))
    ledger = check(net, CanonicalizePass(), tolerance=0)
    assert names(net.module) == ["multiply", "add"]
    assert layers(net.module) == {
        "constant": [("layer1", "layer1.p0"), ("layer2", "layer2.p0")],
        "multiply": [("layer3",)],
        "add": [("layer6",)],
    }
    folded = [op for op in main_of(net.module).block.ops if isinstance(op, ConstantOp)]
    np.testing.assert_array_equal(folded[0].value(net.module), bias.reshape(5, 1))
    np.testing.assert_array_equal(folded[1].value(net.module), -weight)
    assert any(entry.pattern == "MergeTransposes" for entry in ledger.entries)


def test_tensors_without_elements_are_constants():
    net = Net(np.zeros((0, 3), np.float32))
    net.finish(net(r.SumOp, net.inputs[0], axis=(0,)))
    check(net, CanonicalizePass(), tolerance=0)
    assert names(net.module) == []


def test_what_a_run_decides_stays():
    net = Net(np.ones(4, np.float32))
    net.finish(net(e.AddOp, net.inputs[0], net.results(DropoutOp, np.arange(4, dtype=np.float32))[0]))
    before = names(net.module)
    check(net, CanonicalizePass())
    assert names(net.module) == before == ["nn.dropout", "add"]


def test_constants_in_a_primitive_function_stay():
    net = Net(np.ones(4, np.float32))
    net.finish(net(e.AddOp, net.inputs[0], net(e.NegativeOp, np.arange(4, dtype=np.float32))))
    main_of(net.module).primitive = UnitAttr()
    run_passes(net.module, [CanonicalizePass()])
    assert names(net.module) == ["negative", "add"]


def test_xdsl_sees_the_value_of_a_constant_that_is_spelled_out():
    net = Net(np.ones(16, np.float32))
    few, many = net.constant(np.arange(4.0), "few"), net.constant(np.arange(16.0), "many")
    value = ConstantLike.get_constant_value(few)
    assert isinstance(value, DenseIntOrFPElementsAttr)
    assert value.get_values() == (0.0, 1.0, 2.0, 3.0)
    assert ConstantLike.get_constant_value(many) is None
