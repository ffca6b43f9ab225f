"""Types of expressions: what is found, and what is said where nothing is."""

from __future__ import annotations

import pytest

from whence import relay
from whence.support.errors import FrontendError
from whence.syntax.relay.type_text import spelled

LIST = "type List[A] { Cons(A, List[A]), Nil, }\n"
TYPES = {
    "fn (%x: Tensor[(2, 3), float32]) { exp(%x) }": "fn (Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32]",
    'fn (%x: Tensor[(?, 3), float32]) { nn.dense(%x, zeros(shape=[4, 3], dtype="float32")) }': (
        "fn (Tensor[(?, 3), float32]) -> Tensor[(?, 4), float32]"
    ),
    "fn (%x: int32) { let %f = fn (%y) { %y + %x }; %f(%x) }": "fn (int32) -> int32",
    "fn (%x: int32) { let %f = fn (%n) { if (%n < 1) { %n } else { %f(%n - 1) } }; (%f(%x), %f) }": (
        "fn (int32) -> (int32, fn (int32) -> int32)"
    ),
    "fn (%c: bool, %x: Tensor[(2,), int8], %y: Tensor[(3,), int8]) { if (%c) { ref(%x) } else { ref(%x) } }": (
        "fn (bool, Tensor[(2), int8], Tensor[(3), int8]) -> ref(Tensor[(2), int8])"
    ),
    "fn [A](%x: A) -> (A, A) { (%x, %x) }": "fn [A](A) -> (A, A)",
    "fn (%x: int32) { let %id = fn [A](%y: A) -> A { %y }; (%id(%x), %id((%x, 1f))) }": (
        "fn (int32) -> (int32, (int32, float32))"
    ),
    "fn (%x: Tensor[(4, 6), float32]) { split(%x, indices_or_sections=3, axis=1).2 }": (
        "fn (Tensor[(4, 6), float32]) -> Tensor[(4, 2), float32]"
    ),
    # What nobody wrote follows from what the operators beside it imply.
    "fn (%x: Tensor[(2, 3), float32], %w, %b) { nn.bias_add(nn.dense(%x, %w, units=5), %b) }": (
        "fn (Tensor[(2, 3), float32], Tensor[(5, 3), float32], Tensor[(5), float32]) -> Tensor[(2, 5), float32]"
    ),
    "fn (%x: Tensor[(1, 4, 8, 8), float32], %w) { nn.conv2d(%x, %w, groups=2, channels=6, kernel_size=[3, 5]) }": (
        "fn (Tensor[(1, 4, 8, 8), float32], Tensor[(6, 2, 3, 5), float32]) -> Tensor[(1, 6, 6, 4), float32]"
    ),
    "fn (%x: Tensor[(1, 4, 8, 8), float32], %w) { nn.conv2d_transpose(%x, %w, channels=6, kernel_size=[2, 2]) }": (
        "fn (Tensor[(1, 4, 8, 8), float32], Tensor[(4, 6, 2, 2), float32]) -> Tensor[(1, 6, 9, 9), float32]"
    ),
}
REFUSED = {
    "fn (%x: int32, %y: bool) { if (%x) { %y } else { %y } }": "expected bool, got int32",
    "fn (%c: bool) { if (%c) { 1 } else { 2f } }": "if: expected int32, got float32",
    "fn (%x: int32) { let %f = fn (%y: float32) { %y }; %f(%x) }": "expected fn (float32) -> float32, got",
    "fn (%x: int32) { let %f = fn (%y: int32) { %y }; %f(%x, %x) }": "expected 1 arguments, got 2",
    "fn (%x: int32) { %x.0 }": "tuple_get_item: expected a tuple, got int32",
    "fn (%x: int32) { (%x, %x).2 }": "tuple_get_item: expected an index in [0, 2), got 2",
    "fn (%x) { %x }": "%x: expected a type annotation or a use that tells the type, got _",
    "fn (%x) { exp(%x) }": "exp: expected operands of known types, got %x of type _",
    "fn (%x: Tensor[(2, 3), int32]) { nn.dense(%x, %x, units=7) }": "nn.dense: expected",
    "fn (%x: int32) { ref_read(%x) }": "ref_read: expected ref(_), got int32",
    "fn (%x: int32) { let %r = ref(%x); ref_write(%r, 2f) }": "ref_write: expected ref(int32), got ref(float32)",
    "fn (%x: (int32, int32)) { exp(%x) }": "exp: expected a tensor as data, got (int32, int32)",
    "fn (%x: int32) { concatenate(%x) }": "concatenate: expected a tuple of tensors as data, got int32",
    "fn (%x: int32) -> float32 { %x }": "expected float32, got int32",
    "fn (%x: int32) { exp(%x, %x) }": "exp: expected 1 arguments (data), got 2",
}


