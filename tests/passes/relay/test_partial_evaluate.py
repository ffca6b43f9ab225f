"""Partial evaluation works out what the program tells, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from whence.dialects.relay.interpret import evaluate_module
from whence.passes.pipelines import run_passes
from whence.passes.relay.analysis.traversal import functions_of, pre_order
from whence.passes.relay.analysis.well_formed import check_scopes
from whence.passes.relay.dead_code_elimination import DeadCodeEliminationPass
from whence.passes.relay.partial_evaluate import PartialEvaluatePass
from whence.runtime.interpreting.flow import Adt

Parse = Callable[[str], ModuleOp]
T = "tensor<4xf32>"
F = f"({T}) -> {T}"
N = "!relay.adt<@Nat, []>"
X = np.linspace(0.5, 2, 4).astype(np.float32)
NAT = f"""
  relay.type_data @Nat {{S({N}), Z()}}
  relay.func @double(%n: {N}) -> ({N}) {{
    %y = relay.match %n : {N} -> {N} {{
    case @S(%m: {N}) {{
      %d = relay.call @double(%m) : ({N}) -> {N}
      %s = relay.construct @S(%d) : ({N}) -> {N}
      %t = relay.construct @S(%s) : ({N}) -> {N}
      relay.yield %t : {N}
    }}
    case @Z() {{
      %z = relay.construct @Z() : () -> {N}
      relay.yield %z : {N}
    }}
    }}
    relay.return %y : {N}
  }}"""


def same(mine: Any, reference: Any) -> None:
    if isinstance(reference, Adt):
        assert mine.name == reference.name
        for field, wanted in zip(mine.fields, reference.fields, strict=True):
            same(field, wanted)
    else:
        np.testing.assert_allclose(mine, reference, rtol=1e-6)


def partial(module: ModuleOp, *inputs: Any, limit: int = 10_000) -> list[str]:
    """The ops of @main after partial evaluation and removal of dead code, which keep what it gives."""
    given: Sequence[Any] = inputs or (X,)
    expected = evaluate_module(module, given)
    run_passes(module, [PartialEvaluatePass(limit=limit), DeadCodeEliminationPass()], audit=True)
    module.verify()
    check_scopes(module)
    for mine, reference in zip(evaluate_module(module, given), expected, strict=True):
        same(mine, reference)
    return [op.name.removeprefix("relay.") for op in pre_order(functions_of(module)["main"])][1:]


def test_closures_tuples_and_references(parse: Parse) -> None:
    module = parse(f"""
      relay.func @main(%x: {T}) -> ({T}) {{
        %r = relay.ref_create %x : {T} -> !relay.ref<{T}>
        %t = relay.let pure {{
          %f = relay.fn (%p: {T}) -> {T} {{
            %0 = relay.exp %p : ({T}) -> {T}
            relay.yield %0 : {T}
          }}
          %t = relay.tuple %f, %x : tuple<{F}, {T}>
          relay.yield %t : tuple<{F}, {T}>
        }}
        %g = relay.tuple_get_item %t[0] : tuple<{F}, {T}>
        %a = relay.invoke %g(%x) : ({F}, {T}) -> {T}
        %u = relay.ref_write %r, %a : !relay.ref<{T}>, {T} -> tuple<>
        %v = relay.ref_read %r : !relay.ref<{T}> -> {T}
        relay.return %v : {T}
      }}""")
    assert partial(module) == ["exp", "return"]


def test_a_reference_in_a_closure_is_local_once_it_is_called(parse: Parse) -> None:
    module = parse(f"""
      relay.func @main(%x: {T}) -> ({T}) {{
        %r = relay.ref_create %x : {T} -> !relay.ref<{T}>
        %f = relay.fn () -> tuple<> {{
          %old = relay.ref_read %r : !relay.ref<{T}> -> {T}
          %new = relay.negative %old : ({T}) -> {T}
          %u = relay.ref_write %r, %new : !relay.ref<{T}>, {T} -> tuple<>
          relay.yield %u : tuple<>
        }}
        %a = relay.invoke impure %f() : (() -> tuple<>) -> tuple<>
        %b = relay.invoke impure %f() : (() -> tuple<>) -> tuple<>
        %v = relay.ref_read %r : !relay.ref<{T}> -> {T}
        relay.return %v : {T}
      }}""")
    run_passes(module, [PartialEvaluatePass(), DeadCodeEliminationPass()], audit=True)
    assert partial(module) == ["negative", "negative", "return"]


def test_recursion_over_a_known_number_unrolls(parse: Parse) -> None:
    module = parse(f"""{NAT}
      relay.func @main(%x: {T}) -> ({N}) {{
        %z = relay.construct @Z() : () -> {N}
        %one = relay.construct @S(%z) : ({N}) -> {N}
        %two = relay.construct @S(%one) : ({N}) -> {N}
        %four = relay.call @double(%two) : ({N}) -> {N}
        relay.return %four : {N}
      }}""")
    assert partial(module) == ["construct"] * 5 + ["return"]


def test_recursion_over_an_unknown_number_stays(parse: Parse) -> None:
    module = parse(f"""{NAT}
      relay.func @main(%n: {N}) -> ({N}) {{
        %s = relay.construct @S(%n) : ({N}) -> {N}
        %d = relay.call @double(%s) : ({N}) -> {N}
        relay.return %d : {N}
      }}""")
    run_passes(module, [PartialEvaluatePass(), DeadCodeEliminationPass()], audit=True)
    ops = [op.name.removeprefix("relay.") for op in pre_order(functions_of(module)["main"])][1:]
    assert ops == ["call", "construct", "construct", "return"]


POWER = f"""
  relay.func @main(%x: {T}, %m: tensor<i32>) -> ({T}) {{
    %zero = relay.constant dense<0> : tensor<i32>
    %one = relay.constant dense<1> : tensor<i32>
    %n = relay.constant dense<COUNT> : tensor<i32>
    %power = relay.let rec (%self: (tensor<i32>, {T}) -> {T}) {{
      %fn = relay.fn (%k: tensor<i32>, %v: {T}) -> {T} {{
        %done = relay.equal %k, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %out = relay.if %done : tensor<i1> -> {T} {{
          relay.yield %v : {T}
        }} else {{
          %less = relay.subtract %k, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
          %w = relay.multiply %v, %x : ({T}, {T}) -> {T}
          %again = relay.invoke %self(%less, %w) : ((tensor<i32>, {T}) -> {T}, tensor<i32>, {T}) -> {T}
          relay.yield %again : {T}
        }}
        relay.yield %out : {T}
      }}
      relay.yield %fn : (tensor<i32>, {T}) -> {T}
    }}
    %p = relay.invoke %power(GIVEN, %x) : ((tensor<i32>, {T}) -> {T}, tensor<i32>, {T}) -> {T}
    relay.return %p : {T}
  }}"""


def test_a_loop_of_known_length_unrolls(parse: Parse) -> None:
    module = parse(POWER.replace("COUNT", "3").replace("GIVEN", "%n"))
    assert partial(module, X, np.array(2, np.int32)) == ["multiply"] * 3 + ["return"]


def test_a_loop_of_unknown_length_stays(parse: Parse) -> None:
    module = parse(POWER.replace("COUNT", "3").replace("GIVEN", "%m"))
    assert "invoke" in partial(module, X, np.array(2, np.int32))


def test_many_rounds_need_no_deep_stack(parse: Parse) -> None:
    module = parse(POWER.replace("COUNT", "200").replace("GIVEN", "%n"))
    run_passes(module, [PartialEvaluatePass(), DeadCodeEliminationPass()], audit=True)
    main = functions_of(module)["main"]
    assert [op.name for op in main.block.ops] == ["relay.multiply"] * 200 + ["relay.return"]
    x = np.full(4, 1.001, np.float32)
    np.testing.assert_allclose(evaluate_module(module, [x, np.array(0, np.int32)])[0], x**201, rtol=1e-3)


def test_unrolling_ends_at_its_limit(parse: Parse) -> None:
    module = parse(POWER.replace("COUNT", "30").replace("GIVEN", "%n"))
    found = partial(module, np.ones(4, np.float32), np.array(2, np.int32), limit=10)
    assert found.count("multiply") == 11  # those of ten rounds, and the one in the closure
    assert "invoke" in found


@pytest.mark.parametrize("arguments", ["%x, %y", "%y, %x"])
def test_what_never_ends_is_left_alone(parse: Parse, arguments: str) -> None:
    module = parse(f"""
      relay.func @loop(%x: {T}, %y: {T}) -> ({T}) {{
        %z = relay.call @loop({arguments}) : ({T}, {T}) -> {T}
        relay.return %z : {T}
      }}
      relay.func @main(%x: {T}, %y: {T}) -> ({T}) {{
        %z = relay.call @loop(%x, %y) : ({T}, {T}) -> {T}
        relay.return %z : {T}
      }}""")
    run_passes(module, [PartialEvaluatePass()], audit=True)
    assert [op.name for op in functions_of(module)["main"].block.ops] == ["relay.call", "relay.return"]


def test_global_functions_unfold_and_take_closures(parse: Parse) -> None:
    module = parse(f"""
      relay.func @twice(%f: {F}, %x: {T}) -> ({T}) {{
        %a = relay.invoke impure %f(%x) : ({F}, {T}) -> {T}
        %b = relay.invoke impure %f(%a) : ({F}, {T}) -> {T}
        relay.return %b : {T}
      }}
      relay.func @pair["A"](%x: !relay.type_var<"A">) -> (!relay.type_var<"A">, !relay.type_var<"A">) {{
        relay.return %x, %x : !relay.type_var<"A">, !relay.type_var<"A">
      }}
      relay.func @half(%x: {T}) -> ({T}) {{
        %a, %b = relay.call @pair(%x) : ({T}) -> ({T}, {T})
        %c = relay.add %a, %b : ({T}, {T}) -> {T}
        relay.return %c : {T}
      }}
      relay.func @main(%x: {T}) -> ({T}) {{
        %f = relay.global @half : {F}
        %y = relay.call impure @twice(%f, %x) : ({F}, {T}) -> {T}
        relay.return %y : {T}
      }}""")
    assert partial(module) == ["add", "add", "return"]


@pytest.mark.parametrize(("written", "kept"), [("%x", 0), ("%s", 1)])
@pytest.mark.parametrize("condition", [True, False])
def test_a_reference_that_branches_write(parse: Parse, written: str, kept: int, condition: bool) -> None:
    """It goes if both leave the same behind; what a branch itself reads is what it wrote."""
    module = parse(f"""
      relay.func @main(%x: {T}, %c: tensor<i1>) -> ({T}) {{
        %s = relay.exp %x : {F}
        %r = relay.ref_create %s : {T} -> !relay.ref<{T}>
        %y = relay.if %c : tensor<i1> -> {T} {{
          %u = relay.ref_write %r, %x : !relay.ref<{T}>, {T} -> tuple<>
          %v = relay.ref_read %r : !relay.ref<{T}> -> {T}
          %n = relay.negative %v : {F}
          relay.yield %n : {T}
        }} else {{
          %v = relay.ref_read %r : !relay.ref<{T}> -> {T}
          %u = relay.ref_write %r, {written} : !relay.ref<{T}>, {T} -> tuple<>
          relay.yield %v : {T}
        }}
        %last = relay.ref_read %r : !relay.ref<{T}> -> {T}
        %z = relay.add %y, %last : ({T}, {T}) -> {T}
        relay.return %z : {T}
      }}""")
    ops = partial(module, X, np.array(condition))
    assert ops.count("ref_create") == kept
