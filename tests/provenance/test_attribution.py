"""Which op of a match stands for which: followed by replacement and data flow, and never blamed on bystanders."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from whence.dialects.relay.core import CallOp
from whence.dialects.relay.elementwise import (
    AddOp,
    ExpOp,
    MultiplyOp,
    NegativeOp,
    ReluOp,
    SigmoidOp,
    SqrtOp,
    SubtractOp,
    TanhOp,
)
from whence.provenance.ledger import Ledger, recording
from whence.provenance.rewrite import rewrite, stands_for
from whence.provenance.span import layer_names

Parse = Callable[[str], ModuleOp]
T = "tensor<4xf32>"


def apply(parse: Parse, body: str, pattern: RewritePattern) -> tuple[dict[str, tuple[str, ...]], Ledger]:
    """Op name -> layers after `pattern`, and the ledger."""
    target = parse(f"relay.func @main(%x: {T}, %y: {T}) -> ({T}) {{\n{body}\nrelay.return %r : {T}\n}}")
    ledger = Ledger()
    with recording(ledger, "test"):
        assert rewrite(target, [pattern])
    target.verify()
    return {
        op.name.removeprefix("relay."): names for op in target.walk() if (names := layer_names(op.location))
    }, ledger


def owner(value: SSAValue) -> Operation:
    assert isinstance(value.owner, Operation)
    return value.owner


TWO = f"""
    %a = relay.exp %x : ({T}) -> {T} loc("exp")
    %b = relay.sqrt %y : ({T}) -> {T} loc("sqrt")
    %r = relay.add %a, %b : ({T}, {T}) -> {T} loc("add")
"""


class ReplaceBoth(RewritePattern):
    """exp becomes sigmoid and sqrt becomes tanh, in one match of the addition, which stays."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AddOp, rewriter: PatternRewriter, /) -> None:
        if isinstance(first := op.lhs.owner, ExpOp) and isinstance(second := op.rhs.owner, SqrtOp):
            rewriter.replace(first, SigmoidOp(first.data))
            rewriter.replace(second, TanhOp(second.data))


def test_unrelated_replacements_of_one_match_stay_apart(parse: Parse):
    located, ledger = apply(parse, TWO, ReplaceBoth())
    assert located == {"sigmoid": ("exp",), "tanh": ("sqrt",), "add": ("add",)}
    assert [(entry.removed, entry.created) for entry in ledger.entries] == [
        (("relay.exp",), ("relay.sigmoid",)),
        (("relay.sqrt",), ("relay.tanh",)),
    ]
    assert [[layer_names(at) for at in entry.after] for entry in ledger.entries] == [[("exp",)], [("sqrt",)]]


class WithHelpers(RewritePattern):
    """Both get a helper of their own, and share one."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AddOp, rewriter: PatternRewriter, /) -> None:
        if isinstance(first := op.lhs.owner, ExpOp) and isinstance(second := op.rhs.owner, SqrtOp):
            shared = rewriter.insert(NegativeOp(first.data), InsertPoint.before(first))
            mine = ReluOp(shared)
            rewriter.replace(first, [mine, SubtractOp(mine, shared)])
            rewriter.replace(second, MultiplyOp(second.data, shared))


def test_a_helper_belongs_to_whom_it_feeds(parse: Parse):
    located, _ = apply(parse, TWO, WithHelpers())
    assert located == {
        "negative": ("exp", "sqrt"),
        "nn.relu": ("exp",),
        "subtract": ("exp",),
        "multiply": ("sqrt",),
        "add": ("add",),
    }


def test_a_replacement_in_a_row_does_not_take_in_the_one_before(parse: Parse):
    """What exp became feeds what sqrt became, but computes exp."""

    class InARow(RewritePattern):
        @op_type_rewrite_pattern
        def match_and_rewrite(self, op: SqrtOp, rewriter: PatternRewriter, /) -> None:
            if isinstance(first := op.data.owner, ExpOp):
                rewriter.replace(first, [half := NegativeOp(first.data), new := SigmoidOp(half)])
                rewriter.replace(op, TanhOp(new))

    body = f"""
        %a = relay.exp %x : ({T}) -> {T} loc("exp")
        %r = relay.sqrt %a : ({T}) -> {T} loc("sqrt")
    """
    located, _ = apply(parse, body, InARow())
    assert located == {"negative": ("exp",), "sigmoid": ("exp",), "tanh": ("sqrt",)}


PRODUCTS = f"""
    %a = relay.exp %x : ({T}) -> {T} loc("exp")
    %b = relay.multiply %a, %y : ({T}, {T}) -> {T} loc("mul")
    %c = relay.sqrt %y : ({T}) -> {T} loc("sqrt")
    %r = relay.add %b, %c : ({T}, {T}) -> {T} loc("add")
