"""Expressions become ops where all their readers see them, lets become let-blocks, and ops become expressions again."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import UnknownLoc

from whence import relay
from whence.dialects.relay.binding import IfOp, LetOp
from whence.dialects.relay.elementwise import AddOp, ExpOp
from whence.dialects.relay.functions import FnOp
from whence.dialects.relay.tuples import TupleOp
from whence.provenance.audit import check_located
from whence.provenance.span import layer_names
from whence.syntax.relay.elaborate import elaborate
from whence.syntax.relay.equal import structural_equal
from whence.syntax.relay.expr import Program
from whence.syntax.relay.nodes import post_order
from whence.syntax.relay.view import view

SPLIT = "fn (%x: Tensor[(4, 2), int32], %c: bool) { %0 = split(%x, indices_or_sections=2);"
PROGRAMS = {
    "shared": "fn (%x: int32) { %0 = add(%x, %x); multiply(%0, %0) }",
    "lets": "fn (%x: int32) { let %a = %x + 1; let %b = %a * %a; %b - %a }",
    "branches": "fn (%c: bool, %x: int32) { if (%c) { let %a = %x + 1; %a } else { %x } }",
    "closures": "fn (%x: int32) { let %f = fn (%y: int32) { %x + %y }; %f(%f(1)) }",
    "recursion": "fn (%x: int32) { let %f = fn (%n: int32) -> int32 { if (%n < 1) { 0 } else { %f(%n-1) } }; %f(%x) }",
    "references": "fn (%x: int32) { let %r = ref(%x); let %u = ref_write(%r, 3); let %y = ref_read(%r); %y + 1 }",
    "tuples": "fn (%x: int32) { let %t = (%x, (%x, 1f)); (%t.1, %t.0) }",
    "several results": "fn (%x: Tensor[(4,), int32]) { let %t = split(%x, indices_or_sections=2); (%t.1, %t.0) }",
    "read whole and by field": f"{SPLIT} (concatenate(%0), %0.0) }}",
    "read whole in a let": f"{SPLIT} let %c = concatenate(%0); (%c, %0) }}",
    "read whole in a branch": f"{SPLIT} let %y = concatenate(%0); if (%c) {{ %y }} else {{ concatenate(%0) + %x }} }}",
    "a tuple of a branch": "fn (%c: bool, %x: int32) { if (%c) { (%x, 1f) } else { (1, 2f) } }",
    "optional operands": "fn (%x: Tensor[(4,), float32]) { cumsum(%x, exclusive=True) }",
    "polymorphic": "fn (%x: int32) { let %id = fn [A](%y: A) -> A { %y }; (%id(%x), %id(2f)) }",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_ops_become_the_expressions_they_were(name: str) -> None:
    expr = relay.parse_expr(PROGRAMS[name])
    mod = relay.IRModule.from_expr(expr)
    module = mod.module
    module.verify()
    check_located(module, "elaboration")
    again = view(module)
    second = elaborate(again)
    assert structural_equal(view(second), again)


def test_a_tuple_that_a_function_gives_is_shown_whole() -> None:
    expr = relay.parse_expr("fn (%c: bool, %x: int32) { if (%c) { (%x, 1f) } else { (1, 2f) } }")
    assert isinstance(view(relay.IRModule.from_expr(expr).module).functions["main"].body, relay.If)


def test_tuples_that_are_only_unpacked_leave_no_op() -> None:
    text = "fn (%x: Tensor[(4, 2), int32]) { let %c = concatenate(split(%x, indices_or_sections=2)); %c }"
    module = relay.IRModule.from_expr(relay.parse_expr(text)).module
    assert not any(isinstance(op, TupleOp) for op in module.walk())


def test_what_branches_share_is_computed_before_them() -> None:
    text = "fn (%c: bool, %x: float32) { %0 = exp(%x); if (%c) { add(%0, %x) } else { add(%x, %0) } }"
    (func,) = relay.IRModule.from_expr(relay.parse_expr(text)).module.ops
    block = func.regions[0].block
    assert [type(op) for op in block.ops][:2] == [ExpOp, IfOp]


def test_what_one_branch_reads_is_computed_in_it() -> None:
    text = "fn (%c: bool, %x: float32) { %0 = exp(%x); if (%c) { add(%0, %0) } else { %x } }"
    (func,) = relay.IRModule.from_expr(relay.parse_expr(text)).module.ops
    (branch,) = [op for op in func.walk() if isinstance(op, IfOp)]
    assert [type(op) for op in branch.true_branch.block.ops][:2] == [ExpOp, AddOp]
    assert not any(isinstance(op, ExpOp) for op in func.regions[0].block.ops)


def test_let_blocks_come_in_runs_of_one_flavour() -> None:
    text = """fn (%x: int32) {
      let %a = %x + 1; let %b = %a * 2;
      let %r = ref(%b); let %u = ref_write(%r, %a); let %v = ref_read(%r);
      let %c = %v + %b; %c
    }"""
    module = relay.IRModule.from_expr(relay.parse_expr(text)).module
    lets = [op for op in module.walk() if isinstance(op, LetOp)]
    assert [op.flavour.data for op in lets] == ["pure", "impure", "pure"]
    names = [[op.results[0].name_hint for op in let.block.ops if op.results] for let in lets]
    assert [[name for name in row if name] for row in names] == [["a", "b"], ["r", "u", "v"], ["c"]]
    # Only what is read behind a block leaves it.
    assert [len(op.outputs) for op in lets] == [2, 1, 1]


def test_calls_of_what_writes_references_are_impure() -> None:
    text = """#[version = "0.0.5"]
    def @bump(%r: ref(int32)) { ref_write(%r, ref_read(%r) + 1) }
    def @twice(%r: ref(int32)) { let %u = @bump(%r); @bump(%r) }
    def @square(%x: int32) -> int32 { %x * %x }
    def @main(%r: ref(int32)) { let %u = @twice(%r); @square(ref_read(%r)) }
    """
    printed = str(relay.fromtext(text).module)
    assert "relay.call impure @twice" in printed
    assert "relay.call @square" in printed
    assert printed.count("impure @bump") == 2


def test_a_recursive_function_is_a_block_of_its_own() -> None:
    module = relay.IRModule.from_expr(relay.parse_expr(PROGRAMS["recursion"])).module
    (let,) = [op for op in module.walk() if isinstance(op, LetOp) and op.flavour.data == "rec"]
    assert isinstance(let.block.first_op, FnOp)
    assert let.block.args[0].first_use is not None


def test_deep_programs_need_no_recursion() -> None:
    count = 1_200
    value = relay.var("x", shape=(2,))
    first, lets = value, list[tuple[relay.Var, relay.Expr]]()
    for index in range(count):
        bound = relay.var(f"v{index}")
        lets.append((bound, relay.add(value, value)))
        value = bound
    body: relay.Expr = value
    for _ in range(count):
        body = relay.exp(body)
    for bound, made in reversed(lets):
        body = relay.Let(bound, made, body)
    module = relay.IRModule.from_expr(relay.Function([first], body)).module
    assert sum(isinstance(op, AddOp) for op in module.walk()) == count
    again = view(module).functions["main"].body
    assert structural_equal(view(elaborate(Program({"main": relay.Function([first], body)}))), view(module))
    assert sum(isinstance(node, relay.Let) for node in post_order(again)) == count


def test_expressions_without_spans_get_names() -> None:
    x = relay.var("x", shape=(2,))
    module = relay.IRModule.from_expr(relay.exp(relay.exp(x))).module
    names = [layer_names(op.location) for op in module.walk() if isinstance(op, ExpOp)]
    assert names == [("exp_0",), ("exp_1",)]
    assert not any(isinstance(op.location, UnknownLoc) for op in module.walk() if op is not module)
    # Nobody wrote them, so they are not shown as spans. The operator is one node, however often it is called.
    assert [node.span for node in post_order(view(module).functions["main"])] == [None] * 5


def test_spans_become_locations_and_back() -> None:
    span = relay.SequentialSpan([relay.Span(relay.SourceName("a")), relay.Span(relay.SourceName("b"))])
    x = relay.var("x", shape=(2,), span=relay.Span(relay.SourceName("in")))
    made = relay.exp(x, span=span)
    module = relay.IRModule.from_expr(relay.Function([x], made)).module
    again = view(module).functions["main"]
    assert again.body.span == span
    assert again.params[0].span == x.span
