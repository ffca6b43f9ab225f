"""Constants, branches, clauses and fields that the program itself decides."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from whence.dialects.relay.core import FuncOp
from whence.dialects.relay.interpret import evaluate_module
from whence.passes.pipelines import run_passes
from whence.passes.relay.analysis.traversal import functions_of, pre_order
from whence.passes.relay.fold_constant import FoldConstantPass
from whence.passes.relay.fold_tuples import FoldTuplesPass
from whence.passes.relay.remove_unused_functions import RemoveUnusedFunctionsPass
from whence.passes.relay.simplify_inference import SimplifyInferencePass

Parse = Callable[[str], ModuleOp]
T = "tensor<4xf32>"


def names(module: ModuleOp) -> list[str]:
    return [op.name.removeprefix("relay.") for op in pre_order(functions_of(module)["main"])][1:]


def fold(module: ModuleOp) -> list[str]:
    run_passes(module, [FoldConstantPass()], audit=True)
    module.verify()
    return names(module)


def test_conditions_and_constants_decide_one_after_the_other(parse: Parse) -> None:
    module = parse(f"""
      relay.func @main(%x: {T}) -> ({T}) {{
        %one = relay.constant dense<1> : tensor<i32>
        %two = relay.add %one, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
        %c = relay.less %one, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %n = relay.if %c : tensor<i1> -> tensor<i32> {{
          %three = relay.add %two, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
          relay.yield %three : tensor<i32>
        }} else {{
          relay.yield %one : tensor<i32>
        }}
        %d = relay.greater %n, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %y = relay.if %d : tensor<i1> -> {T} {{
          %e = relay.exp %x : ({T}) -> {T}
          relay.yield %e : {T}
        }} else {{
          relay.yield %x : {T}
        }}
        relay.return %y : {T}
      }}""")
    x = np.ones(4, np.float32)
    assert fold(module) == ["exp", "return"]
    np.testing.assert_allclose(evaluate_module(module, [x])[0], np.exp(x))


def test_an_open_condition_stays_and_its_branches_fold(parse: Parse) -> None:
    module = parse("""
      relay.func @main(%c: tensor<i1>) -> (tensor<f32>) {
        %two = relay.constant dense<2.0> : tensor<f32>
        %y = relay.if %c : tensor<i1> -> tensor<f32> {
          %four = relay.multiply %two, %two : (tensor<f32>, tensor<f32>) -> tensor<f32>
          relay.yield %four : tensor<f32>
        } else {
          relay.yield %two : tensor<f32>
        }
        relay.return %y : tensor<f32>
      }""")
    assert fold(module) == ["constant", "if", "constant", "yield", "yield", "return"]


def test_constants_pass_through_no_let_block(parse: Parse) -> None:
    module = parse(f"""
      relay.func @main(%x: {T}) -> ({T}, {T}) {{
        %b, %p = relay.let pure {{
          %a = relay.constant dense<2.0> : tensor<f32>
          %b = relay.multiply %a, %a : (tensor<f32>, tensor<f32>) -> tensor<f32>
          relay.yield %b, %x : tensor<f32>, {T}
        }}
        %y = relay.add %x, %b : ({T}, tensor<f32>) -> {T}
        relay.return %y, %p : {T}, {T}
      }}""")
    assert fold(module) == ["constant", "add", "return"]
    returned = functions_of(module)["main"]
    assert returned.return_op.values[1] is returned.block.args[0]


LIST = "!relay.adt<@List, [tensor<4xf32>]>"
DATA = """
  relay.type_data @List["A"] {
    Cons(!relay.type_var<"A">, !relay.adt<@List, [!relay.type_var<"A">]>), Nil()
  }"""


def test_a_match_on_a_known_value_is_its_clause(parse: Parse) -> None:
    module = parse(f"""{DATA}
      relay.func @main(%x: {T}, %rest: {LIST}) -> ({T}) {{
        %l = relay.construct @Cons(%x, %rest) : ({T}, {LIST}) -> {LIST}
        %t = relay.tuple %l, %x : tuple<{LIST}, {T}>
        %y = relay.match %t : tuple<{LIST}, {T}> -> {T} {{
        case (@Nil(), _) {{
          relay.yield %x : {T}
        }}
        case (@Cons(%h: {T}, _), %v: {T}) {{
          %s = relay.add %h, %v : ({T}, {T}) -> {T}
          relay.yield %s : {T}
        }}
        }}
        relay.return %y : {T}
      }}""")
    assert fold(module) == ["add", "return"]


def test_a_match_that_only_the_run_decides_stays(parse: Parse) -> None:
    module = parse(f"""{DATA}
      relay.func @main(%x: {T}, %rest: {LIST}) -> ({T}) {{
        %l = relay.construct @Cons(%x, %rest) : ({T}, {LIST}) -> {LIST}
        %y = relay.match partial %l : {LIST} -> {T} {{
        case @Nil() {{
          relay.yield %x : {T}
        }}
        case @Cons(_, @Nil()) {{
          relay.yield %x : {T}
        }}
        }}
        relay.return %y : {T}
      }}""")
    assert "match" in fold(module)


def test_functions_that_a_closure_mentions_stay(parse: Parse) -> None:
    module = parse(f"""
      relay.func @f(%x: {T}) -> ({T}) {{ relay.return %x : {T} }}
      relay.func @g(%x: {T}) -> ({T}) {{ relay.return %x : {T} }}
      relay.func @h(%x: {T}) -> ({T}) {{ relay.return %x : {T} }}
      relay.func @main(%x: {T}) -> (({T}) -> {T}) {{
        %c = relay.fn (%p: {T}) -> {T} {{
          %f = relay.global @f : ({T}) -> {T}
          %a = relay.invoke %f(%p) : (({T}) -> {T}, {T}) -> {T}
          %b = relay.call @g(%a) : ({T}) -> {T}
          relay.yield %b : {T}
        }}
        relay.return %c : ({T}) -> {T}
      }}""")
    run_passes(module, [RemoveUnusedFunctionsPass()], audit=True)
    assert [op.sym_name.data for op in module.ops if isinstance(op, FuncOp)] == ["f", "g", "main"]


def test_a_batch_norm_behind_a_tuple_keeps_its_numbers(parse: Parse) -> None:
    vectors = ", ".join(["tensor<3xf32>"] * 4)
    module = parse(f"""
      relay.func @main(%x: tensor<2x3xf32>, %g: tensor<3xf32>, %b: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>)
          -> (tensor<2x3xf32>, tensor<3xf32>) {{
        %0, %1, %2 = relay.nn.batch_norm %x, %g, %b, %m, %v : (tensor<2x3xf32>, {vectors})
          -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
        %t = relay.tuple %0, %1, %2 : tuple<tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>>
        %y = relay.tuple_get_item %t[0] : tuple<tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>>
        %z = relay.tuple_get_item %t[1] : tuple<tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>>
        relay.return %y, %z : tensor<2x3xf32>, tensor<3xf32>
      }}""")
    rng = np.random.default_rng(3)
    inputs = [np.abs(rng.standard_normal(shape)).astype(np.float32) for shape in ((2, 3), (3,), (3,), (3,), (3,))]
    expected = evaluate_module(module, inputs)
    run_passes(module, [SimplifyInferencePass()], audit=True)
    module.verify()
    assert not {"batch_norm", "nn.batch_norm", "tuple_get_item"} & set(names(module))
    for mine, reference in zip(evaluate_module(module, inputs), expected, strict=True):
        np.testing.assert_allclose(mine, reference, rtol=1e-5)


def test_tuples_that_nobody_reads_go(parse: Parse) -> None:
    module = parse(f"""
      relay.func @main(%x: {T}) -> ({T}) {{
        %inner = relay.tuple %x, %x : tuple<{T}, {T}>
        %outer = relay.tuple %inner : tuple<tuple<{T}, {T}>>
        %empty = relay.tuple : tuple<>
        %y = relay.exp %x : ({T}) -> {T}
        relay.return %y : {T}
      }}""")
    run_passes(module, [FoldTuplesPass()], audit=True)
    assert names(module) == ["exp", "return"]
