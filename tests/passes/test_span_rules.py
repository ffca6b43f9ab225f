"""The rules by which spans go through passes, each on passes of the tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from relay_nets import Net, check, layers, main_of, names
from xdsl.context import Context
from xdsl.dialects.builtin import LocationAttr, ModuleOp, UnknownLoc
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

import whence
from whence.dialects.relay import elementwise as e
from whence.dialects.relay import nn
from whence.dialects.relay import transform as t
from whence.dialects.relay.core import CallOp, FuncOp
from whence.dialects.relay.operator import Operator
from whence.passes.classes import pass_class
from whence.passes.pipelines import relay_pipeline
from whence.passes.relay.convert_layout import ConvertLayoutPass
from whence.passes.relay.dead_code_elimination import DeadCodeEliminationPass
from whence.passes.relay.eliminate_common_subexpr import EliminateCommonSubexprPass
from whence.passes.relay.fold_constant import FoldConstantPass
from whence.passes.relay.fuse_ops import FuseOpsPass
from whence.passes.relay.simplify_expr import SimplifyExprPass
from whence.passes.relay.simplify_inference import SimplifyInferencePass
from whence.passes.relay.to_mixed_precision import ToMixedPrecisionPass
from whence.passes.runner import pass_context, run_passes
from whence.provenance.diagnostics import LocationError
from whence.provenance.ledger import Ledger
from whence.provenance.lost import is_lost
from whence.provenance.rewrite import rewrite
from whence.provenance.span import SequentialSpan, Span, fuse, layer_location, layer_names, leaves
from whence.support.errors import FrontendError
from whence.universe import ALL_PASSES

F = np.float32
RNG = np.random.default_rng(1)


def vector() -> Net:
    return Net(RNG.standard_normal(6).astype(F))


def reasons(ledger: Ledger) -> list[str]:
    return [entry.reason for entry in ledger.entries]


def test_1_fused_locations_are_flat_ordered_and_of_distinct_layers() -> None:
    """Several passes fuse what others fused: no location nests, repeats a layer or names unknown ones."""
    net = vector()
    (x,) = net.inputs
    for shape in ((2, 3), (3, 2), (6,), (1, 6)):
        x = net(t.ReshapeOp, x, newshape=shape)
    net.finish(net(e.AddOp, net(e.MultiplyOp, x, np.array(2, F)), net(e.MultiplyOp, x, np.array(2, F))))
    check(net, EliminateCommonSubexprPass(), *relay_pipeline(3))
    for op in net.module.walk():
        found = leaves(op.location)
        assert len(set(found)) == len(found)
        assert not any(isinstance(leaf, UnknownLoc) for leaf in found)
        assert fuse(found) == op.location
    one, two = Span.of(layer_location("a", "m", 0)), Span.of(layer_location("b", "m", 1))
    assert isinstance(one, Span)
    assert isinstance(two, Span)
    assert SequentialSpan([one, SequentialSpan([two, one])]).spans == (one, two, one)


def test_2_the_replaced_op_comes_first_then_what_it_consumed() -> None:
    net = vector()
    x = net(t.ReshapeOp, net.inputs[0], newshape=(2, 3))
    x = net(t.ReshapeOp, x, newshape=(3, 2))
    net.finish(net(t.ReshapeOp, x, newshape=(1, 6)))
    check(net, SimplifyExprPass())
    assert layers(net.module)["reshape"] == [("layer3", "layer2", "layer1")]


def test_2_all_that_one_op_becomes_has_its_layer() -> None:
    net = Net(RNG.standard_normal((1, 4, 3, 3)).astype(F))
    statistics = [net.random(4), net.random(4), net.random(4), net.positive(4)]
    net.finish(net(nn.BatchNormOp, net.inputs[0], *statistics))
    check(net, SimplifyInferencePass())
    made = [found for name, all_ in layers(net.module).items() if name != "constant" for found in all_]
    assert len(made) == 11
    assert set(made) == {("layer1",)}


def test_3_replacements_side_by_side_do_not_name_each_other() -> None:
    """One match moves a factor: the product has the multiplication's layer, the sum the addition's."""
    net = vector()
    net.finish(net(e.MultiplyOp, net(e.AddOp, net.inputs[0], np.array(3, F)), np.array(2, F)))
    check(net, SimplifyExprPass())
    found = layers(net.module)
    assert (found["multiply"], found["add"]) == ([("layer2",)], [("layer1",)])


class Forgets(ModulePass):
    """Puts an op without a location where another was, past the driver: a pass of somebody else's."""

    name = "forgets"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for relu in [inner for inner in op.walk() if isinstance(inner, e.ReluOp)]:
            block = relu.parent
            assert block is not None
            block.insert_op_before(new := e.ReluOp(relu.data), relu)
            relu.result.replace_all_uses_with(new.result)
            block.erase_op(relu)


