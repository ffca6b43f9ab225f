"""Common subexpressions and dead code."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp

from whence.dialects.relay.core import ConstantOp, FuncOp
from whence.provenance.cse import eliminate_common_subexpressions
from whence.provenance.dce import eliminate_dead_code
from whence.provenance.ledger import Ledger, recording
from whence.provenance.span import layer_names

Parse = Callable[[str], ModuleOp]
T = "tensor<4xf32>"


def module(parse: Parse, body: str) -> ModuleOp:
    return parse(f"relay.func @main(%x: {T}, %y: {T}) -> ({T}) {{\n{body}\nrelay.return %r : {T}\n}}")


def located(root: ModuleOp) -> list[tuple[str, tuple[str, ...]]]:
    return [(op.name, names) for op in root.walk() if (names := layer_names(op.location))]


TWINS = f"""
    %a = relay.exp %x : ({T}) -> {T} loc("a")
    %b = relay.exp %x : ({T}) -> {T} loc("b")
    %c = relay.exp %x : ({T}) -> {T} loc("c")
    %d = relay.exp %y : ({T}) -> {T} loc("d")
    %e = relay.add %a, %b : ({T}, {T}) -> {T} loc("e")
    %f = relay.add %c, %d : ({T}, {T}) -> {T} loc("f")
    %r = relay.add %e, %f : ({T}, {T}) -> {T} loc("r")
"""


def test_the_survivor_is_located_at_all_twins(parse: Parse):
    target = module(parse, TWINS)
    ledger = Ledger()
    with recording(ledger, "cse"):
        assert eliminate_common_subexpressions(target.body)
    target.verify()
    assert located(target)[:2] == [("relay.exp", ("a", "b", "c")), ("relay.exp", ("d",))]
    assert [str(entry) for entry in ledger.entries] == [
        "cse: CommonSubexpression: relay.exp, relay.exp -> relay.exp (equal ops merged)"
    ]
    assert {name for leaf in ledger.explained() for name in layer_names(leaf)} == {"a", "b", "c"}


def test_twins_of_twins_merge(parse: Parse):
    target = module(
        parse,
        f"""
        %a = relay.exp %x : ({T}) -> {T} loc("a")
        %b = relay.exp %x : ({T}) -> {T} loc("b")
        %c = relay.sqrt %a : ({T}) -> {T} loc("c")
        %d = relay.sqrt %b : ({T}) -> {T} loc("d")
        %r = relay.add %c, %d : ({T}, {T}) -> {T} loc("r")
        """,
    )
    assert eliminate_common_subexpressions(target.body)
    assert [names for _, names in located(target)] == [("a", "b"), ("c", "d"), ("r",)]


def test_different_attributes_are_different_ops(parse: Parse):
    target = module(
        parse,
        f"""
        %a = relay.nn.leaky_relu %x {{alpha = 0.1}} : ({T}) -> {T} loc("a")
        %b = relay.nn.leaky_relu %x {{alpha = 0.2}} : ({T}) -> {T} loc("b")
        %r = relay.add %a, %b : ({T}, {T}) -> {T} loc("r")
        """,
    )
    assert not eliminate_common_subexpressions(target.body)


def test_skipped_ops_are_not_merged(parse: Parse):
    body = f"""
        %a = relay.constant dense<1.0> : {T} loc("a")
        %b = relay.constant dense<1.0> : {T} loc("b")
        %r = relay.add %a, %b : ({T}, {T}) -> {T} loc("r")
    """
    assert not eliminate_common_subexpressions(module(parse, body).body, skip=[ConstantOp])
    assert eliminate_common_subexpressions(module(parse, body).body)


def test_many_equal_constants_merge_into_one(parse: Parse):
    count = 300
    constants = "\n".join(f'%c{i} = relay.constant dense<1.0> : {T} loc("c{i}")' for i in range(count))
    sums = "\n".join(f"%s{i + 1} = relay.add %s{i}, %c{i} : ({T}, {T}) -> {T}" for i in range(count))
    text = sums.replace("%s0,", "%x,").replace(f"%s{count} ", "%r ")
    target = module(parse, f"{constants}\n{text}")
    ledger = Ledger()
    with recording(ledger, "cse"):
        assert eliminate_common_subexpressions(target.body)
    (constant,) = [op for op in target.walk() if isinstance(op, ConstantOp)]
    assert layer_names(constant.location) == tuple(f"c{i}" for i in range(count))
    assert len(ledger.entries) == 1


def test_dead_code_goes_users_first_and_is_recorded(parse: Parse):
    target = module(
        parse,
        f"""
        %a = relay.exp %x : ({T}) -> {T} loc("a")
        %b = relay.sqrt %a : ({T}) -> {T} loc("b")
        %r = relay.add %x, %y : ({T}, {T}) -> {T} loc("r")
        """,
    )
    ledger = Ledger()
    with recording(ledger, "dce"):
        assert eliminate_dead_code(target.body)
    assert located(target) == [("relay.add", ("r",))]
    assert [str(entry) for entry in ledger.entries] == [
        "dce: DeadCode: relay.sqrt removed (nobody reads its result)",
        "dce: DeadCode: relay.exp removed (nobody reads its result)",
    ]
    assert not eliminate_dead_code(target.body)


def test_functions_are_not_dead(parse: Parse):
    target = module(parse, f'%r = relay.exp %x : ({T}) -> {T} loc("r")')
    assert not eliminate_dead_code(target.body)
    assert any(isinstance(op, FuncOp) for op in target.walk())


def test_dead_code_across_blocks(parse: Parse):
    target = parse(
        """
        func.func @f(%x: i32) {
          %a = arith.addi %x, %x : i32
          cf.br ^bb1
        ^bb1:
          %b = arith.muli %a, %x : i32
          func.return
        }
        """
    )
    assert eliminate_dead_code(target.body)
    assert [op.name for op in target.walk()] == ["builtin.module", "func.func", "cf.br", "func.return"]
