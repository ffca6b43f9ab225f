"""Functions that are inlined, lifted and made values of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from whence.dialects.relay.core import FuncOp
from whence.dialects.relay.functions import FnOp
from whence.dialects.relay.interpret import evaluate_module
from whence.passes.pipelines import run_passes
from whence.passes.relay import inline
from whence.passes.relay.analysis.traversal import functions_of, pre_order
from whence.passes.relay.eta_expand import EtaExpandPass
from whence.passes.relay.inline import InlinePass
from whence.passes.relay.lambda_lift import LambdaLiftPass
from whence.support.errors import PipelineError

Parse = Callable[[str], ModuleOp]
T = "tensor<4xf32>"
F = f"({T}) -> {T}"


def check(module: ModuleOp, one: ModulePass, *inputs: Any) -> list[str]:
    """The names of the functions after a pass, which leaves what @main gives as it is."""
    given: Sequence[Any] = inputs or (np.linspace(-1, 1, 4).astype(np.float32),)
    expected = evaluate_module(module, given)
    run_passes(module, [one], audit=True)
    module.verify()
    for mine, reference in zip(evaluate_module(module, given), expected, strict=True):
        np.testing.assert_allclose(mine, reference, rtol=1e-6)
    return list(functions_of(module))


def names(func: FuncOp) -> list[str]:
    return [op.name.removeprefix("relay.") for op in pre_order(func)][1:]


def test_what_nobody_called_stays(parse: Parse) -> None:
    body = f"(%x: {T}) -> ({T}) attributes {{Inline = 1 : i64}} {{ relay.return %x : {T} }}"
    module = parse(f"""
      relay.func @entry{body}
      relay.func @called{body}
      relay.func @main(%x: {T}) -> ({T}) {{
        %0 = relay.call @called(%x) : ({T}) -> {T}
        relay.return %0 : {T}
      }}""")
    assert check(module, InlinePass()) == ["entry", "main"]


INLINE = "attributes {Inline = 1 : i64}"


def test_inlined_functions_go_innermost_first(parse: Parse) -> None:
    module = parse(f"""
      relay.func @outer(%x: {T}) -> ({T}, {T}) {INLINE} {{
        %0 = relay.call @inner(%x) : ({T}) -> {T}
        %1 = relay.call @plain(%0) : ({T}) -> {T}
        relay.return %1, %x : {T}, {T}
      }}
      relay.func @inner(%x: {T}) -> ({T}) {INLINE} {{
        %0 = relay.exp %x : ({T}) -> {T}
        relay.return %0 : {T}
      }}
      relay.func @plain(%x: {T}) -> ({T}) {{
        %0 = relay.call @inner(%x) : ({T}) -> {T}
        relay.return %0 : {T}
      }}
      relay.func @main(%x: {T}) -> ({T}, {T}, {T}) {{
        %a, %b = relay.call @outer(%x) : ({T}) -> ({T}, {T})
        %f = relay.fn (%p: {T}) -> {T} {{
          %c = relay.call @inner(%p) : ({T}) -> {T}
          relay.yield %c : {T}
        }}
        %d = relay.invoke %f(%x) : ({F}, {T}) -> {T}
        relay.return %a, %b, %d : {T}, {T}, {T}
      }}""")
    assert check(module, InlinePass()) == ["plain", "main"]
    functions = functions_of(module)
    assert names(functions["plain"]) == ["exp", "return"]
    assert names(functions["main"]) == ["exp", "call", "fn", "exp", "yield", "invoke", "return"]


def test_what_calls_itself_is_not_inlined(parse: Parse) -> None:
    module = parse(f"""
      relay.func @loop(%n: tensor<i32>, %x: {T}) -> ({T}) {INLINE} {{
        %zero = relay.constant dense<0> : tensor<i32>
        %one = relay.constant dense<1> : tensor<i32>
        %c = relay.equal %n, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %y = relay.if %c : tensor<i1> -> {T} {{
          relay.yield %x : {T}
        }} else {{
          %m = relay.subtract %n, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
          %s = relay.add %x, %x : ({T}, {T}) -> {T}
          %z = relay.call @loop(%m, %s) : (tensor<i32>, {T}) -> {T}
          relay.yield %z : {T}
        }}
        relay.return %y : {T}
      }}
      relay.func @main(%x: {T}, %n: tensor<i32>) -> ({T}) {{
        %y = relay.call @loop(%n, %x) : (tensor<i32>, {T}) -> {T}
        relay.return %y : {T}
      }}""")
    assert check(module, InlinePass(), np.ones(4, np.float32), np.array(3, np.int32)) == ["loop", "main"]


def test_types_of_a_polymorphic_function_are_told_by_the_call(parse: Parse) -> None:
    module = parse(f"""
      relay.func @pair["A"](%x: !relay.type_var<"A">) -> (tuple<!relay.type_var<"A">>) {INLINE} {{
        %t = relay.tuple %x : tuple<!relay.type_var<"A">>
        relay.return %t : tuple<!relay.type_var<"A">>
      }}
      relay.func @main(%x: {T}) -> (tuple<{T}>) {{
        %y = relay.call @pair(%x) : ({T}) -> tuple<{T}>
        relay.return %y : tuple<{T}>
      }}""")
    assert check(module, InlinePass()) == ["main"]


def test_functions_become_closures_where_they_are_values(parse: Parse) -> None:
    module = parse(f"""
      relay.func @two(%x: {T}) -> ({T}, {T}) {{ relay.return %x, %x : {T}, {T} }}
      relay.func @one(%x: {T}) -> ({T}) {{ relay.return %x : {T} }}
      relay.func @main(%x: {T}) -> (tuple<{T}, {T}>, {T}) {{
        %f = relay.global @two : ({T}) -> tuple<{T}, {T}>
        %t = relay.tuple %f : tuple<({T}) -> tuple<{T}, {T}>>
        %g = relay.tuple_get_item %t[0] : tuple<({T}) -> tuple<{T}, {T}>>
        %a = relay.invoke %g(%x) : (({T}) -> tuple<{T}, {T}>, {T}) -> tuple<{T}, {T}>
        %h = relay.global @one : {F}
        %b = relay.invoke %h(%x) : ({F}, {T}) -> {T}
        relay.return %a, %b : tuple<{T}, {T}>, {T}
      }}""")
    text = str(module)
    run_passes(module, [EtaExpandPass()], audit=True)
    assert str(module) == text
    check(module, EtaExpandPass(expand_global_var=True))
    assert names(functions_of(module)["main"])[:4] == ["fn", "call", "tuple", "yield"]
    assert names(functions_of(module)["main"]).count("global") == 1


def test_a_closure_that_is_called_becomes_a_call(parse: Parse) -> None:
    module = parse(f"""
      relay.func @main(%x: {T}) -> ({T}) {{
        %two = relay.constant dense<2.0> : tensor<f32>
        %b = relay.exp %x : ({T}) -> {T}
        %f = relay.fn (%p: {T}) -> {T} {{
          %0 = relay.add %p, %b : ({T}, {T}) -> {T}
          %1 = relay.multiply %0, %two : ({T}, tensor<f32>) -> {T}
          relay.yield %1 : {T}
        }}
        %y = relay.invoke %f(%x) : ({F}, {T}) -> {T}
        relay.return %y : {T}
      }}""")
    assert check(module, LambdaLiftPass()) == ["main", "lifted_name0"]
    assert names(functions_of(module)["main"]) == ["constant", "exp", "call", "return"]
    assert len(functions_of(module)["lifted_name0"].block.args) == 2


def test_a_closure_that_is_a_value_keeps_what_it_captured(parse: Parse) -> None:
    module = parse(f"""
      relay.func @main(%x: {T}) -> ({T}) {{
        %make = relay.fn (%b: {T}) -> {F} {{
          %f = relay.fn (%p: {T}) -> {T} {{
            %0 = relay.add %p, %b : ({T}, {T}) -> {T}
            relay.yield %0 : {T}
          }}
          relay.yield %f : {F}
        }}
        %f = relay.invoke %make(%x) : (({T}) -> ({F}), {T}) -> ({F})
        %y = relay.invoke %f(%x) : ({F}, {T}) -> {T}
        relay.return %y : {T}
      }}""")
    assert check(module, LambdaLiftPass()) == ["main", "lifted_name0", "lifted_name1"]
    functions = functions_of(module)
    assert names(functions["main"]) == ["call", "invoke", "return"]
    assert names(functions["lifted_name1"]) == ["fn", "call", "yield", "return"]


@pytest.mark.parametrize("value", [False, True], ids=["called", "as a value"])
def test_recursive_closures_become_recursive_functions(parse: Parse, value: bool) -> None:
    passed = "%self" if value else "%other"
    module = parse(f"""
      relay.func @main(%x: {T}, %n: tensor<i32>) -> ({T}) {{
        %zero = relay.constant dense<0> : tensor<i32>
        %one = relay.constant dense<1> : tensor<i32>
        %b = relay.exp %x : ({T}) -> {T}
        %f, %g = relay.let rec (%self: (tensor<i32>, {T}) -> {T}, %other: (tensor<i32>, {T}) -> {T}) {{
          %f = relay.fn (%k: tensor<i32>, %v: {T}) -> {T} {{
            %c = relay.equal %k, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
            %y = relay.if %c : tensor<i1> -> {T} {{
              relay.yield %v : {T}
            }} else {{
              %w = relay.add %v, %b : ({T}, {T}) -> {T}
              %m = relay.subtract %k, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
              %t = relay.tuple {passed} : tuple<(tensor<i32>, {T}) -> {T}>
              %h = relay.tuple_get_item %t[0] : tuple<(tensor<i32>, {T}) -> {T}>
              %z = relay.invoke %h(%m, %w) : ((tensor<i32>, {T}) -> {T}, tensor<i32>, {T}) -> {T}
              relay.yield %z : {T}
            }}
            relay.yield %y : {T}
          }}
          %g = relay.fn (%k: tensor<i32>, %v: {T}) -> {T} {{
            %w = relay.negative %v : ({T}) -> {T}
            %z = relay.invoke %self(%k, %w) : ((tensor<i32>, {T}) -> {T}, tensor<i32>, {T}) -> {T}
            relay.yield %z : {T}
          }}
          relay.yield %f, %g : (tensor<i32>, {T}) -> {T}, (tensor<i32>, {T}) -> {T}
        }}
        %y = relay.invoke %g(%n, %x) : ((tensor<i32>, {T}) -> {T}, tensor<i32>, {T}) -> {T}
        relay.return %y : {T}
      }}""")
    found = check(module, LambdaLiftPass(), np.ones(4, np.float32), np.array(3, np.int32))
    assert found == ["main", "lifted_name0", "lifted_name1"]
    main = functions_of(module)["main"]
    assert not any(isinstance(op, FnOp) for op in pre_order(main))
    assert "let" not in names(main)


def test_functions_that_double_again_and_again_are_refused(parse: Parse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inline, "MOST_COPIED", 40)

    def module(levels: int) -> ModuleOp:
        functions = [f"relay.func @f0(%x: {T}) -> ({T}) {INLINE} {{ relay.return %x : {T} }}"]
        functions += [
            f"""relay.func @f{level}(%x: {T}) -> ({T}) {INLINE} {{
              %0 = relay.call @f{level - 1}(%x) : {F}
              %1 = relay.call @f{level - 1}(%0) : {F}
              %2 = relay.exp %1 : {F}
              relay.return %2 : {T}
            }}"""
            for level in range(1, levels)
        ]
        last = (
            f"relay.func @main(%x: {T}) -> ({T}) {{ %0 = relay.call @f{levels - 1}(%x) : {F} relay.return %0 : {T} }}"
        )
        return parse("\n".join([*functions, last]))

    run_passes(module(4), [InlinePass()])
    with pytest.raises(PipelineError, match="relay-inline: expected functions that come to at most 40 ops"):
        run_passes(module(8), [InlinePass()])
