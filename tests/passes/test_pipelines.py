"""The pipeline: TVM's order and levels, the switches of the context, the audit, and whole models through it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import UNKNOWN_LOC, ModuleOp
from xdsl.passes import ModulePass

from whence.dialects.element_types import numpy_dtype
from whence.dialects.relay import elementwise as e
from whence.dialects.relay import nn
from whence.dialects.relay.core import FuncOp
from whence.dialects.relay.interpret import evaluate_module
from whence.dialects.relay.operator import element_of, shape_of
from whence.passes.pipelines import PIPELINE, available_passes, relay_pipeline, run_passes
from whence.provenance.diagnostics import LocationError
from whence.provenance.ledger import Ledger, recording
from whence.support.context import PassContext

MODELS = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


def names(opt_level: int) -> list[str]:
    return [one.name.removeprefix("relay-") for one in relay_pipeline(opt_level)]


@pytest.mark.parametrize("opt_level", range(5))
def test_a_pass_runs_from_its_level_on(opt_level: int) -> None:
    assert names(opt_level) == [row.name.removeprefix("relay-") for row in PIPELINE if row.level <= opt_level]


@pytest.mark.parametrize(
    ("name", "level"),
    [
        *(("simplify-inference", 0), ("fuse-ops", 0), ("legalize", 1), ("dead-code-elimination", 1)),
        *(("fold-constant", 2), ("fake-quantization-to-integer", 2), ("alter-op-layout", 3), ("fold-scale-axis", 3)),
        *(("eliminate-common-subexpr", 3), ("combine-parallel-conv2d", 4), ("fast-math", 4)),
    ],
)
def test_levels_are_those_of_tvm(name: str, level: int) -> None:
    assert [name in names(opt_level) for opt_level in range(5)] == [opt_level >= level for opt_level in range(5)]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        *(("qnn-canonicalize", "legalize"), ("simplify-inference", "fold-scale-axis")),
        *(("fold-constant", "fold-scale-axis"), ("fold-scale-axis", "alter-op-layout")),
        *(("canonicalize-ops", "alter-op-layout"), ("alter-op-layout", "simplify-expr-post-alter-op")),
        *(("split-args", "fuse-ops"), ("fuse-ops", "share-kernels")),
    ],
)
def test_a_pass_finds_what_another_one_leaves(first: str, second: str) -> None:
    """In the order of TVM's relay.build."""
    assert names(4).index(first) < names(4).index(second)


def test_the_context_adds_and_takes_passes_by_either_name() -> None:
    with PassContext(required_pass=("FoldConstant",), disabled_pass=("relay-fuse-ops",)):
        assert names(0) == [
            "qnn-canonicalize",
            "simplify-inference",
            "fold-constant",
            "simplify-expr",
            "flatten-atrous-conv",
            "simplify-expr-post-alter-op",
            "fold-constant",
            "split-args",
        ]
    with PassContext(disabled_pass=("FoldConstant", "AlterOpLayout")):
        assert "fold-constant" not in names(3)
        assert "alter-op-layout" not in names(3)


def test_each_row_loads_the_pass_of_its_name() -> None:
    for name, load in available_passes().items():
        assert load().name == name
    assert set(available_passes()) >= {row.name for row in PIPELINE}


@dataclass(frozen=True)
class ForgetPass(ModulePass):
    name = "forget"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for one in op.walk():
            one.location = UNKNOWN_LOC


@dataclass(frozen=True)
class LosePass(ModulePass):
    name = "lose"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        relu = next(one for one in op.walk() if isinstance(one, e.ReluOp))
        relu.result.replace_all_uses_with(relu.data)
        relu.detach()
        relu.erase()


def test_audit(make_net: Callable[..., Any]) -> None:
    for broken, text in ((ForgetPass(), "pass forget: .* without location"), (LosePass(), "pass lose: .*: layer1")):
        net = make_net(np.ones((2, 3), np.float32))
        module = net.finish(net(e.ReluOp, net.inputs[0]))
        with pytest.raises(LocationError, match=text):
            run_passes(module, [broken], audit=True)


def test_the_ledger_knows_the_pass(make_net: Callable[..., Any]) -> None:
    net = make_net(np.ones((2, 3), np.float32))
    module = net.finish(net(e.ReluOp, net(nn.DropoutOp, net.inputs[0])))
    seen: list[tuple[str, bool]] = []
    ledger = Ledger()
    with recording(ledger, "outside"):
        run_passes(
            module, relay_pipeline(0)[1:2], on_pass=lambda one, _, seconds: seen.append((one.name, seconds >= 0))
        )
    assert [entry.pass_name for entry in ledger.entries] == ["relay-simplify-inference"]
    assert seen == [("relay-simplify-inference", True)]


@pytest.mark.parametrize("level", range(4))
def test_every_level_keeps_what_a_network_computes(make_net: Callable[..., Any], level: int) -> None:
    net = make_net(np.random.default_rng(0).standard_normal((1, 16, 6, 6)).astype(np.float32))
    x = net.inputs[0]
    for _ in range(2):
        x = net(nn.Conv2DOp, x, net.random(16, 16, 3, 3) / np.float32(8), padding=(1, 1))
        x = net(nn.BatchNormOp, x, net.random(16), net.random(16), net.random(16), net.positive(16))
        x = net(e.ReluOp, x)
    x = net.results(nn.DropoutOp, net(nn.GlobalAvgPool2DOp, x))[0]
    module = net.finish(net(e.SigmoidOp, x))
    (expected,) = evaluate_module(module, net.arrays)
    run_passes(module, relay_pipeline(level), audit=True)
    module.verify()
    (result,) = evaluate_module(module, net.arrays)
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


def test_a_model() -> None:
    """Operators through all passes; others, with all kernels, are in tests/e2e/test_networks.py."""
    from whence.frontends.onnx import from_onnx

    module = from_onnx(MODELS / "light_shufflenet.onnx")
    main = next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main")
    rng = np.random.default_rng(0)
    inputs = [rng.random(shape_of(a)).astype(numpy_dtype(element_of(a))) for a in main.block.args]
    expected = evaluate_module(module, inputs)
    run_passes(module, relay_pipeline(3), audit=True)
    module.verify()
    for result, reference in zip(evaluate_module(module, inputs), expected, strict=True):
        np.testing.assert_allclose(result, reference, rtol=1e-4, atol=1e-6)
