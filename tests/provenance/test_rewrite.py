"""The rewrite driver: what becomes of locations, and what the ledger says, for each kind of match."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects import scf
from xdsl.dialects.builtin import FloatAttr, ModuleOp, f64
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from whence.dialects.relay.core import CallOp, ConstantOp
from whence.dialects.relay.elementwise import (
    AddOp,
    ExpOp,
    LeakyReluOp,
    MultiplyOp,
    NegativeOp,
    ReluOp,
    SigmoidOp,
    SqrtOp,
    SubtractOp,
    TanhOp,
)
from whence.provenance.ledger import Ledger, recording
from whence.provenance.lost import unlocated
from whence.provenance.rewrite import replace_with_constant, rewrite
from whence.provenance.span import layer_names
from whence.provenance.undecided import UndecidedSize

Parse = Callable[[str], ModuleOp]
T = "tensor<4xf32>"


def module(parse: Parse, body: str, returned: str = "%r") -> ModuleOp:
    return parse(f"relay.func @main(%x: {T}, %y: {T}) -> ({T}) {{\n{body}\nrelay.return {returned} : {T}\n}}")


def located(root: ModuleOp) -> dict[str, tuple[str, ...]]:
    """Op name -> layers, for the ops of a module that have a location."""
    return {op.name.removeprefix("relay."): names for op in root.walk() if (names := layer_names(op.location))}


def of(value: SSAValue, kind: type[Operation]) -> Operation | None:
    return value.owner if isinstance(value.owner, kind) else None


def apply(target: ModuleOp, *patterns: RewritePattern) -> Ledger:
    ledger = Ledger()
    with recording(ledger, "test"):
        assert rewrite(target, patterns)
    target.verify()
    return ledger


def lines(ledger: Ledger) -> list[str]:
    return [str(entry) for entry in ledger.entries]


MUL_ADD = f"""
    %m = relay.multiply %x, %y : ({T}, {T}) -> {T} loc("mul")
    %r = relay.add %m, %y : ({T}, {T}) -> {T} loc("add")
"""


class SwishToParts(RewritePattern):
    """1 -> n: tanh becomes sigmoid, exp and subtract."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TanhOp, rewriter: PatternRewriter, /):
        first = SigmoidOp(op.data)
        second = ExpOp(first)
        rewriter.replace(op, [first, second, SubtractOp(first, second)])


def test_one_to_many_gets_the_location_of_the_root(parse: Parse):
    target = module(parse, f'%r = relay.tanh %x : ({T}) -> {T} loc("act")')
    ledger = apply(target, SwishToParts())
    assert located(target) == {"sigmoid": ("act",), "exp": ("act",), "subtract": ("act",)}
    assert lines(ledger) == ["test: SwishToParts: relay.tanh -> relay.sigmoid, relay.exp, relay.subtract"]


class MulAdd(RewritePattern):
    """N -> 1, the consumed op erased by hand or left to die."""

    def __init__(self, erase: bool, producer_first: bool = False):
        self.erase, self.producer_first = erase, producer_first

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AddOp, rewriter: PatternRewriter, /):
        if (product := of(op.lhs, MultiplyOp)) is None:
            return
        new = CallOp("fma", [*product.operands, op.rhs], op.result_types)
        if self.producer_first:
            rewriter.insert(new, InsertPoint.before(op))
            rewriter.replace(product, [], [product.operands[0]])
            rewriter.replace(op, [], [new.outputs[0]])
            return
        rewriter.replace(op, new)
        if self.erase:
            rewriter.erase(product)


@pytest.mark.parametrize("pattern", [MulAdd(erase=True), MulAdd(erase=False), MulAdd(erase=True, producer_first=True)])
def test_many_to_one_fuses_root_first(parse: Parse, pattern: RewritePattern):
    target = module(parse, MUL_ADD)
    apply(target, pattern)
    assert located(target)["call"] == ("add", "mul")


def test_a_consumed_op_with_other_users_does_not_contribute(parse: Parse):
    body = MUL_ADD.replace("%r", "%s") + f'%r = relay.subtract %s, %m : ({T}, {T}) -> {T} loc("sub")'
    target = module(parse, body)
    apply(target, MulAdd(erase=False))
    assert located(target) == {"multiply": ("mul",), "call": ("add",), "subtract": ("sub",)}


