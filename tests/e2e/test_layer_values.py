"""A layer's value is the value of that layer: in comparisons, in the debugger, and where a planted bug is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx.parser
import pytest
from departures import MOVES, compared
from onnx import ModelProto, numpy_helper
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

import whence
from whence import relay
from whence.contrib.debugger.debug_executor import GraphModuleDebug
from whence.dialects.relay import elementwise as e
from whence.dialects.relay.core import ConstantOp
from whence.dialects.relay.transform import ConcatenateOp, StridedSliceOp
from whence.executables.restoring import read_library
from whence.explorer.reference import layer_tensors, onnxruntime_tensors
from whence.lowering.llvm_to_native.target import Target
from whence.passes.pipelines import relay_pipeline
from whence.passes.relay.simplify_expr import SimplifyExprPass
from whence.provenance.rewrite import rewrite
from whence.provenance.span import layer_names
from whence.support.errors import FrontendError

Array = npt.NDArray[Any]
RNG = np.random.default_rng(5)


@pytest.mark.parametrize("seed", [3, 10, 19, 24, 31])
@pytest.mark.parametrize("apart", [False, True])
def test_correct_compiles_do_not_depart(seed: int, apart: bool):
    comparison = compared(seed, apart)
    assert comparison.first is None
    assert comparison.differences


@pytest.mark.parametrize("seed", [17, 20])
def test_values_that_moved_are_moved_back(seed: int):
    comparison = compared(seed, True, MOVES)
    assert comparison.first is None
    assert comparison.differences


def test_a_transposition_that_went_still_gives_its_value(tmp_path: Path):
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17]>
        net (float[8,8] x) => (float[8,8] y)
        {
            [sig] a = Sigmoid (x)
            [there] b = Transpose <perm = [1, 0]> (a)
            [back] c = Transpose <perm = [1, 0]> (b)
            [flat] d = Reshape (c, shape)
            [square] e = Reshape (d, shape2)
            [last] y = Softmax <axis = 1> (e)
        }"""
    )
    for name, shape in (("shape", [4, 16]), ("shape2", [8, 8])):
        model.graph.initializer.append(numpy_helper.from_array(np.array(shape, np.int64), name))
    x = RNG.standard_normal((8, 8), np.float32)
    expected: dict[str, Any] = {**onnxruntime_tensors(model, {"x": x})}
    executable = whence.compile(model)
    comparison = executable.compare({"x": x}, expected, layer_tensors(model))
    assert comparison.first is None
    layers = {"sig": "a", "there": "b", "back": "c", "flat": "d", "square": "e", "last": "y"}
    assert [entry.layer.name for entry in comparison.differences] == list(layers)
    debug = GraphModuleDebug(relay.build(whence.load(model))["debug_create"]("default"), None, None, tmp_path)
    debug.set_input("x", x)
    for layer, tensor in layers.items():
        np.testing.assert_allclose(debug.debug_get_output(layer), expected[tensor], rtol=1e-5, atol=1e-6)
    put = RNG.standard_normal((4, 16), np.float32)
    debug.inject("flat", put)
    debug.resume()
    weights = np.exp(put.reshape(8, 8))
    np.testing.assert_allclose(debug.get_output(0).numpy(), weights / weights.sum(1, keepdims=True), rtol=1e-5)


def test_a_value_of_an_open_size_is_moved_back_as_well(tmp_path: Path):
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17]>
        net (float[n,4,6] x) => (float[n,4,6] y)
        {
            [sig] a = Sigmoid (x)
            [there] b = Transpose <perm = [0, 2, 1]> (a)
            [back] c = Transpose <perm = [0, 2, 1]> (b)
            [four] d = Reshape (c, shape)
            [three] e = Reshape (d, shape2)
            [last] y = Softmax <axis = 1> (e)
        }"""
    )
    for name, shape in (("shape", [0, 4, 3, 2]), ("shape2", [0, 4, 6])):
        model.graph.initializer.append(numpy_helper.from_array(np.array(shape, np.int64), name))
    inputs = {"x": RNG.standard_normal((3, 4, 6), np.float32)}
    executable = whence.compile(model)
    executable.export_library(tmp_path / "net.tar")
    loaded = read_library(tmp_path / "net.tar").executable
    expected = onnxruntime_tensors(model, inputs)
    for compiled in (executable.at({"n": 3}), loaded.at({"n": 3})):
        comparison = compiled.compare(inputs, expected, layer_tensors(model))
        assert comparison.first is None
        assert {entry.tensor for entry in comparison.differences} == set("abcdey")


@pytest.fixture(scope="module")
def scaled() -> ModelProto:
    """A factor behind a convolution and its bias, which goes into both of them."""
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17]>
        net (float[1,16,6,6] x) => (float[1,16,6,6] y)
        {
            [conv] c = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, w)
            [addA] a = Add (c, b)
            [mulA] m = Mul (a, s)
            [last] y = Tanh (m)
        }"""
    )
    for name, shape in (("w", (16, 16, 3, 3)), ("b", (1, 16, 1, 1)), ("s", (1, 16, 1, 1))):
        model.graph.initializer.append(numpy_helper.from_array(RNG.standard_normal(shape, np.float32), name))
    return model