class ReluToMaximum(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: e.ReluOp, rewriter: PatternRewriter, /) -> None:
        rewriter.replace(op, e.MaximumOp(op.data, op.data))


def test_3_what_a_pass_lost_stays_lost() -> None:
    net = vector()
    net.finish(net(e.ReluOp, net.inputs[0]))
    ledger = Ledger()
    run_passes(net.module, [Forgets()], ledger=ledger)
    rewrite(net.module, [ReluToMaximum()])
    (op,) = (op for op in main_of(net.module).block.ops if isinstance(op, e.MaximumOp))
    assert [is_lost(leaf) for leaf in leaves(op.location)] == [True]
    assert "forgets" in str(op.location)
    assert reasons(ledger) == ["came in pass forgets", "lost by pass forgets"]


def test_4_a_folded_constant_names_its_operator_and_its_constants() -> None:
    net = vector()
    folded = net(e.MultiplyOp, net.constant(net.random(6), "w"), net.constant(net.random(6), "s"))
    net.finish(net(e.AddOp, net.inputs[0], net(e.NegativeOp, folded)))
    check(net, FoldConstantPass())
    assert layers(net.module)["constant"] == [("layer2", "layer1", "w", "s")]


def test_4_of_equal_ops_the_survivor_names_all() -> None:
    net = vector()
    (x,) = net.inputs
    net.finish(net(e.ReluOp, x), net(e.ReluOp, x), net(e.ReluOp, x))
    check(net, EliminateCommonSubexprPass())
    assert layers(net.module)["nn.relu"] == [("layer1", "layer2", "layer3")]


def test_4_an_identity_leaves_its_input_as_it_was_and_the_ledger_says_so() -> None:
    net = vector()
    x = net(e.TanhOp, net.inputs[0])
    net.finish(net(e.AddOp, x, np.zeros(6, F)))
    ledger = check(net, SimplifyExprPass())
    assert layers(net.module) == {"tanh": [("layer1",)]}
    assert "its constant operand is neutral" in reasons(ledger)


def test_4_dead_code_is_in_the_ledger() -> None:
    net = vector()
    (x,) = net.inputs
    net(e.ExpOp, x)
    net.finish(net(e.TanhOp, x))
    ledger = check(net, DeadCodeEliminationPass())
    assert names(net.module) == ["tanh"]
    (entry,) = ledger.entries
    assert [layer_names(location) for location in entry.before] == [("layer1",)]
    assert entry.reason == "nobody reads its result"


def test_5_members_of_a_group_keep_theirs_and_its_call_has_all_the_result_first() -> None:
    net = Net(RNG.standard_normal((2, 4)).astype(F))
    x = net(e.ReluOp, net(nn.BiasAddOp, net(nn.DenseOp, net.inputs[0], net.random(3, 4)), net.random(3)))
    net.finish(x)
    check(net, FuseOpsPass())
    (group,) = (op for op in net.module.ops if isinstance(op, FuncOp) and op.primitive is not None)
    (call,) = (op for op in main_of(net.module).block.ops if isinstance(op, CallOp))
    assert layer_names(group.location) == layer_names(call.location) == ("layer3", "layer2", "layer1")
    inside = [layer_names(op.location) for op in group.block.ops if op is not group.return_op]
    assert inside == [("layer1",), ("layer2",), ("layer3",)]


HELPERS: list[tuple[ModulePass, str]] = [
    (ConvertLayoutPass("nn.conv2d:NHWC"), "layout_transform"),
    (ToMixedPrecisionPass(missing_op_mode=2), "cast"),
]


@pytest.mark.parametrize(("one", "helper"), HELPERS, ids=lambda value: getattr(value, "name", value))
def test_6_a_helper_names_the_op_that_asked_for_it(one: ModulePass, helper: str) -> None:
    """However far it moved: the relu behind asked for nothing."""
    net = Net(RNG.standard_normal((1, 4, 5, 5)).astype(F))
    net.finish(net(e.ReluOp, net(nn.Conv2DOp, net.inputs[0], net.random(4, 4, 3, 3))))
    run_passes(net.module, [one], audit=True)
    assert set(layers(net.module)[helper]) == {("layer1",)}
    assert layers(net.module)["nn.relu"] == [("layer2",)]


