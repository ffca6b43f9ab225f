"""Casts in a row become one only where none of them loses a number."""

from __future__ import annotations

import numpy as np
import pytest

from whence.dialects.located_parser import LocatedParser
from whence.dialects.relay.elementwise import CastOp
from whence.dialects.relay.interpret import evaluate_module
from whence.passes.relay.simplify_expr import SimplifyExprPass
from whence.passes.runner import pass_context, run_passes


@pytest.mark.parametrize(("low", "high", "casts"), [(-128, 127, 0), (-129, 127, 2), (-128, 128, 2), (-100, 100, 0)])
def test_what_was_clipped_to_the_narrow_type_stays(low: int, high: int, casts: int):
    text = f"""
    relay.func @main(%x: tensor<5xi32>) -> (tensor<5xi32>) {{
      %0 = relay.clip %x {{a_min = {low}.0, a_max = {high}.0}} : (tensor<5xi32>) -> tensor<5xi32>
      %1 = relay.cast %0 {{dtype = "int8"}} : (tensor<5xi32>) -> tensor<5xi8>
      %2 = relay.cast %1 {{dtype = "int32"}} : (tensor<5xi8>) -> tensor<5xi32>
      relay.return %2 : tensor<5xi32>
    }}"""
    module = LocatedParser(pass_context(), text, "net.mlir").parse_module()
    x = np.array([-300, -129, 0, 128, 300], np.int32)
    (expected,) = evaluate_module(module, [x])
    run_passes(module, [SimplifyExprPass()])
    assert sum(isinstance(op, CastOp) for op in module.walk()) == casts
    np.testing.assert_array_equal(evaluate_module(module, [x])[0], expected)
