"""Arrays of tensors, of any rank and of one shape, against numpy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from whence import relay
from whence.relay.prelude import Prelude, StaticTensorArrayOps, TensorArrayOps
from whence.runtime.interpreting.container import ConstructorValue
from whence.support.errors import FrontendError

RANDOM = np.random.default_rng(8)
Made = tuple[relay.Function, list[Any], Any]


def flat(value: Any) -> list[Any]:
    """The tensors in a list of them, or in one."""
    if isinstance(value, np.ndarray):
        return [value]
    if value.name == "Nil" or value.name.startswith("tensor_nil"):
        return [] if value.name == "Nil" else [np.zeros(())]
    return [one for field in value.fields for one in flat(field)]


def array_of(p: Prelude, dtype: str, tensors: Sequence[relay.Expr]) -> relay.Expr:
    found = p.get_global_var("tensor_array", dtype)(relay.const(len(tensors)))
    for number, tensor in enumerate(tensors):
        found = p.get_global_var("tensor_array_write", dtype)(found, relay.const(number), tensor)
    return found


def inputs(count: int, rank: int, dtype: str) -> list[relay.Var]:
    return [relay.var(f"v{k}", shape=(relay.Any(),) * rank, dtype=dtype) for k in range(count)]


def a(shape: tuple[int, ...], dtype: str) -> Any:
    return (RANDOM.random(shape) * 8).astype(dtype)


def grown(p: Prelude, dtype: str) -> Made:
    (x,), v = inputs(1, 1, dtype), a((3,), dtype)
    body = p.get_global_var("tensor_expand_dims", dtype)(p.get_tensor_ctor("tensor1", dtype)(x))
    return relay.Function([x], body), [v], [v[None]]


def taken(p: Prelude, dtype: str) -> Made:
    (x,), v = inputs(1, 2, dtype), a((10, 4), dtype)
    i, j = relay.var("i", "int32"), relay.var("j", "int32")
    body = p.get_global_var("tensor_take", dtype)(p.get_tensor_ctor("tensor2", dtype)(x), i, j)
    return relay.Function([x, i, j], body), [v, 2, 5], [v[2:5]]


def stacked(p: Prelude, dtype: str) -> Made:
    xs, vs = inputs(3, 1, dtype), [a((2,), dtype) for _ in range(3)]
    tensors = [p.get_tensor_ctor("tensor1", dtype)(x) for x in xs]
    body = p.get_global_var("tensor_array_stack", dtype)(array_of(p, dtype, tensors))
    return relay.Function(xs, body), vs, [np.stack(vs)]


def joined(p: Prelude, dtype: str) -> Made:
    xs, vs = inputs(2, 2, dtype), [a((2, 3), dtype), a((1, 3), dtype)]
    tensors = [p.get_tensor_ctor("tensor2", dtype)(x) for x in xs]
    body = p.get_global_var("tensor_array_concat", dtype)(array_of(p, dtype, tensors))
    return relay.Function(xs, body), vs, [np.concatenate(vs)]


def scattered(p: Prelude, dtype: str) -> Made:
    xs, vs = inputs(5, 1, dtype), [a((2,), dtype) for _ in range(5)]
    at = relay.var("at", shape=(2,), dtype="int32")
    tensors = [p.get_tensor_ctor("tensor1", dtype)(x) for x in xs]
    given = array_of(p, dtype, tensors[:3]), at, array_of(p, dtype, tensors[3:])
    body = p.get_global_var("tensor_array_scatter", dtype)(*given)
    return relay.Function([*xs, at], body), [*vs, np.array([2, 0], np.int32)], [vs[4], vs[1], vs[3]]


def split(p: Prelude, dtype: str) -> Made:
    xs, vs = inputs(3, 2, dtype), [a((2, 3), dtype) for _ in range(3)]
    value, lengths = relay.var("value", shape=(4, 3), dtype=dtype), relay.var("n", shape=(2,), dtype="int32")
    constructor = p.get_tensor_ctor("tensor2", dtype)
    array = array_of(p, dtype, [constructor(x) for x in xs])
    body = p.get_global_var("tensor_array_split", dtype)(array, constructor(value), lengths)
    v = a((4, 3), dtype)
    return relay.Function([*xs, value, lengths], body), [*vs, v, np.array([1, 3], np.int32)], [v[:1], v[1:], vs[2]]


def unstacked(p: Prelude, dtype: str) -> Made:
    (x,), v = inputs(1, 2, dtype), a((3, 2), dtype)
    return relay.Function([x], p.get_global_var("tensor_array_unstack_tensor2", dtype)(x)), [v], list(v)


def gathered(p: Prelude, dtype: str) -> Made:
    xs, vs = inputs(3, 1, dtype), [a((2,), dtype) for _ in range(3)]
    at = relay.var("at", shape=(2,), dtype="int32")
    array = array_of(p, dtype, [p.get_tensor_ctor("tensor1", dtype)(x) for x in xs])
    body = p.get_global_var("tensor_array_gather", dtype)(array, at)
    return relay.Function([*xs, at], body), [*vs, np.array([2, 0], np.int32)], [np.stack([vs[2], vs[0]])]


@pytest.mark.parametrize(("kind", "dtype"), [("debug", "int32"), ("vm", "float32")])
def test_arrays_of_any_rank(kind: str, dtype: str) -> None:
    p = Prelude()
    cases = [case(p, dtype) for case in (grown, taken, stacked, joined, scattered, split, unstacked, gathered)]
    params = [param for function, _, _ in cases for param in function.params]
    p.mod["main"] = relay.Function(params, relay.Tuple([function.body for function, _, _ in cases]))
    results = relay.create_executor(kind, p.mod).evaluate()(*(value for _, values, _ in cases for value in values))
    for result, (_, _, expected) in zip(results, cases, strict=True):
        assert isinstance(result, ConstructorValue) == (kind == "debug")
        for found, wanted in zip(flat(result), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_arrays_of_one_shape() -> None:
    p = Prelude()
    for shape in ([], [3], [10, 4], [relay.Any(), 4]):
        StaticTensorArrayOps(p, "float32", shape).register()
    shape = [10, 4]
    constructor = p.get_tensor_ctor_static("tensor_constructor", "float32", shape)

    def function(name: str) -> relay.GlobalVar:
        return p.get_global_var_static(name, "float32", shape)

    x, y = (relay.var(name, shape=(10, 4)) for name in "xy")
    i, j = relay.var("i", "int32"), relay.var("j", "int32")
    array = function("tensor_array")(relay.const(2))
    array = function("tensor_array_write")(array, relay.const(0), constructor(x))
    array = function("tensor_array_write")(array, relay.const(1), constructor(y))
    parts = [
        function("tensor_take")(constructor(x), i, j),
        function("tensor_concatenate")(constructor(x), constructor(y)),
        function("tensor_expand_dims")(constructor(x)),
        function("tensor_array_stack")(array),
        function("tensor_get_data")(function("tensor_array_read")(array, relay.const(1))),
        function("tensor_array_unstack")(x),
    ]
    p.mod["main"] = relay.Function([x, y, i, j], relay.Tuple(parts))
    v, w = a((10, 4), "float32"), a((10, 4), "float32")
    found = relay.create_executor("debug", p.mod).evaluate()(v, w, 2, 5)
    expected = [[v[2:5]], [np.concatenate([v, w])], [v[None]], [np.stack([v, w])], [w], list(v)]
    for one, wanted in zip(found, expected, strict=True):
        for tensor, value in zip(flat(one), wanted, strict=True):
            np.testing.assert_array_equal(tensor, value)


def test_names_of_arrays() -> None:
    p = Prelude()
    ops = TensorArrayOps(p, "float32")
    ops.register()
    name, *constructors = p.mod.get_type("tensor_float32_t")
    assert (name, len(constructors)) == ("tensor_float32_t", 8)
    assert ops.get_global_var("tensor_array").name_hint == "tensor_array_float32" == ops.get_name("tensor_array")
    assert p.get_type("tensor_t", "float32") == name
    static = StaticTensorArrayOps(p, "int32", [relay.Any(), 3])
    static.register()
    assert static.get_name("tensor_array") == "tensor_array_int32_any_3"
    assert static.get_ctor("tensor_nil").name_hint == "tensor_nil_int32_any_3"
    assert static.get_global_var("tensor_array").name_hint == "tensor_array_int32_any_3"
    assert p.get_type_static("tensor_t", "int32", [relay.Any(), 3]) == "static_tensor_int32_any_3_t"
    with pytest.raises(FrontendError, match="expected a constructor among tensor_nil_float32"):
        ops.get_ctor("tensor9")
