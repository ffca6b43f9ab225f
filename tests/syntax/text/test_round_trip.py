"""What is printed is read back as it was: expressions of any shape, long ones, deep ones, with spans and metadata."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_relay_checks import Checker
from random_relay_text import program

from whence.provenance.span import SequentialSpan, SourceName, Span
from whence.support.errors import FrontendError
from whence.syntax.relay.elaborate import elaborate
from whence.syntax.relay.equal import structural_equal
from whence.syntax.relay.expr import Call, Constant, Expr, Function, If, Let, Op, Program, Var
from whence.syntax.relay.view import view
from whence.syntax.text import astext, fromtext, parse, parse_expr

choices = st.lists(st.integers(0, 63), max_size=120)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(choices, st.booleans())
def test_any_program(numbers: Sequence[int], spans: bool):
    made = program(numbers, spans)
    text = astext(made)
    again = fromtext(text)
    assert structural_equal(again, made, map_free_vars=True, spans="span=" in text or "si=" in text), text
    assert astext(again, annotate=lambda _: "") == astext(made, annotate=lambda _: "")


DATA = """#[version = "0.0.5"]
type Either[A, B] { Left(A), Right(B), }
type List[A] { Cons(A, List[A]), Nil, }
def @none[A](%n: int32) -> List[A] { if (%n < 1) { Nil } else { @none(%n - 1) } }
def @length[A](%xs: List[A]) -> int32 { match (%xs) { Cons(_, %rest) => 1 + @length(%rest), Nil => 0, } }
"""
TOLD = {
    "by a let": (
        "let %q: Either[int32, float32] = Right(1f); match (%q) { Left(_) => 1, Right(_) => %n, }",
        "let %q: Either[int32, float32] = Right(1f)",
    ),
    "by the call of a constructor": ("@length(Nil[float32]()) + %n", "Nil[float32]()"),
    "by the call of a function": ("@length(@none[float32](%n))", "@none[float32](%n)"),
    "by another argument": ("@length(Cons(%n, Nil))", "Cons(%n, %"),
    "by a branch": ("%0 = if (%n < 1) { Nil[bool]() } else { Nil }; @length(%0)", "Nil[bool]()"),
}


@pytest.mark.parametrize("way", TOLD)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_types_that_nothing_else_tells_are_said_after_every_pass(way: str):
    """And no other ones: `Nil` beside another element of its list is `Nil`."""
    body, expected = TOLD[way]
    checker = Checker(fromtext(f"{DATA}def @main(%n: int32) -> int32 {{ {body} }}"), [np.array(2, np.int32)])
    text = astext(view(checker.module), annotate=lambda _: "")
    assert expected in text
    assert text.count("float32]") + text.count("[bool]") == expected.count("[")
    checker.check()


def test_types_may_name_later_types():
    made = fromtext('#[version = "0.0.5"]\ntype A { X(B[int32]), }\ntype B[T] { Y(A, T), Z, }\ndef @f() { X(Z) }')
    assert structural_equal(fromtext(astext(made)), made)
    with pytest.raises(FrontendError, match="a type with the name `C` has not been declared"):
        fromtext('#[version = "0.0.5"]\ntype A { X(C), }')
    with pytest.raises(FrontendError, match="expected 1 type arguments for `B`, got 0"):
        fromtext('#[version = "0.0.5"]\ntype A { X(B), }\ntype B[T] { Y(A, T), Z, }')


def test_a_let_of_a_split_into_one_part_is_a_tuple():
    made = fromtext(
        '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), int32]) { let %s = split(%x, indices_or_sections=1); %s.0 }'
    )
    module = elaborate(made)
    assert structural_equal(fromtext(astext(view(module))), made)
    Checker(made, [np.array([3, 4], np.int32)]).check((), ["relay-to-a-normal-form"], ())


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
