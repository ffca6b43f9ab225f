"""Intrinsics as operators of `whence.ir`: looked up, called, and lowered by rules that are attributes of theirs."""
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import whence
from whence import ir, te, tir
from whence.support.errors import FrontendError, ScheduleError

A = te.placeholder((9,), name="A")
X = np.linspace(-3, 3, 9, dtype=np.float32)
OWN = "tir.own_asinh"


def computed(function: Callable[[Any], Any]) -> Any:
    B = te.compute(A.shape, lambda i: function(A[i]), name="B")
    return whence.build(te.create_schedule(B.op), [A, B])(X)


@pytest.fixture
def own():
    """An intrinsic that nobody else registers."""
    ir.register_op_attr(OWN, "TCallEffectKind", tir.CallEffectKind.Pure)
    yield ir.Op.get(OWN)
    ir.remove_intrin_lowering(OWN)
    ir.Op.get(OWN).reset_attr("TCallEffectKind")


def test_an_intrinsic_is_an_operator():
    op = ir.Op.get("tir.asinh")
    assert isinstance(op, ir.Op)
    assert (op.name, op.num_inputs, op.get_attr("TCallEffectKind")) == ("tir.asinh", 1, tir.CallEffectKind.Pure)
    assert [ir.Op.get(f"tir.{name}").num_inputs for name in ("fma", "pow", "if_then_else")] == [3, 2, 3]
    np.testing.assert_allclose(computed(lambda a: tir.call_intrin(a.dtype, op, a)), np.arcsinh(X), rtol=1e-6)


def test_relays_look_up_has_it_too():
    """In a process that has not used te before."""
    code = "from whence import relay; print(relay.op.get('tir.exp').num_inputs)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "1\n"


def test_a_rule_is_an_attribute_of_its_operator(own: ir.Op):
    seen: list[Any] = []

    def rule(call: Any) -> Any:
        seen.append(call.op)
        return tir.call_pure_extern("float32", "asinhf", call.args[0])

    assert own.num_inputs == -1
    assert not own.has_attr("llvm.FLowerIntrin")
    ir.register_intrin_lowering(OWN, target="llvm", f=rule, level=99)
    assert own.get_attr("llvm.FLowerIntrin") is rule
    np.testing.assert_allclose(computed(lambda a: tir.call_intrin(a.dtype, own, a)), np.arcsinh(X), rtol=1e-6)
    assert seen == [own]
    assert isinstance(seen[0], ir.Op)


def test_the_rule_of_a_target_goes_before_the_default(own: ir.Op):
    ir.register_intrin_lowering(OWN, "default", f=lambda call: call.args[0] * 2.0, level=99)
    np.testing.assert_array_equal(computed(lambda a: tir.call_intrin(a.dtype, own, a)), X * 2)

    @ir.register_intrin_lowering(OWN, "llvm", level=1)
    def rule(call: Any) -> Any:  # pyright: ignore[reportUnusedFunction]
        return call.args[0] * 3.0

    np.testing.assert_array_equal(computed(lambda a: tir.call_intrin(a.dtype, own, a)), X * 3)


def test_unknown_names_targets_and_counts_of_arguments():
    with pytest.raises(FrontendError, match=r"expected the name of an operator, got 'tir\.nosuch'"):
        ir.Op.get("tir.nosuch")
    with pytest.raises(ScheduleError, match="expected a target among llvm, cpu, default, got cuda"):
        ir.register_intrin_lowering("tir.exp", "cuda", f=lambda call: call)
    with pytest.raises(ScheduleError, match=r"call_intrin: expected 1 arguments of tir\.asinh, got 2"):
        tir.call_intrin("float32", ir.Op.get("tir.asinh"), 1.0, 2.0)
