"""Casts that bind sizes and check extents."""

from io import StringIO
from typing import Any

import numpy as np
import pytest
from xdsl.printer import Printer

import whence
from whence import WhenceError, relay
from whence.dialects.located_parser import LocatedParser
from whence.dialects.relay.match_cast import MatchCastOp
from whence.reading.textio import context


def parsed(text: str) -> Any:
    return relay.parse(f'#[version = "0.0.5"]\n{text}', "net.relay")


def numbers(*shape: int) -> Any:
    return np.random.default_rng(0).standard_normal(shape).astype("float32")


def refusal(call: Any, *arguments: Any) -> str:
    with pytest.raises(WhenceError) as caught:
        call(*arguments)
    return str(caught.value)


OPEN = """def @main(%x: Tensor[(?, ?), float32]) {
  %0 = match_cast(%x, shape=[k, 4], dtype="float32");
  reshape(nn.relu(%0), newshape=[k, 2, 2])
}"""
NAMED = """def @main(%x: Tensor[(n, 4), float32], %y: Tensor[(m, 4), float32]) {
  %0 = match_cast(%x, shape=[m, 4], dtype="float32");
  nn.relu(%0) + %y
}"""


def test_a_size_that_inputs_tell():
    exe = whence.compile(parsed(OPEN), tier="symbolic")
    for rows in (1, 6):
        x = numbers(rows, 4)
        np.testing.assert_array_equal(exe(x), np.maximum(x, 0).reshape(rows, 2, 2))
    text = refusal(exe, numbers(6, 5))
    assert all(part in text for part in ("x_1 = 5", "net.relay:3:8")), text


def test_a_number():
    x = relay.var("x", shape=(6, 4))
    exe = whence.compile(
        whence.IRModule.from_expr(relay.Function([x], relay.match_cast(x, ("k", 4)) * relay.const(2.0)))
    )
    np.testing.assert_array_equal(exe(numbers(6, 4)), numbers(6, 4) * 2)
    assert exe.choice.kind == "static"
    assert not any(isinstance(op, MatchCastOp) for op in exe.artifact.snapshots[-1].module.walk())


@pytest.mark.parametrize(
    ("shape", "dtype", "text"),
    [
        ((5, 4), "float32", "expected [5, 4], got tensor<6x4xf32>"),
        (("k", "k"), "float32", "expected [6, 6], got tensor<6x4xf32>"),
        (("k",), "float32", "a tensor of 1 dimensions, [k]"),
        (("k", 4), "int32", "a tensor of int32, got tensor<6x4xf32>"),
    ],
)
def test_what_no_call_has(shape: Any, dtype: str, text: str):
    x = relay.var("x", shape=(6, 4))
    module = whence.IRModule.from_expr(relay.Function([x], relay.match_cast(x, shape, dtype)))
    assert text in refusal(whence.compile, module)


def test_sizes_of_two_inputs_that_are_to_be_equal():
    exe = whence.compile(parsed(NAMED))
    assert exe.choice.kind == "sized"
    x, y = numbers(6, 4), numbers(6, 4) + 1
    np.testing.assert_array_equal(exe(x, y), np.maximum(x, 0) + y)
    text = refusal(exe, x, numbers(5, 4))
    assert all(part in text for part in ("m - n", "n = 6", "m = 5", "net.relay:3:8")), text


def _found() -> Any:
    x, y = relay.var("x", shape=(8,)), relay.var("y", shape=("k", 1))
    cast = relay.match_cast(relay.argwhere(x), ("k", 1), "int32")
    return whence.IRModule.from_expr(relay.Function([x, y], relay.cast(cast, "float32") + y))


def test_a_size_that_values_decide_is_that_of_an_input():
    exe = whence.compile(_found())
    assert exe.choice.kind == "virtual machine"
    for count in (4, 5, 4):
        x = (np.arange(8) < count).astype("float32")
        y = numbers(count, 1)
        np.testing.assert_array_equal(exe(x, y), np.argwhere(x).astype("float32") + y)
        for other in (1, count + 1):
            text = refusal(exe, x, numbers(other, 1))
            assert f"[k, 1] for k = {other}, got tensor<{count}x1xi32> (layer 'match_cast_0')" in text


def test_a_size_that_values_decide_is_that_of_other_values():
    x, y = relay.var("x", shape=(8,)), relay.var("y", shape=(8,))
    casts = [relay.match_cast(relay.argwhere(v), ("k", 1), "int32") for v in (x, y)]
    exe = whence.compile(whence.IRModule.from_expr(relay.Function([x, y], relay.concatenate(casts, axis=1))))
    a, b = (np.arange(8) < 3).astype("float32"), (np.arange(8) > 4).astype("float32")
    np.testing.assert_array_equal(exe(a, b), np.concatenate([np.argwhere(a), np.argwhere(b)], 1))
    assert "[k, 1] for k = 3, got tensor<8x1xi32> (layer 'match_cast_1')" in refusal(exe, a, np.ones(8, "float32"))


def test_text_and_ops_round_trip():
    module = parsed(OPEN)
    again = relay.fromtext(module.astext())
    assert "match_cast(%x, shape=[k, 4], dtype=" in again.astext()
    stream = StringIO()
    Printer(stream, print_debuginfo=True).print_op(module.module)
    twin = LocatedParser(context(), stream.getvalue(), "net.mlir").parse_module()
    twin.verify()
    assert str(twin) == str(module.module)