def test_what_a_factor_went_through_has_no_value_any_more(scaled: ModelProto, tmp_path: Path):
    x = RNG.standard_normal((1, 16, 6, 6), np.float32)
    expected = onnxruntime_tensors(scaled, {"x": x})
    with whence.PassContext(opt_level=3, config={"relay.FuseOps.max_depth": 1}):
        lib = relay.build(whence.load(scaled))
        comparison = whence.compile(scaled).compare({"x": x}, expected, layer_tensors(scaled))
    assert comparison.first is None
    assert {entry.layer.name for entry in comparison.differences} == {"mulA", "last"}
    assert {layer.name for layer in comparison.unseen} == {"conv", "addA"}
    debug = GraphModuleDebug(lib["debug_create"]("default"), None, None, tmp_path)
    debug.set_input("x", x)
    assert np.abs(np.asarray(debug.debug_get_output("mulA") - expected["m"])).max() < 1e-4
    for layer in ("conv", "addA"):
        with pytest.raises(FrontendError, match=f"expected a tensor of layer '{layer}', got none: node "):
            debug.debug_get_output(layer)


class Planted(RewritePattern):
    """Wrong on purpose, once, about the ops of one layer."""

    layer = ""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if self.layer in layer_names(op.location) and "planted" not in op.attributes:
            self.change(op, rewriter)

    def change(self, op: Operation, rewriter: PatternRewriter) -> None:
        raise NotImplementedError


class MergeTwins(Planted):
    """Takes what differs in an attribute for equal."""

    layer = "leaky2"

    def change(self, op: Operation, rewriter: PatternRewriter) -> None:
        if isinstance(op, e.LeakyReluOp):
            (twin,) = {use.operation for use in op.data.uses} - {op}
            rewriter.replace(op, [], twin.results)


class Drop(Planted):
    layer = "leaky1"

    def change(self, op: Operation, rewriter: PatternRewriter) -> None:
        if isinstance(op, e.LeakyReluOp):
            rewriter.replace(op, [], [op.data])


class OtherSlope(Planted):
    layer = "leaky1"

    def change(self, op: Operation, rewriter: PatternRewriter) -> None:
        if isinstance(op, e.LeakyReluOp):
            new = e.LeakyReluOp(op.data, alpha=0.4)
            new.attributes["planted"] = op.location
            rewriter.replace(op, new)


class Subtract(Planted):
    layer = "plus"

    def change(self, op: Operation, rewriter: PatternRewriter) -> None:
        if isinstance(op, e.AddOp):
            rewriter.replace(op, e.SubtractOp(op.lhs, op.rhs))


class Square(Planted):
    layer = "times"

    def change(self, op: Operation, rewriter: PatternRewriter) -> None:
        if isinstance(op, e.MultiplyOp) and op.lhs is not op.rhs:
            rewriter.replace(op, e.MultiplyOp(op.lhs, op.lhs))


class Logistic(Planted):
    layer = "act"

    def change(self, op: Operation, rewriter: PatternRewriter) -> None:
        if isinstance(op, e.TanhOp):
            rewriter.replace(op, e.SigmoidOp(op.data))


class Negate(Planted):
    layer = "act"

    def change(self, op: Operation, rewriter: PatternRewriter) -> None:
        if isinstance(op, e.TanhOp) and not isinstance(op.data.owner, e.NegativeOp):
            rewriter.replace(op, [inner := e.NegativeOp(op.data), e.TanhOp(inner.result)])


