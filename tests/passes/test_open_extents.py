"""Passes leave alone what depends on extents that only a run decides, and do the rest."""

from __future__ import annotations

import numpy as np
import pytest
from random_relay_checks import Checker
from relay_examples import parse

from whence.passes.classes import pass_class
from whence.passes.registry import row_of
from whence.passes.runner import run_passes
from whence.syntax.text import fromtext

KEPT = {
    "simplify-expr": """
      %z = relay.zeros_like %x : (tensor<?x4xf32>) -> tensor<?x4xf32> loc("a")
      %f = relay.reshape %z {newshape = [-1]} : (tensor<?x4xf32>) -> tensor<?xf32> loc("b")
      %0 = relay.reshape %f {newshape = [-1, 4]} : (tensor<?xf32>) -> tensor<?x4xf32> loc("c")
      %1 = relay.maximum %0, %x : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32> loc("d")
    """,
    "combine-parallel-dense": """
      %0 = relay.nn.dense %x, %x : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x?xf32> loc("a")
      %2 = relay.nn.dense %x, %x : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x?xf32> loc("b")
      %3 = relay.nn.dense %x, %x : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x?xf32> loc("c")
      %1 = relay.reshape %3 {newshape = [-1, 4]} : (tensor<?x?xf32>) -> tensor<?x4xf32> loc("d")
    """,
}


@pytest.mark.parametrize("name", KEPT)
def test_what_an_extent_decides_stays(name: str) -> None:
    module = parse(
        f'relay.func @main(%x: tensor<?x4xf32> loc("x")) -> (tensor<?x4xf32>) {{\n{KEPT[name]}\n'
        'relay.return %1 : tensor<?x4xf32> loc("return")\n} loc("main")'
    )
    before = str(module)
    run_passes(module, [pass_class(row_of(f"relay-{name}"))()], audit=True)
    module.verify()
    assert str(module) == before


def test_factors_of_open_tensors_meet() -> None:
    module = parse(
        'relay.func @main(%x: tensor<?x4xf32> loc("x")) -> (tensor<?x4xf32>) {\n'
        '%a = relay.constant dense<2.0> : tensor<f32> loc("two")\n'
        '%0 = relay.multiply %x, %a : (tensor<?x4xf32>, tensor<f32>) -> tensor<?x4xf32> loc("a")\n'
        '%1 = relay.multiply %0, %a : (tensor<?x4xf32>, tensor<f32>) -> tensor<?x4xf32> loc("b")\n'
        'relay.return %1 : tensor<?x4xf32> loc("return")\n} loc("main")'
    )
    run_passes(module, [pass_class(row_of("relay-simplify-expr"))()], audit=True)
    module.verify()
    assert str(module).count("relay.multiply") == 1


CALLS = {
    "of the module": """
        def @f(%x: Tensor[(?, 2), float32]) -> Tensor[(?, 2), float32] { exp(%x) }
        def @main(%a: Tensor[(4, 2), float32]) { let %b = @f(%a); add(%b, @f(%b)) }""",
    "that is a value": """
        def @main(%a: Tensor[(4, 2), float32]) {
          let %f = fn (%x: Tensor[(?, 2), float32]) { negative(%x) };
          (%f(%a), %f(concatenate((%a, %a))))
        }""",
    "that calls itself": """
        def @f(%x: Tensor[(?, 2), float32], %n: int32) -> Tensor[(?, 2), float32] {
          if (%n < 1) { %x } else { @f(concatenate((%x, %x)), %n - 1) }
        }
        def @main(%a: Tensor[(4, 2), float32]) { @f(%a, 2) }""",
    "of a tuple": """
        def @f(%x: (Tensor[(?, 2), float32], int32)) -> Tensor[(?, 2), float32] {
          if (%x.1 < 1) { %x.0 } else { @f((concatenate((%x.0, %x.0)), %x.1 - 1)) }
        }
        def @main(%a: Tensor[(4, 2), float32]) { @f((%a, 2)) }""",
}
"""Functions whose parameters have an open size, called with one that is known."""


@pytest.mark.parametrize("function", CALLS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_arguments_of_known_sizes_fit_open_parameters_in_every_pass(function: str) -> None:
    program = fromtext('#[version = "0.0.5"]' + CALLS[function])
    Checker(program, [np.arange(8, dtype=np.float32).reshape(4, 2) / 8]).check()
