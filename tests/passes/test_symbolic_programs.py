"""Exports with dynamic axes: imported once with symbols, through all relay passes, then numbers put in their place."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from relay_examples import parse
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.ir import Attribute

from whence.dialects.element_types import numpy_dtype
from whence.dialects.relay.canonicalization.fold import knows_sizes
from whence.dialects.relay.interpret import evaluate_module
from whence.dialects.relay.numerics import AnyArray
from whence.dialects.relay.size_ranges import main_of, ranges_of
from whence.dialects.sizes import known_ranges
from whence.frontends.importing.whole_models import import_symbolic
from whence.frontends.onnx.graph import open_model
from whence.lowering.llvm_to_native.target import Target
from whence.passes.pipelines import relay_pipeline, run_passes
from whence.passes.relay.bind_sizes import BindSizesPass, bind_sizes
from whence.provenance.ledger import Ledger
from whence.reading.input_shapes import given_shapes
from whence.support.dtypes import Array
from whence.support.errors import FrontendError

onnxruntime: Any = import_module("onnxruntime")
EXPORTS = Path(__file__).parent.parent / "exports"


@cache
def fused(name: str) -> ModuleOp:
    """The module of an export after all relay passes, of which each is audited."""
    module = import_symbolic(open_model(EXPORTS / f"{name}.onnx"), {}, {})
    with known_ranges(ranges_of(main_of(module))):
        run_passes(module, relay_pipeline(3, Target.parse("native").hardware), ledger=Ledger(), audit=True)
    return module


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("bert.trace", {"batch": 2, "seq": 7}),
        ("bert.trace", {"batch": 1, "seq": 1}),
        ("t5.trace", {"batch": 1, "seq": 9}),
        ("vit.trace", {"batch": 3}),
        ("convnext.trace", {"batch": 2}),
    ],
)
def test_one_program_is_that_of_each_size(name: str, values: dict[str, int]):
    module = fused(name).clone()
    bind_sizes(module, values)
    module.verify()
    main, rng = main_of(module), np.random.default_rng(0)
    session = onnxruntime.InferenceSession(EXPORTS / f"{name}.onnx")
    given: dict[str, Array] = {}
    for spec, argument in zip(session.get_inputs(), main.block.args, strict=True):
        type_ = cast("TensorType[Attribute]", argument.type)
        dtype = numpy_dtype(type_.element_type)
        random = rng.standard_normal(type_.get_shape()) if dtype.kind == "f" else rng.integers(0, 2, type_.get_shape())
        given[spec.name] = np.asarray(random).astype(dtype)
    expected = cast("list[AnyArray]", session.run(None, given))
    for array, wanted in zip(evaluate_module(module, list(given.values())), expected, strict=True):
        np.testing.assert_allclose(cast(AnyArray, array), wanted, rtol=1e-4, atol=1e-5)


def test_a_table_of_positions_bounds_the_length():
    assert ranges_of(main_of(fused("bert.trace"))) == {"seq": (0, 32)}


def test_symbols_are_the_models_or_the_users():
    source = open_model(EXPORTS / "bert.trace.onnx")
    given = given_shapes("x0:[n,2*m] x1:[n,2*m] 1<=m<=16")
    main = main_of(import_symbolic(source, given.shapes, given.ranges))
    assert str(main.function_type.inputs.data[0]) == "tensor<?x?xi64, #relay.sizes<n, 2*m>>"
    assert ranges_of(main) == {"m": (1, 16)}
    with pytest.raises(FrontendError, match=r"agrees with the model's \[batch, seq\], got \[n, k\]"):
        import_symbolic(source, given_shapes("x0:[n,m] x1:[n,k]").shapes, {})


def test_numbers_take_the_place_of_all_symbols():
    module = fused("bert.trace").clone()
    BindSizesPass("batch:2,seq:5").apply(Context(), module)
    assert all(knows_sizes(op) for op in module.walk())
    assert main_of(module).function_type.outputs.data[0] == TensorType(
        cast("TensorType[Attribute]", main_of(module).function_type.outputs.data[0]).element_type, [2, 5, 32]
    )
    assert "#relay.sizes" not in str(module)


def test_a_size_that_is_none_copies_no_extent():
    module = parse(
        "relay.func @main(%x: tensor<4x?x2xf32, #relay.sizes<n>>) -> (tensor<?x4x2xf32, #relay.sizes<n>>) {\n"
        "%0 = relay.reshape %x {newshape = #relay.sizes<n, 4, 2>}"
        " : (tensor<4x?x2xf32, #relay.sizes<n>>) -> tensor<?x4x2xf32, #relay.sizes<n>>\n"
        "relay.return %0 : tensor<?x4x2xf32, #relay.sizes<n>>\n}"
    )
    BindSizesPass("n:0").apply(Context(), module)
    module.verify()
    assert main_of(module).function_type.outputs.data[0] == TensorType(f32, [0, 4, 2])