@pytest.mark.parametrize("text", TYPES)
def test_types_are_found(text: str) -> None:
    mod = relay.IRModule.from_expr(relay.parse_expr(text))
    mod.typed()
    assert spelled(mod["main"].inferred) == TYPES[text]


@pytest.mark.parametrize("text", REFUSED)
def test_ill_typed_expressions_are_refused(text: str) -> None:
    with pytest.raises(FrontendError) as caught:
        relay.IRModule.from_expr(relay.parse_expr(text)).typed()
    assert REFUSED[text] in str(caught.value)
    # The place is told, too.
    assert "from_string:1:" in str(caught.value) or "%x: expected" in str(caught.value)


def test_data_types_are_inferred_through_recursion() -> None:
    mod = relay.fromtext(
        '#[version = "0.0.5"]\n'
        + LIST
        + """
        def @map[A, B](%f: fn (A) -> B, %xs: List[A]) -> List[B] {
          match (%xs) { Cons(%h, %t) => { Cons(%f(%h), @map(%f, %t)) }, Nil => { Nil }, }
        }
        def @main(%x: int32) { @map(fn (%y) { cast(%y, dtype="float32") }, Cons(%x, Nil)) }
        """
    )
    mod.typed()
    assert spelled(mod["main"].inferred) == "fn (int32) -> List[float32]"


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("Cons(%h, %t) => { %h }, Nil => { 1f }", "match: expected int32, got float32"),
        ("Cons(%h) => { %h }", "expected 2 patterns for `Cons`, got 1"),
        ("(%a, %b) => { %a }", "match: tuple pattern: expected List[int32], got (_, _)"),
    ],
)
def test_clauses_that_do_not_fit_are_refused(clause: str, expected: str) -> None:
    text = f'#[version = "0.0.5"]\n{LIST}def @main(%x: List[int32]) {{ match (%x) {{ {clause}, }} }}'
    with pytest.raises(FrontendError) as caught:
        relay.fromtext(text).typed()
    assert expected in str(caught.value)


@pytest.mark.parametrize("order", [1, -1])
def test_fields_of_what_a_function_without_annotations_gives(order: int) -> None:
    functions = (
        "def @f(%x, %n: int32) { if (%n < 1) { (%x, %n) } else { %0 = @f(%x, %n - 1); (negative(%0.0), %0.1) } }",
        "def @main(%a: Tensor[(10), float32]) { %0 = @f(%a, 3); exp(%0.0) }",
    )
    mod = relay.fromtext('#[version = "0.0.5"]\n' + "\n".join(functions[::order]))
    mod.typed()
    assert spelled(mod["f"].inferred) == "fn (Tensor[(10), float32], int32) -> (Tensor[(10), float32], int32)"
    assert spelled(mod["main"].inferred) == "fn (Tensor[(10), float32]) -> Tensor[(10), float32]"


@pytest.mark.parametrize(
    ("data", "data_layout", "kernel_layout", "wanted"),
    [
        ("(1, 4, 8, 8)", "NCHW", "OIHW2i", "Tensor[(6, 2, 3, 3, 2), float32]"),
        ("(1, 2, 8, 8, 2)", "NCHW2c", "OIHW2i3o", "Tensor[(2, 2, 3, 3, 2, 3), float32]"),
        ("(1, 8, 8, 4)", "NHWC", "HWIO", "Tensor[(3, 3, 4, 6), float32]"),
    ],
)
def test_weights_of_blocked_layouts_are_inferred(data: str, data_layout: str, kernel_layout: str, wanted: str) -> None:
    text = f"""fn (%x: Tensor[{data}, float32], %w) {{
      nn.conv2d(%x, %w, channels=6, kernel_size=[3, 3], padding=[1, 1, 1, 1], data_layout="{data_layout}",
        kernel_layout="{kernel_layout}", out_layout="NCHW")
    }}"""
    mod = relay.IRModule.from_expr(relay.parse_expr(text))
    mod.typed()
    assert spelled(mod["main"].params[1].inferred) == wanted
