"""SIBuilder: what it builds, collects and fills; the cases of TVM's own tests, on SSA ops."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects import scf
from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr, ModuleOp, TensorType, f32
from xdsl.ir import Block, Operation

from whence.dialects.relay.core import ConstantOp
from whence.dialects.relay.elementwise import AddOp, ExpOp, MaximumOp, ReluOp, SqrtOp
from whence.provenance.set_span import set_span
from whence.provenance.si_builder import SIBuilder
from whence.provenance.span import SequentialSpan, SourceName, Span, layer_location
from whence.support.context import PassContext

T = TensorType(f32, [4])
Parse = Callable[[str], ModuleOp]


def at(name: str) -> LocationAttr:
    return layer_location(name, "m.onnx", ord(name[0]))


def collected(builder: SIBuilder) -> list[str]:
    span = builder.create_span()
    assert isinstance(span, SequentialSpan)
    return [one.source_name.name for one in span.spans if one.source_name]


def chain(locate: bool = True) -> tuple[Block, AddOp, AddOp, AddOp, MaximumOp]:
    """`max(((a + b) + 1) + 2, 100)`: block of a and b, then x, add1, add2 and z."""
    block = Block(arg_types=[T, T])
    a, b = block.args
    one, two, hundred = (ConstantOp(T, key=key) for key in ("1", "2", "100"))
    x = AddOp(a, b)
    add1 = AddOp(x, one)
    add2 = AddOp(add1, two)
    z = MaximumOp(add2, hundred)
    block.add_ops([one, two, hundred, x, add1, add2, z])
    if locate:
        for op, name in ((x, "x"), (add1, "add1"), (add2, "add2"), (z, "z")):
            op.location = at(name)
        a.location, b.location = at("a"), at("b")
    return block, x, add1, add2, z


def test_one_span_is_built_as_it_is():
    span = Span(SourceName("a"), 1, 1, 2, 2, "m")
    assert SIBuilder(span).create_span() is span
    sequence = SequentialSpan([span, span])
    assert SIBuilder(sequence).build() is sequence


def test_several_spans_make_a_sequence():
    first, second = Span(SourceName("a")), Span(SourceName("b"))
    assert SIBuilder([first, second]).create_span() == SequentialSpan([first, second])
    assert SIBuilder([first, SequentialSpan([second, first])]).create_span() == SequentialSpan([first, second, first])
    assert SIBuilder([]).create_span() == SequentialSpan([])


def test_a_location_or_a_name():
    assert SIBuilder(at("a")).create_span() == Span.of(at("a"))
    assert SIBuilder("conv").create_span() == Span(SourceName("conv"))
    assert SIBuilder(UNKNOWN_LOC).create_span() is None


def test_collecting_goes_in_pre_order_up_to_the_arguments():
    a = Block(arg_types=[T]).args[0]
    a.location = at("a")
    x = ExpOp(a, location=at("x"))
    y = SqrtOp(x, location=at("y"))
    z = ReluOp(y, location=at("z"))
    assert collected(SIBuilder(z, [a])) == ["z", "y", "x", "a"]
    assert collected(SIBuilder(z)) == ["z", "y", "x", "a"]
    assert collected(SIBuilder(z.result, [y.result])) == ["z", "y"]


def test_collecting_ends_at_the_inputs():
    _, x, _, _, z = chain()
    assert collected(SIBuilder(z, [x])) == ["z", "add2", "add1", "x"]


def test_collecting_skips_what_has_no_span():
    _, _, add1, _, z = chain(locate=False)
    add1.location = at("add1")
    assert collected(SIBuilder(z)) == ["add1"]
    assert SIBuilder(add1, [add1]).create_span() == SequentialSpan([at("add1")])


def test_a_shared_op_is_collected_once():
    a = Block(arg_types=[T]).args[0]
    shared = ExpOp(a, location=at("s"))
    root = AddOp(shared, shared, location=at("r"))
    assert collected(SIBuilder(root)) == ["r", "s"]


def test_filling_ends_before_the_inputs():
    block, x, add1, add2, z = chain(locate=False)
    SIBuilder("new").recursively_fill_span(z, [x])
    new = Span(SourceName("new")).location
    assert [op.location for op in (z, add2, add1)] == [new] * 3
    assert x.location is UNKNOWN_LOC
    assert [argument.location for argument in block.args] == [UNKNOWN_LOC, UNKNOWN_LOC]
    assert [op.location for op in block.ops if isinstance(op, ConstantOp)] == [new] * 3


def test_filling_replaces_spans_but_changes_no_op():
    block, x, _, _, z = chain()
    before = [str(op) for op in block.ops]
    ops = list(block.ops)
    SIBuilder([at("p"), at("q")]).recursively_fill_span(z, [x])
    assert [str(op) for op in block.ops] == before
    assert all(mine is other for mine, other in zip(block.ops, ops, strict=True))
    assert z.location == SequentialSpan([at("p"), at("q")]).location
    assert x.location == at("x")


def test_filling_reaches_arguments_that_are_no_inputs():
    block, *_, z = chain(locate=False)
    a, b = block.args
    SIBuilder("new").recursively_fill_span(z, [a])
    assert a.location is UNKNOWN_LOC
    assert b.location == Span(SourceName("new")).location


def test_an_empty_sequence_fills_nothing():
    *_, z = chain()
    SIBuilder([]).recursively_fill_span(z)
    assert z.location == at("z")


def test_switched_off_it_builds_none_and_fills_nothing():
    span = Span(SourceName("a"))
    *_, z = chain()
    with PassContext(config={"ir.enable_si_builder": False}):
        assert SIBuilder(span).create_span() is None
        assert SIBuilder([span]).build() is None
        builder = SIBuilder(z)
        assert builder.create_span() is None
        builder.recursively_fill_span(z)
        SIBuilder(span).recursively_fill_span(z)
    assert z.location == at("z")


LOOP = """
    func.func @f(%n: index loc("n"), %x: f32 loc("x")) {
      "scf.for"(%n, %n, %n) ({
      ^bb0(%i: index loc("i")):
        %y = "arith.negf"(%x) <{fastmath = #arith.fastmath<none>}> : (f32) -> f32 loc("y")
        "scf.yield"() : () -> () loc("yield")
      }) : (index, index, index) -> () loc("loop")
      func.return
    }
"""


def find(module: ModuleOp, kind: type[Operation]) -> Operation:
    return next(op for op in module.walk() if isinstance(op, kind))


def test_statements_are_collected_with_their_bodies(parse: Parse):
    loop = find(parse(LOOP), scf.ForOp)
    assert collected(SIBuilder(loop)) == ["loop", "n", "i", "y", "x", "yield"]
    inner = loop.regions[0].block.first_op
    assert inner is not None
    assert collected(SIBuilder(loop, [inner])) == ["loop", "n", "i", "y", "yield"]


def test_statements_are_filled_with_their_bodies_up_to_inputs(parse: Parse):
    module = parse(LOOP)
    loop = find(module, scf.ForOp)
    function = loop.parent_op()
    assert function is not None
    arguments = function.regions[0].block.args
    SIBuilder(at("new")).recursively_fill_span(loop, arguments)
    assert all(op.location == at("new") for op in loop.walk())
    assert loop.regions[0].block.args[0].location == at("new")
    assert not any(argument.location == at("new") for argument in arguments)


def test_a_long_chain_needs_no_recursion():
    value = Block(arg_types=[T]).args[0]
    for _ in range(5000):
        value = ExpOp.create(operands=[value], result_types=[T]).results[0]
    set_span(value, at("d"))
    span = SIBuilder(value).create_span()
    assert isinstance(span, SequentialSpan)
    assert len(span.spans) == 5001


@pytest.mark.parametrize("source", [3, None, {}])
def test_other_sources_are_refused(source: object):
    with pytest.raises(TypeError, match="span: expected a layer name"):
        SIBuilder(source)  # pyright: ignore[reportArgumentType]
