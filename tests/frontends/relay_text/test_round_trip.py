"""What is printed is read back as it was: expressions of any shape, long ones, deep ones, with spans and metadata."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_relay_text import program

from whence.frontends.relay.equal import structural_equal
from whence.frontends.relay.expr import Call, Constant, Expr, Function, If, Let, Op, Program, Var
from whence.frontends.relay_text import astext, fromtext, parse, parse_expr
from whence.provenance.span import SequentialSpan, SourceName, Span

choices = st.lists(st.integers(0, 63), max_size=120)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(choices, st.booleans())
def test_any_program(numbers: Sequence[int], spans: bool):
    made = program(numbers, spans)
    text = astext(made)
    again = fromtext(text)
    assert structural_equal(again, made, map_free_vars=True, spans="span=" in text or "si=" in text), text
    assert astext(again, annotate=lambda _: "") == astext(made, annotate=lambda _: "")


def chain(length: int) -> Expr:
    x = Var("x")
    body: Expr = x
    for _ in range(length):
        body = Call(Op("exp"), [body], span=Span(SourceName("layer"), 1, 1, 0, 0, "m.onnx"))
    return Function([x], body)


def lets(length: int) -> Expr:
    names = [Var("x") for _ in range(length)]
    body: Expr = names[-1]
    for var, before in zip(reversed(names), [*reversed(names[:-1]), Constant(np.array(1.0))], strict=True):
        body = Let(var, before, body)
    return body


def branches(depth: int) -> Expr:
    cond = Var("c")
    body: Expr = cond
    for _ in range(depth):
        body = If(cond, body, cond)
    return Function([cond], body)


@pytest.mark.parametrize(("make", "size"), [(chain, 3000), (lets, 3000), (branches, 400)])
def test_long_and_deep_ones(make: Callable[[int], Expr], size: int):
    made = make(size)
    assert structural_equal(parse_expr(astext(made)), made)


def test_spans_of_layers_of_files():
    x = Var("x", span=Span(SourceName("conv.x"), 0, 0, 0, 0, "a.onnx"))
    conv = Call(Op("exp"), [x], span=Span(SourceName("conv"), 3, 3, 0, 0, "a.onnx"))
    other = Call(Op("exp"), [conv], span=Span(SourceName("conv"), 3, 3, 0, 0, "b.onnx"))
    both = Call(Op("add"), [conv, other], span=SequentialSpan([*[conv.span] * 2, other.span]))  # type: ignore[list-item]
    made = Function([x], both, span=Span(SourceName("main"), 0, 0, 0, 0, "a.onnx"))
    text = astext(made)
    assert structural_equal(parse_expr(text), made, spans=True)
    again = parse_expr(text.replace("exp(%x)", "tanh(%x)"))
    assert isinstance(again, Function)
    assert isinstance(again.body, Call)
    assert str(again.body.span) == "SequentialSpan([ conv:0:0, conv:0:0, conv:0:0 ])"


def test_one_name_behind_si_is_a_span():
    parsed = parse_expr("exp(1) /* ty=int32 */ /* si=conv */")
    assert parsed.span == Span(SourceName("conv"))
    assert parse_expr("exp(1) /* si=[ a, b:2:3 ] */").span == SequentialSpan(
        [Span(SourceName("a")), Span(SourceName("b"), 2, 2, 3, 3)]
    )


def test_other_comments_say_no_span():
    for comment in ("/* span */", "/* ty=int32 */", "/* see span=conv:0:0 */", "// span=conv:0:0"):
        parsed = parse_expr(f"exp(1) {comment}")
        assert parsed.span == Span(SourceName("from_string"), 1, 1, 1, 7)


def test_spans_are_places_in_the_text():
    module = parse('#[version = "0.0.5"]\ndef @main(%x) {\n  %0 = exp(%x);\n\n  add(%0,\n    1)\n}', "a.relay")
    main = module.functions["main"]
    assert isinstance(main.body, Call)
    assert main.body.span == Span(SourceName("a.relay"), 5, 6, 3, 7)
    assert main.body.args[0].span == Span(SourceName("a.relay"), 3, 3, 8, 15)
    assert main.params[0].span == Span(SourceName("a.relay"), 2, 2, 11, 13)
    assert main.span == Span(SourceName("a.relay"), 2, 7, 1, 2)
    assert main.body.op.span is None


@pytest.mark.parametrize("dtype", ["int8", "uint8", "bool", "float16", "bfloat16", "float32", "int64"])
def test_tensors(dtype: str):
    import ml_dtypes

    kind = np.dtype(getattr(ml_dtypes, dtype)) if dtype == "bfloat16" else np.dtype(dtype)
    values = np.random.default_rng(0).integers(0, 2, (2, 0, 3) if dtype == "int8" else (2, 3)).astype(kind)
    again = parse_expr(astext(Constant(values)))
    assert isinstance(again, Constant)
    assert again.data.dtype == kind
    np.testing.assert_array_equal(again.data, values)


def test_a_tensor_read_twice_is_written_once():
    values = np.arange(3)
    text = astext(Call(Op("add"), [Constant(values), Constant(values)]))
    assert "add(meta[relay.Constant][0], meta[relay.Constant][0])" in text
    assert len(json.loads(text.partition("#[metadata]")[2])["b64ndarrays"]) == 1


def test_metadata_as_upstream_writes_it():
    section = {
        "root": 1,
        "nodes": [
            {"type_key": ""},
            {"type_key": "Map", "keys": ["relay.Constant", "tir.SizeVar"], "data": [2, 5]},
            {"type_key": "Array", "data": [3]},
            {
                "type_key": "relay.Constant",
                "attrs": {"_checked_type_": "4", "data": "0", "span": "0", "virtual_device_": "0"},
            },
            {"type_key": "relay.TensorType", "attrs": {"dtype": "float32", "shape": "0", "span": "0"}},
            {"type_key": "Array", "data": [6]},
            {"type_key": "tir.SizeVar", "attrs": {"dtype": "int32", "name": "0", "span": "0", "type_annotation": "0"}},
        ],
        "b64ndarrays": ["P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQACAAAAAAAAAAgAAAAAAAAAAACAPwAAAEA="],
        "attrs": {"tvm_version": "0.14.0"},
    }
    text = "fn (%x: Tensor[(meta[tir.SizeVar][0], 2), float32]) { add(%x, meta[relay.Constant][0]) }"
    made = parse_expr(f"{text}\n#[metadata]\n{json.dumps(section)}")
    assert isinstance(made, Function)
    assert str(made.params[0].type_annotation) == "Tensor[(?, 2), float32]"
    assert isinstance(made.body, Call)
    assert isinstance(constant := made.body.args[1], Constant)
    assert constant.data.tolist() == [1, 2]


def test_an_empty_module():
    assert fromtext(astext(Program())).functions == {}
