"""A planted bug is found: its pass, its layer, its size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

import whence
from whence import relay, te
from whence.compiler.bisection import evaluated
from whence.dialects.relay.core import ConstantOp
from whence.dialects.relay.elementwise import ErfOp
from whence.lowering.llvm_to_native.target import Target
from whence.lowering.relay_to_te import lower
from whence.passes.pipelines import relay_pipeline
from whence.provenance.rewrite import rewrite
from whence.support.errors import FrontendError

Array = npt.NDArray[Any]
_RNG = np.random.default_rng(2)
WEIGHTS = [_RNG.standard_normal((16, 16), np.float32) / 4 for _ in range(3)]
X = _RNG.standard_normal((4, 16), np.float32)


@pytest.fixture(scope="module")
def module() -> ModuleOp:
    x = relay.var("x", shape=(4, 16))
    body: Any = x
    for number, weight in enumerate(WEIGHTS):
        dense = relay.set_span(relay.nn.dense(body, relay.set_span(relay.const(weight), f"w{number}")), f"fc{number}")
        body = relay.set_span(relay.tanh(dense), f"act{number}")
    return relay.IRModule.from_expr(relay.Function([x], body)).module


@pytest.fixture(scope="module")
def expected() -> dict[str, Array]:
    y = X
    for weight in WEIGHTS:
        y = np.tanh(y @ weight.T)
    return {"output0": y}


@dataclass(frozen=True)
class _Scale(RewritePattern):
    """Scales the weight of one layer."""

    layer: str
    factor: float

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ConstantOp, rewriter: PatternRewriter) -> None:
        module = op.parent_op()
        while not isinstance(module, ModuleOp):
            assert module is not None
            module = module.parent_op()
        if self.layer in str(op.location) and "planted" not in str(op.key):
            value: Array = op.value(module)
            rewriter.replace(op, ConstantOp.of(value * np.float32(self.factor), module, "planted"))


@dataclass(frozen=True)
class PlantedPass(ModulePass):
    """Wrong on purpose."""

    name = "planted"
    factor: float = 1.01
    layer: str = "w1"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [_Scale(self.layer, self.factor)])


@dataclass(frozen=True)
class MovedPass(ModulePass):
    """Takes a factor from one weight to the next, as passes may, and is wrong about the third."""

    name = "moved"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for number, factor in enumerate((2, 0.5, 1.01)):
            PlantedPass(factor, f"w{number}").apply(ctx, op)


def passes(at: int, factor: float = 1.01) -> list[ModulePass]:
    found: list[ModulePass] = list(relay_pipeline(3, Target.native().hardware))
    return [*found[:at], PlantedPass(factor), *found[at:]]


@pytest.mark.parametrize("at", [0, 12])
def test_a_scaled_weight_is_named(module: ModuleOp, expected: dict[str, Array], at: int):
    found = whence.bisect(module, {"x": X}, expected, passes=passes(at), rtol=1e-4)
    assert found.pass_name == "planted"
    assert found.layer == "fc1"
    assert found.layer_difference is not None
    assert found.layer_difference.relative == pytest.approx(0.01, rel=0.01)
    assert found.passes[-1].name == "planted"
    assert all(one.difference is None or one.difference.right for one in found.passes[:-1])
    text = str(found).splitlines()
    assert "pass planted departs" in text
    assert next(line for line in text if line.startswith("layer fc1: ")).endswith("relative")


def test_what_is_mended_before_the_outputs_is_not_blamed():
    body = x = relay.var("x", shape=(4, 16))
    y = X
    for number, weight in enumerate(WEIGHTS):
        constant = relay.set_span(relay.const(weight), f"w{number}")
        body = relay.set_span(relay.nn.dense(body, constant), f"fc{number}")
        y = y @ weight.T
    linear = relay.IRModule.from_expr(relay.Function([x], body))
    found = whence.bisect(linear, {"x": X}, {"output0": y}, passes=[MovedPass()])
    assert (found.pass_name, found.layer) == ("moved", "fc2")
    assert found.layer_difference is not None
    assert found.layer_difference.relative == pytest.approx(0.01, rel=0.01)


def test_sound_passes_do_not_depart(module: ModuleOp, expected: dict[str, Array]):
    before = str(module)
    found = whence.bisect(module, {"x": X}, expected)
    assert not found.found
    assert str(found).endswith("no pass departs")
    assert any(one.changed for one in found.passes[1:])
    assert any(not one.changed for one in found.passes[1:])
    assert str(module) == before


def test_a_small_departure_is_one_for_a_small_tolerance(module: ModuleOp, expected: dict[str, Array]):
    planted = [PlantedPass(1.0001)]
    assert not whence.bisect(module, {"x": X}, expected, passes=planted).found
    assert whence.bisect(module, {"x": X}, expected, passes=planted, rtol=1e-5).found


def test_a_module_that_is_wrong_before_all_passes(module: ModuleOp, expected: dict[str, Array]):
    found = whence.bisect(module, {"x": X}, {"output0": 2 * expected["output0"]})
    assert (found.pass_name, found.engine) == ("import", "numpy")


def test_wrong_code_is_told_from_wrong_passes(
    module: ModuleOp, expected: dict[str, Array], monkeypatch: pytest.MonkeyPatch
):
    from whence.compiler import bisection

    run = bisection.Executable.__call__

    def wrong(self: Any, *arrays: Array) -> Any:
        return np.asarray(run(self, *arrays)) + 1

    monkeypatch.setattr(bisection.Executable, "__call__", wrong)
    found = whence.bisect(module, {"x": X}, expected)
    assert found.pass_name == "code generation"
    assert "native code does" in str(found)


def test_names_that_are_not_the_modules(module: ModuleOp, expected: dict[str, Array]):
    with pytest.raises(FrontendError, match="expected inputs x, got none of x"):
        whence.bisect(module, {}, expected)
    with pytest.raises(FrontendError, match="expected a reference of output0, got a, b"):
        whence.bisect(module, {"x": X}, {"a": X, "b": X})
    with pytest.raises(FrontendError, match=r"expected 'output0' of shape \(4, 16\), got \(3,\)"):
        whence.bisect(module, {"x": X}, {"output0": np.zeros(3)})


def test_wrong_code_is_told_with_its_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    def doubled(op: Operation, x: te.Tensor) -> te.Tensor:
        return te.compute(x.shape, lambda i, j: x[i, j] * 2.0, name="wrong")

    x = relay.var("x", shape=(5, 11))
    body = relay.set_span(relay.tanh(relay.set_span(relay.erf(relay.set_span(relay.exp(x), "first")), "bad")), "last")
    module = relay.IRModule.from_expr(relay.Function([x], body)).module
    inputs = {"x": _RNG.standard_normal((5, 11), np.float32)}
    expected = evaluated(module, inputs)
    monkeypatch.setitem(lower.TABLE, ErfOp, doubled)
    bisection = whence.bisect(module, inputs, expected)
    assert (bisection.pass_name, bisection.layer) == ("code generation", "bad")
    assert bisection.layer_difference is not None
    assert bisection.layer_difference.relative > 0.1
    assert "no pass departs in numpy, native code does\nlayer bad: " in str(bisection)
