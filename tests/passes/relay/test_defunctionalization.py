"""Programs without functions as values compute the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.utils.exceptions import VerifyException

from whence.dialects.relay.core import FuncOp
from whence.dialects.relay.functions import FnOp, GlobalOp, InvokeOp
from whence.dialects.relay.interpret import evaluate_module
from whence.dialects.relay.types import Forall
from whence.passes.pipelines import run_passes
from whence.passes.relay.analysis.traversal import functions_of, pre_order
from whence.passes.relay.defunctionalization import DefunctionalizationPass
from whence.runtime.interpreting.flow import Adt

Parse = Callable[[str], ModuleOp]
T = "tensor<4xf32>"
F = f"({T}) -> {T}"
X = np.linspace(0.5, 2, 4).astype(np.float32)
A, B = '!relay.type_var<"A">', '!relay.type_var<"B">'


def check(module: ModuleOp, *inputs: Any) -> list[str]:
    """The functions of the first-order program, which gives what the program gave."""
    given: Sequence[Any] = inputs or (X,)
    expected = evaluate_module(module, given)
    run_passes(module, [DefunctionalizationPass()], audit=True)
    module.verify()
    for mine, reference in zip(evaluate_module(module, given), expected, strict=True):
        same(mine, reference)
    for op in pre_order(module):
        assert not isinstance(op, FnOp | GlobalOp | InvokeOp)
        types = [*op.result_types, *(a.type for region in op.regions for block in region.blocks for a in block.args)]
        assert not any(isinstance(type_, FunctionType | Forall) for type_ in types)
        assert not isinstance(op, FuncOp) or op.type_params is None
    return list(functions_of(module))


def same(mine: Any, reference: Any) -> None:
    if isinstance(reference, Adt):
        assert mine.name == reference.name
        for field, wanted in zip(mine.fields, reference.fields, strict=True):
            same(field, wanted)
    else:
        np.testing.assert_allclose(mine, reference, rtol=1e-6)


def test_closures_chosen_by_the_run(parse: Parse) -> None:
    module = parse(f"""
      relay.func @double(%x: {T}) -> ({T}) {{
        %y = relay.add %x, %x : ({T}, {T}) -> {T}
        relay.return %y : {T}
      }}
      relay.func @twice(%f: {F}, %x: {T}) -> ({T}) {{
        %a = relay.invoke impure %f(%x) : ({F}, {T}) -> {T}
        %b = relay.invoke impure %f(%a) : ({F}, {T}) -> {T}
        relay.return %b : {T}
      }}
      relay.func @main(%x: {T}, %c: tensor<i1>) -> ({T}) {{
        %e = relay.exp %x : ({T}) -> {T}
        %f = relay.if %c : tensor<i1> -> {F} {{
          %g = relay.fn (%p: {T}) -> {T} {{
            %s = relay.multiply %p, %e : ({T}, {T}) -> {T}
            relay.yield %s : {T}
          }}
          relay.yield %g : {F}
        }} else {{
          %d = relay.global @double : {F}
          relay.yield %d : {F}
        }}
        %y = relay.call impure @twice(%f, %x) : ({F}, {T}) -> {T}
        relay.return %y : {T}
      }}""")
    other = module.clone()
    assert check(module, X, np.array(True)) == ["double", "twice", "main", "lifted_name0", "apply0"]
    check(other, X, np.array(False))


LIST = f"""
  relay.type_data @List["A"] {{Cons({A}, !relay.adt<@List, [{A}]>), Nil()}}
  relay.func @id["A"](%x: {A}) -> ({A}) {{ relay.return %x : {A} }}
  relay.func @map["A", "B"](%f: ({A}) -> {B}, %xs: !relay.adt<@List, [{A}]>) -> (!relay.adt<@List, [{B}]>) {{
    %y = relay.match %xs : !relay.adt<@List, [{A}]> -> !relay.adt<@List, [{B}]> {{
    case @Cons(%h: {A}, %t: !relay.adt<@List, [{A}]>) {{
      %i = relay.invoke impure %f(%h) : (({A}) -> {B}, {A}) -> {B}
      %r = relay.call impure @map(%f, %t) : (({A}) -> {B}, !relay.adt<@List, [{A}]>) -> !relay.adt<@List, [{B}]>
      %c = relay.construct @Cons(%i, %r) : ({B}, !relay.adt<@List, [{B}]>) -> !relay.adt<@List, [{B}]>
      relay.yield %c : !relay.adt<@List, [{B}]>
    }}
    case @Nil() {{
      %n = relay.construct @Nil() : () -> !relay.adt<@List, [{B}]>
      relay.yield %n : !relay.adt<@List, [{B}]>
    }}
    }}
    relay.return %y : !relay.adt<@List, [{B}]>
  }}"""
L = f"!relay.adt<@List, [{T}]>"


def test_polymorphic_functions_over_lists(parse: Parse) -> None:
    module = parse(f"""{LIST}
      relay.func @main(%x: {T}) -> ({L}) {{
        %nil = relay.construct @Nil() : () -> {L}
        %one = relay.construct @Cons(%x, %nil) : ({T}, {L}) -> {L}
        %two = relay.construct @Cons(%x, %one) : ({T}, {L}) -> {L}
        %f = relay.fn (%p: {T}) -> {T} {{
          %s = relay.multiply %p, %x : ({T}, {T}) -> {T}
          relay.yield %s : {T}
        }}
        %a = relay.call impure @map(%f, %two) : ({F}, {L}) -> {L}
        %id = relay.global @id : !relay.forall<["A"], ({A}) -> {A}>
        %b = relay.call impure @map(%id, %a) : (!relay.forall<["A"], ({A}) -> {A}>, {L}) -> {L}
        relay.return %b : {L}
      }}""")
    assert check(module) == ["id_0", "map_0", "main", "lifted_name0", "apply0"]


def test_a_polymorphic_closure_is_copied_for_its_types(parse: Parse) -> None:
    module = parse(f"""
      relay.func @main(%x: {T}, %n: tensor<i32>) -> ({T}, tensor<i32>) {{
        %f = relay.fn["A"] (%p: {A}) -> {A} {{
          relay.yield %p : {A}
        }}
        %a = relay.invoke %f(%x) : (!relay.forall<["A"], ({A}) -> {A}>, {T}) -> {T}
        %b = relay.invoke %f(%n) : (!relay.forall<["A"], ({A}) -> {A}>, tensor<i32>) -> tensor<i32>
        relay.return %a, %b : {T}, tensor<i32>
      }}""")
    assert check(module, X, np.array(3, np.int32)) == ["main", "lifted_name0", "lifted_name1"]


def test_functions_of_functions_and_recursion(parse: Parse) -> None:
    module = parse(f"""
      relay.func @main(%x: {T}, %n: tensor<i32>) -> ({T}) {{
        %zero = relay.constant dense<0> : tensor<i32>
        %one = relay.constant dense<1> : tensor<i32>
        %iterate = relay.let rec (%self: ({F}, tensor<i32>) -> ({F})) {{
          %fn = relay.fn (%f: {F}, %k: tensor<i32>) -> {F} {{
            %done = relay.equal %k, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
            %out = relay.if %done : tensor<i1> -> {F} {{
              relay.yield %f : {F}
            }} else {{
              %less = relay.subtract %k, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
              %more = relay.fn (%p: {T}) -> {T} {{
                %q = relay.invoke impure %f(%p) : ({F}, {T}) -> {T}
                %r = relay.add %q, %x : ({T}, {T}) -> {T}
                relay.yield %r : {T}
              }}
              %again = relay.invoke %self(%more, %less) : (({F}, tensor<i32>) -> ({F}), {F}, tensor<i32>) -> ({F})
              relay.yield %again : {F}
            }}
            relay.yield %out : {F}
          }}
          relay.yield %fn : ({F}, tensor<i32>) -> ({F})
        }}
        %start = relay.fn (%p: {T}) -> {T} {{
          relay.yield %p : {T}
        }}
        %g = relay.invoke %iterate(%start, %n) : (({F}, tensor<i32>) -> ({F}), {F}, tensor<i32>) -> ({F})
        %y = relay.invoke impure %g(%x) : ({F}, {T}) -> {T}
        relay.return %y : {T}
      }}""")
    check(module, X, np.array(3, np.int32))


def test_types_that_a_use_does_not_tell_are_asked_for(parse: Parse) -> None:
    module = parse("""
      relay.func @none["A"]() -> (tensor<i32>) {
        %one = relay.constant dense<1> : tensor<i32>
        relay.return %one : tensor<i32>
      }
      relay.func @main() -> (tensor<i32>) {
        %y = relay.call @none() : () -> tensor<i32>
        relay.return %y : tensor<i32>
      }""")
    with pytest.raises(VerifyException, match=r"relay\.call: expected types for A of @none, got none"):
        run_passes(module, [DefunctionalizationPass()])
