"""What the text says, read: each text against the expression that Python writes for it."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType, TensorType, VectorType, f32, i32

from whence.dialects.relay.types import UNIT, RefType, adt_type, function_type, tuple_type
from whence.syntax.relay.equal import structural_equal
from whence.syntax.relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Op,
    PatternConstructor,
    PatternVar,
    PatternWildcard,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from whence.syntax.text import astext, fromtext, parse, parse_expr

VERSION = '#[version = "0.0.5"]\n'
LIST = "type List[A] { Cons(A, List[A]), Nil, }\n"
INT, FLOAT = TensorType(i32, []), TensorType(f32, [])


def const(value: object, dtype: str = "int32") -> Constant:
    return Constant(np.array(value, dtype))


def call(op: str, *args: Expr) -> Call:
    return Call(Op(op), list(args))


ONE, TWO = const(1), const(2)
X, Y = Var("x"), Var("y")
EMPTY = Tuple([])


@pytest.mark.parametrize(
    ("text", "value", "dtype"),
    [
        ("1", 1, "int32"),
        ("-05", -5, "int32"),
        ("--10", 10, "int32"),
        ("---10", -10, "int32"),
        ("-42i", -42, "int32"),
        ("-42i16", -42, "int16"),
        ("42i64", 42, "int64"),
        ("2147483647", 2147483647, "int32"),
        ("-2147483648", -2147483648, "int32"),
        ("2147483648", 2147483648, "int64"),
        ("9223372036854775807", 9223372036854775807, "int64"),
        ("1.0", 1.0, "float32"),
        ("1E-1f", 0.1, "float32"),
        ("1.0e+1f", 10.0, "float32"),
        ("3f16", 3.0, "float16"),
        ("3f64", 3.0, "float64"),
        ("inff", np.inf, "float32"),
        ("-inff", -np.inf, "float32"),
        ("nanf64", np.nan, "float64"),
        ("True", True, "bool"),
        ("False", False, "bool"),
    ],
)
def test_literals(text: str, value: float, dtype: str):
    assert structural_equal(parse_expr(text), const(value, dtype))


@pytest.mark.parametrize(
    ("sign", "name"),
    [
        ("*", "multiply"),
        ("/", "divide"),
        ("+", "add"),
        ("-", "subtract"),
        ("<", "less"),
        ("<=", "less_equal"),
        (">", "greater"),
        (">=", "greater_equal"),
        ("==", "equal"),
        ("!=", "not_equal"),
    ],
)
def test_signs(sign: str, name: str):
    assert structural_equal(parse_expr(f"1{sign}2"), call(name, ONE, TWO))


@pytest.mark.parametrize(
    ("text", "grouped"),
    [
        ("1 * 1 + 1 < 1 == 1", "(((1 * 1) + 1) < 1) == 1"),
        ("1 == 1 < 1 + 1 * 1", "1 == (1 < (1 + (1 * 1)))"),
        ("1 - 2 - 3 + 4", "((1 - 2) - 3) + 4"),
        ("1 / 2 * 3", "(1 / 2) * 3"),
        ("1 + 2 * 3 - 4", "(1 + (2 * 3)) - 4"),
        ("1 - -2", "1 - (-2)"),
    ],
)
def test_how_tightly_signs_bind(text: str, grouped: str):
    assert structural_equal(parse_expr(text), parse_expr(grouped))
    assert not structural_equal(parse_expr("1 * 1 + 1"), parse_expr("1 * (1 + 1)"))


def shared_units() -> Expr:
    return Tuple([EMPTY, EMPTY, ONE])


CURRIED = Var("f")

EXPRESSIONS: list[tuple[str, Expr]] = [
    ("// a line\n()", EMPTY),
    ("/* a block\n /* in a block */ still */ ()", EMPTY),
    ("let %x = 1; ()", Let(X, ONE, EMPTY)),
    ("let %x = 1;\nlet %y = 2;\n()", Let(X, ONE, Let(Y, TWO, EMPTY))),
    ("(); ()", Let(Var(""), EMPTY, EMPTY)),
    ("%0 = (); %1 = 1; (%0, %0, %1)", shared_units()),
    ("(0,)", Tuple([const(0)])),
    ("(0, 1, 2,)", Tuple([const(0), ONE, TWO])),
    ("free_var %x: float32; %x((%x,).0, %x)", Call(v := Var("x", FLOAT), [TupleGetItem(Tuple([v]), 0), v])),
    ("fn () { 0 }", Function([], const(0))),
    ("fn (%x, %y,) { %x + %y }", Function([X, Y], call("add", X, Y))),
    ("fn (%x: int32) -> int32 { %x }", Function([v := Var("x", INT)], v, INT)),
    (
        'fn (Primitive=1, a.b=[1, [2]], s="%x") { () }',
        Function([], EMPTY, attrs={"Primitive": 1, "a.b": [1, [2]], "s": "%x"}),
    ),
    ("if (True) { 0 } else { 1 }", If(const(True, "bool"), const(0), ONE)),
    ("(fn (%x) { %x })(0)", Call(Function([X], X), [const(0)])),
    ("@f(1, 2)", Call(GlobalVar("f"), [ONE, TWO])),
    ("nn.global_avg_pool2d", Op("nn.global_avg_pool2d")),
    ("nn.softmax(1, axis=-1)", call("nn.softmax", ONE)),
    (
        "clip(1f, a_min=-inff, a_max=1e-05f)",
        Call(Op("clip"), [const(1, "float32")], {"a_min": -np.inf, "a_max": 1e-5}),
    ),
    ("ref(1)", RefCreate(ONE)),
    ("ref_read(ref(1))", RefRead(RefCreate(ONE))),
    ("ref_write(ref(1), 2)", RefWrite(RefCreate(ONE), TWO)),
    ("(let %x = 1; %x) + 1", call("add", Let(X, ONE, X), ONE)),
    ("let %f = fn (%x) { %f(%x) }; %f", Let(CURRIED, Function([X], Call(CURRIED, [X])), CURRIED)),
    ("@f[int32](1)", Call(GlobalVar("f"), [ONE], type_args=[INT])),
    ("let %base/x = 1; %base/x / 2", Let(X, ONE, call("divide", X, TWO))),
]


@pytest.mark.parametrize(("text", "expected"), EXPRESSIONS, ids=[text for text, _ in EXPRESSIONS])
def test_expressions(text: str, expected: Expr):
    parsed = parse_expr(text)
    assert structural_equal(parsed, expected, map_free_vars=True)
    assert structural_equal(parse_expr(astext(parsed)), parsed, map_free_vars=True, spans=True)


def test_a_slash_is_part_of_a_name_only_before_more_of_it():
    assert structural_equal(parse_expr("let %x = 1; let %y = 2; %x/%y"), parse_expr("let %x = 1; let %y = 2; %x / %y"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int32", INT),
        ("Tensor[(), float32]", FLOAT),
        ("Tensor[(4), float32]", TensorType(f32, [4])),
        ("Tensor[(4,), float32]", TensorType(f32, [4])),
        ("Tensor[(?, 1), float32]", TensorType(f32, [DYNAMIC_INDEX, 1])),
        ("()", UNIT),
        ("(int32,)", tuple_type([INT])),
        ("(int32, (float32, int32))", tuple_type([INT, tuple_type([FLOAT, INT])])),
        ("fn (int32) -> float32", function_type([], [INT], FLOAT)),
        ("fn () -> ()", function_type([], [], UNIT)),
        ("ref(int32)", RefType(INT)),
        ("List[int32]", adt_type("List", [INT])),
        ("int8x4", TensorType(VectorType(IntegerType(8), [4]), [])),
        ("_", None),
    ],
)
def test_types(text: str, expected: object):
    module = parse(f"{VERSION}{LIST}def @main(%x: {text}) {{ () }}")
    param = module.functions["main"].params[0]
    assert param.type_annotation == expected
    assert structural_equal(fromtext(astext(module)), module, spans=True)


def test_data_types_and_match():
    module = parse(
        f"{VERSION}{LIST}extern type T[A]\n"
        "def @length[A](%xs: List[A]) -> int32 {\n"
        "  match? (%xs) { Cons(_, %rest : List[A]) => 1 + @length(%rest), Nil => { 0 }, }\n"
        "}\n"
        "def @main[A]() -> fn (A, List[A]) -> List[A] { Cons }\n"
        "def @single(%x: int32) -> List[int32] { Cons(%x, Nil) }"
    )
    assert [(c.name_hint, len(c.inputs), c.tag) for c in module.types["List"].constructors] == [
        ("Cons", 2, 0),
        ("Nil", 0, 1),
    ]
    assert module.types["T"].constructors == []
    match = module.functions["length"].body
    assert isinstance(match, Match)
    assert not match.complete
    first = match.clauses[0].lhs
    assert isinstance(first, PatternConstructor)
    assert [type(one) for one in first.patterns] == [PatternWildcard, PatternVar]
    single = module.functions["single"].body
    assert isinstance(single, Call)
    assert isinstance(nil := single.args[1], Call)
    assert not nil.args
    assert structural_equal(fromtext(astext(module)), module, spans=True)


def test_a_text_may_use_another_module_and_given_metadata():
    ours = fromtext(f"{VERSION}def @f(%y: Tensor[(2, 3), float32]) {{ negative(%y) }}")
    values = np.random.default_rng(0).random((2, 3), "float32")
    text = f"{VERSION}def @main(%x: Tensor[(2, 3), float32]) {{ add(@f(%x), meta[relay.Constant][0]) }}"
    module = parse(text, "name", ours, {"relay.Constant": [Constant(values)]})
    assert list(module.functions) == ["f", "main"]
    assert list(ours.functions) == ["f"]
    body = module.functions["main"].body
    assert isinstance(body, Call)
    assert isinstance(constant := body.args[1], Constant)
    assert np.shares_memory(constant.data, values)
    assert structural_equal(fromtext(astext(module)), module, spans=True)


def test_calls_of_no_operator_keep_attributes_with_their_kind():
    text = 'let %f = fn (%x) { %x }; %f(1, name="n", attrs_type_key="attrs.TestAttrs")'
    parsed = parse_expr(text)
    assert 'name="n", attrs_type_key="attrs.TestAttrs"' in astext(parsed)
    assert structural_equal(parse_expr(astext(parsed)), parsed, spans=True)


def test_what_comes_later_is_seen_by_what_comes_later_only():
    parsed = parse_expr("let %x = 1; let %x = (%x, 2); %x")
    assert isinstance(parsed, Let)
    inner = parsed.body
    assert isinstance(inner, Let)
    assert inner.body is inner.var
    assert isinstance(inner.value, Tuple)
    assert inner.value.fields[0] is inner.var  # as in TVM: a name holds in its own value


def test_nesting_costs_no_stack():
    depth = 5_000
    text = "(" * depth + "1" + ")" * depth
    assert structural_equal(parse_expr(text), ONE)
