"""Gradients of programs whose way a run decides, against differences of values."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from whence import relay
from whence.relay import analysis, transform
from whence.support.errors import PipelineError

VERSION = '#[version = "0.0.5"]\n'
T = "Tensor[(2, 3), float64]"
LIST = "type List[A] { Cons(A, List[A]), Nil }\n"
PROGRAMS = {
    "if": f"def @main(%x: {T}, %y: {T}) {{ if (sum(%x) < sum(%y)) {{ %x * %x }} else {{ %x * %y }} }}",
    "shared by branches": f"""def @main(%x: {T}, %y: {T}) {{
      %0 = exp(%x);
      if (sum(%0) < sum(%y)) {{ %0 }} else {{ %0 * %0 + %y }} }}""",
    "recursion": f"""
      def @power(%n: int32, %x: {T}) -> {T} {{
        if (%n == 0) {{ ones_like(%x) }} else {{ %x * @power(%n - 1, %x) }} }}
      def @main(%x: {T}, %y: {T}) {{ @power(3, %x) * @power(2, %y) }}""",
    "main calls itself": f"""
      def @main(%x: {T}, %y: {T}) -> {T} {{ if (sum(%x) < 100f64) {{ @main(%x + %x, %y) }} else {{ %x * %y }} }}""",
    "closure": f"""def @main(%x: {T}, %y: {T}) {{
      let %f = fn (%z: {T}) {{ %z * %x }};
      let %g = fn (%h: fn ({T}) -> {T}) {{ %h(%h(%y)) }};
      %g(%f) }}""",
    "polymorphic": f"""
      def @twice[A](%f: fn (A) -> A, %x: A) -> A {{ %f(%f(%x)) }}
      def @main(%x: {T}, %y: {T}) {{ @twice(fn (%z: {T}) {{ %z * %x }}, %y) }}""",
    "recursive closure": f"""def @main(%x: {T}, %y: {T}) {{
      let %loop = fn (%n: int32, %z: {T}) -> {T} {{ if (%n == 0) {{ %z }} else {{ %loop(%n - 1, %z * %x) }} }};
      %loop(3, %y) }}""",
    "references": f"""def @main(%x: {T}, %y: {T}) {{
      let %r = ref(%x);
      let %f = fn () {{ ref_write(%r, ref_read(%r) * %y) }};
      %f(); %f(); ref_read(%r) }}""",
    "a list": LIST
    + f"""
      def @total(%xs: List[{T}]) -> {T} {{
        match? (%xs) {{ Cons(%h, Nil) => %h, Cons(%h, %t) => %h * @total(%t) }}
      }}
      def @main(%x: {T}, %y: {T}) {{ @total(Cons(%x, Cons(%y, Cons(%x, Nil)))) }}""",
    "tuples and several results": f"""def @main(%x: {T}, %y: {T}) {{
      let %f = fn (%p: ({T}, {T})) {{ (%p.1 * %x, concatenate((%p.0, exp(%p.1)), axis=1)) }};
      %f((%x, %y)) }}""",
    "split": f"""def @main(%x: {T}, %y: {T}) {{
      let %f = fn (%p: {T}) {{ let %s = split(%p, indices_or_sections=3, axis=1); %s.0 * %s.2 }};
      if (True) {{ %f(%x) * %f(%y) }} else {{ %f(%x) }} }}""",
    "one value as two results": f"""def @main(%x: {T}, %y: {T}) {{
      let %z = if (sum(%x) < sum(%y)) {{ %x * %y }} else {{ %x }}; (%z, %z, %y) }}""",
    "a reference in a tuple": f"""def @main(%x: {T}, %y: {T}) {{
      let %t = (ref(%x), %y); ref_write(%t.0, %x * %x); ref_read(%t.0) * %t.1 }}""",
    "a function that gives nothing": f"""
      def @store(%r: ref({T}), %x: {T}) -> () {{ ref_write(%r, %x * %x) }}
      def @main(%x: {T}, %y: {T}) {{ let %r = ref(%y); @store(%r, %x); ref_read(%r) * %y }}""",
    "integers": f"""def @main(%x: {T}, %y: {T}) {{
      let %f = fn (%p: {T}) {{ take(%p, argmax(%p, axis=[1]), axis=0) }};
      if (True) {{ %f(%x) * cast(cast(%y, dtype="int32"), dtype="float64") }} else {{ %f(%x) }} }}""",
}


def total(value: Any) -> float:
    """The sum of the elements of a value; of a tuple the first field counts, as in TVM."""
    return total(cast("tuple[Any, ...]", value)[0]) if isinstance(value, tuple) else float(np.sum(value))


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients(name: str) -> None:
    mod = relay.parse(VERSION + PROGRAMS[name])
    before = str(mod)
    made = transform.gradient(mod["main"], mod)
    assert str(mod) == before
    arrays = [np.random.default_rng(k).uniform(0.5, 1.5, (2, 3)) for k in (1, 2)]
    forward = relay.create_executor("debug", mod).evaluate()
    value, gradients = relay.create_executor("debug", mod).evaluate(made)(*arrays)
    assert total(value) == pytest.approx(total(forward(*arrays)))
    for which, gradient in enumerate(gradients):
        for place in ((0, 0), (1, 2)):
            ends: list[float] = []
            for step in (1e-5, -1e-5):
                moved = [array.copy() for array in arrays]
                moved[which][place] += step
                ends.append(total(forward(*moved)))
            assert np.asarray(gradient)[place] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize(("mode", "factor"), [("higher_order", 2.0), ("first_order", 7.0)])
def test_a_tuple_has_the_gradients_of_its_first_field_and_in_first_order_of_all(mode: str, factor: float) -> None:
    x = relay.var("x", shape=(3,), dtype="float64")
    inner = relay.Tuple([relay.const(2.0, "float64") * x, x])
    made = transform.gradient(relay.Function([x], relay.Tuple([inner, relay.const(4.0, "float64") * x])), mode=mode)
    value, (found,) = relay.create_executor("debug").evaluate(made)(np.arange(3.0))
    np.testing.assert_allclose(np.asarray(value[1]), 4 * np.arange(3.0))
    np.testing.assert_allclose(np.asarray(found), np.full(3, factor))


def test_gradients_on_the_machine_and_of_gradients() -> None:
    mod = relay.parse(VERSION + PROGRAMS["recursion"].replace("64", "32"))
    made = transform.gradient(mod["main"], mod)
    x, y = np.full((2, 3), 2, np.float32), np.full((2, 3), 3, np.float32)
    _, (dx, dy) = relay.create_executor("vm", mod).evaluate(made)(x, y)
    np.testing.assert_allclose(np.asarray(dx), 3 * x**2 * y**2)
    np.testing.assert_allclose(np.asarray(dy), x**3 * 2 * y)

    z = relay.var("z", shape=(4,), dtype="float64")
    cube: Any = transform.gradient(relay.Function([z], z * z * z))
    w = relay.var("w", shape=(4,), dtype="float64")
    slope = relay.TupleGetItem(relay.TupleGetItem(cube(w), 1), 0)
    twice = transform.gradient(relay.Function([w], slope))
    at = np.arange(4.0)
    (_, (found,)) = relay.create_executor("debug").evaluate(twice)(at)
    np.testing.assert_allclose(np.asarray(found), 6 * at)


def test_spans_and_errors() -> None:
    mod = relay.parse(VERSION + PROGRAMS["closure"])
    made = transform.gradient(mod["main"], mod)
    located = [node for node in analysis.post_order(made) if isinstance(node, relay.Call)]
    assert located
    assert all(node.span is not None for node in located)
    circle = f"""
      def @f(%n: int32, %x: {T}) -> {T} {{ @g(%n, %x) }}
      def @g(%n: int32, %x: {T}) -> {T} {{ if (%n == 0) {{ %x }} else {{ @f(%n - 1, %x) }} }}
      def @main(%x: {T}) {{ @f(2, %x) }}"""
    mod = relay.parse(VERSION + circle)
    with pytest.raises(PipelineError, match="call each other in no circle, got @f, @g, @f"):
        transform.gradient(mod["main"], mod)
    named = f"type One {{ One({T}) }}\ndef @main(%x: {T}) {{ match (One(%x)) {{ One(%y) => %y }} }}"
    mod = relay.parse(VERSION + named)
    with pytest.raises(PipelineError, match=r"relay\.construct: expected data types of type variables, .* got One"):
        transform.gradient(mod["main"], mod)
    mod = relay.parse(VERSION + f"def @main(%f: fn ({T}) -> {T}, %x: {T}) {{ %f(%x) }}")
    with pytest.raises(PipelineError, match="a parameter of tensors"):
        transform.gradient(mod["main"], mod)


@pytest.mark.parametrize("name", ["zeros", "ones"])
def test_no_gradient_flows_to_a_shape(name: str) -> None:
    shape = relay.var("shape", shape=(2,), dtype="int32")
    function = relay.Function([shape], getattr(relay, name)(shape, dtype="float32"))
    typed = relay.transform.InferType()(relay.IRModule.from_expr(function))["main"]
    result, (gradient,) = relay.create_executor("debug").evaluate(relay.transform.gradient(typed))(
        np.array([2, 3], np.int32)
    )
    np.testing.assert_array_equal(result, getattr(np, name)((2, 3), np.float32))
    np.testing.assert_array_equal(gradient, [0, 0])
