"""The audit and the texts of its complaints."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import ModuleOp

from whence.provenance.audit import check_explained, check_located, coverage, surviving_leaves
from whence.provenance.dce import eliminate_dead_code
from whence.provenance.diagnostics import LocationError
from whence.provenance.ledger import Ledger
from whence.provenance.lost import unlocated
from whence.provenance.span import layer_names

Parse = Callable[[str], ModuleOp]
T = "tensor<4xf32>"

HALF = f"""
relay.func @main(%x: {T} loc("in")) -> ({T}) {{
  %a = relay.exp %x : ({T}) -> {T} loc(fused["a", "b"])
  %b = relay.exp %a : ({T}) -> {T}
  %c = relay.sqrt %b : ({T}) -> {T}
  %d = relay.exp %c : ({T}) -> {T}
  relay.return %d : {T} loc("end")
}} loc("main")
"""


def names(module: ModuleOp) -> set[str]:
    return {name for leaf in surviving_leaves(module) for name in layer_names(leaf)}


def test_unlocated_ops_are_counted_by_name(parse: Parse):
    module = parse(HALF)
    assert [op.name for op in unlocated(module)] == ["relay.exp", "relay.sqrt", "relay.exp"]
    with pytest.raises(LocationError) as error:
        check_located(module, "relay-x")
    assert str(error.value) == "pass relay-x: 3 ops without location: relay.exp x2, relay.sqrt"


def test_one_op_is_singular(parse: Parse):
    with pytest.raises(LocationError, match=r"pass p: 1 op without location: relay\.return"):
        check_located(parse(f'relay.func @f(%x: {T}) -> ({T}) {{ relay.return %x : {T} }} loc("f")'), "p")


def test_modules_need_no_location(parse: Parse):
    check_located(parse("builtin.module {}"), "p")
    assert coverage([parse("builtin.module {}")]) == 1.0
    assert coverage([]) == 1.0


def test_coverage(parse: Parse):
    assert coverage([parse(HALF)]) == pytest.approx(0.5)


def test_leaves_of_ops_and_block_arguments_survive(parse: Parse):
    assert names(parse(HALF)) == {"in", "a", "b", "end", "main"}


def test_a_vanished_layer_must_be_explained(parse: Parse):
    module = parse(
        f"""
        relay.func @main(%x: {T}) -> ({T}) {{
          %a = relay.exp %x : ({T}) -> {T} loc("a")
          %b = relay.exp %x : ({T}) -> {T} loc("b")
          relay.return %x : {T}
        }}
        """
    )
    before = surviving_leaves(module)
    ledger = Ledger()
    eliminate_dead_code(module.body)
    with pytest.raises(LocationError) as error:
        check_explained(before, module, "dce", ledger)
    assert str(error.value) == "pass dce: 2 layers vanished without an entry in the ledger: a, b"
    ledger.note("DeadCode", removed=["relay.exp"], before=before)
    check_explained(before, module, "dce", ledger)