def test_a_whole_dead_tree_contributes_in_pre_order(parse: Parse):
    target = module(
        parse,
        f"""
        %a = relay.exp %x : ({T}) -> {T} loc("exp")
        %b = relay.sqrt %a : ({T}) -> {T} loc("sqrt")
        %c = relay.sigmoid %x : ({T}) -> {T} loc("sigmoid")
        %d = relay.subtract %b, %c : ({T}, {T}) -> {T} loc("sub")
        %r = relay.negative %d : ({T}) -> {T} loc("neg")
        """,
    )

    class Drop(RewritePattern):
        @op_type_rewrite_pattern
        def match_and_rewrite(self, op: NegativeOp, rewriter: PatternRewriter, /):
            rewriter.replace(op, ReluOp(op.parent_block().args[0]))  # pyright: ignore[reportOptionalMemberAccess]

    ledger = apply(target, Drop())
    assert located(target)["nn.relu"] == ("neg", "sub", "sqrt", "exp", "sigmoid")
    assert ledger.entries[0].removed == ("relay.negative",)
    assert [layer_names(location) for location in ledger.entries[0].before][:2] == [("neg",), ("sub",)]


class Requantize(RewritePattern):
    """N -> m."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AddOp, rewriter: PatternRewriter, /):
        if (product := of(op.lhs, MultiplyOp)) is None:
            return
        first = SubtractOp(product.operands[0], op.rhs)
        rewriter.replace(op, [first, ExpOp(first)])
        rewriter.erase(product)


def test_many_to_many_gets_the_fuse_everywhere(parse: Parse):
    target = module(parse, MUL_ADD)
    ledger = apply(target, Requantize())
    assert located(target) == {"subtract": ("add", "mul"), "exp": ("add", "mul")}
    assert lines(ledger) == ["test: Requantize: relay.add, relay.multiply -> relay.subtract, relay.exp"]


RELU = f"""
    %m = relay.negative %x : ({T}) -> {T} loc("neg")
    %r = relay.nn.leaky_relu %m : ({T}) -> {T} loc("leaky")
"""


class IntoUser(RewritePattern):
    """The root is changed in place and takes its producer in."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: LeakyReluOp, rewriter: PatternRewriter, /):
        if (negative := of(op.data, NegativeOp)) is None:
            return
        op.alpha = FloatAttr(-0.25, f64)
        op.operands[0] = negative.operands[0]
        rewriter.notify_op_modified(op)
        rewriter.erase(negative)


def test_root_changed_in_place_absorbs_what_it_erased(parse: Parse):
    target = module(parse, RELU)
    ledger = apply(target, IntoUser())
    assert located(target) == {"nn.leaky_relu": ("leaky", "neg")}
    assert lines(ledger) == ["test: IntoUser: relay.negative absorbed"]


class IntoProducer(RewritePattern):
    """The root goes, and its producer, changed in place, does its work."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: NegativeOp, rewriter: PatternRewriter, /):
        if (leaky := of(op.data, LeakyReluOp)) is None:
            return
        leaky.properties["alpha"] = FloatAttr(-0.25, f64)
        rewriter.notify_op_modified(leaky)
        rewriter.replace(op, [], leaky.results)


def test_producer_changed_in_place_absorbs_the_root(parse: Parse):
    target = module(
        parse,
        f"""
        %m = relay.nn.leaky_relu %x : ({T}) -> {T} loc("leaky")
        %s = relay.negative %m : ({T}) -> {T} loc("neg")
        %r = relay.exp %s : ({T}) -> {T} loc("exp")
        """,
    )
    apply(target, IntoProducer())
    assert located(target) == {"nn.leaky_relu": ("neg", "leaky"), "exp": ("exp",)}


class CopyIsIdentity(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReluOp, rewriter: PatternRewriter, /):
        rewriter.replace(op, [], [op.data])


def test_identity_removal_leaves_the_rest_untouched_and_is_recorded(parse: Parse):
    target = module(
        parse,
        f"""
        %a = relay.exp %x : ({T}) -> {T} loc("exp")
        %b = relay.nn.relu %a : ({T}) -> {T} loc("relu")
        %r = relay.sqrt %b : ({T}) -> {T} loc("sqrt")
        """,
    )
    ledger = apply(target, CopyIsIdentity())
    assert located(target) == {"exp": ("exp",), "sqrt": ("sqrt",)}
    assert lines(ledger) == ["test: CopyIsIdentity: relay.nn.relu removed (users now read relay.exp)"]
    assert {name for leaf in ledger.explained() for name in layer_names(leaf)} == {"relu"}


class RemoveProducerCopy(RewritePattern):
    """Removes an identity that feeds the root, the root being a mere reader of it."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SqrtOp, rewriter: PatternRewriter, /):
        if (copy := of(op.data, ReluOp)) is not None:
            rewriter.replace(copy, [], [copy.operands[0]])


