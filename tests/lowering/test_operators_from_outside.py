"""Operators that a user registers: in Python, text and ops, in kernels, with gradients, schedules and converters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import onnx.parser
import pytest
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition
from xdsl.parser import Parser

import whence
from whence import relay
from whence import te as tensor_language
from whence.dialects.relay.attributes import real
from whence.dialects.relay.elementwise import SqrtOp, Unary
from whence.dialects.relay.interpret import evaluate_module
from whence.frontends.importing.attributes import Float
from whence.frontends.importing.rows import row
from whence.frontends.onnx.convert import add_converter, remove_converter
from whence.lowering.relay_to_te.strategies import outside_fingerprint
from whence.passes.relay.gradients.site import Gradients, Site
from whence.reading.textio import context
from whence.relay.testing import check_grad
from whence.support.errors import FrontendError

ops: Any = relay
te: Any = tensor_language
RNG = np.random.default_rng(0)


def squareplus(x: Any, b: float) -> Any:
    return (x + np.sqrt(x * x + x.dtype.type(b))) / x.dtype.type(2)


@irdl_op_definition
class SquareplusOp(Unary):
    """Half of x + sqrt(x * x + b)."""

    name = "relay.nn.squareplus"
    b = real(4.0)

    @classmethod
    def evaluate(cls, sig: Any, x: Any) -> Any:
        return squareplus(x, sig.get("b"))


def lowered(op: Any, x: Any) -> Any:
    def element(*i: Any) -> Any:
        return (x(*i) + te.sqrt(x(*i) * x(*i) + op.signature.get("b"))) / 2.0

    return te.compute(x.shape, element, "squareplus", tag="squareplus")


def slope(s: Site, gradients: Sequence[SSAValue]) -> Gradients:
    root = s.add(SqrtOp(s.plus(s.mul(s.x, s.x), s.sig.get("b"))))
    return [s.mul(s.mul(gradients[0], 0.5), s.plus(s.div(s.x, root), 1.0))]


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    whence.register_operator(SquareplusOp, lowered, slope)
    yield
    whence.unregister_operator("nn.squareplus")


def test_python_and_text_and_ops_are_one() -> None:
    x = relay.var("x", shape=(3, 5))
    module = relay.IRModule.from_expr(ops.nn.relu(ops.nn.squareplus(x, b=2.0)))
    text = module.astext()
    assert "nn.squareplus(%x, b=2f)" in text
    again = relay.fromtext(text)
    assert whence.ir.structural_equal(module, again)
    data = RNG.standard_normal((3, 5)).astype(np.float32)
    wanted = squareplus(data, 2.0)
    read = Parser(context(), str(module.module)).parse_module()
    for source in (module, again, relay.IRModule.of(read)):
        compiled = whence.compile(source)
        np.testing.assert_allclose(compiled(data), wanted, rtol=1e-6)
        assert compiled.why("fused_nn_squareplus_nn_relu")
    np.testing.assert_allclose(evaluate_module(module.module, [data])[0], wanted, rtol=1e-6)


def test_it_has_gradients() -> None:
    x = relay.var("x", shape=(4,), dtype="float64")
    check_grad(relay.Function([x], ops.nn.squareplus(x, b=0.5)))
    whence.register_operator(SquareplusOp, lowered)
    with pytest.raises(Exception, match=r"expected an operator with a gradient, got nn\.squareplus"):
        check_grad(relay.Function([x], ops.nn.squareplus(x)))


def test_a_model_of_another_domain_has_it() -> None:
    text = """
    <ir_version: 8, opset_import: ["": 13, "mine": 1]>
    net (float[2, 6] x) => (float[2, 6] y) {
      [first] n = Neg (x)
      [second] y = mine.Squareplus <b = 1.0> (n)
    }
    """
    model = onnx.parser.parse_model(text)
    with pytest.raises(FrontendError, match=r"mine\.Squareplus"):
        whence.compile(model)
    add_converter("mine", "Squareplus", row(SquareplusOp, "x", b=Float(4.0)))
    try:
        compiled = whence.compile(model)
        data = RNG.standard_normal((2, 6)).astype(np.float32)
        np.testing.assert_allclose(compiled(data), squareplus(-data, 1.0), rtol=1e-6)
        assert "nn.squareplus" in str(compiled.where("second"))
    finally:
        remove_converter("mine", "Squareplus")
    with pytest.raises(FrontendError, match=r"mine\.Squareplus"):
        whence.compile(model)


def test_a_strategy_schedules_it() -> None:
    x = relay.var("x", shape=(8, 16))
    module = relay.IRModule.from_expr(ops.nn.squareplus(x))
    data = RNG.standard_normal((8, 16)).astype(np.float32)

    @whence.strategy(tag="squareplus", plevel=15)
    def whole_rows(work: Any, stage: Any) -> None:
        stage.vectorize(stage.leaf[-1])

    try:
        compiled: Any = whence.compile(module)
        assert 'squareplus = "whole_rows"' in compiled.artifact.kernels[0].schedule
        np.testing.assert_allclose(compiled(data), squareplus(data, 4.0), rtol=1e-6)
    finally:
        whence.unregister_schedule("whole_rows")


def test_a_strategy_that_fails_is_named_with_kernel_and_layer() -> None:
    x = relay.var("x", shape=(8, 16))
    module = relay.IRModule.from_expr(ops.nn.squareplus(x))

    @whence.strategy(tag="squareplus", plevel=15)
    def broken(work: Any, stage: Any) -> None:
        raise KeyError("no such knob")

    try:
        with pytest.raises(KeyError) as error:
            whence.compile(module)
        notes = " ".join(error.value.__notes__)
        assert "broken" in notes
        assert "fused_nn_squareplus" in notes
        assert "nn.squareplus_0" in notes
    finally:
        whence.unregister_schedule("broken")


def test_a_lowering_that_fails_is_named_with_kernel_and_layer() -> None:
    def broken(op: Any, x: Any) -> Any:
        raise LookupError("no such table")

    whence.register_operator(SquareplusOp, broken)
    x = relay.var("x", shape=(8, 16))
    with pytest.raises(LookupError) as error:
        whence.compile(relay.IRModule.from_expr(ops.nn.squareplus(x)))
    notes = " ".join(error.value.__notes__)
    assert notes == "raised in lowering of nn.squareplus in kernel 'fused_nn_squareplus', layer 'nn.squareplus_0'"


@pytest.mark.parametrize("kind", ["module", "function"])
def test_a_pass_that_fails_is_named_with_layer(kind: str) -> None:
    x = relay.var("x", shape=(8, 16))
    module = relay.IRModule.from_expr(ops.nn.squareplus(x))

    def broken(held: Any, *context: Any) -> Any:
        for op in held.module.walk() if kind == "module" else ():
            if isinstance(op, SquareplusOp):
                raise LookupError("no such table")
        raise LookupError("no such table")

    make: Any = relay.transform.module_pass if kind == "module" else relay.transform.function_pass
    mine = make(broken, opt_level=0, name="mine")
    with pytest.raises(LookupError) as error:
        relay.transform.Sequential([mine])(module)
    notes = " ".join(error.value.__notes__)
    assert "pass mine" in notes
    assert kind == "function" or "layer 'nn.squareplus_0'" in notes


def test_another_lowering_makes_other_kernels() -> None:
    before = outside_fingerprint()

    def same(op: Any, x: Any) -> Any:
        return te.compute(x.shape, x)

    whence.register_operator(SquareplusOp, same)
    assert outside_fingerprint() != before
    x = relay.var("x", shape=(3,))
    data = np.arange(3, dtype=np.float32)
    np.testing.assert_array_equal(whence.compile(relay.IRModule.from_expr(ops.nn.squareplus(x)))(data), data)


def test_senseless_registrations_are_refused() -> None:
    register: Any = whence.register_operator
    with pytest.raises(FrontendError, match="expected a class whose base is Operator, got 3"):
        register(3, lowered)
    with pytest.raises(FrontendError, match=r"expected a lowering \(op, data\) of relay\.nn\.squareplus"):
        register(SquareplusOp, lambda: None)

    @irdl_op_definition
    class ReluOp(Unary):
        name = "relay.nn.relu"

        @classmethod
        def evaluate(cls, sig: Any, x: Any) -> Any:
            return x

    with pytest.raises(FrontendError, match=r"expected a new name that begins with relay\., got relay\.nn\.relu"):
        register(ReluOp, lowered)
    whence.unregister_operator("nn.squareplus")
    with pytest.raises(AttributeError, match="squareplus"):
        _ = ops.nn.squareplus
