"""Patterns of xDSL, written without a thought of locations, under the driver: no op is left without one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects import arith, cf, scf
from xdsl.dialects.builtin import ModuleOp, UnknownLoc
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, RewritePattern
from xdsl.transforms.canonicalization_patterns.arith import (
    FoldConstsByReassociation,
    SignlessIntegerBinaryOperationZeroOrUnitRight,
)
from xdsl.transforms.canonicalization_patterns.scf import (
    IfPropagateConstantCondition,
    RehoistConstInLoops,
    SimplifyTrivialLoops,
)
from xdsl.transforms.convert_scf_to_cf import ForLowering, IfLowering, SwitchLowering

from whence.provenance.audit import check_explained, check_located, surviving_leaves
from whence.provenance.ledger import Ledger, recording
from whence.provenance.rewrite import rewrite
from whence.provenance.span import layer_location, layer_names

Parse = Callable[[str], ModuleOp]

CONTROL = """
func.func @f(%c: i1 loc("c"), %n: index loc("n"), %x: i32 loc("x")) -> i32 {
  %zero = arith.constant 0 : index loc("zero")
  %one = arith.constant 1 : index loc("one")
  %sum = "scf.for"(%zero, %n, %one, %x) ({
  ^bb0(%i: index loc("loop"), %acc: i32 loc("loop")):
    %next = "scf.if"(%c) ({
      %a = "arith.addi"(%acc, %x) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32 loc("then")
      "scf.yield"(%a) : (i32) -> () loc("yield then")
    }, {
      %b = "arith.muli"(%acc, %x) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32 loc("else")
      "scf.yield"(%b) : (i32) -> () loc("yield else")
    }) : (i1) -> i32 loc("if")
    "scf.yield"(%next) : (i32) -> () loc("yield loop")
  }) : (index, index, index, i32) -> i32 loc("loop")
  func.return %sum : i32 loc("return")
} loc("f")
"""


def run(module: ModuleOp, *patterns: RewritePattern) -> Ledger:
    """Apply the patterns and hold the result against the audit."""
    before = surviving_leaves(module)
    ledger = Ledger()
    with recording(ledger, "library"):
        assert rewrite(module, patterns)
    module.verify()
    check_located(module, "library")
    check_explained(before, module, "library", ledger)
    return ledger


@pytest.mark.parametrize("greedy", [False, True])
def test_structured_control_flow_to_branches(parse: Parse, greedy: bool):
    module = parse(CONTROL)
    patterns: list[RewritePattern] = [IfLowering(), ForLowering()]
    run(module, *([GreedyRewritePatternApplier(patterns)] if greedy else patterns))
    names = [layer_names(op.location) for op in module.walk() if isinstance(op, cf.ConditionalBranchOp)]
    assert all({"if", "loop"} & set(found) for found in names)
    assert len(names) == 2
    assert not any(isinstance(op, scf.ForOp | scf.IfOp) for op in module.walk())
    blocks = [block for op in module.walk() for region in op.regions for block in region.blocks]
    assert not [a for block in blocks for a in block.args if isinstance(a.location, UnknownLoc)]


def test_switch(parse: Parse):
    module = parse(
        """
        func.func @f(%n: index loc("n"), %x: i32 loc("x")) -> i32 {
          %r = "scf.index_switch"(%n) <{cases = array<i64: 1>}> ({
            "scf.yield"(%x) : (i32) -> () loc("default")
          }, {
            "scf.yield"(%x) : (i32) -> () loc("case")
          }) : (index) -> i32 loc("switch")
          func.return %r : i32 loc("return")
        } loc("f")
        """
    )
    run(module, SwitchLowering())
    switch = next(op for op in module.walk() if isinstance(op, cf.SwitchOp))
    assert layer_names(switch.location)[0] == "switch"


def test_adding_zero(parse: Parse):
    module = parse(
        """
        func.func @f(%x: i32 loc("x")) -> i32 {
          %zero = arith.constant 0 : i32 loc("zero")
          %a = arith.muli %x, %x : i32 loc("a")
          %b = arith.addi %a, %zero : i32 loc("b")
          func.return %b : i32 loc("return")
        } loc("f")
        """
    )
    ledger = run(module, SignlessIntegerBinaryOperationZeroOrUnitRight())
    assert [layer_names(op.location) for op in module.walk() if isinstance(op, arith.MuliOp)] == [("a",)]
    assert [str(entry) for entry in ledger.entries] == [
        "library: SignlessIntegerBinaryOperationZeroOrUnitRight: arith.addi removed (users now read arith.muli)"
    ]


def test_constants_of_a_chain_meet(parse: Parse):
    module = parse(
        """
        func.func @f(%x: f32 loc("x")) -> f32 {
          %one = arith.constant 1.0 : f32 loc("one")
          %two = arith.constant 2.0 : f32 loc("two")
          %a = arith.addf %x, %one fastmath<reassoc> : f32 loc("a")
          %b = arith.addf %a, %two fastmath<reassoc> : f32 loc("b")
          func.return %b : f32 loc("return")
        } loc("f")
        """
    )
    run(module, FoldConstsByReassociation())
    (add,) = [op for op in module.walk() if isinstance(op, arith.AddfOp)]
    assert set(layer_names(add.location)) == {"a", "b", "one", "two"}
    assert layer_names(add.location)[0] == "a"


def test_a_branch_that_is_always_taken(parse: Parse):
    module = parse(CONTROL.replace('%c: i1 loc("c"), ', "").replace("%zero =", "%c = arith.constant true\n%zero =", 1))
    for op in module.walk():
        if isinstance(op, arith.ConstantOp) and op.result.name_hint == "c":
            op.location = layer_location("c", "m", 0)
    run(module, IfPropagateConstantCondition())
    assert {layer_names(op.location) for op in module.walk() if isinstance(op, arith.AddiOp)} == {("then", "if")}


def test_a_loop_of_one_turn_leaves_its_body(parse: Parse):
    module = parse(
        """
        func.func @f(%x: i32 loc("x")) -> i32 {
          %zero = arith.constant 0 : index loc("zero")
          %one = arith.constant 1 : index loc("one")
          %r = "scf.for"(%zero, %one, %one, %x) ({
          ^bb0(%i: index loc("loop"), %acc: i32 loc("loop")):
            %two = arith.constant 2 : i32 loc("two")
            %a = arith.addi %acc, %two : i32 loc("body")
            "scf.yield"(%a) : (i32) -> () loc("yield")
          }) : (index, index, index, i32) -> i32 loc("loop")
          func.return %r : i32 loc("return")
        } loc("f")
        """
    )
    run(module, RehoistConstInLoops(), SimplifyTrivialLoops())
    body = next(op for op in module.walk() if isinstance(op, arith.AddiOp))
    assert layer_names(body.location) == ("body", "loop")
