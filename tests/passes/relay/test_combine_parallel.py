"""Parallel layers that are not alike stay apart."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from whence.dialects.located_parser import LocatedParser
from whence.dialects.relay.interpret import evaluate_module
from whence.dialects.relay.nn import BatchMatmulOp, DenseOp
from whence.passes.relay.combine_parallel_dense import CombineParallelDensePass
from whence.passes.runner import pass_context, run_passes


def combined(first: str, second: str, to_batch: bool) -> ModuleOp:
    """A module of two dense layers of one input, after the pass."""
    kinds = ["f32" if "float32" in one else "i32" for one in (first, second)]
    text = f"""
    relay.func @main(%x: tensor<2x4xi8>, %a: tensor<3x4xi8>, %b: tensor<3x4xi8>)
        -> (tensor<2x3x{kinds[0]}>, tensor<2x3x{kinds[1]}>) {{
      %0 = relay.nn.dense %x, %a {first} : (tensor<2x4xi8>, tensor<3x4xi8>) -> tensor<2x3x{kinds[0]}>
      %1 = relay.nn.dense %x, %b {second} : (tensor<2x4xi8>, tensor<3x4xi8>) -> tensor<2x3x{kinds[1]}>
      relay.return %0, %1 : tensor<2x3x{kinds[0]}>, tensor<2x3x{kinds[1]}>
    }}"""
    module = LocatedParser(pass_context(), text, "net.mlir").parse_module()
    run_passes(module, [CombineParallelDensePass(2, to_batch)])
    module.verify()
    return module


@pytest.mark.parametrize("to_batch", [False, True])
def test_dense_layers_of_other_properties_stay_apart(to_batch: bool):
    wide, real = '{out_dtype = "int32"}', '{out_dtype = "float32"}'
    apart = combined(wide, real, to_batch)
    assert sum(isinstance(op, DenseOp) for op in apart.walk()) == 2
    together = combined(wide, wide, to_batch)
    assert sum(isinstance(op, DenseOp | BatchMatmulOp) for op in together.walk()) == 1


@pytest.mark.parametrize("axis", [0, 1])
def test_biases_of_a_batch_lie_along_their_axis(axis: int):
    """Of square results either axis would do for the types."""
    text = f"""
    relay.func @main(%x: tensor<3x4xf32>, %a: tensor<3x4xf32>, %b: tensor<3x4xf32>,
        %p: tensor<3xf32>, %q: tensor<3xf32>) -> (tensor<3x3xf32>, tensor<3x3xf32>) {{
      %0 = relay.nn.dense %x, %a : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x3xf32>
      %1 = relay.nn.bias_add %0, %p {{axis = {axis}}} : (tensor<3x3xf32>, tensor<3xf32>) -> tensor<3x3xf32>
      %2 = relay.nn.dense %x, %b : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x3xf32>
      %3 = relay.nn.bias_add %2, %q {{axis = {axis}}} : (tensor<3x3xf32>, tensor<3xf32>) -> tensor<3x3xf32>
      relay.return %1, %3 : tensor<3x3xf32>, tensor<3x3xf32>
    }}"""
    module = LocatedParser(pass_context(), text, "net.mlir").parse_module()
    rng = np.random.default_rng(0)
    values = [rng.standard_normal(shape, np.float32) for shape in ((3, 4), (3, 4), (3, 4), (3,), (3,))]
    expected = evaluate_module(module, values)
    run_passes(module, [CombineParallelDensePass(2, True)])
    assert any(isinstance(op, BatchMatmulOp) for op in module.walk())
    for got, want in zip(evaluate_module(module, values), expected, strict=True):
        np.testing.assert_allclose(np.asarray(got, np.float32), np.asarray(want, np.float32), rtol=1e-5)
