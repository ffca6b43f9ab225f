"""The passes on operators keep what a program of the whole language computes, wherever the operators stand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from whence.dialects.relay.core import FuncOp
from whence.dialects.relay.interpret import evaluate_module
from whence.dialects.relay.operator import Operator
from whence.passes.classes import pass_class
from whence.passes.pipelines import PIPELINE, relay_pipeline, run_passes
from whence.passes.relay.analysis.traversal import pre_order
from whence.passes.relay.analysis.well_formed import check_scopes

Parse = Callable[[str], ModuleOp]
X = "tensor<1x16x6x6xf32>"
W = "tensor<16x16x3x3xf32>"
CONV = "{padding = [1, 1], channels = 16, kernel_size = [3, 3]}"
V = "tensor<16xf32>"
ONES = "dense<2.0> : tensor<16x1x1xf32>"
PROGRAM = f"""
  relay.func @block(%x: {X}, %w: {W}, %v: {V}) -> ({X}) {{
    %c = relay.nn.conv2d %x, %w {CONV} : ({X}, {W}) -> {X}
    %0, %1, %2 = relay.nn.batch_norm %c, %v, %v, %v, %v : ({X}, {V}, {V}, {V}, {V}) -> ({X}, {V}, {V})
    %t = relay.tuple %0, %1, %2 : tuple<{X}, {V}, {V}>
    %y = relay.tuple_get_item %t[0] : tuple<{X}, {V}, {V}>
    relay.return %y : {X}
  }}
  relay.func @main(%x: {X}, %w: {W}, %v: {V}, %c: tensor<i1>, %r: {X}) -> ({X}, {X}) {{
    %a = relay.nn.conv2d %x, %w {CONV} : ({X}, {W}) -> {X}
    %two = relay.constant {ONES}
    %s = relay.multiply %a, %two : ({X}, tensor<16x1x1xf32>) -> {X}
    %e = relay.exp %s : ({X}) -> {X}
    %n = relay.negative %e : ({X}) -> {X}
    %ref = relay.ref_create %n : {X} -> !relay.ref<{X}>
    %y = relay.if %c : tensor<i1> -> {X} {{
      %b = relay.nn.conv2d %s, %w {CONV} : ({X}, {W}) -> {X}
      %f = relay.nn.bias_add %b, %v : ({X}, {V}) -> {X}
      %g = relay.nn.relu %f : ({X}) -> {X}
      %h = relay.add %g, %e : ({X}, {X}) -> {X}
      %u = relay.ref_write %ref, %h : !relay.ref<{X}>, {X} -> tuple<>
      relay.yield %h : {X}
    }} else {{
      %e2 = relay.exp %s : ({X}) -> {X}
      %d = relay.call @block(%e2, %w, %v) : ({X}, {W}, {V}) -> {X}
      relay.yield %d : {X}
    }}
    %fn = relay.fn (%p: {X}) -> {X} {{
      %q = relay.let pure {{
        %q0 = relay.add %p, %s : ({X}, {X}) -> {X}
        %q = relay.nn.relu %q0 : ({X}) -> {X}
        relay.yield %q : {X}
      }}
      %k = relay.nn.conv2d %q, %w {CONV} : ({X}, {W}) -> {X}
      %m, %mask = relay.nn.dropout %k : ({X}) -> ({X}, {X})
      relay.yield %m : {X}
    }}
    %z = relay.invoke %fn(%y) : (({X}) -> {X}, {X}) -> {X}
    %now = relay.ref_read %ref : !relay.ref<{X}> -> {X}
    relay.return %z, %now : {X}, {X}
  }}"""


def inputs(condition: bool) -> Sequence[Any]:
    rng = np.random.default_rng(5)
    x, r = (rng.standard_normal((1, 16, 6, 6)).astype(np.float32) * 0.1 for _ in range(2))
    w = rng.standard_normal((16, 16, 3, 3)).astype(np.float32) * 0.1
    return [x, w, np.abs(rng.standard_normal(16)).astype(np.float32), np.array(condition), r]


def same(module: ModuleOp, expected: Sequence[Sequence[Any]]) -> None:
    module.verify()
    check_scopes(module)
    for condition, references in zip((True, False), expected, strict=True):
        for mine, reference in zip(evaluate_module(module, inputs(condition)), references, strict=True):
            np.testing.assert_allclose(mine, reference, rtol=2e-4, atol=1e-4)


def expected(module: ModuleOp) -> list[list[Any]]:
    return [evaluate_module(module, inputs(condition)) for condition in (True, False)]


@pytest.mark.parametrize("name", sorted({row.name for row in PIPELINE}))
def test_each_pass_keeps_values(parse: Parse, name: str) -> None:
    module = parse(PROGRAM)
    reference = expected(module)
    row = next(row for row in PIPELINE if row.name == name)
    run_passes(module, [pass_class(row)()], audit=True)
    same(module, reference)


@pytest.mark.parametrize("level", range(4))
def test_the_pipeline_keeps_values(parse: Parse, level: int) -> None:
    module = parse(PROGRAM)
    reference = expected(module)
    run_passes(module, relay_pipeline(level), audit=True)
    same(module, reference)
    functions = [op for op in module.ops if isinstance(op, FuncOp) and op.primitive is None]
    assert not [op.name for func in functions for op in pre_order(func) if isinstance(op, Operator)]
