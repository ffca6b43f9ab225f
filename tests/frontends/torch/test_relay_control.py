"""Branches and loops of exported programs as the language has them, run by the virtual machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from exported_programs import PROGRAMS, agree, calls
from written_programs import Number, graph, inner, node, program

from whence import relay
from whence.support.errors import FrontendError


def test_branches():
    module, params = relay.frontend.from_exported_program(PROGRAMS / "branches.pt2")
    assert "if (" in str(module)
    function = relay.create_executor("vm", module, params=params).evaluate()
    for inputs, expected in calls("branches"):
        results: Any = function(*inputs)
        values: list[Any] = [*results] if isinstance(results, list | tuple) else [results]
        agree(tuple(value.numpy() for value in values), expected)


def test_a_kind_that_has_no_form_is_refused():
    with pytest.raises(FrontendError, match="expected an If, Loop or While, got Scan"):
        relay.frontend.from_exported_program(PROGRAMS / "loops.pt2")


def test_a_loop_computes_with_numbers_and_writes_to_what_is_around_it():
    body = [
        node("_operator.mul", {"a": Number("i"), "b": 2}, [Number("even")]),
        node("torch.ops.aten.add.Tensor", {"self": "c0", "other": Number("even")}, ["sum"]),
        node("torch.ops.aten.add_.Tensor", {"self": "y", "other": "sum"}, ["done"]),
        node("_operator.lt", {"a": Number("even"), "b": 4}, [Number("more", "bool")]),
    ]
    turns = graph([Number("i"), "c0"], body, [Number("more", "bool"), "sum"])
    nodes = [
        node("torch.ops.aten.mul.Tensor", {"self": "x", "other": 1}, ["y"]),
        node("whence.loop", [9, True, inner("body", turns), ["x"]], ["r"]),
        node("torch.ops.aten.mul.Tensor", {"self": "y", "other": 2}, ["z"]),
    ]
    data = program(graph(["x"], nodes, ["r", "z"], x=[3], y=[3], z=[3]))
    module, params = relay.frontend.from_exported_program(data)
    assert not params
    assert "let %" in str(module)
    x = np.array([1, -2, 3], np.float32)
    results = relay.create_executor("vm", module).evaluate()(x)
    # Three turns: the sums are x, x + 2 and x + 6.
    agree(tuple(value.numpy() for value in results), [x + 6, 2 * (4 * x + 8)])
