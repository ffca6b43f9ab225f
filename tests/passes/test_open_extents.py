"""Passes leave alone what depends on extents that only a run decides, and do the rest."""

from __future__ import annotations

import pytest
from relay_examples import parse

from whence.passes.registry import row_of
from whence.passes.runner import run_passes

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
    run_passes(module, [row_of(f"relay-{name}").load()()], audit=True)
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
    run_passes(module, [row_of("relay-simplify-expr").load()()], audit=True)
    module.verify()
    assert str(module).count("relay.multiply") == 1