def test_reading_another_value_is_no_absorbing(parse: Parse):
    target = module(
        parse,
        f'%b = relay.nn.relu %x : ({T}) -> {T} loc("relu")\n%r = relay.sqrt %b : ({T}) -> {T} loc("sqrt")',
    )
    apply(target, RemoveProducerCopy())
    assert located(target) == {"sqrt": ("sqrt",)}


class GivesUp(RewritePattern):
    """Makes an op, and then asks what depends on sizes."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: NegativeOp, rewriter: PatternRewriter, /):
        made = ReluOp(ReluOp(op.operands[0]).results[0])
        raise UndecidedSize(f"whether {made.name} is needed depends on the values of sizes")


def test_what_a_pattern_made_and_left_is_no_user(parse: Parse):
    root = module(parse, '%r = relay.negative %x : (tensor<4xf32>) -> tensor<4xf32> loc("n")')
    assert not rewrite(root, [GivesUp()])
    (negative,) = [op for op in root.walk() if isinstance(op, NegativeOp)]
    assert [use.operation for use in negative.operands[0].uses] == [negative]


class AddHelper(RewritePattern):
    """Inserts an op before the root, which stays."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SqrtOp, rewriter: PatternRewriter, /):
        if of(op.data, ReluOp) is None:
            relu = rewriter.insert(ReluOp(op.data), InsertPoint.before(op))
            op.operands[0] = relu.result
            rewriter.notify_op_modified(op)


def test_an_inserted_helper_gets_the_location_of_its_asker(parse: Parse):
    target = module(
        parse, f'%a = relay.exp %x : ({T}) -> {T} loc("exp")\n%r = relay.sqrt %a : ({T}) -> {T} loc("sqrt")'
    )
    ledger = apply(target, AddHelper())
    assert located(target) == {"exp": ("exp",), "nn.relu": ("sqrt",), "sqrt": ("sqrt",)}
    assert lines(ledger) == ["test: AddHelper: nothing -> relay.nn.relu"]


