"""What conversions and passes do with spans, on the examples of TVM's RFC 92 and the like."""

from __future__ import annotations

import numpy as np

from whence import relay
from whence.dialects.relay.core import ConstantOp
from whence.dialects.relay.operator import Operator
from whence.provenance.span import layer_names


def span(name: str) -> relay.Span:
    return relay.Span(relay.SourceName(name))


def layers(mod: relay.IRModule, *kinds: type) -> list[tuple[str, tuple[str, ...]]]:
    """Operator -> its layers, in order."""
    found = [op for op in mod.module.walk() if isinstance(op, kinds or (Operator,))]
    return [(op.name.removeprefix("relay."), layer_names(op.location)) for op in found]


def test_every_expression_of_a_conversion_is_named() -> None:
    """The RFC's first example: one `pack` becomes an expand_dims for each input, a tuple and a concatenate."""
    inputs = [
        relay.squeeze(relay.var(n, shape=(1, 3), span=span(n)), axis=[0], span=span("strided_slice")) for n in "ab"
    ]
    packed = relay.concatenate([relay.expand_dims(one, axis=0) for one in inputs], axis=0)
    named = relay.set_span(packed, "stack")
    assert isinstance(named, relay.Call)
    assert [node.span for node in (named, *named.args)] == [span("stack")] * 2
    mod = relay.IRModule.from_expr(named)
    assert layers(mod) == [
        ("squeeze", ("strided_slice",)),
        ("expand_dims", ("stack",)),
        ("squeeze", ("strided_slice",)),
        ("expand_dims", ("stack",)),
        ("concatenate", ("stack",)),
    ]
    shown = str(mod)
    assert shown.count("span=stack:0:0") == 4  # each expand_dims, the tuple, the concatenate
    assert shown.count("span=strided_slice:0:0") == 2


def test_what_a_batch_norm_becomes_has_the_get_and_the_batch_norm() -> None:
    """The RFC's second: a batch norm and the get of its first result are unpacked into arithmetic."""
    x = relay.var("x", shape=(1, 4, 2, 2), span=span("x"))
    vectors = [relay.var(name, shape=(4,), span=span(name)) for name in ("gamma", "beta", "mean", "var")]
    call = relay.nn.batch_norm(x, *vectors).astuple()
    call.span = span("batch_norm")
    mod = relay.IRModule.from_expr(relay.TupleGetItem(call, 0, span=span("get")))
    after = relay.transform.SimplifyInference()(mod)
    found = layers(after)
    assert len(found) > 8
    assert {names for _, names in found} == {("get", "batch_norm")}
    constants = layers(after, ConstantOp)
    assert constants
    assert {names for _, names in constants} == {("get", "batch_norm")}


def test_two_reshapes_that_become_one_have_both() -> None:
    """The RFC's third."""
    x = relay.var("x", shape=(2, 6), span=span("x"))
    first = relay.reshape(x, (3, 4))
    second = relay.reshape(first, (12,))
    first.span, second.span = span("reshape1"), span("reshape2")
    after = relay.transform.SimplifyExpr()(relay.IRModule.from_expr(second))
    assert layers(after) == [("reshape", ("reshape2", "reshape1"))]


def test_an_if_that_is_decided_keeps_branch_then_if() -> None:
    x = relay.var("x", shape=(2,), span=span("x"))
    taken = relay.exp(x, span=span("branch"))
    other = relay.log(x, span=span("other"))
    condition = relay.const(True)
    condition.span = span("condition")
    mod = relay.IRModule.from_expr(relay.If(condition, taken, other, span=span("if")))
    after = relay.transform.FoldConstant()(mod)
    assert layers(after) == [("exp", ("branch", "if"))]


def test_a_folded_constant_has_the_operator_then_its_constants() -> None:
    a, b = (relay.const(np.ones(16, np.float32)) for _ in range(2))
    a.span, b.span = span("a"), span("b")
    mod = relay.IRModule.from_expr(relay.Function([], relay.add(a, b, span=span("sum"))))
    after = relay.transform.FoldConstant()(mod)
    assert layers(after, ConstantOp) == [("constant", ("sum", "a", "b"))]


def test_equal_operators_that_become_one_have_both() -> None:
    x = relay.var("x", shape=(2,), span=span("x"))
    one, two = relay.exp(x, span=span("one")), relay.exp(x, span=span("two"))
    mod = relay.IRModule.from_expr(relay.add(one, two, span=span("sum")))
    after = relay.transform.EliminateCommonSubexpr()(mod)
    assert layers(after) == [("exp", ("one", "two")), ("add", ("sum",))]


def test_a_fused_function_and_its_call_have_all_members_root_first() -> None:
    x = relay.var("x", shape=(1, 4), span=span("x"))
    w = relay.var("w", shape=(2, 4), span=span("w"))
    dense = relay.nn.dense(x, w, span=span("dense"))
    mod = relay.IRModule.from_expr(relay.nn.relu(dense, span=span("relu")))
    after = relay.transform.FuseOps(fuse_opt_level=2)(mod)
    calls = [op for op in after.module.walk() if op.name in ("relay.call", "relay.func")]
    assert [layer_names(op.location) for op in calls if op.name == "relay.call"] == [("relu", "dense")]
    assert [layer_names(op.location) for op in calls if op.name == "relay.func"][1:] == [("relu", "dense")]
    assert layers(after) == [("nn.dense", ("dense",)), ("nn.relu", ("relu",))]


def test_text_keeps_what_passes_gave() -> None:
    x = relay.var("x", shape=(2, 6), span=span("x"))
    first = relay.reshape(x, (3, 4))
    second = relay.reshape(first, (12,))
    first.span, second.span = span("reshape1"), span("reshape2")
    after = relay.transform.SimplifyExpr()(relay.IRModule.from_expr(second))
    text = after.astext()
    assert "/* si=[ reshape2, reshape1 ] */" in text
    assert layers(relay.fromtext(text)) == layers(after)