class Reverse(Planted):
    layer = "joined"

    def change(self, op: Operation, rewriter: PatternRewriter) -> None:
        if isinstance(op, ConcatenateOp):
            new = ConcatenateOp.create(
                operands=list(reversed(op.operands)),
                result_types=op.result_types,
                properties=op.properties,
                attributes={"planted": op.location},
            )
            rewriter.replace(op, new)


class Shift(Planted):
    layer = "cut"

    def change(self, op: Operation, rewriter: PatternRewriter) -> None:
        if isinstance(op, StridedSliceOp):
            new = StridedSliceOp(op.data, begin=[4, 0], end=[20, 4])
            new.attributes["planted"] = op.location
            rewriter.replace(op, new)


@dataclass
class Scale(RewritePattern):
    """A weight of which a part is lost."""

    module: ModuleOp
    layer = "last"

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, ConstantOp) and "v" in layer_names(op.location) and "lost" not in str(op.key):
            rewriter.replace(
                op, ConstantOp.of(np.multiply(op.value(self.module), np.float32(0.9)), self.module, "lost")
            )


@dataclass(frozen=True)
class PlantedPass(ModulePass):
    name = "planted"
    pattern: Callable[[ModuleOp], RewritePattern]

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [self.pattern(op)])


WEIGHTS = {
    name: RNG.standard_normal(shape, np.float32)
    for name, shape in (("w", (16, 16)), ("b", (4, 16)), ("s", (4, 16)), ("v", (8, 16)))
}
X = RNG.standard_normal((4, 16), np.float32)


def network() -> ModuleOp:
    def layer(name: str, value: Any) -> Any:
        return relay.set_span(value, name)

    w, b, s, v = (layer(name, relay.const(array)) for name, array in WEIGHTS.items())
    x = relay.var("x", shape=(4, 16))
    dense = layer("fc", relay.nn.dense(x, w))
    times = layer("times", relay.multiply(layer("plus", relay.add(dense, b)), s))
    leaky = [
        layer("leaky1", relay.nn.leaky_relu(times, alpha=0.1)),
        layer("leaky2", relay.nn.leaky_relu(times, alpha=0.3)),
    ]
    turned = layer("turned", relay.transpose(layer("joined", relay.concatenate(leaky, axis=1))))
    cut = layer("cut", relay.strided_slice(turned, begin=[3, 0], end=[19, 4]))
    act = layer("act", relay.tanh(layer("back", relay.transpose(cut))))
    return relay.IRModule.from_expr(relay.Function([x], layer("last", relay.nn.dense(act, v)))).module


def reference() -> dict[str, Array]:
    times = (X @ WEIGHTS["w"].T + WEIGHTS["b"]) * WEIGHTS["s"]
    joined = np.concatenate([np.maximum(times, slope * times) for slope in (0.1, 0.3)], axis=1)
    return {"output0": np.tanh(joined.T[3:19].T) @ WEIGHTS["v"].T}


PATTERNS = (MergeTwins, Drop, OtherSlope, Subtract, Square, Logistic, Negate, Reverse, Shift)


@pytest.mark.parametrize("pattern", [*PATTERNS, Scale], ids=lambda pattern: pattern.__name__)
@pytest.mark.parametrize("at", [0, 3])
def test_bisect_names_pass_layer_and_pattern_of_a_planted_bug(pattern: type[Any], at: int):
    passes: list[ModulePass] = list(relay_pipeline(3, Target.native().hardware))
    planted = PlantedPass(Scale if pattern is Scale else lambda _: pattern())
    found = whence.bisect(
        network(), {"x": X}, reference(), passes=[*passes[:at], planted, *passes[at:]], engine="numpy"
    )
    assert (found.pass_name, found.layer, found.patterns) == ("planted", pattern.layer, (pattern.__name__,))


def test_what_simplification_re_associates_is_not_blamed():
    """`(x + a) * b` is `x * b + a * b` first, whose first op works for the factor; the bug comes after it."""
    passes = [SimplifyExprPass(), PlantedPass(lambda _: Logistic())]
    found = whence.bisect(network(), {"x": X}, reference(), passes=passes, engine="numpy")
    assert [entry.changed for entry in found.passes] == [True, True, True]
    assert (found.pass_name, found.layer, found.patterns) == ("planted", "act", ("Logistic",))
