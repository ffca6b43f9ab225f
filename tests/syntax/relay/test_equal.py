"""Which expressions are the same: names do not count, sharing does."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import StringAttr

from whence.dialects.relay.types import TypeVar
from whence.provenance.span import SourceName, Span
from whence.syntax.relay.equal import structural_digest, structural_equal, structural_hash
from whence.syntax.relay.expr import Call, Constant, Expr, Function, Let, Op, Tuple, Var
from whence.syntax.text import fromtext, parse_expr

VERSION = '#[version = "0.0.5"]\n'


def add(x: Expr, y: Expr) -> Expr:
    return Call(Op("add"), [x, y])


def test_a_graph_is_no_tree():
    x, y = Var("x"), Var("y")
    shared = add(x, y)
    graph, tree = add(shared, shared), add(add(x, y), add(x, y))
    assert structural_equal(graph, add(s := add(x, y), s))
    assert structural_equal(tree, add(add(x, y), add(x, y)))
    assert not structural_equal(graph, tree)
    assert not structural_equal(tree, graph)


def test_free_variables():
    x, y = Var("x"), Var("y")
    assert structural_equal(add(x, y), add(x, y))
    assert not structural_equal(add(x, y), add(y, x))
    assert structural_equal(add(x, y), add(y, x), map_free_vars=True)
    assert not structural_equal(add(x, y), add(x, x), map_free_vars=True)
    assert not structural_equal(add(x, x), add(x, y), map_free_vars=True)


@pytest.mark.parametrize(
    ("lhs", "rhs", "equal"),
    [
        ("fn (%x) { %x }", "fn (%y) { %y }", True),
        ("fn (%x, %y) { %x }", "fn (%x, %y) { %y }", False),
        ("fn (%x: int32) { %x }", "fn (%x) { %x }", False),
        ("fn (%x) { %x }", "fn (%x) -> int32 { %x }", False),
        ("fn (%x, a=1) { %x }", "fn (%x, a=2) { %x }", False),
        ("fn (%x, a=1) { %x }", "fn (%x) { %x }", False),
        ("fn [A](%x: A) -> A { %x }", "fn [B](%y: B) -> B { %y }", True),
        ("fn [A, B](%x: A) -> A { %x }", "fn [A, B](%x: B) -> B { %x }", False),
        ("let %x = 1; let %y = %x; %y", "let %y = 1; let %x = %y; %x", True),
        ("let %x = 1; let %y = %x; %y", "let %x = 1; let %y = %x; %x", False),
        ("nn.softmax(1)", "nn.softmax(1, axis=-1)", True),
        ("nn.softmax(1)", "nn.softmax(1, axis=0)", False),
        ("reshape(1, newshape=[1])", "reshape(1, newshape=[1], allowzero=False)", True),
        ("clip(1, a_min=0, a_max=1)", "clip(1, a_min=0f, a_max=1f)", True),
        ("clip(1, a_min=0, a_max=1)", "clip(1, a_min=0, a_max=2)", False),
        ("nn.conv2d(1, 2, padding=[0, 0])", "nn.conv2d(1, 2)", True),
        ("1", "1i64", False),
        ("nanf", "nanf", True),
        ("(1, 2)", "(1, 2, 3)", False),
        ("%0 = (1, 2); %0.0", "%0 = (1, 2); %0.1", False),
        ("if (True) { 1 } else { 2 }", "if (True) { 2 } else { 1 }", False),
        ("ref(1)", "ref_read(ref(1))", False),
        ("((), ())", "%0 = (); (%0, %0)", True),
        ("@f(1)", "@g(1)", False),
        ("exp(1)", "tanh(1)", False),
        ("@f[int32](1)", "@f(1)", True),
        ("@f[int32](1)", "@f[int64](1)", False),
    ],
)
def test_texts(lhs: str, rhs: str, equal: bool):
    assert structural_equal(parse_expr(lhs), parse_expr(rhs)) == equal
    assert structural_equal(parse_expr(rhs), parse_expr(lhs)) == equal
    if equal:
        assert structural_hash(parse_expr(lhs)) == structural_hash(parse_expr(rhs))


@pytest.mark.parametrize(
    ("rhs", "equal"),
    [
        ("type L[B] { C(B, L[B]), N }\ndef @f(%y: L[int32]) { match (%y) { C(%a, _) => %a, N => 0 } }", True),
        ("type L[A] { C(A, L[A]), N }\ndef @f(%x: L[int32]) { match? (%x) { C(%a, _) => %a, N => 0 } }", False),
        ("type L[A] { C(A, L[A]), N }\ndef @f(%x: L[int32]) { match (%x) { C(_, %a) => %a, N => 0 } }", False),
        ("type L[A] { C(L[A], A), N }\ndef @f(%x: L[int32]) { match (%x) { C(%a, _) => %a, N => 0 } }", False),
        ("type L[A] { C(A, L[A]), N }\ndef @g(%x: L[int32]) { match (%x) { C(%a, _) => %a, N => 0 } }", False),
    ],
)
def test_modules(rhs: str, equal: bool):
    lhs = "type L[A] { C(A, L[A]), N }\ndef @f(%x: L[int32]) { match (%x) { C(%a, _) => %a, N => 0 } }"
    assert structural_equal(fromtext(VERSION + lhs), fromtext(VERSION + rhs)) == equal


def test_closures_compare_with_what_they_capture():
    def closure(name: str) -> Expr:
        p, q = Var("p"), Var("q", TypeVar(StringAttr(name)))
        return Function([p, q], add(p, Var("b")), type_params=[name])

    one, other = closure("A"), closure("B")
    assert not structural_equal(one, other)
    assert structural_equal(one, other, map_free_vars=True)
    assert structural_hash(one, map_free_vars=True) == structural_hash(other, map_free_vars=True)


def test_digests_tell_types_and_digits_apart():
    def digest(text: str) -> str:
        return structural_digest(parse_expr(text))

    text = "fn (%x: Tensor[(2), float32]) { clip(%x, a_min=0.0001f, a_max=1f) }"
    assert digest(text) == digest(text.replace("%x", "%y"))
    assert len({digest(text), digest(text.replace("(2)", "(3)")), digest(text.replace("0.0001", "0.0002"))}) == 3


def test_spans_count_when_asked_for():
    here, there = Span(SourceName("a")), Span(SourceName("b"))
    one, other = Tuple([Constant(np.array(1))], span=here), Tuple([Constant(np.array(1))], span=there)
    assert structural_equal(one, other)
    assert not structural_equal(one, other, spans=True)
    assert not structural_equal(Tuple([one]), Tuple([other]), spans=True)
    assert structural_equal(one, Tuple([Constant(np.array(1))], span=here), spans=True)


def test_depth_costs_no_stack():
    def lets(length: int) -> Expr:
        body: Expr = Constant(np.array(1))
        for _ in range(length):
            body = Let(Var("x"), body, add(body, body))
        return body

    assert structural_equal(lets(3000), lets(3000))
    assert not structural_equal(lets(3000), lets(2999))
