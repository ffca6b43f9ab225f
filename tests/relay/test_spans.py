"""SIBuilder and set_span on expressions."""

from __future__ import annotations

import pytest

from whence import relay
from whence.relay.spans import SIBuilder, set_span
from whence.support.context import PassContext


def span(name: str) -> relay.Span:
    return relay.Span(relay.SourceName(name))


def names(found: object) -> list[str]:
    assert isinstance(found, relay.SequentialSpan)
    return [one.source_name.name for one in found.spans if one.source_name is not None]


@pytest.fixture
def exprs() -> dict[str, relay.Expr]:
    """z = (a + b) * a, with a span for each part."""
    a = relay.var("a", shape=(4,), span=span("a"))
    b = relay.var("b", shape=(4,), span=span("b"))
    x = relay.add(a, b, span=span("x"))
    y = relay.exp(x, span=span("y"))
    return {"a": a, "b": b, "x": x, "y": y, "z": relay.multiply(y, a, span=span("z"))}


def test_spans_are_collected_up_to_the_inputs(exprs: dict[str, relay.Expr]) -> None:
    builder = SIBuilder(exprs["z"], [exprs["x"], exprs["a"]])
    assert names(builder.build()) == ["z", "y", "x", "a"]
    assert names(SIBuilder(exprs["z"]).create_span()) == ["z", "y", "x", "a", "b"]


def test_filling_stops_at_the_inputs(exprs: dict[str, relay.Expr]) -> None:
    new = span("new")
    SIBuilder(new).recursively_fill_span(exprs["z"], [exprs["x"], exprs["a"]])
    assert [exprs[name].span for name in "zy"] == [new, new]
    assert [exprs[name].span for name in "xab"] == [span("x"), span("a"), span("b")]
    assert isinstance(exprs["z"], relay.Call)
    assert exprs["z"].op.span is None


def test_one_span_is_itself_and_several_are_a_sequence() -> None:
    one = span("a")
    assert SIBuilder(one).build() is one
    assert names(SIBuilder([one, span("b"), one]).build()) == ["a", "b", "a"]


def test_off_it_builds_and_fills_nothing(exprs: dict[str, relay.Expr]) -> None:
    with PassContext(config={"ir.enable_si_builder": False}):
        builder = SIBuilder(exprs["z"])
        assert builder.build() is None
        builder.recursively_fill_span(exprs["y"])
    assert exprs["y"].span == span("y")


def test_set_span_names_what_has_no_name_yet() -> None:
    a = relay.var("a", shape=(2, 4), span=span("a"))
    early = relay.exp(a, span=span("early"))
    parts = relay.split(relay.negative(early), 2, axis=1)
    assert set_span(parts, "late") is parts
    call = parts.astuple()
    assert isinstance(call, relay.Call)
    assert call.span == call.args[0].span == span("late")
    assert early.span == span("early")
    one, other = relay.exp(a), relay.log(a)
    set_span([one, other], "both")
    assert one.span == other.span == span("both")


def test_span_filling_may_be_off() -> None:
    made = relay.exp(relay.var("a", shape=(2,)))
    with PassContext(config={"relay.frontend.fill_span": False}):
        set_span(made, "layer")
    assert made.span is None


def test_ops_are_taken_too() -> None:
    module = relay.IRModule.from_expr(relay.exp(relay.var("a", shape=(2,), span=span("a")), span=span("e"))).module
    (func,) = module.ops
    op = func.regions[0].block.first_op
    assert op is not None
    assert names(SIBuilder(op).build()) == ["e", "a"]
    SIBuilder(span("new")).recursively_fill_span(op, [op.operands[0]])
    assert str(op.location) == 'loc("new")'


def test_collecting_a_long_chain_needs_no_recursion() -> None:
    value: relay.Expr = relay.var("a", shape=(2,), span=span("a"))
    for _ in range(5_000):
        value = relay.exp(value, span=span("e"))
    assert len(names(SIBuilder(value).build())) == 5_001