"""


@pytest.mark.parametrize("erase", [True, False])
def test_a_consumed_op_belongs_to_the_replacement_that_read_it(parse: Parse, erase: bool):
    class Consume(RewritePattern):
        @op_type_rewrite_pattern
        def match_and_rewrite(self, op: AddOp, rewriter: PatternRewriter, /) -> None:
            if not isinstance(product := op.lhs.owner, MultiplyOp):
                return
            exp, root = owner(product.lhs), owner(op.rhs)
            call = CallOp("fused", [exp.operands[0], product.rhs], list(product.result_types))
            rewriter.replace(product, call)
            rewriter.replace(root, TanhOp(root.operands[0]))
            if erase:
                rewriter.erase(exp)

    located, ledger = apply(parse, PRODUCTS, Consume())
    assert located["call"] == ("mul", "exp")
    assert located["tanh"] == ("sqrt",)
    assert [entry.removed for entry in ledger.entries] == [
        ("relay.multiply", "relay.exp") if erase else ("relay.multiply",),
        ("relay.sqrt",),
    ]


def test_an_erased_bystander_is_blamed_on_nobody(parse: Parse):
    class EraseAside(RewritePattern):
        @op_type_rewrite_pattern
        def match_and_rewrite(self, op: SqrtOp, rewriter: PatternRewriter, /) -> None:
            dead = next(one for one in op.parent_block().ops if isinstance(one, ExpOp))  # pyright: ignore[reportOptionalMemberAccess]
            rewriter.replace(op, TanhOp(op.data))
            rewriter.erase(dead)

    body = f"""
        %a = relay.exp %x : ({T}) -> {T} loc("dead")
        %r = relay.sqrt %x : ({T}) -> {T} loc("sqrt")
    """
    located, ledger = apply(parse, body, EraseAside())
    assert located == {"tanh": ("sqrt",)}
    assert [str(entry) for entry in ledger.entries] == [
        "test: EraseAside: relay.sqrt -> relay.tanh",
        "test: EraseAside: relay.exp removed",
    ]


class Redirect(RewritePattern):
    """The second of two takes the results of the first."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AddOp, rewriter: PatternRewriter, /) -> None:
        if op.lhs is not op.rhs:
            rewriter.replace(owner(op.rhs), [], [op.lhs])


@pytest.mark.parametrize(
    ("second", "survivor"),
    [
        ("relay.exp %x", ("first", "second")),
        ("relay.exp %y", ("first",)),
        ("relay.sqrt %x", ("first",)),
    ],
    ids=["twin", "other operand", "other op"],
)
def test_a_twin_merged_by_hand_is_taken_in_by_the_survivor(parse: Parse, second: str, survivor: tuple[str, ...]):
    body = f"""
        %a = relay.exp %x : ({T}) -> {T} loc("first")
        %b = {second} : ({T}) -> {T} loc("second")
        %r = relay.add %a, %b : ({T}, {T}) -> {T} loc("add")
    """
    located, ledger = apply(parse, body, Redirect())
    assert located == {"exp": survivor, "add": ("add",)}
    (entry,) = ledger.entries
    assert [layer_names(at) for at in entry.before] == [("second",)]
    assert [layer_names(at) for at in entry.after] == ([survivor] if len(survivor) == 2 else [])


