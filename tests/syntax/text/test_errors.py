"""What is wrong with a text, where, and how it is shown."""

from __future__ import annotations

import pytest

from whence.syntax.text import DiagnosticError, fromtext, parse_expr
from whence.syntax.text.types import DEEPEST

VERSION = '#[version = "0.0.5"]\n'
LIST = "type List[A] { Cons(A, List[A]), Nil }\n"


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("2147483648i32", "unrepresentable in width 32", 1),
        ("32768i16", "unrepresentable in width 16", 1),
        ("9223372036854775808", "unrepresentable in width 64", 1),
        ("3.40283e38f32", "floating point number `3.40283e38` unrepresentable in width 32", 1),
        ("-65505f16", "unrepresentable in width 16", 1),
        ("1u8", "expected a suffix among i, i16, i32 and i64, got `u8`", 1),
        ("1f8", "expected a suffix among f, f16, f32 and f64", 1),
        ("1.5i", "suffix of integers", 1),
        ("%x", "this local variable has not been previously declared", 1),
        ("let %y = 1; %0", "this graph variable has not been previously declared", 13),
        ("if (True) { let %x = (); () } else { %x }", "this local variable has not been previously declared", 38),
        ("if (True) { %0 = (); %0 } else { %0 }", "this graph variable has not been previously declared", 34),
        ("%0 = 1; %0 = 2; %0", "the graph variable `%0` was previously defined here", 9),
        ("fn (%x, %x) { 1 }", "a parameter with the name `%x` was previously declared here", 4),
        ("let @x = 1; ()", "expected a variable such as %x, got `@x`", 5),
        ("let x = 1; ()", "expected a variable such as %x, got `x`", 5),
        ("nn.con2d(1, 2)", "expected an operator or a constructor, got the unknown name `nn.con2d`", 1),
        ("nn.relu(1, axis=1, axis=2)", "the attribute `axis` was previously given here", 20),
        ("(1, 2", "got the end of the text", 6),
        ("add(1 2)", "`,` or `[`, got `2`", 7),
        ("1 $ 2", "got `$`", 3),
        ("meta[type_key][1337]", "no entry in the meta table for `type_key`", 1),
        ("(fn () { 1 })(a=1)", "expected attrs_type_key among the attributes of a call of no operator", 1),
        ("let %x: Tensor[(2), nope] = 1; 1", "expected a dtype such as float32, got `nope`", 21),
        ("let %x: Nope[int32] = 1; 1", "a type with the name `Nope` has not been declared", 9),
        ("let %x: Tensor[(_, 3), float32] = 1; 1", "expected ", 17),
        ("let %x: Tensor[(1i), int32] = 1; 1", "expected the extent of an axis, got `1i`", 17),
        ("/* /* */ 1", "expected `*/` at the end of this comment", 1),
        ("let %x: " + "(" * DEEPEST + "int32" + ",)" * DEEPEST + " = 1; 1", "nests less than", 9),
    ],
)
def test_expressions(text: str, message: str, column: int):
    with pytest.raises(DiagnosticError, match="one or more error diagnostics were emitted") as raised:
        parse_expr(text)
    found = raised.value.diagnostics[0]
    assert message in found.message
    assert (found.span.line, found.span.column) == (1, column)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("type List[A] { Cons(A, List[A]), Nil }", "a type definition with the name `List` was previously defined"),
        ("type Other { Nil }", "a constructor with the name `Nil` was previously defined"),
        ("type A { B }\ntype B { A }", "a constructor with the name `B` was previously defined"),
        ("type A { B, B }", "a constructor with the name `B` was previously defined"),
        ("extern type T { A }", "an extern type may not have any constructors"),
        ("def @f(%x: int32) { %x }\ndef @f(%x: int32) { %x }", "a function with the name `@f` was previously defined"),
        ("def @f(%x: List) { %x }", "expected 1 type arguments for `List`, got 0"),
        ("def @f[A, A](%x: A) { %x }", "a type variable with the name `A` was previously declared here"),
        ("def @f(%x: A) { %x }", "a type with the name `A` has not been declared"),
        ("type A { B(fn (int32) -> _) }", "expected a type, got one with `_` in it"),
        ("type A { B(fn [C](C) -> _) }", "expected a type, got one with `_` in it"),
        ("def @f() { match (Nil) { No => 1 } }", "a constructor with the name `No` has not been declared"),
        ("def @f() { match (Nil) { Cons(_) => 1 } }", "expected 2 patterns for `Cons`, got 1"),
        ("def @f() { match (Nil) { Cons(%a, %a) => 1 } }", "`%a` was previously bound by this pattern"),
        ("def @f() { match (Nil) { Cons(%a, _) => 1, Nil => %a } }", "this local variable has not been"),
        ("def @f() { Nil(1) }", "expected no arguments for Nil, got 1"),
        ("def @f() { 1 }\n#[metadata]\n{}", "expected the metadata section to be a JSON graph of nodes"),
        ("def @f() { 1 }\n#[metadata]\n{}\n#[metadata]\n{}", "duplicate metadata section"),
    ],
)
def test_modules(text: str, message: str):
    with pytest.raises(DiagnosticError) as raised:
        fromtext(f"{VERSION}{LIST}{text}")
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def @main() { 1 }", "error: expected text format semantic version, got `def`\n --> from_string:1:1"),
        ('#[version = "0.0.4"]\ndef @main() { 1 }', "error: invalid semantic version"),
    ],
)
def test_version(text: str, message: str):
    with pytest.raises(DiagnosticError) as raised:
        fromtext(text)
    assert message in str(raised.value)
    assert '#[version = "0.0.5"]' in str(raised.value)


def test_all_that_is_wrong_is_shown_at_once():
    with pytest.raises(DiagnosticError) as raised:
        fromtext(f"{VERSION}def @main(%x: int32) {{\n  nn.relo(%y);\n  %0 + )\n}}")
    assert str(raised.value) == (
        "error: expected an operator or a constructor, got the unknown name `nn.relo`\n"
        " --> from_string:3:3\n"
        "   |  \n"
        " 3 |    nn.relo(%y);\n"
        "   |    ^^^^^^^\n"
        "help: did you mean nn.relu or nn.prelu or qnn.log?\n"
        " --> from_string:3:3\n"
        "   |  \n"
        " 3 |    nn.relo(%y);\n"
        "   |    ^^^^^^^\n"
        "error: this local variable has not been previously declared\n"
        " --> from_string:3:11\n"
        "   |  \n"
        " 3 |    nn.relo(%y);\n"
        "   |            ^^\n"
        "error: this graph variable has not been previously declared in this scope\n"
        " --> from_string:4:3\n"
        "   |  \n"
        " 4 |    %0 + )\n"
        "   |    ^^\n"
        "error: expected a global name such as @main or a graph variable such as %0 or a name or a number or "
        "a variable such as %x or `(` or `-` or `False` .., got `)`\n"
        " --> from_string:4:8\n"
        "   |  \n"
        " 4 |    %0 + )\n"
        "   |         ^\n"
        "from_string: one or more error diagnostics were emitted, please check them above"
    )


def test_a_machine_that_met_an_error_reads_the_next_text():
    with pytest.raises(DiagnosticError):
        parse_expr("let %x = fn (%y) { (1,")
    with pytest.raises(DiagnosticError, match="has not been previously declared"):
        parse_expr("%x")
