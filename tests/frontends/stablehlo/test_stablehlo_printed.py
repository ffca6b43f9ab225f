"""Programs in the form that JAX prints are those of the generic form: ops, types, constants and locations."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from stablehlo_texts import generic_text
from xdsl.printer import Printer

import whence
from whence.frontends.stablehlo import from_stablehlo
from whence.frontends.stablehlo.text import parse

FOLDER = Path(__file__).parents[2] / "exports" / "jax"
CHOOSING = ("branches", "loops")
"""Programs in which values choose what runs, of which there is no module of relay."""
PRINTED = sorted(path.stem for path in FOLDER.glob("*.mlir") if path.stem not in CHOOSING)


def imported(path: Path) -> str:
    shapes = {"x": (2, 3, 4), "y": (2, 4)} if path.stem == "opened" else {}
    stream = io.StringIO()
    Printer(stream, print_debuginfo=True).print_op(from_stablehlo(path.read_bytes(), shapes=shapes))
    return stream.getvalue()


@pytest.mark.parametrize("name", PRINTED)
def test_a_program_as_jax_prints_it_is_that_of_the_generic_form(name: str):
    assert imported(FOLDER / "printed" / f"{name}.mlir") == imported(FOLDER / f"{name}.mlir")


def test_every_form_that_jaxlib_prints_is_read_and_printed():
    printed = (FOLDER / "printed" / "forms.mlir").read_text()
    wanted = generic_text((FOLDER / "printed" / "forms_generic.mlir").read_text())
    assert generic_text(printed) == wanted
    stream = io.StringIO()
    Printer(stream).print_op(parse(printed, "forms.mlir").module)
    again = stream.getvalue()
    assert generic_text(again) == wanted
    assert again.count('"stablehlo.') == printed.count('"stablehlo.')


def test_shardings_of_one_device_change_nothing():
    text = b"""
module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=1]> {stablehlo.mesh = {axes = [{name = "x", size = 1 : i64}]}}
  func.func public @main(%arg0: tensor<2x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<2x3xf32> {
    %0 = stablehlo.negate %arg0 : tensor<2x3xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {}]> : tensor<2x3xf32>
    return %1 : tensor<2x3xf32>
  }
}
"""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(whence.compile(from_stablehlo(text))(x), -x)


def test_ops_that_a_short_form_stands_for_are_at_its_place():
    text = """
func.func @main(%x: tensor<4xf32>, %c: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0]
    : (tensor<4xf32>, tensor<f32>) -> tensor<f32> loc("sums")
  return %0 : tensor<f32>
}
"""
    (main,) = parse(text, "net.mlir").module.body.block.ops
    (reduce, _) = main.regions[0].block.ops
    assert [(op.name, str(op.location)) for op in reduce.regions[0].block.ops] == [
        ("stablehlo.add", 'loc("sums")'),
        ("stablehlo.return", 'loc("sums")'),
    ]
