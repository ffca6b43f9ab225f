"""The passes of `relay.qnn.transform`, and the operators beside them."""

from __future__ import annotations

from typing import Any

import numpy as np

from whence import relay
from whence.relay.qnn.op import QNN_LEGALIZE
from whence.syntax.relay.op_attrs import reset_op_attr


def sum_of_quantised() -> relay.IRModule:
    x, y = relay.var("x", shape=(1, 4), dtype="uint8"), relay.var("y", shape=(1, 4), dtype="uint8")
    scale, zero = relay.const(0.00784314, "float32"), relay.const(127, "int32")
    body = relay.qnn.op.add(x, y, scale, zero, scale, zero, scale, zero)
    return relay.IRModule.from_expr(relay.Function([x, y], body))


def test_canonicalized_sums_give_what_tvm_writes_in_its_tests() -> None:
    after = relay.qnn.transform.CanonicalizeOps()(relay.transform.InferType()(sum_of_quantised()))
    assert "qnn." not in after.astext()
    x, y = np.array([[140, 153, 165, 178]], np.uint8), np.array([[25, 153, 178, 165]], np.uint8)
    found = relay.create_executor("graph").evaluate(after["main"])(x, y)
    real = (x.astype(int) - 127) + (y.astype(int) - 127)
    np.testing.assert_array_equal(found, np.clip(real + 127, 0, 255))


def test_what_users_register_is_what_legalize_gives() -> None:
    def swapped(attrs: Any, inputs: Any, types: Any) -> Any:
        assert types[0].dtype == "uint8"
        return relay.qnn.op.add(inputs[1], inputs[0], *inputs[2:])

    relay.qnn.op.register_qnn_legalize("qnn.add", swapped)
    try:
        mod = sum_of_quantised()
        after = relay.qnn.transform.Legalize()(mod)["main"]
        assert [arg.name_hint for arg in after.body.args[:2]] == ["y", "x"]
        before = relay.transform.Legalize()(mod)["main"]
        assert [arg.name_hint for arg in before.body.args[:2]] == ["x", "y"]
    finally:
        reset_op_attr("qnn.add", QNN_LEGALIZE)
    assert relay.qnn.add is relay.qnn.op.add
    assert "conv2d" in dir(relay.qnn.op)
