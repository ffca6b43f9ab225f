"""Which kind of program a model becomes, and the reason that is given."""

from __future__ import annotations

from typing import Any, cast

import onnx
import pytest
from onnx import TensorProto, helper

import whence
from whence import relay
from whence.executables.choice import Choice
from whence.executables.dynamic import DynamicExecutable
from whence.executables.sized import SizedExecutable
from whence.executables.virtual_machine import VirtualExecutable


def _model(shape: list[Any], *nodes: onnx.NodeProto, rank: int = 1) -> onnx.ModelProto:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * rank)
    graph = helper.make_graph(list(nodes), "graph", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


_RELU = helper.make_node("Relu", ["x"], ["y"], name="relu1")
# How many elements are not zero decides how long the result is.
_CHOSEN = [
    helper.make_node("NonZero", ["x"], ["at"], name="nonzero1"),
    helper.make_node("Squeeze", ["at"], ["flat"], name="squeeze1"),
    helper.make_node("Cast", ["flat"], ["y"], name="cast1", to=TensorProto.FLOAT),
]


def test_sizes_that_are_numbers_make_a_static_program():
    executable = whence.compile(_model([4], _RELU))
    assert executable.choice == Choice("static", "all sizes are numbers")
    assert executable.report() == "one program of 1 kernels; static: all sizes are numbers"


def test_open_sizes_make_one_program_that_names_them():
    executable = whence.compile(_model(["n"], _RELU))
    assert isinstance(executable, SizedExecutable)
    assert str(executable.choice) == "sized: a call decides n"


def test_sizes_that_values_decide_are_interpreted_and_the_layer_is_named():
    executable = whence.compile(_model([4], *_CHOSEN))
    assert isinstance(executable, DynamicExecutable)
    assert executable.choice.kind == "interpreted"
    assert "nonzero1" in executable.choice.reason or "squeeze1" in executable.choice.reason


def test_a_program_for_each_size_is_one_that_was_asked_for():
    executable = whence.compile(_model(["n"], _RELU), tier="static")
    assert executable.choice == Choice("interpreted", "each size that comes has a program of its own, as asked")


def test_a_relay_program_with_branches_needs_the_virtual_machine():
    x = relay.var("x", shape=(4,), dtype="float32")
    body = relay.If(relay.min(x) > relay.const(0.0), relay.exp(x), relay.negative(x))
    executable = whence.compile(relay.IRModule.from_expr(relay.Function([x], body)))
    assert isinstance(executable, VirtualExecutable)
    assert executable.choice.kind == "virtual machine"
    assert "if" in executable.choice.reason


def test_why_sizes_have_no_program_of_their_own_is_reported(monkeypatch: pytest.MonkeyPatch):
    executable = cast(SizedExecutable, whence.compile(_model(["n"], _RELU)))

    def fails(*_: object) -> None:
        raise whence.PipelineError("no room")

    monkeypatch.setattr(executable, "_made", fails)
    executable._state.waiting.append((3,))  # pyright: ignore[reportPrivateUsage]
    executable._work(executable._state)  # pyright: ignore[reportPrivateUsage]
    assert "for n = 3: no program of their own: no room" in executable.report().splitlines()
