"""The builders of whence.relay: TVM's parameters, shorthands and tuples, against numpy."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from whence import relay
from whence.support.errors import FrontendError, PipelineError
from whence.syntax.relay.operators import operator_names

X = np.random.default_rng(0).standard_normal((2, 3, 6)).astype(np.float32)


def value(made: Any) -> Any:
    return relay.create_executor("debug").evaluate(relay.Function([], made))()


def x() -> relay.Expr:
    return relay.const(X)


CASES: dict[str, tuple[Callable[[], Any], Any]] = {
    "operators of Python": (lambda: (x() + x()) * x() / relay.const(2.0) - -x(), (X + X) * X / 2 + X),
    "comparison": (lambda: x() < relay.const(0.0), X < 0),
    "reshape to an int": (lambda: relay.reshape(x(), -1), X.reshape(-1)),
    "reduce": (lambda: relay.sum(x(), axis=1, keepdims=True), X.sum(1, keepdims=True)),
    "exclude": (lambda: relay.max(x(), 1, False, True), X.max((0, 2))),
    "transpose": (lambda: relay.transpose(x()), X.T),
    "split into parts": (lambda: relay.split(x(), 3, axis=2)[1], X[:, :, 2:4]),
    "split at places": (lambda: relay.split(x(), (1, 4), axis=2)[1], X[:, :, 1:4]),
    "concatenate a list": (lambda: relay.concatenate([x(), x()], axis=1), np.concatenate([X, X], 1)),
    "concatenate results": (
        lambda: relay.concatenate(relay.split(x(), 2, axis=2), axis=1),
        np.concatenate([X[..., :3], X[..., 3:]], 1),
    ),
    "take of all": (lambda: relay.take(x(), relay.const(np.array([2, 30]))), X.reshape(-1)[[2, 30]]),
    "gather": (
        lambda: relay.gather(x(), 1, relay.const(np.ones((2, 1, 6), np.int32))),
        X[:, 1:2],
    ),
    "mean_std": (lambda: relay.mean_std(x(), 1)[1], X.std(1)),
    "global_avg_pool1d": (lambda: relay.nn.global_avg_pool1d(x()), X.mean(2, keepdims=True)),
    "group_norm": (
        lambda: relay.nn.group_norm(x(), relay.const(np.ones(3, np.float32)), relay.const(np.zeros(3, np.float32)), 3),
        (X - X.mean(2, keepdims=True)) / np.sqrt(X.var(2, keepdims=True) + 1e-5),
    ),
    "unique": (lambda: relay.unique(relay.const(np.array([1, 1, 2])))[3], [2]),
    "stack": (lambda: relay.stack((x(), x()), axis=-1), np.stack([X, X], -1)),
    "pad": (
        lambda: relay.nn.pad(x(), ((0, 0), (1, 2), (0, 0)), 7.0),
        np.pad(X, ((0, 0), (1, 2), (0, 0)), constant_values=7),
    ),
    "arange": (lambda: relay.arange(relay.const(2), relay.const(9), relay.const(3), dtype="int32"), np.arange(2, 9, 3)),
    "arange to": (lambda: relay.arange(relay.const(4.0)), np.arange(4.0)),
    "clip": (lambda: relay.clip(x(), -1, 1), X.clip(-1, 1)),
    "full": (lambda: relay.full(relay.const(3), (2, 2), "int32"), np.full((2, 2), 3)),
    "zeros": (lambda: relay.zeros((2, 3), "float32"), np.zeros((2, 3))),
    "slice": (lambda: relay.strided_slice(x(), [0, 1], [2, 3], axes=[0, 2]), X[:, :, 1:3]),
    "slice of a size": (lambda: relay.strided_slice(x(), [0, 1, 2], [-1, 2, 3], slice_mode="size"), X[:, 1:3, 2:5]),
    "take": (lambda: relay.take(x(), relay.const(np.array([2, 0])), axis=1), X[:, [2, 0]]),
    "where": (lambda: relay.where(x() > relay.const(0.0), x(), relay.zeros_like(x())), np.maximum(X, 0)),
    "variance": (lambda: relay.variance(x(), 1), X.var(1)),
    "standard deviation": (lambda: relay.std(x(), axis=[1, 2], unbiased=True), X.std((1, 2), ddof=1)),
    "mean and variance": (lambda: relay.mean_variance(x(), 0).astuple(), (X.mean(0), X.var(0))),
    "log of sums": (lambda: relay.logsumexp(x(), [2]), np.log(np.exp(X.astype(np.float64)).sum(2))),
    "topk": (lambda: relay.topk(x(), 2, ret_type="values"), -np.sort(-X, -1)[..., :2]),
    "topk of both": (lambda: relay.topk(x(), 1)[1], X.argmax(-1)[..., None]),
    "dropout": (lambda: relay.nn.dropout(x(), 0.3), X),
    "padding of one number": (
        lambda: relay.nn.max_pool1d(x(), pool_size=3, strides=2, padding=1),
        np.stack(
            [np.pad(X, ((0, 0), (0, 0), (1, 1)), constant_values=-np.inf)[..., i : i + 3].max(-1) for i in (0, 2, 4)],
            -1,
        ),
    ),
    "batch norm": (
        lambda: relay.nn.batch_norm(x(), *[relay.const(np.arange(1, 4, dtype=np.float32))] * 4)[0],
        (X - np.arange(1, 4)[:, None]) / np.sqrt(np.arange(1, 4)[:, None] + 1e-5) * np.arange(1, 4)[:, None]
        + np.arange(1, 4)[:, None],
    ),
    "meshgrid": (
        lambda: relay.meshgrid([relay.const(np.arange(2)), relay.const(np.arange(3))])[1],
        np.meshgrid(np.arange(2), np.arange(3), indexing="ij")[1],
    ),
    "einsum": (lambda: relay.einsum((x(), x()), "bij,bij->b"), (X * X).sum((1, 2))),
    "quantize": (
        lambda: relay.qnn.op.quantize(x(), relay.const(0.1), relay.const(3), out_dtype="uint8"),
        np.clip(np.rint(X / np.float32(0.1)) + 3, 0, 255),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_builders_compute_what_they_say(name: str) -> None:
    build, expected = CASES[name]
    found = value(build())
    several = name == "mean and variance"
    assert isinstance(found, tuple) == several
    pairs: list[tuple[Any, Any]] = list(zip(found, expected, strict=True)) if several else [(found, expected)]
    for one, other in pairs:
        assert np.shape(one) == np.shape(other)
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_every_operator_has_a_builder() -> None:
    for name in operator_names():
        target: Any = relay
        for part in name.split("."):
            target = getattr(target, part)
        assert callable(target), name
        assert inspect.signature(target).parameters or name in ("zeros", "ones"), name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "nn.conv2d",
            "data weight strides padding dilation groups channels kernel_size data_layout kernel_layout out_layout"
            " out_dtype",
        ),
        ("nn.avg_pool2d", "data pool_size strides dilation padding layout out_layout ceil_mode count_include_pad"),
        ("nn.dense", "data weight units out_dtype"),
        ("argmax", "data axis keepdims exclude select_last_index"),
        ("take", "data indices axis batch_dims mode"),
        ("qnn.dequantize", "data input_scale input_zero_point axis out_dtype"),
    ],
)
def test_parameters_are_in_the_known_order(name: str, expected: str) -> None:
    target: Any = relay
    for part in name.split("."):
        target = getattr(target, part)
    assert list(inspect.signature(target).parameters) == expected.split()


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match=r"nn\.relu: missing a required argument: 'data', expected nn\.relu\(data\)"):
        relay.nn.relu()
    with pytest.raises(TypeError, match='convert "2" with `const` first'):
        _ = x() + cast(Any, 2)
    with pytest.raises(FrontendError, match="expected an expression, got str"):
        relay.exp("x")
    with pytest.raises(AttributeError, match=r"did you mean nn\.relu"):
        relay.nn.rellu(x())
    with pytest.raises(AttributeError, match=r"module 'whence\.relay' has no attribute 'no_such'"):
        _ = relay.no_such


def test_constants_have_the_short_dtypes() -> None:
    assert [relay.const(v).data.dtype.name for v in (1, 1.5, True, [1, 2], np.float64(1), np.arange(2))] == [
        "int32",
        "float32",
        "bool",
        "int32",
        "float32",
        "int32",
    ]
    assert relay.const(1, "int8").data.dtype == np.int8
    assert relay.const(np.ones(2), "float64").data.dtype == np.float64
    assert relay.add(relay.var("x", dtype="int64"), np.arange(2)).args[1].data.dtype == np.int64


def test_modules_hold_functions_and_data_types() -> None:
    n = relay.var("n", "int32")
    double = relay.Function([n], n + n)
    gv = relay.GlobalVar("double")
    mod = relay.IRModule({gv: double})
    mod["main"] = relay.Function([m := relay.var("m", "int32")], gv(gv(m)))
    assert mod["double"] is double
    assert "main" in mod
    assert mod.get_global_var("double") is gv
    with pytest.raises(ValueError, match='Cannot find global var "no" in the Module'):
        mod.get_global_var("no")
    assert relay.create_executor("vm", mod).evaluate()(5) == 20
    assert relay.create_executor("vm", mod).evaluate(gv)(5) == 10
    folded = relay.transform.InferType()(mod)
    assert isinstance(folded, relay.IRModule)
    assert list(folded.program.functions) == ["double", "main"]
    assert mod["double"] is double


def test_gradient_of_a_function() -> None:
    v, w = relay.var("v", shape=(3,)), relay.var("w", shape=(3,))
    made = relay.transform.gradient(relay.Function([v, w], relay.sum(v * v * w)))
    a, b = np.array([1, 2, 3], np.float32), np.array([4, 5, 6], np.float32)
    total, (by_v, by_w) = relay.create_executor("debug").evaluate(made)(a, b)
    np.testing.assert_allclose(total, (a * a * b).sum())
    np.testing.assert_allclose(by_v, 2 * a * b)
    np.testing.assert_allclose(by_w, a * a)
    with pytest.raises(PipelineError, match="expected a function, got Var"):
        relay.transform.gradient(v)


def test_scope_builder_binds_and_branches() -> None:
    cond, n = relay.var("cond", "bool"), relay.var("n", "int32")
    sb = relay.ScopeBuilder()
    double = sb.let("double", n + n)
    with sb.if_scope(cond):
        more = sb.let("more", double + relay.const(1))
        sb.ret(more)
    with sb.else_scope():
        sb.ret(double)
    run = relay.create_executor("vm").evaluate(relay.Function([cond, n], sb.get()))
    assert (int(run(True, 5)), int(run(False, 5))) == (11, 10)
    with pytest.raises(FrontendError, match="expected a `ret` in every scope"):
        relay.ScopeBuilder().get()
    with pytest.raises(FrontendError, match="expected an `if_scope` before"), relay.ScopeBuilder().else_scope():
        pass


def test_open_extents() -> None:
    rows = relay.var("rows", shape=(relay.Any(), 4))
    mod = relay.IRModule.from_expr(relay.Function([rows], relay.exp(rows)))
    assert "Tensor[(?, 4), float32]" in str(mod)
    run = relay.create_executor("vm", mod).evaluate()
    for count in (1, 3):
        np.testing.assert_allclose(run(np.zeros((count, 4), np.float32)), np.ones((count, 4)))


def test_attributes_of_calls() -> None:
    call = relay.nn.conv2d(relay.var("x", shape=(1, 3, 8, 8)), relay.var("w"), channels=4, kernel_size=3)
    assert isinstance(call, relay.Call)
    assert call.attrs.channels == 4
    assert list(call.attrs.kernel_size) == [3, 3]
    assert call.attrs.data_layout == "NCHW"
    assert call.attrs["channels"] == 4
    with pytest.raises(AttributeError, match=r"nn\.conv2d: expected an attribute among strides, padding"):
        _ = call.attrs.no_such
    text = relay.parse_expr("fn (%x: Tensor[(4,), float32]) { nn.softmax(%x) }")
    assert isinstance(text, relay.Function)
    assert isinstance(text.body, relay.Call)
    assert text.body.attrs.axis == -1