def lowered(build: Callable[[Net], None], last: str) -> ModuleOp:
    """A network fused, and each of its kernels lowered up to a conversion."""
    net = Net(RNG.standard_normal((2, 8)).astype(F))
    build(net)
    by_name: dict[str, Any] = {row.name: pass_class(row) for row in ALL_PASSES}
    steps = ["convert-relay-to-te", "convert-te-to-tir"]
    passes = [FuseOpsPass(), *(by_name[name]() for name in steps[: steps.index(last) + 1])]
    run_passes(net.module, passes, audit=True, context=pass_context())
    return net.module


def activation(net: Net) -> None:
    net.finish(net(e.TanhOp, net(e.ExpOp, net.inputs[0])))


def layers_of(module: ModuleOp, name: str) -> set[tuple[str, ...]]:
    def wanted(op: Operation) -> bool:
        return op.name == name

    return {layer_names(op.location) for op in module.walk() if wanted(op)}


def test_7_a_stage_names_its_operator_and_a_shared_loop_all_that_is_in_it() -> None:
    stages = lowered(activation, "convert-relay-to-te")
    assert layers_of(stages, "te.compute") == {("layer1",), ("layer2",)}
    loops = lowered(activation, "convert-te-to-tir")
    assert layers_of(loops, "tir.for") == {("layer2", "layer1")}
    # One stage took in the other: what is stored is made by both, but each function by its own.
    assert layers_of(loops, "tir.store") == {("layer2", "layer1")}
    assert (layers_of(loops, "math.exp"), layers_of(loops, "math.tanh")) == ({("layer1",)}, {("layer2",)})


class Tampering(ModulePass):
    """A pass of somebody else's that writes locations itself."""

    name = "tampering"

    def __init__(self, tamper: Callable[[list[Operation]], None]):
        self.tamper = tamper

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.tamper([inner for inner in main_of(op).block.ops if isinstance(inner, Operator)])


def _swap(ops: list[Operation]) -> None:
    ops[0].location, ops[1].location = ops[1].location, ops[0].location


def _blame_all(ops: list[Operation]) -> None:
    everything = fuse(op.location for op in ops)
    for op in ops:
        op.location = everything


@dataclass
class _OfAnother(RewritePattern):
    """A match that locates what it makes at a layer that has nothing to do with it."""

    location: LocationAttr

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: e.ReluOp, rewriter: PatternRewriter):
        new = e.MaximumOp(op.data, op.data)
        new.location = self.location
        rewriter.replace(op, new)


def _relu_of_another(ops: list[Operation]) -> None:
    func = ops[0].parent_op()
    assert func is not None
    module = func.parent_op()
    assert isinstance(module, ModuleOp)
    rewrite(module, [_OfAnother(ops[2].location)])


@pytest.mark.parametrize(
    ("tamper", "op", "layer"),
    [
        (_swap, "relay.nn.relu", "layer2"),
        (_blame_all, "relay.nn.relu", "layer2, layer3"),
        (_relu_of_another, "relay.maximum", "layer3"),
    ],
)
def test_an_op_names_no_layer_that_it_has_no_part_in(
    tamper: Callable[[list[Operation]], None], op: str, layer: str
) -> None:
    net = vector()
    net.finish(net(e.ExpOp, net(e.TanhOp, net(e.ReluOp, net.inputs[0]))))
    with pytest.raises(LocationError, match=rf"pass tampering: {op} names layers that it has no part in: {layer}\b"):
        run_passes(net.module, [Tampering(tamper)], audit=True)


class DropNegative(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: e.NegativeOp, rewriter: PatternRewriter) -> None:
        rewriter.replace(op, [], [op.data])


class Dropping(ModulePass):
    name = "dropping"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [DropNegative()])


def test_what_a_pass_did_before_compilation_is_known_after_it() -> None:
    net = vector()
    net.finish(net(e.ExpOp, net(e.NegativeOp, net(e.TanhOp, net.inputs[0]))))
    ledger = Ledger()
    run_passes(net.module, [Dropping()], ledger=ledger)
    entries = list(ledger.entries)
    assert entries
    with pytest.raises(FrontendError, match="unknown layer 'layer2'"):
        whence.compile(net.module).where("layer2")
    where = whence.compile(net.module, ledger=ledger).where("layer2")
    assert where.vanished
    assert [entry.pattern for entry, _ in where.fate] == ["DropNegative"]
    assert ledger.entries == entries