class TemporaryOp(RewritePattern):
    """Inserts an op and erases it again within the match."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TanhOp, rewriter: PatternRewriter, /):
        rewriter.erase(rewriter.insert(ExpOp(op.data), InsertPoint.before(op)))
        rewriter.replace(op, SigmoidOp(op.data))


def test_an_op_of_the_match_itself_leaves_no_trace(parse: Parse):
    target = module(parse, f'%r = relay.tanh %x : ({T}) -> {T} loc("act")')
    assert lines(apply(target, TemporaryOp())) == ["test: TemporaryOp: relay.tanh -> relay.sigmoid"]
    assert located(target) == {"sigmoid": ("act",)}


LOOP = """
    func.func @f(%lb: index, %x: f32) {
      scf.for %i = %lb to %lb step %lb {
        %0 = "arith.negf"(%x) <{fastmath = #arith.fastmath<none>}> : (f32) -> f32 loc("neg")
        scf.yield loc("yield")
      } loc("loop")
      func.return
    }
"""


class IntoRegion(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.ForOp, rewriter: PatternRewriter, /):
        if op.body.block.first_op is not None and len(op.body.block.ops) < 3:
            rewriter.insert(op.body.block.first_op.clone(), InsertPoint.at_start(op.body.block))


class CloneLoop(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.ForOp, rewriter: PatternRewriter, /):
        if "done" not in op.attributes:
            body = op.detach_region(op.body)
            new = scf.ForOp(op.lb, op.ub, op.step, [], body)
            new.attributes["done"] = FloatAttr(1.0, f64)
            rewriter.replace(op, new)


def test_a_region_that_moves_into_a_new_op_keeps_its_locations(parse: Parse):
    target = parse(LOOP)
    apply(target, CloneLoop())
    assert located(target) == {"arith.negf": ("neg",), "scf.yield": ("yield",), "scf.for": ("loop",)}


def test_insertion_in_a_nested_region(parse: Parse):
    target = parse(LOOP.replace(' loc("neg")', ""))
    apply(target, IntoRegion())
    loop = next(op for op in target.walk() if isinstance(op, scf.ForOp))
    first = loop.body.block.first_op
    assert first is not None
    assert layer_names(first.location) == ("loop",)


class EraseLoop(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.ForOp, rewriter: PatternRewriter, /):
        rewriter.erase(op)


def test_ops_nested_in_an_erased_op_are_explained(parse: Parse):
    ledger = apply(parse(LOOP), EraseLoop())
    assert {name for leaf in ledger.explained() for name in layer_names(leaf)} == {"loop", "neg", "yield"}


class TakeThen(RewritePattern):
    """`if` on a constant: the branch moves out, the `if` goes."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.IfOp, rewriter: PatternRewriter, /):
        block = op.true_region.block
        end = block.last_op
        assert end is not None
        values = tuple(end.operands)
        rewriter.erase(end)
        rewriter.inline_block(block, InsertPoint.before(op))
        rewriter.replace(op, [], values)


def test_a_branch_taken_at_compile_time_keeps_the_if(parse: Parse):
    target = parse(
        """
        func.func @f(%c: i1, %x: f32) -> f32 {
          %r = scf.if %c -> (f32) {
            %0 = arith.addf %x, %x : f32 loc("then")
            scf.yield %0 : f32
          } else {
            %1 = arith.mulf %x, %x : f32 loc("else")
            scf.yield %1 : f32
          } loc("if")
          func.return %r : f32
        }
        """
    )
    ledger = apply(target, TakeThen())
    assert located(target) == {"arith.addf": ("then", "if")}
    assert "else" in {name for leaf in ledger.explained() for name in layer_names(leaf)}


class FoldExp(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ExpOp, rewriter: PatternRewriter, /):
        if isinstance(source := op.data.owner, ConstantOp) and source.literal is not None:
            replace_with_constant(op, [ConstantOp(source.result.type, literal=source.literal)], rewriter)


def test_a_folded_constant_is_located_at_the_op_and_its_constants(parse: Parse):
    target = module(
        parse,
        f'%c = relay.constant dense<1.0> : {T} loc("c")\n%r = relay.exp %c : ({T}) -> {T} loc("exp")',
    )
    ledger = apply(target, FoldExp())
    assert [layer_names(op.location) for op in target.walk() if isinstance(op, ConstantOp)] == [("c",), ("exp", "c")]
    assert lines(ledger) == ["test: FoldExp: relay.exp -> relay.constant"]
    assert [layer_names(location) for location in ledger.entries[0].after] == [("exp", "c")]


def test_nothing_matches(parse: Parse):
    target = module(parse, MUL_ADD)
    ledger = Ledger()
    with recording(ledger, "test"):
        assert not rewrite(target, [SwishToParts()])
    assert ledger.entries == []


def test_the_first_pattern_that_matches_wins_and_is_named(parse: Parse):
    target = module(parse, f'%r = relay.tanh %x : ({T}) -> {T} loc("act")')
    ledger = apply(target, SwishToParts(), TemporaryOp())
    assert [entry.pattern for entry in ledger.entries] == ["SwishToParts"]


def test_a_chain_of_matches_hands_locations_on(parse: Parse):
    class TanhToExp(RewritePattern):
        @op_type_rewrite_pattern
        def match_and_rewrite(self, op: TanhOp, rewriter: PatternRewriter, /):
            rewriter.replace(op, ExpOp(op.data))

    class ExpToSqrt(RewritePattern):
        @op_type_rewrite_pattern
        def match_and_rewrite(self, op: ExpOp, rewriter: PatternRewriter, /):
            rewriter.replace(op, SqrtOp(op.data))

    target = module(parse, f'%r = relay.tanh %x : ({T}) -> {T} loc("act")')
    ledger = apply(target, TanhToExp(), ExpToSqrt())
    assert located(target) == {"sqrt": ("act",)}
    assert [entry.created for entry in ledger.entries] == [("relay.exp",), ("relay.sqrt",)]
    assert not [op for op in unlocated(target) if op.name == "relay.sqrt"]
