"""Normal forms and dead code: the same values, in the form that is promised."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.ir import SSAValue

from whence.dialects.relay.binding import LetOp
from whence.dialects.relay.core import FuncOp, ReturnOp
from whence.dialects.relay.elementwise import NegativeOp
from whence.dialects.relay.interpret import evaluate_module
from whence.dialects.relay.references import RefCreateOp, RefReadOp
from whence.passes.pipelines import available_passes, run_passes
from whence.passes.relay.analysis.features import Feature, detect_feature
from whence.passes.relay.analysis.traversal import pre_order
from whence.passes.relay.analysis.well_formed import check_scopes
from whence.passes.relay.dead_code_elimination import DeadCodeEliminationPass
from whence.provenance.builder import LocatedBuilder
from whence.provenance.span import layer_location
from whence.syntax.relay.equal import structural_equal
from whence.syntax.relay.view import view

Parse = Callable[[str], ModuleOp]
LANGUAGE = Path(__file__).parents[2] / "filecheck/dialects/relay/language.mlir"
T = "tensor<4xf32>"

PROGRAM = f"""
  relay.type_data @List["A"] {{
    Cons(!relay.type_var<"A">, !relay.adt<@List, [!relay.type_var<"A">]>), Nil()
  }}
  relay.func @total(%xs: !relay.adt<@List, [{T}]>, %zero: {T}) -> ({T}) {{
    %y = relay.match %xs : !relay.adt<@List, [{T}]> -> {T} {{
    case @Cons(%h: {T}, %t: !relay.adt<@List, [{T}]>) {{
      %s = relay.call @total(%t, %zero) : (!relay.adt<@List, [{T}]>, {T}) -> {T}
      %r = relay.add %h, %s : ({T}, {T}) -> {T}
      relay.yield %r : {T}
    }}
    case @Nil() {{
      relay.yield %zero : {T}
    }}
    }}
    relay.return %y : {T}
  }}
  relay.func @store(%r: !relay.ref<{T}>, %x: {T}) -> ({T}) {{
    %u = relay.ref_write %r, %x : !relay.ref<{T}>, {T} -> tuple<>
    relay.return %x : {T}
  }}
  relay.func @main(%x: {T}, %n: tensor<i32>) -> ({T}, {T}) {{
    %0 = relay.exp %x : ({T}) -> {T}
    %one = relay.constant dense<1> : tensor<i32>
    %zero = relay.constant dense<0> : tensor<i32>
    %unread = relay.log %0 : ({T}) -> {T}
    %t = relay.tuple %0, %x : tuple<{T}, {T}>
    %g = relay.tuple_get_item %t[1] : tuple<{T}, {T}>
    %ref = relay.ref_create %g : {T} -> !relay.ref<{T}>
    %kept = relay.call @store(%ref, %0) : (!relay.ref<{T}>, {T}) -> {T}
    %power = relay.let rec (%self: (tensor<i32>, {T}) -> {T}) {{
      %fn = relay.fn (%k: tensor<i32>, %v: {T}) -> {T} {{
        %done = relay.equal %k, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %less = relay.subtract %k, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
        %out = relay.if %done : tensor<i1> -> {T} {{
          relay.yield %v : {T}
        }} else {{
          %w = relay.multiply %v, %0 : ({T}, {T}) -> {T}
          %again = relay.invoke %self(%less, %w) : ((tensor<i32>, {T}) -> {T}, tensor<i32>, {T}) -> {T}
          relay.yield %again : {T}
        }}
        relay.yield %out : {T}
      }}
      relay.yield %fn : (tensor<i32>, {T}) -> {T}
    }}
    %p = relay.invoke %power(%n, %x) : ((tensor<i32>, {T}) -> {T}, tensor<i32>, {T}) -> {T}
    %b = relay.let impure {{
      %a = relay.ref_read %ref : !relay.ref<{T}> -> {T}
      %a2 = relay.negative %a : ({T}) -> {T}
      %c = relay.sqrt %x : ({T}) -> {T}
      %w = relay.ref_write %ref, %x : !relay.ref<{T}>, {T} -> tuple<>
      %b = relay.subtract %a2, %p : ({T}, {T}) -> {T}
      relay.yield %b : {T}
    }}
    %nil = relay.construct @Nil() : () -> !relay.adt<@List, [{T}]>
    %l1 = relay.construct @Cons(%b, %nil) : ({T}, !relay.adt<@List, [{T}]>) -> !relay.adt<@List, [{T}]>
    %l2 = relay.construct @Cons(%x, %l1) : ({T}, !relay.adt<@List, [{T}]>) -> !relay.adt<@List, [{T}]>
    %s = relay.call @total(%l2, %x) : (!relay.adt<@List, [{T}]>, {T}) -> {T}
    %end = relay.ref_read %ref : !relay.ref<{T}> -> {T}
    relay.return %s, %end : {T}, {T}
  }}"""

FORMS = ("relay-to-a-normal-form", "relay-to-graph-normal-form", "relay-to-basic-block-normal-form")


def results(module: ModuleOp) -> list[Any]:
    x = np.linspace(0.1, 0.7, 4).astype(np.float32)
    return evaluate_module(module, [x, np.array(3, np.int32)])


def names(module: ModuleOp) -> list[str]:
    return [op.name.removeprefix("relay.") for op in pre_order(module)]


@pytest.mark.parametrize(
    "passes",
    [
        *[[one] for one in FORMS],
        ["relay-to-a-normal-form", "relay-dead-code-elimination"],
        ["relay-to-a-normal-form", "relay-dead-code-elimination{inline-once=true}"],
        ["relay-dead-code-elimination"],
        ["relay-fold-constant"],
        ["relay-to-a-normal-form", "relay-fold-constant", "relay-dead-code-elimination"],
        ["relay-to-a-normal-form", "relay-to-basic-block-normal-form", "relay-to-graph-normal-form"],
        ["relay-partial-evaluate", "relay-dead-code-elimination", "relay-to-a-normal-form"],
        ["relay-to-a-normal-form", "relay-partial-evaluate", "relay-fold-constant"],
        ["relay-lambda-lift", "relay-to-a-normal-form", "relay-inline", "relay-infer-type"],
        ["relay-to-a-normal-form", "relay-lambda-lift", "relay-partial-evaluate"],
        ["relay-defunctionalization", "relay-to-a-normal-form", "relay-infer-type"],
        ["relay-to-a-normal-form", "relay-defunctionalization", "relay-partial-evaluate"],
        ["relay-to-a-normal-form", "relay-eliminate-common-subexpr", "relay-simplify-expr", "relay-fuse-ops"],
    ],
    ids=",".join,
)
def test_values_stay(parse: Parse, passes: list[str]) -> None:
    module = parse(PROGRAM)
    expected = results(module)
    for name in passes:
        head, _, option = name.partition("{")
        cls = cast(Any, available_passes()[head]())
        run_passes(module, [cls(inline_once=True) if option else cls()], audit=True)
        module.verify()
        check_scopes(module)
        for mine, reference in zip(results(module), expected, strict=True):
            np.testing.assert_allclose(mine, reference, rtol=1e-6)


def forms(module: ModuleOp, *passes: str) -> ModuleOp:
    run_passes(module, [available_passes()[name]()() for name in passes], audit=True)
    module.verify()
    return module


def test_each_form_has_what_it_promises(parse: Parse) -> None:
    module = forms(parse(PROGRAM), "relay-to-a-normal-form")
    assert Feature.fGraph not in detect_feature(module)
    assert Feature.fLet in detect_feature(module)
    again = forms(module.clone(), "relay-to-a-normal-form")
    assert structural_equal(view(again), view(module))
    assert str(again) == str(module)
    forms(module, "relay-to-graph-normal-form")
    lets = [op for op in pre_order(module) if isinstance(op, LetOp)]
    assert [let.flavour.data for let in lets] == ["rec"]
    assert Feature.fGraph in detect_feature(module)


def test_dead_code_leaves_effects(parse: Parse) -> None:
    module = forms(parse(PROGRAM), "relay-to-a-normal-form", "relay-dead-code-elimination")
    left = names(module)
    assert "log" not in left
    assert "sqrt" not in left
    assert left.count("ref_write") == 2
    run_passes(module, [DeadCodeEliminationPass(ignore_impurity=True)], audit=True)
    module.verify()
    assert "ref_write" not in names(module)


def test_bindings_that_are_read_once_leave_their_let_block(parse: Parse) -> None:
    module = parse(f"""
      relay.func @main(%x: {T}) -> ({T}) {{
        %c, %a = relay.let pure {{
          %a = relay.exp %x : ({T}) -> {T}
          %b = relay.log %a : ({T}) -> {T}
          %c = relay.negative %b : ({T}) -> {T}
          relay.yield %c, %a : {T}, {T}
        }}
        %d = relay.add %c, %a : ({T}, {T}) -> {T}
        relay.return %d : {T}
      }}""")
    run_passes(module, [DeadCodeEliminationPass(inline_once=True)], audit=True)
    module.verify()
    assert names(module) == ["builtin.module", "func", "let", "exp", "yield", "log", "negative", "add", "return"]


UNMARKED = f"""
  relay.func @next(%r: !relay.ref<{T}>) -> ({T}) {{
    %v = relay.ref_read %r : !relay.ref<{T}> -> {T}
    %n = relay.exp %v : ({T}) -> {T}
    %u = relay.ref_write %r, %n : !relay.ref<{T}>, {T} -> tuple<>
    relay.return %v : {T}
  }}
  relay.func @main(%x: {T}, %c: tensor<i32>) -> ({T}, {T}) {{
    %r = relay.ref_create %x : {T} -> !relay.ref<{T}>
    %a = relay.call @next(%r) : (!relay.ref<{T}>) -> {T}
    %b = relay.call @next(%r) : (!relay.ref<{T}>) -> {T}
    %unread = relay.call @next(%r) : (!relay.ref<{T}>) -> {T}
    %t = relay.tuple %unread, %b : tuple<{T}, {T}>
    %g = relay.tuple_get_item %t[1] : tuple<{T}, {T}>
    %zero = relay.constant dense<0> : tensor<i32>
    %k = relay.equal %c, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %last = relay.call @next(%r) : (!relay.ref<{T}>) -> {T}
    %y = relay.if %k : tensor<i1> -> {T} {{ relay.yield %g : {T} }} else {{ relay.yield %last : {T} }}
    relay.return %a, %y : {T}, {T}
  }}"""


@pytest.mark.parametrize(
    "name",
    [
        *FORMS,
        "relay-dead-code-elimination",
        "relay-eliminate-common-subexpr",
        "relay-fold-constant",
        "relay-simplify-inference",
        "relay-partial-evaluate",
    ],
)
def test_calls_that_nobody_marked_keep_their_effects(parse: Parse, name: str) -> None:
    module = parse(UNMARKED)
    expected = results(module)
    forms(module, name)
    for mine, reference in zip(results(module), expected, strict=True):
        np.testing.assert_allclose(mine, reference, rtol=1e-6)


def test_long_chains_need_no_deep_stack() -> None:
    type_ = TensorType(f32, [4])
    main = FuncOp("main", [type_], [type_], location=layer_location("main", "chain", 0))
    builder = LocatedBuilder(main.block, main.location)
    main.block.args[0].location = main.location
    value: SSAValue = main.block.args[0]
    for index in range(600):
        ref = builder.add(RefCreateOp(value)).result
        value = builder.add(RefReadOp(ref) if index % 2 else NegativeOp(value)).results[0]
    builder.add(ReturnOp(value))
    module = ModuleOp([main])
    forms(module, "relay-to-a-normal-form")
    assert len([op for op in pre_order(module) if isinstance(op, LetOp)]) > 500
    forms(module, "relay-dead-code-elimination", "relay-to-basic-block-normal-form", "relay-to-graph-normal-form")
    assert not [op for op in pre_order(module) if isinstance(op, LetOp)]
    forms(module, "relay-partial-evaluate", "relay-dead-code-elimination")
    assert names(module).count("negative") == 300
    assert "ref_read" not in names(module)