def test_other_attributes_are_no_twin(parse: Parse):
    body = f"""
        %a = relay.nn.leaky_relu %x {{alpha = 0.5}} : ({T}) -> {T} loc("first")
        %b = relay.nn.leaky_relu %x {{alpha = 0.25}} : ({T}) -> {T} loc("second")
        %r = relay.add %a, %b : ({T}, {T}) -> {T} loc("add")
    """
    located, _ = apply(parse, body, Redirect())
    assert located["nn.leaky_relu"] == ("first",)


class MoveFactor(RewritePattern):
    """`f(x) * s` becomes `f(x - s)`, which data flow cannot tell from an identity beside another replacement."""

    def __init__(self, told: bool):
        self.told = told

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MultiplyOp, rewriter: PatternRewriter, /) -> None:
        exp = owner(op.lhs)
        factor = op.rhs
        rewriter.replace(op, [], [op.lhs])
        moved = SubtractOp(exp.operands[0], laid := NegativeOp(factor))
        if self.told:
            stands_for(moved, op)
        rewriter.replace(exp, [laid, moved, ExpOp(moved)])


@pytest.mark.parametrize("told", [True, False])
def test_a_pattern_can_say_what_an_op_stands_for(parse: Parse, told: bool):
    body = f"""
        %a = relay.exp %x : ({T}) -> {T} loc("exp")
        %r = relay.multiply %a, %y : ({T}, {T}) -> {T} loc("mul")
    """
    located, ledger = apply(parse, body, MoveFactor(told))
    assert located == dict.fromkeys(("negative", "subtract"), ("mul",) if told else ("exp",)) | {"exp": ("exp",)}
    assert [(entry.removed, entry.created) for entry in ledger.entries] == (
        [(("relay.multiply",), ("relay.negative", "relay.subtract")), (("relay.exp",), ("relay.exp",))]
        if told
        else [(("relay.exp",), ("relay.negative", "relay.subtract", "relay.exp")), (("relay.multiply",), ())]
    )


def test_outside_of_a_match_nothing_stands_for_anything():
    with pytest.raises(LookupError):
        stands_for(ModuleOp([]))


STORES = """
    func.func @f(%x: f32, %a: memref<f32>, %b: memref<f32>) {
      "memref.store"(%x, %a) <{nontemporal = false}> : (f32, memref<f32>) -> () loc("first")
      "memref.store"(%x, %b) <{nontemporal = false}> : (f32, memref<f32>) -> () loc("second")
      func.return
    }
"""


class RewriteStores(RewritePattern):
    """Both stores of a pair get a load and a new store, in one match."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: memref.StoreOp, rewriter: PatternRewriter, /) -> None:
        if isinstance(other := op.next_op, memref.StoreOp) and not isinstance(op.value.owner, memref.LoadOp):
            for store in (op, other):
                load = memref.LoadOp.get(store.memref, [])
                rewriter.replace(store, [load, memref.StoreOp.get(load, store.memref, [])], [])


def test_ops_without_results_belong_to_the_replacement_they_came_with(parse: Parse):
    target = parse(STORES)
    assert rewrite(target, [RewriteStores()])
    made = [(op.name, layer_names(op.location)) for op in target.walk() if "memref" in op.name]
    assert made == [
        ("memref.load", ("first",)),
        ("memref.store", ("first",)),
        ("memref.load", ("second",)),
        ("memref.store", ("second",)),
    ]


def test_without_a_replacement_new_ops_stand_for_all_that_went(parse: Parse):
    class EraseAndInsert(RewritePattern):
        @op_type_rewrite_pattern
        def match_and_rewrite(self, op: memref.StoreOp, rewriter: PatternRewriter, /) -> None:
            if isinstance(other := op.next_op, memref.StoreOp):
                rewriter.insert(memref.LoadOp.get(op.memref, []), InsertPoint.before(op))
                rewriter.erase(other)
                rewriter.erase(op)

    target = parse(STORES)
    assert rewrite(target, [EraseAndInsert()])
    (load,) = (op for op in target.walk() if isinstance(op, memref.LoadOp))
    assert layer_names(load.location) == ("first", "second")
