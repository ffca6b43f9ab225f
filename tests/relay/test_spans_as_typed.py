"""Names of TVM's RFC 92 as its users type them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import whence
from whence import relay, te, tir
from whence.contrib.debugger.debug_executor import GraphModuleDebug
from whence.relay.spans import SIBuilder
from whence.support.errors import FrontendError


def span(name: str, line: int = 0) -> relay.Span:
    return relay.Span(relay.SourceName(name), line, line, 0, 0)


def test_set_span_is_of_the_frontends():
    x = relay.var("x", shape=(2, 3))
    inner = relay.frontend.common.set_span(relay.tanh(x), "inner")
    outer = relay.frontend.common.SpanFiller(span("outer")).fill(relay.exp(relay.negative(inner)))
    assert inner.span.source_name.name == "inner"
    assert outer.span == outer.args[0].span == span("outer")
    first, second = relay.frontend.common.SpanFiller("both").fill([relay.exp(x), relay.tanh(x)])
    assert first.span == second.span == span("both")
    with pytest.raises(TypeError, match="expected a layer name"):
        relay.frontend.common.SpanFiller(3).fill(relay.exp(x))


def test_a_sequence_of_spans_is_a_span():
    both = relay.SequentialSpan([span("a", 1), relay.SequentialSpan([span("b", 2), span("a", 1)])])
    assert isinstance(both, relay.Span)
    assert both.spans == (span("a", 1), span("b", 2), span("a", 1))
    assert str(both) == "SequentialSpan([ a:1:0, b:2:0, a:1:0 ])"
    equal = whence.ir.structural_equal
    assert equal(both, relay.SequentialSpan([span("a", 1), span("b", 2), span("a", 1)]))
    assert not equal(both, relay.SequentialSpan([span("a", 1), span("b", 2)]))
    assert not equal(both, span("a", 1))
    assert not equal(span("a", 1), both)
    assert equal(span("a", 1), span("a", 1))
    whence.ir.assert_structural_equal(both, both)
    with pytest.raises(ValueError, match="StructuralEqual check failed"):
        whence.ir.assert_structural_equal(span("a", 1), span("a", 2))


def test_a_builder_of_spans_takes_statements():
    a, b, i = tir.decl_buffer((8,), name="A"), tir.decl_buffer((8,), name="B"), tir.Var("i")
    store = tir.BufferStore(b, a[i] + 1.0, [i])
    loop = tir.For(i, 0, 8, tir.ForKind.SERIAL, tir.SeqStmt([store, tir.Evaluate(0)]))
    before = store.span
    collected = SIBuilder(loop).create_span()
    assert isinstance(collected, relay.SequentialSpan)
    assert len(collected.spans) == 4
    SIBuilder(span("mine")).recursively_fill_span(loop, [store])
    assert loop.span == loop.body.span == span("mine")
    assert store.span == before
    SIBuilder(collected).recursively_fill_span(store)
    assert isinstance(store.span, relay.SequentialSpan)
    with whence.PassContext(config={"ir.enable_si_builder": False}):
        SIBuilder(span("other")).recursively_fill_span(loop)
        assert SIBuilder(loop).create_span() is None
    assert loop.span == span("mine")


def test_drawings_are_in_contrib():
    from whence.contrib import tedd

    a = te.placeholder((4,), name="A")
    schedule = te.create_schedule(te.compute((4,), lambda i: a[i] + 1.0, name="B").op)
    assert "digraph" in str(tedd.viz_schedule_tree(schedule, output_dot_string=True))


def test_a_node_is_executed_by_its_name(tmp_path: Path):
    x = relay.var("x", shape=(2, 3))
    body = relay.nn.softmax(relay.set_span(relay.nn.softmax(x, axis=0), "first"), axis=1)
    lib = relay.build(relay.IRModule.from_expr(relay.Function([x], body)))
    debug = GraphModuleDebug(lib["debug_create"]("default"), None, None, tmp_path)
    data = np.random.default_rng(0).standard_normal((2, 3)).astype(np.float32)
    debug.set_input("x", data)
    expected = np.exp(data) / np.exp(data).sum(0)
    name = debug.module.graph.nodes[1].name
    np.testing.assert_allclose(debug.execute_node(name).numpy(), expected, rtol=1e-5)
    debug.set_input("x", 2 * data)
    np.testing.assert_allclose(
        debug.execute_node("first").numpy(), np.exp(2 * data) / np.exp(2 * data).sum(0), rtol=1e-5
    )
    with pytest.raises(FrontendError, match="Could not find a node named nothing"):
        debug.execute_node("nothing")
