"""What users say of operators, and what passes make of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from whence import ir, relay
from whence.dialects.relay.interpret import evaluate_module
from whence.relay import transform
from whence.relay.testing import run_opt_pass
from whence.relay.testing.temp_op_attr import TempOpAttr
from whence.support.errors import PipelineError

X, W = relay.var("x", shape=(1, 16, 8, 8)), relay.var("w", shape=(16, 16, 3, 3))


def conv(data: Any = X, weight: Any = W, **attrs: Any) -> Any:
    return relay.nn.conv2d(data, weight, **({"channels": 16, "kernel_size": (3, 3), "padding": (1, 1)} | attrs))


NET = relay.Function([X, W], relay.nn.relu(conv()))
WANTED = relay.Function([X, W], relay.nn.relu(conv(X, W * relay.const(2.0))))


def doubled(attrs: Any, inputs: Any, types: Any, *rest: Any) -> Any:
    assert [str(t.shape[1]) for t in types[:2]] == ["16", "16"]
    assert types[0].dtype == "float32"
    return relay.nn.conv2d(inputs[0], inputs[1] * relay.const(2.0), **attrs)


@pytest.mark.parametrize(
    ("key", "one"), [("FTVMLegalize", transform.Legalize()), ("FTVMAlterOpLayout", transform.AlterOpLayout())]
)
def test_an_operator_becomes_what_its_function_gives(key: str, one: Any) -> None:
    with TempOpAttr("nn.conv2d", key, doubled):
        found = run_opt_pass(NET, one)
        again = run_opt_pass(relay.Function([X], relay.nn.relu(X)), one)
    assert ir.structural_equal(found, run_opt_pass(WANTED, transform.InferType()))
    assert "multiply" not in str(run_opt_pass(NET, one))
    assert "relu" in str(again)


def test_what_an_operator_reads_twice_is_one_expression() -> None:
    def product(attrs: Any, inputs: Any, types: Any, *rest: Any) -> Any:
        assert inputs[0] is inputs[1]
        return inputs[0] * relay.const(2.0)

    with TempOpAttr("add", "FTVMLegalize", product):
        changed = run_opt_pass(relay.Function([X], X + X), transform.Legalize())
    assert ir.structural_equal(changed, run_opt_pass(relay.Function([X], X * relay.const(2.0)), transform.InferType()))


def nchw16c(attrs: Any, inputs: Any, types: Any, *rest: Any) -> Any:
    return relay.nn.conv2d(*inputs, **dict(attrs) | {"data_layout": "NCHW16c", "kernel_layout": "OIHW16i16o"})


def nhwc(attrs: Any, inputs: Any, types: Any, desired: Any) -> Any:
    assert desired == ["NHWC", "default"]
    return relay.nn.conv2d(*inputs, **dict(attrs) | {"data_layout": "NHWC", "kernel_layout": "HWIO"})


@pytest.mark.parametrize(
    ("key", "hook", "one", "layout"),
    [
        ("FTVMAlterOpLayout", nchw16c, transform.AlterOpLayout(), "NCHW16c"),
        ("FTVMConvertOpLayout", nhwc, transform.ConvertLayout({"nn.conv2d": ["NHWC", "default"]}), "NHWC"),
    ],
)
def test_layouts_that_a_function_chooses(key: str, hook: Any, one: Any, layout: str) -> None:
    mod = relay.IRModule.from_expr(NET)
    with TempOpAttr("nn.conv2d", key, hook):
        changed = one(mod)
    assert f'data_layout="{layout}"' in str(changed)
    assert str(changed).count("layout_transform") == 3
    rng = np.random.default_rng(0)
    given = [rng.standard_normal((1, 16, 8, 8), np.float32), rng.standard_normal((16, 16, 3, 3), np.float32)]
    wanted, found = (evaluate_module(one.module, given)[0].astype(np.float64) for one in (mod, changed))
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


def halves(call: Any, dtype: str) -> Any:
    return [0, dtype, dtype]


def test_precision_that_a_function_chooses() -> None:
    mod = relay.IRModule.from_expr(relay.Function([X], relay.exp(X)))
    half = transform.ToMixedPrecision("float16")
    assert "float16" not in str(half(mod))
    with TempOpAttr("exp", "FTVMMixedPrecisionConversionType", halves):
        assert "float16" in str(half(mod))


def test_operators_that_a_compiler_takes() -> None:
    def takes(call: Any) -> bool:
        return isinstance(call.args[1], relay.Constant) and call.attrs["groups"] == 1

    fixed = conv(weight=relay.const(np.ones((16, 16, 3, 3), np.float32)))
    mod = relay.IRModule.from_expr(relay.Function([X, W], conv(fixed, W)))
    with TempOpAttr("nn.conv2d", "target.mine", takes):
        text = str(transform.AnnotateTarget("mine")(mod))
    assert text.count("compiler_end") == 2
    assert text.count('compiler="mine"') == 3


def test_operators_know_what_was_said_of_them() -> None:
    exp = relay.op.get("exp")
    assert exp.get_attr("TOpPattern") == 0
    assert not exp.has_attr("mine")
    ir.register_op_attr("exp", "mine", 1)
    exp.set_attr("mine", 2, plevel=5)
    assert exp.get_attr("mine") == 1
    exp.reset_attr("mine")
    assert exp.get_attr("mine") is None


def one(*_: Any) -> Any:
    return relay.const(1.0)


def test_what_does_not_fit_is_refused() -> None:
    with TempOpAttr("exp", "FTVMLegalize", one):
        with pytest.raises(PipelineError, match="hook of exp: expected tensor<1x16x8x8xf32>, got tensor<f32>"):
            run_opt_pass(relay.exp(X), transform.Legalize())


def test_types_have_tvms_fields() -> None:
    pair = relay.TupleType([relay.TensorType((2, relay.Any()), "int8"), relay.scalar_type("bool")])
    one = relay.FuncType([pair], relay.RefType(pair))
    assert one.arg_types[0].fields[0].shape == [2, relay.Any()]
    assert one.ret_type.value.fields[1].dtype == "bool"
    found = run_opt_pass(relay.Function([X], relay.exp(X)), transform.InferType()).checked_type
    assert isinstance(found, relay.FuncType)
    assert found.ret_type == relay.TensorType((1, 16, 8, 8))
    assert found.ret_type.concrete_shape == (1, 16, 8, 8)
    assert found.ret_type.shape[1].value == 16
    with pytest.raises(TypeError):
        print(pair.fields[0].concrete_shape)
